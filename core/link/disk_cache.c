/* The disk half of the cache: a folder of files, each of which is one entry with a checksum,
 * named by its key. A writer makes a temporary file and renames it, so readers see whole
 * entries without a lock; what is damaged is a miss. The oldest entries go when the folder has
 * grown too large. */
#define _GNU_SOURCE /* F_OFD_SETLK */
#include "core/link/disk_cache.h"

#include "core/base/array.h"
#include "core/base/env.h"
#include "core/base/lock.h"
#include "core/base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static const char magic[8] = {'L', 'W', 'C', 'A', 'C', 'H', 'E', '\n'};

enum {
    FORMAT_VERSION = 1,
    HEADER_BYTES = 8 + 4 + 4 + 8 + 32,
    SUM_BYTES = 32,
    PATH_BYTES = 4096,
    FULL_BYTES = PATH_BYTES + 128, /* a folder's path and a name in it */
    /* age at which a temporary file must belong to a dead writer */
    STALE_SECONDS = 3600,
    /* after so many stores the folder is read again, because other processes write too */
    STORES_TO_RESCAN = 64,
    N_WARNED = 16,
    MOST_CLAIMS = 64 /* at once: what more threads compile is not claimed */
};
/* Far larger than any kernel (some hundred KB); it bounds what a damaged length can make us
 * read. */
static const uint64_t MAX_PAYLOAD_BYTES = 64u << 20;

/* All guarded by the lock. */
static lw_lock lock = LW_LOCK_INIT;
static struct {
    bool known, usable;
    uint64_t env_version;
    char path[PATH_BYTES];
    char problem[PATH_BYTES + 256]; /* "" while usable */
    uint64_t bytes;                 /* at the last scan, plus our own stores since */
    int stores;                     /* since the last scan; -1: not scanned yet */
} folder;
static char *warning;             /* waits until it is taken */
static uint64_t warned[N_WARNED]; /* hashes of warnings that were given */
static int n_warned;
static int claims[MOST_CLAIMS]; /* open files with a lock each */
static int n_claims;
static atomic_uint temp_counter;

void
lw_disk_fork_prepare(void)
{
    lw_lock_take(&lock);
}

void
lw_disk_fork_release(void)
{
    lw_lock_give(&lock);
}

/* The parent's claims: as long as a file is open anywhere, its locks are held. */
void
lw_disk_fork_child(void)
{
    while (n_claims > 0)
        close(claims[--n_claims]);
}

/* ---- warnings ---- */

/* needs: the lock */
static void
warn(const char *text)
{
    uint64_t hash = lw_hash64(text, strlen(text), 0);

    for (int i = 0; i < n_warned; i++)
        if (warned[i] == hash)
            return;
    if (warning != NULL)
        return; /* one at a time: it is given at the next occasion */
    warning = lw_strdup(text);
    if (n_warned == N_WARNED)
        n_warned = 0; /* after very many different warnings one may be repeated */
    warned[n_warned++] = hash;
}

static void
warn_format(const char *format, const char *path, const char *reason)
{
    char text[FULL_BYTES + 256];

    snprintf(text, sizeof text, format, path, reason);
    lw_lock_take(&lock);
    warn(text);
    lw_lock_give(&lock);
}

bool
lw_cache_take_warning(lw_text *out)
{
    char *text;

    lw_lock_take(&lock);
    text = warning;
    warning = NULL;
    lw_lock_give(&lock);
    if (text == NULL)
        return false;
    lw_text_add(out, text);
    lw_free(text);
    return true;
}

/* ---- the folder ---- */

static const char *
home_folder(void)
{
    const char *home = getenv("HOME");
    const struct passwd *user;

    if (home != NULL && home[0] == '/')
        return home;
    user = getpwuid(geteuid());
    return user ? user->pw_dir : NULL;
}

/* Follows the XDG Base Directory Specification 0.8, which says that a relative path is to be
 * ignored. */
static bool
choose_path(char out[PATH_BYTES])
{
    const char *set = lw_env_text(LW_ENV_cache_dir), *xdg = getenv("XDG_CACHE_HOME");
    const char *home = home_folder();
    char here[PATH_BYTES - 256];
    int n = -1;

    if (set[0] == '/')
        n = snprintf(out, PATH_BYTES, "%s", set);
    else if (set[0] == '~' && set[1] == '/' && home != NULL)
        n = snprintf(out, PATH_BYTES, "%s%s", home, set + 1);
    else if (set[0] != 0 && getcwd(here, sizeof here) != NULL) /* chdir must not move it */
        n = snprintf(out, PATH_BYTES, "%s/%s", here, set);
    else if (xdg != NULL && xdg[0] == '/')
        n = snprintf(out, PATH_BYTES, "%s/lanewise", xdg);
    else if (home != NULL)
        n = snprintf(out, PATH_BYTES, "%s/.cache/lanewise", home);
    return n > 0 && n < PATH_BYTES;
}

