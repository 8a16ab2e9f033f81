/* A module as LLVM text: the heads of functions, and everything outside of functions. */
#include "core/emit/emit.h"

#include "core/emit/emit_internal.h"

/* What libNVVM documents for 64-bit targets; without it the newer reader aborts. */
static const char gpu_head[] =
    "target datalayout = "
    "\"e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-"
    "f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64\"\n"
    "target triple = \"nvptx64-nvidia-cuda\"\n";

lw_status
lw_emit_fail(lw_emitter *e, const char *why)
{
    if (e->status == LW_OK)
        e->status = lw_fail(e->err, LW_ERR_INTERNAL, "emitting %s, instruction %u: %s",
                            e->func->name, e->at, why);
    return e->status;
}

bool
lw_is_entry(const lw_func *func)
{
    return func->linkage == LW_KERNEL || func->linkage == LW_EXPORTED;
}

/* In an exported function a bool is a byte, as in memory. */
static const char *
edge_type(const lw_emitter *e, const lw_func *func, lw_dtype type)
{
    return lw_is_entry(func) && type == LW_DT_b1 ? "i8" : lw_type(e, type);
}

static void
print_result_type(lw_emitter *e, const lw_func *func, lw_text *out)
{
    if (func->results.n == 0)
        lw_text_add(out, "void");
    else if (func->results.n == 1)
        lw_text_add(out, edge_type(e, func, func->results.data[0]));
    else
        for (uint32_t i = 0; i < func->results.n; i++)
            lw_text_addf(out, "%s %s%s", i ? "," : "{", lw_type(e, func->results.data[i]),
                         i + 1 == func->results.n ? " }" : "");
}

static bool
is_varying_parameter(const lw_emitter *e, uint32_t data)
{
    return e->gpu && !e->options->frozen && e->module->datas.data[data].varying;
}

uint32_t
lw_n_varying_parameters(const lw_emitter *e)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < e->module->datas.n; i++)
        n += is_varying_parameter(e, i);
    return n;
}

void
lw_varying_parameters(lw_emitter *e, uint32_t n)
{
    for (uint32_t i = 0; i < e->module->datas.n; i++)
        if (is_varying_parameter(e, i))
            lw_text_addf(e->out, "%si64 %%varying%u", n++ ? ", " : "", i);
}

static void
print_params(lw_emitter *e, const lw_func *func)
{
    lw_hidden_parameters(e, func->params.n + lw_n_varying_parameters(e));
    for (uint32_t i = 0; i < func->params.n; i++) {
        const lw_ir_param *param = &func->params.data[i];
        bool is_pointer = param->type == LW_DT_ptr;
        uint32_t flags = lw_hides_attributes(e, i) ? 0 : param->flags;

        lw_text_addf(e->out, "%s%s", i ? ", " : "", edge_type(e, func, param->type));
        if (is_pointer && (flags & LW_PARAM_NOALIAS))
            lw_text_add(e->out, " noalias");
        if (is_pointer && (flags & LW_PARAM_READONLY))
            lw_text_add(e->out, " readonly");
        if (is_pointer && param->align_log2)
            lw_text_addf(e->out, " align %u", 1u << param->align_log2);
        lw_text_addf(e->out, " %%p%u", i);
    }
    lw_varying_parameters(e, func->params.n);
}

/* On the host "no-builtins" keeps LLVM from turning one function of libm into another whose
 * last bit differs, and loops into memset: what the table names is called. */
static void
print_attributes(lw_emitter *e, const lw_func *func, bool is_call)
{
    const lw_emit_options *options = e->options;

    lw_text_add(e->out, " nounwind");
    if (func->linkage == LW_OUTLINED || is_call)
        lw_text_add(e->out, " noinline");
    else if (func->linkage == LW_INTERNAL)
        lw_text_add(e->out, " alwaysinline");
    if (e->convergent)
        lw_text_add(e->out, " convergent");
    if (e->gpu)
        return;
    lw_text_add(e->out, " \"no-builtins\"");
    if (options->vector_bits)
        lw_text_addf(e->out, " \"prefer-vector-width\"=\"%d\"", options->vector_bits);
    if (options->host_features && options->host_features[0])
        lw_text_addf(e->out, " \"target-features\"=\"%s\"", options->host_features);
}

