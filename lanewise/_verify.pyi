from typing import Any, Literal, NamedTuple, TypeAlias

from lanewise.errors import LanewiseError

class Difference(NamedTuple):
    index: tuple[int, ...]  # type: ignore[assignment]  # not tuple's method
    got: Any
    expected: Any
    inputs: tuple[Any, ...]
    ulp: float
    where: str

class Report:
    def __init__(self, name: str) -> None: ...
    name: str
    n_checked: int
    n_different: int
    worst_ulp: float
    allowed_ulp: float
    differences: list[Difference]
    compared: list[str]
    @property
    def ok(self) -> bool: ...
    def __bool__(self) -> bool: ...

class Mismatch(LanewiseError):
    report: Report

_Report: TypeAlias = Report

class _Verify:
    Mismatch: type[Mismatch]
    Report: type[Report]
    Difference: type[Difference]
    def __call__(
        self,
        f: Any,
        /,
        *args: Any,
        sample: int = 10_000,
        target: Literal["auto", "cpu", "cuda"] | None = None,
        raise_: bool = False,
        ulp: float | None = None,
        atol: float = 0.0,
        **kwargs: Any,
    ) -> _Report: ...

verify: _Verify
