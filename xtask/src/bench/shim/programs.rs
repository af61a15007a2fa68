//! Runs the program under each tool, and checks that the tool has recorded its calls.

use super::tool::{RANKS, Tool};
use crate::bench::eztrace;
use crate::bench::mpi::{Mpi, Report, observed, with_tools};
use crate::bench::results::folder;
use crate::bench::statistics::quantile;
use crate::run::output;
use anyhow::{Result, ensure};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The compiled programs and libraries for one MPI.
pub struct Programs {
    pub mpi: Mpi,
    calls: PathBuf,
    pass: PathBuf,
    stamps: PathBuf,
}

impl Programs {
    /// Compiles all of them.
    pub fn new(mpi: Mpi) -> Result<Programs> {
        let shared = ["-shared", "-fPIC"];
        Ok(Programs {
            mpi,
            calls: mpi.compile("calls.c", "calls", &[])?,
            pass: mpi.compile("stamps.c", "libpass.so", &["-shared", "-fPIC", "-DPASS"])?,
            stamps: mpi.compile("stamps.c", "libstamps.so", &shared)?,
        })
    }

    /// Runs the program under a tool; fails where the tool has not recorded what it called.
    pub fn run(&self, tool: Tool, mode: [&str; 2]) -> Result<Said> {
        let report = folder().join("shim-report.json");
        let is_observed = matches!(tool, Tool::Off | Tool::On);
        let mut launch = self.mpi.launch(if is_observed {
            with_tools(RANKS)
        } else {
            RANKS
        });
        // Off in all runs, with tools and without: see the head of `shim.rs`.
        self.mpi.yielding(&mut launch, false);
        match tool {
            Tool::Bare => {}
            Tool::Pass => self.mpi.preload(&mut launch, &self.pass),
            Tool::Stamps => self.mpi.preload(&mut launch, &self.stamps),
            Tool::Off => observed(&mut launch, &report, &["--recording", "off"]),
            Tool::On => observed(&mut launch, &report, &[]),
            Tool::Eztrace => eztrace::preload(self.mpi, &mut launch, &self.calls, &folder())?,
        }

        // A tool that was not active is fast: its own output proves that it was.
        let mut said = Said::read(&output(launch.arg(&self.calls).args(mode))?)?;
        match tool {
            Tool::Off => Report::read(&report)?.is_off(RANKS)?,
            Tool::On => {
                let report = Report::read(&report)?;
                report.is_complete(RANKS)?;
                for (function, calls) in &said.made {
                    report.has_called(function, *calls)?;
                }
                said.packets = report.packets()?;
            }
            Tool::Eztrace => {
                eztrace::has_traced(&self.calls, &folder(), said.made.values().sum())?;
            }
            Tool::Bare | Tool::Pass | Tool::Stamps => {}
        }
        Ok(said)
    }
}

/// The output of the program; other tools' lines between are left out.
#[derive(Default)]
pub struct Said {
    /// ns per call on the wall and of the thread, by kind.
    times: BTreeMap<String, Vec<(f64, f64)>>,
    /// Calls by function.
    pub made: BTreeMap<String, u64>,
    /// ns of a single call, by the part of all calls that take as long or shorter.
    pub quantiles: BTreeMap<String, f64>,
    /// The slowest calls, longest first.
    slow: Vec<f64>,
    /// Packets that the job sent.
    pub packets: u64,
}

impl Said {
    fn read(text: &str) -> Result<Said> {
        let mut said = Said::default();
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["time", kind, wall, cpu] => {
                    let times = said.times.entry(kind.to_owned()).or_default();
                    times.push((wall.parse()?, cpu.parse()?));
                }
                ["made", function, calls] => {
                    said.made.insert(function.to_owned(), calls.parse()?);
                }
                ["quantile", part, ns] => {
                    said.quantiles.insert(part.to_owned(), ns.parse()?);
                }
                ["slow", ns] => said.slow.push(ns.parse()?),
                _ => {}
            }
        }
        ensure!(!said.made.is_empty(), "the program did not come to its end");
        Ok(said)
    }

    /// The medians of a kind's batches.
    pub fn ns(&self, kind: &str) -> Option<(f64, f64)> {
        let times = self.times.get(kind)?;
        let median = |of: fn(&(f64, f64)) -> f64| {
            let mut values: Vec<f64> = times.iter().map(of).collect();
            quantile(&mut values, 0.5).ok()
        };
        Some((median(|time| time.0)?, median(|time| time.1)?))
    }

    /// The median of as many of the slowest calls as packets were filled.
    pub fn switch_ns(&self, packets: u64) -> Result<f64> {
        let count = usize::try_from(packets)?.min(self.slow.len());
        quantile(&mut self.slow[..count].to_vec(), 0.5)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_other_tools_say_between_is_left_out() {
        let text = "EZTrace MPI: a line\ntime iprobe 50.0 49.0\ntime iprobe 60.0 51.0\ntime iprobe \
            55.0 50.0\n\
                    slow 900.0\nslow 800.0\nslow 100.0\nmade MPI_Iprobe 60000\n";
        let said = Said::read(text).unwrap();
        assert_eq!(said.ns("iprobe"), Some((55.0, 50.0)));
        assert_eq!(said.ns("sendrecv"), None);
        assert_eq!(said.made["MPI_Iprobe"], 60_000);
        assert_eq!(said.switch_ns(1).unwrap(), 900.0);
        assert_eq!(said.switch_ns(3).unwrap(), 800.0);
        assert!(Said::read("time iprobe 50.0 49.0\n").is_err());
    }
}
