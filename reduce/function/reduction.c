#include "reduce/function/reduction_internal.h"

#include "core/base/memory.h"
#include "reduce/function/raised.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static uint32_t
n_params(const lw_tree *tree)
{
    return tree->fns.n > 1 ? tree->fns.data[1].params.n : 0;
}

const char *
lw_reduce_name_of(const lw_tree *tree)
{
    return tree->fns.n > 1 && tree->fns.data[1].name ? tree->fns.data[1].name : "function";
}

bool
lw_reduce_is_indexed(const lw_tree *map)
{
    uint32_t n = n_params(map);

    return n > 1 && strcmp(map->fns.data[1].params.data[n - 1].name, "index") == 0;
}

/* ---- typing ---- */

static lw_status
complain_count(builder *b, const lw_tree *tree, const char *role, uint32_t n, uint32_t times)
{
    char unpacked[24] = "";

    if (n > 1)
        snprintf(unpacked, sizeof unpacked, " or %u", (unsigned)(times * n));
    return lw_fail(b->err, LW_ERR_TYPE,
                   "reduce: %s function `%s` takes %u parameter%s; accumulators of %u number%s "
                   "need %u%s",
                   role, lw_reduce_name_of(tree), (unsigned)n_params(tree),
                   n_params(tree) == 1 ? "" : "s", (unsigned)n, n == 1 ? "" : "s",
                   (unsigned)times, unpacked);
}

/* Accumulators are passed unpacked if the function has as many parameters, else as one
 * parameter each. */
lw_status
lw_reduce_infer_on(builder *b, const lw_tree *tree, const char *role, const shape *acc,
                   uint32_t times, lw_typed **out)
{
    lw_front_options options = *b->source->options;
    lw_arg_spec whole = {0}, specs[2 * LW_REDUCE_MOST];
    uint32_t wanted = n_params(tree), n = 0, items = lw_reduce_n_items(acc);
    bool unpacked = wanted == times * items && (wanted != times || !lw_reduce_is_tuple(acc));
    lw_status status = LW_OK;

    assert(times == 1 || times == 2);
    if (!unpacked && wanted != times)
        return complain_count(b, tree, role, items, times);
    LW_TRY(lw_reduce_spec_of(b, acc, &whole));
    for (uint32_t t = 0; t < times; t++)
        if (unpacked && whole.kind == LW_ARGK_TUPLE)
            for (uint32_t i = 0; i < items; i++)
                specs[n++] = whole.items[i];
        else
            specs[n++] = whole;
    options.n_results = times == 2 ? acc->n : 1;
    LW_TRY(lw_infer_specs(tree, &options, specs, n, out, b->err));
fail:
    return status;
}

static lw_status
infer_map(builder *b, lw_typed **out)
{
    const lw_tree *tree = b->source->map;
    lw_front_options options = *b->source->options;
    lw_reduction *r = b->made;
    lw_arg_spec specs[LW_REDUCE_MOST + 1];
    uint32_t wanted = n_params(tree), n = 0;
    lw_status status = LW_OK;

    r->indexed = wanted == r->n_arrays + 1 && lw_reduce_is_indexed(tree);
    if (wanted != r->n_arrays + r->indexed)
        return lw_fail(b->err, LW_ERR_TYPE,
                       "reduce: map function `%s` takes %u parameters, but %u array%s given "
                       "(one more parameter, `index`, gets the element's index)",
                       lw_reduce_name_of(tree), (unsigned)wanted, (unsigned)r->n_arrays,
                       r->n_arrays == 1 ? "" : "s");
    for (uint32_t i = 0; i < r->n_arrays; i++)
        LW_TRY(lw_reduce_spec_of(b, &b->array[i], &specs[n++]));
    if (r->indexed)
        specs[n++] = (lw_arg_spec){.kind = LW_ARGK_WEAK, .dtype = LW_DT_i64, .counts = true};
    options.n_results = 1;
    LW_TRY(lw_infer_specs(tree, &options, specs, n, out, b->err));
fail:
    return status;
}

/* Without a map, an accumulator is an element; with several arrays, a tuple of their
 * elements. */
