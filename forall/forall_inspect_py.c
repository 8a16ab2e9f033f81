/* inspect_* and resources: the code of one specialisation, for any target. */
#include "forall/forall_py_internal.h"

#include "core/py/compiled/resources.h"
#include "core/py/method_table.h"
#include "core/py/raise.h"
#include "core/py/target_read.h"
#include "core/py/text_py.h"
#include "forall/specialisation_py_internal.h"

#include <string.h>

static PyObject *
form_of(lw_specialisation *specialisation, int cc, const char *form)
{
    lw_entry_key key;

    lw_forall_common_key((lw_forall *)specialisation->function, cc != 0, &key);
    return lw_specialisation_form(specialisation, &key, cc, form);
}

static PyObject *
inspect(PyObject *object, PyObject *args, PyObject *kwargs, int fallback, const char *form)
{
    PyObject *sig;
    int cc = lw_target_arguments(args, kwargs, "|OO", fallback, &sig);
    lw_specialisation *specialisation;

    if (cc < 0)
        return NULL;
    specialisation = lw_specialisation_of((lw_function *)object, sig);
    if (specialisation != NULL) /* the code that a common call runs there */
        specialisation = lw_specialisation_twin(specialisation, cc != 0, false);
    if (cc == 0 && strcmp(form, "cubin") == 0)
        form = "object";
    return specialisation ? form_of(specialisation, cc, form) : NULL;
}

static PyObject *
inspect_types(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"sig", NULL};
    PyObject *sig = Py_None;
    lw_specialisation *specialisation;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O", names, &sig))
        return NULL;
    specialisation = lw_specialisation_of((lw_function *)object, sig);
    return specialisation ? lw_typed_take_text(lw_specialisation_infer(specialisation)) : NULL;
}

/* ---- what it takes ---- */

static PyObject *
host_resources(lw_specialisation *specialisation)
{
    lw_host_entry *entry;
    lw_entry_key key;

    lw_forall_common_key((lw_forall *)specialisation->function, false, &key);
    entry = lw_specialisation_host(specialisation, &key);
    return entry ? lw_host_resources_dict(lw_code_size(entry->code)) : NULL;
}

static PyObject *
device_resources(lw_specialisation *specialisation, int cc)
{
    const lw_function *f = specialisation->function;
    lw_cubin_info info = {0};
    lw_entry_key key;
    int block =
        f->limits.max_threads && f->limits.max_threads < 256 ? (int)f->limits.max_threads : 256;

    lw_forall_common_key((lw_forall *)specialisation->function, true, &key);
    if (lw_specialisation_info(specialisation, &key, cc, &info) < 0)
        return NULL;
    return lw_resources_dict(NULL, &info, cc,
                             Py_BuildValue("{s:i,s:d}", "threads_per_block", block, "occupancy",
                                           lw_occupancy_of(&info, cc, block)));
}

static PyObject *
resources(PyObject *object, PyObject *args, PyObject *kwargs)
{
    const lw_function *self = (lw_function *)object;
    PyObject *sig;
    int cc = lw_target_arguments(args, kwargs, "|OO:resources",
                                 self->options.target == LW_CHOOSE_CPU ? 0 : 90, &sig);
    lw_specialisation *specialisation =
        cc < 0 ? NULL : lw_specialisation_of((lw_function *)object, sig);

    if (specialisation != NULL)
        specialisation = lw_specialisation_twin(specialisation, cc != 0, false);
    if (specialisation == NULL)
        return NULL;
    return cc ? device_resources(specialisation, cc) : host_resources(specialisation);
}

LW_INSPECT_METHODS

/* These give the code that a call would run now. */
#define OF_CURRENT(name)                                                                       \
    LW_OF_CURRENT(current_##name, lw_function_current((lw_function *)object), name)
OF_CURRENT(inspect_types)
OF_CURRENT(inspect_ir)
OF_CURRENT(inspect_llvm)
OF_CURRENT(inspect_nvvm)
OF_CURRENT(inspect_ptx)
OF_CURRENT(inspect_sass)
OF_CURRENT(inspect_cubin)
OF_CURRENT(inspect_ltoir)
OF_CURRENT(inspect_asm)
OF_CURRENT(resources)
#undef OF_CURRENT

PyMethodDef lw_forall_inspect_methods[] = {
    {"_explain", lw_function_explain, METH_O, NULL},
    {"inspect_types", LW_KEYWORDS(current_inspect_types),
     PyDoc_STR("inspect_types($self, /, sig=None)\n--\n\n"
               "Return a string that shows each expression with its type.")},
    {"inspect_ir", LW_KEYWORDS(current_inspect_ir),
     PyDoc_STR("inspect_ir($self, /, sig=None, target='cpu')\n--\n\n"
               "Return lanewise's intermediate representation of the kernel.")},
    {"inspect_llvm", LW_KEYWORDS(current_inspect_llvm),
     PyDoc_STR("inspect_llvm($self, /, sig=None, target='cpu')\n--\n\n"
               "Return the LLVM IR of the loop for the CPU, or of the kernel for a GPU such as "
               "'sm_90'.")},
    {"inspect_nvvm", LW_KEYWORDS(current_inspect_nvvm),
     PyDoc_STR("inspect_nvvm($self, /, sig=None, target='sm_90')\n--\n\n"
               "Return the NVVM IR of the kernel.")},
    LW_MACHINE_CODE_ROWS(current_),
    {"resources", LW_KEYWORDS(current_resources),
     PyDoc_STR("resources($self, /, sig=None, target='sm_90')\n--\n\n"
               "Return what the code needs as a dict: registers, memory, and occupancy with "
               "blocks of 256 threads.")},
    {NULL, NULL, 0, NULL},
};
