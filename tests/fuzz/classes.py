"""Random programs with classes of the user's, against CPython.

A program is a few classes (plain ones, dataclasses, namedtuples; with fields that are objects, base classes, operators, methods
that change their object) and a function that makes objects of them, gives them more names, changes them, keeps them in other
objects and in tuples, and passes them on, in branches and loops. Some get arrays of objects, and use and store elements. CPython
runs the same text, and each number must be the same.
A program may be refused with a code of REFUSED, because something else holds an object that it changes: how many are is
counted, and most must not be.

    python tests/fuzz/run.py --classes --count 2000            on the CPU; with --gpu on device arrays, with --compile for GPUs
"""

from __future__ import annotations

import ast
import random
import warnings
from typing import NamedTuple

import numpy as np

from check import ARCHITECTURES, Problem, define, space_of

BATCH = 8
ROWS = 12
ELEMENTS = 2  # of an array
NUMBERS = {"f": "f8", "i": "i8", "b": "?"}
# who holds the object; a field with no value on one path; a constant that is known too late; an element and an object in a field
REFUSED = ("E165", "E110", "E104", "E140")
OPERATORS = {"__add__": "+", "__sub__": "-", "__mul__": "*", "__or__": "|", "__matmul__": "@"}


class Method(NamedTuple):
    name: str
    params: tuple  # types
    result: object  # a type, or None
    changes: bool


class Class:
    """A class of the program: its name, and what objects have."""

    def __init__(self, name, kind, fields, params):
        self.name, self.kind, self.fields, self.params = name, kind, fields, params
        self.methods, self.operators, self.lines, self.properties = [], [], [], {}
        self.has = set()  # special methods
        self.setters = []

    @property
    def mutable(self):
        return self.kind in ("plain", "data", "slots")

    def __repr__(self):
        return self.name


# ---- programs ----


