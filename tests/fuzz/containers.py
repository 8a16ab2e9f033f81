"""Random programs of lists, dicts, sets, tuples, lists of views, and `try`, against CPython.

Numbers stay small, so that Python's ints and floats are exactly what compiled code has: results and their types, the class of an
exception and what is written into the argument `x` must be equal. A program that is not compiled, with an error of its own code, is
not a problem: what compiled code refuses is counted by the errors' codes. What functions allocate must be freed, also behind an exception.
"""

from __future__ import annotations

import collections
import random
import warnings

import numpy as np

import lanewise as lw
from check import Problem, define
from recursion import kept_memory

BATCH = 8
HEAD = """import numpy as np


def near(v):
    return min(max(v, -60), 60)


def total(values):
    s = 0.0
    for v in values:
        s = near(s + v)
    return s


def grown(values, v):
    values.append(v)
    return len(values)


def evens(values):
    return [v for v in values if v % 2 == 0]


def counted(values):
    found = {}
    for v in values:
        found[v] = found.get(v, 0) + 1
    return found


"""
CODES = collections.Counter()  # of the errors of programs that were not compiled


class Writer:
    """One program, `f(x, n, k)`: x is an array of 6 floats, n and k are ints from 0 to 5. A variable's name begins with the letter of its type:
    i, f, t, p: an int, a float, a string, a pair of an int and a float; li, lf, lt, lp: lists of these; d: a dict of ints and floats; e: of
    strings and ints; s: a set of ints; z: of strings; a: an array; m: a list of arrays;
    g: a list of lists of ints; h: a dict of ints and such lists; q: of ints and dicts of ints and floats."""

    def __init__(self, rng):
        self.rng, self.names, self.lines, self.depth, self.busy = rng, [{"i": ["n", "k"], "a": ["x"]}], [], 1, []
        self.made, self.loops = collections.Counter(), 0

    # ---- names ----

    def known(self, kind):
        return [name for scope in self.names for name in scope.get(kind, ())]

    def free(self, kind):
        """Containers that no loop runs over: they may change."""
        return [name for name in self.known(kind) if name not in self.busy]

    def new(self, kind):
        self.made[kind] += 1
        name = f"{kind}{self.made[kind]}"
        self.names[-1].setdefault(kind, []).append(name)
        return name

    def pick(self, *options):
        return self.rng.choice(options)

    # ---- expressions ----

    def place(self):
        return self.pick("0", "-1", "1", "n", "k", "-2", "n - k", "3")

    def bound(self):
        return self.pick("", "1", "n", "k", "-1", "-n", "2", "n + k", "-9", "9")

    def slice(self):
        return f"{self.bound()}:{self.bound()}" + self.pick("", "", "", ":2", ":-1", ":k + 1")

    def item(self, kind, depth=2):
        return {"i": self.int, "f": self.float, "p": self.pair, "t": self.text}[kind](depth)

    def text(self, depth=2):
        kind = self.rng.randrange(8)
        if depth > 0 and kind == 0:
            return f"({self.text(0)} if {self.condition(depth - 1)} else {self.text(0)})"
        if depth > 0 and kind == 1 and (lists := self.known("lt")):
            name = self.pick(*lists)
            return self.pick(f"{name}[{self.place()}]", f"max({name}, default='')", f"min({name})")
        if kind == 2:
            return f"('a', 'bc', 'd')[{self.int(0)} % 3]"
        return self.pick(*self.known("t"), '"a"', '"bc"', '""', '"é"', '"a"')

    def int(self, depth=2):
        kind = self.rng.randrange(13)
        if depth <= 0 or kind < 2:
            return self.pick(*self.known("i"), "1", "2", "-3")
        if kind == 12 and (lists := self.known("g") + self.known("h")):
            name = self.pick(*lists)
            return self.pick(f"{name}[{self.place()}][{self.place()}]", f"len({name}[{self.place()}])", f"near(sum({name}[{self.place()}]))", f"len({name})")
        if kind < 6:
            return f"near({self.int(depth - 1)} {self.pick('+', '-', '*')} {self.int(depth - 1)})"
        if kind == 6:
            return f"({self.int(depth - 1)} if {self.condition(depth - 1)} else {self.int(depth - 1)})"
        if kind == 7 and (lists := [name for kind in ("li", "lf", "lp", "lt", "d", "e", "s", "z", "m", "t") for name in self.known(kind)]):
            return f"len({self.pick(*lists)})"
        if kind == 3 and (dicts := self.known("e")):
            name = self.pick(*dicts)
            return self.pick(f"{name}[{self.text(1)}]", f"{name}.get({self.text(1)}, {self.int(0)})", f"near(sum({name}.values()))")
        if kind == 8 and (lists := self.known("li")):
            name = self.pick(*lists)
            return self.pick(f"{name}[{self.place()}]", f"near(sum({name}))", f"max({name}, default=7)", f"{name}.count({self.int(0)})", f"{name}.index({self.int(0)})", f"min({name})")
        if kind == 9 and (pairs := self.known("lp")):
            return f"{self.pick(*pairs)}[{self.place()}][0]"
        if kind == 10 and (pairs := self.known("p")):
            return f"{self.pick(*pairs)}[0]"
        if kind == 11 and (lists := self.known("li")):
            return f"near(sum([v * 2 for v in {self.pick(*lists)} if v > {self.int(0)}]))"
        return f"{self.int(depth - 1)} % 5"

    def float(self, depth=2):
        kind = self.rng.randrange(13)
        if depth <= 0 or kind < 2:
            return self.pick(*self.known("f"), "0.5", "1.25", "-2.0")
        if kind == 12 and (dicts := self.known("q")):
            name = self.pick(*dicts)
            return self.pick(f"{name}[{self.int(0)}][{self.int(0)}]", f"{name}[{self.int(0)}].get({self.int(0)}, 0.5)", f"float(len({name}))")
        if kind < 5:
            return f"near({self.float(depth - 1)} {self.pick('+', '-')} {self.float(depth - 1)})"
        if kind == 5:
            return f"float({self.int(depth - 1)})"
        if kind == 6:
            return f"x[{self.int(0)} % 6]"
        if kind == 7 and (lists := self.known("lf")):
            name = self.pick(*lists)
            return self.pick(f"{name}[{self.place()}]", f"near(sum({name}))" if self.rng.random() < 0.3 else f"total({name})", f"max({name})", f"min({name}, default=0.25)")
        if kind == 8 and (dicts := self.known("d")):
            name = self.pick(*dicts)
            return self.pick(f"{name}[{self.int(0)}]", f"{name}.get({self.int(0)}, {self.float(0)})", f"total({name}.values())")
        if kind == 9 and (pairs := self.known("p")):
            return f"{self.pick(*pairs)}[1]"
        if kind == 10 and (rows := self.known("m")):
            name = self.pick(*rows)
            return self.pick(f"near({name}[{self.place()}].sum())", f"near(sum([r.sum() for r in {name}], 0.0))", f"float({name}[{self.place()}].size)")
        if kind == 11 and (arrays := self.known("a")):
            return f"near({self.pick(*arrays)}.sum())"
        return f"near({self.float(depth - 1)} * 0.5)"

    def pair(self, depth=1):
        if self.known("p") and self.rng.random() < 0.3:
            return self.pick(*self.known("p"))
        return f"({self.int(depth - 1)}, {self.float(depth - 1)})"

    def condition(self, depth=1):
        kind = self.rng.randrange(10)
        if kind == 8 and (lists := self.known("lt") + self.known("z") + self.known("e") + self.known("t")):
            return f"{self.text(0)} {self.pick('in', 'not in')} {self.pick(*lists)}"
        if kind == 9:
            return f"{self.text(1)} {self.pick('==', '!=', '<', '>=')} {self.text(0)}"
        if kind == 0 and (lists := self.known("li") + self.known("s") + self.known("d")):
            return f"{self.int(0)} {self.pick('in', 'not in')} {self.pick(*lists)}"
        if kind == 1 and (lists := [name for kind in ("li", "lf", "lt", "d", "e", "s", "z", "m", "t") for name in self.known(kind)]):
            return self.pick("", "not ") + self.pick(*lists)
        if kind == 2 and len(lists := self.known(self.pick("li", "lt"))) > 1:
            return f"{self.pick(*lists)} {self.pick('==', '!=', '<', '>=')} {self.pick(*lists)}"
        if kind == 3 and depth > 0:
            return f"({self.condition(0)} {self.pick('and', 'or')} {self.condition(0)})"
        if kind == 4:
            return f"{self.float(0)} {self.pick('<', '>')} {self.float(0)}"
        return f"{self.int(0)} {self.pick('<', '>', '==', '<=')} {self.int(1)}"

    # ---- statements ----

    def put(self, line):
        self.lines.append("    " * self.depth + line)

    def block(self, n, *, before=()):
        self.depth += 1
        self.names.append({})
        for kind, name in before:
            self.names[-1].setdefault(kind, []).append(name)
        for _ in range(n):
            self.statement()
        self.names.pop()
        self.depth -= 1

    def statement(self):
        kinds = [self.number, self.texts, self.change_texts, self.list, self.list, self.change_list, self.change_list, self.change_list, self.branch, self.loop, self.loop, self.dict, self.change_dict,
                 self.change_dict, self.set, self.change_set, self.tuple, self.tuple, self.rows, self.change_rows, self.array, self.attempt, self.leave, self.call, self.nested, self.change_nested, self.change_nested]  # fmt: skip
        kind = self.rng.choice(kinds) if self.depth < 5 else self.number
        is_nested = kind in (self.nested, self.change_nested)
        if any(name[0] in "lg" for name in self.busy) and (is_nested or (kind in (self.change_list, self.call) and self.made["g"] + self.made["h"])):
            kind = self.number  # a loop over a list that grows by another name might not end
        kind()

    def number(self):
        kind = self.pick("i", "f", "t")
        value = self.item(kind)
        if self.known(kind) and self.rng.random() < 0.4:
            names = [name for name in self.known(kind) if name not in ("n", "k") and name not in self.busy]
            if names:
                return self.put(f"{self.pick(*names)} = {value}")
        self.put(f"{self.new(kind)} = {value}")

    def list(self):
        kind = self.pick("i", "i", "f", "p", "t")
        known = self.known("l" + kind)
        forms = ["literal", "comprehension", "empty", "repeat"] + (["slice", "copy", "sorted", "plus", "times", "filtered", "reversed"] if known else [])
        form = self.rng.choice(forms)
        if form == "literal":
            value = f"[{', '.join(self.item(kind) for _ in range(self.rng.randrange(1, 4)))}]"
        elif form == "comprehension":
            inner = {"i": "j * 2", "f": "j * 0.5", "p": "(j, j * 0.25)", "t": "('x', 'bc')[j % 2]"}[kind]
            value = f"[{inner} for j in range({self.int(0)})]" if self.rng.random() < 0.6 else f"[{inner} for j in range(n) if j != {self.int(0)}]"
        elif form == "empty":
            name = self.new("l" + kind)
            self.put(f"{name} = []")
            return self.put(f"{name}.append({self.item(kind)})") if self.rng.random() < 0.7 else self.put(f"for j in range({self.pick('n', 'k', '3')}): {name}.append({self.item(kind, 1)})")
        elif form == "repeat":
            value = f"[{self.item(kind, 1)}] * {self.int(0)}"
        else:
            other = self.pick(*known)
            value = {
                "slice": f"{other}[{self.slice()}]", "copy": self.pick(f"{other}.copy()", f"list({other})", f"{other}[:]"), "sorted": f"sorted({other}{self.pick('', ', reverse=True')})",
                "plus": f"{other} + {self.pick(*known)}", "times": f"{other} * {self.pick('2', 'k', '0')}", "filtered": f"[v for v in {other} if v != {self.item(kind, 0)}]",
                "reversed": f"list(reversed({other}))",
            }[form]  # fmt: skip
        self.put(f"{self.new('l' + kind)} = {value}")

    def change_list(self):
        kind = self.pick("i", "i", "f", "p", "t")
        known = self.free("l" + kind)
        if not known:
            return self.list()
        name, other = self.pick(*known), self.pick(*self.known("l" + kind))
        guard = f"if {name}: " if self.rng.random() < 0.6 else ""
        forms = [
            f"{name}.append({self.item(kind)})", f"{name}.insert({self.place()}, {self.item(kind)})", f"{name}.extend({other})", f"{name} += {other}", f"{guard}{name}.pop()",
            f"{guard}{name}.pop({self.pick('0', '-1')})", f"{name}.remove({self.item(kind, 0)})", f"{guard}{name}[{self.pick('0', '-1')}] = {self.item(kind)}", f"{name}[{self.place()}] = {self.item(kind)}",
            f"{guard}del {name}[0]", f"del {name}[{self.slice()}]", f"{name}.reverse()", f"{name}.sort({self.pick('', 'reverse=True')})", f"{name}.clear()", f"{name}[{self.bound()}:{self.bound()}] = {other}",
            f"{name} = {name}[{self.slice()}]", f"{name} = {name} + {other}", f"{name} += [{self.item(kind)}, {self.item(kind)}]", f"{name}.extend([{self.item(kind, 1)} for j in range(n)])",
            f"{name} = sorted({name})", f"{name}[{self.place()}], {name}[{self.place()}] = {name}[{self.place()}], {name}[{self.place()}]", f"{name} = [{self.item(kind, 1)}]",
        ]  # fmt: skip
        if kind == "p":
            forms += [f"{name}.sort(key=lambda p: p[1])", f"{name}.sort(key=lambda p: -p[0])"]
        elif kind == "t":
            forms += [f"{name}.sort(key=lambda v: -len(v))", f"{name}.sort(key=len)"]
        else:
            forms += [f"{name}[{self.place()}] {self.pick('+=', '-=')} {self.item(kind, 1)}", f"{name}.sort(key=lambda v: -v)", f"{name}.sort(key=abs)"]
        self.put(self.rng.choice(forms))

    def branch(self):
        self.put(f"if {self.condition()}:")
        self.block(self.rng.randrange(1, 3))
        if self.rng.random() < 0.4:
            self.put("else:")
            self.block(self.rng.randrange(1, 3))

    def loop(self):
        self.loops += 1
        if self.loops > 4:
            return self.number()
        sizes = [name for kind in ("li", "lf", "lp", "lt", "m", "g") for name in self.known(kind) if name[0] in "lmg"]
        kind = self.rng.randrange(10)
        before, over = [], None
        if kind < 2 or not sizes:
            variable = f"j{self.loops}"
            head, before = f"for {variable} in range({self.pick('n', 'k', '3', 'n, -1, -1', '1, n')}):", [("i", variable)]
        elif kind == 2 and self.free("li"):
            name = self.pick(*self.free("li"))
            head, before, over = f"while {name}:", [], name
        elif kind == 3:
            name = self.pick(*sizes)
            variable = f"j{self.loops}"
            head, before = f"for {variable} in range(len({name})):", [("i", variable)]
        elif kind == 4 and self.known("d"):
            name = self.pick(*self.known("d"))
            head, before, over = f"for u{self.loops}, w{self.loops} in {name}.items():", [("i", f"u{self.loops}"), ("f", f"w{self.loops}")], name
        elif kind == 4 and self.known("e"):
            name = self.pick(*self.known("e"))
            head, before, over = f"for u{self.loops}, w{self.loops} in {name}.items():", [("t", f"u{self.loops}"), ("i", f"w{self.loops}")], name
        elif kind == 5 and self.known("li") and self.known("lf"):
            name = self.pick(*self.known("li"))
            head, before, over = f"for u{self.loops}, w{self.loops} in zip({name}, {self.pick(*self.known('lf'))}):", [("i", f"u{self.loops}"), ("f", f"w{self.loops}")], name
        elif kind == 6 and self.known("lp"):
            name = self.pick(*self.known("lp"))
            head, before, over = f"for u{self.loops}, w{self.loops} in {name}:", [("i", f"u{self.loops}"), ("f", f"w{self.loops}")], name
        else:
            name = self.pick(*sizes)
            letter = {"l": name[1], "m": "a", "g": "li"}[name[0]]
            variable = f"v{self.loops}"
            head, before, over = f"for {variable} in {name}:", [(letter, variable)], name
            if self.rng.random() < 0.3:
                head, before = f"for j{self.loops}, {variable} in enumerate({name}):", [(letter, variable), ("i", f"j{self.loops}")]
        self.put(head)
        self.depth += 1
        if head.startswith("while"):
            self.put(f"steps = {over}.pop()")
        if self.rng.random() < 0.3:
            self.put(f"if {self.condition(0)}: {self.pick('break', 'continue')}")
        self.depth -= 1
        self.busy += [over] * (over is not None) + [name for _, name in before]
        self.block(self.rng.randrange(1, 4), before=before)
        self.busy = self.busy[: len(self.busy) - (over is not None) - len(before)]
        if self.rng.random() < 0.15:
            self.put("else:")
            self.block(1)

    def dict(self):
        name = self.new("d")
        value = self.pick(f"{{{self.int(1)}: {self.float(1)}}}", f"{{j: j * 0.5 for j in range({self.int(0)})}}", "{}")
        self.put(f"{name} = {value}")
        if value == "{}":
            self.put(f"{name}[{self.int()}] = {self.float()}")

    def change_dict(self):
        known = self.free("d")
        if not known:
            return self.dict()
        name, key, value = self.pick(*known), self.int(1), self.float(1)
        forms = [
            f"{name}[{key}] = {value}", f"{name}[{key}] += {value}", f"{name}[{key}] = near({name}.get({key}, 0.0) + {value})", f"{name}.pop({key}, {value})", f"{name}.pop({key})", f"del {name}[{key}]",
            f"{name}.setdefault({key}, {value})", f"if {key} in {name}: {name}[{key}] = {value}", f"{name}.clear()", f"{name}.update({self.pick(*self.known('d'))})", f"{self.new('li')} = list({name})",
            f"{self.new('lf')} = list({name}.values())", f"{self.new('lp')} = list({name}.items())", f"{self.new('lp')} = sorted({name}.items())", f"{self.new('li')} = sorted({name})",
            f"{self.new('d')} = {name}.copy()", f"{self.new('d')} = {{u: w for u, w in {name}.items() if u > {self.int(0)}}}",
        ]  # fmt: skip
        self.chosen(forms)

    def chosen(self, forms):
        """One of the forms; the names that the others would have made are not known."""
        line = self.rng.choice(forms)
        for names in self.names[-1].values():
            names[:] = [name for name in names if not any(name in made_by(other) for other in forms) or name in made_by(line)]
        self.put(line)

    def set(self):
        value = self.pick(f"{{{self.int(1)}, {self.int(1)}}}", f"{{j % 3 for j in range({self.int(0)})}}", *[f"set({name})" for name in self.known("li")])
        self.put(f"{self.new('s')} = {value}")

    def change_set(self):
        known = self.free("s")
        if not known:
            return self.set()
        name, other, key = self.pick(*known), self.pick(*self.known("s")), self.int(1)
        forms = [
            f"{name}.add({key})", f"{name}.discard({key})", f"{name}.remove({key})", f"{name} |= {other}", f"{name} &= {other}", f"{name} -= {other}", f"{name}.update([{key}, 1])", f"{self.new('li')} = sorted({name})",
            f"{self.new('s')} = {name} | {other}", f"{self.new('s')} = {name} ^ {other}", f"if {name} <= {other}: {name}.add({key})",
        ]  # fmt: skip
        self.chosen(forms)

    def texts(self):
        """A set of strings, or a dict whose keys they are."""
        if self.rng.random() < 0.4:
            value = self.pick(f"{{{self.text(1)}, {self.text(1)}}}", "{('a', 'x', 'y')[j % 3] for j in range(k)}", *[f"set({name})" for name in self.known("lt")])
            return self.put(f"{self.new('z')} = {value}")
        name = self.new("e")
        value = self.pick(f"{{{self.text(1)}: {self.int(1)}}}", "{('a', 'x', 'y')[j % 3]: j for j in range(n)}", "{}")
        self.put(f"{name} = {value}")
        if value == "{}":
            self.put(f"{name}[{self.text(1)}] = {self.int(1)}")
        return None

    def change_texts(self):
        dicts, sets = self.free("e"), self.free("z")
        if not dicts and not sets:
            return self.texts()
        key, value, forms = self.text(1), self.int(1), []
        if dicts:
            name = self.pick(*dicts)
            forms += [f"{name}[{key}] = {value}", f"{name}[{key}] = near({name}.get({key}, 0) + {value})", f"{name}[{key}] += 1", f"{name}.pop({key}, {value})", f"{name}.pop({key})", f"del {name}[{key}]",
                      f"{name}.setdefault({key}, {value})", f"{name}.clear()", f"{self.new('lt')} = list({name})", f"{self.new('lt')} = sorted({name})", f"{self.new('e')} = {name}.copy()",
                      f"{self.new('t')}, {self.new('i')} = {name}.popitem()", f"{self.new('e')} = {{u: w for u, w in {name}.items() if u != {self.text(0)}}}"]  # fmt: skip
        if sets:
            name, other = self.pick(*sets), self.pick(*self.known("z"))
            forms += [f"{name}.add({key})", f"{name}.discard({key})", f"{name}.remove({key})", f"{name} |= {other}", f"{name} -= {other}", f"{self.new('lt')} = sorted({name})", f"{self.new('z')} = {name} & {other}"]
        return self.chosen(forms)

    def tuple(self):
        pairs, lists = self.known("p"), self.known("lp")
        kind = self.rng.randrange(5)
        if kind == 0 and pairs:
            i, f = self.new("i"), self.new("f")
            return self.put(f"{i}, {f} = {self.pick(*pairs)}")
        if kind == 1 and lists:
            i, f = self.new("i"), self.new("f")
            return self.put(f"{i}, {f} = {self.pick(*lists)}[{self.place()}]")
        if kind == 2 and (lists := self.free("li")):
            return self.put(f"{self.new('i')}, *{self.new('li')} = {self.pick(*lists)}")
        if kind == 3 and len(names := [name for name in self.known("i") if name not in ("n", "k") and name not in self.busy]) > 1:
            a, b = self.rng.sample(names, 2)
            return self.put(f"{a}, {b} = {b}, {a}")
        value = self.pair(2)
        self.put(f"{self.new('p')} = {value}")

    def rows(self):
        arrays, known = self.known("a"), self.known("m")
        a = self.pick(*arrays)
        forms = [f"[{a}[{self.slice()}], x[{self.slice()}]]", f"[x[j:j + 2] for j in range({self.pick('n', 'k', '4')})]", f"[x[j:] * 0.5 for j in range({self.pick('n', '2')})]"]
        forms += [f"{name}[{self.bound()}:{self.bound()}]" for name in known] + [f"{name}.copy()" for name in known] + [f"[r for r in {name} if r.size > 1]" for name in known]
        self.put(f"{self.new('m')} = {self.rng.choice(forms)}")

    def change_rows(self):
        known = self.free("m")
        if not known:
            return self.rows()
        name, a = self.pick(*known), self.pick(*self.known("a"))
        guard = f"if {name}: "
        forms = [
            f"{name}.append({a}[{self.slice()}])", f"{name}.append(x[{self.bound()}:{self.bound()}] + 0.5)", f"{guard}{name}[{self.pick('0', '-1')}][:] = {self.float(1)}", f"{guard}{name}[{self.pick('0', '-1')}] += 0.25",
            f"{guard}{name}.pop()", f"{name}.reverse()", f"{name}.insert({self.place()}, {a})", f"{guard}{name}[0] = {a}", f"for r in {name}: r *= 0.5", f"{name}.sort(key=lambda r: r.size)", f"{name}.extend({self.pick(*known)})",
            f"del {name}[{self.bound()}:{self.bound()}]", f"if {name}: {self.pick(*self.known('a'))}[:1] = near(np.concatenate({name}).sum())", f"{name} = {name}[::-1]",
        ]  # fmt: skip
        self.put(self.rng.choice(forms))

    def nested(self):
        """A list of lists, a dict of lists or of dicts."""
        kind = self.pick("g", "g", "h", "q")
        if kind == "q":
            name = self.new(kind)
            self.put(f"{name} = {self.pick('{}', '{1: {2: 0.5}}', '{j: {j: 0.25} for j in range(n)}')}")
            self.put(f"{name}[{self.int(0)}] = {self.pick('{}', f'{{{self.int(0)}: {self.float(0)}}}')}")
            return self.put(f"for j in {name}: {name}[j][{self.int(0)}] = {self.float(0)}")
        items = [f"[{self.int(1)}]", f"[{self.int(0)}, {self.int(0)}]", f"[{self.int(0)}] * {self.pick('n', 'k', '2')}", "[j for j in range(k)]", "[]", *self.known("li")]
        if kind == "h":
            name = self.new(kind)
            self.put(f"{name} = {{}}")
            self.put(f"{name}[{self.int(0)}] = {self.pick(*items)}")
            return self.put(f"{name}.setdefault({self.int(0)}, []).append({self.int(0)})")
        forms = [f"[{self.pick(*items)} for j in range({self.pick('n', 'k', '3')})]", f"[{self.pick(*items)}, {self.pick(*items)}]", f"[{self.pick(*items)}] * {self.pick('n', '2')}", "[]"]
        value = self.rng.choice(forms)
        name = self.new(kind)
        self.put(f"{name} = {value}")
        self.put(f"{name}.append({self.pick(*items)})")
        return self.put(f"{name}[{self.pick('0', '-1')}].append({self.int(1)})")

    def change_nested(self):
        known = self.free("g") + self.free("h") + self.free("q")
        if not known:
            return self.nested()
        name, at, v = self.pick(*known), self.pick(self.place(), self.int(0)), self.int(1)
        if name[0] == "q":
            return self.put(self.pick(f"{name}[{at}][{v}] = {self.float(0)}", f"{name}[{at}][{v}] += 0.5", f"{name}.setdefault({at}, {{}})[{v}] = 0.5", f"if {at} in {name}: del {name}[{at}]", f"{name}[{at}].pop({v}, 0.25)"))
        item = self.pick(f"[{v}]", "[]", f"[j * {self.int(0)} for j in range(n)]", *self.known("li"))
        forms = [f"{name}[{at}].append({v})", f"{name}[{at}] = {item}", f"{name}[{at}][{self.place()}] = {v}", f"{name}[{at}] += [{v}]", f"{name}[{at}].pop()", f"{name}[{at}].sort()", f"{name}[{at}].extend([{v}, 1])",
                 f"{self.new('li')} = {name}[{at}]", f"{self.new('li')} = {name}[{at}] + [{v}]", f"{name}[{at}].insert(0, {v})", f"{name}[{at}][{self.place()}] += 1", f"{self.new('li')} = {name}[{at}][{self.slice()}]"]  # fmt: skip
        if name[0] == "g":
            forms += [f"{name}.append({item})", f"{name}.insert({self.place()}, {item})", f"{name}.reverse()", f"{self.new('li')} = {name}.pop()", f"{name}[0], {name}[-1] = {name}[-1], {name}[0]", f"{name}.sort(key=len)",
                      f"{self.new('g')} = [{item} for r in {name} if r]", f"{self.new('g')} = {name}[{self.slice()}]", f"for r in {name}: r.append({v})", f"{self.new('g')} = [[v + 1 for v in r] for r in {name}]",
                      f"{self.new('li')} = [len(r) for r in {name}]", f"{self.new('g')} = {name}.copy()", f"del {name}[{self.slice()}]", f"{name}.clear()"]  # fmt: skip
        else:
            forms += [f"{name}.setdefault({at}, []).append({v})", f"{name}[{at}] = {name}.get({at}, []) + [{v}]", f"if {at} in {name}: del {name}[{at}]", f"{self.new('li')} = sorted({name})"]
        return self.chosen(forms)

    def array(self):
        a = self.pick(*self.known("a"))
        if self.rng.random() < 0.5:
            return self.put(f"{a}[{self.slice()}] {self.pick('=', '+=', '*=')} {self.pick('0.5', '0.25', '-1.0')}")
        forms = [f"{a}[{self.slice()}]", f"x[{self.slice()}] + 0.5", "np.zeros(3)", f"{a}.copy()"] + [f"np.array({name})" for name in self.known("lf")] + [f"{name}[{self.place()}]" for name in self.known("m")]
        self.put(f"{self.new('a')} = {self.rng.choice(forms)}")

    def attempt(self):
        self.put("try:")
        self.block(self.rng.randrange(1, 4))
        self.put(f"except {self.pick('IndexError', 'KeyError', 'ValueError', '(IndexError, ValueError)', 'LookupError', 'Exception')}:")
        self.block(1)
        if self.rng.random() < 0.2:
            self.put("else:")
            self.block(1)
        if self.rng.random() < 0.2:
            self.put("finally:")
            self.block(1)

    def leave(self):
        if self.rng.random() < 0.5:
            return self.number()
        self.put(f"if {self.condition()}: raise {self.pick('ValueError', 'KeyError', 'IndexError')}('left')")

    def call(self):
        lists = self.free("li")
        if not lists:
            return self.list()
        name = self.pick(*lists)
        form = self.rng.randrange(3)
        if form == 0:
            self.put(f"{self.new('i')} = grown({name}, {self.int(1)})")
        elif form == 1:
            self.put(f"{self.new('li')} = evens({name})")
        else:
            self.put(f"{self.new('i')} = len(counted({name}))")

    def source(self):
        for _ in range(self.rng.randrange(4, 11)):
            self.statement()
        self.names[1:] = []
        kept = [name for kind in ("i", "f", "t", "p", "li", "lf", "lp", "lt", "m", "d", "e", "g", "h", "q") for name in self.known(kind) if name not in ("n", "k")]
        self.rng.shuffle(kept)
        self.put(f"return {', '.join([*kept[:5], 'n'])}")
        return HEAD + "\n".join(["def f(x, n, k):", *self.lines]) + "\n"


