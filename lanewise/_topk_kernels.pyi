from typing import Any

from lanewise._core import Kernel

BLOCK: int
BITS: int
DIGITS: int
MOST: int
UNSIGNED: int
SIGNED: int
FLOAT: int
TIME: int
KEY: int
INDEX: int
LEFT: int
DONE: int
TAKEN: int
HEAD: int
WORDS: int
narrow: Kernel
collect: Kernel
arrange: Kernel

def key_of(x: Any, kind: Any, sign: Any, infinity: Any, flip: Any) -> Any: ...
