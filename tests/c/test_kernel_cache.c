/* The kernel cache: one make for each key, what a damaged or hostile disk costs (a miss, never
 * a wrong result), the size cap, leftovers, folders that cannot be used. */
#include "core/link/kernel_cache.h"

#include "core/base/env.h"
#include "core/base/memory.h"
#include "core/link/disk_cache.h"
#include "tests/c/check.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char root[] = "/tmp/lw_test_cache_XXXXXX";
static char folder[512];

typedef struct maker {
    atomic_int n_made;
    size_t n_bytes;
    uint8_t fill;
    int delay_ms;
    lw_status failure;
} maker;

static lw_status
make_bytes(void *context, lw_bytes *out, lw_error *err)
{
    maker *m = context;
    struct timespec delay = {m->delay_ms / 1000, (m->delay_ms % 1000) * 1000000L};

    atomic_fetch_add(&m->n_made, 1);
    nanosleep(&delay, NULL);
    if (m->failure != LW_OK)
        return lw_fail(err, m->failure, "made to fail");
    if (!lw_bytes_new(out, m->n_bytes))
        return lw_fail_memory(err);
    memset(out->data, m->fill, m->n_bytes);
    return LW_OK;
}

static lw_digest
key_of(const char *text)
{
    lw_sha256 sha;

    lw_sha256_init(&sha);
    lw_sha256_add_text(&sha, text);
    return lw_sha256_finish(&sha);
}

/* Gets key's value, checks it, and says where it came from. */
static lw_cache_origin
get(const char *key, maker *m)
{
    lw_digest digest = key_of(key);
    lw_cache_origin origin = LW_CACHE_MEMORY;
    lw_blob *blob = NULL;
    lw_error err = {0};

    CHECK(
        lw_cache_get_or_make(&(lw_cache_request){digest, LW_CACHE_OBJECT, true, make_bytes, m},
                             &blob, &origin, &err) == LW_OK);
    CHECK(blob != NULL && lw_blob_size(blob) == m->n_bytes);
    for (size_t i = 0; blob != NULL && i < lw_blob_size(blob); i++)
        if (lw_blob_data(blob)[i] != m->fill) {
            CHECK(!"wrong bytes");
            break;
        }
    lw_blob_unref(blob);
    lw_error_reset(&err);
    return origin;
}

static void
entry_path(const char *key, char out[700])
{
    lw_digest digest = key_of(key);
    char hex[65];

    lw_digest_hex(&digest, hex);
    snprintf(out, 700, "%s/%s-1.lwk", folder, hex);
}

static void
use_folder(const char *name)
{
    snprintf(folder, sizeof folder, "%s/%s", root, name);
    CHECK(lw_env_set(LW_ENV_cache_dir, folder));
    lw_cache_forget_memory();
}

static bool
warned(const char *words)
{
    lw_text text;
    bool found;

    lw_text_init(&text);
    found = lw_cache_take_warning(&text) && strstr(lw_text_get(&text), words) != NULL;
    lw_text_reset(&text);
    return found;
}

static void
test_round(void)
{
    maker m = {.n_bytes = 5000, .fill = 'a'}, empty = {.n_bytes = 0};
    struct stat info;
    char path[700];
    lw_cache_info about;

    use_folder("round/deep");
    CHECK(get("a", &m) == LW_CACHE_MADE);
    CHECK(get("a", &m) == LW_CACHE_MEMORY);
    lw_cache_forget_memory();
    CHECK(get("a", &m) == LW_CACHE_DISK);
    CHECK(m.n_made == 1);
    CHECK(get("empty", &empty) == LW_CACHE_MADE);
    lw_cache_forget_memory();
    CHECK(get("empty", &empty) == LW_CACHE_DISK);
    entry_path("a", path);
    CHECK(stat(path, &info) == 0 && (info.st_mode & 0777) == 0600 && info.st_size == 5088);
    CHECK(stat(folder, &info) == 0 && (info.st_mode & 0777) == 0700);
    CHECK(lw_cache_info_get(&about, NULL) == LW_OK);
    CHECK(strcmp(about.folder, folder) == 0 && about.problem == NULL);
    CHECK(about.disk_entries == 2 && about.disk_bytes == 5088 + 88);
    CHECK(about.made == 2 && about.disk_hits == 2 && about.memory_hits == 1);
    lw_cache_info_reset(&about);
    CHECK(lw_cache_clear(NULL) == LW_OK);
    CHECK(stat(path, &info) != 0);
    CHECK(get("a", &m) == LW_CACHE_MADE);
    CHECK(!warned(""));
}

