/* One mapping holds three page-aligned groups, so that every part of an object is within reach
 * of a 32-bit displacement: code with its trampolines (read and execute), constants with the
 * global offset table (read), data (read and write). Calls out of the object go through a
 * trampoline when the target is too far away. .eh_frame is not loaded, because kernels throw no
 * exceptions. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "core/link/elf_loader.h"

#include "core/base/divider.h"
#include "core/base/memory.h"

#include <assert.h>
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

/* ---- functions outside ---- */

static pthread_once_t libraries_once = PTHREAD_ONCE_INIT;
static void *libraries[3]; /* libm, libmvec, libgcc_s; NULL where a system has none */

static void
open_libraries(void)
{
    libraries[0] = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
    libraries[1] = dlopen("libmvec.so.1", RTLD_NOW | RTLD_LOCAL);
    libraries[2] = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL); /* __divti3, half floats */
}

enum { MAX_TABLES = 12 };
static pthread_mutex_t provide_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    const lw_extern_row *rows;
    size_t n;
} provided[MAX_TABLES];
static atomic_uint n_provided; /* tables that readers may search; they never change */

void
lw_extern_provide(const lw_extern_row *rows, size_t n)
{
    unsigned count, i = 0;

    pthread_mutex_lock(&provide_lock);
    count = atomic_load(&n_provided);
    while (i < count && provided[i].rows != rows)
        i++;
    assert(i < MAX_TABLES);
    if (i == count && count < MAX_TABLES) {
        provided[count].rows = rows;
        provided[count].n = n;
        atomic_store(&n_provided, count + 1);
    }
    pthread_mutex_unlock(&provide_lock);
}

static void *
find_provided(const char *name)
{
    unsigned count = atomic_load(&n_provided);

    for (unsigned i = 0; i < count; i++)
        for (size_t k = 0; k < provided[i].n; k++)
            if (strcmp(provided[i].rows[k].name, name) == 0)
                return provided[i].rows[k].address;
    return NULL;
}

/* libm's lgamma writes the sign of the gamma function to the global variable signgam, and cores
 * that call it would compete for the cache line of this variable. */
static double
lgamma_alone(double x)
{
    int sign;

    return lgamma_r(x, &sign);
}

static float
lgammaf_alone(float x)
{
    int sign;

    return lgammaf_r(x, &sign);
}

static void *
find_replaced(const char *name)
{
    if (strcmp(name, "lgamma") == 0)
        return (void *)(uintptr_t)lgamma_alone;
    return strcmp(name, "lgammaf") == 0 ? (void *)(uintptr_t)lgammaf_alone : NULL;
}

/* Our own functions come first, then libm's: a library that was loaded globally must not change
 * what exp means. */
void *
lw_extern_symbol(const char *name)
{
    void *address = find_provided(name);

    if (address == NULL)
        address = find_replaced(name);
    pthread_once(&libraries_once, open_libraries);
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries && address == NULL; i++)
        if (libraries[i] != NULL)
            address = dlsym(libraries[i], name);
    return address ? address : dlsym(RTLD_DEFAULT, name);
}

bool
lw_mvec_has(const char *symbol)
{
    pthread_once(&libraries_once, open_libraries);
    return libraries[1] != NULL && dlsym(libraries[1], symbol) != NULL;
}

#if (defined(__x86_64__) || defined(__AARCH64EL__)) && defined(__linux__)

#include "core/link/elf_relocation.h"
#include "core/link/elf_view.h"
#include "core/link/gdb_entry.h"

#include <sys/mman.h>
#include <unistd.h>

enum { GROUP_CODE, GROUP_CONST, GROUP_DATA, N_GROUPS, NO_GROUP = N_GROUPS };
enum { MAX_CODE_BYTES = 256 << 20, MAX_SYMBOLS = 1 << 20 };

typedef struct defined {
    char *name;
    void *address;
} defined;

struct lw_code {
    uint8_t *memory;
    size_t size;
    defined *symbols;
    size_t n_symbols;
    lw_gdb_entry *for_gdb; /* of code with debug information, else NULL */
};

typedef struct load {
    lw_elf elf;
    lw_code *code;
    const lw_code_extern *externs;
    size_t n_externs;
    uint8_t **sections; /* where each section is in memory; NULL: it is not loaded */
    uint64_t *sizes;    /* of each loaded section */
    uint32_t symtab;    /* section number; 0: none */
    Elf64_Shdr symbols;
    uint64_t n_symbols;
    void **addresses; /* of each symbol, resolved at its first use */
    uint8_t *state;   /* bit 0: resolved, 1: has a trampoline, 2: in the offset table */
    uint8_t *trampolines, *offset_table;
    size_t group_start[N_GROUPS], group_size[N_GROUPS];
    lw_error *err;
} load;

