/* Counted memory: OWNER, NEW, HOLD, TAKE, RETAIN, GIVE, and what a RETURN releases. An owner is
 * a variable of the function, which LLVM's mem2reg makes a register. On the host memory is made
 * and freed by core/host/counted_memory.c; on a GPU all of that is text of the module
 * (gpu_memory.c). The header in front of the bytes is described in core/ir/counted.h. */
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

static const char *
owner_type(const lw_emitter *e)
{
    return e->typed ? "i8**" : "ptr";
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
call(lw_emitter *e, const char *function, lw_name reference)
{
    lw_line(e, "call void @$s($s $s)", function, pointer_type(e), reference.text);
}

static void
call_with_owner(lw_emitter *e, const char *function)
{
    lw_line(e, "call void @$s($s %v$u, $s $v)", function, owner_type(e), e->inst->a,
            pointer_type(e), e->inst->b);
}

void
lw_emit_counted(lw_emitter *e)
{
    e->counts = true;
    switch (e->inst->op) {
    case LW_OP_RETAIN: call(e, "lw_memory_retain", lw_operand(e, e->inst->a)); break;
    case LW_OP_HOLD: call_with_owner(e, "lw_memory_hold"); break;
    case LW_OP_TAKE: call_with_owner(e, "lw_memory_take"); break;
    case LW_OP_GIVE: call_with_owner(e, "lw_memory_give"); break;
    default:
        assert(e->inst->op == LW_OP_NEW);
        lw_result(e, "call $s @lw_memory_renew($s $s, i64 $v)", pointer_type(e),
                  pointer_type(e), held_by(e, e->inst->a).text, e->inst->b);
        lw_line(e, "store $s $v, $s %v$u, align 8", pointer_type(e), e->at, owner_type(e),
                e->inst->a);
    }
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
    lw_name *values, any = {"0"}, one;

    if (!e->leaves || e->status != LW_OK)
        return;
    values = lw_alloc((n + 1) * sizeof *values);
    if (values == NULL) {
        e->status = lw_fail_memory(e->err);
        return;
    }
    /* One branch for all owners: most of them hold nothing then. */
    lw_text_add(e->out, "leave:\n");
    for (uint32_t i = 1; i < e->func->insts.n; i++) {
        if (e->func->insts.data[i].op != LW_OP_OWNER)
            continue;
        one = lw_def(e, "ptrtoint $s $s to i64", pointer_type(e), held_by(e, i).text);
        any = lw_def(e, "or i64 $s, $s", any.text, one.text);
    }
    any = lw_def(e, "icmp eq i64 $s, 0", any.text);
    lw_line(e, "br i1 $s, label %left, label %drop", any.text);
    lw_text_add(e->out, "drop:\n");
    for (uint32_t i = 1; i < e->func->insts.n; i++)
        if (e->func->insts.data[i].op == LW_OP_OWNER)
            call(e, "lw_memory_release", held_by(e, i));
    lw_line(e, "br label %left");
    lw_text_add(e->out, "left:\n");
    for (uint32_t i = 0; i < n; i++)
        values[i] = lw_def(e, "load $t, $s %r$u", e->func->results.data[i],
                           slot_type(e, e->func->results.data[i]).text, i);
    lw_emit_values(e, values);
    lw_free(values);
}

/* ---- functions of the module ---- */

/* These are inlined, so that LLVM removes what it knows about the owner; what counts is called,
 * because it is long and rare: dozens of copies of it would take most of the time of a
 * compilation. */
static const char moving[] =
    "\ndefine internal void @lw_memory_hold($owner %o, $byte %p) nounwind alwaysinline {\n"
    "entry:\n"
    "  %old = load $byte, $owner %o, align 8\n"
    "  %same = icmp eq $byte %old, %p\n"
    "  br i1 %same, label %out, label %change\n"
    "change:\n"
    "  store $byte %p, $owner %o, align 8\n"
    "  call void @lw_memory_retain($byte %p)\n"
    "  call void @lw_memory_release($byte %old)\n"
    "  br label %out\n"
    "out:\n"
    "  ret void\n}\n"

    "\ndefine internal void @lw_memory_take($owner %o, $byte %p) nounwind alwaysinline {\n"
    "entry:\n"
    "  %old = load $byte, $owner %o, align 8\n"
    "  store $byte %p, $owner %o, align 8\n"
    "  %none = icmp eq $byte %old, null\n"
    "  br i1 %none, label %out, label %drop\n"
    "drop:\n"
    "  call void @lw_memory_release($byte %old)\n"
    "  br label %out\n"
    "out:\n"
    "  ret void\n}\n"

    "\ndefine internal void @lw_memory_give($owner %o, $byte %p) nounwind alwaysinline {\n"
    "entry:\n"
    "  %old = load $byte, $owner %o, align 8\n"
    "  %same = icmp eq $byte %old, %p\n"
    "  br i1 %same, label %ours, label %others\n"
    "ours:\n"
    "  store $byte null, $owner %o, align 8\n"
    "  br label %out\n"
    "others:\n"
    "  call void @lw_memory_retain($byte %p)\n"
    "  br label %out\n"
    "out:\n"
    "  ret void\n}\n";

/* A single reference is found by a load, without an atomic: nobody else can take another one
 * then. */
static const char counting[] =
    "\ndefine internal void @lw_memory_retain(ptr %m) nounwind noinline {\n"
    "entry:\n"
    "  %none = icmp eq ptr %m, null\n"
    "  br i1 %none, label %out, label %count\n"
    "count:\n"
    "  %before = atomicrmw add ptr %m, i64 1 monotonic, align 8\n"
    "  br label %out\n"
    "out:\n"
    "  ret void\n}\n"

    "\ndefine internal void @lw_memory_release(ptr %m) nounwind noinline {\n"
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
    if (e->counts)
        lw_gpu_memory_text(e, moving);
}
