from typing import Any

from lanewise._core import Forall, Kernel, Ufunc

BLOCK: int
WARPS: int
PART: int
TILE: int
count_digits: Kernel
scatter: Kernel
choose: Ufunc
clip: Ufunc
claim: Forall
combine: Forall
compact: Forall
complex_class: Forall
coordinate: Forall
count_up: Forall
differences: Forall
fill_chosen: Forall
fill_elements: Forall
fill_rows: Forall
fill_where: Forall
mark_first: Forall
mark_first_rows: Forall
put_each: Forall
put_number: Forall
put_rows: Forall
row_numbers: Forall
take_chosen: Forall
take_elements: Forall
take_pairs: Forall
take_rows: Forall
within_row: Forall

def position(index: Any, size: Any) -> Any: ...
