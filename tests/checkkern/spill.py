#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when a kernel keeps a vector in memory inside an inner loop.

usage: spill.py LIBRARY COMPILER...

Disassembles LIBRARY and looks at every innermost loop (the range of a backward branch that holds no other such range) with
an FMA in it. A store of a vector register to the stack there means that the compiler ran out of registers, or kept an
array of accumulators in memory. The test first shows that it can fail: it compiles spill_fixture.c, a micro-kernel with an
accumulator array, and expects to find it. COMPILER is the command that the kernels are built with."""
import os
import re
import subprocess
import sys
import tempfile

FUNCTION = re.compile(r'^[0-9a-f]+ <(.+)>:$')
INSTRUCTION = re.compile(r'^\s*([0-9a-f]+):\s+(.*)$')
JUMP = re.compile(r'^j\w+\s+([0-9a-f]+)')
STORE = re.compile(r'^v(?!movs[sd])\w+\s.*%[xyz]mm\d+,-?(?:0x[0-9a-f]+)?\(%(r\w+)[^()]*\)(?:\{%k\d\})?$')
COPY = re.compile(r'^(?:lea\s+-?(?:0x[0-9a-f]+)?\(%(r\w+)[^()]*\)|mov\s+%(r\w+)),%r\w+$')
FEWEST_LOOPS = 60  # of micro-kernels; fewer means that the disassembly was not understood


def disassemble(path):
    """Yields (function, [(address, instruction)])."""
    text = subprocess.run(['objdump', '-d', '--no-show-raw-insn', path], check=True, capture_output=True, text=True).stdout
    name, body = None, []
    for line in text.splitlines():
        match = FUNCTION.match(line)
        if match:
            if name:
                yield name, body
            name, body = match[1], []
            continue
        match = INSTRUCTION.match(line)
        if match and name:
            body.append((int(match[1], 16), match[2].strip()))
    if name:
        yield name, body


def is_loop(body, begin, end):
    """Whether the code from address begin on gets to that at end without leaving what lies between them: a jump back from
    a part out of line to where all parts go on makes no loop."""
    between = {address: text for address, text in body if begin <= address <= end}
    places = sorted(between)
    behind = dict(zip(places, places[1:]))
    todo, seen = [begin], set()
    while todo:
        address = todo.pop()
        if address == end:
            return True
        if address not in between or address in seen:
            continue
        seen.add(address)
        text = between[address]
        jump = JUMP.match(text)
        if jump:
            todo.append(int(jump[1], 16))
        if not text.startswith(('jmp', 'ret')):
            todo.append(behind[address])
    return False


def inner_loops(body):
    start = {address for address, _ in body}
    loops = set()
    for address, text in body:
        match = JUMP.match(text)
        if match and int(match[1], 16) <= address and int(match[1], 16) in start:
            loops.add((int(match[1], 16), address))
    loops = {(begin, end) for begin, end in loops if is_loop(body, begin, end)}
    return [a for a in loops if not any(b != a and a[0] <= b[0] and b[1] <= a[1] for b in loops)]


def on_stack(body, index, register):
    """Whether a register holds an address of the stack, judged by the instructions before body[index]: additions keep what
    it is, copies lead to another register, anything else makes it something else."""
    while register != 'rsp':
        index -= 1
        if index < 0:
            return False
        text = body[index][1]
        if not text.endswith(f',%{register}') or re.match(r'^(add|sub|and|cmp|test|v)', text):
            continue
        match = COPY.match(text)
        if not match:
            return False
        register = match[1] or match[2]
    return True


def spills(path):
    """(loops with FMA, [(function, instruction)]) of an object or archive."""
    loops, found = 0, []
    for name, body in disassemble(path):
        if '__reference' in name:  # the specification need not be fast
            continue
        for low, high in inner_loops(body):
            inside = [i for i, (address, _) in enumerate(body) if low <= address <= high]
            if not any(re.match(r'^vfn?m', body[i][1]) for i in inside):
                continue
            loops += 1
            for i in inside:
                match = STORE.match(body[i][1])
                if match and on_stack(body, i, match[1]):
                    found.append((name, body[i][1]))
    return loops, found


def main():
    library, compiler = sys.argv[1], sys.argv[2:]
    fixture = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'spill_fixture.c')
    with tempfile.TemporaryDirectory() as folder:
        bad = os.path.join(folder, 'bad.o')
        subprocess.run(compiler + ['-std=c11', '-O3', '-mavx2', '-mfma', '-c', fixture, '-o', bad], check=True)
        loops, found = spills(bad)
    failed = not found
    print(f"{'not ok' if failed else 'ok'} - spill: an accumulator array is found ({len(found)} stores)")
    loops, found = spills(library)
    for name, text in found:
        print(f'# {name}: {text}')
    good = not found and loops >= FEWEST_LOOPS
    print(f"{'ok' if good else 'not ok'} - spill: no vector goes to the stack in {loops} inner loops with FMA")
    return 1 if failed or not good else 0


if __name__ == '__main__':
    sys.exit(main())
