/* The call of a Forall: reads the index space and the arguments, finds the code, and runs it
 * where the arrays are. On a GPU a warm call makes no heap call and no query of the driver. */
#include "forall/forall_py_internal.h"

#include "core/base/divider.h"
#include "core/base/memory.h"
#include "core/py/array/host_view.h"
#include "core/py/compiled/entry.h"
#include "core/py/compiled/in_python.h"
#include "core/py/cuda/cuda_py.h"
#include "core/py/print_py.h"
#include "core/py/progress.h"
#include "core/py/raise.h"
#include "core/py/raise_row.h"
#include "core/py/signals.h"

#include <stddef.h>
#include <string.h>

/* Threads of a grid whose threads take a batch of elements at a time. One batch each is best,
 * as far as a grid can be that large. */
enum { MOST_BATCH_THREADS = 1 << 28 };
enum { MOST_WAVES = 16 }; /* more blocks than this times the resident ones gain nothing */

static const char *
name_of(const lw_forall *self)
{
    return lw_function_name(&self->base);
}

/* ---- keywords ---- */

static int
read_count(const lw_forall *self, const char *name, PyObject *value, long most, uint32_t *out)
{
    long number = PyLong_Check(value) ? PyLong_AsLong(value) : -1;

    PyErr_Clear();
    if (number >= 0 && number <= most) {
        *out = (uint32_t)number;
        return 0;
    }
    PyErr_Format(PyLong_Check(value) ? PyExc_ValueError : PyExc_TypeError,
                 "%s: %s= must be an int from 0 to %ld, not %.100R", name_of(self), name, most,
                 value);
    return -1;
}

static bool
is_option(PyObject *name)
{
    return PyUnicode_CompareWithASCIIString(name, "stream") == 0 ||
           PyUnicode_CompareWithASCIIString(name, "tpb") == 0 ||
           PyUnicode_CompareWithASCIIString(name, "progress") == 0 ||
           PyUnicode_CompareWithASCIIString(name, "sharedmem") == 0;
}

int
lw_forall_keywords_read(const lw_forall *self, PyObject *const **args, Py_ssize_t *n_args,
                        PyObject *kwnames, PyObject **row, lw_forall_keywords *out)
{
    PyObject *const *values = *args + *n_args;
    Py_ssize_t n = kwnames ? PyTuple_GET_SIZE(kwnames) : 0, n_named = 0;

    *out = (lw_forall_keywords){0};
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, i);
        int failed = 0;
        if (PyUnicode_CompareWithASCIIString(name, "stream") == 0) {
            CUstream handle;
            out->stream = values[i];
            failed =
                lw_stream_read(values[i], &handle); /* wrong ones are refused on CPUs too */
        } else if (PyUnicode_CompareWithASCIIString(name, "progress") == 0) {
            out->progress = values[i];
        } else if (PyUnicode_CompareWithASCIIString(name, "tpb") == 0) {
            failed = read_count(self, "tpb", values[i], 1024, &out->tpb);
        } else if (PyUnicode_CompareWithASCIIString(name, "sharedmem") == 0) {
            failed = read_count(self, "sharedmem", values[i], 1 << 20, &out->shared_bytes);
        } else {
            n_named++;
        }
        if (failed)
            return -1;
    }
    if (n_named == 0 || *n_args < 1) /* without a space, prepare() raises */
        return 0;
    row[0] = (*args)[0];
    *n_args = 1 + lw_function_arrange(&self->base, *args + 1, *n_args - 1, kwnames, is_option,
                                      row + 1);
    *args = row;
    return *n_args < 1 ? -1 : 0;
}

/* ---- keys ---- */

static bool
is_stepped(const lw_forall *self, const lw_space *space)
{
    for (uint32_t d = 0; d < self->base.n_index; d++)
        if (space->start[d] != 0 || space->step[d] != 1)
            return true;
    return false;
}

static bool
may_be_negative(const lw_forall *self, const lw_space *space)
{
    for (uint32_t d = 0; d < self->base.n_index; d++)
        if (space->start[d] < 0 || space->step[d] < 0)
            return true;
    return false;
}

