"""Compiles programs and compares them with the oracle, several programs as outputs of one function."""

from __future__ import annotations

import linecache
import math
import random
import warnings
from typing import NamedTuple

import numpy as np

import generate
import oracle
import typing_rules as rules
from semantics import COMPLEX, FLOATS, NUMPY, Negative, Undefined

BATCH = 16
HEAD = "import math\nimport numpy as np\n"


class Problem(NamedTuple):
    kind: str  # value, type, rejected, accepted, code, position, internal
    source: str
    types: tuple
    text: str

    def __str__(self):
        return f"{self.kind}: parameters {', '.join(self.types)}\n{self.source}{self.text}"


class Judged(NamedTuple):
    """A program and what the oracle says of it."""

    name: str
    source: str
    types: tuple
    code: str  # the error it must be refused with, or ""
    compiled: object


def judge(source, types, name):
    """None where the oracle has no opinion."""
    try:
        return Judged(name, source, types, "", oracle.Program(source).function(name, types))
    except oracle.Reject as refusal:
        return Judged(name, source, types, refusal.code, None)
    except oracle.Unclear:
        return None


def space_of(source, names=None):
    """What a program's text defines, beside names that it is given; it stays readable as source."""
    file = f"<fuzz {hash(source)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    space = {"__name__": __name__, **(names or {})}
    exec(compile(source, file, "exec", dont_inherit=True), space)
    return space


def define(source, name):
    return space_of(source)[name]


def join_programs(programs):
    """One function that returns what all of these return, and how many outputs each has."""
    params = ", ".join("abc"[: len(programs[0].types)])
    calls = [f"{'*' if p.compiled.is_tuple else ''}{p.name}({params})" for p in programs]
    text = HEAD + "".join(p.source for p in programs)
    return f"{text}def joined({params}):\n    return ({', '.join(calls)},)\n"


def compiled(source, name, **options):
    import lanewise as lw

    return lw.vectorize(cache=False, warn=False, **options)(define(source, name))


def call(function, arguments):
    with np.errstate(all="ignore"):
        out = function(*arguments)
    return out if isinstance(out, tuple) else (out,)


# ---- the IR, interpreted ----


def ir_text(program):
    import lanewise as lw

    function = compiled(HEAD + program.source, program.name, fma=False)
    text = lw.compile(function, f"({', '.join(program.types)},)", target="cpu", output="ir")
    return text if isinstance(text, str) else text[0]


def ir_outputs(program, arguments):
    """What the IR interpreter returns, in the dtypes that the oracle expects."""
    import ir_interpreter

    parts = [part for a in arguments for part in ((a.real, a.imag) if a.dtype.kind == "c" else (a,))]
    rows = zip(*(list(p) if p.dtype.kind == "f" else p.tolist() for p in parts))
    results = ir_interpreter.run(ir_text(program), rows)
    columns, at, outputs = list(zip(*results)), 0, []
    if len(columns) != sum(2 if t in COMPLEX else 1 for t in program.compiled.outputs):
        raise ir_interpreter.Unsupported("a function with a status")
    for t in program.compiled.outputs:
        dtype = np.dtype(NUMPY[t])
        out = np.zeros(len(results), dtype)
        for part in (out.real, out.imag) if t in COMPLEX else (out,):
            for k, value in enumerate(columns[at]):
                if value is None:
                    raise ir_interpreter.Wrong(f"output {len(outputs)} of row {k} is not defined")
                part[k] = value
            at += 1
        outputs.append(out)
    return outputs


def check_interpreted(program):
    """The IR against the oracle."""
    import ir_interpreter

    arguments = generate.arrays(program.types)
    try:
        found = compare(program, ir_outputs(program, arguments), arguments, expected_rows(program, arguments))
    except ir_interpreter.Unsupported:
        return None
    except ir_interpreter.Wrong as fault:
        return Problem("ir", program.source, program.types, f"# {fault}\n")
    return Problem("ir", program.source, program.types, f"# IR: {found[1][2:]}") if found else None


