/* Signatures as Python objects -> text -> core/front/signature.c. Everything that names a type
 * becomes the name of one; nothing is evaluated. */
#include "ufunc/ufunc_parts.h"

#include "core/py/raise.h"

#include <string.h>

/* ---- the text of a type, of a signature ---- */

static PyObject *
text_of_dtype(lw_dtype dtype)
{
    return PyUnicode_FromString(lw_dtypes[dtype].public_name);
}

static PyObject *
text_of_python_type(PyObject *object)
{
    if (object == (PyObject *)&PyBool_Type)
        return text_of_dtype(LW_DT_b1);
    if (object == (PyObject *)&PyLong_Type)
        return text_of_dtype(LW_DT_i64);
    if (object == (PyObject *)&PyFloat_Type)
        return text_of_dtype(LW_DT_f64);
    if (object == (PyObject *)&PyComplex_Type)
        return text_of_dtype(LW_DT_c128);
    return NULL;
}

static PyObject *
text_of_descr(PyArray_Descr *descr)
{
    lw_dtype dtype = lw_dtype_from_num(descr->type_num);

    if (dtype == LW_DT_void || !PyArray_ISNBO(descr->byteorder)) {
        PyErr_Format(PyExc_TypeError,
                     "signature: dtype %R has no arithmetic here; expected one of bool, the "
                     "integers, float16, float32, float64, complex64, complex128",
                     (PyObject *)descr);
        return NULL;
    }
    return text_of_dtype(dtype);
}

/* Type and signature objects of ours and of numba's, whose str() is what we read; -1 with an
 * exception set. */
static int
is_type_object(PyObject *object)
{
    PyObject *module = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__module__");
    const char *name = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : NULL;
    int result = name && (strcmp(name, "lanewise") == 0 || strncmp(name, "lanewise.", 9) == 0 ||
                          strncmp(name, "numba.", 6) == 0);

    Py_XDECREF(module);
    if (name == NULL && PyErr_Occurred()) {
        if (PyErr_ExceptionMatches(PyExc_MemoryError))
            return -1;
        PyErr_Clear();
    }
    return result;
}

static PyObject *
no_type(PyObject *object)
{
    return PyErr_Format(PyExc_TypeError,
                        "signatures must be a string, a type signature, a tuple of types, or a "
                        "list of these, not %.100s",
                        Py_TYPE(object)->tp_name);
}

static PyObject *
text_of_object(PyObject *object)
{
    int is_type = is_type_object(object);

    if (is_type < 0)
        return NULL;
    return is_type ? PyObject_Str(object) : no_type(object);
}

/* One type as text: a str as it is, a dtype, a scalar class, or what str() says of a type
 * object of ours or numba's. */
static PyObject *
text_of_type(PyObject *object)
{
    PyArray_Descr *descr = NULL;
    PyObject *text;

    if (PyUnicode_Check(object))
        return Py_NewRef(object);
    text = text_of_python_type(object);
    if (text != NULL || PyErr_Occurred())
        return text;
    if (!PyArray_DescrCheck(object) &&
        !(PyType_Check(object) &&
          PyType_IsSubtype((PyTypeObject *)object, &PyGenericArrType_Type)))
        return text_of_object(object);
    if (!PyArray_DescrConverter(object, &descr))
        return NULL;
    text = text_of_descr(descr);
    Py_DECREF(descr);
    return text;
}

static bool
is_whole_signature(PyObject *object)
{
    PyObject *text;
    bool whole;

    if (PyTuple_Check(object) || PyList_Check(object))
        return true;
    text = text_of_type(object);
    if (text == NULL) { /* reading it meets the same again, and tells */
        PyErr_Clear();
        return false;
    }
    whole = PyUnicode_FindChar(text, '(', 0, PyUnicode_GET_LENGTH(text), 1) >= 0 ||
            PyUnicode_FindChar(text, '>', 0, PyUnicode_GET_LENGTH(text), 1) >= 0;
    Py_DECREF(text);
    return whole;
}