static bool
fits_i32(int64_t value)
{
    return value >= INT32_MIN && value <= INT32_MAX;
}

static bool
is_wide(const lw_forall *self, const lw_space *space, int64_t n)
{
    bool wide = n > INT32_MAX;

    for (uint32_t d = 0; d < self->base.n_index && !wide; d++) {
        int64_t extent, last;
        wide = !fits_i32(space->start[d]) || !fits_i32(space->step[d]) ||
               __builtin_mul_overflow(space->n[d] - 1, space->step[d], &extent) ||
               __builtin_add_overflow(space->start[d], extent, &last) || !fits_i32(last);
    }
    return wide;
}

void
lw_forall_common_key(const lw_forall *self, bool device, lw_entry_key *out)
{
    *out = (lw_entry_key){.form = device ? LW_ENTRY_FORALL : LW_ENTRY_RANGE,
                          .n_index = (uint8_t)self->base.n_index,
                          .fast = self->fast,
                          .noalias = true,
                          .aligned = device};
}

static void
key_of(const lw_prepared *p, bool device, lw_entry_key *key)
{
    lw_forall_common_key(p->self, device, key);
    key->watched = !device && lw_door_watches_elements(&p->self->base.options);
    key->noalias = !key->watched && lw_specialisation_noalias(p->specialisation, &p->bound);
    key->aligned = device && lw_bound_aligned(&p->bound);
    key->stepped = is_stepped(p->self, &p->space);
    key->wide = device && is_wide(p->self, &p->space, p->n);
}

/* ---- on the host ---- */

static int
prepare_host(lw_prepared *p)
{
    lw_entry_key key;

    key_of(p, false, &key);
    p->host = lw_specialisation_host(p->specialisation, &key);
    return p->host ? 0 : -1;
}

static int
tell_host(const lw_prepared *p, const lw_space_run *run)
{
    lw_raise_place place = {.kind = LW_AT_INDEX, .ndim = p->self->base.n_index};

    if (lw_print_show_anyway() < 0 ||
        (run->stop && run->stop->stopped)) /* then the exception of a signal handler is set */
        return -1;
    if (run->failure.at < 0)
        return 0;
    lw_space_index(&p->space, &p->host->key, run->failure.at, place.index);
    memcpy(place.words, run->failure.words, sizeof place.words);
    return lw_raise_at(&p->specialisation->scalar->raises[run->failure.status - 1], &place);
}

/* With progress=, which runs what is short without the GIL, too. */
static int
fire_telling(lw_prepared *p, lw_space_run *run)
{
    PyThreadState *state;
    lw_progress progress;
    int failed;

    if (lw_progress_begin(&progress, p->progress, p->n, name_of(p->self)) < 0)
        return -1;
    lw_progress_watch(&progress, run->stop);
    state = PyEval_SaveThread();
    lw_space_run_all(run);
    PyEval_RestoreThread(state);
    failed = tell_host(p, run);
    return lw_progress_end(&progress, failed == 0) < 0 ? -1 : failed;
}

static int
fire_host(lw_prepared *p)
{
    lw_space_run run = {.code = (lw_range_code)(uintptr_t)p->host->address,
                        .values = p->bound.values,
                        .space = &p->space,
                        .n = p->n,
                        .cost_ps = &p->host->cost_ps,
                        .in_order = p->host->prints,
                        .steady = p->host->steady};
    PyThreadState *state;
    lw_stop stop = {.ask = lw_signal_raised_anyhow};

    if (p->host->key.watched)
        return lw_forall_run_watched(p, &run) < 0 ? -1 : tell_host(p, &run);
    run.stop = &stop;
    if (p->progress != NULL)
        return fire_telling(p, &run);
    if (lw_space_is_long(&run)) {
        state = PyEval_SaveThread();
        lw_space_run_all(&run);
        PyEval_RestoreThread(state);
    } else {
        lw_space_run_all(&run);
    }
    return tell_host(p, &run);
}

/* ---- on the device ---- */

