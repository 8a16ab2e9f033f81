"""bench/report.py: the page of what several machines measured."""

from __future__ import annotations

import html.parser
import json
import subprocess
import sys

import pytest

from source_tree import ROOT

CPU = {
    "machine": {"cpu": "two <fast> cores", "gpus": [], "python": "3.11"},
    "rows": [
        {"name": "cpu exp float64", "value": 400.0, "unit": "us", "note": "", "peers": {"numpy": 800.0, "numba": 200.0}},
        {"name": "cpu call, 8 elements", "value": 0.25, "unit": "us", "peers": {}},
        {"name": "cpu cold compile", "value": 0.02, "unit": "s"},
        {"name": "rate", "value": 45.0, "unit": "GB/s"},
    ],
}
GPU = {
    "machine": {"gpus": ["H200"]},
    "rows": [{"name": "gpu a*b+a", "value": 190, "unit": "us", "note": "4210 GB/s, 1.031 of copy's rate"}, {"name": "gpu call: 256 elements", "value": 3.4, "unit": "us"}],
}


class Page(html.parser.HTMLParser):
    """Tags that close, texts, and widths of bars by colour."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open, self.texts, self.bars = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if tag == "rect":
            self.bars.append((values["fill"], float(values["width"])))
        if tag not in ("meta", "rect", "line"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        if tag == "rect":
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data.strip())


def report(folder, *documents):
    names = []
    for at, document in enumerate(documents):
        names.append(folder / f"{at}.json")
        names[-1].write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    return subprocess.run([sys.executable, str(ROOT / "bench" / "report.py"), *map(str, names), "--output", str(folder / "page.html")], capture_output=True, text=True)


def test_page(tmp_path):
    done = report(tmp_path, CPU, GPU)
    assert done.returncode == 0, done.stderr
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert page.open == []
    assert "two <fast> cores" in page.texts and "H200" in page.texts
    shares, (cpu_call, gpu_call), compiled, (numba, numpy) = page.bars[:1], page.bars[1:3], page.bars[3:4], page.bars[4:]
    assert cpu_call[1] < gpu_call[1] and cpu_call[0] != gpu_call[0]
    assert numba[1] < numpy[1]  # half and twice the time
    assert {"1.031", "250 ns", "3.4 µs", "20 ms", "0.50 ×", "2.00 ×", "45 GB/s"} <= set(page.texts)
    assert len(shares) == len(compiled) == 1


@pytest.mark.parametrize("document, said", [
    ("{", "0.json: "),
    ({"rows": []}, '"machine" and "rows"'),
    ({"machine": {}, "rows": [{"name": "x", "value": 0, "unit": "us"}]}, "row 0 needs"),
    ({"machine": {}, "rows": [{"name": "x", "value": 1, "unit": "us", "peers": {"numpy": None}}]}, "`x`"),
])
def test_malformed(document, said, tmp_path):
    done = report(tmp_path, document)
    assert done.returncode == 1 and said in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "page.html").exists()
