/* The fake driver: cubins, as far as ELF and .nv.info tell of them; modules, libraries,
 * functions.
 */
#define _GNU_SOURCE
#include "tests/fault/fake_internal.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

static size_t
image_bytes(const unsigned char *image)
{
    Elf64_Ehdr header;

    memcpy(&header, image, sizeof header);
    return header.e_shoff + (size_t)header.e_shentsize * header.e_shnum;
}

static Elf64_Shdr
section(const unsigned char *image, unsigned i)
{
    Elf64_Ehdr header;
    Elf64_Shdr found = {0};

    memcpy(&header, image, sizeof header);
    if (i < header.e_shnum)
        memcpy(&found, image + header.e_shoff + i * (size_t)header.e_shentsize, sizeof found);
    return found;
}

static unsigned
n_sections(const unsigned char *image)
{
    Elf64_Ehdr header;

    memcpy(&header, image, sizeof header);
    return header.e_shnum;
}

/* A named symbol of this type (STT_FUNC, STT_OBJECT); its size, or -1. */
static long long
find_symbol(const unsigned char *image, const char *name, int type)
{
    unsigned i;

    for (i = 0; i < n_sections(image); i++) {
        Elf64_Shdr symbols = section(image, i), names;
        size_t k;
        if (symbols.sh_type != SHT_SYMTAB && symbols.sh_type != SHT_DYNSYM)
            continue;
        names = section(image, symbols.sh_link);
        for (k = 0; k < symbols.sh_size / sizeof(Elf64_Sym); k++) {
            Elf64_Sym symbol;
            memcpy(&symbol, image + symbols.sh_offset + k * sizeof symbol, sizeof symbol);
            if (symbol.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol.st_info) == type &&
                strcmp((const char *)image + names.sh_offset + symbol.st_name, name) == 0)
                return (long long)symbol.st_size;
        }
    }
    return -1;
}

static Elf64_Shdr
find_section(const unsigned char *image, const char *name)
{
    Elf64_Ehdr header;
    Elf64_Shdr names, none = {0};
    unsigned i;

    memcpy(&header, image, sizeof header);
    names = section(image, header.e_shstrndx);
    for (i = 1; i < header.e_shnum; i++) {
        Elf64_Shdr one = section(image, i);
        if (strcmp((const char *)image + names.sh_offset + one.sh_name, name) == 0)
            return one;
    }
    return none;
}

/* The kernel's parameters, from its .nv.info: records of (format, attribute, size or value),
 * where KPARAM_INFO (0x17) is { u32 index; u16 ordinal, offset; u32 with the size in bits 18..
 * }. */
void
fake_read_params(const unsigned char *image, const char *kernel, fake_launch *out)
{
    char name[300];
    Elf64_Shdr info;
    size_t at = 0;

    snprintf(name, sizeof name, ".nv.info.%s", kernel);
    info = find_section(image, name);
    out->n_params = info.sh_size == 0 ? -1 : 0;
    while (at + 4 <= info.sh_size) {
        const unsigned char *record = image + info.sh_offset + at;
        uint16_t size = (uint16_t)(record[2] | record[3] << 8), ordinal, offset;
        uint32_t word;
        at += 4;
        if (record[0] != 4) /* only format 4 has a payload */
            continue;
        at += size;
        if (record[1] != 0x17 || size < 12)
            continue;
        memcpy(&ordinal, record + 8, 2);
        memcpy(&offset, record + 10, 2);
        memcpy(&word, record + 12, 4);
        if (ordinal < 64) {
            out->offsets[ordinal] = offset;
            out->sizes[ordinal] = word >> 18;
        }
        out->n_params++;
    }
}

/* FNV-1a. */
unsigned long long
fake_hash(const unsigned char *image, size_t n_bytes)
{
    unsigned long long hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < n_bytes; i++)
        hash = (hash ^ image[i]) * 0x100000001b3u;
    return hash;
}

