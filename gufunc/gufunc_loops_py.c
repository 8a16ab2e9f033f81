/* Making loops: which parameters are which operands, typing, lowering. Machine code comes at
 * the first run. */
#include "gufunc/gufunc_parts_py.h"

#include "core/base/memory.h"
#include "core/front/diagnose.h"
#include "core/opt/apart.h"
#include "core/py/raise.h"
#include "core/py/text_py.h"
#include "gufunc/core/outputs.h"

#include <string.h>

/* ---- which parameters are operands ---- */

static int
count_params(const lw_tree *tree, uint32_t *required, uint32_t *most)
{
    const lw_fn *fn = &tree->fns.data[1];

    *required = *most = 0;
    for (uint32_t i = 0; i < fn->params.n; i++) {
        const lw_fn_param *param = &fn->params.data[i];
        if (param->kind == LW_PARAM_VARARG ||
            (param->kind == LW_PARAM_KEYWORD_ONLY && param->default_constant == 0)) {
            PyErr_Format(PyExc_TypeError,
                         "guvectorize: parameter `%s` of `%s` is %s: operands are positional",
                         param->name, fn->name,
                         param->kind == LW_PARAM_VARARG ? "*args"
                                                        : "keyword-only without a default");
            return -1;
        }
        *required += param->default_constant == 0;
        *most += param->kind == LW_PARAM_POSITIONAL;
    }
    return 0;
}

/* Every output is returned: then none can have core dimensions. */
static int
check_returned(const lw_gufunc_object *self)
{
    const lw_core_layout *layout = &self->base.layout;
    lw_error err = {0};

    for (int k = 0; k < self->base.nout; k++) {
        if (layout->operands[self->base.nin + k].n == 0)
            continue;
        lw_diagnose(self->base.tree, self->base.tree->fns.data[1].loc,
                    (lw_fault){LW_ERR_TYPING, "E185",
                               .label = "has a parameter for each input only",
                               .help = "add a parameter for each output, and fill it"},
                    &err, "output %d of layout `%s` is an array, which cannot be returned", k,
                    layout->text);
        lw_py_raise(&err);
        return -1;
    }
    return 0;
}

static int
choose_form(lw_gufunc_object *self, uint32_t required, uint32_t most)
{
    const lw_fn *fn = &self->base.tree->fns.data[1];
    uint32_t nin = (uint32_t)self->base.nin, all = nin + (uint32_t)self->base.nout;
    bool returns = lw_body_returns(self->base.tree);

    if (required == all || (required < all && all <= most && required != nin && !returns)) {
        self->fills = true;
        return 0;
    }
    if (required <= nin && nin <= most)
        return check_returned(self);
    PyErr_Format(PyExc_TypeError,
                 "guvectorize: `%s` has %u parameter%s, but layout `%s` needs %u (the inputs "
                 "and the outputs), or %u (the inputs) if it returns the outputs%s",
                 fn->name, (unsigned)required, required == 1 ? "" : "s", self->base.layout.text,
                 (unsigned)all, (unsigned)nin,
                 lw_compiled_is_method((const lw_compiled *)self)
                     ? "; the layout of a method may leave out `self`"
                     : "");
    return -1;
}

/* The variable of operand k, or 0: it has no parameter. */
static uint32_t
var_of(const lw_gufunc_object *self, int k)
{
    return self->params[k] == LW_NO_PARAM
               ? 0
               : self->base.tree->fns.data[1].params.data[self->params[k]].var;
}

/* What writes to the output instead. */
static void
say_element(const lw_gufunc_object *self, int k, const char *name, lw_text *help)
{
    uint32_t ndim = self->base.layout.operands[k].n;

    lw_text_addf(help, "write into it: `%s[%s] = …`", name, ndim ? ":" : "0");
}

static int
check_rebound(const lw_gufunc_object *self)
{
    const lw_tree *tree = self->base.tree;
    lw_error err = {0};

    for (int k = self->base.nin; self->fills && k < self->base.nin + self->base.nout; k++) {
        const char *name = tree->fns.data[1].params.data[self->params[k]].name;
        uint32_t node = lw_body_rebinds(tree, var_of(self, k));
        lw_text help = {0};
        if (node == 0)
            continue;
        say_element(self, k, name, &help);
        lw_diagnose(tree, tree->nodes.data[node].loc,
                    (lw_fault){LW_ERR_TYPING, "E184", .label = "only the name changes here",
                               .help = lw_text_get(&help)},
                    &err, "output `%s` is assigned as a whole, which writes nothing to it",
                    name);
        lw_text_reset(&help);
        lw_py_raise(&err);
        return -1;
    }
    return 0;
}

