"""numba.cuda's functions that compile ahead of time; none of them needs a GPU."""

from lanewise import _core

_SUPPORTED_OUTPUT = ("ptx", "ltoir")


def _capability(cc):
    if cc is None:
        cc = divmod(_core._setting_get("default_cc"), 10)
    if not (isinstance(cc, tuple) and len(cc) == 2 and all(isinstance(n, int) for n in cc)):
        raise TypeError(f"cc must be a tuple (major, minor), not {cc!r:.200}")
    major, minor = cc
    if not (7, 5) <= cc or not 0 <= minor <= 9 or major > 12:
        raise ValueError(f"cc must be from (7, 5) to (12, 1), not {cc!r:.200}")
    return 10 * major + minor


def _check(device, abi, abi_info, output, forceinline, launch_bounds):
    if output not in _SUPPORTED_OUTPUT:
        raise NotImplementedError(f"output must be 'ptx' or 'ltoir', not {output!r:.200}")
    if abi not in ("c", "numba"):
        raise NotImplementedError(f"abi must be 'c' or 'numba', not {abi!r:.200}")
    if abi == "c" and not device:
        raise NotImplementedError("abi='c' is for device functions: kernels have none")
    if abi == "numba" and device:
        raise NotImplementedError("abi='numba' is for kernels: device functions are compiled with abi='c'")
    if forceinline and output != "ltoir":
        raise ValueError("forceinline=True needs output='ltoir': a function in PTX is a real call")
    if device and launch_bounds is not None:
        raise ValueError("launch_bounds= is for kernels: pass device=False")
    if abi_info and not device:
        raise ValueError("abi_info= is for device functions: kernels have no options of abi 'numba'")
    unknown = set(abi_info or ()) - {"abi_name"}
    if unknown:
        raise ValueError(f"abi_info has no {sorted(unknown)[0]!r:.200}: only 'abi_name'")


def _compiled(pyfunc, sig, debug, lineinfo, device, fastmath, cc, opt, abi, abi_info, output, forceinline,
              launch_bounds):
    """The code, the type of its result, and the function that was compiled."""
    if sig is None or isinstance(sig, list):
        raise TypeError(f"sig must be one signature or a tuple of types, not {sig!r:.200}")
    abi = abi or ("c" if device else "numba")
    _check(device, abi, abi_info, output, forceinline, launch_bounds)
    capability = _capability(cc)
    options = dict(debug=None if debug is None else bool(debug), lineinfo=lineinfo, fastmath=fastmath,
                   opt=None if opt is None else bool(opt), target="cuda", device=device)
    if not device:
        kernel = _core.jit(launch_bounds=launch_bounds, **options)(pyfunc)
        form = kernel.inspect_ptx if output == "ptx" else kernel.inspect_ltoir
        return form(sig, f"sm_{capability}"), _core.void, kernel
    function = _core.jit(**options)(pyfunc)
    name = (abi_info or {}).get("abi_name", pyfunc.__name__)
    if name == "<lambda>":
        name = "lambda"
    code, result = _core._compile_device(function, sig, capability, output, name)
    return code, _core._type_from_text(result), function


def compile(pyfunc, sig, debug=None, lineinfo=False, device=True, fastmath=False, cc=None, opt=None,
            abi=None, abi_info=None, output="ptx", forceinline=False, launch_bounds=None):
    """Compile a function for a GPU ahead of time, and return its code and the type of its result.

    sig: the types of the arguments, or a whole signature. device: True for a function that other
    code calls (abi "c"), False for a kernel (abi "numba"). cc: the compute capability as
    (major, minor); None: the setting default_cc, (7, 5). output: "ptx" (str) or "ltoir" (bytes). abi_info:
    {"abi_name": the symbol of a device function}.

    Raises CompileError for code that cannot be compiled, NotImplementedError for another output
    or abi, ValueError for values out of range, CompilerNotFound without libNVVM.

        >>> ptx, result = cuda.compile(lambda x: x + 1, float32(float32), cc=(9, 0))
        >>> '.target sm_90' in ptx, result
        (True, float32)
    """
    return _compiled(pyfunc, sig, debug, lineinfo, device, fastmath, cc, opt, abi, abi_info, output, forceinline,
                     launch_bounds)[:2]


def _current_capability():
    return _core.cuda.get_current_device().compute_capability


def compile_for_current_device(pyfunc, sig, **keywords):
    """Do the same as compile(), for the compute capability of the current device."""
    return compile(pyfunc, sig, cc=_current_capability(), **keywords)


def compile_ptx(pyfunc, sig, debug=None, lineinfo=False, device=False, fastmath=False, cc=None,
                opt=None, abi=None, abi_info=None, forceinline=False, launch_bounds=None):
    """Do the same as compile(), with PTX as the output, by default for a kernel.

        >>> ptx, result = cuda.compile_ptx(k.py_func, (float64[:],))
        >>> '.entry' in ptx, result
        (True, void)
    """
    return compile(pyfunc, sig, debug, lineinfo, device, fastmath, cc, opt, abi, abi_info, "ptx",
                   forceinline, launch_bounds)


def compile_ptx_for_current_device(pyfunc, sig, **keywords):
    """Do the same as compile_ptx(), for the compute capability of the current device."""
    return compile_ptx(pyfunc, sig, cc=_current_capability(), **keywords)


def compile_all(pyfunc, sig, debug=None, lineinfo=False, device=True, fastmath=False, cc=None, opt=None,
                abi=None, abi_info=None, output="ltoir", forceinline=False, launch_bounds=None):
    """compile(), with the code that the function is to be linked with: a list, and the type of the result.

    The list begins with the function's own code. CUDA C++ is in it as what `output` says, "ltoir" by default; code of other
    kinds as the LinkableCode that it is. Code of equal contents is in it once.

    Raises what compile() raises; LinkError for CUDA C++ that NVRTC refuses, CompilerNotFound without NVRTC.

        >>> (code,), result = cuda.compile_all(lambda x: x + 1, float32(float32), output="ptx")
        >>> '.target sm_75' in code, result
        (True, float32)
    """
    code, result, function = _compiled(pyfunc, sig, debug, lineinfo, device, fastmath, cc, opt, abi, abi_info, output,
                                     forceinline, launch_bounds)
    codes, seen = [code], set()
    for item in _core._linked(function, sig, _capability(cc)):
        identity = item.kind, item.data, item._include_dirs
        if identity in seen:
            continue
        seen.add(identity)
        if item.kind == "cu":
            item = _core._compile_source(item, _capability(cc), output == "ptx", bool(lineinfo), bool(fastmath))
        codes.append(item)
    return codes, result
