/* Types, promotion, joins, and inference on trees made by hand: what cannot come from Python,
 * too deep, random, or with memory running out. */
#include "core/front/constant_bits.h"
#include "core/front/named.h"
#include "core/front/typed.h"
#include "tests/c/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- types ---- */

static bool
prints(const lw_types *types, lw_type type, const char *wanted)
{
    lw_text text = {0};
    bool same;

    lw_type_print(types, type, &text);
    same = strcmp(lw_text_get(&text), wanted) == 0;
    if (!same)
        printf("'%s' instead of '%s'\n", lw_text_get(&text), wanted);
    lw_text_reset(&text);
    return same;
}

static void
test_interning(lw_types *types)
{
    static const char *const names[] = {"x", "y"};
    lw_type both[] = {LW_DT_f32, LW_T_INDEX};
    lw_type plain = lw_type_tuple(types, both, 2, NULL);
    lw_type named = lw_type_tuple(types, both, 2, names);
    __int128 huge = (__int128)1 << 100;

    CHECK(plain == lw_type_tuple(types, both, 2, NULL));
    CHECK(named == lw_type_tuple(types, both, 2, names));
    CHECK(plain != named);
    CHECK(lw_type_literal(types, 1, 5) == lw_type_literal(types, 1, 5));
    CHECK(lw_type_literal(types, 1, 5) != lw_type_literal(types, 1, 6));
    CHECK(prints(types, plain, "tuple(float32, int (weak))"));
    CHECK(prints(types, named, "tuple(x: float32, y: int (weak))"));
    CHECK(prints(types, lw_type_literal(types, -3, -3), "int -3"));
    CHECK(prints(types, lw_type_literal(types, huge, huge),
                 "int 1267650600228229401496703205376"));
    CHECK(lw_type_stored(types, lw_type_literal(types, 0, 0)) == LW_DT_i64);
    CHECK(lw_type_stored(types, lw_type_literal(types, 0, UINT64_MAX)) == LW_DT_u64);
    CHECK(lw_type_stored(types, LW_T_PYCOMPLEX) == LW_DT_c128);
    CHECK(lw_type_stored(types, plain) == LW_DT_void);
    CHECK(lw_type_kind_of(types, 1000000) == LW_TK_BOTTOM);
}

static void
test_literals(lw_types *types)
{
    CHECK(lw_literal_fits(types, lw_type_literal(types, -128, 127), LW_DT_i8));
    CHECK(!lw_literal_fits(types, lw_type_literal(types, -129, 0), LW_DT_i8));
    CHECK(lw_literal_fits(types, lw_type_literal(types, 0, UINT64_MAX), LW_DT_u64));
    CHECK(!lw_literal_fits(types, lw_type_literal(types, -1, -1), LW_DT_u64));
    CHECK(lw_literal_fits(types, lw_type_literal(types, INT64_MIN, INT64_MAX), LW_DT_i64));
    CHECK(!lw_literal_fits(types, LW_DT_i8, LW_DT_i8));
}

/* Promotion commutes, joins do not depend on order and are idempotent: all triples. */
static void
test_laws(lw_types *types)
{
    lw_type all[32];
    uint32_t n = 0;
    const char *p, *q;

    for (lw_type t = LW_DT_b1; t <= LW_DT_c128; t++)
        all[n++] = t;
    all[n++] = LW_T_INDEX;
    all[n++] = LW_T_PYFLOAT;
    all[n++] = LW_T_PYCOMPLEX;
    all[n++] = lw_type_literal(types, 7, 7);
    all[n++] = lw_type_literal(types, -1, 300);
    all[n++] = LW_T_NONE;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++) {
            for (lw_typing mode = LW_TYPING_WEAK; mode <= LW_TYPING_NUMBA; mode++)
                CHECK(lw_promote(types, mode, all[i], all[j]) ==
                      lw_promote(types, mode, all[j], all[i]));
            for (uint32_t k = 0; k < n; k++) {
                lw_type x[3] = {all[i], all[j], all[k]}, y[3] = {all[k], all[i], all[j]};
                lw_type joined = lw_join(types, LW_TYPING_WEAK, x, 3, &p);
                CHECK(joined == lw_join(types, LW_TYPING_WEAK, y, 3, &q));
                CHECK((p == NULL) == (q == NULL) && (p == NULL || strcmp(p, q) == 0));
                CHECK((joined == LW_T_BOTTOM) == (p != NULL));
            }
        }
}

