/* An instruction of a GPU holds 32 bits of a number. ptxas therefore loads a float64 number
 * whose lower half is not zero by two instructions, where it is used: in a kernel with several
 * functions of libdevice, whose polynomials have a dozen coefficients each, they are a third of
 * all instructions. A load of 64 bits from constant memory is one instruction.
 *
 * This text                          becomes
 *
 *     .address_size 64                   .address_size 64
 *                                        .const .align 8 .b64 lw_constants[2] = {0x…, 0x…};
 *     mov.f64 %fd1, 0d3EB1380B3AE80F1E;  ld.const.f64 %fd1, [lw_constants+8];
 *     mul.f64 %fd2, %fd3, 0d3FE62…;      { .reg .f64 lw_c1, lw_c2, lw_c3; ld.const.f64 lw_c2,
 *                                        [lw_constants]; mul.f64 %fd2, %fd3, lw_c2; }
 *
 * The table is not visible in other modules, so several of these texts can be linked to one
 * program. Guarded instructions keep their numbers. */
#include "core/link/ptx_constants.h"

#include "core/base/array.h"
#include "core/base/text.h"
#include "core/link/ptx_reader.h"

#include <stdlib.h>
#include <string.h>

/* LEAST_CONSTANTS: a logarithm has 9. With fewer, a kernel waits for memory and not for its
 * instructions. What it saves (instructions for an element, sm_90, CUDA 13.0): log 68 -> 59,
 * erf 74 -> 66, expm1 70 -> 57, erfc 165 -> 129; of a loop with exp and log, 138 -> 98 for an
 * iteration, because the numbers of a loop stay in registers of their own, of which there are
 * 63. MOST_CONSTANTS: 32 of the 64 KiB of constant memory. */
enum { LEAST_CONSTANTS = 8, MOST_CONSTANTS = 4096, N_DIGITS = 16 };

static const char table_name[] = "lw_constants", header[] = ".address_size 64\n";

typedef LW_ARRAY(uint64_t) numbers;

/* Whether the operand is a float64 number whose lower half is not zero. */
static bool
read_number(lw_ptx_span operand, uint64_t *number)
{
    char digits[N_DIGITS + 1], *end;

    if (operand.n != 2 + N_DIGITS || !lw_ptx_begins(operand, "0d"))
        return false;
    memcpy(digits, operand.at + 2, N_DIGITS);
    digits[N_DIGITS] = 0;
    *number = strtoull(digits, &end, 16);
    return *end == 0 && (uint32_t)*number != 0;
}

/* Whether the instruction is one that this file rewrites if it contains numbers. */
static bool
takes_register(const lw_ptx_instruction *i)
{
    static const char *const stems[] = {"mov.", "add.", "sub.", "mul.", "fma."};

    if (i->is_guarded || i->opcode.n < 4 ||
        memcmp(i->opcode.at + i->opcode.n - 4, ".f64", 4) != 0)
        return false;
    for (size_t k = 0; k < sizeof stems / sizeof *stems; k++)
        if (lw_ptx_begins(i->opcode, stems[k]))
            return true;
    return false;
}

static int
compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* Sorts, and keeps one of equal numbers. */
static void
sort(numbers *table)
{
    uint32_t n = 0;

    if (table->n == 0)
        return;
    qsort(table->data, table->n, sizeof *table->data, compare);
    for (uint32_t k = 0; k < table->n; k++)
        if (k == 0 || table->data[k] != table->data[n - 1])
            table->data[n++] = table->data[k];
    table->n = n;
}

static bool
collect(const char *ptx, numbers *table)
{
    lw_ptx_instruction i;
    uint64_t number, *slot;

    for (const char *at = ptx; lw_ptx_next(at, &i); at = i.end)
        for (int o = 1; takes_register(&i) && o < i.n_operands; o++)
            if (read_number(i.operands[o], &number)) {
                if ((slot = lw_array_push(table, NULL)) == NULL)
                    return false;
                *slot = number;
            }
    sort(table);
    return true;
}

