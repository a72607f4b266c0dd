"""A lock of the Python world, measured: one command a line on stdin, `ok mean p50 p99` in nanoseconds on stdout.

    alone N              acquire and release, N times
    one T N              T threads, one name, N times in all
    share FILE WHO T     T threads, one name, until the baton in FILE says that it is over (bench/crew.hpp)
"""

import mmap
import struct
import sys
import threading
import time


def serve(version, cycle, new_lock=None):
    """`cycle` acquires and releases; it raises if either fails. `new_lock`: one for each thread, on the same name."""
    print("ready", version, flush=True)
    for line in sys.stdin:
        words = line.split()
        try:
            print("ok", run(words, cycle, new_lock), flush=True)
        except Exception as failed:  # the other side decides what to make of it
            print("error", repr(failed), flush=True)


def run(words, cycle, new_lock):
    what, *numbers = words
    if what == "alone":
        return alone(cycle, int(numbers[0]))
    if what == "one":
        return one(new_lock, int(numbers[0]), int(numbers[1]))
    assert what == "share", words
    return share(new_lock, numbers[0], int(numbers[1]), int(numbers[2]))


def alone(cycle, cycles):
    notes = []
    begin = last = time.monotonic_ns()
    for _ in range(cycles):
        cycle()
        now = time.monotonic_ns()
        notes.append(now - last)
        last = now
    return result(last - begin, notes)


def result(took, notes):
    notes.sort()
    return f"{took / len(notes)} {notes[len(notes) // 2]} {notes[int(len(notes) * 0.99)]}"


locks = []  # made once: to connect is not what is measured


def together(new_lock, threads, work):
    """`work(lock)` on so many threads; returns how long all of it took."""
    while len(locks) < threads:
        locks.append(new_lock())
    failures = []

    def hand(lock):
        try:
            work(lock)
        except Exception as failed:
            failures.append(failed)

    hands = [threading.Thread(target=hand, args=(lock,)) for lock in locks[:threads]]
    begin = time.monotonic_ns()
    for thread in hands:
        thread.start()
    for thread in hands:
        thread.join()
    if failures:
        raise failures[0]
    return time.monotonic_ns() - begin


def one(new_lock, threads, cycles):
    notes = []

    def work(lock):
        while len(notes) < cycles:
            begin = time.monotonic_ns()
            lock.acquire()
            lock.release()
            notes.append(time.monotonic_ns() - begin)

    return result(together(new_lock, threads, work), notes)


# -------------------------------------------------------------------------------- the shared baton, as in crew.hpp

COUNTER, LEFT_AT, LAST, HAND_OFFS, ENOUGH, OVER, TALLIES = 0, 16, 24, 32, 40, 48, 56
ROOM = 1 << 15
TALLY = 8 + 8 + 4 + 4 * ROOM + 4


def share(new_lock, file, who, threads):
    with open(file, "r+b") as opened, mmap.mmap(opened.fileno(), 0) as baton:

        def work(lock):
            try:
                while get("i", baton, OVER) == 0:
                    lock.acquire()
                    enter(baton, who)
                    put("q", baton, LAST, who)
                    put("q", baton, LEFT_AT, time.monotonic_ns())
                    lock.release()
            finally:
                put("i", baton, OVER, 1)  # also if this one failed

        return f"{together(new_lock, threads, work)} 0 0"


def enter(baton, who):
    now = time.monotonic_ns()
    mine = TALLIES + who * TALLY
    add("q", baton, COUNTER)
    add("q", baton, mine)
    left = get("q", baton, LEFT_AT)
    if get("q", baton, LAST) == who or left == 0:
        return
    add("q", baton, mine + 8)
    kept = get("i", baton, mine + 16)
    if kept < ROOM:
        put("f", baton, mine + 20 + 4 * kept, now - left)
        put("i", baton, mine + 16, kept + 1)
    if add("q", baton, HAND_OFFS) == get("q", baton, ENOUGH):
        put("i", baton, OVER, 1)


def get(kind, baton, at):
    return struct.unpack_from(kind, baton, at)[0]


def put(kind, baton, at, value):
    struct.pack_into(kind, baton, at, value)


def add(kind, baton, at):
    value = get(kind, baton, at) + 1
    put(kind, baton, at, value)
    return value
