#!/usr/bin/env python3
"""Make the pictures of README.md and docs/start.md with the programs that stand there."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.image  # noqa: E402
import numpy as np  # noqa: E402
from PIL import Image  # noqa: E402

HERE = Path(__file__).resolve().parent


def save(name: str, values: np.ndarray, colours: str) -> None:
    """A picture of one pixel an element, of 128 colours."""
    low, high = values.min(), values.max()
    shaded = matplotlib.colormaps[colours]((values - low) / (high - low), bytes=True)[..., :3]
    Image.fromarray(shaded).quantize(128).save(HERE / name, optimize=True)


def main() -> None:
    text = (HERE.parent / "start.md").read_text(encoding="utf-8")
    programs = re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)[:2]  # the first two sections
    names: dict = {}
    for program in programs:
        (HERE / "program.py").write_text(program, encoding="utf-8")  # compiled functions need their source
        exec(compile(program, str(HERE / "program.py"), "exec"), names)
    (HERE / "program.py").unlink()
    steps = names["steps"]
    save("mandelbrot.png", np.where(steps == 200, 0.0, np.log1p(steps)) ** 1.5, "magma")
    save("heat.png", np.kron(names["old"], np.ones((3, 3))), "inferno")


if __name__ == "__main__":
    main()
