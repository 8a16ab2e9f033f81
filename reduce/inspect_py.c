#include "reduce/inspect_py.h"

#include "core/base/memory.h"
#include "core/front/records.h"
#include "core/py/compiled/link_ask.h"
#include "core/py/compiled/resources.h"
#include "core/py/method_table.h"
#include "core/py/raise.h"
#include "core/py/target_read.h"
#include "core/py/text_py.h"
#include "core/py/types/signature_read.h"
#include "reduce/device/device_plan.h"
#include "reduce/reduce_parts_py.h"

#include <string.h>

/* ---- signatures ---- */

static void
add_operand(lw_text *text, const lw_reduce_operand *operand)
{
    lw_text_add(text, operand->record ? operand->record->name
                                      : lw_dtypes[operand->dtype].public_name);
}

static PyObject *
text_of(const lw_reduction *r)
{
    uint32_t n = lw_reduce_n_results(r);
    lw_text text = {0};

    if (n != 1)
        lw_text_add(&text, "Tuple(");
    for (uint32_t i = 0; i < n; i++)
        lw_text_addf(&text, "%s%s", i ? ", " : "", lw_dtypes[r->out[i]].public_name);
    lw_text_add(&text, n != 1 ? ")(" : "(");
    for (uint32_t i = 0; i < r->n_arrays; i++) {
        lw_text_add(&text, i ? ", " : "");
        add_operand(&text, &r->array[i]);
    }
    lw_text_add(&text, ")");
    return lw_text_take(&text);
}

PyObject *
lw_reducer_signatures(PyObject *object, void *Py_UNUSED(closure))
{
    const lw_reducer *self = (lw_reducer *)object;
    PyObject *list = PyList_New(0);

    for (lw_reduce_specialisation *at = lw_grown_first(&self->specialisations);
         at != NULL && list != NULL; at = lw_grown_next(at)) {
        PyObject *text = text_of(at->reduction);
        if (text == NULL || PyList_Append(list, text) < 0)
            Py_CLEAR(list);
        Py_XDECREF(text);
    }
    if (list != NULL && PyList_Reverse(list) < 0) /* oldest first */
        Py_CLEAR(list);
    return list;
}

static int
read_operand(const lw_signature *signature, uint32_t i, lw_reduce_operand *out)
{
    const lw_sig_type *type = &signature->args[i];

    *out = (lw_reduce_operand){.dtype = type->record ? LW_DT_void : type->dtype,
                               .record = type->record};
    if (type->kind == LW_SIG_SCALAR || type->kind == LW_SIG_ARRAY ||
        type->kind == LW_SIG_RECORD)
        return 0;
    PyErr_Format(PyExc_TypeError,
                 "signature `%.100s`: argument %u must be a number, a record or an array of "
                 "these: a reduction's signature names the arrays of a call",
                 signature->text, (unsigned)i + 1);
    return -1;
}

static int
check_count(const lw_reducer *self, const lw_signature *signature)
{
    uint32_t wanted = lw_reducer_n_arrays(self), n = signature->n_args;

    if (n > 0 && n <= LW_REDUCE_MOST && (wanted == 0 || n == wanted))
        return 0;
    PyErr_Format(PyExc_TypeError,
                 "signature `%.100s` has %u argument%s: it names the arrays of a call, and "
                 "`%s` takes %s",
                 signature->text, (unsigned)n, n == 1 ? "" : "s", lw_reducer_name(self),
                 wanted == 0   ? "1 to 16"
                 : wanted == 1 ? "one"
                               : "as many as map has parameters");
    return -1;
}

static bool
gives(const lw_reduction *r, const lw_signature *signature)
{
    const lw_sig_type *result = &signature->result;
    bool same = lw_signature_n_out(signature) == lw_reduce_n_results(r);

    for (uint32_t i = 0; i < lw_reduce_n_results(r) && same; i++)
        same = (result->kind == LW_SIG_TUPLE ? result->items[i].dtype : result->dtype) ==
               r->out[i];
    return same || lw_signature_n_out(signature) == 0;
}

