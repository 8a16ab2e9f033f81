/* Sources of the rules: System V ABI, AMD64 supplement 1.0 (2023), section 4.4; ELF for the Arm
 * 64-bit Architecture (AAELF64) 2024Q3, section 5.7, whose operations are, in our words:
 * S + A is ABSOLUTE, S + A - P is PLACE, Page(S + A) - Page(P) is PAGES, and G(GDAT(S)) is
 * SLOT. The fields of AArch64's instructions: Arm Architecture Reference Manual (DDI 0487),
 * C4.1. */
#include "core/link/elf_relocation.h"

#include <assert.h>
#include <elf.h>
#include <string.h>

#if defined(__x86_64__) && defined(__linux__)
const uint16_t lw_elf_this_machine = EM_X86_64;
#elif defined(__aarch64__) && defined(__linux__) && defined(__AARCH64EL__)
const uint16_t lw_elf_this_machine = EM_AARCH64;
#else
const uint16_t lw_elf_this_machine = 0;
#endif

enum { PAGE = 4096 };

#define ROW(type, to, from, range, shift, bits, at)                                            \
    {                                                                                          \
        type, LW_RELOC_##to, LW_RELOC_##from, LW_RELOC_##range, shift, bits, at                \
    }

static const lw_relocation of_x86_64[] = {
    ROW(R_X86_64_64, SYMBOL, ABSOLUTE, ANY, 0, 64, 0),
    ROW(R_X86_64_PC64, SYMBOL, PLACE, ANY, 0, 64, 0),
    ROW(R_X86_64_32, SYMBOL, ABSOLUTE, UNSIGNED, 0, 32, 0),
    ROW(R_X86_64_32S, SYMBOL, ABSOLUTE, SIGNED, 0, 32, 0),
    ROW(R_X86_64_PC32, SYMBOL, PLACE, SIGNED, 0, 32, 0),
    ROW(R_X86_64_PLT32, CALL, PLACE, SIGNED, 0, 32, 0),
    ROW(R_X86_64_GOTPCREL, SLOT, PLACE, SIGNED, 0, 32, 0),
    ROW(R_X86_64_GOTPCRELX, SLOT, PLACE, SIGNED, 0, 32, 0),
    ROW(R_X86_64_REX_GOTPCRELX, SLOT, PLACE, SIGNED, 0, 32, 0),
};

static const lw_relocation of_aarch64[] = {
    /* data */
    ROW(R_AARCH64_ABS64, SYMBOL, ABSOLUTE, ANY, 0, 64, 0),
    ROW(R_AARCH64_PREL64, SYMBOL, PLACE, ANY, 0, 64, 0),
    ROW(R_AARCH64_ABS32, SYMBOL, ABSOLUTE, EITHER, 0, 32, 0),
    ROW(R_AARCH64_PREL32, SYMBOL, PLACE, EITHER, 0, 32, 0),
    /* branches: tbz, b.cond and cbz, b, bl */
    ROW(R_AARCH64_TSTBR14, SYMBOL, PLACE, SIGNED, 2, 14, 5),
    ROW(R_AARCH64_CONDBR19, SYMBOL, PLACE, SIGNED, 2, 19, 5),
    ROW(R_AARCH64_JUMP26, CALL, PLACE, SIGNED, 2, 26, 0),
    ROW(R_AARCH64_CALL26, CALL, PLACE, SIGNED, 2, 26, 0),
    /* addresses near by: ldr of a literal, adr */
    ROW(R_AARCH64_LD_PREL_LO19, SYMBOL, PLACE, SIGNED, 2, 19, 5),
    ROW(R_AARCH64_ADR_PREL_LO21, SYMBOL, PLACE, SIGNED, 0, 21, LW_RELOC_SPLIT),
    /* addresses in two parts: adrp, then add, or a load or store with an offset of its size */
    ROW(R_AARCH64_ADR_PREL_PG_HI21, SYMBOL, PAGES, SIGNED, 12, 21, LW_RELOC_SPLIT),
    ROW(R_AARCH64_ADR_PREL_PG_HI21_NC, SYMBOL, PAGES, ANY, 12, 21, LW_RELOC_SPLIT),
    ROW(R_AARCH64_ADD_ABS_LO12_NC, SYMBOL, IN_PAGE, UNSIGNED, 0, 12, 10),
    ROW(R_AARCH64_LDST8_ABS_LO12_NC, SYMBOL, IN_PAGE, UNSIGNED, 0, 12, 10),
    ROW(R_AARCH64_LDST16_ABS_LO12_NC, SYMBOL, IN_PAGE, UNSIGNED, 1, 11, 10),
    ROW(R_AARCH64_LDST32_ABS_LO12_NC, SYMBOL, IN_PAGE, UNSIGNED, 2, 10, 10),
    ROW(R_AARCH64_LDST64_ABS_LO12_NC, SYMBOL, IN_PAGE, UNSIGNED, 3, 9, 10),
    ROW(R_AARCH64_LDST128_ABS_LO12_NC, SYMBOL, IN_PAGE, UNSIGNED, 4, 8, 10),
    /* the global offset table */
    ROW(R_AARCH64_ADR_GOT_PAGE, SLOT, PAGES, SIGNED, 12, 21, LW_RELOC_SPLIT),
    ROW(R_AARCH64_LD64_GOT_LO12_NC, SLOT, IN_PAGE, UNSIGNED, 3, 9, 10),
};

