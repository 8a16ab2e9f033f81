"""Device arrays as blocks of Dask arrays: their size, their names, how they travel between processes.

Dask asks by tables of its own (`dask.utils.Dispatch`), whose rows for lanewise are added when the module with the table is
imported, by whomever: `import lanewise` imports nothing of Dask. A process that gets a block before it has used
lanewise imports lanewise to unpickle the block's type, and has the rows then, too.

Between processes a block goes by way of the host, as NumPy arrays go, or, where Dask's channel takes device memory (UCX),
as it is. It arrives on the device that is current there: with a GPU for each worker, on the worker's own.
"""

from __future__ import annotations

import sys
from typing import Any

# ---- what is registered ----


def _types() -> tuple[type, ...]:
    """The classes of device arrays, of GPUs and of the CPU."""
    from lanewise import _host_cuda, cuda

    return cuda.DeviceArray, _host_cuda.HostArray


def _n_bytes(array: Any) -> int:
    return int(array.nbytes)


def token(array: Any) -> Any:
    """Of the contents, which come to the host for it; another than that of a NumPy array with these contents."""
    from dask.tokenize import normalize_token

    return "lanewise.DeviceArray", normalize_token(array.copy_to_host())


def _to_numpy(array: Any, **_kwargs: Any) -> Any:
    return array.copy_to_host()


def _dumps(array: Any, context: Any = None) -> Any:
    from distributed.protocol.numpy import serialize_numpy_ndarray

    return serialize_numpy_ndarray(array.copy_to_host(), context)


def _loads(header: Any, frames: Any) -> Any:
    from distributed.protocol.numpy import deserialize_numpy_ndarray

    from lanewise import cuda

    return cuda.to_device(deserialize_numpy_ndarray(header, frames))


def _cuda_dumps(array: Any) -> Any:
    """The memory itself, as bytes in a row."""
    import pickle

    in_f = array.flags["F_CONTIGUOUS"] and not array.flags["C_CONTIGUOUS"]
    if not in_f and not array.flags["C_CONTIGUOUS"]:
        array = array.copy()
    flat = (array.T if in_f else array).reshape((array.size,)).view("u1")
    return {"shape": array.shape, "dtype": pickle.dumps(array.dtype), "order": "F" if in_f else "C"}, [flat]


def _cuda_loads(header: Any, frames: Any) -> Any:
    import pickle

    from lanewise import cuda

    (frame,) = frames
    flat = cuda.as_cuda_array(frame).view(pickle.loads(header["dtype"]))
    return flat.reshape(tuple(header["shape"]), order=header["order"])


# ---- where ----


def _lazily(table: Any, function: Any) -> None:
    def add() -> None:
        for kind in _types():
            table.register(kind, function)

    table.register_lazy("lanewise", add)


def _add_sizes(module: Any) -> None:
    _lazily(module.sizeof, _n_bytes)


def _add_tokens(module: Any) -> None:
    _lazily(module.normalize_token, token)


def _add_conversions(module: Any) -> None:
    _lazily(module.to_numpy_dispatch, _to_numpy)


def _add_serializers(module: Any) -> None:
    for name, function in (("dask_serialize", _dumps), ("dask_deserialize", _loads), ("cuda_serialize", _cuda_dumps), ("cuda_deserialize", _cuda_loads)):
        _lazily(getattr(module, name), function)


_TABLES = {
    "dask.sizeof": _add_sizes,
    "dask.tokenize": _add_tokens,
    "dask.array.dispatch": _add_conversions,
    "distributed.protocol": _add_serializers,
}


# ---- when ----


class _Loader:
    """Loads a module as its own loader does, and adds our rows."""

    def __init__(self, loader: Any, add: Any) -> None:
        self.loader, self.add = loader, add

    def create_module(self, spec: Any) -> Any:
        return self.loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        module.__loader__ = module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        self.add(module)


class _Finder:
    """Stands aside for all but the modules with tables, and for each of those once."""

    def __init__(self, waiting: dict[str, Any]) -> None:
        self.waiting = waiting

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        add = self.waiting.pop(name, None)
        if add is None:
            return None
        from importlib.util import find_spec

        spec: Any = find_spec(name)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _Loader(spec.loader, add)
        return spec


def install() -> None:
    """Add the rows, now or when a module with a table is imported."""
    waiting = {}
    for name, add in _TABLES.items():
        module = sys.modules.get(name)
        if module is None:
            waiting[name] = add
        elif not getattr(module.__spec__, "_initializing", False):
            add(module)
    if waiting:
        sys.meta_path.insert(0, _Finder(waiting))
