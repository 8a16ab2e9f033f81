/* Specialisations as text: "float32, float32[::1]". */
#include "core/py/numpy_api.h"

#include "forall/kernel_py.h"
#include "forall/specialisation_py_internal.h"
#include "forall/static_py.h"

#include "core/py/text_py.h"

static const char *
weak_name(lw_dtype dtype)
{
    if (lw_is_integer(dtype))
        return "int";
    return lw_is_complex(dtype) ? "complex" : "float";
}

void
lw_spec_print(const lw_arg_spec *spec, lw_text *out)
{
    switch (spec->kind) {
    case LW_ARGK_SCALAR: lw_text_add(out, lw_dtypes[spec->dtype].public_name); break;
    case LW_ARGK_WEAK: lw_text_add(out, weak_name(spec->dtype)); break;
    case LW_ARGK_ARRAY:
        lw_text_add(out,
                    spec->record ? spec->record->name : lw_dtypes[spec->dtype].public_name);
        lw_text_add(out, spec->ndim ? "[" : "[()]");
        for (int d = 0; d < spec->ndim; d++) {
            bool unit = (spec->layout == LW_LAYOUT_C && d == spec->ndim - 1) ||
                        (spec->layout == LW_LAYOUT_F && d == 0 && spec->ndim > 1);
            lw_text_addf(out, "%s%s", d ? ", " : "", unit ? "::1" : ":");
        }
        if (spec->ndim)
            lw_text_add(out, "]");
        break;
    case LW_ARGK_RECORD: lw_text_add(out, spec->record->name); break;
    case LW_ARGK_TUPLE:
        lw_text_addf(out, "%s(", spec->class_name ? spec->class_name : "");
        for (uint32_t i = 0; i < spec->n; i++) {
            lw_text_add(out, i ? ", " : "");
            lw_spec_print(&spec->items[i], out);
        }
        lw_text_add(out, spec->n == 1 && !spec->class_name ? ",)" : ")");
        break;
    case LW_ARGK_CONSTANT: lw_text_add(out, "none"); break;
    }
}

void
lw_specialisation_print(const lw_specialisation *specialisation, lw_text *out)
{
    const lw_function *self = specialisation->function;
    const lw_fn *fn = &lw_specialisation_tree(specialisation)->fns.data[1];

    for (uint32_t i = self->n_index; i < specialisation->n_specs; i++) {
        uint32_t arg = i - self->n_index;
        bool is_static = specialisation->tree != NULL && arg < LW_MOST_ARRANGED &&
                         (specialisation->statics >> arg & 1);
        if (specialisation->specs[i].kind == LW_ARGK_CONSTANT && !is_static &&
            specialisation->specs[i].constant == fn->params.data[i].default_constant)
            break; /* left to its default */
        lw_text_add(out, i > self->n_index ? ", " : "");
        if (is_static) {
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

static void
print_results(const lw_scalar *scalar, lw_text *out)
{
    if (scalar == NULL || scalar->n_out == 0)
        lw_text_add(out, "void");
    for (uint32_t i = 0; scalar != NULL && i < scalar->n_out; i++)
        lw_text_addf(out, "%s%s",
                     i                   ? ", "
                     : scalar->n_out > 1 ? "("
                                         : "",
                     lw_dtypes[scalar->out[i]].public_name);
    if (scalar != NULL && scalar->n_out > 1)
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
