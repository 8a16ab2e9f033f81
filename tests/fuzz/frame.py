"""Types of one function: webs, joins, constants. The tree is walked until nothing changes (the rules of
typing_rules.py), once more to report."""

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


def evaluate(node):
    return eval(compile(ast.Expression(node), "<constant>", "eval"), {"np": np, "math": math, "range": range, "tuple": tuple})


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
        one = first.constant is not None and all(v == first and _same(v.constant, first.constant) for v in self.returns)
        self.instance.result = Value(rules.join([v.type for v in self.returns]), first.constant if one else None)
        if self.now is not None and self.returns:
            raise Reject("E112")
        self.check_storable(self.instance.result.type)

    def check_storable(self, t):
        if is_tuple(t):
            for one in t[1:]:
                self.check_storable(one)
        elif is_lit(t) and not rules.fits(t, "i8") and not rules.fits(t, "u8"):
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
        if self.values[d] != value or not _same(self.values[d].constant, value.constant):
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
        return Value("ix" if is_lit(joined) and joined != old.type else joined, value.constant if old.constant == value.constant else None)

    def use(self, name, node):
        reach = self.now.get(name, frozenset([UNBOUND]))
        if UNBOUND in reach and self.report:
            if len(reach) > 1:
                raise Unclear("an UnboundLocalError at run time")
            raise Reject("E110", name)
        defs = [d for d in reach if d != UNBOUND]
        known = [self.values[d] for d in defs if self.values[d].type is not None]
        if known and all(v.constant is not None and v == known[0] and _same(v.constant, known[0].constant) for v in known):
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
        if all(b.constant is not None for b in bounds):
            return Value("ix"), len(range(*(int(b.constant) for b in bounds)))
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
                known[n.id] = value.constant
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
        constant = tuple(items) if all(v.constant is not None for v in items) else None
        return Value(("tup", *(v.type for v in items)), constant)

    def element(self, value, i):
        return value.constant[i] if value.constant is not None else Value(value.type[1 + i])

    def of_Subscript(self, node):
        value, index = self.value(node.value), self.value(node.slice)
        if value.type is None or index.type is None:
            return NOWHERE
        if index.constant is not None:
            return self.element(value, range(len(value.type) - 1)[index.constant])
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
            return rules.of_python(evaluate(node))
        value = self.value(node.value)
        if value.type is None:
            return NOWHERE
        if node.attr not in ("real", "imag"):
            raise Unclear(node.attr)
        t = value.type
        constant = None if value.constant is None else getattr(value.constant, node.attr)
        if rules.is_complex(t):
            return Value("pf" if t == "pc" else semantics.COMPLEX[t], constant)
        return Value("ix" if t == "b1" else t, constant)

    def of_BinOp(self, node):
        return self.binary(node, OPERATORS[type(node.op)], self.value(node.left), self.value(node.right))

    def binary(self, node, op, x, y):
        if x.type is None or y.type is None:
            return NOWHERE
        try:
            folded = _fold_binary(op, x, y)
        except Reject:  # of a constant that may turn out to be none
            if self.report:
                raise
            return NOWHERE
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
        if x.constant is not None and (is_lit(x.type) or x.type == "b1"):
            if op == "~" and x.type == "b1":
                return Value("b1", not x.constant)
            return rules.literal({"+": lambda v: +v, "-": lambda v: -v, "~": lambda v: ~v}[op](x.constant))
        if x.constant is not None and x.type == "pf" and op != "~":
            return Value("pf", -x.constant if op == "-" else x.constant)
        t = self.guard(rules.type_unary, op, x.type)
        return Value(t)

    def is_pure(self, node):
        return isinstance(node, ast.Name) or self.info.get(node, NOWHERE).constant is not None

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
        if is_tuple(x.type) and is_tuple(y.type) and x.constant is not None and y.constant is not None:
            raise Unclear("constant tuples")
        if op in ("in", "not in"):
            return self.membership(op, x, y)
        if x.constant is not None and y.constant is not None and not is_tuple(x.type) and not is_tuple(y.type):
            if isinstance(x.constant, complex) or isinstance(y.constant, complex):
                raise Unclear("complex constants")
            if any(rules.is_wide(one.type) and other.type in semantics.FLOATS for one, other in ((x, y), (y, x))):
                raise Unclear("an int beyond int64 beside a float of NumPy's")
            return None, {"==": x.constant == y.constant, "!=": x.constant != y.constant, "<": x.constant < y.constant, "<=": x.constant <= y.constant,
                          ">": x.constant > y.constant, ">=": x.constant >= y.constant}[op]
        return self.guard(rules.compare_operand, op, x.type, y.type) or (None, None)

    def membership(self, op, x, y):
        if not is_tuple(y.type) or is_tuple(x.type) or x.constant is not None:
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
        if value.constant is not None:
            return bool(value.constant)
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
            folded = folded and value.constant is not None
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
        if a.constant is not None and a.type == b.type and b.constant is not None and _same(a.constant, b.constant) and self.is_pure(node.test):
            return a
        return Value(self.join_all([a, b]))

    # calls

    def of_Call(self, node):
        if isinstance(node.func, ast.Attribute) and node.func.attr == "conjugate" and _path(node.func) != "np.conjugate":
            value = self.value(node.func.value)
            t = "ix" if value.type == "b1" else value.type
            self.calls[node] = ("method", "CONJUGATE", t, [node.func.value])
            return Value(t, None if value.constant is None else value.constant.conjugate())
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
            if path == "complex" and all(isinstance(a.constant, (int, float)) for a in args):
                return Value("pc", complex(*(a.constant for a in args)))
            raise Unclear("Python computes this call at compile time")
        if args and all(a.constant is not None for a in args) and any(isinstance(n, (ast.BoolOp, ast.IfExp)) for a in node.args for n in ast.walk(a)):
            raise Unclear("Python may compute this call at compile time")
        if path == "abs" and is_lit(args[0].type) and args[0].constant is not None:
            return rules.literal(abs(args[0].constant))
        return self.call_named(node, path, args)

    def call_function(self, node, path, args):
        fn = self.nested.get(path) or self.program.functions[path]
        given = dict(zip((a.arg for a in fn.args.args), zip(args, node.args)))
        for keyword in node.keywords:
            given[keyword.arg] = self.value(keyword.value), keyword.value
        defaults = dict(zip((a.arg for a in reversed(fn.args.args)), reversed(fn.args.defaults)))
        params, sources = [], []
        for a in fn.args.args:
            v, source = given[a.arg] if a.arg in given else (rules.of_python(evaluate(defaults[a.arg])), None)
            if v.type is None:
                return NOWHERE
            params.append((a.arg, v if v.constant is not None and (v.type == "b1" or is_lit(v.type)) else Value(v.type)))
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
        folds = all(v.constant is not None for _, v in (*params, *captures))
        return instance.result if folds else Value(instance.result.type)

    def call_cast(self, node, to, x):
        if is_tuple(x.type) or (rules.is_complex(x.type) and to not in semantics.COMPLEX and to != "b1"):
            raise Unclear("cast")
        if to in semantics.INTS:
            self.guard(rules.check_literal, x.type, to)
        self.calls[node] = ("cast", to)
        if x.constant is not None and not isinstance(x.constant, complex):
            value = semantics.convert(x.constant, stored(x.type), to) if not is_lit(x.type) else _literal_as(x.constant, to)
            if to in ("f4", "f8", "b1") or to in semantics.INTS:
                return Value(to, value)
        return Value(to)

    def call_named(self, node, path, args):
        if any(rules.is_wide(a.type) for a in args):
            raise Unclear("a function of a constant beyond int64")
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


