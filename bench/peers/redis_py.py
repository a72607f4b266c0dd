"""redis-py's Lock. It does not renew."""

import sys

import redis
from measured import serve

host, port = sys.argv[1].split(":")
client = redis.Redis(host=host, port=int(port))
client.ping()


def cycle():
    lock = client.lock("redis-py/orders", timeout=30)
    assert lock.acquire()
    lock.release()  # raises if it was not held


serve(redis.__version__, cycle)
