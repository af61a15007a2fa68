//! One run of a program: bare, under Invivo as a user types it, or under the rival; and the proof
//! that the tool recorded it.

use super::app::{App, Said};
use crate::bench::eztrace;
use crate::bench::machine::own_s;
use crate::bench::mpi::{Report, behind_run};
use crate::bench::results::folder;
use crate::run::output;
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// The least time of a main loop, in seconds: the start of tools and one pause of the machine are
/// small beside it.
const LOOP_S: f64 = 10.0;
/// A loop is planned so much longer, because another run may be that much faster.
const SPARE: f64 = 1.05;

/// What a program runs under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Under {
    Nothing,
    Invivo,
    Eztrace,
}

/// One run of a program.
pub struct Ran {
    pub said: Said,
    /// Time of the main loop, in seconds.
    pub seconds: f64,
    /// What Invivo reported.
    pub report: Option<Report>,
    /// CPU time of the whole job, in seconds.
    cpu_s: f64,
}

impl Ran {
    /// CPU time of all that is not a rank in its main loop, in seconds: launcher, tools, start and
    /// end.
    pub fn beside_s(&self) -> Option<f64> {
        Some(self.cpu_s - self.said.cpu_s?)
    }
}

impl App {
    /// The line as one would type it.
    fn line(&self) -> Command {
        let mut line = self.mpi.launch(self.ranks);
        line.current_dir(&self.folder);
        line
    }

    /// The line behind `invivo run`, with its report in that file.
    pub fn under_invivo(&self, report: &Path) -> Command {
        let mut line = self.line();
        line.arg(&self.program).args(&self.arguments);
        behind_run(&line, report)
    }

    /// Runs the program once; fails where the tool has not recorded it.
    pub fn run(&self, under: Under) -> Result<Ran> {
        let file = folder().join("pairs-report.json");
        let mut line = if under == Under::Invivo {
            self.under_invivo(&file)
        } else {
            let mut line = self.line();
            if under == Under::Eztrace {
                eztrace::preload(self.mpi, &mut line, &self.program, &self.folder)?;
            }
            line.arg(&self.program).args(&self.arguments);
            line
        };

        // CPU time of all processes of the job, children of this one: read before and after.
        let (before, begun) = (own_s(), Instant::now());
        let text = output(&mut line)?;
        let (cpu_s, seconds) = (own_s() - before, begun.elapsed().as_secs_f64());

        let said = (self.read)(&text, &self.folder).with_context(|| self.name.clone())?;
        if under == Under::Eztrace {
            let calls = said.made.iter().map(|(_, calls)| calls).sum();
            eztrace::has_traced(&self.program, &self.folder, calls)?;
        }
        let report = (under == Under::Invivo).then(|| self.checked(&file, &said));
        Ok(Ran {
            // A program that does not time its own loop is timed as a whole.
            seconds: said.seconds.unwrap_or(seconds),
            report: report.transpose()?,
            said,
            cpu_s,
        })
    }

    fn checked(&self, file: &Path, said: &Said) -> Result<Report> {
        let report = Report::read(file)?;
        report
            .balances(self.ranks)
            .with_context(|| self.name.clone())?;

        // Of real programs nobody says what they call: but recording was on when they began, and
        // when they ended.
        let ends = ["MPI_Init", "MPI_Finalize"].map(|name| (name, u64::from(self.ranks)));
        let made = said
            .made
            .iter()
            .map(|(name, calls)| (name.as_str(), *calls));
        for (function, calls) in made.chain(ends) {
            report
                .has_called(function, calls)
                .with_context(|| self.name.clone())?;
        }
        Ok(report)
    }

    /// The same program with a main loop that is long enough, by a run of it as it is.
    pub fn long_enough(mut self) -> Result<App> {
        let Some(at) = self.steps else {
            return Ok(self);
        };
        let took = self.run(Under::Nothing)?.seconds;
        let steps: f64 = self.arguments[at].parse()?;
        let longer = (LOOP_S * SPARE / took).max(1.0);
        self.arguments[at] = ((steps * longer).ceil() as u64).to_string();
        Ok(self)
    }
}
