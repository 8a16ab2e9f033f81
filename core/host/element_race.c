/* Finds races between elements that run one after the other. For each byte range of the arrays
 * (a cell) two marks of each kind of access are enough: the element that comes next differs
 * from at least one of them. */
#include "core/host/element_race.h"

#include "core/base/memory.h"
#include "core/host/simulator.h"

#include <stdio.h>
#include <string.h>

enum { MOST_GRAIN = 16, MOST_KEPT = 64 };

typedef struct mark {
    uint32_t element; /* the element's number + 1; 0: none */
    /* stored: a store of the bytes that were there already, which counts as a read */
    uint32_t line : 31, stored : 1;
} mark;

typedef struct cell {
    mark writer; /* the only one, since a second writer is a race */
    mark atomic, other_atomic;
    mark reader, other_reader;
} cell;

/* The memory of one array, or of several that overlap. */
typedef struct region {
    lw_memory_span span;
    uint32_t grain;
    cell *cells; /* NULL until the first access */
} region;

struct lw_race_watch {
    const lw_race_array *arrays;
    uint32_t n_arrays, n_regions;
    region *regions;
    uint32_t element; /* the running element's number + 1; 0: none has begun */
    /* a store under way: what it has written is compared at the next access */
    const char *stored;
    uint32_t n_stored, stored_line;
    char kept[MOST_KEPT];
    lw_race race;
    lw_error error; /* the error that ended the watch */
    lw_race_watch *before;
};

static _Thread_local lw_race_watch *current;

/* ---- regions ---- */

static uint32_t
lowest_bit(uint64_t bits)
{
    return (uint32_t)(bits & (0 - bits));
}

/* The largest power of two at whose multiples all accesses to the array begin and end. */
static uint32_t
grain_of(const lw_race_array *array)
{
    uint64_t bits = array->data | array->grain | MOST_GRAIN;

    for (int d = 0; d < array->ndim; d++)
        bits |= array->shape[d] > 1 ? (uint64_t)array->strides[d] : 0;
    return lowest_bit(bits);
}

/* Adds a region, joined with every region that it overlaps. */
static void
add_region(lw_race_watch *watch, region more)
{
    for (uint32_t i = 0; i < watch->n_regions;) {
        const region *have = &watch->regions[i];
        if (!lw_memory_spans_overlap(have->span, more.span)) {
            i++;
            continue;
        }
        if (have->span.low < more.span.low)
            more.span.low = have->span.low;
        if (have->span.high > more.span.high)
            more.span.high = have->span.high;
        if (have->grain < more.grain)
            more.grain = have->grain;
        watch->regions[i] = watch->regions[--watch->n_regions];
        i = 0; /* it has grown, and may overlap regions that it did not */
    }
    watch->regions[watch->n_regions++] = more;
}

static region *
region_of(lw_race_watch *watch, uint64_t address, uint32_t n_bytes)
{
    for (uint32_t i = 0; i < watch->n_regions; i++) {
        const lw_memory_span *span = &watch->regions[i].span;
        if (address >= span->low && address < span->high && n_bytes <= span->high - address)
            return &watch->regions[i];
    }
    return NULL;
}

static bool
make_cells(lw_race_watch *watch, region *where)
{
    uint64_t n = (where->span.high - where->span.low + where->grain - 1) / where->grain;

    if (where->cells == NULL)
        where->cells = lw_alloc_zero((size_t)n, sizeof *where->cells);
    if (where->cells == NULL)
        lw_fail_memory(&watch->error);
    return where->cells != NULL;
}

/* ---- what is told ---- */

static const lw_race_array *
array_of(const lw_race_watch *watch, uint64_t address)
{
    for (uint32_t i = 0; i < watch->n_arrays; i++)
        if (address >= watch->arrays[i].span.low && address < watch->arrays[i].span.high)
            return &watch->arrays[i];
    return &watch->arrays[0]; /* not reached: regions consist of arrays */
}

/* The index along each axis, longest strides first. False: no element of the array begins
 * here. */