static void
mapped_as_is(builder *b)
{
    uint32_t n = b->made->n_arrays, numbers = 0;
    shape *to = &b->mapped;

    if (n > 1)
        lw_reduce_add_node(to, LW_REDUCE_TUPLE, n, NULL);
    for (uint32_t i = 0; i < n; i++) {
        const shape *from = &b->array[i];
        numbers = 0;
        for (uint32_t k = 0; k < from->form.n_nodes; k++)
            if (from->form.node[k].kind == LW_REDUCE_NUMBER)
                lw_reduce_add_number(to, from->type[numbers++], from->form.node[k].name);
            else
                lw_reduce_add_node(to, from->form.node[k].kind, from->form.node[k].n,
                                   from->form.node[k].name);
    }
}

static lw_status
find_mapped(builder *b)
{
    lw_status status = LW_OK;
    lw_typed *typed = NULL;

    if (b->source->map == NULL) {
        mapped_as_is(b);
        return LW_OK;
    }
    LW_TRY(infer_map(b, &typed));
    LW_TRY(lw_reduce_result_shape(b, typed, "map", b->source->map, &b->mapped));
fail:
    lw_typed_free(typed);
    return status;
}

static const char *
a_tuple(const shape *s)
{
    static const char *const text[] = {"", "a tuple of ", "a record of "};

    return text[s->form.node[0].kind];
}

/* Without map, several arrays make tuples of their elements, which `a + b` only joins. */
static lw_status
complain_places(builder *b, const shape *given)
{
    bool pairs = b->source->map == NULL && b->made->n_arrays > 1;

    return lw_fail(
        b->err, LW_ERR_TYPE,
        "reduce: combine function `%s` gives %s%u number%s, but the accumulators "
        "that it takes have %s%u%s",
        lw_reduce_name_of(b->source->combine), a_tuple(given), (unsigned)given->n,
        given->n == 1 ? "" : "s", a_tuple(&b->acc), (unsigned)b->acc.n,
        pairs ? ", an element of each array that was given: pass map=, which makes "
                "one accumulator of them, or pass values that are not arrays by keyword"
              : "");
}

/* One iteration of the fixed point: joins the accumulator's types with those that combine gives
 * for them. */
static lw_status
widen(builder *b, bool *changed)
{
    lw_status status = LW_OK;
    lw_typed *typed = NULL;
    const char *problem = NULL;
    shape given;

    LW_TRY(lw_reduce_infer_on(b, b->source->combine, "combine", &b->acc, 2, &typed));
    *changed = false;
    assert(typed != NULL);
    if (typed->instances.data[1].never_returns)
        goto fail;
    LW_TRY(lw_reduce_result_shape(b, typed, "combine", b->source->combine, &given));
    if (!lw_reduce_same_places(&given.form, &b->acc.form)) {
        status = complain_places(b, &given);
        goto fail;
    }
    for (uint32_t i = 0; i < b->acc.n; i++) {
        lw_type both[2] = {b->acc.type[i], given.type[i]};
        lw_type joined = lw_join(&b->types, b->source->options->typing, both, 2, &problem);
        if (problem != NULL || joined == LW_T_BOTTOM) {
            status = lw_fail(b->err, LW_ERR_TYPE,
                             "reduce: number %u of the accumulator is %s, but combine "
                             "function `%s` returns %s for it: no type holds both",
                             (unsigned)i + 1, lw_dtypes[lw_reduce_stored(both[0])].public_name,
                             lw_reduce_name_of(b->source->combine),
                             lw_dtypes[lw_reduce_stored(both[1])].public_name);
            goto fail;
        }
        joined = lw_reduce_plain(&b->types, joined);
        *changed |= joined != b->acc.type[i];
        b->acc.type[i] = joined;
    }
fail:
    lw_typed_free(typed);
    return status;
}

static lw_status
fix_point(builder *b)
{
    enum { MOST_ITERATIONS = 8 }; /* a type can become wider a few times only */
    lw_status status = LW_OK;
    bool changed = true;

    for (int i = 0; i < MOST_ITERATIONS && changed; i++)
        LW_TRY(widen(b, &changed));
    if (changed)
        return lw_fail(b->err, LW_ERR_TYPE,
                       "reduce: the types of `%s` do not converge: the accumulators that it "
                       "returns are always wider than those it receives",
                       lw_reduce_name_of(b->source->combine));
fail:
    return status;
}

static lw_type
wide(lw_type type)
{
    return type == LW_DT_f16 || type == LW_DT_bf16 ? (lw_type)LW_DT_f32 : type;
}

/* ---- lowering ---- */

static lw_status
refuse(builder *b, const lw_tree *tree, const char *what)
{
    return lw_fail(b->err, LW_ERR_UNSUPPORTED,
                   "reduce: `%s` %s; functions of a reduction cannot do that yet",
                   lw_reduce_name_of(tree), what);
}