class Writer:
    def __init__(self, rng):
        self.rng, self.classes, self.helpers = rng, [], []
        self.head, self.counter = [], 0
        self.scope, self.lines, self.depth, self.fixed = {}, [], 1, set()
        self.loops, self.pure = 0, False
        self.arrays = {}  # name -> class

    # text

    def chance(self, p):
        return self.rng.random() < p

    def pick(self, items):
        return self.rng.choice(list(items))

    def line(self, text):
        self.lines.append("    " * self.depth + text)

    def fresh(self, stem):
        self.counter += 1
        return f"{stem}{self.counter}"

    def names(self, t):
        return [name for name, known in self.scope.items() if known is t or known == t]

    def objects(self, wanted=lambda c: True):
        return [(name, t) for name, t in self.scope.items() if isinstance(t, Class) and wanted(t)]

    # expressions

    def expr(self, t, depth=2):
        if isinstance(t, Class):
            return self.object(t, depth)
        return {"f": self.float, "i": self.int, "b": self.bool}[t](depth)

    def constant(self, t):
        if t == "f":
            return self.pick(["0.5", "1.5", "-2.0", "0.25", "3.0"])
        return str(self.rng.randrange(0, 6)) if t == "i" else self.pick(["True", "False"])

    def field(self, t):
        """A field, a property or an item with this type; None: there is none."""
        found = []
        for name, c in self.objects():
            found += [f"{name}.{field}" for field, ft in c.fields.items() if ft == t]
            found += [f"{name}.{prop}" for prop, pt in c.properties.items() if pt == t]
            if t == "f" and "__getitem__" in c.has:
                found.append(f"{name}[{self.rng.randrange(2)}]")
            if t == "i" and "__len__" in c.has:
                found.append(f"len({name})")
            for field, ft in c.fields.items():
                if isinstance(ft, Class):
                    found += [f"{name}.{field}.{inner}" for inner, it in ft.fields.items() if it == t]
        return self.pick(found) if found else None

    def method(self, t, depth):
        """A call of a method that gives this type."""
        found = [(name, m) for name, c in self.objects() for m in c.methods if m.result == t and not (m.changes and self.pure)]
        if not found:
            return None
        name, method = self.pick(found)
        return f"{name}.{method.name}({', '.join(self.expr(p, depth - 1) for p in method.params)})"

    def helper(self, t, depth):
        found = [h for h in self.helpers if h[2] == t and not self.pure]
        if not found:
            return None
        name, params, _ = self.pick(found)
        return f"{name}({', '.join(self.argument(p, depth - 1) for p in params)})"

    def argument(self, t, depth):
        """An object is mostly made for the call, so that the callee may change it."""
        names = self.names(t) if isinstance(t, Class) else []
        return self.pick(names) if names and self.chance(0.5) else self.expr(t, depth)

    def atom(self, t):
        names = self.names(t)
        if names and self.chance(0.5):
            return self.pick(names)
        return (self.field(t) if self.chance(0.8) else None) or self.constant(t)

    def either(self, t, depth):
        return f"({self.expr(t, depth - 1)} if {self.bool(depth - 1)} else {self.expr(t, depth - 1)})"

    def common(self, t, depth):
        """What expressions of all numbers have, now and then."""
        r = self.rng.random()
        if depth <= 0 or r < 0.3:
            return self.atom(t)
        if r < 0.42:
            return self.method(t, depth)
        if r < 0.5:
            return self.helper(t, depth)
        return self.either(t, depth) if r < 0.55 else None

    def float(self, depth):
        found = self.common("f", depth)
        if found:
            return found
        if depth <= 0:
            return self.atom("f")
        r = self.rng.random()
        if r < 0.7:
            return f"({self.float(depth - 1)} {self.pick('+-*')} {self.pick([self.float, self.float, self.int])(depth - 1)})"
        if r < 0.85:
            return f"{self.pick(['min', 'max'])}({self.float(depth - 1)}, {self.float(depth - 1)})"
        return f"abs({self.float(depth - 1)})" if r < 0.92 else f"({self.float(depth - 1)} / 4.0)"

    def int(self, depth):
        found = self.common("i", depth)
        if found:
            return found
        if depth <= 0:
            return self.atom("i")
        r = self.rng.random()
        if r < 0.75:
            return f"(({self.int(depth - 1)} {self.pick('+-*')} {self.int(depth - 1)}) % 97)"
        return f"({self.int(depth - 1)} // 3)" if r < 0.9 else f"min({self.int(depth - 1)}, {self.int(depth - 1)})"

    def bool(self, depth):
        found = self.common("b", depth) if self.chance(0.4) else None
        if found:
            return found
        r = self.rng.random()
        if r < 0.12:
            truths = [name for name, c in self.objects(lambda c: c.has & {"__bool__", "__len__"})]
            if truths:
                return f"(not {self.pick(truths)})"
        if r < 0.2:
            inside = [name for name, c in self.objects(lambda c: "__contains__" in c.has)]
            if inside:
                return f"({self.float(0)} {self.pick(['in', 'not in'])} {self.pick(inside)})"
        if r < 0.3:
            equal = [c for c in self.classes if "__eq__" in c.has and self.names(c)]
            if equal:
                c = self.pick(equal)
                return f"({self.pick(self.names(c))} {self.pick(['==', '!='])} {self.object(c, depth - 1)})"
        if r < 0.36:
            below = [c for c in self.classes if "__lt__" in c.has and self.names(c)]
            if below:
                c = self.pick(below)
                return f"({self.pick(self.names(c))} {self.pick('<>')} {self.object(c, depth - 1)})"
        t = self.pick("fi")
        return f"({self.expr(t, depth - 1)} {self.pick(['<', '>', '<=', '!='])} {self.expr(t, depth - 1)})"

    def make(self, c, depth):
        values = [self.expr(t, depth - 1) for t in c.params.values()]
        if self.chance(0.3):
            last = list(c.params)[-1]
            values[-1] = f"{last}={values[-1]}"
        return f"{c.name}({', '.join(values)})"

    def object(self, c, depth):
        names = self.names(c)
        r = self.rng.random()
        if names and (r < 0.25 or depth <= 0 and r < 0.9):
            return self.pick(names)
        if depth <= 0:
            return self.make(c, 0)
        if names and r < 0.45 and c.operators:
            return f"({self.pick(names)} {OPERATORS[self.pick(c.operators)]} {self.object(c, depth - 1)})"
        if r < 0.55:
            found = self.method(c, depth)
            if found:
                return found
        if r < 0.62:
            found = self.helper(c, depth)
            if found:
                return found
        if r < 0.67:
            return f"({self.object(c, depth - 1)} if {self.bool(depth - 1)} else {self.object(c, depth - 1)})"
        if r < 0.72:
            inner = [f"{name}.{field}" for name, other in self.objects() for field, t in other.fields.items() if t is c]
            if inner:
                return self.pick(inner)
        return self.make(c, depth)

    # statements

    def assign(self):
        r = self.rng.random()
        t = self.pick(self.classes) if r < 0.45 else self.pick("ffib")
        known = [name for name in self.names(t) if name not in self.fixed]
        if known and self.chance(0.45 if isinstance(t, Class) else 0.6):
            self.line(f"{self.pick(known)} = {self.expr(t)}")
            return
        if self.depth > 1:
            self.line(f"{self.pick(known)} = {self.expr(t)}" if known else "pass")
            return
        name = self.fresh("o" if isinstance(t, Class) else "v")
        self.line(f"{name} = {self.expr(t)}")
        self.scope[name] = t

    def change(self):
        """A field is assigned."""
        places = []
        for name, c in self.objects(lambda c: c.mutable):
            places += [(f"{name}.{field}", t) for field, t in c.fields.items()]
            places += [(f"{name}.{prop}", c.properties[prop]) for prop in c.setters]
        for name, c in self.objects():
            for field, inner in c.fields.items():
                if isinstance(inner, Class) and inner.mutable:
                    places += [(f"{name}.{field}.{deep}", t) for deep, t in inner.fields.items()]
        if not places:
            return self.assign()
        place, t = self.pick(places)
        if t in ("f", "i") and self.chance(0.5):
            text = f"{place} += {self.expr(t)}" if t == "f" else f"{place} = ({place} + {self.expr(t)}) % 97"
        else:
            text = f"{place} = {self.expr(t)}"
        self.line(text)

    def call(self):
        """A method that changes its object, as a statement."""
        found = [(name, m) for name, c in self.objects() for m in c.methods if m.changes]
        if not found:
            return self.change()
        name, method = self.pick(found)
        text = f"{name}.{method.name}({', '.join(self.expr(p, 1) for p in method.params)})"
        target = [n for n in self.names(method.result) if n not in self.fixed] if method.result else []
        self.line(f"{self.pick(target)} = {text}" if target and self.chance(0.5) else text)

    def augment(self):
        found = [(name, c) for name, c in self.objects(lambda c: c.operators) if name not in self.fixed]
        if not found:
            return self.change()
        name, c = self.pick(found)
        self.line(f"{name} {OPERATORS[self.pick(c.operators)]}= {self.object(c, 1)}")

    def store(self):
        """An object, or an element, becomes an element."""
        if not self.arrays:
            return self.change()
        name = self.pick(self.arrays)
        self.line(f"{name}[{self.rng.randrange(ELEMENTS)}] = {self.object(self.arrays[name], 2)}")

    def swap(self):
        for c in self.rng.sample(self.classes, len(self.classes)):
            names = [n for n in self.names(c) if n not in self.fixed]
            if len(names) >= 2:
                x, y = self.rng.sample(names, 2)
                self.line(f"{x}, {y} = {y}, {x}")
                return
        self.assign()

    def walk(self):
        """A loop over objects in a tuple, or over what an object gives."""
        target = self.names("f")
        gives = [name for name, c in self.objects(lambda c: "__iter__" in c.has)]
        target = [n for n in target if n not in self.fixed]
        if not target:
            return self.assign()
        item = self.fresh("u")
        if gives and self.chance(0.5):
            self.line(f"for {item} in {self.pick(gives)}:")
            self.line(f"    {self.pick(target)} += {item}")
            return
        c = self.pick(self.classes)
        self.line(f"for {item} in ({self.object(c, 1)}, {self.object(c, 1)}):")
        self.scope[item] = c
        self.fixed.add(item)
        self.block(1)
        del self.scope[item]

    def block(self, n):
        self.depth += 1
        length = len(self.lines)
        known = dict(self.scope)
        for _ in range(n):
            self.statement()
        if len(self.lines) == length:
            self.line("pass")
        self.scope = known
        self.depth -= 1

    def branch(self):
        truths = [name for name, c in self.objects(lambda c: c.has & {"__bool__", "__len__"})]
        self.line(f"if {self.pick(truths) if truths and self.chance(0.2) else self.bool(2)}:")
        self.block(self.rng.randrange(1, 3))
        if self.chance(0.5):
            self.line("else:")
            self.block(self.rng.randrange(1, 3))

    def loop(self):
        if self.loops >= 2:
            return self.assign()
        self.loops += 1
        name = self.fresh("i")
        if self.chance(0.7):
            self.line(f"for {name} in range({self.pick([2, 3, 4])}):")
        else:
            self.line(f"{name} = 0")
            self.line(f"while {name} < {self.pick([2, 3])}:")
            self.line(f"    {name} += 1")
        known = dict(self.scope)
        self.scope[name] = "i"
        self.fixed.add(name)
        if self.chance(0.2):
            self.line(f"    if {self.bool(1)}:")
            self.line(f"        {self.pick(['break', 'continue'])}")
        self.block(self.rng.randrange(1, 4))
        self.scope = known
        self.loops -= 1

    def pair(self):
        """Objects in a tuple, and out of it."""
        c, other = self.pick(self.classes), self.pick(self.classes)
        if self.depth > 1:
            return self.change()
        name = self.fresh("t")
        self.line(f"{name} = ({self.object(c, 1)}, {self.object(other, 1)})")
        if self.chance(0.5):
            self.line(f"if {self.bool(1)}:")
            self.line(f"    {name} = ({self.object(c, 1)}, {self.object(other, 1)})")
        x, y = self.fresh("o"), self.fresh("o")
        self.line(self.pick([f"{x}, {y} = {name}", f"{x} = {name}[0]; {y} = {name}[1]"]))
        self.scope[x], self.scope[y] = c, other

    def nested(self):
        """A function in the function, that reads or changes what it captures."""
        found = self.objects(lambda c: "x" in c.fields)
        if not found or self.depth > 1:
            return self.change()
        held, c = self.pick(found)
        name, result = self.fresh("g"), self.fresh("v")
        if self.chance(0.6) or not c.mutable:
            self.line(f"{name} = lambda d: {held}.x {self.pick('+-*')} d")
        else:
            self.line(f"def {name}(d):")
            self.line(f"    {held}.x = d")
            self.line(f"    return {held}.x")
        for _ in range(self.rng.randrange(0, 2)):
            self.statement()
        self.line(f"{result} = {name}({self.expr('f', 1)})")
        self.scope[result] = "f"

    def named(self):
        """An object that gets its name in an expression."""
        c = self.pick(self.classes)
        known = [n for n in self.names(c) if n not in self.fixed]
        if self.depth > 1 and not known:
            return self.change()
        name = self.pick(known) if known and (self.depth > 1 or self.chance(0.3)) else self.fresh("o")
        result = self.fresh("v") if self.depth == 1 else None
        text = f"({name} := {self.object(c, 1)}).x"
        self.line(f"{result} = {text}" if result else text)
        self.scope[name] = c
        if result:
            self.scope[result] = "f"

    def statement(self):
        r = self.rng.random()
        if self.chance(0.08):
            return self.pick([self.pair, self.nested, self.named])()
        if self.arrays and self.depth <= 3 and self.chance(0.15):
            return self.store()
        if self.depth > 3 or r < 0.3:
            return self.assign()
        if r < 0.48:
            return self.change()
        if r < 0.62:
            return self.call()
        if r < 0.68:
            return self.augment()
        if r < 0.71:
            return self.swap()
        if r < 0.77:
            return self.walk()
        return self.branch() if r < 0.89 else self.loop()

    # classes

    def begin(self, scope):
        """A body of its own: returns what was, for `end`."""
        was = self.scope, self.lines, self.depth, self.loops, self.fixed
        self.scope, self.lines, self.depth, self.loops, self.fixed = dict(scope), [], 2, 0, set(scope)
        return was

    def end(self, was):
        lines = self.lines
        self.scope, self.lines, self.depth, self.loops, self.fixed = was
        return lines

    def draw_fields(self):
        fields = {name: self.pick("fffib") for name in "xyz"[: self.rng.randrange(1, 4)]}
        fields["x"] = "f"
        inner = [c for c in self.classes]
        if inner and self.chance(0.45):
            fields["p"] = self.pick(inner)
        return fields

    def make_class(self):
        kind = self.pick(["plain", "plain", "plain", "data", "data", "frozen", "named", "slots"])
        c = Class(f"C{len(self.classes)}", kind, self.draw_fields(), {})
        c.params = dict(c.fields)
        bases = [b for b in self.classes if b.kind == "plain"]
        base = self.pick(bases) if kind == "plain" and bases and self.chance(0.3) else None
        if base is not None:
            c.fields = {**base.fields, "w": "f"}
            c.params = {**base.params, "w": "f"}
        body = self.derived_init(c, base) if base else {"plain": self.plain_init, "slots": self.plain_init}.get(kind, self.declared)(c)
        decorators = {"data": ["@dataclasses.dataclass"], "frozen": ["@dataclasses.dataclass(frozen=True)"]}.get(kind, [])
        parent = f"({base.name})" if base else "(typing.NamedTuple)" if kind == "named" else ""
        if base is not None:
            c.methods, c.properties = [m for m in base.methods if not isinstance(m.result, Class)], dict(base.properties)  # what gives an object, gives a base's
            c.has, c.setters = set(base.has), list(base.setters)
        lines = [*decorators, f"class {c.name}{parent}:", *body]
        for _ in range(self.rng.randrange(1, 4)):
            lines += self.make_method(c, base)
        for make in self.rng.sample([self.operator, self.compare, self.truth, self.container, self.prop, self.prop], self.rng.randrange(1, 5)):
            lines += make(c)
        self.classes.append(c)
        self.head += lines

    def plain_init(self, c):
        lines = ["    __slots__ = (" + "".join(f"'{name}', " for name in c.fields) + ")"] if c.kind == "slots" else [f"    LIMIT = {self.constant('f')}"]
        lines.append(f"    def __init__(self, {', '.join(c.params)}):")
        names = list(c.fields)
        self.rng.shuffle(names)
        was = self.begin({name: t for name, t in c.params.items()})
        for name in names:
            t = c.fields[name]
            if self.chance(0.75):
                self.line(f"self.{name} = {name}")
            elif self.chance(0.6):
                self.line(f"self.{name} = {self.expr(t, 1)}")
            else:
                self.line(f"if {self.bool(1)}:")
                self.line(f"    self.{name} = {name}")
                self.line("else:")
                self.line(f"    self.{name} = {self.expr(t, 1)}")
        return lines + self.end(was)

    def declared(self, c):
        python = {"f": "float", "i": "int", "b": "bool"}
        lines = [f"    {name}: {python.get(t, t)}" for name, t in c.fields.items()]
        if c.kind == "data" and self.chance(0.5):
            form = self.rng.randrange(3)
            if form == 0:
                lines.append("    e: float = dataclasses.field(init=False, default=0.5)")
            elif form == 1:
                lines.append("    e: float = dataclasses.field(init=False, default_factory=float)")
            else:
                lines.append("    e: float = dataclasses.field(init=False)")
                lines += ["    k: dataclasses.InitVar[float] = 1.5", "    def __post_init__(self, k):", "        self.e = self.x * k"]
            c.fields["e"] = "f"
        c.has.add("__eq__")
        return lines

    def derived_init(self, c, base):
        given = ", ".join(base.params)
        call = self.pick([f"super().__init__({given})", f"{base.name}.__init__(self, {given})"])
        return [f"    def __init__(self, {', '.join(c.params)}):", f"        {call}", f"        self.w = {self.pick(['w', 'w + self.x', 'w * 2.0'])}"]

    def make_method(self, c, base):
        changes = c.mutable and self.chance(0.5)
        override = base is not None and base.methods and self.chance(0.3)
        if override:
            old = self.pick(base.methods)
            if old.changes or old.result is None or isinstance(old.result, Class):
                return []
            inner = f"super().{old.name}({', '.join('abc'[:len(old.params)])})"
            wrap = {"f": f"{inner} + self.w", "i": f"({inner} + 1) % 97", "b": f"not {inner}"}[old.result]
            return [f"    def {old.name}(self{''.join(', ' + n for n in 'abc'[:len(old.params)])}):", f"        return {wrap}"]
        params = tuple(self.pick(["f", "f", "i", c]) if self.chance(0.8) or not self.classes else self.pick(self.classes) for _ in range(self.rng.randrange(0, 3)))
        result = self.pick(["f", "f", "i", "b", None, c]) if changes else self.pick(["f", "f", "i", "b", c])
        name = f"m{len(c.methods)}_{c.name.lower()}"
        self.classes.append(c)
        was = self.begin({"self": c, **dict(zip("abc", params))})
        self.pure = not changes
        if changes:
            for _ in range(self.rng.randrange(1, 4)):
                self.self_change(c)
        if self.chance(0.2) and changes:
            self.branch()
        if result is not None:
            self.line(f"return {self.given(c, changes) if result is c else self.expr(result, 2)}")
        self.pure = False
        lines = self.end(was)
        self.classes.pop()
        c.methods.append(Method(name, params, result, changes))
        return [f"    def {name}(self{''.join(', ' + n for n in 'abc'[:len(params)])}):", *lines]

    def given(self, c, changes):
        """The object that a method gives: itself, one of its fields, a new one."""
        inner = [f"self.{name}" for name, t in c.fields.items() if t is c]
        if self.chance(0.35 if changes else 0.15):
            return "self"
        return self.pick(inner) if inner and self.chance(0.5) else self.object(c, 1) if self.chance(0.2) else self.make(c, 1)

    def self_change(self, c):
        name, t = self.pick(c.fields.items())
        if isinstance(t, Class) and t.mutable and self.chance(0.5):
            inner, it = self.pick(t.fields.items())
            self.line(f"self.{name}.{inner} = {self.expr(it, 1)}")
        elif t == "f" and self.chance(0.6):
            self.line(f"self.{name} {self.pick(['+=', '-=', '*='])} {self.expr(t, 1)}")
        else:
            self.line(f"self.{name} = {self.expr(t, 1)}")

    def operator(self, c):
        name = self.pick(OPERATORS)
        if name in c.operators:
            return []
        values = []
        for field, t in c.params.items():
            x, y = f"self.{field}", f"other.{field}"
            values.append({"f": f"{x} {self.pick('+-*')} {y}", "i": f"({x} + {y}) % 97", "b": f"{x} or {y}"}.get(t, self.pick([x, y])))
        c.operators.append(name)
        return [f"    def {name}(self, other):", f"        return {c.name}({', '.join(values)})"]

    def compare(self, c):
        if "__lt__" in c.has or c.kind == "named":
            return []
        c.has.add("__lt__")
        lines = ["    def __lt__(self, other):", "        return self.x < other.x"]
        if c.kind in ("plain", "slots") and "__eq__" not in c.has:
            c.has.add("__eq__")
            lines += ["    def __eq__(self, other):", "        return self.x == other.x"]
        return lines

    def truth(self, c):
        if c.kind == "named":
            return []
        if self.chance(0.6):
            c.has.add("__bool__")
            return ["    def __bool__(self):", "        return bool(self.x > 0.5)"]
        c.has.add("__len__")
        return ["    def __len__(self):", "        return 2 if self.x > 0.0 else 0"]

    def container(self, c):
        if c.kind == "named":
            return []
        form = self.rng.randrange(3)
        floats = [name for name, t in c.fields.items() if t == "f"]
        if form == 0:
            c.has.add("__iter__")
            return ["    def __iter__(self):", f"        return iter(({''.join(f'self.{n}, ' for n in floats)}))"]
        if form == 1:
            c.has.add("__contains__")
            return ["    def __contains__(self, v):", f"        return self.x <= v and v < self.{self.pick(floats)} + 3.0"]
        c.has.add("__getitem__")
        return ["    def __getitem__(self, i):", f"        return self.x if i == 0 else self.{self.pick(floats)} * 2.0"]

    def prop(self, c):
        name = f"q{len(c.properties)}"
        if name in c.properties:
            return []
        was = self.begin({"self": c})
        self.pure = True
        lines = ["    @property", f"    def {name}(self):", f"        return {self.expr('f', 1)}"]
        self.pure = False
        self.end(was)
        c.properties[name] = "f"
        if c.mutable and self.chance(0.4):
            c.setters.append(name)
            lines += [f"    @{name}.setter", f"    def {name}(self, v):", f"        self.x = v {self.pick(['', '* 2.0', '+ self.x'])}".rstrip()]
        return lines

    # functions

    def make_helper(self):
        params = tuple(self.pick([*self.classes, "f"]) for _ in range(self.rng.randrange(1, 3)))
        result = self.pick([*self.classes, "f"])
        was = self.begin(dict(zip("abc", params)))
        self.depth = 1
        self.fixed = set()
        for _ in range(self.rng.randrange(0, 3)):
            self.statement()
        self.line(f"return {self.expr(result)}")
        lines = self.end(was)
        name = f"h{len(self.helpers)}"
        self.head += [f"def {name}({', '.join('abc'[: len(params)])}):", *lines]
        self.helpers.append((name, params, result))

    def results(self):
        """All that can be seen of what there is in the end."""
        values = []
        for name, t in self.scope.items():
            values += _numbers(name, t, 2)
        return values[:40]

    def dtype(self, c):
        """The text of a class's dtype."""
        fields = {name: self.dtype(t) if isinstance(t, Class) else {"f": "float", "i": "int", "b": "bool"}[t] for name, t in c.fields.items()}
        return f"dtype_of({c.name}, {', '.join(f'{name}={text}' for name, text in fields.items())})"

    def program(self, types, with_arrays):
        for _ in range(self.rng.randrange(1, 4)):
            self.make_class()
        for _ in range(self.rng.randrange(0, 3)):
            self.make_helper()
        self.scope = dict(zip("abc", types))
        if with_arrays:
            self.arrays = {f"r{k}": self.pick(self.classes) for k in range(self.rng.randrange(1, 3))}
        for name, c in self.arrays.items():  # elements are names that nothing else is given to
            for k in range(ELEMENTS):
                self.scope[f"{name}[{k}]"] = c
                self.fixed.add(f"{name}[{k}]")
        for _ in range(self.rng.randrange(3, 10)):
            self.statement()
        values = self.results()
        self.line(f"return {', '.join(values)},")
        head = "import dataclasses\nimport typing\n"
        if self.arrays:
            head += "from lanewise.extending import dtype_of\n"
            self.head.append(f"DTYPES = [{', '.join(map(self.dtype, self.arrays.values()))}]")
        return head + "\n".join([*self.head, f"def f({', '.join([*'abc'[: len(types)], *self.arrays])}):", *self.lines]) + "\n"


