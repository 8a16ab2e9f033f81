#include "core/host/raise_note.h"

#include "core/link/elf_loader.h"

static _Thread_local uint64_t noted[2];

static void
note(uint64_t first, uint64_t second)
{
    noted[0] = first;
    noted[1] = second;
}

void
lw_raise_noted(uint64_t words[2])
{
    words[0] = noted[0];
    words[1] = noted[1];
}

void
lw_raise_note_register(void)
{
    static lw_extern_row rows[] = {{"lw_raise_note", NULL}};

    rows[0].address = (void *)(uintptr_t)note;
    lw_extern_provide(rows, 1);
}
