/* The text form of a module:
 *
 *     extern i32 "lw_call_back" ptr i64
 *     data 3 align 4 0a0b0c
 *     data 3 align 4 at 140200000000 0a0b0c
 *     func internal axpy {
 *         param f32 "a"
 *         result f32
 *     body
 *         %1 = param f32 0
 *         %2 = const f32 0x3f800000 ; 1
 *         %3 = mul f32 %1 %2 fuse
 *         return (%3)
 *     }
 *
 * One instruction a line, numbered by its position; `;` starts a comment. */
#include "core/ir/ir_internal.h"

#include "core/tables/intrinsics.h"
#include "core/tables/kernel_ops.h"

#include <inttypes.h>
#include <string.h>

const char *const lw_linkage_names[4] = {
    [LW_INTERNAL] = "internal",
    [LW_KERNEL] = "kernel",
    [LW_EXPORTED] = "exported",
    [LW_OUTLINED] = "outlined",
};

const lw_ir_flag lw_param_flags[] = {
    {"noalias", LW_PARAM_NOALIAS}, {"readonly", LW_PARAM_READONLY}, {NULL, 0}};

static const lw_ir_flag memory_flags[] = {{"invariant", LW_MEM_INVARIANT},
                                          {"ca", LW_MEM_CA},
                                          {"cg", LW_MEM_CG},
                                          {"cs", LW_MEM_CS},
                                          {"lu", LW_MEM_LU},
                                          {"cv", LW_MEM_CV},
                                          {"wb", LW_MEM_WB},
                                          {"wt", LW_MEM_WT},
                                          {NULL, 0}};
static const lw_ir_flag local_flags[] = {{"aligned", LW_DECL_ALIGNED}, {NULL, 0}};
static const lw_ir_flag loop_flags[] = {
    {"vectorize", LW_LOOP_VECTORIZE},   {"no_vectorize", LW_LOOP_NO_VECTORIZE},
    {"no_unroll", LW_LOOP_NO_UNROLL},   {"unroll_full", LW_LOOP_UNROLL_FULL},
    {"interleave", LW_LOOP_INTERLEAVE}, {"parallel", LW_LOOP_PARALLEL},
    {"elements", LW_LOOP_ELEMENTS},     {NULL, 0}};
static const lw_ir_flag float_flags[] = {
    {"nnan", LW_FAST_NNAN},       {"ninf", LW_FAST_NINF},
    {"nsz", LW_FAST_NSZ},         {"arcp", LW_FAST_ARCP},
    {"afn", LW_FAST_AFN},         {"contract", LW_FAST_CONTRACT},
    {"reassoc", LW_FAST_REASSOC}, {"fuse", LW_MAY_FUSE},
    {"nowrap", LW_NO_WRAP},       {NULL, 0}};

const lw_ir_flag *
lw_ir_flags_of(lw_op op)
{
    if (lw_op_is_access(op))
        return memory_flags;
    if (op == LW_OP_LOCAL)
        return local_flags;
    return op == LW_OP_LOOP ? loop_flags : float_flags;
}

const char *
lw_ir_number_name(lw_op op, uint32_t value)
{
    switch (op) {
    case LW_OP_SREG: return value < LW_N_SREGS ? lw_sreg_names[value] : NULL;
    case LW_OP_ATOMIC: return value < LW_N_ATOMICS ? lw_atomic_names[value] : NULL;
    case LW_OP_KERNEL_CALL: return value < LW_N_KERNEL_OPS ? lw_kernel_ops[value].name : NULL;
    default: return NULL;
    }
}

static void
print_quoted(lw_text *out, const char *text)
{
    lw_text_add(out, "\"");
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\' || c < 0x20)
            lw_text_addf(out, "\\%02x", c);
        else
            lw_text_add_n(out, text, 1);
    }
    lw_text_add(out, "\"");
}

static void
print_flags(lw_text *out, const lw_ir_flag *names, uint32_t flags)
{
    for (; names->text != NULL; names++)
        if (flags & names->bit)
            lw_text_addf(out, " %s", names->text);
}