static int
load(const void *image, int is_library, void **out)
{
    fake_object *item;
    size_t n_bytes;

    if (fake_current == NULL && !is_library)
        return INVALID_CONTEXT;
    if (image == NULL)
        return INVALID_VALUE;
    if (memcmp(image, ELFMAG, SELFMAG) != 0)
        return INVALID_IMAGE;
    n_bytes = image_bytes(image);
    item = fake_make(MODULE, fake_current ? fake_current->ordinal : 0);
    item->is_library = is_library;
    item->image = malloc(n_bytes);
    if (item->image == NULL)
        abort();
    memcpy(item->image, image, n_bytes);
    item->n_bytes = n_bytes;
    if (fake.log_file != NULL)
        fprintf(fake.log_file, "  image %016llx\n", fake_hash(image, n_bytes));
    *out = fake_publish(item);
    return SUCCESS;
}

static int
unload(void *module, int is_library)
{
    fake_object *item = fake_find(MODULE, (uintptr_t)module);
    int i;

    if (item == NULL || item->is_library != is_library)
        return INVALID_HANDLE;
    for (i = 0; i < N_BUCKETS; i++) {
        fake_object *one, *next;
        for (one = fake.buckets[i]; one != NULL; one = next) {
            next = one->next;
            if (one->owner != item)
                continue;
            if (one->kind == MEMORY)
                fake_free_memory(one);
            else
                fake_take_down(one);
        }
    }
    fake_take_down(item);
    return SUCCESS;
}

static int
get_function(void *module, int is_library, const char *name, void **out)
{
    fake_object *item = fake_find(MODULE, (uintptr_t)module), *function;
    int i;

    if (item == NULL || item->is_library != is_library)
        return INVALID_HANDLE;
    if (find_symbol(item->image, name, STT_FUNC) < 0)
        return NOT_FOUND;
    for (i = 0; i < N_BUCKETS; i++)
        for (function = fake.buckets[i]; function != NULL; function = function->next)
            if (function->owner == item && function->kind == FUNCTION &&
                strcmp(function->name, name) == 0) {
                *out = function;
                return SUCCESS;
            }
    function = fake_make(FUNCTION, item->ordinal);
    function->owner = item;
    function->name = strdup(name);
    *out = fake_publish(function);
    return SUCCESS;
}

static int
get_global(void *module, int is_library, const char *name, unsigned long long *address,
           size_t *n_bytes)
{
    fake_object *item = fake_find(MODULE, (uintptr_t)module);
    uintptr_t made;
    long long size;
    int code, i;

    if (item == NULL || item->is_library != is_library)
        return INVALID_HANDLE;
    size = find_symbol(item->image, name, STT_OBJECT);
    if (size < 0)
        return NOT_FOUND;
    *n_bytes = (size_t)size;
    for (i = 0; i < N_BUCKETS; i++) {
        fake_object *one;
        for (one = fake.buckets[i]; one != NULL; one = one->next)
            if (one->owner == item && one->kind == MEMORY && strcmp(one->name, name) == 0) {
                *address = one->handle;
                return SUCCESS;
            }
    }
    code = fake_new_memory(MEMORY, item->ordinal, size ? (size_t)size : 1, &made);
    if (code != SUCCESS)
        return code;
    fake_find(MEMORY, made)->owner = item;
    fake_find(MEMORY, made)->name = strdup(name);
    *address = made;
    return SUCCESS;
}

int
cuLibraryLoadData(void **out, const void *image, void *jit, void **jit_values, unsigned n_jit,
                  void *options, void **values, unsigned n_options)
{
    BEGIN_MAKING("cuLibraryLoadData", out);
    (void)jit, (void)jit_values, (void)options, (void)values;
    NEED(n_jit == 0 && n_options == 0, INVALID_VALUE);
    code = load(image, 1, out);
done:
    return fake_leave(code);
}

int
cuLibraryUnload(void *library)
{
    BEGIN_DOWN("cuLibraryUnload");
    code = unload(library, 1);
    return fake_leave(injected ? injected : code);
}

int
cuLibraryGetKernel(void **out, void *library, const char *name)
{
    BEGIN_MAKING("cuLibraryGetKernel", out);
    code = get_function(library, 1, name, out);
    return fake_leave(code);
}