/* A tuple of types: "(float32, int32)". */
static PyObject *
text_of_tuple(PyObject *tuple)
{
    PyObject *parts = PyList_New(0), *comma = PyUnicode_FromString(", "), *joined = NULL;
    PyObject *result = NULL;

    for (Py_ssize_t i = 0; parts != NULL && i < PyTuple_GET_SIZE(tuple); i++) {
        PyObject *part = text_of_type(PyTuple_GET_ITEM(tuple, i));
        if (part == NULL || PyList_Append(parts, part) < 0)
            Py_CLEAR(parts);
        Py_XDECREF(part);
    }
    if (parts != NULL && comma != NULL)
        joined = PyUnicode_Join(comma, parts);
    if (joined != NULL)
        result = PyUnicode_FromFormat("(%U)", joined);
    Py_XDECREF(joined);
    Py_XDECREF(comma);
    Py_XDECREF(parts);
    return result;
}

static PyObject *
text_of_signature(PyObject *object)
{
    return PyTuple_Check(object) ? text_of_tuple(object) : text_of_type(object);
}

/* ---- reading ---- */

/* NULL with an exception set: a text that C cannot hold is no signature. */
static const char *
utf8_of(PyObject *text)
{
    Py_ssize_t n;
    const char *utf8 = PyUnicode_AsUTF8AndSize(text, &n);
    lw_error err = {0};

    if (utf8 != NULL && strlen(utf8) == (size_t)n)
        return utf8;
    if (utf8 == NULL && !PyErr_ExceptionMatches(PyExc_UnicodeError))
        return NULL;
    PyErr_Clear();
    lw_fail(&err, LW_ERR_SIGNATURE, "E180: the signature holds %s",
            utf8 ? "a null character" : "a lone surrogate");
    lw_py_raise(&err);
    return NULL;
}

static int
read_one(PyObject *object, lw_arena *arena, lw_signature_list *out)
{
    PyObject *text = text_of_signature(object);
    const char *utf8 = text ? utf8_of(text) : NULL;
    lw_signature *slot = utf8 ? lw_array_push(out, arena) : NULL;
    lw_error err = {0};
    int result = -1;

    if (utf8 != NULL && slot == NULL) {
        PyErr_NoMemory();
    } else if (slot != NULL) {
        lw_status status = lw_signature_parse(utf8, arena, slot, &err);
        if (status == LW_OK)
            status = lw_signature_check_scalar(slot, &err);
        slot->given = out->n - 1;
        if (status != LW_OK)
            lw_py_raise(&err);
        else
            result = 0;
    }
    Py_XDECREF(text);
    return result;
}

static bool
is_list_of_signatures(PyObject *object)
{
    if (PyList_Check(object))
        return true;
    if (!PyTuple_Check(object))
        return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); i++)
        if (!is_whole_signature(PyTuple_GET_ITEM(object, i)))
            return false;
    return PyTuple_GET_SIZE(object) > 0;
}

int
lw_signatures_read(PyObject *object, lw_arena *arena, lw_signature_list *out)
{
    if (object == NULL || object == Py_None)
        return 0;
    if (PyUnicode_Check(object) || !is_list_of_signatures(object)) {
        if (PyAnySet_Check(object) || PyDict_Check(object) || PyLong_Check(object) ||
            PyFloat_Check(object)) {
            no_type(object);
            return -1;
        }
        return read_one(object, arena, out);
    }
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); i++)
        if (read_one(PySequence_Fast_GET_ITEM(object, i), arena, out) < 0)
            return -1;
    return 0;
}

int
lw_signature_dtypes(const lw_signature *signature, lw_dtype *in, lw_dtype *out, uint32_t *n_out)
{
    const lw_sig_type *result = &signature->result;

    *n_out = lw_signature_n_out(signature);
    if (signature->n_args + *n_out > LW_MAX_ARGS) {
        PyErr_Format(PyExc_ValueError,
                     "signature `%.100s` has %u operands; NumPy takes at most %d",
                     signature->text, (unsigned)(signature->n_args + *n_out), LW_MAX_ARGS);
        return -1;
    }
    for (uint32_t i = 0; i < signature->n_args; i++)
        in[i] = signature->args[i].dtype;
    for (uint32_t i = 0; i < *n_out; i++)
        out[i] = result->kind == LW_SIG_TUPLE ? result->items[i].dtype : result->dtype;
    return 0;
}

