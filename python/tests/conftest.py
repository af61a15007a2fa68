"""Jobs for the tests: each test gets one of its own, of both MPIs unless it says otherwise."""

import pytest
from observed import MPIS, Observed

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
