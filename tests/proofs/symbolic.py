"""The scalar IR as formulas of z3: a function's results for all arguments at once.

Straight-line code and IFs, which is what operators become. Integers are bit-vectors, floats are z3's, of the
real formats or of a small one in which a proof ends sooner. What the IR leaves undefined (a division by zero, a
shift by the width) is collected as obligations: nobody may be able to reach it."""

from __future__ import annotations

import sys
from pathlib import Path

import z3

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fuzz"))

import ir_interpreter as text_of_ir

FORMATS = {"f16": (5, 11), "f32": (8, 24), "f64": (11, 53)}
INTEGERS = text_of_ir.INTEGERS
NEAREST = z3.RNE()


class Symbolic:
    def __init__(self, ir, formats=None):
        self.functions, _ = text_of_ir.parse(ir)
        self.formats = formats or FORMATS
        self.obligations = []  # (condition under which it is reached, what must hold)

    def sort(self, type_):
        if type_ == "b1":
            return z3.BoolSort()
        return z3.FPSort(*self.formats[type_]) if type_ in self.formats else z3.BitVecSort(INTEGERS[type_][1])

    def run(self, arguments, name="lw_body"):
        """The results, and under which conditions each return is taken: [(condition, [values])]."""
        state = {"values": {}, "slots": {}}
        self.returns = []
        self.walk(self.functions[name].code, 0, len(self.functions[name].code), state, z3.BoolVal(True), arguments)
        results = self.returns[-1][1]
        for condition, values in reversed(self.returns[:-1]):
            results = [z3.If(condition, v, r) for v, r in zip(values, results)]
        return results

    def walk(self, code, at, end, state, path, arguments):
        """Runs code[at:end]; the condition under which its end is reached."""
        while at < end:
            i = code[at]
            at += 1
            if i.op == "return":
                self.returns.append((path, [state["values"][v] for v in i.values]))
                return z3.BoolVal(False)
            if i.op == "if":
                at, path = self.branch(code, at, i, state, path, arguments)
            elif i.op == "end":
                continue
            elif i.op in ("block", "loop", "break", "continue", "latch", "else"):
                raise NotImplementedError(i.op)
            elif i.op == "set":
                state["slots"][i.values[0]] = state["values"][i.values[1]]
            elif i.op == "slot":
                state["slots"][i.number] = None
            elif i.op == "get":
                state["values"][i.number] = state["slots"][i.values[0]]
            elif i.op == "param":
                state["values"][i.number] = arguments[int(i.rest)]
            elif i.op != "bind":
                state["values"][i.number] = self.value(i, state["values"], path)
        return path

    def branch(self, code, at, i, state, path, arguments):
        condition = state["values"][i.values[0]]
        after = i.target  # behind ELSE, or behind END
        other = code[after - 1].op == "else"
        end = code[after - 1].target if other else after
        slots = dict(state["slots"])
        taken = self.walk(code, at, after - 1, state, z3.And(path, condition), arguments)
        then_slots, state["slots"] = state["slots"], slots
        rest = z3.And(path, z3.Not(condition))
        if other:
            rest = self.walk(code, after, end - 1, state, rest, arguments)
        for slot, value in then_slots.items():
            now = state["slots"].get(slot)
            state["slots"][slot] = value if now is None else now if value is None else z3.If(condition, value, now)
        return end, z3.Or(taken, rest)

    def value(self, i, values, path):
        operands = [values[v] for v in i.values]
        if i.op == "const":
            return self.constant(i)
        if i.op == "select":
            return z3.If(*operands)
        if i.op == "cast":
            return self.cast(operands[0], self.types(i, values), i.type)
        return self.operation(i, operands, path)

    def constant(self, i):
        bits = int(i.rest.split()[0], 0)
        if i.type == "b1":
            return z3.BoolVal(bool(bits))
        if i.type in self.formats:
            return z3.FPVal(float(text_of_ir.from_bits(bits, i.type)), self.sort(i.type))
        return z3.BitVecVal(bits, INTEGERS[i.type][1])

    def types(self, i, values):
        """The type of the operand, which the text says where it is made."""
        for function in self.functions.values():
            for k in function.code:
                if k.number == i.values[0] and values.get(k.number) is not None:
                    return "b1" if k.op in ("eq", "ne", "lt", "le", "gt", "ge") else k.type
        raise KeyError(i.values[0])

    def cast(self, a, source, target):
        if source == "b1" and target == "b1":
            return a
        if source in self.formats or target in self.formats:
            raise NotImplementedError(f"cast of {source} to {target}")
        if target == "b1":
            return a != 0
        bits = INTEGERS[target][1]
        if source == "b1":
            return z3.If(a, z3.BitVecVal(1, bits), z3.BitVecVal(0, bits))
        return resized(a, INTEGERS[source][0], bits)

    def operation(self, i, operands, path):
        is_float = z3.is_fp(operands[0])
        signed = not is_float and z3.is_bv(operands[0]) and self.is_signed(i)
        a, b = operands[0], operands[1] if len(operands) > 1 else None
        if i.op in ("div", "rem") and not is_float:
            least = z3.BitVecVal(1 << a.size() - 1, a.size())
            self.obligations.append((path, z3.And(b != 0, z3.Not(z3.And(a == least, b == -1))) if signed else b != 0))
        if i.op in ("shl", "shr"):
            self.obligations.append((path, z3.ULT(b, a.size())))
        table = self.of_floats() if is_float else self.of_bools() if z3.is_bool(a) else self.of_integers(signed)
        if i.op not in table:
            raise NotImplementedError(i.op + i.rest)
        return table[i.op](*operands)

    def is_signed(self, i):
        type_ = i.type
        if i.op in ("lt", "le", "gt", "ge", "eq", "ne"):
            type_ = self.types(i, {i.values[0]: True})
        return type_ != "b1" and INTEGERS[type_][0]

    @staticmethod
    def of_integers(signed):
        return {
            "add": lambda a, b: a + b,
            "sub": lambda a, b: a - b,
            "mul": lambda a, b: a * b,
            "div": (lambda a, b: a / b) if signed else z3.UDiv,
            "rem": z3.SRem if signed else z3.URem,
            "neg": lambda a: -a,
            "not": lambda a: ~a,
            "and": lambda a, b: a & b,
            "or": lambda a, b: a | b,
            "xor": lambda a, b: a ^ b,
            "shl": lambda a, b: a << b,
            "shr": (lambda a, b: a >> b) if signed else z3.LShR,
            "eq": lambda a, b: a == b,
            "ne": lambda a, b: a != b,
            "lt": (lambda a, b: a < b) if signed else z3.ULT,
            "le": (lambda a, b: a <= b) if signed else z3.ULE,
            "gt": (lambda a, b: a > b) if signed else z3.UGT,
            "ge": (lambda a, b: a >= b) if signed else z3.UGE,
        }

    @staticmethod
    def of_bools():
        return {
            "and": z3.And,
            "or": z3.Or,
            "xor": z3.Xor,
            "not": z3.Not,
            "eq": lambda a, b: a == b,
            "ne": lambda a, b: a != b,
        }

    @staticmethod
    def of_floats():
        return {
            "add": lambda a, b: z3.fpAdd(NEAREST, a, b),
            "sub": lambda a, b: z3.fpSub(NEAREST, a, b),
            "mul": lambda a, b: z3.fpMul(NEAREST, a, b),
            "div": lambda a, b: z3.fpDiv(NEAREST, a, b),
            "neg": z3.fpNeg,
            "fma": lambda a, b, c: z3.fpFMA(NEAREST, a, b, c),
            "eq": z3.fpEQ,
            "ne": lambda a, b: z3.Not(z3.fpEQ(a, b)),
            "lt": z3.fpLT,
            "le": z3.fpLEQ,
            "gt": z3.fpGT,
            "ge": z3.fpGEQ,
        }


def resized(a, signed, bits):
    """The integer's value as a bit-vector of this width: wrapped, or widened by its sign."""
    more = bits - a.size()
    if more <= 0:
        return z3.Extract(bits - 1, 0, a)
    return z3.SignExt(more, a) if signed else z3.ZeroExt(more, a)


def prove(claim, assuming=(), seconds=60):
    """Fails with the values for which the claim is false, or where the solver gives up."""
    solver = z3.Solver()
    solver.set("timeout", seconds * 1000)
    solver.add(*assuming)
    solver.add(z3.Not(claim))
    answer = solver.check()
    assert answer == z3.unsat, f"{answer}: {solver.model() if answer == z3.sat else solver.reason_unknown()}"
