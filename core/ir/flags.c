/* needs: nothing but the instructions. A choice between values that were passed in raises
 * nothing and throws nothing away, so a branch alone is no reason to doubt: only with
 * arithmetic. */
#include "core/ir/flags.h"

#include "core/tables/intrinsics.h"

static bool
has_float(const lw_func *func, lw_ref value)
{
    return lw_is_float((lw_dtype)func->insts.data[value].type);
}

/* The CPU widens and rounds a single float16 in a register of several, whose other lanes hold
 * whatever was there: a signaling NaN, or a number that overflows. */
static bool
converts_half(const lw_func *func, const lw_inst *inst)
{
    switch (inst->op) {
    case LW_OP_EQ:
    case LW_OP_NE: return func->insts.data[inst->a].type == LW_DT_f16;
    case LW_OP_CAST:
        return inst->type == LW_DT_f16 || func->insts.data[inst->a].type == LW_DT_f16;
    case LW_OP_ADD:
    case LW_OP_SUB:
    case LW_OP_MUL:
    case LW_OP_DIV:
    case LW_OP_FMA:
    case LW_OP_INTRINSIC: return inst->type == LW_DT_f16;
    default: return false;
    }
}

bool
lw_inst_raises_stray_flags(const lw_func *func, const lw_inst *inst)
{
    if (converts_half(func, inst))
        return true;
    switch (inst->op) {
    case LW_OP_LT:
    case LW_OP_LE:
    case LW_OP_GT:
    case LW_OP_GE: return has_float(func, inst->a);
    case LW_OP_INTRINSIC:
        return lw_intrinsics[inst->a].kind == LW_INTRINSIC_FLOAT && inst->a != LW_IN_sqrt &&
               inst->a != LW_IN_fabs;
    case LW_OP_CAST: return lw_is_integer((lw_dtype)inst->type) && has_float(func, inst->a);
    default: return false;
    }
}

bool
lw_ir_raises_stray_flags(const lw_module *module)
{
    for (uint32_t i = 0; i < module->funcs.n; i++)
        for (lw_ref k = 1; k < module->funcs.data[i]->insts.n; k++)
            if (lw_inst_raises_stray_flags(module->funcs.data[i],
                                           &module->funcs.data[i]->insts.data[k]))
                return true;
    return false;
}

/* Whether it is arithmetic that can overflow, be invalid or divide by zero. */
static bool
computes(const lw_func *func, const lw_inst *inst)
{
    switch (inst->op) {
    case LW_OP_ADD:
    case LW_OP_SUB:
    case LW_OP_MUL:
    case LW_OP_DIV:
    case LW_OP_FMA:
    case LW_OP_INTRINSIC: return lw_is_float((lw_dtype)inst->type);
    case LW_OP_CAST: /* to more digits nothing happens */
        return lw_is_float((lw_dtype)inst->type) &&
               (!has_float(func, inst->a) ||
                lw_dtypes[inst->type].size_bytes <
                    lw_dtypes[func->insts.data[inst->a].type].size_bytes);
    default: return false;
    }
}

lw_flags_kind
lw_ir_flags(const lw_module *module)
{
    bool strays = lw_ir_raises_stray_flags(module) || lw_ir_has_op(module, LW_OP_HOST_CALL);
    bool any = false, chooses = false;

    for (uint32_t i = 0; i < module->funcs.n; i++) {
        const lw_func *func = module->funcs.data[i];
        for (lw_ref k = 1; k < func->insts.n; k++) {
            const lw_inst *inst = &func->insts.data[k];
            any |= computes(func, inst);
            chooses |=
                inst->op == LW_OP_IF || inst->op == LW_OP_SELECT || inst->op == LW_OP_LOOP;
        }
    }
    return strays || (any && chooses) ? LW_FLAGS_DOUBTED : any ? LW_FLAGS_SURE : LW_FLAGS_NONE;
}
