"""Texts of functions that `exec` made, from their bytecode, where no text is to be had.

What is given back are guesses: the reader compiles each and takes the one whose code is the function's. They are made for
what generated functions mostly consist of: assignments, calls, `if`, and `for` over anything. The operands of the
bytecode's stack are texts of expressions; parentheses around each leave its code as it is.
"""

from __future__ import annotations

import dis
import keyword
import sys
from types import CodeType
from typing import Any

#: Until Python 3.10 each operator has instructions of its own, BINARY_ADD and INPLACE_ADD.
_OPERATORS = {
    "ADD": "+", "SUBTRACT": "-", "MULTIPLY": "*", "TRUE_DIVIDE": "/", "FLOOR_DIVIDE": "//", "MODULO": "%", "POWER": "**", "MATRIX_MULTIPLY": "@",
    "LSHIFT": "<<", "RSHIFT": ">>", "AND": "&", "OR": "|", "XOR": "^",
}
_UNARY = {"UNARY_NEGATIVE": "-", "UNARY_POSITIVE": "+", "UNARY_INVERT": "~", "UNARY_NOT": "not "}
_QUIET = {"RESUME", "CACHE", "PRECALL", "NOP", "COPY_FREE_VARS", "MAKE_CELL", "EXTENDED_ARG", "TO_BOOL", "NOT_TAKEN",
          "END_FOR", "POP_ITER"}
_NULL = None  # what calls have on the stack beside the function


class _Unknown(Exception):
    """The code holds something that is not reconstructed."""


class _Items(str):
    """The text of a tuple, and that of its items, which need no parentheses in a subscript, where slices may be among them."""

    inner: str


class _List(str):
    """The text of a list, and that of its items."""

    inner: str


def _tuple(items: list[str]) -> _Items:
    inner = ", ".join(items) + ("," if len(items) == 1 else "")
    text = _Items(f"({inner})")
    text.inner = inner
    return text


def _list(items: list[str]) -> _List:
    text = _List(f"[{', '.join(items)}]")
    text.inner = ", ".join(items)
    return text


def _constant(value: Any) -> str:
    """The text of a constant, which the compiler may have made from a tuple, a list of constants or a slice."""
    if value is ...:
        return "..."
    if isinstance(value, tuple):
        return _tuple([_constant(item) for item in value])
    if isinstance(value, slice):
        parts = [value.start, value.stop, *([] if value.step is None else [value.step])]
        return ":".join("" if part is None else _constant(part) for part in parts)
    return f"({value!r})"


def _key(key: str) -> str:
    return key.inner if isinstance(key, _Items) and key.inner else key


def _slice(items: list[str]) -> str:
    return ":".join("" if item == "(None)" else item for item in items)


