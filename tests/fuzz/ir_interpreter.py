"""Runs the text of the scalar IR (core/ir/README.md), by the meaning that core/tables/ops.def gives each row.

The third opinion between CPython and machine code: where it differs from the oracle, the front end is wrong;
where it differs from compiled code, what follows the front end is. Integers are Python's, wrapped by type;
floats are NumPy's scalars. A value that LLVM calls poison (a shift by its width) is None, and stays None in
what is computed from it; an integer division by zero, or one that overflows, is an error in any case, since
the front end has to guard it."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np

FLOATS = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
INTEGERS = {f"{sign}{bits}": (sign == "i", bits) for sign in "iu" for bits in (8, 16, 32, 64)}
STEPS = 2_000_000


class Unsupported(Exception):
    """The text has an operation that needs memory, threads or the host."""


class Wrong(Exception):
    """The IR does what it must not: an unguarded division, a value that is used before it exists."""


class Instruction:
    def __init__(self, number, op, type_, rest):
        self.number, self.op, self.type, self.rest = number, op, type_, rest
        self.values = [int(v) for v in re.findall(r"%(\d+)", rest)]
        self.target = self.latch = None


LINE = re.compile(r"(?:%(\d+) = (\w+) (\w+)|(\w+))(.*)")


def parse(text):
    """({name: Function}, [bytes of a constant table]) of a module's text."""
    functions, tables, function, body = {}, [], None, False
    for line in text.splitlines():
        line = line.strip()
        if not body and line.startswith("data "):
            words = line.split()
            if "at" in words:
                raise Unsupported("memory of the process")
            tables.append(bytes.fromhex("".join(word for word in words[4:] if word != "scattered")))
        if line.startswith("func "):
            function, body = Function(line.split()[2]), False
            functions[function.name] = function
        elif line == "body":
            body = True
        elif line == "}":
            function.close()
            body = False
        elif body:
            number, op, type_, plain, rest = LINE.match(line).groups()
            function.code.append(Instruction(int(number) if number else 0, op or plain, type_, rest))
    return functions, tables


class Function:
    def __init__(self, name):
        self.name, self.code = name, []

    def close(self):
        """Finds where each break, continue, if, else and end goes on."""
        open_ = []
        for at, i in enumerate(self.code):
            if i.op in ("if", "block", "loop"):
                open_.append([at, []])
            elif i.op == "else":
                self.code[open_[-1][0]].target = at + 1
                open_[-1][1].append(at)
            elif i.op == "latch":
                self.code[open_[-1][0]].latch = at + 1
            elif i.op in ("break", "continue"):
                regions = [o for o in open_ if self.code[o[0]].op != "if"]
                region = regions[-1 - int(i.rest)]
                if i.op == "break":
                    region[1].append(at)
                else:
                    i.latch = self.code[region[0]]
            elif i.op == "end":
                start, leaving = open_.pop()
                for jump in leaving:
                    self.code[jump].target = at + 1
                first = self.code[start]
                if first.op == "if" and first.target is None:
                    first.target = at + 1
                i.target = start + 1 if first.op == "loop" else at + 1


def wrapped(type_, value):
    signed, bits = INTEGERS[type_]
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def to_type(type_, value):
    """CAST: integers wrap, floats saturate and NaN gives 0."""
    if type_ == "b1":
        return bool(value != 0)
    if type_ in FLOATS:
        if isinstance(value, int) and not isinstance(value, bool):
            value = np.int64(value) if value < 2**63 else np.uint64(value)
        return FLOATS[type_](value)
    if isinstance(value, (bool, int)):
        return wrapped(type_, int(value))
    if math.isnan(value):
        return 0
    signed, bits = INTEGERS[type_]
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    if math.isinf(value):
        return high if value > 0 else low
    return min(max(int(value), low), high)


def to_bits(value, type_):
    if type_ in FLOATS:
        return int(value.view(f"u{value.itemsize}"))
    return int(value) if type_ == "b1" else value & (1 << INTEGERS[type_][1]) - 1


def from_bits(bits, type_):
    if type_ == "b1":
        return bool(bits)
    if type_ in FLOATS:
        size = np.dtype(FLOATS[type_]).itemsize
        return np.array(bits, f"u{size}").view(FLOATS[type_])[()]
    return wrapped(type_, bits)


