"""The smallest program that still fails: pieces of its tree are dropped or replaced while it does."""

from __future__ import annotations

import ast
import copy
import multiprocessing
import time
import warnings

import check

FORK = multiprocessing.get_context("fork")
PATIENCE = 10  # seconds for one candidate
SIMPLE = ("0", "1", "2", "0.5", "True")


def shrink(problem, gpu=False, seconds=60):
    """A Problem of the same kind with a smaller source."""
    warnings.simplefilter("ignore")
    name = function_name(problem.source)
    deadline = time.monotonic() + seconds
    changed = True
    while changed and time.monotonic() < deadline:
        changed = False
        for candidate in candidates(problem.source, name):
            if time.monotonic() > deadline:
                break
            smaller = fails(candidate, problem, name, gpu)
            if smaller:
                problem, changed = smaller, True
                break
    return problem


def function_name(source):
    tree = ast.parse(source)
    last = tree.body[-1]
    return last.name if isinstance(last, ast.FunctionDef) else last.targets[0].id


def fails(source, problem, name, gpu):
    """In a child: what loses its `break` may never end."""
    if len(source) >= len(problem.source):
        return None
    ours, theirs = FORK.Pipe()
    child = FORK.Process(target=lambda: theirs.send(still_fails(source, problem, name, gpu)))
    child.start()
    found = ours.recv() if ours.poll(PATIENCE) else None
    child.kill()
    child.join()
    return check.Problem(*found) if found else None


def still_fails(source, problem, name, gpu):
    try:
        judged = check.judge(source, problem.types, name)
    except Exception:
        return None
    if judged is None:
        return None
    found = check.check_one(judged, gpu)
    return tuple(found) if found and found.kind == problem.kind else None


def candidates(source, name):
    """Smaller programs, the boldest first."""
    tree = ast.parse(source)
    nodes = list(ast.walk(tree))
    for i, node in enumerate(nodes):
        for field in ("body", "orelse"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                for j in range(len(block)):
                    if not isinstance(block[j], ast.Return):
                        yield edited(tree, i, lambda n, f=field, k=j: drop(n, f, k))
                        if hasattr(block[j], "body") and not isinstance(block[j], ast.FunctionDef):
                            yield edited(tree, i, lambda n, f=field, k=j: hoist(n, f, k))
    for i, node in enumerate(nodes):
        if isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load) and len(node.elts) > 1:
            for j in range(len(node.elts)):
                yield edited(tree, i, lambda n, k=j: n.elts.pop(k))
    for i, node in enumerate(nodes):
        for field, value in ast.iter_fields(node):
            for j, child in enumerate(value if isinstance(value, list) else [value]):
                if isinstance(child, ast.expr) and not isinstance(getattr(child, "ctx", None), ast.Store) and not isinstance(node, ast.keyword):
                    at = j if isinstance(value, list) else None
                    yield from replaced(tree, i, field, at, child)


def replaced(tree, i, field, at, child):
    inner = [n for n in ast.walk(child) if n is not child and isinstance(n, ast.expr)]
    inner = [n for n in inner if not isinstance(n, ast.Name) or n.id not in ("np", "math")]
    for smaller in inner[:12]:
        yield edited(tree, i, lambda n, s=smaller: put(n, field, at, s))
    if not isinstance(child, (ast.Constant, ast.Name)):
        for text in ("a", *SIMPLE):
            yield edited(tree, i, lambda n, t=text: put(n, field, at, ast.parse(t, mode="eval").body))


def put(node, field, at, value):
    if at is None:
        setattr(node, field, copy.deepcopy(value))
    else:
        getattr(node, field)[at] = copy.deepcopy(value)


def drop(node, field, k):
    block = getattr(node, field)
    block.pop(k)
    if not block and field == "body":
        block.append(ast.Pass())


def hoist(node, field, k):
    block = getattr(node, field)
    inner = [n for n in block[k].body if not isinstance(n, (ast.Break, ast.Continue))]
    block[k : k + 1] = inner or [ast.Pass()]


def edited(tree, i, change):
    """The text after a change to the i-th node."""
    fresh = copy.deepcopy(tree)
    change(list(ast.walk(fresh))[i])
    try:
        return ast.unparse(ast.fix_missing_locations(fresh)) + "\n"
    except Exception:
        return " " * 10**6
