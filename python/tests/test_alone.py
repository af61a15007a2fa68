"""What needs no job."""

import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from observed import ROOT
from sameness import differences

import invivo
from invivo import _connect_file, _find, _frame, _steer, _wire, answers, measured
from invivo.job import check_version

PACKAGE = Path(invivo.__file__).parent


def file(**fields):
    """The text of a `connect.json`."""
    usual = {
        "version": 2,
        "job": "node17-4711",
        "socket": "/s",
        "view": "a secret",
        "control": "another secret",
        "pid": 1,
        "pid_start_ticks": 0,
        "host": "",
        "started_unix": 1,
        "command": ["./app"],
    }
    return json.dumps(usual | fields).encode()


def connects(*jobs):
    return [_connect_file.parse(file(job=job, host=host), "/f") for job, host in jobs]


def test_every_call_of_the_interface_has_a_method():
    service = _wire._POOL.FindServiceByName(_wire.SERVICE)
    texts = "".join(path.read_text() for path in PACKAGE.glob("*.py"))
    for method in service.methods:
        assert f'"{method.name}",' in texts, f"nobody calls {method.name}"
    for name, rows in _frame.ROWS.items():
        assert rows.split(".")[-1] and hasattr(answers, name), name


def test_the_version_is_that_of_the_product():
    manifest = (ROOT / "Cargo.toml").read_text()
    assert f'\nversion = "{invivo.__version__}"\n' in manifest
    first = invivo.__version__.split(".")[0]
    check_version(f"{first}.99.7", "a")
    with pytest.raises(invivo.Error, match="job a runs under Invivo 77.0.0, and this is"):
        check_version("77.0.0", "a")


def test_all_states_of_a_rank_have_a_word():
    states = _wire._POOL.FindEnumTypeByName("invivo.v1.RankState").values_by_number
    words = {number: _wire.STATES.get(number, "unspecified") for number in states}
    names = {number: value.name for number, value in states.items()}
    for number, word in words.items():
        assert names[number] == "RANK_STATE_" + word.upper().replace(" ", "_")


def test_an_error_says_what_why_and_next():
    error = invivo.Error("it failed", "it rained", "wait", "UNAVAILABLE")
    assert str(error) == "it failed: it rained; wait"
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.code) == (str(error), "UNAVAILABLE")
    assert str(invivo.Error("it failed")) == "it failed"


def test_rules_include_behind_what_they_exclude():
    out, back = {"include": False}, {"include": True}
    assert _steer.rules("tiny_*", "tiny_solve") == [
        out | {"fits": "tiny_*"},
        back | {"fits": "tiny_solve"},
    ]
    assert _steer.rules(["a", "b"], ()) == [out | {"fits": "a"}, out | {"fits": "b"}]
    assert _steer.rules((), []) == []


def test_a_job_is_found_by_a_part_of_its_name():
    jobs = connects(("node-47", ""), ("node-4", ""), ("melt-run", ""), ("far-1", "elsewhere"))
    here = lambda job: job.host == ""
    for part, meant in [("47", "node-47"), ("4", "node-4"), ("melt", "melt-run")]:
        assert _find.only(jobs, part, here).job == meant
    for part, error in [("node", "no job node"), ("", "no job"), ("far", "listen elsewhere:0")]:
        with pytest.raises(invivo.Error, match=error):
            _find.only(jobs, part, here)
    with pytest.raises(invivo.Error, match="3 jobs are running: node-47, node-4, melt-run; say"):
        _find.only(jobs, None, here)
    with pytest.raises(invivo.Error, match="no job is running; start one: invivo run"):
        _find.only([], None, here)
    with pytest.raises(invivo.Error, match="but 1 on others"):
        _find.only(jobs[3:], None, here)


