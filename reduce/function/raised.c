#include "reduce/function/raised.h"

#include "core/base/memory.h"
#include "reduce/function/body_ir.h"

#include <assert.h>
#include <string.h>

/* A function that carries exceptions and calls the user's, while it is emitted. */
typedef struct carrier {
    lw_builder b;
    const lw_reduction *r;
    const lw_scalar *user; /* NULL: there is none */
    uint32_t func;         /* number of the user's function in the module */
    int32_t first_status;  /* added to the statuses of this function */
} carrier;

typedef struct raised {
    lw_ref status, words[LW_RAISE_WORDS];
} raised;

static uint32_t
n_words(const lw_reduction *r)
{
    return r->n_raised - 1;
}

static lw_ref
number(const raised *of, uint32_t i)
{
    return i == 0 ? of->status : of->words[i - 1];
}

static void
set_number(raised *of, uint32_t i, lw_ref value)
{
    if (i == 0)
        of->status = value;
    else
        of->words[i - 1] = value;
}

static raised
none_raised(carrier *c)
{
    raised made = {.status = lw_ir_int(&c->b, LW_DT_i32, 0)};

    for (uint32_t i = 0; i < LW_RAISE_WORDS; i++)
        made.words[i] = lw_ir_int(&c->b, LW_DT_u64, 0);
    return made;
}

/* The exception of x if it has one, else that of y. */
static raised
first_of(carrier *c, const raised *x, const raised *y)
{
    lw_ref none = lw_ir_int(&c->b, LW_DT_i32, 0);
    lw_ref failed = lw_ir_compare(&c->b, LW_OP_NE, x->status, none);
    raised made = *y;

    for (uint32_t i = 0; i <= n_words(c->r); i++)
        set_number(&made, i, lw_ir_select(&c->b, failed, number(x, i), number(y, i)));
    return made;
}

/* Calls the user's function. Gives what it raised; its n results go to out. */
static raised
call_user(carrier *c, const lw_ref *args, uint32_t n_args, lw_ref *out, uint32_t n)
{
    lw_ref call = lw_ir_call(&c->b, c->func, args, n_args);
    lw_ref none = lw_ir_int(&c->b, LW_DT_i32, 0), status;
    raised made = none_raised(c);
    uint32_t at = 0;

    if (c->user->can_raise) {
        status = lw_ir_result(&c->b, call, at++);
        made.status = lw_ir_select(
            &c->b, lw_ir_compare(&c->b, LW_OP_EQ, status, none), none,
            lw_ir_add(&c->b, status, lw_ir_int(&c->b, LW_DT_i32, c->first_status)));
        for (uint32_t i = 0; i < c->user->n_raise_words; i++)
            made.words[i] = lw_ir_result(&c->b, call, at++);
    }
    for (uint32_t i = 0; i < n; i++)
        out[i] = lw_ir_result(&c->b, call, at + i);
    return made;
}

static void
add_params(carrier *c, const lw_dtype *dtype, uint32_t n, lw_ref *out)
{
    uint32_t at = 0;

    for (uint32_t i = 0; i < n; i++)
        for (unsigned k = 0; k < lw_dtype_n_parts(dtype[i]); k++)
            out[at++] = lw_ir_param_add(&c->b, lw_dtypes[dtype[i]].parts, 0, "x");
}

static raised
add_raised_params(carrier *c)
{
    raised made = {0};

    for (uint32_t i = 0; i <= n_words(c->r); i++)
        set_number(&made, i, lw_ir_param_add(&c->b, i ? LW_DT_u64 : LW_DT_i32, 0, "raised"));
    return made;
}

/* Returns the user's own numbers, whose parts `values` begins with, and the exception behind
 * them. */
static void
give(carrier *c, const lw_dtype *dtype, uint32_t n, lw_ref *values, const raised *with)
{
    uint32_t parts = lw_reduce_count_parts(dtype, n);

    for (uint32_t i = 0; i < n; i++)
        for (unsigned k = 0; k < lw_dtype_n_parts(dtype[i]); k++)
            lw_ir_result_add(&c->b, lw_dtypes[dtype[i]].parts);
    for (uint32_t i = 0; i <= n_words(c->r); i++) {
        lw_ir_result_add(&c->b, i ? LW_DT_u64 : LW_DT_i32);
        values[parts + i] = number(with, i);
    }
    lw_ir_return(&c->b, values, parts + c->r->n_raised);
}

enum { MOST_PARTS = 2 * LW_REDUCE_PARTS + 2 * (1 + LW_RAISE_WORDS) };

static uint32_t
own_acc(const lw_reduction *r)
{
    return r->n_acc - r->n_raised;
}

/* Without a map of the user's, the elements are the accumulators. */
static void
emit_map(carrier *c)
{
    const lw_reduction *r = c->r;
    lw_ref args[MOST_PARTS] = {0}, acc[MOST_PARTS] = {0};
    uint32_t n = lw_reduce_count_parts(r->in, r->n_in);
    raised made;

    add_params(c, r->in, r->n_in, args);
    if (r->indexed)
        args[n++] = lw_ir_param_add(&c->b, LW_DT_i64, 0, "index");
    if (c->user != NULL) {
        made = call_user(c, args, n, acc, lw_reduce_count_parts(r->acc, own_acc(r)));
    } else {
        made = none_raised(c);
        lw_reduce_cast_all(&c->b, r->in, r->acc, own_acc(r), args, acc);
    }
    give(c, r->acc, own_acc(r), acc, &made);
}

