/* What a module of a GPU offers to code in other languages that is linked with it: functions
 * with numba's names over gpu_memory.c, declared for CUDA C++ in
 * lanewise/include/lanewise_nrt.h. They are weak, so that several modules may bring them along.
 */
#include "core/emit/emit_internal.h"

typedef struct offered {
    const char *result, *name, *parameters; /* letters: p = $byte, l = i64, i = i32, v = void */
    const char *body;
} offered;

static const offered offers[] = {
    {"p", "NRT_Allocate", "l",
     "  %m = call i64 @lw_heap_take(i64 %p0)\n"
     "  %p = inttoptr i64 %m to $byte\n"
     "  ret $byte %p\n"},
    {"p", "NRT_Allocate_External", "l",
     "  %p = call $byte @NRT_Allocate(i64 %p0)\n"
     "  ret $byte %p\n"},
    {"v", "NRT_Free", "p",
     "  %none = icmp eq $byte %p0, null\n"
     "  br i1 %none, label %out, label %put\n"
     "put:\n"
     "  %m = ptrtoint $byte %p0 to i64\n"
     "  call void @lw_heap_put(i64 %m)\n"
     "  br label %out\n"
     "out:\n"
     "  ret void\n"},
    {"v", "NRT_MemInfo_init", "pplpp",
     "  %m = ptrtoint $byte %p0 to i64\n"
     "  %data = ptrtoint $byte %p1 to i64\n"
     "  %destructor = ptrtoint $byte %p3 to i64\n"
     "  %information = ptrtoint $byte %p4 to i64\n"
     "  call void @lw_memory_begin(i64 %m, i64 %data, i64 %p2)\n"
     "  call void @lw_set_field(i64 %m, i64 $destructor_at, i64 %destructor)\n"
     "  call void @lw_set_field(i64 %m, i64 $information_at, i64 %information)\n"
     "  ret void\n"},
    {"p", "NRT_MemInfo_new", "plpp",
     "  %p = call $byte @NRT_Allocate(i64 $header)\n"
     "  %none = icmp eq $byte %p, null\n"
     "  br i1 %none, label %out, label %fill\n"
     "fill:\n"
     "  call void @NRT_MemInfo_init($byte %p, $byte %p0, i64 %p1, $byte %p2, $byte %p3)\n"
     "  br label %out\n"
     "out:\n"
     "  ret $byte %p\n"},
    {"p", "NRT_MemInfo_alloc", "l",
     "  %m = call i64 @lw_memory_new(i64 %p0)\n"
     "  %p = inttoptr i64 %m to $byte\n"
     "  ret $byte %p\n"},
    {"p", "NRT_MemInfo_alloc_aligned", "li",
     "  %align = zext i32 %p1 to i64\n"
     "  %huge = icmp ugt i64 %p0, 4611686018427387904\n"
     "  %more = select i1 %huge, i64 0, i64 %align\n"
     "  %all = add i64 %p0, %more\n"
     "  %m = call i64 @lw_memory_new(i64 %all)\n"
     "  %unaligned = icmp ult i32 %p1, 2\n"
     "  %none = icmp eq i64 %m, 0\n"
     "  %stop = or i1 %none, %unaligned\n"
     "  br i1 %stop, label %out, label %move\n"
     "move:\n"
     "  %data = add i64 %m, $header\n"
     "  %over = urem i64 %data, %align\n"
     "  %off = sub i64 %align, %over\n"
     "  %skip = urem i64 %off, %align\n"
     "  %aligned = add i64 %data, %skip\n"
     "  call void @lw_set_field(i64 %m, i64 $data_at, i64 %aligned)\n"
     "  call void @lw_set_field(i64 %m, i64 $size_at, i64 %p0)\n"
     "  br label %out\n"
     "out:\n"
     "  %p = inttoptr i64 %m to $byte\n"
     "  ret $byte %p\n"},
    {"p", "NRT_MemInfo_data_fast", "p",
     "  %m = ptrtoint $byte %p0 to i64\n"
     "  %data = call i64 @lw_field(i64 %m, i64 $data_at)\n"
     "  %p = inttoptr i64 %data to $byte\n"
     "  ret $byte %p\n"},
    {"v", "NRT_incref", "p", "  call void @lw_memory_retain($byte %p0)\n  ret void\n"},
    {"v", "NRT_decref", "p", "  call void @lw_memory_release($byte %p0)\n  ret void\n"},
    {"v", "NRT_MemInfo_call_dtor", "p",
     "  %m = ptrtoint $byte %p0 to i64\n"
     "  call void @lw_memory_end(i64 %m)\n"
     "  ret void\n"},
    {"v", "NRT_dealloc", "p", "  call void @NRT_Free($byte %p0)\n  ret void\n"},
    {"v", "NRT_MemInfo_destroy", "p",
     "  call void @lw_heap_note(i64 $destroyed_at)\n"
     "  call void @NRT_Free($byte %p0)\n"
     "  ret void\n"},
};

static const char *
letter_type(const lw_emitter *e, char letter)
{
    switch (letter) {
    case 'p': return lw_type(e, LW_DT_ptr);
    case 'l': return "i64";
    case 'i': return "i32";
    default: return "void";
    }
}

/* Linking LTO-IR drops what this list does not have. */
static void
mark_used(lw_emitter *e, const offered *o)
{
    lw_text_add(&e->used, e->n_used++ ? ",\n  " : "\n  ");
    if (!e->typed) {
        lw_text_addf(&e->used, "ptr @%s", o->name);
        return;
    }
    lw_text_addf(&e->used, "i8* bitcast (%s (", letter_type(e, *o->result));
    for (const char *at = o->parameters; *at; at++)
        lw_text_addf(&e->used, "%s%s", at == o->parameters ? "" : ", ", letter_type(e, *at));
    lw_text_addf(&e->used, ")* @%s to i8*)", o->name);
}

static void
add_offered(lw_emitter *e, const offered *o)
{
    lw_text_addf(e->out, "\ndefine weak %s @%s(", letter_type(e, *o->result), o->name);
    for (const char *at = o->parameters; *at; at++)
        lw_text_addf(e->out, "%s%s %%p%d", at == o->parameters ? "" : ", ", letter_type(e, *at),
                     (int)(at - o->parameters));
    lw_text_add(e->out, ") nounwind noinline {\nentry:\n");
    lw_gpu_memory_text(e, o->body);
    lw_text_add(e->out, "}\n");
    mark_used(e, o);
}

void
lw_gpu_nrt_print(lw_emitter *e)
{
    for (size_t i = 0; i < sizeof offers / sizeof *offers; i++)
        add_offered(e, &offers[i]);
}
