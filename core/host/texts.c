#include "core/host/texts.h"

#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/ir/format.h"
#include "core/ir/text_names.h"
#include "core/link/elf_loader.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char *
text_of(uint64_t word)
{
    const lw_format *format = lw_format_find(word);

    return format && format->before ? format->before : "";
}

static int64_t
length_of(uint64_t word)
{
    return (int64_t)lw_text_length(text_of(word));
}

static int64_t
compare(uint64_t x, uint64_t y)
{
    int order = strcmp(text_of(x), text_of(y)); /* UTF-8 sorts in the order of code points */

    return order < 0 ? -1 : order > 0;
}

static int64_t
contains(uint64_t whole, uint64_t part)
{
    return strstr(text_of(whole), text_of(part)) != NULL;
}

/* ---- sorting ---- */

typedef struct item {
    const char *text;
    int64_t place, rank;
} item;

static int
compare_items(const void *a, const void *b)
{
    const item *x = a, *y = b;
    int order = strcmp(x->text, y->text);

    return order != 0 ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

/* Whether memory ran out. */
static uint8_t
sort(int64_t *places, int64_t n, const uint64_t *words)
{
    item *items;

    if (n < 2)
        return false;
    items = lw_alloc_zero((size_t)n, sizeof *items);
    if (items == NULL)
        return true;
    for (int64_t i = 0; i < n; i++)
        items[i] = (item){text_of(words[places[i]]), places[i], i};
    qsort(items, (size_t)n, sizeof *items, compare_items);
    for (int64_t i = 0; i < n; i++)
        places[i] = items[i].place;
    lw_free(items);
    return false;
}

void
lw_texts_register(void)
{
    static lw_extern_row rows[] = {{LW_TEXT_LENGTH, NULL},
                                   {LW_TEXT_COMPARE, NULL},
                                   {LW_TEXT_CONTAINS, NULL},
                                   {LW_TEXTS_SORT, NULL}};

    rows[0].address = (void *)(uintptr_t)length_of;
    rows[1].address = (void *)(uintptr_t)compare;
    rows[2].address = (void *)(uintptr_t)contains;
    rows[3].address = (void *)(uintptr_t)sort;
    lw_extern_provide(rows, sizeof rows / sizeof *rows);
}
