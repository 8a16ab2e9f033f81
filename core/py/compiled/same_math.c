/* Reads FUNCTIONS of lanewise/_same_math.py, a dict from names of intrinsics.def to the
 * functions for float32 and float64, and lowers each to a module, which is kept for the
 * process. They are lowered with neither fused products nor guards, so that their arithmetic is
 * what they say. Each is made when the lowering of other code first calls it: reading all of
 * them takes 180 ms, and a kernel calls two or three. */
#include "core/py/compiled/same_math.h"

#include "core/front/lower/lower.h"
#include "core/front/read/critical.h"
#include "core/front/read/python.h"
#include "core/front/read/services.h"
#include "core/ir/same_math.h"
#include "core/py/raise.h"
#include "core/tables/intrinsics.h"

#include <stdio.h>

enum { MOST_ARGUMENTS = 3 };

static lw_status
lower(const lw_tree *tree, lw_intrinsic which, lw_dtype dtype, lw_error *err)
{
    lw_front_options options = {.typing = LW_TYPING_WEAK};
    lw_type in[MOST_ARGUMENTS];
    lw_typed *typed = NULL;
    lw_scalar *scalar = NULL;
    lw_func *body;
    char name[64];
    lw_status status;

    for (unsigned i = 0; i < lw_intrinsics[which].n_args && i < MOST_ARGUMENTS; i++)
        in[i] = (lw_type)dtype;
    LW_TRY(lw_infer(tree, &options, in, lw_intrinsics[which].n_args, &typed, err));
    LW_TRY(lw_lower(typed, &dtype, 1, &scalar, err));
    if (scalar->can_raise) {
        status = lw_fail(err, LW_ERR_INTERNAL, "`%s` of math=\"same\" can raise",
                         lw_intrinsics[which].name);
        goto fail;
    }
    snprintf(name, sizeof name, "lw_same_%s_%s", lw_intrinsics[which].name,
             lw_dtypes[dtype].name);
    body = scalar->module->funcs.data[scalar->body];
    body->name = lw_arena_strdup(&scalar->module->arena, name);
    if (body->name == NULL) {
        status = lw_fail_memory(err);
        goto fail;
    }
    for (uint32_t i = 0; i < scalar->module->datas.n; i++)
        scalar->module->datas.data[i].scattered = true;
    if (!lw_same_math_has(which, dtype)) { /* another thread may have been quicker */
        lw_same_math_set(which, dtype, scalar->module, scalar->body);
        scalar = NULL; /* stays, with its module */
    }
fail:
    lw_scalar_free(scalar);
    lw_typed_free(typed);
    return status;
}

static int
make_with(PyObject *function, lw_intrinsic which, lw_dtype dtype)
{
    lw_tree *tree = NULL;
    lw_error err = {0};
    int result = 0;

    if (lw_read_function(function, NULL, &tree, NULL, &err) != LW_OK ||
        lower(tree, which, dtype, &err) != LW_OK) {
        lw_py_raise(&err);
        result = -1;
    }
    lw_tree_free(tree);
    return result;
}

static int
make_unless_made(lw_intrinsic which, lw_dtype dtype)
{
    PyObject *functions = lw_service_find(LW_SERVICE_SAME_MATH, "FUNCTIONS"), *pair;
    int result = 0;

    if (functions == NULL)
        return -1;
    /* The section may end for a moment while a function is read; the first module stays then.
     */
    Py_BEGIN_CRITICAL_SECTION(functions);
    pair = PyDict_GetItemString(functions, lw_intrinsics[which].name); /* borrowed */
    if (pair != NULL && !lw_same_math_has(which, dtype))
        result = make_with(PyTuple_GET_ITEM(pair, dtype == LW_DT_f64 ? 1 : 0), which, dtype);
    Py_END_CRITICAL_SECTION();
    Py_DECREF(functions);
    return result;
}

/* The maker of core/ir/same_math.h. */
static lw_status
make(lw_intrinsic which, lw_dtype dtype)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    lw_status status = make_unless_made(which, dtype) < 0 ? LW_ERR_PYTHON : LW_OK;

    PyGILState_Release(gil);
    return status;
}

int
lw_same_math_register(PyObject *Py_UNUSED(module))
{
    lw_same_math_made_by(make);
    return 0;
}