static void
test_names(void)
{
    CHECK(lw_name_keyword(LW_NAME_math_isclose, "abs_tol") == 3);
    CHECK(lw_name_keyword(LW_NAME_math_sin, "x") == -1);
    CHECK(lw_impl_operator(LW_IMPL_FLOORDIV) == LW_PY_FLOORDIV);
    CHECK(lw_impl_operator(LW_IMPL_SIN) == LW_PY_NONE);
}

/* ---- trees by hand ---- */

static uint32_t
add_node(lw_tree *tree, lw_node_kind kind, uint32_t a, uint32_t b, uint32_t c)
{
    lw_node *node = lw_array_push(&tree->nodes, &tree->arena);

    if (node == NULL)
        return 0;
    *node = (lw_node){.kind = (uint16_t)kind, .loc = 1, .a = a, .b = b, .c = c};
    return tree->nodes.n - 1;
}

static uint32_t
add_list(lw_tree *tree, const uint32_t *items, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t *slot = lw_array_push(&tree->lists, &tree->arena);
        if (slot)
            *slot = items[i];
    }
    return tree->lists.n - n;
}

static uint32_t
add_constant(lw_tree *tree, lw_constant constant)
{
    lw_constant *slot = lw_array_push(&tree->constants, &tree->arena);

    if (slot == NULL)
        return 0;
    *slot = constant;
    return tree->constants.n - 1;
}

/* def f(x): with variables v2 … */
static lw_tree *
new_tree(uint32_t n_vars)
{
    static const char *const lines[] = {"def f(x): ..."};
    static const char *const names[] = {"", "x", "v2", "v3", "v4", "v5"};
    lw_tree *tree = NULL;
    lw_fn *fn;
    lw_loc *loc;
    lw_file *file;

    if (lw_tree_new(&tree, NULL) != LW_OK)
        return NULL;
    file = lw_array_push(&tree->files, &tree->arena);
    loc = lw_array_push(&tree->locs, &tree->arena);
    fn = lw_array_push(&tree->fns, &tree->arena);
    if (file == NULL || loc == NULL || fn == NULL) {
        lw_tree_free(tree);
        return NULL;
    }
    *file = (lw_file){"case.py", 1, 1, lines};
    *loc = (lw_loc){1, 1, 1, 0, 3};
    *fn = (lw_fn){.name = "f", .file = 1, .line = 1, .loc = 1};
    for (uint32_t i = 0; i <= n_vars; i++) {
        lw_var *var = lw_array_push(&fn->vars, &tree->arena);
        if (var)
            var->name = names[i];
    }
    lw_fn_param *param = lw_array_push(&fn->params, &tree->arena);
    if (param)
        *param = (lw_fn_param){.name = "x", .var = 1};
    if (tree->arena.failed) {
        lw_tree_free(tree);
        return NULL;
    }
    return tree;
}

/* All nodes are of the one function. */
static void
set_body(lw_tree *tree, const uint32_t *statements, uint32_t n)
{
    lw_fn *fn = &tree->fns.data[1];

    fn->body = add_node(tree, LW_NODE_BODY, 0, add_list(tree, statements, n), n);
    fn->first_node = 1;
    fn->n_nodes = tree->nodes.n - 1;
}

static void
set_return(lw_tree *tree, uint32_t value)
{
    uint32_t statement = add_node(tree, LW_NODE_RETURN, value, 0, 0);

    set_body(tree, &statement, 1);
}

static lw_tree *
tree_of_axpy(void)
{
    lw_tree *tree = new_tree(1);
    uint32_t two, sum;

    if (tree == NULL)
        return NULL;
    two = add_node(tree, LW_NODE_CONSTANT,
                   add_constant(tree, (lw_constant){.kind = LW_K_INT, .i = 2}), 0, 0);
    sum = add_node(tree, LW_NODE_BINARY, add_node(tree, LW_NODE_NAME, 1, 0, 0), two, 0);
    tree->nodes.data[sum].op = LW_PY_MUL;
    set_return(tree, sum);
    return tree;
}

