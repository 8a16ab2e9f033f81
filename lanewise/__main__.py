"""``python -m lanewise info | demo | bench | explain | cache``."""

from __future__ import annotations

import argparse
import sys

from lanewise._core import __version__


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m lanewise", description=__doc__)
    parser.add_argument("--version", action="version", version=f"lanewise {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    info = commands.add_parser("info", help="what was found on this machine")
    info.add_argument("--all", action="store_true", help="also where everything was looked for, and all settings: for bug reports")
    info.add_argument("--json", action="store_true", help="all of it as JSON")
    demo = commands.add_parser("demo", help="draw Mandelbrot, price options, print speed-ups")
    demo.add_argument("--output", default=".", help="folder for the picture (default: here)")
    demo.add_argument("--small", action="store_true", help="a tenth of the work")
    bench = commands.add_parser("bench", help="measure this machine")
    bench.add_argument("--only", default="", help="cases whose name contains this")
    bench.add_argument("--json", action="store_true", help="as JSON: the machine, and a row for each case, with its peers")
    explain = commands.add_parser("explain", help="how a function of a file is typed")
    explain.add_argument("where", metavar="FILE:FUNCTION", help="the file is run, as a module that is not __main__")
    explain.add_argument("signature", metavar="SIGNATURE", nargs="?", help="as the decorator takes it, 'float32(float32)'; else those that the file declares or compiles")
    explain.add_argument("--sig", help="the signature, too")
    explain.add_argument("--html", metavar="OUT", help="write the annotated source to this file, too")
    cache = commands.add_parser("cache", help="the cache of compiled kernels")
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
            parser.error("explain takes one signature, as SIGNATURE or as --sig")
        return command(options.where, options.sig or options.signature, options.html)
    else:
        from lanewise import cache as kernel_cache

        if options.action == "clear":
            kernel_cache.clear()
        for name, value in kernel_cache.info().items():
            print(f"{name:<16} {value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
