#include "core/py/compiled/link_ask.h"

#include "core/base/memory.h"
#include "core/front/read/critical.h"
#include "core/front/read/services.h"
#include "core/py/types/type_object.h"

#include <assert.h>
#include <string.h>

typedef struct asked_set {
    lw_grown_item item;
    /* owned, or NULL: the lists that the numbers of `id` are of, one for each function */
    PyObject *providers[LW_LINK_SOURCES];
    lw_digest id; /* of who is asked for which types */
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
    PyObject *types, *codes = NULL;
    int result = -1;

    assert(providers != NULL && ask->linked <= PyList_GET_SIZE(providers));
    types = types_of(ask);
    if (types != NULL)
        codes = PyObject_CallFunction(asked, "OONs",
                                      PyList_GET_ITEM(providers, (Py_ssize_t)ask->linked - 1),
                                      types, PyUnicode_FromFormat("sm_%d", cc), ask->chain);
    if (codes != NULL)
        result = PyList_SetSlice(list, PY_SSIZE_T_MAX, PY_SSIZE_T_MAX, codes);
    Py_XDECREF(types);
    Py_XDECREF(codes);
    return result;
}

static PyObject *
ask_all(const asked_set *key, const lw_link_source *sources, uint32_t n)
{
    PyObject *asked = lw_service_find(LW_SERVICE_LINKING, "asked");
    PyObject *list = asked ? PyList_New(0) : NULL;

    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; list != NULL && k < sources[i].asks->n; k++)
            if (ask_one(asked, key->providers[i], &sources[i].asks->data[k], key->cc, list) < 0)
                Py_CLEAR(list);
    Py_XDECREF(asked);
    return list;
}

/* ---- sets ---- */

static void
print_asks(const lw_link_asks *asks, lw_text *out)
{
    for (uint32_t i = 0; i < asks->n; i++) {
        lw_text_addf(out, "%u(", (unsigned)asks->data[i].linked);
        for (uint32_t k = 0; k < asks->data[i].n; k++) {
            lw_sig_type_print(&asks->data[i].types[k], out);
            lw_text_add(out, ";");
        }
        lw_text_add(out, ")");
    }
    lw_text_add(out, "\n");
}

static bool
digest_of(const lw_link_source *sources, uint32_t n, lw_digest *out)
{
    lw_text text = {0};
    lw_sha256 sha;
    bool failed;

    for (uint32_t i = 0; i < n; i++)
        print_asks(sources[i].asks, &text);
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

    return memcmp(x->providers, y->providers, sizeof x->providers) == 0 && x->cc == y->cc &&
           memcmp(&x->id, &y->id, sizeof x->id) == 0;
}

static void
set_free(void *item)
{
    asked_set *set = item;

    lw_link_set_reset(&set->set);
    for (int i = 0; i < LW_LINK_SOURCES; i++)
        Py_XDECREF(set->providers[i]);
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
make(lw_compiled *self, const asked_set *key, const lw_link_source *sources, uint32_t n)
{
    asked_set *made = lw_alloc_zero(1, sizeof *made);
    PyObject *codes = NULL;

    if (made == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    *made = *key;
    for (int i = 0; i < LW_LINK_SOURCES; i++)
        Py_XINCREF(made->providers[i]);
    codes = ask_all(made, sources, n);
    if (codes == NULL || lw_link_set_read(&made->set, self->link, codes) < 0) {
        Py_XDECREF(codes);
        set_free(made);
        return NULL;
    }
    Py_DECREF(codes);
    return publish(self, made);
}

const lw_link_set *
lw_link_set_for(lw_compiled *self, const lw_link_source *sources, uint32_t n, int cc)
{
    asked_set key = {.cc = cc}, *found;
    uint32_t n_asks = 0;

    for (uint32_t i = 0; i < n; i++) {
        n_asks += sources[i].asks->n;
        key.providers[i] = sources[i].asks->n ? lw_captures_linked(sources[i].captures) : NULL;
    }
    if (n_asks == 0)
        return &self->links;
    if (!digest_of(sources, n, &key.id))
        return NULL;
    found = lw_grown_find(&self->asked, is_same, &key);
    return found ? &found->set : make(self, &key, sources, n);
}

const lw_link_set *
lw_link_set_of(lw_compiled *self, const lw_captures *captures, const lw_scalar *scalar, int cc)
{
    return lw_link_set_for(self, &(lw_link_source){captures, &scalar->asks}, 1, cc);
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
        for (int i = 0; i < LW_LINK_SOURCES; i++)
            Py_VISIT(at->providers[i]);
        Py_VISIT(at->set.objects);
    }
    return 0;
}

void
lw_link_sets_free(lw_compiled *self)
{
    lw_grown_free(&self->asked, set_free);
}
