from typing import Any

from lanewise._core import Kernel

FEW: int
SOME: int
THREADS_OF_SOME: int
MOST_LANES: int
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
wide_key_of: Kernel
narrow: Kernel
collect: Kernel
arrange: Kernel

def key_of(x: Any, kind: Any, sign: Any, infinity: Any, flip: Any) -> Any: ...
def kernel_of(KIND: int, IS_WIDE: bool, THREADS: int, GROUPS: int, TIMES: int, PIECES: int, ROOM: int, LINES: int) -> Kernel: ...
def of_short(KIND: int, LANES: int) -> Kernel: ...
def by_block(kind: int, itemsize: int) -> Kernel: ...
def by_warp(kind: int, itemsize: int) -> Kernel: ...
