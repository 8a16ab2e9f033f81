"""The oracle: what a scalar Python function means when compiled, one value at a time.

program = Program(source); program.function("f", ["i4", "f8"]) types the function (rules of
typing_rules.py, in frame.py), translates it to Python with every rounding and wrap written out
(translator.py), and returns a Compiled: .call(*args), .result, .inexact. Reject(code) is a program
the compiler has to refuse, Unclear one that the oracle cannot judge.
"""

from __future__ import annotations

import ast

import named_rules
import semantics
import typing_rules as rules
from frame import NOWHERE, Frame, evaluate
from translator import Translator
from typing_rules import Reject, Unclear, Value, is_tuple, stored


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
                    self.constants[parameter.arg] = rules.of_python(evaluate(argument))
                inner = next(n for n in factory.body if isinstance(n, ast.FunctionDef))
                self.functions[node.targets[0].id] = inner
            elif isinstance(node, ast.Assign):
                self.constants[node.targets[0].id] = rules.of_python(evaluate(node.value))

    def instance(self, fn, params, captures=(), final=False):
        key = (fn, params, captures)
        known = self.instances.get(key)
        if known is None:
            known = self.instances[key] = Instance(len(self.instances))
            try:
                frame = Frame(self, fn, params, captures, known)
                frame.run()
                Translator(frame).run()
            except Exception:
                del self.instances[key]
                raise
            known.busy = False
        elif known.busy:
            raise Reject("E151")
        return known

    def function(self, name, types):
        return Compiled(self, self.functions[name], types)


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
