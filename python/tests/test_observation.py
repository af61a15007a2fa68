"""A saved observation answers as the job did."""

import pytest
from observed import INVIVO, until

import invivo


def test_it_answers_as_the_job_did(observed, job, tmp_path):
    until("all records", lambda: job.status().coverage.ledger.in_flight == 0, 10)
    observed.cli("save", str(tmp_path / "obs"))
    with invivo.open_observation(tmp_path / "obs", program=INVIVO) as saved:
        assert saved.ranks == job.ranks
        counts = [
            {row.function: (row.calls, row.bytes_out, row.bytes_in) for row in of.functions().rows}
            for of in (job, saved)
        ]
        assert counts[0] == counts[1]
        assert saved.matrix().cells == job.matrix().cells
        assert [of.observation for of in invivo.jobs()] == [None, str(tmp_path / "obs")]
        with pytest.raises(invivo.Error, match="nothing of it runs"):
            saved.pause()
    assert [of.observation for of in invivo.jobs()] == [None]


def test_what_cannot_be_opened_says_why(observed, tmp_path):
    with pytest.raises(invivo.Error, match="No such file"):
        invivo.open_observation(tmp_path / "none", program=INVIVO)
    with pytest.raises(invivo.Error, match="cannot start"):
        invivo.open_observation(tmp_path, program=tmp_path / "invivo")
    with pytest.raises(invivo.Error, match="no observation"):
        invivo.open_observation(tmp_path, program=INVIVO)