def _numbers(text, t, depth):
    if not isinstance(t, Class):
        return [text]
    if depth == 0:
        return []
    return [leaf for field, ft in t.fields.items() for leaf in _numbers(f"{text}.{field}", ft, depth - 1)]


def generate(rng, with_arrays=False):
    """(text, types of the numbers among the parameters)"""
    types = tuple(rng.choice("ffib") for _ in range(rng.randrange(1, 4)))
    return Writer(rng).program(types, with_arrays), types


# ---- running ----


def function_of(source):
    return define(source, "f")


def values_of(types):
    rng = random.Random("values")
    rows = []
    for k in range(ROWS):
        rows.append(tuple(rng.choice([0.0, -0.5, 1.0, 2.25, rng.uniform(-3, 3)]) if t == "f" else rng.randrange(0, 9) if t == "i" else k % 2 == 0 for t in types))
    return rows


def arrays_of(space):
    """The arrays that the function gets, filled with small numbers."""
    arrays = [np.zeros(ELEMENTS, dtype) for dtype in space.get("DTYPES", [])]
    for k, array in enumerate(arrays):
        _fill(array, k + 1)
    return arrays


def _fill(array, k):
    for i, name in enumerate(array.dtype.names):
        if array.dtype[name].names:
            _fill(array[name], k + i + 1)
        else:
            array[name] = (np.arange(len(array)) * (i + 1) + k) % 5 if array.dtype[name].kind != "f" else (np.arange(len(array)) - i + k) / 2


