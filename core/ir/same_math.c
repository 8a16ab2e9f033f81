/* The functions are appended to a module when it first calls them, each with what it calls
 * itself. They are appended once, and fast-math flags of the caller never reach them. */
#include "core/ir/same_math.h"

#include <assert.h>
#include <stdatomic.h>

enum { N_WIDTHS = 2 }; /* f32, f64 */

/* `body` is written before `module`, so that a thread that sees the module sees both. */
typedef struct function {
    _Atomic(const lw_module *) module; /* NULL: there is none, or it has not been made yet */
    uint32_t body;
} function;

static function functions[LW_N_INTRINSICS][N_WIDTHS];
static lw_same_math_maker *make; /* set when the module is imported */

static unsigned
width_of(lw_dtype dtype)
{
    return dtype == LW_DT_f64 ? 1 : 0; /* f16 and bf16 are computed in f32 */
}

bool
lw_same_math_replaces(lw_intrinsic which)
{
    const lw_intrinsic_row *row = &lw_intrinsics[which];

    return row->ulp_gpu_f32 || row->ulp_gpu_f64 || row->ulp_host_f32 || row->ulp_host_f64;
}

void
lw_same_math_set(lw_intrinsic which, lw_dtype dtype, const lw_module *module, uint32_t body)
{
    assert(lw_same_math_replaces(which) && (module == NULL || body < module->funcs.n));
    functions[which][width_of(dtype)].body = body;
    atomic_store(&functions[which][width_of(dtype)].module, module);
}

bool
lw_same_math_has(lw_intrinsic which, lw_dtype dtype)
{
    return atomic_load(&functions[which][width_of(dtype)].module) != NULL;
}

void
lw_same_math_made_by(lw_same_math_maker *maker)
{
    make = maker;
}

void
lw_same_math_begin(lw_module *module)
{
    module->same_math = lw_arena_take(&module->arena, (size_t)LW_N_INTRINSICS * N_WIDTHS *
                                                          sizeof *module->same_math);
    if (module->same_math == NULL)
        module->failed = true;
}

void
lw_same_math_refuse(lw_builder *b, const char *name)
{
    if (b->module->not_same != NULL)
        return;
    b->module->not_same = name;
    b->module->not_same_loc = b->loc;
}

/* The function's module, which is made now if it has not been made yet; NULL: there is none, or
 * it could not be made. */
static const lw_module *
module_of(lw_builder *b, lw_intrinsic which, lw_dtype wide)
{
    const function *f = &functions[which][width_of(wide)];

    if (atomic_load(&f->module) == NULL && make != NULL && b->module->not_made == LW_OK)
        b->module->not_made = make(which, wide);
    if (b->module->not_made != LW_OK)
        return NULL; /* an exception may be set: nothing else is to be made before it is told */
    if (atomic_load(&f->module) == NULL)
        lw_same_math_refuse(b, lw_intrinsics[which].name);
    return atomic_load(&f->module);
}

/* The number of the function in the module, which gets the function now if it does not have it
 * yet; UINT32_MAX: there is none, or it could not be made, or no memory. */
static uint32_t
function_in(lw_builder *b, lw_intrinsic which, lw_dtype wide)
{
    const function *f = &functions[which][width_of(wide)];
    uint32_t *known = &b->module->same_math[which * N_WIDTHS + width_of(wide)], first;
    const lw_module *module;
    lw_error err = {0};

    if (*known != 0)
        return *known - 1;
    module = module_of(b, which, wide);
    if (module == NULL)
        return UINT32_MAX;
    if (lw_module_append(b->module, module, &first, &err) != LW_OK)
        return UINT32_MAX; /* the module has failed, which is told in time */
    *known = first + f->body + 1;
    return first + f->body;
}

lw_ref
lw_same_math_call(lw_builder *b, lw_intrinsic which, lw_dtype type, const lw_ref *args,
                  uint32_t n)
{
    lw_dtype wide = type == LW_DT_f64 ? LW_DT_f64 : LW_DT_f32;
    uint32_t number = function_in(b, which, wide);
    lw_ref widened[3], result;

    assert(n <= 3 && lw_is_float(type));
    if (number == UINT32_MAX)
        return 0;
    for (uint32_t i = 0; i < n; i++)
        widened[i] = lw_ir_cast(b, wide, args[i]);
    result = lw_ir_call(b, number, widened, n);
    return result == 0 ? 0 : lw_ir_cast(b, type, result);
}
