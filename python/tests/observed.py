"""A job of `rounds.c` under Invivo, and the `invivo` command on it."""

import json
import os
import shutil
import struct
import subprocess
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
DIST = Path(os.environ.get("INVIVO_DIST", ROOT / "target/dist"))
INVIVO = DIST / "bin/invivo"
# The MPIs, by the ends of their commands' names.
MPIS = ["openmpi", "mpich"]
RANKS = 2
# What `rounds.c` does before it waits, on each rank.
ROUNDS, EXCHANGES, BYTES = 200, 3, 1000
# The longest that anything takes, in s.
LIMIT = 60
ROOT_MAY = ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"]
ROOT_MAY += ["PRTE_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM"]


def program(mpi):
    """The program for this MPI, compiled once."""
    source = HERE / "rounds.c"
    built = ROOT / "target/apps" / f"python-rounds-{mpi}"
    if not built.exists() or built.stat().st_mtime < source.stat().st_mtime:
        built.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([f"mpicc.{mpi}", "-g", "-O1", "-o", built, source], check=True)
    return built


def until(what, condition, limit=LIMIT):
    """Waits for a condition, and returns its first value that is true."""
    begun = time.monotonic()
    while not (value := condition()):
        assert time.monotonic() - begun < limit, f"{what}: not within {limit} s"
        time.sleep(0.02)
    return value


class Observed:
    """A running job in a directory of its own, which is its state directory as well."""

    def __init__(self, mpi, *options):
        # Below /tmp: paths of sockets are short.
        self.directory = Path(tempfile.mkdtemp(prefix="invivo-py-"))
        self.name = f"python-{os.getpid()}-{self.directory.name[-4:]}"
        self.environment = os.environ | dict.fromkeys(ROOT_MAY, "1")
        self.environment |= {
            "XDG_STATE_HOME": str(self.directory / "state"),
            "INVIVO_JOB": self.name,
            # More processes than cores.
            "OMPI_MCA_mpi_yield_when_idle": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1",
        }
        command = [INVIVO, "run", "--no-config", "--report", self.report_file, *options, "--"]
        command += [f"mpiexec.{mpi}", "-n", str(RANKS), program(mpi), self.directory]
        with open(self.directory / "output", "wb") as output:
            self.process = subprocess.Popen(
                command, env=self.environment, stdout=output, stderr=subprocess.STDOUT
            )
        try:
            self.wait_for_rounds()
        except BaseException:
            self.remove()
            raise

    @property
    def report_file(self):
        return self.directory / "report.json"

    @property
    def output(self):
        return (self.directory / "output").read_text()

    @property
    def connect_file(self):
        return self.directory / "state/invivo/jobs" / self.name / "connect.json"

    def wait_for_rounds(self):
        """Waits until all ranks wait outside of MPI."""

        def is_done():
            assert self.process.poll() is None, self.output
            return all((self.directory / f"{rank}.done").exists() for rank in range(RANKS))

        until("the first rounds", is_done)

    def tell(self, word):
        (self.directory / word).touch()

    def rounds(self):
        """Rounds so far, of each rank, from the program itself."""
        files = [self.directory / f"{rank}.rounds" for rank in range(RANKS)]
        return [struct.unpack("q", file.read_bytes())[0] for file in files]

    def stands(self, seconds=0.5):
        """Whether no rank gets on in this time."""
        before = self.rounds()
        time.sleep(seconds)
        return self.rounds() == before

    def moves(self):
        """Waits until a rank gets on."""
        before = self.rounds()
        until("a round", lambda: self.rounds() != before)

    def cli(self, *words):
        """The objects that `invivo WORDS --json` prints, without their version."""
        done = subprocess.run(
            [INVIVO, *words, "--json"],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )
        assert done.returncode == 0, done.stderr
        found = [json.loads(line) for line in done.stdout.splitlines()]
        assert all(answer.pop("version") == 1 for answer in found)
        return found

    def end(self):
        """Ends the job; returns its report and the rounds behind the wait."""
        self.tell("go")
        self.tell("stop")
        assert self.process.wait(LIMIT) == 0, self.output
        rounds = next(line for line in self.output.splitlines() if "behind the wait" in line)
        return json.loads(self.report_file.read_text()), int(rounds.split()[0])

    def remove(self):
        """Ends the job as it may be, and removes what it has written."""
        if self.process.poll() is None:
            self.tell("go")
            self.tell("stop")
            try:
                self.process.wait(LIMIT)
            except subprocess.TimeoutExpired:
                self.process.terminate()
                self.process.wait(LIMIT)
        shutil.rmtree(self.directory)
