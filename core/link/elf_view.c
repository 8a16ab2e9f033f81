#include "core/link/elf_view.h"

#include <string.h>

/* Offsets are compared by subtraction, since sums of hostile numbers wrap around. */
static bool
inside(const lw_elf *elf, uint64_t offset, uint64_t size)
{
    return offset <= elf->n && size <= elf->n - offset;
}

bool
lw_elf_open(lw_elf *elf, const void *data, size_t n)
{
    static const uint8_t wanted[6] = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB};
    Elf64_Ehdr *h = &elf->header;

    memset(elf, 0, sizeof *elf);
    if (data == NULL || n < sizeof *h || memcmp(data, wanted, sizeof wanted) != 0)
        return false;
    elf->data = data;
    elf->n = n;
    memcpy(h, data, sizeof *h);
    elf->n_sections = h->e_shnum;
    return h->e_shentsize == sizeof(Elf64_Shdr) &&
           inside(elf, h->e_shoff, (uint64_t)h->e_shnum * sizeof(Elf64_Shdr));
}

bool
lw_elf_section(const lw_elf *elf, uint32_t index, Elf64_Shdr *out)
{
    if (index >= elf->n_sections)
        return false;
    memcpy(out, elf->data + elf->header.e_shoff + (uint64_t)index * sizeof *out, sizeof *out);
    return out->sh_type == SHT_NOBITS || inside(elf, out->sh_offset, out->sh_size);
}

uint64_t
lw_elf_n_entries(const Elf64_Shdr *table, size_t size)
{
    return table->sh_entsize == size ? table->sh_size / size : 0;
}

bool
lw_elf_entry(const lw_elf *elf, const Elf64_Shdr *table, uint64_t index, void *out, size_t size)
{
    if (table->sh_type == SHT_NOBITS || index >= lw_elf_n_entries(table, size))
        return false;
    memcpy(out, elf->data + table->sh_offset + index * size, size);
    return true;
}

const char *
lw_elf_name(const lw_elf *elf, uint32_t string_section, uint32_t offset)
{
    Elf64_Shdr strings;
    const char *name;

    if (!lw_elf_section(elf, string_section, &strings) || strings.sh_type != SHT_STRTAB ||
        offset >= strings.sh_size)
        return NULL;
    name = (const char *)elf->data + strings.sh_offset + offset;
    return memchr(name, 0, strings.sh_size - offset) != NULL ? name : NULL;
}
