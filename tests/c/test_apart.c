/* Conditions that compilation decides: which pointers are proved apart, and that conditions on
 * the others stay; and what is left of functions once it is known on which side they run. */
#include "core/opt/apart.h"
#include "core/opt/prune.h"

#include "core/ir/build.h"
#include "tests/c/check.h"

#include <stdio.h>
#include <string.h>

/* ---- pointers ---- */

typedef enum source {
    OTHER,   /* the second parameter */
    PART,    /* the first one, moved */
    EITHER,  /* one of both */
    LOADED,  /* out of memory */
    OWN,     /* local memory */
    OWN_PART /* of local memory into itself */
} source;

enum { MARK = 77 };

static lw_ref
number(lw_builder *b, int64_t value)
{
    return lw_ir_int(b, LW_DT_i64, value);
}

/* The careful arm stores MARK by a function of its own, the other one stores 1. */
static uint32_t
make_careful(lw_module *module)
{
    lw_builder b;
    lw_ref to;

    lw_builder_start(&b, module, "careful");
    b.func->linkage = LW_OUTLINED;
    to = lw_ir_param_add(&b, LW_DT_ptr, 0, "to");
    lw_ir_store(&b, to, number(&b, MARK), 0, 0);
    lw_ir_return(&b, NULL, 0);
    CHECK(lw_ir_finish(&b, NULL) == LW_OK);
    return b.func_number;
}

/* if meet(to, from) and to is not empty: careful(to) else: to[0] = 1 */
static uint32_t
make_copy(lw_module *module)
{
    lw_builder b;
    lw_ref to, from, condition;

    lw_builder_start(&b, module, "copy");
    b.func->linkage = LW_INTERNAL;
    to = lw_ir_param_add(&b, LW_DT_ptr, 0, "to");
    from = lw_ir_param_add(&b, LW_DT_ptr, 0, "from");
    condition = lw_ir_compare(
        &b, LW_OP_LT, lw_ir_emit(&b, LW_OP_DISTANCE, LW_DT_i64, to, from, 0), number(&b, 8));
    condition = lw_ir_and(&b, lw_ir_emit(&b, LW_OP_MEET, LW_DT_b1, to, from, 0), condition);
    lw_ir_if(&b, condition);
    lw_ir_call(&b, lw_ir_find(module, "careful"), &to, 1);
    lw_ir_else(&b);
    lw_ir_store(&b, to, number(&b, 1), 0, 0);
    lw_ir_end(&b);
    lw_ir_return(&b, NULL, 0);
    CHECK(lw_ir_finish(&b, NULL) == LW_OK);
    return b.func_number;
}

static lw_ref
source_of(lw_builder *b, source kind, lw_ref x, lw_ref y, lw_ref own)
{
    lw_ref slot;

    switch (kind) {
    case OTHER: return y;
    case PART: return lw_ir_offset(b, x, number(b, 8));
    case EITHER:
        slot = lw_ir_slot(b, LW_DT_ptr);
        lw_ir_set(b, slot, y);
        lw_ir_set(b, slot, x);
        return lw_ir_get(b, slot);
    case LOADED: return lw_ir_load(b, LW_DT_ptr, 1, y, 0, 0);
    case OWN: return own;
    case OWN_PART: return lw_ir_offset(b, own, number(b, 8));
    }
    return 0;
}

static uint32_t
count_ops(const lw_module *module, lw_op op)
{
    uint32_t n = 0;

    for (uint32_t f = 0; f < module->funcs.n; f++)
        for (uint32_t i = 1; i < module->funcs.data[f]->insts.n; i++)
            n += module->funcs.data[f]->insts.data[i].op == op;
    return n;
}

/* Whether the condition goes. */
static bool
goes(source kind, const bool *alone)
{
    lw_module *module = NULL;
    lw_error err = {0};
    lw_builder b;
    lw_ref args[2], x, y, own;
    uint32_t entry, n;
    bool gone;

    CHECK(lw_module_new(&module, &err) == LW_OK);
    lw_builder_start(&b, module, "entry");
    entry = b.func_number;
    make_careful(module);
    make_copy(module);
    x = lw_ir_param_add(&b, LW_DT_ptr, 0, "x");
    y = lw_ir_param_add(&b, LW_DT_ptr, 0, "y");
    own = lw_ir_local(&b, 64, 8);
    args[0] = kind == OWN_PART ? own : x;
    args[1] = source_of(&b, kind, x, y, own);
    lw_ir_call(&b, lw_ir_find(module, "copy"), args, 2);
    lw_ir_return(&b, NULL, 0);
    CHECK(lw_ir_finish(&b, &err) == LW_OK);
    n = module->funcs.n;
    CHECK(lw_opt_apart(module, entry, alone, &err) == LW_OK);
    CHECK(lw_ir_verify(module, &err) == LW_OK);
    gone = count_ops(module, LW_OP_MEET) == 0;
    CHECK(gone == (count_ops(module, LW_OP_IF) == 0));
    CHECK(gone == (count_ops(module, LW_OP_DISTANCE) == 0));
    CHECK(gone == (lw_ir_find(module, "careful") == UINT32_MAX));
    CHECK(module->funcs.n == n - gone);
    CHECK(count_ops(module, LW_OP_STORE) == (gone ? 1 : 2));
    CHECK(count_ops(module, LW_OP_CALL) == (gone ? 1 : 2));
    lw_module_free(module);
    return gone;
}

