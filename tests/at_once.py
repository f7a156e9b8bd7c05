"""Actions that start at the same moment, each on a thread and a connection of its own."""

import threading
import time

from django.db import OperationalError, connection

from batchboard.states import MoveRefused


def patiently(action):
    """Where the tests' database is in memory, SQLite refuses at once; a file's would wait."""
    while True:
        try:
            return action()
        except OperationalError as busy:
            if "locked" not in str(busy):
                raise
            time.sleep(0.001)


def at_once(*actions):
    """Run them in threads that start together; returns what each of them returned or raised."""
    barrier, results = threading.Barrier(len(actions)), [None] * len(actions)

    def run(place, action):
        barrier.wait()
        try:
            results[place] = patiently(action)
        except MoveRefused as refusal:
            results[place] = refusal
        finally:
            connection.close()

    threads = [
        threading.Thread(target=run, args=(place, action)) for place, action in enumerate(actions)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
