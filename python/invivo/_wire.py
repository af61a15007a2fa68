"""From bytes to answers and back, by the descriptors of the interface in `gateway.bin`.

There is no code that protoc has made: such code runs with few versions of protobuf, descriptors
with all.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, cast

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

from . import answers
from ._answer import Answer

SERVICE = "invivo.v1.Invivo"
# The words for the states of a rank.
STATES = {
    1: "starting",
    2: "computing",
    3: "in MPI",
    4: "paused",
    5: "finished",
    6: "held",
}


def _pool() -> Any:
    # One of our own: a program may have another version of the interface in the common one.
    pool = DescriptorPool()
    files = FileDescriptorSet.FromString(Path(__file__).with_name("gateway.bin").read_bytes())
    for file in files.file:
        pool.AddSerializedFile(file.SerializeToString())
    return pool


_POOL = _pool()


@cache
def method(name: str) -> Any:
    """The descriptor of a call, such as "Status"."""
    return _POOL.FindServiceByName(SERVICE).FindMethodByName(name)


def request(name: str, fields: dict[str, Any]) -> bytes:
    """The bytes of a request with these fields."""
    message = GetMessageClass(method(name).input_type)(**fields)
    return cast(bytes, message.SerializeToString())


@cache
def reader(name: str) -> Callable[[bytes], Answer]:
    """Makes answers to this call of bytes."""
    message = GetMessageClass(method(name).output_type)
    return lambda text: _read(message.FromString(text))


@cache
def _plan(name: str) -> tuple[type[Answer], list[tuple[str, str, bool, bool, bool]]]:
    """How a message is read: its class, and of each field its name in the message and in the
    class, whether it is a list, whether its values are messages, and whether it may be absent."""
    fields = []
    for field in _POOL.FindMessageTypeByName(name).fields:
        attribute = field.name + "_" * keyword.iskeyword(field.name)
        # Only fields that are marked `optional` are in a oneof of their own.
        may_be_absent = field.containing_oneof is not None
        is_list = not field.has_presence and _is_list(field)
        is_message = field.message_type is not None
        fields.append((field.name, attribute, is_list, is_message, may_be_absent))
    return getattr(answers, name.rsplit(".", 1)[-1]), fields


def _is_list(field: Any) -> bool:
    # Newer versions of protobuf know `is_repeated`, older ones `label`.
    if hasattr(field, "is_repeated"):
        return bool(field.is_repeated)
    return bool(field.label == FieldDescriptor.LABEL_REPEATED)


def _read(message: Any) -> Answer:
    name = message.DESCRIPTOR.full_name
    made, plan = _plan(name)
    values: dict[str, Any] = {}
    for field, attribute, is_list, is_message, may_be_absent in plan:
        if may_be_absent and not message.HasField(field):
            values[attribute] = None
            continue
        # An object that an older gateway does not send is one of zeros, as its numbers are.
        value = getattr(message, field)
        if is_list:
            values[attribute] = [_read(item) for item in value] if is_message else list(value)
        elif is_message:
            values[attribute] = _read(value)
        else:
            values[attribute] = value
    if name == "invivo.v1.RankStatus":
        values["state"] = STATES.get(values["state"], "unknown")
    return made(**values)