void
lw_gufunc_place(lw_gufunc_object *self)
{
    const lw_family *family = self->base.family;
    int input = 0, output = self->base.nin;

    memset(self->params, LW_NO_PARAM, sizeof self->params);
    for (uint32_t i = 0; i < family->n_params; i++)
        if (family->roles[i] == LW_ROLE_OPERAND)
            self->params[input++] = (uint8_t)i;
        else if (family->roles[i] == LW_ROLE_OUTPUT)
            self->params[output++] = (uint8_t)i;
}

/* Places a member's operands: inputs, then outputs, in the order of the parameters. */
static int
place_member(lw_gufunc_object *self)
{
    const lw_member *member = self->base.member;
    int next = 0;

    for (uint32_t i = 0; i < member->n_params; i++) {
        if (member->specs[i].kind != LW_ARGK_SCALAR)
            continue;
        self->params[next] = (uint8_t)i;
        if (++next == member->n_operands)
            next += member->n_hidden;
    }
    self->fills = self->params[self->base.nin] != LW_NO_PARAM;
    return self->fills ? 0 : check_returned(self);
}

static int
place_plain(lw_gufunc_object *self)
{
    uint32_t required, most;

    if (count_params(self->base.tree, &required, &most) < 0 ||
        choose_form(self, required, most) < 0)
        return -1;
    for (int k = 0; k < self->base.nin + (self->fills ? self->base.nout : 0); k++)
        self->params[k] = (uint8_t)k;
    return 0;
}

int
lw_gufunc_forms(lw_gufunc_object *self)
{
    memset(self->params, LW_NO_PARAM, sizeof self->params);
    if ((self->base.member ? place_member(self) : place_plain(self)) < 0)
        return -1;
    for (int k = 0; k < self->base.nin + self->base.nout; k++) {
        uint32_t var = var_of(self, k);
        self->indexed[k] = var != 0 && lw_body_indexes(self->base.tree, var);
    }
    return check_rebound(self);
}

/* ---- typing ---- */

static void
spec_of(const lw_gufunc_loop *loop, int k, lw_arg_spec *out)
{
    if (loop->form[k] == LW_CORE_VALUE) {
        *out = (lw_arg_spec){.kind = LW_ARGK_SCALAR, .dtype = loop->types[k]};
        return;
    }
    *out = (lw_arg_spec){.kind = LW_ARGK_ARRAY,
                         .dtype = loop->types[k],
                         .ndim = loop->core_ndim[k],
                         .layout = LW_LAYOUT_ANY,
                         .readonly = k < loop->nin && !loop->writable[k]};
}

/* guess: the dtypes of outputs are not known yet, and take whatever is stored. */
static lw_status
infer(lw_gufunc_object *self, const lw_gufunc_loop *loop, bool guess, lw_typed **out,
      lw_error *err)
{
    const lw_fn *fn = &self->base.tree->fns.data[1];
    lw_front_options options = self->base.options.front;
    lw_arg_spec *specs = lw_alloc_zero(fn->params.n + 1, sizeof *specs);
    const lw_member *member = self->base.member;
    lw_status status;

    if (specs == NULL)
        return lw_fail_memory(err);
    options.procedure = self->fills;
    options.n_results = self->fills ? 0 : (uint32_t)loop->nout;
    options.guess = guess;
    options.readonly_help = "inputs are read only; name it in writable_args= to write to it";
    for (uint32_t i = 0; i < fn->params.n; i++)
        if (member != NULL && member->specs[i].kind == LW_ARGK_ARRAY)
            specs[i] = member->specs[i];
        else
            specs[i] = (lw_arg_spec){.kind = LW_ARGK_CONSTANT,
                                     .constant = fn->params.data[i].default_constant};
    for (int k = 0; k < loop->nin + loop->nout; k++)
        if (self->params[k] != LW_NO_PARAM)
            spec_of(loop, k, &specs[self->params[k]]);
    status = lw_infer_specs(self->base.tree, &options, specs, fn->params.n, out, err);
    lw_free(specs);
    return status;
}

lw_typed *
lw_gufunc_infer(lw_gufunc_object *self, const lw_gufunc_loop *loop)
{
    lw_typed *typed = NULL;
    lw_error err = {0};

    if (infer(self, loop, false, &typed, &err) != LW_OK)
        return (lw_typed *)lw_py_raise(&err);
    return typed;
}