def fused(a, b, c):
    """a * b + c, rounded once."""
    type_ = type(a)
    if not all(np.isfinite(x) for x in (a, b, c)):
        return type_(np.float64(a) * np.float64(b) + np.float64(c)) if np.isfinite(a) and np.isfinite(b) else a * b + c
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    return nearest(exact, type_) if exact else type_(a * b + c) if not (a and b) else type_(0)


def nearest(exact, type_):
    """The float of this type that is nearest to a fraction that is not zero, ties to even."""
    info = np.finfo(type_)
    bits = info.nmant + 1
    exponent = abs(exact.numerator).bit_length() - exact.denominator.bit_length()
    exponent -= abs(exact) < Fraction(2) ** exponent  # now 2**exponent <= |exact| < 2**(exponent + 1)
    unit = Fraction(2) ** (max(exponent, int(info.minexp)) - bits + 1)
    scaled = round(exact / unit) * unit  # Python's round takes ties to even
    return type_(float(scaled)) if abs(scaled) <= Fraction(float(info.max)) else type_(math.inf if exact > 0 else -math.inf)


# ---- operations ----


def divide(a, b, type_):
    if type_ in FLOATS:
        return a / b
    check_division(a, b, type_)
    return wrapped(type_, abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1))


def remainder(a, b, type_):
    check_division(a, b, type_)
    return wrapped(type_, abs(a) % abs(b) * (-1 if a < 0 else 1))


def check_division(a, b, type_):
    signed, bits = INTEGERS[type_]
    if b == 0 or (signed and b == -1 and a == -(1 << bits - 1)):
        raise Wrong(f"{a} is divided by {b} as {type_}")


def shift(a, count, type_, left):
    bits = INTEGERS[type_][1]
    if not 0 <= count < bits:
        return None
    return wrapped(type_, a << count if left else a >> count)


def arithmetic(of_integers, of_floats=None):
    return lambda a, b, t: (of_floats or of_integers)(a, b) if t in FLOATS else wrapped(t, of_integers(a, b))


def bitwise(operation):
    return lambda a, b, t: bool(operation(a, b)) if t == "b1" else wrapped(t, operation(a, b))


BINARY = {
    "add": arithmetic(lambda a, b: a + b),
    "sub": arithmetic(lambda a, b: a - b),
    "mul": arithmetic(lambda a, b: a * b),
    "div": divide,
    "rem": remainder,
    "mulhi": lambda a, b, t: wrapped(t, a * b >> INTEGERS[t][1]),
    "and": bitwise(lambda a, b: a & b),
    "or": bitwise(lambda a, b: a | b),
    "xor": bitwise(lambda a, b: a ^ b),
    "shl": lambda a, b, t: shift(a, b, t, True),
    "shr": lambda a, b, t: shift(a, b, t, False),
    "eq": lambda a, b, t: bool(a == b),
    "ne": lambda a, b, t: bool(a != b),
    "lt": lambda a, b, t: bool(a < b),
    "le": lambda a, b, t: bool(a <= b),
    "gt": lambda a, b, t: bool(a > b),
    "ge": lambda a, b, t: bool(a >= b),
}


def invert(a, type_):
    return not a if type_ == "b1" else wrapped(type_, ~a)


def negate(a, type_):
    return -a if type_ in FLOATS else wrapped(type_, -a)


def wide(function):
    """A function of libm: computed in long double, rounded to the type. Its error bound is the table's."""
    return lambda t, *args: FLOATS[t](function(*(np.longdouble(a) for a in args)))


def smaller(t, a, b, number, last):
    """fmin, fmax, minimum, maximum: -0 is less than +0."""
    if np.isnan(a) or np.isnan(b):
        return (b if np.isnan(a) else a) if number else FLOATS[t](np.nan)
    key = lambda x: (x, not np.signbit(x))  # noqa: E731
    return (max if last else min)((a, b), key=key)


def ulps_from(t, a, b):
    return np.nextafter(a, b) if t != "f16" else np.nextafter(np.float16(a), np.float16(b))


