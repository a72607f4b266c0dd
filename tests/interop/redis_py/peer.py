"""redis-py's Lock, driven by a test: one command a line on stdin, one answer a line on stdout, as redisson/Peer.java.

    client C address=host:port [user=U] [password=P]
    lock C H NAME [ttl_ms] · trylock C H NAME wait_ms ttl_ms · unlock C H NAME · renew C H NAME ttl_ms
    count C H NAME KEY n       n times: lock, read KEY, pause up to 1 ms, write it plus 1, unlock

A hand is a thread. The tag before a command comes back before its answer.
"""
import queue
import random
import sys
import threading
import time

import redis

clients = {}
hands = {}
locks = {}
output = threading.Lock()


def say(line):
    with output:
        print(line, flush=True)


def make_client(name, *settings):
    wanted = dict(one.split("=", 1) for one in settings)
    host, port = wanted["address"].rsplit(":", 1)
    clients[name] = redis.Redis(
        host=host, port=int(port), username=wanted.get("user"), password=wanted.get("password"))
    return "ok " + str(clients[name].ping())


def new_lock(client, name, ttl_ms):
    # It polls; the default of 100 ms between two looks would make a test slow.
    return clients[client].lock(name, timeout=int(ttl_ms) / 1000, sleep=0.002)


def lock(client, hand, name, ttl_ms="30000"):
    locks[client, hand, name] = new_lock(client, name, ttl_ms)
    return "ok" if locks[client, hand, name].acquire() else "error not acquired"


def trylock(client, hand, name, wait_ms, ttl_ms):
    one = new_lock(client, name, ttl_ms)
    taken = one.acquire(blocking_timeout=int(wait_ms) / 1000)
    if taken:
        locks[client, hand, name] = one
    return "ok yes" if taken else "ok no"


def unlock(client, hand, name):
    locks.pop((client, hand, name)).release()
    return "ok"


def renew(client, hand, name, ttl_ms):
    return "ok " + str(locks[client, hand, name].extend(int(ttl_ms) / 1000, replace_ttl=True))


def count(client, _hand, name, key, times):
    for _ in range(int(times)):
        with new_lock(client, name, 30000):
            before = int(clients[client].get(key) or 0)
            time.sleep(random.random() / 1000)
            clients[client].set(key, before + 1)
    return "ok " + times


verbs = {"client": make_client, "lock": lock, "trylock": trylock, "unlock": unlock, "renew": renew, "count": count}


def answer(tag, verb, words):
    try:
        say(tag + " " + verbs[verb](*words))
    except Exception as failure:  # whatever it is, the test wants to know
        say(f"{tag} error {type(failure).__name__}: {' '.join(str(failure).split())}")


def work(orders):
    while True:
        answer(*orders.get())


def main():
    for line in sys.stdin:
        tag, verb, *words = line.split()
        if verb == "client":
            answer(tag, verb, words)  # before the next line is read: it exists before it is used
            continue
        hand = tuple(words[:2])
        if hand not in hands:
            hands[hand] = queue.Queue()
            threading.Thread(target=work, args=(hands[hand],), daemon=True).start()
        hands[hand].put((tag, verb, words))


main()
