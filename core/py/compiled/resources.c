#include "core/py/numpy_api.h"

#include "core/py/compiled/resources.h"

#include "core/link/build.h"
#include "core/py/cuda/cuda_py.h"

PyObject *
lw_resources_dict(const char *kernel, const lw_cubin_info *info, int cc, PyObject *more)
{
    PyObject *dict, *memory;

    if (more == NULL)
        return NULL;
    dict = kernel ? Py_BuildValue("{s:s}", "kernel", kernel) : PyDict_New();
    memory = Py_BuildValue("{s:N,s:i,s:i,s:i,s:i,s:i,s:i}", "target",
                           PyUnicode_FromFormat("sm_%d", cc), "registers", info->registers,
                           "shared_bytes", info->shared_bytes, "local_bytes", info->local_bytes,
                           "constant_bytes", info->constant_bytes, "spill_bytes",
                           info->local_bytes, "level_bytes", info->level_bytes);
    if (dict == NULL || memory == NULL || PyDict_Update(dict, memory) < 0 ||
        PyDict_Update(dict, more) < 0)
        Py_CLEAR(dict);
    Py_XDECREF(memory);
    Py_DECREF(more);
    return dict;
}

PyObject *
lw_host_resources_dict(size_t code_bytes)
{
    return Py_BuildValue("{s:s,s:n,s:i}", "target", "cpu", "code_bytes", (Py_ssize_t)code_bytes,
                         "vector_bits", lw_host_vector_bits());
}

int
lw_current_cc(void)
{
    lw_device *device = lw_current_device();

    return device ? device->cc_major * 10 + device->cc_minor : -1;
}
