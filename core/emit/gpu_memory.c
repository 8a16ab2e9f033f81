/* Memory of a GPU's heap, as text of the module that uses it.
 *
 * The device's own malloc and free are slow, because all threads share one heap: a million
 * threads that each make and free 1 KB take seconds. Two things are put in front of them.
 *
 * Freed memory is kept for the next thread that runs in the same place. A place is a lane of a
 * warp of a multiprocessor, and has LW_HEAP_WAYS slots, each of which holds the address of one
 * piece of memory, or 0. Only exchanges change a slot, so memory always has one owner, whoever
 * frees it and however threads interleave: what an exchange has returned is the caller's, what
 * it has stored is nobody's. The register %warpid may change while a thread runs, and places of
 * a device with more warps than its state has slots for coincide, which is as correct. Kept
 * memory that is too small is put back. Where malloc fails, kept memory is given back to it, a
 * warp's after the other, until it has enough.
 *
 * New memory is allocated at once for all lanes of a warp that ask for as much together: one
 * chunk, cut into pieces. A chunk counts the pieces that have not been given back, and is freed
 * with the last of them.
 *
 * Ordering: who puts memory into a slot, or drops a reference, has done so behind a release
 * fence; who takes memory from a slot, or finds that the reference was the last, does an
 * acquire. A single reference is found by a load, without an atomic: nobody else can take
 * another one then.
 *
 * Statistics are behind a load of the state, which is read anyway, and not in the key of the
 * cache: so they can be switched on for kernels that are compiled and loaded, as numba's can.
 *
 * Addresses are i64 everywhere, so that the text is the same for both readers of libNVVM.
 * tests/oracle/test_gpu_memory.py runs this text on the CPU. */
#include "core/emit/emit_internal.h"

#include "core/ir/counted.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* What the text calls by a name: $name. */
static const struct named {
    const char *name;
    int value;
} constants[] = {
    {"count_at", LW_COUNTED_COUNT_AT},
    {"destructor_at", LW_COUNTED_DESTRUCTOR_AT},
    {"information_at", LW_COUNTED_INFORMATION_AT},
    {"data_at", LW_COUNTED_DATA_AT},
    {"size_at", LW_COUNTED_SIZE_AT},
    {"header", LW_COUNTED_HEADER},
    {"counts_at", LW_HEAP_COUNTS_AT},
    {"allocated_at", LW_HEAP_ALLOCATED_AT},
    {"freed_at", LW_HEAP_FREED_AT},
    {"made_at", LW_HEAP_MADE_AT},
    {"destroyed_at", LW_HEAP_DESTROYED_AT},
    {"warps_at", LW_HEAP_WARPS_AT},
    {"sm_warps_at", LW_HEAP_SM_WARPS_AT},
    {"kept_at", LW_HEAP_KEPT_AT},
    {"shared_at", LW_HEAP_SHARED_AT},
    {"slots", LW_HEAP_HEADER},
    {"ways", LW_HEAP_WAYS},
    {"way_bytes", LW_HEAP_WAY_BYTES},
    {"warp_bytes", LW_HEAP_WARP_BYTES},
    {"warp_slots", LW_HEAP_WARP_BYTES / 8},
    {"prefix", LW_HEAP_PREFIX},
};

/* ---- words, and what PTX alone can say ---- */

static const char words[] =
    "\n@" LW_HEAP_VARIABLE " = addrspace(1) externally_initialized global i64 0, align 8\n"
    "declare $byte @malloc(i64)\n"
    "declare void @free($byte)\n"
    "declare i32 @llvm.ctpop.i32(i32)\n"
    "declare i32 @llvm.cttz.i32(i32, i1)\n"
    "declare i32 @llvm.nvvm.read.ptx.sreg.smid()\n"
    "declare i32 @llvm.nvvm.read.ptx.sreg.warpid()\n"

    "\ndefine internal i64 @lw_word(i64 %at) nounwind alwaysinline {\n"
    "  %p = inttoptr i64 %at to $word\n"
    "  %v = load i64, $word %p, align 8\n"
    "  ret i64 %v\n}\n"

    "\ndefine internal void @lw_set(i64 %at, i64 %value) nounwind alwaysinline {\n"
    "  %p = inttoptr i64 %at to $word\n"
    "  store i64 %value, $word %p, align 8\n"
    "  ret void\n}\n"

    "\ndefine internal i64 @lw_field(i64 %of, i64 %at) nounwind alwaysinline {\n"
    "  %a = add i64 %of, %at\n"
    "  %v = call i64 @lw_word(i64 %a)\n"
    "  ret i64 %v\n}\n"

    "\ndefine internal void @lw_set_field(i64 %of, i64 %at, i64 %value) nounwind alwaysinline "
    "{\n"
    "  %a = add i64 %of, %at\n"
    "  call void @lw_set(i64 %a, i64 %value)\n"
    "  ret void\n}\n";