/* Makes the folder and what is missing above it, all with mode 0700. Returns an errno or 0. */
static int
make_folder(const char *path)
{
    char part[PATH_BYTES];
    size_t n = strlen(path);

    memcpy(part, path, n + 1);
    for (size_t i = 1; i <= n; i++) {
        if (part[i] != '/' && part[i] != 0)
            continue;
        part[i] = 0;
        if (mkdir(part, 0700) != 0 && errno != EEXIST && access(part, F_OK) != 0)
            return errno;
        part[i] = path[i];
    }
    return 0;
}

static const char *
check_folder(const char *path)
{
    struct stat info;
    int failed = make_folder(path);

    if (failed != 0)
        return strerror(failed);
    if (stat(path, &info) != 0)
        return strerror(errno);
    if (!S_ISDIR(info.st_mode))
        return "it is not a folder";
    if (info.st_uid != geteuid())
        return "it belongs to another user";
    return NULL;
}

/* needs: the lock */
static void
settle_folder(void)
{
    char path[PATH_BYTES];
    const char *reason;

    if (folder.known && folder.env_version == lw_env_version())
        return;
    folder.env_version = lw_env_version();
    if (!choose_path(path)) {
        path[0] = 0;
        reason = "there is no home folder, or the path is too long";
    } else if (folder.known && strcmp(path, folder.path) == 0) {
        return;
    } else {
        reason = check_folder(path);
    }
    folder.known = true;
    folder.usable = reason == NULL;
    folder.stores = -1;
    folder.bytes = 0;
    folder.problem[0] = 0;
    memcpy(folder.path, path, sizeof path);
    if (reason != NULL) {
        snprintf(folder.problem, sizeof folder.problem,
                 "the cache folder %s cannot be used (%s): kernels are compiled anew in each "
                 "process",
                 path, reason);
        warn(folder.problem);
    }
}

static uint64_t
cap_bytes(void)
{
    int64_t mb = lw_env_int(LW_ENV_cache_size_mb);

    return mb <= 0 ? 0 : (uint64_t)mb << 20;
}

/* Copies the folder's path; false when the disk is not to be used. */
static bool
get_folder(char out[PATH_BYTES])
{
    bool usable;

    if (cap_bytes() == 0)
        return false;
    lw_lock_take(&lock);
    settle_folder();
    usable = folder.usable;
    if (usable)
        memcpy(out, folder.path, strlen(folder.path) + 1);
    lw_lock_give(&lock);
    return usable;
}

/* Called because the folder may have been removed while the process runs. */
static void
recheck_folder(void)
{
    lw_lock_take(&lock);
    folder.known = false;
    lw_lock_give(&lock);
}

/* ---- one entry ---- */

static void
entry_name(const lw_digest *key, lw_cache_kind kind, char out[80])
{
    lw_digest_hex(key, out);
    snprintf(out + 64, 16, "-%d.lwk", (int)kind);
}