/* `combine` is written of two, and its signature is a mistake that is easily made. */
static int
complain_result(const lw_reducer *self, const lw_reduction *r, const lw_signature *signature)
{
    PyObject *own = text_of(r);

    if (own != NULL)
        PyErr_Format(
            PyExc_TypeError,
            "signature `%.100s`: the results of `%s` for these arrays are others: %.200U "
            "(a reduction's signature names the arrays of a call, not the parameters "
            "of the function that combines)",
            signature->text, lw_reducer_name(self), own);
    Py_XDECREF(own);
    return -1;
}

/* The same mistake, where two arrays do not even fit the function. */
static void
add_hint(const lw_reducer *self)
{
    PyObject *type, *value, *trace;

    if (lw_reducer_n_arrays(self) != 0 || !PyErr_ExceptionMatches(PyExc_TypeError))
        return;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (type != PyExc_TypeError) { /* a diagnostic of its own */
        PyErr_Restore(type, value, trace);
        return;
    }
    PyErr_Format(type,
                 "%S (a reduction's signature names the arrays of a call, one for `%s` of "
                 "numbers, not the parameters of the function that combines)",
                 value, lw_reducer_name(self));
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
}

/* One result of another dtype is what dtype= of a call gives. */
static lw_reduce_specialisation *
specialisation_of(lw_reducer *self, const lw_signature *signature)
{
    lw_reduce_operand arrays[LW_REDUCE_MOST];
    lw_reduce_specialisation *specialisation, *with_dtype;
    uint32_t n = signature->n_args;

    if (check_count(self, signature) < 0)
        return NULL;
    for (uint32_t i = 0; i < n; i++)
        if (read_operand(signature, i, &arrays[i]) < 0)
            return NULL;
    specialisation = lw_reducer_specialisation(self, arrays, n, LW_DT_void);
    if (specialisation == NULL && n > 1)
        add_hint(self);
    if (specialisation == NULL || gives(specialisation->reduction, signature))
        return specialisation;
    if (signature->result.kind == LW_SIG_SCALAR &&
        lw_reduce_n_results(specialisation->reduction) == 1) {
        with_dtype = lw_reducer_specialisation(self, arrays, n, signature->result.dtype);
        if (with_dtype == NULL || gives(with_dtype->reduction, signature))
            return with_dtype;
    }
    complain_result(self, specialisation->reduction, signature);
    return NULL;
}

static lw_reduce_specialisation *
newest(lw_reducer *self)
{
    lw_reduce_specialisation *specialisation = lw_grown_first(&self->specialisations);

    if (specialisation == NULL)
        PyErr_Format(PyExc_ValueError,
                     "`%s` is not compiled for any types yet: give a signature, or call it "
                     "first",
                     lw_reducer_name(self));
    return specialisation;
}

static lw_reduce_specialisation *
specialisation_for(lw_reducer *self, PyObject *sig)
{
    lw_signature_list list = {0};
    lw_reduce_specialisation *specialisation = NULL;
    lw_arena arena;

    if (sig == Py_None)
        return newest(self);
    lw_arena_init(&arena);
    if (lw_signatures_read(sig, false, &arena, &list) == 0) {
        if (list.n == 1)
            specialisation = specialisation_of(self, &list.data[0]);
        else
            PyErr_Format(PyExc_ValueError, "sig must be one signature, not %.200R", sig);
    }
    lw_arena_reset(&arena);
    return specialisation;
}

/* ---- the kernel of many contiguous elements ---- */

static void
set_strides(lw_reduce_job *job, const lw_reduction *r)
{
    uint32_t at = 0;

    for (uint32_t i = 0; i < r->n_arrays; i++) {
        const lw_arg_record *record = r->array[i].record;
        uint32_t n = record ? lw_reduce_numbers(record, 0, NULL, NULL) : 1;
        for (uint32_t k = 0; k < n && at < r->n_in; k++, at++)
            job->reduced.stride[at][0] =
                record ? record->itemsize : lw_dtypes[r->loaded[at]].size_bytes;
    }
}