/* Replaces the file's bytes by what change does to them. */
static void
rewrite(const char *path, size_t keep, long flip_at, int extra)
{
    static uint8_t bytes[70000];
    FILE *file = fopen(path, "rb");
    size_t n = file ? fread(bytes, 1, sizeof bytes, file) : 0;

    CHECK(n > 0);
    if (file != NULL)
        fclose(file);
    if (flip_at >= 0)
        bytes[(size_t)flip_at % n] ^= 1 << (flip_at % 8);
    if (keep < n)
        n = keep;
    file = fopen(path, "wb");
    CHECK(file != NULL && fwrite(bytes, 1, n, file) == n);
    for (int i = 0; i < extra; i++)
        fputc('x', file);
    fclose(file);
}

static void
expect_replaced(const char *key, maker *m)
{
    int before = m->n_made;

    lw_cache_forget_memory();
    CHECK(get(key, m) == LW_CACHE_MADE && m->n_made == before + 1);
    lw_cache_forget_memory();
    CHECK(get(key, m) == LW_CACHE_DISK && m->n_made == before + 1);
}

static void
test_damage(void)
{
    maker m = {.n_bytes = 1000, .fill = 'd'};
    char path[700], other[700];

    use_folder("damage");
    CHECK(get("d", &m) == LW_CACHE_MADE);
    entry_path("d", path);
    for (long at = 0; at < 1088; at += at < 60 || at > 1050 ? 1 : 37) {
        rewrite(path, 100000, at, 0);
        expect_replaced("d", &m);
    }
    CHECK(warned("compiled anew"));
    for (size_t keep = 0; keep < 1088; keep += 111) {
        rewrite(path, keep, -1, 0);
        expect_replaced("d", &m);
    }
    rewrite(path, 100000, -1, 1);
    expect_replaced("d", &m);
    /* a whole, right entry of another key */
    m.fill = 'e';
    CHECK(get("e", &m) == LW_CACHE_MADE);
    entry_path("e", other);
    CHECK(rename(path, other) == 0);
    expect_replaced("e", &m);
    while (warned(""))
        continue;
}

static void
test_hostile_files(void)
{
    maker m = {.n_bytes = 100, .fill = 'h'};
    char path[700], elsewhere[600];

    use_folder("hostile");
    CHECK(get("h", &m) == LW_CACHE_MADE);
    entry_path("h", path);
    CHECK(chmod(path, 0622) == 0);
    expect_replaced("h", &m);
    CHECK(warned("others may write"));
    snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", root);
    CHECK(rename(path, elsewhere) == 0 && symlink(elsewhere, path) == 0);
    expect_replaced("h", &m);
    CHECK(warned("it is a link"));
    CHECK(unlink(path) == 0 && mkfifo(path, 0600) == 0); /* must not wait for a writer */
    expect_replaced("h", &m);
    CHECK(warned("not a plain file"));
    if (geteuid() == 0) {
        CHECK(chown(path, 12345, 12345) == 0);
        expect_replaced("h", &m);
        CHECK(warned("another user"));
    }
    CHECK(unlink(path) == 0 && mkdir(path, 0700) == 0); /* cannot even be replaced */
    lw_cache_forget_memory();
    CHECK(get("h", &m) == LW_CACHE_MADE);
    while (warned(""))
        continue;
    rmdir(path);
}

static void
expect_no_disk(maker *m, const char *words)
{
    lw_cache_info about;

    CHECK(get("u", m) == LW_CACHE_MADE);
    CHECK(get("u", m) == LW_CACHE_MEMORY);
    lw_cache_forget_memory();
    CHECK(get("u", m) == LW_CACHE_MADE);
    CHECK(lw_cache_info_get(&about, NULL) == LW_OK && about.problem != NULL);
    lw_cache_info_reset(&about);
    CHECK(lw_cache_clear(NULL) == LW_OK);
    CHECK(warned(words));
    CHECK(get("u", m) == LW_CACHE_MADE);
    CHECK(!warned("")); /* once is enough */
}