/* ---- the dtypes of outputs that no signature names ---- */

/* `known`, if they have no common dtype: what it is used for says so with a line. */
static lw_dtype
common_dtype(lw_dtype known, lw_dtype other)
{
    lw_dtype both = lw_promote_dtypes(known, other);

    return both == LW_DT_void ? known : both;
}

static lw_dtype
common_input(const lw_gufunc_loop *loop)
{
    lw_dtype all = loop->n_shown ? loop->types[0] : LW_DT_f64;

    for (int k = 1; k < loop->n_shown; k++)
        all = common_dtype(all, loop->types[k]);
    return all;
}

static void
set_free(lw_gufunc_loop *loop, const bool *is_free, const lw_dtype *dtypes, lw_dtype all)
{
    for (int k = 0; k < loop->nout; k++)
        if (is_free[k])
            loop->types[loop->nin + k] = dtypes ? dtypes[k] : all;
}

/* The dtypes that it stores when the free outputs have those of `loop`. */
static lw_status
stores_of(lw_gufunc_object *self, const lw_gufunc_loop *loop, bool guess, lw_dtype *out,
          lw_error *err)
{
    lw_typed *typed = NULL;
    lw_status status = infer(self, loop, guess, &typed, err);

    for (int k = 0; status == LW_OK && k < loop->nout; k++) {
        lw_dtype stored = lw_body_stores(typed, var_of(self, loop->nin + k));
        out[k] = stored == LW_DT_void ? loop->types[loop->nin + k] : stored;
    }
    lw_typed_free(typed);
    return status;
}

/* What is stored may depend on what is read back, which has the dtype `guess` at first: typed
 * again with the dtypes that were stored, which are checked then. */
static lw_status
outputs_from(lw_gufunc_object *self, lw_gufunc_loop *loop, const bool *is_free, lw_dtype guess,
             lw_error *err)
{
    lw_dtype stored[LW_MAX_OPERANDS] = {0}, again[LW_MAX_OPERANDS] = {0};
    lw_status status;

    set_free(loop, is_free, NULL, guess);
    LW_TRY(stores_of(self, loop, true, stored, err));
    set_free(loop, is_free, stored, 0);
    LW_TRY(stores_of(self, loop, false, again, err));
    for (int k = 0; k < loop->nout; k++)
        stored[k] = common_dtype(again[k], stored[k]);
    set_free(loop, is_free, stored, 0);
fail:
    return status;
}

/* The first guess is the inputs' common dtype, then wider ones that take more. */
static lw_status
guess_outputs(lw_gufunc_object *self, lw_gufunc_loop *loop, const bool *is_free, lw_error *err)
{
    const lw_dtype guesses[] = {common_input(loop), LW_DT_f64, LW_DT_c128};
    lw_error later = {0};
    lw_status status = outputs_from(self, loop, is_free, guesses[0], err);

    for (int i = 1; status != LW_OK && status != LW_ERR_OUT_OF_MEMORY && i < 3; i++) {
        status = outputs_from(self, loop, is_free, guesses[i], &later);
        lw_error_reset(&later);
    }
    if (status == LW_OK)
        lw_error_reset(err);
    return status; /* of the first guess */
}

/* ---- lowering ---- */

static lw_status
never_written(const lw_gufunc_object *self, int k, lw_error *err)
{
    const lw_fn *fn = &self->base.tree->fns.data[1];
    const char *name = fn->params.data[self->params[k]].name;
    lw_text help = {0};
    lw_status status;

    lw_text_addf(&help, "write into it: `%s[%s] = …`", name,
                 self->base.layout.operands[k].n ? "i" : "0");
    status = lw_diagnose(self->base.tree, fn->loc,
                         (lw_fault){LW_ERR_TYPING, "E185",
                                    .label = "takes it and writes nothing to it",
                                    .help = lw_text_get(&help)},
                         err, "output `%s` is never written", name);
    lw_text_reset(&help);
    return status;
}

