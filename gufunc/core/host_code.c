#include "gufunc/core/host_code.h"

#include "core/base/memory.h"
#include "core/ir/flags.h"
#include "core/ir/printed.h"
#include "core/ir/report.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

typedef struct maker {
    lw_builder b;
    lw_module *module;
    const lw_gufunc_loop *loop;
    const lw_func *body;
    lw_code_form form;
    const int64_t *numbers;
    lw_ref args[LW_MAX_OPERANDS], dims[256], steps[LW_MOST_STEPS];
    lw_ref status, *values; /* values: the arguments of the body */
    uint32_t n_steps, first_core[LW_MAX_OPERANDS];
} maker;

static lw_ref
i64(maker *m, int64_t value)
{
    return lw_ir_int(&m->b, LW_DT_i64, value);
}

static int
n_operands(const lw_gufunc_loop *loop)
{
    return loop->nin + loop->nout;
}

static uint32_t
count_steps(const lw_gufunc_loop *loop)
{
    uint32_t n = (uint32_t)n_operands(loop);

    for (int k = 0; k < n_operands(loop); k++)
        n += loop->layout->operands[k].n;
    return n;
}

/* ---- constants and parameters ---- */

/* Sizes and steps: constants where the form says so, else parameters. */
static void
add_numbers(maker *m)
{
    const lw_core_layout *layout = m->loop->layout;
    bool exact = m->form == LW_CODE_EXACT;

    for (uint32_t d = 0; d < layout->n_dims; d++) {
        const lw_core_dim *dim = &layout->dims[d];
        if (exact)
            m->dims[d] = i64(m, m->numbers[d]);
        else if (dim->fixed && !dim->optional)
            m->dims[d] = i64(m, dim->fixed);
        else
            m->dims[d] = lw_ir_param_add(&m->b, LW_DT_i64, 0, "size");
    }
    for (uint32_t i = 0; i < m->n_steps; i++)
        if (exact)
            m->steps[i] = i64(m, m->numbers[layout->n_dims + i]);
        else if (m->form == LW_CODE_ANY || i < (uint32_t)n_operands(m->loop))
            m->steps[i] = lw_ir_param_add(&m->b, LW_DT_i64, 0, "step");
}

/* Sets the strides of contiguous cores, which follow from their sizes. */
static void
add_dense_strides(maker *m)
{
    const lw_core_layout *layout = m->loop->layout;

    for (int k = 0; k < n_operands(m->loop); k++) {
        const lw_core_operand *operand = &layout->operands[k];
        lw_ref stride = i64(m, lw_dtypes[m->loop->types[k]].size_bytes);
        for (uint32_t d = operand->n; d-- > 0;) {
            m->steps[m->first_core[k] + d] = stride;
            if (d > 0)
                stride = lw_ir_mul_no_wrap(&m->b, stride, m->dims[operand->dims[d]]);
        }
    }
}

/* ---- one item ---- */

static void
pass_array(maker *m, int k, lw_ref at, lw_ref *out)
{
    const lw_core_operand *operand = &m->loop->layout->operands[k];
    uint32_t n = 0;

    out[n++] = at;
    if (operand->n == 0) { /* a `()` operand that the function indexes */
        out[n++] = i64(m, 1);
        out[n++] = i64(m, lw_dtypes[m->loop->types[k]].size_bytes);
        return;
    }
    for (uint32_t d = 0; d < operand->n; d++)
        out[n++] = m->dims[operand->dims[d]];
    for (uint32_t d = 0; d < operand->n; d++)
        out[n++] = m->steps[m->first_core[k] + d];
}

static void
pass_value(maker *m, int k, lw_ref at, lw_ref *out)
{
    if (m->loop->address[k])
        out[0] = lw_ir_load(&m->b, LW_DT_ptr, 1, at, 0, 0);
    else
        lw_ir_load_parts(&m->b, m->loop->types[k], at, 0, out);
}

static lw_ref
operand_at(maker *m, int k, lw_ref i)
{
    return lw_ir_offset(&m->b, m->args[k], lw_ir_mul_no_wrap(&m->b, i, m->steps[k]));
}

/* If the item raises, the function returns its number. Gives how many results of the call are
 * status and words. */