def made_by(line):
    """The variables that get a value."""
    return line.partition(" = ")[0].split(", ") if " = " in line else []


RAISED = (ValueError, KeyError, IndexError, RuntimeError, MemoryError, UnboundLocalError)


def outcome(f, n, k):
    """(The value, or the class of the exception; x afterwards)."""
    x = np.arange(6) * 0.5 - 0.75
    try:
        value = f(x, n, k)
    except RAISED as raised:
        value = type(raised)
    return value, x


def same(wanted, got):
    """Equal, of the same types: Python's numbers may be NumPy's in CPython."""
    if isinstance(wanted, (list, tuple)):
        return type(wanted) is type(got) and len(wanted) == len(got) and all(map(same, wanted, got))
    if isinstance(wanted, dict):
        return isinstance(got, dict) and same(list(wanted.items()), list(got.items()))
    if isinstance(wanted, np.ndarray):
        return isinstance(got, np.ndarray) and wanted.dtype == got.dtype and wanted.shape == got.shape and wanted.tobytes() == got.tobytes()
    if isinstance(wanted, type):
        return wanted is got
    return isinstance(wanted, (float, np.floating)) == isinstance(got, (float, np.floating)) and wanted == got


def check_program(source):
    """None, or what is wrong."""
    f = define(source, "f")
    made = lw.njit(f)
    for n, k in ((3, 1), (0, 2), (5, 4), (1, 0)):
        wanted, wanted_x = outcome(f, n, k)
        got, got_x = outcome(made, n, k)
        if not same(wanted, got):
            return f"f(x, {n}, {k}) is {wanted!r}, got {got!r}"
        if not same(wanted_x, got_x):
            return f"f(x, {n}, {k}) makes x {wanted_x!r}, got {got_x!r}"
    return None


