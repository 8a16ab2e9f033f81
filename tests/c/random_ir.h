/* Random modules that keep the rules, for property tests: the same seed gives the same module.
 */
#ifndef LW_TESTS_C_RANDOM_IR_H
#define LW_TESTS_C_RANDOM_IR_H

#include "core/ir/build.h"
#include "core/tables/intrinsics.h"
#include "core/tables/kernel_ops.h"

enum { POOL = 16 };

typedef struct random_ir {
    uint64_t state;
    lw_builder b;
    lw_dtype type; /* of the function at hand */
    lw_ref values[POOL], conditions[POOL], slot, pointer;
    unsigned n_values, n_conditions, targets, inside_loop;
    bool threads;     /* with what only kernels hold */
    bool is_loop[32]; /* by open target, outermost first; false: a block, or a loop's latch */
} random_ir;

static inline unsigned
random_below(random_ir *r, unsigned n)
{
    r->state = r->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)((r->state >> 33) % n);
}

static inline lw_ref
random_value(random_ir *r)
{
    return r->values[random_below(r, r->n_values)];
}

static inline void
random_keep(random_ir *r, lw_ref value)
{
    r->values[r->n_values < POOL ? r->n_values++ : random_below(r, POOL)] = value;
}

static inline void
random_arithmetic(random_ir *r)
{
    lw_builder *b = &r->b;
    lw_ref x = random_value(r), y = random_value(r), z = random_value(r), args[2] = {x, y};
    unsigned intrinsic = random_below(r, LW_N_INTRINSICS);
    const lw_intrinsic_row *row = &lw_intrinsics[intrinsic];
    bool is_float = lw_is_float(r->type);

    b->fast = random_below(r, 2) ? LW_MAY_FUSE : (random_below(r, 128) << 8 & LW_FAST_ALL);
    b->loc = random_below(r, b->module->locs.n);
    switch (random_below(r, 9)) {
    case 0: random_keep(r, lw_ir_add(b, x, y)); break;
    case 1: random_keep(r, lw_ir_sub(b, x, y)); break;
    case 2:
    case 3: random_keep(r, lw_ir_mul(b, x, y)); break;
    case 4: random_keep(r, is_float ? lw_ir_fma(b, x, y, z) : lw_ir_xor(b, x, y)); break;
    case 5: random_keep(r, lw_ir_neg(b, x)); break;
    case 6: {
        lw_ref condition = lw_ir_compare(b, LW_OP_EQ + random_below(r, 6), x, y);
        random_keep(r, lw_ir_select(b, condition, y, z));
        break;
    }
    case 7:
        if (lw_intrinsic_takes((lw_intrinsic)intrinsic, r->type) && row->result == 'v' &&
            row->args[row->n_args - 1] == 'v')
            random_keep(r, lw_ir_intrinsic(b, intrinsic, r->type, args, row->n_args));
        break;
    default:
        random_keep(r,
                    lw_ir_cast(b, r->type, lw_ir_cast(b, 1 + random_below(r, LW_DT_f64), x)));
        break;
    }
}

/* Memory that the function brings along, and operations between threads. */
static inline void
random_thread(random_ir *r)
{
    static const uint8_t table[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17};
    lw_builder *b = &r->b;
    lw_ref memory, x = random_value(r);
    lw_ref lanes[4] = {lw_ir_int(b, LW_DT_i32, -1), lw_ir_cast(b, LW_DT_i32, x),
                       lw_ir_int(b, LW_DT_i32, 1), lw_ir_int(b, LW_DT_i32, 31)};
    unsigned start = random_below(r, 2);

    switch (random_below(r, 8)) {
    case 0: memory = lw_ir_local(b, 8u << random_below(r, 4), 8); break;
    case 1: memory = lw_ir_shared(b, 8 + random_below(r, 40), 16); break;
    case 2: memory = lw_ir_dynamic(b); break;
    case 3:
        memory = lw_ir_data(b, table + start, 8 + random_below(r, 2) * 8, 8);
        random_keep(r, lw_ir_load(b, r->type, 1, memory, 8, 0));
        return;
    case 4:
        if (r->type == LW_DT_i32 || r->type == LW_DT_f32 || r->type == LW_DT_f64)
            random_keep(r, lw_ir_atomic(b, LW_ATOMIC_ADD, r->pointer, &x, 1));
        return;
    case 5: lw_ir_kernel_call(b, LW_KOP_shfl_xor, LW_DT_i32, lanes, 4); return;
    case 6: lw_ir_kernel_call(b, LW_KOP_fence_block, LW_DT_void, NULL, 0); return;
    default:
        random_keep(r, lw_ir_cast(b, r->type, lw_ir_sreg(b, random_below(r, LW_N_SREGS))));
        return;
    }
    lw_ir_store(b, memory, x, 8, 0);
    random_keep(r, lw_ir_load(b, r->type, 1, memory, 8, 0));
}

static inline void
random_memory(random_ir *r)
{
    lw_builder *b = &r->b;
    lw_ref lanes[2];

    if (r->threads && random_below(r, 2)) {
        random_thread(r);
        return;
    }
    switch (random_below(r, 4)) {
    case 0: random_keep(r, lw_ir_get(b, r->slot)); break;
    case 1: lw_ir_set(b, r->slot, random_value(r)); break;
    case 2:
        random_keep(r, lw_ir_load(b, r->type, 1, r->pointer, 1u << random_below(r, 4),
                                  random_below(r, 2) ? LW_MEM_INVARIANT : 0));
        break;
    default:
        lanes[0] = random_value(r);
        lanes[1] = random_value(r);
        lw_ir_store(b, r->pointer, lw_ir_pack(b, r->type, lanes, 2), 0, 0);
        lw_ir_store(b, r->pointer, lanes[0], 0, LW_MEM_CS);
        break;
    }
}