static uint32_t
check_status(maker *m, lw_ref call, lw_ref i)
{
    const lw_scalar *scalar = m->loop->scalar;
    lw_ref status, words[LW_RAISE_WORDS];

    if (!scalar->can_raise)
        return 0;
    status = lw_ir_result(&m->b, call, 0);
    for (uint32_t w = 0; w < scalar->n_raise_words; w++)
        words[w] = lw_ir_result(&m->b, call, 1 + w);
    lw_ir_if(&m->b, lw_ir_compare(&m->b, LW_OP_NE, status, lw_ir_int(&m->b, LW_DT_i32, 0)));
    if (scalar->n_raise_words)
        lw_report_note(&m->b, words, scalar->n_raise_words);
    lw_ir_store(&m->b, m->status, status, 0, 0);
    lw_ir_return(&m->b, &i, 1);
    lw_ir_end(&m->b);
    return 1 + scalar->n_raise_words;
}

static void
run_item(maker *m, lw_ref i)
{
    const lw_gufunc_loop *loop = m->loop;
    lw_ref call;
    uint32_t which;

    for (uint32_t k = 0; k < loop->scalar->n_args; k++) {
        const lw_arg_parts *parts = &loop->scalar->args[k];
        if (parts->n == 0)
            continue;
        if (loop->form[k] == LW_CORE_ARRAY)
            pass_array(m, (int)k, operand_at(m, (int)k, i), m->values + parts->first);
        else
            pass_value(m, (int)k, operand_at(m, (int)k, i), m->values + parts->first);
    }
    call = lw_ir_call(&m->b, loop->scalar->body, m->values, m->body->params.n);
    which = check_status(m, call, i);
    for (int k = loop->nin; k < n_operands(loop); k++)
        for (unsigned part = 0;
             loop->form[k] == LW_CORE_RESULT && part < lw_dtype_n_parts(loop->types[k]); part++)
            lw_ir_store(&m->b,
                        lw_ir_part_address(&m->b, loop->types[k], operand_at(m, k, i), part),
                        lw_ir_result(&m->b, call, which++), 0, 0);
}

/* Flags of the loop over items, which are independent of each other; but all of them use the
 * same local memory. */
static bool
writes_inputs(const lw_gufunc_loop *loop)
{
    bool writes = false;

    for (int i = 0; i < loop->nin; i++)
        writes = writes || loop->writable[i];
    return writes;
}

static uint32_t
loop_flags(const maker *m)
{
    if (writes_inputs(m->loop)) /* items may be of the same memory */
        return 0;
    if (m->loop->scalar->can_raise || lw_ir_has_own_memory(m->module) ||
        lw_ir_has_op(m->module, LW_OP_ATOMIC) || lw_ir_prints(m->module))
        return 0;
    return lw_ir_has_op(m->module, LW_OP_LOOP) ? 0 : LW_LOOP_VECTORIZE;
}

/* What may be said of an operand's memory. NumPy copies inputs that overlap an output, but two
 * inputs may be the same array, and one of them may be written to. */
static uint32_t
flags_of(const maker *m, int operand)
{
    bool writes = m->loop->writes_excluded || writes_inputs(m->loop);

    if (operand >= m->loop->nin)
        return LW_PARAM_NOALIAS;
    return writes ? 0 : LW_PARAM_READONLY;
}

/* The loop is a function of its own, so that what its parameters say of pointers holds in all
 * of it. */
static lw_status
make_loop(maker *m, lw_error *err)
{
    uint32_t flags = loop_flags(m);
    lw_ref begin, end, none;
    lw_for loop;

    lw_builder_start(&m->b, m->module, "lw_items_loop");
    if (m->b.func != NULL)
        m->b.func->linkage = LW_OUTLINED;
    begin = lw_ir_param_add(&m->b, LW_DT_i64, 0, "begin");
    end = lw_ir_param_add(&m->b, LW_DT_i64, 0, "end");
    m->status = lw_ir_param_add(&m->b, LW_DT_ptr, LW_PARAM_NOALIAS, "status");
    for (int k = 0; k < n_operands(m->loop); k++)
        m->args[k] = lw_ir_param_add(&m->b, LW_DT_ptr, flags_of(m, k), "operand");
    add_numbers(m);
    lw_ir_result_add(&m->b, LW_DT_i64);
    if (m->form == LW_CODE_DENSE)
        add_dense_strides(m);
    loop = lw_ir_for(&m->b, begin, end, i64(m, 1), flags);
    run_item(m, loop.i);
    lw_ir_for_end(&m->b, &loop);
    none = i64(m, -1);
    lw_ir_return(&m->b, &none, 1);
    return lw_ir_finish(&m->b, err);
}

