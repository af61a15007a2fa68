"""Ways to a gateway: its Unix socket, or TLS under the job's own authority; no proxy."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import grpc

from .errors import Error

# The longest answer that a gateway gives, in bytes.
ANSWER_BYTES_MAX = 16 * 1024 * 1024
OPTIONS: list[tuple[str, Any]] = [
    # Whatever http_proxy says.
    ("grpc.enable_http_proxy", 0),
    ("grpc.max_receive_message_length", ANSWER_BYTES_MAX),
    # A gateway that was started again is found at once.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 1000),
    ("grpc.max_reconnect_backoff_ms", 1000),
    # A connection of its own for each job object.
    ("grpc.use_local_subchannel_pool", 1),
]


@dataclass
class Way:
    """A channel with what is to be said on it and about it."""

    channel: Any
    """gRPC's channel; it connects with the first call, and again after the connection broke."""
    address: str
    """The socket's path or the URL, for messages."""
    view: str = field(repr=False)
    """The token of calls that only read."""
    control: str = field(repr=False)
    """The token of all others."""
    has_ended: Callable[[], bool] = lambda: False
    """Whether the job is known to be over."""
    close: Callable[[], None] = lambda: None
    """Ends what holds the way open."""


def unix(path: str) -> Any:
    """A channel to a socket on which this user listens. Raises Error where somebody else does."""
    # Before a token is shown: somebody may have put a socket in the place of the gateway's.
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(path)
        except OSError as error:
            raise Error(
                f"no gateway answers on {path}",
                error.strerror or str(error),
                "see whether the job still runs: invivo.jobs()",
                "UNAVAILABLE",
            ) from error
        size = struct.calcsize("3i")
        peer = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
        _, user, _ = struct.unpack("3i", peer)
    if user != os.geteuid():
        raise Error(f"{path} is not this user's", f"another user (uid {user}) listens there")
    # A path is no host name: without this option gRPC sends one that HTTP/2 servers refuse.
    options = [*OPTIONS, ("grpc.default_authority", "localhost")]
    return grpc.insecure_channel(f"unix:{path}", options)


def tls(url: str, authority: str, by: str | None = None) -> Any:
    """A channel to a URL, by the Unix socket of a tunnel if there is one. Only certificates of the
    job's own authority (PEM) are trusted. Raises Error where URL or certificate are none."""
    if "BEGIN CERTIFICATE" not in authority:
        raise Error("no certificate", "the authority is not in the form PEM", PEM)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise Error(f"{url} is no address", str(error), FORM) from error
    # Without TLS the token would be readable on the network, and go to whoever listens.
    if parts.scheme != "https" or not host or not port:
        raise Error(f"{url} cannot be used", "", FORM)
    target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    options = list(OPTIONS)
    if by is not None:
        options += [("grpc.ssl_target_name_override", host), ("grpc.default_authority", host)]
        target = f"unix:{by}"
    return grpc.secure_channel(target, grpc.ssl_channel_credentials(authority.encode()), options)


FORM = "it must be as https://node17:40123"
PEM = "give `authority` of the job's connect.json, or a file that holds it"
