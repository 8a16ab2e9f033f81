/* Lists that only grow: their order, what is tried first, threads that add at one time. */
#include "core/base/grown.h"

#include <pthread.h>
#include <stdio.h>

static int failures, freed;

static void
check(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "FAILED: %s\n", what);
        failures++;
    }
}

typedef struct number {
    lw_grown_item item;
    int value;
} number;

static int compared;

static bool
is_value(const void *item, const void *key)
{
    compared++;
    return ((const number *)item)->value == *(const int *)key;
}

static void
free_number(void *item)
{
    freed += ((number *)item)->value >= 0;
}

enum { N_THREADS = 4, N_EACH = 1000 };

static lw_grown shared;
static number numbers[N_THREADS][N_EACH];

static void *
add_all(void *mine)
{
    for (int i = 0; i < N_EACH; i++)
        lw_grown_add(&shared, (number *)mine + i);
    return NULL;
}

static void
test_threads(void)
{
    pthread_t threads[N_THREADS];
    int n = 0;

    for (int i = 0; i < N_THREADS; i++)
        pthread_create(&threads[i], NULL, add_all, numbers[i]);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    for (number *at = lw_grown_first(&shared); at != NULL; at = lw_grown_next(at))
        n++;
    check(n == N_THREADS * N_EACH, "every item that threads add is in the list once");
}

int
main(void)
{
    lw_grown list = {0};
    number items[3] = {{.value = 0}, {.value = 1}, {.value = 2}};
    int zero = 0, three = 3;

    check(lw_grown_find(&list, is_value, &zero) == NULL, "nothing in an empty list");
    for (int i = 0; i < 3; i++)
        lw_grown_add(&list, &items[i]);
    check(lw_grown_first(&list) == &items[2] && lw_grown_next(&items[2]) == &items[1] &&
              lw_grown_next(&items[0]) == NULL,
          "newest first");
    check(lw_grown_find(&list, is_value, &zero) == &items[0], "found at the end");
    compared = 0;
    check(lw_grown_find(&list, is_value, &zero) == &items[0] && compared == 1,
          "what was found last is tried first");
    check(lw_grown_find(&list, is_value, &three) == NULL, "not there");
    lw_grown_note(&list, &items[1]);
    compared = 0;
    check(lw_grown_find(&list, is_value, &items[1].value) == &items[1] && compared == 1,
          "what is noted is tried first");
    lw_grown_free(&list, free_number);
    check(freed == 3 && lw_grown_first(&list) == NULL, "all are freed, and the list is empty");
    test_threads();
    if (failures == 0)
        puts("grown: ok");
    return failures != 0;
}
