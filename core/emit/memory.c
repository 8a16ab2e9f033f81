/* Instructions on memory, vectors and slots. The GPU loads and stores vectors of narrow
 * elements as 32-bit words. Slots are allocas in the entry block; LLVM's mem2reg makes SSA of
 * them. */
#include "core/emit/emit_internal.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* The type through which memory is read and written. */
typedef struct shape {
    char text[32];
    uint32_t align;
    /* number of 32-bit words as which a vector of narrow elements is accessed; 0 = as it is */
    uint32_t words;
} shape;

static shape
shape_of(const lw_emitter *e, lw_dtype type, unsigned lanes)
{
    const char *memory = type == LW_DT_ptr ? lw_type(e, type) : lw_dtypes[type].memory;
    unsigned size = lw_dtypes[type].size_bytes, total = size * lanes;
    uint32_t code = e->inst->flags & LW_MEM_ALIGN_MASK;
    shape s = {.align = code ? 1u << (code - 1) : size};

    assert(size > 0 && lanes >= 1 && lanes <= 16 && (lanes & (lanes - 1)) == 0);
    /* libNVVM splits <16 x i8> into four accesses, turns bitcasts of <4 x i32> back into it,
     * and cannot compile arithmetic that it gathers from the lanes of <8 x half> */
    if (e->gpu && lanes > 1 && size < 4 && total >= 4)
        s.words = total / 4;
    if (s.words == 1)
        snprintf(s.text, sizeof s.text, "i32");
    else if (s.words)
        snprintf(s.text, sizeof s.text, "<%u x i32>", s.words);
    else if (lanes > 1)
        snprintf(s.text, sizeof s.text, "<%u x %s>", lanes, memory);
    else
        snprintf(s.text, sizeof s.text, "%s", memory);
    return s;
}

/* The pointer operand as LLVM wants it written: "float* %t3" or "ptr %v2". */
static lw_name
pointer_to(lw_emitter *e, const char *type, lw_ref pointer)
{
    lw_name name = lw_operand(e, pointer), out;

    assert(lw_operand_type(e, pointer) == LW_DT_ptr);
    if (e->typed) {
        if (strcmp(type, "i8") != 0)
            name = lw_def(e, "bitcast i8* $s to $s*", name.text, type);
        snprintf(out.text, sizeof out.text, "%s* %.30s", type, name.text);
    } else {
        snprintf(out.text, sizeof out.text, "ptr %.58s", name.text);
    }
    return out;
}

static lw_name
access_suffix(lw_emitter *e)
{
    bool invariant = e->inst->op == LW_OP_LOAD && ((e->inst->flags & LW_MEM_INVARIANT) ||
                                                   lw_is_constant_memory(e, e->inst->a));
    lw_name name = {""};

    if (invariant && e->invariant == 0)
        e->invariant = lw_metadata(e, "!{}");
    if (invariant)
        snprintf(name.text, sizeof name.text, ", !invariant.load !%u", e->invariant);
    if (e->access)
        snprintf(name.text + strlen(name.text), sizeof name.text - strlen(name.text),
                 ", !llvm.access.group !%u", e->access);
    return name;
}

/* Extracts the vector's lanes from the words that were loaded. */
static void
unpack_words(lw_emitter *e, const shape *s, lw_name loaded, lw_dtype type, uint32_t lanes)
{
    uint32_t bits = lw_dtypes[type].bits, each = lanes / s->words;
    lw_name word = loaded, part, vector = {"undef"};

    assert(s->words > 0 && lanes % s->words == 0 && each * bits == 32);
    for (uint32_t i = 0; i < lanes; i++) {
        if (i % each == 0 && s->words > 1)
            word = lw_def(e, "extractelement $s $s, i32 $u", s->text, loaded.text, i / each);
        part = i % each ? lw_def(e, "lshr i32 $s, $u", word.text, i % each * bits) : word;
        part = lw_def(e, "trunc i32 $s to i$u", part.text, bits);
        if (type == LW_DT_b1)
            part = lw_def(e, "icmp ne i8 $s, 0", part.text);
        else if (type == LW_DT_f16)
            part = lw_def(e, "bitcast i16 $s to half", part.text);
        if (i + 1 < lanes)
            vector = lw_def(e, "insertelement <$u x $t> $s, $t $s, i32 $u", lanes, type,
                            vector.text, type, part.text, i);
        else
            lw_result(e, "insertelement <$u x $t> $s, $t $s, i32 $u", lanes, type, vector.text,
                      type, part.text, i);
    }
}

