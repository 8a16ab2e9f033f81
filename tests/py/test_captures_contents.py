"""What a compiled function captured changes inside: lists, dicts and small arrays are read again, large ones are
frozen, and that is told."""

import warnings

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda

ONES = np.ones(3)


class Model:
    weights = [2.0, 3.0]

    def __init__(self):
        self.table = np.array([2.0, 3.0])
        self.nested = {"a": [2.0], "b": {"c": (np.array([[2.0]]), 5.0)}}


def _array():
    table = np.array([2.0, 3.0])
    return (lambda: table[0]), lambda value: table.__setitem__(0, value)


def _array_of_records():
    table = np.array([(2.0, 1), (3.0, 1)], dtype=[("w", "f8"), ("n", "i1")])
    return (lambda: table[0]["w"]), lambda value: table["w"].__setitem__(0, value)


def _array_seen_through_a_view():
    base = np.array([[9.0, 2.0], [9.0, 3.0]])
    table = base[:, 1]
    return (lambda: table[0]), lambda value: base.__setitem__((0, 1), value)


def _array_that_cannot_be_written_to():
    base = np.array([2.0, 3.0])
    table = base.view()
    table.flags.writeable = False
    return (lambda: table[0]), lambda value: base.__setitem__(0, value)


def _array_without_dimensions():
    table = np.array(2.0)
    return (lambda: table[()]), lambda value: table.__setitem__((), value)


def _list():
    table = [2.0, 3.0]
    return (lambda: table[0]), lambda value: table.__setitem__(0, value)


def _list_that_grows():
    table = [2.0]
    return (lambda: 2.0 if len(table) == 1 else table[1]), lambda value: table.__setitem__(slice(1, None), [value])


def _list_in_a_list():
    table = [[1.0], (0, [2.0])]
    return (lambda: table[1][1][0]), lambda value: table[1][1].__setitem__(0, value)


def _dict():
    table = {"a": 2.0}
    return (lambda: table["a"]), lambda value: table.__setitem__("a", value)


def _dict_of_dicts():
    table = {"a": {3: 2.0}}
    return (lambda: table["a"][3]), lambda value: table["a"].__setitem__(3, value)


def _dict_item_replaced():
    table = {"a": {3: 2.0}}
    return (lambda: table["a"][3]), lambda value: table.__setitem__("a", {3: value})


def _array_in_an_object():
    model = Model()
    return (lambda: model.table[0]), lambda value: model.table.__setitem__(0, value)


def _attribute():
    model = Model()
    model.a = 2.0
    return (lambda: model.a), lambda value: setattr(model, "a", value)


def _list_of_a_class():
    Model.weights = [2.0, 3.0]
    return (lambda: Model.weights[0]), lambda value: Model.weights.__setitem__(0, value)


def _list_in_a_dict_of_an_object():
    model = Model()
    return (lambda: model.nested["a"][0]), lambda value: model.nested["a"].__setitem__(0, value)


def _array_in_a_tuple_in_dicts():
    model = Model()
    return (lambda: model.nested["b"]["c"][0][0, 0]), lambda value: model.nested["b"]["c"][0].fill(value)


def _list_as_default():
    table = [2.0]
    return (lambda t=table: t[0]), lambda value: table.__setitem__(0, value)


def _array_as_default_by_name():
    table = np.array([2.0])
    return (lambda *, t=table: t[0]), lambda value: table.fill(value)


def _default_by_name():
    def get(*, t=2.0):
        return t

    return get, lambda value: get.__kwdefaults__.__setitem__("t", value)


def _defaults_by_name():
    def get(*, t=2.0):
        return t

    return get, lambda value: setattr(get, "__kwdefaults__", {"t": value})


MAKERS = [
    _array, _array_of_records, _array_seen_through_a_view, _array_that_cannot_be_written_to, _array_without_dimensions,
    _list, _list_that_grows, _list_in_a_list, _dict, _dict_of_dicts, _dict_item_replaced, _array_in_an_object,
    _attribute, _list_of_a_class, _list_in_a_dict_of_an_object, _array_in_a_tuple_in_dicts, _list_as_default,
    _array_as_default_by_name, _default_by_name, _defaults_by_name,
]  # fmt: skip


@pytest.mark.parametrize("make", MAKERS)
def test_contents_are_read_again(make):
    get, put = make()
    f = lw.vectorize(lambda x: x * get())
    assert f(3.0) == 6
    for value in (5.0, 7.0, 2.0):
        put(value)
        assert f(3.0) == 3 * value
        assert f(np.float32(3)) == 3 * value
    assert get() == 2


# ---- every generator ----