static void
print_const(lw_text *out, lw_dtype type, uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float single;
    double wide;

    if (lw_is_signed(type)) {
        lw_text_addf(out, " %" PRId64, (int64_t)bits);
    } else if (!lw_is_float(type)) {
        lw_text_addf(out, " %" PRIu64, bits);
    } else {
        lw_text_addf(out, " 0x%0*" PRIx64, lw_dtypes[type].bits / 4, bits);
        memcpy(&single, &low, sizeof single);
        memcpy(&wide, &bits, sizeof wide);
        if (type == LW_DT_f32)
            lw_text_addf(out, " ; %.9g", (double)single);
        else if (type == LW_DT_f64)
            lw_text_addf(out, " ; %.17g", wide);
    }
}

static void
print_list(lw_text *out, const lw_func *func, uint32_t start, uint32_t n)
{
    lw_text_add(out, " (");
    for (uint32_t i = 0; i < n && start + i < func->lists.n; i++)
        lw_text_addf(out, "%s%%%u", i ? " " : "", func->lists.data[start + i]);
    lw_text_add(out, ")");
}

static void
print_operand(lw_text *out, const lw_module *module, const lw_func *func, const lw_inst *inst,
              char letter, uint32_t value)
{
    switch (letter) {
    case 'v':
    case 's': lw_text_addf(out, " %%%u", value); break;
    case 'L': print_list(out, func, inst->b, inst->c); break;
    case 'k':
        if (value < func->constants.n)
            print_const(out, (lw_dtype)inst->type, func->constants.data[value].bits);
        break;
    case 'f':
        lw_text_addf(out, " @%s",
                     value < module->funcs.n ? module->funcs.data[value]->name : "?");
        break;
    case 'i':
        lw_text_addf(out, " %s", value < LW_N_INTRINSICS ? lw_intrinsics[value].name : "?");
        break;
    case 'n':
        if (lw_ir_number_name((lw_op)inst->op, value) != NULL)
            lw_text_addf(out, " %s", lw_ir_number_name((lw_op)inst->op, value));
        else
            lw_text_addf(out, " %u", value);
        break;
    case 'p':
    case 'd': lw_text_addf(out, " %u", value); break;
    default: break;
    }
}

static void
print_attributes(lw_text *out, const lw_inst *inst)
{
    if (lw_op_is_access((lw_op)inst->op) && (inst->flags & LW_MEM_ALIGN_MASK))
        lw_text_addf(out, " align %u", 1u << ((inst->flags & LW_MEM_ALIGN_MASK) - 1));
    print_flags(out, lw_ir_flags_of((lw_op)inst->op), inst->flags);
}

static void
print_inst(lw_text *out, const lw_module *module, const lw_func *func, uint32_t number,
           bool with_locs)
{
    const lw_inst *inst = &func->insts.data[number];
    const lw_op_row *row = &lw_ops[inst->op < LW_N_OPS ? inst->op : 0];
    const uint32_t operands[3] = {inst->a, inst->b, inst->c};

    if (row->result != LW_RESULT_NONE) {
        lw_text_addf(out, "%%%u = %s %s", number, row->text, lw_dtypes[inst->type].name);
        if (inst->lanes > 1)
            lw_text_addf(out, "x%u", inst->lanes);
    } else {
        lw_text_add(out, row->text);
    }
    /* The comment with a constant's value ends its line, so attributes would have to come
     * before it; constants have none. */
    for (int i = 0; i < 3; i++)
        print_operand(out, module, func, inst, row->args[i], operands[i]);
    print_attributes(out, inst);
    if (with_locs && inst->loc && inst->loc < module->locs.n && inst->op != LW_OP_CONST) {
        const lw_ir_loc *loc = &module->locs.data[inst->loc];
        lw_text_addf(out, " at %u:%u:%u", loc->file, loc->line, loc->col);
    }
    lw_text_add(out, "\n");
}

static void
print_number(lw_text *out, const char *name, uint32_t value)
{
    if (value)
        lw_text_addf(out, "    %s %u\n", name, value);
}

