/* Expressions: values, conditions and their order of evaluation. Every expression is entered
 * through lw_infer_expr or lw_infer_condition, which limits the depth and notes type and
 * constant in the typed node. A condition is inferred for its two outcomes, so that
 * assignments in it are known to have happened in one arm and not in the other. */
#include "core/front/infer/infer_internal.h"

#include <assert.h>
#include <string.h>

lw_status
lw_enter(lw_infer_frame *f, uint32_t node)
{
    lw_infer_run *run = f->run;

    if (run->depth < LW_MAX_DEPTH) {
        run->depth++;
        return LW_OK;
    }
    return lw_diagnose(run->tree, lw_node_of(f, node)->loc,
                       (lw_fault){LW_ERR_UNSUPPORTED, "E101",
                                  .help = "split the expression over several assignments",
                                  .where = f->fn->name},
                       run->quiet ? NULL : run->err, "code nested more than %d levels deep",
                       LW_MAX_DEPTH);
}

bool
lw_caught_stop(lw_infer_frame *f, uint32_t node, lw_status *status)
{
    if (*status != (lw_status)LW_STOPS)
        return false;
    lw_typed_in(&f->nodes, node)->stops = f->stop;
    lw_typed_in(&f->nodes, node)->constant = 0;
    f->stop = 0;
    f->stores |= f->acts; /* what is left may have begun to look for stores */
    *status = LW_OK;
    return true;
}

int
lw_truth_of(lw_infer_frame *f, lw_infer_value x)
{
    const lw_type_row *row = lw_type_get(lw_types_of(f), x.type);
    const lw_class *class = lw_class_of(f, x.type);

    if (class && (lw_member_of(class, "__bool__") || lw_member_of(class, "__len__")))
        return -1; /* lw_infer_object_truth asks it */
    if (class && (!class->is_namedtuple || row->kind == LW_TK_RECORD))
        return 1;
    if (x.constant)
        return lw_fold_truth_constant(f, x.constant);
    if (row && row->kind == LW_TK_MEMBER)
        return row->members->truth;
    if (lw_is_text(f, x.type))
        return lw_truth_of_texts(f, x.type);
    if (x.type == LW_T_NONE)
        return 0;
    if (row && row->kind == LW_TK_TUPLE)
        return row->n != 0;
    if (row && row->kind == LW_TK_FUNCTION)
        return 1;
    if (row && row->kind == LW_TK_LITERAL && (row->lo > 0 || row->hi < 0))
        return 1;
    return -1;
}

static const char *
help_for_truth(lw_infer_frame *f, uint32_t node)
{
    const char *source = lw_describe_source(f, node);

    if (lw_node_of(f, node)->kind == LW_NODE_NAME)
        return lw_format_text(f, "test an element (`%s[i] > 0`), or `%s is None`", source,
                              source);
    return lw_format_text(f, "test an element in a loop, or write `np.any(%s)` or `np.all(%s)`",
                          source, source);
}

static lw_status
check_truth(lw_infer_frame *f, uint32_t node, lw_infer_value x, int *known)
{
    x.type = lw_type_without_none(lw_types_of(f), x.type); /* None is false */
    lw_status status = lw_infer_object_truth(f, node, x, known);
    const lw_type_row *array = lw_array_row(f, x.type);
    int truth = *known;

    if (lw_typed_in(&f->nodes, node)->asks || status != LW_OK)
        return status;
    if (truth >= 0 || x.type == LW_T_BOTTOM || lw_type_is_scalar(f, x.type) ||
        lw_is_text(f, x.type))
        return LW_OK;
    if (array != NULL && array->ndim == 0 && lw_type_is_number(f, array->elements[0]))
        return LW_OK; /* as of its element, which lowering loads */
    if (array != NULL)
        return lw_complain(f, lw_node_of(f, node)->loc, "E123",
                           lw_format_text(f, "truth value of an array: this is %s",
                                          lw_describe_type(f, x.type)),
                           help_for_truth(f, node), "an array has no truth value");
    return lw_complain(f, lw_node_of(f, node)->loc, "E104",
                       lw_format_text(f, "this is %s", lw_describe_value(f, x)), NULL,
                       "this has no truth value in compiled code");
}

