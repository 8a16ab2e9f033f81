"""What compiled functions raise: class, text, place and attributes, on every target."""
import linecache

import numpy as np
import pytest

import lanewise as lw
from lanewise import errors


class Own(Exception):
    pass


class Picky(Exception):
    def __init__(self, a, b):
        super().__init__(a, b)


def raises_value(x):
    if x > 2:
        raise ValueError("too big")
    return x


def raises_own(x):
    if x > 2:
        raise Own("too big")
    return x


def raises_picky_with_one(x):
    if x > 2:
        raise Picky("too")
    return x


def asserts(x):
    assert x <= 2, "at most two"
    return x


def line_of(function, part):
    code = function.__code__
    for line in range(code.co_firstlineno, code.co_firstlineno + 30):
        if part in linecache.getline(code.co_filename, line):
            return line
    raise AssertionError(part)


@pytest.mark.parametrize("function, part, cls, message", [
    (raises_value, "raise ", ValueError, "too big"),
    (raises_own, "raise ", Own, "too big"),
    (asserts, "assert ", AssertionError, "at most two"),
])
def test_word_for_word(function, part, cls, message):
    f = lw.vectorize(function)
    x = np.arange(6.0)
    line = line_of(function, part)
    with pytest.raises(cls) as info:
        f(x)
    assert type(info.value) is cls
    name = function.__name__
    assert str(info.value) == f"{message} (raised in `{name}` at {__file__}:{line}, element 3)"
    assert info.value.function == name and info.value.file == __file__
    assert info.value.line == line and info.value.element == 3
    assert (f(x[:3]) == x[:3]).all()  # clean afterwards


def test_a_class_that_takes_no_text():
    with pytest.raises(RuntimeError, match=r"^Picky: too \(raised") as info:
        lw.vectorize(raises_picky_with_one)(np.arange(6.0))
    assert info.value.function == "raises_picky_with_one" and info.value.element == 3

    @lw.forall
    def decodes(i):
        raise UnicodeDecodeError("bytes")

    with pytest.raises(RuntimeError, match="^UnicodeDecodeError: bytes "):
        decodes(1)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "i8", "u8"])
def test_powers_overflow_as_pythons_do_not_fit(dtype):
    limits = np.iinfo(dtype)

    @lw.vectorize(check={"overflow"})
    def power(x, n):
        return x ** n

    rng = np.random.default_rng(5)
    bases = {limits.min, limits.min + 1, limits.max, 0, 1, 2, 3, 16, limits.min >> 4, *rng.integers(-9 if limits.min else 0, 12, 9).tolist()}
    for x in np.array(sorted(bases), dtype):
        for n in np.array([0, 1, 2, 3, 7, 8, 31, 63, 64], dtype):
            exact = int(x) ** int(n)
            if limits.min <= exact <= limits.max:
                assert power(x, n) == exact
            else:
                with pytest.raises(OverflowError):
                    power(x, n)


def carries_text_and_value(x):
    if x > 2:
        raise ValueError("too big:", x)
    return x


def carries_value(x):
    if x > 2:
        raise ValueError(x)
    return x


def carries_two(x):
    if x > 2:
        raise Own("it's", x, x + 1, "big")
    return x


def carries_from_inside(x):
    return carries_text_and_value(x) + 1


@pytest.mark.parametrize("function", [carries_text_and_value, carries_value, carries_two,
                                      carries_from_inside])
@pytest.mark.parametrize("dtype", ["f8", "i8", "u1", "i2"])
def test_numbers_are_carried(function, dtype):
    x = np.arange(20_000, dtype="i8") % 7
    x[:5000] = 0
    x = x.astype(dtype)
    with pytest.raises(Exception) as wanted:
        for value in x.tolist():
            function(value)
    with pytest.raises(type(wanted.value)) as info:
        lw.vectorize(function)(x)
    assert str(info.value).startswith(f"{wanted.value} (raised in `")
    assert info.value.element == np.argmax(x > 2)


def test_too_many_numbers():
    def f(x):
        raise ValueError(x, x, x)

    with pytest.raises(lw.errors.CompileError, match="at most 2"):
        lw.vectorize(f)(1.0)


# ---- kernels: forall on the CPU, word for word ----

class Outer:
    class Inner(LookupError):
        pass


def device(v):
    if v > 3:
        raise ArithmeticError("in a device function")
    return v * 2


def device_of_device(v):
    return device(v) + 1


def k_raise(i, x, n):
    if x[i] > 3:
        raise ValueError("too big")


def k_raise_class(i, x, n):
    if x[i] > 3:
        raise Own