def _vectorize(get):
    f = lw.vectorize(lambda x: x * get())
    return lambda: f(ONES)[0]


def _declared(get):
    f = lw.vectorize(["f8(f8)"])(lambda x: x * get())
    return lambda: f(ONES)[0]


def _reduce_of_a_ufunc(get):
    f = lw.vectorize(lambda a, b: a + b * get())
    return lambda: f.reduce(np.array([0.0, 1.0]))


def _excluded(get):
    f = lw.vectorize(lambda x, t: x * get() + t[0], excluded=["t"])
    return lambda: f(ONES, np.zeros(1))[0]


def _guvectorize(get):
    g = lw.guvectorize("(n)->()")(lambda x: x[0] * get())
    return lambda: g(ONES)


def _guvectorize_declared(get):
    @lw.guvectorize(["void(f8[:], f8[:])"], "(n)->(n)")
    def g(x, out):
        for i in range(x.size):
            out[i] = x[i] * get()

    return lambda: g(ONES)[0]


def _reduce(get):
    r = lw.reduce(map=lambda x: x * get(), combine=lambda a, b: a + b)
    return lambda: float(r(ONES[:1]))


def _finish(get):
    r = lw.reduce(map=lambda x: x, combine=lambda a, b: a + b, finish=lambda s: s * get())
    return lambda: float(r(ONES[:1]))


def _scan(get):
    r = lw.reduce(lambda a, b: a + b * get())
    return lambda: float(r.accumulate(np.array([0.0, 1.0]))[1])


def _slices(get):
    r = lw.reduce(lambda a, b: a + b * get())
    return lambda: float(r.reduceat(np.array([0.0, 1.0]), [0])[0])


def _keys(get):
    r = lw.reduce(lambda a, b: a + b * get())
    return lambda: float(r.by_key([1, 1], np.array([0.0, 1.0]))[1][0])


def _forall(get):
    @lw.forall
    def k(i, out):
        out[i] = get()

    out = np.zeros(2)
    return lambda: (k(2, out), out[0])[1]


def _jit(get):
    @lw.jit
    def k(out):
        out[cuda.grid(1)] = get()

    out = np.zeros(2)
    launcher = k[1, 2]
    return lambda: (launcher(out), out[0])[1]


def _cuda_jit(get):
    @cuda.jit
    def k(out):
        if cuda.grid(1) < out.size:
            out[cuda.grid(1)] = get()

    out = np.zeros(2)
    return lambda: (k.forall(2)(out), out[0])[1]


def _jit_on_the_host(get):
    f = lw.jit(lambda x: x * get())
    return lambda: f(1.0)


def _device_function(get):
    d = cuda.jit(device=True)(lambda x: x * get())
    f = lw.vectorize(lambda x: d(x))
    return lambda: f(1.0)


GENERATORS = [
    _vectorize, _declared, _reduce_of_a_ufunc, _excluded, _guvectorize, _guvectorize_declared, _reduce, _finish, _scan,
    _slices, _keys, _forall, _jit, _cuda_jit, _jit_on_the_host, _device_function,
]  # fmt: skip


@pytest.mark.parametrize("make", [_array, _list_in_a_list, _dict, _array_in_an_object])
@pytest.mark.parametrize("run", GENERATORS)
def test_in_every_generator(target, run, make):
    get, put = make()
    call = run(get)
    assert call() == 2
    for value in (5.0, 2.0, 7.0):
        put(value)
        assert call() == value and call() == value


