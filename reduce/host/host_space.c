/* Simplifies the dimensions of a job: sorts those that may be reordered and merges those that
 * can be walked as one. */
#include "reduce/host/host_parts.h"

static void
drop_dimension(lw_reduce_space *space, int d, uint32_t n_operands)
{
    for (int k = d; k + 1 < space->n; k++) {
        space->size[k] = space->size[k + 1];
        for (uint32_t i = 0; i < n_operands; i++)
            space->stride[i][k] = space->stride[i][k + 1];
    }
    space->n--;
}

static bool
continues(const lw_reduce_space *space, int d, uint32_t n_operands)
{
    for (uint32_t i = 0; i < n_operands; i++)
        if (space->stride[i][d] != space->stride[i][d + 1] * space->size[d + 1])
            return false;
    return true;
}

/* Drops dimensions of size 1 and merges neighbours that can be walked as one. */
static void
merge_dimensions(lw_reduce_space *space, uint32_t n_operands)
{
    for (int d = space->n - 1; d >= 0; d--)
        if (space->size[d] == 1)
            drop_dimension(space, d, n_operands);
    for (int d = space->n - 2; d >= 0; d--) {
        if (!continues(space, d, n_operands))
            continue;
        space->size[d + 1] *= space->size[d];
        drop_dimension(space, d, n_operands);
    }
}

static void
swap_dimensions(lw_reduce_space *space, int a, int b, uint32_t n_operands)
{
    int64_t size = space->size[a];

    space->size[a] = space->size[b];
    space->size[b] = size;
    for (uint32_t i = 0; i < n_operands; i++) {
        int64_t stride = space->stride[i][a];
        space->stride[i][a] = space->stride[i][b];
        space->stride[i][b] = stride;
    }
}

/* Sorts dimensions, the one with the smallest stride of the first operand innermost. */
static void
sort_dimensions(lw_reduce_space *space, uint32_t n_operands)
{
    for (int i = 1; i < space->n; i++)
        for (int k = i;
             k > 0 && distance(space->stride[0][k - 1]) < distance(space->stride[0][k]); k--)
            swap_dimensions(space, k - 1, k, n_operands);
}

void
lw_reduce_simplify(lw_reduce_job *job)
{
    uint32_t n_operands = job->reduction->n_in + (job->operand[job->reduction->n_in] != NULL);

    if (job->reduction->commutative && !job->reduction->indexed)
        sort_dimensions(&job->reduced, n_operands);
    merge_dimensions(&job->reduced, n_operands);
    merge_dimensions(&job->kept, n_operands);
}
