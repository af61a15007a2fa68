"""Calls a method of a job's gateway by gRPC reflection, with nothing but its connect.json.

    reflection_client.py CONNECT_JSON METHOD [REQUEST_AS_JSON]
        [--token view|control|none|TEXT] [--reflection-token ...]

prints the reply as JSON (of a stream the first three, one per line). A refused call prints the name
of the status code and exits with 1.
"""

import argparse
import json
import sys

import grpc
from google.protobuf import descriptor_pool, json_format, message_factory
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)

SERVICE = "invivo.v1.Invivo"
MESSAGES = 3
SECONDS = 20
# grpc makes the authority of a Unix socket out of its path, escaped; HTTP/2 servers in Rust refuse
# that.
OPTIONS = [("grpc.default_authority", "localhost")]


class Authorization(
    grpc.UnaryUnaryClientInterceptor,
    grpc.UnaryStreamClientInterceptor,
    grpc.StreamStreamClientInterceptor,
):
    """Adds the token to every call."""

    def __init__(self, token):
        self.metadata = [] if token is None else [("authorization", f"Bearer {token}")]

    def intercept(self, continuation, details, request):
        details = details._replace(metadata=list(details.metadata or []) + self.metadata)
        return continuation(details, request)

    intercept_unary_unary = intercept
    intercept_unary_stream = intercept
    intercept_stream_stream = intercept


def channel(connect, token):
    """A channel to the job's gateway. The token is a scope's name, `none`, or itself."""
    token = {"none": None, "view": connect["view"], "control": connect["control"]}.get(token, token)
    return grpc.intercept_channel(
        grpc.insecure_channel("unix:" + connect["socket"], OPTIONS), Authorization(token)
    )


def call(arguments):
    """Makes the call and prints what comes."""
    with open(arguments.connect, encoding="utf-8") as file:
        connect = json.load(file)
    pool = descriptor_pool.DescriptorPool(
        ProtoReflectionDescriptorDatabase(channel(connect, arguments.reflection_token))
    )
    method = pool.FindServiceByName(SERVICE).FindMethodByName(arguments.method)
    request = json_format.Parse(
        arguments.request, message_factory.GetMessageClass(method.input_type)()
    )
    target = channel(connect, arguments.token)
    make = target.unary_stream if method.server_streaming else target.unary_unary
    invoke = make(
        f"/{SERVICE}/{method.name}",
        request_serializer=lambda message: message.SerializeToString(),
        response_deserializer=message_factory.GetMessageClass(method.output_type).FromString,
    )
    replies = invoke(request, timeout=SECONDS)
    for number, reply in enumerate(replies if method.server_streaming else [replies], start=1):
        shown = json_format.MessageToDict(
            reply, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
        )
        print(json.dumps(shown), flush=True)
        if number == MESSAGES:
            break


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("connect")
    parser.add_argument("method")
    parser.add_argument("request", nargs="?", default="{}")
    parser.add_argument("--token", default="control")
    parser.add_argument("--reflection-token", default="view")
    try:
        call(parser.parse_args())
    except grpc.RpcError as error:
        print(error.code().name)
        print(error.details(), file=sys.stderr)
        sys.exit(1)


main()
