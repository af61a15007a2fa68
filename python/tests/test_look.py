"""What a job answers: what its program has done, and what `invivo --json` prints."""

import itertools

import pytest
from observed import BYTES, EXCHANGES, RANKS, ROUNDS, until
from sameness import same

import invivo


def settled(job):
    """Waits until all calls that have returned are counted."""
    until("all records", lambda: job.status().coverage.ledger.in_flight == 0, 10)


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

    of = lambda: [row for row in job.call_sites().rows if row.calls.function == "MPI_Sendrecv"]
    # Names are looked up behind the answers.
    until("names", lambda: all(row.functions for row in of()))
    sites = of()
    assert [row.calls.calls for row in sites] == [messages]
    assert sites[0].functions[0].function == "exchange"
    assert sites[0].functions[0].line.startswith("rounds.c:")

    # This program marks no regions.
    regions = job.regions()
    assert (regions.rows, regions.rows_left_out) == ([], 0)
    assert regions.left_out.visits == regions.dropped == regions.too_deep == 0
    assert (regions.analysis.name, regions.analysis.on) == ("regions", RANKS)

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
        for ask, words in [
            (job.functions, ["functions"]),
            (lambda: job.functions(per_rank=True), ["functions", "--per-rank"]),
            (job.matrix, ["matrix"]),
            (job.messages, ["messages"]),
            (job.call_sites, ["functions", "--by", "site"]),
            (job.regions, ["regions"]),
            (job.analyses, ["analyses"]),
            (job.selection, ["selection"]),
            (job.metrics, ["metrics"]),
            (job.buffers, ["buffers"]),
            (job.hang, ["hang"]),
            (
                lambda: job.grid("calls", since=0, until=0.5),
                ["heatmap", "--metric", "calls", "--interval", "0s..0.5s"],
            ),
            (
                lambda: job.grid("compute", until=0.5, rows=1),
                ["efficiency", "--interval", "0s..0.5s"],
            ),
        ]:
            same(lambda: ask().to_dict(), lambda: observed.cli(*words)[0])
        barriers = lambda rows: [row for row in rows if row["function"] == "MPI_Barrier"]
        same(
            lambda: barriers(job.functions(histograms=True).to_dict()["rows"]),
            lambda: observed.cli("functions", "--histogram", "MPI_Barrier")[0]["rows"],
        )
        # But for shares of the time, which goes on.
        loops = lambda rows: [(row["iterations_max"], row["mean_ns"], row["usual"]) for row in rows]
        assert job.iterations().rows
        same(
            lambda: loops(job.iterations().to_dict()["rows"]),
            lambda: loops(observed.cli("iterations")[0]["rows"]),
        )
        # Tables of a part of the run, which is in one piece of it.
        part = {"since": 0, "until": 0.5}
        for ask, words in [
            (job.functions, ["functions"]),
            (job.call_sites, ["functions", "--by", "site"]),
            (job.regions, ["regions"]),
            (job.matrix, ["matrix"]),
            (job.messages, ["messages"]),
            (job.wait_states, ["waitstates"]),
        ]:
            words = [*words, "--interval", "0s..0.5s"]
            assert ask(**part).interval.to_ns > 500_000_000
            same(lambda: ask(**part).to_dict(), lambda: observed.cli(*words)[0])
        lately = job.functions(last=1)
        assert lately.interval.to_ns - lately.interval.from_ns < 3_000_000_000
        status = lambda: job.status().to_dict() | {"job": job.hello().job.to_dict()}
        same(status, lambda: observed.cli("status")[0])
        for ask, words in [
            (lambda: job.timeline(60), ["timeline", "--seconds", "60"]),
            (lambda: job.records(1), ["records", "1"]),
        ]:
            same(lambda: [page.to_dict() for page in ask()], lambda: observed.cli(*words))
        of_ranks = [(None, []), ([0, 1], ["--rank", "0-1"]), (range(1), ["--rank", "0"])]
        for ranks, words in of_ranks:
            ask = lambda: (job.stacks(ranks).to_dict(), observed.cli("stacks", *words)[0])
            # A rank whose supervisor has no processor for a moment is silent.
            assert any(is_same_program(*ask()) for _ in range(8))

    entries = [entry.to_dict() for entry in job.audit()]
    assert entries == observed.cli("audit")
    assert [entry["command"] for entry in entries] == ["analyses", "pause", "resume"]
    assert all(entry["client"].startswith("invivo for Python") for entry in entries)


def is_same_program(stacks, told):
    """Whether both have the same ways and the same paths inside of the program; where it waits
    inside of libraries changes."""
    path = lambda nodes: [node for node in nodes if node["module"].startswith("python-rounds")]
    assert stacks.keys() == told.keys()
    inside = path(told["nodes"])
    is_whole = "main" in [node["function"] for node in inside]
    return is_whole and path(stacks["nodes"]) == inside and stacks["ways"] == told["ways"]


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
    snapshots = []
    counted = lambda snapshot: sum(row.calls for row in snapshot.functions)
    for snapshot in itertools.islice(job.watch(0.1, functions=True), 200):
        snapshots.append(snapshot)
        if len(snapshots) >= 5 and counted(snapshots[0]) < counted(snapshot):
            break
    sequences = [snapshot.sequence for snapshot in snapshots]
    assert sequences == sorted(set(sequences))
    calls = [counted(snapshot) for snapshot in snapshots]
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
    assert (table["durations.p50"] <= table["durations.p99"]).all()
    assert (table["durations.p99"] <= table["max_ns"]).all()
    matrix = job.matrix().frame()
    assert list(matrix["sent.bytes"]) == [ROUNDS * EXCHANGES * BYTES] * RANKS
    sites = job.call_sites().frame()
    assert "calls.time_ns" in sites and "functions" in sites
    grid = job.grid("calls")
    assert len(grid.frame()) == grid.columns * RANKS
    calls = job.timeline(60).frame()
    of_rank = calls[calls["rank"] == 1]["function"].value_counts()
    assert of_rank["MPI_Sendrecv"] == ROUNDS * EXCHANGES
    assert list(job.status().frame()["state"]) == ["computing"] * RANKS
    assert len(job.messages().frame()) == 1