/* Fills in `slots` in the order of kernel_ir.h; every parameter reads its low bytes. */
static uint32_t
fill_slots(lw_prepared *p, const lw_entry_key *key)
{
    int order[LW_MAX_INDEX];
    uint32_t n = 0;

    lw_space_order(key, order);
    p->slots[n++] = (uint64_t)p->n;
    for (int k = 0; k + 1 < key->n_index; k++) {
        uint64_t size = (uint64_t)p->space.n[order[k]];
        lw_divider divider;
        p->slots[n++] = size;
        if (key->wide)
            continue;
        divider = lw_divider_of((uint32_t)size);
        p->slots[n++] = divider.multiplier;
        p->slots[n++] = divider.shift;
    }
    for (int d = 0; d < key->n_index && key->stepped; d++) {
        p->slots[n++] = (uint64_t)p->space.start[d];
        p->slots[n++] = (uint64_t)p->space.step[d];
    }
    return n;
}

static int
fill_params(lw_prepared *p, const lw_entry_key *key)
{
    uint32_t n = 0, n_slots = fill_slots(p, key);
    uint32_t all = n_slots + p->bound.n_values + 1;

    p->params = p->param_store;
    if (all > sizeof p->param_store / sizeof *p->param_store) {
        p->params = lw_alloc_zero(all, sizeof *p->params);
        if (p->params == NULL) {
            PyErr_NoMemory();
            return -1;
        }
    }
    for (uint32_t i = 0; i < n_slots; i++)
        p->params[n++] = &p->slots[i];
    for (uint32_t i = 0; i < p->bound.n_values; i++)
        p->params[n++] = &p->bound.values[i];
    p->control = p->entry->control;
    if (p->entry->watch != NULL)
        p->params[n++] = &p->control;
    return 0;
}

/* At most `most` blocks that share the work of `blocks`, each with the same number of them. */
static uint64_t
shared_evenly(uint64_t blocks, uint64_t most)
{
    uint64_t each = (blocks + most - 1) / most;

    return (blocks + each - 1) / each;
}

/* A few elements are spread over all SMs by smaller blocks. Many elements are walked by as many
 * blocks as keep the device full, several times over for balance, of which each does the same
 * number of whole batches. */
static void
choose_grid(lw_prepared *p, const lw_launch_config *config, bool given)
{
    uint32_t block = config->block;
    uint64_t blocks, most, resident, batches;
    while (!given && block > 64 &&
           (uint64_t)p->n < (uint64_t)block * 2 * (uint64_t)p->device->n_sms)
        block /= 2;
    block = (block + 31) / 32 * 32;
    blocks = ((uint64_t)p->n + block - 1) / block;
    resident = (uint64_t)config->full_grid * config->block / block;
    most = p->entry->batch > 1 ? MOST_BATCH_THREADS / block : resident * MOST_WAVES;
    /* the same number of iterations for each thread, but no SM without work */
    if (blocks > resident) {
        batches = (blocks + p->entry->batch - 1) / p->entry->batch;
        blocks = batches > resident ? batches : resident;
    }
    p->block = given ? config->block : block;
    if (most != 0 && blocks > most)
        blocks = shared_evenly(blocks, most);
    p->grid = (uint32_t)blocks;
}

static int
choose_shape(lw_prepared *p, const lw_forall_keywords *keywords)
{
    lw_launch_config config = p->entry->config;
    lw_status status = LW_OK;
    lw_error err = {0};

    p->shared_bytes = keywords->shared_bytes;
    if (p->shared_bytes > 48 * 1024)
        LW_TRY(lw_kernel_allow_shared(p->entry->kernel, p->shared_bytes, &err));
    if (keywords->tpb)
        LW_TRY(lw_launch_config_of(p->entry->kernel, keywords->tpb, p->shared_bytes, &config,
                                   &err));
    else if (p->shared_bytes)
        LW_TRY(lw_launch_config_best(p->entry->kernel, p->shared_bytes,
                                     p->self->base.limits.max_threads, &config, &err));
    choose_grid(p, &config, keywords->tpb != 0);
    return 0;
fail:
    lw_py_raise(&err);
    return -1;
}

/* The stream of the first array of another library. */
static CUstream
stream_of(const lw_bound *bound)
{
    for (uint32_t i = 0; i < bound->n_operands; i++)
        if (bound->operands[i]->kind == LW_OPERAND_DEVICE &&
            bound->operands[i]->library != LW_LIB_OWN)
            return bound->operands[i]->stream;
    return 0;
}

