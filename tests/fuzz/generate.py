"""Random scalar functions as source text, and the values they are called with.

Deterministic: generate(seed, types, name) is a function of its arguments. The generator keeps a
guess of every variable's type so that most programs are typed; what slips through is a test of the
compiler's messages.
"""

from __future__ import annotations

import math
import random
import re

import numpy as np

import named_rules
import typing_rules as rules
from semantics import COMPLEX, DTYPES, FLOATS, HIGH, INTS, LOW, NUMPY
from typing_rules import Reject, Unclear, Value

ROWS = 64
SIGNED_LIKE = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4")
INT_CASTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")
FLOAT_EXACT = ("math.sqrt", "math.fabs", "np.floor", "np.ceil", "np.trunc", "np.rint", "np.abs", "np.negative", "np.square", "np.sqrt",
               "np.sign", "np.reciprocal", "np.conjugate", "np.degrees", "math.radians", "np.positive")
FLOAT_PAIRS = ("math.fmod", "math.copysign", "np.maximum", "np.minimum", "np.fmax", "np.fmin", "np.remainder", "np.floor_divide",
               "np.fmod", "math.remainder", "np.add", "np.multiply", "np.subtract", "np.divide", "np.heaviside", "np.nextafter", "np.copysign")
INT_UNARY = ("abs", "np.sign", "np.square", "np.bitwise_count", "np.invert", "np.negative", "np.reciprocal", "np.absolute", "round")
INT_PAIRS = ("np.maximum", "np.minimum", "math.gcd", "np.gcd", "np.lcm", "np.bitwise_and", "np.bitwise_or", "np.bitwise_xor", "np.left_shift",
             "np.right_shift", "np.floor_divide", "np.remainder", "np.fmod", "np.add", "np.subtract", "np.multiply", "np.power")
LEAVES = ("sin", "cos", "tan", "exp", "exp2", "expm1", "log2", "log10", "log1p", "sinh", "cosh", "tanh", "asinh", "cbrt", "log", "atan")
NP_LEAVES = ("sin", "cos", "tan", "exp", "log", "arctan", "arcsin", "arccos", "arctanh", "arccosh", "arcsinh", "cbrt", "log1p", "expm1")
LIMITS = tuple(sign * 2**k + d for k in (7, 8, 15, 16, 31, 32, 53, 63, 64, 70, 100) for sign in (1, -1) for d in (-1, 0, 1)) + (10**18, 10**19, 10**30, -(10**25))
FLOAT_TEXTS = ("0.5", "1.5", "2.0", "0.1", "-0.25", "3.0", "1e10", "-1.0", "0.0", "1e-5", "100.0", "-0.0", "1e300", "3.4e38")


def kind(t):
    if rules.is_tuple(t):
        return "tuple"
    return "bool" if t == "b1" else "int" if rules.is_int(t) else "float" if rules.is_real(t) else "complex"


