"""One typed function as Python text, with every rounding and wrap written out (semantics.py)."""

from __future__ import annotations

import ast

import semantics
import typing_rules as rules
from frame import OPERATORS
from texts import binary_text, constant_as, constant_text, convert_text
from typing_rules import Reject, Unclear, Value, is_tuple, stored


MODULAR = ("+", "-", "*", "&", "|", "^", "<<")


def raises_if_negative(op, value, to):
    """Whether the operation of a uint64 needs the sign of a Python int that is known only at run time."""
    return to == "u8" and value.type == "ix" and value.constant is None and op not in MODULAR


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
        if value.constant is not None:
            text = constant_text(value)
        else:
            left = f.info[node.target]
            source = constant_text(left) if left.constant is not None else self.web(f.uses[node.target])[0]
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
        if isinstance(node.value, ast.Tuple) and f.info[node.value].constant is None:
            parts = [self.result(e, to, i) for i, (e, to) in enumerate(zip(node.value.elts, result[1:]))]
            self.line(depth, f"return ({', '.join(parts)},)")
        else:
            self.line(depth, f"return {self.result(node.value, result, 0)}")

    def result(self, node, to, i):
        """A call with an error bound may stand only here: the reference is the result."""
        found = self.frame.calls.get(node)
        if found and found[0] == "named" and found[2].inexact and self.frame.info[node].constant is None:
            if stored(found[2].value.type) != stored(to):
                raise Unclear("an inexact value is converted")
            self.instance.inexact[i] = found[2].inexact
            return self.named(node, found, True)
        return self.as_(node, to)

    # expressions

    def as_(self, node, to):
        value = self.frame.info[node]
        if value.constant is not None and not is_tuple(value.type):
            return constant_as(value, to)
        return convert_text(self.expr(node), value.type, to)

    def expr(self, node):
        value = self.frame.info[node]
        if value.constant is not None:
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
        if index.constant is not None:
            return f"{text}[{index.constant}]"
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
        x = constant_as(left[1], operand) if left[1].constant is not None else self.operand(op, left[0], left[1], operand)
        t, y_type = stored(operand), f.info[right].type
        if op in ("<<", ">>"):
            text = f"shift_{'left' if op == '<<' else 'right'}('{t}', {x}, {self.expr(right)})"
        elif op == "**":
            text = self.power(t, x, right, y_type)
        else:
            text = binary_text(op, t, x, self.right(op, right, operand))
        return convert_text(text, t, result)

    def operand(self, op, text, value, to):
        if raises_if_negative(op, value, to):
            return f"unsigned({text})"
        return convert_text(text, value.type, to)

    def right(self, op, node, to):
        value = self.frame.info[node]
        return self.operand(op, self.expr(node), value, to) if raises_if_negative(op, value, to) else self.as_(node, to)

    def power(self, t, x, right, y_type):
        constant = self.frame.info[right].constant
        if t in semantics.INTS:
            y = str(int(constant)) if constant is not None else self.right("**", right, t)
            return f"int_power('{t}', {x}, {y})"
        if t in semantics.FLOATS and constant in (0, 1, 2) and not isinstance(constant, complex):
            return {0: f"({x}, 1.0)[1]", 1: x}.get(constant) or f"float_square('{t}', {x})"
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
            if i + 1 < len(node.ops) and f.info[y_node].constant is None:
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
            args += [constant_text(v) if v.constant is not None else self.web(f.uses[node, name])[0] for name, v in captures]
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
