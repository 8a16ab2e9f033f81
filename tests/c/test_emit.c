/* Emits every op and intrinsic for every type on both targets. Run bare it checks that each
 * text comes out and holds nothing the older GPU reader refuses. With arguments it serves
 * tests/oracle/test_ops.py, which compiles and runs the texts:
 *
 *     test_emit ops  cpu|precise|cuda|opaque f32 [vector bits]     one function an op
 *     test_emit text cpu|precise|cuda|opaque -   [vector bits]     IR text from stdin
 *     test_emit random cpu|precise|cuda|opaque 7 [vector bits]     the random module of seed 7
 *
 * Each function is f(a, b, c, out, n); a comment line "; lw name out arg arg …" describes it.
 */
#include "core/emit/emit.h"
#include "core/ir/build.h"
#include "core/tables/intrinsics.h"

#include "tests/c/random_ir.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct maker {
    lw_module *module;
    bool gpu;
    lw_dtype type;
    lw_text notes;
    /* of the function being made */
    lw_builder b;
    lw_for loop;
    lw_ref args[3], out, index;
} maker;

static lw_ref
element(maker *m, lw_ref pointer, lw_dtype type)
{
    lw_builder *b = &m->b;
    lw_ref size = lw_ir_int(b, LW_DT_i64, lw_dtypes[type].size_bytes);

    return lw_ir_offset(b, pointer, lw_ir_mul(b, m->index, size));
}

/* Opens f and loads its arguments, one letter each: v the module's type, i an i32. */
static void
begin(maker *m, const char *name, lw_dtype out, const char *args)
{
    static const char *const names[] = {"a", "b", "c", "out"};
    lw_builder *b = &m->b;
    lw_ref pointers[4], n, global;
    char full[64];

    snprintf(full, sizeof full, "%s_%s", name, lw_dtypes[m->type].name);
    lw_text_addf(&m->notes, "; lw %s %s", full, lw_dtypes[out].name);
    lw_builder_start(b, m->module, full);
    b->func->linkage = m->gpu ? LW_KERNEL : LW_EXPORTED;
    for (int i = 0; i < 4; i++)
        pointers[i] = lw_ir_param_add(b, LW_DT_ptr, LW_PARAM_NOALIAS, names[i]);
    n = lw_ir_param_add(b, LW_DT_i64, 0, "n");
    if (m->gpu) {
        b->func->max_threads = 128;
        global = lw_ir_add(
            b, lw_ir_mul(b, lw_ir_sreg(b, LW_SREG_CTAID_X), lw_ir_sreg(b, LW_SREG_NTID_X)),
            lw_ir_sreg(b, LW_SREG_TID_X));
        m->index = lw_ir_cast(b, LW_DT_i64, global);
        lw_ir_if(b, lw_ir_compare(b, LW_OP_LT, m->index, n));
    } else {
        m->loop = lw_ir_for(b, lw_ir_int(b, LW_DT_i64, 0), n, lw_ir_int(b, LW_DT_i64, 1),
                            LW_LOOP_VECTORIZE);
        m->index = m->loop.i;
    }
    for (int i = 0; args[i]; i++) {
        lw_dtype type = args[i] == 'i' ? LW_DT_i32 : m->type;
        lw_text_addf(&m->notes, " %s", lw_dtypes[type].name);
        m->args[i] = lw_ir_load(b, type, 1, element(m, pointers[i], type), 0, 0);
    }
    lw_text_add(&m->notes, "\n");
    m->out = element(m, pointers[3], out);
}

static void
finish(maker *m, lw_ref value)
{
    lw_error err = {0};

    lw_ir_store(&m->b, m->out, value, 0, 0);
    if (m->gpu)
        lw_ir_end(&m->b);
    else
        lw_ir_for_end(&m->b, &m->loop);
    if (lw_ir_finish(&m->b, &err) != LW_OK) {
        fprintf(stderr, "%s\n", lw_error_text(&err));
        exit(1);
    }
}