bool
lw_is_pure(const lw_infer_frame *f, uint32_t node)
{
    const lw_typed_node *typed = lw_typed_in(&f->nodes, node);

    return typed->constant || (lw_node_of(f, node)->kind == LW_NODE_NAME && !typed->unbound);
}

/* ---- and, or ---- */

/* As a condition: the states after a true and after a false answer are kept apart, so that `if
 * a and (y := g(a)):` finds y bound. */
static lw_status
condition_operands(lw_infer_frame *f, uint32_t node, int *truth, lw_flow *early)
{
    const lw_node *n = lw_node_of(f, node);
    bool is_and = n->op == LW_PY_AND, stopped = false, pure = true;
    lw_status status = LW_OK;

    *truth = is_and;
    for (uint32_t i = 0; i < n->c; i++) {
        uint32_t operand = f->run->tree->lists.data[n->b + i];
        lw_flow yes = {0}, no = {0};
        bool split = f->run->assigns_inside;
        int one = -1;

        lw_typed_in(&f->nodes, operand)->dead = stopped;
        if (stopped)
            continue;
        if (i)
            lw_region_open(f, node, false);
        status = lw_infer_condition(f, operand, &one, split ? &yes : NULL, split ? &no : NULL);
        if (*truth != is_and && lw_caught_stop(f, operand, &status)) {
            one = !is_and;
            lw_typed_in(&f->nodes, operand)->truth = (int8_t)one;
            if (split && (!lw_flow_take(f, &yes) || !lw_flow_take(f, &no)))
                return lw_out_of_memory(f);
        }
        LW_TRY(status);
        pure = pure && lw_is_pure(f, operand);
        if (split) {
            lw_flow_merge(f, early, is_and ? &no : &yes);
            lw_flow_set(f, is_and ? &yes : &no);
            lw_flow_put(f, &yes);
            lw_flow_put(f, &no);
        }
        if (one == !is_and) {
            stopped = true;
            *truth = one;
        } else if (one < 0) {
            *truth = -1;
        }
    }
    lw_typed_in(&f->nodes, node)->constant =
        *truth >= 0 && pure ? lw_node_bool(f, node, *truth) : 0;
fail:
    return status;
}

static lw_status
boolop_condition(lw_infer_frame *f, uint32_t node, int *truth, lw_flow *when_true,
                 lw_flow *when_false)
{
    bool is_and = lw_node_of(f, node)->op == LW_PY_AND, split = f->run->assigns_inside;
    uint32_t outer = f->region;
    lw_flow early = {0}, *late = is_and ? when_true : when_false;
    lw_status status;

    if (split && !lw_flow_take(f, &early))
        return lw_out_of_memory(f);
    early.live = false;
    status = condition_operands(f, node, truth, &early);
    f->region = outer;
    lw_typed_in(&f->nodes, node)->type = LW_DT_b1;
    lw_typed_in(&f->nodes, node)->operand = LW_T_BOTTOM;
    lw_typed_in(&f->nodes, node)->truth = (int8_t)*truth;
    if (status == LW_OK && late && !lw_flow_take(f, late))
        status = lw_out_of_memory(f);
    if (split) {
        lw_flow_merge(f, &early, &f->now); /* early: the state after either answer */
        lw_flow_set(f, &early);
    }
    late = is_and ? when_false : when_true;
    if (status == LW_OK && late && !lw_flow_take(f, late))
        status = lw_out_of_memory(f);
    lw_flow_put(f, &early);
    return status;
}

