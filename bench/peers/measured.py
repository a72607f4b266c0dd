"""A lock of the Python world, measured: `alone N` on stdin, `ok mean p50 p99` on stdout, in nanoseconds."""

import sys
import time


def serve(version, cycle):
    """`cycle` acquires and releases; it raises if either fails."""
    print("ready", version, flush=True)
    for line in sys.stdin:
        words = line.split()
        try:
            assert words[0] == "alone", line
            print("ok", alone(cycle, int(words[1])), flush=True)
        except Exception as failed:  # the other side decides what to make of it
            print("error", repr(failed), flush=True)


def alone(cycle, cycles):
    notes = []
    begin = last = time.monotonic_ns()
    for _ in range(cycles):
        cycle()
        now = time.monotonic_ns()
        notes.append(now - last)
        last = now
    notes.sort()
    return f"{(last - begin) / cycles} {notes[cycles // 2]} {notes[int(cycles * 0.99)]}"
