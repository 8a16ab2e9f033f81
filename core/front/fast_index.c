#include "core/front/fast_index.h"

enum { MOST_INDEX = 3 };

typedef struct votes {
    const lw_tree *tree;
    const lw_fn *fn;
    uint32_t n_index, count[MOST_INDEX];
} votes;

/* i, i + 1 and row * n + i contain i as an added term: when i grows by one, so does the sum. */
static void
vote(votes *v, uint32_t at)
{
    const lw_node *node = &v->tree->nodes.data[at];

    if (node->kind == LW_NODE_BINARY && (node->op == LW_PY_ADD || node->op == LW_PY_SUB)) {
        vote(v, node->a);
        vote(v, node->b);
    }
    for (uint32_t i = 0; node->kind == LW_NODE_NAME && i < v->n_index; i++)
        v->count[i] += node->a == v->fn->params.data[i].var;
}

static bool
is_inside(const votes *v, const lw_node *node)
{
    const lw_loc *here = &v->tree->locs.data[node->loc];
    const lw_loc *def = &v->tree->locs.data[v->fn->loc];

    return here->file == def->file && here->line >= def->line && here->line <= def->end_line;
}

static void
vote_subscript(votes *v, const lw_node *node)
{
    const lw_node *index = &v->tree->nodes.data[node->b];

    if (index->kind != LW_NODE_TUPLE)
        vote(v, node->b);
    else if (index->c > 0)
        vote(v, v->tree->lists.data[index->b + index->c - 1]);
}

uint32_t
lw_fast_index(const lw_tree *tree, uint32_t n_index)
{
    votes v = {.tree = tree, .fn = &tree->fns.data[1], .n_index = n_index};
    uint32_t best = n_index - 1;

    for (uint32_t i = 1; i < tree->nodes.n; i++)
        if (tree->nodes.data[i].kind == LW_NODE_SUBSCRIPT &&
            is_inside(&v, &tree->nodes.data[i]))
            vote_subscript(&v, &tree->nodes.data[i]);
    for (uint32_t i = n_index; i-- > 0;)
        if (v.count[i] > v.count[best])
            best = i;
    return best;
}
