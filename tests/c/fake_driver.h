/* What the tests of core/device share: the fake driver's controls, found in it by dlsym, and a
 * small image for it. The path of the fake comes from LW_FAKE_CUDA or the first argument. */
#ifndef LW_TESTS_FAKE_DRIVER_H
#define LW_TESTS_FAKE_DRIVER_H

#include "core/base/env.h"
#include "core/base/memory.h"
#include "core/device/context.h"
#include "core/device/module.h"
#include "tests/fault/fake_cuda.h"
#include "tests/c/check.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Must succeed; says why when it does not. */
#define GOOD(call)                                                                             \
    do {                                                                                       \
        lw_error err_ = {0}, *err = &err_;                                                     \
        if ((call) != LW_OK) {                                                                 \
            fprintf(stderr, "%s:%d: %s: %s\n  %s\n", __FILE__, __LINE__, __func__, #call,      \
                    lw_error_text(err));                                                       \
            n_failures++;                                                                      \
        }                                                                                      \
        lw_error_reset(err);                                                                   \
    } while (0)

/* Must fail with this status and a text that has these words. */
#define BAD(call, wanted, words)                                                               \
    do {                                                                                       \
        lw_error err_ = {0}, *err = &err_;                                                     \
        lw_status got_ = (call);                                                               \
        if (got_ != (wanted) || strstr(lw_error_text(err), (words)) == NULL) {                 \
            fprintf(stderr, "%s:%d: %s: %s\n  gave %d: %s\n", __FILE__, __LINE__, __func__,    \
                    #call, (int)got_, lw_error_text(err));                                     \
            n_failures++;                                                                      \
        }                                                                                      \
        lw_error_reset(err);                                                                   \
    } while (0)

static struct {
    void (*fail)(const char *name, int nth, int code);
    int (*failed)(void);
    const char *(*failed_name)(void);
    void (*absent)(const char *names);
    void (*set)(const char *what, long long value);
    int (*live)(const char *kind);
    long long (*used_bytes)(int ordinal);
    int (*calls)(const char *name);
    void (*reset_calls)(void);
    int (*n_launches)(void);
    int (*last_launch)(fake_launch *out);
    void (*set_capturing)(void *stream, int capturing);
    void (*set_busy)(void *stream, int busy);
    const char *(*log)(void);
    int (*context_new)(void **out, unsigned flags, int device);
    int (*context_free)(void *context);
} fake;

static void
fake_find(void *library, const char *name, void *slot)
{
    void *address = dlsym(library, name);

    if (address == NULL) {
        fprintf(stderr, "the fake driver has no %s\n", name);
        exit(2);
    }
    memcpy(slot, &address, sizeof address);
}

/* Opens the fake, and keeps it: the driver layer opens and closes the same library. */
static void
fake_open(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : getenv("LW_FAKE_CUDA");
    void *library = path ? dlopen(path, RTLD_NOW) : NULL;

    if (library == NULL) {
        fprintf(stderr, "no fake driver: set LW_FAKE_CUDA to its path (%s)\n",
                path ? dlerror() : "not set");
        exit(2);
    }
    fake_find(library, "fake_cuda_fail", &fake.fail);
    fake_find(library, "fake_cuda_failed", &fake.failed);
    fake_find(library, "fake_cuda_failed_name", &fake.failed_name);
    fake_find(library, "fake_cuda_absent", &fake.absent);
    fake_find(library, "fake_cuda_set", &fake.set);
    fake_find(library, "fake_cuda_live", &fake.live);
    fake_find(library, "fake_cuda_used_bytes", &fake.used_bytes);
    fake_find(library, "fake_cuda_calls", &fake.calls);
    fake_find(library, "fake_cuda_reset_calls", &fake.reset_calls);
    fake_find(library, "fake_cuda_n_launches", &fake.n_launches);
    fake_find(library, "fake_cuda_last_launch", &fake.last_launch);
    fake_find(library, "fake_cuda_set_capturing", &fake.set_capturing);
    fake_find(library, "fake_cuda_set_busy", &fake.set_busy);
    fake_find(library, "fake_cuda_log", &fake.log);
    fake_find(library, "cuCtxCreate_v2", &fake.context_new);
    fake_find(library, "cuCtxDestroy_v2", &fake.context_free);
    lw_env_set(LW_ENV_no_cuda, "0");
    lw_env_set(LW_ENV_driver, path);
}

/* An ELF image with a kernel "add" of two parameters (8 and 4 bytes) and a variable "table" of
 * 64 bytes; variant makes images differ. */
typedef struct fake_image {
    Elf64_Ehdr header;
    char names[64], strings[64];
    Elf64_Sym symbols[3];
    unsigned char info[32];
    Elf64_Shdr sections[5];
} fake_image;

static inline void
fake_param(unsigned char *out, unsigned ordinal, unsigned offset, unsigned size)
{
    unsigned words[4] = {4u | 0x17u << 8 | 12u << 16, 0, ordinal | offset << 16, size << 18};

    memcpy(out, words, sizeof words);
}

static inline void
fake_image_make(fake_image *out, int variant)
{
    static const char names[] = "\0.shstrtab\0.strtab\0.symtab\0.nv.info.add";
    static const char strings[] = "\0add\0table";

    memset(out, 0, sizeof *out);
    memcpy(out->header.e_ident, ELFMAG, SELFMAG);
    out->header.e_ident[EI_CLASS] = ELFCLASS64;
    out->header.e_machine = 190; /* EM_CUDA */
    out->header.e_flags = (Elf64_Word)variant;
    out->header.e_shoff = offsetof(fake_image, sections);
    out->header.e_shentsize = sizeof(Elf64_Shdr);
    out->header.e_shnum = 5;
    out->header.e_shstrndx = 1;
    memcpy(out->names, names, sizeof names);
    memcpy(out->strings, strings, sizeof strings);
    out->symbols[1] = (Elf64_Sym){1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0x10, 4, 0, 128};
    out->symbols[2] = (Elf64_Sym){5, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), 0, 4, 0, 64};
    fake_param(out->info, 0, 0, 8);
    fake_param(out->info + 16, 1, 8, 4);
    out->sections[1] = (Elf64_Shdr){.sh_name = 1,
                                    .sh_type = SHT_STRTAB,
                                    .sh_offset = offsetof(fake_image, names),
                                    .sh_size = sizeof names};
    out->sections[2] = (Elf64_Shdr){.sh_name = 11,
                                    .sh_type = SHT_STRTAB,
                                    .sh_offset = offsetof(fake_image, strings),
                                    .sh_size = sizeof strings};
    out->sections[3] = (Elf64_Shdr){.sh_name = 19,
                                    .sh_type = SHT_SYMTAB,
                                    .sh_offset = offsetof(fake_image, symbols),
                                    .sh_size = sizeof out->symbols,
                                    .sh_link = 2};
    out->sections[4] = (Elf64_Shdr){.sh_name = 27,
                                    .sh_type = SHT_PROGBITS,
                                    .sh_offset = offsetof(fake_image, info),
                                    .sh_size = sizeof out->info};
}

/* The same with a variable of 8 bytes, an address, in place of the table. strings: "\0add\0"
 * and the variable's name. */
static inline void
fake_image_with(fake_image *out, int variant, const char *strings, size_t n)
{
    fake_image_make(out, variant);
    memcpy(out->strings, strings, n);
    out->sections[2].sh_size = n;
    out->symbols[2].st_size = 8;
}

/* Where the variable of an image points to: the fake's device memory is host memory. */
static inline uint64_t *
fake_address_in(lw_image *image, const char *variable)
{
    CUdeviceptr address = 0;
    size_t size = 0;

    GOOD(lw_image_global(image, variable, &address, &size, err));
    return *(uint64_t **)(uintptr_t)address;
}

static inline lw_device *
device_0(void)
{
    lw_device *device = NULL;

    GOOD(lw_device_get(0, &device, err));
    if (device == NULL)
        exit(1);
    return device;
}

/* Everything that was made is gone again, on both sides. */
static inline void
check_nothing_left(int64_t heap_before)
{
    lw_driver_close();
    CHECK(fake.live("") == 0);
    CHECK(lw_memory_live() == heap_before);
}

#endif