static void
emit_func(lw_emitter *e, bool is_call)
{
    const lw_func *func = e->func;

    e->scope = e->place = 0;
    lw_debug_function(e);
    lw_text_addf(e->out, "\ndefine %s", lw_is_entry(func) ? "" : "internal ");
    print_result_type(e, func, e->out);
    lw_text_addf(e->out, " @%s(", func->name);
    print_params(e, func);
    lw_text_add(e->out, ")");
    print_attributes(e, func, is_call);
    if (e->scope)
        lw_text_addf(e->out, " !dbg !%u", e->scope);
    lw_text_add(e->out, " {\n");
    lw_emit_body(e);
    lw_text_add(e->out, "}\n");
}

/* ---- what names the entry points of the GPU ---- */

/* Writes "void (i8*, float)* @k" or "ptr @k". */
static void
print_reference(lw_emitter *e, const lw_func *func, lw_text *out)
{
    if (!e->typed) {
        lw_text_addf(out, "ptr @%s", func->name);
        return;
    }
    print_result_type(e, func, out);
    lw_text_add(out, " (");
    for (uint32_t i = 0; i < func->params.n; i++)
        lw_text_addf(out, "%s%s", i ? ", " : "", edge_type(e, func, func->params.data[i].type));
    for (uint32_t i = 0, n = func->params.n; i < e->module->datas.n; i++)
        if (is_varying_parameter(e, i))
            lw_text_add(out, n++ ? ", i64" : "i64");
    lw_text_addf(out, ")* @%s", func->name);
}

/* Without this, linking LTO-IR may drop the kernel and still succeed. */
static void
mark_used(lw_emitter *e, const lw_func *func)
{
    lw_text_add(&e->used, e->n_used++ ? ",\n  " : "\n  ");
    if (e->typed)
        lw_text_add(&e->used, "i8* bitcast (");
    print_reference(e, func, &e->used);
    if (e->typed)
        lw_text_add(&e->used, " to i8*)");
}

static void
annotate(lw_emitter *e, const lw_func *func, const char *what, uint32_t value)
{
    uint32_t number = e->next_metadata++;

    if (value == 0)
        return;
    lw_text_addf(&e->metadata, "!%u = !{", number);
    print_reference(e, func, &e->metadata);
    lw_text_addf(&e->metadata, ", !\"%s\", i32 %u}\n", what, value);
    lw_text_addf(&e->kernels, "%s!%u", e->n_kernels++ ? ", " : "", number);
}

static void
mark_entry(lw_emitter *e, const lw_func *func)
{
    if (!e->gpu || !lw_is_entry(func))
        return;
    mark_used(e, func);
    if (func->linkage != LW_KERNEL)
        return;
    annotate(e, func, "kernel", 1);
    annotate(e, func, "maxntidx", func->max_threads);
    annotate(e, func, "maxntidy", func->max_threads ? 1 : 0);
    annotate(e, func, "maxntidz", func->max_threads ? 1 : 0);
    annotate(e, func, "minctasm", func->min_blocks);
    annotate(e, func, "cluster_max_blocks", e->options->cc >= 90 ? func->max_cluster : 0);
    annotate(e, func, "maxnreg", func->max_registers);
}

static void
print_tail(lw_emitter *e)
{
    uint32_t version = 0;

    lw_own_functions_print(e);
    lw_prints_print(e);
    lw_counted_print(e);
    lw_recursion_print(e);
    lw_globals_print(e);
    if (e->declares.n)
        lw_text_addf(e->out, "\n%s", e->declares.data);
    if (e->n_used)
        lw_text_addf(e->out,
                     "\n@llvm.used = appending global [%u x %s] [%s\n], section "
                     "\"llvm.metadata\"\n",
                     e->n_used, lw_type(e, LW_DT_ptr), e->used.data);
    if (e->n_vectors)
        lw_text_addf(e->out,
                     "\n@llvm.compiler.used = appending global [%u x ptr] [\n%s], section "
                     "\"llvm.metadata\"\n",
                     e->n_vectors, e->vectors.data);
    lw_text_add(e->out, "\n");
    if (e->gpu)
        version = lw_metadata(e, "!{i32 2, i32 0, i32 3, i32 1}");
    if (e->n_kernels)
        lw_text_addf(e->out, "!nvvm.annotations = !{%s}\n", e->kernels.data);
    if (e->gpu)
        lw_text_addf(e->out, "!nvvmir.version = !{!%u}\n", version);
    lw_debug_end(e);
    lw_text_add(e->out, lw_text_get(&e->metadata));
}

