"""What tests of linked code share."""

from __future__ import annotations

import re

import pytest

from lanewise import cuda, errors


@pytest.fixture(scope="module", autouse=True)
def compiler():
    """Skip the module if no GPU compiler is installed."""
    try:
        identity = cuda.jit(lambda x: None, target="cuda")
        identity.inspect_cubin("void(float32[::1])", "sm_90")
    except errors.CompilerNotFound as missing:
        pytest.skip(str(missing).splitlines()[0])


def kernel_of(function, **options):
    @cuda.jit(**options)
    def k(x, y):
        i = cuda.grid(1)
        if i < y.size:
            y[i] = function(x[i])

    return k


def calls(kernel, cc, name, sig):
    """Whether the machine code calls the function and contains it."""
    try:
        text = kernel.inspect_sass(sig, f"sm_{cc}")
    except errors.CompilerNotFound as missing:
        pytest.skip(str(missing).splitlines()[0])
    return re.search(r"\bCALL\b", text) is not None and f"{name}:" in text