static lw_status
lower(builder *b, const lw_tree *tree, const lw_typed *typed, const lw_dtype *out,
      uint32_t n_out, lw_scalar **scalar)
{
    lw_status status;

    if (b->source->types != NULL)
        lw_typed_print(typed, b->source->types);
    LW_TRY(lw_infer_check_leaves(typed, out, n_out, b->err));
    LW_TRY(lw_lower(typed, out, n_out, scalar, b->err));
    assert(*scalar != NULL);
    if (lw_ir_prints((*scalar)->module))
        status = refuse(b, tree, "prints");
fail:
    return status;
}

static lw_status
lower_map(builder *b)
{
    lw_status status = LW_OK;
    lw_typed *typed = NULL;

    if (b->source->map == NULL)
        return LW_OK;
    LW_TRY(infer_map(b, &typed));
    LW_TRY(lower(b, b->source->map, typed, b->made->acc, b->made->n_acc, &b->made->map));
fail:
    lw_typed_free(typed);
    return status;
}

static lw_status
lower_combine(builder *b)
{
    lw_status status = LW_OK;
    lw_typed *typed = NULL;

    LW_TRY(lw_reduce_infer_on(b, b->source->combine, "combine", &b->acc, 2, &typed));
    LW_TRY(
        lower(b, b->source->combine, typed, b->made->acc, b->made->n_acc, &b->made->combine));
fail:
    lw_typed_free(typed);
    return status;
}

/* dtype=bool: Python's sum of bools is an int, but NumPy's is their `or`, the product `and`. */
static bool
said_bool(const builder *b)
{
    const lw_reduction *r = b->made;

    return b->dtype == LW_DT_b1 && b->source->map == NULL && r->n_arrays == 1 && r->n_acc == 1;
}

/* narrow: the accumulator before half precision was widened, which decides the dtypes of
 * results. */
static lw_status
lower_finish(builder *b, const shape *narrow)
{
    lw_reduction *r = b->made;
    lw_status status = LW_OK;
    lw_typed *typed = NULL;
    shape results;

    if (b->source->finish == NULL) {
        r->n_out = narrow->n;
        r->out_form = narrow->form;
        for (uint32_t i = 0; i < narrow->n; i++)
            r->out[i] = said_bool(b) ? LW_DT_b1 : lw_reduce_stored(narrow->type[i]);
        return LW_OK;
    }
    LW_TRY(lw_reduce_infer_on(b, b->source->finish, "finish", narrow, 1, &typed));
    LW_TRY(lw_reduce_result_shape(b, typed, "finish", b->source->finish, &results));
    lw_typed_free(typed);
    typed = NULL;
    r->n_out = results.n;
    r->out_form = results.form;
    for (uint32_t i = 0; i < results.n; i++)
        r->out[i] = lw_reduce_stored(results.type[i]);
    LW_TRY(lw_reduce_infer_on(b, b->source->finish, "finish", &b->acc, 1, &typed));
    LW_TRY(lower(b, b->source->finish, typed, r->out, r->n_out, &r->finish));
fail:
    lw_typed_free(typed);
    return status;
}

/* ---- the reduction ---- */

/* Sets the shape of each array's elements. */
static lw_status
take_arrays(builder *b)
{
    lw_reduction *r = b->made;
    uint32_t at = 0;

    for (uint32_t i = 0; i < r->n_arrays; i++) {
        if (r->array[i].record != NULL)
            lw_reduce_add_record(r->array[i].record, NULL, &b->array[i]);
        else
            lw_reduce_add_number(&b->array[i], (lw_type)r->in[at], NULL);
        if (b->array[i].too_many || b->array[i].n == 0)
            return lw_fail(b->err, LW_ERR_TYPE,
                           "reduce: argument %u has records of more than %d numbers",
                           (unsigned)i + 1, LW_REDUCE_MOST);
        at += b->array[i].n;
    }
    return LW_OK;
}

static lw_status
lower_functions(builder *b, const shape *narrow)
{
    lw_status status;

    LW_TRY(lower_map(b));
    LW_TRY(lower_combine(b));
    LW_TRY(lower_finish(b, narrow));
fail:
    return status;
}

typedef struct three {
    lw_scalar *map, *combine, *finish;
} three;

