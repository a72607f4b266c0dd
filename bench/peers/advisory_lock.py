"""PostgreSQL's advisory lock, by psycopg2. It has no fence and no lease."""

import sys

import psycopg2
from measured import serve

host, port = sys.argv[1].split(":")


class Lock:
    def __init__(self):
        self.connection = psycopg2.connect(host=host, port=port, user="holdfast", dbname="holdfast")
        self.connection.autocommit = True
        self.cursor = self.connection.cursor()

    def acquire(self):
        self.cursor.execute("SELECT pg_advisory_lock(42)")

    def release(self):
        self.cursor.execute("SELECT pg_advisory_unlock(42)")
        assert self.cursor.fetchone()[0]


lock = Lock()


def cycle():
    lock.acquire()
    lock.release()


serve(psycopg2.__version__, cycle, Lock)