/* The assembly of one function: $0 is its result, then its arguments. */
typedef struct assembly {
    const char *result, *name, *parameters, *text, *arguments;
} assembly;

#define SEES ",~{memory}" /* keeps its place among loads and stores */

static const assembly assemblies[] = {
    {"i64", "lw_peek", "i64 %a", "ld.relaxed.gpu.b64 $0, [$1];", "=l,l" SEES},
    {"i64", "lw_see", "i64 %a", "ld.acquire.gpu.b64 $0, [$1];", "=l,l" SEES},
    {"i64", "lw_swap", "i64 %a, i64 %b", "atom.relaxed.gpu.exch.b64 $0, [$1], $2;",
     "=l,l,l" SEES},
    {"i64", "lw_empty", "i64 %a", "atom.acquire.gpu.exch.b64 $0, [$1], 0;", "=l,l" SEES},
    {"i64", "lw_less", "i64 %a", "atom.release.gpu.add.u64 $0, [$1], -1;", "=l,l" SEES},
    {"void", "lw_more", "i64 %a", "red.relaxed.gpu.add.u64 [$0], 1;", "l" SEES},
    {"void", "lw_order", "", "fence.acq_rel.gpu;", "~{memory}"},
    {"i32", "lw_lanes", "", "activemask.b32 $0;", "=r"},
    {"i32", "lw_lanes_below", "", "mov.u32 $0, %lanemask_lt;", "=r"},
    {"i32", "lw_alike", "i64 %a, i32 %b", "match.any.sync.b64 $0, $1, $2;", "=r,l,r"},
    {"i64", "lw_from", "i64 %a, i32 %b, i32 %c",
     "{ .reg .b32 lo, hi; mov.b64 {lo, hi}, $1; shfl.sync.idx.b32 lo, lo, $2, 31, $3; "
     "shfl.sync.idx.b32 hi, hi, $2, 31, $3; mov.b64 $0, {lo, hi}; }",
     "=l,l,r,r"},
    {"i64", "lw_opaque", "i64 %a", "mov.b64 $0, $1;", "=l,l"}, /* its loop stays a loop */
    {"void", "lw_meet", "i32 %a", "bar.warp.sync $0;", "r" SEES},
};

/* ---- memory: an address behind its prefix ---- */

