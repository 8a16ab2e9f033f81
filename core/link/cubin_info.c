/* A cubin is an ELF file: the code of a kernel k is the section .text.k; .nv.shared.k and
 * .nv.constant0.k are its memories; .nv.info lists attributes by symbol, of which number 0x11
 * is a function's frame size and 0x2f its register count. */
#include "core/link/cubin_info.h"

#include "core/base/divider.h"
#include "core/ir/recursion.h"

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct view {
    const uint8_t *data;
    size_t n;
    Elf64_Ehdr head;
    Elf64_Shdr names;
} view;

static bool
inside(const view *v, uint64_t at, uint64_t n)
{
    return at <= v->n && n <= v->n - at;
}

static bool
section(const view *v, unsigned i, Elf64_Shdr *out)
{
    uint64_t at = v->head.e_shoff + (uint64_t)i * sizeof *out;

    if (i >= v->head.e_shnum || !inside(v, at, sizeof *out))
        return false;
    memcpy(out, v->data + at, sizeof *out);
    return out->sh_type == SHT_NOBITS || inside(v, out->sh_offset, out->sh_size);
}

/* The text at `offset` of a string section, if it ends inside it. */
static const char *
text_at(const view *v, const Elf64_Shdr *strings, uint64_t offset)
{
    const char *text = (const char *)v->data + strings->sh_offset;

    if (offset >= strings->sh_size ||
        memchr(text + offset, 0, strings->sh_size - offset) == NULL)
        return "";
    return text + offset;
}

static bool
open_view(view *v, const void *cubin, size_t n_bytes)
{
    v->data = cubin;
    v->n = n_bytes;
    if (n_bytes < sizeof v->head || memcmp(cubin, ELFMAG, SELFMAG) != 0)
        return false;
    memcpy(&v->head, cubin, sizeof v->head);
    return v->head.e_shentsize == sizeof(Elf64_Shdr) &&
           section(v, v->head.e_shstrndx, &v->names);
}

/* The number of a symbol and, if value is not NULL, its value; 0: there is no such symbol. */
static uint32_t
symbol_number(const view *v, const char *kernel, uint64_t *value)
{
    Elf64_Shdr table, strings;

    for (unsigned i = 0; i < v->head.e_shnum; i++) {
        if (!section(v, i, &table) || table.sh_type != SHT_SYMTAB ||
            !section(v, table.sh_link, &strings))
            continue;
        for (uint64_t k = 0; (k + 1) * sizeof(Elf64_Sym) <= table.sh_size; k++) {
            Elf64_Sym symbol;
            memcpy(&symbol, v->data + table.sh_offset + k * sizeof symbol, sizeof symbol);
            if (strcmp(text_at(v, &strings, symbol.st_name), kernel) != 0)
                continue;
            if (value != NULL)
                *value = symbol.st_value;
            return (uint32_t)k;
        }
    }
    return 0;
}

enum { WITH_SIZE = 4, FRAME_SIZE = 0x11, REGISTER_COUNT = 0x2f };

/* Calls `take` for each attribute of a function: its number, the function's symbol and the
 * value. */
static void
each_attribute(const view *v, const Elf64_Shdr *info,
               void (*take)(void *context, uint8_t number, uint32_t symbol, uint32_t value),
               void *context)
{
    const uint8_t *at = v->data + info->sh_offset, *end = at + info->sh_size;

    while (end - at >= 4) {
        uint16_t size;
        uint32_t pair[2];
        memcpy(&size, at + 2, 2);
        if (at[0] != WITH_SIZE) { /* the value is in the size field */
            at += 4;
            continue;
        }
        if (end - at - 4 < size)
            return;
        if (size >= 8) {
            memcpy(pair, at + 4, 8);
            take(context, at[1], pair[0], pair[1]);
        }
        at += 4 + size;
    }
}

typedef struct wanted {
    uint32_t symbol;
    lw_cubin_info *out;
} wanted;

static void
take_attribute(void *context, uint8_t number, uint32_t symbol, uint32_t value)
{
    const wanted *w = context;

    if (symbol == w->symbol && number == FRAME_SIZE)
        w->out->local_bytes = (int)value;
    else if (symbol == w->symbol && number == REGISTER_COUNT)
        w->out->registers = (int)value;
}

static void
take_frame(void *context, uint8_t number, uint32_t symbol, uint32_t value)
{
    lw_cubin_frames *out = context;

    (void)symbol;
    if (number != FRAME_SIZE)
        return;
    out->largest = value > out->largest ? value : out->largest;
    out->sum += value;
}

