/* Operations on vectors, lane by lane, for the host: what core/opt/lanes makes of a function
 * that runs for several elements at once. The types are bool, integers, f32 and f64. Each
 * operation has the result that its scalar form has; LLVM splits vectors that are longer than
 * the processor's. */
#include "core/emit/emit_internal.h"

#include "core/tables/intrinsics.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static lw_name
vector_type(const lw_emitter *e, lw_dtype type, unsigned lanes)
{
    lw_name name;

    if (lanes > 1)
        snprintf(name.text, sizeof name.text, "<%u x %.20s>", lanes, lw_type(e, type));
    else
        snprintf(name.text, sizeof name.text, "%.20s", lw_type(e, type));
    return name;
}

lw_name
lw_value_type(const lw_emitter *e, lw_ref value)
{
    const lw_inst *inst = &e->func->insts.data[value];

    return vector_type(e, (lw_dtype)inst->type, inst->lanes);
}

bool
lw_is_vector_op(const lw_emitter *e)
{
    return e->inst->lanes > 1 && lw_op_is_elementwise((lw_op)e->inst->op);
}

/* A scalar in every lane. */
static lw_name
splat(lw_emitter *e, lw_dtype type, const char *scalar, bool is_result)
{
    unsigned lanes = e->inst->lanes;
    lw_name vector = vector_type(e, type, lanes), one;

    one = lw_def(e, "insertelement $s poison, $t $s, i32 0", vector.text, type, scalar);
    if (!is_result)
        return lw_def(e, "shufflevector $s $s, $s poison, <$u x i32> zeroinitializer",
                      vector.text, one.text, vector.text, lanes);
    lw_result(e, "shufflevector $s $s, $s poison, <$u x i32> zeroinitializer", vector.text,
              one.text, vector.text, lanes);
    return one;
}

static void
emit_any(lw_emitter *e)
{
    unsigned lanes = e->func->insts.data[e->inst->a].lanes;

    lw_declare(e, "i1 @llvm.vector.reduce.or.v$ui1(<$u x i1>)", lanes, lanes);
    lw_result(e, "call i1 @llvm.vector.reduce.or.v$ui1(<$u x i1> $v)", lanes, lanes,
              e->inst->a);
}

static void
emit_first(lw_emitter *e)
{
    unsigned lanes = e->func->insts.data[e->inst->a].lanes;
    lw_name bits = lw_def(e, "bitcast <$u x i1> $v to i$u", lanes, e->inst->a, lanes), zeros;

    lw_declare(e, "i$u @llvm.cttz.i$u(i$u, i1)", lanes, lanes, lanes);
    zeros =
        lw_def(e, "call i$u @llvm.cttz.i$u(i$u $s, i1 false)", lanes, lanes, lanes, bits.text);
    lw_result(e, "zext i$u $s to i64", lanes, zeros.text);
}

/* ---- arithmetic ---- */

static const struct {
    const char *floats, *sign, *unsign;
} names[LW_N_OPS] = {
    [LW_OP_ADD] = {"fadd", "add", "add"}, [LW_OP_SUB] = {"fsub", "sub", "sub"},
    [LW_OP_MUL] = {"fmul", "mul", "mul"}, [LW_OP_DIV] = {"fdiv", "sdiv", "udiv"},
    [LW_OP_REM] = {"", "srem", "urem"},   [LW_OP_AND] = {"", "and", "and"},
    [LW_OP_OR] = {"", "or", "or"},        [LW_OP_XOR] = {"", "xor", "xor"},
    [LW_OP_SHL] = {"", "shl", "shl"},     [LW_OP_SHR] = {"", "ashr", "lshr"},
    [LW_OP_EQ] = {"oeq", "eq", "eq"},     [LW_OP_NE] = {"une", "ne", "ne"},
    [LW_OP_LT] = {"olt", "slt", "ult"},   [LW_OP_LE] = {"ole", "sle", "ule"},
    [LW_OP_GT] = {"ogt", "sgt", "ugt"},   [LW_OP_GE] = {"oge", "sge", "uge"},
};

static const char *
name_for(lw_op op, lw_dtype type)
{
    return lw_is_float(type)    ? names[op].floats
           : lw_is_signed(type) ? names[op].sign
                                : names[op].unsign;
}

static void
emit_binary(lw_emitter *e)
{
    lw_dtype type = (lw_dtype)e->inst->type;

    lw_result(e, "$s$s $s $v, $v", name_for((lw_op)e->inst->op, type),
              lw_is_float(type) ? lw_fast(e).text : "", lw_value_type(e, e->at).text,
              e->inst->a, e->inst->b);
}

static void
emit_compare(lw_emitter *e)
{
    lw_dtype type = lw_operand_type(e, e->inst->a);
    bool is_float = lw_is_float(type);

    lw_result(e, "$s$s $s $s $v, $v", is_float ? "fcmp" : "icmp",
              is_float ? lw_fast(e).text : "", name_for((lw_op)e->inst->op, type),
              lw_value_type(e, e->inst->a).text, e->inst->a, e->inst->b);
}

static void
emit_neg(lw_emitter *e)
{
    lw_name type = lw_value_type(e, e->at);

    if (lw_is_float((lw_dtype)e->inst->type))
        lw_result(e, "fneg$s $s $v", lw_fast(e).text, type.text, e->inst->a);
    else
        lw_result(e, "sub $s zeroinitializer, $v", type.text, e->inst->a);
}

static void
emit_not(lw_emitter *e)
{
    lw_dtype type = (lw_dtype)e->inst->type;
    lw_name ones = splat(e, type, type == LW_DT_b1 ? "true" : "-1", false);

    lw_result(e, "xor $s $v, $s", lw_value_type(e, e->at).text, e->inst->a, ones.text);
}