static lw_status
damaged(const load *l, const char *what)
{
    return lw_fail(l->err, LW_ERR_LINK, "the object file is damaged: %s", what);
}

static int
group_of(const load *l, const Elf64_Shdr *section)
{
    const char *name = lw_elf_name(&l->elf, l->elf.header.e_shstrndx, section->sh_name);

    if (!(section->sh_flags & SHF_ALLOC) || section->sh_size == 0)
        return NO_GROUP;
    if (section->sh_type != SHT_PROGBITS && section->sh_type != SHT_NOBITS &&
        section->sh_type != SHT_INIT_ARRAY)
        return NO_GROUP;
    if (name != NULL && strcmp(name, ".eh_frame") == 0)
        return NO_GROUP;
    if (section->sh_flags & SHF_EXECINSTR)
        return GROUP_CODE;
    return section->sh_flags & SHF_WRITE ? GROUP_DATA : GROUP_CONST;
}

/* Assigns a section its offset in its group; the group's start is known once all sections have
 * been placed. */
static lw_status
place_section(load *l, uint32_t index, const Elf64_Shdr *section, size_t *offset)
{
    int group = group_of(l, section);
    size_t align = section->sh_addralign ? section->sh_addralign : 1;

    if (group == NO_GROUP)
        return LW_OK;
    if (section->sh_flags & SHF_TLS)
        return lw_fail(l->err, LW_ERR_LINK, "the object uses thread-local data");
    if (section->sh_type == SHT_INIT_ARRAY)
        return lw_fail(l->err, LW_ERR_LINK, "the object has initialisation functions");
    if ((align & (align - 1)) != 0 || align > 4096)
        return damaged(l, "alignment of a section");
    if (section->sh_size > MAX_CODE_BYTES || l->group_size[group] > MAX_CODE_BYTES)
        return damaged(l, "size of a section");
    l->group_size[group] = lw_round_up(l->group_size[group], align);
    *offset = l->group_size[group];
    l->group_size[group] += section->sh_size;
    l->sizes[index] = section->sh_size;
    return LW_OK;
}

static lw_status
find_symbols(load *l)
{
    Elf64_Shdr section;

    for (uint32_t i = 1; i < l->elf.n_sections; i++) {
        if (!lw_elf_section(&l->elf, i, &section))
            return damaged(l, "a section lies outside the file");
        if (section.sh_type != SHT_SYMTAB)
            continue;
        l->symtab = i;
        l->symbols = section;
        l->n_symbols = lw_elf_n_entries(&section, sizeof(Elf64_Sym));
        if (l->n_symbols > MAX_SYMBOLS)
            return damaged(l, "number of symbols");
        return LW_OK;
    }
    return damaged(l, "no symbol table");
}

static lw_status
map_groups(load *l)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), total = 0;
    size_t trampolines_at = lw_round_up(l->group_size[GROUP_CODE], 16);
    size_t table_at = lw_round_up(l->group_size[GROUP_CONST], 8);

    l->group_size[GROUP_CODE] = trampolines_at + l->n_symbols * LW_TRAMPOLINE_BYTES;
    l->group_size[GROUP_CONST] = table_at + l->n_symbols * sizeof(void *);
    for (int g = 0; g < N_GROUPS; g++) {
        l->group_start[g] = total;
        total += lw_round_up(l->group_size[g], page);
    }
    if (total > MAX_CODE_BYTES)
        return damaged(l, "size of the sections together");
    l->code->memory =
        mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (l->code->memory == MAP_FAILED) {
        l->code->memory = NULL;
        return lw_fail_memory(l->err);
    }
    l->code->size = total;
    l->trampolines = l->code->memory + l->group_start[GROUP_CODE] + trampolines_at;
    l->offset_table = l->code->memory + l->group_start[GROUP_CONST] + table_at;
    return LW_OK;
}

static lw_status
copy_sections(load *l, const size_t *offsets)
{
    Elf64_Shdr section;

    for (uint32_t i = 1; i < l->elf.n_sections; i++) {
        if (l->sizes[i] == 0 || !lw_elf_section(&l->elf, i, &section))
            continue;
        l->sections[i] = l->code->memory + l->group_start[group_of(l, &section)] + offsets[i];
        if (section.sh_type != SHT_NOBITS)
            memcpy(l->sections[i], l->elf.data + section.sh_offset, section.sh_size);
    }
    return LW_OK;
}

