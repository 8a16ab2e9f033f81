/* The encodings of relocations: what binutils 2.40 makes of the same instructions, for both
 * machines on either of them, and the ends of each reach. */
#include "core/link/elf_relocation.h"

#include "tests/c/check.h"

#include <elf.h>
#include <string.h>

typedef struct example {
    uint16_t machine;
    uint32_t type;
    uint64_t place, to;
    uint32_t before, after;
} example;

#define ARM(type, place, to, before, after)                                                    \
    {                                                                                          \
        EM_AARCH64, R_AARCH64_##type, place, to, before, after                                 \
    }
#define X86(type, place, to, before, after)                                                    \
    {                                                                                          \
        EM_X86_64, R_X86_64_##type, place, to, before, after                                   \
    }

static const example examples[] = {
    ARM(ADR_PREL_PG_HI21, 0x40012000, 0x12345670, 0x90000003, 0xf0e91983), /* adrp */
    ARM(ADD_ABS_LO12_NC, 0x40012004, 0x12345670, 0x91000063, 0x9119c063),
    ARM(LDST8_ABS_LO12_NC, 0x40012008, 0x12345670, 0x39400061, 0x3959c061),
    ARM(LDST16_ABS_LO12_NC, 0x4001200c, 0x12345670, 0x79400061, 0x794ce061),
    ARM(LDST32_ABS_LO12_NC, 0x40012010, 0x12345670, 0xb9400061, 0xb9467061),
    ARM(LDST64_ABS_LO12_NC, 0x40012014, 0x12345670, 0xf9400061, 0xf9433861),
    ARM(LDST128_ABS_LO12_NC, 0x40012018, 0x12345670, 0x3dc00061, 0x3dc19c61),
    ARM(ADR_PREL_LO21, 0x4001201c, 0x40034564, 0x10000005, 0x10112a45),
    ARM(LD_PREL_LO19, 0x40012020, 0x40034564, 0x58000006, 0x58112a26),
    ARM(CALL26, 0x40012024, 0x40034564, 0x94000000, 0x94008950),
    ARM(JUMP26, 0x40012028, 0x3c012344, 0x14000000, 0x170000c7), /* backwards */
    ARM(TSTBR14, 0x4001202c, 0x40013000, 0xb6080001, 0xb6087ea1),
    ARM(CONDBR19, 0x40012030, 0x40013000, 0x54000001, 0x54007e81),
    ARM(CONDBR19, 0x40012034, 0x4000f000, 0xb4000002, 0xb4fe7e62), /* cbz, backwards */
    ARM(ADR_GOT_PAGE, 0x40012000, 0x12345670, 0x90000003, 0xf0e91983),
    ARM(LD64_GOT_LO12_NC, 0x40012014, 0x12345670, 0xf9400061, 0xf9433861),
    ARM(PREL32, 0x1000, 0xff0, 0xcccccccc, 0xfffffff0),
    ARM(ABS32, 0x1000, 0xfffffff0, 0, 0xfffffff0),
    X86(PC32, 0x1000, 0xff0, 0xcccccccc, 0xfffffff0),
    X86(32, 0x1000, 0xfffffff0, 0, 0xfffffff0),
};

static void
test_examples(void)
{
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        const example *x = &examples[i];
        const lw_relocation *r = lw_relocation_of(x->machine, x->type);
        uint32_t word = x->before;
        uint64_t value;

        CHECK(r != NULL && lw_relocation_bytes(r) == 4);
        if (r == NULL)
            continue;
        value = lw_relocation_value(r, x->to, x->place);
        CHECK(lw_relocation_fits(r, value));
        lw_relocation_write(r, (uint8_t *)&word, value);
        if (word != x->after)
            fprintf(stderr, "type %u: %08x instead of %08x\n", x->type, word, x->after);
        CHECK(word == x->after);
        lw_relocation_write(r, (uint8_t *)&word, value); /* the old bits do not matter */
        CHECK(word == x->after);
    }
}

