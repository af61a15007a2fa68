//! Compiles for Debian's two MPIs, launches jobs with them, and checks reports of observed jobs:
//! they must have recorded everything.

use super::programs::invivo;
use super::results::folder;
use crate::run::{allow_root, check, root};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// An MPI of the benches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mpi {
    /// Its name in results.
    pub title: &'static str,
    /// Its name in Debian's alternatives.
    name: &'static str,
}

pub const OPEN_MPI: Mpi = Mpi {
    title: "Open MPI",
    name: "openmpi",
};
/// Both MPIs.
pub const MPIS: [Mpi; 2] = [
    OPEN_MPI,
    Mpi {
        title: "MPICH",
        name: "mpich",
    },
];
/// The part of a job's calls that may go unrecorded before its run is refused: a machine that
/// others use may keep a place from taking packets for a moment.
const DROPPED_MAX: f64 = 0.01;
/// The same where what was dropped stands beside the figure: a run that recorded less is none that
/// was observed.
const DROPPED_SHOWN_MAX: f64 = 0.1;
/// The least bytes of a record: function, begin and length.
const RECORD_BYTES_MIN: u64 = 3;

impl Mpi {
    /// Compiles a file of xtask/bench, C or Fortran by its name, into target/bench; the options go
    /// behind it.
    pub fn compile(self, source: &str, output: &str, options: &[&str]) -> Result<PathBuf> {
        let built = folder().join(format!("{output}-{}", self.name));
        let is_fortran = source.ends_with(".f90");
        let compiler = if is_fortran { "mpifort" } else { "mpicc" };
        let mut compile = Command::new(format!("{compiler}.{}", self.name));
        compile.args(["-O2", "-Wall", "-o"]).arg(&built);
        if is_fortran {
            // Modules have no name of their own to be told apart by.
            compile.arg("-J").arg(folder());
        } else {
            // MPICH's header says that statuses have a length, also where they are to be ignored.
            compile.arg("-Wno-stringop-overflow");
        }
        compile.arg(root().join("xtask/bench").join(source));
        check(compile.args(options))?;
        Ok(built)
    }

    /// `mpiexec -n COUNT`, allowed to start more processes than there are cores.
    pub fn launch(self, count: u32) -> Command {
        let mut launch = Command::new(format!("mpiexec.{}", self.name));
        allow_root(&mut launch);
        if self == OPEN_MPI {
            launch.arg("--oversubscribe");
        }
        launch.args(["-n", &count.to_string()]);
        launch.current_dir(folder()).stdin(Stdio::null());
        launch
    }

    /// Whether Open MPI gives the processor away whenever it looks for messages and finds none;
    /// MPICH has no such choice.
    pub fn yielding(self, launch: &mut Command, yields: bool) {
        if self == OPEN_MPI {
            launch.args([
                "--mca",
                "mpi_yield_when_idle",
                if yields { "1" } else { "0" },
            ]);
        }
    }

    /// Preloads a library into the processes of a launch.
    pub fn preload(self, launch: &mut Command, library: &Path) {
        let library = library.display().to_string();
        if self == OPEN_MPI {
            launch.args(["-x", &format!("LD_PRELOAD={library}")]);
        } else {
            launch.args(["-env", "LD_PRELOAD", &library]);
        }
    }

    /// EZTrace's library for it, where it is installed.
    pub fn eztrace(self) -> Option<PathBuf> {
        let name = format!("/usr/lib/x86_64-linux-gnu/libeztrace-{}.so", self.name);
        Some(PathBuf::from(name)).filter(|library| library.exists())
    }
}

/// Adds the words that put the program under Invivo, with its report in that file.
pub fn observed(launch: &mut Command, report: &Path, options: &[&str]) {
    // A report of an earlier run must not be taken for this one's.
    let _ = std::fs::remove_file(report);
    launch.arg(invivo());
    launch
        .args(["exec", "--no-config", "--quiet", "--report"])
        .arg(report);
    launch.args(options).arg("--");
}

