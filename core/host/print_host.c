#include "core/host/print_host.h"

#include "core/ir/printed.h"
#include "core/link/elf_loader.h"

/* Called by compiled code with a format's number and its slots; unused ones are 0. */
static void
print_host(uint64_t number, uint64_t s0, uint64_t s1, uint64_t s2, uint64_t s3, uint64_t s4,
           uint64_t s5, uint64_t s6, uint64_t s7, uint64_t s8, uint64_t s9, uint64_t s10,
           uint64_t s11, uint64_t s12, uint64_t s13, uint64_t s14, uint64_t s15)
{
    const uint64_t slots[LW_FORMAT_SLOTS] = {s0, s1, s2,  s3,  s4,  s5,  s6,  s7,
                                             s8, s9, s10, s11, s12, s13, s14, s15};
    const lw_format *format = lw_format_find(number);

    if (format != NULL)
        lw_printed_add(format, slots);
}

void
lw_print_host_register(void)
{
    static lw_extern_row rows[] = {{"lw_print_host", NULL}};

    rows[0].address = (void *)(uintptr_t)print_host;
    lw_extern_provide(rows, sizeof rows / sizeof *rows);
}