static void
put_le(uint8_t *at, uint64_t value, int n)
{
    for (int i = 0; i < n; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static void
fill_header(uint8_t header[HEADER_BYTES], const lw_digest *key, lw_cache_kind kind, uint64_t n)
{
    memcpy(header, magic, 8);
    put_le(header + 8, FORMAT_VERSION, 4);
    put_le(header + 12, (uint64_t)kind, 4);
    put_le(header + 16, n, 8);
    memcpy(header + 24, key->bytes, 32);
}

static lw_digest
sum_of(const uint8_t header[HEADER_BYTES], const void *payload, size_t n)
{
    lw_sha256 sha;

    lw_sha256_init(&sha);
    lw_sha256_add(&sha, header, HEADER_BYTES);
    lw_sha256_add(&sha, payload, n);
    return lw_sha256_finish(&sha);
}

/* NULL when the file may be read, else what is wrong with it. */
static const char *
check_file(int file, uint64_t *n)
{
    struct stat info;

    if (fstat(file, &info) != 0)
        return strerror(errno);
    if (!S_ISREG(info.st_mode))
        return "it is not a plain file";
    if (info.st_uid != geteuid())
        return "it belongs to another user";
    if (info.st_mode & (S_IWGRP | S_IWOTH))
        return "others may write to it";
    if (info.st_size < HEADER_BYTES + SUM_BYTES ||
        (uint64_t)info.st_size > MAX_PAYLOAD_BYTES + HEADER_BYTES + SUM_BYTES)
        return "its size is wrong";
    *n = (uint64_t)info.st_size - HEADER_BYTES - SUM_BYTES;
    return NULL;
}

/* Reads all three parts at once; a short read of a regular file means that it has shrunk
 * meanwhile. */
static const char *
read_parts(int file, const lw_digest *key, lw_cache_kind kind, lw_bytes *payload)
{
    uint8_t header[HEADER_BYTES], expected[HEADER_BYTES];
    lw_digest sum, right;
    struct iovec parts[3] = {
        {header, HEADER_BYTES}, {payload->data, payload->n}, {sum.bytes, sizeof sum.bytes}};

    if (readv(file, parts, 3) != (ssize_t)(HEADER_BYTES + payload->n + SUM_BYTES))
        return "it cannot be read whole";
    fill_header(expected, key, kind, payload->n);
    if (memcmp(header, expected, HEADER_BYTES) != 0)
        return "its head is damaged";
    right = sum_of(header, payload->data, payload->n);
    if (memcmp(sum.bytes, right.bytes, sizeof sum.bytes) != 0)
        return "its checksum is wrong";
    return NULL;
}

bool
lw_disk_load(const lw_digest *key, lw_cache_kind kind, lw_bytes *out)
{
    char in[PATH_BYTES], path[FULL_BYTES], name[80];
    const char *fault;
    uint64_t n = 0;
    int file;

    if (!get_folder(in))
        return false;
    entry_name(key, kind, name);
    snprintf(path, sizeof path, "%s/%s", in, name);
    file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        if (errno == ELOOP)
            warn_format("the cache entry %s is compiled anew: %s", path, "it is a link");
        return false;
    }
    fault = check_file(file, &n);
    if (fault == NULL && !lw_bytes_new(out, n)) {
        close(file);
        return false;
    }
    if (fault == NULL)
        fault = read_parts(file, key, kind, out);
    if (fault == NULL)
        (void)futimens(file, NULL); /* marks it as recently used; a read-only disk may refuse */
    close(file);
    if (fault == NULL)
        return true;
    lw_bytes_reset(out);
    warn_format("the cache entry %s is compiled anew: %s", path, fault);
    return false;
}

/* ---- the size cap ---- */

typedef struct file_row {
    char name[80];
    uint64_t bytes;
    int64_t used_seconds, used_nanoseconds;
} file_row;

typedef struct scan {
    LW_ARRAY(file_row) rows;
    uint64_t bytes;
} scan;

static bool
is_entry_name(const char *name)
{
    return strlen(name) > 64 && strlen(name) < 80 && strspn(name, "0123456789abcdef") == 64 &&
           name[64] == '-' && strcmp(name + strlen(name) - 4, ".lwk") == 0;
}

static bool
is_temp_name(const char *name)
{
    return strncmp(name, ".lwtmp-", 7) == 0;
}

static void
scan_file(int directory, const char *name, int64_t now, scan *out)
{
    struct stat info;
    file_row *row;

    if (fstatat(directory, name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode))
        return;
    if (is_temp_name(name)) {
        if (info.st_mtim.tv_sec + STALE_SECONDS < now)
            (void)unlinkat(directory, name, 0);
        return;
    }
    row = lw_array_push(&out->rows, NULL);
    if (row == NULL)
        return;
    memcpy(row->name, name, strlen(name) + 1);
    row->bytes = (uint64_t)info.st_size;
    row->used_seconds = info.st_mtim.tv_sec;
    row->used_nanoseconds = info.st_mtim.tv_nsec;
    out->bytes += row->bytes;
}

/* Lists our entries and removes stale temporary files; the directory stays open for the caller.
 */
static DIR *
scan_folder(const char *path, scan *out)
{
    DIR *directory = opendir(path);
    int64_t now = time(NULL);
    struct dirent *next;

    if (directory == NULL)
        return NULL;
    while ((next = readdir(directory)) != NULL)
        if (is_entry_name(next->d_name) || is_temp_name(next->d_name))
            scan_file(dirfd(directory), next->d_name, now, out);
    return directory;
}

static int
oldest_first(const void *a, const void *b)
{
    const file_row *x = a, *y = b;

    if (x->used_seconds != y->used_seconds)
        return x->used_seconds < y->used_seconds ? -1 : 1;
    return (x->used_nanoseconds > y->used_nanoseconds) -
           (x->used_nanoseconds < y->used_nanoseconds);
}

/* When the cache is larger than its limit, removes the least recently used entries until a
 * tenth is free. */
static void
trim(const char *path)
{
    scan found = {0};
    DIR *directory = scan_folder(path, &found);
    uint64_t cap = cap_bytes();

    if (directory != NULL && found.bytes > cap) {
        qsort(found.rows.data, found.rows.n, sizeof *found.rows.data, oldest_first);
        for (uint32_t i = 0; i < found.rows.n && found.bytes > cap - cap / 10; i++)
            if (unlinkat(dirfd(directory), found.rows.data[i].name, 0) == 0)
                found.bytes -= found.rows.data[i].bytes;
    }
    if (directory != NULL)
        closedir(directory);
    lw_lock_take(&lock);
    if (strcmp(path, folder.path) == 0) {
        folder.bytes = found.bytes;
        folder.stores = 0;
    }
    lw_lock_give(&lock);
    lw_array_free(&found.rows);
}

static void
count_store(const char *path, uint64_t bytes)
{
    bool scan_now = false;

    lw_lock_take(&lock);
    if (strcmp(path, folder.path) == 0) {
        folder.bytes += bytes;
        scan_now = folder.stores < 0 || ++folder.stores >= STORES_TO_RESCAN ||
                   folder.bytes > cap_bytes();
    }
    lw_lock_give(&lock);
    if (scan_now)
        trim(path);
}

/* ---- writing ---- */

/* Returns an errno or 0. The parts are changed. */
static int
write_parts(int file, struct iovec *parts, int n)
{
    while (n > 0) {
        ssize_t wrote = writev(file, parts, n);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0)
            return errno;
        while (n > 0 && (size_t)wrote >= parts->iov_len) {
            wrote -= (ssize_t)parts->iov_len;
            parts++;
            n--;
        }
        if (n > 0) {
            parts->iov_base = (char *)parts->iov_base + wrote;
            parts->iov_len -= (size_t)wrote;
        }
    }
    return 0;
}

