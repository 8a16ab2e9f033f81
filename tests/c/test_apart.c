/* Which pointers are proved apart, and that conditions on the others stay. */
#include "core/opt/apart.h"

#include "core/ir/build.h"
#include "tests/c/check.h"

#include <stdio.h>
#include <string.h>

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

int
main(void)
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
    if (n_failures == 0)
        printf("ok\n");
    return n_failures != 0;
}
