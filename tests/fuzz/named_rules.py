"""Named functions (math.*, np.*, builtins): their types and what they compute, for the oracle.

type_call("math.sqrt", values) gives a Call: the value's type, what each argument is converted to
(None: left as it is), Python text of the result, and for functions with an error bound the row of
intrinsics.def that has it.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import semantics
import texts
import typing_rules as rules
from semantics import COMPLEX, FLOATS, INTS
from typing_rules import Reject, Unclear, Value, is_beyond, is_complex, is_int, is_lit, is_real, is_tuple, stored


class Call(NamedTuple):
    value: Value
    operands: list
    text: object  # texts of the arguments -> text
    inexact: object = None  # (row of intrinsics.def, dtype)


RUNTIME = {"reference": semantics.reference}

INEXACT = {"SIN": "sin", "COS": "cos", "TAN": "tan", "ASIN": "asin", "ACOS": "acos", "ATAN": "atan", "SINH": "sinh",
           "COSH": "cosh", "TANH": "tanh", "ASINH": "asinh", "ACOSH": "acosh", "ATANH": "atanh", "ATAN2": "atan2",
           "EXP": "exp", "EXP2": "exp2", "EXPM1": "expm1", "LOG": "log", "LOG2": "log2", "LOG10": "log10",
           "LOG1P": "log1p", "CBRT": "cbrt", "POW": "pow", "HYPOT": "hypot"}
EXACT = {"SQRT": "sqrt", "FABS": "float_abs", "FMOD": "fmod", "COPYSIGN": "copysign", "NEXTAFTER": "nextafter",
         "DEGREES": "degrees", "RADIANS": "radians", "HEAVISIDE": "heaviside", "SPACING": "spacing",
         "FLOOR": "floor", "CEIL": "ceil", "TRUNC": "trunc", "RINT": "rint", "IEEE_REMAINDER": "remainder",
         "FREXP": "frexp", "MODF": "modf"}
TESTS = {"ISNAN": "isnan", "ISINF": "isinf", "ISFINITE": "isfinite"}
EXTREMA = {"MAXIMUM": "np_maximum", "MINIMUM": "np_minimum", "FMAX": "np_fmax", "FMIN": "np_fmin"}
OPERATORS = {"ADD": "+", "SUB": "-", "MUL": "*", "DIV": "/", "FLOORDIV": "//", "MOD": "%", "BITAND": "&", "BITOR": "|",
             "BITXOR": "^", "LSHIFT": "<<", "RSHIFT": ">>"}
COMPARISONS = {"EQ": "==", "NE": "!=", "LT": "<", "LE": "<=", "GT": ">", "GE": ">="}


def _runtime(function):
    RUNTIME[function.__name__] = function
    return function


@_runtime
def remainder(t, x, y):
    if x != x or y != y or math.isinf(x) or y == 0:
        return math.nan
    return math.remainder(x, y)


@_runtime
def float_abs(t, x):
    return abs(x)


@_runtime
def float_square(t, x):
    return semantics.ROUND[t](x * x)


@_runtime
def rounded(x):
    """round(x): an int."""
    return semantics.float_to_int("i8", semantics.rint("f8", x))


@_runtime
def whole(x, how):
    return semantics.float_to_int("i8", {"FLOOR_INT": semantics.floor, "CEIL_INT": semantics.ceil, "TRUNC_INT": semantics.trunc}[how]("f8", x))


@_runtime
def make_complex(re, im):
    return complex(re, im)


def type_call(path, args):
    row = rules.names().get(path) or rules.names().get(f"builtins.{path}")
    row = row or rules.names().get(path.replace("np.", "numpy.", 1)) if path else None
    if row is None:
        raise Unclear(str(path))
    maker = RULES.get(row.rule)
    if maker is None or not row.least <= len(args) <= row.most:
        raise Unclear(f"{path}: {row.rule}")
    return with_signs(row, args, maker(row, args, [a.type for a in args]))


# Functions that a negative Python int does not disturb beside a uint64, although it is converted.
WRAPPING = ("ADD", "SUB", "MUL", "BITAND", "BITOR", "BITXOR", "LSHIFT", "WHERE")


def with_signs(row, args, call):
    """math.gcd takes absolute values; other functions raise for a negative Python int beside a uint64."""
    count = 1 if row.impl in ("RSHIFT", "CLIP") else len(args)
    signed = [i for i, (a, to) in enumerate(zip(args[:count], call.operands)) if to == "u8" and a.type == "ix" and a.constant is None]
    if not signed or row.impl in WRAPPING:
        return call
    how = "int_abs('i8', {})" if row.rule == "INT" else "unsigned({})"
    operands = [None if i in signed else to for i, to in enumerate(call.operands)]
    return call._replace(operands=operands, text=lambda a: call.text([how.format(x) if i in signed else x for i, x in enumerate(a)]))


# ---- the operand of all arguments ----


def check(types, complex_too=True, floats=True, bools=True):
    for t in types:
        if not rules.is_number(t):
            raise Reject("E120")
        if (is_complex(t) and not complex_too) or (is_real(t) and not floats) or (is_complex(t) and not floats):
            raise Reject("E120")
        if t == "b1" and not bools:
            raise Reject("E120")


def promote_all(types):
    so_far = types[0]
    for t in types[1:]:
        if not so_far == t == "b1":
            so_far = rules.common(so_far, t)
    return so_far


def numpy_operand(types, **takes):
    check(types, **takes)
    return stored(promote_all(types))


def numpy_operand_of_float(types, **takes):
    """Of a function that computes floats of integers."""
    if len(types) == 2 and is_beyond(*types):
        return types[1]
    if len(types) == 2 and is_beyond(*types[::-1]):
        return types[0]
    return numpy_operand(types, **takes)


def numpy_float(types, complex_too=False):
    t = numpy_operand_of_float(types, complex_too=complex_too)
    if t in FLOATS or t in COMPLEX:
        return t
    return "f4" if t == "b1" or INTS[t] <= 16 else "f8"


def python_float(types):
    check(types, complex_too=False)
    t = promote_all(types)
    return t if is_real(t) else "pf"


def function_of(impl, t, result):
    """A Call of one operand type for float functions."""

    def call(n):
        s = stored(t)
        if impl in INEXACT:
            name = INEXACT[impl]
            return Call(Value(result), [t] * n, lambda a: f"reference('{name}', {', '.join(a)})", (name, s))
        if impl in EXACT:
            return Call(Value(result), [t] * n, lambda a: f"{EXACT[impl]}('{s}', {', '.join(a)})")
        raise Unclear(impl)

    return call


# ---- Python's ----


def rule_FLOAT(row, args, types):
    if (row.impl == "LOG" and len(args) > 1) or (row.impl == "HYPOT" and len(args) != 2):
        raise Unclear(row.impl)
    t = python_float(types)
    return function_of(row.impl, t, t)(len(args))


def rule_FLOAT_BOOL(row, args, types):
    t = python_float(types)
    return Call(Value("b1"), [t], lambda a: f"{TESTS[row.impl]}({a[0]})")


def rule_FLOAT_INDEX(row, args, types):
    check(types, complex_too=False)
    if is_real(types[0]):
        return Call(Value("ix"), [types[0]], lambda a: f"whole({a[0]}, '{row.impl}')")
    return Call(Value("ix"), ["ix"], lambda a: a[0])


def rule_LDEXP(row, args, types):
    t = python_float(types[:1]) if row.rule == "LDEXP" else numpy_float(types[:1])
    if not (is_int(types[1]) or types[1] == "b1"):
        raise Reject("E120")
    return Call(Value(t), [t, None], lambda a: f"ldexp('{stored(t)}', {a[0]}, {a[1]})")


def rule_FREXP(row, args, types):
    t = python_float(types)
    return Call(Value(("tup", t, "ix")), [t], lambda a: f"frexp('{stored(t)}', {a[0]})")


def rule_MODF(row, args, types):
    t = python_float(types)
    return Call(Value(("tup", t, t)), [t], lambda a: f"modf('{stored(t)}', {a[0]})")


def rule_INT(row, args, types):
    check(types, floats=False)
    t = promote_all(types)
    if t == "f8":
        raise Reject("E120")
    t = t if t in INTS else "ix"
    s = stored(t)
    if row.impl == "ISQRT":
        return Call(Value(t), [t], lambda a: f"isqrt('{s}', {a[0]})")
    if len(args) != 2:
        raise Unclear("gcd of one")
    return Call(Value(t), [t, t], lambda a: f"{row.impl.lower()}('{s}', {a[0]}, {a[1]})")


def rule_INDEX(row, args, types):
    check(types, floats=False)
    raise Unclear(row.impl)  # an OverflowError where it does not fit


def rule_ABS(row, args, types):
    t = types[0]
    if not rules.is_number(t):
        raise Reject("E120")
    return _abs("ix" if t == "b1" or is_lit(t) else t)


def _abs(t):
    s = stored(t)
    if is_complex(t):
        part = "pf" if t == "pc" else COMPLEX[t]
        return Call(Value(part), [t], lambda a: f"(lambda z: reference('hypot', z.real, z.imag))({a[0]})", ("hypot", stored(part)))
    if s in INTS:
        return Call(Value(t), [t], lambda a: f"int_abs('{s}', {a[0]})")
    return Call(Value(t), [t], lambda a: f"abs({a[0]})" if s != "b1" else a[0])


def rule_JOIN(row, args, types):
    if len(args) < 2:
        raise Unclear("min of a tuple")
    if all(a.constant is not None for a in args):
        best = args[0]
        for other in args[1:]:
            if other.constant < best.constant if row.impl == "MIN" else other.constant > best.constant:
                best = other
        return Call(best, [best.type] * len(args), lambda a: rules_constant(best))
    check(types, complex_too=False)
    t = rules.join(types)
    name = f"py_{row.impl.lower()}"
    return Call(Value(t), [t] * len(args), lambda a: functools.reduce(lambda x, y: f"{name}({x}, {y})", a))


def rules_constant(value):
    return texts.number_text(value.constant)


def rule_ROUND(row, args, types):
    if len(args) > 1:
        raise Unclear("round to digits")
    t = types[0]
    if not rules.is_number(t) or is_complex(t):
        raise Reject("E120")
    if is_real(t):
        return Call(Value("ix"), [t], lambda a: f"rounded({a[0]})")
    t = "ix" if t == "b1" or is_lit(t) else t
    return Call(Value(t), [t], lambda a: a[0])


def rule_DIVMOD(row, args, types):
    t = "ix" if all(a.constant is not None and (is_lit(a.type) or a.type == "b1") for a in args) else rules.type_binary("//", *args)[1]
    return Call(Value(("tup", t, t)), [t, t], lambda a: _divmod_text(stored(t), *a))


def _divmod_text(t, x, y):
    if t in INTS:
        return f"(lambda x, y: (int_floordiv('{t}', x, y), int_mod('{t}', x, y)))({x}, {y})"
    return f"divmod_float('{t}', {x}, {y})"


def rule_PYTYPE(row, args, types):
    if not args:
        raise Unclear("no argument")
    t = types[0]
    if row.impl == "TO_COMPLEX":
        if not all(rules.is_number(x) and not is_complex(x) for x in types):
            raise Unclear("complex of complex")
        return Call(Value("pc"), ["pf"] * len(args), lambda a: f"make_complex({a[0]}, {a[1] if len(a) > 1 else '0.0'})")
    if not rules.is_number(t) or (row.impl != "TO_BOOL" and is_complex(t)):
        raise Reject("E120")
    to, kind = {"TO_INT": ("ix", "i8"), "TO_FLOAT": ("pf", "f8"), "TO_BOOL": ("b1", "b1")}[row.impl]
    constant = args[0].constant
    if constant is not None and not isinstance(constant, complex):
        if to == "ix":
            if isinstance(constant, float) and not abs(constant) < 2.0**63:
                raise Unclear("int() of a constant is exact, where the compiler knows that it is one")
            return _constant(rules.literal(int(constant)))
        return _constant(Value(to, bool(constant) if to == "b1" else float(constant)))
    if to == "ix" and is_lit(t):
        return Call(Value("ix"), ["ix"], lambda a: a[0])
    return Call(Value(to), [None], lambda a: texts.convert_text(a[0], t, kind))


def _constant(value):
    return Call(value, [None], lambda a: rules_constant(value))


def rule_SUM(row, args, types):
    if len(args) != 1 or not is_tuple(types[0]) or len(types[0]) < 2:
        raise Unclear("sum")
    items = types[0][1:]
    check(items)
    t = ("lit", 0, 0)
    for item in items:
        t = rules.common(t, item)

    def text(a):
        parts = [texts.convert_text(f"t_[{i}]", item, t) for i, item in enumerate(items)]
        total = parts[0] if stored(t) not in FLOATS else f"(0.0 + {parts[0]})"
        total = functools.reduce(lambda x, y: texts.binary_text("+", stored(t), x, y), parts[1:], total)
        return f"(lambda t_: {total})({a[0]})"

    return Call(Value(t), [None], text)


def rule_ANY(row, args, types):
    if not is_tuple(types[0]):
        raise Reject("E120")
    if args[0].constant is not None:
        return _constant(Value("b1", (any if row.impl == "ANY" else all)(v.constant for v in args[0].constant)))
    return Call(Value("b1"), [None], lambda a: f"{row.impl.lower()}({a[0]})")


# ---- NumPy's ----


def rule_NP_PROMOTE(row, args, types):
    t = numpy_operand(types, bools=row.rule != "NP_NUMBER")
    return _numpy_call(row.impl, t, len(args))


def _numpy_call(impl, t, n):
    value = Value(t)
    if impl in OPERATORS:
        op = OPERATORS[impl]
        if t == "b1":
            op = {"+": "|", "*": "&", "-": "^"}.get(op, op)
            return Call(value, [t, t], lambda a: f"({a[0]} {op} {a[1]})")
        if op in ("<<", ">>"):
            return Call(value, [t, t], lambda a: f"shift_{'left' if op == '<<' else 'right'}('{t}', {a[0]}, {a[1]})")
        return Call(value, [t, t], lambda a: texts.binary_text(op, t, a[0], a[1]))
    if impl in EXTREMA:
        if t in COMPLEX:
            raise Unclear("complex extremum")
        if t in FLOATS:
            return Call(value, [t, t], lambda a: f"{EXTREMA[impl]}('{t}', {a[0]}, {a[1]})")
        return Call(value, [t, t], lambda a: f"{'max' if impl in ('MAXIMUM', 'FMAX') else 'min'}({a[0]}, {a[1]})")
    if impl in ("GCD", "LCM"):
        return Call(value, [t, t], lambda a: f"{impl.lower()}('{t}', {a[0]}, {a[1]})")
    return Call(value, [t], lambda a: _numpy_unary(impl, t, a[0]))


def _numpy_unary(impl, t, x):
    if impl == "POS" or (impl in ("CONJUGATE", "FLOOR", "CEIL", "TRUNC") and t not in COMPLEX and t not in FLOATS):
        return x
    if t in COMPLEX:
        name = {"NEG": "complex_neg", "CONJUGATE": "conjugate"}.get(impl)
        if impl == "SQUARE":
            return f"(lambda z: complex_mul('{t}', z, z))({x})"
        if name:
            return f"{name}('{t}', {x})"
        raise Unclear(impl)
    if t in INTS:
        text = {"NEG": f"wrap('{t}', -{x})", "SIGN": f"sign('{t}', {x})", "SQUARE": f"int_power('{t}', {x}, 2)",
                "RECIPROCAL": f"int_reciprocal('{t}', {x})", "INVERT": f"wrap('{t}', ~{x})", "CONJUGATE": x,
                "BITWISE_COUNT": f"bit_count('{t}', {x})"}.get(impl)
    elif t == "b1":
        text = {"INVERT": f"(not {x})", "BITWISE_COUNT": f"int({x})", "CONJUGATE": x, "SQUARE": x}.get(impl)
    else:
        text = {"NEG": f"(-{x})", "SIGN": f"np_sign('{t}', {x})", "SQUARE": f"float_square('{t}', {x})", "CONJUGATE": x,
                "RECIPROCAL": f"div('{t}', 1.0, {x})"}.get(impl)
        text = text or (f"{EXACT[impl]}('{t}', {x})" if impl in EXACT else None)
    if text is None:
        raise Unclear(impl)
    return text


def rule_NP_DIVIDE(row, args, types):
    t = numpy_operand_of_float(types)
    return _numpy_call("DIV", "f8" if t in INTS or t == "b1" else t, 2)


def rule_NP_REAL(row, args, types):
    t = numpy_operand(types, complex_too=False)
    t = "i1" if t == "b1" else t
    if row.rule == "NP_DIVMOD":
        return Call(Value(("tup", t, t)), [t, t], lambda a: _divmod_text(t, *a))
    if row.impl == "FMOD":
        return Call(Value(t), [t, t], lambda a: f"{'int_' if t in INTS else ''}fmod('{t}', {a[0]}, {a[1]})")
    return _numpy_call(row.impl, t, 2)


def rule_NP_POWER(row, args, types):
    t = numpy_operand(types)
    t = "i1" if t == "b1" else t
    if t in COMPLEX:
        raise Unclear("complex power")
    if t in INTS:
        if args[1].constant is not None and args[1].constant < 0 and is_lit(types[1]):
            raise Reject("E131")
        return Call(Value(t), [t, t], lambda a: f"int_power('{t}', {a[0]}, {a[1]})")
    return function_of("POW", t, t)(2)


def rule_NP_INT(row, args, types):
    bits = row.rule != "NP_INT"
    t = numpy_operand(types, floats=False)
    if t == "f8" or (t == "b1" and row.impl in ("GCD", "LCM")):
        raise Reject("E120")
    if t == "b1" and not bits:
        t = "i1"
    call = _numpy_call(row.impl, t, len(args))
    return call._replace(value=Value("u1")) if row.rule == "NP_BITCOUNT" else call


def rule_NP_LOGICAL(row, args, types):
    check(types)
    word = {"LOGICAL_AND": "&", "LOGICAL_OR": "|", "LOGICAL_XOR": "^"}.get(row.impl)
    if word is None:
        return Call(Value("b1"), [None], lambda a: f"(not {a[0]})")
    return Call(Value("b1"), [None, None], lambda a: f"(bool({a[0]}) {word} bool({a[1]}))")


def rule_NP_COMPARE(row, args, types):
    op = COMPARISONS[row.impl]
    if all(a.constant is not None for a in args):
        raise Unclear("constants")
    if any(is_complex(t) for t in types):
        if op not in ("==", "!="):
            raise Unclear("order of complex numbers")
        t = promote_all(types)
        return Call(Value("b1"), [t, t], lambda a: f"({a[0]} {op} {a[1]})")
    operand, known = rules.compare_operand(op, *types)
    if known is not None:
        return Call(Value("b1"), [None, None], lambda a: f"({a[0]}, {a[1]}, {known})[2]")
    return Call(Value("b1"), [operand, operand], lambda a: f"({a[0]} {op} {a[1]})")


def rule_NP_FLOAT(row, args, types):
    t = numpy_float(types, row.rule == "NP_FLOAT_C")
    if t in COMPLEX:
        raise Unclear("complex function")
    return function_of(row.impl, t, t)(len(args))


def rule_NP_FREXP(row, args, types):
    t = numpy_float(types)
    return Call(Value(("tup", t, "i4")), [t], lambda a: f"frexp('{t}', {a[0]})")


def rule_NP_MODF(row, args, types):
    t = numpy_float(types)
    return Call(Value(("tup", t, t)), [t], lambda a: f"modf('{t}', {a[0]})")


def rule_NP_ABS(row, args, types):
    return _abs(numpy_operand(types))


def rule_NP_SAME(row, args, types):
    t = numpy_operand(types)
    if row.rule == "NP_SMALL" and t == "b1":
        t = "i1"
    return _numpy_call(row.impl, t, 1)


def rule_NP_ROUND(row, args, types):
    return _numpy_call(row.impl, numpy_operand(types, complex_too=False), 1)


def rule_NP_FLOAT_BOOL(row, args, types):
    t = numpy_operand(types)
    return Call(Value("b1"), [t], lambda a: f"{TESTS[row.impl]}({a[0]})")


def rule_NP_REAL_BOOL(row, args, types):
    t = numpy_float(types)
    return Call(Value("b1"), [t], lambda a: f"signbit('{t}', {a[0]})")


def rule_NP_PART(row, args, types):
    t = numpy_operand(types)
    part = COMPLEX.get(t, t)
    name = row.impl.lower()
    if t in COMPLEX:
        return Call(Value(part), [t], lambda a: f"({a[0]}).{name}")
    zero = "False" if t == "b1" else "0.0" if t in FLOATS else "0"
    return Call(Value(part), [t], lambda a: a[0] if name == "real" else f"({a[0]}, {zero})[1]")


def rule_NP_WHERE(row, args, types):
    if not rules.is_number(types[0]):
        raise Reject("E120")
    t = numpy_operand(types[1:])
    return Call(Value(t), [None, t, t], lambda a: f"(lambda c, x, y: x if c else y)({', '.join(a)})")


def rule_NP_CLIP(row, args, types):
    if len(args) != 3:
        raise Unclear("clip")
    t = numpy_operand(types)
    if t in COMPLEX:
        raise Unclear("complex clip")
    if t in FLOATS:
        return Call(Value(t), [t] * 3, lambda a: f"np_minimum('{t}', np_maximum('{t}', {a[0]}, {a[1]}), {a[2]})")
    return Call(Value(t), [t] * 3, lambda a: f"min(max({a[0]}, {a[1]}), {a[2]})")


RULES = {name[5:]: function for name, function in list(globals().items()) if name.startswith("rule_")}
RULES.update(ALL=rule_ANY, NP_NUMBER=rule_NP_PROMOTE, NP_DIVMOD=rule_NP_REAL, NP_BITS=rule_NP_INT, NP_BITCOUNT=rule_NP_INT,
             NP_FLOAT_C=rule_NP_FLOAT, NP_SMALL=rule_NP_SAME, NP_LDEXP=rule_LDEXP)