def test_files_that_cannot_be_used_are_told(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert invivo.jobs() == []
    directory = tmp_path / "invivo/jobs/a"
    directory.mkdir(parents=True)
    path = directory / "connect.json"
    path.write_bytes(file())
    path.chmod(0o640)
    with pytest.warns(UserWarning, match="may be read or written by others"):
        assert invivo.jobs() == []
    path.chmod(0o600)
    assert "secret" not in repr(_connect_file.read(path))
    (job,) = invivo.jobs()
    assert job.job == "node17-4711" and "secret" not in job.to_json()
    # Nobody is there.
    with pytest.raises(invivo.Error, match="no gateway answers on /s"):
        invivo.connect()
    path.write_bytes(file(pid_start_ticks=1))
    assert invivo.jobs() == [], "another process has the number"
    for text, why in [(b"{", "no connect.json"), (file(version=9), "knows 1 to 2")]:
        path.write_bytes(text)
        with pytest.raises(invivo.Error, match=why):
            invivo.connect(path)
    with pytest.raises(invivo.Error, match="cannot read"):
        invivo.connect(tmp_path / "none.json")


def test_without_pandas_the_error_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(invivo.Error, match="pip install pandas"):
        answers.Traffic(messages=1, bytes=2).frame()


def test_answers_are_values():
    traffic = answers.Traffic(messages=1, bytes=2)
    assert traffic.to_json() == '{"version":1,"messages":1,"bytes":2}'
    assert pickle.loads(pickle.dumps(traffic)) == traffic
    cell = answers.MatrixCell(source=0, destination=1, sent=traffic, received=traffic)
    assert _frame.flat(cell)["sent.bytes"] == 2


def test_values_are_of_what_was_observed():
    def grid(from_ns, *rows):
        empty = {field: None for field in answers.GridReply.__dataclass_fields__}
        told = {"metric": "page-faults", "from_ns": from_ns, "width_ns": 10, "columns": 4}
        return answers.GridReply(**empty | told | {"observed_ns": 25, "rows": list(rows)})

    total = answers.GridCell(2, 50, 7, 3, 1, 4, 0)
    values = measured.values(grid(-5, answers.GridRow(0, [], total)))
    assert (values.name, values.from_ns, values.to_ns) == ("page-faults", 0, 25)
    assert (values.ranks, values.sum, values.max, values.max_rank) == (2, 7, 4, 0)
    of_nobody = measured.values(grid(5))
    assert (of_nobody.from_ns, of_nobody.ranks, of_nobody.sum) == (5, 0, 0)
    reply = {field: None for field in answers.MetricsReply.__dataclass_fields__}
    both = measured.Measurement(**reply, values=[values, of_nobody])
    assert [row["sum"] for row in _frame.rows(both)] == [7, 0]
    assert list(both.to_dict()) == [*reply, "values"]


def test_a_pause_between_look_and_pause_is_seen():
    def entries(*commands):
        empty = {field: None for field in answers.AuditEntry.__dataclass_fields__}
        return [
            answers.AuditEntry(**empty | {"sequence": at, "command": command, "command_id": at})
            for at, command in enumerate(commands, 1)
        ]

    took = lambda *commands: _steer._took_anothers_place(entries(*commands), len(commands), 1)
    assert not took("pause", "pause"), "the first was there at the look"
    assert took("pause", "pause", "pause")
    assert not took("reset", "pause", "resume", "pause")
    assert took("reset", "hold", "reset", "pause")


def test_the_comparison_of_answers_finds_differences():
    one, other = [{"a": [1, None], "b": "x"}], [{"a": [2, None], "b": "x"}]
    assert differences(one * 2, one) == []
    assert differences(one * 2, other * 2) == [(".a.0", 1, 2)]
    assert differences(one + other, other + one) == [], "it moves"
    for odd in [{"a": [1], "b": "x"}, {"a": [1, 0], "b": "x"}, {"b": "x"}, None]:
        assert differences(one * 2, [odd] * 2), odd


def test_importing_needs_neither_pandas_nor_a_job():
    code = "import invivo, sys; assert 'pandas' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=PACKAGE.parent)