static void
test_unusable_folders(void)
{
    maker m = {.n_bytes = 100, .fill = 'u'};
    char path[600];
    FILE *file;

    snprintf(path, sizeof path, "%s/plain", root);
    file = fopen(path, "w");
    CHECK(file != NULL);
    fclose(file);
    use_folder("plain/below"); /* below a plain file */
    expect_no_disk(&m, "cannot be used");
    use_folder("plain"); /* a plain file itself */
    expect_no_disk(&m, "cannot be used");
    use_folder("foreign");
    CHECK(mkdir(folder, 0700) == 0);
    if (geteuid() == 0) {
        CHECK(chown(folder, 12345, 12345) == 0);
        expect_no_disk(&m, "another user");
    } else {
        CHECK(chmod(folder, 0500) == 0);
        CHECK(get("u", &m) == LW_CACHE_MADE && warned("cannot be written"));
    }
}

/* A file size limit stands for a full disk: the write fails half way. */
static void
test_full_disk(void)
{
    maker m = {.n_bytes = 60000, .fill = 'f'};
    struct rlimit old, small;
    lw_cache_info about;

    use_folder("full");
    signal(SIGXFSZ, SIG_IGN);
    CHECK(getrlimit(RLIMIT_FSIZE, &old) == 0);
    small = old;
    small.rlim_cur = 4096;
    CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
    CHECK(get("f", &m) == LW_CACHE_MADE);
    CHECK(setrlimit(RLIMIT_FSIZE, &old) == 0);
    CHECK(warned("cannot be written"));
    CHECK(lw_cache_info_get(&about, NULL) == LW_OK);
    CHECK(about.disk_entries == 0 && about.disk_bytes == 0);
    lw_cache_info_reset(&about);
    lw_cache_forget_memory();
    CHECK(get("f", &m) == LW_CACHE_MADE);
    lw_cache_forget_memory();
    CHECK(get("f", &m) == LW_CACHE_DISK);
}

static void
test_removed_folder(void)
{
    maker m = {.n_bytes = 10, .fill = 'r'};
    char command[600];

    use_folder("removed");
    CHECK(get("r", &m) == LW_CACHE_MADE);
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    CHECK(system(command) == 0);
    expect_replaced("r", &m);
}

static int
count_files(const char *start)
{
    DIR *directory = opendir(folder);
    struct dirent *next;
    int n = 0;

    CHECK(directory != NULL);
    while (directory != NULL && (next = readdir(directory)) != NULL)
        n += strncmp(next->d_name, start, strlen(start)) == 0;
    if (directory != NULL)
        closedir(directory);
    return n;
}

static void
age(const char *path, long seconds)
{
    struct timespec times[2] = {{time(NULL) - seconds, 0}, {time(NULL) - seconds, 0}};

    CHECK(utimensat(AT_FDCWD, path, times, 0) == 0);
}

static void
test_size_cap(void)
{
    maker m = {.n_bytes = 100000, .fill = 'c'};
    char key[16], path[700];
    lw_cache_info about;

    use_folder("cap");
    CHECK(lw_env_set(LW_ENV_cache_size_mb, "1"));
    for (int i = 0; i < 10; i++) {
        snprintf(key, sizeof key, "c%d", i);
        CHECK(get(key, &m) == LW_CACHE_MADE);
        entry_path(key, path);
        age(path, 1000 - i);
    }
    lw_cache_forget_memory();
    CHECK(get("c0", &m) == LW_CACHE_DISK);  /* used: now the youngest */
    CHECK(get("c10", &m) == LW_CACHE_MADE); /* over 1 MB */
    lw_cache_forget_memory();
    CHECK(lw_cache_info_get(&about, NULL) == LW_OK);
    CHECK(about.cap_bytes == 1 << 20 && about.disk_bytes <= about.cap_bytes);
    CHECK(about.disk_entries >= 8);
    lw_cache_info_reset(&about);
    CHECK(get("c0", &m) == LW_CACHE_DISK);
    CHECK(get("c10", &m) == LW_CACHE_DISK);
    CHECK(get("c9", &m) == LW_CACHE_DISK);
    CHECK(get("c1", &m) == LW_CACHE_MADE); /* the oldest went */
    CHECK(lw_env_set(LW_ENV_cache_size_mb, "0"));
    lw_cache_forget_memory();
    CHECK(get("c0", &m) == LW_CACHE_MADE); /* off */
    CHECK(lw_env_set(LW_ENV_cache_size_mb, NULL));
    CHECK(!warned(""));
}

