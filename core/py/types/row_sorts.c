#include "core/py/numpy_api.h"

#include "core/py/types/row_sorts.h"

#include "core/host/library_sort.h"
#include "core/py/type_num.h"

_Static_assert(sizeof(npy_intp) == sizeof(int64_t), "places are int64");

/* Since NumPy 2.4, kind="heapsort" is the default, too. */
static const int kinds[LW_SORT_KINDS] = {NPY_QUICKSORT, NPY_STABLESORT};

/* Times of one kind stand for both: they are sorted alike. */
static int
find(int dtype, lw_row_sorts *out)
{
    int num = dtype == LW_SORT_TIMES ? NPY_DATETIME : lw_type_num((lw_dtype)dtype);
    PyArray_Descr *descr = num < 0 ? NULL : PyArray_DescrFromType(num);
    PyArray_ArrFuncs *functions;

    if (descr == NULL)
        return num < 0 ? 0 : -1;
    functions = PyDataType_GetArrFuncs(descr);
    for (int k = 0; k < LW_SORT_KINDS; k++) {
        out->sort[k] = (lw_row_sort)functions->sort[kinds[k]];
        out->argsort[k] = (lw_row_argsort)functions->argsort[kinds[k]];
    }
    Py_DECREF(descr);
    return 0;
}

int
lw_numpy_sorts_register(void)
{
    lw_row_sorts sorts[LW_N_SORT_DTYPES] = {0};

    for (int i = LW_DT_void + 1; i < LW_N_SORT_DTYPES; i++)
        if (find(i, &sorts[i]) < 0)
            return -1;
    lw_library_sort_register(sorts);
    return 0;
}
