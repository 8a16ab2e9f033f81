/* The head of this door's objects: the user's function, its names and its life. */
#include "core/py/numpy_api.h"

#include "forall/kernel_py.h"
#include "forall/static_py.h"

#include "core/py/compiled/door_function.h"
#include "core/py/raise.h"

const char *
lw_function_name(const lw_function *self)
{
    return self->tree != NULL && self->tree->fns.n > 1 ? self->tree->fns.data[1].name
                                                       : "kernel";
}

lw_build_options
lw_function_build_options(const lw_function *self)
{
    lw_build_options options = lw_door_build_options(&self->options, lw_function_name(self));

    options.links = self->links.items;
    options.n_links = self->links.n;
    return options;
}

PyObject *
lw_function_stats(const lw_function *self)
{
    return Py_BuildValue("{s:I,s:I,s:I,s:I,s:d}", "specialisations", self->n_specials,
                         "compiled", self->compiled, "from_memory", self->from_memory,
                         "from_disk", self->from_disk, "seconds", self->seconds);
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
        const lw_konst *konst = number ? &self->tree->konsts.data[number] : NULL;
        if (konst && konst->kind == LW_K_DTYPE && konst->dtype != LW_DT_i64) {
            PyErr_Format(
                PyExc_TypeError,
                "%s: the element's index `%s` of `%s` is int64, not %s, which does not "
                "hold every index; convert it where it is used",
                door, fn->params.data[i].name, fn->name, lw_dtypes[konst->dtype].public_name);
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
        if (param->kind == LW_PARAM_POSITIONAL || self->door == LW_DOOR_JIT) {
            self->n_required += param->default_konst == 0 && param->kind != LW_PARAM_VARARG;
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
lw_function_init(lw_function *self, lw_door door, uint32_t n_index, PyObject *function,
                 PyObject *keywords)
{
    lw_door_arguments arguments;
    lw_error err = {0};

    self->door = door;
    self->n_index = n_index;
    self->lazy = true;
    self->keywords = keywords ? PyDict_Copy(keywords) : PyDict_New();
    self->py_func = PyMethod_Check(function) ? Py_NewRef(function) /* with its self */
                                             : lw_python_function(function);
    if (self->keywords == NULL || self->py_func == NULL ||
        lw_door_read(door, NULL, keywords, &self->options, &arguments) < 0 ||
        (self->dict = lw_wrapper_dict(self->py_func)) == NULL)
        return -1;
    self->source = Py_XNewRef(arguments.source);
    self->link = Py_XNewRef(arguments.link);
    self->options.front.procedure = true;
    self->options.front.threads = door == LW_DOOR_JIT;
    self->limits.max_threads = (uint32_t)self->options.max_blocksize;
    self->limits.max_registers = (uint32_t)self->options.max_registers;
    if (lw_read_function(self->py_func, self->source, &self->tree, &self->captures, &err) !=
        LW_OK) {
        lw_py_raise(&err);
        return -1;
    }
    if (lw_link_set_read(&self->links, self->link, lw_captures_linked(self->captures)) < 0)
        return -1;
    return count_params(self, door == LW_DOOR_JIT ? "jit" : "forall") < 0
               ? -1
               : lw_function_name_statics(self, arguments.constants);
}

int
lw_function_refresh(lw_function *self)
{
    int changed = 0;

    if (self->n_specials == 0)
        changed = lw_read_again(self->py_func, self->source, &self->tree, &self->captures);
    if (changed <= 0)
        return changed;
    lw_link_set_reset(&self->links);
    return lw_link_set_read(&self->links, self->link, lw_captures_linked(self->captures));
}

/* What static values captured that are functions. */
static bool
statics_changed(const lw_function *self)
{
    const lw_special *at = self->statics ? atomic_load(&self->specials) : NULL;

    for (; at != NULL; at = at->next)
        if (at->captures != NULL && lw_captures_changed(at->captures))
            return true;
    return false;
}

static bool
is_stale(PyObject *object)
{
    lw_function *self = (lw_function *)object;

    return lw_door_checks_changed(&self->options) ||
           (self->captures != NULL && lw_captures_changed(self->captures)) ||
           statics_changed(self);
}

bool
lw_function_is_stale(const lw_function *self)
{
    return lw_door_checks_changed(&self->options) ||
           (self->n_specials != 0 && self->captures != NULL &&
            lw_captures_changed(self->captures)) ||
           statics_changed(self);
}

int
lw_function_frozen(lw_function *self)
{
    int told = 0;

    if (self->n_specials != 0) /* before that it is read again */
        told = lw_tell_frozen(self->captures, &self->options, lw_function_name(self));
    return told > 0 ? !lw_function_is_stale(self) : told;
}

/* Of a Jit that is called on the host, what runs the calls was read when it was made. */
static int
serves(PyObject *object)
{
    lw_function *self = (lw_function *)object;

    if (self->on_host != NULL)
        self = self->on_host;
    return is_stale((PyObject *)self) ? lw_function_frozen(self) : 1;
}

lw_function *
lw_function_stale(lw_function *self)
{
    int frozen = lw_function_frozen(self);

    if (frozen != 0)
        return frozen < 0 ? NULL : (lw_function *)Py_NewRef((PyObject *)self);
    return lw_function_renewed(self);
}

lw_function *
lw_function_current(lw_function *self)
{
    return lw_function_is_stale(self) ? lw_function_stale(self)
                                      : (lw_function *)Py_NewRef((PyObject *)self);
}

lw_function *
lw_function_renewed(lw_function *self)
{
    return (lw_function *)lw_renewed((PyObject *)self, &self->renewal, serves, &self->options,
                                     lw_function_name(self));
}

int
lw_function_traverse(lw_function *self, visitproc visit, void *arg)
{
    Py_VISIT(self->py_func);
    Py_VISIT(self->dict);
    Py_VISIT(self->source);
    Py_VISIT(self->link);
    Py_VISIT(self->links.objects);
    Py_VISIT(self->keywords);
    Py_VISIT(self->static_values);
    for (lw_special *at = self->specials; at != NULL; at = at->next)
        Py_VISIT(at->held);
    for (lw_special *at = self->specials; at != NULL; at = at->next)
        if (at->captures != NULL && lw_captures_traverse(at->captures, visit, arg))
            return 1;
    if (lw_renewal_traverse(&self->renewal, visit, arg))
        return 1;
    return self->captures ? lw_captures_traverse(self->captures, visit, arg) : 0;
}

void
lw_function_clear(lw_function *self)
{
    lw_captures *captures = self->captures;

    self->captures = NULL;
    lw_captures_free(captures);
    Py_CLEAR(self->py_func);
    Py_CLEAR(self->dict);
    Py_CLEAR(self->source);
    Py_CLEAR(self->link);
    lw_link_set_reset(&self->links);
    Py_CLEAR(self->keywords);
    lw_renewal_clear(&self->renewal);
}

void
lw_function_reset(lw_function *self)
{
    lw_special *at = self->specials, *next;

    self->specials = NULL;
    self->last = NULL;
    for (; at != NULL; at = next) {
        next = at->next;
        lw_special_free(at);
    }
    Py_CLEAR(self->static_values); /* keys of specialisations name what is in it */
    lw_tree_free(self->tree);
    self->tree = NULL;
}
