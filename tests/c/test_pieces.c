/* Loops that count in 32 bits: which are rewritten, and that every module stays valid. What the
 * rewritten ones compute is tests/py/test_pieces.py's. */
#include "core/opt/loops/pieces.h"

#include "core/ir/build.h"
#include "tests/c/check_pass.h"
#include "tests/c/random_ir.h"

#include <stdio.h>

typedef enum iteration_kind {
    CONDITION, /* if x > 0: count += 1 */
    FLAG,      /* count += x > 0 */
    CHOICE,    /* count = x > 0 ? count - 3 : count */
    LEAVES,    /* count += 1; if x > 0: break */
    RETURNS,   /* if x > 0: return */
    N_REWRITTEN,
    STEADY = N_REWRITTEN, /* count += 1 */
    READ,                 /* CONDITION, and x = count */
    LARGE,                /* if x > 0: count += 1000 */
    SHORT,                /* CONDITION, nine times */
    WAITS,                /* CONDITION, and a barrier */
    UNROLLED,             /* CONDITION, of a loop that is unrolled completely */
    BYTES,                /* CONDITION, of an i8 */
    INNER,                /* CONDITION, inside of another loop */
    N_KINDS
} iteration_kind;

static lw_dtype
type_of(iteration_kind kind)
{
    return kind == BYTES ? LW_DT_i8 : LW_DT_i64;
}

static void
add(lw_builder *b, lw_ref slot, lw_ref step)
{
    lw_ir_set(b, slot, lw_ir_add(b, lw_ir_get(b, slot), step));
}

static void
make_iteration(lw_builder *b, iteration_kind kind, lw_ref count, lw_ref x)
{
    lw_dtype type = type_of(kind);
    lw_ref is = lw_ir_compare(b, LW_OP_GT, lw_ir_get(b, x), lw_ir_int(b, LW_DT_i64, 0)), old;

    if (kind == FLAG)
        add(b, count, lw_ir_cast(b, type, is));
    else if (kind == CHOICE) {
        old = lw_ir_get(b, count);
        lw_ir_set(b, count, lw_ir_select(b, is, lw_ir_sub(b, old, lw_ir_int(b, type, 3)), old));
    } else if (kind == STEADY || kind == LEAVES)
        add(b, count, lw_ir_int(b, type, 1));
    else {
        lw_ir_if(b, is);
        if (kind == RETURNS)
            lw_ir_return(b, &is, 1);
        else
            add(b, count, lw_ir_int(b, type, kind == LARGE ? 1000 : 1));
        lw_ir_end(b);
    }
    if (kind == LEAVES) {
        lw_ir_if(b, is);
        lw_ir_break(b, 0);
        lw_ir_end(b);
    }
    if (kind == READ)
        lw_ir_set(b, x, lw_ir_get(b, count));
    if (kind == WAITS)
        lw_ir_barrier(b);
}

static lw_module *
module_of(iteration_kind kind)
{
    lw_module *module = NULL;
    lw_builder b;
    lw_ref n, x, count, is;
    lw_for loop, outer = {0};

    CHECK(lw_module_new(&module, NULL) == LW_OK);
    lw_builder_start(&b, module, "f");
    lw_ir_result_add(&b, LW_DT_b1);
    n = lw_ir_param_add(&b, LW_DT_i64, 0, "n");
    if (kind == SHORT)
        n = lw_ir_int(&b, LW_DT_i64, 9);
    x = lw_ir_slot(&b, LW_DT_i64);
    count = lw_ir_slot(&b, type_of(kind));
    lw_ir_set(&b, x, n);
    lw_ir_set(&b, count, lw_ir_int(&b, type_of(kind), 0));
    if (kind == INNER)
        outer = lw_ir_for(&b, n, n, lw_ir_int(&b, LW_DT_i64, 1), 0);
    loop = lw_ir_for(&b, lw_ir_int(&b, LW_DT_i64, 0), n, lw_ir_int(&b, LW_DT_i64, 1),
                     kind == UNROLLED ? LW_LOOP_UNROLL_FULL : 0);
    make_iteration(&b, kind, count, x);
    lw_ir_for_end(&b, &loop);
    if (kind == INNER)
        lw_ir_for_end(&b, &outer);
    is = lw_ir_compare(&b, LW_OP_GT, lw_ir_get(&b, count), lw_ir_int(&b, type_of(kind), 0));
    lw_ir_return(&b, &is, 1);
    CHECK(lw_ir_finish(&b, NULL) == LW_OK && lw_ir_verify(module, NULL) == LW_OK);
    return module;
}

static void
test_kinds(void)
{
    for (int kind = 0; kind < N_KINDS; kind++) {
        lw_module *module = module_of((iteration_kind)kind);
        uint32_t rewritten, n = module->funcs.data[0]->insts.n;

        CHECK(lw_opt_pieces(module, LW_PIECES_MOST, &rewritten, NULL) == LW_OK);
        CHECK(lw_ir_verify(module, NULL) == LW_OK);
        CHECK(rewritten == (kind < N_REWRITTEN));
        CHECK((module->funcs.data[0]->insts.n != n) == (kind < N_REWRITTEN));
        lw_module_free(module);
    }
}

static void
test_random_modules(void)
{
    for (uint64_t seed = 0; seed < 300; seed++) {
        lw_module *module = random_module(seed);

        CHECK(lw_opt_pieces(module, 16, NULL, NULL) == LW_OK);
        CHECK(lw_ir_verify(module, NULL) == LW_OK);
        lw_module_free(module);
    }
}

static lw_module *
make(int kind)
{
    return module_of((iteration_kind)kind);
}

static lw_status
run(lw_module *module)
{
    return lw_opt_pieces(module, LW_PIECES_MOST, NULL, NULL);
}

static void
test_out_of_memory(void)
{
    for (int kind = 0; kind < N_REWRITTEN; kind++)
        check_pass_out_of_memory(make, kind, run);
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