/* Replaces the reduction's functions and gives those it had. */
static three
replace_functions(lw_reduction *r, three by)
{
    three before = {r->map, r->combine, r->finish};

    r->map = by.map;
    r->combine = by.combine;
    r->finish = by.finish;
    return before;
}

static void
free_functions(three of)
{
    lw_scalar_free(of.map);
    lw_scalar_free(of.combine);
    lw_scalar_free(of.finish);
}

static bool
can_raise(const lw_reduction *r)
{
    const lw_scalar *functions[] = {r->map, r->combine, r->finish};

    for (int i = 0; i < LW_REDUCE_FUNCTIONS; i++)
        if (functions[i] != NULL && functions[i]->can_raise && functions[i]->n_raises > 0)
            return true;
    return false;
}

/* Types, and what combine is recognised as, come from the functions without checks, because
 * checks use the numbers too and would hide what combine does. Then the functions are lowered
 * again with checks, and these are kept if one of them can raise. */
static lw_status
add_checks(builder *b, const shape *narrow)
{
    const lw_reduce_source *unchecked = b->source;
    lw_front_options options = *unchecked->options;
    lw_reduce_source source = *unchecked;
    three plain;
    lw_status status;

    if (b->checks == 0)
        return LW_OK;
    options.checks = b->checks;
    source.options = &options;
    source.types = NULL;
    b->source = &source;
    plain = replace_functions(b->made, (three){0});
    status = lower_functions(b, narrow);
    if (status == LW_OK && !can_raise(b->made))
        plain = replace_functions(b->made, plain);
    free_functions(plain);
    b->source = unchecked;
    return status;
}

/* ---- stages ---- */

/* Numbers side by side, whatever their structure in the accumulator. */
static void
be_flat(lw_reduce_form *form, uint32_t n)
{
    form->n_nodes = 0;
    if (n > 1)
        form->node[form->n_nodes++] = (lw_reduce_node){LW_REDUCE_TUPLE, n, NULL};
    for (uint32_t i = 0; i < n; i++)
        form->node[form->n_nodes++] = (lw_reduce_node){LW_REDUCE_NUMBER, 0, NULL};
}

static void
give_accumulators(lw_reduction *r)
{
    lw_scalar_free(r->finish);
    r->finish = NULL;
    r->n_out = r->n_acc;
    memcpy(r->out, r->acc, sizeof r->out);
    be_flat(&r->out_form, r->n_out);
}

static void
take_accumulators(lw_reduction *r)
{
    lw_scalar_free(r->map);
    r->map = NULL;
    r->indexed = false;
    r->n_arrays = r->n_in = r->n_acc;
    for (uint32_t i = 0; i < r->n_acc; i++) {
        r->array[i] = (lw_reduce_operand){.dtype = r->acc[i]};
        r->loaded[i] = r->in[i] = r->acc[i];
    }
}

/* The types are those of the whole reduction: an accumulator of float16 stays a float32, and a
 * count that is a Python int stays weak. */
static void
set_stage(lw_reduction *r, lw_reduce_stage stage)
{
    if (stage == LW_REDUCE_PARTIAL || stage == LW_REDUCE_MERGE)
        give_accumulators(r);
    if (stage == LW_REDUCE_MERGE || stage == LW_REDUCE_FINISH)
        take_accumulators(r);
}

/* Those of the functions together; choosing an extreme raises none. */
static lw_flags_kind
flags_of(const lw_reduction *r)
{
    const lw_scalar *const functions[] = {r->map, r->exact ? NULL : r->combine, r->finish};
    lw_flags_kind most = LW_FLAGS_NONE;

    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        lw_flags_kind one = functions[i] ? lw_ir_flags(functions[i]->module) : LW_FLAGS_NONE;
        most = one > most ? one : most;
    }
    for (uint32_t i = 0; i < r->n_out; i++) /* rounded from float32, in code of many steps */
        if (lw_dtypes[r->out[i]].size_bytes == 2 && lw_is_float(r->out[i]) && !r->exact)
            most = LW_FLAGS_DOUBTED;
    return most;
}

