/* Loops that run four iterations of their body together: which are rewritten, and that
 * everything else stays as it was. What the rewritten ones compute is tests/py/test_jam.py's.
 */
#include "core/opt/jam.h"

#include "core/ir/build.h"
#include "tests/c/check_pass.h"
#include "tests/c/random_ir.h"

#include <stdio.h>
#include <string.h>

typedef enum nest_kind {
    ROWS,       /* for i: acc = 0; for j: acc += a[i, j] * x[j]; y[i] = acc */
    CONDITIONS, /* the same where a[i, j] > 0 */
    UNKNOWN,    /* the same, of pointers that may meet */
    CALLED,     /* for i: rows(a + i, y + i) of a function that has the inner loop */
    CALLERS,    /* a function whose pointers its only caller keeps apart */
    SUMS_TWICE, /* two such inner loops one after the other */
    LAST_SEEN,  /* a variable that holds x[j] is read after the loops */
    IN_PLACE,   /* for i: y[i] = 0; for j: y[i] += a[i, j] * x[j] */
    ADDED,      /* for i: acc = y[i]; … */
    N_JAMMED,
    FAST = N_JAMMED, /* sums that may be reordered */
    COUNTS,          /* integers */
    TRIANGLE,        /* j < i */
    TOTAL,           /* acc is not set in the outer loop */
    OLD_VALUE,       /* acc is set after it was read */
    ONE_PLACE,       /* IN_PLACE, of y[0] */
    TWO_PLACES,      /* IN_PLACE, and y[i + 1] is set */
    SHORT,           /* an inner loop of 16 iterations */
    RETURNS,         /* leaves the function */
    BARRIERS,
    READS_BACK, /* x is y */
    N_KINDS
} nest_kind;

typedef struct nest {
    lw_builder b;
    nest_kind kind;
    lw_ref a, x, y, m, n, acc, seen;
} nest;

static lw_ref
element(lw_builder *b, lw_ref base, lw_ref i)
{
    return lw_ir_offset(b, base, lw_ir_mul(b, i, lw_ir_int(b, LW_DT_i64, 8)));
}

static bool
is_in_place(nest_kind kind)
{
    return kind == IN_PLACE || kind == ONE_PLACE || kind == TWO_PLACES;
}

static lw_ref
own_element(nest *t, lw_ref i)
{
    return element(&t->b, t->y, t->kind == ONE_PLACE ? t->m : i);
}

static lw_dtype
type_of(nest_kind kind)
{
    return kind == COUNTS ? LW_DT_i64 : LW_DT_f64;
}

static void
make_sum(nest *t, lw_ref i)
{
    lw_builder *b = &t->b;
    lw_dtype type = type_of(t->kind);
    lw_ref limit = t->n, row = lw_ir_mul(b, i, t->n), zero = lw_ir_int(b, LW_DT_i64, 0), u, v;
    lw_for inner;

    if (t->kind == TRIANGLE)
        limit = i;
    if (t->kind == SHORT)
        limit = lw_ir_int(b, LW_DT_i64, 16);
    inner = lw_ir_for(b, zero, limit, lw_ir_int(b, LW_DT_i64, 1), 0);
    u = lw_ir_load(b, type, 1, element(b, t->a, lw_ir_add(b, row, inner.i)), 0, 0);
    v = lw_ir_load(b, type, 1, element(b, t->kind == READS_BACK ? t->y : t->x, inner.i), 0, 0);
    if (t->kind == LAST_SEEN)
        lw_ir_set(b, t->seen, v);
    if (t->kind == CONDITIONS)
        lw_ir_if(b, lw_ir_compare(b, LW_OP_GT, u, lw_ir_zero(b, type)));
    b->fast = t->kind == FAST ? LW_FAST_ALL : 0;
    if (is_in_place(t->kind)) {
        lw_ref sum = lw_ir_load(b, type, 1, own_element(t, i), 0, 0);
        lw_ir_store(b, own_element(t, i), lw_ir_add(b, sum, lw_ir_mul(b, u, v)), 0, 0);
    } else
        lw_ir_set(b, t->acc, lw_ir_add(b, lw_ir_get(b, t->acc), lw_ir_mul(b, u, v)));
    b->fast = 0;
    if (t->kind == CONDITIONS)
        lw_ir_end(b);
    lw_ir_for_end(b, &inner);
}