static int
check_count(const lw_ufunc_object *self, PyObject *object, const lw_signature *signature)
{
    if (signature->n_args == (uint32_t)self->base.nin)
        return 0;
    PyErr_Format(PyExc_ValueError, "sig: `%s` takes %d inputs, and %.200R names %u",
                 self->table->name, self->base.nin, object, (unsigned)signature->n_args);
    return -1;
}

int
lw_signature_inputs(lw_ufunc_object *self, PyObject *object, lw_dtype *in)
{
    lw_signature_list list = {0};
    lw_dtype out[LW_MAX_ARGS];
    lw_arena arena;
    uint32_t n_out;
    int result = -1;

    lw_arena_init(&arena);
    if (lw_signatures_read(object, &arena, &list) < 0)
        goto done;
    if (list.n != 1) {
        PyErr_Format(PyExc_ValueError, "sig must be one signature, not %.200R", object);
        goto done;
    }
    if (check_count(self, object, &list.data[0]) == 0)
        result = lw_signature_dtypes(&list.data[0], in, out, &n_out);
done:
    lw_arena_reset(&arena);
    return result;
}

/* ---- annotations ---- */

static lw_dtype
dtype_of_annotation(const lw_tree *tree, uint32_t konst)
{
    static const lw_dtype python_types[] = {LW_DT_i64, LW_DT_f64, LW_DT_b1, LW_DT_c128};
    const lw_konst *k = &tree->konsts.data[konst];

    if (konst == 0)
        return LW_DT_void;
    switch (k->kind) {
    case LW_K_DTYPE: return k->dtype;
    case LW_K_PYTYPE: return k->u < 4 ? python_types[k->u] : LW_DT_void;
    case LW_K_STR: return lw_scalar_from_name(k->text, strlen(k->text));
    default: return LW_DT_void;
    }
}

static bool
annotated_args(const lw_tree *tree, lw_arena *arena, lw_signature *out)
{
    const lw_fn *fn = &tree->fns.data[1];
    lw_sig_type *args = lw_arena_take(arena, (fn->params.n + 1) * sizeof *args);

    out->args = args;
    for (uint32_t i = 0; args != NULL && i < fn->params.n; i++) {
        const lw_fn_param *param = &fn->params.data[i];
        lw_dtype dtype = dtype_of_annotation(tree, param->annotation);
        if (param->default_konst != 0)
            continue; /* a constant of the function, no operand */
        if (dtype == LW_DT_void)
            return false;
        args[out->n_args].kind = LW_SIG_SCALAR;
        args[out->n_args++].dtype = dtype;
    }
    return args != NULL && out->n_args > 0;
}

static void
annotated_result(const lw_tree *tree, lw_arena *arena, lw_signature *out)
{
    uint32_t konst = tree->fns.data[1].return_annotation;
    const lw_konst *k = &tree->konsts.data[konst];
    lw_sig_type *items;

    out->result.dtype = dtype_of_annotation(tree, konst);
    out->result.kind = out->result.dtype == LW_DT_void ? LW_SIG_NONE : LW_SIG_SCALAR;
    if (konst == 0 || k->kind != LW_K_TUPLE)
        return;
    items = lw_arena_take(arena, k->n * sizeof *items);
    for (uint32_t i = 0; items != NULL && i < k->n; i++) {
        items[i].kind = LW_SIG_SCALAR;
        items[i].dtype = dtype_of_annotation(tree, k->items[i]);
        if (items[i].dtype == LW_DT_void)
            return;
    }
    out->result.kind = LW_SIG_TUPLE;
    out->result.items = items;
    out->result.n = k->n;
}

bool
lw_signature_of_annotations(const lw_tree *tree, lw_arena *arena, lw_signature *out)
{
    *out = (lw_signature){.text = "its annotations"};
    if (!annotated_args(tree, arena, out))
        return false;
    annotated_result(tree, arena, out);
    return true;
}
