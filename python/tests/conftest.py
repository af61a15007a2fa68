"""Jobs for the tests, one for each test, of both MPIs unless it says otherwise; and a host that ssh
leads to."""

import getpass
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from observed import MPIS, Observed, until

import invivo


@pytest.fixture
def start(monkeypatch):
    """Starts jobs, each in the state directory that `invivo` looks into from then on."""
    started = []

    def one(mpi="openmpi", *options):
        observed = Observed(mpi, *options)
        started.append(observed)
        monkeypatch.setenv("XDG_STATE_HOME", observed.environment["XDG_STATE_HOME"])
        monkeypatch.delenv("INVIVO_JOB", raising=False)
        monkeypatch.delenv("INVIVO_CONNECT", raising=False)
        return observed

    yield one
    for observed in started:
        observed.remove()


@pytest.fixture(params=MPIS)
def observed(request, start):
    """A job that waits behind its first rounds."""
    return start(request.param)


@pytest.fixture
def job(observed):
    """The same, connected."""
    with invivo.connect() as job:
        yield job


@pytest.fixture
def login(observed, tmp_path, monkeypatch):
    """A user and a host to which `ssh` leads: this one, by a server of our own. So does every other
    name."""
    ssh = shutil.which("ssh")
    if ssh is None:
        pytest.skip("not tested: jobs by ssh: there is no ssh")
    user = getpass.getuser()
    script = Path(__file__).with_name("ssh_server.py")
    server = subprocess.Popen([sys.executable, script, tmp_path, user], cwd=Path.home())
    port = until("the server", lambda: (tmp_path / "port").exists() and read(tmp_path / "port"), 10)
    config = tmp_path / "config"
    config.write_text(
        f"Host *\nHostName 127.0.0.1\nPort {port}\nIdentityFile {tmp_path}/user\n"
        "IdentitiesOnly yes\nStrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n"
        "LogLevel ERROR\n"
    )
    # As users describe a host in their own configuration.
    commands = tmp_path / "bin"
    commands.mkdir()
    (commands / "ssh").write_text(f'#!/bin/sh\nexec {ssh} -F {config} "$@"\n')
    (commands / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{commands}:{os.environ['PATH']}")
    yield f"{user}@login"
    server.terminate()
    server.wait(10)


def read(path):
    return path.read_text()
