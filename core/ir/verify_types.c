/* The rules of types: what each op takes, and what it gives. */
#include "core/ir/verify_internal.h"

#include "core/ir/format.h"
#include "core/ir/operands.h"
#include "core/tables/intrinsics.h"
#include "core/tables/kernel_ops.h"

#include <string.h>

static lw_status
check_same(lw_verifier *c, lw_ref x, lw_ref y)
{
    RULE(type_of(c, x) == type_of(c, y), "operands %%%u and %%%u are %s and %s", x, y,
         name_of(type_of(c, x)), name_of(type_of(c, y)));
    return LW_OK;
}

/* Whether operand a may have this type. */
static bool
takes(lw_op op, lw_dtype type)
{
    bool is_bool = type == LW_DT_b1, is_integer = lw_is_integer(type);

    switch (op) {
    case LW_OP_ADD:
    case LW_OP_SUB:
    case LW_OP_MUL:
    case LW_OP_DIV:
    case LW_OP_NEG: return is_integer || lw_is_float(type);
    case LW_OP_REM:
    case LW_OP_MULHI:
    case LW_OP_SHL:
    case LW_OP_SHR: return is_integer;
    case LW_OP_FMA: return lw_is_float(type);
    case LW_OP_AND:
    case LW_OP_OR:
    case LW_OP_XOR:
    case LW_OP_NOT: return is_bool || is_integer;
    case LW_OP_CAST: return is_bool || is_integer || lw_is_float(type);
    case LW_OP_SELECT:
    case LW_OP_IF: return is_bool;
    case LW_OP_LOAD:
    case LW_OP_STORE:
    case LW_OP_PREFETCH:
    case LW_OP_MEET:
    case LW_OP_DISTANCE:
    case LW_OP_OFFSET: return type == LW_DT_ptr;
    default: return is_scalar_type(type);
    }
}

static lw_status
check_list_types(lw_verifier *c, const lw_dtype *types, uint32_t n, const char *what)
{
    RULE(c->inst->c == n, "%u values for %u %s", c->inst->c, n, what);
    for (uint32_t i = 0; i < n; i++) {
        lw_dtype type = type_of(c, c->func->lists.data[c->inst->b + i]);
        RULE(type == types[i], "value %u is %s; the %s say %s", i, name_of(type), what,
             name_of(types[i]));
    }
    return LW_OK;
}

static lw_status
check_call(lw_verifier *c)
{
    const lw_func *callee = c->module->funcs.data[c->inst->a];
    lw_dtype single = callee->results.n == 1 ? callee->results.data[0] : LW_DT_void;

    RULE(callee->linkage == LW_INTERNAL || callee->linkage == LW_OUTLINED,
         "%s is an entry point; only internal functions are called", callee->name);
    RULE(c->inst->type == single, "its type is not that of the result of %s", callee->name);
    RULE(c->inst->c == callee->params.n, "%u values for %u parameters of %s", c->inst->c,
         callee->params.n, callee->name);
    for (uint32_t i = 0; i < callee->params.n; i++) {
        lw_dtype type = type_of(c, c->func->lists.data[c->inst->b + i]);
        RULE(type == callee->params.data[i].type, "value %u is %s; %s takes %s", i,
             name_of(type), callee->name, name_of(callee->params.data[i].type));
    }
    return LW_OK;
}

