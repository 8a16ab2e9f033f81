#include "core/link/gdb_entry.h"

#include "core/base/lock.h"
#include "core/base/memory.h"
#include "core/link/elf_view.h"

#include <string.h>

#define FOR_GDB __attribute__((visibility("default"), used))

/* These three, and the two symbols below, are what gdb reads. */
typedef struct jit_code_entry {
    struct jit_code_entry *next, *previous;
    const char *object;
    uint64_t n_bytes;
} jit_code_entry;

enum { NOTHING, ADDED, REMOVED };

typedef struct jit_descriptor {
    uint32_t version, action;
    jit_code_entry *relevant, *first;
} jit_descriptor;

/* gdb has a breakpoint here. */
FOR_GDB void __attribute__((noinline)) __jit_debug_register_code(void)
{
    __asm__ volatile("" ::: "memory");
}

FOR_GDB jit_descriptor __jit_debug_descriptor = {.version = 1};

/* Other libraries may have symbols of these names: what we call is our own. */
extern __typeof(__jit_debug_register_code) stop_gdb
    __attribute__((alias("__jit_debug_register_code"), visibility("hidden")));
extern jit_descriptor descriptor
    __attribute__((alias("__jit_debug_descriptor"), visibility("hidden")));

struct lw_gdb_entry {
    jit_code_entry row;
    /* a copy with the addresses of its sections, which gdb relocates itself */
    uint8_t object[];
};

static lw_lock lock = LW_LOCK_INIT;

static bool
has_debug_info(const lw_elf *elf)
{
    Elf64_Shdr section;

    for (uint32_t i = 1; i < elf->n_sections; i++) {
        const char *name = lw_elf_section(elf, i, &section)
                               ? lw_elf_name(elf, elf->header.e_shstrndx, section.sh_name)
                               : NULL;
        if (name != NULL && strcmp(name, ".debug_info") == 0)
            return true;
    }
    return false;
}

static void
set_addresses(const lw_elf *elf, uint8_t *object, uint8_t *const *sections,
              const uint8_t *beyond)
{
    Elf64_Shdr section;

    for (uint32_t i = 1; i < elf->n_sections; i++) {
        if (!lw_elf_section(elf, i, &section) || !(section.sh_flags & SHF_ALLOC))
            continue;
        section.sh_addr = (uint64_t)(uintptr_t)(sections[i] ? sections[i] : beyond);
        memcpy(object + elf->header.e_shoff + (uint64_t)i * elf->header.e_shentsize, &section,
               sizeof section);
    }
}

lw_gdb_entry *
lw_gdb_add(const void *object, size_t n, uint8_t *const *sections, const uint8_t *beyond)
{
    lw_gdb_entry *entry;
    lw_elf elf;

    if (!lw_elf_open(&elf, object, n) || !has_debug_info(&elf) ||
        elf.header.e_shentsize != sizeof(Elf64_Shdr))
        return NULL;
    entry = lw_alloc(sizeof *entry + n);
    if (entry == NULL)
        return NULL;
    memcpy(entry->object, object, n);
    set_addresses(&elf, entry->object, sections, beyond);
    entry->row = (jit_code_entry){.object = (const char *)entry->object, .n_bytes = n};
    lw_lock_take(&lock);
    entry->row.next = descriptor.first;
    if (descriptor.first != NULL)
        descriptor.first->previous = &entry->row;
    descriptor.first = descriptor.relevant = &entry->row;
    descriptor.action = ADDED;
    stop_gdb();
    lw_lock_give(&lock);
    return entry;
}

void
lw_gdb_remove(lw_gdb_entry *entry)
{
    if (entry == NULL)
        return;
    lw_lock_take(&lock);
    if (entry->row.previous != NULL)
        entry->row.previous->next = entry->row.next;
    else
        descriptor.first = entry->row.next;
    if (entry->row.next != NULL)
        entry->row.next->previous = entry->row.previous;
    descriptor.relevant = &entry->row;
    descriptor.action = REMOVED;
    stop_gdb();
    lw_lock_give(&lock);
    lw_free(entry);
}