static void
add_plain(maker *m, lw_op op, const char *args)
{
    bool to_bool = lw_ops[op].result == LW_RESULT_BOOL;

    begin(m, lw_ops[op].text, to_bool ? LW_DT_b1 : m->type, args);
    finish(m, lw_ir_emit(&m->b, op, m->type, m->args[0], args[1] ? m->args[1] : 0,
                         args[1] && args[2] ? m->args[2] : 0));
}

static void
add_casts(maker *m)
{
    char name[32];

    for (int to = LW_DT_b1; to <= LW_DT_f64; to++) {
        snprintf(name, sizeof name, "cast_%s", lw_dtypes[to].name);
        begin(m, name, (lw_dtype)to, "v");
        finish(m, lw_ir_emit(&m->b, LW_OP_CAST, (lw_dtype)to, m->args[0], 0, 0));
        if (m->type == LW_DT_b1 || to == LW_DT_b1 ||
            lw_dtypes[to].bits != lw_dtypes[m->type].bits)
            continue;
        snprintf(name, sizeof name, "bitcast_%s", lw_dtypes[to].name);
        begin(m, name, (lw_dtype)to, "v");
        finish(m, lw_ir_emit(&m->b, LW_OP_BITCAST, (lw_dtype)to, m->args[0], 0, 0));
    }
}

static void
add_intrinsics(maker *m)
{
    for (int i = 0; i < LW_N_INTRINSICS; i++) {
        const lw_intrinsic_row *row = &lw_intrinsics[i];
        if (!lw_intrinsic_takes((lw_intrinsic)i, m->type))
            continue;
        begin(m, row->name, lw_intrinsic_result((lw_intrinsic)i, m->type), row->args);
        finish(m, lw_ir_intrinsic(&m->b, (uint32_t)i, m->type, m->args, row->n_args));
    }
}

/* Vectors of each number of lanes: reversed copies of blocks. */
static void
add_vectors(maker *m)
{
    lw_builder *b = &m->b;
    lw_ref lanes[16], vector;
    char name[32];

    for (unsigned n = 2; n <= 16; n *= 2) {
        snprintf(name, sizeof name, "reverse%u", n);
        begin(m, name, m->type, "v");
        lw_ir_if(b, lw_ir_compare(b, LW_OP_EQ,
                                  lw_ir_and(b, m->index, lw_ir_int(b, LW_DT_i64, n - 1)),
                                  lw_ir_zero(b, LW_DT_i64)));
        vector = lw_ir_load(b, m->type, n, element(m, 1, m->type), 0, 0);
        for (unsigned k = 0; k < n; k++)
            lanes[n - 1 - k] = lw_ir_lane(b, vector, k);
        vector = lw_ir_pack(b, m->type, lanes, n);
        lw_ir_store(b, m->out, vector, 0, 0);
        lw_ir_end(b);
        if (m->gpu)
            lw_ir_end(b);
        else
            lw_ir_for_end(b, &m->loop);
        lw_ir_finish(b, NULL);
    }
}

static void
add_all(maker *m)
{
    static const lw_op numbers[] = {LW_OP_ADD, LW_OP_SUB, LW_OP_MUL, LW_OP_DIV};
    static const lw_op integers[] = {LW_OP_REM, LW_OP_MULHI, LW_OP_SHL, LW_OP_SHR};
    static const lw_op logic[] = {LW_OP_AND, LW_OP_OR, LW_OP_XOR};
    bool is_float = lw_is_float(m->type), is_integer = lw_is_integer(m->type);

    for (int i = 0; i < 4; i++) {
        if (is_float || is_integer)
            add_plain(m, numbers[i], "vv");
        if (is_integer)
            add_plain(m, integers[i], "vv");
        if (!is_float && i < 3)
            add_plain(m, logic[i], "vv");
    }
    for (int op = LW_OP_EQ; op <= LW_OP_GE; op++)
        add_plain(m, (lw_op)op, "vv");
    if (is_float)
        add_plain(m, LW_OP_FMA, "vvv");
    add_plain(m, m->type == LW_DT_b1 ? LW_OP_NOT : LW_OP_NEG, "v");
    if (is_integer)
        add_plain(m, LW_OP_NOT, "v");
    begin(m, "select", m->type, "vvv");
    finish(m, lw_ir_select(&m->b, lw_ir_compare(&m->b, LW_OP_LT, m->args[0], m->args[1]),
                           m->args[2], m->args[0]));
    add_casts(m);
    add_intrinsics(m);
    add_vectors(m);
}