def check_source(source):
    before = kept_memory()
    try:
        wrong = check_program(source)
    except lw.errors.CompileError as problem:
        CODES[problem.code] += 1
        return None
    except Exception as problem:
        wrong = f"{type(problem).__name__}: {problem}"
    if wrong is None and kept_memory() != before:
        wrong = f"{kept_memory() - before} allocations are not freed"
    return wrong


def shrunk(source):
    """The program without the lines that the problem does not need."""
    head, body = source[: len(HEAD)], source[len(HEAD) :].splitlines()
    kind = (check_source(source) or "")[:12]
    again = True
    while again:
        again = False
        for i in reversed(range(1, len(body))):
            indent = len(body[i]) - len(body[i].lstrip())
            j = i + 1
            while j < len(body) and len(body[j]) - len(body[j].lstrip()) > indent:
                j += 1
            pieces = [body[:i] + body[j:]]
            if j > i + 1:
                pieces.append(body[:i] + [line[4:] for line in body[i + 1 : j]] + body[j:])
            for rest in pieces:
                text = head + "\n".join(rest) + "\n"
                try:
                    compile(text, "", "exec")
                    wrong = check_source(text)
                except (SyntaxError, NameError, UnboundLocalError):
                    continue
                if wrong and wrong[:12] == kind and "NameError" not in wrong:
                    body, again = rest, True
                    break
    return head + "\n".join(body) + "\n"


def check_batch(seed, size=BATCH, gpu=False):
    """(programs looked at, [check.Problem])."""
    warnings.simplefilter("ignore")
    lw.runtime.memsys_enable_stats(target="cpu")
    problems = []
    for i in range(size):
        source = Writer(random.Random(f"containers {seed} {i}")).source()
        if check_source(source):
            small = shrunk(source)
            problems.append(Problem("containers", small, ("float64[:]", "int64", "int64"), check_source(small) or "once only"))
    return size, problems