static const char heap[] =
    "\ndefine internal i64 @lw_heap_state_address() nounwind alwaysinline {\n"
    "  %s = load i64, $state @" LW_HEAP_VARIABLE ", align 8\n"
    "  ret i64 %s\n}\n"

    "\ndefine internal void @lw_heap_note(i64 %at) nounwind alwaysinline {\n"
    "entry:\n"
    "  %s = call i64 @lw_heap_state_address()\n"
    "  %none = icmp eq i64 %s, 0\n"
    "  br i1 %none, label %out, label %look\n"
    "look:\n"
    "  %on = call i64 @lw_field(i64 %s, i64 $counts_at)\n"
    "  %off = icmp eq i64 %on, 0\n"
    "  br i1 %off, label %out, label %count\n"
    "count:\n"
    "  %a = add i64 %s, %at\n"
    "  call void @lw_more(i64 %a)\n"
    "  br label %out\n"
    "out:\n"
    "  ret void\n}\n"

    "\ndefine internal i64 @lw_heap_malloc(i64 %bytes) nounwind alwaysinline {\n"
    "  %p = call $byte @malloc(i64 %bytes)\n"
    "  %m = ptrtoint $byte %p to i64\n"
    "  ret i64 %m\n}\n"

    "\ndefine internal void @lw_heap_free(i64 %m) nounwind alwaysinline {\n"
    "  %p = inttoptr i64 %m to $byte\n"
    "  call void @free($byte %p)\n"
    "  ret void\n}\n"

    "\ndefine internal i64 @lw_heap_prefix(i64 %base, i64 %chunk, i64 %room) nounwind "
    "alwaysinline {\n"
    "  %m = add i64 %base, $prefix\n"
    "  call void @lw_set_field(i64 %m, i64 -16, i64 %chunk)\n"
    "  call void @lw_set_field(i64 %m, i64 -8, i64 %room)\n"
    "  ret i64 %m\n}\n"

    /* of this thread alone */
    "\ndefine internal i64 @lw_heap_single(i64 %room) nounwind noinline {\n"
    "entry:\n"
    "  %bytes = add i64 %room, $prefix\n"
    "  %base = call i64 @lw_heap_malloc(i64 %bytes)\n"
    "  %none = icmp eq i64 %base, 0\n"
    "  br i1 %none, label %out, label %fill\n"
    "fill:\n"
    "  %m = call i64 @lw_heap_prefix(i64 %base, i64 0, i64 %room)\n"
    "  br label %out\n"
    "out:\n"
    "  %r = phi i64 [ 0, %entry ], [ %m, %fill ]\n"
    "  ret i64 %r\n}\n"

    /* of all lanes together that ask for as much */
    "\ndefine internal i64 @lw_heap_fresh(i64 %state, i64 %room) nounwind noinline convergent "
    "{\n"
    "entry:\n"
    "  %most = call i64 @lw_field(i64 %state, i64 $shared_at)\n"
    "  %large = icmp ugt i64 %room, %most\n"
    "  br i1 %large, label %alone, label %warp\n"
    "warp:\n"
    "  %lanes = call i32 @lw_lanes()\n"
    "  %alike = call i32 @lw_alike(i64 %room, i32 %lanes)\n"
    "  %n = call i32 @llvm.ctpop.i32(i32 %alike)\n"
    "  %few = icmp ult i32 %n, 2\n"
    "  br i1 %few, label %alone, label %shared\n"
    "shared:\n"
    "  %below = call i32 @lw_lanes_below()\n"
    "  %before = and i32 %alike, %below\n"
    "  %rank = call i32 @llvm.ctpop.i32(i32 %before)\n"
    "  %leader = call i32 @llvm.cttz.i32(i32 %alike, i1 true)\n"
    "  %each = add i64 %room, $prefix\n"
    "  %leads = icmp eq i32 %rank, 0\n"
    "  br i1 %leads, label %make, label %meet\n"
    "make:\n"
    "  %count = zext i32 %n to i64\n"
    "  %all = mul i64 %each, %count\n"
    "  %total = add i64 %all, $prefix\n"
    "  %made = call i64 @lw_heap_malloc(i64 %total)\n"
    "  %failed = icmp eq i64 %made, 0\n"
    "  br i1 %failed, label %meet, label %begin\n"
    "begin:\n"
    "  call void @lw_set(i64 %made, i64 %count)\n"
    "  br label %meet\n"
    "meet:\n"
    "  %mine = phi i64 [ 0, %shared ], [ 0, %make ], [ %made, %begin ]\n"
    "  %chunk = call i64 @lw_from(i64 %mine, i32 %leader, i32 %alike)\n"
    "  call void @lw_meet(i32 %alike)\n"
    "  %none = icmp eq i64 %chunk, 0\n"
    "  br i1 %none, label %alone, label %cut\n"
    "cut:\n"
    "  %nth = zext i32 %rank to i64\n"
    "  %skip = mul i64 %each, %nth\n"
    "  %skips = add i64 %skip, $prefix\n"
    "  %base = add i64 %chunk, %skips\n"
    "  %piece = call i64 @lw_heap_prefix(i64 %base, i64 %chunk, i64 %room)\n"
    "  ret i64 %piece\n"
    "alone:\n"
    "  %m = call i64 @lw_heap_single(i64 %room)\n"
    "  ret i64 %m\n}\n"

    /* back to malloc; needs: an acquire before it */
    "\ndefine internal void @lw_heap_drop(i64 %m) nounwind noinline {\n"
    "entry:\n"
    "  %chunk = call i64 @lw_field(i64 %m, i64 -16)\n"
    "  %single = icmp eq i64 %chunk, 0\n"
    "  br i1 %single, label %alone, label %piece\n"
    "alone:\n"
    "  %base = sub i64 %m, $prefix\n"
    "  call void @lw_heap_free(i64 %base)\n"
    "  ret void\n"
    "piece:\n"
    "  %before = call i64 @lw_less(i64 %chunk)\n"
    "  %last = icmp eq i64 %before, 1\n"
    "  br i1 %last, label %whole, label %out\n"
    "whole:\n"
    "  call void @lw_order()\n"
    "  call void @lw_heap_free(i64 %chunk)\n"
    "  br label %out\n"
    "out:\n"
    "  ret void\n}\n";

