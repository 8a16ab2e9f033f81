/* Specialisations as text: "float32, float32[::1]". */
#include "core/py/numpy_api.h"

#include "forall/kernel_py.h"
#include "forall/specialisation_py_internal.h"
#include "forall/static_py.h"

#include "core/py/record_intern.h"
#include "core/py/text_py.h"
#include "core/py/types/type_object.h"

static const char layout_letters[] = {
    [LW_LAYOUT_C] = 'C', [LW_LAYOUT_F] = 'F', [LW_LAYOUT_ANY] = 'A'};

static const char *
weak_name(lw_dtype dtype)
{
    if (lw_is_integer(dtype))
        return "int";
    return lw_is_complex(dtype) ? "complex" : "float";
}

static void
print_array(const lw_arg_spec *spec, lw_text *out)
{
    const char *element =
        spec->record ? spec->record->name : lw_dtypes[spec->dtype].public_name;

    if (spec->readonly && spec->ndim > 0) {
        lw_text_addf(out, "Array(%s, %u, '%c', readonly=True)", element, (unsigned)spec->ndim,
                     layout_letters[spec->layout]);
        return;
    }
    lw_text_addf(out, "%s%s", element, spec->ndim ? "[" : "[()]");
    for (int d = 0; d < spec->ndim; d++) {
        bool unit = (spec->layout == LW_LAYOUT_C && d == spec->ndim - 1) ||
                    (spec->layout == LW_LAYOUT_F && d == 0 && spec->ndim > 1);
        lw_text_addf(out, "%s%s", d ? ", " : "", unit ? "::1" : ":");
    }
    if (spec->ndim)
        lw_text_add(out, "]");
}

void
lw_spec_print(const lw_arg_spec *spec, lw_text *out)
{
    switch (spec->kind) {
    case LW_ARGK_SCALAR: lw_text_add(out, lw_dtypes[spec->dtype].public_name); break;
    case LW_ARGK_WEAK: lw_text_add(out, weak_name(spec->dtype)); break;
    case LW_ARGK_ARRAY:
        if (spec->pointer)
            lw_text_addf(out, "%s*",
                         spec->record ? spec->record->name
                                      : lw_dtypes[spec->dtype].public_name);
        else
            print_array(spec, out);
        break;
    case LW_ARGK_RECORD: lw_text_add(out, spec->record->name); break;
    case LW_ARGK_TUPLE:
        lw_text_addf(out, "%s%s", spec->class_name ? spec->class_name : "",
                     spec->is_list ? "[" : "(");
        for (uint32_t i = 0; i < spec->n; i++) {
            lw_text_add(out, i ? ", " : "");
            lw_spec_print(&spec->items[i], out);
        }
        lw_text_add(out, spec->is_list ? "]" : spec->n == 1 && !spec->class_name ? ",)" : ")");
        break;
    case LW_ARGK_CONSTANT: lw_text_add(out, spec->is_ellipsis ? "ellipsis" : "none"); break;
    case LW_ARGK_MEMBER:
        lw_text_add(out, spec->members ? spec->members->name : "member");
        break;
    }
}

/* The parameters up to the first that is left to its default. */
static uint32_t
n_given(const lw_specialisation *specialisation)
{
    const lw_fn *fn = &lw_specialisation_tree(specialisation)->fns.data[1];

    for (uint32_t i = specialisation->function->n_index; i < specialisation->n_specs; i++)
        if (specialisation->specs[i].kind == LW_ARGK_CONSTANT &&
            !lw_specialisation_is_static(specialisation, i) &&
            specialisation->specs[i].constant == fn->params.data[i].default_constant)
            return i;
    return specialisation->n_specs;
}

void
lw_specialisation_print(const lw_specialisation *specialisation, lw_text *out)
{
    uint32_t first = specialisation->function->n_index, n = n_given(specialisation);

    for (uint32_t i = first; i < n; i++) {
        lw_text_add(out, i > first ? ", " : "");
        if (lw_specialisation_is_static(specialisation, i)) {
            lw_static_print(specialisation, i, out);
            continue;
        }
        lw_spec_print(&specialisation->specs[i], out);
    }
}

PyObject *
lw_specialisation_text(const lw_specialisation *specialisation)
{
    lw_text text = {0};

    lw_specialisation_print(specialisation, &text);
    return lw_text_take(&text);
}

/* ---- as type objects ---- */

static lw_dtype
dtype_of_weak(lw_dtype dtype)
{
    if (lw_is_integer(dtype))
        return LW_DT_i64;
    return lw_is_complex(dtype) ? LW_DT_c128 : LW_DT_f64;
}

static bool sig_of(const lw_arg_spec *spec, lw_arena *arena, lw_sig_type *out);