static lw_status
build(builder *b)
{
    lw_reduction *r = b->made;
    lw_status status;
    shape narrow;

    lw_reduce_widen_elements(b);
    LW_TRY(take_arrays(b));
    LW_TRY(find_mapped(b));
    b->acc = b->mapped;
    LW_TRY(fix_point(b));
    LW_TRY(lw_reduce_widen_sums(b));
    narrow = b->acc;
    for (uint32_t i = 0; i < b->acc.n; i++)
        b->acc.type[i] = wide(b->acc.type[i]);
    LW_TRY(fix_point(b));
    r->n_acc = b->acc.n;
    r->acc_form = b->acc.form;
    for (uint32_t i = 0; i < b->acc.n; i++)
        r->acc[i] = lw_reduce_stored(b->acc.type[i]);
    LW_TRY(lower_functions(b, &narrow));
    assert(r->n_acc > 0 && r->n_out > 0);
    lw_reduce_recognise(r);
    if (b->source->commutative >= 0)
        r->commutative = b->source->commutative;
    LW_TRY(add_checks(b, &narrow));
    set_stage(r, b->source->stage);
    if (can_raise(r))
        LW_TRY(lw_reduce_carry_raised(r, b->err));
    lw_reduce_recognise_best(r);
    r->flags = flags_of(r);
fail:
    return status;
}

static lw_status
set_operands(lw_reduction *r, const lw_reduce_operand *arrays, uint32_t n, lw_dtype dtype,
             lw_error *err)
{
    int64_t offset[LW_REDUCE_MOST];

    r->n_arrays = n;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t room = LW_REDUCE_MOST - r->n_in, count = 1;
        r->array[i] = arrays[i];
        if (arrays[i].record != NULL)
            count = lw_reduce_numbers(arrays[i].record, room, r->loaded + r->n_in, offset);
        else if (room > 0)
            r->loaded[r->n_in] = arrays[i].dtype;
        if (count > room)
            return lw_fail(
                err, LW_ERR_TYPE,
                "reduce: the arrays have more than %d numbers an element, the fields "
                "of records counted one by one",
                LW_REDUCE_MOST);
        r->n_in += count;
    }
    for (uint32_t i = 0; i < r->n_in; i++)
        r->in[i] = dtype != LW_DT_void ? dtype : r->loaded[i];
    return LW_OK;
}

lw_status
lw_reduction_new(const lw_reduce_source *source, const lw_reduce_operand *arrays, uint32_t n,
                 lw_dtype dtype, lw_reduction **out, lw_error *err)
{
    lw_front_options options = *source->options;
    lw_reduce_source unchecked = *source;
    builder b = {.source = &unchecked, .checks = options.checks, .dtype = dtype, .err = err};
    lw_reduction *made = lw_alloc_zero(1, sizeof *made);
    lw_status status;

    if (made == NULL)
        return lw_fail_memory(err);
    if (set_operands(made, arrays, n, dtype, err) != LW_OK) {
        lw_reduction_free(made);
        return LW_ERR_TYPE;
    }
    options.checks = 0;
    unchecked.options = &options;
    b.made = made;
    lw_arena_init(&b.arena);
    lw_types_init(&b.types, &b.arena);
    status = build(&b);
    lw_arena_reset(&b.arena);
    if (status != LW_OK) {
        lw_reduction_free(made);
        return status;
    }
    *out = made;
    return LW_OK;
}

void
lw_reduction_functions(const lw_reduction *self, const lw_scalar *out[LW_REDUCE_FUNCTIONS])
{
    const lw_scalar *const made[] = {self->map, self->combine, self->finish};

    for (int i = 0; i < LW_REDUCE_FUNCTIONS; i++)
        out[i] = self->raising[i] ? self->raising[i] : made[i];
}

void
lw_reduction_free(lw_reduction *self)
{
    if (self == NULL)
        return;
    free_functions((three){self->map, self->combine, self->finish});
    for (int i = 0; i < LW_REDUCE_FUNCTIONS; i++)
        lw_scalar_free(self->raising[i]);
    lw_free(self);
}

lw_status
lw_reduction_module(const lw_reduction *self, lw_module **out,
                    uint32_t funcs[LW_REDUCE_FUNCTIONS], lw_error *err)
{
    const lw_scalar *scalars[] = {self->map, self->combine, self->finish};
    lw_module *module = NULL;
    lw_status status;

    assert(self->combine != NULL);
    LW_TRY(lw_module_new(&module, err));
    for (int i = 0; i < LW_REDUCE_FUNCTIONS; i++) {
        uint32_t first = 0;
        funcs[i] = UINT32_MAX;
        if (scalars[i] == NULL)
            continue;
        LW_TRY(lw_module_append(module, scalars[i]->module, &first, err));
        funcs[i] = first + scalars[i]->body;
    }
    *out = module;
    return LW_OK;
fail:
    lw_module_free(module);
    return status;
}