def call_with_arrays(f, space, rows):
    """Results, and what the arrays hold then."""
    found = []
    for row in rows:
        arrays = arrays_of(space)
        result = f(*row, *arrays)
        found.append(tuple(v.item() if isinstance(v, np.generic) else v for v in (*result, *_leaves(arrays))))
    return found


def _leaves(arrays):
    for array in arrays:
        for name in array.dtype.names:
            yield from _leaves([array[name]]) if array.dtype[name].names else array[name]


def expected(source, types):
    """The results of all rows; an exception where CPython raises one."""
    import lanewise as lw

    space = space_of(source)
    if "DTYPES" not in space:
        return [space["f"](*row) for row in values_of(types)]
    with lw.config(target="python"), np.errstate(all="ignore"):
        return call_with_arrays(lw.jit(space["f"]), space, values_of(types))


def differs(got, want):
    if type(got) is not type(want):
        return f"a {type(got).__name__} and no {type(want).__name__}"
    if got != got and want != want:
        return ""
    same = got == want and (got != 0 or not isinstance(got, float) or str(got) == str(want))
    return "" if same else f"{got!r}, expected {want!r}"


def run(source, types, door):
    """Rows of results by this door."""
    import lanewise as lw

    rows = values_of(types)
    space = space_of(source)
    f = space["f"]
    if "DTYPES" in space:
        return call_with_arrays(lw.jit(fma=False, cache=False, warn=False)(f), space, rows)
    if door == "jit":
        compiled = lw.jit(fma=False, cache=False, warn=False)(f)
        return [compiled(*row) for row in rows]
    compiled = lw.vectorize(fma=False, cache=False, warn=False)(f)
    columns = [np.array(column, NUMBERS[t]) for column, t in zip(zip(*rows), types)]
    if door == "device":
        columns = [lw.cuda.to_device(column) for column in columns]
    out = compiled(*columns)
    out = [o.copy_to_host() if door == "device" else o for o in (out if isinstance(out, tuple) else (out,))]
    return list(zip(*(o.tolist() for o in out)))