static lw_status
check_intrinsic(lw_verifier *c)
{
    lw_intrinsic which = (lw_intrinsic)c->inst->a;
    const lw_intrinsic_row *row = &lw_intrinsics[which];
    const uint32_t *list = c->func->lists.data + c->inst->b;
    lw_dtype v;

    RULE(c->inst->c == row->n_args, "%s takes %u arguments, not %u", row->name, row->n_args,
         c->inst->c);
    v = type_of(c, list[0]);
    RULE(lw_intrinsic_takes(which, v), "%s does not take %s", row->name, name_of(v));
    for (uint32_t i = 0; i < row->n_args; i++) {
        lw_dtype wanted = row->args[i] == 'i' ? LW_DT_i32 : v;
        RULE(type_of(c, list[i]) == wanted, "argument %u of %s is %s, not %s", i, row->name,
             name_of(type_of(c, list[i])), name_of(wanted));
    }
    RULE(c->inst->type == lw_intrinsic_result(which, v), "%s of %s gives %s", row->name,
         name_of(v), name_of(lw_intrinsic_result(which, v)));
    return LW_OK;
}

static bool
makes_vector(lw_op op)
{
    return lw_op_is_elementwise(op) || op == LW_OP_LOAD || op == LW_OP_PACK ||
           op == LW_OP_SPLAT || op == LW_OP_SLOT || op == LW_OP_GET;
}

static lw_status
check_vector_shape(lw_verifier *c)
{
    unsigned lanes = c->inst->lanes;
    uint32_t at = 0;
    lw_ref operand;

    RULE(lanes <= 1 || makes_vector((lw_op)c->inst->op), "it cannot make a vector");
    RULE(lanes <= 1 || lanes == 2 || lanes == 4 || lanes == 8 || lanes == 16,
         "%u lanes; 2, 4, 8 and 16 exist", lanes);
    RULE(lanes <= 1 || c->inst->type != LW_DT_ptr, "a vector of pointers");
    lanes = lanes > 1 ? lanes : 1;
    while (lw_op_is_elementwise((lw_op)c->inst->op) &&
           lw_ir_next_operand(c->func, c->inst, &at, &operand))
        RULE(lanes_of(c, operand) == lanes, "%%%u has %u lanes and the result %u", operand,
             lanes_of(c, operand), lanes);
    RULE((c->inst->op != LW_OP_GET && c->inst->op != LW_OP_SET) ||
             lanes_of(c, c->inst->a) ==
                 (c->inst->op == LW_OP_GET ? lanes : lanes_of(c, c->inst->b)),
         "its slot has other lanes");
    return LW_OK;
}

static lw_status
check_cache(lw_verifier *c, unsigned lanes, uint32_t of_others)
{
    uint32_t cache = c->inst->flags & LW_MEM_CACHE_MASK;

    RULE(!cache || lanes <= 1, "a cache operator of a vector");
    RULE(!(cache & (cache - 1)), "two cache operators");
    RULE(!(cache & of_others), "a cache operator of the other direction");
    return LW_OK;
}

static lw_status
check_pack(lw_verifier *c)
{
    RULE(c->inst->c == c->inst->lanes, "%u values for %u lanes", c->inst->c, c->inst->lanes);
    for (uint32_t i = 0; i < c->inst->c; i++)
        RULE(type_of(c, c->func->lists.data[c->inst->b + i]) == c->inst->type,
             "value %u is not %s", i, name_of((lw_dtype)c->inst->type));
    return LW_OK;
}

static lw_status
check_result(lw_verifier *c)
{
    const lw_inst *call = &c->func->insts.data[c->inst->a];
    const lw_func *callee;

    RULE(lw_op_is_call((lw_op)call->op), "%%%u is no call", c->inst->a);
    callee = c->module->funcs.data[call->a];
    RULE(callee->results.n > 1 && c->inst->b < callee->results.n, "%s has no result %u to read",
         callee->name, c->inst->b);
    RULE(callee->results.data[c->inst->b] == c->inst->type, "result %u of %s is %s", c->inst->b,
         callee->name, name_of(callee->results.data[c->inst->b]));
    return LW_OK;
}

static lw_status
check_bitcast(lw_verifier *c)
{
    lw_dtype from = type_of(c, c->inst->a), to = (lw_dtype)c->inst->type;

    RULE(is_scalar_type(to) && (from == LW_DT_b1) == (to == LW_DT_b1) &&
             lw_dtypes[from].bits == lw_dtypes[to].bits,
         "%s and %s are not of one width", name_of(from), name_of(to));
    return LW_OK;
}

