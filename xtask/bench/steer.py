"""Gives every command to a running job again and again, through one client that knows the service by reflection only; or,
with 0 rounds, those that a job bears once: it is to be held after MPI_Init, and is let go and left alone.
Prints one JSON object per command: verb, client_ns (the whole call, of a window less its length), and the reply.

Usage: steer.py CONNECT_JSON ROUNDS WINDOW_NS
"""
import json
import sys
import time

import grpc
from google.protobuf import json_format

import client

# Between two commands: the job is to be at work again.
REST_S = 0.02
# Between a job's release and its shutdown.
AT_WORK_S = 0.3
# The longest that a job takes to begin.
START_S = 30


def main():
    rounds, window_ns = int(sys.argv[2]), int(sys.argv[3])
    methods = client.Methods(sys.argv[1])

    def give(verb, name, less_ns=0, **fields):
        ask, call = methods.of(name)
        begin = time.monotonic_ns()
        reply = call(ask(**fields), timeout=30)
        client_ns = time.monotonic_ns() - begin - less_ns
        shown = json_format.MessageToDict(
            reply, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
        )
        print(json.dumps({"verb": verb, "client_ns": client_ns, "reply": shown}), flush=True)
        time.sleep(REST_S)

    for _ in range(rounds):
        give("pause", "Pause")
        give("resume", "Resume")
        give("reset", "Reset")
        give("record off", "Record", on=False)
        give("record on", "Record", on=True)
        give("window", "RecordWindow", less_ns=window_ns, length_ns=window_ns)
        give("record on", "Record", on=True)
    if rounds == 0:
        # The first waits until every rank stands behind MPI_Init: that is the job's start, and no figure.
        until = time.monotonic() + START_S
        while True:
            try:
                give("start", "Hold")
                break
            except grpc.RpcError as error:
                # The root is there as soon as a rank is in MPI_Init.
                if error.code() != grpc.StatusCode.UNAVAILABLE or time.monotonic() > until:
                    raise
                time.sleep(0.1)
        give("hold", "Hold")
        give("release", "Resume")
        time.sleep(AT_WORK_S)
        give("shutdown", "Shutdown")


main()
