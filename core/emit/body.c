/* The body of a function: its entry block, then one instruction of the IR after the other. */
#include "core/emit/emit_internal.h"

#include <assert.h>

static void
emit_distance(lw_emitter *e)
{
    lw_name from = lw_def(e, "ptrtoint $t $v to $t", LW_DT_ptr, e->inst->a, LW_DT_i64);
    lw_name to = lw_def(e, "ptrtoint $t $v to $t", LW_DT_ptr, e->inst->b, LW_DT_i64);

    lw_result(e, "sub $t $s, $s", LW_DT_i64, to.text, from.text);
}

static void
emit_inst(lw_emitter *e)
{
    if (lw_is_vector_op(e)) {
        lw_emit_vector(e);
        return;
    }
    switch ((lw_op)e->inst->op) {
    case LW_OP_ADD:
    case LW_OP_SUB:
    case LW_OP_MUL:
    case LW_OP_DIV:
    case LW_OP_REM:
    case LW_OP_MULHI:
    case LW_OP_NEG:
    case LW_OP_FMA:
    case LW_OP_AND:
    case LW_OP_OR:
    case LW_OP_XOR:
    case LW_OP_NOT:
    case LW_OP_SHL:
    case LW_OP_SHR:
    case LW_OP_EQ:
    case LW_OP_NE:
    case LW_OP_LT:
    case LW_OP_LE:
    case LW_OP_GT:
    case LW_OP_GE:
    case LW_OP_SELECT:
    case LW_OP_BITCAST: lw_emit_arithmetic(e); break;
    case LW_OP_CAST: lw_emit_cast(e); break;
    case LW_OP_INTRINSIC: lw_emit_intrinsic(e); break;
    case LW_OP_SREG:
        if (e->regions.n == 0)
            lw_emit_sreg(e);
        break;
    case LW_OP_GET: lw_emit_slot(e, e->inst->a, false); break;
    case LW_OP_SET: lw_emit_slot(e, e->inst->a, true); break;
    case LW_OP_OFFSET:
        lw_result(e, "getelementptr i8, $t $v, $t $v", LW_DT_ptr, e->inst->a,
                  lw_operand_type(e, e->inst->b), e->inst->b);
        break;
    case LW_OP_ON_GPU: lw_result(e, "icmp eq i1 true, $s", e->gpu ? "true" : "false"); break;
    case LW_OP_MEET: lw_result(e, "icmp eq i1 true, true"); break;
    case LW_OP_DISTANCE: emit_distance(e); break;
    case LW_OP_LOAD:
        lw_emit_watch(e);
        lw_emit_load(e);
        break;
    case LW_OP_STORE:
        lw_emit_watch(e);
        lw_emit_store(e);
        break;
    case LW_OP_PREFETCH: lw_emit_prefetch(e); break;
    case LW_OP_PACK: lw_emit_pack(e); break;
    case LW_OP_LANE: lw_emit_lane(e); break;
    case LW_OP_SPLAT:
    case LW_OP_ANY:
    case LW_OP_FIRST: lw_emit_vector(e); break;
    case LW_OP_CALL:
        lw_emit_watch(e);
        lw_emit_call(e);
        break;
    case LW_OP_RECUR: lw_emit_call(e); break;
    case LW_OP_ROOM: lw_emit_room(e); break;
    case LW_OP_RESULT: lw_emit_call_result(e); break;
    case LW_OP_ENTRY:
        lw_result(e, "getelementptr i8, ptr @$s, i64 0",
                  e->module->funcs.data[e->inst->a]->name);
        break;
    case LW_OP_HOST_CALL: lw_emit_host_call(e); break;
    case LW_OP_ATOMIC:
        lw_emit_watch(e);
        lw_emit_atomic(e);
        break;
    case LW_OP_KERNEL_CALL: lw_emit_kernel_call(e); break;
    case LW_OP_BARRIER: lw_emit_barrier(e); break;
    case LW_OP_PRINT: lw_emit_print(e); break;
    case LW_OP_BIND: lw_emit_bind(e); break;
    case LW_OP_NEW:
    case LW_OP_HOLD:
    case LW_OP_TAKE:
    case LW_OP_GIVE:
    case LW_OP_RETAIN: lw_emit_counted(e); break;
    case LW_OP_OWNER:
    case LW_OP_LOCAL:
    case LW_OP_SHARED:
    case LW_OP_DYNAMIC:
    case LW_OP_DATA:
    case LW_OP_CONTEXT:
    case LW_OP_CONST:
    case LW_OP_PARAM:
    case LW_OP_VARYING:
    case LW_OP_SLOT:
    case LW_OP_NONE:
    case LW_N_OPS: break;
    default:
        e->angle.of = 0;
        lw_emit_flow(e);
        break;
    }
}

/* Emits into the entry block what may be used outside of its region: memory, and special
 * registers that are read in a region. */
static void
emit_early(lw_emitter *e)
{
    unsigned depth = 0;

    for (e->at = 1; e->at < e->func->insts.n; e->at++) {
        e->inst = &e->func->insts.data[e->at];
        switch (e->inst->op) {
        case LW_OP_IF:
        case LW_OP_BLOCK:
        case LW_OP_LOOP: depth++; break;
        case LW_OP_END:
            assert(depth > 0);
            depth--;
            break;
        case LW_OP_OWNER: lw_emit_owner(e); break;
        case LW_OP_LOCAL:
        case LW_OP_SHARED:
        case LW_OP_DYNAMIC:
        case LW_OP_DATA:
        case LW_OP_CONTEXT: lw_emit_memory_decl(e); break;
        case LW_OP_VARYING: lw_emit_varying(e); break;
        case LW_OP_SREG:
            if (depth > 0)
                lw_emit_sreg(e);
            break;
        default: break;
        }
    }
}

static void
emit_entry(lw_emitter *e)
{
    bool is_entry = e->func->linkage == LW_KERNEL || e->func->linkage == LW_EXPORTED;

    assert(e->func->insts.n > 0); /* [0] is always there */
    lw_text_add(e->out, "entry:\n");
    for (uint32_t i = 1; i < e->func->insts.n; i++)
        if (e->func->insts.data[i].op == LW_OP_SLOT)
            lw_line(e, "%s$u = alloca $s", i, lw_value_type(e, i).text);
    lw_recursion_begin(e);
    lw_variables_begin(e);
    lw_leave_begin(e);
    lw_looks_begin(e);
    emit_early(e);
    for (uint32_t i = 0; is_entry && i < e->func->params.n; i++)
        if (e->func->params.data[i].type == LW_DT_b1)
            lw_line(e, "%p$ub = icmp ne i8 %p$u, 0", i, i);
}

lw_status
lw_emit_body(lw_emitter *e)
{
    e->regions.n = 0;
    e->next_temp = 0;
    e->ended = false;
    e->access = 0;
    e->angle.of = 0;
    emit_entry(e);
    for (e->at = 1; e->at < e->func->insts.n && e->status == LW_OK; e->at++) {
        e->inst = &e->func->insts.data[e->at];
        lw_debug_inst(e);
        emit_inst(e);
    }
    assert(e->status != LW_OK || e->regions.n == 0); /* every region was closed */
    e->inst = NULL;
    if (!e->ended)
        lw_line(e, "unreachable");
    lw_leave_end(e);
    lw_looks_end(e);
    return e->status;
}