static int
prepare_device(lw_prepared *p, const lw_forall_keywords *keywords)
{
    lw_entry_key key;

    p->device = p->bound.device ? p->bound.device : lw_current_device();
    if (p->device == NULL)
        return -1;
    if (lw_progress_refuse(keywords->progress, name_of(p->self)) < 0)
        return -1;
    p->stream = stream_of(&p->bound);
    if (keywords->stream != NULL && (lw_stream_read(keywords->stream, &p->stream) < 0 ||
                                     lw_stream_check(keywords->stream, p->device) < 0))
        return -1;
    key_of(p, true, &key);
    p->entry = lw_specialisation_device(p->specialisation, p->device, &key);
    if (p->entry == NULL || choose_shape(p, keywords) < 0)
        return -1;
    return fill_params(p, &key);
}

static int
fire_device(lw_prepared *p)
{
    const lw_launch_shape shape = {.grid = {p->grid, 1, 1},
                                   .block = {p->block, 1, 1},
                                   .shared_bytes = p->shared_bytes,
                                   .stream = p->stream};
    lw_status status = LW_OK;
    CUcontext before = NULL;
    lw_error err = {0};

    LW_TRY(lw_device_visit(p->device, &before, &err));
    LW_TRY(lw_bound_use(&p->bound, p->device, p->stream, &err));
    LW_TRY(lw_launch(p->entry->kernel, &shape, p->params, &err));
    LW_TRY(lw_bound_done(&p->bound, p->device, p->stream, &err));
fail:
    lw_device_leave(before);
    if (status != LW_OK) {
        lw_py_raise(&err);
        return -1;
    }
    return lw_entry_report(p->entry, p->stream);
}

/* ---- the call ---- */

static int
choose_target(lw_prepared *p, bool *device)
{
    lw_target_choice target = p->self->base.options.target;

    *device = p->bound.where == LW_WHERE_DEVICE ||
              (p->bound.where == LW_WHERE_NOWHERE && target == LW_CHOOSE_CUDA);
    if (p->bound.where == LW_WHERE_HOST && target == LW_CHOOSE_CUDA) {
        PyErr_Format(PyExc_TypeError,
                     "%s was made with target=\"cuda\": arrays in tuples, and those of bind(), "
                     "must be on the GPU",
                     name_of(p->self));
        return -1;
    }
    if (*device && target == LW_CHOOSE_CPU) {
        PyErr_Format(PyExc_TypeError,
                     "%s was made with target=\"cpu\", and its arrays are on a GPU",
                     name_of(p->self));
        return -1;
    }
    return 0;
}

static int
read_space(const lw_forall *self, PyObject *const *args, Py_ssize_t n_args, lw_space *space,
           int64_t *n)
{
    if (n_args >= 1)
        return lw_space_read(&self->base, args[0], space, n);
    PyErr_Format(PyExc_TypeError, "%s() needs an index space, then its arguments",
                 name_of(self));
    return -1;
}

int
lw_forall_prepare(lw_forall *self, PyObject *const *args, Py_ssize_t n_args,
                  const lw_forall_keywords *keywords, lw_prepared *p)
{
    bool device;

    memset(p, 0, offsetof(lw_prepared, bound));
    memset(&p->specialisation, 0,
           offsetof(lw_prepared, slots) - offsetof(lw_prepared, specialisation));
    p->params = p->param_store;
    p->self = self;
    p->progress = keywords->progress;
    if (read_space(self, args, n_args, &p->space, &p->n) < 0)
        return -1;
    lw_bound_init(&p->bound);
    p->bound.negative = may_be_negative(self, &p->space);
    if (lw_bind(&self->base, args + 1, n_args - 1, &p->bound) < 0)
        return -1;
    p->specialisation = lw_specialisation_get(&self->base, &p->bound);
    if (p->specialisation == NULL || choose_target(p, &device) < 0)
        goto fail;
    if (p->n == 0)
        return 0;
    if (p->specialisation->n_races > 0 &&
        lw_forall_refuse_races(p->specialisation, &p->space) < 0)
        goto fail;
    if ((p->specialisation->n_reaches > 0 || p->specialisation->n_updates > 0) &&
        !keywords->with_halos && lw_forall_refuse_places(p) < 0)
        goto fail;
    if ((device ? prepare_device(p, keywords) : prepare_host(p)) == 0)
        return 0;
fail:
    lw_forall_release(p);
    return -1;
}

