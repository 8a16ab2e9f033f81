/* The Ufunc type and the decorator that makes it. */
#include "ufunc/ufunc_parts.h"

#include "core/py/compiled/door_function.h"
#include "core/py/method_table.h"
#include "core/py/numpy/ufunc_names.h"
#include "core/py/raise.h"

#include <stddef.h>
#include <string.h>
#include <structmember.h>

/* ---- how many inputs and outputs ---- */

/* most: that signatures may name; named: that calls may name. */
static int
count_inputs(const lw_tree *tree, uint32_t *required, uint32_t *most, uint32_t *named)
{
    const lw_fn *fn = &tree->fns.data[1];

    *required = *most = *named = 0;
    for (uint32_t i = 0; i < fn->params.n; i++) {
        const lw_fn_param *param = &fn->params.data[i];
        if (param->kind == LW_PARAM_VARARG) {
            *most = *named = LW_MAX_ARGS;
            continue;
        }
        if (param->kind == LW_PARAM_KEYWORD_ONLY && param->default_konst == 0) {
            PyErr_Format(PyExc_TypeError,
                         "vectorize: keyword-only parameter `%s` of `%s` needs a default: "
                         "operands are positional",
                         param->name, fn->name);
            return -1;
        }
        *required += param->default_konst == 0;
        *most += param->kind == LW_PARAM_POSITIONAL;
        *named += 1;
    }
    return 0;
}

static int
set_nin(lw_ufunc_object *self, const lw_signature_list *signatures)
{
    const lw_fn *fn = &self->base.tree->fns.data[1];
    uint32_t required, most, named, n;

    if (self->base.member != NULL) {
        self->base.nin = self->base.member->n_operands + self->base.member->n_hidden;
        return 0;
    }
    if (count_inputs(self->base.tree, &required, &most, &named) < 0)
        return -1;
    n = signatures->n ? signatures->data[0].n_args : required;
    if (n < required || n > most) {
        PyErr_Format(PyExc_TypeError, "signature `%.100s` has %u argument%s, but `%s` takes %u",
                     signatures->data[0].text, (unsigned)n, n == 1 ? "" : "s", fn->name,
                     (unsigned)required);
        return -1;
    }
    if (n == 0 || n >= LW_MAX_ARGS) {
        PyErr_Format(
            PyExc_ValueError, "vectorize: `%s` has %u operands; expected 1 to %d inputs%s",
            fn->name, (unsigned)n, LW_MAX_ARGS - 1,
            n == 0 && most ? " (a signature says how many its `*` parameter takes)" : "");
        return -1;
    }
    self->base.nin = (int)n;
    self->has_frozen = named > n && named < LW_MAX_ARGS;
    return 0;
}

static uint32_t return_in(const lw_tree *tree, uint32_t node);

static uint32_t
return_in_list(const lw_tree *tree, uint32_t start, uint32_t n)
{
    uint32_t found = 0;

    for (uint32_t i = 0; i < n && !found; i++)
        found = return_in(tree, tree->lists.data[start + i]);
    return found;
}

/* The first `return` with a value in a statement: its value's node, or 0. */
static uint32_t
return_in(const lw_tree *tree, uint32_t at)
{
    const lw_node *node = &tree->nodes.data[at];
    uint32_t found;

    switch (at ? node->kind : LW_NODE_NONE) {
    case LW_NODE_RETURN: return node->a;
    case LW_NODE_BODY:
    case LW_NODE_MATCH: return return_in_list(tree, node->b, node->c);
    case LW_NODE_CASE:
    case LW_NODE_FOR: return return_in(tree, node->c);
    case LW_NODE_IF:
    case LW_NODE_WHILE:
        found = return_in(tree, node->b);
        return found ? found : return_in(tree, node->c);
    case LW_NODE_LOOP_BODY:
        found = return_in(tree, node->a);
        return found ? found : return_in(tree, node->b);
    default: return 0;
    }
}

static int
n_results(const lw_typed *typed)
{
    lw_type result = typed->instances.data[1].result;

    if (lw_type_kind_of(&typed->types, result) != LW_TK_TUPLE)
        return 1;
    return (int)lw_type_get(&typed->types, result)->n;
}