/* From `least` to `most` the distance fits, and one step beyond it does not. */
static void
check_reach(uint16_t machine, uint32_t type, int64_t least, int64_t most, int64_t step)
{
    const lw_relocation *r = lw_relocation_of(machine, type);

    CHECK(r != NULL);
    if (r == NULL)
        return;
    CHECK(lw_relocation_fits(r, (uint64_t)least) && lw_relocation_fits(r, (uint64_t)most));
    CHECK(!lw_relocation_fits(r, (uint64_t)(least - step)));
    CHECK(!lw_relocation_fits(r, (uint64_t)(most + step)));
    if (step > 1)
        CHECK(!lw_relocation_fits(r, 1)); /* not a whole step */
}

static void
test_reach(void)
{
    const int64_t one = 1;

    check_reach(EM_X86_64, R_X86_64_PC32, -(one << 31), (one << 31) - 1, 1);
    check_reach(EM_X86_64, R_X86_64_32S, -(one << 31), (one << 31) - 1, 1);
    check_reach(EM_X86_64, R_X86_64_32, 0, (one << 32) - 1, 1);
    check_reach(EM_AARCH64, R_AARCH64_PREL32, -(one << 31), (one << 32) - 1, 1);
    check_reach(EM_AARCH64, R_AARCH64_CALL26, -(one << 27), (one << 27) - 4, 4);
    check_reach(EM_AARCH64, R_AARCH64_CONDBR19, -(one << 20), (one << 20) - 4, 4);
    check_reach(EM_AARCH64, R_AARCH64_TSTBR14, -(one << 15), (one << 15) - 4, 4);
    check_reach(EM_AARCH64, R_AARCH64_ADR_PREL_LO21, -(one << 20), (one << 20) - 1, 1);
    check_reach(EM_AARCH64, R_AARCH64_ADR_PREL_PG_HI21, -(one << 32), (one << 32) - 4096, 4096);
    check_reach(EM_AARCH64, R_AARCH64_LDST64_ABS_LO12_NC, 0, 4088, 8);
}

static void
test_whole_words(void)
{
    static const struct {
        uint16_t machine;
        uint32_t type;
        uint64_t value;
    } rows[] = {{EM_X86_64, R_X86_64_64, 0x123456789abcdef0},
                {EM_X86_64, R_X86_64_PC64, 0x123456789abcdef0 - 0x1000},
                {EM_AARCH64, R_AARCH64_ABS64, 0x123456789abcdef0},
                {EM_AARCH64, R_AARCH64_PREL64, 0x123456789abcdef0 - 0x1000}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const lw_relocation *r = lw_relocation_of(rows[i].machine, rows[i].type);
        uint64_t word = 7, value;

        CHECK(r != NULL && lw_relocation_bytes(r) == 8);
        if (r == NULL)
            continue;
        value = lw_relocation_value(r, 0x123456789abcdef0, 0x1000);
        CHECK(lw_relocation_fits(r, value));
        lw_relocation_write(r, (uint8_t *)&word, value);
        CHECK(word == rows[i].value);
    }
}

static void
test_trampolines(void)
{
    static const uint8_t x86_64[6] = {0xff, 0x25, 0, 0, 0, 0};
    static const uint8_t aarch64[8] = {0x50, 0, 0, 0x58, 0, 0x02, 0x1f, 0xd6};
    uint8_t code[LW_TRAMPOLINE_BYTES];
    const void *target = &n_failures, *read;

    lw_trampoline_write(EM_X86_64, code, target);
    memcpy(&read, code + sizeof x86_64, sizeof read);
    CHECK(memcmp(code, x86_64, sizeof x86_64) == 0 && read == target);
    lw_trampoline_write(EM_AARCH64, code, target);
    memcpy(&read, code + sizeof aarch64, sizeof read);
    CHECK(memcmp(code, aarch64, sizeof aarch64) == 0 && read == target);
}

int
main(void)
{
    test_examples();
    test_reach();
    test_whole_words();
    test_trampolines();
    CHECK(lw_relocation_of(EM_X86_64, R_X86_64_TPOFF32) == NULL);
    CHECK(lw_relocation_of(EM_AARCH64, R_AARCH64_TLSLE_ADD_TPREL_HI12) == NULL);
    CHECK(lw_relocation_of(EM_386, R_386_32) == NULL);
    return n_failures != 0;
}