static bool
index_of(const lw_race_array *array, uint64_t address, int64_t index[32])
{
    int64_t rest = (int64_t)(address - array->data);
    bool done[32] = {false};

    for (int k = 0; k < array->ndim; k++) {
        int best = -1;
        for (int d = 0; d < array->ndim; d++)
            if (!done[d] && (best < 0 || array->strides[d] > array->strides[best]))
                best = d;
        done[best] = true;
        index[best] = 0;
        if (array->shape[best] == 1)
            continue;
        if (array->strides[best] <= 0)
            return false;
        index[best] = rest / array->strides[best];
        rest -= index[best] * array->strides[best];
        if (index[best] < 0 || index[best] >= array->shape[best])
            return false;
    }
    return rest >= 0 && rest < array->itemsize;
}

static void
say_place(const lw_race_watch *watch, uint64_t address, char *out, size_t size)
{
    const lw_race_array *array = array_of(watch, address);
    int64_t index[32];
    size_t n;

    if (array->ndim == 0 || array->ndim > 32 || !index_of(array, address, index)) {
        snprintf(out, size, "%.80s, at offset %lld", array->name,
                 (long long)(int64_t)(address - array->data));
        return;
    }
    n = (size_t)snprintf(out, size, "%.80s[", array->name);
    for (int d = 0; d < array->ndim && n < size; d++)
        n += (size_t)snprintf(out + n, size - n, "%s%lld", d ? ", " : "", (long long)index[d]);
    if (n < size)
        snprintf(out + n, size - n, "]");
}

typedef struct access {
    uint64_t address;
    uint32_t n_bytes, line;
    const char *does;
    bool same; /* a store of what is there already */
} access;

static void
report(lw_race_watch *watch, const access *a, mark then, const char *did)
{
    lw_race *race = &watch->race;

    if (race->does != NULL)
        return;
    *race = (lw_race){.element = watch->element - 1,
                      .other = then.element - 1,
                      .line = a->line,
                      .other_line = then.line,
                      .does = a->does,
                      .did = did,
                      .n_bytes = a->n_bytes};
    say_place(watch, a->address, race->place, sizeof race->place);
}

static void
meet(lw_race_watch *watch, const access *a, mark then, const char *did)
{
    if (then.element != 0 && then.element != watch->element)
        report(watch, a, then, did);
}

/* ---- accesses ---- */

static void
note(const lw_race_watch *watch, mark *first, mark *other, const access *a)
{
    mark now = {watch->element, a->line & INT32_MAX, a->same};

    if (first->element == 0)
        *first = now;
    else if (first->element != watch->element && other->element == 0)
        *other = now;
}

static void
meet_readers(lw_race_watch *watch, const access *a, const cell *c)
{
    meet(watch, a, c->reader, c->reader.stored ? "wrote" : "read");
    meet(watch, a, c->other_reader, c->other_reader.stored ? "wrote" : "read");
}

static void
meet_atomics(lw_race_watch *watch, const access *a, const cell *c)
{
    meet(watch, a, c->atomic, "changed (atomically)");
    meet(watch, a, c->other_atomic, "changed (atomically)");
}

static void
touch_atomic(lw_race_watch *watch, cell *c, const access *a)
{
    meet(watch, a, c->writer, "wrote");
    meet_readers(watch, a, c);
    note(watch, &c->atomic, &c->other_atomic, a);
}

static void
touch_read(lw_race_watch *watch, cell *c, const access *a)
{
    if (!a->same)
        meet(watch, a, c->writer, "wrote");
    meet_atomics(watch, a, c);
    note(watch, &c->reader, &c->other_reader, a);
}

static void
touch_write(lw_race_watch *watch, cell *c, const access *a)
{
    meet(watch, a, c->writer, "wrote");
    meet_readers(watch, a, c);
    meet_atomics(watch, a, c);
    c->writer = (mark){.element = watch->element, .line = a->line & INT32_MAX};
}

static void
touch(lw_race_watch *watch, const access *a,
      void (*one)(lw_race_watch *, cell *, const access *))
{
    region *where = region_of(watch, a->address, a->n_bytes);
    uint64_t first, last;

    if (where == NULL || !make_cells(watch, where))
        return;
    first = (a->address - where->span.low) / where->grain;
    last = (a->address - where->span.low + a->n_bytes - 1) / where->grain;
    for (uint64_t i = first; i <= last; i++)
        one(watch, &where->cells[i], a);
}