def stage_note(program, arguments, output, row):
    """What the IR gives there, so that a difference names the stage."""
    import ir_interpreter

    try:
        value = ir_outputs(program, [a[row : row + 1] for a in arguments])[output][0]
    except (ir_interpreter.Unsupported, ir_interpreter.Wrong) as fault:
        return f"# the IR: {fault}\n"
    return f"# the IR gives {value!r}\n"


# ---- comparison ----


def bits(array):
    """Bytes in which NaNs are one value."""
    flat = np.atleast_1d(array)
    if flat.dtype.kind == "c":
        return bits(flat.view(flat.real.dtype))
    if flat.dtype.kind == "f":
        flat = np.where(np.isnan(flat), np.array(np.nan, flat.dtype), flat)
    return flat.view(f"u{flat.dtype.itemsize}") if flat.dtype.kind != "b" else flat


def ulp_distance(got, reference, t):
    """Units in the last place of t between a value and its reference, which may be wider."""
    info = np.finfo(NUMPY[t])
    got, reference = np.longdouble(got), np.longdouble(reference)
    if np.isnan(got) or np.isnan(reference):
        return 0 if np.isnan(got) and np.isnan(reference) else math.inf
    limit = np.longdouble(info.max)
    if np.isinf(got) or abs(reference) > limit:
        near = max(abs(min(abs(got), limit * 2)), abs(reference)) >= limit and min(abs(got), abs(reference)) > limit * (1 - 64 * np.longdouble(info.eps))
        same_sign = np.signbit(got) == np.signbit(reference)
        return 0 if same_sign and (near or got == reference) else math.inf
    exponent = math.frexp(abs(float(reference)))[1] if reference else info.minexp
    unit = np.longdouble(2.0) ** max(exponent - FLOATS[t], int(info.minexp) - FLOATS[t] + 1)
    return float(abs(got - reference) / unit)


def allowed(inexact, gpu):
    name, t = inexact
    row = rules.ulps()[name]
    bound = row[(0 if gpu else 2) + (t == "f8")]
    # float16 adds half an ulp to what float32 has
    return (1 if t == "f2" else bound) + 0.5


RAISES = "OverflowError"  # in the place of a row


def expected_rows(program, arguments):
    rows = []
    for values in zip(*(a.tolist() for a in arguments)):
        try:
            rows.append(program.compiled(*values))
        except Undefined:
            rows.append(None)
        except Negative:
            rows.append(RAISES)
        except Exception as mistake:
            raise RuntimeError(f"the oracle fails on {values}\n{program.source}") from mistake
    return rows


def compare(program, outputs, arguments, wanted, tell_stage=False):
    """The first difference as (kind, text), or None."""
    for i, (got, t) in enumerate(zip(outputs, program.compiled.outputs)):
        if got.dtype != NUMPY[t]:
            return "type", f"# output {i} is {got.dtype}, expected {NUMPY[t]}\n"
        inexact = program.compiled.inexact.get(i)
        column = [None if row is None else row[i] for row in wanted]
        problem = near(got, column, t, allowed(inexact, False)) if inexact else exact(got, column, t)
        if problem is not None:
            inputs = ", ".join(repr(a[problem]) for a in arguments)
            text = f"# output {i} of f({inputs}): got {got[problem]!r}, expected {column[problem]!r}\n"
            return "value", text + (stage_note(program, arguments, i, problem) if tell_stage else "")
    return None


def exact(got, column, t):
    filled = np.array([0 if v is None else v for v in column], NUMPY[t])
    differ = bits(got) != bits(filled)
    if t in COMPLEX:
        differ = differ.reshape(-1, 2).any(axis=1)
    return next((i for i in np.flatnonzero(differ) if column[i] is not None), None)


def near(got, column, t, bound):
    for i, want in enumerate(column):
        if want is not None and ulp_distance(got[i], want, t) > bound:
            return i
    return None


# ---- checks ----