/// Options that give a place and the root a process each, as before there was one for both.
pub const APART: &[&str] = &["--fan-in", "16"];

/// The launcher's line as it is, behind `invivo run --`: what a user would type.
pub fn behind_run(line: &Command, report: &Path) -> Command {
    behind_run_with(&[], line, report)
}

/// The same with options of `invivo run`.
pub fn behind_run_with(options: &[&str], line: &Command, report: &Path) -> Command {
    // A report of an earlier run must not be taken for this one's.
    let _ = std::fs::remove_file(report);
    let mut run = Command::new(invivo());
    run.args(["run", "--no-config", "--quiet", "--report"])
        .arg(report);
    run.args(options).arg("--").arg(line.get_program());
    run.args(line.get_args());
    allow_root(&mut run);
    run.current_dir(line.get_current_dir().unwrap_or(&folder()))
        .stdin(Stdio::null());
    run
}

/// Processes of a job on one node with so many ranks: one more.
pub fn with_tools(ranks: u32) -> u32 {
    ranks + 1
}

/// The report of an observed job.
pub struct Report(Value);

impl Report {
    /// Reads a report from its file.
    pub fn read(path: &Path) -> Result<Report> {
        let text = std::fs::read(path).with_context(|| format!("the report {}", path.display()))?;
        Ok(Report(serde_json::from_slice(&text)?))
    }

    fn of_coverage(&self, name: &str) -> Result<u64> {
        let number = &self.0["coverage"][name];
        number
            .as_u64()
            .with_context(|| format!("{name} in the report"))
    }

    fn of_ledger(&self, name: &str) -> Result<u64> {
        let number = &self.0["coverage"]["ledger"][name];
        number
            .as_u64()
            .with_context(|| format!("{name} in the report"))
    }

    /// Calls that were dropped by the ranks or by their place.
    pub fn dropped(&self) -> Result<u64> {
        let of_ranks = self.0["coverage"]["ledger"]["dropped"]
            .as_object()
            .context("dropped")?;
        let of_ranks: u64 = of_ranks.values().filter_map(Value::as_u64).sum();
        Ok(of_ranks + self.of_ledger("dropped_by_place")?)
    }

    /// Calls that were entered while they were recorded.
    pub fn entered(&self) -> Result<u64> {
        self.of_ledger("entered")
    }

    /// Calls whose records came to the places.
    pub fn taken(&self) -> Result<u64> {
        let places = ["kept", "reduced", "dropped_by_place", "reset"];
        places.iter().map(|name| self.of_ledger(name)).sum()
    }

    /// Bytes of records that came to the places.
    pub fn payload_bytes(&self) -> Result<u64> {
        self.of_coverage("payload_bytes")
    }

    /// Packets that went over MPI.
    pub fn packets(&self) -> Result<u64> {
        self.of_coverage("packets_mpi")
    }

    /// CPU time of the tool processes, in ns.
    pub fn tool_cpu_ns(&self) -> Result<u64> {
        self.of_coverage("tool_cpu_ns")
    }

    /// Calls of a function, all ranks together.
    pub fn calls(&self, function: &str) -> u64 {
        let rows = self.0["totals"].as_array().into_iter().flatten();
        let row = rows.filter(|row| row["function"] == function);
        row.filter_map(|row| row["calls"].as_u64()).sum()
    }

    /// Fails unless all these ranks were observed, the ledger balances, and next to nothing was
    /// dropped.
    pub fn is_complete(&self, ranks: u32) -> Result<()> {
        self.balances(ranks)?;
        let (entered, dropped) = (self.entered()?, self.dropped()?);
        ensure!(
            dropped as f64 <= entered as f64 * DROPPED_MAX,
            "{dropped} of {entered} calls were dropped: too busy a machine to measure on"
        );
        Ok(())
    }