/* ---- slots ---- */

static const char slots[] =
    /* the first slot of this thread's place */
    "\ndefine internal i64 @lw_heap_place(i64 %state) nounwind alwaysinline {\n"
    "  %sm = call i32 @llvm.nvvm.read.ptx.sreg.smid()\n"
    "  %warp = call i32 @llvm.nvvm.read.ptx.sreg.warpid()\n"
    "  %lane = call i32 @llvm.nvvm.read.ptx.sreg.laneid()\n"
    "  %each64 = call i64 @lw_field(i64 %state, i64 $sm_warps_at)\n"
    "  %n64 = call i64 @lw_field(i64 %state, i64 $warps_at)\n"
    "  %each = trunc i64 %each64 to i32\n"
    "  %n = trunc i64 %n64 to i32\n"
    "  %before = mul i32 %sm, %each\n"
    "  %index = add i32 %before, %warp\n"
    "  %inside = urem i32 %index, %n\n"
    "  %wide = zext i32 %inside to i64\n"
    "  %skip = mul i64 %wide, $warp_bytes\n"
    "  %lane64 = zext i32 %lane to i64\n"
    "  %within = shl i64 %lane64, 3\n"
    "  %at = add i64 %skip, %within\n"
    "  %behind = add i64 %at, $slots\n"
    "  %slot = add i64 %state, %behind\n"
    "  ret i64 %slot\n}\n"

    /* needs: a release before it. What it displaces is dropped. */
    "\ndefine internal void @lw_heap_keep(i64 %state, i64 %memory) nounwind noinline {\n"
    "entry:\n"
    "  %first = call i64 @lw_heap_place(i64 %state)\n"
    "  br label %look\n"
    "look:\n"
    "  %i = phi i64 [ 0, %entry ], [ %next, %taken ]\n"
    "  %m = phi i64 [ %memory, %entry ], [ %m2, %taken ]\n"
    "  %skip = mul i64 %i, $way_bytes\n"
    "  %slot = add i64 %first, %skip\n"
    "  %there = call i64 @lw_peek(i64 %slot)\n"
    "  %free = icmp eq i64 %there, 0\n"
    "  br i1 %free, label %put, label %taken\n"
    "put:\n"
    "  %old = call i64 @lw_swap(i64 %slot, i64 %m)\n"
    "  %done = icmp eq i64 %old, 0\n"
    "  br i1 %done, label %out, label %late\n"
    "late:\n" /* another thread was faster: what it has put goes on */
    "  call void @lw_order()\n"
    "  br label %taken\n"
    "taken:\n"
    "  %m2 = phi i64 [ %m, %look ], [ %old, %late ]\n"
    "  %next = add i64 %i, 1\n"
    "  %more = icmp ult i64 %next, $ways\n"
    "  br i1 %more, label %look, label %replace\n"
    "replace:\n"
    "  %oldest = call i64 @lw_swap(i64 %first, i64 %m2)\n"
    "  %gone = icmp eq i64 %oldest, 0\n"
    "  br i1 %gone, label %out, label %drop\n"
    "drop:\n"
    "  call void @lw_order()\n"
    "  call void @lw_heap_drop(i64 %oldest)\n"
    "  br label %out\n"
    "out:\n"
    "  ret void\n}\n"

    /* kept memory with this much room, or 0 */
    "\ndefine internal i64 @lw_heap_kept(i64 %state, i64 %room) nounwind noinline {\n"
    "entry:\n"
    "  %first = call i64 @lw_heap_place(i64 %state)\n"
    "  br label %look\n"
    "look:\n"
    "  %i = phi i64 [ 0, %entry ], [ %next, %on ]\n"
    "  %skip = mul i64 %i, $way_bytes\n"
    "  %slot = add i64 %first, %skip\n"
    "  %there = call i64 @lw_peek(i64 %slot)\n"
    "  %none = icmp eq i64 %there, 0\n"
    "  br i1 %none, label %on, label %get\n"
    "get:\n"
    "  %m = call i64 @lw_empty(i64 %slot)\n"
    "  %lost = icmp eq i64 %m, 0\n"
    "  br i1 %lost, label %on, label %measure\n"
    "measure:\n"
    "  %has = call i64 @lw_field(i64 %m, i64 -8)\n"
    "  %fits = icmp uge i64 %has, %room\n"
    "  br i1 %fits, label %found, label %back\n"
    "back:\n"
    "  call void @lw_order()\n"
    "  %old = call i64 @lw_swap(i64 %slot, i64 %m)\n"
    "  %alone = icmp eq i64 %old, 0\n"
    "  br i1 %alone, label %on, label %drop\n"
    "drop:\n"
    "  call void @lw_order()\n"
    "  call void @lw_heap_drop(i64 %old)\n"
    "  br label %on\n"
    "on:\n"
    "  %next = add i64 %i, 1\n"
    "  %more = icmp ult i64 %next, $ways\n"
    "  br i1 %more, label %look, label %out\n"
    "found:\n"
    "  ret i64 %m\n"
    "out:\n"
    "  ret i64 0\n}\n"

    /* Malloc has failed: gives it what is kept, beginning with this thread's warp, and asks
     * again behind each warp of which something was kept. */
    "\ndefine internal i64 @lw_heap_scavenge(i64 %state, i64 %room) nounwind noinline {\n"
    "entry:\n"
    "  %place = call i64 @lw_heap_place(i64 %state)\n"
    "  %begin = add i64 %state, $slots\n"
    "  %within = sub i64 %place, %begin\n"
    "  %warp = udiv i64 %within, $warp_bytes\n"
    "  %n = call i64 @lw_field(i64 %state, i64 $warps_at)\n"
    "  %each = call i64 @lw_opaque(i64 $warp_slots)\n"
    "  br label %warps\n"
    "warps:\n"
    "  %k = phi i64 [ 0, %entry ], [ %k2, %empty ]\n"
    "  %sum = add i64 %warp, %k\n"
    "  %w = urem i64 %sum, %n\n"
    "  %skip = mul i64 %w, $warp_bytes\n"
    "  %from = add i64 %begin, %skip\n"
    "  br label %slots\n"
    "slots:\n"
    "  %i = phi i64 [ 0, %warps ], [ %i4, %next ]\n"
    "  %gave = phi i1 [ false, %warps ], [ %gave2, %next ]\n"
    "  %at = shl i64 %i, 3\n"
    "  %slot = add i64 %from, %at\n"
    "  %slot1 = add i64 %slot, 8\n"
    "  %slot2 = add i64 %slot, 16\n"
    "  %slot3 = add i64 %slot, 24\n"
    "  %p0 = call i64 @lw_peek(i64 %slot)\n"
    "  %p1 = call i64 @lw_peek(i64 %slot1)\n"
    "  %p2 = call i64 @lw_peek(i64 %slot2)\n"
    "  %p3 = call i64 @lw_peek(i64 %slot3)\n"
    "  %o1 = or i64 %p0, %p1\n"
    "  %o2 = or i64 %p2, %p3\n"
    "  %any = or i64 %o1, %o2\n"
    "  %nothing = icmp eq i64 %any, 0\n"
    "  br i1 %nothing, label %next, label %give\n"
    "give:\n"
    "  call void @lw_heap_give(i64 %slot)\n"
    "  call void @lw_heap_give(i64 %slot1)\n"
    "  call void @lw_heap_give(i64 %slot2)\n"
    "  call void @lw_heap_give(i64 %slot3)\n"
    "  br label %next\n"
    "next:\n"
    "  %gave2 = phi i1 [ %gave, %slots ], [ true, %give ]\n"
    "  %i4 = add i64 %i, 4\n"
    "  %within_warp = icmp ult i64 %i4, %each\n"
    "  br i1 %within_warp, label %slots, label %end\n"
    "end:\n"
    "  br i1 %gave2, label %ask, label %empty\n"
    "ask:\n"
    "  %m = call i64 @lw_heap_single(i64 %room)\n"
    "  %failed = icmp eq i64 %m, 0\n"
    "  br i1 %failed, label %empty, label %found\n"
    "empty:\n"
    "  %k2 = add i64 %k, 1\n"
    "  %more = icmp ult i64 %k2, %n\n"
    "  br i1 %more, label %warps, label %out\n"
    "found:\n"
    "  ret i64 %m\n"
    "out:\n"
    "  ret i64 0\n}\n"

    "\ndefine internal void @lw_heap_give(i64 %slot) nounwind noinline {\n"
    "entry:\n"
    "  %m = call i64 @lw_empty(i64 %slot)\n"
    "  %none = icmp eq i64 %m, 0\n"
    "  br i1 %none, label %out, label %drop\n"
    "drop:\n"
    "  call void @lw_heap_drop(i64 %m)\n"
    "  br label %out\n"
    "out:\n"
    "  ret void\n}\n";