class Generator:
    def __init__(self, rng, types, name):
        self.rng, self.name = rng, name
        self.lines, self.before = [], []
        self.vars = dict(zip("abc", types))
        self.params = tuple(self.vars)
        self.counter = self.loops = self.helpers_made = 0
        self.protected = set()
        self.depth = 1
        self.helpers, self.defaulted = {}, set()
        self.indices = []  # variables of the loops around, which are compared with numbers nearby

    # text

    def line(self, text):
        self.lines.append("    " * self.depth + text)

    def fresh(self, stem="v"):
        self.counter += 1
        return f"{stem}{self.counter}"

    def chance(self, p):
        return self.rng.random() < p

    def pick(self, items):
        return self.rng.choice(list(items))

    def of_kind(self, *kinds):
        return [n for n, t in self.vars.items() if kind(t) in kinds]

    # expressions: (text, type); an expression that the rules refuse is tried again

    def expr(self, what, depth=3):
        for _ in range(8):
            try:
                text, t = getattr(self, f"{what}_expr")(depth)
                if t is not None:
                    return text, t
            except (Reject, Unclear, IndexError, KeyError):
                pass
        return self.atom(what)

    def atom(self, what):
        names = self.of_kind(what)
        if names and self.chance(0.85):
            n = self.pick(names)
            return n, self.vars[n]
        if what == "int":
            return self.int_literal()
        if what == "float":
            return self.pick(FLOAT_TEXTS[:10]), "pf"
        if what == "bool":
            x, _ = self.atom("int")
            return f"({x} > 1)", "b1"
        return f"complex({self.pick(FLOAT_TEXTS[:6])}, {self.pick(FLOAT_TEXTS[:6])})", "pc"

    def int_literal(self):
        wild = self.rng.random()
        value = (self.rng.randrange(0, 8) if wild < 0.8 else self.rng.randrange(0, 100) if wild < 0.96
                 else self.pick([127, 255, 256, 65535, 2**31, 2**40, -1, -7]) if wild < 0.985 else self.pick(LIMITS))
        return (str(value) if value >= 0 else f"({value})"), ("lit", value, value)

    def value_of(self, text, t):
        if rules.is_lit(t):
            return Value(t, t[1])
        return Value(t)

    def binary(self, op, x, y):
        (a, s), (b, t) = x, y
        if rules.is_lit(s) and rules.is_lit(t):
            b, t = self.atom_variable(s)
        return f"({a} {op} {b})", rules.type_binary(op, self.value_of(a, s), self.value_of(b, t))[0]

    def atom_variable(self, _):
        names = [n for n in self.of_kind("int", "bool", "float") if n[0] not in "KL"]
        if not names:
            return f"{self.params[0]}.real", COMPLEX.get(self.vars[self.params[0]], "pf")
        n = self.pick(names)
        return n, self.vars[n]

    def call(self, path, *args):
        values = [self.value_of(*a) for a in args]
        found = named_rules.type_call(path, values)
        if found.inexact or not any(self.reads_variable(a) for a, _ in args):
            raise Unclear("leaf, or folded at compile time")
        return f"{path}({', '.join(a for a, _ in args)})", found.value.type

    def reads_variable(self, text):
        return any(word in self.vars and not word.startswith(("K", "L")) for word in re.findall(r"\w+", text))

    def any_expr(self, depth):
        return self.expr(self.pick(["int", "int", "float", "float", "bool"] + (["complex"] if self.of_kind("complex") else [])), depth)

    tables: dict = {}

    def make_table(self):
        """A long constant from outside: a tuple of Python's numbers, or an array."""
        n, name = self.pick([64, 64, 128, 256]), f"T_{self.name}"
        k, m = self.rng.randrange(1, 40), self.rng.randrange(2, 200)
        if self.chance(0.6):
            t = self.pick(["i1", "i2", "i4", "i8", "u1", "u4", "f4", "f8"])
            text = f"np.array([({k} * i) % {min(m, 127)} for i in range({n})], '{t}')"
            self.tables = {name: (n, t, True)}
        elif self.chance(0.5):
            text, self.tables = f"tuple(({k} * i) % {m} - {m // 3} for i in range({n}))", {name: (n, "ix", False)}
        else:
            text, self.tables = f"tuple(({k} * i) % {m} / 4 for i in range({n}))", {name: (n, "pf", False)}
        return name, text

    def table_item(self, what):
        (name, (n, t, _)), = self.tables.items()
        if kind(t) != what:
            raise Unclear("of the other kind")
        at = self.expr("int", 1)[0]
        if not self.reads_variable(at):
            raise Unclear("a constant index")
        index = f"int({at}) & {n - 1}" if self.chance(0.8) else str(self.rng.randrange(-n, n))
        return f"{name}[{index}]", t

    def ternary(self, what, depth):
        c, _ = self.expr("bool", depth - 1)
        self.conditional += 1
        try:
            x, y = self.expr(what, depth - 1), self.expr(what, depth - 1)
        finally:
            self.conditional -= 1
        return f"({x[0]} if {c} else {y[0]})", rules.join([x[1], y[1]])

    def chosen(self, what, depth):
        """x or y, x and y."""
        x = self.atom(what)
        if rules.is_lit(x[1]):
            raise Unclear("constant")
        self.conditional += 1
        try:
            y = self.expr(what, depth - 1)
        finally:
            self.conditional -= 1
        return f"({x[0]} {self.pick(['and', 'or'])} {y[0]})", rules.join([x[1], y[1]])

    def extreme(self, what, depth):
        args = [self.expr(what, depth - 1) for _ in range(self.rng.randrange(2, 4))]
        if all(rules.is_lit(t) for _, t in args):
            raise Unclear("constant")
        return self.call(self.pick(["min", "max"]), *args)

    def walrus(self, what, depth):
        name = self.fresh("w")
        x, t = self.expr(what, depth - 1)
        if self.conditional or rules.is_lit(t):
            raise Unclear("walrus")
        self.vars[name] = t
        return f"({name} := {x})", t

    conditional = 0

    def helper_call(self, what, depth):
        name, n, results = self.pick([(k, *v) for k, v in self.helpers.items()])
        args = [self.expr("int" if self.chance(0.5) else "float", depth - 1)[0] for _ in range(n)]
        if n == 2 and self.chance(0.3):
            args[1] = f"y={args[1]}"
        elif n == 2 and name in self.defaulted and self.chance(0.3):
            args.pop()
        return f"{name}({', '.join(args)})", {"int": "i8", "float": "f8", "bool": "b1"}[results]

    def int_expr(self, depth):
        if self.tables and self.chance(0.08):
            return self.table_item("int")
        if depth <= 0 or self.chance(0.15):
            return self.atom("int")
        d = depth - 1
        r = self.rng.random()
        if r < 0.36:
            return self.binary(self.pick("+-*"), self.expr("int", d), self.expr("int", d))
        if r < 0.46:
            return self.binary(self.pick(["//", "%"]), self.expr("int", d), self.expr("int", d))
        if r < 0.56:
            return self.binary(self.pick("&|^"), self.expr("int", d), self.expr(self.pick(["int", "int", "bool"]), d))
        if r < 0.63:
            count = self.int_literal() if self.chance(0.5) else self.expr("int", d)
            return self.binary(self.pick(["<<", ">>"]), self.expr("int", d), count)
        if r < 0.66:
            exponent = (str(self.rng.randrange(0, 5)),) if self.chance(0.7) else None
            base = self.expr("int", d)
            if exponent:
                n = int(exponent[0])
                return self.binary("**", base, (exponent[0], ("lit", n, n)))
            return self.binary("**", base, (f"({self.expr('int', d)[0]} & 7)", "ix"))
        if r < 0.70:
            x, t = self.expr("int", d)
            op = self.pick(["-", "~", "+"])
            if rules.is_lit(t):
                raise Unclear("constant")
            return f"({op}{x})", rules.type_unary(op, t)
        if r < 0.76:
            return self.call(self.pick(["int", "round", "math.floor", "math.ceil", "math.trunc"]), self.expr("float", d))
        if r < 0.82:
            cast = self.pick(INT_CASTS)
            x, t = self.expr(self.pick(["int", "float"]), d)
            if rules.is_lit(t):
                raise Unclear("constant")
            return f"np.{cast}({x})", rules.SHORT[np.dtype(cast)]
        if r < 0.86:
            return self.call(self.pick(INT_UNARY), self.expr("int", d))
        if r < 0.90:
            return self.call(self.pick(INT_PAIRS), self.expr("int", d), self.expr("int", d))
        if r < 0.92:
            return self.call(self.pick(["np.where"]), self.expr("bool", d), self.expr("int", d), self.expr("int", d))
        if r < 0.94:
            return self.extreme("int", depth)
        if r < 0.96:
            return self.chosen("int", depth)
        if r < 0.97:
            return self.walrus("int", depth)
        if r < 0.98 and self.helpers:
            return self.helper_call("int", depth)
        return self.ternary("int", depth)

    def float_expr(self, depth):
        if self.tables and self.chance(0.08):
            return self.table_item("float")
        if depth <= 0 or self.chance(0.15):
            return self.atom("float")
        d = depth - 1
        r = self.rng.random()
        if r < 0.42:
            other = self.expr(self.pick(["float", "float", "float", "int"]), d)
            pair = [self.expr("float", d), other]
            self.rng.shuffle(pair)
            return self.binary(self.pick("+-*/"), *pair)
        if r < 0.50:
            return self.binary(self.pick(["//", "%"]), self.expr("float", d), self.expr(self.pick(["float", "int"]), d))
        if r < 0.54:
            return self.binary("/", self.expr("int", d), self.expr("int", d))
        if r < 0.57:
            return self.binary("**", self.expr("float", d), self.pick([("2", ("lit", 2, 2)), ("1", ("lit", 1, 1)), ("0", ("lit", 0, 0))]))
        if r < 0.60:
            x, t = self.expr("float", d)
            return f"(-{x})", rules.type_unary("-", t)
        if r < 0.69:
            cast = self.pick(["float32", "float64", "float32", "float16"])
            x, t = self.expr(self.pick(["float", "int"]), d)
            if rules.is_lit(t):
                raise Unclear("constant")
            return f"np.{cast}({x})", rules.SHORT[np.dtype(cast)]
        if r < 0.73:
            return self.call("float", self.expr(self.pick(["float", "int"]), d))
        if r < 0.80:
            return self.call(self.pick(FLOAT_EXACT), self.expr("float", d))
        if r < 0.87:
            return self.call(self.pick(FLOAT_PAIRS), self.expr("float", d), self.expr("float", d))
        if r < 0.88:
            return self.call(self.pick(["math.ldexp", "np.ldexp"]), self.expr("float", d), self.expr("int", d))
        if r < 0.90:
            return self.call("np.clip", self.expr("float", d), self.expr("float", d), self.expr("float", d))
        if r < 0.92:
            return self.extreme("float", depth)
        if r < 0.94:
            return self.chosen("float", depth)
        if r < 0.95:
            return self.walrus("float", depth)
        if r < 0.96 and self.of_kind("complex"):
            x, t = self.expr("complex", d)
            return f"{x}.{self.pick(['real', 'imag'])}", COMPLEX.get(t, "pf")
        if r < 0.97 and self.helpers:
            return self.helper_call("float", depth)
        if r < 0.98:
            items = [self.expr("float", d)[0] for _ in range(self.rng.randrange(2, 4))]
            return f"({', '.join(f'np.float64({i})' for i in items)})[int({self.expr('int', d)[0]}) % {len(items)}]", "f8"
        return self.ternary("float", depth)

    def bool_expr(self, depth):
        d = depth - 1
        r = self.rng.random()
        if depth <= 0 or r < 0.5:
            what = self.pick(["int", "int", "float"])
            x, y = self.expr(what, d), self.expr(self.pick([what, what, "float", "int"]), d)
            if rules.is_lit(x[1]) and rules.is_lit(y[1]):
                x = self.atom_variable(None)
            op = self.pick(["<", "<=", ">", ">=", "==", "!="])
            rules.compare_operand(op, x[1], y[1])
            if self.chance(0.15):
                z = self.atom(what)
                return f"({x[0]} {op} {y[0]} {self.pick(['<', '<=', '!='])} {z[0]})", "b1"
            return f"({x[0]} {op} {y[0]})", "b1"
        if r < 0.58:
            return f"(not {self.expr(self.pick(['bool', 'int', 'float']), d)[0]})", "b1"
        if r < 0.72:
            self.conditional += 1
            try:
                parts = [self.expr("bool", d)[0] for _ in range(self.rng.randrange(2, 4))]
            finally:
                self.conditional -= 1
            return "(" + f" {self.pick(['and', 'or'])} ".join(parts) + ")", "b1"
        if r < 0.78:
            return self.call(self.pick(["math.isnan", "math.isinf", "np.isfinite", "np.isnan"]), self.expr("float", d))
        if r < 0.82:
            return self.call(self.pick(["np.logical_and", "np.logical_or", "np.logical_xor"]), self.expr("int", d), self.expr("float", d))
        if r < 0.86:
            return self.binary(self.pick("&|^"), self.expr("bool", d), self.expr("bool", d))
        if r < 0.90:
            return self.call("bool", self.expr(self.pick(["int", "float"]), d))
        if r < 0.91:
            x, y = [[self.atom_variable(None), self.expr(self.pick(["int", "float"]), 1)] for _ in range(2)]
            return f"(({x[0][0]}, {x[1][0]}) {self.pick(['<', '<=', '==', '!='])} ({y[0][0]}, {y[1][0]}))", "b1"
        if r < 0.92:
            x, items = self.atom_variable(None), [self.atom(self.pick(["int", "float"])) for _ in range(3)]
            return f"({x[0]} {self.pick(['in', 'not in'])} ({', '.join(i for i, _ in items)}))", "b1"
        if r < 0.95:
            return self.call(self.pick(["np.less", "np.greater_equal", "np.equal"]), self.expr("int", d), self.expr("float", d))
        return self.atom("bool")

    def complex_expr(self, depth):
        if depth <= 0 or self.chance(0.2):
            return self.atom("complex")
        d = depth - 1
        r = self.rng.random()
        if r < 0.6:
            return self.binary(self.pick("++--**/"), self.expr("complex", d), self.expr(self.pick(["complex", "complex", "float"]), d))
        if r < 0.7:
            return f"complex({self.expr('float', d)[0]}, {self.expr('float', d)[0]})", "pc"
        if r < 0.8:
            x, t = self.expr("complex", d)
            return f"{x}.conjugate()", t
        if r < 0.9:
            x, t = self.expr("complex", d)
            return f"(-{x})", t
        return f"np.complex64({self.expr('complex', d)[0]})", "c8"

    # statements

    def assign(self):
        target = self.pick(self.vars) if self.chance(0.5) else None
        if target in self.protected or target is None or kind(self.vars.get(target, "b1")) == "tuple":
            target = None
        what = kind(self.vars[target]) if target else self.pick(["int", "int", "float", "float", "bool", "complex" if self.of_kind("complex") else "int"])
        if target is None and self.chance(0.06):
            self.assign_tuple()
            return
        text, t = self.expr(what)
        if target is None:
            target = self.fresh()
            if self.depth > 1:
                self.define_outside(target, what)
            else:
                self.vars[target] = t
        if self.chance(0.03) and what in ("int", "float") and target not in self.params:
            pin = self.pick(["np.float64"] if what == "float" else ["np.int64"])
            fresh = self.fresh()
            if self.depth == 1:
                self.line(f"{fresh}: {pin} = {text}")
                self.vars[fresh] = "f8" if what == "float" else "i8"
                return
        self.line(f"{target} = {text}")
        if self.depth > 1:
            self.widen(target, t)
        else:
            self.vars[target] = t

    def define_outside(self, target, what):
        """A variable born inside a block gets a value before it, now and then a literal."""
        text, t = self.early(what)
        at = self.block_starts[0]
        self.lines.insert(at, f"    {target} = {text}")
        self.block_starts = [s + 1 for s in self.block_starts]
        self.vars[target] = t

    def early(self, what):
        """A value that exists before any block."""
        names = [n for n in self.params if kind(self.vars[n]) == what]
        if names and self.chance(0.5):
            name = self.pick(names)
            return name, self.vars[name]
        value = self.rng.randrange(5)
        return {"int": (str(value), ("lit", value, value)), "float": (self.pick(FLOAT_TEXTS[:6]), "pf"), "bool": (str(value > 2), "b1"),
                "complex": ("complex(0.5, 1.0)", "pc")}[what]

    block_starts: list = []

    def widen(self, name, t):
        try:
            self.vars[name] = rules.join([self.vars[name], t])
            if rules.is_lit(self.vars[name]):
                self.vars[name] = "ix"
        except (Reject, Unclear):
            pass

    def assign_tuple(self):
        items = [self.any_expr(2) for _ in range(self.rng.randrange(2, 4))]
        if self.depth > 1:
            return
        if self.chance(0.5):
            name = self.fresh("t")
            self.line(f"{name} = ({', '.join(x for x, _ in items)})")
            i = self.rng.randrange(len(items))
            other = self.fresh()
            self.line(f"{other} = {name}[{i}]")
            self.vars[other] = items[i][1]
        else:
            names = [self.fresh() for _ in items]
            self.line(f"{', '.join(names)} = {', '.join(x for x, _ in items)}")
            for n, (_, t) in zip(names, items):
                self.vars[n] = t

    def augment(self):
        name = self.pick([n for n, t in self.vars.items() if n not in self.protected and kind(t) in ("int", "float", "complex")])
        what = kind(self.vars[name])
        ops = {"int": ["+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>"], "float": ["+", "-", "*", "/", "//", "%"], "complex": ["+", "-", "*"]}[what]
        op = self.pick(ops)
        y, t = self.expr(what, 2)
        try:
            result = rules.type_binary(op, self.value_of(name, self.vars[name]), self.value_of(y, t))[0]
        except (Reject, Unclear):
            return
        self.line(f"{name} {op}= {y}")
        if self.depth > 1:
            self.widen(name, result)
        else:
            self.vars[name] = result

    def block(self, n):
        self.depth += 1
        self.block_starts = [*self.block_starts, len(self.lines)] if self.block_starts else [self.opening]
        self.conditional += 1
        known = dict(self.vars)
        length = len(self.lines)
        for _ in range(n):
            self.statement()
        if len(self.lines) == length:
            self.line("pass")
        self.vars = {name: t for name, t in self.vars.items() if name in known or name.startswith("v") and self.top_level(name)}
        self.conditional -= 1
        self.depth -= 1
        if self.depth == 1:
            self.block_starts = []
        else:
            self.block_starts = self.block_starts[:1]

    def top_level(self, name):
        return any(line.startswith(f"    {name} = ") for line in self.lines)

    def branch(self):
        self.open_block()
        self.line(f"if {self.index_test() if self.indices and self.chance(0.4) else self.expr('bool')[0]}:")
        self.block(self.rng.randrange(1, 3))
        if self.chance(0.25):
            self.line(f"elif {self.condition()}:")
            self.block(1)
        if self.chance(0.5):
            self.line("else:")
            self.block(self.rng.randrange(1, 3))

    def nearby(self):
        """A small number that is only known at run time, often negative."""
        return f"np.int64({self.atom('int')[0]} & {self.pick([3, 7, 15])}) - {self.rng.randrange(-1, 9)}"

    def index_test(self):
        """A loop's variable beside a number. Such comparisons are what compilers split loops at."""
        i, op = self.pick(self.indices), self.pick(["<", "<=", ">", ">=", "==", "!="])
        other = self.nearby() if self.chance(0.7) else str(self.rng.randrange(-9, 9))
        i = self.pick([i, i, i, f"{i} + {self.rng.randrange(-4, 5)}", f"2 * {i}", f"{self.rng.randrange(9)} - {i}", f"np.uint32({i})"])
        return f"{i} {op} {other}"

    def condition(self):
        if self.indices and self.chance(0.4):
            return self.index_test()
        self.conditional += 1
        try:
            return self.expr(self.pick(["bool", "bool", "bool", "int", "float"]))[0]
        finally:
            self.conditional -= 1

    def open_block(self):
        if self.depth == 1:
            self.opening = len(self.lines)

    def jump(self, word):
        if self.chance(0.3):
            self.line(f"    if {self.condition()}:")
            self.line(f"        {word}")

    def loop(self):
        if self.loops >= 2:
            return
        self.open_block()
        self.loops += 1
        if self.chance(0.6):
            self.for_loop()
        else:
            self.while_loop()
        if self.chance(0.25):
            self.line("else:")
            self.block(1)
        self.loops -= 1

    def for_loop(self):
        name = self.fresh("i")
        r = self.rng.random()
        bounds = (str(self.rng.randrange(1, 6)) if r < 0.4 else self.nearby() if r < 0.44 else f"{self.nearby()}, {self.nearby()}" if r < 0.48
                  else f"{self.nearby()}, {self.nearby()}, -1" if r < 0.5 else f"{self.atom('int')[0]} & {self.pick([3, 7])}" if r < 0.75
                  else f"{self.rng.randrange(-3, 3)}, {self.rng.randrange(3, 12)}, {self.rng.randrange(1, 4)}" if r < 0.9
                  else f"{self.rng.randrange(3, 8)}, {self.rng.randrange(-2, 2)}, -{self.rng.randrange(1, 4)}")
        if self.depth == 1 and any(is_array or n <= 64 for n, _, is_array in self.tables.values()) and self.chance(0.3):
            (table, (_, t, _)), = self.tables.items()
            self.line(f"for {name} in {table}:")
            self.protected.add(name)
            outer = dict(self.vars)
            self.vars[name] = t
            self.jump(self.pick(["break", "continue"]))
            self.block(1)
            self.vars = {n: t for n, t in self.vars.items() if n in outer or n.startswith("v")}
            return
        if r >= 0.88 and self.depth == 1:
            self.other_loop(name)
            return
        if r >= 0.84 and self.depth == 1:
            items = [self.atom(self.pick(["int", "float"])) for _ in range(3)]
            try:
                t = rules.join([t for _, t in items])
            except (Reject, Unclear):
                t, items = "ix", [("1", ("lit", 1, 1))] * 2
            self.line(f"for {name} in ({', '.join(x for x, _ in items)}):")
        else:
            t = "ix"
            self.line(f"for {name} in range({bounds}):")
        outer = dict(self.vars)
        self.vars[name] = "ix" if rules.is_lit(t) else t
        self.protected.add(name)
        self.indices += [name] if t == "ix" else []
        self.jump(self.pick(["break", "continue"]))
        self.block(self.rng.randrange(1, 3))
        self.indices = [i for i in self.indices if i != name]
        self.vars = {n: t for n, t in self.vars.items() if n in outer or n.startswith("v")}

    def other_loop(self, name):
        """enumerate, zip and reversed, over ranges and tuples."""
        other = self.fresh("u")
        items = [self.atom("float")[0] for _ in range(self.rng.randrange(2, 4))]
        values = f"({', '.join(f'np.float32({i})' for i in items)})"
        form = self.rng.randrange(5)
        if form == 0:
            self.line(f"for {name}, {other} in enumerate({values}):")
        elif form == 1:
            self.line(f"for {name}, {other} in enumerate({values}, {self.rng.randrange(-3, 4)}):")
        elif form == 2:
            self.line(f"for {name}, {other} in zip(range({self.rng.randrange(1, 5)}), {values}):")
        elif form == 3:
            self.line(f"for {name}, {other} in zip(reversed(range({self.atom('int')[0]} & 3)), {values}):")
        else:
            self.line(f"for {name} in reversed(range({self.rng.randrange(-2, 2)}, {self.rng.randrange(2, 9)}, {self.rng.randrange(1, 4)})):")
        outer = dict(self.vars)
        self.vars[name] = "ix"
        self.protected |= {name, other}
        if form < 4:
            self.vars[other] = "f4"
        self.jump(self.pick(["break", "continue"]))
        self.block(self.rng.randrange(1, 3))
        self.vars = {n: t for n, t in self.vars.items() if n in outer or n.startswith("v")}

    def match(self):
        self.open_block()
        self.line(f"match {self.expr('int', 2)[0]} & 7:")
        self.depth += 1
        for pattern in self.rng.sample(["0", "1", "2 | 3", "5", f"k if k > {self.rng.randrange(6)}"], 2) + ["_"]:
            self.line(f"case {pattern}:")
            self.block(1)
        self.depth -= 1
        self.block_starts = []

    def while_loop(self):
        name = self.fresh("n")
        self.line(f"{name} = 0")
        if self.depth == 1:
            self.opening += 1
        self.protected.add(name)
        endless = self.chance(0.2)
        limit = self.rng.randrange(2, 6)
        if endless:
            self.line("while True:")
            self.line(f"    if {name} >= {limit}:")
            self.line("        break")
        else:
            more = f" and {self.condition()}" if self.chance(0.5) else ""
            self.line(f"while {name} < {limit}{more}:")
        self.line(f"    {name} += 1")
        outer = dict(self.vars)
        self.vars[name] = "ix"
        self.jump(self.pick(["break", "continue"]))
        self.block(self.rng.randrange(1, 3))
        self.vars = {n: t for n, t in self.vars.items() if n in outer or n == name or n.startswith("v")}

    def nested(self):
        if self.depth > 1:
            return
        name = self.fresh("g")
        captured = self.pick([n for n, t in self.vars.items() if kind(t) in ("int", "float")])
        if self.chance(0.5):
            self.line(f"{name} = lambda q: q {self.pick('+-*')} {captured}")
        else:
            self.line(f"def {name}(q):")
            self.line(f"    if q > {self.rng.randrange(5)}:")
            self.line(f"        return q {self.pick('+-*')} {captured}")
            self.line("    return q")
        what = self.pick(["int", "float"])
        x, t = self.expr(what, 2)
        other = self.fresh()
        self.line(f"{other} = {name}({x})")
        try:
            self.vars[other] = rules.join([rules.common(t, self.vars[captured]), t])
        except (Reject, Unclear):
            self.vars[other] = "f8"

    def statement(self):
        r = self.rng.random()
        try:
            if r < 0.40 or self.depth > 3:
                self.assign()
            elif r < 0.60:
                self.augment()
            elif r < 0.78:
                self.branch()
            elif r < 0.80 and self.depth == 1:
                self.match()
            elif r < 0.95:
                self.loop()
            else:
                self.nested()
        except IndexError:
            self.assign()

    # functions

    def make_helper(self):
        """A function of its own, called with whatever types come up."""
        name = f"{self.name}_h{len(self.helpers)}"
        form = self.rng.randrange(4)
        k = self.rng.randrange(1, 5)
        if form == 0:
            text, n, result = f"def {name}(x, y):\n    if x > y:\n        return x\n    return y + {k}", 2, "float"
        elif form == 1:
            text, n, result = f"def {name}(x):\n    s = 0\n    for i in range({k + 1}):\n        s += x\n    return s", 1, "float"
        elif form == 2:
            text, n, result = f"def {name}(x, y={k}):\n    return x * y - x", 2, "float"
        else:
            text, n, result = f"def {name}(x):\n    if x != x:\n        return 0.5\n    return x * {k}", 1, "float"
        self.before.append(text)
        if form == 2:
            self.defaulted.add(name)
        self.helpers[name] = (n, result)

    def outcome(self):
        """What is returned, now and then a function with an error bound."""
        results = []
        for _ in range(self.rng.randrange(1, 4)):
            if self.chance(0.2):
                x, _ = self.expr("float", 2)
                while not self.reads_variable(x):
                    x = f"({x} * {self.atom_variable(None)[0]})"
                if self.chance(0.8):
                    results.append(f"{self.pick(['math.' + n for n in LEAVES] + ['np.' + n for n in NP_LEAVES])}({x})")
                else:
                    results.append(f"{self.pick(['math.atan2', 'np.hypot', 'math.pow', 'np.arctan2'])}({x}, {self.expr('float', 2)[0]})")
            else:
                results.append(self.any_expr(3)[0])
        return results

    def make(self):
        if self.chance(0.25):
            self.make_helper()
        constants, closure = {}, self.chance(0.1)
        if closure or self.chance(0.15):
            for stem in ("K", "L"):
                value, t = self.pick([("3", ("lit", 3, 3)), ("0.5", "pf"), ("np.float32(1.5)", "f4"), ("np.int16(7)", "i2"), ("2", ("lit", 2, 2)), ("True", "b1")])
                name = stem if closure else f"{stem}_{self.name}"
                constants[name] = value
                if not rules.is_lit(t) and t != "b1":
                    self.vars[name] = t
                    self.protected.add(name)
        if not closure and self.chance(0.12):
            name, text = self.make_table()
            constants[name] = text
        for _ in range(self.rng.randrange(1, 7)):
            self.statement()
        results = self.outcome()
        self.line("return " + ", ".join(results) + ("," if len(results) == 1 and self.chance(0.2) else ""))
        return self.assemble(constants, closure)

    def assemble(self, constants, closure):
        head = [*self.before]
        if closure:
            inner = [f"    def inner({', '.join(self.params)}):", *("    " + line for line in self.lines), "    return inner"]
            names = ", ".join(constants)
            head += [f"def {self.name}_factory({names}):", *inner, f"{self.name} = {self.name}_factory({', '.join(constants.values())})"]
        else:
            head += [f"{n} = {v}" for n, v in constants.items()]
            head += [f"def {self.name}({', '.join(self.params)}):", *self.lines]
        return "\n".join(head) + "\n"