static void
emit_combine(carrier *c)
{
    const lw_reduction *r = c->r;
    uint32_t n = lw_reduce_count_parts(r->acc, own_acc(r));
    lw_ref args[MOST_PARTS] = {0}, acc[MOST_PARTS] = {0};
    raised x, y, made;

    add_params(c, r->acc, own_acc(r), args);
    x = add_raised_params(c);
    add_params(c, r->acc, own_acc(r), args + n);
    y = add_raised_params(c);
    made = call_user(c, args, 2 * n, acc, n);
    made = first_of(c, &y, &made);
    made = first_of(c, &x, &made);
    give(c, r->acc, own_acc(r), acc, &made);
}

static void
emit_finish(carrier *c)
{
    const lw_reduction *r = c->r;
    uint32_t n = lw_reduce_count_parts(r->acc, own_acc(r)), n_out = lw_reduce_n_results(r);
    lw_ref args[MOST_PARTS] = {0}, out[MOST_PARTS] = {0};
    raised before, made;

    add_params(c, r->acc, own_acc(r), args);
    before = add_raised_params(c);
    made = call_user(c, args, n, out, lw_reduce_count_parts(r->out, n_out));
    made = first_of(c, &before, &made);
    give(c, r->out, n_out, out, &made);
}

static lw_status
carry(carrier *c, const char *name, void (*emit)(carrier *c), lw_scalar **out, lw_error *err)
{
    const lw_scalar *user = c->user;
    lw_scalar *made = lw_alloc_zero(1, sizeof *made);
    lw_status status;

    if (made == NULL)
        return lw_fail_memory(err);
    LW_TRY(lw_module_new(&made->module, err));
    if (user != NULL) {
        LW_TRY(lw_module_append(made->module, user->module, &c->func, err));
        c->func += user->body;
    }
    lw_builder_start(&c->b, made->module, name);
    emit(c);
    made->body = c->b.func_number;
    made->pure_integer = user == NULL || user->pure_integer;
    made->warning =
        user ? user->warning : NULL; /* it belongs to the user's function, which is kept */
    LW_TRY(lw_ir_finish(&c->b, err));
    *out = made;
    return LW_OK;
fail:
    lw_scalar_free(made);
    return status;
}

static void
add_numbers(lw_reduction *r)
{
    for (uint32_t i = 0; i < r->n_raised; i++) {
        r->acc[r->n_acc++] = i ? LW_DT_u64 : LW_DT_i32;
        r->out[r->n_out++] = i ? LW_DT_u64 : LW_DT_i32;
    }
    assert(r->n_acc <= LW_REDUCE_MOST && r->n_out <= LW_REDUCE_MOST);
}

lw_status
lw_reduce_carry_raised(lw_reduction *r, lw_error *err)
{
    lw_scalar **at[LW_REDUCE_FUNCTIONS] = {&r->map, &r->combine, &r->finish};
    static void (*const emit[])(carrier *) = {emit_map, emit_combine, emit_finish};
    static const char *const names[] = {"lw_raising_map", "lw_raising_combine",
                                        "lw_raising_finish"};
    uint32_t words = 0, first = 0;
    lw_status status = LW_OK;

    assert(r->n_raised == 0);
    for (int i = 0; i < LW_REDUCE_FUNCTIONS; i++)
        if (*at[i] != NULL && (*at[i])->n_raise_words > words)
            words = (*at[i])->n_raise_words;
    if (r->n_acc + 1 + words > LW_REDUCE_MOST || r->n_out + 1 + words > LW_REDUCE_MOST)
        return lw_fail(
            err, LW_ERR_UNSUPPORTED,
            "reduce: functions that raise exceptions, or are checked, leave room for "
            "%u numbers in an accumulator and a result, not %u",
            (unsigned)(LW_REDUCE_MOST - 1 - words),
            (unsigned)(r->n_acc > r->n_out ? r->n_acc : r->n_out));
    r->n_raised = 1 + words;
    add_numbers(r);
    for (int i = 0; i < LW_REDUCE_FUNCTIONS; i++) {
        lw_scalar *made = NULL, *user = *at[i];
        carrier c = {.r = r, .user = user, .first_status = (int32_t)first};
        if (user == NULL && emit[i] == emit_finish)
            continue;
        LW_TRY(carry(&c, names[i], emit[i], &made, err));
        r->raising[i] = user;
        *at[i] = made;
        first += user != NULL && user->can_raise ? user->n_raises : 0;
    }
    r->exact = r->stops = false;
fail:
    return status;
}

const lw_raise_row *
lw_reduce_raised_row(const lw_reduction *r, int32_t status)
{
    uint32_t at = (uint32_t)status - 1;

    if (status <= 0)
        return NULL;
    for (int i = 0; i < LW_REDUCE_FUNCTIONS; i++) {
        const lw_scalar *user = r->raising[i];
        if (user == NULL || !user->can_raise)
            continue;
        if (at < user->n_raises)
            return &user->raises[at];
        at -= user->n_raises;
    }
    return NULL;
}