/* ---- allocating and freeing ---- */

static const char allocation[] =
    "\ndefine internal i64 @lw_heap_take(i64 %bytes) nounwind noinline {\n"
    "entry:\n"
    "  %huge = icmp ugt i64 %bytes, 4611686018427387904\n" /* 2^62 */
    "  br i1 %huge, label %never, label %round\n"
    "never:\n"
    "  ret i64 0\n"
    "round:\n"
    "  %up = add i64 %bytes, 15\n"
    "  %room = and i64 %up, -16\n"
    "  %state = call i64 @lw_heap_state_address()\n"
    "  %none = icmp eq i64 %state, 0\n"
    "  br i1 %none, label %plain, label %choose\n"
    "plain:\n"
    "  %single = call i64 @lw_heap_single(i64 %room)\n"
    "  ret i64 %single\n"
    "choose:\n"
    "  %most = call i64 @lw_field(i64 %state, i64 $kept_at)\n"
    "  %large = icmp ugt i64 %room, %most\n"
    "  br i1 %large, label %new, label %old\n"
    "old:\n"
    "  %kept = call i64 @lw_heap_kept(i64 %state, i64 %room)\n"
    "  %miss = icmp eq i64 %kept, 0\n"
    "  br i1 %miss, label %new, label %found\n"
    "new:\n"
    "  %fresh = call i64 @lw_heap_fresh(i64 %state, i64 %room)\n"
    "  %failed = icmp eq i64 %fresh, 0\n"
    "  br i1 %failed, label %last, label %found\n"
    "last:\n"
    "  %found_again = call i64 @lw_heap_scavenge(i64 %state, i64 %room)\n"
    "  %out = icmp eq i64 %found_again, 0\n"
    "  br i1 %out, label %never, label %found\n"
    "found:\n"
    "  %m = phi i64 [ %kept, %old ], [ %fresh, %new ], [ %found_again, %last ]\n"
    "  call void @lw_heap_note(i64 $allocated_at)\n"
    "  ret i64 %m\n}\n"

    "\ndefine internal void @lw_heap_put(i64 %m) nounwind noinline {\n"
    "entry:\n"
    "  call void @lw_heap_note(i64 $freed_at)\n"
    "  call void @lw_order()\n"
    "  %state = call i64 @lw_heap_state_address()\n"
    "  %none = icmp eq i64 %state, 0\n"
    "  br i1 %none, label %drop, label %choose\n"
    "choose:\n"
    "  %room = call i64 @lw_field(i64 %m, i64 -8)\n"
    "  %most = call i64 @lw_field(i64 %state, i64 $kept_at)\n"
    "  %large = icmp ugt i64 %room, %most\n"
    "  br i1 %large, label %drop, label %keep\n"
    "keep:\n"
    "  call void @lw_heap_keep(i64 %state, i64 %m)\n"
    "  ret void\n"
    "drop:\n"
    "  call void @lw_heap_drop(i64 %m)\n"
    "  ret void\n}\n";

