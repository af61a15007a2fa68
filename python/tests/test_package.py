"""The package as it is given to users: its types, and what is in a wheel."""

import subprocess
import sys
import zipfile
from pathlib import Path

from observed import ROOT

PACKAGE = ROOT / "python"
CACHE = ROOT / "target/mypy"


def python(*words, where=PACKAGE):
    """What this Python says when it is run with these words."""
    done = subprocess.run([sys.executable, *words], cwd=where, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_types_are_strict():
    python("-m", "mypy", "--cache-dir", CACHE)


USER = """
import invivo
with invivo.connect(4711) as job, job.paused() as status:
    reveal_type(status.status.ranks.paused)
    reveal_type(job.functions().rows[0].rank)
    for page in job.timeline(0.5):
        reveal_type(page.pieces[0].calls)
"""


def test_types_are_known_to_users(tmp_path):
    (tmp_path / "user.py").write_text(USER)
    # Of an installed package only its types count.
    silent = "[mypy-invivo.*]\nfollow_imports = silent\n"
    (tmp_path / "mypy.ini").write_text(f"[mypy]\nmypy_path = {PACKAGE}\nstrict = True\n{silent}")
    said = python("-m", "mypy", "--cache-dir", CACHE / "user", "user.py", where=tmp_path)
    for kind in ['"int"', '"int | None"', '"list[invivo.answers.CallRecord]"']:
        assert f"Revealed type is {kind}" in said.replace("builtins.", ""), said


def test_a_wheel_has_all_that_is_needed(tmp_path):
    # A copy: what a build leaves behind is not wanted beside the sources.
    copy = tmp_path / "copy"
    subprocess.run(["cp", "-rL", PACKAGE, copy], check=True)
    python("-m", "build", "--no-isolation", "--outdir", tmp_path / "made", where=copy)
    (wheel,) = (tmp_path / "made").glob("invivo-*-py3-none-any.whl")
    (source,) = (tmp_path / "made").glob("invivo-*.tar.gz")
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    names = {path.name for path in site.glob("invivo/*")}
    sources = {path.name for path in Path(PACKAGE, "invivo").glob("*") if path.is_file()}
    assert names == sources and {"gateway.bin", "py.typed"} <= names
    licences = [path.name for path in site.glob("invivo-*.dist-info/licenses/*")]
    assert sorted(licences) == ["LICENSE-APACHE", "LICENSE-MIT"]
    told = python("-c", "import invivo; print(invivo.__file__, invivo.jobs.__doc__)", where=site)
    assert told.startswith(str(site))
    listed = subprocess.run(["tar", "tzf", source], check=True, capture_output=True, text=True)
    assert "gateway.bin" in listed.stdout and "/tests/" not in listed.stdout