static lw_status
lay_out(load *l)
{
    lw_status status = LW_OK;
    Elf64_Shdr section;
    size_t *offsets = lw_alloc_zero(l->elf.n_sections, sizeof *offsets);

    if (offsets == NULL)
        return lw_fail_memory(l->err);
    for (uint32_t i = 1; i < l->elf.n_sections; i++) {
        if (!lw_elf_section(&l->elf, i, &section)) {
            status = damaged(l, "a section lies outside the file");
            goto fail;
        }
        LW_TRY(place_section(l, i, &section, &offsets[i]));
    }
    LW_TRY(map_groups(l));
    LW_TRY(copy_sections(l, offsets));
fail:
    lw_free(offsets);
    return status;
}

static lw_status
find_outside(load *l, const Elf64_Sym *symbol, void **out)
{
    const char *name = lw_elf_name(&l->elf, l->symbols.sh_link, symbol->st_name);

    if (name == NULL || name[0] == 0)
        return damaged(l, "name of a symbol");
    for (size_t i = 0; i < l->n_externs; i++)
        if (strcmp(l->externs[i].name, name) == 0) {
            *out = l->externs[i].address;
            return LW_OK;
        }
    *out = lw_extern_symbol(name);
    if (*out == NULL && ELF64_ST_BIND(symbol->st_info) != STB_WEAK)
        return lw_fail(l->err, LW_ERR_LINK, "the function %s is not known on this machine",
                       name);
    return LW_OK;
}

static lw_status
find_inside(load *l, const Elf64_Sym *symbol, void **out)
{
    uint32_t section = symbol->st_shndx;

    if (section == SHN_ABS) {
        *out = (void *)(uintptr_t)symbol->st_value;
        return LW_OK;
    }
    if (section >= l->elf.n_sections || l->sections[section] == NULL)
        return damaged(l, "a symbol in a section that is not loaded");
    if (symbol->st_value > l->sizes[section])
        return damaged(l, "a symbol outside its section");
    *out = l->sections[section] + symbol->st_value;
    return LW_OK;
}

static lw_status
symbol_address(load *l, uint64_t index, void **out)
{
    Elf64_Sym symbol;
    lw_status status;

    if (!lw_elf_entry(&l->elf, &l->symbols, index, &symbol, sizeof symbol))
        return damaged(l, "number of a symbol");
    if (!(l->state[index] & 1)) {
        status = symbol.st_shndx == SHN_UNDEF ? find_outside(l, &symbol, &l->addresses[index])
                                              : find_inside(l, &symbol, &l->addresses[index]);
        if (status != LW_OK)
            return status;
        l->state[index] |= 1;
    }
    *out = l->addresses[index];
    return LW_OK;
}

static void *
trampoline(load *l, uint64_t index)
{
    uint8_t *at = l->trampolines + index * LW_TRAMPOLINE_BYTES;

    if (!(l->state[index] & 2)) {
        lw_trampoline_write(lw_elf_this_machine, at, l->addresses[index]);
        l->state[index] |= 2;
    }
    return at;
}

static void *
table_slot(load *l, uint64_t index)
{
    uint8_t *at = l->offset_table + index * sizeof(void *);

    if (!(l->state[index] & 4)) {
        memcpy(at, &l->addresses[index], sizeof(void *));
        l->state[index] |= 4;
    }
    return at;
}

/* The address that the relocation is about. On x86-64 an addend says how far from its end an
 * instruction counts, so it is also added to the address of a slot or a trampoline; on AArch64
 * it belongs to the symbol, and compilers write none where a slot or a trampoline takes its
 * place. */
static lw_status
find_target(load *l, const lw_relocation *relocation, uint64_t index, int64_t addend,
            uint64_t place, uint64_t *out)
{
    void *address = NULL, *instead;
    lw_status status = symbol_address(l, index, &address);
    uint64_t near;

    if (status != LW_OK)
        return status;
    *out = (uint64_t)(uintptr_t)address + (uint64_t)addend;
    near = lw_relocation_value(relocation, *out, place);
    if (relocation->to == LW_RELOC_SYMBOL ||
        (relocation->to == LW_RELOC_CALL && lw_relocation_fits(relocation, near)))
        return LW_OK;
    if (addend != 0 && lw_elf_this_machine == EM_AARCH64)
        return lw_fail(l->err, LW_ERR_LINK,
                       "relocation type %u with an addend is not supported", relocation->type);
    instead = relocation->to == LW_RELOC_SLOT ? table_slot(l, index) : trampoline(l, index);
    *out = (uint64_t)(uintptr_t)instead + (uint64_t)addend;
    return LW_OK;
}

