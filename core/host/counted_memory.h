/* Memory that compiled code makes on the host: a header (core/ir/counted.h), and the bytes
 * behind it. Pure C; any thread may hold references. */
#ifndef LW_HOST_COUNTED_MEMORY_H
#define LW_HOST_COUNTED_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *lw_counted_new(size_t n_bytes);  /* NULL: memory is out */
void lw_counted_retain(void *memory);  /* NULL is allowed */
void lw_counted_release(void *memory); /* NULL is allowed */
void *lw_counted_data(void *memory);   /* the address of its bytes */

/* Called when the last reference to somebody else's memory is gone. */
typedef void lw_counted_destructor(void *data, size_t n_bytes, void *information);
/* One reference to somebody else's bytes. NULL: memory is out. */
void *lw_counted_over(void *data, size_t n_bytes, lw_counted_destructor *destructor,
                      void *information);

/* How often memory was made and freed while counting was enabled. */
void lw_counted_enable(bool enabled);
bool lw_counted_is_enabled(void);
void lw_counted_read(int64_t *made, int64_t *freed);
void lw_counted_forget(void);

/* Words of a typed list or dict (core/ir/cell_words.h), which are 0, with one reference. NULL:
 * memory is out. */
void *lw_cells_new(int64_t n_words);
/* Puts an array into a cell. memory: the array's; it gets one reference more. */
void lw_cell_set(uint64_t *cell, void *data, int64_t extent, void *memory);

/* Who knows the memory of arrays that a function on this thread was called with: lend gives a
 * reference to the one in which `data` lies, or NULL. */
typedef struct lw_lender {
    void *(*lend)(const struct lw_lender *lender, const void *data);
    struct lw_lender *outer; /* of the function that has called this one */
} lw_lender;

void lw_lender_begin(lw_lender *lender);
void lw_lender_end(lw_lender *lender);

/* Makes the functions known to the loader of compiled code. */
void lw_counted_register(void);

#endif