def check_refusal(program):
    """The compiler must refuse this one, with its code and a position in the text."""
    import lanewise as lw

    source = HEAD + program.source
    arguments = generate.arrays(program.types)
    try:
        call(compiled(source, program.name), arguments)
    except lw.errors.CompileError as refusal:
        return refusal_problem(program, refusal, source)
    except Exception as other:
        return Problem("internal", program.source, program.types, f"# {type(other).__name__}: {other}\n")
    if program.code.startswith("E14") and ("for " in source or "while " in source):
        return None  # which types meet first in a loop is not laid down
    return Problem("accepted", program.source, program.types, f"# expected {program.code}\n")


def refusal_problem(program, refusal, source):
    code, line = getattr(refusal, "code", None), getattr(refusal, "lineno", None)
    message = "".join(f"# {text}\n" for text in str(refusal).splitlines())
    if not (isinstance(code, str) and code.startswith("E1")):
        return Problem("code", program.source, program.types, f"# code {code!r}\n{message}")
    if not (isinstance(line, int) and 1 <= line <= source.count("\n")) or not isinstance(getattr(refusal, "col", None), int):
        return Problem("position", program.source, program.types, message)
    if len(str(refusal).splitlines()) > 12:
        return Problem("position", program.source, program.types, "# more than 12 lines\n" + message)
    if program.code and not code.startswith(program.code) and not program.code.startswith("E14"):
        return Problem("code", program.source, program.types, f"# expected {program.code}\n{message}")
    return None


def check_one(program, gpu=False):
    """A Problem or None."""
    import lanewise as lw

    if program.code:
        return check_refusal(program)
    if isinstance(gpu, str):
        return check_compiles(program, gpu)
    source = HEAD + program.source
    arguments = generate.arrays(program.types)
    try:
        outputs = run(source, program.name, arguments, gpu)
    except lw.errors.CompileError as refusal:
        found = refusal_problem(program._replace(code=""), refusal, source)
        message = "".join(f"# {text}\n" for text in str(refusal).splitlines())
        return found or Problem("rejected", program.source, program.types, message)
    except OverflowError as error:
        return check_raising(program, error, arguments, gpu)
    except Exception as other:
        return Problem("internal", program.source, program.types, f"# {type(other).__name__}: {other}\n")
    return judge_outputs(program, outputs, arguments, gpu)


def check_raising(program, error, arguments, gpu):
    """A program that raises for some rows: the oracle has to say so; the other rows have values."""
    good = [i for i, row in enumerate(expected_rows(program, arguments)) if row is not RAISES]
    if "negative Python integer" not in str(error) or len(good) == len(arguments[0]):
        return Problem("internal", program.source, program.types, f"# OverflowError: {error}\n")
    rest = [a[good] for a in arguments]
    try:
        return judge_outputs(program, run(HEAD + program.source, program.name, rest, gpu), rest, gpu) if good else None
    except Exception as other:
        return Problem("internal", program.source, program.types, f"# {type(other).__name__}: {other}\n")


def run(source, name, arguments, gpu):
    """Outputs twice: on the CPU of contiguous and of strided arrays, which have a loop each; with gpu
    from device arrays, and the CPU's with the same options."""
    if not gpu:
        function = compiled(source, name, fma=False)
        return call(function, arguments), call(function, [np.repeat(a, 2)[::2] for a in arguments])
    import lanewise as lw

    function = compiled(source, name)
    device = call(function, [lw.cuda.to_device(a) for a in arguments])
    return [d.copy_to_host() for d in device], call(function, arguments)


