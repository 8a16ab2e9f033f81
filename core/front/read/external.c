/* Objects of cuda.declare_device, which an attribute identifies, become EXTERNAL constants. */
#include "core/front/read/read_internal.h"

#include "core/front/external.h"

#include <string.h>

static lw_external *
new_external(lw_reader *r, const char *name, const char *signature, const char *abi)
{
    lw_external *external = lw_arena_take(&r->tree->arena, sizeof *external);

    if (external == NULL) {
        lw_read_no_memory(r);
        return NULL;
    }
    external->name = lw_read_text(r, name);
    external->c_abi = strcmp(abi, "c") == 0;
    if (external->name == NULL)
        return NULL;
    r->status = lw_signature_parse(signature, &r->tree->arena, &external->signature, r->err);
    return r->status == LW_OK ? external : NULL;
}

uint32_t
lw_read_external(lw_reader *r, PyObject *object)
{
    PyObject *said = PyObject_GetAttrString(object, "__lanewise_external__");
    const char *name, *signature, *abi;
    lw_external *external = NULL;

    if (said == NULL) {
        lw_read_clear();
        return 0;
    }
    if (!PyTuple_Check(said) || !PyArg_ParseTuple(said, "sss", &name, &signature, &abi))
        lw_read_clear(); /* another object with an attribute of this name */
    else
        external = new_external(r, name, signature, abi);
    Py_DECREF(said);
    if (external == NULL)
        return 0;
    if (lw_captures_add_linked(r->captures, object) < 0)
        return lw_read_failed(r);
    return lw_read_push(
        r, object,
        (lw_constant){.kind = LW_K_EXTERNAL, .text = external->name, .bytes = external});
}