static void
emit_select(lw_emitter *e)
{
    lw_dtype type = (lw_dtype)e->inst->type;
    lw_name vector = lw_value_type(e, e->at);

    lw_result(e, "select$s $s $v, $s $v, $s $v", lw_is_float(type) ? lw_fast(e).text : "",
              lw_value_type(e, e->inst->a).text, e->inst->a, vector.text, e->inst->b,
              vector.text, e->inst->c);
}

/* ---- conversions ---- */

/* Saturating, NaN gives 0. */
static void
emit_saturated(lw_emitter *e, lw_dtype from, lw_dtype to)
{
    const char *stem = lw_is_signed(to) ? "fptosi" : "fptoui";
    uint32_t lanes = e->inst->lanes, to_bits = lw_dtypes[to].bits;
    uint32_t from_bits = lw_dtypes[from].bits;
    lw_name source = vector_type(e, from, lanes), result = vector_type(e, to, lanes);

    lw_declare(e, "$s @llvm.$s.sat.v$ui$u.v$uf$u($s)", result.text, stem, lanes, to_bits, lanes,
               from_bits, source.text);
    lw_result(e, "call $s @llvm.$s.sat.v$ui$u.v$uf$u($s $v)", result.text, stem, lanes, to_bits,
              lanes, from_bits, source.text, e->inst->a);
}

static const char *
conversion(lw_dtype from, lw_dtype to)
{
    uint32_t from_bits = from == LW_DT_b1 ? 1 : lw_dtypes[from].bits,
             to_bits = lw_dtypes[to].bits;

    if (lw_is_float(from))
        return to_bits > from_bits ? "fpext" : to_bits < from_bits ? "fptrunc" : "bitcast";
    if (lw_is_float(to))
        return lw_is_signed(from) ? "sitofp" : "uitofp";
    if (to_bits == from_bits)
        return "bitcast";
    return to_bits < from_bits ? "trunc" : lw_is_signed(from) ? "sext" : "zext";
}

static void
emit_cast(lw_emitter *e)
{
    lw_dtype from = lw_operand_type(e, e->inst->a), to = (lw_dtype)e->inst->type;
    lw_name source = lw_value_type(e, e->inst->a), result = lw_value_type(e, e->at);

    if (to == LW_DT_b1 && from != LW_DT_b1)
        lw_result(e, "$s $s $v, zeroinitializer", lw_is_float(from) ? "fcmp une" : "icmp ne",
                  source.text, e->inst->a);
    else if (lw_is_float(from) && lw_is_integer(to))
        emit_saturated(e, from, to);
    else
        lw_result(e, "$s $s $v to $s", from == to ? "bitcast" : conversion(from, to),
                  source.text, e->inst->a, result.text);
}

/* ---- functions ---- */

static void
call(lw_emitter *e, const char *stem, const lw_ref *args, uint32_t n)
{
    lw_dtype type = (lw_dtype)e->inst->type;
    lw_name vector = lw_value_type(e, e->at), name, types = {""};
    lw_text list;

    snprintf(name.text, sizeof name.text, "llvm.%s.v%uf%u", stem, e->inst->lanes,
             lw_dtypes[type].bits);
    for (uint32_t i = 0; i < n; i++)
        snprintf(types.text + strlen(types.text), sizeof types.text - strlen(types.text),
                 "%s%.18s", i ? ", " : "", vector.text);
    lw_declare(e, "$s @$s($s)", vector.text, name.text, types.text);
    lw_text_init(&list);
    for (uint32_t i = 0; i < n; i++)
        lw_text_addf(&list, "%s%s %s", i ? ", " : "", vector.text, lw_operand(e, args[i]).text);
    lw_result(e, "call$s $s @$s($s)", lw_fast(e).text, vector.text, name.text,
              lw_text_get(&list));
    if (list.failed)
        e->out->failed = true;
    lw_text_reset(&list);
}

static void
emit_intrinsic(lw_emitter *e)
{
    lw_intrinsic which = (lw_intrinsic)e->inst->a;
    const lw_intrinsic_row *row = &lw_intrinsics[which];

    assert(lw_intrinsic_has_vectors(which));
    call(e, row->host_how == LW_HOW_LLVM ? row->host_stem : row->name,
         e->func->lists.data + e->inst->b, e->inst->c);
}

void
lw_emit_vector(lw_emitter *e)
{
    const lw_ref operands[3] = {e->inst->a, e->inst->b, e->inst->c};

    assert(!e->gpu);
    switch ((lw_op)e->inst->op) {
    case LW_OP_SPLAT:
        splat(e, (lw_dtype)e->inst->type, lw_operand(e, e->inst->a).text, true);
        break;
    case LW_OP_ANY: emit_any(e); break;
    case LW_OP_FIRST: emit_first(e); break;
    case LW_OP_NEG: emit_neg(e); break;
    case LW_OP_NOT: emit_not(e); break;
    case LW_OP_FMA:
        call(e, e->inst->flags & LW_FAST_REASSOC ? "fmuladd" : "fma", operands, 3);
        break;
    case LW_OP_EQ:
    case LW_OP_NE:
    case LW_OP_LT:
    case LW_OP_LE:
    case LW_OP_GT:
    case LW_OP_GE: emit_compare(e); break;
    case LW_OP_SELECT: emit_select(e); break;
    case LW_OP_CAST: emit_cast(e); break;
    case LW_OP_BITCAST:
        lw_result(e, "bitcast $s $v to $s", lw_value_type(e, e->inst->a).text, e->inst->a,
                  lw_value_type(e, e->at).text);
        break;
    case LW_OP_INTRINSIC: emit_intrinsic(e); break;
    default: emit_binary(e); break;
    }
}
