/* Counted memory: OWNER, NEW, HOLD, TAKE, RETAIN, and what a RETURN releases. An owner is a
 * variable of the function, which LLVM's mem2reg makes a register. On the host counting is
 * inlined, and memory is made and freed by core/host/counted_memory.c; on a GPU all of that is
 * text of the module (gpu_memory.c). The header in front of the bytes is described in
 * core/ir/counted.h. */
#include "core/emit/emit_internal.h"

#include "core/base/memory.h"
#include "core/ir/counted.h"

#include <assert.h>
#include <stdio.h>

static const char *
pointer_type(const lw_emitter *e)
{
    return lw_type(e, LW_DT_ptr);
}

/* What a pointer to this type is called. */
static const char *
pointer_to(const lw_emitter *e, const char *typed)
{
    return e->typed ? typed : "ptr";
}

static const char *
owner_type(const lw_emitter *e)
{
    return pointer_to(e, "i8**");
}

void
lw_emit_owner(lw_emitter *e)
{
    e->counts = true;
    lw_result(e, "alloca $s, align 8", pointer_type(e));
    lw_line(e, "store $s null, $s %v$u, align 8", pointer_type(e), owner_type(e), e->at);
}

static lw_name
held_by(lw_emitter *e, lw_ref owner)
{
    assert(e->func->insts.data[owner].op == LW_OP_OWNER);
    return lw_def(e, "load $s, $s %v$u, align 8", pointer_type(e), owner_type(e), owner);
}

static void
put(lw_emitter *e, lw_ref owner, lw_ref reference)
{
    lw_line(e, "store $s $v, $s %v$u, align 8", pointer_type(e), reference, owner_type(e),
            owner);
}

static void
call(lw_emitter *e, const char *function, lw_name reference)
{
    lw_line(e, "call void @$s($s $s)", function, pointer_type(e), reference.text);
}

void
lw_emit_counted(lw_emitter *e)
{
    lw_name old;

    e->counts = true;
    if (e->inst->op == LW_OP_RETAIN) {
        call(e, "lw_memory_retain", lw_operand(e, e->inst->a));
        return;
    }
    old = held_by(e, e->inst->a);
    if (e->inst->op == LW_OP_NEW) {
        lw_result(e, "call $s @lw_memory_renew($s $s, i64 $v)", pointer_type(e),
                  pointer_type(e), old.text, e->inst->b);
        put(e, e->inst->a, e->at);
        return;
    }
    if (e->inst->op == LW_OP_HOLD)
        call(e, "lw_memory_retain", lw_operand(e, e->inst->b));
    put(e, e->inst->a, e->inst->b);
    call(e, "lw_memory_release", old);
}

/* ---- leaving a function with owners ---- */

static bool
has_owners(const lw_func *func)
{
    for (uint32_t i = 1; i < func->insts.n; i++)
        if (func->insts.data[i].op == LW_OP_OWNER)
            return true;
    return false;
}

void
lw_leave_begin(lw_emitter *e)
{
    e->leaves = has_owners(e->func);
    for (uint32_t i = 0; e->leaves && i < e->func->results.n; i++)
        lw_line(e, "%r$u = alloca $t", i, e->func->results.data[i]);
}

/* "i64*", or "ptr" */
static lw_name
slot_type(lw_emitter *e, lw_dtype type)
{
    lw_name name;

    snprintf(name.text, sizeof name.text, "%s%s", e->typed ? lw_type(e, type) : "ptr",
             e->typed ? "*" : "");
    return name;
}

void
lw_leave(lw_emitter *e)
{
    for (uint32_t i = 0; i < e->func->results.n; i++) {
        lw_dtype type = e->func->results.data[i];
        lw_line(e, "store $t $v, $s %r$u", type, e->func->lists.data[e->inst->b + i],
                slot_type(e, type).text, i);
    }
    lw_line(e, "br label %leave");
    e->ended = true;
}

void
lw_leave_end(lw_emitter *e)
{
    uint32_t n = e->func->results.n;
    lw_name *values;

    if (!e->leaves || e->status != LW_OK)
        return;
    values = lw_alloc((n + 1) * sizeof *values);
    if (values == NULL) {
        e->status = lw_fail_memory(e->err);
        return;
    }
    lw_text_add(e->out, "leave:\n");
    for (uint32_t i = 1; i < e->func->insts.n; i++)
        if (e->func->insts.data[i].op == LW_OP_OWNER)
            call(e, "lw_memory_release", held_by(e, i));
    for (uint32_t i = 0; i < n; i++)
        values[i] = lw_def(e, "load $t, $s %r$u", e->func->results.data[i],
                           slot_type(e, e->func->results.data[i]).text, i);
    lw_emit_values(e, values);
    lw_free(values);
}

/* ---- functions of the module ---- */

/* A single reference is found by a load, without an atomic: nobody else can take another one
 * then. */
static const char counting[] =
    "\ndefine internal void @lw_memory_retain(ptr %m) nounwind alwaysinline {\n"
    "entry:\n"
    "  %none = icmp eq ptr %m, null\n"
    "  br i1 %none, label %out, label %count\n"
    "count:\n"
    "  %before = atomicrmw add ptr %m, i64 1 monotonic, align 8\n"
    "  br label %out\n"
    "out:\n"
    "  ret void\n}\n"

    "\ndefine internal void @lw_memory_release(ptr %m) nounwind alwaysinline {\n"
    "entry:\n"
    "  %none = icmp eq ptr %m, null\n"
    "  br i1 %none, label %out, label %look\n"
    "look:\n"
    "  %there = load atomic i64, ptr %m acquire, align 8\n"
    "  %single = icmp eq i64 %there, 1\n"
    "  br i1 %single, label %drop, label %count\n"
    "count:\n"
    "  %before = atomicrmw sub ptr %m, i64 1 acq_rel, align 8\n"
    "  %last = icmp eq i64 %before, 1\n"
    "  br i1 %last, label %drop, label %out\n"
    "drop:\n"
    "  call void @lw_memory_free(ptr %m)\n"
    "  br label %out\n"
    "out:\n"
    "  ret void\n}\n"

    "\ndeclare ptr @lw_memory_renew(ptr, i64) nounwind\n"
    "declare void @lw_memory_free(ptr) nounwind\n";

void
lw_counted_print(lw_emitter *e)
{
    if (e->gpu && (e->counts || e->options->nrt))
        lw_gpu_memory_print(e);
    else if (e->counts)
        lw_text_add(e->out, counting);
}