static inline void random_statements(random_ir *r, unsigned n);

/* A region: what it makes is forgotten at its end. */
static inline void
random_part(random_ir *r, unsigned n)
{
    random_ir before = *r;

    random_statements(r, n);
    before.state = r->state;
    before.b = r->b;
    *r = before;
}

static inline void
random_leave(random_ir *r)
{
    unsigned depth = r->targets ? random_below(r, r->targets) : 0;
    lw_ref value = random_value(r);

    if (r->targets == 0 || random_below(r, 4) == 0)
        lw_ir_return(&r->b, &value, 1);
    else if (r->is_loop[r->targets - 1 - depth] && random_below(r, 2))
        lw_ir_continue(&r->b, depth);
    else
        lw_ir_break(&r->b, depth);
}

static inline void
random_region(random_ir *r, unsigned n)
{
    lw_builder *b = &r->b;
    lw_ref zero = lw_ir_zero(b, r->type);

    switch (random_below(r, 3)) {
    case 0:
        lw_ir_if(b, lw_ir_compare(b, LW_OP_LT, random_value(r), zero));
        random_part(r, n);
        if (random_below(r, 3) == 0)
            random_leave(r);
        if (random_below(r, 2)) {
            lw_ir_else(b);
            random_part(r, n);
        }
        lw_ir_end(b);
        break;
    case 1:
        lw_ir_block(b);
        r->is_loop[r->targets++] = false;
        random_part(r, n);
        if (random_below(r, 2))
            lw_ir_break(b, 0);
        r->targets--;
        lw_ir_end(b);
        break;
    default:
        lw_ir_loop(b, random_below(r, 16));
        r->is_loop[r->targets++] = true;
        random_part(r, n);
        lw_ir_if(b, lw_ir_compare(b, LW_OP_NE, random_value(r), zero));
        lw_ir_break(b, 0);
        lw_ir_end(b);
        lw_ir_latch(b);
        r->is_loop[r->targets - 1] = false;
        random_part(r, n / 2);
        r->targets--;
        lw_ir_end(b);
        break;
    }
}

static inline void
random_statements(random_ir *r, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        unsigned what = random_below(r, 10);
        if (what == 0 && r->targets < 4 && n > 1)
            random_region(r, n / 2);
        else if (what < 4)
            random_memory(r);
        else
            random_arithmetic(r);
    }
}

/* One function of random statements that takes and gives values of `type`. */
static inline uint32_t
random_func(random_ir *r, lw_module *module, const char *name, lw_dtype type, unsigned n)
{
    lw_builder *b = &r->b;
    lw_ref value;

    lw_builder_start(b, module, name);
    b->func->python_name = "f";
    b->func->file = 1;
    b->func->line = 7;
    r->type = type;
    r->n_values = r->targets = 0;
    random_keep(r, lw_ir_param_add(b, type, 0, "x"));
    random_keep(r, lw_ir_param_add(b, type, 0, "y\"\n"));
    r->pointer = lw_ir_param_add(b, LW_DT_ptr, LW_PARAM_NOALIAS, "p");
    b->func->params.data[2].align_log2 = 4;
    lw_ir_result_add(b, type);
    random_keep(r, lw_ir_int(b, type, -3));
    random_keep(r, lw_ir_float(b, lw_is_float(type) ? type : LW_DT_f64, 0.1));
    if (!lw_is_float(type))
        r->n_values--;
    r->slot = lw_ir_slot(b, type);
    lw_ir_set(b, r->slot, random_value(r));
    random_statements(r, n);
    value = lw_ir_get(b, r->slot);
    lw_ir_return(b, &value, 1);
    return b->func_number;
}

/* Three functions, the last of which calls the others; seeds from 100 on hold what only kernels
 * do. */
static inline lw_module *
random_module(uint64_t seed)
{
    static const lw_dtype types[] = {LW_DT_i8,  LW_DT_u16, LW_DT_i32, LW_DT_u64,
                                     LW_DT_f16, LW_DT_f32, LW_DT_f64, LW_DT_bf16};
    random_ir r = {.state = seed * 77 + 5, .threads = seed >= 100};
    lw_dtype type = types[random_below(&r, 8)], ptr = LW_DT_ptr;
    lw_module *module = NULL;
    lw_ref args[3], call;
    uint32_t file, callee;

    if (lw_module_new(&module, NULL) != LW_OK)
        return NULL;
    file = lw_ir_file_add(module, "a \"quoted\" path.py");
    for (unsigned i = 0; i < 4; i++)
        lw_ir_loc_add(module, file, 10 + i, i);
    lw_ir_extern_add(module, "lw_call_back", LW_DT_b1, &ptr, 1);
    callee = random_func(&r, module, "first", type, 6);
    random_func(&r, module, "second", type, 20);
    lw_builder_start(&r.b, module, "entry");
    r.b.func->linkage = LW_EXPORTED;
    args[0] = lw_ir_param_add(&r.b, type, 0, NULL);
    args[1] = lw_ir_param_add(&r.b, type, 0, "b");
    args[2] = lw_ir_param_add(&r.b, LW_DT_ptr, LW_PARAM_READONLY, "c");
    lw_ir_result_add(&r.b, type);
    call = lw_ir_call(&r.b, callee, args, 3);
    lw_ir_if(&r.b, lw_ir_host_call(&r.b, 0, &args[2], 1));
    lw_ir_return(&r.b, &call, 1);
    lw_ir_end(&r.b);
    call = lw_ir_call(&r.b, callee + 1, args, 3);
    lw_ir_return(&r.b, &call, 1);
    return module;
}

#endif