static lw_status
key_of(const lw_reducer *self, const lw_reduction *r, lw_reduce_plan *plan, lw_error *err)
{
    enum { MANY = 1 << 24 };
    lw_reduce_job *job = lw_alloc_zero(1, sizeof *job);

    if (job == NULL)
        return lw_fail_memory(err);
    job->reduction = r;
    job->reduced.n = 1;
    job->reduced.size[0] = MANY;
    job->max_threads = (uint32_t)self->options.max_blocksize;
    set_strides(job, r);
    lw_reduce_plan_of(job, 1, plan);
    lw_free(job);
    return LW_OK;
}

static lw_status
module_of(const lw_reducer *self, const lw_reduction *r, int cc, lw_module **out,
          lw_reduce_plan *plan, lw_error *err)
{
    lw_status status;

    memset(plan, 0, sizeof *plan);
    if (cc == 0)
        return lw_reduce_host_module(r, out, err);
    LW_TRY(key_of(self, r, plan, err));
    LW_TRY(lw_reduce_device_module(r, &plan->key, "lw_reduce", self->options.max_registers, out,
                                   err));
fail:
    return status;
}

static PyObject *
form_of(lw_reducer *self, const lw_reduce_specialisation *specialisation, int cc,
        const char *form)
{
    lw_build_options options = lw_reducer_build_options(self);
    const lw_link_set *links = &self->links;
    lw_module *module = NULL;
    lw_reduce_plan plan;
    lw_bytes bytes = {0};
    lw_error err = {0};
    lw_status status;

    if (cc != 0 && lw_link_is_output(form))
        links = lw_reducer_links(self, specialisation->reduction, cc);
    if (links == NULL)
        return NULL;
    options = lw_link_options(options, links);

    Py_BEGIN_ALLOW_THREADS
    status = module_of(self, specialisation->reduction, cc, &module, &plan, &err);
    if (status == LW_OK)
        status = lw_build_output(module, cc, form, &options, &bytes, &err);
    Py_END_ALLOW_THREADS
    lw_module_free(module);
    return lw_form_take(status, form, &bytes, &err);
}

/* ---- methods ---- */

static PyObject *
inspect_now(lw_reducer *self, PyObject *sig, int cc, const char *form)
{
    lw_reduce_specialisation *specialisation = specialisation_for(self, sig);

    if (cc == 0 && strcmp(form, "cubin") == 0)
        form = "object";
    return specialisation ? form_of(self, specialisation, cc, form) : NULL;
}

static PyObject *
inspect(PyObject *object, PyObject *args, PyObject *kwargs, int fallback, const char *form)
{
    PyObject *sig, *result = NULL;
    int cc = lw_target_arguments(args, kwargs, "|OO", fallback, &sig);
    lw_reducer *self = cc < 0 ? NULL : (lw_reducer *)lw_compiled_current((lw_compiled *)object);

    if (self != NULL)
        result = inspect_now(self, sig, cc, form);
    Py_XDECREF((PyObject *)self);
    return result;
}

LW_INSPECT_METHODS

static PyObject *
types_of(lw_reducer *self, const lw_reduce_specialisation *specialisation)
{
    lw_text text = {0};
    lw_error err = {0};

    if (lw_reducer_print_types(self, specialisation, &text, &err) == LW_OK)
        return lw_text_take(&text);
    lw_text_reset(&text);
    return lw_py_raise(&err);
}

static PyObject *
inspect_types(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"sig", NULL};
    PyObject *sig = Py_None, *result = NULL;
    lw_reduce_specialisation *specialisation;
    lw_reducer *self;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O", names, &sig))
        return NULL;
    self = (lw_reducer *)lw_compiled_current((lw_compiled *)object);
    specialisation = self ? specialisation_for(self, sig) : NULL;
    if (specialisation != NULL)
        result = types_of(self, specialisation);
    Py_XDECREF((PyObject *)self);
    return result;
}