def k_raise_inner(i, x, n):
    if x[i] > 3:
        raise Outer.Inner("inner class")


def k_raise_numbers(i, x, n):
    if x[i] > 3:
        raise ValueError("value", x[i], n)


def k_raise_number_alone(i, x, n):
    if x[i] > 3:
        raise KeyError(n)


def k_assert(i, x, n):
    assert x[i] <= 3


def k_assert_text(i, x, n):
    assert x[i] <= 3, "at most three"


def k_device(i, x, n):
    x[i] = device(x[i])


def k_device_of_device(i, x, n):
    x[i] = device_of_device(x[i])


def k_loop(i, x, n):
    total = 0.0
    for j in range(i):
        if j > 2:
            raise StopIteration("in a loop")
        total += x[j]
    x[i] = total


def k_while(i, x, n):
    j = i
    while j > 0:
        j -= 1
        if j == 3:
            raise TimeoutError("in a while")


def k_step_zero(i, x, n):
    for _ in range(0, 10, n - 5 if i == 4 else 1):
        x[i] += 1.0


def k_floor_divide(i, x, n):
    x[i] = n // (4 - i)


def k_modulo(i, x, n):
    x[i] = n % (4 - i)


def k_true_divide(i, x, n):
    x[i] = 1.0 / (4.0 - i)


def k_divmod(i, x, n):
    x[i] = divmod(n, 4 - i)[0]


def k_add(i, x, n):
    x[i] = np.int64(2**63 - 4) + i


def k_subtract(i, x, n):
    x[i] = np.int64(-2**63 + 3) - i


def k_multiply(i, x, n):
    x[i] = np.int64(2**61) * i


def k_power(i, x, n):
    x[i] = np.int64(2**21) ** (i // 4 * 3)


def k_negate(i, x, n):
    x[i] = -(np.int64(-2**63 + 4) - i)


def k_absolute(i, x, n):
    x[i] = abs(np.int64(-2**63 + 4) - i)


def k_floor_quotient(i, x, n):
    x[i] = (np.int64(-2**63 + 4) - i) // -1


def k_square(i, x, n):
    x[i] = np.square(np.int8(8) + np.int8(i))


def k_chosen(i, x, n):  # the operation that overflows belongs to elements from 4 on alone
    x[i] = 0 if i < 4 else -np.int64(-2**63 + 0 * i)


def k_assert_values(i, x, n):
    assert x[i] <= 3, f"{x[i]:.2f} of {n}"


def k_assert_tuple(i, x, n):
    assert x[i] <= 3, ("at most", n)


def k_raise_from_none(i, x, n):
    if x[i] > 3:
        raise ValueError("of itself") from None


def k_read_outside(i, x, n):
    x[i] = x[i + 6] if i > 3 else 0.0


def k_write_outside(i, x, n):
    if i > 3:
        x[i + 6] = 1.0


def k_below(i, x, n):
    if i > 3:
        x[-i - 7] += 1.0


def k_tuple(i, x, n):
    t = (1.0, 2.0, 3.0, 4.0)
    x[i] = t[i]


def k_nan(i, x, n):
    x[i] = np.sqrt(3.0 - i)


KINDS = [
    (k_raise, "raise ", {}, ValueError, "too big"),
    (k_raise_class, "raise ", {}, Own, ""),
    (k_raise_inner, "raise ", {}, Outer.Inner, "inner class"),
    (k_raise_numbers, "raise ", {}, ValueError, "('value', 4.0, 5)"),
    (k_raise_number_alone, "raise ", {}, KeyError, "5"),
    (k_assert, "assert ", {}, AssertionError, ""),
    (k_assert_text, "assert ", {}, AssertionError, "at most three"),
    (k_device, device, {}, ArithmeticError, "in a device function"),
    (k_device_of_device, device, {}, ArithmeticError, "in a device function"),
    (k_loop, "raise ", {}, StopIteration, "in a loop"),
    (k_while, "raise ", {}, TimeoutError, "in a while"),
    (k_step_zero, "for ", {}, ValueError, "range() arg 3 must not be zero"),
    (k_floor_divide, "//", {"divide"}, ZeroDivisionError, "division by zero"),
    (k_modulo, "%", {"divide"}, ZeroDivisionError, "integer modulo by zero"),
    (k_true_divide, "/", {"divide"}, ZeroDivisionError, "division by zero"),
    (k_divmod, "divmod(n", {"divide"}, ZeroDivisionError, "division by zero"),
    (k_add, "+ i", {"overflow"}, OverflowError, None),
    (k_subtract, "- i", {"overflow"}, OverflowError, None),
    (k_multiply, "* i", {"overflow"}, OverflowError, None),
    (k_power, "**", {"overflow"}, OverflowError, "integer overflow"),
    (k_negate, "-(np", {"overflow"}, OverflowError, None),
    (k_absolute, "abs(", {"overflow"}, OverflowError, None),
    (k_floor_quotient, "//", {"overflow"}, OverflowError, None),
    (k_square, "np.square", {"overflow"}, OverflowError, None),
    (k_chosen, "0 if", {"overflow"}, OverflowError, None),
    (k_assert_values, "assert ", {}, AssertionError, "4.00 of 5"),
    (k_assert_tuple, "assert ", {}, AssertionError, "('at most', 5)"),
    (k_raise_from_none, "raise ", {}, ValueError, "of itself"),
    (k_read_outside, "x[i + 6]", {"bounds"}, IndexError, None),
    (k_write_outside, "x[i + 6]", {"bounds"}, IndexError, None),
    (k_below, "x[-i - 7]", {"bounds"}, IndexError, None),
    (k_tuple, "t[i]", {"bounds"}, IndexError, "tuple index out of range"),
    (k_nan, "np.sqrt", {"nan"}, FloatingPointError, "invalid value"),
]
TARGETS = ["cpu", pytest.param("gpu", marks=[pytest.mark.gpu, pytest.mark.skipif(
    not lw.cuda.is_available(), reason="needs a CUDA device")])]


def on_target(target, x):
    return x if target == "cpu" else lw.cuda.to_device(x)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kernel, part, check, cls, message", KINDS,
                         ids=[row[0].__name__ for row in KINDS])
