#include "core/py/state.h"

static lw_state unloaded;
lw_state *lw_core = &unloaded;

int
lw_state_register(PyObject *module)
{
    lw_core = PyModule_GetState(module);
    lw_core->watches_guard = PyList_New(0); /* any object that nothing else knows */
    return lw_core->watches_guard ? 0 : -1;
}

#define N_IN(array) (int)(sizeof(array) / sizeof *(array))

/* ---- objects from the start ---- */

static int
visit_plain(lw_state *state, visitproc visit, void *arg)
{
#define X(name) Py_VISIT(state->name##_type);
    LW_STATE_CLASSES(X)
#undef X
    Py_VISIT(state->watches_guard);
    Py_VISIT(state->time_methods);
    for (int i = 0; i < N_IN(state->travel_types); i++)
        Py_VISIT(state->travel_types[i]);
    for (int i = 0; i < N_IN(state->scalars); i++)
        Py_VISIT(state->scalars[i]);
    for (int i = 0; i < N_IN(state->names); i++)
        Py_VISIT(state->names[i]);
    return 0;
}

static void
clear_plain(lw_state *state)
{
#define X(name) Py_CLEAR(state->name##_type);
    LW_STATE_CLASSES(X)
#undef X
    Py_CLEAR(state->watches_guard);
    Py_CLEAR(state->time_methods);
    for (int i = 0; i < N_IN(state->travel_types); i++)
        Py_CLEAR(state->travel_types[i]);
    for (int i = 0; i < N_IN(state->scalars); i++)
        Py_CLEAR(state->scalars[i]);
    for (int i = 0; i < N_IN(state->names); i++)
        Py_CLEAR(state->names[i]);
}

/* ---- objects that were looked up ---- */

static int
visit_found(lw_state *state, visitproc visit, void *arg)
{
    const lw_found *found = (const lw_found *)&state->found;

    for (size_t i = 0; i < sizeof state->found / sizeof *found; i++)
        Py_VISIT(lw_found_get(&found[i]));
    return 0;
}

static void
clear_found(lw_state *state)
{
    lw_found *found = (lw_found *)&state->found;

    for (size_t i = 0; i < sizeof state->found / sizeof *found; i++)
        Py_XDECREF(atomic_exchange(&found[i], NULL));
}

PyObject *
lw_found_set(lw_found *place, PyObject *made)
{
    PyObject *before = NULL;

    if (made == NULL || atomic_compare_exchange_strong(place, &before, made))
        return made;
    Py_DECREF(made);
    return before;
}

PyObject *
lw_found_in_numpy(lw_found *place, const char *name)
{
    PyObject *found = lw_found_get(place), *home;

    if (found != NULL)
        return found;
    home = PyImport_ImportModule("numpy");
    found = home != NULL ? PyObject_GetAttrString(home, name) : NULL;
    Py_XDECREF(home);
    return lw_found_set(place, found);
}

/* ---- both ---- */

int
lw_state_traverse(lw_state *state, visitproc visit, void *arg)
{
    int stop = visit_plain(state, visit, arg);

    return stop != 0 ? stop : visit_found(state, visit, arg);
}

void
lw_state_clear(lw_state *state)
{
    if (lw_core == state)
        lw_core = &unloaded;
    clear_plain(state);
    clear_found(state);
}
