"""The examples of the manual's page, as they are printed."""

import getpass
import json
import re

import pytest
from observed import ROOT, until

import invivo

PAGE = (ROOT / "docs/manual/python.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def run(block, names, replaced=()):
    """Runs an example, with what only its reader knows put in."""
    for old, new in replaced:
        assert old in block, f"{old} is not in the example"
        block = block.replace(old, new)
    exec(compile(block, "docs/manual/python.md", "exec"), names)


def test_the_examples_run_as_printed(start, tmp_path, capsys):
    pytest.importorskip("pandas")
    # With what by URL and by ssh needs, which has its own test.
    local = [block for block in BLOCKS if "https://" not in block and "on=" not in block]
    assert len(local) == len(BLOCKS) - 2
    observed = start()
    observed.tell("go")
    number = observed.name.split("-")[1]
    names = {"invivo": invivo}
    for block in local:
        replaced = []
        if "4711" in block:
            # The job of this test has a number in the middle of its name.
            replaced = [("4711", repr(observed.name))]
            replaced.append(("~/copy/connect.json", str(observed.connect_file)))
        run(block, names, replaced)
    said = capsys.readouterr().out
    assert "RankCounts(starting=0" in said and "MPI_Sendrecv" in said and number in said
    assert "INVALID_ARGUMENT job" in said
    assert names["table"].rows and names["paths"].nodes
    names["job"].close()


def test_the_example_by_url_runs(start, tmp_path, monkeypatch):
    observed = start("mpich", "--listen", "127.0.0.1:0")
    file = until("the address", lambda: listens(observed))
    (tmp_path / "authority.pem").write_text(file["authority"])
    monkeypatch.chdir(tmp_path)
    (block,) = [block for block in BLOCKS if "https://" in block]
    with invivo.connect() as owner:
        names = {"invivo": invivo, "token": file["view"], "invited": owner.invite()}
        run(block, names, [("https://node17:40123", file["url"])])
        assert names["job"].id == observed.name and names["job"].token != file["view"]
        names["job"].close()


def listens(observed):
    file = json.loads(observed.connect_file.read_text())
    return file if "url" in file else None


def test_the_example_by_ssh_runs(observed, login, capsys):
    (block,) = [block for block in BLOCKS if "on=" in block]
    names = {"invivo": invivo}
    run(block, names, [("me@login", f"{getpass.getuser()}@login")])
    assert names["job"].id == observed.name and observed.name in capsys.readouterr().out
    names["job"].close()


def test_the_page_names_every_method():
    methods = {name for name in dir(invivo.Job) if not name.startswith("_")}
    methods -= {"hello", "id", "ranks", "scope", "token"}
    assert methods == {name for name in methods if re.search(rf"`(job\.)?{name}\(", PAGE)}