static void
test_pointers(void)
{
    static const bool first[2] = {true, false}, second[2] = {false, true};

    CHECK(!goes(OTHER, NULL));
    CHECK(goes(OTHER, first));
    CHECK(goes(OTHER, second));
    CHECK(!goes(PART, first));
    CHECK(!goes(EITHER, first));
    CHECK(!goes(LOADED, first));
    CHECK(goes(OWN, NULL));
    CHECK(!goes(OWN_PART, first));
}

/* ---- sides ---- */

enum { ON_GPU_VALUE = 41, ON_CPU_VALUE = 43 };

typedef enum shape {
    RETURNS,   /* if on_gpu: return a() else: return b() */
    FALLS,     /* if on_gpu: return a(); … return b() */
    NEGATED,   /* if not on_gpu: return b(); … return a() */
    ASSIGNS,   /* if on_gpu: slot = a() else: slot = b(); return slot */
    IN_A_LOOP, /* loop: if on_gpu: slot = a(), break else: slot = b(), break; return slot */
    COMBINED,  /* if on_gpu and not on_gpu: return a() else: return b() on both sides */
} shape;

static void
make_constant(lw_module *module, const char *name, int64_t value)
{
    lw_builder b;
    lw_ref made;

    lw_builder_start(&b, module, name);
    b.func->linkage = LW_OUTLINED;
    lw_ir_result_add(&b, LW_DT_i64);
    made = lw_ir_int(&b, LW_DT_i64, value);
    lw_ir_return(&b, &made, 1);
    CHECK(lw_ir_finish(&b, NULL) == LW_OK);
}

static lw_ref
call(lw_builder *b, const char *name)
{
    return lw_ir_call(b, lw_ir_find(b->module, name), NULL, 0);
}

/* The sum with a constant, which the other arm's code must not take along. */
static lw_ref
value_of(lw_builder *b, bool gpu)
{
    return lw_ir_add(b, call(b, gpu ? "a" : "b"), lw_ir_int(b, LW_DT_i64, gpu ? 100 : 200));
}

static void
returns(lw_builder *b, bool gpu)
{
    lw_ref value = value_of(b, gpu);

    lw_ir_return(b, &value, 1);
}

static void
sets(lw_builder *b, lw_ref slot, bool gpu, bool leaves)
{
    lw_ir_set(b, slot, value_of(b, gpu));
    if (leaves)
        lw_ir_break(b, 0);
}

static void
make_entry(lw_module *module, shape kind)
{
    lw_builder b;
    lw_ref test, slot, value;

    lw_builder_start(&b, module, "entry");
    b.func->linkage = LW_EXPORTED;
    lw_ir_result_add(&b, LW_DT_i64);
    slot = lw_ir_slot(&b, LW_DT_i64);
    if (kind == IN_A_LOOP)
        lw_ir_loop(&b, 0);
    test = lw_ir_emit(&b, LW_OP_ON_GPU, LW_DT_b1, 0, 0, 0);
    if (kind == NEGATED)
        test = lw_ir_not(&b, test);
    if (kind == COMBINED)
        test = lw_ir_and(&b, test, lw_ir_not(&b, test));
    lw_ir_if(&b, test);
    if (kind == ASSIGNS || kind == IN_A_LOOP)
        sets(&b, slot, true, kind == IN_A_LOOP);
    else
        returns(&b, kind != NEGATED);
    if (kind != FALLS && kind != NEGATED)
        lw_ir_else(&b);
    if (kind == ASSIGNS || kind == IN_A_LOOP)
        sets(&b, slot, false, kind == IN_A_LOOP);
    else if (kind == RETURNS || kind == COMBINED)
        returns(&b, false);
    lw_ir_end(&b);
    if (kind == IN_A_LOOP) {
        lw_ir_latch(&b);
        lw_ir_end(&b);
    }
    if (kind == ASSIGNS || kind == IN_A_LOOP) {
        value = lw_ir_get(&b, slot);
        lw_ir_return(&b, &value, 1);
    } else if (kind == FALLS || kind == NEGATED) {
        returns(&b, kind == NEGATED);
    }
    CHECK(lw_ir_finish(&b, NULL) == LW_OK);
}

static void
check(shape kind, bool gpu)
{
    lw_module *module = NULL;
    bool wants_a = gpu && kind != COMBINED;
    lw_error err = {0};

    CHECK(lw_module_new(&module, &err) == LW_OK);
    make_constant(module, "a", ON_GPU_VALUE);
    make_constant(module, "b", ON_CPU_VALUE);
    make_entry(module, kind);
    CHECK(lw_ir_verify(module, &err) == LW_OK);
    CHECK(lw_opt_side(module, gpu, &err) == LW_OK);
    CHECK(lw_ir_verify(module, &err) == LW_OK);
    CHECK(count_ops(module, LW_OP_IF) == 0 && count_ops(module, LW_OP_ELSE) == 0);
    CHECK(count_ops(module, LW_OP_ON_GPU) == 0);
    CHECK(count_ops(module, LW_OP_CALL) == 1 && count_ops(module, LW_OP_CONST) == 2);
    CHECK((lw_ir_find(module, "a") != UINT32_MAX) == wants_a);
    CHECK((lw_ir_find(module, "b") != UINT32_MAX) == !wants_a);
    CHECK(module->funcs.n == 2 && lw_ir_find(module, "entry") != UINT32_MAX);
    lw_module_free(module);
}

static void
test_sides(void)
{
    for (int kind = RETURNS; kind <= COMBINED; kind++) {
        check((shape)kind, true);
        check((shape)kind, false);
    }
}

int
main(void)
{
    test_pointers();
    test_sides();
    if (n_failures == 0)
        printf("ok\n");
    return n_failures != 0;
}
