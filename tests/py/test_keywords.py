"""core/tables/keywords.def and the decorators: each keyword is shown, explained, read, refused, kept."""

from __future__ import annotations

import ast
import inspect
import pickle

import pytest

import lanewise as lw
from source_tree import rows


def number(x):
    return x + 1


def element(i, x):
    x[i] = i


def both(a, b):
    return a + b


FUNCTIONS = {"vectorize": (lw.vectorize, number), "forall": (lw.forall, element), "jit": (lw.jit, number), "reduce": (lw.reduce, both),
             "guvectorize": (lambda **keywords: lw.guvectorize("()->()", **keywords), number)}
DOORS = {name: door for name, door, _type in rows("doors", "DOOR")}
GROUPS = {"UFUNCS": ["VECTORIZE", "GUVECTORIZE"], "EVERY": list(DOORS)}
KEYWORDS = [(DOORS[one], name, read, ast.literal_eval(ast.literal_eval(shown)), ast.literal_eval(doc))
            for name, doors, read, shown, _type, doc in rows("keywords", "KEYWORD")
            for group in doors.split("|") for one in GROUPS.get(group.strip(), [group.strip()])]
IDS = [f"{row[0]} {row[1]}" for row in KEYWORDS]


def test_every_decorator_is_here():
    assert set(FUNCTIONS) == set(DOORS.values()) == {row[0] for row in KEYWORDS}


@pytest.mark.parametrize("door", FUNCTIONS)
def test_signatures_show_the_keywords(door):
    own = [(row[1], row[3]) for row in KEYWORDS if row[0] == door]
    for decorator in (getattr(lw, door), lw.cuda.jit if door == "jit" else getattr(lw, door)):
        shown = [(p.name, p.default) for p in inspect.signature(decorator).parameters.values() if p.kind is p.KEYWORD_ONLY]
        assert sorted(shown) == sorted(own) and len(shown) == len(own)
        assert all(len(line) < 100 for line in decorator.__text_signature__.splitlines())


@pytest.mark.parametrize("door, name, read, default, doc", KEYWORDS, ids=IDS)
def test_keyword(door, name, read, default, doc):
    decorator, function = FUNCTIONS[door]
    assert f"\n  {name}: {doc}\n" in getattr(lw, door).__doc__ + "\n"
    made = decorator(**{name: default})(function) if name != "combine" else lw.reduce(combine=function)
    assert type(made) is type(decorator()(function))
    if default is not None:  # what was given is kept
        assert made._state()["options"][name] == default
    misspelt = name[:-1] + "q" if len(name) > 2 else name + "q"
    with pytest.raises(TypeError, match=rf"{door}\(\) got an unexpected keyword argument '{misspelt}'"):
        decorator(**{misspelt: default})
    if read.startswith("FLAG"):
        decorator(**{name: not default})(function)
        for wrong in (None, 1, "yes"):
            with pytest.raises(TypeError, match=f"{name}= must be True or False, not"):
                decorator(**{name: wrong})


@pytest.mark.parametrize("door", FUNCTIONS)
def test_what_others_have_is_refused(door):
    decorator, function = FUNCTIONS[door]
    own = {row[1] for row in KEYWORDS if row[0] == door}
    for name in {row[1] for row in KEYWORDS} - own:
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
            decorator(**{name: None})


@pytest.mark.parametrize("door", FUNCTIONS)
def test_flags_outlive_pickling(door):
    decorator, function = FUNCTIONS[door]
    flags = {row[1]: not row[3] for row in KEYWORDS if row[0] == door and row[2].startswith("FLAG")}
    local = {"number": lambda x: x + 1, "element": None, "both": lambda a, b: a + b}[function.__name__]
    if local is None:
        def local(i, x):
            x[i] = i
    made = pickle.loads(pickle.dumps(decorator(**flags)(local)))
    assert {name: made._state()["options"][name] for name in flags} == flags


@pytest.mark.parametrize("name, hint", [(name, ast.literal_eval(hint)) for name, hint in rows("foreign_keywords", "FOREIGN_KEYWORD")])
def test_a_keyword_of_numba_or_numpy_says_what_there_is_instead(name, hint):
    without = [door for door in FUNCTIONS if (door, name) not in {row[:2] for row in KEYWORDS}]
    assert without, "every decorator has it, so nobody sees the hint"
    for door in without:
        decorator, _function = FUNCTIONS[door]
        with pytest.raises(TypeError) as raised:
            decorator(**{name: None})
        assert f"got an unexpected keyword argument '{name}': {hint}" in str(raised.value)


@pytest.mark.parametrize("name, instead", [(name, ast.literal_eval(text)) for name, text in rows("foreign_types", "FOREIGN_TYPE")])
def test_a_type_of_numba_s_signatures_says_what_there_is_instead(name, instead):
    with pytest.raises(lw.errors.SignatureError) as raised:
        lw.njit(f"float64({name})")(lambda x: x)
    assert str(raised.value).splitlines()[-1] == f"  = help: {instead}"