/* ---- headers ---- */

static const char counting[] =
    "\ndefine internal void @lw_memory_begin(i64 %m, i64 %data, i64 %bytes) nounwind {\n"
    "  call void @lw_set_field(i64 %m, i64 $count_at, i64 1)\n"
    "  call void @lw_set_field(i64 %m, i64 $destructor_at, i64 0)\n"
    "  call void @lw_set_field(i64 %m, i64 $information_at, i64 0)\n"
    "  call void @lw_set_field(i64 %m, i64 $data_at, i64 %data)\n"
    "  call void @lw_set_field(i64 %m, i64 $size_at, i64 %bytes)\n"
    "  call void @lw_heap_note(i64 $made_at)\n"
    "  ret void\n}\n"

    "\ndefine internal i64 @lw_memory_new(i64 %bytes) nounwind {\n"
    "entry:\n"
    "  %huge = icmp ugt i64 %bytes, 4611686018427387904\n" /* which heap_take refuses */
    "  %more = select i1 %huge, i64 0, i64 $header\n"
    "  %all = add i64 %bytes, %more\n"
    "  %m = call i64 @lw_heap_take(i64 %all)\n"
    "  %none = icmp eq i64 %m, 0\n"
    "  br i1 %none, label %out, label %fill\n"
    "fill:\n"
    "  %data = add i64 %m, $header\n"
    "  call void @lw_memory_begin(i64 %m, i64 %data, i64 %bytes)\n"
    "  br label %out\n"
    "out:\n"
    "  ret i64 %m\n}\n"

    "\ndefine internal void @lw_memory_retain($byte %p) nounwind {\n"
    "entry:\n"
    "  %none = icmp eq $byte %p, null\n"
    "  br i1 %none, label %out, label %count\n"
    "count:\n"
    "  %m = ptrtoint $byte %p to i64\n"
    "  call void @lw_more(i64 %m)\n"
    "  br label %out\n"
    "out:\n"
    "  ret void\n}\n"

    "\ndefine internal void @lw_memory_release($byte %p) nounwind noinline {\n"
    "entry:\n"
    "  %none = icmp eq $byte %p, null\n"
    "  br i1 %none, label %out, label %look\n"
    "look:\n"
    "  %m = ptrtoint $byte %p to i64\n"
    "  %there = call i64 @lw_peek(i64 %m)\n"
    "  %single = icmp eq i64 %there, 1\n"
    "  br i1 %single, label %last, label %less\n"
    "less:\n"
    "  %before = call i64 @lw_less(i64 %m)\n"
    "  %was_last = icmp eq i64 %before, 1\n"
    "  br i1 %was_last, label %last, label %out\n"
    "last:\n"
    "  call void @lw_memory_end(i64 %m)\n"
    "  br label %out\n"
    "out:\n"
    "  ret void\n}\n"

    /* Memory that only its owner holds, and that has room but not twice as much as needed, is
     * used again. Counted as what it stands for: one freed, one allocated. */
    "\ndefine internal $byte @lw_memory_renew($byte %p, i64 %bytes) nounwind noinline {\n"
    "entry:\n"
    "  %none = icmp eq $byte %p, null\n"
    "  br i1 %none, label %new, label %look\n"
    "look:\n"
    "  %m = ptrtoint $byte %p to i64\n"
    "  %there = call i64 @lw_see(i64 %m)\n"
    "  %single = icmp eq i64 %there, 1\n"
    "  br i1 %single, label %ours, label %release\n"
    "ours:\n"
    "  %destructor = call i64 @lw_field(i64 %m, i64 $destructor_at)\n"
    "  %is_ours = icmp eq i64 %destructor, 0\n"
    "  br i1 %is_ours, label %measure, label %release\n"
    "measure:\n"
    "  %room = call i64 @lw_field(i64 %m, i64 -8)\n"
    "  %all = add i64 %bytes, $header\n"
    "  %fits = icmp ule i64 %all, %room\n"
    "  %half = lshr i64 %room, 1\n"
    "  %most = add i64 %all, $header\n"
    "  %close = icmp ule i64 %half, %most\n"
    "  %good = and i1 %fits, %close\n"
    "  br i1 %good, label %again, label %release\n"
    "again:\n"
    "  call void @lw_heap_note(i64 $destroyed_at)\n"
    "  call void @lw_heap_note(i64 $freed_at)\n"
    "  call void @lw_heap_note(i64 $allocated_at)\n"
    "  %data = add i64 %m, $header\n"
    "  call void @lw_memory_begin(i64 %m, i64 %data, i64 %bytes)\n"
    "  ret $byte %p\n"
    "release:\n"
    "  call void @lw_memory_release($byte %p)\n"
    "  br label %new\n"
    "new:\n"
    "  %made = call i64 @lw_memory_new(i64 %bytes)\n"
    "  %q = inttoptr i64 %made to $byte\n"
    "  ret $byte %q\n}\n";