static void
make_iteration(nest *t, lw_ref i)
{
    lw_builder *b = &t->b;
    lw_dtype type = type_of(t->kind);

    if (t->kind == OLD_VALUE)
        lw_ir_store(b, t->y, lw_ir_get(b, t->acc), 0, 0);
    if (t->kind == ADDED)
        lw_ir_set(b, t->acc, lw_ir_load(b, type, 1, own_element(t, i), 0, 0));
    else if (t->kind != TOTAL)
        lw_ir_set(b, t->acc, lw_ir_zero(b, type));
    if (is_in_place(t->kind))
        lw_ir_store(b, own_element(t, i), lw_ir_zero(b, type), 0, 0);
    make_sum(t, i);
    if (t->kind == SUMS_TWICE)
        make_sum(t, i);
    if (t->kind == BARRIERS)
        lw_ir_barrier(b);
    if (t->kind == RETURNS) {
        lw_ir_if(b, lw_ir_compare(b, LW_OP_GT, lw_ir_get(b, t->acc), lw_ir_zero(b, type)));
        lw_ir_return(b, NULL, 0);
        lw_ir_end(b);
    }
    if (t->kind == TWO_PLACES)
        i = lw_ir_add(b, i, lw_ir_int(b, LW_DT_i64, 1));
    if (!is_in_place(t->kind) || t->kind == TWO_PLACES)
        lw_ir_store(b, element(b, t->y, i), lw_ir_get(b, t->acc), 0, 0);
}

static void
start(nest *t, lw_module *module, const char *name, uint32_t flags)
{
    lw_builder *b = &t->b;

    lw_builder_start(b, module, name);
    t->a = lw_ir_param_add(b, LW_DT_ptr, flags, "a");
    t->x = lw_ir_param_add(b, LW_DT_ptr, flags, "x");
    t->y = lw_ir_param_add(b, LW_DT_ptr, flags, "y");
    t->m = lw_ir_param_add(b, LW_DT_i64, 0, "m");
    t->n = lw_ir_param_add(b, LW_DT_i64, 0, "n");
    t->acc = lw_ir_slot(b, type_of(t->kind));
    t->seen = lw_ir_slot(b, type_of(t->kind));
    lw_ir_set(b, t->acc, lw_ir_zero(b, type_of(t->kind)));
    lw_ir_set(b, t->seen, lw_ir_zero(b, type_of(t->kind)));
}

static void
make_called(lw_module *module)
{
    nest t = {.kind = CALLED};

    start(&t, module, "row", 0);
    make_iteration(&t, lw_ir_int(&t.b, LW_DT_i64, 0));
    lw_ir_return(&t.b, NULL, 0);
    CHECK(lw_ir_finish(&t.b, NULL) == LW_OK);
}

static void
make_caller(lw_module *module)
{
    lw_builder b;
    lw_ref args[5];

    lw_builder_start(&b, module, "caller");
    for (int i = 0; i < 5; i++)
        args[i] = lw_ir_param_add(&b, i < 3 ? LW_DT_ptr : LW_DT_i64,
                                  i == 2 ? LW_PARAM_NOALIAS : 0, "p");
    if (b.func != NULL)
        b.func->linkage = LW_EXPORTED;
    lw_ir_call(&b, 0, args, 5);
    lw_ir_return(&b, NULL, 0);
    CHECK(lw_ir_finish(&b, NULL) == LW_OK);
}

