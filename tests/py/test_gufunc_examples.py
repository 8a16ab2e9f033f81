"""The functions of examples/guvectorize.py as users write them, on device arrays (on the fake driver: on the simulator), and
their kernels for every architecture."""

import importlib.util
import warnings

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, errors
from source_tree import ROOT

spec = importlib.util.spec_from_file_location("guvectorize_examples", ROOT / "examples" / "guvectorize.py")
examples = importlib.util.module_from_spec(spec)
spec.loader.exec_module(examples)
NAMES = sorted(examples.cases(2))
CCS = ("sm_75", "sm_90", "sm_100", "sm_120")

pytestmark = pytest.mark.usefixtures("simulated")


@pytest.mark.gpu
@pytest.mark.skipif(not cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("n_items", [3, 40])
@pytest.mark.parametrize("name", NAMES)
def test_on_a_device(name, n_items):
    function, plain, n_core, arguments = examples.cases(n_items)[name]
    want = examples.each(plain, n_core, *arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.PerformanceWarning)
        got = function(*(cuda.to_device(a) if np.ndim(a) else a for a in arguments))
    got = tuple(x.copy_to_host() for x in got) if isinstance(got, tuple) else got.copy_to_host()
    assert examples.agree(got, want)


@pytest.mark.parametrize("name", NAMES)
def test_kernels_of_all_architectures(name):
    function, _, _, arguments = examples.cases(2)[name]
    dtypes = function.resolve_dtypes((*(np.asarray(a).dtype for a in arguments), *[None] * function.nout))
    chars = "".join(dtype.char for dtype in dtypes)
    types = chars[: function.nin] + "->" + chars[function.nin :]
    try:
        made = {cc: lw.compile(function, types, cc) for cc in CCS}
    except errors.CompilerNotFound as missing:
        pytest.skip(str(missing).splitlines()[0])
    assert all(code.startswith(b"\x7fELF") for code in made.values())