def test_kernel_error(kernel, part, check, cls, message, target):
    raising = part if callable(part) else kernel
    line = line_of(raising, "raise " if callable(part) else part)
    run = lw.forall(check=check)(kernel)
    x = on_target(target, np.arange(10.0))
    with pytest.raises(cls) as info:
        run(10, x, 5)
    text = str(info.value) if cls is not KeyError else info.value.args[0]
    where = f"(raised in `{raising.__name__}` at {__file__}:{line}, element "
    assert where in text and info.value.line == line and info.value.index >= 4
    if target == "cpu":  # the lowest one; on a GPU the first in time
        assert info.value.index == 4
    if message is not None:
        assert text.startswith(f"{message} {where}" if message else where)
    run(2, on_target(target, np.zeros(10)), 5)  # clean afterwards


def test_the_first_error_wins():
    def k(i, x):
        if i >= 777:
            raise ValueError("at or after", i)

    with pytest.raises(ValueError, match="'at or after', 777.*element 777"):
        lw.forall(k)(1_000_000, np.zeros(3))


def test_several_dimensions():
    @lw.forall(ndim=2)
    def k(i, j, x):
        if i * j == 12:
            raise ValueError("twelve")

    with pytest.raises(ValueError, match=r"element \(2, 6\)") as info:
        k((7, 7), np.zeros(3))
    assert info.value.index == (2, 6)


def test_ignored():
    run = lw.forall(errors="ignore")(k_raise)
    run(10, np.arange(10.0), 5)


def test_kernels_print(capsys):
    @lw.forall
    def k(i, x):
        print("i", i, x[i], sep="=", end="!\n")

    k(3, np.arange(3, dtype="f4"))
    assert capsys.readouterr().out == "i=0=0.0!\ni=1=1.0!\ni=2=2.0!\n"
    k(100_000, np.zeros(100_000))
    assert capsys.readouterr().out == "".join(f"i={i}=0.0!\n" for i in range(100_000))


@pytest.mark.parametrize("kernel, cls", [(k_floor_divide, ZeroDivisionError),
                                         (k_add, OverflowError), (k_below, IndexError)])
def test_debug_checks(kernel, cls):
    with pytest.raises(cls):
        lw.forall(debug=True)(kernel)(10, np.arange(10.0), 5)


@pytest.mark.parametrize("target", ["sm_75", "sm_90", "sm_100", "sm_120"])
@pytest.mark.parametrize("function", [raises_value, carries_two, carries_from_inside])
def test_gpu_code_of_errors(function, target):
    assert lw.compile(function, "float32(float32)", target=target, output="cubin")[:4] == b"\x7fELF"
    ptx = lw.compile(function, "float32(float32)", target=target, output="ptx")
    assert "membar.sys" in ptx or "fence.sc.sys" in ptx or "fence.acq_rel.sys" in ptx
    # the user's line of the function that raises
    line = line_of(carries_text_and_value if function is carries_from_inside else function, "raise ")
    assert f".loc\t1 {line - 1} " in ptx