static int
open_temp(const char *path, char out[FULL_BYTES])
{
    struct timespec now = {0};

    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(out, FULL_BYTES, "%s/.lwtmp-%ld-%u-%lx", path, (long)getpid(),
             atomic_fetch_add(&temp_counter, 1), (unsigned long)now.tv_nsec);
    return open(out, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* Returns an errno or 0. */
static int
write_entry(const char *path, const char *name, struct iovec *parts)
{
    char temp[FULL_BYTES], final[FULL_BYTES];
    int failed, file = open_temp(path, temp);

    if (file < 0)
        return errno;
    snprintf(final, sizeof final, "%s/%s", path, name);
    failed = write_parts(file, parts, 3);
    if (failed == 0 && fsync(file) != 0)
        failed = errno;
    if (close(file) != 0 && failed == 0)
        failed = errno;
    if (failed == 0 && rename(temp, final) != 0)
        failed = errno;
    if (failed != 0)
        (void)unlink(temp);
    return failed;
}

void
lw_disk_store(const lw_digest *key, lw_cache_kind kind, const void *data, size_t n)
{
    char path[PATH_BYTES], name[80];
    uint8_t header[HEADER_BYTES];
    lw_digest sum;
    int failed = ENOENT;

    if (n > MAX_PAYLOAD_BYTES || n + HEADER_BYTES + SUM_BYTES > cap_bytes())
        return;
    entry_name(key, kind, name);
    fill_header(header, key, kind, n);
    sum = sum_of(header, data, n);
    for (int attempt = 0; attempt < 2 && failed == ENOENT; attempt++) {
        struct iovec parts[3] = {{header, HEADER_BYTES}, {NULL, n}, {sum.bytes, SUM_BYTES}};

        memcpy(&parts[1].iov_base, &data, sizeof data); /* writev does not write to it */
        if (attempt > 0)
            recheck_folder();
        if (!get_folder(path))
            return;
        failed = write_entry(path, name, parts);
    }
    if (failed != 0)
        warn_format("the cache folder %s cannot be written (%s): kernels are compiled anew in "
                    "each process",
                    path, strerror(failed));
    else
        count_store(path, n + HEADER_BYTES + SUM_BYTES);
}

/* ---- claims: locks of bytes of one file, which end with the process ---- */

/* The longest wait costs about as much as a long compilation: whoever waits behind a process
 * that is stopped, or hangs, then compiles the entry itself. */
enum { MOST_WAITED_SECONDS = 10, POLLED_NANOSECONDS = 1000000 };

/* Locks the byte, or unlocks all of them. 1, 0: another process has it, -1: the file system
 * knows no locks. */
static int
lock_byte(int file, short how, off_t at)
{
    struct flock range = {
        .l_type = how, .l_whence = SEEK_SET, .l_start = at, .l_len = how == F_UNLCK ? 0 : 1};

    if (fcntl(file, F_OFD_SETLK, &range) == 0)
        return 1;
    return errno == EAGAIN || errno == EACCES || errno == EINTR ? 0 : -1;
}

/* Opens the file of the locks and lists it in the same critical section, so that a child of a
 * fork closes it: as long as a description is open anywhere, its lock is held. */
static int
open_claim(const char *path)
{
    char name[FULL_BYTES];
    int file = -1;

    snprintf(name, sizeof name, "%s/.lwlock", path);
    lw_lock_take(&lock);
    if (n_claims < MOST_CLAIMS)
        file = open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file >= 0)
        claims[n_claims++] = file;
    lw_lock_give(&lock);
    return file;
}

int
lw_disk_claim(const lw_digest *key, lw_cache_kind kind)
{
    char path[PATH_BYTES];
    struct timespec begin = {0}, now = {0}, pause = {.tv_nsec = POLLED_NANOSECONDS};
    uint64_t at = lw_hash64(key, sizeof *key, (uint64_t)kind) >> 2; /* offsets are signed */
    int file = get_folder(path) ? open_claim(path) : -1, locked;

    if (file < 0)
        return -1;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    while ((locked = lock_byte(file, F_WRLCK, (off_t)at)) == 0) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec - begin.tv_sec > MOST_WAITED_SECONDS)
            break;
        nanosleep(&pause, NULL);
    }
    if (locked == 1)
        return file;
    lw_disk_give_up(file);
    return -1;
}