static lw_status
check_print(lw_verifier *c)
{
    RULE(c->inst->c >= 1 && c->inst->c <= LW_FORMAT_SLOTS + 1, "%u words; 1 to %d can be shown",
         c->inst->c, LW_FORMAT_SLOTS + 1);
    for (uint32_t i = 0; i < c->inst->c; i++) {
        lw_dtype type = type_of(c, c->func->lists.data[c->inst->b + i]);
        RULE(type == LW_DT_i64 || type == LW_DT_u64, "word %u is %s, no 64-bit integer", i,
             name_of(type));
    }
    return LW_OK;
}

/* Checks the result's type by the result class of the row. */
static lw_status
check_result_type(lw_verifier *c)
{
    const lw_inst *inst = c->inst;

    switch (lw_ops[inst->op].result) {
    case LW_RESULT_SAME:
        RULE(inst->type == type_of(c, inst->a), "its type %s is not that of its operand",
             name_of((lw_dtype)inst->type));
        return LW_OK;
    case LW_RESULT_BOOL: RULE(inst->type == LW_DT_b1, "its type is not b1"); return LW_OK;
    case LW_RESULT_NONE: RULE(inst->type == LW_DT_void, "it has no result"); return LW_OK;
    case LW_RESULT_INST:
        RULE(is_scalar_type((lw_dtype)inst->type) ||
                 (inst->type == LW_DT_void &&
                  (lw_op_is_call((lw_op)inst->op) || inst->op == LW_OP_HOST_CALL ||
                   inst->op == LW_OP_KERNEL_CALL)),
             "%s is no type of a value", name_of((lw_dtype)inst->type));
        return LW_OK;
    }
    return LW_OK;
}

static lw_status
check_memory_decl(lw_verifier *c)
{
    const lw_inst *inst = c->inst;

    RULE(inst->type == LW_DT_ptr, "its type %s is not ptr", name_of((lw_dtype)inst->type));
    if (inst->op == LW_OP_LOCAL || inst->op == LW_OP_SHARED) {
        RULE(inst->a > 0 && inst->a <= INT32_MAX, "%u bytes", inst->a);
        RULE(inst->b <= 12, "alignment 2^%u; 2^12 at most", inst->b);
    }
    if (inst->op == LW_OP_DATA) {
        RULE(inst->a < c->module->datas.n, "no datum number %u", inst->a);
        RULE(c->module->datas.data[inst->a].align_log2 <= 12, "alignment 2^%u; 2^12 at most",
             c->module->datas.data[inst->a].align_log2);
    }
    return LW_OK;
}

static bool
atomic_takes(lw_atomic which, lw_dtype type)
{
    bool word = lw_is_integer(type) && lw_dtypes[type].bits >= 32;

    switch (which) {
    case LW_ATOMIC_ADD:
    case LW_ATOMIC_EXCH: return word || type == LW_DT_f32 || type == LW_DT_f64;
    case LW_ATOMIC_INC:
    case LW_ATOMIC_DEC: return type == LW_DT_u32;
    default: return word;
    }
}

static lw_status
check_atomic(lw_verifier *c)
{
    const lw_inst *inst = c->inst;
    const uint32_t *list = c->func->lists.data + inst->b;
    uint32_t n = inst->a == LW_ATOMIC_CAS ? 3 : 2;

    RULE(inst->a < LW_N_ATOMICS, "no atomic number %u", inst->a);
    RULE(inst->c == n, "%u operands; %s takes %u", inst->c, lw_atomic_names[inst->a], n);
    RULE(type_of(c, list[0]) == LW_DT_ptr, "its first operand is no ptr");
    for (uint32_t i = 1; i < n; i++)
        RULE(type_of(c, list[i]) == inst->type, "operand %u is %s, not %s", i,
             name_of(type_of(c, list[i])), name_of((lw_dtype)inst->type));
    RULE(atomic_takes((lw_atomic)inst->a, (lw_dtype)inst->type), "%s does not take %s",
         lw_atomic_names[inst->a], name_of((lw_dtype)inst->type));
    return LW_OK;
}