static void
test_leftovers(void)
{
    maker m = {.n_bytes = 10, .fill = 'l'};
    char path[700];
    FILE *file;

    use_folder("leftovers");
    CHECK(get("l", &m) == LW_CACHE_MADE);
    for (int i = 0; i < 3; i++) { /* two from the past, one just now */
        snprintf(path, sizeof path, "%s/.lwtmp-%d-0-0", folder, i);
        file = fopen(path, "w");
        CHECK(file != NULL);
        fclose(file);
        if (i < 2)
            age(path, 4000);
    }
    snprintf(path, sizeof path, "%s/notes.txt", folder); /* not ours: stays */
    file = fopen(path, "w");
    CHECK(file != NULL);
    fclose(file);
    CHECK(lw_env_set(LW_ENV_cache_dir, root)); /* away and back: the folder is scanned anew */
    lw_cache_forget_memory();
    CHECK(get("l2", &m) == LW_CACHE_MADE);
    use_folder("leftovers");
    CHECK(get("l2", &m) == LW_CACHE_MADE);
    CHECK(count_files(".lwtmp-") == 1);
    CHECK(lw_cache_clear(NULL) == LW_OK);
    CHECK(count_files(".lwtmp-") == 0 && count_files("notes.txt") == 1);
}

/* A writer killed at any moment leaves nothing that can be read as an entry. */
static void
test_killed_writer(void)
{
    maker m = {.n_bytes = 50000, .fill = 'k'};
    int n_hits = 0;

    use_folder("killed");
    for (int round = 0; round < 30; round++) {
        pid_t child = fork();
        struct timespec delay = {0, (round % 10) * 100000L};

        CHECK(child >= 0);
        if (child == 0)
            for (;;) {
                lw_cache_clear(NULL);
                get("k", &m);
            }
        nanosleep(&delay, NULL);
        kill(child, SIGKILL);
        CHECK(waitpid(child, NULL, 0) == child);
        lw_cache_forget_memory();
        n_hits += get("k", &m) == LW_CACHE_DISK; /* get checks the bytes */
        CHECK(!warned(""));
    }
    lw_cache_forget_memory();
    CHECK(get("k", &m) == LW_CACHE_DISK);
    (void)n_hits;
}

/* ---- threads ---- */

typedef struct job {
    maker *m;
    const char *key;
    lw_status status;
    char text[64];
} job;

static void *
run_job(void *context)
{
    job *j = context;
    lw_digest digest = key_of(j->key);
    lw_blob *blob = NULL;
    lw_error err = {0};

    j->status = lw_cache_get_or_make(
        &(lw_cache_request){digest, LW_CACHE_OBJECT, true, make_bytes, j->m}, &blob, NULL,
        &err);
    CHECK((blob != NULL) == (j->status == LW_OK));
    snprintf(j->text, sizeof j->text, "%s", lw_error_text(&err));
    lw_blob_unref(blob);
    lw_error_reset(&err);
    return NULL;
}

static void
run_threads(maker *m, const char *key, lw_status expected)
{
    pthread_t threads[8];
    job jobs[8];

    for (int i = 0; i < 8; i++) {
        jobs[i] = (job){.m = m, .key = key};
        CHECK(pthread_create(&threads[i], NULL, run_job, &jobs[i]) == 0);
    }
    for (int i = 0; i < 8; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        CHECK(jobs[i].status == expected);
        if (expected != LW_OK && expected != LW_ERR_PYTHON)
            CHECK(strcmp(jobs[i].text, "made to fail") == 0);
    }
}

