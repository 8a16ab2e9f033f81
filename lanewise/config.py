"""Settings, each also an environment variable ``LANEWISE_…`` (read once, at import).

    >>> import lanewise as lw
    >>> lw.config.target
    'auto'
    >>> with lw.config(target="cpu"):
    ...     lw.config.target
    'cpu'
"""

from __future__ import annotations

import contextlib as _contextlib
import operator as _operator
import os as _os
import sys as _sys
import warnings as _warnings
from typing import Any

from lanewise import _core, _numba_config


_TARGETS = ("auto", "cpu", "cuda", "parallel", "python")
_TYPINGS = ("weak", "numba")
_CHECKS = tuple(_core._checks())
_STAGES = ("typed", "ir", "llvm", "nvvm", "ptx", "sass", "asm")


_WORDS = {"check": _CHECKS, "dump": _STAGES}  # settings that are lists of words: a str with commas, or any collection of str


def _joined(name: str, value: Any) -> Any:
    """The words of a collection in one str, in the order of the table; anything else as it is."""
    words = _WORDS.get(name)
    if words is None or not isinstance(value, (set, frozenset, list, tuple)) or not set(value) <= set(words):
        return value
    return ",".join(word for word in words if word in value)


def _are_words(value: Any, words: tuple[str, ...]) -> bool:
    return value is None or value == "" or (isinstance(value, str) and set(value.split(",")) <= set(words))


def _expected(name: str, value: Any) -> str | None:
    """What a setting of a few words should be, where `value` is none of them."""
    if name == "target" and value not in _TARGETS:
        return "'auto', 'cpu', 'cuda', 'parallel' or 'python'"
    if name == "typing" and value not in _TYPINGS:
        return "'weak' or 'numba'"
    if name == "check" and not _are_words(value, _CHECKS):
        return "checks, as a set or as a str with commas: " + ", ".join(_CHECKS)
    if name == "dump" and not _are_words(value, _STAGES):
        return "stages, as a set or as a str with commas: " + ", ".join(_STAGES)
    if name == "threads" and value is not None and not _is_number_of_threads(value):
        return f"an integer from 0 to {MOST_THREADS}"
    return None


#: LW_MAX_THREADS of core/host/cores.h.
MOST_THREADS = 256


def _is_number_of_threads(value: Any) -> bool:
    """Whether it is an integer, or the digits of one, from 0 to MOST_THREADS."""
    if isinstance(value, str):
        return value.isascii() and value.isdigit() and len(value) < 10 and int(value) <= MOST_THREADS
    try:
        return 0 <= _operator.index(value) <= MOST_THREADS
    except TypeError:
        return False


def _unknown(name: str) -> str:
    """The message about a name in numba's style that is none of ours."""
    import difflib

    ours = ", ".join(field for field, *_ in _core._settings())
    near = difflib.get_close_matches(name, [*_numba_config.SETTINGS, *_numba_config.UNLIKE], 1)
    meant = f" (did you mean {near[0]}?)" if near else ""
    return f"lanewise.config has no setting {name!r:.200}{meant}: it has {ours}, and names of numba's"


