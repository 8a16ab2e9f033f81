#include "core/py/launch_order.h"

#include "core/py/device_array.h"

static lw_status
behind(lw_operand *operand, CUstream stream, lw_error *err)
{
    if (operand->library == LW_LIB_OWN)
        return lw_device_array_use((lw_device_array *)operand->object, stream, err);
    return lw_operand_use(operand, stream, err);
}

static lw_status
after(lw_operand *operand, CUstream stream, lw_error *err)
{
    return operand->library == LW_LIB_OWN ? LW_OK : lw_operand_done(operand, stream, err);
}

lw_status
lw_operands_behind(lw_operand *operands, int n, const lw_extra_arrays *extra, CUstream stream,
                   lw_error *err)
{
    lw_status status = LW_OK;

    for (int i = 0; i < n; i++)
        if (operands[i].kind == LW_OPERAND_DEVICE)
            LW_TRY(behind(&operands[i], stream, err));
    for (int i = 0; extra != NULL && i < extra->n; i++)
        LW_TRY(behind(&extra->arrays[i].operand, stream, err));
fail:
    return status;
}

lw_status
lw_operands_after(lw_operand *operands, int n, const lw_extra_arrays *extra, CUstream stream,
                  lw_error *err)
{
    lw_status status = LW_OK;

    for (int i = 0; i < n; i++)
        if (operands[i].kind == LW_OPERAND_DEVICE)
            LW_TRY(after(&operands[i], stream, err));
    for (int i = 0; extra != NULL && i < extra->n; i++)
        LW_TRY(after(&extra->arrays[i].operand, stream, err));
fail:
    return status;
}
