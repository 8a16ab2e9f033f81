#include "core/py/compiled/link_callbacks.h"

#include "core/py/cuda/image_setup.h"

int
lw_link_loaded(const lw_link_set *set, lw_image *image)
{
    Py_ssize_t n = set->objects ? PyTuple_GET_SIZE(set->objects) : 0;

    for (Py_ssize_t i = 0; i < n; i++)
        if (lw_image_set_up(PyTuple_GET_ITEM(set->objects, i), image) < 0)
            return -1;
    return 0;
}
