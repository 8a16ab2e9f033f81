#include "core/py/numpy_api.h"

#include "ufunc/recall_py.h"

#include <stddef.h>
#include <string.h>

typedef struct recall {
    lw_recalled head;
    lw_loaded *loaded;
    lw_kernel_key key;
    int64_t offset[LW_RECALL_INPUTS + 1]; /* from an array's address to where the walk begins */
    lw_call call;                         /* as far as the launch looks at it */
} recall;

/* ---- doing it again ---- */

static void
fill_address(recall *entry, int i, const lw_device_array *array)
{
    uint64_t at = (uint64_t)array->data + (uint64_t)entry->offset[i];

    entry->call.plan.operands[i].data = (char *)(uintptr_t)at;
}

static int
fill(lw_recalled *head, const lw_recall_request *r, const lw_device_array *result)
{
    recall *entry = (recall *)head;

    for (int i = 0; i < r->n; i++)
        if (head->input[i].device != NULL)
            fill_address(entry, i, (const lw_device_array *)r->input[i]);
        else if (lw_recall_item(r, i, entry->call.plan.operands[i].dtype,
                                &entry->call.values[i]) < 0)
            return -1;
    fill_address(entry, r->n, result);
    return 0;
}

static lw_status
launch(lw_recalled *head, lw_error *err)
{
    recall *entry = (recall *)head;

    return lw_call_launch(&entry->call, &entry->call.plan, &entry->key, entry->loaded->kernel,
                          err);
}

int
lw_call_recall(lw_ufunc *self, PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames,
               PyObject **result)
{
    static const lw_recall_door door = {.fill = fill, .launch = launch};

    return lw_recall_call(self->recalled, &door, self->nin, args, n_args, kwnames, result);
}

/* ---- remembering ---- */

static bool
is_plain(const lw_call *call)
{
    enum { ONE_LAUNCH = 1 << 30 };

    return call->self != NULL && /* a copy has none */ call->self->nout == 1 &&
           call->self->family == NULL && call->extra == NULL && call->stream_object == NULL &&
           call->where == NULL && call->casting == NULL && call->dtype == NULL &&
           call->order == NULL && call->subok == NULL && call->signature == NULL &&
           call->n_owned == 0 && call->n_host == 0 && call->resolution->head.watch == NULL &&
           call->plan.n <= ONE_LAUNCH;
}

void
lw_call_remember(const lw_call *call, const lw_kernel_key *key, lw_loaded *loaded)
{
    lw_recalled head = {0};
    recall *made;
    int nin;

    if (!is_plain(call) || !lw_recall_wants(call->self->recalled))
        return;
    nin = call->self->nin;
    if (!lw_recall_fill(&head, call->operands, nin, call->made[0]))
        return;
    head.image = loaded->image;
    made = (recall *)lw_recall_place(&call->self->recalled, sizeof *made, &head);
    if (made == NULL)
        return;
    made->loaded = loaded;
    made->key = *key;
    memset(&made->call, 0, offsetof(lw_call, operands));
    made->call.self = call->self;
    made->call.resolution = call->resolution;
    memcpy(&made->call.plan, &call->plan,
           offsetof(lw_plan, operands) +
               (size_t)call->plan.n_operands * sizeof *call->plan.operands);
    for (int i = 0; i <= nin; i++)
        made->offset[i] = (int64_t)((uint64_t)(uintptr_t)call->plan.operands[i].data -
                                    (uint64_t)call->operands[i].data);
}
