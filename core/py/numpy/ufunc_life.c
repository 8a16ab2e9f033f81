/* How a Ufunc or Gufunc is made, gets loops of signatures, and is freed. */
#include "core/py/numpy/ufunc_type.h"

#include "core/front/read/critical.h"
#include "core/py/numpy/family.h"
#include "core/py/numpy/loop_rows.h"
#include "core/py/numpy/recall.h"
#include "core/py/numpy/ufunc_choose.h"
#include "core/py/numpy/ufunc_inner.h"
#include "core/py/raise.h"
#include "core/py/types/signature_read.h"

/* ---- signatures ---- */

/* Whether signatures may name arrays: those of gufuncs. */
static bool
takes_arrays(const lw_ufunc_head *self)
{
    return self->kind->layout(self) != NULL;
}

static int
read_sorted(PyObject *signatures, bool arrays, bool keep_order, lw_arena *arena,
            lw_signature_list *list)
{
    lw_error err = {0};

    if (lw_signatures_read(signatures, !arrays, arena, list) < 0)
        return -1;
    if (lw_signatures_sort(list->data, list->n, keep_order, &err) == LW_OK)
        return 0;
    lw_py_raise(&err);
    return -1;
}

int
lw_ufunc_read_signatures(lw_ufunc_head *self, const lw_door_arguments *arguments,
                         lw_arena *arena, lw_signature_list *list)
{
    if (read_sorted(arguments->signatures, takes_arrays(self), arguments->keep_order, arena,
                    list) < 0)
        return -1;
    self->lazy = list->n == 0;
    return 0;
}

int
lw_ufunc_declare_all(lw_ufunc_head *self, const lw_signature_list *list)
{
    for (uint32_t i = 0; i < list->n; i++)
        if (self->kind->declare(self, &list->data[i]) < 0)
            return -1;
    return lw_loops_warn_ambiguous(self);
}

int
lw_ufunc_check(lw_door door, const lw_request *request, bool arrays)
{
    lw_door_options options;
    lw_door_arguments arguments;
    lw_signature_list list = {0};
    lw_arena arena;
    int failed;

    if (lw_door_read(door, request->signatures, request->keywords, &options, &arguments) < 0)
        return -1;
    lw_arena_init(&arena);
    /* those of a family also name excluded arrays */
    if (arrays || arguments.excluded || arguments.constants)
        failed = lw_signatures_read(request->signatures, false, &arena, &list);
    else
        failed = read_sorted(request->signatures, false, arguments.keep_order, &arena, &list);
    lw_arena_reset(&arena);
    return failed;
}

/* ---- making ---- */

PyObject *
lw_ufunc_make_object(PyTypeObject *type, const lw_compiled_door *door,
                     const lw_ufunc_kind *kind, const lw_request *request,
                     struct lw_member *member)
{
    lw_ufunc_head *self = lw_compiled_alloc(type, door, kind->call);
    lw_door_arguments arguments;
    lw_arena arena;
    int failed;

    if (self == NULL) {
        lw_free(member);
        return NULL;
    }
    self->member = member;
    self->kind = kind;
    self->failures = PyDict_New();
    if (self->failures == NULL ||
        lw_compiled_init((lw_compiled *)self, request, &arguments) < 0)
        goto fail;
    self->identity = Py_NewRef(arguments.identity);
    lw_arena_init(&arena);
    failed = kind->build(self, &arguments, request->layout, &arena);
    lw_arena_reset(&arena);
    if (failed)
        goto fail;
    self->is_made = true;
    return (PyObject *)self;
fail:
    Py_DECREF(self);
    return NULL;
}

/* ---- adding loops ---- */

static void
forget_methods(lw_ufunc_head *self)
{
    for (int i = 0; i < LW_N_METHODS; i++)
        Py_CLEAR(self->bound[i]);
}

/* NumPy keeps what it once chose for dtypes: a new numpy.ufunc asks anew, so that results do
 * not depend on earlier calls. */
static int
renew_inner(lw_ufunc_head *self)
{
    PyObject *inner = lw_inner_new(self);

    if (inner == NULL || lw_inner_replace(self, inner) < 0)
        return -1;
    forget_methods(self);
    lw_resolved_forget(&self->plans);
    lw_recall_forget(self->recalled);
    return 0;
}

int
lw_ufunc_freeze(lw_ufunc_head *self)
{
    int result = 0;

    if (self->family != NULL) {
        PyErr_SetString(PyExc_TypeError, "disable_compile: not possible for functions with "
                                         "excluded= or static=, because any call may compile");
        return -1;
    }
    Py_BEGIN_CRITICAL_SECTION((PyObject *)self);
    if (self->lazy) {
        self->lazy = false;
        result = renew_inner(self); /* which has seen dtypes that it may not take any more */
    }
    Py_END_CRITICAL_SECTION();
    return result;
}

static int
add_all(lw_ufunc_head *self, PyObject *signatures)
{
    lw_signature_list list = {0};
    lw_arena arena;
    int failed;

    lw_arena_init(&arena);
    failed = lw_signatures_read(signatures, !takes_arrays(self), &arena, &list);
    for (uint32_t i = 0; !failed && i < list.n; i++)
        failed = self->kind->declare(self, &list.data[i]);
    lw_arena_reset(&arena);
    return failed ? -1 : renew_inner(self);
}

int
lw_ufunc_add(lw_ufunc_head *self, PyObject *signatures)
{
    int result;

    Py_BEGIN_CRITICAL_SECTION((PyObject *)self);
    result = add_all(self, signatures);
    Py_END_CRITICAL_SECTION();
    return result;
}

/* ---- freeing ---- */

int
lw_ufunc_head_traverse(lw_ufunc_head *self, visitproc visit, void *arg)
{
    Py_VISIT(atomic_load_explicit(&self->inner, memory_order_relaxed));
    Py_VISIT(self->retired);
    for (int i = 0; i < LW_N_METHODS; i++)
        Py_VISIT(self->bound[i]);
    Py_VISIT(self->identity);
    Py_VISIT(self->failures);
    Py_VISIT(self->origin);
    Py_VISIT(self->numpys);
    if (self->family != NULL && lw_family_traverse(self->family, visit, arg))
        return 1;
    return lw_compiled_traverse((lw_compiled *)self, visit, arg);
}

void
lw_ufunc_head_clear(lw_ufunc_head *self)
{
    struct lw_family *family = self->family;

    if (self->table != NULL) /* finalizers below may still call the inner numpy.ufunc */
        atomic_store(&self->table->owner, NULL);
    self->family = NULL;
    forget_methods(self);
    lw_compiled_clear((lw_compiled *)self);
    lw_family_free(family);
    Py_CLEAR(self->failures);
    Py_CLEAR(self->origin);
}

void
lw_ufunc_drop(lw_compiled *head)
{
    lw_ufunc_head *self = (lw_ufunc_head *)head;

    lw_recall_free(self->recalled);
    lw_resolved_free(&self->plans);
    Py_XDECREF(atomic_exchange(&self->inner, NULL));
    Py_CLEAR(self->retired);
    Py_CLEAR(self->numpys);
    Py_CLEAR(self->identity);
    lw_rows_free(self);
    lw_table_drop(self->table); /* the loops go with the last numpy.ufunc */
    lw_free(self->member);
}
