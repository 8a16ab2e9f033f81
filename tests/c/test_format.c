/* The list of formats and strings of a process (core/ir/format.c). */
#include "core/ir/format.h"

#include "tests/c/check.h"

#include <stdio.h>
#include <string.h>

enum { MANY = 5000 };

static void
test_many_strings(void)
{
    static uint64_t numbers[MANY];
    char text[32];

    for (int i = 0; i < MANY; i++) {
        snprintf(text, sizeof text, "string %d", i);
        numbers[i] = lw_format_add(text, NULL, 0);
        CHECK(numbers[i] != 0);
    }
    for (int i = 0; i < MANY; i++) {
        const lw_format *found = lw_format_find(numbers[i]);

        snprintf(text, sizeof text, "string %d", i);
        CHECK(found != NULL && found->number == numbers[i] && strcmp(found->before, text) == 0);
        CHECK(lw_format_add(text, NULL, 0) == numbers[i]);
        CHECK(lw_format_find(numbers[i]) == found); /* it has not moved */
    }
}

static void
test_values(void)
{
    lw_format_value value = {.dtype = LW_DT_i64, .behind = "\n"};
    uint64_t text = lw_format_add("x ", NULL, 0), line = lw_format_add("x ", &value, 1);

    CHECK(text != line);
    CHECK(lw_format_find(text)->n == 0 && lw_format_find(line)->n == 1);
    CHECK(lw_format_add("", NULL, 0) != lw_format_add(" ", NULL, 0));
    CHECK(lw_format_find(line + 1) == NULL);
}

int
main(void)
{
    CHECK(lw_format_find(1) == NULL); /* of no formats at all */
    test_many_strings();
    test_values();
    return n_failures != 0;
}