static void
test_small_tree(void)
{
    lw_tree *tree = tree_of_axpy();
    lw_typed *typed = NULL;
    lw_type type = LW_DT_f32;
    lw_error err = {0};
    lw_dtype out = LW_DT_f16;

    CHECK(lw_infer(tree, NULL, &type, 1, &typed, &err) == LW_OK);
    if (typed) {
        CHECK(typed->instances.data[1].result == LW_DT_f32);
        CHECK(typed->instances.data[1].webs.n == 2);
        CHECK(typed->instances.data[1].webs.data[1].single);
        CHECK(typed->instances.data[1].webs.data[1].is_param);
        CHECK(lw_infer_check_results(typed, &out, 1, &err) == LW_OK);
        out = LW_DT_i32;
        CHECK(lw_infer_check_results(typed, &out, 1, &err) == LW_ERR_TYPING);
        CHECK(strcmp(err.code, "E142") == 0);
    }
    lw_error_reset(&err);
    lw_typed_free(typed);
    lw_tree_free(tree);
}

static void
test_deep_tree(void)
{
    lw_tree *tree = new_tree(1);
    uint32_t node = add_node(tree, LW_NODE_NAME, 1, 0, 0);
    lw_typed *typed = NULL;
    lw_type type = LW_DT_f32;
    lw_error err = {0};

    for (int i = 0; i < 100000; i++) {
        node = add_node(tree, LW_NODE_UNARY, node, 0, 0);
        tree->nodes.data[node].op = LW_PY_NEG;
    }
    set_return(tree, node);
    CHECK(lw_infer(tree, NULL, &type, 1, &typed, &err) == LW_ERR_UNSUPPORTED);
    CHECK(strcmp(err.code, "E101") == 0);
    lw_error_reset(&err);
    lw_typed_free(typed);
    lw_tree_free(tree);
}

/* Every allocation fails once: a status, no leak. */
static void
test_out_of_memory(void)
{
    lw_tree *tree = tree_of_axpy();
    lw_type type = LW_DT_f32;
    int64_t live = lw_memory_live();
    lw_status status = LW_ERR_OUT_OF_MEMORY;
    int n;

    for (n = 0; status != LW_OK && n < 100; n++) {
        lw_typed *typed = NULL;
        lw_error err = {0};

        lw_memory_fail_at(n);
        status = lw_infer(tree, NULL, &type, 1, &typed, &err);
        lw_memory_fail_at(-1);
        CHECK(status == LW_OK || status == LW_ERR_OUT_OF_MEMORY);
        lw_error_reset(&err);
        lw_typed_free(typed);
        CHECK(lw_memory_live() == live);
    }
    CHECK(n > 1 && n < 100);
    lw_tree_free(tree);
}

/* ---- random trees ---- */

static uint64_t random_state;

static uint32_t
random_below(uint32_t n) /* splitmix64: Steele, Lea, Flood, "Fast splittable PRNGs", 2014 */
{
    uint64_t z = (random_state += 0x9E3779B97F4A7C15u);

    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (uint32_t)((z ^ (z >> 31)) % n);
}

static void
add_random_constants(lw_tree *tree)
{
    uint32_t *items = lw_arena_take(&tree->arena, 2 * sizeof *items);

    add_constant(tree, (lw_constant){.kind = LW_K_INT, .i = (int64_t)random_below(20) - 10});
    add_constant(tree, (lw_constant){.kind = LW_K_FLOAT, .d = 0.5});
    add_constant(tree, (lw_constant){.kind = LW_K_BOOL, .i = 1});
    add_constant(tree, (lw_constant){.kind = LW_K_STR, .text = "real"});
    add_constant(tree,
                 (lw_constant){.kind = LW_K_NAMED, .u = 1 + random_below(LW_N_NAMES - 1)});
    add_constant(tree, (lw_constant){.kind = LW_K_NAMED, .u = LW_NAME_builtins_range});
    add_constant(tree, (lw_constant){.kind = LW_K_FUNCTION, .u = 1});
    add_constant(tree, (lw_constant){.kind = LW_K_DTYPE, .dtype = LW_DT_i8, .text = "int8"});
    add_constant(tree, (lw_constant){.kind = LW_K_PYTYPE, .u = random_below(4)});
    add_constant(tree, (lw_constant){.kind = LW_K_UINT, .u = UINT64_MAX});
    add_constant(
        tree,
        (lw_constant){.kind = LW_K_BIGINT, .text = "1000000000000000000000000", .d = 1e24});
    if (items) {
        items[0] = 1;
        items[1] = 2;
    }
    add_constant(tree, (lw_constant){.kind = LW_K_TUPLE, .items = items, .n = 2});
}

/* Operands are nodes made before: no cycles. Kinds stand where they never stand in a real tree.
 */
