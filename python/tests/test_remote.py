"""Jobs that are reached over TLS and by ssh, and guests."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from observed import RANKS, until

import invivo
from invivo import _ssh

@pytest.fixture
def listening(start):
    """A job that listens on TCP, and what its file holds."""
    observed = start("openmpi", "--listen", "127.0.0.1:0")
    read = lambda: json.loads(observed.connect_file.read_text())
    until("the address", lambda: "url" in read())
    return observed, read()


def test_tls_takes_the_jobs_authority_and_a_token(listening, tmp_path, monkeypatch):
    observed, file = listening
    url, ca = file["url"], tmp_path / "authority.pem"
    ca.write_text(file["authority"])
    # Nobody serves it: it must not be asked.
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:1")
    for certificate in [file["authority"], ca, str(ca)]:
        with invivo.connect(url, token=file["view"], ca=certificate) as job:
            assert (job.id, job.scope) == (observed.name, "view")
            assert job.status().status.ranks.computing == RANKS
    with invivo.connect(url, token=file["control"], ca=ca) as job, job.paused():
        assert job.status().status.ranks.paused == RANKS
        (pause,) = [entry for entry in job.audit() if entry.command == "pause"]
        assert pause.peer.startswith("127.0.0.1:") and pause.uid is None

    # A copy of the file, where the socket is not.
    file["host"] = "elsewhere"
    copy = tmp_path / "copy.json"
    copy.write_text(json.dumps(file))
    copy.chmod(0o600)
    with invivo.connect(copy) as job:
        assert job.ranks == RANKS and url in repr(job)
    copy.chmod(0o644)
    with pytest.raises(invivo.Error, match="run: chmod 600"):
        invivo.connect(copy)


def test_watching_from_elsewhere_ends_with_the_job(listening):
    observed, file = listening
    with invivo.connect(file["url"], token=file["view"], ca=file["authority"]) as job:
        watched = job.watch(0.1)
        next(watched)
        observed.end()
        # That a job has ended cannot be seen from there, but for a stream that ends well.
        assert len(list(watched)) < 100


def test_wrong_tokens_and_certificates_are_refused(listening, tmp_path):
    _, file = listening
    url, ca = file["url"], file["authority"]
    with pytest.raises(invivo.Error) as failed:
        invivo.connect(url, token="wrong", ca=ca)
    assert failed.value.code == "UNAUTHENTICATED"
    with invivo.connect(url, token=file["view"], ca=ca) as job:
        with pytest.raises(invivo.Error) as failed:
            job.pause()
        assert failed.value.code == "PERMISSION_DENIED" and "control" in failed.value.next
    for options, what in [
        ({"token": "a"}, "no certificate"),
        ({"token": "a", "ca": "/nonexistent"}, "cannot read"),
        ({"ca": ca}, "no token"),
    ]:
        with pytest.raises(invivo.Error, match=what):
            invivo.connect(url, **options)
    for other in ["http://127.0.0.1:1", "https://127.0.0.1", "https://[::1"]:
        with pytest.raises(invivo.Error, match="as https://node17:40123"):
            invivo.connect(other, token="a", ca=ca)
    # A certificate of somebody else.
    key, other = tmp_path / "key", tmp_path / "other.pem"
    make = ["openssl", "req", "-x509", "-newkey", "ed25519", "-nodes", "-subj", "/CN=x"]
    subprocess.run([*make, "-keyout", key, "-out", other], check=True, capture_output=True)
    with pytest.raises(invivo.Error) as failed:
        invivo.connect(url, token=file["view"], ca=other)
    assert failed.value.code == "UNAVAILABLE"


def test_guests_come_and_go(listening):
    _, file = listening
    with invivo.connect() as job:
        invited = job.invite()
        assert invited.url.startswith(file["url"]) and invited.secret in invited.url
        with invivo.connect(invited.url, ca=file["authority"]) as guest:
            assert guest.scope == "view" and guest.token not in (file["view"], file["control"])
            (row,) = job.guests().guests
            assert (row.number, row.scope, row.used) == (invited.guest, "view", True)
            with invivo.connect(file["url"], token=guest.token, ca=file["authority"]) as again:
                assert again.ranks == RANKS
            assert job.revoke(invited.guest).guests == [invited.guest]
            with pytest.raises(invivo.Error) as failed:
                guest.status()
            assert failed.value.code == "UNAUTHENTICATED"
        with pytest.raises(invivo.Error):
            invivo.connect(invited.url, ca=file["authority"])


def test_ssh_forwards_the_socket(observed, login):
    (there,) = invivo.jobs(on=login)
    (here,) = invivo.jobs()
    assert there == here
    before = set(Path("/tmp").glob("invivo-ssh-*"))
    with invivo.connect(on=login) as job:
        assert (job.id, job.scope) == (observed.name, "control")
        assert login in repr(job)
        with job.paused():
            assert observed.stands()
            assert job.functions().rows == invivo.connect().functions().rows
        # The gateway knows the user from the kernel, and the process of the server.
        (pause,) = [entry for entry in job.audit() if entry.command == "pause"]
        assert pause.uid == os.geteuid() and pause.peer == "unix"
        assert len(list(job.timeline(1))) >= 1
        watched = job.watch(0.1)
        next(watched)
        observed.end()
        assert len(list(watched)) < 100
    assert set(Path("/tmp").glob("invivo-ssh-*")) == before
    with pytest.raises(invivo.Error, match="no job is running"):
        invivo.connect(on=login)


def test_ssh_goes_on_to_the_node_of_the_job(observed, login):
    # Another name of this host: a node behind the login.
    file = json.loads(observed.connect_file.read_text())
    file["host"] = "node17"
    observed.connect_file.write_text(json.dumps(file, indent=2))
    (there,) = invivo.jobs(on=login)
    assert not there.here
    with invivo.connect(on=login) as job:
        assert job.status().status.ranks.computing == RANKS
    file["host"] = os.uname().nodename
    observed.connect_file.write_text(json.dumps(file, indent=2))


def test_ssh_that_fails_says_why(monkeypatch, tmp_path):
    (tmp_path / "ssh").write_text("#!/bin/sh\necho 'Permission denied (keys).' >&2\nexit 255\n")
    (tmp_path / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(invivo.Error, match="Permission denied .*; try: ssh me@login"):
        invivo.jobs(on="me@login")
    for name in ["-oProxyCommand=touch /tmp/x", "", "a b"]:
        with pytest.raises(invivo.Error, match="is no host"):
            _ssh.Login(name)