    /// Fails unless all these ranks were observed, the ledger balances, and most was recorded: what
    /// was dropped is counted, and stands beside the figures.
    pub fn balances(&self, ranks: u32) -> Result<()> {
        ensure!(
            self.of_coverage("ranks_reporting")? == u64::from(ranks)
                && self.of_coverage("members_missing")? == 0,
            "not all ranks were observed: {}",
            self.0["coverage"]
        );

        let (entered, dropped) = (self.entered()?, self.dropped()?);
        let placed = [
            "open",
            "in_flight",
            "kept",
            "reduced",
            "reset",
            "not_selected",
        ];
        let placed = placed
            .iter()
            .map(|name| self.of_ledger(name))
            .sum::<Result<u64>>()?;
        ensure!(
            placed + dropped == entered,
            "the books do not balance: {}",
            self.0["coverage"]
        );
        // Every rank begins and ends.
        ensure!(
            entered >= 2 * u64::from(ranks),
            "{entered} calls only were recorded"
        );

        let (bytes, taken) = (self.payload_bytes()?, self.taken()?);
        ensure!(
            bytes >= RECORD_BYTES_MIN * taken,
            "{bytes} bytes cannot be the records of {taken} calls"
        );
        ensure!(
            dropped as f64 <= entered as f64 * DROPPED_SHOWN_MAX,
            "{dropped} of {entered} calls were dropped: this is no observed run"
        );
        Ok(())
    }

    /// Fails unless the job was observed and nothing was recorded.
    pub fn is_off(&self, ranks: u32) -> Result<()> {
        let seen = self.0["job"]["ranks"].as_u64();
        ensure!(
            seen == Some(u64::from(ranks)),
            "not all ranks were there: {}",
            self.0["job"]
        );
        ensure!(
            self.entered()? == 0 && self.payload_bytes()? == 0,
            "something was recorded: {}",
            self.0["coverage"]
        );
        Ok(())
    }

    /// Fails unless a function was called so often by the report, but for what was dropped.
    pub fn has_called(&self, function: &str, calls: u64) -> Result<()> {
        let (told, dropped) = (self.calls(function), self.dropped()?);
        ensure!(
            told <= calls && told + dropped >= calls,
            "{told} calls of {function} are in the report, {calls} were made ({dropped} dropped)"
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn report(entered: u64, kept: u64, dropped: u64) -> Report {
        Report(json!({
            "job": { "ranks": 2 },
            "coverage": {
                "ranks_reporting": 2, "members_missing": 0, "payload_bytes": 7 * kept,
                "ledger": {
                    "entered": entered, "open": 0, "in_flight": 0, "kept": kept, "reduced": 0,
                    "reset": 0, "not_selected": 0,
                    "dropped_by_place": 0, "dropped": { "no_packet": dropped, "no_location": 0,
                    },
                },
            },
            "totals": [{ "function": "MPI_Send", "calls": kept }],
        }))
    }

    #[test]
    fn a_run_that_recorded_too_little_counts_as_none() {
        assert!(report(1000, 995, 5).is_complete(2).is_ok());
        assert!(report(1000, 995, 5).is_complete(3).is_err());
        assert!(report(0, 0, 0).is_complete(2).is_err());
        assert!(
            report(3, 3, 0).is_complete(2).is_err(),
            "fewer than beginnings and ends"
        );
        let mut empty = report(1000, 1000, 0);
        empty.0["coverage"]["payload_bytes"] = 2000.into();
        assert!(empty.is_complete(2).is_err(), "no record is that short");
        assert!(report(1000, 990, 5).is_complete(2).is_err());
        assert!(report(1000, 500, 500).is_complete(2).is_err());
        assert!(report(1000, 950, 50).is_complete(2).is_err());
        assert!(report(1000, 950, 50).balances(2).is_ok());
        assert!(report(1000, 500, 500).balances(2).is_err());
        assert!(report(1000, 995, 5).has_called("MPI_Send", 1000).is_ok());
        assert!(report(1000, 1000, 0).has_called("MPI_Send", 999).is_err());
        assert!(report(1000, 1000, 0).has_called("MPI_Recv", 1).is_err());
        assert!(report(0, 0, 0).is_off(2).is_ok());
        assert!(report(1, 1, 0).is_off(2).is_err());
    }
}
