"""A client of a running job that knows its service by reflection only, for the benches that time what it answers."""
import json

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


class Methods:
    """The methods of the job that this connect.json describes, over one connection."""

    def __init__(self, connect_json):
        with open(connect_json, encoding="utf-8") as file:
            job = json.load(file)
        # A path is no host name: without this the client would send one that HTTP/2 servers refuse.
        options = [("grpc.default_authority", "localhost")]
        plain = grpc.insecure_channel(f"unix:{job['socket']}", options)
        self.channel = grpc.intercept_channel(plain, WithToken(job["control"]))
        pool = DescriptorPool(ProtoReflectionDescriptorDatabase(self.channel))
        self.service = pool.FindServiceByName("invivo.v1.Invivo")

    def of(self, name):
        """The class of a method's request, and the method as a function."""
        method = self.service.FindMethodByName(name)
        ask, answer = GetMessageClass(method.input_type), GetMessageClass(method.output_type)
        path = f"/{self.service.full_name}/{name}"
        return ask, self.channel.unary_unary(path, ask.SerializeToString, answer.FromString)
