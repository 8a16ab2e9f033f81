#include "core/py/numpy_api.h"

#include "gufunc/recall_py.h"

#include "gufunc/device_simulate_py.h"

#include <stddef.h>
#include <string.h>

typedef struct recall {
    lw_recalled head;
    lw_loaded *loaded;
    lw_core_key key;
    int64_t offset[LW_RECALL_INPUTS + 1]; /* from an array's address to where the walk begins */
    lw_gcall call;                        /* as far as the launch looks at it */
} recall;

/* ---- doing it again ---- */

static void
fill_address(recall *entry, int i, const lw_device_array *array)
{
    entry->call.plan.operands[i].data = (uint64_t)array->data + (uint64_t)entry->offset[i];
}

static int
fill(lw_recalled *head, const lw_recall_request *r, const lw_device_array *result)
{
    recall *entry = (recall *)head;

    for (int i = 0; i < r->n; i++)
        if (head->input[i].device != NULL)
            fill_address(entry, i, (const lw_device_array *)r->input[i]);
        else if (lw_recall_item(r, i, entry->call.plan.loop->types[i], &entry->call.values[i]) <
                 0)
            return -1;
    fill_address(entry, r->n, result);
    return 0;
}

static lw_status
launch(lw_recalled *head, lw_error *err)
{
    recall *entry = (recall *)head;

    return lw_gcall_launch(&entry->call, &entry->key, entry->loaded, err);
}

int
lw_gcall_recall(lw_gufunc *self, PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames,
                PyObject **result)
{
    static const lw_recall_door door = {.fill = fill, .launch = launch};

    return lw_recall_call(self->recalled, &door, self->nin, args, n_args, kwnames, result);
}

/* ---- remembering ---- */

static bool
has_no_keywords(const lw_gcall *call)
{
    return call->stream_object == NULL && call->casting == NULL && call->dtype == NULL &&
           call->order == NULL && call->subok == NULL && call->signature == NULL &&
           call->axes == NULL && call->axis == NULL && call->keepdims == NULL;
}

/* Inputs that the body writes to, and sizes that a Python function gives, are looked at anew.
 */
static bool
is_plain(const lw_gcall *call)
{
    const lw_gufunc *self = call->self;
    const lw_gufunc_loop *loop = call->resolution->head.loop;
    bool plain = self->nout == 1 && self->family == NULL && self->large == NULL &&
                 self->sizes == NULL && call->extra == NULL && has_no_keywords(call) &&
                 call->n_owned == 0 && call->n_host == 0 &&
                 call->resolution->head.watch == NULL && call->plan.n <= LW_GCALL_ITEMS &&
                 !lw_gufunc_simulates;

    for (int i = 0; i < self->nin; i++)
        plain = plain && !loop->writable[i];
    return plain;
}

void
lw_gcall_remember(const lw_gcall *call, const lw_core_key *key, lw_loaded *loaded)
{
    lw_recalled head = {0};
    recall *made;
    int nin = call->self->nin;

    if (!is_plain(call) || !lw_recall_wants(call->self->recalled) ||
        !lw_recall_fill(&head, call->operands, nin, call->made[0]))
        return;
    head.image = loaded->image;
    made = (recall *)lw_recall_place(&call->self->recalled, sizeof *made, &head);
    if (made == NULL)
        return;
    made->loaded = loaded;
    made->key = *key;
    memset(&made->call, 0, offsetof(lw_gcall, operands));
    made->call.self = call->self;
    made->call.resolution = call->resolution;
    made->call.device = call->device;
    memcpy(made->call.shape.sizes, call->shape.sizes, sizeof call->shape.sizes);
    memcpy(&made->call.plan, &call->plan,
           offsetof(lw_core_plan, operands) +
               (size_t)call->plan.n_operands * sizeof *call->plan.operands);
    made->call.plan.sizes = made->call.shape.sizes;
    for (int i = 0; i <= nin; i++)
        made->offset[i] =
            (int64_t)(call->plan.operands[i].data - (uint64_t)call->operands[i].data);
}
