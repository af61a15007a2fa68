"""What is done to a job, and what is not."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest
from observed import BYTES, EXCHANGES, RANKS, ROUNDS, until
from sameness import same

import invivo


def goes_on(observed):
    """Lets the program go on, and waits until it does."""
    observed.tell("go")
    until("rounds", lambda: min(observed.rounds()) > ROUNDS)


def test_a_window_holds_whole_rounds(observed, job):
    goes_on(observed)
    reply = job.record_window(0.5)
    assert reply.done == reply.targets == RANKS
    length = reply.to.earliest_ns - reply.from_.earliest_ns
    assert length == 500_000_000
    assert "from" in reply.to_dict() and "from_" not in reply.to_dict()
    # Calls that were open at its end are counted when they have returned.
    until("the open calls", lambda: job.functions().rows == later(job.functions).rows)
    table = job.functions()
    same(lambda: job.functions().to_dict(), lambda: observed.cli("functions")[0])
    rows = {row.function: row for row in table.rows}
    sent = rows["MPI_Sendrecv"]
    assert sent.bytes_out == sent.calls * BYTES
    rounds = rows["MPI_Barrier"].calls
    # Calls at the edges belong to rounds that lie in the window in part.
    assert abs(sent.calls - EXCHANGES * rounds) <= 2 * EXCHANGES * RANKS
    status = job.status().status
    assert (status.recording.on, status.recording.off) == (0, RANKS)
    assert status.recording.window.from_ns == reply.from_.earliest_ns
    # While recording is off the application goes on, and nothing is counted.
    observed.moves()
    assert job.functions().rows == table.rows
    job.record(True)
    until("calls", lambda: job.functions().rows != table.rows)
    job.record(False)
    job.reset()
    assert sum(row.calls for row in job.functions().rows) == 0
    _, rounds = observed.end()
    assert rounds > 0


def test_samples_are_those_of_the_command(observed, job):
    with pytest.raises(invivo.Error, match="10000"):
        job.sampling(10001)
    assert job.profile().sampled_ranks == 0
    assert [without.reason for without in job.profile().without] == ["off"]
    reply = job.sampling(500)
    assert reply.done == reply.targets == RANKS
    goes_on(observed)
    until("samples", lambda: job.profile().samples > 100)
    job.sampling(0)
    # Names are looked up behind the answers.
    until("all names", lambda: job.profile().samples_unnamed == 0)
    told = observed.cli("profile", "--inside")[0]
    reply = job.profile().to_dict()
    assert reply["nodes"] == told["nodes"] and reply["samples"] == told["samples"]
    assert "main" in [node["function"] for node in reply["nodes"]]
    one = job.profile([1])
    assert (one.ranks, one.sampled_ranks) == (1, 1)
    # Of a time that is over, by the samples that buffers keep.
    told = observed.cli("profile", "--inside", "--interval", "0s..600s")[0]
    kept = job.profile(since=0, until=600)
    assert kept.samples > 100 and kept.to_dict()["nodes"] == told["nodes"]
    assert kept.interval.to_ns > kept.interval.from_ns == 0
    assert kept.interval.cut_ranks == 0
    assert kept.interval.samples_not_kept == told["interval"]["samples_not_kept"]
    whole = job.profile(since=0)
    assert (whole.samples, whole.nodes) == (kept.samples, kept.nodes)
    ahead = job.profile(since=500, until=600)
    assert (ahead.samples, [one.reason for one in ahead.without]) == (0, ["not then"])
    # By timers, added to it.
    reply = job.sampling(timer=True)
    assert reply.done == reply.targets == RANKS
    assert (job.profile().ranks_by_timer, job.profile().frequency_max) == (RANKS, 99)
    status = job.status().status
    measuring = status and status.measuring
    assert measuring and measuring.sampling_by_timer and measuring.sampling_frequency == 99
    until("samples by timers", lambda: job.profile().samples > kept.samples + 20)
    job.sampling(0)
    observed.end()


def test_the_overhead_is_capped_and_status_says_so(job):
    with pytest.raises(invivo.Error, match="from 0.001 to 1"):
        job.cap_overhead(2)
    assert job.status().status.governance is None
    job.cap_overhead(0.5)
    governance = job.status().status.governance
    assert (governance.cap, governance.given_up) == (0.5, [])
    job.cap_overhead(None)
    assert job.status().status.governance.cap is None


def test_metrics_are_those_of_the_command(observed, job):
    with pytest.raises(invivo.Error, match="no metric that can be measured"):
        job.set_metrics("page-fault")
    with pytest.raises(invivo.Error, match="every 10 ms at most"):
        job.set_metrics("usual", 0.001)
    assert (job.metrics().ranks_measured, job.metrics().values) == (0, [])
    reply = job.set_metrics(["cpu-time", "resident-memory"], 0.05)
    assert reply.done == reply.targets == RANKS
    goes_on(observed)
    values = lambda: {of.name: of for of in job.metrics().values if of.ranks == RANKS}
    until("values of both", lambda: len(values()) == 2)
    until("some time", lambda: values()["cpu-time"].sum > 10_000_000)
    told = job.metrics(last=60)
    assert told.interval_min_ns == told.interval_max_ns == 50_000_000
    assert values()["resident-memory"].min > 1 << 20
    grid = job.grid("resident-memory")
    assert (grid.unit, grid.absolute, grid.analysis.name) == ("bytes", True, "")
    job.set_metrics([])
    assert job.metrics().ranks_measured == 0
    same(lambda: job.metrics(until=0.5).to_dict(), lambda: until_half(observed))
    observed.end()


def until_half(observed):
    """What the command tells of the first half second."""
    return observed.cli("metrics", "--interval", "0s..0.5s")[0]


def later(ask):
    """An answer of somewhat later."""
    time.sleep(0.3)
    return ask()


def test_a_pause_ends_with_its_block(observed, job):
    goes_on(observed)
    with job.paused() as status:
        assert status.status.ranks.paused == RANKS
        assert observed.stands()
    observed.moves()

    with pytest.raises(KeyError), job.paused(30):
        assert observed.stands()
        raise KeyError
    observed.moves()
    observed.end()


def test_a_pause_that_nobody_waited_for_ends_too(start):
    observed = start()
    goes_on(observed)
    with invivo.connect() as job:
        ask = job._ask

        def impatient(name, *words, **fields):
            answer = ask(name, *words, **fields)
            if name == "Pause":
                raise KeyboardInterrupt
            return answer

        job._ask = impatient
        with pytest.raises(KeyboardInterrupt), job.paused():
            pass
        observed.moves()
        assert [entry.command for entry in job.audit()] == ["pause", "resume"]


def test_the_pause_of_another_stays(observed, job):
    goes_on(observed)
    observed.cli("pause")
    with job.paused() as status:
        assert status.status.pause.lease_left_ns > 0
    assert observed.stands(), "it was paused before"
    job.resume()
    observed.moves()

    with job.paused():
        # The command's takes the place of ours.
        observed.cli("pause", "--lease", "50s")
    assert observed.stands(), "it was paused meanwhile"
    job.resume()

    # Somebody pauses between the look and the pause.
    look = job.status

    def look_and_be_late():
        job.status = look
        answer = look()
        observed.cli("pause")
        return answer

    job.status = look_and_be_late
    with job.paused():
        pass
    assert observed.stands(), "it was paused just before"
    job.resume()
    observed.moves()
    observed.end()


def test_a_lease_ends_by_itself(start):
    observed = start()
    goes_on(observed)
    with invivo.connect() as job, job.paused(3):
        assert observed.stands(0.2)
        observed.moves()


def test_ranks_that_are_held_are_not_paused(start):
    observed = start("openmpi")
    goes_on(observed)
    with invivo.connect() as job:
        # Too late for a hold: the ranks are past MPI_Init.
        with pytest.raises(invivo.Error) as failed:
            job.hold(0.5)
        assert failed.value.reply.done == 0 and len(failed.value.reply.failures) == RANKS
        assert "hold: done on 0 of 2 ranks" in str(failed.value)
        job.resume()


def test_a_gateway_that_is_started_again_is_found(observed, job):
    goes_on(observed)
    watched, followed = job.watch(0.1), []
    follower = threading.Thread(target=lambda: followed.extend(job.audit(follow=True)))
    follower.start()
    before = next(watched).coverage.ledger.entered
    job.reset()
    until("the reset to be told", lambda: any(entry.outcome for entry in followed))
    os.kill(gateway(observed), signal.SIGKILL)
    assert job.status().status.ranks.finished == 0
    with job.paused():
        assert observed.stands()
    until("new snapshots", lambda: next(watched).coverage.ledger.entered != before)
    observed.end()
    # It ends with the job.
    follower.join(20)
    assert not follower.is_alive()
    outcomes = [entry.command for entry in followed if entry.outcome]
    assert outcomes == ["reset", "pause", "resume"]


def gateway(observed):
    """The process of the job's gateway."""
    socket = invivo.jobs()[0].socket.encode()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"ui-gateway") and socket in words:
            return int(folder.name)
    raise AssertionError("there is no gateway")