static bool
sig_of_tuple(const lw_arg_spec *spec, lw_arena *arena, lw_sig_type *out)
{
    lw_sig_type *items = lw_arena_take(arena, (spec->n + 1) * sizeof *items);

    for (uint32_t i = 0; items != NULL && i < spec->n; i++)
        if (!sig_of(&spec->items[i], arena, &items[i]))
            return false;
    *out = (lw_sig_type){.kind = LW_SIG_TUPLE,
                         .items = items,
                         .n = spec->n,
                         .names = spec->names,
                         .class_name = spec->class_name};
    return items != NULL;
}

static bool
sig_of(const lw_arg_spec *spec, lw_arena *arena, lw_sig_type *out)
{
    *out = (lw_sig_type){.kind = LW_SIG_SCALAR, .dtype = spec->dtype, .record = spec->record};
    switch (spec->kind) {
    case LW_ARGK_SCALAR: break;
    case LW_ARGK_WEAK: out->dtype = dtype_of_weak(spec->dtype); break;
    case LW_ARGK_RECORD: out->kind = LW_SIG_RECORD; break;
    case LW_ARGK_CONSTANT: out->kind = spec->is_ellipsis ? LW_SIG_NONE : LW_SIG_VOID; break;
    case LW_ARGK_MEMBER: out->kind = LW_SIG_NONE; break; /* signatures have no such type */
    case LW_ARGK_TUPLE: return sig_of_tuple(spec, arena, out);
    case LW_ARGK_ARRAY:
        out->kind = spec->pointer ? LW_SIG_POINTER : LW_SIG_ARRAY;
        out->ndim = (uint32_t)spec->ndim;
        out->layout = layout_letters[spec->layout];
        out->readonly = spec->readonly;
        break;
    }
    return true;
}

/* A type object; a static value as text. */
static PyObject *
type_of_parameter(const lw_specialisation *specialisation, uint32_t i, lw_arena *arena)
{
    lw_text text = {0};
    lw_sig_type type;

    if (lw_specialisation_is_static(specialisation, i)) {
        lw_static_print(specialisation, i, &text);
        return lw_text_take(&text);
    }
    if (!sig_of(&specialisation->specs[i], arena, &type))
        return PyErr_NoMemory();
    return lw_type_object_new(&type);
}

PyObject *
lw_specialisation_types(const lw_specialisation *specialisation)
{
    uint32_t first = specialisation->function->n_index, n = n_given(specialisation);
    PyObject *types = PyTuple_New(n - first);
    lw_arena arena;

    lw_arena_init(&arena);
    for (uint32_t i = first; types != NULL && i < n; i++) {
        PyObject *one = type_of_parameter(specialisation, i, &arena);
        if (one == NULL)
            Py_CLEAR(types);
        else
            PyTuple_SET_ITEM(types, i - first, one);
    }
    lw_arena_reset(&arena);
    return types;
}

/* ---- the types of variables ---- */

static lw_dtype
dtype_of_value(lw_type type)
{
    switch (type) {
    case LW_T_INDEX: return LW_DT_i64;
    case LW_T_PYFLOAT: return LW_DT_f64;
    case LW_T_PYCOMPLEX: return LW_DT_c128;
    default:
        return type > LW_DT_void && type < LW_N_SCALARS && type != LW_DT_ptr ? (lw_dtype)type
                                                                             : LW_DT_void;
    }
}

/* Numbers, records and arrays of them, as signatures name them; false: it is something else. */
static bool
sig_of_value(const lw_types *types, lw_type type, lw_sig_type *out)
{
    const lw_type_row *row = lw_type_get(types, type);

    *out = (lw_sig_type){.kind = LW_SIG_SCALAR};
    if (row != NULL && row->kind == LW_TK_ARRAY) {
        if (!sig_of_value(types, row->elements[0], out))
            return false;
        out->kind = LW_SIG_ARRAY;
        out->ndim = row->ndim;
        out->layout = layout_letters[row->layout];
        return true;
    }
    if (row != NULL && row->kind == LW_TK_RECORD && row->record->spec->descr != NULL) {
        out->kind = LW_SIG_RECORD;
        out->record = lw_record_intern((PyArray_Descr *)(uintptr_t)row->record->spec->descr);
        PyErr_Clear();
        return out->record != NULL;
    }
    out->dtype = row == NULL                  ? dtype_of_value(type)
                 : row->kind == LW_TK_LITERAL ? LW_DT_i64
                                              : LW_DT_void;
    return out->dtype != LW_DT_void;
}