@pytest.mark.parametrize("run", [_vectorize, _guvectorize, _reduce, _scan, _forall, _jit, _jit_on_the_host])
def test_what_is_large_is_frozen_and_told_once(target, run):
    table = np.full(200, 2.0)
    call = run(lambda: table[7])
    assert call() == 2
    table[7] = 5
    with pytest.warns(RuntimeWarning, match="W204.*(`table`|an array).*1024 bytes"):
        assert [call(), call()] == [2, 2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [call() for _ in range(5)] == [2] * 5


# ---- lists, dicts and arrays of any size ----


def test_what_came_back_is_not_compiled_again():
    table = [2.0]
    f = lw.vectorize(lambda x: x * table[0])
    assert f(3.0) == 6
    before = f.stats["loops"]
    for value in (5.0, 2.0, 2.0 + 0, 5.0):
        table[0] = value
        assert f(3.0) == 3 * value
    assert f.stats["loops"] == before


def test_changes_before_the_first_call_count():
    table, large, items = [2.0], np.full(200, 2.0), [2.0] * 200
    f = lw.vectorize(lambda x: x * table[0] * large[3] * items[9])
    table[0], large[3], items[9] = 3.0, 5.0, 7.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert f(1.0) == 105


def test_a_large_list_is_frozen():
    table = [2.0] * 200
    f = lw.vectorize(lambda x: x * table[7])
    assert f(1.0) == 2
    table[7] = 5.0
    with pytest.warns(RuntimeWarning, match="W204.*frozen"):
        assert [f(1.0), f(1.0)] == [2, 2]
    assert lw.vectorize(lambda x: x * table[7])(1.0) == 5


def test_a_change_after_many_calls_is_told_within_as_many():
    table = np.full(200, 2.0)
    f = lw.vectorize(lambda x: x * table[7])
    for _ in range(100):
        assert f(1.0) == 2
    table[7] = 5
    with pytest.warns(RuntimeWarning, match="W204"):
        for _ in range(100):
            assert f(1.0) == 2


def test_a_changed_copy_under_the_name_is_seen():
    table = np.full(200, 2.0)
    f = lw.vectorize(lambda x: x * table[7])
    assert f(1.0) == 2
    table = table.copy()
    table[7] = 5
    assert f(1.0) == 5


def test_warnings_can_be_turned_off_or_into_errors():
    table = np.full(200, 2.0)
    quiet, loud = lw.vectorize(lambda x: x * table[7], warn=False), lw.vectorize(lambda x: x * table[7])
    assert quiet(1.0) == loud(1.0) == 2
    table[7] = 5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [quiet(1.0), quiet(1.0)] == [2, 2]
        with pytest.raises(RuntimeWarning, match="W204"):
            [loud(1.0), loud(1.0)]
        assert loud(1.0) == 2


def test_numba_mode_keeps_the_contents_and_warns_once():
    table = [2.0]
    f = lw.vectorize(lambda x: x * table[0], typing="numba")
    assert f(1.0) == 2
    table[0] = 5.0
    with pytest.warns(RuntimeWarning, match="has changed"):
        assert f(1.0) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert f(1.0) == 2


def test_nan_is_equal_to_itself():
    table = np.array([np.nan, 0.0])
    f = lw.vectorize(lambda x: x + table[1])
    assert f(1.0) == 1
    before = f.stats["loops"]
    assert f(1.0) == 1 and f.stats["loops"] == before
    table[1] = -0.0
    assert np.signbit(lw.vectorize(lambda x: x * table[1])(1.0)) and f(1.0) == 1


def test_an_array_that_is_made_smaller():
    table = np.array([2.0, 3.0])
    f = lw.vectorize(lambda i: table[i])
    assert f(1) == 3
    table.resize(1, refcheck=False)
    assert f(0) == 2
    with pytest.raises(IndexError):
        f(1)


def test_results_stay_while_contents_are_compared_by_threads():
    import threading

    table = [1.0]
    f = lw.vectorize(lambda x: x * table[0])
    f(1.0)
    seen = []

    def look():
        for _ in range(50):
            seen.append(float(f(1.0)))

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    for i in range(50):
        table[0] = float(1 + i % 2)
    for thread in threads:
        thread.join()
    assert set(seen) <= {1.0, 2.0}


def test_all_functions_of_a_reduction_warn():
    """Each function has its own captures, so that one warning for all would leave out the others."""
    scale, offset = np.full(200, 2.0), np.full(200, 0.0)
    total = lw.reduce(map=lambda x: x * scale[7], combine=lambda a, b: a + b + offset[7])
    assert total(np.ones(3)) == 6
    scale[7] = offset[7] = 5
    with pytest.warns(RuntimeWarning, match="W204") as told:
        assert total(np.ones(3)) == 6
    assert len(told) == 2


def test_a_reduction_as_numba_is_compiled_anew_where_checks_change():
    table = [2.0]
    total = lw.reduce(map=lambda x: x * table[0], combine=lambda a, b: a + b, typing="numba")
    assert total(np.ones(3)) == 6
    table[0] = 5.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert total(np.ones(3)) == 6
        before = lw.config.check
        lw.config.check = "divide"
        try:
            assert total(np.ones(3)) == 15
        finally:
            lw.config.check = before
        assert total(np.ones(3)) == 6


class _Calling(float):
    """An element whose finalizer calls the function that captured it."""

    call = None

    def __del__(self):
        if _Calling.call is not None:
            _Calling.call()


def test_a_finalizer_of_frozen_elements_calls_the_function():
    table = [2.0] * 300
    table[200] = _Calling(3.0)
    f = lw.vectorize(lambda x: x * table[7])
    assert f(1.0) == 2
    seen = []
    table[7] = 5.0
    table[200] = 3.0
    _Calling.call = lambda: seen.append(f(1.0))
    try:
        with pytest.warns(RuntimeWarning, match="W204"):
            assert [f(1.0), f(1.0)] == [2, 2]
    finally:
        _Calling.call = None
    assert seen == [2]


@pytest.mark.parametrize("run", [_vectorize, _guvectorize, _reduce, _scan, _forall, _jit, _jit_on_the_host])
@pytest.mark.parametrize("as_list", [False, True])
def test_large_objects_stay_frozen_after_a_name_is_rebound(target, run, as_list):
    """The object that is made then warns and goes on; no second object is made when the contents change."""
    table = [2.0] * 1000 if as_list else np.full(1000, 2.0)
    call = run(lambda: table[7])
    assert call() == 2
    table = table.copy()
    assert call() == 2
    table[7] = 3.0
    with pytest.warns(RuntimeWarning, match="W204") as told:
        assert [call() for _ in range(12)] == [2] * 12
    assert len(told) == 1
    table = table.copy()
    assert [call() for _ in range(12)] == [3] * 12


# ---- masks ----


def _masked():
    return np.ma.array([1.0, 2.0], mask=[False, True])


@pytest.mark.parametrize("run", GENERATORS)
@pytest.mark.parametrize("hold", [lambda m: m, lambda m: [m], lambda m: {0: m}, lambda m: (m,)])
def test_the_mask_of_a_captured_array_is_not_lost(target, run, hold):
    held, table = hold(_masked()), _masked()
    with pytest.raises(lw.errors.TypingError, match="mask of a masked array: capture its `.data`"):
        run(lambda: held[0][1])()
    with pytest.raises(lw.errors.TypingError, match="mask of a masked array"):
        run(lambda: table[1])()
    with pytest.raises(lw.errors.TypingError):
        run(lambda: np.ma.masked + 1.0)()


def test_masked_numbers_are_no_start_of_a_reduction():
    total = lw.reduce(lambda a, b: a + b)
    for start in (np.ma.masked, np.ma.array(3.0, mask=True)):
        with pytest.raises(TypeError, match="mask"):
            total(np.ones(3), initial=start)
        with pytest.raises(TypeError, match="mask"):
            lw.reduce(lambda a, b: a + b, identity=start)(np.ones(0))


# ---- bound calls ----


def test_bound_calls_see_changes_as_any_call_does(target):
    table, large = np.array([2.0]), np.full(1000, 3.0)
    place, numbers = (cuda.to_device, lambda a: a.copy_to_host().tolist()) if target == "cuda" else (np.asarray, np.ndarray.tolist)
    out, ones, rows = place(np.zeros(4)), place(np.ones(4)), place(np.ones((4, 2)))

    @lw.forall
    def each(i, out):
        out[i] = table[0] + large[7]

    @lw.jit
    def kernel(out):
        out[cuda.grid(1)] = table[0] + large[7]

    scale = lw.vectorize(lambda x: x * 0 + table[0] + large[7])
    first = lw.guvectorize("(n)->()")(lambda x: x[0] * 0 + table[0] + large[7])
    bound = [each.bind(4, out), kernel[1, 4].bind(out)]
    values = [scale.bind(ones), first.bind(rows)]

    def results():
        found = []
        for call in bound:
            out[:] = 0
            call()
            found.append(numbers(out))
        return found + [numbers(call()) for call in values]

    for value in (2.0, 5.0, 2.0, 7.0):
        table[0] = value
        assert results() == [[value + 3.0] * 4] * 4
    large[7] = 9.0
    with pytest.warns(RuntimeWarning, match="W204"):
        assert [results() for _ in range(6)] == [[[10.0] * 4] * 4] * 6
    large = large.copy()
    assert results() == [[16.0] * 4] * 4


STEP = 0


def stepped(x):
    return x + STEP


@pytest.mark.parametrize("make, call", [
    (lambda: lw.vectorize(stepped), lambda f: f(1.0)), (lambda: lw.jit(stepped), lambda f: f(1.0)),
    (lambda: lw.reduce(map=stepped, combine=lambda a, b: a + b), lambda f: f(np.ones(1)))], ids=["vectorize", "jit", "reduce"])
def test_many_values_are_told_of_once(make, call):
    global STEP
    STEP, results = 0, []
    f = make()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for STEP in (0, 1, 2, 3, 4, 5, 0, 5):
            results.append(call(f))
            assert len(seen) == (STEP > 2 or len(results) > 4), STEP
    assert results == [1, 2, 3, 4, 5, 6, 1, 6]
    assert seen[0].category is lw.PerformanceWarning and "W206" in str(seen[0].message) and "`STEP`" in str(seen[0].message)