/* As a value: the operands that may be the result. *n_known counts those in *set. */
static lw_status
value_operands(lw_infer_frame *f, uint32_t node, lw_infer_value *set, uint32_t *n_set,
               bool *folded)
{
    const lw_node *n = lw_node_of(f, node);
    bool is_and = n->op == LW_PY_AND, decided = false;
    uint32_t outer = f->region;
    lw_flow stopped = {0};
    lw_status status = LW_OK;
    int truth = -1;

    for (uint32_t i = 0; i < n->c; i++) {
        uint32_t operand = f->run->tree->lists.data[n->b + i];
        bool last = i + 1 == n->c;
        lw_infer_value value;

        lw_typed_in(&f->nodes, operand)->dead = decided;
        if (decided)
            continue;
        if (i && !lw_may_stop_here(f, truth, is_and, &stopped))
            return lw_out_of_memory(f);
        if (i)
            lw_region_open(f, node, false);
        f->wants_optional = f->wants_items = true;
        status = lw_infer_expr(f, operand, &value);
        if (*n_set > 0 && lw_caught_stop(f, operand, &status)) {
            decided = true;
            *folded = false;
            continue;
        }
        LW_TRY(status);
        truth = lw_truth_of(f, value);
        if (!last)
            LW_TRY(check_truth(f, operand, value, &truth));
        lw_typed_in(&f->nodes, operand)->truth = (int8_t)truth;
        decided = truth == !is_and;
        if (last || decided || truth < 0)
            set[(*n_set)++] = value;
        *folded = *folded && value.constant;
    }
    lw_join_stopped(f, &stopped);
fail:
    lw_flow_put(f, &stopped);
    f->region = outer;
    return status;
}

/* What the expression gives may be the copy that its operand gives. */
static void
take_copied(lw_infer_frame *f, uint32_t node, uint32_t operand)
{
    if (f->notes != NULL && operand != 0)
        lw_note_at(f, node)->copied |= lw_note_at(f, operand)->copied;
}

const char *
lw_help_for_choice(void)
{
    return "choose among numbers, strings, or members of an `enum.Enum`, instead; those of an "
           "`enum.Flag` have numbers, `.value`";
}

/* Whether a value without a type gets that of another path: what ends a recursion, or what is
 * put into an empty list first, gives the type. */
static bool
takes_other_type(const lw_infer_frame *f)
{
    return f->is_open || f->joins_untyped;
}

static lw_status
join_set(lw_infer_frame *f, uint32_t node, const lw_infer_value *set, uint32_t n, lw_type *out)
{
    lw_type *types = lw_arena_take(f->run->arena, (n + 1) * sizeof *types);
    const char *problem = NULL;
    bool is_constant;

    *out = LW_T_BOTTOM;
    if (types == NULL)
        return lw_out_of_memory(f);
    for (uint32_t i = 0; i < n; i++) {
        types[i] = set[i].type;
        if (types[i] == LW_T_BOTTOM && !takes_other_type(f))
            return LW_OK;
    }
    *out = lw_join_optional(lw_types_of(f), lw_typing_of(f), types, n, &problem);
    if (f->notes != NULL)
        lw_note_at(f, node)->copied = lw_mixes_records(f, types, n, *out);
    if (problem == NULL && (*out != LW_T_STATIC || n == 1))
        return LW_OK;
    is_constant = problem == NULL;
    *out = LW_T_BOTTOM;
    if (is_constant)
        return lw_complain(f, lw_node_of(f, node)->loc, "E104",
                           "one of several objects, chosen by numbers", lw_help_for_choice(),
                           "which constant this is would be known only at run time");
    return lw_complain(
        f, lw_node_of(f, node)->loc, strcmp(problem, "E112") == 0 ? "E140" : problem,
        lw_format_text(f, "one way gives %s, another %s", lw_describe_type(f, types[0]),
                       lw_describe_type(f, types[n - 1])),
        lw_help_for_join(problem), "the possible values have no common type");
}

