"""`kernel.overloads`: what a Kernel is compiled for, as numba's dispatchers list it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


class _Loaded:
    """A kernel as numba once kept it for each context."""

    def __init__(self, overload: Overload) -> None:
        self._overload = overload

    def get(self) -> _Loaded:
        return self

    @property
    def attrs(self) -> Any:
        """A named tuple: regs, shared, local, const, maxthreads."""
        from lanewise._linking import FunctionAttributes

        one = self._overload
        return FunctionAttributes(one.regs_per_thread, one.shared_mem_per_block, one.local_mem_per_thread,
                                  one.const_mem_size, one.max_threads_per_block)


class _Annotation:
    """The types of a kernel's variables, as numba keeps them: `typemap`."""

    def __init__(self, overload: Overload) -> None:
        self._overload = overload

    @property
    def typemap(self) -> dict[str, Any]:
        """{name: type}; a variable of several types has names for them: x, x.1, …"""
        return self._overload.kernel._variable_types(self._overload.signature)


class Overload:
    """One signature of a Kernel: what `inspect_*` and `get_*` of the kernel say of it."""

    def __init__(self, kernel: Any, signature: str) -> None:
        self.kernel = kernel
        self.signature = signature

    @property
    def regs_per_thread(self) -> int:
        return self.kernel.get_regs_per_thread(self.signature)

    @property
    def const_mem_size(self) -> int:
        return self.kernel.get_const_mem_size(self.signature)

    @property
    def shared_mem_per_block(self) -> int:
        return self.kernel.get_shared_mem_per_block(self.signature)

    @property
    def local_mem_per_thread(self) -> int:
        return self.kernel.get_local_mem_per_thread(self.signature)

    @property
    def max_threads_per_block(self) -> int:
        return self.kernel.get_max_threads_per_block(self.signature)

    def max_cooperative_grid_blocks(self, blockdim: Any, dynsmemsize: int = 0) -> int:
        """Blocks of this size that the current GPU holds at one time."""
        return self.kernel.max_cooperative_grid_blocks(blockdim, dynsmemsize, self.signature)

    @property
    def cooperative(self) -> bool:
        """Whether its blocks wait for each other, so that all of them must be on the GPU at one time."""
        return self.kernel._is_cooperative(self.signature)

    @property
    def _func(self) -> _Loaded:
        """What courses on numba read registers from: `overload._func.get().attrs.regs`."""
        return _Loaded(self)

    @property
    def type_annotation(self) -> _Annotation:
        """The types of its variables: `overload.type_annotation.typemap["x"]`."""
        return _Annotation(self)

    _type_annotation = type_annotation

    def inspect_types(self, file: Any = None) -> Any:
        """Each expression with its type, as text, or written to a file."""
        return self.kernel.inspect_types(file, self.signature)

    def inspect_llvm(self, target: str | None = None) -> str:
        return self.kernel.inspect_llvm(self.signature, target)

    def inspect_asm(self, target: str | None = None) -> str:
        return self.kernel.inspect_asm(self.signature, target)

    def inspect_sass(self, target: str | None = None) -> str:
        return self.kernel.inspect_sass(self.signature, target)

    def __repr__(self) -> str:
        return f"<{self.kernel.__name__}: {self.signature}>"


def _types(signature: str) -> str:
    """The arguments' types: what stands in the last pair of parentheses on the outside."""
    depth = 0
    for at in range(len(signature) - 1, -1, -1):
        depth += (signature[at] == ")") - (signature[at] == "(")
        if depth == 0:
            return signature[at + 1:-1]
    return signature


class Overloads(Mapping[str, Overload]):
    """Read by signature, or as numba does by the tuple of the arguments' types."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel

    def __getitem__(self, key: Any) -> Overload:
        wanted = getattr(key, "args", key)
        if isinstance(wanted, tuple):
            for signature, types in self._kernel._argument_types().items():
                if types == wanted:
                    return Overload(self._kernel, signature)
            raise KeyError(key)
        for signature in self:
            if _types(signature).replace(" ", "") == _types(str(key)).replace(" ", ""):
                return Overload(self._kernel, signature)
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._kernel.signatures)

    def __len__(self) -> int:
        return len(self._kernel.signatures)

    def __repr__(self) -> str:
        return f"<{self._kernel.__name__}: compiled for {list(self)}>"


def launch_extended(launcher: Any, *args: Any, **keywords: Any) -> None:
    """A launch whose arguments the kernel's extensions change first: the last extension sees them first."""
    from lanewise import _core

    after: list[Any] = []
    extensions = list(reversed(launcher.kernel.extensions))

    def prepared(value: Any) -> Any:
        try:
            type_ = _core.typeof(value)
        except TypeError:  # what only an extension knows
            type_ = None
        for extension in extensions:
            type_, value = extension.prepare_args(type_, value, stream=launcher.stream, retr=after)
        return value

    launcher._launch(*map(prepared, args), **{name: prepared(value) for name, value in keywords.items()})
    for each in after:
        each()
