"""The commands of lanewise: what it finds on this machine, a demo, measurements, the types in a function, and the cache of compiled code."""

from __future__ import annotations

import argparse
import os
import sys

from lanewise._core import __version__


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m lanewise", description=__doc__)
    parser.add_argument("--version", action="version", version=f"lanewise {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    info = commands.add_parser("info", help="show what lanewise finds on this machine")
    info.add_argument("--all", action="store_true", help="also show where everything was searched for, and all settings (for bug reports)")
    info.add_argument("--json", action="store_true", help="print everything as JSON")
    demo = commands.add_parser("demo", help="draw the Mandelbrot set, price options, and print how much faster than NumPy this is")
    demo.add_argument("--output", default=".", help="folder for the picture (default: the current folder)")
    demo.add_argument("--small", action="store_true", help="do only a tenth of the work")
    bench = commands.add_parser("bench", help="measure how fast lanewise is on this machine")
    bench.add_argument("--only", default="", help="run only the cases whose names contain this text")
    bench.add_argument("--json", action="store_true", help="print JSON: the machine, and a row for each case with the libraries that it is compared with")
    explain = commands.add_parser("explain", help="show the type of each expression of a function in a file")
    explain.add_argument("where", metavar="FILE:FUNCTION", help="the file, which is imported (with a __name__ other than __main__), and the name of the function in it")
    explain.add_argument("signature", metavar="SIGNATURE", nargs="?", help="the types to explain, such as 'float32(float32)'; by default, those for which the file declares or compiles the function")
    explain.add_argument("--sig", help="another way to pass SIGNATURE")
    explain.add_argument("--html", metavar="OUT", help="also write the annotated source to this file, as a web page")
    cache = commands.add_parser("cache", help="show or clear the cache of compiled code on disk")
    cache.add_argument("action", choices=("info", "clear"))
    options = parser.parse_args(arguments)

    if options.command == "info":
        from lanewise._info import as_json, info as found, report

        print(as_json(found()) if options.json else report(everything=options.all))
    elif options.command == "demo":
        from lanewise._demo import run

        return run(options.output, options.small)
    elif options.command == "bench":
        from lanewise._bench import run as run_bench

        return run_bench(options.only, options.json)
    elif options.command == "explain":
        from lanewise._explain import command

        if options.sig and options.signature:
            parser.error("explain: pass the signature once, either as SIGNATURE or as --sig")
        return command(options.where, options.sig or options.signature, options.html)
    else:
        from lanewise import cache as kernel_cache

        if options.action == "clear":
            kernel_cache.clear()
        for name, value in kernel_cache.info().items():
            print(f"{name:<16} {value}")
    return 0


def ends_quietly() -> int:
    """main(), whose reader may end before it, as in `python -m lanewise info | head -3`."""
    try:
        status = main()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what Python writes as it ends
        status = 1
    return status


if __name__ == "__main__":
    sys.exit(ends_quietly())
