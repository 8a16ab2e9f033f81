#include "core/ir/report.h"

#include "core/tables/kernel_ops.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

_Static_assert(sizeof(lw_report_record) == 72, "no holes");
_Static_assert(sizeof(lw_report_control) == 16, "a word and an address");

static lw_ref
field(lw_builder *b, lw_ref record, size_t offset)
{
    return lw_ir_offset(b, record, lw_ir_int(b, LW_DT_i64, (int64_t)offset));
}

/* Gives 0 to the first thread that claims the record. */
static lw_ref
claim(lw_builder *b, lw_ref control)
{
    lw_ref list[] = {control, lw_ir_int(b, LW_DT_u32, 0), lw_ir_int(b, LW_DT_u32, 1)};

    return lw_ir_emit(b, LW_OP_ATOMIC, LW_DT_u32, LW_ATOMIC_CAS, lw_ir_list(b, list, 3), 3);
}

static void
write_record(lw_builder *b, lw_ref record, lw_ref status, const lw_ref *values, uint32_t n)
{
    lw_ir_store(b, field(b, record, offsetof(lw_report_record, status)), status, 0, 0);
    for (int i = 0; i < 3; i++) {
        size_t at = (size_t)i * 4;
        lw_ir_store(b, field(b, record, offsetof(lw_report_record, block) + at),
                    lw_ir_sreg(b, (lw_sreg)(LW_SREG_CTAID_X + i)), 0, 0);
        lw_ir_store(b, field(b, record, offsetof(lw_report_record, thread) + at),
                    lw_ir_sreg(b, (lw_sreg)(LW_SREG_TID_X + i)), 0, 0);
    }
    for (uint32_t i = 0; i < n; i++)
        lw_ir_store(b, field(b, record, offsetof(lw_report_record, values) + 8 * (size_t)i),
                    values[i], 0, 0);
    lw_ir_emit(b, LW_OP_KERNEL_CALL, LW_DT_void, LW_KOP_fence_system, lw_ir_list(b, NULL, 0),
               0);
    lw_ir_store(b, record, lw_ir_int(b, LW_DT_u32, 1), 0, 0);
}

/* The function that writes a record with n values. It is not inlined, because a kernel may
 * report in many places. */
static uint32_t
reporter(lw_module *module, uint32_t n)
{
    char name[] = "lw_report_0";
    lw_ref control, status, values[LW_REPORT_VALUES], record;
    lw_builder here, *b = &here;
    uint32_t found;

    name[sizeof name - 2] = (char)('0' + n);
    found = lw_ir_find(module, name);
    if (found != UINT32_MAX)
        return found;
    lw_builder_start(b, module, name);
    if (b->func != NULL)
        b->func->linkage = LW_OUTLINED;
    control = lw_ir_param_add(b, LW_DT_ptr, 0, "control");
    status = lw_ir_param_add(b, LW_DT_i32, 0, "status");
    for (uint32_t i = 0; i < n; i++)
        values[i] = lw_ir_param_add(b, LW_DT_u64, 0, "value");
    lw_ir_if(b, lw_ir_compare(b, LW_OP_EQ, claim(b, control), lw_ir_int(b, LW_DT_u32, 0)));
    record = lw_ir_load(b, LW_DT_ptr, 1, field(b, control, offsetof(lw_report_control, record)),
                        0, 0);
    write_record(b, record, status, values, n);
    lw_ir_end(b);
    lw_ir_return(b, NULL, 0);
    return b->func_number;
}

void
lw_report_emit(lw_builder *b, lw_ref control, lw_ref status, const lw_ref *values, uint32_t n)
{
    lw_ref args[2 + LW_REPORT_VALUES] = {control, status};
    uint32_t function = reporter(b->module, n);

    assert(n <= LW_REPORT_VALUES);
    for (uint32_t i = 0; i < n; i++)
        args[2 + i] = lw_ir_cast(b, LW_DT_u64, values[i]);
    lw_ir_if(b, lw_ir_compare(b, LW_OP_NE, status, lw_ir_int(b, LW_DT_i32, 0)));
    lw_ir_call(b, function, args, 2 + n);
    lw_ir_end(b);
}

static uint32_t
note_extern(lw_module *module)
{
    static const char name[] = "lw_raise_note";
    const lw_dtype params[2] = {LW_DT_u64, LW_DT_u64};

    for (uint32_t i = 0; i < module->externs.n; i++)
        if (strcmp(module->externs.data[i].name, name) == 0)
            return i;
    return lw_ir_extern_add(module, name, LW_DT_void, params, 2);
}

void
lw_report_note(lw_builder *b, const lw_ref *words, uint32_t n)
{
    lw_ref both[2];

    for (uint32_t i = 0; i < 2; i++)
        both[i] = i < n ? words[i] : lw_ir_zero(b, LW_DT_u64);
    lw_ir_host_call(b, note_extern(b->module), both, 2);
}
