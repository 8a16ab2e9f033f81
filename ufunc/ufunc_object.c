/* The Ufunc type and the decorator that makes it. */
#include "ufunc/ufunc_parts.h"

#include "core/py/compiled/decorate.h"
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
        if (param->kind == LW_PARAM_KEYWORD_ONLY && param->default_constant == 0) {
            PyErr_Format(PyExc_TypeError,
                         "vectorize: keyword-only parameter `%s` of `%s` needs a default: "
                         "operands are positional",
                         param->name, fn->name);
            return -1;
        }
        *required += param->default_constant == 0;
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
    lw_error err = {0};

    if (self->base.member != NULL) {
        self->base.nin = self->base.member->n_operands + self->base.member->n_hidden;
        return 0;
    }
    if (count_inputs(self->base.tree, &required, &most, &named) < 0)
        return -1;
    n = signatures->n ? signatures->data[0].n_args : required;
    if (n < required || n > most) {
        bool method = n + 1 == required && strcmp(fn->params.data[0].name, "self") == 0;
        lw_fail(&err, LW_ERR_SIGNATURE,
                "E182: signature `%.100s` has %u argument%s, but `%s` takes %u%s",
                signatures->data[0].text, (unsigned)n, n == 1 ? "" : "s", fn->name,
                (unsigned)required,
                method ? ": the object of a method is an operand, which no signature can "
                         "name; leave the signatures out, or decorate the method of one "
                         "object: `lanewise.vectorize(signatures)(made.f)`"
                       : "");
        lw_py_raise(&err);
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
    case LW_NODE_TRY:
        found = return_in(tree, node->a);
        return found ? found : return_in_list(tree, node->b, node->c);
    case LW_NODE_HANDLER: return return_in(tree, node->b);
    case LW_NODE_TRY_BODY:
        found = return_in(tree, node->a);
        found = found ? found : return_in(tree, node->b);
        return found ? found : return_in(tree, node->c);
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

/* One of lanewise.ufuncs, by whose name NumPy and pandas mean what it does. */
static bool
is_numpys(const lw_ufunc_object *self)
{
    const char *module = lw_ufunc_text((const lw_ufunc_head *)self, "__module__");

    return strcmp(module, "lanewise.ufuncs") == 0;
}

/* What NumPy knows by their names: its own add and multiply widen, logical_and folds truth, and
 * comparisons, and functions that compute floats, take Python ints of any size. */
static void
take_numpys_habits(lw_ufunc_object *self, const char *name)
{
    static const char *const floats[] = {"hypot",     "arctan2",   "copysign",  "heaviside",
                                         "nextafter", "logaddexp", "logaddexp2"};

    if (!is_numpys(self))
        return;
    self->widens = strcmp(name, "add") == 0 || strcmp(name, "multiply") == 0;
    self->folds_truth = strncmp(name, "logical_", strlen("logical_")) == 0;
    self->mixes = strcmp(name, "ldexp") == 0;
    self->divides = strcmp(name, "divide") == 0 || strcmp(name, "float_power") == 0;
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
        self->gives_floats |= strcmp(name, floats[i]) == 0;
    self->compares = strstr(name, "equal") != NULL || strcmp(name, "less") == 0 ||
                     strcmp(name, "greater") == 0;
}

static const char OURS[] = "lanewise."; /* before names that mean something to others */

static int
make_inner(lw_ufunc_object *self)
{
    lw_ufunc_head *head = (lw_ufunc_head *)self;
    const char *name = lw_ufunc_text(head, "__name__");
    lw_text inner_name = {0};

    self->name_taken = means_something(name) && !is_numpys(self);
    take_numpys_habits(self, name);
    lw_text_addf(&inner_name, "%s%s", self->name_taken ? OURS : "", name);
    if (inner_name.failed)
        PyErr_NoMemory();
    else
        head->table = lw_table_new(sizeof(lw_loop_table), head, lw_text_get(&inner_name),
                                   lw_ufunc_text(head, "__doc__"));
    lw_text_reset(&inner_name);
    if (head->table != NULL && self->name_taken)
        head->table->name += strlen(OURS); /* what messages say */
    return head->table ? lw_inner_make(head) : -1;
}

/* add() names the inputs in full, and none twice. */
static int
check_added(const lw_ufunc_object *self, const lw_signature *signature, const lw_dtype *in)
{
    const lw_ufunc_head *head = (const lw_ufunc_head *)self;

    if (signature->n_args != (uint32_t)head->nin)
        PyErr_Format(PyExc_ValueError, "add: `%s` takes %d inputs, and `%.100s` names %u",
                     head->table->name, head->nin, signature->text,
                     (unsigned)signature->n_args);
    else if (lw_rows_find(head, in) != NULL)
        PyErr_Format(PyExc_ValueError, "add: `%s` already has a loop for the inputs of `%s`",
                     head->table->name, signature->text);
    else
        return 0;
    return -1;
}

int
lw_ufunc_declare(lw_ufunc_head *head, const lw_signature *signature)
{
    lw_ufunc_object *self = (lw_ufunc_object *)head;
    lw_dtype in[LW_MAX_ARGS], out[LW_MAX_ARGS];
    uint32_t n_out;

    if (lw_signature_dtypes(signature, in, out, &n_out) < 0)
        return -1;
    lw_hidden_inputs(self, in);
    if (head->is_made && check_added(self, signature, in) < 0)
        return -1;
    if (n_out != 0 && n_out != (uint32_t)head->nout) {
        PyErr_Format(PyExc_ValueError,
                     "signature `%.100s` has %u outputs, and the others have %d",
                     signature->text, (unsigned)n_out, head->nout);
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
    if (lw_compiled_read((lw_compiled *)self) < 0)
        return -1;
    if (PyObject_HasAttrString(self->base.py_func, LW_ALL_OPERANDS))
        count_all_as_operands(self->base.tree);
    return 0;
}

/* Those of the annotations, where the decorator gives none. */
static int
read_signatures(lw_ufunc_object *self, const lw_door_arguments *arguments, lw_arena *arena,
                lw_signature_list *list)
{
    lw_signature annotated, *slot;

    if (lw_ufunc_read_signatures((lw_ufunc_head *)self, arguments, arena, list) < 0)
        return -1;
    if (list->n > 0 || self->base.member != NULL ||
        !lw_signature_of_annotations(self->base.tree, arena, &annotated))
        return 0;
    slot = lw_array_push(list, arena);
    if (slot == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    *slot = annotated;
    self->base.lazy = false;
    return 0;
}

/* No loops: its members have them. */
static int
build_family(lw_ufunc_object *self, const lw_door_arguments *arguments)
{
    self->base.kind = lw_ufunc_families();
    if (read_function(self) < 0 ||
        lw_family_build((lw_ufunc_head *)self, &lw_ufunc_family_door, arguments) < 0)
        return -1;
    if (self->base.nout == 0)
        self->base.nout = nout_by_text(self->base.tree);
    if (self->base.nout == 0) /* the first call knows */
        self->base.nout = 1;
    return make_inner(self);
}

int
lw_ufunc_build(lw_ufunc_head *head, const lw_door_arguments *arguments,
               PyObject *Py_UNUSED(layout), lw_arena *arena)
{
    lw_ufunc_object *self = (lw_ufunc_object *)head;
    lw_signature_list signatures = {0};

    if (arguments->excluded != NULL || arguments->constants != NULL)
        return build_family(self, arguments);
    if (read_function(self) < 0 || read_signatures(self, arguments, arena, &signatures) < 0 ||
        set_nin(self, &signatures) < 0 || set_nout(self, &signatures) < 0 ||
        lw_ufunc_check_identity(self) < 0 || make_inner(self) < 0)
        return -1;
    return lw_ufunc_declare_all(head, &signatures);
}

static const lw_compiled_door door;

PyObject *
lw_ufunc_new(PyTypeObject *type, const lw_request *request, struct lw_member *member)
{
    return lw_ufunc_make_object(type, &door, &lw_ufunc_elementwise, request, member);
}

static PyObject *
new_for_user(PyTypeObject *type, const lw_request *request)
{
    return lw_ufunc_new(type, request, NULL);
}

/* ---- life ---- */

static int
ufunc_traverse(PyObject *object, visitproc visit, void *arg)
{
    Py_VISIT(((lw_ufunc_object *)object)->full);
    return lw_ufunc_head_traverse((lw_ufunc_head *)object, visit, arg);
}

static int
ufunc_clear(PyObject *object)
{
    lw_ufunc_head_clear((lw_ufunc_head *)object);
    Py_CLEAR(((lw_ufunc_object *)object)->full);
    return 0;
}

static PyObject *
ufunc_repr(PyObject *object)
{
    lw_ufunc_object *self = (lw_ufunc_object *)object;

    return PyUnicode_FromFormat("<lanewise.Ufunc '%s' (%d -> %d)>",
                                lw_ufunc_text((lw_ufunc_head *)self, "__name__"),
                                self->base.nin, self->base.nout);
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
                                    {Py_tp_dealloc, lw_compiled_dealloc},
                                    {Py_tp_traverse, ufunc_traverse},
                                    {Py_tp_clear, ufunc_clear},
                                    {Py_tp_repr, ufunc_repr},
                                    {Py_tp_getattro, lw_ufunc_getattro},
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

static int
check(const lw_request *request)
{
    return lw_ufunc_check(LW_DOOR_VECTORIZE, request, false);
}

static const lw_compiled_door door = {.id = LW_DOOR_VECTORIZE,
                                      .binding = LW_BINDS_OPERAND,
                                      .path = "vectorize",
                                      .check = check,
                                      .make = new_for_user,
                                      .declared = lw_ufunc_declared,
                                      .changed = lw_family_changed,
                                      .drop = lw_ufunc_drop};

static PyObject *
vectorize(PyObject *module, PyObject *args, PyObject *kwargs)
{
    return lw_decorate_either(&door, module, "signatures", args, kwargs);
}

PyDoc_STRVAR(
    vectorize_doc,
    "Turn a function of numbers into a ufunc: a function of arrays, like np.add.\n"
    "\n"
    "The decorated function says what happens to one element of each operand. The result "
    "accepts arrays, lists\n"
    "and numbers, broadcasts them, and has the methods and keywords of numpy.ufunc. NumPy "
    "arrays are processed\n"
    "on all CPU cores, device arrays on their GPU.\n"
    "\n"
    "Without signatures, the function is compiled at the first call with each new combination "
    "of input\n"
    "dtypes. With signatures, it is compiled at once and for these types only. Signatures are "
    "strings\n"
    "('float32(float32, float32)', 'ff->f'), types, or a list of these, in any order.\n"
    "\n"
    ">>> @lw.vectorize\n"
    "... def clipped_ratio(a, b):\n"
    "...     if b == 0:\n"
    "...         return 0.0\n"
    "...     return min(a / b, 10.0)\n"
    ">>> clipped_ratio(np.array([1.0, 50.0, 3.0]), np.array([2.0, 1.0, 0.0]))\n"
    "array([ 0.5, 10. ,  0. ])\n"
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
    {NULL, NULL, 0, NULL},
};

static PyMethodDef decorator[] = {
    {"vectorize", LW_KEYWORDS(vectorize), NULL},
    {NULL, NULL, 0, NULL},
};

int
lw_ufunc_register(PyObject *module)
{
    ufunc_slots[SLOT_METHODS].pfunc = lw_ufunc_type_methods();
    if (lw_compiled_type(module, LW_DOOR_VECTORIZE, &ufunc_spec, NULL) == NULL ||
        PyModule_AddFunctions(module, functions) < 0)
        return -1;
    return lw_door_add(module, module, decorator, LW_DOOR_VECTORIZE, "signatures=None, *",
                       vectorize_doc);
}
