"""Finds a job and opens a way to it."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import parse_qs, urldefrag

from . import _connect_file, _find, _ssh, _way
from ._calls import Calls
from ._connect_file import Connect
from ._find import RunningJob
from ._way import Way
from .answers import RedeemReply
from .errors import Error
from .job import Job


def jobs(on: str | None = None) -> list[RunningJob]:
    """The running jobs of this user, the oldest first, as `invivo list --json` gives them.

    on: those of this host, to which `ssh` is used, as "me@login".
    """
    if on is not None:
        with _ssh.Login(on) as login:
            return [RunningJob.of(job, login.is_there(job)) for job in login.jobs()]
    return [RunningJob.of(job, job.is_here) for job in _find.running()]


def connect(
    job: int | str | os.PathLike[str] | None = None,
    *,
    token: str | None = None,
    ca: str | os.PathLike[str] | None = None,
    on: str | None = None,
) -> Job:
    """A running job.

    job: nothing for the only one of this user (or what INVIVO_JOB or INVIVO_CONNECT name); its
        name, a part of it that fits no other, or the number at its end; the path of a
        `connect.json`, also of a copy on another host where the job listens on TCP; or that URL,
        also one of an invitation.
    token: in place of those of `connect.json`; with a URL that is no invitation it is needed.
    ca: the certificate of the job's authority, as a file or as text (PEM); needed with a URL.
    on: a host that `ssh` reaches, as "me@login": the job is looked for there.

    Raises Error where there is no such job, or several, or its gateway does not answer, or is of a
    version with another first number.
    """
    if on is not None:
        return _by_ssh(on, _name(job), token)
    if isinstance(job, str) and "://" in job:
        return _by_url(job, token, ca)
    path = _path(job)
    if path is not None:
        found = _named(path)
    else:
        name = _name(job) or os.environ.get("INVIVO_JOB") or None
        found = _find.only(_find.running(), name, lambda job: job.is_here or job.url is not None)
    return _open(found, token)


def _path(job: int | str | os.PathLike[str] | None) -> Path | None:
    """The path of a file, if that is meant."""
    if job is None and os.environ.get("INVIVO_CONNECT"):
        return Path(os.environ["INVIVO_CONNECT"])
    if isinstance(job, os.PathLike):
        return Path(job)
    # No name of a job has a slash.
    if isinstance(job, str) and ("/" in job or job.endswith(".json")):
        return Path(job).expanduser()
    return None


def _name(job: int | str | os.PathLike[str] | None) -> str | None:
    return None if job is None else str(job)


def _named(path: Path) -> Connect:
    """The job of a file, wherever that lies: it may be a copy from another host."""
    connect = _connect_file.read(path)
    if connect.is_over:
        raise Error(f"job {connect.job} of {path} is over", "", "see which run: invivo.jobs()")
    if not connect.is_here and connect.url is None:
        raise Error(
            f"job {connect.job} runs on {connect.host} and does not listen to other hosts",
            connect.tls_trouble or "it was not asked to",
            'invivo.connect(on=HOST) by ssh, or start it with invivo run --listen HOST:0, and copy '
            "its connect.json again",
        )
    return connect


def opened(connect: Connect) -> Job:
    """The job of a file that was read."""
    return _open(connect, None)


def _open(connect: Connect, token: str | None) -> Job:
    url, authority = connect.url, connect.authority
    # TLS also on the job's own host where the socket's file does not exist.
    is_socket = connect.is_here and Path(connect.socket).exists()
    if url is not None and authority is not None and not is_socket:
        channel, address = _way.tls(url, authority), url
    else:
        channel, address = _way.unix(connect.socket), connect.socket
    view, control = token or connect.view, token or connect.control
    return Job(Way(channel, address, view, control, connect.has_ended), connect.job)


def _by_url(url: str, token: str | None, ca: str | os.PathLike[str] | None) -> Job:
    url, fragment = urldefrag(url)
    if ca is None:
        raise Error(f"no certificate for {url}", "only the job's authority is trusted", _way.PEM)
    text = str(ca)
    if "BEGIN CERTIFICATE" not in text:
        try:
            text = Path(ca).expanduser().read_text()
        except (OSError, ValueError) as error:
            raise Error(f"cannot read {ca}", str(error), _way.PEM) from error
    channel = _way.tls(url, text)
    secret = parse_qs(fragment).get("invite", [""])[0]
    if secret and token is None:
        calls = Calls(Way(channel, url, "", ""), f"at {url}")
        try:
            token = calls._ask("Redeem", RedeemReply, secret=secret).token
        except Error:
            channel.close()
            raise
    if not token:
        channel.close()
        raise Error(f"no token for {url}", "", "give one of those in the job's connect.json")
    return Job(Way(channel, url, token, token), f"at {url}")


def _by_ssh(on: str, name: str | None, token: str | None) -> Job:
    login = _ssh.Login(on)
    try:
        found = _find.only(login.jobs(), name, login.can_reach)
        channel = login.channel(found)
    except BaseException:
        login.close()
        raise
    view, control = token or found.view, token or found.control
    address = f"{found.socket} on {on}"
    return Job(Way(channel, address, view, control, close=login.close), found.job)
