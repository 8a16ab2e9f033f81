"""The attributes of numba.config and numba.cuda.config, and numba's environment variables, as settings of ours:
core/tables/numba_settings.def says which, the functions here how their values read and are assigned."""

from __future__ import annotations

import os
import warnings
from typing import Any

from lanewise import _core
from lanewise.errors import UnsupportedError

# attribute: (setting, how, word)
SETTINGS = {attribute: (field, how, word) for _, attribute, field, how, word in _core._numba_settings() if attribute}
# attribute: (value as a literal, whether any is kept, what there is instead)
UNLIKE = {attribute: (value, kept, instead) for attribute, value, kept, instead in _core._numba_unlike()}

_kept: dict[str, Any] = {}  # what programs have assigned that makes no difference


def _words(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def _only(name: str) -> Any:
    """The value that an attribute has here."""
    import ast

    return ast.literal_eval(UNLIKE[name][0])


def read(name: str) -> Any:
    """The value of numba's attribute."""
    if name in UNLIKE:
        return _kept.get(name, _only(name))
    field, how, word = SETTINGS[name]
    value: Any = _core._setting_get(field)
    if how == "FLAG":
        return int(str(value) == word)
    if how == "WORDS":
        return int(set(_words(word)) <= set(_words(value)))
    if how == "SWITCH":
        return int(value != 0)
    if how == "LEVEL":
        return 3 if value else 0
    if how == "CAPABILITY":
        return divmod(value, 10)
    if how == "FOLDER":
        return value.removesuffix("/" + word)
    if how == "NUMBER":
        return value or len(os.sched_getaffinity(0))
    return value


def _truth(name: str, value: Any) -> bool:
    if value is not None and not isinstance(value, (bool, int)):
        raise ValueError(f"config.{name} must be True, False or an int, not {value!r:.200}")
    return bool(value)


def _capability(name: str, value: Any) -> int:
    if isinstance(value, tuple) and len(value) == 2 and all(isinstance(n, int) for n in value):
        return int(10 * value[0] + value[1])
    raise ValueError(f"config.{name} must be a tuple (major, minor), not {value!r:.200}")


def _meant(name: str, value: Any) -> Any:
    """What the setting becomes; None: its default."""
    field, how, word = SETTINGS[name]
    now: Any = _core._setting_get(field)
    if how == "FLAG":
        if _truth(name, value):
            return word
        return None if str(now) == word else now
    if how == "WORDS":
        others = [each for each in _words(now) if each not in _words(word)]
        return ",".join(others + _words(word) * _truth(name, value))
    if value is None:
        return None
    if how == "SWITCH":
        return int(_truth(name, value))
    if how == "LEVEL":
        return int(value != 0)
    if how == "CAPABILITY":
        return _capability(name, value)
    if how in ("TEXT", "FOLDER", "PATHS"):
        if not isinstance(value, (str, os.PathLike)):
            raise ValueError(f"config.{name} must be a path, not {value!r:.200}")
        value = os.fspath(value)
        return os.path.join(value, word) if how == "FOLDER" and value else value
    return value


def assigned(name: str, value: Any) -> tuple[str, Any] | None:
    """Which setting gets which value where numba's attribute is assigned; None: none does.

    Raises UnsupportedError for what numba does there and lanewise does not.
    """
    if name in SETTINGS:
        return SETTINGS[name][0], _meant(name, value)
    only, (_literal, kept, instead) = _only(name), UNLIKE[name]
    if kept:
        _kept[name] = value
    elif value != only:
        raise UnsupportedError(f"config.{name} is always {only!r}, not {value!r:.200}: {instead}")
    return None


def _makes_sense(how: str, value: str) -> bool:
    if how == "CAPABILITY":
        major, _, minor = value.strip("()").replace(",", ".").partition(".")
        return major.isdigit() and minor.strip().isdigit() and len(minor.strip()) == 1
    return value.isascii() and value.isdigit()


def check_environment(expected_of: Any) -> None:
    """Warns of numba's variables whose values make no sense, where they would count. expected_of(field, value) says what a setting should be, and
    gives None if the value is that."""
    ours = {field: variable for field, variable, *_ in _core._settings()}
    for variable, _attribute, field, how, _word in _core._numba_settings():
        value = os.environ.get(variable)
        if not value or ours[field] in os.environ or how in ("TEXT", "FOLDER", "PATHS", "LEVEL"):
            continue
        expected = expected_of(field, value) if how == "NUMBER" else None
        if expected is not None:
            _core._setting_set(field, None)
        elif not _makes_sense(how, value):
            expected = "a compute capability such as 8.6" if how == "CAPABILITY" else "an integer from 0 on"
        if expected is not None:
            warnings.warn(f"{variable} must be {expected}, not {value!r:.200}: it is not used", RuntimeWarning, stacklevel=3)