def scaled(t, x, n):
    if not x or not np.isfinite(x):
        return x
    if abs(n) > 5000:
        return FLOATS[t](math.copysign(math.inf if n > 0 else 0.0, x))
    exact = Fraction(float(x)) * Fraction(2) ** n
    return FLOATS[t](math.copysign(abs(float(nearest(exact, FLOATS[t]))), x))


def remainder_of_nearest(t, a, b):
    """IEEE 754's remainder: of the nearest multiple, ties to the even one."""
    if not np.isfinite(a) or np.isnan(b) or not b:
        return FLOATS[t](np.nan)
    if np.isinf(b) or not a:
        return a
    x, y = Fraction(float(a)), Fraction(float(b))
    rest = x - round(x / y) * y
    return nearest(rest, FLOATS[t]) if rest else FLOATS[t](math.copysign(0.0, a))


def leading_zeros(t, a):
    bits = INTEGERS[t][1]
    return bits - (a & (1 << bits) - 1).bit_length()


def trailing_zeros(t, a):
    bits = INTEGERS[t][1]
    return (a & -a).bit_length() - 1 if a else bits


def nearest_away(t, a):
    if not np.isfinite(a) or abs(a) >= 2.0 ** np.finfo(FLOATS[t]).nmant:
        return a
    return FLOATS[t](math.copysign(math.floor(Fraction(abs(float(a))) + Fraction(1, 2)), a))


def reversed_bits(t, a):
    bits = INTEGERS[t][1]
    return wrapped(t, int(f"{a & (1 << bits) - 1:0{bits}b}"[::-1], 2))