static void
test_threads(void)
{
    maker m = {.n_bytes = 3000, .fill = 't', .delay_ms = 30};
    maker lasting = {.failure = LW_ERR_COMPILE, .delay_ms = 30};
    maker passing = {.failure = LW_ERR_COMPILER_NOT_FOUND, .delay_ms = 100};
    maker python = {.failure = LW_ERR_PYTHON, .delay_ms = 5};

    use_folder("threads");
    run_threads(&m, "t", LW_OK);
    CHECK(m.n_made == 1);
    run_threads(&lasting, "t-lasting", LW_ERR_COMPILE);
    CHECK(lasting.n_made == 1);
    run_threads(&lasting, "t-lasting", LW_ERR_COMPILE);
    CHECK(lasting.n_made == 1); /* remembered */
    run_threads(&passing, "t-passing", LW_ERR_COMPILER_NOT_FOUND);
    CHECK(passing.n_made < 8);
    passing.failure = LW_OK; /* the compiler was installed meanwhile */
    run_threads(&passing, "t-passing", LW_OK);
    run_threads(&python, "t-python", LW_ERR_PYTHON);
    CHECK(python.n_made == 8); /* each thread its own exception */
}

static lw_status
make_itself(void *context, lw_bytes *out, lw_error *err)
{
    lw_digest digest = key_of("self");
    lw_blob *blob = NULL;

    (void)out;
    return lw_cache_get_or_make(
        &(lw_cache_request){digest, LW_CACHE_OBJECT, false, make_itself, context}, &blob, NULL,
        err);
}

static void
test_itself(void)
{
    lw_digest digest = key_of("self");
    lw_blob *blob = NULL;
    lw_error err = {0};

    CHECK(lw_cache_get_or_make(
              &(lw_cache_request){digest, LW_CACHE_OBJECT, false, make_itself, NULL}, &blob,
              NULL, &err) == LW_ERR_INTERNAL);
    lw_error_reset(&err);
}

/* A child forked while another thread makes a kernel can make it itself. */
static void
test_fork(void)
{
    maker slow = {.n_bytes = 10, .fill = 's', .delay_ms = 200};
    maker quick = {.n_bytes = 10, .fill = 's'};
    struct timespec delay = {0, 50000000};
    job j = {.m = &slow, .key = "fork"};
    pthread_t thread;
    pid_t child;
    int exit_status = -1;

    use_folder("fork");
    CHECK(pthread_create(&thread, NULL, run_job, &j) == 0);
    nanosleep(&delay, NULL);
    child = fork();
    if (child == 0) {
        alarm(5); /* a child that waits for the parent's thread would wait forever */
        get("fork", &quick);
        _exit(n_failures != 0);
    }
    CHECK(waitpid(child, &exit_status, 0) == child && exit_status == 0);
    CHECK(pthread_join(thread, NULL) == 0 && j.status == LW_OK);
}

/* What another process makes at once is claimed in a file with locks. A child that was made
 * without the handlers of a fork (as by vfork, or by a library) has the file open and keeps
 * nobody waiting once the claim is given up; and no more is claimed than is listed for the
 * handlers. */
static void
test_claims(void)
{
    lw_digest key = key_of("claim");
    int claims[65], first;
    pid_t child;

    use_folder("claims");
    first = lw_disk_claim(&key, LW_CACHE_OBJECT);
    CHECK(first >= 0);
    child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0) {
        alarm(30);
        pause();
        _exit(0);
    }
    CHECK(child > 0);
    lw_disk_give_up(first);
    first = lw_disk_claim(&key, LW_CACHE_OBJECT);
    CHECK(first >= 0);
    CHECK(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
    lw_disk_give_up(first);
    for (int i = 0; i < 65; i++) {
        char name[16];
        snprintf(name, sizeof name, "claim%d", i);
        key = key_of(name);
        claims[i] = lw_disk_claim(&key, LW_CACHE_OBJECT);
        CHECK((claims[i] >= 0) == (i < 64));
    }
    for (int i = 0; i < 65; i++)
        lw_disk_give_up(claims[i]);
}

static void
check_memory(uint64_t most_bytes, uint64_t least_entries)
{
    lw_cache_info about;

    CHECK(lw_cache_info_get(&about, NULL) == LW_OK);
    CHECK(about.memory_bytes <= most_bytes && about.memory_entries >= least_entries);
    CHECK((about.memory_entries == 0) == (about.memory_bytes == 0));
    lw_cache_info_reset(&about);
}