static lw_status
check_kernel_call(lw_verifier *c)
{
    const lw_inst *inst = c->inst;
    const uint32_t *list = c->func->lists.data + inst->b;
    const lw_kernel_op_row *row;

    RULE(inst->a < LW_N_KERNEL_OPS, "no kernel operation number %u", inst->a);
    row = &lw_kernel_ops[inst->a];
    RULE(inst->type == lw_kernel_op_type(row->result), "%s gives %s", row->name,
         name_of(lw_kernel_op_type(row->result)));
    RULE(inst->c == strlen(row->args), "%u arguments; %s takes %u", inst->c, row->name,
         (unsigned)strlen(row->args));
    for (uint32_t i = 0; i < inst->c; i++)
        RULE(type_of(c, list[i]) == lw_kernel_op_type(row->args[i]),
             "argument %u of %s is %s, not %s", i, row->name, name_of(type_of(c, list[i])),
             name_of(lw_kernel_op_type(row->args[i])));
    return LW_OK;
}

static lw_status
check_counted(lw_verifier *c)
{
    const lw_inst *inst = c->inst;
    bool owned = inst->op != LW_OP_RETAIN;

    if (owned)
        RULE(c->func->insts.data[inst->a].op == LW_OP_OWNER, "%%%u is no owner", inst->a);
    if (inst->op == LW_OP_NEW) {
        RULE(inst->type == LW_DT_ptr, "its type %s is not ptr", name_of((lw_dtype)inst->type));
        RULE(type_of(c, inst->b) == LW_DT_i64, "its size is no i64");
        return LW_OK;
    }
    RULE(type_of(c, owned ? inst->b : inst->a) == LW_DT_ptr, "its reference is no ptr");
    return LW_OK;
}