/* The next name of a variable that has several types: "x", "x.1", "x.2". -1: an exception. */
static int
add_variable(PyObject *dict, const char *name, const lw_sig_type *type)
{
    PyObject *object = lw_type_object_new(type), *key = NULL;
    int result = object ? 1 : -1;

    for (int n = 0; result == 1; n++) {
        Py_XSETREF(key,
                   n ? PyUnicode_FromFormat("%s.%d", name, n) : PyUnicode_FromString(name));
        result = key ? PyDict_Contains(dict, key) : -1;
        if (result == 1 &&
            PyObject_RichCompareBool(PyDict_GetItem(dict, key), object, Py_EQ) == 1)
            break; /* another definition of the same type */
        if (result == 0 && PyDict_SetItem(dict, key, object) < 0)
            result = -1;
    }
    Py_XDECREF(object);
    Py_XDECREF(key);
    return result < 0 ? -1 : 0;
}

PyObject *
lw_specialisation_variables(const lw_specialisation *specialisation)
{
    lw_typed *typed = lw_specialisation_infer(specialisation);
    PyObject *dict = typed ? PyDict_New() : NULL;
    const lw_instance *instance = typed ? &typed->instances.data[1] : NULL;
    lw_sig_type type;

    for (uint32_t i = 1; dict != NULL && i < instance->webs.n; i++) {
        const lw_web *web = &instance->webs.data[i];
        const lw_fn *fn = &typed->tree->fns.data[instance->fn];

        if (sig_of_value(&typed->types, web->type, &type) &&
            add_variable(dict, fn->vars.data[web->var].name, &type) < 0)
            Py_CLEAR(dict);
    }
    if (typed != NULL)
        lw_typed_free(typed);
    return dict;
}

/* Whether a result is an object, which is shown by the name of its class. */
static bool
is_object(const lw_result *form)
{
    return form->kind == LW_FORM_TUPLE && form->user_class != NULL &&
           !form->user_class->is_namedtuple;
}

static bool
has_brackets(const lw_scalar *scalar)
{
    return scalar->n_out > 1 && scalar->result->kind != LW_FORM_OPTIONAL &&
           !is_object(scalar->result);
}

static const char *
separator(const lw_scalar *scalar, uint32_t at)
{
    return at ? ", " : has_brackets(scalar) ? "(" : "";
}

static uint32_t
outputs_of(const lw_result *form)
{
    uint32_t n = lw_result_has_output(form);

    for (uint32_t i = 0; i < form->n; i++)
        n += outputs_of(&form->items[i]);
    return n;
}

/* at: how many outputs have been printed. */
static void
print_form(const lw_scalar *scalar, const lw_result *form, uint32_t *at, lw_text *out)
{
    if (is_object(form)) {
        lw_text_addf(out, "%s%s", separator(scalar, *at), form->user_class->name);
        *at += outputs_of(form); /* its fields: of a list, how its memory is laid out */
        return;
    }
    if (form->kind == LW_FORM_OPTIONAL) { /* of a number, an array or a tuple */
        const lw_result *given = &form->items[1];
        lw_text_addf(out, "%sOptional(%s)", separator(scalar, *at),
                     given->kind == LW_FORM_NUMBER ? lw_dtypes[scalar->out[*at + 1]].public_name
                     : given->kind == LW_FORM_TEXT ? "str"
                                                   : "tuple");
        *at += 1 + outputs_of(given);
        return;
    }
    for (uint32_t i = 0; form->kind == LW_FORM_TUPLE && i < form->n; i++)
        print_form(scalar, &form->items[i], at, out);
    if (form->kind == LW_FORM_TUPLE || form->kind == LW_FORM_NONE || form->text != NULL)
        return;
    lw_text_addf(out, "%s%s", separator(scalar, *at),
                 form->members                ? form->members->name
                 : form->kind == LW_FORM_TEXT ? "str"
                                              : lw_dtypes[scalar->out[*at]].public_name);
    ++*at;
}

static void
print_results(const lw_scalar *scalar, lw_text *out)
{
    uint32_t n = 0;

    if (scalar == NULL || scalar->n_out == 0)
        lw_text_add(out, "void");
    if (scalar != NULL)
        print_form(scalar, scalar->result, &n, out);
    if (scalar != NULL && has_brackets(scalar))
        lw_text_add(out, ")");
}

PyObject *
lw_specialisation_signature(const lw_specialisation *specialisation)
{
    lw_text text = {0};

    if (specialisation->result != NULL)
        lw_sig_type_print(specialisation->result, &text);
    else
        print_results(specialisation->scalar, &text);
    lw_text_add(&text, "(");
    lw_specialisation_print(specialisation, &text);
    lw_text_add(&text, ")");
    return lw_text_take(&text);
}