static lw_module *
module_of(nest_kind kind)
{
    nest t = {.kind = kind};
    lw_module *module = NULL;
    lw_builder *b = &t.b;
    lw_for outer;

    CHECK(lw_module_new(&module, NULL) == LW_OK);
    if (kind == CALLED)
        make_called(module);
    start(&t, module, "f", kind == UNKNOWN || kind == CALLERS ? 0 : LW_PARAM_NOALIAS);
    outer = lw_ir_for(b, lw_ir_int(b, LW_DT_i64, 0), t.m, lw_ir_int(b, LW_DT_i64, 1), 0);
    if (kind == CALLED) {
        lw_ref row = lw_ir_mul(b, outer.i, t.n);
        lw_ref args[5] = {element(b, t.a, row), t.x, element(b, t.y, outer.i), t.m, t.n};
        lw_ir_call(b, 0, args, 5);
    } else
        make_iteration(&t, outer.i);
    lw_ir_for_end(b, &outer);
    lw_ir_store(b, t.y, lw_ir_get(b, t.seen), 0, 0);
    lw_ir_return(b, NULL, 0);
    CHECK(lw_ir_finish(b, NULL) == LW_OK);
    if (kind == CALLERS)
        make_caller(module);
    CHECK(lw_ir_verify(module, NULL) == LW_OK);
    return module;
}

static int
count(const lw_module *module, lw_op op)
{
    int n = 0;

    for (uint32_t f = 0; f < module->funcs.n; f++)
        for (uint32_t i = 1; i < module->funcs.data[f]->insts.n; i++)
            n += module->funcs.data[f]->insts.data[i].op == op;
    return n;
}

static void
print(const lw_module *module, lw_text *text)
{
    lw_text_init(text);
    lw_ir_print(module, false, text);
}

static void
test_kinds(void)
{
    for (int kind = ROWS; kind < N_KINDS; kind++) {
        lw_module *module = module_of((nest_kind)kind);
        int stores = count(module, LW_OP_STORE), compared = count(module, LW_OP_DISTANCE);
        bool guarded = false;
        lw_text before, after;
        uint32_t jammed = 99;

        print(module, &before);
        CHECK(lw_opt_jam(module, &jammed, NULL) == LW_OK);
        CHECK(lw_ir_verify(module, NULL) == LW_OK);
        print(module, &after);
        CHECK(jammed == (kind < N_JAMMED));
        CHECK((strcmp(lw_text_get(&before), lw_text_get(&after)) == 0) == (jammed == 0));
        if (jammed)
            CHECK(count(module, LW_OP_STORE) == stores + (kind == CALLED ? 5 : 4));
        guarded = kind == UNKNOWN || kind == IN_PLACE || kind == ADDED;
        compared = count(module, LW_OP_DISTANCE) - compared;
        if (jammed != (kind < N_JAMMED) || (compared > 0) != guarded)
            fprintf(stderr, "kind %d: %u loops jammed, %d comparisons\n", kind, jammed,
                    compared);
        CHECK((compared > 0) == guarded);
        CHECK(jammed == 0 || lw_jam_may_apply(module));
        lw_text_reset(&before);
        lw_text_reset(&after);
        lw_module_free(module);
    }
}

/* Whatever the module, it stays valid. */
static void
test_random_modules(void)
{
    for (uint64_t seed = 0; seed < 300; seed++) {
        lw_module *module = random_module(seed);

        CHECK(lw_opt_jam(module, NULL, NULL) == LW_OK);
        CHECK(lw_ir_verify(module, NULL) == LW_OK);
        lw_module_free(module);
    }
}

static lw_module *
make(int kind)
{
    return module_of((nest_kind)kind);
}

static lw_status
run(lw_module *module)
{
    return lw_opt_jam(module, NULL, NULL);
}

static void
test_out_of_memory(void)
{
    static const nest_kind kinds[] = {ROWS, UNKNOWN, CALLED, IN_PLACE};

    for (int i = 0; i < 4; i++)
        check_pass_out_of_memory(make, kinds[i], run);
}

int
main(void)
{
    int64_t live = lw_memory_live();

    test_kinds();
    test_random_modules();
    test_out_of_memory();
    return check_end(live);
}