static lw_status
check_types(lw_verifier *c)
{
    const lw_inst *inst = c->inst;
    const lw_extern *symbol;

    switch (inst->op) {
    case LW_OP_PARAM:
        RULE(c->func->params.data[inst->a].type == inst->type, "parameter %u is %s", inst->a,
             name_of(c->func->params.data[inst->a].type));
        return LW_OK;
    case LW_OP_FMA:
        RULE(type_of(c, inst->a) == type_of(c, inst->c), "its addend is of another type");
        return check_same(c, inst->a, inst->b);
    case LW_OP_SELECT:
        RULE(type_of(c, inst->b) == inst->type, "its type is not that of its values");
        return check_same(c, inst->b, inst->c);
    case LW_OP_CAST:
        RULE(takes(LW_OP_CAST, (lw_dtype)inst->type), "no cast to %s",
             name_of((lw_dtype)inst->type));
        return LW_OK;
    case LW_OP_BITCAST: return check_bitcast(c);
    case LW_OP_INTRINSIC: return check_intrinsic(c);
    case LW_OP_SREG:
        RULE(inst->a < LW_N_SREGS && inst->type == LW_DT_i32, "special registers are i32");
        return LW_OK;
    case LW_OP_VARYING:
        RULE(inst->a < c->module->datas.n && c->module->datas.data[inst->a].varying,
             "no varying datum number %u", inst->a);
        return LW_OK;
    case LW_OP_GET: RULE(type_of(c, inst->a) == inst->type, "its slot has another type"); break;
    case LW_OP_SET: return check_same(c, inst->a, inst->b);
    case LW_OP_OFFSET:
        RULE(type_of(c, inst->b) == LW_DT_i64 || type_of(c, inst->b) == LW_DT_i32,
             "an offset is i64 or i32, not %s", name_of(type_of(c, inst->b)));
        return LW_OK;
    case LW_OP_STORE:
        RULE(is_scalar_type(type_of(c, inst->b)), "%%%u cannot be stored", inst->b);
        return check_cache(c, lanes_of(c, inst->b), LW_MEM_CA | LW_MEM_LU | LW_MEM_CV);
    case LW_OP_LOAD: return check_cache(c, inst->lanes, LW_MEM_WB | LW_MEM_WT);
    case LW_OP_PACK: return check_pack(c);
    case LW_OP_NEW:
    case LW_OP_HOLD:
    case LW_OP_TAKE:
    case LW_OP_GIVE:
    case LW_OP_RETAIN: return check_counted(c);
    case LW_OP_OWNER:
    case LW_OP_LOCAL:
    case LW_OP_SHARED:
    case LW_OP_DYNAMIC:
    case LW_OP_DATA:
    case LW_OP_CONTEXT: return check_memory_decl(c);
    case LW_OP_ATOMIC: return check_atomic(c);
    case LW_OP_KERNEL_CALL: return check_kernel_call(c);
    case LW_OP_SPLAT:
        RULE(type_of(c, inst->a) == inst->type && inst->lanes > 1, "no vector of its operand");
        return LW_OK;
    case LW_OP_ANY:
    case LW_OP_FIRST:
        RULE(type_of(c, inst->a) == LW_DT_b1 && lanes_of(c, inst->a) > 1,
             "its operand is not a vector of bools");
        RULE(inst->op == LW_OP_ANY || inst->type == LW_DT_i64, "it is no i64");
        return LW_OK;
    case LW_OP_LANE:
        RULE(inst->b < lanes_of(c, inst->a) && inst->type == type_of(c, inst->a),
             "no lane %u of this type in %%%u", inst->b, inst->a);
        return LW_OK;
    case LW_OP_CALL:
    case LW_OP_RECUR: return check_call(c);
    case LW_OP_ENTRY:
        RULE(inst->type == LW_DT_ptr, "an address is a ptr");
        RULE(c->module->funcs.data[inst->a]->linkage == LW_EXPORTED, "%s is not exported",
             c->module->funcs.data[inst->a]->name);
        return LW_OK;
    case LW_OP_ROOM:
        RULE(type_of(c, inst->a) == LW_DT_i32, "a depth is i32");
        RULE(c->func->linkage == LW_INTERNAL, "an entry point does not recurse");
        return LW_OK;
    case LW_OP_RESULT: return check_result(c);
    case LW_OP_HOST_CALL:
        RULE(inst->a < c->module->externs.n, "no extern number %u", inst->a);
        symbol = &c->module->externs.data[inst->a];
        RULE(symbol->result == inst->type, "%s gives %s", symbol->name,
             name_of(symbol->result));
        return check_list_types(c, symbol->params, symbol->n_params, "parameters");
    case LW_OP_PRINT: return check_print(c);
    case LW_OP_BIND:
        RULE(inst->a < c->func->vars.n, "no variable number %u", inst->a);
        return LW_OK;
    case LW_OP_RETURN:
        return check_list_types(c, c->func->results.data, c->func->results.n, "results");
    default:
        if (lw_ops[inst->op].args[0] == 'v' && lw_ops[inst->op].args[1] == 'v')
            return check_same(c, inst->a, inst->b);
    }
    return LW_OK;
}

lw_status
lw_verify_types(lw_verifier *c)
{
    lw_status status;

    LW_TRY(check_result_type(c));
    LW_TRY(check_vector_shape(c));
    if (lw_ops[c->inst->op].args[0] == 'v')
        RULE(takes((lw_op)c->inst->op, type_of(c, c->inst->a)) || c->inst->op == LW_OP_RESULT,
             "it does not take %s", name_of(type_of(c, c->inst->a)));
    return check_types(c);
fail:
    return status;
}