static void
add_random_node(lw_tree *tree, uint32_t n_vars)
{
    static const char *const args[] = {
        "",
#define NODE(name, text, operands, doc) operands,
#include "core/tables/nodes.def"
    };
    lw_node_kind kind = (lw_node_kind)(1 + random_below(LW_N_NODE_KINDS - 1));
    uint32_t operands[3] = {0}, made = tree->nodes.n, list[3], n_list = random_below(4), node;
    /* a constant may stand where the number of a node is expected */
    uint32_t n_constants = made < 2 ? 2 : made < tree->constants.n ? made : tree->constants.n;

    if (kind == LW_NODE_ERROR)
        kind = LW_NODE_NAME;
    for (uint32_t i = 0; i < 3; i++)
        list[i] =
            made > 8 ? made - 1 - random_below(made > 30 ? 8 : made - 1) : random_below(made);
    for (int i = 0; i < 3; i++) {
        char letter = args[kind][i];
        operands[i] = letter == 'v'   ? 1 + random_below(n_vars)
                      : letter == 'k' ? 1 + random_below(n_constants - 1)
                      : letter == 'f' ? 1
                      : letter == 'n' ? list[i]
                                      : 0;
    }
    if (args[kind][1] == 'L') {
        operands[1] = add_list(tree, list, n_list < 3 ? n_list : 3);
        operands[2] = n_list < 3 ? n_list : 3;
    }
    if (kind == LW_NODE_TUPLE)
        operands[0] = 0;
    node = add_node(tree, kind, operands[0], operands[1], operands[2]);
    tree->nodes.data[node].op = (uint8_t)random_below(LW_N_PYOPS);
    tree->nodes.data[node].flags = (uint8_t)random_below(2);
}

static void
test_random_tree(uint64_t seed)
{
    lw_tree *tree = new_tree(4);
    uint32_t statements[6], n = 5 + random_below(40);
    lw_front_options options = {.typing = seed & 1 ? LW_TYPING_NUMBA : LW_TYPING_WEAK};
    lw_typed *typed = NULL;
    lw_type type = 1 + random_below(LW_DT_c128);
    lw_error err = {0};

    add_random_constants(tree);
    for (uint32_t i = 0; i < n; i++)
        add_random_node(tree, 4);
    for (int i = 0; i < 6; i++)
        statements[i] = 1 + random_below(tree->nodes.n - 1);
    set_body(tree, statements, 6);
    if (lw_infer(tree, &options, &type, 1, &typed, &err) != LW_OK) {
        CHECK(err.status != LW_OK && err.status != LW_ERR_INTERNAL);
        CHECK(err.text != NULL);
        if (err.status == LW_ERR_INTERNAL) {
            lw_text dump = {0};
            lw_tree_print(tree, &dump);
            printf("seed %llu: %s\n%s\n", (unsigned long long)seed, err.text,
                   lw_text_get(&dump));
            lw_text_reset(&dump);
        }
    } else {
        lw_text text = {0};
        lw_typed_print(typed, &text);
        lw_text_reset(&text);
    }
    lw_error_reset(&err);
    lw_typed_free(typed);
    lw_tree_free(tree);
}

static void
test_constant_floats(void)
{
    const __int128 most = (__int128)1 << 53;
    double d = 0;

    CHECK(lw_constant_exact_double(most, &d) && d == 0x1p53);
    CHECK(lw_constant_exact_double(-most, &d) && d == -0x1p53);
    CHECK(!lw_constant_exact_double(most + 1, &d) && !lw_constant_exact_double(-most - 1, &d));
    CHECK(lw_constant_float_op(LW_PY_SUB, 1, 0.5, &d) && d == 0.5);
    CHECK(lw_constant_float_op(LW_PY_DIV, 1, 4, &d) && d == 0.25);
    CHECK(!lw_constant_float_op(LW_PY_DIV, 1, 0, &d));
    CHECK(!lw_constant_float_op(LW_PY_POW, 2, 3, &d));
}

int
main(int argc, char **argv)
{
    uint64_t n_random = argc > 1 ? strtoull(argv[1], NULL, 10) : 20000;
    lw_arena arena;
    lw_types types;
    int64_t live = lw_memory_live();

    lw_arena_init(&arena);
    lw_types_init(&types, &arena);
    test_interning(&types);
    test_literals(&types);
    test_laws(&types);
    lw_arena_reset(&arena);
    test_names();
    test_constant_floats();
    test_small_tree();
    test_deep_tree();
    test_out_of_memory();
    for (uint64_t seed = 0; seed < n_random; seed++) {
        random_state = seed;
        test_random_tree(seed);
    }
    return check_end(live);
}