static lw_status
apply(load *l, const lw_relocation *relocation, uint8_t *at, const Elf64_Rela *rela)
{
    uint64_t place = (uint64_t)(uintptr_t)at, target, value;
    lw_status status =
        find_target(l, relocation, ELF64_R_SYM(rela->r_info), rela->r_addend, place, &target);

    if (status != LW_OK)
        return status;
    value = lw_relocation_value(relocation, target, place);
    if (!lw_relocation_fits(relocation, value))
        return lw_fail(l->err, LW_ERR_LINK, "an address is out of reach of its instruction");
    lw_relocation_write(relocation, at, value);
    return LW_OK;
}

/* The number of NONE is the same for both machines; old AArch64 tools also wrote 256. */
static bool
does_nothing(uint32_t type)
{
    return type == R_X86_64_NONE || (lw_elf_this_machine == EM_AARCH64 && type == 256);
}

static lw_status
relocate_section(load *l, const Elf64_Shdr *table)
{
    uint32_t target = table->sh_info;
    Elf64_Rela rela;

    if (target >= l->elf.n_sections)
        return damaged(l, "target of a relocation table");
    if (l->sections[target] == NULL)
        return LW_OK; /* it belongs to debug information or .eh_frame */
    if (table->sh_link != l->symtab || table->sh_size % sizeof rela != 0 ||
        table->sh_entsize != sizeof rela)
        return damaged(l, "a relocation table");
    for (uint64_t i = 0; lw_elf_entry(&l->elf, table, i, &rela, sizeof rela); i++) {
        uint32_t type = (uint32_t)ELF64_R_TYPE(rela.r_info);
        const lw_relocation *relocation = lw_relocation_of(lw_elf_this_machine, type);
        lw_status status;

        if (does_nothing(type))
            continue;
        if (relocation == NULL)
            return lw_fail(l->err, LW_ERR_LINK, "relocation type %u is not supported", type);
        if (rela.r_offset > l->sizes[target] ||
            lw_relocation_bytes(relocation) > l->sizes[target] - rela.r_offset)
            return damaged(l, "a relocation outside its section");
        status = apply(l, relocation, l->sections[target] + rela.r_offset, &rela);
        if (status != LW_OK)
            return status;
    }
    return LW_OK;
}

static lw_status
relocate(load *l)
{
    Elf64_Shdr section;
    lw_status status = LW_OK;

    for (uint32_t i = 1; status == LW_OK && i < l->elf.n_sections; i++) {
        if (!lw_elf_section(&l->elf, i, &section))
            return damaged(l, "a section lies outside the file");
        if (section.sh_type == SHT_REL && section.sh_info < l->elf.n_sections &&
            l->sections[section.sh_info] != NULL)
            return damaged(l, "relocations without addends");
        if (section.sh_type == SHT_RELA)
            status = relocate_section(l, &section);
    }
    return status;
}

static bool
is_exported(const load *l, const Elf64_Sym *symbol)
{
    uint32_t section = symbol->st_shndx;

    return ELF64_ST_BIND(symbol->st_info) != STB_LOCAL && section != SHN_UNDEF &&
           section < l->elf.n_sections && l->sections[section] != NULL &&
           symbol->st_value < l->sizes[section];
}

static lw_status
keep_symbols(load *l)
{
    lw_code *code = l->code;
    Elf64_Sym symbol;

    code->symbols = lw_alloc_zero(l->n_symbols, sizeof *code->symbols);
    if (code->symbols == NULL)
        return lw_fail_memory(l->err);
    for (uint64_t i = 0; lw_elf_entry(&l->elf, &l->symbols, i, &symbol, sizeof symbol); i++) {
        const char *name = lw_elf_name(&l->elf, l->symbols.sh_link, symbol.st_name);
        defined *slot = &code->symbols[code->n_symbols];

        if (!is_exported(l, &symbol))
            continue;
        if (name == NULL)
            return damaged(l, "name of a symbol");
        slot->name = lw_strdup(name);
        slot->address = l->sections[symbol.st_shndx] + symbol.st_value;
        if (slot->name == NULL)
            return lw_fail_memory(l->err);
        code->n_symbols++;
    }
    return LW_OK;
}