/* ---- the entry ---- */

static lw_ref
load_number(maker *m, lw_ref base, uint32_t i)
{
    return lw_ir_load(&m->b, LW_DT_i64, 1, lw_ir_offset(&m->b, base, i64(m, 8 * (int64_t)i)), 8,
                      LW_MEM_INVARIANT);
}

static uint32_t
load_numbers(maker *m, lw_ref dims, lw_ref steps, lw_ref *out)
{
    const lw_core_layout *layout = m->loop->layout;
    uint32_t n = 0;

    if (m->form == LW_CODE_EXACT)
        return 0;
    for (uint32_t d = 0; d < layout->n_dims; d++)
        if (layout->dims[d].fixed == 0 || layout->dims[d].optional)
            out[n++] = load_number(m, dims, 1 + d);
    for (uint32_t i = 0; i < m->n_steps; i++)
        if (m->form == LW_CODE_ANY || i < (uint32_t)n_operands(m->loop))
            out[n++] = load_number(m, steps, i);
    return n;
}

static lw_status
make_entry(maker *m, uint32_t loop, lw_error *err)
{
    const uint32_t fixed = LW_PARAM_NOALIAS | LW_PARAM_READONLY;
    lw_ref args, dims, steps, call, *values;
    uint32_t n = 0;

    lw_builder_start(&m->b, m->module, "lw_items");
    if (m->b.func != NULL)
        m->b.func->linkage = LW_EXPORTED;
    values = lw_arena_take(&m->module->arena,
                           (3 + LW_MAX_OPERANDS + 256 + LW_MOST_STEPS) * sizeof *values);
    if (values == NULL)
        return lw_fail_memory(err);
    args = lw_ir_param_add(&m->b, LW_DT_ptr, fixed, "args");
    dims = lw_ir_param_add(&m->b, LW_DT_ptr, fixed, "dims");
    steps = lw_ir_param_add(&m->b, LW_DT_ptr, fixed, "steps");
    values[n++] = lw_ir_param_add(&m->b, LW_DT_i64, 0, "begin");
    values[n++] = lw_ir_param_add(&m->b, LW_DT_i64, 0, "end");
    values[n++] = lw_ir_param_add(&m->b, LW_DT_ptr, LW_PARAM_NOALIAS, "status");
    lw_ir_result_add(&m->b, LW_DT_i64);
    for (int k = 0; k < n_operands(m->loop); k++)
        values[n++] =
            lw_ir_load(&m->b, LW_DT_ptr, 1, lw_ir_offset(&m->b, args, i64(m, 8 * (int64_t)k)),
                       8, LW_MEM_INVARIANT);
    n += load_numbers(m, dims, steps, values + n);
    call = lw_ir_call(&m->b, loop, values, n);
    lw_ir_return(&m->b, &call, 1);
    return lw_ir_finish(&m->b, err);
}

static void
place_steps(maker *m)
{
    m->n_steps = (uint32_t)n_operands(m->loop);
    for (int k = 0; k < n_operands(m->loop); k++) {
        m->first_core[k] = m->n_steps;
        m->n_steps += m->loop->layout->operands[k].n;
    }
    assert(m->n_steps == count_steps(m->loop) && m->n_steps <= LW_MOST_STEPS);
}

lw_status
lw_gufunc_host_module(const lw_gufunc_loop *loop, lw_code_form form, const int64_t *numbers,
                      lw_module **out, lw_error *err)
{
    lw_status status;
    lw_module *module = NULL;
    maker *m = lw_alloc_zero(1, sizeof *m);

    if (m == NULL)
        return lw_fail_memory(err);
    *m = (maker){.loop = loop, .form = form, .numbers = numbers};
    LW_TRY(lw_module_copy(loop->scalar->module, &module, err));
    m->module = module;
    m->body = module->funcs.data[loop->scalar->body];
    m->values = lw_arena_take(&module->arena, (m->body->params.n + 1) * sizeof *m->values);
    if (m->values == NULL) {
        status = lw_fail_memory(err);
        goto fail;
    }
    place_steps(m);
    LW_TRY(make_loop(m, err));
    LW_TRY(make_entry(m, m->b.func_number, err));
    *out = module;
    lw_free(m);
    return LW_OK;
fail:
    lw_module_free(module);
    lw_free(m);
    return status;
}

