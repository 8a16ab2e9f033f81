#include "core/py/windows/debug_typing_py.h"

#include "core/front/named.h"
#include "core/front/read/python.h"
#include "core/front/records.h"
#include "core/front/typed.h"
#include "core/py/raise.h"
#include "core/py/record_spec.h"
#include "core/py/text_py.h"
#include "core/py/windows/debug_specs.h"

#include <string.h>

/* ---- names of types ---- */

/* A dtype's name, "index", "pyfloat", "pycomplex", "None", or a literal "lit 5", "lit 0 9". */
static int
parse_type(lw_types *types, const char *text, lw_type *out)
{
    long long lo, hi;
    int n = sscanf(text, "lit %lld %lld", &lo, &hi);

    if (n >= 1) {
        *out = lw_type_literal(types, lo, n == 2 ? hi : lo);
        return 0;
    }
    *out = strcmp(text, "index") == 0       ? (lw_type)LW_T_INDEX
           : strcmp(text, "pyfloat") == 0   ? (lw_type)LW_T_PYFLOAT
           : strcmp(text, "pycomplex") == 0 ? (lw_type)LW_T_PYCOMPLEX
           : strcmp(text, "None") == 0
               ? (lw_type)LW_T_NONE
               : (lw_type)lw_dtype_from_name(text, (unsigned)strlen(text));
    if (*out == LW_T_BOTTOM) {
        PyErr_Format(PyExc_ValueError, "unknown type '%.100s'", text);
        return -1;
    }
    return 0;
}

static int
parse_mode(const char *mode, lw_typing *out)
{
    if (strcmp(mode, "weak") != 0 && strcmp(mode, "numba") != 0) {
        PyErr_Format(PyExc_ValueError, "typing mode must be 'weak' or 'numba', not '%.50s'",
                     mode);
        return -1;
    }
    *out = strcmp(mode, "numba") == 0 ? LW_TYPING_NUMBA : LW_TYPING_WEAK;
    return 0;
}

enum { MAX_TYPES = 64 };

/* "float32, int32" */
static int
parse_types(lw_types *types, const char *list, lw_type *out, uint32_t *n)
{
    char word[64];

    *n = 0;
    while (*list) {
        size_t length = strcspn(list, ","), skip = strspn(list, " "), end = length;

        while (end > skip && list[end - 1] == ' ')
            end--;
        if (end - skip >= sizeof word || *n >= MAX_TYPES) {
            PyErr_SetString(PyExc_ValueError, "too many types, or a name too long");
            return -1;
        }
        if (end > skip) {
            memcpy(word, list + skip, end - skip);
            word[end - skip] = '\0';
            if (parse_type(types, word, &out[*n]) < 0)
                return -1;
            ++*n;
        }
        list += length + (list[length] == ',');
    }
    return 0;
}

/* ---- the functions ---- */

static PyObject *
dump_tree(const lw_tree *tree, const lw_arg_spec *specs, uint32_t n, lw_typing typing,
          int procedure, int ignore_errors)
{
    lw_front_options options = {.typing = typing,
                                .procedure = procedure,
                                .threads = procedure,
                                .ignore_errors = ignore_errors};
    lw_typed *typed = NULL;
    lw_error err = {0};
    lw_text text = {0};
    PyObject *result;

    for (uint32_t i = 0; i < n; i++) /* only kernels take arrays */
        options.procedure |= specs[i].kind == LW_ARGK_ARRAY;
    if (lw_infer_specs(tree, &options, specs, n, &typed, &err) != LW_OK)
        return lw_py_raise(&err);
    lw_typed_print(typed, &text);
    result = lw_text_take(&text);
    lw_typed_free(typed);
    return result;
}

static PyObject *
dump_typed(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"function",  "types",         "mode", "source",
                            "procedure", "ignore_errors", NULL};
    const char *list, *mode = "weak";
    PyObject *function, *source = NULL, *result = NULL;
    lw_arg_spec specs[LW_MAX_DEBUG_SPECS];
    lw_arena arena;
    lw_typing typing;
    lw_tree *tree = NULL;
    lw_error err = {0};
    uint32_t n;
    int procedure = 0, ignore_errors = 0;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "Os|sOpp:_dump_typed", names, &function,
                                     &list, &mode, &source, &procedure, &ignore_errors) ||
        parse_mode(mode, &typing) < 0)
        return NULL;
    lw_arena_init(&arena);
    if (lw_debug_specs(list, NULL, &arena, specs, &n, &err) != LW_OK ||
        lw_read_function(function, source, &tree, NULL, &err) != LW_OK)
        lw_py_raise(&err);
    else
        result = dump_tree(tree, specs, n, typing, procedure, ignore_errors);
    lw_tree_free(tree);
    lw_arena_reset(&arena);
    return result;
}

typedef PyObject *(*over_types)(lw_types *table, lw_typing typing, const lw_type *types,
                                uint32_t n);

static PyObject *
with_types(PyObject *args, const char *format, over_types function)
{
    const char *list, *mode = "weak";
    PyObject *result = NULL;
    lw_type types[MAX_TYPES];
    lw_typing typing;
    lw_arena arena;
    lw_types table;
    uint32_t n;

    if (!PyArg_ParseTuple(args, format, &list, &mode) || parse_mode(mode, &typing) < 0)
        return NULL;
    lw_arena_init(&arena);
    lw_types_init(&table, &arena);
    if (parse_types(&table, list, types, &n) == 0)
        result = function(&table, typing, types, n);
    lw_arena_reset(&arena);
    return result;
}