def test_analyses_and_strategies_are_switched(start):
    observed = start("mpich")
    goes_on(observed)
    with invivo.connect() as job:
        on = lambda: {row.name for row in job.analyses().analyses if row.on == RANKS}
        assert "messages" not in on()
        job.switch_analyses("messages")
        assert "messages" in on()
        until("matched messages", lambda: job.messages().matched.messages > 0)
        job.switch_analyses("messages", "matrix", on=False)
        assert not {"messages", "matrix"} & on()
        with pytest.raises(invivo.Error) as failed:
            job.switch_analyses("nonsense")
        assert failed.value.code == "INVALID_ARGUMENT" and "nonsense" in failed.value.why
        job.strategy("duration:1ms")
        strategies = job.buffers().strategies
        assert [(one.strategy, one.ranks) for one in strategies] == [("duration:1ms", RANKS)]
        with pytest.raises(invivo.Error, match="window|length|24 hours"):
            job.record_window(1e6)
        with pytest.raises(invivo.Error, match="no length of time"):
            job.watch(-1).__next__()


def test_functions_that_are_left_out_are_not_counted(observed, job):
    goes_on(observed)
    with pytest.raises(invivo.Error, match="no rules"):
        job.select()
    with pytest.raises(invivo.Error, match="no group of MPI functions"):
        job.select(exclude="group:all")
    reply = job.select(exclude=["MPI_Barrier", "MPI_Sendrecv"])
    assert reply.done == reply.targets == RANKS
    until("calls left out", lambda: job.selection().calls_off > 100)
    told = job.selection()
    assert [rule.rule.fits for rule in told.rules] == ["MPI_Barrier", "MPI_Sendrecv"]
    # Messages are followed all the same.
    assert (told.functions_off, told.functions_kept) == (["MPI_Barrier"], ["MPI_Sendrecv"])
    calls = lambda: {row.function: row.calls for row in job.functions().rows}
    barriers = lambda: calls()["MPI_Barrier"]
    until("the last barriers to be counted", lambda: barriers() == later(barriers))
    before = calls()
    until("messages", lambda: calls()["MPI_Sendrecv"] > before["MPI_Sendrecv"])
    assert calls()["MPI_Barrier"] == before["MPI_Barrier"]
    job.select_all()
    assert job.selection().rules == []
    until("barriers", lambda: calls()["MPI_Barrier"] > before["MPI_Barrier"])
    observed.end()


def test_the_report_tells_what_was_seen(observed, job):
    goes_on(observed)
    before = job.functions()
    with job.paused():
        pass
    job.close()
    report, rounds = observed.end()
    totals = {row["function"]: row for row in report["totals"]}
    assert totals["MPI_Sendrecv"]["calls"] == RANKS * EXCHANGES * (ROUNDS + rounds)
    assert totals["MPI_Bcast"]["calls"] == RANKS * rounds
    seen = {row.function: row.calls for row in before.rows}
    assert all(totals[function]["calls"] >= calls for function, calls in seen.items())


def test_a_shutdown_ends_watching(start):
    observed = start()
    goes_on(observed)
    with invivo.connect() as job:
        watched = job.watch(0.1)
        next(watched)
        seen = []
        reader = threading.Thread(target=lambda: seen.extend(watched))
        reader.start()
        job.shutdown()
        reader.join(20)
        assert not reader.is_alive()
    time.sleep(0.1)
    assert observed.process.poll() is None
    observed.moves()
    observed.end()