/* ---- compiling ---- */

static void
code_free(lw_gufunc_code *code)
{
    if (code == NULL)
        return;
    lw_code_free(code->code);
    lw_free(code->numbers);
    lw_free(code);
}

/* Whether vectorised code may set floating-point flags that the function would not: it may
 * compute what a branch throws away, and so may libm. */
static bool
branches(const lw_module *module)
{
    return lw_ir_has_op(module, LW_OP_IF) || lw_ir_has_op(module, LW_OP_SELECT) ||
           lw_ir_raises_stray_flags(module);
}

lw_status
lw_gufunc_host_new(const lw_gufunc_loop *loop, lw_gufunc_host **out, lw_error *err)
{
    lw_gufunc_host *host = lw_alloc_zero(1, sizeof *host);

    if (host == NULL)
        return lw_fail_memory(err);
    host->loop = loop;
    host->n_dims = loop->layout->n_dims;
    host->n_steps = count_steps(loop);
    host->doubts_flags = !loop->scalar->pure_integer && branches(loop->scalar->module);
    host->in_order = lw_ir_prints(loop->scalar->module);
    host->steady = !lw_ir_repeats(loop->scalar->module);
    *out = host;
    return LW_OK;
}

void
lw_gufunc_host_free(lw_gufunc_host *host)
{
    if (host == NULL)
        return;
    code_free(host->any);
    code_free(host->dense);
    for (uint32_t i = 0; i < LW_MOST_VARIANTS; i++)
        code_free(host->exact[i]);
    lw_free(host);
}

size_t
lw_gufunc_host_code_size(const lw_gufunc_host *host)
{
    const lw_gufunc_code *any = host->any, *dense = host->dense;

    return dense ? lw_code_size(dense->code) : any ? lw_code_size(any->code) : 0;
}

static bool
is_dense(const lw_gufunc_host *host, const int64_t *dims, const int64_t *steps)
{
    const lw_gufunc_loop *loop = host->loop;
    const int64_t *strides = steps + n_operands(loop);

    for (int k = 0; k < n_operands(loop); k++) {
        const lw_core_operand *operand = &loop->layout->operands[k];
        int64_t wanted = lw_dtypes[loop->types[k]].size_bytes;
        for (uint32_t d = operand->n; d-- > 0;) {
            int64_t size = dims[1 + operand->dims[d]];
            if (size != 1 && strides[d] != wanted)
                return false;
            wanted *= size;
        }
        strides += operand->n;
    }
    return true;
}

static int64_t
volume_of(const lw_gufunc_host *host, const int64_t *dims)
{
    int64_t volume = 1;

    for (uint32_t d = 0; d < host->n_dims; d++)
        if (__builtin_mul_overflow(volume, dims[1 + d] > 0 ? dims[1 + d] : 1, &volume))
            return INT64_MAX;
    return volume;
}

/* Whether code for exactly these sizes and steps pays for its compilation, of some 0.1 s: cores
 * are small and many items have been run, of which it makes each some ns faster. */
static bool
wants_exact(const lw_gufunc_host *host, const int64_t *dims)
{
    enum { MANY_ITEMS = 16384, WORTH_IT = 500000, SMALL = 64 };

    return host->n_dims > 0 && dims[0] >= MANY_ITEMS &&
           atomic_load_explicit(&host->items, memory_order_relaxed) >= WORTH_IT &&
           volume_of(host, dims) <= SMALL;
}

static bool
same_numbers(const lw_gufunc_host *host, const lw_gufunc_code *code, const int64_t *dims,
             const int64_t *steps)
{
    return memcmp(code->numbers, dims + 1, host->n_dims * sizeof *dims) == 0 &&
           memcmp(code->numbers + host->n_dims, steps, host->n_steps * sizeof *steps) == 0;
}

