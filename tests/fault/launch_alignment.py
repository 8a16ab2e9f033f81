"""Does each access of a kernel lie where its text says? Without a GPU: the text of every kernel (LANEWISE_DUMP=llvm) is walked
with the parameters of its launches, which the fake driver logs (FAKE_CUDA_LOG).

A value stands for the power of two that surely divides it: parameters are known numbers, a product has the factors of both, a sum
those that both have, a slot what all that is stored to it has. An address that is made of a parameter must have the alignment that a
load or store through it promises; a GPU ends the context where one has not.
"""

from __future__ import annotations

import re

MOST = 12  # log2; of what nothing is known against
SPLIT = re.compile(r"(?m)^---- llvm of .* ----$")
FUNCTION = re.compile(r"^define [^@]*@([\w.$]+)\((.*)\) ")
RESULT = re.compile(r"^\s*(%[\w.]+) = (\w+) (.*)$")
VALUE = re.compile(r"%[\w.]+|(?<![\w%@.])-?\d+(?![\w.])")
POINTER = re.compile(r"(?:addrspace\(\d+\) ?)?\*\s*(%[\w.]+), align (\d+)")


def factors(number: int) -> int:
    number &= (1 << 64) - 1
    return MOST if number == 0 else min((number & -number).bit_length() - 1, MOST)


class Function:
    def __init__(self, name: str, parameters: str) -> None:
        self.name = name
        self.parameters = [p.split()[-1] for p in parameters.split(",") if p.strip()]
        self.lines: list[str] = []


def functions_of(text: str) -> dict[str, Function]:
    found: dict[str, Function] = {}
    now = None
    for line in text.splitlines():
        start = FUNCTION.match(line)
        if start:
            now = found[start[1]] = Function(start[1], start[2])
        elif line == "}":
            now = None
        elif now is not None:
            now.lines.append(line.split(", !")[0])
    return found


class Walk:
    """One function with known factors of its parameters; roots: values that are addresses made of a parameter."""

    def __init__(self, functions: dict[str, Function], function: Function, known: list[int], is_root: list[bool]) -> None:
        self.functions, self.function = functions, function
        self.value = dict(zip(function.parameters, known))
        self.root = {name for name, is_one in zip(function.parameters, is_root) if is_one}
        self.slots: dict[str, int] = {}
        self.faults: set[str] = set()
        self.n_accesses = 0
        for _ in range(MOST + 2):  # what is stored to slots later may have fewer factors
            before = dict(self.slots), set(self.root)
            self.faults.clear()
            self.n_accesses = 0
            for line in function.lines:
                self.look_at(line)
            if before == (self.slots, self.root):
                break

    def of(self, word: str) -> int:
        return self.value.get(word, MOST) if word.startswith("%") else factors(int(word))

    def access(self, line: str) -> None:
        at = POINTER.search(line)
        if at is None or at[1] not in self.root:
            return
        self.n_accesses += 1
        if 1 << self.of(at[1]) < int(at[2]):
            self.faults.add(f"{self.function.name}: {line.strip()} at a multiple of {1 << self.of(at[1])}")

    def look_at(self, line: str) -> None:
        if line.lstrip().startswith("store "):
            self.access(line)
            words = VALUE.findall(re.sub(r", align \d+|addrspace\(\d+\)|<\d+ x", "", line))
            if words[-1] in self.slots and len(words) > 1:
                self.slots[words[-1]] = min(self.slots[words[-1]], self.of(words[0]))
                if words[0] in self.root:
                    self.root.add("slot " + words[-1])
        made = RESULT.match(line)
        if "call " in line:
            self.call(line)
        if made is None:
            return
        name, op, rest = made.groups()
        if op == "alloca":
            self.slots.setdefault(name, MOST)
        elif op == "load":
            self.access(line)
            slot = VALUE.findall(rest)[0]
            self.value[name] = self.slots.get(slot, 0)
            if "slot " + slot in self.root:
                self.root.add(name)
        else:
            self.value[name] = self.result(name, op, rest)

    def result(self, name: str, op: str, rest: str) -> int:
        words = VALUE.findall(re.sub(r"addrspace\(\d+\)|\bto .*$|<\d+ x|\[\d+ x", "", rest))
        known = [self.of(word) for word in words]
        if op in ("getelementptr", "bitcast", "addrspacecast", "select", "phi", "inttoptr", "ptrtoint") and self.root.intersection(words):
            self.root.add(name)
        if op == "mul":
            return min(sum(known), MOST)
        if op == "shl":
            return min(known[0] + int(words[1]), MOST) if not words[1].startswith("%") else known[0]
        if op == "and":
            return max(known)
        if op in ("add", "sub", "or"):
            return min(known)
        if op == "getelementptr":
            return min(known) if rest.startswith(("i8,", "inbounds i8,")) else 0
        if op == "call" and 'asm "mov.' in rest:  # hides where a number comes from
            return known[0] if known else 0
        if op in ("zext", "sext", "trunc", "bitcast", "addrspacecast", "inttoptr", "ptrtoint", "freeze"):
            return known[0] if known else 0
        if op == "select":
            return min(known[-2:])
        return 0

    def call(self, line: str) -> None:
        target = re.search(r"call [^@]*@([\w.$]+)\((.*)\)", line)
        function = self.functions.get(target[1]) if target else None
        if function is None:
            return
        words = [p.split()[-1] for p in target[2].split(",") if p.strip()]
        inner = Walk(self.functions, function, [self.of(w) if VALUE.fullmatch(w) else 0 for w in words], [w in self.root for w in words])
        self.faults |= inner.faults
        self.n_accesses += inner.n_accesses


def check(dumps: str, log: str) -> tuple[int, int, set[str]]:
    """Launches and accesses looked at, and those that do not lie where they should."""
    texts = list(dict.fromkeys(text.strip() for text in SPLIT.split(dumps)[1:] if "nvptx" in text))
    images: dict[str, str] = {}
    faults: set[str] = set()
    n_launches = n_accesses = 0
    for line in log.splitlines():
        words = line.split()
        if words[:1] == ["image"] and words[1] not in images:
            images[words[1]] = texts[len(images)]
        if words[:1] != ["values"]:
            continue
        functions = functions_of(images[words[1]])
        kernel = functions[words[2]]
        values = [int(word, 16) for word in words[3:]]
        walk = Walk(functions, kernel, [factors(v) for v in values], [v >= 1 << 32 for v in values])
        n_launches += 1
        n_accesses += walk.n_accesses
        faults |= walk.faults
    return n_launches, n_accesses, faults