static lw_name
pack_words(lw_emitter *e, const shape *s, lw_name vector, lw_dtype type, uint32_t lanes)
{
    uint32_t bits = lw_dtypes[type].bits, each = lanes / s->words;
    lw_name word = {""}, part, words = {"undef"};

    assert(s->words > 0 && lanes % s->words == 0 && each * bits == 32);
    for (uint32_t i = 0; i < lanes; i++) {
        part = lw_def(e, "extractelement <$u x $t> $s, i32 $u", lanes, type, vector.text, i);
        if (type == LW_DT_f16)
            part = lw_def(e, "bitcast half $s to i16", part.text);
        part = lw_def(e, "zext $s $s to i32", type == LW_DT_f16 ? "i16" : lw_type(e, type),
                      part.text);
        if (i % each)
            part = lw_def(e, "shl i32 $s, $u", part.text, i % each * bits);
        word = i % each ? lw_def(e, "or i32 $s, $s", word.text, part.text) : part;
        if (i % each == each - 1 && s->words > 1)
            words = lw_def(e, "insertelement $s $s, i32 $s, i32 $u", s->text, words.text,
                           word.text, i / each);
    }
    return s->words > 1 ? words : word;
}

/* The cache operator of a load or store in PTX; NULL: it has none. */
static const char *
cache_operator(const lw_emitter *e)
{
    switch (e->gpu ? e->inst->flags & LW_MEM_CACHE_MASK : 0) {
    case LW_MEM_CA: return "ca";
    case LW_MEM_CG: return "cg";
    case LW_MEM_CS: return "cs";
    case LW_MEM_LU: return "lu";
    case LW_MEM_CV: return "cv";
    case LW_MEM_WB: return "wb";
    case LW_MEM_WT: return "wt";
    default: return NULL;
    }
}

/* The state space of an access, as PTX writes it. It is empty, so that the address is generic,
 * where the pointer may point to shared or local memory. */
static const char *
space_of(const lw_emitter *e, lw_ref pointer)
{
    return lw_is_global_memory(e, pointer) ? ".global" : "";
}

/* How the operand of an access with a cache operator is passed: PTX accesses 8 bits through a
 * register of 16. */
typedef struct cached {
    const char *constraint, *passed; /* the register, and its type */
    unsigned bits;
} cached;

static cached
cached_as(lw_dtype type)
{
    switch (lw_dtypes[type].size_bytes) {
    case 1: return (cached){"h", "i16", 8};
    case 2: return (cached){"h", "i16", 16};
    case 4: return (cached){"r", "i32", 32};
    default: return (cached){"l", "i64", 64};
    }
}

static void
load_cached(lw_emitter *e, lw_dtype type, const char *cop)
{
    cached as = cached_as(type);
    lw_name value = lw_def(
        e, "call $s asm sideeffect \"ld$s.$s.b$u $$0, [$$1];\", \"=$s,l,~{memory}\"($s $v)",
        as.passed, space_of(e, e->inst->a), cop, as.bits, as.constraint, lw_type(e, LW_DT_ptr),
        e->inst->a);

    if (type == LW_DT_b1)
        lw_result(e, "icmp ne $s $s, 0", as.passed, value.text);
    else if (as.bits == 8)
        lw_result(e, "trunc $s $s to $t", as.passed, value.text, type);
    else
        lw_result(e, "bitcast $s $s to $t", as.passed, value.text, type);
}

static void
store_cached(lw_emitter *e, lw_dtype type, const char *cop)
{
    cached as = cached_as(type);
    lw_name value = lw_operand(e, e->inst->b);

    if (as.bits == 8)
        value = lw_def(e, "zext $t $s to $s", type, value.text, as.passed);
    else
        value = lw_def(e, "bitcast $t $s to $s", type, value.text, as.passed);
    lw_line(e,
            "call void asm sideeffect \"st$s.$s.b$u [$$0], $$1;\", \"l,$s,~{memory}\"($s $v, "
            "$s $s)",
            space_of(e, e->inst->a), cop, as.bits, as.constraint, lw_type(e, LW_DT_ptr),
            e->inst->a, as.passed, value.text);
}

