/* Copies with a cast and fills of any strides and alignment on the device: the kernel of
 * `lambda x: x`, made by the same templates. Gives DeviceArray its hooks. */
#include "core/py/numpy_api.h"

#include "ufunc/device_copy_py.h"

#include "core/device/copy.h"
#include "core/ir/build.h"
#include "core/py/array/convert.h"
#include "core/py/raise.h"
#include "ufunc/ufunc_device_py.h"
#include "ufunc/host_kernel.h"

#include <stdatomic.h>
#include <string.h>

/* One resolution for each device and pair of dtypes; immortal, there are few. */
typedef struct copier {
    struct copier *next;
    lw_device *device;
    lw_dtype from, to;
    bool by_value;
    lw_loop loop;
    lw_scalar scalar;
    lw_resolved *resolution;
} copier;

static _Atomic(copier *) copiers;

/* lw_body(x) = x, in the IR */
static lw_status
identity(lw_dtype dtype, lw_scalar *scalar, lw_error *err)
{
    lw_status status = LW_OK;
    unsigned parts = lw_is_complex(dtype) ? 2 : 1;
    lw_ref values[2];
    lw_builder b;
    lw_dtype *dtypes;

    LW_TRY(lw_module_new(&scalar->module, err));
    dtypes = lw_arena_take(&scalar->module->arena, 2 * sizeof *dtypes);
    if (dtypes == NULL) {
        status = lw_fail_memory(err);
        goto fail;
    }
    dtypes[0] = dtypes[1] = dtype;
    lw_builder_start(&b, scalar->module, "lw_body");
    for (unsigned p = 0; p < parts; p++) {
        values[p] = lw_ir_param_add(&b, lw_dtypes[dtype].parts, 0, "x");
        lw_ir_result_add(&b, lw_dtypes[dtype].parts);
    }
    lw_ir_return(&b, values, parts);
    scalar->body = b.func_number;
    scalar->n_in = scalar->n_out = 1;
    scalar->in = dtypes;
    scalar->out = dtypes + 1;
    LW_TRY(lw_ir_finish(&b, err));
    return LW_OK;
fail:
    lw_module_free(scalar->module);
    scalar->module = NULL;
    return status;
}

static copier *
new_copier(lw_device *device, lw_dtype from, lw_dtype to)
{
    lw_build_options options = {.use_disk = true, .opt = true, .name = "copy"};
    lw_error err = {0};
    copier *made = lw_alloc_zero(1, sizeof *made);

    if (made == NULL)
        return (copier *)PyErr_NoMemory();
    made->device = device;
    made->from = from;
    made->to = to;
    made->loop.nin = made->loop.nout = 1;
    made->loop.types[0] = made->loop.types[1] = to;
    made->loop.scalar = &made->scalar;
    lw_uniforms_none(&made->loop.uniforms, 1);
    if (identity(to, &made->scalar, &err) != LW_OK) {
        lw_py_raise(&err);
        lw_free(made);
        return NULL;
    }
    made->resolution = lw_device_resolution_new(&lw_ufunc_device_door, device,
                                                (const lw_loop_head *)&made->loop, &options);
    if (made->resolution == NULL) {
        lw_module_free(made->scalar.module);
        lw_free(made);
        return NULL;
    }
    return made;
}

static copier *
copier_for(lw_device *device, lw_dtype from, lw_dtype to)
{
    copier *at = atomic_load(&copiers);

    for (; at != NULL; at = at->next)
        if (at->device == device && at->from == from && at->to == to)
            return at;
    at = new_copier(device, from, to);
    if (at == NULL)
        return NULL;
    at->next = atomic_load(&copiers);
    while (!atomic_compare_exchange_weak(&copiers, &at->next, at))
        ;
    return at;
}

/* Items of these dtypes, from one layout to the other. */
typedef struct layout {
    int ndim;
    const int64_t *shape, *to, *from; /* strides */
} layout;

static int
copy_items(lw_device_array *to, lw_dtype to_dtype, lw_device_array *from, lw_dtype from_dtype,
           const layout *l, CUstream stream)
{
    copier *copy = copier_for(to->device, from_dtype, to_dtype);
    lw_device_copy launch = {.device = to->device,
                             .stream = stream,
                             .ndim = l->ndim,
                             .shape = l->shape,
                             .from = {from_dtype, (uint64_t)from->data, NULL, l->from},
                             .to = {to_dtype, (uint64_t)to->data, NULL, l->to}};

    if (copy == NULL)
        return -1;
    launch.resolution = copy->resolution;
    return lw_ufunc_launch_copy(&launch);
}

