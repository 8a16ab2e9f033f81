"""Which device a call runs on: that of its arrays. Functions of the package that make arrays enter it first."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from lanewise import cuda
from lanewise.errors import DriverError

_HERE = contextlib.nullcontext()


def arrays_in(values: Iterable[Any]) -> Iterator[Any]:
    """The device arrays among these values, and in their lists and tuples."""
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from arrays_in(value)
        elif isinstance(value, cuda.DeviceArray):
            yield value


def is_alone() -> bool:
    """Whether there is one device at most, so that no array lies anywhere else."""
    try:
        return len(cuda.gpus) < 2
    except DriverError:
        return True


def on_device_of(*values: Any, what: str = "the call") -> Any:
    """A context in which the device of these arrays is the current one. ValueError for arrays of several devices.

    Arrays that stand for device arrays on the CPU have no other device to be on.
    """
    arrays = [value for value in values if not isinstance(value, np.ndarray) and isinstance(value, cuda.DeviceArray)]
    if not arrays or is_alone():  # in this order: without a driver, asking for the devices looks for one in all folders
        return _HERE
    first = arrays[0].device
    for value in arrays:
        if value.device != first:
            raise ValueError(
                f"{what}: arrays are on devices {first.id} and {value.device.id}, but all must be on one: bring them together with "
                f"`with cuda.gpus[{first.id}]: y = cuda.to_device(x)`"
            )
    if first == cuda.get_current_device():
        return _HERE
    return cuda.gpus[first.id]


def on_device_of_arguments(args: Any, kwargs: Any, what: str, otherwise: Any = ()) -> Any:
    """on_device_of() for the arrays among the arguments of a call; `otherwise` stands for none."""
    arrays = [*arrays_in(args), *arrays_in(kwargs.values())]
    return on_device_of(*(arrays or otherwise), what=what)