def judge_outputs(program, outputs, arguments, gpu):
    if not gpu:
        wanted = expected_rows(program, arguments)
        if RAISES in wanted:
            return Problem("value", program.source, program.types, f"# an OverflowError is expected in row {wanted.index(RAISES)}\n")
        found = compare(program, outputs[0], arguments, wanted, True) or compare(program, outputs[1], arguments, wanted, True)
        return Problem(found[0], program.source, program.types, found[1]) if found else None
    wanted = None
    for i, (device, host) in enumerate(zip(*outputs)):
        rows = rows_apart(device, host, program.compiled.inexact.get(i))
        if len(rows) and wanted is None:
            wanted = expected_rows(program, arguments)
        rows = [r for r in rows if wanted[r] is not None]  # None: the sign of a NaN decides
        if rows:
            inputs = ", ".join(repr(a[rows[0]]) for a in arguments)
            text = f"# output {i} of f({inputs}): GPU {device[rows[0]]!r}, CPU {host[rows[0]]!r}\n"
            return Problem("gpu", program.source, program.types, text + stage_note(program, arguments, i, rows[0]))
    return None


def rows_apart(device, host, inexact):
    """Where the two targets differ by more than they may."""
    if inexact:
        bound = allowed(inexact, True) + allowed(inexact, False)
        return [j for j in range(len(device)) if ulp_distance(device[j], host[j], inexact[1]) > bound]
    if device.dtype != host.dtype:
        return range(len(device))
    differ = bits(device) != bits(host)
    if device.dtype.kind == "c":
        differ = differ.reshape(-1, 2).any(axis=1)
    return np.flatnonzero(differ)


def programs_of(seed, size=BATCH):
    """The programs of one batch: they share their parameter types."""
    types = generate.parameter_types(random.Random(f"types {seed}"))
    out = []
    for i in range(size):
        name = f"p{i}"
        judged = judge(generate.generate(seed * 1000 + i, types, name), types, name)
        if judged:
            out.append(judged)
    return types, out


ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")


def check_compiles(program, gpu):
    """Machine code for a GPU, which needs none: `gpu` names the architecture."""
    import lanewise as lw

    signature = f"({', '.join(NUMPY[t].name for t in program.types)})"
    try:
        lw.compile(define(HEAD + program.source, program.name), signature, target=gpu, output="cubin")
    except lw.errors.LanewiseError as problem:
        message = "".join(f"# {text}\n" for text in str(problem).splitlines()[:8])
        return Problem(gpu, program.source, program.types, message)
    return None


def check_group_compiles(group, arch):
    joined = Judged("joined", join_programs(group).removeprefix(HEAD), group[0].types, "", None)
    if check_compiles(joined, arch) is None:
        return []
    return [p for p in (check_compiles(g, arch) for g in group) if p] or [check_compiles(joined, arch)]


def check_batch(seed, size=BATCH, gpu=False):
    """(programs looked at, [Problem]). gpu: run on device arrays; "compile": only compile for a GPU; "ir":
    interpret the IR."""
    warnings.simplefilter("ignore")
    types, programs = programs_of(seed, size)
    good = [p for p in programs if not p.code]
    problems = [p for p in (check_refusal(p) for p in programs if p.code) if p] if not gpu else []
    groups, group, outputs = [], [], 0
    for p in good:  # a function has 64 operands at most
        if outputs + len(p.compiled.outputs) > 60 - len(types):
            groups.append(group)
            group, outputs = [], 0
        group.append(p)
        outputs += len(p.compiled.outputs)
    for group in groups + [group]:
        if gpu == "ir":
            problems += [p for p in map(check_interpreted, group) if p]
        elif group and gpu == "compile":
            problems += check_group_compiles(group, ARCHITECTURES[seed % len(ARCHITECTURES)])
        elif group:
            problems += check_group(group, gpu)
    return len(programs), problems


def check_group(group, gpu):
    arguments = generate.arrays(group[0].types)
    try:
        outputs = run(join_programs(group), "joined", arguments, gpu)
    except Exception:
        return [p for p in (check_one(g, gpu) for g in group) if p]
    problems, at = [], 0
    for p in group:
        n = len(p.compiled.outputs)
        mine = outputs[0][at : at + n], outputs[1][at : at + n]
        at += n
        found = judge_outputs(p, mine, arguments, gpu)
        if found:
            problems.append(found)
    return problems