static lw_status
protect(load *l)
{
    static const int rights[N_GROUPS] = {PROT_READ | PROT_EXEC, PROT_READ,
                                         PROT_READ | PROT_WRITE};
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *code = (char *)l->code->memory + l->group_start[GROUP_CODE];

    /* not every processor's instruction cache sees what was written; nothing on x86-64 */
    __builtin___clear_cache(code, code + l->group_size[GROUP_CODE]);
    for (int g = 0; g < N_GROUPS; g++) {
        size_t size = lw_round_up(l->group_size[g], page);
        if (size > 0 && mprotect(l->code->memory + l->group_start[g], size, rights[g]) != 0)
            return lw_fail(l->err, LW_ERR_LINK,
                           "this system does not allow memory to be made executable");
    }
    return LW_OK;
}

static lw_status
open_object(load *l, const void *object, size_t n)
{
    const Elf64_Ehdr *h = &l->elf.header;

    if (!lw_elf_open(&l->elf, object, n) || l->elf.n_sections == 0)
        return damaged(l, "it is not a 64-bit ELF file");
    if (h->e_machine != lw_elf_this_machine || h->e_type != ET_REL)
        return lw_fail(l->err, LW_ERR_LINK,
                       "the object file is for another machine or not relocatable");
    return LW_OK;
}

static lw_status
load_new(load *l)
{
    l->code = lw_alloc_zero(1, sizeof *l->code);
    l->sections = lw_alloc_zero(l->elf.n_sections, sizeof *l->sections);
    l->sizes = lw_alloc_zero(l->elf.n_sections, sizeof *l->sizes);
    l->addresses = lw_alloc_zero(l->n_symbols, sizeof *l->addresses);
    l->state = lw_alloc_zero(l->n_symbols, 1);
    if (l->code == NULL || l->sections == NULL || l->sizes == NULL || l->addresses == NULL ||
        l->state == NULL)
        return lw_fail_memory(l->err);
    return LW_OK;
}

lw_status
lw_code_load(const void *object, size_t n, const lw_code_extern *externs, size_t n_externs,
             lw_code **out, lw_error *err)
{
    lw_status status;
    load here = {.externs = externs, .n_externs = n_externs, .err = err}, *l = &here;

    LW_TRY(open_object(l, object, n));
    LW_TRY(find_symbols(l));
    LW_TRY(load_new(l));
    LW_TRY(lay_out(l));
    LW_TRY(relocate(l));
    LW_TRY(keep_symbols(l));
    LW_TRY(protect(l));
    l->code->for_gdb =
        lw_gdb_add(object, n, l->sections, l->code->memory + lw_round_up(l->code->size, 16));
    *out = l->code;
    l->code = NULL;
fail:
    lw_code_free(l->code);
    lw_free(l->sections);
    lw_free(l->sizes);
    lw_free(l->addresses);
    lw_free(l->state);
    return status;
}

void *
lw_code_symbol(const lw_code *code, const char *name)
{
    for (size_t i = 0; i < code->n_symbols; i++)
        if (strcmp(code->symbols[i].name, name) == 0)
            return code->symbols[i].address;
    return NULL;
}

size_t
lw_code_size(const lw_code *code)
{
    return code->size;
}

void
lw_code_free(lw_code *code)
{
    if (code == NULL)
        return;
    lw_gdb_remove(code->for_gdb);
    if (code->memory != NULL)
        munmap(code->memory, code->size);
    for (size_t i = 0; i < code->n_symbols; i++)
        lw_free(code->symbols[i].name);
    lw_free(code->symbols);
    lw_free(code);
}

#else /* other platforms have another object format */

struct lw_code {
    int nothing;
};

lw_status
lw_code_load(const void *object, size_t n, const lw_code_extern *externs, size_t n_externs,
             lw_code **out, lw_error *err)
{
    (void)object, (void)n, (void)externs, (void)n_externs;
    *out = NULL;
    return lw_fail(err, LW_ERR_LINK,
                   "compiled CPU code can be loaded on x86-64 and AArch64 Linux only, not on "
                   "this platform");
}

void *
lw_code_symbol(const lw_code *code, const char *name)
{
    (void)code, (void)name;
    return NULL;
}

size_t
lw_code_size(const lw_code *code)
{
    (void)code;
    return 0;
}

void
lw_code_free(lw_code *code)
{
    (void)code;
}

#endif
