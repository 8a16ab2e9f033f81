#include "core/py/numpy/launch_order.h"

lw_status
lw_operands_behind(lw_operand *operands, int n, const lw_extra_arrays *extra, CUstream stream,
                   lw_error *err)
{
    lw_status status = LW_OK;

    for (int i = 0; i < n; i++)
        if (operands[i].kind == LW_OPERAND_DEVICE)
            LW_TRY(lw_operand_use(&operands[i], stream, err));
    for (int i = 0; extra != NULL && i < extra->n; i++)
        LW_TRY(lw_operand_use(&extra->arrays[i].operand, stream, err));
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
            LW_TRY(lw_operand_done(&operands[i], stream, err));
    for (int i = 0; extra != NULL && i < extra->n; i++)
        LW_TRY(lw_operand_done(&extra->arrays[i].operand, stream, err));
fail:
    return status;
}