# ---- kernels of numba.cuda's kind, on the simulator ----

def whole(x):
    i = lw.cuda.grid(1)
    print(f"thread {i}")
    x[i] = device(x[i])


def fibers(x):
    t = lw.cuda.threadIdx.x
    s = lw.cuda.shared.array(4, lw.float64)
    s[t] = x[lw.cuda.grid(1)]
    lw.cuda.syncthreads()
    if s[3 - t] == 6:
        raise ValueError("mirrored", s[3 - t], t)


@pytest.fixture
def on_cpu(monkeypatch):
    monkeypatch.setattr(lw.config, "target", "cpu")


def test_threads_that_raise(on_cpu, capsys):
    line = line_of(device, "raise ")
    with pytest.raises(ArithmeticError) as info:
        lw.cuda.jit(whole)[4, 4](np.arange(16.0))
    assert str(info.value) == (f"in a device function (raised in `device` at {__file__}:{line}, "
                               "tid=[0, 0, 0] ctaid=[1, 0, 0])")
    assert info.value.thread == (0, 0, 0) and info.value.block == (1, 0, 0)
    assert capsys.readouterr().out.startswith("thread 0\nthread 1\nthread 2\nthread 3\n")


def test_threads_that_wait_and_raise(on_cpu):
    with pytest.raises(ValueError) as info:
        lw.cuda.jit(fibers)[4, 4](np.arange(16.0))
    assert str(info.value).startswith("('mirrored', 6.0, 1) (raised in `fibers` at ")
    assert str(info.value).endswith(", tid=[1, 0, 0] ctaid=[1, 0, 0])")


def test_blocks_print_in_order(on_cpu, capsys):
    lw.cuda.jit(whole)[50, 64](np.zeros(3200))
    assert capsys.readouterr().out == "".join(f"thread {i}\n" for i in range(3200))


@pytest.mark.parametrize("cc", [(7, 5), (9, 0), (12, 0)])
@pytest.mark.parametrize("kernel, raising", [(whole, device), (fibers, fibers)])
def test_line_tables(kernel, raising, cc):
    ptx, _ = lw.cuda.compile_ptx(kernel, (lw.float64[::1],), cc=cc, lineinfo=True, debug=True)
    lines = {int(row.split()[2]) for row in ptx.splitlines() if row.strip().startswith(".loc")}
    assert line_of(raising, "raise ") - 1 in lines  # the `if` above it
    assert kernel is not whole or line_of(whole, "x[i] = ") in lines


class TestOnGpu:
    pytestmark = TARGETS[1].marks

    def test_threads_that_raise(self):
        d = lw.cuda.to_device(np.array([0, 1, 2, 3, 0, 0, 9.0, 0]))
        kernel = lw.cuda.jit(fibers, errors="raise")
        with pytest.raises(ValueError) as info:
            kernel[2, 4](lw.cuda.to_device(np.array([0, 1, 2, 3, 0, 0, 6.0, 0])))
        assert str(info.value).startswith("('mirrored', 6.0, 1) (raised in `fibers` at ")
        assert str(info.value).endswith(", tid=[1, 0, 0] ctaid=[1, 0, 0])")
        kernel[2, 4](d)  # clean afterwards
        lw.cuda.synchronize()

    def test_numbers_of_ufuncs(self):
        with pytest.raises(ValueError, match=r"\('too big:', 7\.5\) \(raised .*element 3\)"):
            lw.vectorize(carries_text_and_value)(lw.cuda.to_device(np.array([0, 1, 2, 7.5])))

    @pytest.mark.parametrize("tells", ["launch", "synchronize", "copy"])
    def test_deferred(self, tells):
        run = lw.forall(errors="defer")(k_raise_numbers)
        bad = lw.cuda.to_device(np.array([0.0, 5.0]))
        good = lw.cuda.to_device(np.zeros(2))
        with pytest.raises(ValueError, match=r"\('value', 5\.0, 5\) .*element 1\)"):
            run(2, bad, 5)  # tells it itself where the GPU is quick
            if tells == "launch":
                for _ in range(10_000):  # the first one that finds the record
                    run(2, good, 5)
                raise AssertionError("nothing was told")
            lw.cuda.synchronize() if tells == "synchronize" else good.copy_to_host()
        run(2, good, 5)
        lw.cuda.synchronize()

    def test_ignored(self):
        lw.forall(errors="ignore")(k_raise)(2, lw.cuda.to_device(np.array([0.0, 5.0])), 5)
        lw.cuda.synchronize()