void
lw_forall_release(lw_prepared *p)
{
    lw_bound_release(&p->bound);
    if (p->params != p->param_store)
        lw_free(p->params);
    p->params = p->param_store;
}

PyObject *
lw_forall_fire(lw_prepared *p)
{
    int failed = p->n == 0 ? 0 : p->host != NULL ? fire_host(p) : fire_device(p);

    return failed ? NULL : Py_NewRef(Py_None);
}

/* ---- target="cuda" on host arrays ---- */

enum { MOST_TRAVELLERS = 64 };

typedef struct travel {
    Py_ssize_t n;
    PyObject *args[MOST_TRAVELLERS];       /* borrowed */
    PyArrayObject *hosts[MOST_TRAVELLERS]; /* the arrays that were copied, or NULL */
    lw_device_array *copies[MOST_TRAVELLERS];
} travel;

static bool
is_host_array(PyObject *object)
{
    return (PyArray_Check(object) && !lw_is_device_operand(object)) ||
           lw_is_foreign_host(object);
}

static bool
travels(const lw_forall *self, PyObject *const *args, Py_ssize_t n)
{
    bool any = false;

    if (self->base.options.target != LW_CHOOSE_CUDA)
        return false;
    for (Py_ssize_t i = 1; i < n && !any; i++)
        any = is_host_array(args[i]);
    return any;
}

/* An array that is an argument twice is copied once. */
static int
take_over(travel *t, PyObject *const *args, Py_ssize_t n, lw_device *device, CUstream stream)
{
    for (t->n = 0; t->n < n; t->n++) {
        PyObject *object = args[t->n];
        Py_ssize_t same = 0;
        t->args[t->n] = object;
        t->hosts[t->n] = NULL;
        t->copies[t->n] = NULL;
        if (t->n == 0 || !is_host_array(object))
            continue;
        while (args[same] != object)
            same++;
        t->hosts[t->n] = PyArray_Check(object) ? (PyArrayObject *)Py_NewRef(object)
                                               : lw_host_view(object, "an argument");
        if (t->hosts[t->n] != NULL)
            t->copies[t->n] = same < t->n
                                  ? (lw_device_array *)Py_XNewRef(t->copies[same])
                                  : lw_device_array_from_host(t->hosts[t->n], device, stream);
        if (t->copies[t->n] == NULL) {
            Py_CLEAR(t->hosts[t->n]);
            return -1;
        }
        t->args[t->n] = (PyObject *)t->copies[t->n];
    }
    return 0;
}

/* Copies back the arrays that the function may have written. */
static int
bring_back(const travel *t, const lw_prepared *p)
{
    for (uint32_t i = 0; i < p->specialisation->n_written; i++) {
        uint32_t arg = p->bound.arrays[p->specialisation->written[i]].arg + 1;
        PyObject *host;
        int failed;
        if (t->copies[arg] == NULL)
            continue;
        host = lw_device_array_to_host(t->copies[arg], p->stream);
        failed = host == NULL || PyArray_CopyInto(t->hosts[arg], (PyArrayObject *)host) < 0;
        Py_XDECREF(host);
        if (failed)
            return -1;
    }
    return 0;
}