static lw_status
boolop_value(lw_infer_frame *f, uint32_t node, lw_infer_value *out)
{
    uint32_t n = lw_node_of(f, node)->c, n_set = 0;
    lw_infer_value *set = lw_arena_take(f->run->arena, (n + 1) * sizeof *set);
    bool folded = true;
    lw_status status;

    if (set == NULL)
        return lw_out_of_memory(f);
    LW_TRY(value_operands(f, node, set, &n_set, &folded));
    if (n_set == 1 && folded) {
        *out = set[0];
        return LW_OK;
    }
    LW_TRY(join_set(f, node, set, n_set, &out->type));
    for (uint32_t i = 0; i < n; i++)
        take_copied(f, node, f->run->tree->lists.data[lw_node_of(f, node)->b + i]);
    lw_typed_in(&f->nodes, node)->operand = out->type;
fail:
    return status;
}

lw_status
lw_join_values(lw_infer_frame *f, uint32_t x_node, lw_type x, uint32_t y_node, lw_type y,
               lw_type *out)
{
    lw_infer_value set[2] = {{x, 0}, {y, 0}};
    (void)y_node;
    return join_set(f, x_node, set, 2, out);
}

/* ---- conditions ---- */

static lw_status
not_condition(lw_infer_frame *f, uint32_t node, int *truth, lw_flow *when_true,
              lw_flow *when_false)
{
    uint32_t operand = lw_node_of(f, node)->a;
    lw_status status;

    LW_TRY(lw_infer_condition(f, operand, truth, when_false, when_true));
    *truth = *truth < 0 ? -1 : !*truth;
    lw_typed_in(&f->nodes, node)->type = LW_DT_b1;
    lw_typed_in(&f->nodes, node)->operand = lw_typed_in(&f->nodes, operand)->type;
    lw_typed_in(&f->nodes, node)->truth = (int8_t)*truth;
    lw_typed_in(&f->nodes, node)->constant =
        *truth >= 0 && lw_is_pure(f, operand) ? lw_node_bool(f, node, *truth) : 0;
fail:
    return status;
}

static lw_status
plain_condition(lw_infer_frame *f, uint32_t node, int *truth, lw_flow *when_true,
                lw_flow *when_false)
{
    lw_infer_value value;
    lw_status status;

    f->borrowed = f->wants_optional = f->wants_items = true;
    LW_TRY(lw_infer_expr(f, node, &value));
    *truth = lw_node_of(f, node)->kind == LW_NODE_COMPARE ? lw_typed_in(&f->nodes, node)->truth
                                                          : lw_truth_of(f, value);
    LW_TRY(check_truth(f, node, value, truth));
    lw_typed_in(&f->nodes, node)->truth = (int8_t)*truth;
    if ((when_true && !lw_flow_take(f, when_true)) ||
        (when_false && !lw_flow_take(f, when_false)))
        return lw_out_of_memory(f);
fail:
    return status;
}

lw_status
lw_infer_condition(lw_infer_frame *f, uint32_t node, int *truth, lw_flow *when_true,
                   lw_flow *when_false)
{
    const lw_node *n = lw_node_of(f, node);
    lw_status status;

    LW_TRY(lw_enter(f, node));
    lw_typed_in(&f->nodes, node)->stops = 0;
    if (n->kind == LW_NODE_BOOLOP)
        status = boolop_condition(f, node, truth, when_true, when_false);
    else if (n->kind == LW_NODE_UNARY && n->op == LW_PY_NOT)
        status = not_condition(f, node, truth, when_true, when_false);
    else
        status = plain_condition(f, node, truth, when_true, when_false);
    f->run->depth--;
    if (status == (lw_status)LW_STOPS)
        lw_typed_in(&f->nodes, node)->type = LW_T_BOTTOM;
fail:
    return status;
}

/* ---- a if c else b ---- */