/* W207 in place of the error: numba leaves such an output as it is. */
static lw_status
warn_of_unwritten(const lw_gufunc_object *self, lw_scalar *scalar, int k, lw_error *err)
{
    const lw_fn *fn = &self->base.tree->fns.data[1];
    const lw_loc *at = &self->base.tree->locs.data[fn->loc];
    const char *path = self->base.tree->files.data[at->file].path;
    lw_text text = {0};

    if (scalar->unbound != NULL)
        return LW_OK;
    lw_text_addf(
        &text,
        "W207: output `%s` of `%s`, line %u of %s, is never written: with "
        "typing=\"numba\" it keeps the contents of its memory, which are arbitrary if the call "
        "creates the output",
        fn->params.data[self->params[k]].name, fn->name, at->line, path ? path : "?");
    scalar->unbound =
        text.failed ? NULL : lw_arena_strdup(&scalar->module->arena, lw_text_get(&text));
    lw_text_reset(&text);
    return scalar->unbound ? LW_OK : lw_fail_memory(err);
}

static lw_status
check_written(const lw_gufunc_object *self, const lw_gufunc_loop *loop, lw_error *err)
{
    for (int k = loop->nin; self->fills && k < loop->nin + loop->nout; k++) {
        const lw_arg_parts *parts = &loop->scalar->args[k];
        if (loop->scalar->never_returns || (parts->n_arrays != 0 && parts->written[0]))
            continue;
        if (self->base.options.front.typing != LW_TYPING_NUMBA)
            return never_written(self, k, err);
        return warn_of_unwritten(self, loop->scalar, k, err);
    }
    return LW_OK;
}

/* Without outputs any array may be written to; these are. */
static void
note_written(const lw_gufunc_object *self, lw_gufunc_loop *loop)
{
    for (int k = 0; k < loop->nin; k++) {
        const lw_arg_parts *parts = &loop->scalar->args[k];
        loop->writable[k] = self->writable[k] || (parts->n_arrays != 0 && parts->written[0]);
    }
}

static lw_status
take_results(const lw_gufunc_object *self, lw_gufunc_loop *loop, lw_error *err)
{
    if (self->fills)
        return LW_OK;
    if (loop->scalar->n_out != (uint32_t)loop->nout)
        return lw_fail(
            err, LW_ERR_TYPING,
            "`%s` returns %u number%s for these types, and layout `%s` has %d output%s",
            self->base.table->name, (unsigned)loop->scalar->n_out,
            loop->scalar->n_out == 1 ? "" : "s", self->base.layout.text, loop->nout,
            loop->nout == 1 ? "" : "s");
    memcpy(loop->types + loop->nin, loop->scalar->out,
           (size_t)loop->nout * sizeof *loop->types);
    return LW_OK;
}

/* Arranges a member's parameters of the body by operand, and by part of excluded arrays. */
static lw_status
arrange_args(lw_gufunc_object *self, lw_gufunc_loop *loop, lw_error *err)
{
    lw_member *member = self->base.member;
    int n = loop->nin + loop->nout, hidden = member->n_operands;
    lw_arg_parts *args = lw_arena_take(&loop->scalar->module->arena, (size_t)n * sizeof *args);

    if (args == NULL)
        return lw_fail_memory(err);
    memset(args, 0, (size_t)n * sizeof *args);
    lw_member_note(member, loop->scalar);
    loop->writes_excluded = member->written != 0;
    for (uint32_t i = 0; i < member->n_params; i++) {
        const lw_arg_parts *parts = &loop->scalar->args[i];
        if (member->specs[i].kind != LW_ARGK_ARRAY)
            continue;
        for (uint32_t w = 0; w < parts->n; w++) {
            args[hidden] = (lw_arg_parts){.first = parts->first + w, .n = 1};
            loop->address[hidden++] = w == 0;
        }
    }
    for (int k = 0; k < n; k++)
        if (self->params[k] != LW_NO_PARAM)
            args[k] = loop->scalar->args[self->params[k]];
    loop->scalar->args = args;
    loop->scalar->n_args = (uint32_t)n;
    return LW_OK;
}

/* An output shares no memory with another operand: the call sees to it. */
static lw_status
tell_apart(const lw_gufunc_loop *loop, lw_error *err)
{
    const lw_scalar *scalar = loop->scalar;
    uint32_t n = scalar->module->funcs.data[scalar->body]->params.n;
    bool *alone = lw_arena_take(&scalar->module->arena, n + 1);

    if (alone == NULL)
        return lw_fail_memory(err);
    for (int k = loop->nin; k < loop->nin + loop->nout; k++)
        if (loop->form[k] == LW_CORE_ARRAY)
            alone[scalar->args[k].addresses[0]] = true;
    return lw_opt_apart(scalar->module, scalar->body, alone, err);
}

