"""redis-py's Lock, measured: `alone N` on stdin, `ok mean p50 p99` on stdout, in nanoseconds. It does not renew."""

import sys
import time

import redis


def alone(client, cycles):
    notes = []
    begin = last = time.monotonic_ns()
    for _ in range(cycles):
        lock = client.lock("redis-py/orders", timeout=30)
        assert lock.acquire()
        lock.release()  # raises if it was not held
        now = time.monotonic_ns()
        notes.append(now - last)
        last = now
    notes.sort()
    return f"{(last - begin) / cycles} {notes[cycles // 2]} {notes[int(cycles * 0.99)]}"


def main():
    host, port = sys.argv[1].split(":")
    client = redis.Redis(host=host, port=int(port))
    client.ping()
    print("ready", redis.__version__, flush=True)
    for line in sys.stdin:
        words = line.split()
        try:
            assert words[0] == "alone", line
            print("ok", alone(client, int(words[1])), flush=True)
        except Exception as failed:  # the other side decides what to make of it
            print("error", repr(failed), flush=True)


main()