static void
settle(lw_race_watch *watch)
{
    access a = {(uint64_t)(uintptr_t)watch->stored, watch->n_stored, watch->stored_line,
                "writes", false};

    if (watch->stored == NULL)
        return;
    a.same = a.n_bytes <= MOST_KEPT && memcmp(watch->stored, watch->kept, a.n_bytes) == 0;
    watch->stored = NULL;
    touch(watch, &a, a.same ? touch_read : touch_write);
}

/* Only memory of the arrays is compared after the store; an index out of bounds is not. */
static void
keep(lw_race_watch *watch, const char *address, uint32_t n_bytes, uint32_t line)
{
    if (region_of(watch, (uint64_t)(uintptr_t)address, n_bytes) == NULL)
        return;
    watch->stored = address;
    watch->n_stored = n_bytes;
    watch->stored_line = line;
    if (n_bytes <= MOST_KEPT)
        memcpy(watch->kept, address, n_bytes);
}

void
lw_race_access(const void *address, int32_t n_bytes, int32_t kind, int32_t line)
{
    lw_race_watch *watch = current;
    access a = {(uint64_t)(uintptr_t)address, (uint32_t)n_bytes, (uint32_t)line, "reads",
                false};

    if (watch == NULL || watch->error.status != LW_OK || watch->race.does != NULL)
        return;
    settle(watch);
    if (kind == LW_SIM_WRITE) {
        keep(watch, address, a.n_bytes, a.line);
    } else if (kind == LW_SIM_ATOMIC) {
        a.does = "changes (atomically)";
        touch(watch, &a, touch_atomic);
    } else {
        touch(watch, &a, touch_read);
    }
}

/* ---- a launch ---- */

lw_status
lw_race_begin(const lw_race_array *arrays, uint32_t n, lw_race_watch **out, lw_error *err)
{
    lw_race_watch *watch = lw_alloc_zero(1, sizeof *watch);

    *out = NULL;
    if (watch != NULL)
        watch->regions = lw_alloc_zero(n, sizeof *watch->regions);
    if (watch == NULL || watch->regions == NULL) {
        lw_free(watch);
        return lw_fail_memory(err);
    }
    watch->arrays = arrays;
    watch->n_arrays = n;
    watch->before = current;
    for (uint32_t i = 0; i < n; i++)
        if (arrays[i].span.low < arrays[i].span.high)
            add_region(watch, (region){arrays[i].span, grain_of(&arrays[i]), NULL});
    current = *out = watch;
    return LW_OK;
}

lw_race_watch *
lw_race_current(void)
{
    return current;
}

void
lw_race_next(lw_race_watch *watch)
{
    settle(watch);
    if (watch->element == UINT32_MAX)
        lw_fail(&watch->error, LW_ERR_UNSUPPORTED,
                "check={'race'} looks at most at 2**32 - 1 elements");
    else
        watch->element++;
}

bool
lw_race_seen(const lw_race_watch *watch)
{
    return watch->race.does != NULL || watch->error.status != LW_OK;
}

lw_status
lw_race_end(lw_race_watch *watch, lw_race *out, lw_error *err)
{
    lw_status status;

    if (!lw_race_seen(watch))
        settle(watch);
    status = watch->error.status;
    if (status != LW_OK)
        *err = watch->error;
    *out = watch->race;
    current = watch->before;
    for (uint32_t i = 0; i < watch->n_regions; i++)
        lw_free(watch->regions[i].cells);
    lw_free(watch->regions);
    lw_free(watch);
    return status;
}

void
lw_race_line(char text[32], uint32_t line)
{
    text[0] = '\0';
    if (line != 0)
        snprintf(text, 32, " in line %u", line);
}

lw_status
lw_race_fail(const lw_race *race, const char *function, const char *here, const char *there,
             lw_error *err)
{
    char line[32], other_line[32];

    lw_race_line(line, race->line);
    lw_race_line(other_line, race->other_line);
    return lw_fail(err, LW_ERR_KERNEL,
                   "%s: race on `%s`: %s %s %u byte%s there%s, which %s %s%s: elements run in "
                   "any order",
                   function, race->place, here, race->does, race->n_bytes,
                   race->n_bytes == 1 ? "" : "s", line, there, race->did, other_line);
}