def compile_for(source, types, arch):
    import lanewise as lw

    names = ", ".join({"f": "float64", "i": "int64", "b": "bool"}[t] for t in types)
    lw.compile(function_of(source), f"({names})", target=arch, output="cubin")


def _told(problem):
    return "".join(f"# {line}\n" for line in f"{type(problem).__name__}: {problem}".splitlines()[:12])


def check(source, types, door):
    """"refused", "" where all is well, or what is wrong. door: "jit", "vectorize", "device" or an architecture."""
    import lanewise as lw

    want = expected(source, types)
    try:
        if door.startswith("sm_"):
            compile_for(source, types, door)
            return ""
        got = run(source, types, door)
    except lw.errors.CompileError as refusal:
        return "refused" if refusal.code in REFUSED and refusal.lineno else _told(refusal)
    except Exception as problem:
        return _told(problem)
    for row, mine, theirs in zip(values_of(types), got, want):
        for i, (x, y) in enumerate(zip(mine, theirs, strict=True)):
            if differs(x, y):
                return f"# value {i} of f{row}: {differs(x, y)}\n"
    return ""


# ---- the smallest ----


class _Without(ast.NodeTransformer):
    """Leaves out the statement with this number."""

    def __init__(self, number):
        self.number, self.seen = number, 0

    def visit(self, node):
        if isinstance(node, ast.stmt):
            self.seen += 1
            if self.seen - 1 == self.number and not isinstance(node, ast.Import):
                if isinstance(node, (ast.If, ast.For, ast.While)) and self.flat:
                    return [self.generic_visit(n) for n in node.body]
                return None
        return self.generic_visit(node)

    flat = False


