/* Prints LLVM text with two functions for every kind of core/front/numeric/atomics.h and every
 * type it takes; tests/oracle/test_atomics.py compiles them, and runs them on the host:
 *
 *     atomics_dump cpu|cuda|opaque
 *
 * kind_type(element, operands, old) updates once; kind_type_often(element, operands, n) n
 * times. On the GPU, thread i of a block takes element i of each. */
#include "core/emit/emit.h"
#include "core/front/numeric/atomics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[LW_N_UPDATES] = {"add",    "sub",    "and",  "or",  "xor",
                                                "inc",    "dec",    "exch", "max", "min",
                                                "nanmax", "nanmin", "cas"};

static void
update(lw_builder *b, lw_atomic_kind kind, lw_dtype type, const lw_ref *pointers, bool keep)
{
    lw_dtype part = lw_dtypes[type].parts;
    lw_ref size = lw_ir_int(b, LW_DT_i64, lw_dtypes[part].size_bytes), operands[2], old[2];

    operands[0] = lw_ir_load(b, part, 1, pointers[1], 0, 0);
    operands[1] = lw_ir_load(b, part, 1, lw_ir_offset(b, pointers[1], size), 0, 0);
    if (lw_is_complex(type))
        lw_atomic_update_complex(b, kind, type, pointers[0], operands, old);
    else
        old[0] = lw_atomic_update(b, kind, type, pointers[0], operands,
                                  kind == LW_UPDATE_CAS ? 2 : 1);
    if (!keep)
        return;
    lw_ir_store(b, pointers[2], old[0], 0, 0);
    if (lw_is_complex(type))
        lw_ir_store(b, lw_ir_offset(b, pointers[2], size), old[1], 0, 0);
}

static void
add_function(lw_module *module, bool gpu, lw_atomic_kind kind, lw_dtype type, bool often)
{
    lw_builder builder, *b = &builder;
    lw_ref pointers[3], n = 0, at;
    char name[64];
    lw_for loop;

    snprintf(name, sizeof name, "%s_%s%s", kinds[kind], lw_dtypes[type].name,
             often ? "_often" : "");
    lw_builder_start(b, module, name);
    b->func->linkage = gpu ? LW_KERNEL : LW_EXPORTED;
    for (int i = 0; i < 3 - often; i++)
        pointers[i] = lw_ir_param_add(b, LW_DT_ptr, 0, "p");
    if (often)
        n = lw_ir_param_add(b, LW_DT_i64, 0, "n");
    if (gpu) {
        at = lw_ir_mul(b, lw_ir_cast(b, LW_DT_i64, lw_ir_sreg(b, LW_SREG_TID_X)),
                       lw_ir_int(b, LW_DT_i64, lw_dtypes[type].size_bytes));
        for (int i = 0; i < 3 - often; i++)
            pointers[i] = lw_ir_offset(b, pointers[i], at);
    }
    if (often)
        loop = lw_ir_for(b, lw_ir_int(b, LW_DT_i64, 0), n, lw_ir_int(b, LW_DT_i64, 1), 0);
    update(b, kind, type, pointers, !often);
    if (often)
        lw_ir_for_end(b, &loop);
    lw_ir_finish(b, NULL);
}

static void
add_all(lw_module *module, bool gpu)
{
    for (int kind = 0; kind < LW_N_UPDATES; kind++)
        for (int type = LW_DT_b1; type < LW_DT_ptr; type++)
            for (int often = 0; often < 2; often++)
                if (lw_atomic_takes((lw_atomic_kind)kind, (lw_dtype)type))
                    add_function(module, gpu, (lw_atomic_kind)kind, (lw_dtype)type, often);
}

int
main(int argc, char **argv)
{
    const char *target = argc > 1 ? argv[1] : "cpu";
    lw_emit_options options = {.target = strcmp(target, "cpu") ? LW_TARGET_CUDA : LW_TARGET_CPU,
                               .opaque_pointers = strcmp(target, "opaque") == 0,
                               .vector_bits = 256,
                               .host_features = ""};
    lw_module *module = NULL;
    lw_error err = {0};
    lw_text out;

    lw_text_init(&out);
    if (lw_module_new(&module, &err) == LW_OK)
        add_all(module, options.target == LW_TARGET_CUDA);
    if (module == NULL || module->failed || lw_ir_verify(module, &err) != LW_OK ||
        lw_emit(module, &options, &out, &err) != LW_OK) {
        fprintf(stderr, "%s\n", lw_error_text(&err));
        return EXIT_FAILURE;
    }
    fputs(lw_text_get(&out), stdout);
    lw_text_reset(&out);
    lw_module_free(module);
    return EXIT_SUCCESS;
}