/* x if x is not None else …, … if x is None else x: the arm is a value. */
static bool
is_tested(lw_infer_frame *f, uint32_t condition, uint32_t arm, bool otherwise)
{
    const lw_node *c = lw_node_of(f, condition), *x = lw_node_of(f, arm), *link;

    if (c->kind != LW_NODE_COMPARE || c->c != 1 || x->kind != LW_NODE_NAME)
        return false;
    link = lw_node_of(f, f->run->tree->lists.data[c->b]);
    return link->op == (otherwise ? LW_PY_IS : LW_PY_IS_NOT) &&
           lw_typed_in(&f->nodes, link->a)->type == LW_T_NONE &&
           lw_node_of(f, c->a)->kind == LW_NODE_NAME && lw_node_of(f, c->a)->a == x->a;
}

static lw_status
infer_arm(lw_infer_frame *f, uint32_t node, bool otherwise, lw_flow *flow, int truth,
          lw_infer_value *out)
{
    assert(lw_node_of(f, node)->kind == LW_NODE_IFEXP);
    const lw_node *n = lw_node_of(f, node);
    uint32_t arm = otherwise ? n->c : n->b, outer = f->region;
    lw_status status;

    lw_typed_in(&f->nodes, arm)->dead = truth == otherwise;
    *out = (lw_infer_value){LW_T_BOTTOM, 0};
    if (truth == otherwise) {
        flow->live = false;
        return LW_OK;
    }
    lw_flow_set(f, flow);
    lw_region_open(f, node, otherwise);
    f->wants_optional = !is_tested(f, lw_node_of(f, node)->a, arm, otherwise);
    f->wants_items = true;
    status = lw_infer_expr(f, arm, out);
    if (truth < 0 && lw_caught_stop(f, arm, &status))
        f->now.live = false;
    LW_TRY(status);
    lw_flow_keep(f, flow);
fail:
    f->region = outer;
    return status;
}

static uint8_t
fresh_of_arms(const lw_infer_frame *f, const lw_node *n, int truth)
{
    uint8_t b = lw_note_at(f, n->b)->fresh, c = lw_note_at(f, n->c)->fresh;

    if (truth >= 0)
        return truth ? b : c;
    return b < c ? b : c;
}

static lw_status
infer_ifexp(lw_infer_frame *f, uint32_t node, lw_infer_value *out)
{
    const lw_node *n = lw_node_of(f, node);
    lw_flow yes = {0}, no = {0};
    lw_infer_value a, b;
    lw_status status;
    int truth;
    bool a_stops, b_stops;

    if (f->notes != NULL)
        lw_note_at(f, node)->copied = false;
    LW_TRY(lw_infer_condition(f, n->a, &truth, &yes, &no));
    LW_TRY(infer_arm(f, node, false, &yes, truth, &a));
    LW_TRY(infer_arm(f, node, true, &no, truth, &b));
    lw_flow_merge(f, &yes, &no);
    lw_flow_set(f, &yes);
    a_stops = truth < 0 && lw_typed_in(&f->nodes, n->b)->stops;
    b_stops = truth < 0 && lw_typed_in(&f->nodes, n->c)->stops;
    if (a_stops && b_stops) {
        f->stop = node;
    } else if (truth >= 0) {
        *out = truth ? a : b;
        out->constant = lw_is_pure(f, n->a) ? out->constant : 0;
        if (out->type == LW_T_STATIC && !out->constant)
            out->constant = (truth ? a : b).constant;
    } else if (a.constant && a.type == b.type && lw_constant_same(f, a.constant, b.constant) &&
               lw_is_pure(f, n->a)) {
        *out = a;
    } else if ((a_stops || a.type != LW_T_BOTTOM) && (b_stops || b.type != LW_T_BOTTOM)) {
        LW_TRY(lw_join_values(f, node, a_stops ? b.type : a.type, node,
                              b_stops ? a.type : b.type, &out->type));
    } else if (takes_other_type(f)) {
        out->type = a.type != LW_T_BOTTOM ? a.type : b.type;
    }
    take_copied(f, node, truth == 0 ? 0 : n->b);
    take_copied(f, node, truth == 1 ? 0 : n->c);
    if (f->notes != NULL)
        lw_note_at(f, node)->fresh = fresh_of_arms(f, n, truth);
    lw_typed_in(&f->nodes, node)->operand = out->type;
    lw_typed_in(&f->nodes, node)->truth = (int8_t)truth;
fail:
    lw_flow_put(f, &yes);
    lw_flow_put(f, &no);
    return status;
}