class Config:
    """The settings, as attributes. ``with lw.config(target="cpu"):`` changes settings for a block.

    ``print(lw.config)`` lists all settings with their values. The attributes of numba.config and
    numba.cuda.config are other names of settings: ``cuda.config.DISABLE_JIT = 1``.

    Raises AttributeError for a setting that does not exist, ValueError for an invalid value, and
    UnsupportedError for another value of an attribute of numba that is fixed in lanewise.
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name in _numba_config.SETTINGS or name in _numba_config.UNLIKE:
            return _numba_config.read(name)
        if name.isupper():
            raise AttributeError(_unknown(name))
        return _core._setting_get(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _numba_config.SETTINGS or name in _numba_config.UNLIKE:
            setting = _numba_config.assigned(name, value)
            if setting is None:
                return
            name, value = setting
        elif name.isupper():
            raise AttributeError(_unknown(name))
        value = _joined(name, value)
        expected = _expected(name, value)
        if expected is not None:
            raise ValueError(f"lanewise.config.{name} must be {expected}, not {value!r:.200}")
        if isinstance(value, int):  # a bool, or a member of an IntEnum
            value = int(value)
        _core._setting_set(name, None if value is None else str(value))

    def __call__(self, **overrides: Any) -> "_Overridden":
        """Override settings inside a ``with`` block; they come back also after an exception. Without `with`, nothing changes, and
        a RuntimeWarning says so."""
        for name in overrides:
            getattr(self, name)  # what does not exist is told of at once
        return _Overridden(overrides)

    def reload_config(self) -> None:
        """Read numba's variables that hold numbers and switches again, where the environment has changed.

        >>> import os
        >>> os.environ["NUMBA_NUM_THREADS"] = str(lw.config.NUMBA_NUM_THREADS)
        >>> lw.config.reload_config()
        >>> del os.environ["NUMBA_NUM_THREADS"]; lw.config.threads = 0  # as it was
        """
        for variable, attribute, _field, how, _word in _core._numba_settings():
            value = _os.environ.get(variable)
            if value and attribute and how in ("FLAG", "NUMBER") and _numba_config._makes_sense(how, value):
                setattr(self, attribute, int(value))

    def __dir__(self) -> list[str]:
        return [row[0] for row in _core._settings()]

    def __repr__(self) -> str:
        rows = [(f"{field} = {getattr(self, field)!r}", f"# {variable}: {doc}") for field, variable, _kind, _default, doc in _core._settings()]
        width = min(max(len(assignment) for assignment, _ in rows), 40)
        return "\n".join(f"{assignment:<{width}}  {comment}" for assignment, comment in rows)


class _Overridden(_contextlib.ContextDecorator):
    """Settings that hold inside of a block, which may be entered again, and in a function that is decorated with it.

    RuntimeWarning where it is dropped without either, as of a coroutine that was never awaited.
    """

    _is_used = True  # until __init__ has come to its end

    def __init__(self, overrides: dict[str, Any]) -> None:
        self._overrides = overrides
        self._before: list[dict[str, Any]] = []  # of the blocks that are open
        self._is_used = False

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r:.200}" for name, value in self._overrides.items())
        return f"<lanewise.config({given}): settings for a `with` block, or for a function that is decorated with it>"

    def __del__(self) -> None:
        if not self._is_used and self._overrides and not _sys.is_finalizing():
            name = next(iter(self._overrides))
            _warnings.warn(f"lanewise.config({name}=...) had no effect, because no `with` block was entered; "
                           f"lanewise.config.{name} = ... sets it until it is set again", RuntimeWarning, stacklevel=2)

    def __call__(self, function: Any) -> Any:
        self._is_used = True
        return super().__call__(function)

    def __enter__(self) -> Config:
        self._is_used = True
        of_numba = _numba_config.SETTINGS
        fields = (of_numba[name][0] if name in of_numba else name for name in self._overrides)
        before = {field: getattr(config, field) for field in fields}
        try:
            for name, value in self._overrides.items():
                setattr(config, name, value)
        except BaseException:
            self._restore(before)
            raise
        self._before.append(before)
        return config

    def __exit__(self, *exception: object) -> None:
        self._restore(self._before.pop())

    @staticmethod
    def _restore(before: dict[str, Any]) -> None:
        for name, value in before.items():
            setattr(config, name, value)


def _check_environment() -> None:
    """A variable that cannot be meant as it stands is told of, and counts as not set."""
    for field, variable, kind, _default, _doc in _core._settings():
        value = _os.environ.get(variable)
        is_alias = not value
        if is_alias:  # the setting `threads` has a variable of another name; one of its own name is meant, too
            variable = "LANEWISE_" + field.upper()
            value = _os.environ.get(variable)
        if not value:
            continue
        expected = _expected(field, value)
        if expected is None and kind == "int" and not (value.isascii() and value.isdigit()):
            expected = "an integer from 0 on"
        if expected is not None:
            _core._setting_set(field, None)
            _warnings.warn(f"{variable} must be {expected}, not {value!r:.200}: it is not used",
                           RuntimeWarning, stacklevel=2)
        elif is_alias:
            _core._setting_set(field, value)


config = Config()
_check_environment()
_numba_config.check_environment(_expected)