void
lw_emit_load(lw_emitter *e)
{
    lw_dtype type = (lw_dtype)e->inst->type;
    uint32_t lanes = e->inst->lanes > 1 ? e->inst->lanes : 1;
    shape s = shape_of(e, type, lanes);
    const char *cop = cache_operator(e);
    lw_name pointer, suffix = access_suffix(e), value;

    if (cop) {
        load_cached(e, type, cop);
        return;
    }
    pointer = pointer_to(e, s.text, e->inst->a);
    if (s.words == 0 && type != LW_DT_b1) {
        lw_result(e, "load $s, $s, align $u$s", s.text, pointer.text, s.align, suffix.text);
        return;
    }
    value = lw_def(e, "load $s, $s, align $u$s", s.text, pointer.text, s.align, suffix.text);
    if (s.words)
        unpack_words(e, &s, value, type, lanes);
    else
        lw_result(e, "icmp ne $s $s, $s", s.text, value.text,
                  lanes > 1 ? "zeroinitializer" : "0");
}

void
lw_emit_store(lw_emitter *e)
{
    const lw_inst *made = &e->func->insts.data[e->inst->b];
    lw_dtype type = (lw_dtype)made->type;
    uint32_t lanes = made->lanes > 1 ? made->lanes : 1;
    shape s = shape_of(e, type, lanes);
    const char *cop = cache_operator(e);
    lw_name value, pointer, suffix = access_suffix(e);

    if (cop) {
        store_cached(e, type, cop);
        return;
    }
    value = lw_operand(e, e->inst->b);
    if (s.words)
        value = pack_words(e, &s, value, type, lanes);
    else if (type == LW_DT_b1 && lanes > 1)
        value = lw_def(e, "zext <$u x i1> $s to $s", lanes, value.text, s.text);
    else if (type == LW_DT_b1)
        value = lw_def(e, "zext i1 $s to i8", value.text);
    pointer = pointer_to(e, s.text, e->inst->a);
    lw_line(e, "store $s $s, $s, align $u$s", s.text, value.text, pointer.text, s.align,
            suffix.text);
}

void
lw_emit_prefetch(lw_emitter *e)
{
    lw_name pointer = lw_operand(e, e->inst->a);

    if (e->gpu) {
        lw_line(e, "call void asm sideeffect \"prefetch.global.L2 [$$0];\", \"l\"(i8* $s)",
                pointer.text);
        return;
    }
    lw_declare(e, "void @llvm.prefetch.p0(ptr, i32, i32, i32)");
    lw_line(e, "call void @llvm.prefetch.p0(ptr $s, i32 0, i32 3, i32 1)", pointer.text);
}

void
lw_emit_pack(lw_emitter *e)
{
    lw_dtype type = (lw_dtype)e->inst->type;
    uint32_t lanes = e->inst->lanes;
    lw_name vector = {"undef"};

    assert(lanes > 1 && e->inst->b + lanes <= e->func->lists.n);
    if (!e->gpu)
        snprintf(vector.text, sizeof vector.text, "poison");
    for (uint32_t i = 0; i < lanes; i++) {
        lw_ref value = e->func->lists.data[e->inst->b + i];
        if (i + 1 < lanes)
            vector = lw_def(e, "insertelement <$u x $t> $s, $t $v, i32 $u", lanes, type,
                            vector.text, type, value, i);
        else
            lw_result(e, "insertelement <$u x $t> $s, $t $v, i32 $u", lanes, type, vector.text,
                      type, value, i);
    }
}

void
lw_emit_lane(lw_emitter *e)
{
    const lw_inst *vector = &e->func->insts.data[e->inst->a];
    lw_dtype type = (lw_dtype)vector->type;

    assert(e->inst->b == 0 || e->inst->b < vector->lanes);
    if (vector->lanes > 1)
        lw_result(e, "extractelement <$u x $t> $v, i32 $u", (uint32_t)vector->lanes, type,
                  e->inst->a, e->inst->b);
    else
        lw_result(e, "select i1 true, $t $v, $t $v", type, e->inst->a, type, e->inst->a);
}

void
lw_emit_slot(lw_emitter *e, lw_ref slot, bool is_set)
{
    lw_name type = lw_value_type(e, slot);
    const char *star = e->typed ? "*" : "", *pointer = e->typed ? type.text : "ptr";

    assert(e->func->insts.data[slot].op == LW_OP_SLOT);
    assert(!is_set || lw_operand_type(e, e->inst->b) == lw_operand_type(e, slot));
    if (is_set)
        lw_line(e, "store $s $v, $s$s %s$u", type.text, e->inst->b, pointer, star, slot);
    else
        lw_result(e, "load $s, $s$s %s$u", type.text, pointer, star, slot);
}
