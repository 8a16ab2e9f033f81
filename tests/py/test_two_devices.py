"""Work follows the data's device. Needs two GPUs (or the fake driver with two)."""

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda

pytestmark = [pytest.mark.gpu,
              pytest.mark.skipif(not cuda.is_available() or len(cuda.gpus) < 2, reason="needs two CUDA devices")]


@lw.vectorize(fma=False)
def muladd(a, b):
    return a * b + a


def on(device, host):
    with cuda.gpus[device]:
        return cuda.to_device(host)


def test_the_datas_device_is_used():
    a = np.arange(1000, dtype=np.float32)
    for device in (0, 1, 1, 0):
        d = on(device, a)
        result = muladd(d, d)
        assert result.device.id == device
        np.testing.assert_array_equal(result.copy_to_host(), a * a + a)
        assert cuda.get_current_device().id == 0


def test_mixed_devices_are_refused():
    a = np.ones(10)
    with pytest.raises(ValueError, match="devices 0 and 1"):
        muladd(on(0, a), on(1, a))
    with pytest.raises(ValueError, match="devices 0 and 1"):
        muladd(on(0, a), 2.0, out=on(1, a))


def test_strided_copies_on_the_second_device():
    a = np.arange(60.0).reshape(6, 10)
    d = on(1, a)
    np.testing.assert_array_equal(d.T[::2].copy().copy_to_host(), a.T[::2])
    d[::2, ::3] = 7.0
    a[::2, ::3] = 7.0
    np.testing.assert_array_equal(d.copy_to_host(), a)