static lw_status
emit_module(lw_emitter *e)
{
    lw_status status;

    LW_TRY(lw_debug_start(e));
    if (!lw_callees_find(e))
        return lw_fail_memory(e->err);
    if (e->gpu && !lw_origins_find(e))
        return lw_fail_memory(e->err);
    lw_text_add(e->out, e->gpu ? gpu_head : "");
    for (uint32_t i = 0; i < e->module->funcs.n; i++) {
        e->func = e->module->funcs.data[i];
        e->number = i;
        e->at = 0;
        if (!e->gpu && e->func->linkage == LW_KERNEL)
            return lw_emit_fail(e, "a kernel exists on the GPU alone");
        emit_func(e, e->callees[i].is_call || (e->options->variables && e->func->python_name));
        if (e->status != LW_OK)
            return e->status;
        mark_entry(e, e->func);
    }
    print_tail(e);
    if (e->out->failed || e->declares.failed || e->metadata.failed || e->kernels.failed ||
        e->used.failed || e->vectors.failed || e->globals.failed)
        return lw_fail_memory(e->err);
    return LW_OK;
fail:
    return status;
}

/* Whether there is any KERNEL_CALL, collective or not, or any BARRIER. */
static bool
calls_together(const lw_module *module)
{
    for (uint32_t f = 0; f < module->funcs.n; f++) {
        const lw_func *func = module->funcs.data[f];
        for (uint32_t i = 1; i < func->insts.n; i++)
            if (func->insts.data[i].op == LW_OP_BARRIER ||
                func->insts.data[i].op == LW_OP_KERNEL_CALL)
                return true;
    }
    return false;
}

static bool
has_shared(const lw_module *module)
{
    for (uint32_t f = 0; f < module->funcs.n; f++) {
        const lw_func *func = module->funcs.data[f];
        for (uint32_t i = 1; i < func->insts.n; i++)
            if (func->insts.data[i].op == LW_OP_SHARED ||
                func->insts.data[i].op == LW_OP_DYNAMIC)
                return true;
    }
    return false;
}

static lw_watched
watched(const lw_module *module, const lw_emit_options *options)
{
    if (options->target == LW_TARGET_CUDA ||
        (options->watch == LW_WATCH_SHARED && !has_shared(module)))
        return LW_WATCH_NOTHING;
    return options->watch;
}

lw_status
lw_emit(const lw_module *module, const lw_emit_options *options, lw_text *out, lw_error *err)
{
    bool gpu = options->target == LW_TARGET_CUDA;
    lw_emitter e = {.module = module,
                    .options = options,
                    .out = out,
                    .gpu = gpu,
                    .typed = gpu && !options->opaque_pointers,
                    .context = !gpu && lw_ir_uses_context(module),
                    .recurses = lw_ir_has_op(module, LW_OP_ROOM),
                    .watch = watched(module, options),
                    .convergent = gpu && calls_together(module),
                    .err = err,
                    .next_metadata = 1};
    lw_status status;

    if (gpu && options->cc > 0 && options->cc < 90 && lw_ir_uses_clusters(module))
        return lw_fail(
            err, LW_ERR_UNSUPPORTED,
            "cuda.cg.this_cluster() needs a GPU of compute capability 9.0, not %d.%d: "
            "older ones have no clusters",
            options->cc / 10, options->cc % 10);
    status = emit_module(&e);
    lw_text_reset(&e.declares);
    lw_text_reset(&e.metadata);
    lw_text_reset(&e.kernels);
    lw_text_reset(&e.used);
    lw_text_reset(&e.vectors);
    lw_text_reset(&e.globals);
    lw_array_free(&e.regions);
    lw_array_free(&e.shown_types);
    lw_free(e.debug_files);
    lw_free(e.places);
    lw_free(e.callees);
    lw_free(e.origins);
    lw_array_free(&e.calls);
    return status;
}