static const struct {
    uint16_t machine;
    const lw_relocation *rows;
    size_t n;
} machines[] = {
    {EM_X86_64, of_x86_64, sizeof of_x86_64 / sizeof *of_x86_64},
    {EM_AARCH64, of_aarch64, sizeof of_aarch64 / sizeof *of_aarch64},
};

const lw_relocation *
lw_relocation_of(uint16_t machine, uint32_t type)
{
    for (size_t m = 0; m < sizeof machines / sizeof *machines; m++)
        for (size_t i = 0; machines[m].machine == machine && i < machines[m].n; i++)
            if (machines[m].rows[i].type == type)
                return &machines[m].rows[i];
    return NULL;
}

size_t
lw_relocation_bytes(const lw_relocation *relocation)
{
    return relocation->bits == 64 ? 8 : 4;
}

/* Sums are computed in uint64_t: hostile addends may wrap around, and the range check decides.
 */
uint64_t
lw_relocation_value(const lw_relocation *relocation, uint64_t to, uint64_t place)
{
    const uint64_t page = ~(uint64_t)(PAGE - 1);

    switch ((lw_reloc_from)relocation->from) {
    case LW_RELOC_ABSOLUTE: return to;
    case LW_RELOC_PLACE: return to - place;
    case LW_RELOC_PAGES: return (to & page) - (place & page);
    case LW_RELOC_IN_PAGE: return to & ~page;
    }
    assert(!"a kind of relocation without a rule");
    return 0;
}

bool
lw_relocation_fits(const lw_relocation *relocation, uint64_t value)
{
    unsigned bits = relocation->bits + relocation->shift;
    int64_t number = (int64_t)value, half;

    if (value & ((UINT64_C(1) << relocation->shift) - 1))
        return false;
    if (relocation->range == LW_RELOC_ANY)
        return true;
    assert(bits < 64);
    half = INT64_C(1) << (bits - 1);
    if (relocation->range == LW_RELOC_SIGNED)
        return number >= -half && number < half;
    return number >= (relocation->range == LW_RELOC_EITHER ? -half : 0) && number < 2 * half;
}

/* `word` with the lowest `bits` bits of `value` from bit `at` on. */
static uint32_t
with_bits(uint32_t word, unsigned at, unsigned bits, uint64_t value)
{
    uint32_t mask = (uint32_t)(((UINT64_C(1) << bits) - 1) << at);

    return (word & ~mask) | ((uint32_t)(value << at) & mask);
}

void
lw_relocation_write(const lw_relocation *relocation, uint8_t *at, uint64_t value)
{
    uint64_t shifted = value >> relocation->shift;
    uint32_t word;

    if (relocation->bits == 64) {
        memcpy(at, &value, sizeof value);
        return;
    }
    memcpy(&word, at, sizeof word);
    if (relocation->at == LW_RELOC_SPLIT) { /* adr and adrp: bits 29 and 30, 5 to 23 */
        word = with_bits(word, 29, 2, shifted);
        word = with_bits(word, 5, relocation->bits - 2u, shifted >> 2);
    } else {
        word = with_bits(word, relocation->at, relocation->bits, shifted);
    }
    memcpy(at, &word, sizeof word);
}

/* The address is behind the code. AAPCS64 (6.1.1) leaves x16 to whoever extends a call's reach.
 */
void
lw_trampoline_write(uint16_t machine, uint8_t *at, const void *target)
{
    static const uint8_t jump[6] = {0xff, 0x25}; /* jmp *[rip+0] */
    static const uint32_t load_and_jump[2] = {0x58000050,
                                              0xd61f0200}; /* ldr x16, .+8; br x16 */
    bool is_arm = machine == EM_AARCH64;
    size_t n = is_arm ? sizeof load_and_jump : sizeof jump;

    memcpy(at, is_arm ? (const void *)load_and_jump : jump, n);
    memcpy(at + n, &target, sizeof target);
}
