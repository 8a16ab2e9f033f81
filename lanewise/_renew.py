"""Objects made anew of the same function and keywords, where what the function captured has changed."""

from lanewise import _core


def _of_reduction(made, state):
    functions = {role: state[role] for role in ("map", "combine", "finish", "identity", "commutative") if role in state}
    return _core.reduce(**functions, **state["options"])


def again(made):
    """Another object as `made` was, its function read now."""
    state = made._state()
    if isinstance(made, _core.Reduction):
        return _of_reduction(made, state)
    options = {"source": state["source"], **state["options"]}
    if isinstance(made, _core.Gufunc):
        decorator = _core.guvectorize(state["signatures"], state["layout"], **options)
    elif isinstance(made, _core.Ufunc):
        decorator = _core.vectorize(state["signatures"], **options)
    elif isinstance(made, _core.Forall):
        decorator = _core.forall(state["signatures"], ndim=state["ndim"], **options)
    else:
        jit = _core.cuda.jit if state["cuda"] else _core.jit
        decorator = jit(state["signatures"], **options)
    return decorator(made.py_func)
