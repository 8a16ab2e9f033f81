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
from typing import Any, Iterator

from lanewise import _core


class Config:
    """The settings as attributes; call it with some of them for a ``with`` override.

    Raises AttributeError for a setting that does not exist, ValueError for a value of the
    wrong kind. ``print(lw.config)`` lists all of them with their values.
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        return _core._setting_get(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "target" and value not in ("auto", "cpu", "cuda", "parallel"):
            raise ValueError(f"lanewise.config.target must be 'auto', 'cpu', 'cuda' or 'parallel', not {value!r}")
        if isinstance(value, bool):
            value = int(value)
        _core._setting_set(name, None if value is None else str(value))

    @_contextlib.contextmanager
    def __call__(self, **overrides: Any) -> Iterator["Config"]:
        """Override settings inside a ``with`` block; they come back also after an exception."""
        before = {name: getattr(self, name) for name in overrides}
        try:
            for name, value in overrides.items():
                setattr(self, name, value)
            yield self
        finally:
            for name, value in before.items():
                setattr(self, name, value)

    def __dir__(self) -> list[str]:
        return [row[0] for row in _core._settings()]

    def __repr__(self) -> str:
        rows = (f"{field} = {getattr(self, field)!r:<12} # {variable}: {doc}"
                for field, variable, _kind, _default, doc in _core._settings())
        return "\n".join(rows)


config = Config()
