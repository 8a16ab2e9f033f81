/* The relocations of ELF objects, for each machine whose code the loader can run: where the
 * value comes from, and which bits of the object it is written to. Both machines are known
 * everywhere, so that the encodings of either are tested on the other. */
#ifndef LW_LINK_ELF_RELOCATION_H
#define LW_LINK_ELF_RELOCATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum lw_reloc_to {
    LW_RELOC_SYMBOL, /* the symbol's address and the addend */
    LW_RELOC_CALL,   /* the same, or a trampoline, where the symbol is out of reach */
    LW_RELOC_SLOT,   /* the slot of the global offset table that has the symbol's address */
} lw_reloc_to;

typedef enum lw_reloc_from {
    LW_RELOC_ABSOLUTE,
    LW_RELOC_PLACE,   /* relative to what is relocated */
    LW_RELOC_PAGES,   /* from the 4096 bytes in which that is to those of the address */
    LW_RELOC_IN_PAGE, /* the last twelve bits of the address */
} lw_reloc_from;

typedef enum lw_reloc_range {
    LW_RELOC_SIGNED,
    LW_RELOC_UNSIGNED,
    LW_RELOC_EITHER, /* a signed or an unsigned number of these bits */
    LW_RELOC_ANY,    /* the bits above are dropped */
} lw_reloc_range;

typedef struct lw_relocation {
    uint32_t type;
    uint8_t to, from, range;
    uint8_t shift; /* so many low bits of the value are not written; they have to be zero */
    uint8_t bits;  /* so many are written; 64: eight bytes, else within four */
    uint8_t at; /* the lowest bit that is written; LW_RELOC_SPLIT: two below, the rest above */
} lw_relocation;

enum { LW_RELOC_SPLIT = 0xff, LW_TRAMPOLINE_BYTES = 16 };

/* The number of this process's machine in ELF files; 0: the loader has no rules for it. */
extern const uint16_t lw_elf_this_machine;

/* NULL: the machine or the type is not supported. */
const lw_relocation *lw_relocation_of(uint16_t machine, uint32_t type);
size_t lw_relocation_bytes(const lw_relocation *relocation);
/* What is to be written at the address `place` for the address `to`. */
uint64_t lw_relocation_value(const lw_relocation *relocation, uint64_t to, uint64_t place);
bool lw_relocation_fits(const lw_relocation *relocation, uint64_t value);
/* Changes the bits at `at`; the value fits. */
void lw_relocation_write(const lw_relocation *relocation, uint8_t *at, uint64_t value);
/* Writes code that jumps to `target` from anywhere. */
void lw_trampoline_write(uint16_t machine, uint8_t *at, const void *target);

#endif