/* The place of the operand's number in the table in bytes; -1: it is no number of the table. */
static long
place_of(const numbers *table, lw_ptx_span operand)
{
    uint64_t number;
    const uint64_t *found;

    if (!read_number(operand, &number))
        return -1;
    found = bsearch(&number, table->data, table->n, sizeof number, compare);
    return found ? (long)((found - table->data) * (long)sizeof number) : -1;
}

static void
write_table(const numbers *table, lw_text *out)
{
    lw_text_addf(out, ".const .align 8 .b64 %s[%u] = {", table_name, table->n);
    for (uint32_t k = 0; k < table->n; k++)
        lw_text_addf(out, "%s0x%016llX", k ? ", " : "", (unsigned long long)table->data[k]);
    lw_text_add(out, "};\n");
}

/* Writes the instruction with its numbers in registers of its own. */
static void
write_scope(const numbers *table, const lw_ptx_instruction *i, lw_text *out)
{
    lw_text_add(out, "{ .reg .f64 lw_c1, lw_c2, lw_c3; ");
    for (int o = 1; o < i->n_operands; o++) {
        long place = place_of(table, i->operands[o]);

        if (place >= 0)
            lw_text_addf(out, "ld.const.f64 lw_c%d, [%s+%ld]; ", o, table_name, place);
    }
    lw_text_addf(out, "%.*s ", i->opcode.n, i->opcode.at);
    for (int o = 0; o < i->n_operands; o++)
        if (o > 0 && place_of(table, i->operands[o]) >= 0)
            lw_text_addf(out, ", lw_c%d", o);
        else
            lw_text_addf(out, "%s%.*s", o ? ", " : "", i->operands[o].n, i->operands[o].at);
    lw_text_add(out, "; }");
}

/* Writes the replacement, or returns false if the instruction stays. */
static bool
rewrite(const numbers *table, const lw_ptx_instruction *i, lw_text *out)
{
    long place = -1;

    if (!takes_register(i))
        return false;
    for (int o = 1; o < i->n_operands && place < 0; o++)
        place = place_of(table, i->operands[o]);
    if (place < 0)
        return false;
    if (lw_ptx_begins(i->opcode, "mov."))
        lw_text_addf(out, "ld.const.f64 %.*s, [%s+%ld];", i->operands[0].n, i->operands[0].at,
                     table_name, place);
    else
        write_scope(table, i, out);
    return true;
}

static lw_status
write_all(const numbers *table, const char *head_end, lw_bytes *ptx, lw_error *err)
{
    lw_status status = LW_OK;
    const char *copied = (const char *)ptx->data;
    lw_ptx_instruction i;
    lw_bytes rewritten;
    lw_text out;

    lw_text_init(&out);
    lw_text_add_n(&out, copied, (size_t)(head_end - copied));
    write_table(table, &out);
    copied = head_end;
    for (const char *at = head_end; lw_ptx_next(at, &i); at = i.end) {
        lw_text_add_n(&out, copied, (size_t)(i.start - copied));
        copied = rewrite(table, &i, &out) ? i.end : i.start;
    }
    lw_text_add(&out, copied);
    if (out.failed || !lw_bytes_copy(&rewritten, lw_text_get(&out), out.n)) {
        status = lw_fail_memory(err);
    } else {
        lw_bytes_reset(ptx);
        *ptx = rewritten;
    }
    lw_text_reset(&out);
    return status;
}

/* A text that has constants of its own is not rewritten, since both might not fit in constant
 * memory; nor is one that has the name of the table. */
lw_status
lw_ptx_constants(lw_bytes *ptx, lw_error *err)
{
    const char *text = ptx->n ? (const char *)ptx->data : "";
    const char *head = strstr(text, header);
    lw_status status = LW_OK;
    numbers table = {0};

    if (head == NULL || strstr(text, ".const ") != NULL || strstr(text, table_name) != NULL)
        return LW_OK;
    if (!collect(text, &table))
        status = lw_fail_memory(err);
    else if (table.n >= LEAST_CONSTANTS && table.n <= MOST_CONSTANTS)
        status = write_all(&table, head + strlen(header), ptx, err);
    lw_array_free(&table);
    return status;
}
