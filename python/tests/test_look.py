"""What a job answers: what its program has done, and what `invivo --json` prints."""

import itertools

import pytest
from observed import BYTES, EXCHANGES, RANKS, ROUNDS, until

import invivo


def settled(job):
    """Waits until all calls that have returned are counted."""
    until("all records", lambda: job.status().coverage.ledger.in_flight == 0, 10)


def without(answer, *moving):
    """An answer without what changes from moment to moment: the tool's own figures and clocks."""
    if isinstance(answer, dict):
        return {name: without(value, *moving) for name, value in answer.items() if name not in moving}
    return [without(value, *moving) for value in answer] if isinstance(answer, list) else answer


# Times until now, and what the tool itself takes.
MOVING = ["now_ns", "tool_cpu_ns", "lag_ns", "since_ns", "observed_ns", "clock_error_ns"]
MOVING += ["quiet_ns", "longest_ns", "shortest_ns", "longest_stop_ns", "longest_stop_rank"]
MOVING += ["lease_left_ns", "overhead_ns", "packets_mpi", "packets_shm"]


def test_the_numbers_are_those_of_the_program(observed, job):
    settled(job)
    table = {row.function: row for row in job.functions().rows}
    messages = RANKS * ROUNDS * EXCHANGES
    exchanged = table["MPI_Sendrecv"]
    assert (exchanged.calls, exchanged.rank) == (messages, None)
    assert exchanged.bytes_out == exchanged.bytes_in == messages * BYTES
    assert table["MPI_Allreduce"].calls == table["MPI_Barrier"].calls == RANKS * ROUNDS

    by_rank = job.functions(per_rank=True).rank_rows
    calls = {row.rank: row.calls for row in by_rank if row.function == "MPI_Sendrecv"}
    assert calls == dict.fromkeys(range(RANKS), ROUNDS * EXCHANGES)

    matrix = job.matrix()
    one_way = invivo.answers.Traffic(messages // RANKS, messages // RANKS * BYTES)
    cells = [(cell.source, cell.destination, cell.sent, cell.received) for cell in matrix.cells]
    assert cells == [(0, 1, one_way, one_way), (1, 0, one_way, one_way)]

    sites = [row for row in job.call_sites().rows if row.calls.function == "MPI_Sendrecv"]
    assert [row.calls.calls for row in sites] == [messages]
    assert sites[0].functions[0].function == "exchange"
    assert sites[0].functions[0].line.startswith("rounds.c:")

    grid = job.grid("calls", columns=8)
    assert sum(row.total.sum for row in grid.rows) == sum(row.calls for row in by_rank)
    for row in job.grid("bytes").rows:
        assert row.total.sum == sum(of.bytes_out for of in by_rank if of.rank == row.row)


def test_answers_are_those_of_the_command(observed, job):
    observed.tell("go")
    until("a round behind the wait", lambda: min(observed.rounds()) > ROUNDS + 20)
    job.switch_analyses("messages")
    with job.paused() as status:
        assert status.status.ranks.paused == job.ranks == RANKS
        assert observed.stands()
        settled(job)
        for answer, words in [
            (job.functions(), ["functions"]),
            (job.functions(per_rank=True), ["functions", "--per-rank"]),
            (job.matrix(), ["matrix"]),
            (job.messages(), ["messages"]),
            (job.call_sites(), ["functions", "--by", "site"]),
            (job.analyses(), ["analyses"]),
            (job.buffers(), ["buffers"]),
            (job.hang(), ["hang"]),
        ]:
            same(answer, observed.cli(*words)[0])
        grid = job.grid("calls", since=0, until=0.5)
        told = observed.cli("heatmap", "--interval", "0s..0.5s", "--metric", "calls")[0]
        # Where the observed time begins is computed anew from ticks, to some ns.
        assert abs(grid.begin_ns - told["begin_ns"]) < 1000, (grid.begin_ns, told["begin_ns"])
        same(grid, told, "begin_ns", "from_ns", "recorded_ns")
        for ranks, words in [(None, []), ([0, 1], ["--rank", "0-1"]), (range(1), ["--rank", "0"])]:
            same_program(job.stacks(ranks), observed.cli("stacks", *words)[0])
        state = observed.cli("status")[0]
        assert state.pop("job") == job.hello().job.to_dict()
        same(job.status(), state)

        pages = list(job.timeline(60))
        told = observed.cli("timeline", "--seconds", "60")
        assert len(pages) == len(told)
        for page, line in zip(pages, told):
            same(page, line, "from_ns", "to_ns")
        records = list(job.records(1))
        for page, line in zip(records, observed.cli("records", "1")):
            same(page, line)

    entries = [entry.to_dict() for entry in job.audit()]
    assert entries == observed.cli("audit")
    assert [entry["command"] for entry in entries] == ["analyses", "pause", "resume"]
    assert all(entry["client"].startswith("invivo for Python") for entry in entries)


def same(answer, told, *moving):
    """Both are equal, number by number, and so is the text."""
    moving = [*MOVING, *moving]
    assert without(answer.to_dict(), *moving) == without(told, *moving)


def same_program(stacks, told):
    """Both have the same ways and the same paths inside of the program; where it waits inside of
    libraries changes."""
    path = lambda nodes: [node for node in nodes if node["module"].startswith("python-rounds")]
    stacks = stacks.to_dict()
    assert path(stacks["nodes"]) == path(told["nodes"])
    assert "main" in [node["function"] for node in path(told["nodes"])], told
    assert stacks["ways"] == told["ways"] and stacks.keys() == told.keys()


def test_jobs_are_those_of_the_list(observed):
    (found,) = invivo.jobs()
    assert [found.to_dict()] == observed.cli("list")[0]["jobs"]
    assert found.here and found.job == observed.name
    for name in [None, observed.name, observed.name.rpartition("-")[2], observed.connect_file]:
        with invivo.connect(name) as job:
            assert (job.id, job.ranks, job.scope) == (observed.name, RANKS, "control")
    with pytest.raises(invivo.Error, match="no job other is running here; see invivo.jobs"):
        invivo.connect("other")


def test_watching_ends_with_the_job(observed, job):
    observed.tell("go")
    snapshots = list(itertools.islice(job.watch(0.1, functions=True), 5))
    sequences = [snapshot.sequence for snapshot in snapshots]
    assert sequences == sorted(set(sequences))
    calls = [sum(row.calls for row in snapshot.functions) for snapshot in snapshots]
    assert calls == sorted(calls) and calls[0] < calls[-1]
    assert {rank.state for snapshot in snapshots for rank in snapshot.status.named} <= {
        "in MPI",
        "computing",
    }
    watched = job.watch(0.1)
    next(watched)
    observed.end()
    # It ends, and without an error.
    assert len(list(watched)) < 100
    with pytest.raises(invivo.Error) as failed:
        job.status()
    assert failed.value.code == "UNAVAILABLE" and "invivo.jobs()" in failed.value.next


def test_tables_are_made_by_pandas(observed, job):
    pytest.importorskip("pandas")
    settled(job)
    table = job.functions().frame().set_index("function")
    assert table.loc["MPI_Barrier", "calls"] == RANKS * ROUNDS
    matrix = job.matrix().frame()
    assert list(matrix["sent.bytes"]) == [ROUNDS * EXCHANGES * BYTES] * RANKS
    sites = job.call_sites().frame()
    assert "calls.time_ns" in sites and "functions" in sites
    grid = job.grid("calls").frame()
    assert len(grid) == job.grid("calls").columns * RANKS
    calls = job.timeline(60).frame()
    of_rank = calls[calls["rank"] == 1]["function"].value_counts()
    assert of_rank["MPI_Sendrecv"] == ROUNDS * EXCHANGES
    assert list(job.status().frame()["state"]) == ["computing"] * RANKS
    assert len(job.messages().frame()) == 1
