"""What runs in each process of a suite's pytest: the names are put in place before a test file is imported,
and what fails is compared with what is expected to."""

import importlib
import os
import pathlib

import pytest

suite = importlib.import_module("suite_" + os.environ["LANEWISE_COMPAT_SUITE"])
suite.install(pathlib.Path(os.environ["LANEWISE_COMPAT_ROOT"]))
failed, passed = set(), set()


def name_of(nodeid):
    """A test's name in EXPECTED: file::Class::function[parameters] without the folders."""
    return nodeid.split("/")[-1]


def is_expected(name):
    """Whether EXPECTED has the test, or all cases of its function: "file::function[*]"."""
    return name in suite.EXPECTED or name.partition("[")[0] + "[*]" in suite.EXPECTED


@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report):
    if report.failed:
        failed.add(name_of(report.nodeid))
    elif report.when == "call" and report.passed:
        passed.add(name_of(report.nodeid))


def pytest_collectreport(report):
    if report.failed:
        failed.add(name_of(report.nodeid))


def pytest_terminal_summary(terminalreporter):
    expected = set(suite.EXPECTED)
    new, mended = sorted(name for name in failed if not is_expected(name)), sorted(passed & expected - failed)
    total = len(failed | passed)
    write = terminalreporter.write_line
    write(f"{suite.WHEEL}: {len(passed - failed)} of {total} tests pass ({100 * len(passed - failed) / max(total, 1):.1f} %)")
    left = failed
    for what, reasons in getattr(suite, "WITHOUT", {}).items():
        left = {name for name in left if not suite.EXPECTED.get(name, "").startswith(reasons)}
        count = len(passed - failed) + len(left)
        write(f"without {what}: {len(passed - failed)} of {count} ({100 * len(passed - failed) / max(count, 1):.1f} %)")
    for test in new:
        write(f"not expected to fail: {test}")
    for test in mended:
        write(f"expected to fail, but passes: {test}")


def pytest_sessionfinish(session, exitstatus):
    if exitstatus in (0, 1):
        wrong = passed & set(suite.EXPECTED) - failed or not all(map(is_expected, failed))
        session.exitstatus = int(bool(wrong))
