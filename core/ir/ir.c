#include "core/ir/ir.h"

#include "core/ir/recursion.h"
#include "core/tables/kernel_ops.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

const lw_op_row lw_ops[LW_N_OPS] = {
    [LW_OP_NONE] = {.text = "none",
                    .args = "---",
                    .result = LW_RESULT_NONE,
                    .class = LW_CLASS_DECL},
#define OP(name, text_, args_, result_, class_)                                                \
    [LW_OP_##name] = {.text = text_,                                                           \
                      .args = args_,                                                           \
                      .result = LW_RESULT_##result_,                                           \
                      .class = LW_CLASS_##class_},
#include "core/tables/ops.def"
};

const char *const lw_sreg_names[LW_N_SREGS] = {
    [LW_SREG_TID_X] = "tid.x",       [LW_SREG_TID_Y] = "tid.y",
    [LW_SREG_TID_Z] = "tid.z",       [LW_SREG_CTAID_X] = "ctaid.x",
    [LW_SREG_CTAID_Y] = "ctaid.y",   [LW_SREG_CTAID_Z] = "ctaid.z",
    [LW_SREG_NTID_X] = "ntid.x",     [LW_SREG_NTID_Y] = "ntid.y",
    [LW_SREG_NTID_Z] = "ntid.z",     [LW_SREG_NCTAID_X] = "nctaid.x",
    [LW_SREG_NCTAID_Y] = "nctaid.y", [LW_SREG_NCTAID_Z] = "nctaid.z",
    [LW_SREG_LANEID] = "laneid",     [LW_SREG_DYNAMIC_BYTES] = "dynamic_bytes",
};

const char *const lw_atomic_names[LW_N_ATOMICS] = {
    [LW_ATOMIC_ADD] = "add", [LW_ATOMIC_AND] = "and",   [LW_ATOMIC_OR] = "or",
    [LW_ATOMIC_XOR] = "xor", [LW_ATOMIC_EXCH] = "exch", [LW_ATOMIC_MIN] = "min",
    [LW_ATOMIC_MAX] = "max", [LW_ATOMIC_INC] = "inc",   [LW_ATOMIC_DEC] = "dec",
    [LW_ATOMIC_CAS] = "cas",
};

lw_status
lw_module_new(lw_module **out, lw_error *err)
{
    lw_module *module = lw_alloc_zero(1, sizeof *module);

    if (module == NULL)
        return lw_fail_memory(err);
    lw_arena_init(&module->arena);
    /* number 0 means "none" in both lists */
    if (lw_array_push(&module->locs, &module->arena) == NULL ||
        lw_array_push(&module->files, &module->arena) == NULL) {
        lw_module_free(module);
        return lw_fail_memory(err);
    }
    *out = module;
    return LW_OK;
}

void
lw_module_free(lw_module *module)
{
    if (module == NULL)
        return;
    lw_arena_reset(&module->arena);
    lw_free(module);
}

/* Copies the array's n elements into the other module's arena; the copy may grow like any
 * array. */
#define COPY_ARRAY(to, from, arena)                                                            \
    ((from)->n == 0 ||                                                                         \
     (lw_array_reserve((to), (from)->n, (arena)) &&                                            \
      memcpy((to)->data, (from)->data, (from)->n * sizeof *(from)->data) != NULL &&            \
      ((to)->n = (from)->n) != 0))

static const char *
copy_name(lw_arena *arena, const char *name)
{
    return name ? lw_arena_strdup(arena, name) : NULL;
}

static lw_func *
copy_func(const lw_func *from, lw_arena *arena)
{
    lw_func *to = lw_arena_take(arena, sizeof *to);

    if (to == NULL)
        return NULL;
    *to = *from;
    to->name = copy_name(arena, from->name);
    to->python_name = copy_name(arena, from->python_name);
    memset(&to->params, 0, sizeof to->params);
    memset(&to->results, 0, sizeof to->results);
    memset(&to->insts, 0, sizeof to->insts);
    memset(&to->lists, 0, sizeof to->lists);
    memset(&to->constants, 0, sizeof to->constants);
    memset(&to->vars, 0, sizeof to->vars);
    if (!COPY_ARRAY(&to->params, &from->params, arena) ||
        !COPY_ARRAY(&to->results, &from->results, arena) ||
        !COPY_ARRAY(&to->insts, &from->insts, arena) ||
        !COPY_ARRAY(&to->lists, &from->lists, arena) ||
        !COPY_ARRAY(&to->constants, &from->constants, arena) ||
        !COPY_ARRAY(&to->vars, &from->vars, arena))
        return NULL;
    for (uint32_t i = 0; i < to->vars.n; i++) {
        to->vars.data[i].name = copy_name(arena, from->vars.data[i].name);
        to->vars.data[i].type = copy_name(arena, from->vars.data[i].type);
    }
    for (uint32_t i = 0; i < to->params.n; i++)
        to->params.data[i].name = copy_name(arena, from->params.data[i].name);
    return to;
}

static bool
copy_datas(const lw_module *from, lw_module *to)
{
    if (!COPY_ARRAY(&to->datas, &from->datas, &to->arena))
        return false;
    for (uint32_t i = 0; i < to->datas.n; i++) {
        lw_data *data = &to->datas.data[i];
        uint8_t *bytes = lw_arena_take(&to->arena, data->n ? data->n : 1);
        if (bytes == NULL)
            return false;
        memcpy(bytes, data->bytes, data->n);
        data->bytes = bytes;
    }
    return true;
}

/* Copies functions, files, externs and datas; false: memory ran out. */
static bool
copy_contents(const lw_module *from, lw_module *to)
{
    for (uint32_t i = 0; i < from->funcs.n; i++) {
        lw_func *func = copy_func(from->funcs.data[i], &to->arena);
        lw_func **slot = func ? lw_array_push(&to->funcs, &to->arena) : NULL;
        if (slot == NULL)
            return false;
        *slot = func;
    }
    to->locs.n = to->files.n = 0;
    if (!COPY_ARRAY(&to->locs, &from->locs, &to->arena) ||
        !COPY_ARRAY(&to->files, &from->files, &to->arena) ||
        !COPY_ARRAY(&to->externs, &from->externs, &to->arena) || !copy_datas(from, to))
        return false;
    for (uint32_t i = 1; i < to->files.n; i++)
        to->files.data[i] = copy_name(&to->arena, from->files.data[i]);
    for (uint32_t i = 0; i < to->externs.n; i++)
        to->externs.data[i].name = copy_name(&to->arena, from->externs.data[i].name);
    return !to->arena.failed;
}

lw_status
lw_module_copy(const lw_module *module, lw_module **out, lw_error *err)
{
    lw_status status;
    lw_module *copy = NULL;

    LW_TRY(lw_module_new(&copy, err));
    assert(copy != NULL);
    copy->failed = module->failed;
    copy->is_light = module->is_light;
    if (!copy_contents(module, copy)) {
        status = lw_fail_memory(err);
        goto fail;
    }
    *out = copy;
    return LW_OK;
fail:
    lw_module_free(copy);
    return status;
}

/* ---- several modules in one ---- */

/* The indices at which an appended module's tables begin. */
typedef struct bases {
    uint32_t funcs, locs, files, externs, datas;
} bases;

static bool
has_name(const lw_module *module, uint32_t n_funcs, const char *name)
{
    for (uint32_t i = 0; i < n_funcs; i++)
        if (strcmp(module->funcs.data[i]->name, name) == 0)
            return true;
    return false;
}

static bool
rename_apart(lw_module *module, lw_func *func, uint32_t number)
{
    char name[256];

    for (uint32_t i = number; has_name(module, number, func->name); i++) {
        snprintf(name, sizeof name, "%.200s.%u", func->name, (unsigned)i);
        for (char *at = name; *at; at++)
            *at = *at == '.' ? '_' : *at;
        func->name = lw_arena_strdup(&module->arena, name);
        if (func->name == NULL)
            return false;
    }
    return true;
}

static void
renumber(lw_func *func, const bases *base)
{
    assert(func->insts.n > 0);
    func->file += func->file ? base->files : 0;
    for (uint32_t i = 0; i < func->vars.n; i++)
        func->vars.data[i].file += func->vars.data[i].file ? base->files : 0;
    for (uint32_t i = 1; i < func->insts.n; i++) {
        lw_inst *inst = &func->insts.data[i];
        inst->loc += inst->loc ? base->locs : 0;
        if (lw_op_names_function((lw_op)inst->op))
            inst->a += base->funcs;
        else if (inst->op == LW_OP_HOST_CALL)
            inst->a += base->externs;
        else if (inst->op == LW_OP_DATA || inst->op == LW_OP_VARYING)
            inst->a += base->datas;
    }
}

/* skip is 1 for tables whose [0] is unused. */
#define APPEND(to, from, skip, arena)                                                          \
    ((from)->n <= (skip) || (lw_array_reserve((to), (from)->n - (skip), (arena)) &&            \
                             memcpy((to)->data + (to)->n, (from)->data + (skip),               \
                                    ((from)->n - (skip)) * sizeof *(from)->data) != NULL &&    \
                             ((to)->n += (from)->n - (skip)) != 0))

static bool
append_tables(lw_module *to, const lw_module *from, const bases *base)
{
    lw_arena *arena = &to->arena;
    uint32_t files = to->files.n, locs = to->locs.n;

    if (!APPEND(&to->files, &from->files, 1u, arena) ||
        !APPEND(&to->locs, &from->locs, 1u, arena) ||
        !APPEND(&to->externs, &from->externs, 0u, arena) ||
        !APPEND(&to->datas, &from->datas, 0u, arena))
        return false;
    for (uint32_t i = files; i < to->files.n; i++)
        to->files.data[i] = copy_name(arena, to->files.data[i]);
    for (uint32_t i = locs; i < to->locs.n; i++)
        to->locs.data[i].file += to->locs.data[i].file ? base->files : 0;
    for (uint32_t i = base->externs; i < to->externs.n; i++)
        to->externs.data[i].name = copy_name(arena, to->externs.data[i].name);
    for (uint32_t i = base->datas; i < to->datas.n; i++) {
        lw_data *data = &to->datas.data[i];
        uint8_t *bytes = lw_arena_take(arena, data->n ? data->n : 1);
        if (bytes == NULL)
            return false;
        memcpy(bytes, data->bytes, data->n);
        data->bytes = bytes;
    }
    return !arena->failed;
}

static bool
append_funcs(lw_module *to, const lw_module *from, const bases *base)
{
    for (uint32_t i = 0; i < from->funcs.n; i++) {
        lw_func *func = copy_func(from->funcs.data[i], &to->arena);
        lw_func **slot = func ? lw_array_push(&to->funcs, &to->arena) : NULL;
        if (slot == NULL)
            return false;
        *slot = func;
        if (!rename_apart(to, func, to->funcs.n - 1))
            return false;
        renumber(func, base);
    }
    return true;
}

lw_status
lw_module_append(lw_module *to, const lw_module *from, uint32_t *first, lw_error *err)
{
    bases base = {.funcs = to->funcs.n,
                  .locs = to->locs.n - 1,
                  .files = to->files.n - 1,
                  .externs = to->externs.n,
                  .datas = to->datas.n};

    assert(to != from && to->locs.n > 0 && to->files.n > 0);
    *first = base.funcs;
    to->failed |= from->failed;
    if (!append_tables(to, from, &base) || !append_funcs(to, from, &base)) {
        to->failed = true;
        return lw_fail_memory(err);
    }
    return LW_OK;
}

/* ---- what a module asks of those who run it ---- */

uint64_t
lw_ir_shared_end(uint64_t offset, const lw_inst *shared)
{
    uint64_t align = UINT64_C(1) << shared->b;

    assert(shared->op == LW_OP_SHARED && shared->b < 32);
    return (offset + align - 1) / align * align + shared->a;
}

uint32_t
lw_ir_shared_bytes(const lw_module *module)
{
    uint64_t end = 0;

    for (uint32_t f = 0; f < module->funcs.n; f++) {
        const lw_func *func = module->funcs.data[f];
        for (uint32_t i = 1; i < func->insts.n; i++)
            if (func->insts.data[i].op == LW_OP_SHARED)
                end = lw_ir_shared_end(end, &func->insts.data[i]);
    }
    return end < UINT32_MAX ? (uint32_t)end : UINT32_MAX;
}

/* known, by function: bytes + 1; 0 = not computed yet. */
static uint64_t
local_bytes_of(const lw_module *module, uint32_t number, uint64_t *known)
{
    const lw_func *func = module->funcs.data[number];
    uint64_t sum = 0;

    assert(number < module->funcs.n);
    if (known[number])
        return known[number] - 1;
    for (uint32_t i = 1; i < func->insts.n; i++) {
        const lw_inst *inst = &func->insts.data[i];
        if (inst->op == LW_OP_LOCAL)
            sum += inst->a + (UINT64_C(1) << inst->b) - 1;
        else if (inst->op == LW_OP_CALL)
            sum += local_bytes_of(module, inst->a, known);
        if (sum > UINT32_MAX)
            sum = UINT32_MAX;
    }
    known[number] = sum + 1;
    return sum;
}

lw_status
lw_ir_local_bytes(const lw_module *module, uint32_t *out, lw_error *err)
{
    uint64_t *known = lw_alloc_zero(module->funcs.n + 1, sizeof *known), most = 0, bytes;

    if (known == NULL)
        return lw_fail_memory(err);
    for (uint32_t f = 0; f < module->funcs.n; f++) {
        bytes = local_bytes_of(module, f, known);
        most = bytes > most ? bytes : most;
    }
    lw_free(known);
    *out = (uint32_t)most;
    return LW_OK;
}

lw_status
lw_ir_margin_bytes(const lw_module *module, uint32_t *out, lw_error *err)
{
    /* spilled values, and what is called: libm, printing, a look for Ctrl-C */
    enum { SPILLED = 16, MOST_SPILLED = 256 << 10, CALLEES = 16 << 10, MOST = 1 << 30 };
    uint64_t spilled = 0, all;
    uint32_t local = 0;
    lw_status status = lw_ir_local_bytes(module, &local, err);

    *out = 0;
    for (uint32_t f = 0; f < module->funcs.n; f++)
        spilled += (uint64_t)SPILLED * module->funcs.data[f]->insts.n *
                   (module->funcs.data[f]->vars.n ? 2 : 1); /* not optimised: all of them */
    all = CALLEES + local + (spilled < MOST_SPILLED ? spilled : MOST_SPILLED);
    *out = (uint32_t)(all < MOST ? all : MOST);
    return status;
}

lw_status
lw_ir_thread_bytes(const lw_module *module, int64_t n_kb, uint32_t *out, lw_error *err)
{
    enum { MOST_KB = 32 << 10 };
    uint64_t bytes;
    lw_status status;

    if (!lw_ir_recurses(module))
        return lw_ir_local_bytes(module, out, err);
    LW_TRY(lw_ir_margin_bytes(module, out, err));
    bytes = *out + ((uint64_t)(n_kb < MOST_KB ? n_kb : MOST_KB) << 10);
    *out = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
fail:
    return status;
}

static bool
any_inst(const lw_module *module, bool (*holds)(const lw_inst *inst))
{
    for (uint32_t f = 0; f < module->funcs.n; f++) {
        const lw_func *func = module->funcs.data[f];
        for (uint32_t i = 1; i < func->insts.n; i++)
            if (holds(&func->insts.data[i]))
                return true;
    }
    return false;
}

static bool
asks_context(const lw_inst *inst)
{
    switch (inst->op) {
    case LW_OP_SREG:
    case LW_OP_SHARED:
    case LW_OP_DYNAMIC:
    case LW_OP_CONTEXT:
    case LW_OP_BARRIER:
    case LW_OP_KERNEL_CALL: return true;
    default: return false;
    }
}

bool
lw_ir_uses_context(const lw_module *module)
{
    return any_inst(module, asks_context);
}

bool
lw_op_holds(lw_op comparison, int order)
{
    switch (comparison) {
    case LW_OP_EQ: return order == 0;
    case LW_OP_NE: return order != 0;
    case LW_OP_LT: return order < 0;
    case LW_OP_LE: return order <= 0;
    case LW_OP_GT: return order > 0;
    default: return order >= 0;
    }
}

bool
lw_func_has_op(const lw_func *func, lw_op op)
{
    for (uint32_t i = 1; i < func->insts.n; i++)
        if (func->insts.data[i].op == op)
            return true;
    return false;
}

bool
lw_ir_has_op(const lw_module *module, lw_op op)
{
    for (uint32_t i = 0; i < module->funcs.n; i++)
        if (lw_func_has_op(module->funcs.data[i], op))
            return true;
    return false;
}

bool
lw_op_is_access(lw_op op)
{
    return op == LW_OP_LOAD || op == LW_OP_STORE;
}

bool
lw_op_is_call(lw_op op)
{
    return op == LW_OP_CALL || op == LW_OP_RECUR;
}

bool
lw_op_names_function(lw_op op)
{
    return lw_ops[op].args[0] == 'f';
}

bool
lw_ir_recurses(const lw_module *module)
{
    return lw_ir_has_op(module, LW_OP_RECUR);
}

bool
lw_ir_repeats(const lw_module *module)
{
    return lw_ir_has_op(module, LW_OP_LOOP) || lw_ir_recurses(module);
}

/* A call of this many instructions takes some microseconds. */
enum { MOST_OF_BRIEF = 10000 };

/* Of a module without recursion: the instructions that a call of the function executes at most,
 * or more than MOST_OF_BRIEF. Every call of a function takes one more instruction, so that no
 * chain of calls is followed for longer than that. */
static uint32_t
count_executed(const lw_module *module, uint32_t func, uint32_t sum)
{
    const lw_func *f = module->funcs.data[func];

    sum += f->insts.n;
    for (uint32_t k = 1; k < f->insts.n && sum <= MOST_OF_BRIEF; k++)
        if (f->insts.data[k].op == LW_OP_CALL)
            sum = count_executed(module, f->insts.data[k].a, sum + 1);
    return sum;
}

bool
lw_ir_is_brief(const lw_module *module)
{
    if (lw_ir_repeats(module) || lw_ir_has_op(module, LW_OP_HOST_CALL) ||
        lw_ir_has_op(module, LW_OP_KERNEL_CALL))
        return false;
    for (uint32_t i = 0; i < module->funcs.n; i++)
        if (count_executed(module, i, 0) > MOST_OF_BRIEF)
            return false;
    return true;
}

bool
lw_op_is_elementwise(lw_op op)
{
    return op >= LW_OP_ADD && op <= LW_OP_INTRINSIC && op != LW_OP_MULHI;
}

bool
lw_op_is_own_memory(lw_op op)
{
    return op == LW_OP_LOCAL || op == LW_OP_OWNER;
}

bool
lw_ir_has_own_memory(const lw_module *module)
{
    return lw_ir_has_op(module, LW_OP_LOCAL) || lw_ir_has_op(module, LW_OP_OWNER);
}

bool
lw_ir_prints(const lw_module *module)
{
    return lw_ir_has_op(module, LW_OP_PRINT);
}

lw_ref
lw_ir_root(const lw_func *func, lw_ref address)
{
    while (func->insts.data[address].op == LW_OP_OFFSET)
        address = func->insts.data[address].a;
    return address;
}

bool
lw_ir_calls(const lw_module *module, const char *name)
{
    for (uint32_t i = 0; i < module->externs.n; i++)
        if (strcmp(module->externs.data[i].name, name) == 0)
            return true;
    return false;
}

static bool
waits(const lw_inst *inst)
{
    return inst->op == LW_OP_BARRIER ||
           (inst->op == LW_OP_KERNEL_CALL && inst->a < LW_N_KERNEL_OPS &&
            lw_kernel_ops[inst->a].collective);
}

bool
lw_ir_is_collective(const lw_module *module)
{
    return any_inst(module, waits);
}

static bool
syncs_grid(const lw_inst *inst)
{
    return inst->op == LW_OP_KERNEL_CALL && inst->a == LW_KOP_grid_sync;
}

static bool
is_of_cluster(const lw_inst *inst)
{
    return inst->op == LW_OP_KERNEL_CALL && inst->a >= LW_KOP_cluster_sync &&
           inst->a <= LW_KOP_cluster_map;
}

bool
lw_ir_uses_clusters(const lw_module *module)
{
    return any_inst(module, is_of_cluster);
}

bool
lw_ir_syncs_grid(const lw_module *module)
{
    return any_inst(module, syncs_grid);
}
