/* The head of this door's objects: the user's function, its names and its life. */
#include "core/py/numpy_api.h"

#include "forall/kernel_py.h"
#include "forall/specialisation_py_internal.h"
#include "forall/static_py.h"

#include "core/py/raise.h"

const char *
lw_function_name(const lw_function *self)
{
    return lw_compiled_name((const lw_compiled *)self);
}

lw_build_options
lw_function_build_options(const lw_function *self)
{
    return lw_compiled_build_options((const lw_compiled *)self, lw_function_name(self));
}

static int
check_index(const lw_function *self, const lw_fn *fn, const char *door)
{
    for (uint32_t i = 0; i < self->n_index; i++)
        if (i >= fn->params.n || fn->params.data[i].kind != LW_PARAM_POSITIONAL) {
            PyErr_Format(PyExc_TypeError,
                         self->n_index == 1
                             ? "%s: the first parameter of `%s` is the element's index; it has "
                               "no positional one"
                             : "%s: the first parameters of `%s` are the element's %u indices; "
                               "it has %u parameters",
                         door, fn->name, (unsigned)self->n_index, (unsigned)fn->params.n);
            return -1;
        }
    for (uint32_t i = 0; i < self->n_index; i++) {
        uint32_t number = fn->params.data[i].annotation;
        const lw_constant *constant = number ? &self->tree->constants.data[number] : NULL;
        if (constant && constant->kind == LW_K_DTYPE && constant->dtype != LW_DT_i64) {
            PyErr_Format(
                PyExc_TypeError,
                "%s: the element's index `%s` of `%s` is int64, not %s, which does not "
                "hold every index; convert it where it is used",
                door, fn->params.data[i].name, fn->name,
                lw_dtypes[constant->dtype].public_name);
            return -1;
        }
    }
    return 0;
}

static int
count_params(lw_function *self, const char *door)
{
    const lw_fn *fn = &self->tree->fns.data[1];

    if (check_index(self, fn, door) < 0)
        return -1;
    self->n_params = fn->params.n;
    self->n_required = 0;
    for (uint32_t i = self->n_index; i < fn->params.n; i++) {
        const lw_fn_param *param = &fn->params.data[i];
        if (param->kind == LW_PARAM_POSITIONAL || self->door->id == LW_DOOR_JIT) {
            self->n_required += param->default_constant == 0 && param->kind != LW_PARAM_VARARG;
            continue;
        }
        PyErr_Format(
            PyExc_TypeError, "%s: parameter `%s` of `%s` is %s; arguments are positional", door,
            param->name, fn->name, param->kind == LW_PARAM_VARARG ? "*args" : "keyword-only");
        return -1;
    }
    return 0;
}

int
lw_function_init(lw_function *self, const lw_request *request)
{
    lw_door_arguments arguments;
    bool threads = self->door->id == LW_DOOR_JIT;

    if (lw_compiled_init((lw_compiled *)self, request, &arguments) < 0 ||
        lw_compiled_read((lw_compiled *)self) < 0)
        return -1;
    self->n_index = threads ? 0 : arguments.ndim;
    self->options.front.procedure = true;
    self->options.front.threads = threads;
    self->limits.max_threads =
        (uint32_t)(self->options.bound_threads ? self->options.bound_threads
                                               : self->options.max_blocksize);
    self->limits.min_blocks = (uint32_t)self->options.bound_blocks;
    self->limits.max_cluster = (uint32_t)self->options.bound_cluster;
    self->limits.max_registers = (uint32_t)self->options.max_registers;
    if (!lw_add_argument_constants(self->tree)) {
        PyErr_NoMemory();
        return -1;
    }
    return count_params(self, lw_door_name(self->door->id)) < 0
               ? -1
               : lw_function_name_statics(self, arguments.constants);
}

/* Whether what the trees of specialisations captured has changed: functions that are static
 * values, classes of arguments. */
bool
lw_function_statics_changed(const lw_compiled *head)
{
    const lw_function *self = (const lw_function *)head;
    const lw_specialisation *at = atomic_load_explicit(&self->reads_own, memory_order_acquire)
                                      ? lw_grown_first(&self->specialisations)
                                      : NULL;

    for (; at != NULL; at = lw_grown_next(at))
        if (at->captures != NULL && lw_captures_changed(at->captures))
            return true;
    return false;
}

bool
lw_function_is_stale(const lw_function *self)
{
    return lw_compiled_is_stale((const lw_compiled *)self) ||
           lw_function_statics_changed((const lw_compiled *)self);
}

lw_function *
lw_function_current(lw_function *self)
{
    return lw_function_is_stale(self) ? (lw_function *)lw_compiled_stale((lw_compiled *)self)
                                      : (lw_function *)Py_NewRef((PyObject *)self);
}

int
lw_function_traverse(lw_function *self, visitproc visit, void *arg)
{
    Py_VISIT(self->static_values);
    for (lw_specialisation *at = lw_grown_first(&self->specialisations); at != NULL;
         at = lw_grown_next(at)) {
        Py_VISIT(at->held);
        if (at->captures != NULL && lw_captures_traverse(at->captures, visit, arg))
            return 1;
    }
    return lw_compiled_traverse((lw_compiled *)self, visit, arg);
}

static void
free_specialisation(void *specialisation)
{
    lw_specialisation_free(specialisation);
}

void
lw_function_drop(lw_compiled *head)
{
    lw_function *self = (lw_function *)head;

    lw_grown_free(&self->specialisations, free_specialisation);
    Py_CLEAR(self->static_values); /* keys of specialisations name what is in it */
}