/* Only closing would leave the lock to a child that was made without the handlers of a fork. */
void
lw_disk_give_up(int claim)
{
    bool is_held = false; /* not by a child of the process that made it */

    lw_lock_take(&lock);
    for (int i = 0; claim >= 0 && i < n_claims; i++)
        if (claims[i] == claim) {
            claims[i] = claims[--n_claims];
            is_held = true;
            break;
        }
    if (is_held) {
        (void)lock_byte(claim, F_UNLCK, 0);
        close(claim);
    }
    lw_lock_give(&lock);
}

/* ---- info and clear ---- */

lw_status
lw_disk_info(lw_cache_info *info, lw_error *err)
{
    scan found = {0};
    DIR *directory;

    lw_lock_take(&lock);
    settle_folder();
    info->folder = lw_strdup(folder.path);
    info->problem = folder.usable ? NULL : lw_strdup(folder.problem);
    lw_lock_give(&lock);
    info->cap_bytes = cap_bytes();
    if (info->folder == NULL)
        return lw_fail_memory(err);
    if (info->problem != NULL)
        return LW_OK;
    directory = scan_folder(info->folder, &found);
    if (directory != NULL)
        closedir(directory);
    info->disk_entries = found.rows.n;
    info->disk_bytes = found.bytes;
    lw_array_free(&found.rows);
    return LW_OK;
}

lw_status
lw_disk_clear(lw_error *err)
{
    char path[PATH_BYTES];
    lw_status status = LW_OK;
    struct dirent *next;
    DIR *directory;

    lw_lock_take(&lock);
    settle_folder();
    memcpy(path, folder.path, sizeof path);
    directory = folder.usable ? opendir(path) : NULL;
    folder.stores = -1;
    folder.bytes = 0;
    lw_lock_give(&lock);
    if (directory == NULL)
        return LW_OK; /* nothing is cached there */
    while ((next = readdir(directory)) != NULL) {
        if (!is_entry_name(next->d_name) && !is_temp_name(next->d_name))
            continue;
        if (unlinkat(dirfd(directory), next->d_name, 0) != 0 && errno != ENOENT)
            status = lw_fail(err, LW_ERR_OS, "cannot remove the cache entry %s/%s: %s", path,
                             next->d_name, strerror(errno));
    }
    closedir(directory);
    return status;
}