/* The last reference is gone. A destructor, which only foreign code registers, gets the bytes
 * and the information that it was registered with. */
static const char end[] = "\ndefine internal void @lw_memory_end(i64 %m) nounwind {\n"
                          "  call void @lw_heap_note(i64 $destroyed_at)\n"
                          "  call void @lw_heap_put(i64 %m)\n"
                          "  ret void\n}\n";

static const char end_with_destructor[] =
    "\ndefine internal void @lw_memory_end(i64 %m) nounwind noinline {\n"
    "entry:\n"
    "  call void @lw_order()\n"
    "  %address = call i64 @lw_field(i64 %m, i64 $destructor_at)\n"
    "  %none = icmp eq i64 %address, 0\n"
    "  br i1 %none, label %out, label %destroy\n"
    "destroy:\n"
    "  %data64 = call i64 @lw_field(i64 %m, i64 $data_at)\n"
    "  %bytes = call i64 @lw_field(i64 %m, i64 $size_at)\n"
    "  %information64 = call i64 @lw_field(i64 %m, i64 $information_at)\n"
    "  %data = inttoptr i64 %data64 to $byte\n"
    "  %information = inttoptr i64 %information64 to $byte\n"
    "  %destructor = inttoptr i64 %address to $destructor\n"
    "  call void %destructor($byte %data, i64 %bytes, $byte %information)\n"
    "  br label %out\n"
    "out:\n"
    "  call void @lw_heap_note(i64 $destroyed_at)\n"
    "  call void @lw_heap_put(i64 %m)\n"
    "  ret void\n}\n";

