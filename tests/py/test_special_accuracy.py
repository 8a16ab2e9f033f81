"""Arguments at which functions of scipy.special were inaccurate, with the nearest float64 to the value and the largest error in units in the last place.

The values were computed by ball arithmetic of at least 200 bits.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import lanewise as lw

INF = math.inf

GAMMA = [  # 1 - x and x + 1 were rounded; values near 0 were 0
    ("gamma", (-180.00000000000003,), -1.7513719e-316, 1), ("gamma", (-173.06164275001908,), 3.21693224804e-313, 1), ("gamma", (-184.99999999999997,), -0.0, 0),
    ("gamma", (-31.000000000000004,), 3.4230876774851786e-20, 4), ("rgamma", (5e-324,), 5e-324, 0), ("rgamma", (-1.894267725912915e-309,), -1.894267725912915e-309, 0),
    ("rgamma", (-151.69394171662992,), 7.350780869695613e265, 5), ("rgamma", (-64.00000000000003,), -3.606343517103005e75, 5), ("rgamma", (-180.00000000000003,), -INF, 0),
    ("rgamma", (175.25,), 4.2812577e-317, 2), ("factorial", (127.01010716237847,), 3.163960423313379e213, 5), ("factorial", (63.99999999999999,), 1.268869321858804e89, 5),
    ("factorial", (0.3,), 0.8974706963062772, 2), ("zeta", (-31.500000000000004,), 750878449.9937011, 5), ("zeta", (-15.500000000000002,), 0.496271219912057, 5),
    ("zeta", (-63.99999999999999,), 3.71933700040224e23, 10), ("zeta", (-210.11633260600928,), 2.2207090519207285e229, 10),
    ("zeta", (-262.0000000001,), 9.861734500298207e301, 10), ("zeta", (-268.0000000000001,), -INF, 0), ("gammainc", (63.67, 91.5), 0.9990955490392011, 1),
    ("gammaincc", (63.6713301742925, 91.45253837957895), 0.0009194350692546395, 40),
]  # fmt: skip
LARGE = [
    ("j0", (1.7976931348623157e308,), -4.186986849585373e-155, 2), ("y0", (1.7e308,), -6.052764636079422e-155, 2), ("y1", (1e308,), 2.4706564120790077e-155, 2),
    ("jv", (2.5, 1.7e308), 3.642666773601655e-155, 2), ("i0", (17.499999999999996,), 3825965.2494123997, 3), ("i1", (-53.5,), -9.298543130444e21, 3),
    ("expi", (595.4408986897561,), 6.646440964714464e255, 3), ("fresnel", (100000000.00000001,), (0.500000000098823, 0.49999999681843554), 2),
    ("fresnel", (123456789012.3,), (0.4999999999976489, 0.49999999999894174), 2), ("fresnel", (-1000000000000000.2,), (-0.49999999999999967, -0.5), 2),
    ("fresnel", (1e300,), (0.5, 0.5), 0), ("fresnel", (-INF,), (-0.5, -0.5), 0), ("exprel", (713.1238189430181,), 7.121550171170843e306, 4),
    ("log_ndtr", (36.99999999999999,), -5.725571222526083e-300, 3), ("log_ndtr", (11.765018593186989,), -2.95566609279834e-32, 3),
    ("log_ndtr", (-0.75,), -1.4844482299196562, 2), ("log_ndtr", (-1e-300,), -0.6931471805599453, 2), ("ellipe", (-1.281997200382366e243,), 3.580498848460038e121, 6),
    ("ellipe", (-9.54364218019839e305,), 9.769156657664155e152, 6), ("ellipe", (0.9999999999,), 1.000000000619961, 4),
    ("ellipe", (0.9999999999999999,), 1.000000000000001, 4), ("exprel", (INF,), INF, 0), ("log_ndtr", (INF,), -0.0, 0),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name, arguments, wanted, most", [*GAMMA, *LARGE], ids=lambda value: value if isinstance(value, str) else "")
def test_value(name, arguments, wanted, most):
    got = getattr(lw.special, name)(*arguments)
    for one, other in zip(got, wanted) if isinstance(wanted, tuple) else [(got, wanted)]:
        assert float(one) == other or abs(float(one) - other) <= most * np.spacing(abs(other)), (float(one), other)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_single_precision_does_not_overflow_early():
    assert float(lw.special.exprel(np.float32(93.0))) == pytest.approx(math.expm1(93.0) / 93.0, rel=1e-6)