/* What the function returns where its text does not say: typed for some common dtypes. */
static int
nout_by_trial(lw_ufunc_object *self)
{
    static const lw_dtype trials[] = {LW_DT_f64, LW_DT_i64, LW_DT_c128, LW_DT_b1};
    lw_dtype in[LW_MAX_ARGS];
    int nout = 1;

    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
        lw_typed *typed;
        for (int k = 0; k < self->base.nin; k++)
            in[k] = trials[i];
        lw_hidden_inputs(self, in);
        typed = lw_ufunc_infer(self, in);
        if (typed != NULL) {
            nout = n_results(typed);
            lw_typed_free(typed);
            break;
        }
        PyErr_Clear(); /* the first call says what is wrong, with its own types */
    }
    return nout;
}

static int
nout_by_text(const lw_tree *tree)
{
    uint32_t value = return_in(tree, tree->fns.data[1].body);
    const lw_node *node = &tree->nodes.data[value];

    if (value == 0 || node->kind != LW_NODE_TUPLE)
        return 0;
    for (uint32_t i = 0; i < node->c; i++)
        if (tree->nodes.data[tree->lists.data[node->b + i]].kind == LW_NODE_STAR)
            return 0;
    return (int)node->c;
}

static int
nout_of_first(lw_ufunc_object *self, const lw_signature *signature)
{
    lw_dtype in[LW_MAX_ARGS], out[LW_MAX_ARGS];
    uint32_t n_out;
    lw_typed *typed;
    int nout;

    if (lw_signature_dtypes(signature, in, out, &n_out) < 0)
        return -1;
    lw_hidden_inputs(self, in);
    if (n_out > 0)
        return (int)n_out;
    typed = lw_ufunc_infer(self, in);
    if (typed == NULL)
        return -1;
    nout = n_results(typed);
    lw_typed_free(typed);
    return nout;
}

static int
set_nout(lw_ufunc_object *self, const lw_signature_list *signatures)
{
    int nout = signatures->n ? nout_of_first(self, &signatures->data[0])
                             : nout_by_text(self->base.tree);

    if (nout == 0)
        nout = nout_by_trial(self);
    if (nout < 0)
        return -1;
    if (nout == 0) /* an empty tuple: the first call refuses it */
        nout = 1;
    if (self->base.nin + nout > LW_MAX_ARGS) {
        PyErr_Format(PyExc_ValueError,
                     "vectorize: %d inputs and %d outputs; NumPy takes at most %d operands",
                     self->base.nin, nout, LW_MAX_ARGS);
        return -1;
    }
    self->base.nout = nout;
    return 0;
}

/* ---- building ---- */