/* ---- printing ---- */

static bool
add_constant(lw_text *out, const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (strlen(constants[i].name) == n && memcmp(constants[i].name, name, n) == 0) {
            lw_text_addf(out, "%d", constants[i].value);
            return true;
        }
    return false;
}

/* What a $name means that depends on whether pointers have a type. */
static const char *
pointer_named(bool typed, const char *name, size_t n)
{
    static const struct {
        const char *name, *typed, *opaque;
    } rows[] = {{"byte", "i8*", "ptr"},
                {"owner", "i8**", "ptr"},
                {"word", "i64*", "ptr"},
                {"state", "i64 addrspace(1)*", "ptr addrspace(1)"},
                {"destructor", "void (i8*, i64, i8*)*", "ptr"}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strlen(rows[i].name) == n && memcmp(rows[i].name, name, n) == 0)
            return typed ? rows[i].typed : rows[i].opaque;
    return NULL;
}

void
lw_gpu_memory_text(lw_emitter *e, const char *text)
{
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, "$");
        const char *pointer;
        lw_text_add_n(e->out, at, n);
        at += n;
        if (*at == 0)
            return;
        n = strspn(++at, "abcdefghijklmnopqrstuvwxyz_");
        pointer = pointer_named(e->typed, at, n);
        if (pointer != NULL)
            lw_text_add(e->out, pointer);
        else if (!add_constant(e->out, at, n))
            assert(!"the text names a constant that is in the table");
        at += n;
    }
}

static void
add_assembly(lw_emitter *e, const assembly *a)
{
    bool none = strcmp(a->result, "void") == 0;

    lw_text_addf(e->out,
                 "\ndefine internal %s @%s(%s) nounwind convergent alwaysinline {\n"
                 "  %scall %s asm sideeffect \"",
                 a->result, a->name, a->parameters, none ? "" : "%r = ", a->result);
    lw_text_add(e->out, a->text);
    lw_text_addf(e->out, "\", \"%s\"(%s) nounwind convergent\n  ret %s%s\n}\n", a->arguments,
                 a->parameters, a->result, none ? "" : " %r");
}

static void
mark_variable_used(lw_emitter *e)
{
    lw_text_add(&e->used, e->n_used++ ? ",\n  " : "\n  ");
    if (e->typed)
        lw_text_add(&e->used, "i8* addrspacecast (i8 addrspace(1)* bitcast (i64 addrspace(1)* "
                              "@" LW_HEAP_VARIABLE " to i8 addrspace(1)*) to i8*)");
    else
        lw_text_add(&e->used,
                    "ptr addrspacecast (ptr addrspace(1) @" LW_HEAP_VARIABLE " to ptr)");
}

/* Whether memory of others can reach this module. */
static bool
meets_foreign(const lw_emitter *e)
{
    bool meets = e->options->nrt;

    for (uint32_t i = 0; i < e->module->externs.n; i++)
        meets |= e->module->externs.data[i].device;
    return meets;
}

void
lw_gpu_memory_print(lw_emitter *e)
{
    bool foreign = meets_foreign(e);

    lw_declare(e, "i32 @llvm.nvvm.read.ptx.sreg.laneid()");
    mark_variable_used(e);
    lw_gpu_memory_text(e, words);
    for (size_t i = 0; i < sizeof assemblies / sizeof *assemblies; i++)
        add_assembly(e, &assemblies[i]);
    lw_gpu_memory_text(e, heap);
    lw_gpu_memory_text(e, slots);
    lw_gpu_memory_text(e, allocation);
    lw_gpu_memory_text(e, counting);
    lw_gpu_memory_text(e, foreign ? end_with_destructor : end);
    if (e->options->nrt)
        lw_gpu_nrt_print(e);
}