def without(source, number, flat):
    """None: there is no such statement, or the rest is no program."""
    maker = _Without(number)
    maker.flat = flat
    tree = maker.visit(ast.parse(source))
    if maker.seen <= number:
        return None
    for node in ast.walk(tree):
        if hasattr(node, "body") and isinstance(node.body, list) and not node.body and not isinstance(node, ast.Module):
            node.body.append(ast.Pass())
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def fails(source, types, door, kind):
    try:
        with np.errstate(all="ignore"):
            wrong = check(source, types, door)
    except Exception:  # CPython refuses it
        return False
    return wrong not in ("", "refused") and kind_of(wrong) == kind


def kind_of(wrong):
    return wrong.split(":")[1].strip()[:5] if "Error:" in wrong else wrong[:7]


def smallest(source, types, door):
    kind, at, flat = kind_of(check(source, types, door)), 0, False
    while True:
        fewer = without(source, at, flat)
        if fewer is None:
            if flat:
                return source
            at, flat = 0, True
        elif fewer != source and fails(fewer, types, door, kind):
            source, at, flat = fewer, 0, False
        else:
            at += 1


# ---- batches ----


def doors_of(seed, gpu):
    return ARCHITECTURES[seed % len(ARCHITECTURES)] if gpu == "compile" else "device" if gpu else ("jit", "vectorize")[seed % 2]


def programs(seed, size=BATCH, with_arrays=True):
    """Programs that CPython takes; one in three with arrays."""
    for i in range(size):
        source, types = generate(random.Random(f"classes {seed} {i}"), with_arrays and (seed + i) % 3 == 0)
        try:
            expected(source, types)
        except Exception:  # recursion of methods without end, and the like
            continue
        yield source, types


def check_batch(seed, size=BATCH, gpu=False, counts=None):
    """(programs looked at, [check.Problem])."""
    warnings.simplefilter("ignore")
    found, n = [], 0
    for i, (source, types) in enumerate(programs(seed, size, with_arrays=not gpu)):
        door = doors_of(seed + i, gpu)
        wrong = check(source, types, door)
        n += 1
        if counts is not None:
            counts["refused" if wrong == "refused" else "wrong" if wrong else "good"] += 1
        if wrong not in ("", "refused"):
            small = smallest(source, types, door)
            found.append(Problem(door, small, types, check(small, types, door)))
    return n, found