static void
test_memory_bound(void)
{
    maker m = {.n_bytes = 1 << 20, .fill = 'm'};
    char key[16];

    use_folder("bound");
    CHECK(lw_env_set(LW_ENV_cache_size_mb, "0"));
    for (int i = 0; i < 100; i++) {
        snprintf(key, sizeof key, "m%d", i);
        CHECK(get(key, &m) == LW_CACHE_MADE);
    }
    CHECK(get("m99", &m) == LW_CACHE_MEMORY);
    check_memory(32u << 20, 31);
    CHECK(lw_env_set(LW_ENV_memory_cache_mb, "4")); /* three of a MB and what an entry takes */
    CHECK(get("a", &m) == LW_CACHE_MADE);
    check_memory(4u << 20, 3);
    CHECK(get("b", &m) == LW_CACHE_MADE && get("c", &m) == LW_CACHE_MADE);
    CHECK(get("a", &m) == LW_CACHE_MEMORY); /* younger than b from here on */
    CHECK(get("d", &m) == LW_CACHE_MADE);
    CHECK(get("a", &m) == LW_CACHE_MEMORY && get("c", &m) == LW_CACHE_MEMORY);
    CHECK(get("b", &m) == LW_CACHE_MADE);
    CHECK(get("c", &m) == LW_CACHE_MEMORY && get("a", &m) == LW_CACHE_MEMORY);
    m.n_bytes = 9 << 20; /* alone above the bound: it takes all others' place, and has none */
    CHECK(get("large", &m) == LW_CACHE_MADE);
    check_memory(4u << 20, 0);
    CHECK(lw_env_set(LW_ENV_memory_cache_mb, "0"));
    m.n_bytes = 100;
    CHECK(get("small", &m) == LW_CACHE_MADE && get("small", &m) == LW_CACHE_MADE);
    check_memory(0, 0);
    CHECK(lw_env_set(LW_ENV_memory_cache_mb, NULL));
    CHECK(lw_env_set(LW_ENV_cache_size_mb, NULL));
    lw_cache_forget_memory();
}

static void
test_no_memory(void)
{
    int64_t live;
    bool made = false;

    use_folder("no-memory");
    lw_cache_forget_memory();
    live = lw_memory_live();
    for (int n = 0; n < 100 && !made; n++) {
        maker m = {.n_bytes = 100, .fill = 'n'};
        lw_digest digest = key_of("n");
        lw_blob *blob = NULL;
        lw_error err = {0};

        lw_memory_fail_at(n);
        made = lw_cache_get_or_make(
                   &(lw_cache_request){digest, LW_CACHE_OBJECT, n % 2 == 0, make_bytes, &m},
                   &blob, NULL, &err) == LW_OK;
        lw_memory_fail_at(-1);
        CHECK(made || err.status == LW_ERR_OUT_OF_MEMORY);
        lw_blob_unref(blob);
        lw_error_reset(&err);
        if (!made)
            CHECK(lw_memory_live() == live);
    }
    CHECK(made);
    lw_cache_forget_memory();
    CHECK(lw_memory_live() == live);
}

static double
now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void
show_speed(void)
{
    maker m = {.n_bytes = 20000, .fill = 'q'};
    double best = 1e9;

    use_folder("speed");
    get("q", &m);
    for (int i = 0; i < 30; i++) {
        double start;

        lw_cache_forget_memory();
        start = now_ms();
        CHECK(get("q", &m) == LW_CACHE_DISK);
        start = now_ms() - start;
        best = start < best ? start : best;
    }
    printf("disk hit of 20 KB: %.3f ms at best\n", best);
}

int
main(void)
{
    char command[600];

    CHECK(mkdtemp(root) != NULL);
    test_round();
    test_damage();
    test_hostile_files();
    test_unusable_folders();
    test_full_disk();
    test_removed_folder();
    test_size_cap();
    test_leftovers();
    test_killed_writer();
    test_threads();
    test_itself();
    test_fork();
    test_claims();
    test_memory_bound();
    test_no_memory();
    show_speed();
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    CHECK(system(command) == 0);
    return n_failures != 0;
}