int
cuLibraryGetModule(void **out, void *library)
{
    BEGIN_MAKING("cuLibraryGetModule", out);
    NEED(fake_find(MODULE, (uintptr_t)library) != NULL, INVALID_HANDLE);
    *out = library;
done:
    return fake_leave(code);
}

int
cuLibraryGetGlobal(unsigned long long *address, size_t *n_bytes, void *library,
                   const char *name)
{
    BEGIN_MAKING("cuLibraryGetGlobal", address);
    code = get_global(library, 1, name, address, n_bytes);
    return fake_leave(code);
}

int
cuKernelGetFunction(void **out, void *kernel)
{
    BEGIN_MAKING("cuKernelGetFunction", out);
    NEED(fake_find(FUNCTION, (uintptr_t)kernel) != NULL, INVALID_HANDLE);
    NEED(fake_current != NULL, INVALID_CONTEXT);
    *out = kernel;
done:
    return fake_leave(code);
}

int
cuModuleLoadData(void **out, const void *image)
{
    BEGIN_MAKING("cuModuleLoadData", out);
    code = load(image, 0, out);
    return fake_leave(code);
}

int
cuModuleUnload(void *module)
{
    BEGIN_DOWN("cuModuleUnload");
    code = unload(module, 0);
    return fake_leave(injected ? injected : code);
}

int
cuModuleGetFunction(void **out, void *module, const char *name)
{
    BEGIN_MAKING("cuModuleGetFunction", out);
    code = get_function(module, 0, name, out);
    return fake_leave(code);
}

int
cuModuleGetGlobal_v2(unsigned long long *address, size_t *n_bytes, void *module,
                     const char *name)
{
    BEGIN_MAKING("cuModuleGetGlobal_v2", address);
    code = get_global(module, 0, name, address, n_bytes);
    return fake_leave(code);
}

int
cuFuncLoad(void *function)
{
    BEGIN("cuFuncLoad");
    NEED(fake_find(FUNCTION, (uintptr_t)function) != NULL, INVALID_HANDLE);
done:
    return fake_leave(code);
}

int
cuFuncGetAttribute(int *out, int which, void *function)
{
    static const int values[] = {1024, 0, 64, 0, 32, 80, 90, 0, 49152};
    BEGIN("cuFuncGetAttribute");
    NEED(fake_find(FUNCTION, (uintptr_t)function) != NULL, INVALID_HANDLE);
    NEED(which >= 0 && which < (int)(sizeof values / sizeof *values), INVALID_VALUE);
    *out = which == 6 ? (int)fake.cc : values[which];
done:
    return fake_leave(code);
}

int
cuFuncSetAttribute(void *function, int which, int value)
{
    BEGIN("cuFuncSetAttribute");
    NEED(fake_find(FUNCTION, (uintptr_t)function) != NULL, INVALID_HANDLE);
    NEED(which != 8 || (value >= 0 && value <= 232448), INVALID_VALUE);
done:
    return fake_leave(code);
}

int
cuOccupancyMaxPotentialBlockSize(int *min_grid, int *block, void *function, void *callback,
                                 size_t shared_bytes, int limit)
{
    BEGIN("cuOccupancyMaxPotentialBlockSize");
    (void)shared_bytes;
    NEED(fake_find(FUNCTION, (uintptr_t)function) != NULL && callback == NULL, INVALID_VALUE);
    *block = limit > 0 && limit < 1024 ? (limit >= 32 ? limit / 32 * 32 : limit) : 1024;
    *min_grid = 132 * 2;
done:
    return fake_leave(code);
}

int
cuOccupancyMaxActiveBlocksPerMultiprocessor(int *out, void *function, int block,
                                            size_t shared_bytes)
{
    BEGIN("cuOccupancyMaxActiveBlocksPerMultiprocessor");
    NEED(fake_find(FUNCTION, (uintptr_t)function) != NULL && block > 0, INVALID_VALUE);
    *out = 2048 / block < 32 ? 2048 / block : 32;
    if (shared_bytes != 0 && (int)(233472 / shared_bytes) < *out)
        *out = (int)(233472 / shared_bytes);
done:
    return fake_leave(code);
}