/* ---- names, literals, nested functions ---- */

static lw_status
infer_constant(lw_infer_frame *f, uint32_t node, lw_infer_value *out)
{
    const lw_node *n = lw_node_of(f, node);
    const lw_constant *constant = lw_constant_of(f, n->a);

    if (constant->kind == LW_K_UNDEFINED)
        return lw_complain(f, n->loc, "E150",
                           constant->help && *constant->help
                               ? lw_format_text(f, "name `%s` is not defined; %s",
                                                constant->text, constant->help)
                               : lw_format_text(f, "name `%s` is not defined", constant->text),
                           NULL, "name `%s` is not defined", constant->text);
    if (constant->kind == LW_K_NAMED && lw_names[constant->u].rule == LW_RULE_SREG)
        return lw_infer_named(f, node, (lw_name_id)constant->u, NULL, 0, out);
    *out = lw_constant_value(f, n->a);
    return LW_OK;
}

static lw_status
infer_name(lw_infer_frame *f, uint32_t node, lw_infer_value *out)
{
    const lw_node *n = lw_node_of(f, node);

    if (n->flags & LW_NODE_STORE)
        return lw_complain(f, n->loc, "E101", NULL, NULL, "an assignment target has no value");
    return lw_use_name(f, node, out, &lw_typed_in(&f->nodes, node)->web);
}

/* What the function captures is examined when it is called or passed on. */
static lw_status
infer_lambda(lw_infer_frame *f, uint32_t node, lw_infer_value *out)
{
    out->type = lw_type_function(lw_types_of(f), lw_node_of(f, node)->a, NULL, 0);
    return LW_OK;
}

static lw_status
infer_walrus(lw_infer_frame *f, uint32_t node, lw_infer_value *out)
{
    const lw_node *n = lw_node_of(f, node);
    lw_status status;

    f->wants_optional = f->wants_items = true;
    LW_TRY(lw_infer_expr(f, n->b, out));
    if (f->notes != NULL) {
        f->incoming = (lw_note){.copied = lw_note_at(f, n->b)->copied};
        lw_note_at(f, node)->copied = false;
    }
    status = lw_assign(f, n->a, *out);
    f->incoming = (lw_note){0};
    LW_TRY(status);
    take_copied(f, node, n->b);
    /* a folded expression is not evaluated, but the assignment has to happen */
    if (out->constant && !lw_constant_is_static(f, out->constant))
        out->constant = 0;
fail:
    return status;
}

static lw_status
infer_operands(lw_infer_frame *f, uint32_t node, lw_infer_value *out)
{
    const lw_node *n = lw_node_of(f, node);
    lw_infer_value x, y;
    lw_status status;
    uint32_t held;
    bool found, before;

    LW_TRY(lw_infer_borrowed(f, n->a, &x));
    *out = (lw_infer_value){LW_T_BOTTOM, 0};
    if (n->kind == LW_NODE_UNARY) {
        LW_TRY(lw_infer_object_unary(f, node, (lw_pyop)n->op,
                                     (lw_arg){.node = n->a, .entry = n->a, .value = x}, &found,
                                     out));
        return found ? LW_OK : lw_infer_unary(f, node, (lw_pyop)n->op, x, out);
    }
    held = lw_hold(f, n->a);
    before = lw_stores_begin(f);
    status = lw_infer_borrowed(f, n->b, &y);
    lw_unhold(f, held);
    LW_TRY(status);
    LW_TRY(lw_stores_end(f, before, n->a, &x));
    if (lw_is_elementwise(f, y.type)) /* x + a, where x is a list */
        LW_TRY(lw_infer_list_array(f, n->a, &x));
    if (lw_is_elementwise(f, x.type))
        LW_TRY(lw_infer_list_array(f, n->b, &y));
    LW_TRY(lw_infer_object_binary(
        f, node, (lw_pyop)n->op, (lw_arg){.node = n->a, .entry = n->a, .value = x},
        (lw_arg){.node = n->b, .entry = n->b, .value = y}, &found, out));
    if (found)
        return LW_OK;
    LW_TRY(lw_infer_binary(f, node, (lw_pyop)n->op, (lw_infer_operand){n->a, x},
                           (lw_infer_operand){n->b, y}, out));
    if (lw_holds_objects(f, out->type)) { /* tuples, one behind the other */
        lw_lose_node(f, n->a);
        lw_lose_node(f, n->b);
    }
fail:
    return status;
}