/* From compute capability 8.0 on the section of a kernel's shared memory begins with the part
 * that the system reserves. A symbol says how large it is, or (CUDA 13.0) only that it is
 * there: then it is the 1 KB of the CUDA C++ Programming Guide. */
static int
own_shared_bytes(const view *v, uint64_t n_bytes)
{
    uint64_t reserved = 0;

    if (!symbol_number(v, ".nv.reservedSmem.cap", &reserved) &&
        symbol_number(v, ".nv.reservedSmem.offset0", NULL))
        reserved = 1024;
    return (int)(n_bytes >= reserved ? n_bytes - reserved : n_bytes);
}

lw_status
lw_cubin_info_read(const void *cubin, size_t n_bytes, const char *kernel, lw_cubin_info *out,
                   lw_error *err)
{
    char code[128], shared[128], constant[128];
    bool found = false;
    lw_status status;
    Elf64_Shdr s;
    view v;

    memset(out, 0, sizeof *out);
    if (!open_view(&v, cubin, n_bytes))
        return lw_fail(err, LW_ERR_LINK, "not a cubin");
    snprintf(code, sizeof code, ".text.%s", kernel);
    snprintf(shared, sizeof shared, ".nv.shared.%s", kernel);
    snprintf(constant, sizeof constant, ".nv.constant0.%s", kernel);
    for (unsigned i = 0; i < v.head.e_shnum; i++) {
        const char *name;
        if (!section(&v, i, &s))
            continue;
        name = text_at(&v, &v.names, s.sh_name);
        if (strcmp(name, code) == 0)
            found = true;
        else if (strcmp(name, shared) == 0)
            out->shared_bytes = own_shared_bytes(&v, s.sh_size);
        else if (strcmp(name, constant) == 0)
            out->constant_bytes = (int)s.sh_size;
        else if (strcmp(name, ".nv.info") == 0)
            each_attribute(&v, &s, take_attribute,
                           &(wanted){symbol_number(&v, kernel, NULL), out});
    }
    if (!found)
        return lw_fail(err, LW_ERR_LINK, "the cubin has no kernel '%s'", kernel);
    if (lw_cubin_names(cubin, n_bytes, LW_RECURSION_VARIABLE)) {
        lw_cubin_frames frames;
        LW_TRY(lw_cubin_frames_read(cubin, n_bytes, &frames, err));
        out->level_bytes = (int)frames.largest;
    }
    return LW_OK;
fail:
    return status;
}

lw_status
lw_cubin_frames_read(const void *cubin, size_t n_bytes, lw_cubin_frames *out, lw_error *err)
{
    Elf64_Shdr s;
    view v;

    memset(out, 0, sizeof *out);
    if (!open_view(&v, cubin, n_bytes))
        return lw_fail(err, LW_ERR_LINK, "not a cubin");
    for (unsigned i = 0; i < v.head.e_shnum; i++)
        if (section(&v, i, &s) && strcmp(text_at(&v, &v.names, s.sh_name), ".nv.info") == 0)
            each_attribute(&v, &s, take_frame, out);
    return LW_OK;
}

bool
lw_cubin_names(const void *cubin, size_t n_bytes, const char *name)
{
    size_t n = strlen(name) + 1; /* as in the symbol table, with its NUL */
    const char *at = cubin, *end = at + n_bytes;

    while (at < end && (at = memchr(at, name[0], (size_t)(end - at))) != NULL) {
        if ((size_t)(end - at) >= n && memcmp(at, name, n) == 0)
            return true;
        at++;
    }
    return false;
}

/* ---- occupancy ---- */

/* Bytes of shared memory of an SM: CUDA C++ Programming Guide, table of technical
 * specifications, as all numbers below. */
static int
shared_of_sm(int cc)
{
    switch (cc) {
    case 75: return 64 << 10;
    case 80: return 164 << 10;
    case 87: return 164 << 10;
    case 86:
    case 89: return 100 << 10;
    default: return cc >= 120 ? 100 << 10 : 228 << 10;
    }
}

double
lw_occupancy_of(const lw_cubin_info *info, int cc, int block)
{
    int threads = cc == 75 ? 1024 : cc == 86 || cc == 87 || cc == 89 || cc >= 120 ? 1536 : 2048;
    /* of a warp; they are granted in units of 256 */
    int registers = (info->registers + 7) / 8 * 8 * 32;
    int warps = registers ? 65536 / registers : threads / 32;
    int warps_of_block = (block + 31) / 32, blocks = threads / 32 / warps_of_block;

    blocks = lw_least(blocks, warps / warps_of_block);
    if (info->shared_bytes)
        blocks = lw_least(blocks, shared_of_sm(cc) / (info->shared_bytes + 1024));
    return (double)blocks * warps_of_block * 32 / threads;
}
