"""Pauses and resumes a running job again and again through one client that knows the service by reflection only.
Prints one JSON object per pause: client_ns (the whole call), took_ns (as the gateway says), done, targets.

Usage: pause.py CONNECT_JSON ROUNDS
"""
import json
import sys
import time

import grpc
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase


class WithToken(grpc.UnaryUnaryClientInterceptor, grpc.StreamStreamClientInterceptor):
    """Adds the token to every call, reflection included."""

    def __init__(self, token):
        self.metadata = [("authorization", f"Bearer {token}")]

    def intercept_unary_unary(self, continuation, details, request):
        return continuation(details._replace(metadata=self.metadata), request)

    def intercept_stream_stream(self, continuation, details, requests):
        return continuation(details._replace(metadata=self.metadata), requests)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        job = json.load(file)
    # A path is no host name: without this the client would send one that HTTP/2 servers refuse.
    options = [("grpc.default_authority", "localhost")]
    plain = grpc.insecure_channel(f"unix:{job['socket']}", options)
    channel = grpc.intercept_channel(plain, WithToken(job["control"]))
    service = DescriptorPool(ProtoReflectionDescriptorDatabase(channel)).FindServiceByName("invivo.v1.Invivo")

    def caller(name):
        method = service.FindMethodByName(name)
        ask, answer = GetMessageClass(method.input_type), GetMessageClass(method.output_type)
        call = channel.unary_unary(f"/{service.full_name}/{name}", ask.SerializeToString, answer.FromString)
        return lambda: call(ask(), timeout=30)

    pause, resume = caller("Pause"), caller("Resume")
    for _ in range(int(sys.argv[2])):
        begin = time.monotonic_ns()
        reply = pause()
        client_ns = time.monotonic_ns() - begin
        print(json.dumps({"client_ns": client_ns, "took_ns": reply.took_ns, "done": reply.done, "targets": reply.targets}))
        resume()
        time.sleep(0.05)


main()
