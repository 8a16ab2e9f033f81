/* External declarations, functions in other languages: objects of cuda.declare_device, and any
 * callable with the attribute __lanewise_external__. They become EXTERNAL constants. */
#include "core/front/read/read_internal.h"

#include "core/front/external.h"
#include "core/front/read/services.h"

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

/* What the object declares (new reference), or NULL. */
static PyObject *
declaration_of(PyObject *object)
{
    PyObject *said;

    if (PyFunction_Check(object) && ((PyFunctionObject *)object)->func_dict == NULL)
        return NULL;
    said = PyObject_GetAttrString(object, "__lanewise_external__");
    if (said == NULL)
        lw_read_clear();
    return said;
}

/* The same with each part checked: a tuple of three str. */
static PyObject *
checked(PyObject *object, PyObject *said)
{
    PyObject *check = lw_service_find(LW_SERVICE_LINKING, "external"), *result = NULL;

    if (check != NULL)
        result = PyObject_CallFunctionObjArgs(check, object, said, NULL);
    Py_XDECREF(check);
    return result;
}

uint32_t
lw_read_external(lw_reader *r, PyObject *object)
{
    PyObject *said = declaration_of(object), *parts;
    const char *name, *signature, *abi;
    lw_external *external = NULL;
    uint32_t linked = 0;

    if (said == NULL)
        return 0;
    parts = checked(object, said);
    Py_DECREF(said);
    if (parts == NULL || !PyArg_ParseTuple(parts, "sss", &name, &signature, &abi))
        lw_read_failed(r);
    else if (lw_read_linked(r, object, NULL, &linked))
        external = new_external(r, name, signature, abi);
    Py_XDECREF(parts);
    return external ? lw_read_push(r, object,
                                   (lw_constant){.kind = LW_K_EXTERNAL,
                                                 .text = external->name,
                                                 .bytes = external,
                                                 .linked = linked})
                    : 0;
}
