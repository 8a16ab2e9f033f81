/* What a signature means with a layout: dtypes of all operands, and which are arrays. */
#include "gufunc/gufunc_parts_py.h"

#include "core/py/raise.h"

#include <string.h>

static int
refuse(const lw_gufunc_object *self, const lw_signature *signature, const char *what)
{
    lw_error err = {0};

    lw_fail(&err, LW_ERR_SIGNATURE, "E183: signature `%s` does not fit the layout `%s`: %s",
            signature->text, self->base.layout.text, what);
    lw_py_raise(&err);
    return -1;
}

/* Put behind the text of the exception that is set: as a note, from Python 3.11 on. */
static void
add_note(const char *note)
{
    PyObject *type, *value, *trace, *done = NULL;

    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (value != NULL && PyObject_HasAttrString(value, "add_note"))
        done = PyObject_CallMethod(value, "add_note", "s", note);
    else if (value != NULL)
        done = PyObject_CallMethod(value, "__init__", "N",
                                   PyUnicode_FromFormat("%S\n%s", value, note));
    Py_XDECREF(done);
    PyErr_Restore(type, value, trace); /* in place of one of the note's */
}

/* What is wrong with an operand, in numba's sentence, whose text programs know; the note says
 * what was expected. */
static int
refuse_operand(const lw_gufunc_object *self, const lw_signature *signature,
               const lw_sig_type *type, int k)
{
    uint32_t core = self->base.layout.operands[k].n;
    lw_text name = {0}, note = {0};
    lw_error err = {0};

    lw_sig_type_print(type, &name);
    if (type->kind == LW_SIG_SCALAR)
        lw_fail(&err, LW_ERR_SIGNATURE, "scalar type %s given for non scalar argument #%d",
                lw_text_get(&name), k + 1);
    else
        lw_fail(&err, LW_ERR_SIGNATURE, "type and shape signature mismatch for arg #%d", k + 1);
    lw_text_addf(&note,
                 "E183: signature `%s` does not fit the layout `%s`: %s %d is %s, and has %u "
                 "core dimension%s",
                 signature->text, self->base.layout.text,
                 k < self->base.nin ? "input" : "output",
                 k < self->base.nin ? k : k - self->base.nin, lw_text_get(&name),
                 (unsigned)core, core == 1 ? "" : "s");
    lw_py_raise(&err);
    add_note(lw_text_get(&note));
    lw_text_reset(&name);
    lw_text_reset(&note);
    return -1;
}

/* One operand's type; scalars are let pass where only dtypes are named ("ff->f"). */
static int
read_operand(const lw_gufunc_object *self, const lw_signature *signature,
             const lw_sig_type *type, int k, bool dtypes_only, lw_gufunc_types *out)
{
    uint32_t core = self->base.layout.operands[k].n;
    bool good;

    if (type->kind == LW_SIG_ARRAY) {
        good = type->ndim == (core ? core : 1) && type->record == NULL;
        out->arrays[k] = true;
        out->has_arrays = true;
    } else {
        good = type->kind == LW_SIG_SCALAR && (core == 0 || dtypes_only);
    }
    if (!good)
        return refuse_operand(self, signature, type, k);
    *(k < self->base.nin ? &out->in[k] : &out->out[k - self->base.nin]) = type->dtype;
    return 0;
}

static bool
all_scalars(const lw_signature *signature)
{
    for (uint32_t i = 0; i < signature->n_args; i++)
        if (signature->args[i].kind != LW_SIG_SCALAR)
            return false;
    return true;
}

static int
read_results(const lw_gufunc_object *self, const lw_signature *signature, bool dtypes_only,
             lw_gufunc_types *out)
{
    const lw_sig_type *result = &signature->result;
    uint32_t n = lw_signature_n_out(signature);

    if (n == 0 && result->kind == LW_SIG_VOID)
        return refuse(self, signature,
                      "its function returns the outputs, and the signature returns void");
    if (n != 0 && n != (uint32_t)self->base.nout)
        return refuse(self, signature, "another number of outputs");
    for (uint32_t i = 0; i < n; i++)
        if (read_operand(self, signature,
                         result->kind == LW_SIG_TUPLE ? &result->items[i] : result,
                         self->base.nin + (int)i, dtypes_only, out) < 0)
            return -1;
    return 0;
}

/* Outputs that are among the arguments and a result. */
static int
refuse_result(const lw_gufunc_object *self, const lw_signature *signature)
{
    lw_text why = {0};

    lw_text_add(&why, "the outputs are among its arguments, and guvectorized functions cannot "
                      "return values then, but it specifies ");
    lw_sig_type_print(&signature->result, &why);
    lw_text_add(&why, " return type");
    refuse(self, signature, lw_text_get(&why));
    lw_text_reset(&why);
    return -1;
}

