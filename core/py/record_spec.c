#include "core/py/record_spec.h"

#include "core/front/read/python.h"

int
lw_record_spec(PyArray_Descr *descr, lw_arena *arena, lw_arg_record **out)
{
    return lw_read_record((PyObject *)descr, arena, out);
}
