#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`ipexpack bench --html`: one page that parses, asks nothing of any network, says what --json says, and does not mind
what names hold; `bench --machine`: the peaks of this machine. Where chromium is installed, the page also draws itself."""
import collections
import html.parser
import json
import os
import pathlib
import shutil
import sys
import tempfile
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / part) for part in (".", "convert")]
from ipextest import CLI, Tap, cli_at, command, isa_levels
from small_graphs import Graph

AMX_CLI = cli_at("amx")
HOSTILE = "</script><script>document.title='taken'</script><!--"
VOID = {"meta", "br", "link", "img", "input"}
STEPS = 60  # more than the page shows at first


class Page(html.parser.HTMLParser):
    """Checks that elements are closed in order; keeps counts, attributes and the text of scripts."""

    def __init__(self, text):
        super().__init__()
        self.open, self.wrong, self.tags, self.attributes, self.data = [], [], collections.Counter(), [], ""
        self.feed(text)
        self.close()
        self.wrong += self.open

    def handle_starttag(self, tag, attributes):
        self.tags[tag] += 1
        self.attributes += attributes
        if tag not in VOID:
            self.open.append(tag)
        self.is_data = ("type", "application/json") in attributes

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)
        self.is_data = False

    def handle_data(self, text):
        if self.open and self.open[-1] == "script" and self.is_data:
            self.data += text


def long_model(path):
    """Steps that cannot be joined, of names that want to be more than names."""
    g = Graph()
    x = g.input(1, 4, 16, 16)
    for i in range(STEPS // 2):
        x = g.op("Softmax", g.conv(x, 4, 4, (1, 1), name=f"{HOSTILE}{i}"), axis=-1, name=f"soft{i}")
    g.output(x)
    path.write_bytes(g.model().SerializeToString())


def bench(*words):
    return command(CLI, "bench", *words)


def read(tap, path, printed):
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    tap.ok("the page parses, every element is closed", not page.wrong and page.tags["script"] == 2, page.wrong, page.tags)
    loads = [a for a in page.attributes if a[0] in ("src", "href", "srcset", "action", "data", "xmlns")]
    tap.ok("it names no other place", "://" not in text and "url(" not in text and "@import" not in text and not loads, loads)
    tap.ok("it forbids itself the network", "default-src 'none'" in text)
    try:
        data = json.loads(page.data)
    except ValueError as error:
        tap.ok("the page carries its numbers", False, error, page.data[:200])
        return None
    tap.ok("its numbers are those of --json", data == printed)
    names = [step["name"] for step in data["steps"]]
    rows = [text.count('{"name":' + json.dumps(name).replace("<", "\\u003c") + ',"op"') for name in names]
    tap.ok("every step's name stands in it once for each step", len(names) >= STEPS and rows == [names.count(n) for n in names], rows)
    tap.ok("a hostile name is told as it is", any(HOSTILE in name for name in names), names)
    return data


def apart(a, b):
    return a["last"] < b["first"] or b["last"] < a["first"] or a["offset"] + a["bytes"] <= b["offset"] \
        or b["offset"] + b["bytes"] <= a["offset"]


def check_numbers(tap, data):
    steps, places = data["steps"], data["storages"]
    tap.ok("every step has a limit", all(s["bound_us"] > 0 for s in steps), [s["bound_us"] for s in steps])
    tap.ok("the limit of arithmetic is this machine's peak",
           data["peak_gflops"] == max(p["gflops"] for p in data["machine"]["peaks"] if p["dtype"] == "f32"), data["machine"])
    tap.ok("places in the arena: within the session, at steps that there are",
           places and all(p["bytes"] > 0 and 0 <= p["first"] <= p["last"] < len(steps)
                          and p["offset"] + p["bytes"] <= data["session_bytes"] for p in places), *places)
    crossing = [(a, b) for i, a in enumerate(places) for b in places[:i] if not apart(a, b)]
    tap.ok("no two tensors have one place at one time", not crossing, *crossing)


def check_drawn(tap, path):
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if not browser:
        tap.skip("the page draws itself", "chromium is not installed")
        return
    with tempfile.TemporaryDirectory() as profile:
        done = command(browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", "--dump-dom",
                       f"file://{path}", timeout=120)
    text = done.stdout
    tap.ok("the page draws itself", "Show all" in text and text.count("<circle") >= STEPS and "GFLOP/s</text>" in text
           and text.count("<rect") > STEPS // 2, text[-2000:], done.stderr[-500:])
    tap.ok("a hostile name is drawn as text", "<title>taken" not in text and "&lt;/script&gt;&lt;script&gt;" in text)


def fails(tap, name, code, parts, *words):
    begin = time.monotonic()
    done = bench(*words)
    tap.ok(f"{name}: exit {code}, said at once", done.returncode == code and all(p in done.stderr for p in parts)
           and not done.stdout and time.monotonic() - begin < 30, f"exit {done.returncode}, wanted {parts}", done.stderr)


def check_errors(tap, folder, file):
    words = file, "--seconds", "100", "--html"
    fails(tap, "no such folder", 1, ["--html", "gone/page.html"], *words, folder / "gone" / "page.html")
    fails(tap, "a folder", 1, ["--html", str(folder)], *words, folder)
    link = folder / "link.html"
    link.symlink_to("/dev/null")
    fails(tap, "a link to a device", 1, ["--html", "link.html", "not a regular file"], *words, link)
    tap.ok("a link to a device stays", link.is_symlink())
    link.unlink()
    fails(tap, "no page", 2, ["--html needs a value"], file, "--html")
    old = folder / "old.html"
    old.write_text("as it was")
    fails(tap, "no such level", 2, ["'sse9'"], *words, old, "--isa", "sse9")
    tap.ok("a run that fails leaves the old page", old.read_text() == "as it was")
    tap.ok("nothing half written is left", sorted(p.name for p in folder.iterdir()) == sorted([file.name, "m.onnx", "old.html"]),
           *folder.iterdir())


def check_machine(tap, file):
    done = bench("--machine", "--json", "--threads", "1")
    machine = json.loads(done.stdout or "{}")
    peaks, stores = machine.get("peaks", []), machine.get("read", [])
    here = {level for level, available in isa_levels().items() if available} - {"reference"}
    tap.ok("--machine: every level of this machine", {p["isa"] for p in peaks} >= here and done.returncode == 0, peaks, done.stderr)
    tap.ok("--machine: positive rates, one thread alone", all(p["gflops"] == p["gflops_one_thread"] > 0 for p in peaks)
           and all(s["gbs"] == s["gbs_one_thread"] > 0 for s in stores), machine)
    sizes = [s["bytes"] for s in stores]
    tap.ok("--machine: caches, the nearest first, then memory", sizes[-1] == 0 and sorted(sizes[:-1]) == sizes[:-1]
           and stores[-1]["name"] == "memory", stores)
    if "avx512_bf16" in here:
        for emulator, is_there in ({}, True), ({"AMX_EMU": "refused"}, False):
            done = command(AMX_CLI, "bench", "--machine", "--threads", "1", "--json", env=os.environ | emulator)
            levels = [p["isa"] for p in json.loads(done.stdout or "{}").get("peaks", [])]
            tap.ok(f"--machine: AMX {'with' if is_there else 'without'} permission", ("amx" in levels) == is_there and levels,
                   levels, done.stderr)
    cpus = len(os.sched_getaffinity(0))
    done = bench("--machine")
    tap.ok("--machine: tables", done.returncode == 0 and (f"{cpus} threads" in done.stdout) == (cpus > 1) and "memory" in done.stdout,
           done.stdout)
    fails(tap, "--machine with more threads than CPUs", 1, [f"--threads {cpus + 1}, but {cpus} may be used"],
          "--machine", "--threads", str(cpus + 1))
    fails(tap, "--machine with a file", 2, ["--machine measures no file"], "--machine", file)
    fails(tap, "--machine with a page", 2, ["--threads and --json alone"], "--machine", "--html", "x.html")


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model, file, page = folder / "m.onnx", folder / "a<b>&'\"c.ipex", folder / "page.html"
        long_model(model)
        done = command(CLI, "convert", model, "-o", file, "--quiet")
        if tap.ok("the model converts", done.returncode == 0, done.stderr):
            done = bench(file, "--seconds", "0.1", "--html", page, "--json")
            if tap.ok("the page is written", done.returncode == 0 and page.exists(), done.stderr):
                data = read(tap, page, json.loads(done.stdout))
                if data:
                    check_numbers(tap, data)
                check_drawn(tap, page)
                page.unlink()
            done = bench(file, "--seconds", "0.1", "--html", page)
            tap.ok("without --json: the tables, and where the page is", str(page) in done.stdout and "GFLOP/s" in done.stdout,
                   done.stdout, done.stderr)
            page.unlink(missing_ok=True)
            done = bench(file, "--seconds", "0.001", "--html", page, "--json", "--threads", str(len(os.sched_getaffinity(0)) + 1))
            tap.ok("more threads than CPUs: the roofline of the CPUs", json.loads(done.stdout or "{}")["machine"]["threads"]
                   == len(os.sched_getaffinity(0)), done.stdout[:200], done.stderr)
            page.unlink(missing_ok=True)
            check_errors(tap, folder, file)
            check_machine(tap, file)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