EXACT = 1 << 500  # nothing larger than that is written
SHIFTED = 125  # bits of a constant that is made of variables


def _fold_binary(op, x, y):
    """Constants of Python, exactly or not at all."""
    if x.constant is None or y.constant is None:
        return None
    if "pc" in (x.type, y.type):
        raise Unclear("Python computes with complex constants")
    kinds = [is_lit(v.type) or v.type == "b1" for v in (x, y)]
    if all(kinds):
        return _fold_ints(op, x, y)
    if all(k or v.type == "pf" for k, v in zip(kinds, (x, y))) and op in "+-*/" and len(op) == 1:
        a, b = float(x.constant), float(y.constant)
        if op != "/" or b != 0:
            return Value("pf", {"+": a.__add__, "-": a.__sub__, "*": a.__mul__, "/": a.__truediv__}[op](b))
    return None


def _fold_ints(op, x, y):
    a, b = int(x.constant), int(y.constant)
    if abs(a) >= EXACT or abs(b) >= EXACT:
        raise Unclear("large constants")
    if op == "/":
        return Value("pf", a / b) if b else None
    if op in ("//", "%") and b == 0:
        return None
    if op == "<<" and a and a.bit_length() + b > SHIFTED or op == "**" and b > 60 and abs(a) > 1:
        raise Unclear("E130, unless the compiler does not know the constant")
    if op == "**" and not 0 <= b <= 60 or op == "<<" and b < 0 or op == ">>" and not 0 <= b < 127:
        return None
    value = {"+": a + b, "-": a - b, "*": a * b, "&": a & b, "|": a | b, "^": a ^ b}.get(op)
    if value is None:
        value = {"//": lambda: a // b, "%": lambda: a % b, "**": lambda: a**b, "<<": lambda: a << b if a else 0, ">>": lambda: a >> b}[op]()
    if x.type == y.type == "b1" and op in "&|^":
        return Value("b1", bool(value))
    if value.bit_length() > SHIFTED:
        raise Reject("E130")
    return rules.literal(value)
