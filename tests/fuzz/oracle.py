"""The oracle: what a scalar Python function means when compiled, one value at a time.

program = Program(source); program.function("f", ["i4", "f8"]) types the function (rules of
typing_rules.py, found by walking the tree until nothing changes), translates it to Python with
every rounding and wrap written out (semantics.py), and returns a Compiled: .call(*args),
.result, .inexact. Reject(code) is a program the compiler has to refuse, Unclear one that the oracle
cannot judge.
"""

from __future__ import annotations

import ast
import math

import numpy as np

import named_rules
import semantics
import typing_rules as rules
from typing_rules import Reject, Unclear, Value, is_lit, is_tuple, stored

OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
             ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
             ast.UAdd: "+", ast.USub: "-", ast.Invert: "~", ast.Not: "not",
             ast.In: "in", ast.NotIn: "not in", ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
CASTS = {"float16": "f2", "float32": "f4", "float64": "f8", "complex64": "c8", "complex128": "c16", "bool_": "b1",
         **{f"int{8 * n}": f"i{n}" for n in (1, 2, 4, 8)}, **{f"uint{8 * n}": f"u{n}" for n in (1, 2, 4, 8)}}
UNBOUND = -1
NOWHERE = Value(None)
GROWING, MANY = 12, 60  # walks over a function


class Instance:
    def __init__(self, number):
        self.number = number
        self.result = NOWHERE
        self.text = None
        self.busy = True


class Matches(ast.NodeTransformer):
    """`match` on numbers as the chain of `if` it stands for."""

    def visit_Match(self, node):
        self.generic_visit(node)
        name = f"match_{node.lineno}_{node.col_offset}"
        chain = []
        for case in reversed(node.cases):
            test, bound = self.test(case.pattern, name)
            if case.guard:
                guard = Renamed(bound, name).visit(case.guard) if bound else case.guard
                test = ast.BoolOp(ast.And(), [test, guard]) if test else guard
            body = [ast.Assign([ast.Name(bound, ast.Store())], ast.Name(name, ast.Load())), *case.body] if bound else case.body
            chain = [ast.If(test, body, chain)] if test else body
        subject = ast.Assign([ast.Name(name, ast.Store())], node.subject)
        return [ast.fix_missing_locations(ast.copy_location(n, node)) for n in (subject, *chain)]

    def test(self, pattern, name):
        """(condition or None for always, name it binds or None)."""
        if isinstance(pattern, ast.MatchValue):
            return ast.Compare(ast.Name(name, ast.Load()), [ast.Eq()], [pattern.value]), None
        if isinstance(pattern, ast.MatchOr):
            return ast.BoolOp(ast.Or(), [self.test(p, name)[0] for p in pattern.patterns]), None
        if isinstance(pattern, ast.MatchAs) and pattern.pattern is None:
            return None, pattern.name
        raise Unclear("pattern")


class Renamed(ast.NodeTransformer):
    def __init__(self, old, new):
        self.old, self.new = old, new

    def visit_Name(self, node):
        return ast.Name(self.new, node.ctx) if node.id == self.old else node


class Program:
    def __init__(self, source):
        self.tree = ast.fix_missing_locations(Matches().visit(ast.parse(source)))
        self.functions, self.constants = {}, {}
        self._collect(self.tree.body)
        self.instances, self.texts = {}, []
        self.space = {name: getattr(semantics, name) for name in dir(semantics) if not name.startswith("_")}
        self.space.update(named_rules.RUNTIME)

    def _collect(self, body):
        """Functions, constants, and `p = factory(3, 0.5)`: a function whose closure holds constants."""
        for node in body:
            if isinstance(node, ast.FunctionDef):
                self.functions[node.name] = node
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and ast.unparse(node.value.func) in self.functions:
                factory = self.functions[node.value.func.id]
                for parameter, argument in zip(factory.args.args, node.value.args):
                    self.constants[parameter.arg] = rules.of_python(_evaluate(argument))
                inner = next(n for n in factory.body if isinstance(n, ast.FunctionDef))
                self.functions[node.targets[0].id] = inner
            elif isinstance(node, ast.Assign):
                self.constants[node.targets[0].id] = rules.of_python(_evaluate(node.value))

    def instance(self, fn, params, captures=(), final=False):
        key = (fn, params, captures)
        known = self.instances.get(key)
        if known is None:
            known = self.instances[key] = Instance(len(self.instances))
            try:
                Frame(self, fn, params, captures, known).run()
            except Exception:
                del self.instances[key]
                raise
            known.busy = False
        elif known.busy:
            raise Reject("E151")
        return known

    def function(self, name, types):
        return Compiled(self, self.functions[name], types)


def _evaluate(node):
    return eval(compile(ast.Expression(node), "<constant>", "eval"), {"np": np, "math": math})


class Compiled:
    def __init__(self, program, fn, types):
        params = tuple((a.arg, Value(t)) for a, t in zip(fn.args.args, types))
        frame_instance = program.instance(fn, params)
        result = frame_instance.result.type
        self.outputs = [stored(t) for t in result[1:]] if is_tuple(result) else [stored(result)]
        if any(is_tuple(t) for t in self.outputs):
            raise Unclear("nested tuple result")
        self.is_tuple = is_tuple(result)
        self.inexact = frame_instance.inexact
        exec(compile("\n".join(program.texts), "<oracle>", "exec"), program.space)
        self._call = program.space[f"_f{frame_instance.number}"]

    def __call__(self, *args):
        out = self._call(*args)
        return out if self.is_tuple else (out,)


# ---- typing ----


