/* Bounds-checked reading of 64-bit little-endian ELF files (host objects, cubins). Every
 * function fails for anything that is not within the given bytes; nothing in the file is
 * trusted. */
#ifndef LW_LINK_ELF_VIEW_H
#define LW_LINK_ELF_VIEW_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct lw_elf { /* borrows the bytes */
    const uint8_t *data;
    size_t n;
    Elf64_Ehdr header;
    uint32_t n_sections;
} lw_elf;

bool lw_elf_open(lw_elf *elf, const void *data, size_t n);
/* False for an index or contents outside the file (SHT_NOBITS has no contents in it). */
bool lw_elf_section(const lw_elf *elf, uint32_t index, Elf64_Shdr *out);
/* Copies the n-th entry of a table section with entries of this size. */
bool lw_elf_entry(const lw_elf *elf, const Elf64_Shdr *table, uint64_t index, void *out,
                  size_t size);
uint64_t lw_elf_n_entries(const Elf64_Shdr *table, size_t size);
/* A NUL-terminated name in a string section; NULL when it does not end within it. */
const char *lw_elf_name(const lw_elf *elf, uint32_t string_section, uint32_t offset);

#endif