def swapped_bytes(t, a):
    bits = INTEGERS[t][1]
    return wrapped(t, int.from_bytes((a & (1 << bits) - 1).to_bytes(bits // 8, "little"), "big"))


INTRINSICS = {
    "sqrt": lambda t, a: np.sqrt(a),
    "sqrt_normal": lambda t, a: np.sqrt(a),
    "div_normal": lambda t, a, b: np.divide(a, b),
    "log_normal": wide(np.log),
    "fmod": lambda t, a, b: FLOATS[t](np.fmod(a, b)),
    "remainder": remainder_of_nearest,
    "floor": lambda t, a: np.floor(a),
    "ceil": lambda t, a: np.ceil(a),
    "trunc": lambda t, a: np.trunc(a),
    "rint": lambda t, a: np.rint(a),
    "round": nearest_away,
    "fabs": lambda t, a: np.fabs(a),
    "copysign": lambda t, a, b: np.copysign(a, b),
    "nextafter": ulps_from,
    "ldexp": scaled,
    "frexp_mantissa": lambda t, a: FLOATS[t](np.frexp(a)[0]),
    "frexp_exponent": lambda t, a: int(np.frexp(a)[1]) if np.isfinite(a) else 0,
    "signbit": lambda t, a: int(np.signbit(a)),
    "fmin": lambda t, a, b: smaller(t, a, b, True, False),
    "fmax": lambda t, a, b: smaller(t, a, b, True, True),
    "minimum": lambda t, a, b: smaller(t, a, b, False, False),
    "maximum": lambda t, a, b: smaller(t, a, b, False, True),
    "popcount": lambda t, a: (a & (1 << INTEGERS[t][1]) - 1).bit_count(),
    "clz": leading_zeros,
    "ctz": trailing_zeros,
    "bitreverse": reversed_bits,
    "bswap": swapped_bytes,
    **{name: wide(getattr(np, name)) for name in
       ("cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh hypot").split()},
    **{name: wide(getattr(np, "arc" + name[1:])) for name in "asin acos atan asinh acosh atanh".split()},
    "atan2": wide(np.arctan2),
    "pow": wide(np.power),
    "exp10": wide(lambda a: np.power(np.longdouble(10), a)),
}


class Pointer:
    def __init__(self, memory, at=0):
        self.memory, self.at = memory, at

    def bytes_of(self, type_):
        size = 1 if type_ == "b1" else np.dtype(FLOATS[type_]).itemsize if type_ in FLOATS else INTEGERS[type_][1] // 8
        if not 0 <= self.at <= len(self.memory) - size:
            raise Wrong(f"an access at byte {self.at} of {len(self.memory)}")
        return slice(self.at, self.at + size)


class Machine:
    def __init__(self, functions, tables=()):
        self.functions, self.tables, self.steps = functions, [Pointer(bytearray(t)) for t in tables], 0

    def call(self, name, arguments):
        """The results, as a list."""
        function = self.functions[name]
        values, slots, at = {}, {}, 0
        while True:
            self.steps += 1
            if self.steps > STEPS:
                raise Unsupported("too many steps")
            i = function.code[at]
            at += 1
            if i.op == "return":
                return [values[v] for v in i.values]
            if i.op in ("if", "else", "block", "loop", "latch", "end", "break", "continue"):
                at = self.go(i, values, at)
            elif i.op == "set":
                slots[i.values[0]] = values[i.values[1]]
            elif i.op == "get":
                values[i.number] = slots.get(i.values[0])
            elif i.op == "param":
                values[i.number] = arguments[int(i.rest)]
            elif i.op == "local":
                memory = slots.setdefault(i.number, bytearray(int(i.rest.split()[0])))
                values[i.number] = Pointer(memory)
            elif i.op == "store":
                self.store(function, i, *(values[v] for v in i.values[:2]))
            else:
                values[i.number] = self.compute(i, values)

    def go(self, i, values, at):
        if i.op == "if":
            condition = values[i.values[0]]
            if condition is None:
                raise Wrong(f"instruction {i.number}: the condition is not defined")
            return at if condition else i.target
        if i.op == "continue":
            return i.latch.latch
        return i.target if i.op in ("else", "end", "break") else at

    def store(self, function, i, pointer, value):
        type_ = next(k.type for k in function.code if k.number == i.values[1])
        if value is None:
            raise Unsupported("a value that is not defined is stored")
        size = pointer.bytes_of(type_)
        pointer.memory[size] = to_bits(value, type_).to_bytes(size.stop - size.start, "little")

    def compute(self, i, values):
        operands = [values[v] for v in i.values] if i.op != "slot" else []
        if i.op == "slot" or i.op == "bind":
            return None
        if i.op == "const":
            word = i.rest.split()[0]
            return from_bits(int(word, 0), i.type)
        if i.op == "call":
            results = self.call(re.match(r" @([\w$]+)", i.rest).group(1), operands)
            return results if i.type == "void" else results[0]
        if i.op == "result":
            return operands[0][int(i.rest.split()[1])]
        if i.op == "select":
            if operands[0] is None:
                return None
            return operands[1] if operands[0] else operands[2]
        if i.op == "data":
            return self.tables[int(i.rest)]
        if any(o is None for o in operands):
            return None
        if i.op == "offset":
            return Pointer(operands[0].memory, operands[0].at + operands[1])
        if i.op == "load" and "x" not in i.type:
            return from_bits(int.from_bytes(operands[0].memory[operands[0].bytes_of(i.type)], "little"), i.type)
        return self.pure(i, operands)

    def pure(self, i, operands):
        t = "b1" if i.op in ("eq", "ne", "lt", "le", "gt", "ge") else i.type
        if i.op in BINARY:
            return BINARY[i.op](*operands, t)
        if i.op == "neg":
            return negate(operands[0], t)
        if i.op == "not":
            return invert(operands[0], t)
        if i.op == "fma":
            return fused(*operands)
        if i.op == "cast":
            return to_type(t, operands[0])
        if i.op == "bitcast":
            a = operands[0]
            return from_bits(int(a.view(f"u{a.itemsize}")) if isinstance(a, np.floating) else int(a), t) if t != "b1" else bool(a)
        if i.op == "intrin":
            name = i.rest.split()[0]
            if name in INTRINSICS:
                return INTRINSICS[name](intrinsic_type(t, operands), *operands)
        raise Unsupported(f"{i.op} {i.rest.split()[0] if i.rest else ''}")


def intrinsic_type(t, operands):
    """The type of the operation, which is that of its operand where the result is an i32 (signbit)."""
    first = operands[0]
    if isinstance(first, np.floating):
        return {np.float16: "f16", np.float32: "f32", np.float64: "f64"}[type(first)]
    return t


def run(text, rows):
    """The results of the function lw_body for each row of arguments (Python or NumPy scalars, as typed by the
    text), or Unsupported."""
    functions, tables = parse(text)
    results = []
    with np.errstate(all="ignore"):
        for row in rows:
            results.append(Machine(functions, tables).call("lw_body", row))
    return results