int
lw_gufunc_read_signature(const lw_gufunc_object *self, const lw_signature *signature,
                         lw_gufunc_types *out)
{
    uint32_t nin = (uint32_t)lw_ufunc_shown_inputs((const lw_ufunc_head *)self);
    uint32_t nout = (uint32_t)self->base.nout, n_hidden = (uint32_t)self->base.nin - nin;
    bool all = signature->n_args == nin + nout && self->fills;
    bool scalars = all_scalars(signature);

    memset(out, 0, sizeof *out);
    if (!all && signature->n_args != nin)
        return refuse(self, signature,
                      self->fills ? "it must name the inputs and the outputs"
                                  : "it must name each input");
    if (all && signature->result.kind != LW_SIG_VOID && signature->result.kind != LW_SIG_NONE)
        return refuse_result(self, signature);
    for (uint32_t i = 0; i < signature->n_args; i++)
        if (read_operand(self, signature, &signature->args[i],
                         (int)(i < nin ? i : i + n_hidden), scalars && !all, out) < 0)
            return -1;
    for (uint32_t k = nin; k < nin + n_hidden; k++)
        out->in[k] = LW_DT_i64; /* parts of excluded arrays */
    return all ? 0 : read_results(self, signature, scalars, out);
}

static lw_gufunc_loop *
loop_of_types(lw_gufunc_object *self, PyObject *sig, const lw_gufunc_types *types)
{
    lw_gufunc_loop *loop = lw_rows_find((const lw_ufunc_head *)self, types->in);

    if (loop == NULL && self->base.lazy)
        loop = lw_gufunc_make(self, types->in, NULL, types->has_arrays ? types->arrays : NULL,
                              false);
    else if (loop == NULL)
        PyErr_Format(PyExc_TypeError, "E181: `%s` has no loop for %.200R",
                     self->base.table->name, sig);
    for (int k = 0; loop != NULL && k < loop->nout; k++)
        if (types->out[k] != LW_DT_void && types->out[k] != loop->types[loop->nin + k]) {
            PyErr_Format(
                PyExc_ValueError, "sig: output %d of `%s` is %s for these inputs, not %s", k,
                self->base.table->name, lw_dtypes[loop->types[loop->nin + k]].public_name,
                lw_dtypes[types->out[k]].public_name);
            return NULL;
        }
    return loop;
}

lw_gufunc_loop *
lw_gufunc_loop_of(lw_gufunc_object *self, PyObject *sig)
{
    lw_signature_list list = {0};
    lw_gufunc_loop *loop = NULL;
    lw_gufunc_types types;
    lw_arena arena;

    lw_arena_init(&arena);
    if (lw_signatures_read(sig, false, &arena, &list) == 0) {
        if (list.n != 1)
            PyErr_Format(PyExc_ValueError, "sig must be one signature, not %.200R", sig);
        else if (lw_gufunc_read_signature(self, &list.data[0], &types) == 0)
            loop = loop_of_types(self, sig, &types);
    }
    lw_arena_reset(&arena);
    return loop;
}

/* ---- texts ---- */

PyObject *
lw_gufunc_types_text(const lw_gufunc_loop *loop)
{
    char text[LW_MAX_OPERANDS + 4];
    int n = 0;

    for (int i = 0; i < loop->nin + loop->nout; i++) {
        if (i == loop->n_shown)
            i = loop->nin; /* parts of excluded arrays are not shown */
        if (i == loop->nin) {
            text[n++] = '-';
            text[n++] = '>';
        }
        text[n++] = lw_dtypes[loop->types[i]].numpy ? lw_dtypes[loop->types[i]].numpy : 'E';
    }
    if (loop->nout == 0) {
        text[n++] = '-';
        text[n++] = '>';
    }
    return PyUnicode_FromStringAndSize(text, n);
}

static void
add_operand(lw_text *text, const lw_gufunc_loop *loop, int k)
{
    lw_text_add(text, lw_dtypes[loop->types[k]].public_name);
    if (loop->form[k] != LW_CORE_ARRAY)
        return;
    for (int d = 0; d < loop->core_ndim[k]; d++)
        lw_text_add(text, d ? ", :" : "[:");
    lw_text_add(text, "]");
}

static void
add_operands(lw_text *text, const lw_gufunc_loop *loop, int from, int to)
{
    lw_text_add(text, "(");
    for (int k = from; k < to; k++) {
        if (k == loop->n_shown && k < loop->nin)
            k = loop->nin;
        if (k == to)
            break;
        lw_text_add(text, k > from ? ", " : "");
        add_operand(text, loop, k);
    }
    lw_text_add(text, ")");
}

PyObject *
lw_gufunc_loop_text(const lw_gufunc_loop *loop)
{
    bool returns = loop->form[loop->nin] == LW_CORE_RESULT;
    lw_text text = {0};
    PyObject *result;

    if (!returns)
        lw_text_add(&text, "void");
    else if (loop->nout == 1)
        add_operand(&text, loop, loop->nin);
    else {
        lw_text_add(&text, "Tuple");
        add_operands(&text, loop, loop->nin, loop->nin + loop->nout);
    }
    add_operands(&text, loop, 0, returns ? loop->nin : loop->nin + loop->nout);
    result = text.failed ? PyErr_NoMemory() : PyUnicode_FromString(lw_text_get(&text));
    lw_text_reset(&text);
    return result;
}