static lw_status
infer_not(lw_infer_frame *f, uint32_t node, lw_infer_value *out)
{
    int truth = -1;
    lw_status status = not_condition(f, node, &truth, NULL, NULL);

    *out = (lw_infer_value){LW_DT_b1, lw_typed_in(&f->nodes, node)->constant};
    return status;
}

static lw_status
dispatch(lw_infer_frame *f, uint32_t node, lw_infer_value *out)
{
    const lw_node *n = lw_node_of(f, node);

    switch ((lw_node_kind)n->kind) {
    case LW_NODE_CONSTANT: return infer_constant(f, node, out);
    case LW_NODE_NAME: return infer_name(f, node, out);
    case LW_NODE_UNARY:
        return n->op == LW_PY_NOT ? infer_not(f, node, out) : infer_operands(f, node, out);
    case LW_NODE_BINARY: return infer_operands(f, node, out);
    case LW_NODE_BOOLOP: return boolop_value(f, node, out);
    case LW_NODE_COMPARE: return lw_infer_comparison(f, node, out);
    case LW_NODE_IFEXP: return infer_ifexp(f, node, out);
    case LW_NODE_CALL: return lw_infer_call(f, node, out);
    case LW_NODE_ATTRIBUTE: return lw_infer_attribute(f, node, out);
    case LW_NODE_SUBSCRIPT: return lw_infer_subscript(f, node, out);
    case LW_NODE_TUPLE: return lw_infer_tuple(f, node, out);
    case LW_NODE_ON_GPU: *out = (lw_infer_value){LW_DT_b1, 0}; return LW_OK;
    case LW_NODE_WALRUS: return infer_walrus(f, node, out);
    case LW_NODE_LAMBDA: return infer_lambda(f, node, out);
    case LW_NODE_JOINED:
        return lw_complain(f, n->loc, "E104", NULL, "use it in `print`, `raise` and `assert`",
                           "a string that is made at run time cannot be a value");
    case LW_NODE_ERROR: return lw_complain_kept(f, n->a);
    case LW_NODE_SUPER:
        return lw_complain(f, n->loc, "E165", NULL,
                           "call a method of it: `super().method(...)`",
                           "`super()` is not a value in compiled code");
    default:
        return lw_complain(f, n->loc, "E101", NULL, NULL, "`%s` is not allowed here",
                           n->kind < LW_N_NODE_KINDS ? lw_node_text[n->kind] : "?");
    }
}

lw_status
lw_infer_expr(lw_infer_frame *f, uint32_t node, lw_infer_value *out)
{
    lw_status status;

    LW_TRY(lw_infer_operand_expr(f, node, out));
    if (lw_type_kind_of(lw_types_of(f), out->type) == LW_TK_ELEMENTWISE)
        LW_TRY(lw_infer_made_array(f, node, out));
fail:
    return status;
}