class Frame:
    """One function with given parameter types."""

    def __init__(self, program, fn, params, captures, instance):
        self.program, self.fn, self.params, self.captures, self.instance = program, fn, params, captures, instance
        self.body = fn.body if isinstance(fn, ast.FunctionDef) else [ast.Return(fn.body)]
        self.nested = {}
        for node in self.body:
            self._find_nested(node)
        self.assigned = {p for p, _ in params} | {c for c, _ in captures} | _assigned(self.body)
        self.vars, self.values, self.parents, self.key_to_def = [], [], [], {}
        self.pinned, self.backs = {}, {}
        self.report = False

    def _find_nested(self, node):
        if isinstance(node, ast.FunctionDef):
            self.nested[node.name] = node
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
            self.nested[node.targets[0].id] = node.value

    def run(self):
        for self.round in range(1, MANY):
            self.changed = False
            self.walk()
            if not self.changed:
                break
        else:
            raise Reject("E1", "conflicts that keep moving")
        self.report = True
        self.walk()
        first = self.returns[0] if self.returns else NOWHERE
        one = first.konst is not None and all(v == first and _same(v.konst, first.konst) for v in self.returns)
        self.instance.result = Value(rules.join([v.type for v in self.returns]), first.konst if one else None)
        if self.now is not None and self.returns:
            raise Reject("E112")
        self.check_storable(self.instance.result.type)
        Translator(self).run()

    def check_storable(self, t):
        if is_tuple(t):
            for one in t[1:]:
                self.check_storable(one)
        elif is_lit(t) and not rules.fits(t, "i8"):
            raise Reject("E130")

    def walk(self):
        self.info, self.operand, self.truth, self.dead, self.uses, self.calls = {}, {}, {}, set(), {}, {}
        self.returns, self.loops = [], []
        self.now = {}
        for name, value in (*self.params, *self.captures):
            self.define(name, ("param", name), value)
        self.block(self.body)

    def guard(self, what, *args):
        """A rule; while facts still grow its refusal does not count."""
        rules.lenient = not self.report
        try:
            return what(*args)
        except Reject:
            if self.report:
                raise
            return None
        finally:
            rules.lenient = False

    # definitions and uses

    def root(self, d):
        while self.parents[d] != d:
            d = self.parents[d]
        return d

    def unite(self, x, y):
        x, y = self.root(x), self.root(y)
        if x != y:
            self.parents[max(x, y)] = min(x, y)
            self.changed = True

    def define(self, name, key, value):
        if name in self.pinned:
            value = Value(self.pinned[name])
        d = self.key_to_def.get((name, key))
        if d is None:
            d = self.key_to_def[name, key] = len(self.vars)
            self.vars.append(name)
            self.values.append(NOWHERE)
            self.parents.append(d)
        value = self.widen(self.values[d], value)
        if self.values[d] != value or not _same(self.values[d].konst, value.konst):
            self.values[d] = value
            self.changed = True
        if self.now is not None:
            self.now = {**self.now, name: frozenset([d])}  # flows are shared, never changed
        return d

    def widen(self, old, value):
        """After many rounds an int that keeps growing is a run-time int."""
        if self.round <= GROWING or old.type is None or value.type is None or old == value:
            return value
        joined = self.guard(rules.join, [old.type, value.type])
        if joined is None:
            return value
        return Value("ix" if is_lit(joined) and joined != old.type else joined, value.konst if old.konst == value.konst else None)

    def use(self, name, node):
        reach = self.now.get(name, frozenset([UNBOUND]))
        if UNBOUND in reach and self.report:
            raise Reject("E110", name)
        defs = [d for d in reach if d != UNBOUND]
        known = [self.values[d] for d in defs if self.values[d].type is not None]
        if known and all(v.konst is not None and v == known[0] and _same(v.konst, known[0].konst) for v in known):
            return known[0]
        for d in defs[1:]:
            self.unite(defs[0], d)
        if not defs:
            return NOWHERE
        self.uses[node] = defs[0]
        return Value(self.guard(self.web_type, self.root(defs[0])))

    def web_type(self, root):
        return rules.join([v.type for d, v in enumerate(self.values) if self.root(d) == root])

    # flows: {name: definitions}, None where control never comes

    def merge(self, x, y):
        if x is None or y is None:
            return y if x is None else x
        unbound = frozenset([UNBOUND])
        return {name: x.get(name, unbound) | y.get(name, unbound) for name in {*x, *y}}

    # statements

    def block(self, body):
        for node in body:
            if self.now is None:
                self.dead.add(node)
                continue
            getattr(self, "do_" + type(node).__name__)(node)

    def do_Pass(self, node):
        pass

    def do_Expr(self, node):
        if not isinstance(node.value, ast.Constant):
            self.value(node.value)

    def do_FunctionDef(self, node):
        pass

    def do_Assign(self, node):
        if isinstance(node.value, ast.Lambda):
            return
        value = self.value(node.value)
        for target in node.targets:
            self.assign(target, node.value, value)

    def assign(self, target, source, value):
        if isinstance(target, ast.Name):
            self.define(target.id, target, value)
            return
        if value.type is None:
            items = [NOWHERE] * len(target.elts)
        elif not is_tuple(value.type):
            raise Unclear("unpacking of a number")
        elif len(value.type) - 1 != len(target.elts):
            raise Unclear("unpacking")
        elif isinstance(source, ast.Tuple):
            items = [self.info[e] for e in source.elts]
        else:
            items = [self.element(value, i) for i in range(len(target.elts))]
        for i, (one, item) in enumerate(zip(target.elts, items)):
            self.assign(one, source.elts[i] if isinstance(source, ast.Tuple) else None, item)

    def do_AugAssign(self, node):
        left = self.use(node.target.id, node.target)
        self.info[node.target] = left
        right = self.value(node.value)
        value = self.binary(node, OPERATORS[type(node.op)], left, right)
        self.info[node] = value
        self.define(node.target.id, node.target, value)

    def do_AnnAssign(self, node):
        pinned = _cast_of(node.annotation)
        if pinned:
            if self.pinned.get(node.target.id) != pinned:
                self.pinned[node.target.id] = pinned
                self.changed = True
        value = self.value(node.value)
        if pinned and value.type is not None and not is_tuple(value.type):
            self.guard(rules.check_stored, value.type, pinned)
        self.define(node.target.id, node.target, value)

    def do_If(self, node):
        truth = self.condition(node.test)
        before = self.now
        self.now = None if truth is False else dict(before)
        if self.now is not None:
            self.block(node.body)
        yes = self.now
        self.now = None if truth is True else dict(before)
        if self.now is not None:
            self.block(node.orelse)
        self.now = self.merge(yes, self.now)
        self.truth[node] = truth

    def do_While(self, node):
        self.now = self.merge(self.now, self.backs.get(node))
        loop = {"break": None, "continue": None}
        truth = self.condition(node.test)
        self.truth[node] = truth
        leaving = None if truth is True else dict(self.now)
        if truth is not False:
            self.loops.append(loop)
            self.now = dict(self.now)
            self.block(node.body)
            self.loops.pop()
            self.back(node, loop)
        self.finish_loop(node, leaving, loop)

    def back(self, node, loop):
        self.now = self.merge(self.now, loop["continue"])
        old = self.backs.get(node)
        new = self.merge(old, self.now)
        if new != old:
            self.backs[node] = new
            self.changed = True

    def finish_loop(self, node, leaving, loop):
        self.now = leaving
        if leaving is not None:
            self.block(node.orelse)
        else:
            self.dead.update(node.orelse)
        self.now = self.merge(self.now, loop["break"])

    def do_For(self, node):
        item, count = self.iterable(node.iter)
        loop = {"break": None, "continue": None}
        self.now = self.merge(self.now, self.backs.get(node))
        entry = dict(self.now)
        self.truth[node] = None if count is None else count > 0
        if count != 0:
            self.loops.append(loop)
            self.assign(node.target, None, item)
            self.block(node.body)
            self.loops.pop()
            self.back(node, loop)
        surely = count is not None and count > 0
        self.finish_loop(node, self.now if surely else self.merge(self.now, entry), loop)

    def iterable(self, node):
        """(item, how many rounds where known)."""
        name = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else None
        if name == "range":
            return self.range_of(node)
        if name == "enumerate":
            item, count = self.iterable(node.args[0])
            for start in node.args[1:]:
                self.value(start)
            return (NOWHERE if item.type is None else Value(("tup", "ix", item.type))), count
        if name == "zip":
            parts = [self.iterable(a) for a in node.args]
            counts = [c for _, c in parts]
            count = 0 if 0 in counts else None if None in counts else min(counts)
            known = all(i.type is not None for i, _ in parts)
            return (Value(("tup", *(i.type for i, _ in parts))) if known else NOWHERE), count
        if name == "reversed":
            item, count = self.iterable(node.args[0])
            return Value(item.type), count
        return self.tuple_items(node)

    def range_of(self, node):
        bounds = [self.value(a) for a in node.args]
        for b in bounds:
            if b.type is not None and not (rules.is_int(b.type) or b.type == "b1"):
                raise Reject("E120")
        if all(b.konst is not None for b in bounds):
            return Value("ix"), len(range(*(int(b.konst) for b in bounds)))
        return Value("ix"), None

    def tuple_items(self, node):
        value = self.value(node)
        if value.type is None:
            return NOWHERE, None
        if not is_tuple(value.type):
            raise Reject("E120")
        n = len(value.type) - 1
        if n == 1:
            return self.element(value, 0), n
        return Value(self.guard(rules.join, list(value.type[1:]))), n

    def do_Break(self, node):
        self.loops[-1]["break"] = self.merge(self.loops[-1]["break"], self.now)
        self.now = None

    def do_Continue(self, node):
        self.loops[-1]["continue"] = self.merge(self.loops[-1]["continue"], self.now)
        self.now = None

    def do_Return(self, node):
        self.returns.append(self.value(node.value))
        self.now = None

    # expressions

    def value(self, node):
        value = self.fold(node) or getattr(self, "of_" + type(node).__name__)(node)
        self.info[node] = value
        return value

    def fold(self, node):
        """What is made of literals and Python constants alone, Python computes."""
        if not isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.IfExp)):
            return None
        known = {}
        for n in ast.walk(node):
            if isinstance(n, ast.Name):
                value = self.program.constants.get(n.id) if n.id not in self.assigned else None
                if value is None or not (is_lit(value.type) or value.type in ("b1", "pf", "pc")):
                    return None
                known[n.id] = value.konst
            elif not isinstance(n, (ast.Constant, ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.IfExp, ast.operator,
                                    ast.unaryop, ast.cmpop, ast.boolop, ast.Load)) or isinstance(n, ast.Invert):
                return None
        if any(isinstance(n, (ast.LShift, ast.Pow)) for n in ast.walk(node)) and any(
                isinstance(n, ast.Constant) and isinstance(n.value, int) and n.value > 4096 for n in ast.walk(node)):
            raise Unclear("a constant of astronomic size")
        try:
            value = eval(compile(ast.Expression(node), "<folded>", "eval"), known)
        except Exception:
            return None
        if isinstance(node, ast.Compare):
            self.operand[node], self.truth[node] = [], value
        return rules.of_python(value)

    def of_Constant(self, node):
        return rules.of_python(node.value)

    def of_Name(self, node):
        if node.id in self.assigned:
            return self.use(node.id, node)
        if node.id in self.program.constants:
            return self.program.constants[node.id]
        raise Unclear(node.id)

    def of_NamedExpr(self, node):
        value = self.value(node.value)
        self.define(node.target.id, node.target, value)
        return Value(value.type)  # not folded: the assignment has to happen

    def of_Tuple(self, node):
        items = [self.value(e) for e in node.elts]
        if any(v.type is None for v in items):
            return NOWHERE
        konst = tuple(items) if all(v.konst is not None for v in items) else None
        return Value(("tup", *(v.type for v in items)), konst)

    def element(self, value, i):
        return value.konst[i] if value.konst is not None else Value(value.type[1 + i])

    def of_Subscript(self, node):
        value, index = self.value(node.value), self.value(node.slice)
        if value.type is None or index.type is None:
            return NOWHERE
        if index.konst is not None:
            return self.element(value, range(len(value.type) - 1)[index.konst])
        items = value.type[1:]
        joined = self.guard(rules.join, list(items))
        if joined is None:
            return NOWHERE
        if not (joined in ("ix", "pf", "pc") or is_lit(joined) or all(t == joined for t in items)):
            raise Reject("E124")
        return Value(joined)

    def of_Attribute(self, node):
        path = _path(node)
        if path and path.split(".")[0] in ("np", "math"):
            return rules.of_python(_evaluate(node))
        value = self.value(node.value)
        if value.type is None:
            return NOWHERE
        if node.attr not in ("real", "imag"):
            raise Unclear(node.attr)
        t = value.type
        if rules.is_complex(t):
            return Value("pf" if t == "pc" else semantics.COMPLEX[t])
        return Value("ix" if t == "b1" else t)

    def of_BinOp(self, node):
        return self.binary(node, OPERATORS[type(node.op)], self.value(node.left), self.value(node.right))

    def binary(self, node, op, x, y):
        if x.type is None or y.type is None:
            return NOWHERE
        folded = _fold_binary(op, x, y)
        if folded is not None:
            return folded
        found = self.guard(rules.type_binary, op, x, y)
        if found is None:
            return NOWHERE
        self.operand[node] = found[1]
        return Value(found[0])

    def of_UnaryOp(self, node):
        op = OPERATORS[type(node.op)]
        if op == "not":
            truth = self.condition(node.operand)
            pure = self.is_pure(node.operand)
            return Value("b1", not truth) if truth is not None and pure else Value("b1")
        x = self.value(node.operand)
        if x.type is None:
            return NOWHERE
        if x.konst is not None and (is_lit(x.type) or x.type == "b1"):
            if op == "~" and x.type == "b1":
                return Value("b1", not x.konst)
            return rules.literal({"+": lambda v: +v, "-": lambda v: -v, "~": lambda v: ~v}[op](x.konst))
        if x.konst is not None and x.type == "pf" and op != "~":
            return Value("pf", -x.konst if op == "-" else x.konst)
        t = self.guard(rules.type_unary, op, x.type)
        return Value(t)

    def is_pure(self, node):
        return isinstance(node, ast.Name) or self.info.get(node, NOWHERE).konst is not None

    def of_Compare(self, node):
        left_node, left = node.left, self.value(node.left)
        answer, pure, known = True, self.is_pure(node.left), True
        links = []
        skipped = None
        for i, (op, right_node) in enumerate(zip(node.ops, node.comparators)):
            skipped = dict(self.now) if i == 1 else skipped
            right = self.value(right_node)
            operand, truth = self.compare(OPERATORS[type(op)], left, right)
            links.append((operand, truth))
            pure = pure and self.is_pure(right_node)
            answer = False if truth is False or answer is False else None if truth is None else answer
            left = right
        self.now = self.merge(self.now, skipped)
        self.operand[node] = links
        self.truth[node] = answer
        return Value("b1", answer) if answer is not None and pure else Value("b1")

    def compare(self, op, x, y):
        if x.type is None or y.type is None:
            return None, None
        if is_tuple(x.type) and is_tuple(y.type) and x.konst is not None and y.konst is not None:
            raise Unclear("constant tuples")
        if op in ("in", "not in"):
            return self.membership(op, x, y)
        if x.konst is not None and y.konst is not None and not is_tuple(x.type) and not is_tuple(y.type):
            if isinstance(x.konst, complex) or isinstance(y.konst, complex):
                raise Unclear("complex constants")
            return None, {"==": x.konst == y.konst, "!=": x.konst != y.konst, "<": x.konst < y.konst, "<=": x.konst <= y.konst,
                          ">": x.konst > y.konst, ">=": x.konst >= y.konst}[op]
        return self.guard(rules.compare_operand, op, x.type, y.type) or (None, None)

    def membership(self, op, x, y):
        if not is_tuple(y.type) or is_tuple(x.type) or x.konst is not None:
            raise Unclear("membership")
        found = [self.guard(rules.compare_operand, "==", x.type, t) or (None, None) for t in y.type[1:]]
        never = all(truth is False for _, truth in found)
        return ("in", [operand for operand, _ in found], [truth for _, truth in found]), (op == "not in" if never else None)

    def condition(self, node):
        """The truth of an expression where only that is wanted: True, False or None."""
        if isinstance(node, ast.BoolOp):
            return self.condition_of_operands(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            truth = self.condition(node.operand)
            self.info[node] = Value("b1", None if truth is None or not self.is_pure(node.operand) else not truth)
            self.truth[node] = None if truth is None else not truth
            return self.truth[node]
        value = self.value(node)
        self.truth[node] = self.truth[node] if isinstance(node, ast.Compare) else self.truth_of(value)
        return self.truth[node]

    def condition_of_operands(self, node):
        is_and = isinstance(node.op, ast.And)
        answer, stopped, pure = is_and, False, True
        for operand in node.values:
            if stopped:
                self.dead.add(operand)
                continue
            if operand is not node.values[0] and _has_walrus(operand):
                raise Unclear("a name bound by half a condition")
            one = self.condition(operand)
            pure = pure and self.is_pure(operand)
            if one is not None and one != is_and:
                stopped, answer = True, one
            elif one is None:
                answer = None
        self.info[node] = Value("b1", answer if answer is not None and pure else None)
        self.truth[node] = answer
        return answer

    def truth_of(self, value):
        t = value.type
        if value.konst is not None:
            return bool(value.konst)
        if is_tuple(t):
            return len(t) > 1
        if is_lit(t) and (t[1] > 0 or t[2] < 0):
            return True
        return None

    def of_BoolOp(self, node):
        is_and = isinstance(node.op, ast.And)
        answers, stopped, folded, skipped = [], False, True, None
        for i, operand in enumerate(node.values):
            if stopped:
                self.dead.add(operand)
                continue
            skipped = dict(self.now) if i == 1 else skipped
            value = self.value(operand)
            truth = self.truth[operand] = self.truth_of(value)
            stopped = truth is not None and truth != is_and
            if operand is node.values[-1] or stopped or truth is None:
                answers.append(value)
            folded = folded and value.konst is not None
        self.now = self.merge(self.now, skipped)
        if len(answers) == 1 and folded:
            return answers[0]
        return Value(self.join_all(answers))

    def join_all(self, values):
        if any(v.type is None for v in values):
            return None
        return self.guard(rules.join, [v.type for v in values])

    def of_IfExp(self, node):
        truth = self.condition(node.test)
        before = self.now
        arms = []
        for arm, wanted in ((node.body, True), (node.orelse, False)):
            self.now = dict(before)
            if truth is not None and truth != wanted:
                self.dead.add(arm)
                arms.append((NOWHERE, None))
            else:
                arms.append((self.value(arm), self.now))
        (a, yes), (b, no) = arms
        self.now = self.merge(yes, no)
        if truth is not None:
            one = a if truth else b
            return one if self.is_pure(node.test) else Value(one.type)
        if a.konst is not None and a.type == b.type and b.konst is not None and _same(a.konst, b.konst) and self.is_pure(node.test):
            return a
        return Value(self.join_all([a, b]))

    # calls

    def of_Call(self, node):
        if isinstance(node.func, ast.Attribute) and node.func.attr == "conjugate" and _path(node.func) != "np.conjugate":
            value = self.value(node.func.value)
            t = "ix" if value.type == "b1" else value.type
            self.calls[node] = ("method", "CONJUGATE", t, [node.func.value])
            return Value(t)
        args = [self.value(a) for a in node.args]
        if any(a.type is None for a in args):
            return NOWHERE
        path = _path(node.func)
        if path in self.nested or path in self.program.functions:
            return self.call_function(node, path, args)
        cast = _cast_of(node.func)
        if cast:
            return self.call_cast(node, cast, args[0])
        if args and path not in ("int", "float", "bool") and not any(isinstance(n, ast.Name) and n.id in self.assigned for a in node.args for n in ast.walk(a)):
            if path == "complex" and all(isinstance(a.konst, (int, float)) for a in args):
                return Value("pc", complex(*(a.konst for a in args)))
            raise Unclear("Python computes this call at compile time")
        if args and all(a.konst is not None for a in args) and any(isinstance(n, (ast.BoolOp, ast.IfExp)) for a in node.args for n in ast.walk(a)):
            raise Unclear("Python may compute this call at compile time")
        return self.call_named(node, path, args)

    def call_function(self, node, path, args):
        fn = self.nested.get(path) or self.program.functions[path]
        given = dict(zip((a.arg for a in fn.args.args), zip(args, node.args)))
        for keyword in node.keywords:
            given[keyword.arg] = self.value(keyword.value), keyword.value
        defaults = dict(zip((a.arg for a in reversed(fn.args.args)), reversed(fn.args.defaults)))
        params, sources = [], []
        for a in fn.args.args:
            v, source = given[a.arg] if a.arg in given else (rules.of_python(_evaluate(defaults[a.arg])), None)
            if v.type is None:
                return NOWHERE
            params.append((a.arg, v if v.konst is not None and (v.type == "b1" or is_lit(v.type)) else Value(v.type)))
            sources.append(source if source is not None else v)
        params = tuple(params)
        captures = []
        if path in self.nested:
            for name in sorted(_free(fn) & self.assigned - set(self.nested)):
                captures.append((name, self.use(name, (node, name))))
        if any(v.type is None for _, v in captures):
            return NOWHERE
        instance = self.guard(self.program.instance, fn, params, tuple(captures))
        if instance is None:
            return NOWHERE
        self.calls[node] = ("function", instance, params, captures, sources)
        folds = all(v.konst is not None for _, v in (*params, *captures))
        return instance.result if folds else Value(instance.result.type)

    def call_cast(self, node, to, x):
        if is_tuple(x.type) or (rules.is_complex(x.type) and to not in semantics.COMPLEX and to != "b1"):
            raise Unclear("cast")
        if to in semantics.INTS:
            self.guard(rules.check_literal, x.type, to)
        self.calls[node] = ("cast", to)
        if x.konst is not None and not isinstance(x.konst, complex):
            value = semantics.convert(x.konst, stored(x.type), to) if not is_lit(x.type) else _literal_as(x.konst, to)
            if to in ("f4", "f8", "b1") or to in semantics.INTS:
                return Value(to, value)
        return Value(to)

    def call_named(self, node, path, args):
        found = self.guard(named_rules.type_call, path, args)
        if found is None:
            return NOWHERE
        self.calls[node] = ("named", path, found)
        return found.value


def _literal_as(value, to):
    if to in semantics.INTS:
        return semantics.wrap(to, value)
    return semantics.convert(value, "i8", to) if to == "b1" else semantics.ROUND[to](float(value)) if to in semantics.FLOATS else None


def _same(x, y):
    return type(x) is type(y) and repr(x) == repr(y)


def _has_walrus(node):
    return any(isinstance(n, ast.NamedExpr) for n in ast.walk(node))


def _path(node):
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        below = _path(node.value)
        return below and f"{below}.{node.attr}"
    return None


def _cast_of(node):
    path = _path(node)
    return CASTS.get(path[3:]) if path and path.startswith("np.") else None


def _assigned(body):
    found = set()
    for node in body:
        if isinstance(node, ast.FunctionDef):
            continue
        for inner in ast.walk(node):
            if isinstance(inner, ast.Lambda):
                continue
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                found.add(inner.id)
    return found


def _free(fn):
    own = {a.arg for a in fn.args.args} | (_assigned(fn.body) if isinstance(fn, ast.FunctionDef) else set())
    body = fn.body if isinstance(fn, ast.FunctionDef) else [fn.body]
    return {n.id for part in body for n in ast.walk(part) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)} - own