def test_a_class_that_a_function_defines():
    def made(text):
        class Hidden(Exception):
            kind = text

        @lw.forall
        def plain(i):
            raise Hidden

        @lw.forall
        def worded(i):
            raise Hidden("deep", i)

        return Hidden, plain, worded

    first, second = made("a"), made("b")  # two classes of one name
    for hidden, plain, worded in (first, second, first):
        with pytest.raises(hidden, match=r"^\(raised in `plain`") as info:
            plain(1)
        assert type(info.value) is hidden
        with pytest.raises(hidden, match=r"^\('deep', 0\) \(raised"):
            worded(1)


def test_a_class_that_cannot_be_made_is_named_with_the_reason():
    @lw.forall
    def picky(i):
        raise Picky("too")

    with pytest.raises(RuntimeError, match=r"^Picky: too \(raised") as info:
        picky(1)
    assert isinstance(info.value.__cause__, TypeError) and "__init__" in str(info.value.__cause__)


class Coded(ValueError):
    def __init__(self, text, code=None, *, limit=None):
        super().__init__(f"{text} {code}")
        self.code, self.limit = code, limit


class Heir(Coded):
    pass


class Anew(Exception):
    def __new__(cls, code):
        made = super().__new__(cls, code)
        made.code = code
        return made


class Bare(Exception):
    def __init__(self):
        super().__init__("bare")


def raise_texts(x):
    if x > 1:
        raise Picky("too", "big")
    return x


def raise_int(x):
    if x > 1:
        raise Coded("no", 7)
    return x


def raise_value_of_heir(x):
    if x > 1:
        raise Heir("no", x)
    return x


def raise_keywords(x):
    if x > 1:
        raise Coded("no", limit=3, code=x)
    return x


def raise_joined(x):
    if x > 1:
        raise Coded(f"x is {x:.1f}", 2)
    return x


def raise_nested(x):
    if x > 1:
        raise Coded("no", ((1, None), (x,)))
    return x


def raise_anew(x):
    if x > 1:
        raise Anew(True)
    return x


def raise_wide(x):
    if x > 1:
        raise Anew(2**70)
    return x


def raise_bare(x):
    if x > 1:
        raise Bare
    return x


def raise_empty_text(x):
    if x > 1:
        raise Anew("")
    return x


WITH_ARGUMENTS = [raise_texts, raise_int, raise_value_of_heir, raise_keywords, raise_joined, raise_nested, raise_anew, raise_wide, raise_bare, raise_empty_text]


@pytest.mark.parametrize("function", WITH_ARGUMENTS)
def test_classes_with_code_of_their_own_get_the_arguments(function):
    with pytest.raises(Exception) as expected:
        function(2.0)
    for run in (lambda: lw.jit(function)(2.0), lambda: lw.vectorize(function)(np.arange(4.0))):
        with pytest.raises(type(expected.value)) as info:
            run()
        got = info.value
        assert type(got) is type(expected.value) and str(got) == str(expected.value)
        assert repr(got.args) == repr(expected.value.args)
        for name in ("code", "limit"):
            value = getattr(expected.value, name, None)
            assert getattr(got, name, None) == value and type(getattr(got, name, None)) is type(value)
        assert got.function == function.__name__ and got.file == __file__
        if hasattr(got, "add_note"):
            assert got.__notes__[0].startswith(f"raised in `{function.__name__}` at {__file__}:{got.line}")


def test_the_place_is_in_the_note():
    with pytest.raises(Coded) as info:
        lw.vectorize(raise_int)(np.arange(4.0))
    assert info.value.element == 2
    if hasattr(info.value, "add_note"):
        assert info.value.__notes__[0].endswith(", element 2")


def test_arguments_that_the_class_does_not_take():
    @lw.jit
    def too_many(x):
        if x > 1:
            raise Anew("a", x)
        return x

    @lw.jit
    def no_such_keyword(x):
        if x > 1:
            raise Coded("a", colour=x)
        return x

    for f, name in ((too_many, "Anew"), (no_such_keyword, "Coded")):
        with pytest.raises(RuntimeError, match=rf"^{name}: \('a', 2.0\)|^{name}: a ") as info:
            f(2.0)
        assert isinstance(info.value.__cause__, TypeError)


def test_keywords_of_pythons_own_exceptions_are_refused():
    @lw.jit
    def f(x):
        raise ImportError("a", name="b")

    with pytest.raises(errors.UnsupportedError, match="E101(.|\n)*Python's own exceptions take no keywords here"):
        f(1)
