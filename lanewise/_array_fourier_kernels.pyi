from lanewise._core import Forall

butterfly: Forall
butterfly_2: Forall
butterfly_3: Forall
butterfly_4: Forall
chirp: Forall
chirped: Forall
from_half: Forall
mirrored: Forall
reversed_chirp: Forall
roots: Forall
times_spectrum: Forall
to_half: Forall
