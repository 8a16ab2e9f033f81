/* The table of own_functions.def, the search for a row, and the text of the functions that a
 * module calls. */
#include "core/emit/emit_internal.h"

enum { gpu, host };

static const struct {
    const char *name, *text;
    bool on_gpu;
    lw_dtype type; /* void: no intrinsic's */
    lw_intrinsic intrinsic;
} functions[LW_N_OWN] = {
#define HELPER(name) {"lw_rt_" #name, lw_own_##name, false, LW_DT_void, 0},
#define OWN(target, type, name)                                                                \
    {"lw_rt_" #type "_" #name, lw_own_##target##_##type##_##name, target == gpu, LW_DT_##type, \
     LW_IN_##name},
#include "core/emit/own_functions.def"
};

/* LW_N_OWN: there is none. */
static int
find(bool on_gpu, lw_intrinsic which, lw_dtype type)
{
    int i = 0;

    while (i < LW_N_OWN && (functions[i].type != type || functions[i].intrinsic != which ||
                            functions[i].on_gpu != on_gpu || type == LW_DT_void))
        i++;
    return i;
}

bool
lw_emit_is_own(lw_intrinsic which, lw_dtype type)
{
    return find(false, which, type) < LW_N_OWN;
}

const char *
lw_own_function(lw_emitter *e, lw_own_id which)
{
    e->own[which] = true;
    return functions[which].name;
}

const char *
lw_own_intrinsic(lw_emitter *e, lw_intrinsic which, lw_dtype type)
{
    int i = find(e->gpu, which, type);

    if (i == LW_N_OWN || (!e->gpu && (e->options->precise || !e->options->has_fma)))
        return NULL;
    return lw_own_function(e, (lw_own_id)i);
}

/* What the functions of f32 and f64 call. */
static void
declare_floats(lw_emitter *e)
{
    for (lw_dtype type = LW_DT_f32; type <= LW_DT_f64; type++) {
        const char *letter = type == LW_DT_f32 ? "f" : "d";
        uint32_t bits = lw_dtypes[type].bits;

        lw_declare(e, "$t @llvm.fma.f$u($t, $t, $t)", type, bits, type, type, type);
        if (e->gpu) {
            lw_declare(e, "$t @llvm.nvvm.fabs.$s($t)", type, letter, type);
            lw_declare(e, "$t @llvm.nvvm.trunc.$s($t)", type, letter, type);
            lw_declare(e, "$t @llvm.nvvm.mul.rn.$s($t, $t)", type, letter, type, type);
        } else {
            lw_declare(e, "$t @llvm.floor.f$u($t)", type, bits, type);
            lw_declare(e, "$t @llvm.trunc.f$u($t)", type, bits, type);
            lw_declare(e, "$t @llvm.fabs.f$u($t)", type, bits, type);
            lw_declare(e, "$t @llvm.copysign.f$u($t, $t)", type, bits, type, type);
        }
    }
}

void
lw_own_functions_print(lw_emitter *e)
{
    for (int i = 0; i < LW_N_OWN; i++) {
        if (!e->own[i])
            continue;
        lw_text_addf(e->out, "\n%s", functions[i].text);
        if (functions[i].type != LW_DT_void)
            declare_floats(e);
    }
}