/* ---- emitting ---- */

static bool
in_libmvec(const char *symbol)
{
    static void *library;

    if (library == NULL)
        library = dlopen("libmvec.so.1", RTLD_NOW);
    return library != NULL && dlsym(library, symbol) != NULL;
}

static lw_emit_options
options_of(const char *target, int vector_bits)
{
    bool gpu = strcmp(target, "cuda") == 0 || strcmp(target, "opaque") == 0;

    return (lw_emit_options){.target = gpu ? LW_TARGET_CUDA : LW_TARGET_CPU,
                             .opaque_pointers = strcmp(target, "opaque") == 0,
                             .lineinfo = true,
                             .precise = strcmp(target, "precise") == 0,
                             .vector_bits = vector_bits,
                             .has_vector_function = in_libmvec,
                             .host_features = ""};
}

static int
fail(const char *what, lw_error *err)
{
    fprintf(stderr, "%s: %s\n", what, lw_error_text(err));
    lw_error_reset(err);
    return 1;
}

static int
emit(const lw_module *module, const char *target, int bits, lw_text *out)
{
    lw_emit_options options = options_of(target, bits);
    lw_error err = {0};

    if (lw_ir_verify(module, &err) != LW_OK || lw_emit(module, &options, out, &err) != LW_OK)
        return fail(target, &err);
    return 0;
}

static int
emit_ops(const char *target, lw_dtype type, int bits, lw_text *out)
{
    maker m = {.gpu = options_of(target, bits).target == LW_TARGET_CUDA, .type = type};
    lw_error err = {0};
    int failed;

    if (lw_module_new(&m.module, &err) != LW_OK)
        return fail("module", &err);
    add_all(&m);
    lw_text_add(out, lw_text_get(&m.notes));
    failed = emit(m.module, target, bits, out);
    lw_text_reset(&m.notes);
    lw_module_free(m.module);
    return failed;
}

static int
emit_stdin(const char *target, int bits, lw_text *out)
{
    lw_module *module = NULL;
    lw_error err = {0};
    lw_text text;
    char block[4096];
    size_t n;
    int failed;

    lw_text_init(&text);
    while ((n = fread(block, 1, sizeof block, stdin)) > 0)
        lw_text_add_n(&text, block, n);
    failed = lw_ir_parse(lw_text_get(&text), &module, &err) != LW_OK ? fail("parse", &err) : 0;
    if (!failed)
        failed = emit(module, target, bits, out);
    lw_module_free(module);
    lw_text_reset(&text);
    return failed;
}

static int
emit_random(const char *target, unsigned seed, int bits, lw_text *out)
{
    lw_module *module = random_module(seed);
    int failed = module == NULL || emit(module, target, bits, out);

    lw_module_free(module);
    return failed;
}

/* ---- the bare run ---- */

/* Spellings that LLVM 7, libNVVM's older reader, does not know. */
static int
check_spelling(const char *text)
{
    static const char *const refused[] = {
        "fneg",     "poison",   "freeze",  " ptr",       "frem",       "bfloat",   "fptosi",
        "fptoui",   "nsw",      "nuw",     ".sat.",      "minimum.",   "maximum.", "llvm.smax",
        "llvm.exp", "llvm.sin", "memory(", "willreturn", "llvm.fabs.", "captures"};
    int failed = 0;

    for (unsigned i = 0; i < sizeof refused / sizeof *refused; i++)
        if (strstr(text, refused[i]) != NULL) {
            fprintf(stderr, "GPU text holds \"%s\"\n", refused[i]);
            failed = 1;
        }
    return failed;
}