def parameter_types(rng):
    """One to three dtypes; int64 with uint64, which has no common integer type, now and then."""
    pools = (DTYPES, SIGNED_LIKE + ("f4", "f8"), ("i8", "i4", "f8", "f4"), ("f4", "f8", "i4", "f2"), ("u8", "f8", "f4", "u4", "u1"), ("c16", "c8", "f8", "f4", "i4"))
    pool = rng.choice(pools)
    return tuple(rng.choice(pool) for _ in range(rng.randrange(1, 4)))


def generate(seed, types, name="p0"):
    return Generator(random.Random(f"program {seed}"), types, name).make()


# ---- values ----


def edges(t):
    """ROWS values of a dtype: what lies at its borders, then random ones."""
    rng = random.Random(f"values {t}")
    if t == "b1":
        values = [False, True]
    elif t in INTS:
        low, high = LOW[t], HIGH[t]
        values = [0, 1, 2, 3, 5, 7, 8, high, high - 1, low, low + 1, high // 2, high // 2 + 1, 10, 31, 32, 33, 63, 64, 65, 100]
        values += [-v for v in (1, 2, 3, 5, 7, 8, 33, 64, 100)] + [2 ** (INTS[t] // 2), 2 ** (INTS[t] // 2) - 1]
        values = [v for v in dict.fromkeys(values) if low <= v <= high]
        while len(values) < ROWS:
            values.append(rng.randrange(low, high + 1) if rng.random() < 0.5 else max(low, rng.randrange(-20, 100)))
    elif t in FLOATS:
        values = _float_edges(t, rng)
    else:
        parts = edges(COMPLEX[t])
        values = [complex(rng.choice(parts), rng.choice(parts)) for _ in range(ROWS)]
        values[:4] = [0j, complex(1, -1), complex(math.inf, math.nan), complex(-0.0, 0.0)]
        values[4:24] = [complex(rng.uniform(-4, 4), rng.uniform(-4, 4)) for _ in range(20)]
    return np.array([values[i % len(values)] for i in range(ROWS)], NUMPY[t])


def _float_edges(t, rng):
    info = np.finfo(NUMPY[t])
    tiny, least = float(info.tiny), float(info.smallest_subnormal)
    large, eps = float(info.max), float(info.eps)
    values = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.5, 2.0, 3.0, math.nan, math.inf, -math.inf, large, -large, tiny, -tiny,
              least, -least, 1 + eps, 1 - eps / 2, tiny - least, 0.1, 1 / 3, -2.75, 100.0, 7.0, math.pi, -math.e, 1e4, 255.0, 256.5, 32767.5]
    if t != "f2":
        values += [2.0**31, 2.0**31 - 0.5, -(2.0**31), 2.0**53 + 2, 2.0**63, -(2.0**63), 2.0**64, 1e19, 1e-20, 65536.0, 1e30]
    with np.errstate(all="ignore"):
        while len(values) < ROWS:
            values.append(float(rng.uniform(-10, 10) if rng.random() < 0.6 else rng.choice([-1, 1]) * math.ldexp(rng.random(), rng.randrange(-12, 14))))
    return values


def arrays(types):
    """Arguments: the edges of each dtype, so turned that pairs vary."""
    out = []
    for i, t in enumerate(types):
        order = np.random.default_rng([i, 7]).permutation(ROWS) if i else np.arange(ROWS)
        out.append(edges(t)[order])
    return out