/* Names by which NumPy's reductions, or pandas' operators, know a ufunc. */
static bool
means_something(const char *name)
{
    static const char *const names[] = {
        "add",         "sub",      "subtract",      "mul",         "multiply",    "pow",
        "power",       "mod",      "remainder",     "divmod",      "truediv",     "divide",
        "true_divide", "floordiv", "floor_divide",  "eq",          "equal",       "ne",
        "not_equal",   "lt",       "less",          "le",          "less_equal",  "gt",
        "greater",     "ge",       "greater_equal", "and",         "bitwise_and", "or",
        "bitwise_or",  "xor",      "bitwise_xor",   "logical_and", "logical_or",  "logical_xor",
        "logical_not", "neg",      "negative",      "pos",         "positive",    "abs",
        "absolute",    "maximum",  "minimum",       "fmax",        "fmin",        "matmul",
        "invert",      "sqrt",     "exp",           "log",         "sign"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* What NumPy knows by their names: its own add and multiply widen, logical_and folds truth, and
 * comparisons take Python ints of any size. */
static void
take_numpys_habits(lw_ufunc_object *self, const char *name)
{
    if (strcmp(lw_ufunc_text((lw_ufunc_head *)self, "__module__"), "lanewise.ufuncs") != 0)
        return;
    self->widens = strcmp(name, "add") == 0 || strcmp(name, "multiply") == 0;
    self->folds_truth = strncmp(name, "logical_", strlen("logical_")) == 0;
    self->mixes = strcmp(name, "ldexp") == 0;
    self->compares = strstr(name, "equal") != NULL || strcmp(name, "less") == 0 ||
                     strcmp(name, "greater") == 0;
}

static int
make_inner(lw_ufunc_object *self)
{
    const char *name = lw_ufunc_text((lw_ufunc_head *)self, "__name__");
    lw_text inner_name = {0};

    self->name_taken = means_something(name);
    take_numpys_habits(self, name);
    lw_text_addf(&inner_name, "%s%s", self->name_taken ? "lanewise." : "", name);
    self->table = inner_name.failed
                      ? NULL
                      : lw_host_table_new(self, lw_text_get(&inner_name),
                                          lw_ufunc_text((lw_ufunc_head *)self, "__doc__"));
    lw_text_reset(&inner_name);
    if (self->table == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    self->base.inner = lw_inner_new(self);
    return self->base.inner ? 0 : -1;
}

static int
declare(lw_ufunc_object *self, const lw_signature *signature)
{
    lw_dtype in[LW_MAX_ARGS], out[LW_MAX_ARGS];
    uint32_t n_out;

    if (lw_signature_dtypes(signature, in, out, &n_out) < 0)
        return -1;
    lw_hidden_inputs(self, in);
    if (n_out != 0 && n_out != (uint32_t)self->base.nout) {
        PyErr_Format(PyExc_ValueError,
                     "signature `%.100s` has %u outputs, and the others have %d",
                     signature->text, (unsigned)n_out, self->base.nout);
        return -1;
    }
    return lw_ufunc_make(self, in, n_out ? out : NULL, true) ? 0 : -1;
}

static void
count_all_as_operands(lw_tree *tree)
{
    lw_fn *fn = &tree->fns.data[1];

    for (uint32_t i = 0; i < fn->params.n; i++)
        if (fn->params.data[i].kind == LW_PARAM_KEYWORD_ONLY)
            fn->params.data[i].kind = LW_PARAM_POSITIONAL;
}

static int
read_function(lw_ufunc_object *self)
{
    PyObject *function = self->base.py_func;
    bool all = PyObject_HasAttrString(function, LW_ALL_OPERANDS);
    lw_error err = {0};

    if (lw_read_function(function, self->source_option, &self->base.tree, &self->captures,
                         &err) == LW_OK) {
        if (all)
            count_all_as_operands(self->base.tree);
        return lw_link_set_read(&self->base.links, self->base.link,
                                lw_captures_linked(self->captures));
    }
    lw_py_raise(&err);
    return -1;
}

static int
read_signatures(lw_ufunc_object *self, const lw_door_arguments *arguments, lw_arena *arena,
                lw_signature_list *list)
{
    lw_error err = {0};
    lw_signature annotated;

    if (lw_signatures_read(arguments->signatures, true, arena, list) < 0)
        return -1;
    if (list->n == 0 && self->base.member == NULL &&
        lw_signature_of_annotations(self->base.tree, arena, &annotated)) {
        lw_signature *slot = lw_array_push(list, arena);
        if (slot == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        *slot = annotated;
    }
    if (lw_signatures_sort(list->data, list->n, arguments->keep_order, &err) != LW_OK) {
        lw_py_raise(&err);
        return -1;
    }
    self->base.lazy = list->n == 0;
    return 0;
}

/* No loops: its members have them. */
static int
build_family(lw_ufunc_object *self, const lw_door_arguments *arguments)
{
    self->base.kind = lw_ufunc_families();
    if (read_function(self) < 0 || lw_family_build((lw_ufunc_head *)self, &lw_ufunc_family_door,
                                                   self->options, arguments) < 0)
        return -1;
    if (self->base.nout == 0)
        self->base.nout = nout_by_text(self->base.tree);
    if (self->base.nout == 0) /* the first call knows */
        self->base.nout = 1;
    return make_inner(self);
}

static int
build(lw_ufunc_object *self, const lw_door_arguments *arguments, lw_arena *arena)
{
    lw_signature_list signatures = {0};

    if (arguments->excluded != NULL || arguments->constants != NULL)
        return build_family(self, arguments);
    if (read_function(self) < 0 || read_signatures(self, arguments, arena, &signatures) < 0 ||
        set_nin(self, &signatures) < 0 || set_nout(self, &signatures) < 0 ||
        make_inner(self) < 0)
        return -1;
    for (uint32_t i = 0; i < signatures.n; i++)
        if (declare(self, &signatures.data[i]) < 0)
            return -1;
    return lw_loops_warn_ambiguous((lw_ufunc_head *)self);
}

PyObject *
lw_ufunc_new(PyTypeObject *type, PyObject *function, PyObject *signatures, PyObject *keywords)
{
    return lw_ufunc_new_member(type, function, signatures, keywords, NULL);
}

PyObject *
lw_ufunc_new_member(PyTypeObject *type, PyObject *function, PyObject *signatures,
                    PyObject *keywords, struct lw_member *member)
{
    lw_ufunc_object *self = (lw_ufunc_object *)type->tp_alloc(type, 0);
    lw_door_arguments arguments;
    lw_arena arena;
    int failed;

    if (self == NULL) {
        lw_free(member);
        return NULL;
    }
    self->base.member = member;
    self->base.vectorcall = lw_ufunc_call;
    self->base.kind = &lw_ufunc_elementwise;
    self->base.lock = (lw_lock)LW_LOCK_INIT;
    self->base.failures = PyDict_New();
    self->options = keywords ? PyDict_Copy(keywords) : PyDict_New();
    self->base.py_func = PyMethod_Check(function) ? Py_NewRef(function) /* with its self */
                                                  : lw_python_function(function);
    if (self->base.failures == NULL || self->options == NULL || self->base.py_func == NULL ||
        lw_door_read(LW_DOOR_VECTORIZE, signatures, keywords, &self->base.options, &arguments) <
            0 ||
        (self->base.dict = lw_wrapper_dict(self->base.py_func)) == NULL)
        goto fail;
    self->base.identity = Py_NewRef(arguments.identity);
    self->source_option = Py_XNewRef(arguments.source);
    self->base.link = Py_XNewRef(arguments.link);
    self->base.source = Py_XNewRef(arguments.source);
    lw_arena_init(&arena);
    failed = build(self, &arguments, &arena);
    lw_arena_reset(&arena);
    if (failed)
        goto fail;
    return (PyObject *)self;
fail:
    Py_DECREF(self);
    return NULL;
}

/* ---- life ---- */

static int
ufunc_traverse(PyObject *object, visitproc visit, void *arg)
{
    lw_ufunc_object *self = (lw_ufunc_object *)object;

    lw_ufunc_head_traverse((lw_ufunc_head *)object, visit, arg);
    Py_VISIT(self->source_option);
    Py_VISIT(self->options);
    Py_VISIT(self->full);
    if (lw_renewal_traverse(&self->renewal, visit, arg))
        return 1;
    for (int i = 0; i < LW_N_METHODS; i++)
        Py_VISIT(self->bound[i]);
    if (self->base.family != NULL && lw_family_traverse(self->base.family, visit, arg))
        return 1;
    return self->captures ? lw_captures_traverse(self->captures, visit, arg) : 0;
}

static void
forget_methods(lw_ufunc_object *self)
{
    for (int i = 0; i < LW_N_METHODS; i++)
        Py_CLEAR(self->bound[i]);
}

static int
ufunc_clear(PyObject *object)
{
    lw_ufunc_object *self = (lw_ufunc_object *)object;
    lw_captures *captures = self->captures;
    struct lw_family *family = self->base.family;

    self->base.family = NULL;
    if (self->table != NULL) /* finalizers below may still call the inner numpy.ufunc */
        self->table->owner = NULL;
    self->captures = NULL;
    lw_captures_free(captures);
    forget_methods(self);
    lw_family_free(family);
    lw_ufunc_head_clear((lw_ufunc_head *)object);
    Py_CLEAR(self->source_option);
    Py_CLEAR(self->options);
    Py_CLEAR(self->full);
    lw_renewal_clear(&self->renewal);
    return 0;
}

static void
ufunc_dealloc(PyObject *object)
{
    lw_ufunc_object *self = (lw_ufunc_object *)object;
    PyTypeObject *type = Py_TYPE(object);

    PyObject_GC_UnTrack(object);
    if (self->base.weakrefs != NULL)
        PyObject_ClearWeakRefs(object);
    ufunc_clear(object);
    lw_recall_free(self->base.recalled);
    lw_resolved_free(&self->base.plans);
    lw_ufunc_head_drop((lw_ufunc_head *)object);
    lw_host_table_drop(self->table); /* the loops go with the last numpy.ufunc */
    lw_array_free(&self->base.loops);
    lw_tree_free(self->base.tree);
    lw_free(self->base.member);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyObject *
ufunc_repr(PyObject *object)
{
    lw_ufunc_object *self = (lw_ufunc_object *)object;

    return PyUnicode_FromFormat("<lanewise.Ufunc '%s' (%d -> %d)>",
                                lw_ufunc_text((lw_ufunc_head *)self, "__name__"),
                                self->base.nin, self->base.nout);
}

/* ---- adding loops ---- */

/* NumPy keeps what it once chose for dtypes: a new numpy.ufunc asks anew, so that results do
 * not depend on earlier calls. */
static int
renew_inner(lw_ufunc_object *self)
{
    PyObject *inner = lw_inner_new(self);

    if (inner == NULL)
        return -1;
    Py_SETREF(self->base.inner, inner);
    forget_methods(self);
    lw_resolved_forget(&self->base.plans);
    lw_recall_forget(self->base.recalled);
    return 0;
}

static int
add_one(lw_ufunc_object *self, const lw_signature *signature)
{
    lw_dtype in[LW_MAX_ARGS], out[LW_MAX_ARGS];
    uint32_t n_out;

    if (signature->n_args != (uint32_t)self->base.nin) {
        PyErr_Format(PyExc_ValueError, "add: `%s` takes %d inputs, and `%.100s` names %u",
                     self->table->name, self->base.nin, signature->text,
                     (unsigned)signature->n_args);
        return -1;
    }
    if (lw_signature_dtypes(signature, in, out, &n_out) < 0)
        return -1;
    lw_hidden_inputs(self, in);
    if (lw_ufunc_find(self, in) != NULL) {
        PyErr_Format(PyExc_ValueError, "add: `%s` already has a loop for the inputs of `%s`",
                     self->table->name, signature->text);
        return -1;
    }
    return declare(self, signature);
}

int
lw_ufunc_add(lw_ufunc_head *head, PyObject *signatures)
{
    lw_ufunc_object *self = (lw_ufunc_object *)head;
    lw_signature_list list = {0};
    lw_arena arena;
    int failed;

    lw_arena_init(&arena);
    failed = lw_signatures_read(signatures, true, &arena, &list);
    for (uint32_t i = 0; !failed && i < list.n; i++)
        failed = add_one(self, &list.data[i]);
    lw_arena_reset(&arena);
    return failed ? -1 : renew_inner(self);
}

/* ---- the type ---- */

PyDoc_STRVAR(ufunc_doc,
             "A function of scalars that works on whole arrays, on the host and on GPUs.\n\n"
             "Made by vectorize. It has the attributes and methods of numpy.ufunc.\n\n"
             ">>> import numpy as np, lanewise as lw\n"
             ">>> @lw.vectorize\n"
             "... def f(x, y):\n"
             "...     return x * y + 1\n"
             ">>> f(np.arange(3), 2)\n"
             "array([1, 3, 5])");

static PyType_Slot ufunc_slots[] = {{Py_tp_doc, (void *)ufunc_doc},
                                    {Py_tp_dealloc, ufunc_dealloc},
                                    {Py_tp_traverse, ufunc_traverse},
                                    {Py_tp_clear, ufunc_clear},
                                    {Py_tp_repr, ufunc_repr},
                                    {Py_tp_call, PyVectorcall_Call},
                                    {Py_tp_getset, lw_ufunc_type_getset},
                                    {Py_tp_members, lw_ufunc_type_members},
                                    {Py_tp_methods, NULL /* lw_ufunc_register */},
                                    {0, NULL}};

enum { SLOT_METHODS = sizeof ufunc_slots / sizeof *ufunc_slots - 2 };

static PyType_Spec ufunc_spec = {
    .name = "lanewise.Ufunc",
    .basicsize = sizeof(lw_ufunc_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
             Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE |
             Py_TPFLAGS_BASETYPE, /* Gufunc is one */
    .slots = ufunc_slots};

/* ---- the decorator ---- */

static PyObject *
make(PyObject *module, PyObject *function, PyObject *signatures, PyObject *keywords)
{
    PyObject *type = PyObject_GetAttrString(module, "Ufunc"), *result;

    if (type == NULL)
        return NULL;
    result = lw_ufunc_new((PyTypeObject *)type, function, signatures, keywords);
    Py_DECREF(type);
    return result;
}

/* state: (module, signatures, keywords) */
static PyObject *
decorate(PyObject *state, PyObject *function)
{
    PyObject *keywords = PyTuple_GET_ITEM(state, 2);

    return make(PyTuple_GET_ITEM(state, 0), function, PyTuple_GET_ITEM(state, 1), keywords);
}

static PyMethodDef decorate_def = {"vectorize", decorate, METH_O,
                                   PyDoc_STR("makes a Ufunc of a function")};

/* Bad keywords and signatures are told now, not when the function comes. */
static int
check_early(PyObject *signatures, PyObject *keywords)
{
    lw_door_options options;
    lw_door_arguments arguments;
    lw_signature_list list = {0};
    lw_error err = {0};
    lw_arena arena;
    int failed;

    if (lw_door_read(LW_DOOR_VECTORIZE, signatures, keywords, &options, &arguments) < 0)
        return -1;
    lw_arena_init(&arena);
    failed = lw_signatures_read(signatures, !arguments.excluded && !arguments.constants, &arena,
                                &list);
    if (!failed && !arguments.excluded && !arguments.constants &&
        lw_signatures_sort(list.data, list.n, arguments.keep_order, &err) != LW_OK) {
        lw_py_raise(&err);
        failed = -1;
    }
    lw_arena_reset(&arena);
    return failed;
}

static PyObject *
make_decorator(PyObject *module, PyObject *signatures, PyObject *keywords)
{
    PyObject *state, *result;

    if (check_early(signatures, keywords) < 0)
        return NULL;
    state = PyTuple_Pack(3, module, signatures ? signatures : Py_None, keywords);
    if (state == NULL)
        return NULL;
    result = PyCFunction_New(&decorate_def, state);
    Py_DECREF(state);
    return result;
}

static PyObject *
vectorize(PyObject *module, PyObject *args, PyObject *kwargs)
{
    PyObject *first, *keywords, *result;

    if (lw_decorator_arguments("vectorize", "signatures", args, kwargs, &first, &keywords) < 0)
        return NULL;
    if (PyTuple_GET_SIZE(args) == 1 && lw_is_function(first))
        result = make(module, first, NULL, keywords);
    else
        result = make_decorator(module, first, keywords);
    Py_XDECREF(first);
    Py_DECREF(keywords);
    return result;
}

PyDoc_STRVAR(
    vectorize_doc,
    "vectorize(signatures=None, *, target='auto', identity=None, typing='weak', "
    "fastmath=False,\n"
    "          cache=True, link=(), debug=False, lineinfo=True, opt=True, fma=True,\n"
    "          precise=False, max_registers=None, max_blocksize=None, excluded=(), static=(),\n"
    "          errors='raise', check=(), order='canonical', source=None, warn=True,\n"
    "          nopython=True)\n--\n\n"
    "Make a Ufunc of a Python function of scalars.\n\n"
    "Without signatures it compiles for each new tuple of input dtypes. Signatures are "
    "strings\n"
    "('float32(float32, float32)', 'ff->f'), types, or a list of these, in any order.\n\n"
    ">>> @lw.vectorize(['float32(float32)', 'float64(float64)'])\n"
    "... def half(x):\n"
    "...     return x / 2\n"
    ">>> half.types\n"
    "['f->f', 'd->d']");

static PyObject *
source_text(PyObject *Py_UNUSED(module), PyObject *function)
{
    return lw_read_source_text(function);
}

static PyMethodDef functions[] = {
    {"_source_text", source_text, METH_O, PyDoc_STR("the text of a function")},
    {"vectorize", LW_KEYWORDS(vectorize), vectorize_doc},
    {NULL, NULL, 0, NULL},
};

int
lw_ufunc_register(PyObject *module)
{
    PyObject *type;
    int failed;

    ufunc_slots[SLOT_METHODS].pfunc = lw_ufunc_type_methods();
    type = PyType_FromModuleAndSpec(module, &ufunc_spec, NULL);
    if (type == NULL)
        return -1;
    failed = PyModule_AddObjectRef(module, "Ufunc", type);
    Py_DECREF(type);
    return failed < 0 ? -1 : PyModule_AddFunctions(module, functions);
}