static void
print_head(lw_text *out, const lw_func *func, bool with_locs)
{
    lw_text_addf(out, "func %s %s {\n", lw_linkage_names[func->linkage & 3], func->name);
    if (with_locs && func->python_name) {
        lw_text_add(out, "    python ");
        print_quoted(out, func->python_name);
        lw_text_addf(out, " at %u:%u:0\n", func->file, func->line);
    }
    print_number(out, "max_threads", func->max_threads);
    print_number(out, "min_blocks", func->min_blocks);
    print_number(out, "max_cluster", func->max_cluster);
    print_number(out, "max_registers", func->max_registers);
    print_number(out, "shared", func->shared);
    for (uint32_t i = 0; i < func->params.n; i++) {
        const lw_ir_param *param = &func->params.data[i];
        lw_text_addf(out, "    param %s ", lw_dtypes[param->type].name);
        print_quoted(out, param->name ? param->name : "");
        print_flags(out, lw_param_flags, param->flags);
        if (param->align_log2)
            lw_text_addf(out, " align %u", 1u << param->align_log2);
        lw_text_add(out, "\n");
    }
    for (uint32_t i = 0; i < func->results.n; i++)
        lw_text_addf(out, "    result %s\n", lw_dtypes[func->results.data[i]].name);
    for (uint32_t i = 0; i < func->vars.n; i++) {
        const lw_ir_var *var = &func->vars.data[i];
        lw_text_add(out, "    var ");
        print_quoted(out, var->name);
        lw_text_add(out, " ");
        print_quoted(out, var->type);
        lw_text_addf(out, " %u at %u:%u:0\n", var->arg, var->file, var->line);
    }
}

static void
print_func(lw_text *out, const lw_module *module, const lw_func *func, bool with_locs)
{
    unsigned depth = 1;

    print_head(out, func, with_locs);
    lw_text_add(out, "body\n");
    for (uint32_t i = 1; i < func->insts.n; i++) {
        lw_op op = (lw_op)func->insts.data[i].op;
        bool closes = op == LW_OP_END || op == LW_OP_ELSE || op == LW_OP_LATCH;
        depth -= closes && depth > 1;
        for (unsigned k = 0; k < depth; k++)
            lw_text_add(out, "    ");
        print_inst(out, module, func, i, with_locs);
        depth += op == LW_OP_IF || op == LW_OP_BLOCK || op == LW_OP_LOOP ||
                 (closes && op != LW_OP_END);
    }
    lw_text_add(out, "}\n");
}

/* Writes bytes as hexadecimal digits, in words of 32 bytes. */
static void
print_data(lw_text *out, const lw_data *data)
{
    static const char digits[] = "0123456789abcdef";
    char word[2 * LW_IR_DATA_WORD];

    lw_text_addf(out, "data %u align %u", data->n, 1u << data->align_log2);
    if (data->address)
        lw_text_addf(out, " at %" PRIu64, data->address);
    if (data->on_gpu)
        lw_text_add(out, " on_gpu");
    if (data->varying)
        lw_text_add(out, " varying");
    if (data->scattered)
        lw_text_add(out, " scattered");
    for (uint32_t i = 0; i < data->n; i += LW_IR_DATA_WORD) {
        uint32_t n = data->n - i < LW_IR_DATA_WORD ? data->n - i : LW_IR_DATA_WORD;
        for (uint32_t k = 0; k < n; k++) {
            word[2 * k] = digits[data->bytes[i + k] >> 4];
            word[2 * k + 1] = digits[data->bytes[i + k] & 15];
        }
        lw_text_add(out, " ");
        lw_text_add_n(out, word, 2 * n);
    }
    lw_text_add(out, "\n");
}

void
lw_ir_print(const lw_module *module, bool with_locs, lw_text *out)
{
    for (uint32_t i = 1; with_locs && i < module->files.n; i++) {
        lw_text_addf(out, "file %u ", i);
        print_quoted(out, module->files.data[i]);
        lw_text_add(out, "\n");
    }
    for (uint32_t i = 0; i < module->externs.n; i++) {
        const lw_extern *symbol = &module->externs.data[i];
        lw_text_addf(out, "%s %s ", symbol->device ? "device" : "extern",
                     lw_dtypes[symbol->result].name);
        if (symbol->address) /* in code for this process alone; it is not read back */
            lw_text_addf(out, "at %llu ", (unsigned long long)symbol->address);
        print_quoted(out, symbol->name);
        for (unsigned k = 0; k < symbol->n_params; k++)
            lw_text_addf(out, " %s", lw_dtypes[symbol->params[k]].name);
        lw_text_add(out, "\n");
    }
    for (uint32_t i = 0; i < module->datas.n; i++)
        print_data(out, &module->datas.data[i]);
    for (uint32_t i = 0; i < module->funcs.n; i++)
        print_func(out, module, module->funcs.data[i], with_locs);
}
