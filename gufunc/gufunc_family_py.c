/* Gufuncs with excluded= or static= parameters: what families (core/py/numpy/family.h) ask of
 * this door. Parts of excluded arrays are inputs `()` of the members, behind the layout's
 * inputs. */
#include "gufunc/gufunc_parts_py.h"

#include <string.h>

static void
operands(const lw_ufunc_head *self, int *nin, int *nout)
{
    *nin = self->nin;
    *nout = self->nout;
}

/* The layout with so many `()` behind its inputs. */
static PyObject *
layout_with(const lw_gufunc *self, int n_hidden)
{
    const char *text = self->layout.text, *arrow = strstr(text, "->");
    lw_text wide = {0};
    PyObject *result;

    if (arrow == NULL) /* it has no outputs */
        arrow = text + strlen(text);
    lw_text_addf(&wide, "%.*s", (int)(arrow - text), text);
    for (int i = 0; i < n_hidden; i++)
        lw_text_add(&wide, self->nin || i ? ",()" : "()");
    lw_text_add(&wide, arrow);
    result = wide.failed ? PyErr_NoMemory() : PyUnicode_FromString(lw_text_get(&wide));
    lw_text_reset(&wide);
    return result;
}

static PyObject *
new_member(lw_ufunc_head *self, PyObject *function, PyObject *signatures, PyObject *options,
           lw_member *member)
{
    PyObject *layout = layout_with((lw_gufunc *)self, member->n_hidden), *result;

    if (layout == NULL) {
        lw_free(member);
        return NULL;
    }
    result = lw_gufunc_new(Py_TYPE(self),
                           &(lw_request){.function = function,
                                         .signatures = signatures,
                                         .layout = layout,
                                         .keywords = options},
                           member);
    Py_DECREF(layout);
    return result;
}

/* An excluded array is read as the arrays of the core are: no index is compared, since a loop
 * that something may leave early cannot be shared by the threads of a block. */
const lw_family_door lw_gufunc_family_door = {
    .name = "guvectorize",
    .most_inputs = LW_MAX_OPERANDS,
    .operands = operands,
    .new_member = new_member,
    .ask = lw_gufunc_ask,
    .call_host = lw_gufunc_call_host,
};

/* Filled once, when the first is made: under the GIL. */
const lw_ufunc_kind *
lw_gufunc_families(void)
{
    static lw_ufunc_kind kind;

    if (kind.call == NULL)
        kind = lw_family_kind(&lw_ufunc_of_cores);
    return &kind;
}