EXACT = 1 << 61


def _fold_binary(op, x, y):
    """Constants of Python, exactly or not at all."""
    if x.konst is None or y.konst is None:
        return None
    if "pc" in (x.type, y.type):
        raise Unclear("Python computes with complex constants")
    kinds = [is_lit(v.type) or v.type == "b1" for v in (x, y)]
    if all(kinds):
        return _fold_ints(op, x, y)
    if all(k or v.type == "pf" for k, v in zip(kinds, (x, y))) and op in "+-*/" and len(op) == 1:
        a, b = float(x.konst), float(y.konst)
        if op != "/" or b != 0:
            return Value("pf", {"+": a.__add__, "-": a.__sub__, "*": a.__mul__, "/": a.__truediv__}[op](b))
    return None


def _fold_ints(op, x, y):
    a, b = int(x.konst), int(y.konst)
    if abs(a) >= EXACT or abs(b) >= EXACT:
        raise Unclear("large constants")
    if op == "/":
        return Value("pf", a / b) if b else None
    if op in ("//", "%") and b == 0:
        return None
    if op == "**" and not 0 <= b <= 60 or op == "<<" and not 0 <= b <= 60 or op == ">>" and not 0 <= b < 127:
        return None
    value = {"+": a + b, "-": a - b, "*": a * b, "&": a & b, "|": a | b, "^": a ^ b}.get(op)
    if value is None:
        value = {"//": lambda: a // b, "%": lambda: a % b, "**": lambda: a**b, "<<": lambda: a << b, ">>": lambda: a >> b}[op]()
    if x.type == y.type == "b1" and op in "&|^":
        return Value("b1", bool(value))
    if abs(value) >= EXACT:
        raise Unclear("large constants")
    return rules.literal(value)


# ---- translation ----


class Translator:
    """Python text with the conversions written out, for one typed frame."""

    def __init__(self, frame):
        self.frame, self.instance = frame, frame.instance
        self.lines, self.temporaries = [], 0
        self.instance.inexact = {}

    def run(self):
        f = self.frame
        names = [f"p_{name}" for name, _ in (*f.params, *f.captures)]
        self.lines.append(f"def _f{self.instance.number}({', '.join(names)}):")
        for name, value in (*f.params, *f.captures):
            self.store(name, ("param", name), f"p_{name}", value.type)
        self.block(f.body, 1)
        f.program.texts.append("\n".join(self.lines))

    def line(self, depth, text):
        self.lines.append("    " * depth + text)

    def temporary(self):
        self.temporaries += 1
        return f"t{self.temporaries}"

    def web(self, d):
        f = self.frame
        root = f.root(d)
        try:
            return f"{f.vars[d]}_{root}", f.web_type(root)
        except Reject:  # never read
            return f"{f.vars[d]}_{root}", f.values[d].type

    def store(self, name, key, text, t, depth=1):
        d = self.frame.key_to_def[name, key]
        web, to = self.web(d)
        if name in self.frame.pinned:
            to = self.frame.pinned[name]
        self.line(depth, f"{web} = {convert_text(text, t, to)}")

    # statements

    def block(self, body, depth):
        n = len(self.lines)
        for node in body:
            if node not in self.frame.dead:
                getattr(self, "do_" + type(node).__name__)(node, depth)
        if len(self.lines) == n:
            self.line(depth, "pass")

    def do_Pass(self, node, depth):
        pass

    do_FunctionDef = do_Pass

    def do_Expr(self, node, depth):
        if not isinstance(node.value, ast.Constant):
            self.line(depth, self.expr(node.value))

    def do_Assign(self, node, depth):
        if isinstance(node.value, ast.Lambda):
            return
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            self.store_one(node.targets[0], self.expr(node.value), self.frame.info[node.value].type, depth)
            return
        temporary = self.temporary()
        self.line(depth, f"{temporary} = {self.expr(node.value)}")
        for target in node.targets:
            self.store_into(target, temporary, self.frame.info[node.value].type, depth)

    def store_one(self, target, text, t, depth):
        self.store(target.id, target, text, t, depth)

    def store_into(self, target, text, t, depth):
        if isinstance(target, ast.Name):
            self.store_one(target, text, t, depth)
            return
        for i, one in enumerate(target.elts):
            self.store_into(one, f"{text}[{i}]", t[1 + i], depth)

    def do_AugAssign(self, node, depth):
        f = self.frame
        value = f.info[node]
        if value.konst is not None:
            text = constant_text(value)
        else:
            left = f.info[node.target]
            source = constant_text(left) if left.konst is not None else self.web(f.uses[node.target])[0]
            text = self.binary(node, OPERATORS[type(node.op)], (source, left), node.value)
        self.store_one(node.target, text, value.type, depth)

    def do_AnnAssign(self, node, depth):
        self.store_one(node.target, self.expr(node.value), self.frame.info[node.value].type, depth)

    def do_If(self, node, depth):
        truth = self.frame.truth[node]
        if truth is not None:
            self.line(depth, self.cond(node.test))
            self.block(node.body if truth else node.orelse, depth)
            return
        self.line(depth, f"if {self.cond(node.test)}:")
        self.block(node.body, depth + 1)
        if node.orelse:
            self.line(depth, "else:")
            self.block(node.orelse, depth + 1)

    def do_While(self, node, depth):
        truth = self.frame.truth[node]
        if truth is False:
            self.block(node.orelse, depth)
            return
        self.line(depth, f"while {self.cond(node.test)}:")
        self.block(node.body, depth + 1)
        self.otherwise(node, depth)

    def otherwise(self, node, depth):
        if node.orelse and not all(n in self.frame.dead for n in node.orelse):
            self.line(depth, "else:")
            self.block(node.orelse, depth + 1)

    def do_For(self, node, depth):
        f = self.frame
        if f.truth[node] is False:
            self.block(node.orelse, depth)
            return
        item = self.temporary()
        text, t = self.items(node.iter)
        self.line(depth, f"for {item} in {text}:")
        self.store_into(node.target, item, t, depth + 1)
        self.block(node.body, depth + 1)
        self.otherwise(node, depth)

    def items(self, node):
        """Text of an iterable, and the type of what it gives."""
        name = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else None
        if name == "range":
            return f"range({', '.join(self.as_(a, 'ix') for a in node.args)})", "ix"
        if name == "enumerate":
            text, t = self.items(node.args[0])
            start = self.as_(node.args[1], "ix") if len(node.args) > 1 else "0"
            return f"enumerate({text}, {start})", ("tup", "ix", t)
        if name == "zip":
            parts = [self.items(a) for a in node.args]
            return f"zip({', '.join(text for text, _ in parts)})", ("tup", *(t for _, t in parts))
        if name == "reversed":
            text, t = self.items(node.args[0])
            return f"reversed({text})", t
        t = self.frame.info[node].type
        joined = rules.join(list(t[1:])) if len(t) > 2 else t[1]
        held = self.temporary()
        items = ", ".join(convert_text(f"{held}[{i}]", one, joined) for i, one in enumerate(t[1:]))
        return f"(({held} := {self.expr(node)}), ({items},))[1]", joined

    def do_Break(self, node, depth):
        self.line(depth, "break")

    def do_Continue(self, node, depth):
        self.line(depth, "continue")

    def do_Return(self, node, depth):
        f = self.frame
        result = f.instance.result.type
        if isinstance(node.value, ast.Tuple) and f.info[node.value].konst is None:
            parts = [self.result(e, to, i) for i, (e, to) in enumerate(zip(node.value.elts, result[1:]))]
            self.line(depth, f"return ({', '.join(parts)},)")
        else:
            self.line(depth, f"return {self.result(node.value, result, 0)}")

    def result(self, node, to, i):
        """A call with an error bound may stand only here: the reference is the result."""
        found = self.frame.calls.get(node)
        if found and found[0] == "named" and found[2].inexact and self.frame.info[node].konst is None:
            if stored(found[2].value.type) != stored(to):
                raise Unclear("an inexact value is converted")
            self.instance.inexact[i] = found[2].inexact
            return self.named(node, found, True)
        return self.as_(node, to)

    # expressions

    def as_(self, node, to):
        value = self.frame.info[node]
        if value.konst is not None and not is_tuple(value.type):
            return constant_as(value, to)
        return convert_text(self.expr(node), value.type, to)

    def expr(self, node):
        value = self.frame.info[node]
        if value.konst is not None:
            return constant_text(value)
        return getattr(self, "of_" + type(node).__name__)(node)

    def of_Name(self, node):
        return self.web(self.frame.uses[node])[0]

    def of_NamedExpr(self, node):
        f = self.frame
        t, temporary = f.info[node.value].type, self.temporary()
        web, to = self.web(f.key_to_def[node.target.id, node.target])
        text = f"({temporary} := {self.expr(node.value)})"
        return f"({text}, {web} := {convert_text(temporary, t, to)})[0]"

    def of_Tuple(self, node):
        return "(" + "".join(self.expr(e) + ", " for e in node.elts) + ")"

    def of_Subscript(self, node):
        f = self.frame
        index = f.info[node.slice]
        text = self.expr(node.value)
        if index.konst is not None:
            return f"{text}[{index.konst}]"
        joined, t = f.info[node].type, f.info[node.value].type
        items = ", ".join(convert_text(f"t_[{i}]", one, joined) for i, one in enumerate(t[1:]))
        return f"(lambda t_, i_: ({items},)[i_])({text}, {self.as_(node.slice, 'ix')})"

    def of_Attribute(self, node):
        t = self.frame.info[node.value].type
        text = self.expr(node.value)
        if rules.is_complex(t):
            return f"{text}.{node.attr}"
        zero = "0" if rules.is_int(t) or t == "b1" else "0.0"
        return f"({text}, {zero})[1]" if node.attr == "imag" else convert_text(text, t, self.frame.info[node].type)

    def of_BinOp(self, node):
        left = self.frame.info[node.left]
        return self.binary(node, OPERATORS[type(node.op)], (self.expr(node.left), left), node.right)

    def binary(self, node, op, left, right):
        """left: (text, value)."""
        f = self.frame
        if node not in f.operand:
            raise Unclear("a value without a type")
        operand, result = f.operand[node], f.info[node].type
        if is_tuple(operand):
            return f"({left[0]} + {self.expr(right)})"
        x = constant_as(left[1], operand) if left[1].konst is not None else convert_text(left[0], left[1].type, operand)
        t, y_type = stored(operand), f.info[right].type
        if op in ("<<", ">>"):
            text = f"shift_{'left' if op == '<<' else 'right'}('{t}', {x}, {self.expr(right)})"
        elif op == "**":
            text = self.power(t, x, right, y_type)
        else:
            text = binary_text(op, t, x, self.as_(right, operand))
        return convert_text(text, t, result)

    def power(self, t, x, right, y_type):
        konst = self.frame.info[right].konst
        if t in semantics.INTS:
            y = str(int(konst)) if konst is not None else self.as_(right, t)
            return f"int_power('{t}', {x}, {y})"
        if t in semantics.FLOATS and konst in (0, 1, 2) and not isinstance(konst, complex):
            return {0: f"({x}, 1.0)[1]", 1: x}.get(konst) or f"float_square('{t}', {x})"
        raise Unclear("inexact power")

    def of_UnaryOp(self, node):
        op = OPERATORS[type(node.op)]
        if op == "not":
            return f"(not {self.cond(node.operand)})"
        t = self.frame.info[node].type
        x, s = self.as_(node.operand, t), stored(t)
        if op == "+":
            return x
        if op == "~":
            return f"(not {x})" if s == "b1" else f"wrap('{s}', ~{x})"
        return f"wrap('{s}', -{x})" if s in semantics.INTS else f"complex_neg('{s}', {x})" if s in semantics.COMPLEX else f"(-{x})"

    def of_Compare(self, node):
        f = self.frame
        parts, held = [], None
        operands = [node.left, *node.comparators]
        for i, (op, (operand, truth)) in enumerate(zip(node.ops, f.operand[node])):
            x_node, y_node = operands[i], operands[i + 1]
            if isinstance(operand, tuple):
                if len(node.ops) > 1:
                    raise Unclear("a chain of tuples")
                return self.of_tuples(OPERATORS[type(op)], operand, x_node, y_node)
            if held is None:
                x = self.side(x_node, operand)
            else:
                x = convert_text(held, f.info[x_node].type, operand) if operand else held
            if i + 1 < len(node.ops) and f.info[y_node].konst is None:
                held = self.temporary()
                y_text = f"({held} := {self.expr(y_node)})"
                y = convert_text(y_text, f.info[y_node].type, operand) if operand else y_text
            else:
                held = None
                y = self.side(y_node, operand)
            parts.append(f"({x} {OPERATORS[type(op)]} {y})" if truth is None else f"(({x}, {y}), {truth})[1]")
        return "(" + " and ".join(parts) + ")"

    def of_tuples(self, op, operand, x_node, y_node):
        """x in (…), and tuples compared element by element."""
        f, (x_held, y_held) = self.frame, (self.temporary(), self.temporary())
        x_type, y_type = f.info[x_node].type, f.info[y_node].type
        head = f"({x_held} := {self.expr(x_node)}), ({y_held} := {self.expr(y_node)})"
        if operand[0] == "in":
            tests = []
            for i, (to, truth) in enumerate(zip(operand[1], operand[2])):
                x, y = (convert_text(text, t, to) if to else text for text, t in ((x_held, x_type), (f"{y_held}[{i}]", y_type[1 + i])))
                tests.append(str(truth) if truth is not None else f"({x} == {y})")
            return f"({head}, {'not ' if op == 'not in' else ''}({' or '.join(tests)}))[2]"
        pairs = []
        for i, to in enumerate(operand[1]):
            x, y = (convert_text(text, t, to) if to else text for text, t in ((f"{x_held}[{i}]", x_type[1 + i]), (f"{y_held}[{i}]", y_type[1 + i])))
            pairs.append(f"({x}, {y})")
        return f"({head}, tuple_compare('{op}', [{', '.join(pairs)}], {len(x_type) - len(y_type)}))[2]"

    def side(self, node, operand):
        return self.as_(node, operand) if operand else self.expr(node)

    def cond(self, node):
        f = self.frame
        if isinstance(node, ast.BoolOp):
            word = " and " if isinstance(node.op, ast.And) else " or "
            return "(" + word.join(self.cond(v) for v in node.values if v not in f.dead) + ")"
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return f"(not {self.cond(node.operand)})"
        return self.expr(node)

    def of_BoolOp(self, node):
        """Python's values: (a if not a else b) for and."""
        f = self.frame
        result = f.info[node].type
        is_and = isinstance(node.op, ast.And)
        live = [v for v in node.values if v not in f.dead]
        text = self.as_(live[-1], result)
        for operand in reversed(live[:-1]):
            truth = f.truth[operand]
            if truth is not None:  # evaluated, never the answer
                text = f"({self.expr(operand)}, {text})[1]"
                continue
            held = self.temporary()
            own = convert_text(held, f.info[operand].type, result)
            test = f"({held} := {self.expr(operand)})"
            text = f"({text} if {test} else {own})" if is_and else f"({own} if {test} else {text})"
        return text

    def of_IfExp(self, node):
        f = self.frame
        result = f.info[node].type
        arms = [self.as_(a, result) for a in (node.body, node.orelse) if a not in f.dead]
        if len(arms) == 1:
            return f"({self.cond(node.test)}, {arms[0]})[1]"
        return f"({arms[0]} if {self.cond(node.test)} else {arms[1]})"

    def of_Call(self, node):
        f = self.frame
        found = f.calls[node]
        if found[0] == "function":
            _, instance, params, captures, sources = found
            if instance.inexact:
                raise Unclear("an inexact value is used")
            args = [constant_text(a) if isinstance(a, Value) else self.as_(a, v.type) for a, (_, v) in zip(sources, params)]
            args += [constant_text(v) if v.konst is not None else self.web(f.uses[node, name])[0] for name, v in captures]
            return f"_f{instance.number}({', '.join(args)})"
        if found[0] == "cast":
            return convert_text(self.expr(node.args[0]), f.info[node.args[0]].type, found[1])
        if found[0] == "method":
            t = stored(found[2])
            text = self.as_(found[3][0], found[2])
            return f"conjugate('{t}', {text})" if t in semantics.COMPLEX else text
        return self.named(node, found, False)

    def named(self, node, found, as_result):
        call = found[2]
        if call.inexact and not as_result:
            raise Unclear("an inexact value is used")
        operands = call.operands
        args = [self.as_(a, to) if to is not None else self.expr(a) for a, to in zip(node.args, operands)]
        return call.text(args)


def binary_text(op, t, x, y):
    if t in semantics.COMPLEX:
        name = {"+": "add", "-": "sub", "*": "mul", "/": "div"}[op]
        return f"complex_{name}('{t}', {x}, {y})"
    if op in ("&", "|", "^"):
        return f"({x} {op} {y})"
    if t in semantics.INTS:
        if op == "//":
            return f"int_floordiv('{t}', {x}, {y})"
        if op == "%":
            return f"int_mod('{t}', {x}, {y})"
        return f"wrap('{t}', {x} {op} {y})"
    if op == "/":
        return f"div('{t}', {x}, {y})"
    if op in ("//", "%"):
        return f"{'floordiv' if op == '//' else 'mod'}('{t}', {x}, {y})"
    return f"({x} {op} {y})" if t == "f8" else f"r{t[1]}({x} {op} {y})"


def constant_text(value):
    if is_tuple(value.type):
        return "(" + "".join(constant_text(v) + ", " for v in value.konst) + ")"
    return number_text(value.konst)


def number_text(x):
    if isinstance(x, float):
        return f"({x!r})" if math.isfinite(x) else f"float('{x!r}')"
    if isinstance(x, complex):
        return f"complex({number_text(x.real)}, {number_text(x.imag)})"
    return f"({x!r})"


def constant_as(value, to):
    """A constant converted now: Python's exact ints go to floats through float64."""
    t = stored(to)
    if is_lit(value.type):
        if t in semantics.FLOATS:
            return number_text(semantics.ROUND[t](float(value.konst)))
        if t in semantics.COMPLEX:
            return number_text(complex(semantics.ROUND[semantics.COMPLEX[t]](float(value.konst)), 0.0))
        return number_text(semantics.convert(value.konst, "", t))
    return number_text(semantics.convert(value.konst, stored(value.type), t))


def convert_text(text, source, to):
    if is_tuple(to):
        if source == to:
            return text
        items = ", ".join(convert_text(f"t_[{i}]", a, b) for i, (a, b) in enumerate(zip(source[1:], to[1:])))
        return f"(lambda t_: ({items},))({text})"
    a, b = stored(source), stored(to)
    if a == b:
        return text
    if a == "f8" and b in semantics.FLOATS:
        return f"r{b[1]}({text})"
    if a in semantics.FLOATS and b in semantics.FLOATS and semantics.FLOATS[a] < semantics.FLOATS[b]:
        return text
    return f"convert({text}, '{a}', '{b}')"
