"""The compiled core of lanewise; use it through the package."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import CodeType, EllipsisType, ModuleType, SimpleNamespace
from typing import Any, Generic, Literal, NoReturn, Protocol, SupportsIndex, TypeAlias, final, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from typing_extensions import Self, TypeVar, disjoint_base

from lanewise.cuda import DeviceArray

_Target: TypeAlias = Literal["auto", "cpu", "cuda", "parallel"]
_Parameters: TypeAlias = int | str | list[int | str] | tuple[int | str, ...] | None
_FastMath: TypeAlias = bool | Iterable[Literal["nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc", "fast"]]
_Check: TypeAlias = Iterable[Literal["divide", "overflow", "nan", "bounds", "race"]]
_SignatureLike: TypeAlias = "str | Signature | tuple[Any, ...]"
_Signatures: TypeAlias = "_SignatureLike | Sequence[_SignatureLike]"
_Casting: TypeAlias = Literal["no", "equiv", "safe", "same_kind", "unsafe"]
_Order: TypeAlias = Literal["C", "F", "A", "K"]
_Axis: TypeAlias = SupportsIndex | tuple[SupportsIndex, ...] | None
_Progress: TypeAlias = bool | Callable[[int, int], object] | None
_DTypes: TypeAlias = "np.dtype[Any] | type[int] | type[float] | type[complex] | None"
_Value: TypeAlias = complex | np.generic

class _OnDevice(Protocol):
    @property
    def __cuda_array_interface__(self) -> Any: ...

class _Labelled(Protocol):
    @property
    def to_numpy(self) -> Any: ...

class _Lazy(Protocol):
    @property
    def __dask_graph__(self) -> Any: ...

_Foreign: TypeAlias = _OnDevice | _Labelled | _Lazy  # arrays of CuPy, PyTorch, pandas, xarray, Dask: results are theirs

# _R is what the Python function returns by its annotation, and Any without one. A call with numbers returns _R; a call with arrays returns an array, or a
# tuple of arrays if _R is a tuple. Without an annotation, mypy takes the first overload that fits, which is that of one array. Host arrays have the
# overload of `object`, because with a second one that fits an NDArray[Any], as results are, mypy would take nested calls for ambiguous: Any.
_R = TypeVar("_R", covariant=True, default=Any)
_T = TypeVar("_T")

__version__: str
_vector_bits: int
_few_blocks: int
cuda: ModuleType

@disjoint_base
class Type:
    name: str
    def __init__(self, name: str) -> None: ...
    @property
    def key(self) -> Any: ...
    @property
    def __lanewise_struct__(self) -> Any: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __getitem__(self, key: Any, /) -> Any: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class CoreType(Type):
    @property
    def name(self) -> str: ...  # type: ignore[override]
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def layout(self) -> str | None: ...
    @property
    def mutable(self) -> bool: ...
    @property
    def itemsize(self) -> int: ...
    @property
    def bitwidth(self) -> int: ...
    @property
    def types(self) -> tuple[Type, ...]: ...
    @property
    def count(self) -> int: ...
    @property
    def fields(self) -> tuple[str, ...] | None: ...
    @property
    def signed(self) -> bool: ...
    @property
    def type(self) -> Type: ...
    @property
    def underlying_float(self) -> CoreType: ...
    @property
    def unit(self) -> str: ...
    @property
    def __lanewise_dtype__(self) -> int: ...
    @overload
    def __call__(self, value: complex | np.generic, /) -> Any: ...
    @overload
    def __call__(self, *args: Type) -> Signature: ...
    def __getitem__(self, key: slice | tuple[slice, ...], /) -> CoreType: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Signature:
    @property
    def return_type(self) -> Type | None: ...
    @property
    def args(self) -> tuple[Type, ...]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Launcher:
    @property
    def griddim(self) -> tuple[int, int, int] | None: ...
    @property
    def blockdim(self) -> tuple[int, int, int] | None: ...
    @property
    def clusterdim(self) -> tuple[int, int, int] | None: ...
    @property
    def sharedmem(self) -> int: ...
    @property
    def stream(self) -> Any: ...
    @property
    def ntasks(self) -> int | None: ...
    @property
    def thread_per_block(self) -> int: ...
    @property
    def kernel(self) -> Kernel: ...
    @property
    def dispatcher(self) -> Kernel: ...
    def __call__(self, *args: Any, **kwargs: Any) -> None: ...
    def bind(self, *args: Any, **kwargs: Any) -> Callable[[], None]: ...

@final
class Kernel(Generic[_R]):
    __name__: str
    __qualname__: str
    __module__: str
    __doc__: str | None
    @property
    def py_func(self) -> Callable[..., _R]: ...
    @property
    def __wrapped__(self) -> Callable[..., _R]: ...
    @property
    def __code__(self) -> CodeType: ...
    @property
    def __signature__(self) -> Any: ...
    @property
    def signatures(self) -> list[str]: ...
    @property
    def nopython_signatures(self) -> list[str]: ...
    @property
    def address(self) -> int: ...
    @property
    def ctypes(self) -> Callable[..., Any]: ...
    @property
    def cffi(self) -> Any: ...
    @property
    def native_name(self) -> str: ...
    @property
    def overloads(self) -> Any: ...
    @property
    def definitions(self) -> Any: ...
    @property
    def specialized(self) -> bool: ...
    @property
    def __lanewise_link__(self) -> tuple[Any, ...]: ...
    @property
    def is_device(self) -> bool: ...
    @property
    def targetoptions(self) -> dict[str, Any]: ...
    @property
    def extensions(self) -> list[Any]: ...
    @property
    def stats(self) -> dict[str, Any]: ...
    def __call__(self, *args: Any, **kwargs: Any) -> _R: ...
    def __getitem__(self, key: Any, /) -> Launcher: ...
    def forall(self, ntasks: SupportsIndex, tpb: SupportsIndex = 0, stream: Any = 0, sharedmem: SupportsIndex = 0) -> Launcher: ...
    def disable_compile(self) -> None: ...
    def configure(self, griddim: Any, blockdim: Any, stream: Any = 0, sharedmem: SupportsIndex = 0, cluster: Any = 0) -> Launcher: ...
    @property
    def specializations(self) -> dict[str, Kernel[_R]]: ...
    def specialize(self, *args: Any) -> Kernel[_R]: ...
    def compile(self, signature: _SignatureLike, target: str | None = None) -> None: ...
    def inspect_types(self, file: Any = None, signature: _SignatureLike | None = None) -> Any: ...
    def inspect_ir(self, signature: _SignatureLike | None = None, target: str | None = None) -> Any: ...
    def inspect_llvm(self, signature: _SignatureLike | None = None, target: str | None = None) -> Any: ...
    def inspect_nvvm(self, signature: _SignatureLike | None = None, target: str | None = None) -> Any: ...
    def inspect_ptx(self, signature: _SignatureLike | None = None, target: str | None = None) -> Any: ...
    def inspect_lto_ptx(self, signature: _SignatureLike | None = None, target: str | None = None) -> Any: ...
    def inspect_asm(self, signature: _SignatureLike | None = None, target: str | None = None) -> Any: ...
    def inspect_sass(self, signature: _SignatureLike | None = None, target: str | None = None) -> Any: ...
    def inspect_cubin(self, signature: _SignatureLike | None = None, target: str | None = None) -> Any: ...
    def inspect_ltoir(self, signature: _SignatureLike | None = None, target: str | None = None) -> Any: ...
    def resources(self, signature: _SignatureLike, target: str | None = None, block: SupportsIndex | None = None) -> dict[str, Any]: ...
    def get_regs_per_thread(self, signature: _SignatureLike | None = None) -> Any: ...
    def get_const_mem_size(self, signature: _SignatureLike | None = None) -> Any: ...
    def get_shared_mem_per_block(self, signature: _SignatureLike | None = None) -> Any: ...
    def get_local_mem_per_thread(self, signature: _SignatureLike | None = None) -> Any: ...
    def get_max_threads_per_block(self, signature: _SignatureLike | None = None) -> Any: ...
    def max_cooperative_grid_blocks(self, blockdim: Any, dynsmemsize: SupportsIndex = 0, signature: _SignatureLike | None = None) -> int: ...
    def __copy__(self) -> Kernel[_R]: ...
    def __deepcopy__(self, memo: Any, /) -> Kernel[_R]: ...
    def _state(self) -> dict[str, Any]: ...

@disjoint_base
class Ufunc(Generic[_R]):
    __name__: str
    __qualname__: str
    __module__: str
    __doc__: str | None
    @property
    def nin(self) -> int: ...
    @property
    def nout(self) -> int: ...
    @property
    def nargs(self) -> int: ...
    @property
    def ntypes(self) -> int: ...
    @property
    def types(self) -> list[str]: ...
    @property
    def signatures(self) -> list[str]: ...
    @property
    def identity(self) -> Any: ...
    @property
    def signature(self) -> str | None: ...
    @property
    def stats(self) -> dict[str, Any]: ...
    @property
    def py_func(self) -> Callable[..., _R]: ...
    @property
    def __wrapped__(self) -> Callable[..., _R]: ...
    @property
    def __code__(self) -> CodeType: ...
    @property
    def __signature__(self) -> Any: ...
    @overload
    def __call__(
        self, x: _Value, /, *args: _Value,
        out: None = None, where: Any = True, casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = None, subok: bool = True,
        signature: str | tuple[DTypeLike | None, ...] | None = None, sig: str | tuple[DTypeLike | None, ...] | None = None,
        stream: Any = 0, **parameters: Any,
    ) -> _R: ...
    @overload
    def __call__(
        self: Ufunc[_Value | None], x: DeviceArray, /, *args: Any,
        out: Any = None, where: Any = True, casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = None, subok: bool = True,
        signature: str | tuple[DTypeLike | None, ...] | None = None, sig: str | tuple[DTypeLike | None, ...] | None = None,
        stream: Any = 0, **parameters: Any,
    ) -> DeviceArray: ...
    @overload
    def __call__(
        self: Ufunc[_Value | None], x: _Value, y: DeviceArray, /, *args: Any,
        out: Any = None, where: Any = True, casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = None, subok: bool = True,
        signature: str | tuple[DTypeLike | None, ...] | None = None, sig: str | tuple[DTypeLike | None, ...] | None = None,
        stream: Any = 0, **parameters: Any,
    ) -> DeviceArray: ...
    @overload
    def __call__(
        self: Ufunc[_Value | None], x: _Value, y: _Value, z: DeviceArray, /, *args: Any,
        out: Any = None, where: Any = True, casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = None, subok: bool = True,
        signature: str | tuple[DTypeLike | None, ...] | None = None, sig: str | tuple[DTypeLike | None, ...] | None = None,
        stream: Any = 0, **parameters: Any,
    ) -> DeviceArray: ...
    @overload
    def __call__(
        self: Ufunc[tuple[Any, Any]], x: DeviceArray, /, *args: Any,
        out: Any = None, where: Any = True, casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = None, subok: bool = True,
        signature: str | tuple[DTypeLike | None, ...] | None = None, sig: str | tuple[DTypeLike | None, ...] | None = None,
        stream: Any = 0, **parameters: Any,
    ) -> tuple[DeviceArray, DeviceArray]: ...
    @overload
    def __call__(
        self: Ufunc[tuple[Any, Any]], x: _Value, y: DeviceArray, /, *args: Any,
        out: Any = None, where: Any = True, casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = None, subok: bool = True,
        signature: str | tuple[DTypeLike | None, ...] | None = None, sig: str | tuple[DTypeLike | None, ...] | None = None,
        stream: Any = 0, **parameters: Any,
    ) -> tuple[DeviceArray, DeviceArray]: ...
    @overload
    def __call__(
        self: Ufunc[tuple[Any, Any]], x: _Value, y: _Value, z: DeviceArray, /, *args: Any,
        out: Any = None, where: Any = True, casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = None, subok: bool = True,
        signature: str | tuple[DTypeLike | None, ...] | None = None, sig: str | tuple[DTypeLike | None, ...] | None = None,
        stream: Any = 0, **parameters: Any,
    ) -> tuple[DeviceArray, DeviceArray]: ...
    @overload
    def __call__(
        self: Ufunc[tuple[Any, Any, Any]], x: DeviceArray, /, *args: Any,
        out: Any = None, where: Any = True, casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = None, subok: bool = True,
        signature: str | tuple[DTypeLike | None, ...] | None = None, sig: str | tuple[DTypeLike | None, ...] | None = None,
        stream: Any = 0, **parameters: Any,
    ) -> tuple[DeviceArray, DeviceArray, DeviceArray]: ...
    @overload
    def __call__(
        self: Ufunc[tuple[Any, Any, Any]], x: _Value, y: DeviceArray, /, *args: Any,
        out: Any = None, where: Any = True, casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = None, subok: bool = True,
        signature: str | tuple[DTypeLike | None, ...] | None = None, sig: str | tuple[DTypeLike | None, ...] | None = None,
        stream: Any = 0, **parameters: Any,
    ) -> tuple[DeviceArray, DeviceArray, DeviceArray]: ...
    @overload
    def __call__(
        self: Ufunc[tuple[Any, Any, Any]], x: _Value, y: _Value, z: DeviceArray, /, *args: Any,
        out: Any = None, where: Any = True, casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = None, subok: bool = True,
        signature: str | tuple[DTypeLike | None, ...] | None = None, sig: str | tuple[DTypeLike | None, ...] | None = None,
        stream: Any = 0, **parameters: Any,
    ) -> tuple[DeviceArray, DeviceArray, DeviceArray]: ...
    @overload
    def __call__(
        self: Ufunc[tuple[Any, ...]], x: DeviceArray, /, *args: Any,
        out: Any = None, where: Any = True, casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = None, subok: bool = True,
        signature: str | tuple[DTypeLike | None, ...] | None = None, sig: str | tuple[DTypeLike | None, ...] | None = None,
        stream: Any = 0, **parameters: Any,
    ) -> tuple[DeviceArray, ...]: ...
    @overload
    def __call__(
        self: Ufunc[tuple[Any, ...]], x: _Value, y: DeviceArray, /, *args: Any,
        out: Any = None, where: Any = True, casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = None, subok: bool = True,
        signature: str | tuple[DTypeLike | None, ...] | None = None, sig: str | tuple[DTypeLike | None, ...] | None = None,
        stream: Any = 0, **parameters: Any,
    ) -> tuple[DeviceArray, ...]: ...
    @overload
    def __call__(
        self: Ufunc[tuple[Any, ...]], x: _Value, y: _Value, z: DeviceArray, /, *args: Any,
        out: Any = None, where: Any = True, casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = None, subok: bool = True,
        signature: str | tuple[DTypeLike | None, ...] | None = None, sig: str | tuple[DTypeLike | None, ...] | None = None,
        stream: Any = 0, **parameters: Any,
    ) -> tuple[DeviceArray, ...]: ...
    @overload
    def __call__(
        self, x: _Foreign, /, *args: Any,
        out: Any = None, where: Any = True, casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = None, subok: bool = True,
        signature: str | tuple[DTypeLike | None, ...] | None = None, sig: str | tuple[DTypeLike | None, ...] | None = None,
        stream: Any = 0, **parameters: Any,
    ) -> Any: ...
    @overload
    def __call__(
        self, x: _Value, y: _Foreign, /, *args: Any,
        out: Any = None, where: Any = True, casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = None, subok: bool = True,
        signature: str | tuple[DTypeLike | None, ...] | None = None, sig: str | tuple[DTypeLike | None, ...] | None = None,
        stream: Any = 0, **parameters: Any,
    ) -> Any: ...
    @overload
    def __call__(
        self: Ufunc[_Value | None], x: object, /, *args: Any,
        out: Any = None, where: Any = True, casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = None, subok: bool = True,
        signature: str | tuple[DTypeLike | None, ...] | None = None, sig: str | tuple[DTypeLike | None, ...] | None = None,
        stream: Any = 0, **parameters: Any,
    ) -> NDArray[Any]: ...
    @overload
    def __call__(
        self: Ufunc[tuple[Any, Any]], x: object, /, *args: Any,
        out: Any = None, where: Any = True, casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = None, subok: bool = True,
        signature: str | tuple[DTypeLike | None, ...] | None = None, sig: str | tuple[DTypeLike | None, ...] | None = None,
        stream: Any = 0, **parameters: Any,
    ) -> tuple[NDArray[Any], NDArray[Any]]: ...
    @overload
    def __call__(
        self: Ufunc[tuple[Any, Any, Any]], x: object, /, *args: Any,
        out: Any = None, where: Any = True, casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = None, subok: bool = True,
        signature: str | tuple[DTypeLike | None, ...] | None = None, sig: str | tuple[DTypeLike | None, ...] | None = None,
        stream: Any = 0, **parameters: Any,
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]: ...
    @overload
    def __call__(
        self: Ufunc[tuple[Any, ...]], x: object, /, *args: Any,
        out: Any = None, where: Any = True, casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = None, subok: bool = True,
        signature: str | tuple[DTypeLike | None, ...] | None = None, sig: str | tuple[DTypeLike | None, ...] | None = None,
        stream: Any = 0, **parameters: Any,
    ) -> tuple[NDArray[Any], ...]: ...
    @overload
    def __call__(
        self, *,
        out: Any = None, where: Any = True, casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = None, subok: bool = True,
        signature: str | tuple[DTypeLike | None, ...] | None = None, sig: str | tuple[DTypeLike | None, ...] | None = None,
        stream: Any = 0, **parameters: Any,
    ) -> Any: ...
    def reduce(
        self,
        array: ArrayLike,
        /,
        axis: _Axis = 0,
        dtype: DTypeLike | None = None,
        out: NDArray[Any] | EllipsisType | None = None,
        keepdims: bool = False,
        initial: Any = ...,
        where: ArrayLike = True,
    ) -> Any: ...
    def accumulate(
        self,
        array: ArrayLike,
        /,
        axis: SupportsIndex = 0,
        dtype: DTypeLike | None = None,
        out: NDArray[Any] | EllipsisType | None = None,
    ) -> NDArray[Any]: ...
    def reduceat(
        self,
        array: ArrayLike,
        /,
        indices: ArrayLike,
        axis: SupportsIndex = 0,
        dtype: DTypeLike | None = None,
        out: NDArray[Any] | EllipsisType | None = None,
    ) -> NDArray[Any]: ...
    @overload
    def outer(self, A: DeviceArray, B: Any, /, **kwargs: Any) -> DeviceArray: ...
    @overload
    def outer(self, A: NDArray[Any], B: ArrayLike, /, **kwargs: Any) -> NDArray[Any]: ...
    @overload
    def outer(self, A: ArrayLike, B: ArrayLike, /, **kwargs: Any) -> Any: ...
    def at(self, a: NDArray[Any], indices: Any, b: ArrayLike = ..., /) -> None: ...
    def resolve_dtypes(
        self,
        dtypes: tuple[_DTypes, ...],
        *,
        signature: Any = None,
        casting: _Casting | None = None,
        reduction: bool = False,
    ) -> tuple[np.dtype[Any], ...]: ...
    def add(self, sig: _SignatureLike, /) -> SimpleNamespace: ...
    def build_ufunc(self) -> Self: ...
    def disable_compile(self) -> None: ...
    @property
    def is_dynamic(self) -> bool: ...
    @property
    def ufunc(self) -> Self: ...
    @property
    def gufunc_builder(self) -> Self: ...
    def bind(self, *args: Any) -> Callable[[], Any]: ...
    def compile(self, sig: _SignatureLike | None = None, target: str | None = None) -> None: ...
    def inspect_types(self, sig: _SignatureLike | None = None) -> str: ...
    def inspect_llvm(self, sig: _SignatureLike | None = None, target: str = "cpu") -> str: ...
    def inspect_nvvm(self, sig: _SignatureLike | None = None, target: str = "sm_90") -> str: ...
    def inspect_ptx(self, sig: _SignatureLike | None = None, target: str = "sm_90") -> str: ...
    def inspect_sass(self, sig: _SignatureLike | None = None, target: str = "sm_90") -> str: ...
    def inspect_asm(self, sig: _SignatureLike | None = None) -> str: ...
    def resources(self, sig: _SignatureLike | None = None, target: str | None = None) -> dict[str, Any]: ...
    def export(self, sigs: Sequence[_SignatureLike], archs: Sequence[str]) -> dict[tuple[str, str], bytes]: ...
    def __copy__(self) -> Ufunc[_R]: ...
    def __deepcopy__(self, memo: Any, /) -> Ufunc[_R]: ...
    def _state(self) -> dict[str, Any]: ...

@final
class Gufunc(Ufunc[_R]):
    @property
    def signature(self) -> str: ...
    # `where` is refused, as NumPy refuses it
    @overload
    def __call__(
        self, x: _Value, /, *args: _Value,
        out: None = None, axes: list[Any] | None = None, axis: SupportsIndex | None = None, keepdims: bool = False,
        casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = None, subok: bool = True,
        signature: str | tuple[DTypeLike | None, ...] | None = None, sig: str | tuple[DTypeLike | None, ...] | None = None,
        stream: Any = 0, **parameters: Any,
    ) -> _R: ...
    @overload
    def __call__(
        self: Gufunc[_Value | None], x: DeviceArray, /, *args: Any,
        out: Any = None, axes: list[Any] | None = None, axis: SupportsIndex | None = None, keepdims: bool = False,
        casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = None, subok: bool = True,
        signature: str | tuple[DTypeLike | None, ...] | None = None, sig: str | tuple[DTypeLike | None, ...] | None = None,
        stream: Any = 0, **parameters: Any,
    ) -> DeviceArray: ...
    @overload
    def __call__(
        self: Gufunc[_Value | None], x: _Value, y: DeviceArray, /, *args: Any,
        out: Any = None, axes: list[Any] | None = None, axis: SupportsIndex | None = None, keepdims: bool = False,
        casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = None, subok: bool = True,
        signature: str | tuple[DTypeLike | None, ...] | None = None, sig: str | tuple[DTypeLike | None, ...] | None = None,
        stream: Any = 0, **parameters: Any,
    ) -> DeviceArray: ...
    @overload
    def __call__(
        self: Gufunc[_Value | None], x: _Value, y: _Value, z: DeviceArray, /, *args: Any,
        out: Any = None, axes: list[Any] | None = None, axis: SupportsIndex | None = None, keepdims: bool = False,
        casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = None, subok: bool = True,
        signature: str | tuple[DTypeLike | None, ...] | None = None, sig: str | tuple[DTypeLike | None, ...] | None = None,
        stream: Any = 0, **parameters: Any,
    ) -> DeviceArray: ...
    @overload
    def __call__(
        self: Gufunc[tuple[Any, Any]], x: DeviceArray, /, *args: Any,
        out: Any = None, axes: list[Any] | None = None, axis: SupportsIndex | None = None, keepdims: bool = False,
        casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = None, subok: bool = True,
        signature: str | tuple[DTypeLike | None, ...] | None = None, sig: str | tuple[DTypeLike | None, ...] | None = None,
        stream: Any = 0, **parameters: Any,
    ) -> tuple[DeviceArray, DeviceArray]: ...
    @overload
    def __call__(
        self: Gufunc[tuple[Any, Any]], x: _Value, y: DeviceArray, /, *args: Any,
        out: Any = None, axes: list[Any] | None = None, axis: SupportsIndex | None = None, keepdims: bool = False,
        casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = None, subok: bool = True,
        signature: str | tuple[DTypeLike | None, ...] | None = None, sig: str | tuple[DTypeLike | None, ...] | None = None,
        stream: Any = 0, **parameters: Any,
    ) -> tuple[DeviceArray, DeviceArray]: ...
    @overload
    def __call__(
        self: Gufunc[tuple[Any, Any]], x: _Value, y: _Value, z: DeviceArray, /, *args: Any,
        out: Any = None, axes: list[Any] | None = None, axis: SupportsIndex | None = None, keepdims: bool = False,
        casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = None, subok: bool = True,
        signature: str | tuple[DTypeLike | None, ...] | None = None, sig: str | tuple[DTypeLike | None, ...] | None = None,
        stream: Any = 0, **parameters: Any,
    ) -> tuple[DeviceArray, DeviceArray]: ...
    @overload
    def __call__(
        self: Gufunc[tuple[Any, Any, Any]], x: DeviceArray, /, *args: Any,
        out: Any = None, axes: list[Any] | None = None, axis: SupportsIndex | None = None, keepdims: bool = False,
        casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = None, subok: bool = True,
        signature: str | tuple[DTypeLike | None, ...] | None = None, sig: str | tuple[DTypeLike | None, ...] | None = None,
        stream: Any = 0, **parameters: Any,
    ) -> tuple[DeviceArray, DeviceArray, DeviceArray]: ...
    @overload
    def __call__(
        self: Gufunc[tuple[Any, Any, Any]], x: _Value, y: DeviceArray, /, *args: Any,
        out: Any = None, axes: list[Any] | None = None, axis: SupportsIndex | None = None, keepdims: bool = False,
        casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = None, subok: bool = True,
        signature: str | tuple[DTypeLike | None, ...] | None = None, sig: str | tuple[DTypeLike | None, ...] | None = None,
        stream: Any = 0, **parameters: Any,
    ) -> tuple[DeviceArray, DeviceArray, DeviceArray]: ...
    @overload
    def __call__(
        self: Gufunc[tuple[Any, Any, Any]], x: _Value, y: _Value, z: DeviceArray, /, *args: Any,
        out: Any = None, axes: list[Any] | None = None, axis: SupportsIndex | None = None, keepdims: bool = False,
        casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = None, subok: bool = True,
        signature: str | tuple[DTypeLike | None, ...] | None = None, sig: str | tuple[DTypeLike | None, ...] | None = None,
        stream: Any = 0, **parameters: Any,
    ) -> tuple[DeviceArray, DeviceArray, DeviceArray]: ...
    @overload
    def __call__(
        self: Gufunc[tuple[Any, ...]], x: DeviceArray, /, *args: Any,
        out: Any = None, axes: list[Any] | None = None, axis: SupportsIndex | None = None, keepdims: bool = False,
        casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = None, subok: bool = True,
        signature: str | tuple[DTypeLike | None, ...] | None = None, sig: str | tuple[DTypeLike | None, ...] | None = None,
        stream: Any = 0, **parameters: Any,
    ) -> tuple[DeviceArray, ...]: ...
    @overload
    def __call__(
        self: Gufunc[tuple[Any, ...]], x: _Value, y: DeviceArray, /, *args: Any,
        out: Any = None, axes: list[Any] | None = None, axis: SupportsIndex | None = None, keepdims: bool = False,
        casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = None, subok: bool = True,
        signature: str | tuple[DTypeLike | None, ...] | None = None, sig: str | tuple[DTypeLike | None, ...] | None = None,
        stream: Any = 0, **parameters: Any,
    ) -> tuple[DeviceArray, ...]: ...
    @overload
    def __call__(
        self: Gufunc[tuple[Any, ...]], x: _Value, y: _Value, z: DeviceArray, /, *args: Any,
        out: Any = None, axes: list[Any] | None = None, axis: SupportsIndex | None = None, keepdims: bool = False,
        casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = None, subok: bool = True,
        signature: str | tuple[DTypeLike | None, ...] | None = None, sig: str | tuple[DTypeLike | None, ...] | None = None,
        stream: Any = 0, **parameters: Any,
    ) -> tuple[DeviceArray, ...]: ...
    @overload
    def __call__(
        self, x: _Foreign, /, *args: Any,
        out: Any = None, axes: list[Any] | None = None, axis: SupportsIndex | None = None, keepdims: bool = False,
        casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = None, subok: bool = True,
        signature: str | tuple[DTypeLike | None, ...] | None = None, sig: str | tuple[DTypeLike | None, ...] | None = None,
        stream: Any = 0, **parameters: Any,
    ) -> Any: ...
    @overload
    def __call__(
        self, x: _Value, y: _Foreign, /, *args: Any,
        out: Any = None, axes: list[Any] | None = None, axis: SupportsIndex | None = None, keepdims: bool = False,
        casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = None, subok: bool = True,
        signature: str | tuple[DTypeLike | None, ...] | None = None, sig: str | tuple[DTypeLike | None, ...] | None = None,
        stream: Any = 0, **parameters: Any,
    ) -> Any: ...
    @overload
    def __call__(
        self: Gufunc[_Value | None], x: object, /, *args: Any,
        out: Any = None, axes: list[Any] | None = None, axis: SupportsIndex | None = None, keepdims: bool = False,
        casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = None, subok: bool = True,
        signature: str | tuple[DTypeLike | None, ...] | None = None, sig: str | tuple[DTypeLike | None, ...] | None = None,
        stream: Any = 0, **parameters: Any,
    ) -> NDArray[Any]: ...
    @overload
    def __call__(
        self: Gufunc[tuple[Any, Any]], x: object, /, *args: Any,
        out: Any = None, axes: list[Any] | None = None, axis: SupportsIndex | None = None, keepdims: bool = False,
        casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = None, subok: bool = True,
        signature: str | tuple[DTypeLike | None, ...] | None = None, sig: str | tuple[DTypeLike | None, ...] | None = None,
        stream: Any = 0, **parameters: Any,
    ) -> tuple[NDArray[Any], NDArray[Any]]: ...
    @overload
    def __call__(
        self: Gufunc[tuple[Any, Any, Any]], x: object, /, *args: Any,
        out: Any = None, axes: list[Any] | None = None, axis: SupportsIndex | None = None, keepdims: bool = False,
        casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = None, subok: bool = True,
        signature: str | tuple[DTypeLike | None, ...] | None = None, sig: str | tuple[DTypeLike | None, ...] | None = None,
        stream: Any = 0, **parameters: Any,
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]: ...
    @overload
    def __call__(
        self: Gufunc[tuple[Any, ...]], x: object, /, *args: Any,
        out: Any = None, axes: list[Any] | None = None, axis: SupportsIndex | None = None, keepdims: bool = False,
        casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = None, subok: bool = True,
        signature: str | tuple[DTypeLike | None, ...] | None = None, sig: str | tuple[DTypeLike | None, ...] | None = None,
        stream: Any = 0, **parameters: Any,
    ) -> tuple[NDArray[Any], ...]: ...
    @overload
    def __call__(
        self, *,
        out: Any = None, axes: list[Any] | None = None, axis: SupportsIndex | None = None, keepdims: bool = False,
        casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = None, subok: bool = True,
        signature: str | tuple[DTypeLike | None, ...] | None = None, sig: str | tuple[DTypeLike | None, ...] | None = None,
        stream: Any = 0, **parameters: Any,
    ) -> Any: ...
    def reduce(self, *args: Any, **kwargs: Any) -> NoReturn: ...
    def accumulate(self, *args: Any, **kwargs: Any) -> NoReturn: ...
    def reduceat(self, *args: Any, **kwargs: Any) -> NoReturn: ...
    def outer(self, *args: Any, **kwargs: Any) -> NoReturn: ...
    def at(self, *args: Any, **kwargs: Any) -> NoReturn: ...
    def __copy__(self) -> Gufunc[_R]: ...
    def __deepcopy__(self, memo: Any, /) -> Gufunc[_R]: ...

_Extent: TypeAlias = int | range | slice
_Space: TypeAlias = _Extent | tuple[_Extent, ...]

@final
class BoundForall:
    @property
    def function(self) -> Forall: ...
    @property
    def args(self) -> tuple[Any, ...]: ...
    def __call__(self, *args: NoReturn) -> None: ...

@final
class Forall:
    __name__: str
    __qualname__: str
    __module__: str
    __doc__: str | None
    @property
    def ndim(self) -> int: ...
    @property
    def signatures(self) -> list[str]: ...
    @property
    def specialisations(self) -> list[str]: ...
    @property
    def stats(self) -> dict[str, Any]: ...
    @property
    def py_func(self) -> Callable[..., Any]: ...
    @property
    def __wrapped__(self) -> Callable[..., Any]: ...
    @property
    def __code__(self) -> CodeType: ...
    def __call__(
        self, space: _Space, /, *args: Any, stream: Any = 0, tpb: int = 0, sharedmem: int = 0, progress: _Progress = None
    ) -> None: ...
    def _call_with_halos(self, space: Any, /, *args: Any) -> None: ...
    def bind(
        self, space: _Space, /, *args: Any, stream: Any = 0, tpb: int = 0, sharedmem: int = 0
    ) -> BoundForall: ...
    def inspect_types(self, sig: Any = None) -> str: ...
    def inspect_ir(self, sig: Any = None, target: str | None = "cpu") -> str: ...
    def inspect_llvm(self, sig: Any = None, target: str | None = "cpu") -> str: ...
    def inspect_nvvm(self, sig: Any = None, target: str | None = "sm_90") -> str: ...
    def inspect_ptx(self, sig: Any = None, target: str | None = "sm_90") -> str: ...
    def inspect_cubin(self, sig: Any = None, target: str | None = "sm_90") -> bytes: ...
    def inspect_ltoir(self, sig: Any = None, target: str | None = "sm_90") -> bytes: ...
    def inspect_sass(self, sig: Any = None, target: str | None = "sm_90") -> str: ...
    def inspect_asm(self, sig: Any = None) -> str: ...
    def resources(self, sig: Any = None, target: str | None = "sm_90") -> dict[str, Any]: ...
    def _state(self) -> dict[str, Any]: ...
    def __copy__(self) -> Forall: ...
    def __deepcopy__(self, memo: Any, /) -> Forall: ...

@final
class ReductionFunction:
    __name__: str
    __qualname__: str
    __wrapped__: Callable[..., Any]
    @property
    def __signature__(self) -> Any: ...
    def __new__(cls, function: Callable[..., Any], source: Any, kinds: str, dtype: Any = None, *, scans: bool = False, unless_nan: bool = False, several: bool = False, gives_places: bool = False) -> Self: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

@overload
def forall(
    signatures: Callable[..., Any],
    *,
    # generated: keywords of forall
    ndim: Literal[1, 2, 3] = 1,
    target: _Target = "auto",
    typing: Literal["weak", "numba"] = "weak",
    fastmath: _FastMath = False,
    cache: bool = True,
    link: Any = (),
    debug: bool | None = None,
    lineinfo: bool = True,
    opt: bool | None = None,
    fma: bool = True,
    precise: bool = False,
    math: Literal["target", "same"] = "target",
    max_registers: int | None = None,
    max_blocksize: int | None = None,
    static: _Parameters = (),
    errors: Literal["raise", "defer", "ignore"] = "raise",
    check: _Check = (),
    source: str | None = None,
    warn: bool = True,
    nopython: Literal[True] = True,
    # end
) -> Forall: ...
@overload
def forall(
    signatures: _Signatures | None = None,
    *,
    # generated: keywords of forall
    ndim: Literal[1, 2, 3] = 1,
    target: _Target = "auto",
    typing: Literal["weak", "numba"] = "weak",
    fastmath: _FastMath = False,
    cache: bool = True,
    link: Any = (),
    debug: bool | None = None,
    lineinfo: bool = True,
    opt: bool | None = None,
    fma: bool = True,
    precise: bool = False,
    math: Literal["target", "same"] = "target",
    max_registers: int | None = None,
    max_blocksize: int | None = None,
    static: _Parameters = (),
    errors: Literal["raise", "defer", "ignore"] = "raise",
    check: _Check = (),
    source: str | None = None,
    warn: bool = True,
    nopython: Literal[True] = True,
    # end
) -> Callable[[Callable[..., Any]], Forall]: ...
@final
class Reduction(Generic[_R]):
    @property
    def __signature__(self) -> Any: ...
    @overload
    def __call__(
        self: Reduction[_Value | None], a: DeviceArray, /, *args: Any, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
        dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = ..., where: Any = True,
        stream: Any = 0, size: SupportsIndex | None = None, res: Any = None, init: Any = ..., progress: _Progress = None,
    ) -> DeviceArray: ...
    @overload
    def __call__(
        self: Reduction[tuple[Any, Any]], a: DeviceArray, /, *args: Any, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
        dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = ..., where: Any = True,
        stream: Any = 0, size: SupportsIndex | None = None, res: Any = None, init: Any = ..., progress: _Progress = None,
    ) -> tuple[DeviceArray, DeviceArray]: ...
    @overload
    def __call__(
        self: Reduction[tuple[Any, ...]], a: DeviceArray, /, *args: Any, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
        dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = ..., where: Any = True,
        stream: Any = 0, size: SupportsIndex | None = None, res: Any = None, init: Any = ..., progress: _Progress = None,
    ) -> tuple[DeviceArray, ...]: ...
    @overload
    def __call__(
        self, a: _Foreign, /, *args: Any, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
        dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = ..., where: Any = True,
        stream: Any = 0, size: SupportsIndex | None = None, res: Any = None, init: Any = ..., progress: _Progress = None,
    ) -> Any: ...
    @overload
    def __call__(
        self: Reduction[_Value | None], a: object, /, *args: Any, axis: SupportsIndex,
        dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = ..., where: Any = True,
        stream: Any = 0, size: SupportsIndex | None = None, res: Any = None, init: Any = ..., progress: _Progress = None,
    ) -> NDArray[Any]: ...
    @overload
    def __call__(
        self: Reduction[tuple[Any, Any]], a: object, /, *args: Any, axis: SupportsIndex,
        dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = ..., where: Any = True,
        stream: Any = 0, size: SupportsIndex | None = None, res: Any = None, init: Any = ..., progress: _Progress = None,
    ) -> tuple[NDArray[Any], NDArray[Any]]: ...
    @overload
    def __call__(
        self: Reduction[tuple[Any, ...]], a: object, /, *args: Any, axis: SupportsIndex,
        dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = ..., where: Any = True,
        stream: Any = 0, size: SupportsIndex | None = None, res: Any = None, init: Any = ..., progress: _Progress = None,
    ) -> tuple[NDArray[Any], ...]: ...
    @overload
    def __call__(
        self, a: object, /, *args: Any, axis: None = None,
        dtype: Any = None, out: None = None, keepdims: Literal[False] = False, initial: Any = ..., where: Any = True,
        stream: Any = 0, size: SupportsIndex | None = None, res: None = None, init: Any = ..., progress: _Progress = None,
    ) -> _R: ...
    @overload
    def __call__(
        self, a: object = ..., /, *args: Any, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
        dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = ..., where: Any = True,
        stream: Any = 0, size: SupportsIndex | None = None, res: Any = None, init: Any = ..., progress: _Progress = None,
    ) -> Any: ...
    @overload
    def accumulate(self: Reduction[_Value | None], a: DeviceArray, /, *args: Any, **kwargs: Any) -> DeviceArray: ...
    @overload
    def accumulate(self: Reduction[tuple[Any, Any]], a: DeviceArray, /, *args: Any, **kwargs: Any) -> tuple[DeviceArray, DeviceArray]: ...
    @overload
    def accumulate(self: Reduction[tuple[Any, ...]], a: DeviceArray, /, *args: Any, **kwargs: Any) -> tuple[DeviceArray, ...]: ...
    @overload
    def accumulate(self, a: _Foreign, /, *args: Any, **kwargs: Any) -> Any: ...
    @overload
    def accumulate(self: Reduction[_Value | None], a: object, /, *args: Any, **kwargs: Any) -> NDArray[Any]: ...
    @overload
    def accumulate(self: Reduction[tuple[Any, Any]], a: object, /, *args: Any, **kwargs: Any) -> tuple[NDArray[Any], NDArray[Any]]: ...
    @overload
    def accumulate(self: Reduction[tuple[Any, ...]], a: object, /, *args: Any, **kwargs: Any) -> tuple[NDArray[Any], ...]: ...
    @overload
    def accumulate(self, a: object, /, *args: Any, **kwargs: Any) -> Any: ...
    @overload
    def reduceat(self: Reduction[_Value | None], a: DeviceArray, /, *args: Any, **kwargs: Any) -> DeviceArray: ...
    @overload
    def reduceat(self: Reduction[tuple[Any, Any]], a: DeviceArray, /, *args: Any, **kwargs: Any) -> tuple[DeviceArray, DeviceArray]: ...
    @overload
    def reduceat(self: Reduction[tuple[Any, ...]], a: DeviceArray, /, *args: Any, **kwargs: Any) -> tuple[DeviceArray, ...]: ...
    @overload
    def reduceat(self, a: _Foreign, /, *args: Any, **kwargs: Any) -> Any: ...
    @overload
    def reduceat(self: Reduction[_Value | None], a: object, /, *args: Any, **kwargs: Any) -> NDArray[Any]: ...
    @overload
    def reduceat(self: Reduction[tuple[Any, Any]], a: object, /, *args: Any, **kwargs: Any) -> tuple[NDArray[Any], NDArray[Any]]: ...
    @overload
    def reduceat(self: Reduction[tuple[Any, ...]], a: object, /, *args: Any, **kwargs: Any) -> tuple[NDArray[Any], ...]: ...
    @overload
    def reduceat(self, a: object, /, *args: Any, **kwargs: Any) -> Any: ...
    def _simulate(self, a: Any, /, *args: Any, **kwargs: Any) -> Any: ...
    def _simulate_by_key(self, keys: Any, /, *args: Any, **kwargs: Any) -> Any: ...
    def _simulate_slices(self, a: Any, /, *args: Any, **kwargs: Any) -> Any: ...
    def _simulate_scan(self, a: Any, /, *args: Any, **kwargs: Any) -> Any: ...
    def _reorders(self, dtype: Any, /) -> bool: ...
    @property
    def signatures(self) -> list[str]: ...
    def inspect_types(self, sig: Any = None) -> str: ...
    def inspect_ir(self, sig: Any = None, target: str | None = "cpu") -> str: ...
    def inspect_llvm(self, sig: Any = None, target: str | None = "cpu") -> str: ...
    def inspect_asm(self, sig: Any = None) -> str: ...
    def inspect_nvvm(self, sig: Any = None, target: str | None = "sm_90") -> str: ...
    def inspect_ptx(self, sig: Any = None, target: str | None = "sm_90") -> str: ...
    def inspect_sass(self, sig: Any = None, target: str | None = "sm_90") -> str: ...
    def inspect_cubin(self, sig: Any = None, target: str | None = "sm_90") -> bytes: ...
    def inspect_ltoir(self, sig: Any = None, target: str | None = "sm_90") -> bytes: ...
    def resources(self, sig: Any = None, target: str | None = "sm_90") -> dict[str, Any]: ...
    def by_key(self, keys: Any, /, *values: Any, stream: Any = 0) -> tuple[NDArray[Any], Any]: ...
    @property
    def stats(self) -> dict[str, Any]: ...
    @property
    def py_func(self) -> Callable[..., Any]: ...
    @property
    def __wrapped__(self) -> Callable[..., Any]: ...
    @property
    def __code__(self) -> CodeType: ...
    @property
    def map(self) -> Callable[..., Any] | None: ...
    def partial(self, a: Any, /, *more: Any, axis: Any = None, dtype: Any = None, keepdims: Any = False, where: Any = True, offset: int | None = None) -> Any: ...
    def merge(self, p: Any, /, *more: Any) -> Any: ...
    def finish(self, p: Any, /, *, initial: Any = ...) -> Any: ...
    def _staged(self, stage: str, dtypes: tuple[Any, ...], dtype: Any, /) -> tuple[Any, ...]: ...
    @property
    def identity(self) -> Any: ...
    def _state(self) -> dict[str, Any]: ...
    def __copy__(self) -> Reduction[_R]: ...
    def __deepcopy__(self, memo: Any, /) -> Reduction[_R]: ...

@overload
def reduce(
    f: Callable[..., _T],
    /,
    *,
    combine: None = None,
    finish: None = None,
    # generated: keywords of reduce but combine, finish
    target: _Target = "auto",
    identity: Any = None,
    map: Callable[..., Any] | None = None,
    commutative: bool | None = None,
    typing: Literal["weak", "numba"] = "weak",
    fastmath: _FastMath = False,
    cache: bool = True,
    link: Any = (),
    debug: bool | None = None,
    lineinfo: bool = True,
    opt: bool | None = None,
    fma: bool = True,
    precise: bool = False,
    math: Literal["target", "same"] = "target",
    max_registers: int | None = None,
    max_blocksize: int | None = None,
    static: _Parameters = (),
    errors: Literal["raise", "defer", "ignore"] = "raise",
    check: _Check = (),
    source: str | None = None,
    warn: bool = True,
    nopython: Literal[True] = True,
    # end
) -> Reduction[_T]: ...
@overload
def reduce(
    f: Callable[..., Any],
    /,
    *,
    combine: None = None,
    finish: Callable[..., _T],
    # generated: keywords of reduce but combine, finish
    target: _Target = "auto",
    identity: Any = None,
    map: Callable[..., Any] | None = None,
    commutative: bool | None = None,
    typing: Literal["weak", "numba"] = "weak",
    fastmath: _FastMath = False,
    cache: bool = True,
    link: Any = (),
    debug: bool | None = None,
    lineinfo: bool = True,
    opt: bool | None = None,
    fma: bool = True,
    precise: bool = False,
    math: Literal["target", "same"] = "target",
    max_registers: int | None = None,
    max_blocksize: int | None = None,
    static: _Parameters = (),
    errors: Literal["raise", "defer", "ignore"] = "raise",
    check: _Check = (),
    source: str | None = None,
    warn: bool = True,
    nopython: Literal[True] = True,
    # end
) -> Reduction[_T]: ...
@overload
def reduce(
    f: None = None,
    /,
    *,
    combine: Callable[..., _T],
    finish: None = None,
    # generated: keywords of reduce but combine, finish
    target: _Target = "auto",
    identity: Any = None,
    map: Callable[..., Any] | None = None,
    commutative: bool | None = None,
    typing: Literal["weak", "numba"] = "weak",
    fastmath: _FastMath = False,
    cache: bool = True,
    link: Any = (),
    debug: bool | None = None,
    lineinfo: bool = True,
    opt: bool | None = None,
    fma: bool = True,
    precise: bool = False,
    math: Literal["target", "same"] = "target",
    max_registers: int | None = None,
    max_blocksize: int | None = None,
    static: _Parameters = (),
    errors: Literal["raise", "defer", "ignore"] = "raise",
    check: _Check = (),
    source: str | None = None,
    warn: bool = True,
    nopython: Literal[True] = True,
    # end
) -> Reduction[_T]: ...
@overload
def reduce(
    f: None = None,
    /,
    *,
    combine: Callable[..., Any],
    finish: Callable[..., _T],
    # generated: keywords of reduce but combine, finish
    target: _Target = "auto",
    identity: Any = None,
    map: Callable[..., Any] | None = None,
    commutative: bool | None = None,
    typing: Literal["weak", "numba"] = "weak",
    fastmath: _FastMath = False,
    cache: bool = True,
    link: Any = (),
    debug: bool | None = None,
    lineinfo: bool = True,
    opt: bool | None = None,
    fma: bool = True,
    precise: bool = False,
    math: Literal["target", "same"] = "target",
    max_registers: int | None = None,
    max_blocksize: int | None = None,
    static: _Parameters = (),
    errors: Literal["raise", "defer", "ignore"] = "raise",
    check: _Check = (),
    source: str | None = None,
    warn: bool = True,
    nopython: Literal[True] = True,
    # end
) -> Reduction[_T]: ...
@overload
def reduce(
    f: None = None,
    /,
    *,
    combine: None = None,
    finish: None = None,
    # generated: keywords of reduce but combine, finish
    target: _Target = "auto",
    identity: Any = None,
    map: Callable[..., Any] | None = None,
    commutative: bool | None = None,
    typing: Literal["weak", "numba"] = "weak",
    fastmath: _FastMath = False,
    cache: bool = True,
    link: Any = (),
    debug: bool | None = None,
    lineinfo: bool = True,
    opt: bool | None = None,
    fma: bool = True,
    precise: bool = False,
    math: Literal["target", "same"] = "target",
    max_registers: int | None = None,
    max_blocksize: int | None = None,
    static: _Parameters = (),
    errors: Literal["raise", "defer", "ignore"] = "raise",
    check: _Check = (),
    source: str | None = None,
    warn: bool = True,
    nopython: Literal[True] = True,
    # end
) -> Callable[[Callable[..., _T]], Reduction[_T]]: ...
@overload
def reduce(
    f: None = None,
    /,
    *,
    combine: None = None,
    finish: Callable[..., _T],
    # generated: keywords of reduce but combine, finish
    target: _Target = "auto",
    identity: Any = None,
    map: Callable[..., Any] | None = None,
    commutative: bool | None = None,
    typing: Literal["weak", "numba"] = "weak",
    fastmath: _FastMath = False,
    cache: bool = True,
    link: Any = (),
    debug: bool | None = None,
    lineinfo: bool = True,
    opt: bool | None = None,
    fma: bool = True,
    precise: bool = False,
    math: Literal["target", "same"] = "target",
    max_registers: int | None = None,
    max_blocksize: int | None = None,
    static: _Parameters = (),
    errors: Literal["raise", "defer", "ignore"] = "raise",
    check: _Check = (),
    source: str | None = None,
    warn: bool = True,
    nopython: Literal[True] = True,
    # end
) -> Callable[[Callable[..., Any]], Reduction[_T]]: ...
@overload
def vectorize(
    signatures: Callable[..., _T],
    *,
    # generated: keywords of vectorize
    target: _Target = "auto",
    identity: Any = None,
    typing: Literal["weak", "numba"] = "weak",
    fastmath: _FastMath = False,
    cache: bool = True,
    link: Any = (),
    debug: bool | None = None,
    lineinfo: bool = True,
    opt: bool | None = None,
    fma: bool = True,
    precise: bool = False,
    math: Literal["target", "same"] = "target",
    max_registers: int | None = None,
    max_blocksize: int | None = None,
    excluded: _Parameters = (),
    static: _Parameters = (),
    errors: Literal["raise", "defer", "ignore"] = "raise",
    check: _Check = (),
    order: Literal["canonical", "given"] = "canonical",
    source: str | None = None,
    warn: bool = True,
    nopython: Literal[True] = True,
    forceobj: Literal[False] = False,
    locals: dict[str, Any] | None = None,
    # end
) -> Ufunc[_T]: ...
@overload
def vectorize(
    signatures: _Signatures | None = None,
    *,
    # generated: keywords of vectorize
    target: _Target = "auto",
    identity: Any = None,
    typing: Literal["weak", "numba"] = "weak",
    fastmath: _FastMath = False,
    cache: bool = True,
    link: Any = (),
    debug: bool | None = None,
    lineinfo: bool = True,
    opt: bool | None = None,
    fma: bool = True,
    precise: bool = False,
    math: Literal["target", "same"] = "target",
    max_registers: int | None = None,
    max_blocksize: int | None = None,
    excluded: _Parameters = (),
    static: _Parameters = (),
    errors: Literal["raise", "defer", "ignore"] = "raise",
    check: _Check = (),
    order: Literal["canonical", "given"] = "canonical",
    source: str | None = None,
    warn: bool = True,
    nopython: Literal[True] = True,
    forceobj: Literal[False] = False,
    locals: dict[str, Any] | None = None,
    # end
) -> Callable[[Callable[..., _T]], Ufunc[_T]]: ...
def guvectorize(
    signatures: _Signatures | None = None,
    layout: str | None = None,
    *,
    # generated: keywords of guvectorize
    sizes: dict[str, int | Callable[..., int]] | None = None,
    writable_args: Sequence[int | str] = (),
    target: _Target = "auto",
    identity: Any = None,
    typing: Literal["weak", "numba"] = "weak",
    fastmath: _FastMath = False,
    cache: bool = True,
    link: Any = (),
    debug: bool | None = None,
    lineinfo: bool = True,
    opt: bool | None = None,
    fma: bool = True,
    precise: bool = False,
    math: Literal["target", "same"] = "target",
    max_registers: int | None = None,
    max_blocksize: int | None = None,
    excluded: _Parameters = (),
    static: _Parameters = (),
    errors: Literal["raise", "defer", "ignore"] = "raise",
    check: _Check = (),
    order: Literal["canonical", "given"] = "canonical",
    source: str | None = None,
    warn: bool = True,
    nopython: Literal[True] = True,
    forceobj: Literal[False] = False,
    locals: dict[str, Any] | None = None,
    # end
) -> Callable[[Callable[..., _T]], Gufunc[_T]]: ...
@overload
def compile(
    f: Callable[..., Any],
    sig: _SignatureLike,
    target: str = "sm_90",
    output: Literal["cubin", "ltoir", "object"] = "cubin",
) -> bytes: ...
@overload
def compile(
    f: Callable[..., Any],
    sig: _SignatureLike,
    target: str = "sm_90",
    *,
    output: Literal["ir", "llvm", "nvvm", "ptx", "sass", "asm"],
) -> str: ...
@overload
def compile(
    f: Callable[..., Any],
    sig: _SignatureLike,
    target: str,
    output: Literal["ir", "llvm", "nvvm", "ptx", "sass", "asm"],
) -> str: ...
def _explain(f: Callable[..., Any], sig: _SignatureLike, /) -> str: ...
def typeof(value: Any, /) -> Any: ...
def from_dtype(dtype: DTypeLike, /) -> CoreType: ...

bool_: CoreType
int8: CoreType
int16: CoreType
int32: CoreType
int64: CoreType
uint8: CoreType
uint16: CoreType
uint32: CoreType
uint64: CoreType
intp: CoreType
uintp: CoreType
float16: CoreType
bfloat16: CoreType
float32: CoreType
float64: CoreType
complex64: CoreType
complex128: CoreType
void: CoreType

@overload
def jit(
    func_or_sig: Callable[..., _T],
    *,
    # generated: keywords of jit
    device: bool = False,
    inline: Literal["never", "always"] | bool = "never",
    forceinline: bool = False,
    lto: bool | None = None,
    launch_bounds: int | tuple[int, ...] | None = None,
    cooperative: bool | None = False,
    nrt: bool = False,
    boundscheck: bool | None = None,
    extensions: Sequence[Any] = (),
    shared_memory_carveout: int | str | None = None,
    parallel: bool | None = None,
    nogil: bool | None = True,
    error_model: Literal["numpy", "python"] = "numpy",
    looplift: Literal[False] = False,
    target: _Target = "auto",
    typing: Literal["weak", "numba"] = "weak",
    fastmath: _FastMath = False,
    cache: bool = True,
    link: Any = (),
    debug: bool | None = None,
    lineinfo: bool = True,
    opt: bool | None = None,
    fma: bool = True,
    precise: bool = False,
    math: Literal["target", "same"] = "target",
    max_registers: int | None = None,
    max_blocksize: int | None = None,
    static: _Parameters = (),
    errors: Literal["raise", "defer", "ignore"] = "raise",
    check: _Check = (),
    source: str | None = None,
    warn: bool = True,
    nopython: Literal[True] = True,
    forceobj: Literal[False] = False,
    locals: dict[str, Any] | None = None,
    # end
) -> Kernel[_T]: ...
@overload
def jit(
    func_or_sig: _Signatures | None = None,
    *,
    # generated: keywords of jit
    device: bool = False,
    inline: Literal["never", "always"] | bool = "never",
    forceinline: bool = False,
    lto: bool | None = None,
    launch_bounds: int | tuple[int, ...] | None = None,
    cooperative: bool | None = False,
    nrt: bool = False,
    boundscheck: bool | None = None,
    extensions: Sequence[Any] = (),
    shared_memory_carveout: int | str | None = None,
    parallel: bool | None = None,
    nogil: bool | None = True,
    error_model: Literal["numpy", "python"] = "numpy",
    looplift: Literal[False] = False,
    target: _Target = "auto",
    typing: Literal["weak", "numba"] = "weak",
    fastmath: _FastMath = False,
    cache: bool = True,
    link: Any = (),
    debug: bool | None = None,
    lineinfo: bool = True,
    opt: bool | None = None,
    fma: bool = True,
    precise: bool = False,
    math: Literal["target", "same"] = "target",
    max_registers: int | None = None,
    max_blocksize: int | None = None,
    static: _Parameters = (),
    errors: Literal["raise", "defer", "ignore"] = "raise",
    check: _Check = (),
    source: str | None = None,
    warn: bool = True,
    nopython: Literal[True] = True,
    forceobj: Literal[False] = False,
    locals: dict[str, Any] | None = None,
    # end
) -> Callable[[Callable[..., _T]], Kernel[_T]]: ...
def _has_code(cls: type, /) -> bool: ...
def _takes_as_object(compiled: object, object: object, /) -> bool: ...
def _call_with_loop(loop: Callable[..., object], object: object, args: tuple[Any, ...], kwargs: dict[str, Any], /) -> Any: ...
def _fields_of_object(object: object, /) -> tuple[str, ...] | None: ...
def _form_of_call(jit: Kernel, /, *args: object) -> Any: ...
def _linked(kernel: Kernel, signature: _SignatureLike, cc: int, /) -> tuple[Any, ...]: ...
def _compile_device(kernel: Kernel, signature: _SignatureLike, cc: int, output: str, symbol: str, /) -> tuple[Any, str]: ...
def _device_signature(sig: _SignatureLike, c_abi: bool, /) -> str: ...
def _cache_info() -> dict[str, Any]: ...
def _cache_clear(memory_only: bool, /) -> None: ...
def _checks() -> list[str]: ...
def _error_bounds() -> dict[str, tuple[int, int, int, int]]: ...
def _settings() -> list[tuple[str, str, str, str, str]]: ...
def _numba_settings() -> list[tuple[str, str, str, str, str]]: ...
def _numba_unlike() -> list[tuple[str, str, bool, str]]: ...
def _alias_table(probability: Any, alias: Any, /) -> None: ...
def _bytes_of_words(length: int, fill: Callable[[Any], Any], /) -> bytes: ...
def _setting_get(field: str, /) -> int | str: ...
def _setting_set(field: str, value: str | None, /) -> None: ...
def _driver_path() -> str: ...
def _driver_version() -> int: ...
def _toolchain_info() -> dict[str, Any]: ...
def _profile_begin() -> None: ...
def _profile_end() -> None: ...
def _profile_read(first: int, /) -> tuple[list[tuple[Any, str | None]], bytes, bytes, int]: ...
def _profile_n_events() -> int: ...
def _profile_ranges(path: str | None, /) -> bool: ...
def _simulate_gufuncs(on: bool, /) -> None: ...
def _make_gufunc_outputs(on: bool, /) -> None: ...
def _time_launch(ufunc: Ufunc, n: int, /, *operands: Any) -> float: ...
def _type_from_text(text: str, /) -> Type: ...
def _tuple_type(
    types: tuple[Type, ...], fields: tuple[str, ...] | None, class_name: str | None, /
) -> Type: ...
def _record_type(dtype: np.dtype[Any], ndim: int, layout: str, readonly: bool, /) -> Type: ...
def _source_text(function: Callable[..., Any], /) -> Any: ...
def _dump_tree(function: Callable[..., Any], source: str | None = None) -> str: ...
def _captures(function: Callable[..., Any], /) -> Any: ...
def _captures_changed(captures: Any, /) -> bool: ...
def _parse_signature(text: str, /) -> str: ...
def _sort_signatures(signatures: list[str], /) -> list[str]: ...
def _typed_kinds(texts: type, arrays: type, /) -> None: ...
def _container(example: Any, form: type, names: tuple[str, ...], fields: tuple[str, ...], /) -> None: ...
def _memory_live() -> int: ...
def _direct_calls() -> int: ...
def _memory_fail_at(n: int, /) -> bool: ...

@disjoint_base
class ListCells:
    _words: np.ndarray[Any, Any]
    _like: Any
    def _begin(self) -> int: ...
    def _list(self) -> list[Any]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, i: Any, /) -> Any: ...
    def __setitem__(self, i: Any, value: Any, /) -> None: ...
    def __delitem__(self, i: Any, /) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __contains__(self, x: object, /) -> bool: ...
    def append(self, value: Any, /) -> None: ...
    def extend(self, values: Iterable[Any], /) -> None: ...
    def insert(self, index: int, value: Any, /) -> None: ...
    def pop(self, index: int = -1) -> Any: ...
    def clear(self) -> None: ...
    def reverse(self) -> None: ...

@disjoint_base
class DictCells:
    _words: np.ndarray[Any, Any]
    _key_like: Any
    _value_like: Any
    def _begin(self) -> int: ...
    def _dict(self) -> dict[Any, Any]: ...
    def _iterate_values(self) -> Iterator[Any]: ...
    def _iterate_pairs(self) -> Iterator[tuple[Any, Any]]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, key: Any, /) -> Any: ...
    def __setitem__(self, key: Any, value: Any, /) -> None: ...
    def __delitem__(self, key: Any, /) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __contains__(self, key: object, /) -> bool: ...
    def get(self, key: Any, default: Any = None) -> Any: ...
    def pop(self, key: Any, default: Any = ...) -> Any: ...
    def popitem(self) -> tuple[Any, Any]: ...
    def clear(self) -> None: ...

@final
class MemInfo:
    def __new__(cls, address: int) -> MemInfo: ...
    def acquire(self) -> None: ...
    def release(self) -> None: ...
    @property
    def address(self) -> int: ...
    @property
    def refcount(self) -> int: ...
    @property
    def data(self) -> int: ...
    @property
    def size(self) -> int: ...

@final
class Intrinsic:
    @property
    def __name__(self) -> str: ...
    @property
    def __qualname__(self) -> str: ...
    @property
    def __lanewise_row__(self) -> int: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

@final
class IntrinsicGroup:
    @property
    def __qualname__(self) -> str: ...
    def __getattribute__(self, name: str, /) -> Any: ...
    def __array__(self, *args: Any) -> NoReturn: ...

intrinsics: IntrinsicGroup
