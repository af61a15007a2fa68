#!/usr/bin/env python3
"""Query and steer a running job by gRPC reflection, with nothing but the name of the service.

The messages and calls come from the gateway itself, by gRPC reflection: there is no generated code
and no .proto file.
Needs: pip install grpcio grpcio-reflection

    reflect_client.py --connect ~/.local/state/invivo/jobs/JOB/connect.json status
    reflect_client.py --connect ... functions --set per_rank=true
    reflect_client.py --connect ... pause --set lease_ns=30000000000
    reflect_client.py --connect ... resume
    reflect_client.py --connect ... reset
    reflect_client.py --connect ... record --set on=false
    reflect_client.py --connect ... record-window --set length_ns=2000000000

A window answers when everything in it has been taken: --timeout must be longer than it.

Prints the answer as JSON: durations in ns, sizes in bytes. The exit status is 1 when the call is
refused, with the reason as JSON on standard error, and when a command was not acknowledged by all of
its ranks.
"""

import argparse
import collections
import json
import os
import sys

import grpc
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)

SERVICE = "invivo.v1.Invivo"
QUESTIONS = {"hello": "Hello", "status": "Status", "functions": "Functions", "matrix": "Matrix"}
COMMANDS = {
    "pause": "Pause",
    "resume": "Resume",
    "hold": "Hold",
    "reset": "Reset",
    "record": "Record",
    "record-window": "RecordWindow",
    "shutdown": "Shutdown",
}
VERBS = QUESTIONS | COMMANDS


class Call(
    collections.namedtuple(
        "Call", "method timeout metadata credentials wait_for_ready compression"
    ),
    grpc.ClientCallDetails,
):
    """Details of a call, as interceptors pass them on."""


class Bearer(grpc.UnaryUnaryClientInterceptor, grpc.StreamStreamClientInterceptor):
    """Puts the token into every call, those of reflection included."""

    def __init__(self, token):
        self.metadata = [("authorization", f"Bearer {token}")] if token else []

    def _with_token(self, details):
        metadata = [*(details.metadata or []), *self.metadata]
        wait, compression = getattr(details, "wait_for_ready", None), getattr(
            details, "compression", None
        )
        return Call(
            details.method, details.timeout, metadata, details.credentials, wait, compression
        )

    def intercept_unary_unary(self, continuation, details, request):
        return continuation(self._with_token(details), request)

    def intercept_stream_stream(self, continuation, details, requests):
        return continuation(self._with_token(details), requests)


def plain(message):
    """A message as dictionaries, lists, numbers and strings; 64-bit numbers stay numbers."""
    result = {}
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        if isinstance(value, (str, bytes)) or not hasattr(value, "__len__"):
            if field.has_presence and not message.HasField(field.name):
                continue
            result[field.name] = scalar(field, value)
        else:
            result[field.name] = [scalar(field, item) for item in value]
    return result


def scalar(field, value):
    if field.type == FieldDescriptor.TYPE_MESSAGE:
        return plain(value)
    if field.type == FieldDescriptor.TYPE_ENUM:
        return field.enum_type.values_by_number[value].name
    return value


def request_of(message_class, settings):
    """A request with fields set from texts NAME=VALUE."""
    request = message_class()
    for setting in settings:
        name, _, text = setting.partition("=")
        setattr(request, name, json.loads(text))
    return request


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--connect", required=True, metavar="FILE", help="the job's connect.json")
    parser.add_argument(
        "--scope",
        choices=["view", "control", "none"],
        help="the token to use [what the verb needs]",
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a field of the request"
    )
    parser.add_argument("--timeout", type=float, default=30, metavar="SECONDS")
    parser.add_argument("verb", choices=sorted(VERBS))
    return parser.parse_args()


def main():
    args = arguments()
    with open(args.connect, encoding="utf-8") as file:
        connect = json.load(file)
    scope = args.scope or ("control" if args.verb in COMMANDS else "view")
    # A token belongs into a private file or the environment, never into a command line, which every
    # user of the machine can read.
    token = os.environ.get("INVIVO_TOKEN") or connect.get(scope)

    # A Unix socket is reached directly, whatever http_proxy says. Its path would be the authority of
    # the calls, which HTTP/2 servers refuse; they accept any host name.
    options = [("grpc.enable_http_proxy", 0), ("grpc.default_authority", "localhost")]
    with grpc.insecure_channel("unix:" + connect["socket"], options=options) as bare:
        channel = grpc.intercept_channel(bare, Bearer(token))
        pool = DescriptorPool(ProtoReflectionDescriptorDatabase(channel))
        method = pool.FindServiceByName(SERVICE).FindMethodByName(VERBS[args.verb])
        call = channel.unary_unary(
            f"/{SERVICE}/{method.name}",
            request_serializer=lambda request: request.SerializeToString(),
            response_deserializer=GetMessageClass(method.output_type).FromString,
        )
        answer = plain(
            call(request_of(GetMessageClass(method.input_type), args.set), timeout=args.timeout)
        )

    print(json.dumps(answer, indent=2))
    done = args.verb not in COMMANDS or (answer["done"] == answer["targets"] > 0)
    return 0 if done else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except grpc.RpcError as error:
        print(json.dumps({"error": error.code().name, "message": error.details()}), file=sys.stderr)
        sys.exit(1)