static PyObject *
host_resources(lw_reducer *self, lw_reduce_specialisation *specialisation)
{
    if (lw_reducer_host(self, specialisation) < 0)
        return NULL;
    return lw_host_resources_dict(lw_code_size(specialisation->host.code));
}

typedef struct info_request {
    int cc;
    lw_build_options options;
} info_request;

static lw_status
read_info(const lw_reducer *self, const lw_reduction *reduction, const info_request *wanted,
          lw_reduce_plan *plan, lw_cubin_info *info, lw_error *err)
{
    lw_module *module = NULL;
    lw_status status;

    LW_TRY(module_of(self, reduction, wanted->cc, &module, plan, err));
    LW_TRY(lw_build_info(module, wanted->cc, &wanted->options, info, err));
fail:
    lw_module_free(module);
    return status;
}

static PyObject *
device_resources(lw_reducer *self, const lw_reduce_specialisation *specialisation, int cc)
{
    const lw_link_set *links = lw_reducer_links(self, specialisation->reduction, cc);
    info_request wanted = {.cc = cc};
    lw_cubin_info info = {0};
    lw_reduce_plan plan;
    lw_error err = {0};
    lw_status status;

    if (links == NULL)
        return NULL;
    wanted.options = lw_link_options(lw_reducer_build_options(self), links);
    Py_BEGIN_ALLOW_THREADS
    status = read_info(self, specialisation->reduction, &wanted, &plan, &info, &err);
    Py_END_ALLOW_THREADS
    if (status != LW_OK)
        return lw_py_raise(&err);
    return lw_resources_dict(NULL, &info, cc,
                             Py_BuildValue("{s:i,s:d}", "threads_per_block", (int)plan.threads,
                                           "occupancy",
                                           lw_occupancy_of(&info, cc, (int)plan.threads)));
}

static PyObject *
resources(PyObject *object, PyObject *args, PyObject *kwargs)
{
    bool cpu_only = ((lw_reducer *)object)->cpu_only;
    PyObject *sig, *result = NULL;
    int cc = lw_target_arguments(args, kwargs, "|OO:resources", cpu_only ? 0 : 90, &sig);
    lw_reducer *self = cc < 0 ? NULL : (lw_reducer *)lw_compiled_current((lw_compiled *)object);
    lw_reduce_specialisation *specialisation = self ? specialisation_for(self, sig) : NULL;

    if (specialisation != NULL)
        result = cc ? device_resources(self, specialisation, cc)
                    : host_resources(self, specialisation);
    Py_XDECREF((PyObject *)self);
    return result;
}

const PyMethodDef lw_reducer_inspections[LW_REDUCE_INSPECTIONS] = {
    {"inspect_types", LW_KEYWORDS(inspect_types),
     PyDoc_STR("inspect_types($self, /, sig=None)\n--\n\n"
               "Return a string that shows each expression of map, combine and finish with its "
               "type.")},
    {"inspect_ir", LW_KEYWORDS(inspect_ir),
     PyDoc_STR("inspect_ir($self, /, sig=None, target='cpu')\n--\n\n"
               "Return lanewise's intermediate representation of the loops for the CPU, or of "
               "the kernel for a GPU such as 'sm_90'.")},
    {"inspect_llvm", LW_KEYWORDS(inspect_llvm),
     PyDoc_STR("inspect_llvm($self, /, sig=None, target='cpu')\n--\n\n"
               "Return the LLVM IR of the loops for the CPU, or of the kernel for a GPU such "
               "as 'sm_90'.")},
    {"inspect_nvvm", LW_KEYWORDS(inspect_nvvm),
     PyDoc_STR("inspect_nvvm($self, /, sig=None, target='sm_90')\n--\n\n"
               "Return the NVVM IR of the kernel that reduces many contiguous elements to one "
               "result.")},
    LW_MACHINE_CODE_ROWS(),
    {"resources", LW_KEYWORDS(resources),
     PyDoc_STR("resources($self, /, sig=None, target='sm_90')\n--\n\n"
               "Return what the code needs as a dict: registers, memory, and occupancy.")},
};