static int
check_all(void)
{
    static const char *const targets[] = {"cpu", "precise", "cuda", "opaque"};
    int64_t live = lw_memory_live();
    int failed = 0;

    for (int type = LW_DT_b1; type <= LW_DT_f64; type++)
        for (int i = 0; i < 4; i++) {
            lw_text out;
            lw_text_init(&out);
            failed |= emit_ops(targets[i], (lw_dtype)type, 256, &out) || out.failed || !out.n;
            if (i == 2)
                failed |= check_spelling(lw_text_get(&out));
            if (i != 0 && strstr(lw_text_get(&out), "_ZGV") != NULL)
                failed |= 1;
            lw_text_reset(&out);
        }
    for (unsigned seed = 0; seed < 200; seed++) {
        lw_text out;
        lw_text_init(&out);
        failed |= emit_random("cuda", seed, 0, &out) || check_spelling(lw_text_get(&out));
        lw_text_reset(&out);
        lw_text_init(&out);
        failed |= emit_random("cpu", seed, 0, &out);
        lw_text_reset(&out);
    }
    if (lw_memory_live() != live) {
        fprintf(stderr, "%d blocks leaked\n", (int)(lw_memory_live() - live));
        failed = 1;
    }
    return failed;
}

/* Every allocation of one emission fails in turn. */
static int
check_out_of_memory(void)
{
    lw_module *module = NULL;
    lw_emit_options options = options_of("cuda", 0);
    lw_error err = {0};
    lw_status status = LW_ERR_OUT_OF_MEMORY;
    int64_t live;

    if (lw_ir_parse("func kernel k {\n param ptr \"x\" noalias\nbody\n %1 = param ptr 0\n"
                    " loop vectorize\n %3 = load bf16 %1\n %4 = add bf16 %3 %3\n"
                    " store %1 %4\n break 0\n latch\n end\n return ()\n}\n",
                    &module, &err) != LW_OK)
        return fail("parse", &err);
    live = lw_memory_live();
    for (int64_t n = 0; status != LW_OK && n < 1000; n++) {
        lw_text out;
        lw_text_init(&out);
        lw_memory_fail_at(n);
        status = lw_emit(module, &options, &out, &err);
        lw_memory_fail_at(-1);
        if (status != LW_OK && status != LW_ERR_OUT_OF_MEMORY)
            return fail("out of memory", &err);
        lw_error_reset(&err);
        lw_text_reset(&out);
    }
    if (lw_memory_live() != live || status != LW_OK)
        fprintf(stderr, "emission leaks, or never succeeds\n");
    status = lw_memory_live() != live ? LW_ERR_INTERNAL : status;
    lw_module_free(module);
    return status != LW_OK;
}

int
main(int argc, char **argv)
{
    int bits = argc > 4 ? atoi(argv[4]) : 256, failed;
    lw_text out;

    if (argc == 1)
        return check_all() | check_out_of_memory();
    if (argc < 4) {
        fprintf(
            stderr,
            "usage: test_emit ops|text|random cpu|precise|cuda|opaque dtype|-|seed [bits]\n");
        return 2;
    }
    lw_text_init(&out);
    if (strcmp(argv[1], "ops") == 0) {
        int type = LW_DT_b1;
        while (type <= LW_DT_f64 && strcmp(lw_dtypes[type].name, argv[3]) != 0)
            type++;
        failed = type > LW_DT_f64 || emit_ops(argv[2], (lw_dtype)type, bits, &out);
    } else if (strcmp(argv[1], "random") == 0) {
        failed = emit_random(argv[2], (unsigned)atoi(argv[3]), bits, &out);
    } else {
        failed = emit_stdin(argv[2], bits, &out);
    }
    fputs(lw_text_get(&out), stdout);
    lw_text_reset(&out);
    return failed;
}
