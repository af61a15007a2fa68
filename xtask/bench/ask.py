"""Asks a running job the same questions again and again, through one client. Prints one JSON object per answer: question,
client_ns (the whole call), bytes (of the answer), and of its coverage ranks, ranks_reporting, and calls entered while recording
was on.

Usage: ask.py CONNECT_JSON ROUNDS QUESTION...
"""
import json
import sys
import time

import client

# Between two questions: a user's screen asks no more often.
REST_S = 0.02


def main():
    methods = client.Methods(sys.argv[1])
    questions = [(name, *methods.of(name)) for name in sys.argv[3:]]
    for _ in range(int(sys.argv[2])):
        for name, ask, call in questions:
            begin = time.monotonic_ns()
            reply = call(ask(), timeout=30)
            client_ns = time.monotonic_ns() - begin
            print(
                json.dumps(
                    {
                        "question": name,
                        "client_ns": client_ns,
                        "bytes": reply.ByteSize(),
                        "ranks": reply.coverage.ranks,
                        "ranks_reporting": reply.coverage.ranks_reporting,
                        "entered": reply.coverage.ledger.entered,
                    }
                ),
                flush=True,
            )
            time.sleep(REST_S)


main()
