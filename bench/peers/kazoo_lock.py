"""kazoo's Lock."""

import sys

import kazoo
from kazoo.client import KazooClient
from measured import serve

client = KazooClient(hosts=sys.argv[1])
client.start()
lock = client.Lock("/kazoo/orders", "bench")


def cycle():
    assert lock.acquire()
    lock.release()
    assert not lock.is_acquired


serve(kazoo.__version__, cycle)
