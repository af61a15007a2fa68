//! Long tests with other numbers than those of `cargo xtask test --all`.

use crate::fuzz::targets::{TARGETS, target};
use crate::fuzz::{self, corpus};
use crate::run::{allow_root, cargo, check, dist, dist_hooks, python};
use anyhow::Result;
use std::process::Command;

/// Random kills and stops.
#[derive(clap::Args)]
pub struct Kills {
    /// How many.
    #[arg(long, default_value_t = 1000)]
    cases: u64,
    /// What they are made of.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// One case again, by the seed that it was named with.
    #[arg(long, value_name = "SEED", conflicts_with_all = ["cases", "seed"])]
    case: Option<u64>,
    /// The MPIs that take turns, such as `ompi,mpich5`; `ompi` and `mpich` without it.
    #[arg(long, value_name = "NAMES")]
    mpi: Option<String>,
    /// Write the manual's table of what was found.
    #[arg(long)]
    bless: bool,
}

/// A long life of one job.
#[derive(clap::Args)]
pub struct Soak {
    /// For so long; less than three tell nothing.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(3..))]
    minutes: u64,
    /// What is done to it is made of this.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// One such job for each of these MPIs, such as `ompi,mpich`; `ompi` without it.
    #[arg(long, value_name = "NAMES")]
    mpi: Option<String>,
}

/// Fuzzing of the decoders.
#[derive(clap::Args)]
pub struct Fuzz {
    /// Each target for so long.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Only these targets of proto/fuzz, such as `packet,tree`.
    #[arg(long, value_delimiter = ',', value_name = "NAMES", value_parser = target)]
    target: Vec<&'static str>,
    /// Keep the best of what was found in proto/fuzz/corpus, which is checked in.
    #[arg(long)]
    keep: bool,
}

/// One of the end-to-end tests.
fn test(file: &str, name: &str) -> Command {
    let mut test = cargo();
    test.args(["test", "-p", "invivo-e2e", "--test", file, "--"]);
    test.args([name, "--include-ignored", "--nocapture"]);
    test.env("INVIVO_DIST", dist())
        .env("INVIVO_DIST_HOOKS", dist_hooks())
        .env("INVIVO_PYTHON", python().join("bin/python"));
    test
}

impl Fuzz {
    /// Runs it.
    pub fn run(&self) -> Result<()> {
        let targets = match self.target.as_slice() {
            [] => TARGETS.as_slice(),
            some => some,
        };
        fuzz::run(targets, self.seconds)?;
        if self.keep {
            corpus::keep(targets)?;
        }
        Ok(())
    }
}

impl Kills {
    /// Runs them.
    pub fn run(&self) -> Result<()> {
        let mut test = test("kills", "a_thousand_random_kills_and_stops");
        test.env("INVIVO_KILLS_CASES", self.cases.to_string())
            .env("INVIVO_KILLS_SEED", self.seed.to_string());
        if let Some(case) = self.case {
            test.env("INVIVO_KILLS_CASE", case.to_string());
        }
        if let Some(names) = &self.mpi {
            test.env("INVIVO_KILLS_MPI", names);
        }
        if self.bless {
            test.env("INVIVO_BLESS", "1");
        }
        check(allow_root(&mut test))
    }
}

impl Soak {
    /// Runs it.
    pub fn run(&self) -> Result<()> {
        let mut test = test("soak", "half_an_hour_of_everything");
        test.env("INVIVO_SOAK_SECONDS", (60 * self.minutes).to_string())
            .env("INVIVO_SOAK_SEED", self.seed.to_string());
        if let Some(names) = &self.mpi {
            test.env("INVIVO_SOAK_MPI", names);
        }
        check(allow_root(&mut test))
    }
}