class _Reader:
    """One function: `lines` grows while its instructions are read in order."""

    def __init__(self, code: CodeType) -> None:
        self.code = code
        self.all = [i for i in dis.get_instructions(code) if i.opname not in _QUIET]
        self.at = {i.offset: n for n, i in enumerate(self.all)}
        self.offsets = [i.offset for i in self.all]
        self.names: tuple[str, ...] = ()
        self.head = -1  # where the innermost loop begins
        self.lines: list[str] = []

    def index_of(self, offset: int) -> int:
        """The number of the first instruction from this place on."""
        return next((n for n, at in enumerate(self.offsets) if at >= offset), len(self.all))

    def emit(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def block(self, n: int, end: int, depth: int, stack: list[Any]) -> None:
        before = len(self.lines)
        while n < end:
            n = self.one(n, end, depth, stack)
        if len(self.lines) == before:
            self.emit(depth, "pass")

    def one(self, n: int, end: int, depth: int, stack: list[Any]) -> int:
        """Read instruction n, and what belongs to it; the number of the next one."""
        i = self.all[n]
        name = i.opname
        if "JUMP" in name and "IF" in name:
            return self.condition(n, end, depth, stack)
        if name == "GET_ITER":
            return self.loop(n, depth, stack)
        if name in ("RETURN_VALUE", "RETURN_CONST"):
            self.emit(depth, f"return {stack.pop() if name == 'RETURN_VALUE' else repr(i.argval)}")
        elif name == "UNPACK_SEQUENCE":
            targets = [self.target(self.all[n + 1 + k]) for k in range(i.arg or 0)]
            self.emit(depth, f"{', '.join(targets)}, = {stack.pop()}")
            return n + 1 + len(targets)
        elif name == "STORE_FAST_LOAD_FAST":
            self.emit(depth, f"{i.argval[0]} = {stack.pop()}")
            stack.append(i.argval[1])
        elif name in ("STORE_FAST", "STORE_DEREF", "STORE_NAME", "STORE_GLOBAL"):
            self.store(depth, i.argval, stack.pop())
        elif name == "STORE_SUBSCR":
            key, place, value = stack.pop(), stack.pop(), stack.pop()
            self.store(depth, f"{place}[{_key(key)}]", value)
        elif name == "STORE_SLICE":
            stop, start, place, value = stack.pop(), stack.pop(), stack.pop(), stack.pop()
            self.store(depth, f"{place}[{_slice([start, stop])}]", value)
        elif name == "STORE_ATTR":
            place, value = stack.pop(), stack.pop()
            self.store(depth, f"{place}.{i.argval}", value)
        elif name == "POP_TOP":
            self.emit(depth, f"{stack.pop()}")
        else:
            self.push(i, stack)
        return n + 1

    def store(self, depth: int, target: str, value: Any) -> None:
        if isinstance(value, tuple):  # an augmented assignment
            self.emit(depth, f"{target} {value[0]} {value[1]}")
        else:
            self.emit(depth, f"{target} = {value}")

    def target(self, i: Any) -> str:
        if i.opname not in ("STORE_FAST", "STORE_DEREF"):
            raise _Unknown
        return str(i.argval)

    def test_of(self, i: Any, stack: list[Any]) -> str:
        """What is true where the jump is not taken."""
        test = stack.pop()
        if "NONE" in i.opname:
            return f"({test} is {'' if 'NOT' in i.opname else 'not '}None)"
        return f"(not {test})" if "TRUE" in i.opname else f"{test}"

    def more_tests(self, n: int, stack: list[Any]) -> tuple[int, str]:
        """The rest of `a and b and …`, whose jumps have the same target: the last jump's number, and what is tested."""
        tests = [self.test_of(self.all[n], stack)]
        target = self.all[n].argval
        while True:
            k = n + 1
            inner: list[Any] = []
            try:
                while not ("JUMP" in self.all[k].opname and "IF" in self.all[k].opname):
                    self.push(self.all[k], inner)
                    k += 1
            except (_Unknown, IndexError):
                break
            if self.all[k].argval != target or len(inner) != 1:
                break
            tests.append(self.test_of(self.all[k], inner))
            n = k
        return n, " and ".join(tests)

    def condition(self, n: int, end: int, depth: int, stack: list[Any]) -> int:
        after = self.index_of(self.all[n].argval)
        if after <= n or after > end or stack[:-1]:
            raise _Unknown
        n, test = self.more_tests(n, stack)
        last = self.all[after - 1]
        otherwise = after
        self.emit(depth, f"if {test}:")
        again = last.opname.startswith(("JUMP_BACKWARD", "JUMP_ABSOLUTE")) and last.argval == self.head
        if again or last.opname == "JUMP_FORWARD":
            otherwise = end if again else self.index_of(last.argval)
            if not after <= otherwise <= end:
                raise _Unknown
            self.block(n + 1, after - 1, depth + 1, [])
            if otherwise > after:
                self.emit(depth, "else:")
                self.block(after, otherwise, depth + 1, [])
        else:
            self.block(n + 1, after, depth + 1, [])
        return otherwise

    def loop(self, n: int, depth: int, stack: list[Any]) -> int:
        head = self.all[n + 1]
        if head.opname != "FOR_ITER" or stack[:-1]:
            raise _Unknown
        after = self.index_of(head.argval)
        back = self.all[after - 1]
        store = self.all[n + 2]
        if not back.opname.startswith(("JUMP_BACKWARD", "JUMP_ABSOLUTE")):
            raise _Unknown
        body = n + 3
        if store.opname == "UNPACK_SEQUENCE":
            targets = [self.target(self.all[body + k]) for k in range(store.arg or 0)]
            body += len(targets)
            variable = ", ".join(targets) + ","
        else:
            variable = self.target(store)
        self.emit(depth, f"for {variable} in {stack.pop()}:")
        outer, self.head = self.head, head.offset
        self.block(body, after - 1, depth + 1, [])
        self.head = outer
        return after

    def push(self, i: Any, stack: list[Any]) -> None:
        """Instructions that compute."""
        name, value = i.opname, i.argval
        if name in ("LOAD_GLOBAL", "LOAD_NAME"):
            null = name == "LOAD_GLOBAL" and sys.version_info >= (3, 11) and (i.arg or 0) & 1
            stack.extend(([_NULL, value] if sys.version_info < (3, 13) else [value, _NULL]) if null else [value])
        elif name in ("LOAD_CONST", "LOAD_SMALL_INT"):
            if isinstance(value, CodeType):
                raise _Unknown
            stack.append(_constant(value))
        elif name.startswith("LOAD_FAST") or name in ("LOAD_DEREF", "LOAD_CLASSDEREF"):
            stack.extend(value if isinstance(value, tuple) else [value])
        elif name == "LOAD_METHOD" or (name == "LOAD_ATTR" and sys.version_info >= (3, 12) and (i.arg or 0) & 1):
            stack.extend([f"{stack.pop()}.{value}", _NULL])
        elif name == "LOAD_ATTR":
            stack.append(f"{stack.pop()}.{value}")
        elif name == "PUSH_NULL":
            stack.append(_NULL)
        elif name == "KW_NAMES":
            self.names = value if isinstance(value, tuple) else self.code.co_consts[i.arg]
        elif name in ("CALL", "CALL_FUNCTION", "CALL_METHOD", "CALL_KW", "CALL_FUNCTION_KW"):
            self.call(name, i.arg or 0, stack)
        elif name in _UNARY:
            stack.append(f"({_UNARY[name]}{stack.pop()})")
        elif name == "BINARY_SUBSCR" or (name == "BINARY_OP" and i.argrepr == "[]"):
            key = stack.pop()
            stack.append(f"{stack.pop()}[{_key(key)}]")
        elif name == "BINARY_SLICE":
            stop, start = stack.pop(), stack.pop()
            stack.append(f"{stack.pop()}[{_slice([start, stop])}]")
        elif name == "BINARY_OP":
            y, x = stack.pop(), stack.pop()
            stack.append((i.argrepr, y) if i.argrepr.endswith("=") else f"({x} {i.argrepr} {y})")
        elif name.startswith(("BINARY_", "INPLACE_")) and name.partition("_")[2] in _OPERATORS:
            y, x, operator = stack.pop(), stack.pop(), _OPERATORS[name.partition("_")[2]]
            stack.append((f"{operator}=", y) if name.startswith("INPLACE_") else f"({x} {operator} {y})")
        elif name == "COMPARE_OP":
            y, x = stack.pop(), stack.pop()
            stack.append(f"({x} {i.argrepr.removeprefix('bool(').removesuffix(')') if i.argrepr else value} {y})")
        elif name in ("IS_OP", "CONTAINS_OP"):
            y, x = stack.pop(), stack.pop()
            word = ("is not" if i.arg else "is") if name == "IS_OP" else ("not in" if i.arg else "in")
            stack.append(f"({x} {word} {y})")
        elif name in ("BUILD_TUPLE", "BUILD_LIST"):
            items = [stack.pop() for _ in range(i.arg)][::-1]
            stack.append(_list(items) if name == "BUILD_LIST" else _tuple(items))
        elif name in ("LIST_EXTEND", "LIST_APPEND"):
            items, before = stack.pop(), stack.pop()
            if i.arg != 1 or not isinstance(before, _List):
                raise _Unknown
            if name == "LIST_EXTEND":  # [0, 1, 1] is an empty list that is given a constant tuple
                given = items.inner if isinstance(items, _Items) and not before.inner else f"*{items}"
            else:
                given = items
            stack.append(_list([before.inner, given] if before.inner else [given]))
        elif name == "LIST_TO_TUPLE" or (name == "CALL_INTRINSIC_1" and i.argrepr.endswith("LIST_TO_TUPLE")):
            stack.append(_tuple([stack.pop().inner]))
        elif name == "CALL_FUNCTION_EX":
            self.call_with_items(i, stack)
        elif name == "BUILD_SLICE":
            items = [stack.pop() for _ in range(i.arg)][::-1]
            stack.append(_slice(items))
        elif name == "COPY":
            stack.append(stack[-i.arg])
        elif name == "SWAP":
            stack[-1], stack[-i.arg] = stack[-i.arg], stack[-1]
        elif name in ("DUP_TOP", "DUP_TOP_TWO"):  # these and ROT_ until 3.10
            stack.extend(stack[-1:] if name == "DUP_TOP" else stack[-2:])
        elif name in ("ROT_TWO", "ROT_THREE", "ROT_FOUR"):
            stack.insert(len(stack) - ("ROT_TWO", "ROT_THREE", "ROT_FOUR").index(name) - 2, stack.pop())
        else:
            raise _Unknown

    def call(self, name: str, n: int, stack: list[Any]) -> None:
        names = self.names
        self.names = ()
        if name in ("CALL_KW", "CALL_FUNCTION_KW"):
            names = eval(stack.pop())  # the constant that was pushed: a tuple of names
        args = [stack.pop() for _ in range(n)][::-1]
        parts = args[: n - len(names)] + [f"{key}={value}" for key, value in zip(names, args[n - len(names):])]
        function = stack.pop()
        if name in ("CALL", "CALL_METHOD", "CALL_KW") and sys.version_info >= (3, 11) or name == "CALL_METHOD":
            other = stack.pop()
            function = other if function is _NULL else function
        stack.append(f"{function}({', '.join(parts)})")


    def call_with_items(self, i: Any, stack: list[Any]) -> None:
        """`f(x, *args)`: the arguments are a tuple."""
        if sys.version_info >= (3, 14) and stack.pop() is not _NULL or sys.version_info < (3, 14) and i.arg & 1:
            raise _Unknown  # there are keywords
        args = stack.pop()
        function = stack.pop()
        if sys.version_info >= (3, 11):
            other = stack.pop()
            function = other if function is _NULL else function
        stack.append(f"{function}({args.inner.rstrip(',') if isinstance(args, _Items) else f'*{args}'})")


def _parameters(code: CodeType) -> str:
    takes_rest = bool(code.co_flags & 0x04)  # *args
    if code.co_flags & 0x08 or code.co_posonlyargcount:
        raise _Unknown
    n, more = code.co_argcount, code.co_kwonlyargcount
    names = code.co_varnames[: n + more + takes_rest]
    if any(not name.isidentifier() or keyword.iskeyword(name) for name in names):
        raise _Unknown
    rest = [f"*{names[-1]}"] if takes_rest else ["*"] if more else []
    return ", ".join([*names[:n], *rest, *names[n : n + more]])


def _body(code: CodeType) -> list[str]:
    reader = _Reader(code)
    reader.block(0, len(reader.all), 1, [])
    return reader.lines


def texts_of(code: CodeType) -> list[str]:
    """Texts that may compile to this code, the likeliest first; none where it has something that is not reconstructed."""
    try:
        body, parameters = _body(code), _parameters(code)
    except (_Unknown, IndexError, TypeError, ValueError, AttributeError):
        return []
    lines = "\n" * (code.co_firstlineno - 1)
    if code.co_name == "<lambda>":
        result = body[-1].strip().removeprefix("return ") if len(body) == 1 else None
        return [f"{lines}lambda {parameters}: {result}\n"] if result is not None else []
    head = f"{lines}def {code.co_name}({parameters}):\n"
    bodies = [body]
    if body[-1].strip() == "return (None)" or body[-1].strip() == "return None":
        bodies.insert(0, body[:-1] or ["    pass"])
    first = code.co_consts[0] if code.co_consts else None
    if isinstance(first, str):
        bodies = [each for one in bodies for each in ([f"    {first!r}", *one], one)]
    return [head + "\n".join(each) + "\n" for each in bodies]