static int64_t
alignment_of(const lw_device_array *array, int64_t most)
{
    return lw_layout_alignment(array->ndim, array->shape, array->strides, array->data, most);
}

/* Bytes as they are, by the widest unsigned integers of which both arrays' items consist and at
 * whose multiples they lie. */
static int
copy_raw(lw_device_array *to, lw_device_array *from, CUstream stream)
{
    static const uint8_t movers[9] = {
        [1] = LW_DT_u8, [2] = LW_DT_u16, [4] = LW_DT_u32, [8] = LW_DT_u64};
    int64_t shape[LW_MAX_DIMS + 1], to_strides[LW_MAX_DIMS + 1], from_strides[LW_MAX_DIMS + 1];
    int64_t unit = alignment_of(to, alignment_of(from, 8));
    int ndim = to->ndim;
    lw_dtype mover;

    while (to->itemsize % unit != 0)
        unit /= 2;
    mover = (lw_dtype)movers[unit];
    memcpy(shape, to->shape, (size_t)ndim * sizeof *shape);
    memcpy(to_strides, to->strides, (size_t)ndim * sizeof *shape);
    memcpy(from_strides, from->strides, (size_t)ndim * sizeof *shape);
    if (unit != to->itemsize) {
        shape[ndim] = to->itemsize / unit;
        to_strides[ndim] = from_strides[ndim] = unit;
        ndim++;
    }
    return copy_items(to, mover, from, mover, &(layout){ndim, shape, to_strides, from_strides},
                      stream);
}

/* By way of an aligned array of the misaligned one's dtype: a cast loads and stores whole
 * numbers. */
static int
cast_misaligned(lw_device_array *to, lw_device_array *from, CUstream stream)
{
    lw_device_array *model = from->misaligned ? from : to;
    lw_device_array *aligned = lw_device_array_new(to->device, stream, (lw_dtype)model->dtype,
                                                   model->ndim, model->shape, 'C');
    int failed = aligned == NULL ||
                 lw_device_array_hooks.copy_strided(aligned, from, stream) < 0 ||
                 lw_device_array_hooks.copy_strided(to, aligned, stream) < 0;

    Py_XDECREF(aligned);
    return failed ? -1 : 0;
}

static int
copy_strided(lw_device_array *to, lw_device_array *from, CUstream stream)
{
    bool misaligned = to->misaligned || from->misaligned;

    if (to->dtype == LW_DT_void || from->dtype == LW_DT_void ||
        (misaligned && to->dtype == from->dtype))
        return copy_raw(to, from, stream);
    if (misaligned)
        return cast_misaligned(to, from, stream);
    return copy_items(to, (lw_dtype)to->dtype, from, (lw_dtype)from->dtype,
                      &(layout){to->ndim, to->shape, to->strides, from->strides}, stream);
}

/* The item once in device memory, and its copies. */
static int
fill_raw(lw_device_array *to, const void *item, CUstream stream)
{
    const int64_t zeros[LW_MAX_DIMS] = {0};
    lw_device_array *one =
        lw_device_array_new_descr(to->device, stream, to->descr, 0, NULL, 'C');
    lw_device_array *all = NULL;
    lw_error err = {0};
    int result = -1;

    if (one != NULL && lw_copy_to_device(&(lw_copy_queue){to->device, stream, false}, one->data,
                                         item, (size_t)to->itemsize, &err) == LW_OK)
        all = lw_device_array_view(one, one->data, to->ndim, to->shape, zeros);
    if (err.status != LW_OK)
        lw_py_raise(&err);
    if (all != NULL)
        result = copy_raw(to, all, stream);
    Py_XDECREF(all);
    Py_XDECREF(one);
    return result;
}

static int
fill_strided(lw_device_array *to, const void *item, CUstream stream)
{
    const int64_t zeros[LW_MAX_DIMS] = {0};
    lw_dtype dtype = (lw_dtype)to->dtype;
    lw_device_copy launch = {.device = to->device,
                             .stream = stream,
                             .ndim = to->ndim,
                             .shape = to->shape,
                             .from = {dtype, 0, item, zeros},
                             .to = {dtype, (uint64_t)to->data, NULL, to->strides}};
    copier *copy;

    if (to->dtype == LW_DT_void || to->misaligned)
        return fill_raw(to, item, stream);
    copy = copier_for(to->device, dtype, dtype);
    if (copy == NULL)
        return -1;
    launch.resolution = copy->resolution;
    return lw_ufunc_launch_copy(&launch);
}

void
lw_device_copy_register(void)
{
    lw_device_array_hooks.copy_strided = copy_strided;
    lw_device_array_hooks.fill_strided = fill_strided;
}
