#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/from_torch.py: every program of docs/from-pytorch.md runs, and what the files then answer is what torch answered;
wrong use is refused by name. Needs torch, torchvision, transformers and onnxscript in this Python, or in the one that
IPEX_TEST_TORCH names."""
import os
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ipextest import CLI, ROOT, Tap, cli_json, command

PYTHON = os.environ.get("IPEX_TEST_TORCH", sys.executable)
ENVIRONMENT = dict(os.environ, PYTHONPATH=str(ROOT / "tools"), IPEXPACK=str(CLI), PYTHONWARNINGS="ignore",
                   HF_HUB_OFFLINE="1", PYTHONDONTWRITEBYTECODE="1")
# What is wrong, the arguments behind the module and the path, part of the message.
WRONG = [
    ("no example", "[], {}", "ValueError: an example is needed"),
    ("a dim that is none", "x(2), {'x': ['batch=1', 3]}", "ValueError: x: 'batch=1' is neither"),
    ("too few dims", "x(2), {'x': ['batch=1..4']}", "ValueError: x: example 0 has 2 dims, shapes says 1"),
    ("an example out of range", "[x(2), x(5)], {'x': ['batch=1..4', 3]}", "ValueError: x: example 1 has 5 along axis 0"),
    ("a first example of 1", "x(1), {'x': ['batch=1..4', 3]}", "ValueError: x: the first example has 1 along axis 0"),
    ("an unknown input", "x(2), {'y': ['batch=1..4', 3]}", "ValueError: example 0 has no y"),
    ("too many names", "x(2), {}, ['a', 'b']", "ValueError: 2 names for 1 outputs: output"),
    ("an option that is none", "x(2), {}, None, ['--what']", "RuntimeError: ipexpack convert: exit 2"),
]
PROGRAM = """import torch, from_torch
class Net(torch.nn.Module):
    def forward(self, x):
        return x + 1
x = lambda n: {{"x": torch.rand(n, 3)}}
from_torch.convert(Net(), "wrong.ipex", {})
"""
NO_TENSOR = PROGRAM.replace("x + 1", "[x, 5]").format("x(2)")


def run(program, folder):
    return command(PYTHON, "-c", program, cwd=folder, env=ENVIRONMENT)


def check_block(tap, folder, title, program):
    done = run(program, folder)
    (name,) = re.findall(r'"(\w+\.ipex)"', program)
    if not tap.ok(f"{title}: converted", done.returncode == 0, done.stdout, done.stderr[-2000:]):
        return
    report = cli_json("verify", folder / name)
    origins = {row["origin"] for row in report["outputs"]}
    answers = {row["answer"] for row in report["outputs"]}
    tap.ok(f"{title}: answers as torch, at two sizes",
           report["passed"] and origins == {"torch"} and len(answers) == 2, report)


def check_attention(tap, folder, title, program):
    """Every layer's attention is one operator, however torch computes it."""
    for implementation in ("eager", "sdpa"):
        done = run(program.replace('"eager"', f'"{implementation}"').replace("encoder.ipex", "attention.ipex"), folder)
        steps = cli_json("inspect", folder / "attention.ipex")["entries"][0]["nodes"] if done.returncode == 0 else []
        tap.ok(f"{title}: its two attentions are two steps, {implementation}",
               [step["op"] for step in steps].count("attention") == 2, done.stderr[-2000:])


def check_refused(tap, folder, what, program, part):
    done = run(program, folder)
    tap.ok(f"{what} is refused", done.returncode == 1 and part in done.stderr and not (folder / "wrong.ipex").exists(),
           f"exit {done.returncode}, wanted {part}", done.stderr)


def main():
    tap = Tap()
    lines = len((ROOT / "tools" / "from_torch.py").read_text().splitlines())
    tap.ok("tools/from_torch.py has at most 150 lines", lines <= 150, lines)
    text = (ROOT / "docs" / "from-pytorch.md").read_text()
    blocks = re.findall(r"^## (.*?)$(?:(?!^## ).)*?^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    tap.ok("the docs have three programs", len(blocks) == 3 == text.count("```python"), [title for title, _ in blocks])
    needed = command(PYTHON, "-c", "import torch, torchvision, transformers, onnxscript", env=ENVIRONMENT)
    if needed.returncode != 0:
        tap.skip("modules of PyTorch", f"{needed.stderr.strip().splitlines()[-1]} (IPEX_TEST_TORCH names another Python)")
        return tap.done()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for title, program in blocks:
            check_block(tap, folder, title, program)
        check_attention(tap, folder, *blocks[-1])
        for what, arguments, part in WRONG:
            check_refused(tap, folder, what, PROGRAM.format(arguments), part)
        check_refused(tap, folder, "a result that is no tensor", NO_TENSOR, "TypeError: output_1 is a int")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
