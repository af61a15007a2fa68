//! `invivo doctor`: checks this machine, this installation and a program before a job runs.
//!
//! ```text
//! finding            what a check found, and how it looks
//! installation       our own files, MPI's launchers
//! machine            directories, memory, kernel
//! sampling           whether ranks can be sampled
//! application        the program that is to run
//! self_test          a job of two ranks whose counts are known
//! bounded            commands that must not hang
//! ```

mod application;
mod bounded;
mod finding;
mod installation;
mod known_launcher;
mod machine;
mod sampling;
mod self_test;

use crate::job::environment::{Environment, search_path};
use crate::output::print;
use clap::Args;
use finding::{Finding, Level};
use invivo_report::JSON_VERSION;
use serde_json::json;
use std::ffi::OsString;
use std::process::ExitCode;

/// Check this machine, this installation, and a program if one is named; ends with a job of two
/// ranks.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  invivo doctor
  invivo doctor ./app           is it a program that can be observed, and does the launcher fit it?
  invivo doctor --json

The status is 0 when nothing failed, and 1 otherwise.")]
pub struct DoctorArgs {
    /// Leave the job of two ranks out.
    #[arg(long)]
    no_self_test: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// A program that is to run under Invivo.
    #[arg(value_name = "PROGRAM")]
    program: Option<OsString>,
}

/// Runs all checks and prints what they found.
pub fn doctor(args: DoctorArgs) -> ExitCode {
    let environment: Environment = std::env::vars_os().collect();
    let path = search_path(&environment);
    let mut told = Told {
        json: args.json,
        findings: Vec::new(),
    };
    let installed = installation::check(&environment);
    told.tell(installed.findings.clone());
    let launchers = installation::launchers(path);
    told.tell(installation::about_launchers(
        &launchers,
        &installed.families,
    ));
    if let Some(program) = &args.program {
        told.tell(application::check(
            program,
            &environment,
            &installed.families,
            &launchers,
        ));
    }
    told.tell(machine::check(&environment));
    if !args.no_self_test {
        // The standard's interface has no program of its own.
        for family in installed
            .families
            .iter()
            .filter(|family| family.launched_by() == **family)
        {
            let launcher = launchers.iter().find(|launcher| launcher.family == *family);
            told.tell(self_test::run(&installed, *family, launcher, &environment));
        }
    }
    told.finish()
}

/// Findings, printed as they come, or all together as JSON.
struct Told {
    json: bool,
    findings: Vec<Finding>,
}

impl Told {
    fn tell(&mut self, findings: impl IntoIterator<Item = Finding>) {
        for finding in findings {
            if !self.json {
                print(&finding.text());
            }
            self.findings.push(finding);
        }
    }

    fn finish(self) -> ExitCode {
        let of = |level: Level| {
            self.findings
                .iter()
                .filter(|finding| finding.level == level)
                .count()
        };
        let (failed, notes) = (of(Level::Failed), of(Level::Note));
        if self.json {
            let findings: Vec<_> = self.findings.iter().map(Finding::json).collect();
            print(&format!(
                "{}\n",
                json!({ "version": JSON_VERSION, "ok": failed == 0, "findings": findings })
            ));
        } else if failed == 0 {
            print(&format!("\nNothing stands in the way{}.\n", noted(notes)));
        } else {
            print(&format!("\n{failed} failed{}.\n", noted(notes)));
        }
        ExitCode::from(u8::from(failed > 0))
    }
}

fn noted(notes: usize) -> String {
    match notes {
        0 => String::new(),
        1 => "; 1 note".to_owned(),
        many => format!("; {many} notes"),
    }
}