static PyObject *
call_travelling(lw_forall *self, PyObject *const *args, Py_ssize_t n_args,
                const lw_forall_keywords *keywords)
{
    lw_device *device = lw_device_of_arrays(args, n_args);
    PyObject *result = NULL;
    CUstream stream = 0;
    lw_prepared p;
    travel t;

    if (device == NULL || (keywords->stream && lw_stream_read(keywords->stream, &stream) < 0))
        return NULL;
    if (n_args > MOST_TRAVELLERS) {
        PyErr_Format(PyExc_ValueError, "%s: more than %d arguments with arrays on the host",
                     name_of(self), MOST_TRAVELLERS - 1);
        return NULL;
    }
    if (take_over(&t, args, n_args, device, stream) == 0 &&
        lw_forall_prepare(self, t.args, n_args, keywords, &p) == 0) {
        result = lw_forall_fire(&p);
        if (result != NULL && p.n > 0 && bring_back(&t, &p) < 0)
            Py_CLEAR(result);
        lw_forall_release(&p);
    }
    for (Py_ssize_t i = 0; i < t.n; i++)
        Py_XDECREF(t.copies[i]);
    for (Py_ssize_t i = 0; i < t.n; i++)
        Py_XDECREF(t.hosts[i]);
    return result;
}

static PyObject *
call_with(lw_forall *self, PyObject *const *args, Py_ssize_t n_args,
          const lw_forall_keywords *keywords)
{
    PyObject *result;
    lw_prepared p;

    if (travels(self, args, n_args))
        return call_travelling(self, args, n_args, keywords);
    if (lw_forall_prepare(self, args, n_args, keywords, &p) < 0)
        return NULL;
    result = lw_forall_fire(&p);
    lw_forall_release(&p);
    return result;
}

/* Calls loop(((start, step, n) of each dimension), arguments). */
static PyObject *
call_in_python(const lw_forall *self, PyObject *loop, PyObject *const *args, Py_ssize_t n_args)
{
    PyObject *given[2] = {NULL, NULL}, *one, *result = NULL;
    lw_space space;
    int64_t n;

    if (read_space(self, args, n_args, &space, &n) < 0)
        return NULL;
    given[0] = PyTuple_New(self->base.n_index);
    given[1] = PyTuple_New(n_args - 1);
    for (uint32_t d = 0; given[0] != NULL && d < self->base.n_index; d++) {
        one = Py_BuildValue("LLL", (long long)space.start[d], (long long)space.step[d],
                            (long long)space.n[d]);
        if (one == NULL)
            Py_CLEAR(given[0]);
        else
            PyTuple_SET_ITEM(given[0], d, one);
    }
    for (Py_ssize_t i = 1; given[1] != NULL && i < n_args; i++)
        PyTuple_SET_ITEM(given[1], i - 1, Py_NewRef(args[i]));
    if (given[0] != NULL && given[1] != NULL)
        result = lw_python_loop_call(loop, given, 2);
    Py_XDECREF(given[0]);
    Py_XDECREF(given[1]);
    return result;
}

static PyObject *
call(lw_forall *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    Py_ssize_t n_args = PyVectorcall_NARGS(nargsf);
    lw_forall_keywords keywords = {0};
    PyObject *row[1 + LW_MOST_ARRANGED], *loop = lw_python_loop_of((lw_compiled *)self);

    if (kwnames && lw_forall_keywords_read(self, &args, &n_args, kwnames, row, &keywords) < 0)
        return NULL;
    if (loop != NULL)
        return call_in_python(self, loop, args, n_args);
    return call_with(self, args, n_args, &keywords);
}

PyObject *
lw_forall_call_with_halos(PyObject *object, PyObject *const *args, Py_ssize_t n_args)
{
    const lw_forall_keywords keywords = {.with_halos = true};
    lw_forall *current;
    PyObject *result;

    if (lw_calls_go_round())
        return lw_forall_call(object, args, (size_t)n_args, NULL);
    current = (lw_forall *)lw_function_current((lw_function *)object);
    result = current ? call_with(current, args, n_args, &keywords) : NULL;
    Py_XDECREF((PyObject *)current);
    return result;
}

PyObject *
lw_forall_call(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    lw_forall *current;
    PyObject *result;

    if (lw_calls_go_round() &&
        lw_went_round(&(lw_entry_call){"forall", lw_forall_call, (lw_compiled *)object, object,
                                       args, nargsf, kwnames},
                      &result))
        return result;
    current = (lw_forall *)lw_function_current((lw_function *)object);
    result = current ? call(current, args, nargsf, kwnames) : NULL;
    Py_XDECREF((PyObject *)current);
    return result;
}