static lw_gufunc_code *
find_exact(lw_gufunc_host *host, const int64_t *dims, const int64_t *steps)
{
    for (uint32_t i = 0; i < LW_MOST_VARIANTS; i++) {
        lw_gufunc_code *code = atomic_load_explicit(&host->exact[i], memory_order_acquire);
        if (code != NULL && same_numbers(host, code, dims, steps))
            return code;
    }
    return NULL;
}

lw_gufunc_code *
lw_gufunc_host_find(lw_gufunc_host *host, const int64_t *dims, const int64_t *steps)
{
    if (wants_exact(host, dims)) {
        lw_gufunc_code *exact = find_exact(host, dims, steps);
        if (exact != NULL || host->n_exact < LW_MOST_VARIANTS)
            return exact;
    }
    return is_dense(host, dims, steps)
               ? atomic_load_explicit(&host->dense, memory_order_acquire)
               : atomic_load_explicit(&host->any, memory_order_acquire);
}

/* New code of this form, not compiled yet; NULL: memory is out. */
static lw_gufunc_code *
code_new(const lw_gufunc_host *host, lw_code_form form, const int64_t *dims,
         const int64_t *steps)
{
    lw_gufunc_code *code = lw_alloc_zero(1, sizeof *code);

    if (code == NULL)
        return NULL;
    code->form = form;
    if (form != LW_CODE_EXACT)
        return code;
    code->numbers = lw_alloc((host->n_dims + host->n_steps) * sizeof *code->numbers);
    if (code->numbers == NULL) {
        code_free(code);
        return NULL;
    }
    memcpy(code->numbers, dims + 1, host->n_dims * sizeof *dims);
    memcpy(code->numbers + host->n_dims, steps, host->n_steps * sizeof *steps);
    return code;
}

static lw_status
compile(const lw_gufunc_host *host, lw_gufunc_code *code, const lw_build_options *options,
        lw_build_report *report, lw_error *err)
{
    lw_status status;
    lw_module *module = NULL;
    lw_build_options build = *options;

    assert((code->form == LW_CODE_EXACT) == (code->numbers != NULL));
    if (!host->loop->writes_excluded) /* items share no memory that they could write to */
        build.watch = LW_WATCH_NOTHING;
    code->watched = build.watch == LW_WATCH_ELEMENTS;
    LW_TRY(lw_gufunc_host_module(host->loop, code->form, code->numbers, &module, err));
    LW_TRY(lw_build_host(module, &build, &code->code, report, err));
    *(void **)&code->run = lw_code_symbol(code->code, "lw_items");
    if (code->run == NULL)
        status = lw_fail(err, LW_ERR_INTERNAL, "compiled code has no lw_items");
fail:
    lw_module_free(module);
    return status;
}

/* Publishes code. Another thread may have been first: then its code is used. */
static lw_gufunc_code *
keep(_Atomic(lw_gufunc_code *) *slot, lw_gufunc_code *code)
{
    lw_gufunc_code *expected = NULL;

    if (atomic_compare_exchange_strong(slot, &expected, code))
        return code;
    code_free(code);
    return expected;
}

lw_status
lw_gufunc_host_code(lw_gufunc_host *host, const int64_t *dims, const int64_t *steps,
                    const lw_build_options *options, lw_gufunc_code **out,
                    lw_build_report *report, lw_error *err)
{
    lw_gufunc_code *code = lw_gufunc_host_find(host, dims, steps);
    lw_status status;
    lw_code_form form;
    uint32_t slot = 0;

    if (code != NULL) {
        *out = code;
        return LW_OK;
    }
    form = is_dense(host, dims, steps) ? LW_CODE_DENSE : LW_CODE_ANY;
    if (wants_exact(host, dims)) {
        slot = atomic_fetch_add(&host->n_exact, 1);
        form = slot < LW_MOST_VARIANTS ? LW_CODE_EXACT : form;
    }
    code = code_new(host, form, dims, steps);
    if (code == NULL)
        return lw_fail_memory(err);
    LW_TRY(compile(host, code, options, report, err));
    *out = keep(form == LW_CODE_EXACT   ? &host->exact[slot]
                : form == LW_CODE_DENSE ? &host->dense
                                        : &host->any,
                code);
    return LW_OK;
fail:
    code_free(code);
    return status;
}