void
lw_unwrap(lw_infer_frame *f, uint32_t node, lw_infer_value *value)
{
    lw_type given = lw_type_given(lw_types_of(f), value->type);

    if (given == LW_T_BOTTOM)
        return;
    value->type = lw_typed_in(&f->nodes, node)->type = given;
    lw_typed_in(&f->nodes, node)->unwraps = true;
    f->can_raise |= !f->run->typed->options.ignore_errors;
}

/* A tuple's type without None beside the values of its items; slices may have it. */
static lw_type
items_given(lw_infer_frame *f, lw_type type)
{
    const lw_type_row *row = lw_tuple_row(f, type);
    lw_type *elements =
        row ? lw_arena_take(f->run->arena, (row->n + 1) * sizeof *elements) : NULL;
    lw_type_row copy;
    bool same = true;

    if (elements == NULL)
        return type;
    copy = *row;
    for (uint32_t i = 0; i < copy.n; i++) {
        elements[i] = items_given(f, lw_type_without_none(lw_types_of(f), copy.elements[i]));
        same &= elements[i] == copy.elements[i];
    }
    return same ? type : lw_tuple_like(f, &copy, elements);
}

static void
unwrap_items(lw_infer_frame *f, uint32_t node, lw_infer_value *value)
{
    lw_type given = lw_type_without_none(lw_types_of(f), value->type);

    if (lw_type_is_slice(lw_types_of(f), given) || items_given(f, given) == given)
        return;
    given = items_given(f, given);
    value->type = lw_typed_in(&f->nodes, node)->type =
        value->type == lw_type_without_none(lw_types_of(f), value->type)
            ? given
            : lw_type_optional(lw_types_of(f), given);
    lw_typed_in(&f->nodes, node)->unwraps = true;
    f->can_raise |= !f->run->typed->options.ignore_errors;
}

lw_status
lw_infer_operand_expr(lw_infer_frame *f, uint32_t node, lw_infer_value *out)
{
    lw_status status;
    bool borrowed = f->borrowed, wants_optional = f->wants_optional, items = f->wants_items;
    uint32_t asked = f->asked;

    f->borrowed = f->wants_optional = f->wants_items = false;
    *out = (lw_infer_value){LW_T_BOTTOM, 0};
    if (node == 0 || node >= f->run->tree->nodes.n)
        return LW_OK;
    LW_TRY(lw_enter(f, node));
    if (f->notes != NULL)
        *lw_note_at(f, node) = (lw_note){.constant = lw_note_at(f, node)->constant};
    f->wants_items = items && lw_node_of(f, node)->kind == LW_NODE_TUPLE;
    f->asked = 0;
    lw_typed_in(&f->nodes, node)->stops = 0;
    status = dispatch(f, node, out);
    if (status == (lw_status)LW_STOPS)
        *out = (lw_infer_value){LW_T_BOTTOM, 0};
    if (status == LW_OK && out->constant != 0 && f->asked != 0)
        status = lw_complain_folded(f, f->asked);
    f->asked = f->asked ? f->asked : asked;
    assert(f->run->depth > 0); /* lw_enter */
    f->run->depth--;
    if (out->constant == 0 && lw_is_known_text(f, out->type)) /* the code has effects, too */
        out->type = lw_type_texts(lw_types_of(f), out->type, out->type);
    lw_typed_in(&f->nodes, node)->type = out->type;
    lw_typed_in(&f->nodes, node)->element = LW_T_BOTTOM;
    lw_typed_in(&f->nodes, node)->constant = out->constant;
    lw_typed_in(&f->nodes, node)->asks = 0;
    lw_typed_in(&f->nodes, node)->unwraps = lw_typed_in(&f->nodes, node)->decays = false;
    if (!wants_optional)
        lw_unwrap(f, node, out);
    if (!items)
        unwrap_items(f, node, out);
    if (status == LW_OK)
        status = lw_note_value(f, node, out->type, borrowed);
    if (status == LW_OK && f->stop == node)
        status = (lw_status)LW_STOPS;
fail:
    return status;
}