static lw_status
lower(lw_gufunc_object *self, lw_gufunc_loop *loop, const lw_dtype *out, lw_error *err)
{
    uint32_t n_out = !self->fills && out ? (uint32_t)loop->nout : 0;
    lw_typed *typed = NULL;
    lw_status status;

    LW_TRY(infer(self, loop, false, &typed, err));
    lw_typed_dump(typed, self->base.table->name);
    if (n_out)
        LW_TRY(lw_infer_check_results(typed, out, n_out, err));
    LW_TRY(lw_lower(typed, n_out ? out : NULL, n_out, &loop->scalar, err));
    if (self->base.member != NULL)
        LW_TRY(arrange_args(self, loop, err));
    LW_TRY(take_results(self, loop, err));
    LW_TRY(check_written(self, loop, err));
    if (loop->nout == 0)
        note_written(self, loop);
    LW_TRY(tell_apart(loop, err));
fail:
    lw_typed_free(typed);
    return status;
}

/* ---- loops ---- */

static void
describe(const lw_gufunc_object *self, lw_gufunc_loop *loop, const bool *arrays)
{
    for (int k = 0; k < loop->nin + loop->nout; k++) {
        uint32_t core = self->base.layout.operands[k].n;
        bool output = k >= loop->nin, array = arrays ? arrays[k] : self->indexed[k];
        loop->form[k] = output && !self->fills        ? LW_CORE_RESULT
                        : core > 0 || output || array ? LW_CORE_ARRAY
                                                      : LW_CORE_VALUE;
        loop->core_ndim[k] = (uint8_t)(loop->form[k] == LW_CORE_ARRAY && core == 0 ? 1 : core);
        loop->writable[k] =
            self->writable[k] || (loop->nout == 0 && loop->form[k] == LW_CORE_ARRAY);
    }
}

static lw_status
build(lw_gufunc_object *self, lw_gufunc_loop *loop, const lw_dtype *out, lw_error *err)
{
    bool is_free[LW_MAX_OPERANDS] = {false}, any = false, all = out != NULL;
    lw_status status = LW_OK;

    for (int k = 0; k < loop->nout; k++) {
        is_free[k] = out == NULL || out[k] == LW_DT_void;
        loop->types[loop->nin + k] = is_free[k] ? LW_DT_void : out[k];
        any |= is_free[k];
        all &= !is_free[k];
    }
    if (self->fills && any)
        LW_TRY(guess_outputs(self, loop, is_free, err));
    LW_TRY(lower(self, loop, all ? out : NULL, err));
fail:
    return status;
}

lw_gufunc_loop *
lw_gufunc_make(lw_gufunc_object *self, const lw_dtype *in, const lw_dtype *out,
               const bool *arrays, bool declared)
{
    lw_gufunc_loop *loop, *made;
    lw_error err = {0};

    if (lw_compiled_read_again((lw_compiled *)self) < 0)
        return NULL;
    if (self->has_fixed_out)
        out = self->fixed_out;
    loop = declared ? NULL : lw_rows_find((lw_ufunc_head *)self, in);
    if (loop != NULL) /* reading runs Python's code, where another thread has made it */
        return loop;
    loop = lw_alloc_zero(1, sizeof *loop);
    if (loop == NULL)
        return (lw_gufunc_loop *)PyErr_NoMemory();
    loop->layout = &lw_gufunc_table_of(self)->layout;
    loop->nin = self->base.nin;
    loop->nout = self->base.nout;
    loop->n_shown = lw_ufunc_shown_inputs((const lw_ufunc_head *)self);
    loop->declared = declared;
    memcpy(loop->types, in, (size_t)loop->nin * sizeof *in);
    describe(self, loop, arrays);
    if (build(self, loop, out, &err) != LW_OK) {
        lw_gufunc_loop_free(loop);
        return (lw_gufunc_loop *)lw_py_raise(&err);
    }
    if (lw_door_warn_of_code(&self->base.options, loop->scalar) < 0) {
        lw_gufunc_loop_free(loop);
        return NULL;
    }
    made = self->base.is_made ? lw_rows_find((lw_ufunc_head *)self, in) : NULL;
    if (made != NULL) { /* while this one was */
        lw_gufunc_loop_free(loop);
        return made;
    }
    if (lw_table_add((lw_ufunc_head *)self, (lw_loop_head *)loop) < 0)
        return NULL;
    return loop;
}