static PyObject *
type_object(const lw_types *table, lw_type type)
{
    lw_text text = {0};
    PyObject *result;

    if (type == LW_T_BOTTOM)
        Py_RETURN_NONE;
    lw_type_print(table, type, &text);
    result = lw_text_take(&text);
    return result;
}

static PyObject *
promote_types(lw_types *table, lw_typing typing, const lw_type *types, uint32_t n)
{
    if (n != 2) {
        PyErr_SetString(PyExc_ValueError, "two types are promoted");
        return NULL;
    }
    return type_object(table, lw_promote(table, typing, types[0], types[1]));
}

static PyObject *
promote(PyObject *Py_UNUSED(module), PyObject *args)
{
    return with_types(args, "s|s:_promote", promote_types);
}

/* The type, or the code of the problem. */
static PyObject *
join_types(lw_types *table, lw_typing typing, const lw_type *types, uint32_t n)
{
    const char *problem = NULL;
    lw_type joined = lw_join(table, typing, types, n, &problem);

    return problem ? PyUnicode_FromString(problem) : type_object(table, joined);
}

static PyObject *
join(PyObject *Py_UNUSED(module), PyObject *args)
{
    return with_types(args, "s|s:_join", join_types);
}

static PyObject *
can_cast(PyObject *Py_UNUSED(module), PyObject *args)
{
    const char *from, *to, *casting = "safe";
    lw_dtype x, y;

    if (!PyArg_ParseTuple(args, "ss|s:_can_cast", &from, &to, &casting))
        return NULL;
    x = lw_dtype_from_name(from, (unsigned)strlen(from));
    y = lw_dtype_from_name(to, (unsigned)strlen(to));
    if (x == LW_DT_void || y == LW_DT_void) {
        PyErr_SetString(PyExc_ValueError, "unknown dtype");
        return NULL;
    }
    return PyBool_FromLong(strcmp(casting, "same_kind") == 0 ? lw_can_cast_same_kind(x, y)
                                                             : lw_can_cast_safe(x, y));
}

/* The rows of names.def: (path, min, max) each. */
static PyObject *
named_functions(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    PyObject *list = PyList_New(LW_N_NAMES - 1);

    for (uint32_t i = 1; list && i < LW_N_NAMES; i++) {
        PyObject *row = Py_BuildValue("(sii)", lw_names[i].path, (int)lw_names[i].min,
                                      (int)lw_names[i].max);
        if (row == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i - 1, row);
    }
    return list;
}

/* ---- records ---- */

/* One line a field, nested ones below theirs: offset, name, type, alignment that is sure. */
static void
print_record(const lw_types *types, lw_type type, int indent, lw_text *out)
{
    const lw_record *record = lw_record_of(types, type);

    for (uint32_t i = 0; i < record->n; i++) {
        const lw_record_field *field = &record->fields[i];
        uint32_t own = lw_type_align(types, field->type);
        uint32_t here = lw_common_align(record->align, field->offset);

        lw_text_addf(out, "%*s%u %s: ", indent, "", field->offset, field->name);
        lw_type_print(types, field->type, out);
        lw_text_addf(out, " /%u\n", own < here ? own : here);
        if (lw_record_of(types, field->type))
            print_record(types, field->type, indent + 2, out);
    }
}

static PyObject *
record_text(PyObject *Py_UNUSED(module), PyObject *dtype)
{
    lw_arg_record *spec;
    PyObject *result = NULL;
    lw_text text = {0};
    lw_arena arena;
    lw_types types;

    if (!PyArray_DescrCheck(dtype))
        return PyErr_Format(PyExc_TypeError, "expected a numpy.dtype");
    lw_arena_init(&arena);
    lw_types_init(&types, &arena);
    if (lw_record_spec((PyArray_Descr *)dtype, &arena, &spec) == 0) {
        lw_text_addf(&text, "%s %u /%u\n", spec->name, spec->itemsize, spec->align);
        print_record(&types, lw_record_type(&types, spec, false), 2, &text);
        result = lw_text_take(&text);
    }
    lw_text_reset(&text);
    lw_arena_reset(&arena);
    return result;
}

static PyMethodDef methods[] = {
    {"_dump_record", record_text, METH_O, "_dump_record(dtype): its type, field by field."},
    {"_dump_typed", (PyCFunction)(void (*)(void))dump_typed, METH_VARARGS | METH_KEYWORDS,
     "_dump_typed(function, types, mode='weak', source=None, procedure=False, "
     "ignore_errors=False): the typed tree as text."},
    {"_promote", promote, METH_VARARGS,
     "_promote('float32, lit 5', mode): what operators use."},
    {"_join", join, METH_VARARGS, "_join('float32, lit 5', mode): one type for a variable."},
    {"_can_cast", can_cast, METH_VARARGS, "_can_cast(from, to, casting='safe')"},
    {"_named_functions", named_functions, METH_NOARGS, "The rows of names.def."},
    {NULL, NULL, 0, NULL},
};

int
lw_debug_typing_register(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
