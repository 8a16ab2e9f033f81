/* Strided loops: which are rewritten, and that everything else stays as it was. What the
 * rewritten ones compute is tests/py/test_jit_stride.py's. */
#include "core/opt/stride.h"

#include "core/ir/build.h"
#include "tests/c/check_pass.h"
#include "tests/c/random_ir.h"

#include <stdio.h>
#include <string.h>

typedef enum iteration_kind {
    COPIES,   /* out[i] = x[i] */
    BRANCHES, /* the same where x[i] > 0 */
    IN_PLACE, /* x[i] = x[i] */
    FILLS,    /* out[i] = i */
    WAITS,    /* a barrier */
    LEAVES,   /* ends the loop where x[i] > 0 */
    IS_LONG,  /* many instructions */
    LOOPS,    /* adds it four times, in a loop */
    RUNS,     /* the same, as often as there are rounds */
    DRAWS,    /* out[i] = next(x), which also writes to x */
    TWICE,    /* two such calls */
    ASKS,     /* out[i] = next(x), which only reads x */
    CONSTANT  /* COPIES by a step of 2 */
} iteration_kind;

static lw_ref
element(lw_builder *b, lw_ref base, lw_ref i)
{
    return lw_ir_offset(b, base, lw_ir_mul(b, i, lw_ir_int(b, LW_DT_i64, 8)));
}

static void
make_iteration(lw_builder *b, iteration_kind kind, lw_ref x, lw_ref out, lw_ref i)
{
    lw_ref value, many, sum;
    lw_for inner;

    if (kind == FILLS) {
        lw_ir_store(b, element(b, out, i), i, 0, 0);
        return;
    }
    if (kind == DRAWS || kind == TWICE || kind == ASKS) {
        for (int k = kind == TWICE ? 0 : 1; k < 2; k++)
            lw_ir_store(b, element(b, out, i), lw_ir_call(b, 0, &x, 1), 0, 0);
        return;
    }
    value = lw_ir_load(b, LW_DT_i64, 1, element(b, x, i), 0, 0);
    if (kind == WAITS)
        lw_ir_emit(b, LW_OP_BARRIER, LW_DT_void, 0, 0, 0);
    if (kind == BRANCHES || kind == LEAVES)
        lw_ir_if(b, lw_ir_compare(b, LW_OP_GT, value, lw_ir_int(b, LW_DT_i64, 0)));
    if (kind == LEAVES) {
        lw_ir_break(b, 0);
        lw_ir_end(b);
    }
    if (kind == LOOPS || kind == RUNS) {
        sum = lw_ir_slot(b, LW_DT_i64);
        lw_ir_set(b, sum, value);
        inner = lw_ir_for(b, lw_ir_int(b, LW_DT_i64, 0),
                          kind == RUNS ? i : lw_ir_int(b, LW_DT_i64, 4),
                          lw_ir_int(b, LW_DT_i64, 1), 0);
        lw_ir_set(b, sum, lw_ir_add(b, lw_ir_get(b, sum), value));
        lw_ir_for_end(b, &inner);
        value = lw_ir_get(b, sum);
    }
    for (many = value; kind == IS_LONG && many < value + 100;)
        many = lw_ir_add(b, many, value);
    lw_ir_store(b, element(b, kind == IN_PLACE ? x : out, i), many, 0, 0);
    if (kind == BRANCHES)
        lw_ir_end(b);
}

static void
make_next(lw_module *module, bool writes)
{
    lw_builder b;
    lw_ref x, value;

    lw_builder_start(&b, module, "next");
    lw_ir_result_add(&b, LW_DT_i64);
    x = lw_ir_param_add(&b, LW_DT_ptr, 0, "x");
    value = lw_ir_load(&b, LW_DT_i64, 1, x, 0, 0);
    if (writes)
        lw_ir_store(&b, x, lw_ir_add(&b, value, value), 0, 0);
    lw_ir_return(&b, &value, 1);
    CHECK(lw_ir_finish(&b, NULL) == LW_OK);
}

static lw_module *
module_of(iteration_kind kind)
{
    lw_module *module = NULL;
    lw_builder b;
    lw_ref x, out, begin, end, step;
    lw_for loop;

    CHECK(lw_module_new(&module, NULL) == LW_OK);
    make_next(module, kind != ASKS);
    lw_builder_start(&b, module, "f");
    x = lw_ir_param_add(&b, LW_DT_ptr, LW_PARAM_NOALIAS, "x");
    out = lw_ir_param_add(&b, LW_DT_ptr, LW_PARAM_NOALIAS, "out");
    begin = lw_ir_param_add(&b, LW_DT_i64, 0, "begin");
    end = lw_ir_param_add(&b, LW_DT_i64, 0, "end");
    step = lw_ir_param_add(&b, LW_DT_i64, 0, "step");
    loop = lw_ir_for(&b, begin, end, kind == CONSTANT ? lw_ir_int(&b, LW_DT_i64, 2) : step, 0);
    make_iteration(&b, kind, x, out, loop.i);
    lw_ir_for_end(&b, &loop);
    CHECK(lw_ir_finish(&b, NULL) == LW_OK && lw_ir_verify(module, NULL) == LW_OK);
    return module;
}

static int
count(const lw_module *module, lw_op op)
{
    const lw_func *func = module->funcs.data[1];
    int n = 0;

    for (uint32_t i = 1; i < func->insts.n; i++)
        n += func->insts.data[i].op == op;
    return n;
}

static void
test_kinds(void)
{
    for (int kind = COPIES; kind <= CONSTANT; kind++) {
        bool rewritten = kind == COPIES || kind == BRANCHES || kind == LOOPS || kind == DRAWS;
        lw_module *module = module_of((iteration_kind)kind);
        int loads = count(module, LW_OP_LOAD), stores = count(module, LW_OP_STORE);
        int inner = count(module, LW_OP_LOOP) - 1;

        CHECK(lw_opt_stride(module, 1, NULL) == LW_OK);
        CHECK(lw_ir_verify(module, NULL) == LW_OK);
        CHECK(count(module, LW_OP_LOOP) == (rewritten ? 2 + 5 * inner : 1 + inner));
        CHECK(count(module, LW_OP_LOAD) == (rewritten ? 5 * loads : loads));
        CHECK(count(module, LW_OP_STORE) == (rewritten ? 5 * stores : stores));
        lw_module_free(module);
    }
}

/* Whatever the module, it stays valid. */
static void
test_random_modules(void)
{
    for (uint64_t seed = 0; seed < 300; seed++) {
        lw_module *module = random_module(seed);

        for (uint32_t i = 0; i < module->funcs.n; i++)
            CHECK(lw_opt_stride(module, i, NULL) == LW_OK);
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
    return lw_opt_stride(module, 1, NULL);
}

static void
test_out_of_memory(void)
{
    check_pass_out_of_memory(make, COPIES, run);
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
