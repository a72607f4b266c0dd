"""MariaDB's GET_LOCK, by PyMySQL. It has no fence and no lease."""

import sys

import pymysql
from measured import serve

host, port = sys.argv[1].split(":")


class Lock:
    def __init__(self):
        self.connection = pymysql.connect(host=host, port=int(port), user="holdfast", database="holdfast")
        self.cursor = self.connection.cursor()

    def acquire(self):
        self.ask("SELECT GET_LOCK('orders', 60)")

    def release(self):
        self.ask("SELECT RELEASE_LOCK('orders')")

    def ask(self, text):
        self.cursor.execute(text)
        assert self.cursor.fetchone()[0] == 1


lock = Lock()


def cycle():
    lock.acquire()
    lock.release()


serve(pymysql.__version__, cycle, Lock)
