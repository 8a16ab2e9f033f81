#include "core/py/compiled/link_ask.h"

#include "core/base/memory.h"
#include "core/front/read/critical.h"
#include "core/front/read/services.h"
#include "core/py/types/type_object.h"

#include <string.h>

typedef struct asked_set {
    lw_grown_item item;
    PyObject *providers; /* owned: the list that the numbers of `id` are of */
    lw_digest id;        /* of who is asked for which types */
    int cc;
    lw_link_set set;
} asked_set;

/* ---- asking ---- */

/* None stands for what has no type outside of compiled code. */
static PyObject *
types_of(const lw_link_ask *ask)
{
    PyObject *types = PyTuple_New(ask->n);

    for (uint32_t i = 0; types != NULL && i < ask->n; i++) {
        PyObject *type = ask->types[i].kind == LW_SIG_NONE ? Py_NewRef(Py_None)
                                                           : lw_type_object_new(&ask->types[i]);
        if (type == NULL)
            Py_CLEAR(types);
        else
            PyTuple_SET_ITEM(types, i, type);
    }
    return types;
}

/* Runs Python code of the user's, unless it is known. Adds to the list. */
static int
ask_one(PyObject *asked, PyObject *providers, const lw_link_ask *ask, int cc, PyObject *list)
{
    PyObject *types = types_of(ask), *codes = NULL;
    int result = -1;

    if (types != NULL)
        codes = PyObject_CallFunction(
            asked, "OONs", PyList_GET_ITEM(providers, (Py_ssize_t)ask->linked - 1), types,
            PyUnicode_FromFormat("sm_%d", cc), ask->chain);
    if (codes != NULL)
        result = PyList_SetSlice(list, PY_SSIZE_T_MAX, PY_SSIZE_T_MAX, codes);
    Py_XDECREF(types);
    Py_XDECREF(codes);
    return result;
}

static PyObject *
ask_all(PyObject *providers, const lw_link_asks *asks, int cc)
{
    PyObject *asked = lw_service_find(LW_SERVICE_LINKING, "asked");
    PyObject *list = asked ? PyList_New(0) : NULL;

    for (uint32_t i = 0; list != NULL && i < asks->n; i++)
        if (ask_one(asked, providers, &asks->data[i], cc, list) < 0)
            Py_CLEAR(list);
    Py_XDECREF(asked);
    return list;
}

/* ---- sets ---- */

static bool
digest_of(const lw_link_asks *asks, lw_digest *out)
{
    lw_text text = {0};
    lw_sha256 sha;
    bool failed;

    for (uint32_t i = 0; i < asks->n; i++) {
        lw_text_addf(&text, "%u(", (unsigned)asks->data[i].linked);
        for (uint32_t k = 0; k < asks->data[i].n; k++) {
            lw_sig_type_print(&asks->data[i].types[k], &text);
            lw_text_add(&text, ";");
        }
        lw_text_add(&text, ")");
    }
    lw_sha256_init(&sha);
    lw_sha256_add(&sha, lw_text_get(&text), text.n);
    *out = lw_sha256_finish(&sha);
    failed = text.failed;
    lw_text_reset(&text);
    if (failed)
        PyErr_NoMemory();
    return !failed;
}

static bool
is_same(const void *item, const void *key)
{
    const asked_set *x = item, *y = key;

    return x->providers == y->providers && x->cc == y->cc &&
           memcmp(&x->id, &y->id, sizeof x->id) == 0;
}

static void
set_free(void *item)
{
    asked_set *set = item;

    lw_link_set_reset(&set->set);
    Py_XDECREF(set->providers);
    lw_free(set);
}

/* Another thread may have added an equal one meanwhile. */
static const lw_link_set *
publish(lw_compiled *self, asked_set *made)
{
    asked_set *found;

    Py_BEGIN_CRITICAL_SECTION((PyObject *)self);
    found = lw_grown_find(&self->asked, is_same, made);
    if (found == NULL)
        lw_grown_add(&self->asked, made);
    Py_END_CRITICAL_SECTION();
    if (found != NULL)
        set_free(made);
    return found ? &found->set : &made->set;
}

static const lw_link_set *
make(lw_compiled *self, const asked_set *key, const lw_link_asks *asks)
{
    asked_set *made = lw_alloc_zero(1, sizeof *made);
    PyObject *codes = NULL;

    if (made == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    *made = *key;
    Py_INCREF(made->providers);
    codes = ask_all(made->providers, asks, made->cc);
    if (codes == NULL || lw_link_set_read(&made->set, self->link, codes) < 0) {
        Py_XDECREF(codes);
        set_free(made);
        return NULL;
    }
    Py_DECREF(codes);
    return publish(self, made);
}

const lw_link_set *
lw_link_set_of(lw_compiled *self, const lw_captures *captures, const lw_scalar *scalar, int cc)
{
    asked_set key = {.providers = lw_captures_linked(captures), .cc = cc}, *found;

    if (scalar->asks.n == 0 || key.providers == NULL)
        return &self->links;
    if (!digest_of(&scalar->asks, &key.id))
        return NULL;
    found = lw_grown_find(&self->asked, is_same, &key);
    return found ? &found->set : make(self, &key, &scalar->asks);
}

lw_build_options
lw_link_options(lw_build_options options, const lw_link_set *links)
{
    options.links = links->items;
    options.n_links = links->n;
    return options;
}

bool
lw_link_is_output(const char *output)
{
    return strcmp(output, "cubin") == 0 || strcmp(output, "sass") == 0;
}

/* ---- life ---- */

int
lw_link_sets_traverse(lw_compiled *self, visitproc visit, void *arg)
{
    for (asked_set *at = lw_grown_first(&self->asked); at != NULL; at = lw_grown_next(at)) {
        Py_VISIT(at->providers);
        Py_VISIT(at->set.objects);
    }
    return 0;
}

void
lw_link_sets_free(lw_compiled *self)
{
    lw_grown_free(&self->asked, set_free);
}
