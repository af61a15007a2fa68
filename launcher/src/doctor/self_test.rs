//! Runs a job of two ranks under `invivo run` and compares its report with the known calls.
//!
//! The program comes with the installation (`deploy/self-test.c`), so that no compiler is needed.
//! Like the tool processes it names no MPI library, whose file has another name on another machine:
//! it is given the launcher's.

use super::bounded;
use super::finding::Finding;
use super::installation::Installed;
use super::known_launcher::Launcher;
use crate::job::environment::{Environment, Family, search_path};
use crate::mpi::library;
use crate::mpi::preload::PRELOAD;
use crate::mpi::program;
use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Ranks of the job.
const RANKS: u64 = 2;
/// What each rank calls, as `deploy/self-test.c` says: function and number of calls.
const CALLS: [(&str, u64); 4] = [
    ("MPI_Init", 1),
    ("MPI_Sendrecv", 100),
    ("MPI_Barrier", 10),
    ("MPI_Finalize", 1),
];
/// Bytes of each of its messages.
const MESSAGE_BYTES: u64 = 64;
/// The longest that the job may take: its four processes take two seconds on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs it with one family.
pub fn run(
    installed: &Installed,
    family: Family,
    launcher: Option<&Launcher>,
    environment: &Environment,
) -> Vec<Finding> {
    let check = "self-test";
    let title = family.title();
    let (Some(artefacts), Some(launcher)) = (&installed.artefacts, launcher) else {
        return Vec::new();
    };
    let program = artefacts.self_test(family);
    if !program.is_file() {
        return vec![Finding::note(
            check,
            format!("{title}: this installation has no {}", program.display()),
            "install the whole tree of Invivo",
        )];
    }
    let Some(library) = library(launcher, environment) else {
        return vec![Finding::note(
            check,
            format!(
                "{title}: {} has no library beside it, and the loader finds none",
                launcher.name
            ),
            format!("load the module of {title}, or put its lib directory into LD_LIBRARY_PATH"),
        )];
    };
    vec![match job(launcher, &library, &program, environment) {
        Ok(calls) => Finding::good(
            check,
            format!("{title}: {RANKS} ranks, all of their {calls} calls observed"),
        ),
        Err(why) => Finding::failed(
            check,
            format!("{title}: {why}"),
            format!("try it by hand: {}", line(launcher, &library, &program)),
        ),
    }]
}

/// The library that belongs to a launcher: beside it, or where the loader looks.
fn library(launcher: &Launcher, environment: &Environment) -> Option<PathBuf> {
    let path = search_path(environment);
    let file = program::find(OsStr::new(&launcher.name), path);
    library::expected(file.as_deref(), launcher.family, environment)
        .filter(|library| library.family == launcher.family)
        .map(|library| library.file)
}

/// Options without which a launcher starts no four processes everywhere.
fn options(family: Family) -> &'static [&'static str] {
    match family {
        Family::Ompi => &["--oversubscribe"],
        Family::Mpich | Family::Abi => &[],
    }
}

/// The launcher's line without us.
fn line(launcher: &Launcher, library: &Path, program: &Path) -> String {
    let words = options(launcher.family).join(" ");
    let line = format!(
        "{} {words} -n {RANKS} env LD_PRELOAD={} {}",
        launcher.name,
        library.display(),
        program.display()
    );
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Runs the job; says how many calls were observed, or what went wrong.
fn job(
    launcher: &Launcher,
    library: &Path,
    program: &Path,
    environment: &Environment,
) -> Result<u64, String> {
    let name = format!(
        "invivo-doctor-{}-{}",
        std::process::id(),
        launcher.family.name()
    );
    let dir = std::env::temp_dir().join(name);
    std::fs::create_dir(&dir).map_err(|error| format!("cannot make {}: {error}", dir.display()))?;
    let ran = in_directory(launcher, library, program, environment, &dir);
    // What cannot be removed there is of no use to anybody.
    let _ = std::fs::remove_dir_all(&dir);
    ran
}

/// The user's `LD_PRELOAD`, and the MPI library behind it.
fn preloads(environment: &Environment, library: &Path) -> OsString {
    let mut all = environment
        .get(OsStr::new(PRELOAD))
        .cloned()
        .unwrap_or_default();
    if !all.is_empty() {
        all.push(":");
    }
    all.push(library);
    all
}

fn in_directory(
    launcher: &Launcher,
    library: &Path,
    program: &Path,
    environment: &Environment,
    dir: &Path,
) -> Result<u64, String> {
    let invivo =
        std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    // Without configuration files: a user's options would change what is expected.
    let report = dir.join("report.json");
    let mut command = Command::new(invivo);
    command
        .args(["run", "--no-config", "--quiet", "--report"])
        .arg(&report)
        .arg("--");
    command
        .arg(&launcher.name)
        .args(options(launcher.family))
        .args(["-n", &RANKS.to_string()])
        .arg(program);
    if rustix::process::geteuid().is_root() {
        // Open MPI refuses root otherwise, and this is no job that could do harm.
        command
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    }
    command
        .env(PRELOAD, preloads(environment, library))
        .env_remove(crate::job::job_id::ENV_JOB)
        .current_dir(dir);
    let done = bounded::run(&mut command, PATIENCE)
        .map_err(|error| format!("cannot start it: {error}"))?;
    if !done.well() {
        return Err(format!("the job failed: {}", done.complaint()));
    }
    let text =
        std::fs::read(&report).map_err(|error| format!("the job left no report: {error}"))?;
    let report =
        serde_json::from_slice(&text).map_err(|error| format!("the report is no JSON: {error}"))?;
    judge(&report)
}

/// Compares a report with what the program does.
fn judge(report: &Value) -> Result<u64, String> {
    let number = |value: &Value| value.as_u64().unwrap_or(0);
    let rows = report["totals"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let mut all = 0;
    for (function, calls) in CALLS {
        let row = rows.iter().find(|row| row["function"] == function);
        let found = row.map_or(0, |row| number(&row["calls"]));
        if found != calls * RANKS {
            return Err(format!(
                "{found} calls of {function} were observed, {} were made",
                calls * RANKS
            ));
        }
        all += found;
    }
    let entered = number(&report["coverage"]["ledger"]["entered"]);
    if entered != all {
        return Err(format!("{entered} calls were counted, {all} were made"));
    }
    let cells = report["matrix"]["sent"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let sum = |name: &str| cells.iter().map(|cell| number(&cell[name])).sum::<u64>();
    let messages = RANKS
        * CALLS
            .iter()
            .find(|(name, _)| *name == "MPI_Sendrecv")
            .map_or(0, |(_, calls)| *calls);
    if (sum("messages"), sum("bytes")) != (messages, messages * MESSAGE_BYTES) {
        return Err(format!(
            "{} messages with {} bytes were observed, {messages} with {} were sent",
            sum("messages"),
            sum("bytes"),
            messages * MESSAGE_BYTES
        ));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn report() -> Value {
        let totals: Vec<Value> = CALLS
            .iter()
            .map(|(function, calls)| json!({ "function": function, "calls": calls * RANKS }))
            .collect();
        json!({
            "totals": totals,
            "coverage": { "ledger": { "entered": 224 } },
            "matrix": { "sent": [
                { "source": 0, "destination": 1, "messages": 100, "bytes": 6400 },
                { "source": 1, "destination": 0, "messages": 100, "bytes": 6400 },
            ]},
        })
    }

    #[test]
    fn the_library_is_the_last_of_the_preloads() {
        let library = Path::new("/opt/mpi/lib/libmpi.so.40");
        let mut environment = Environment::new();
        assert_eq!(preloads(&environment, library), library);
        environment.insert(PRELOAD.into(), "/lib/tool.so".into());
        assert_eq!(
            preloads(&environment, library),
            "/lib/tool.so:/opt/mpi/lib/libmpi.so.40"
        );
    }

    #[test]
    fn a_launcher_brings_the_library_beside_it() {
        let dir = tempfile::tempdir().expect("directory");
        let library_beside = dir.path().join("lib/libmpi.so.40");
        std::fs::create_dir_all(dir.path().join("lib")).expect("made");
        std::fs::create_dir_all(dir.path().join("bin")).expect("made");
        std::fs::write(&library_beside, "").expect("written");
        let mpiexec = dir.path().join("bin/mpiexec");
        std::fs::copy("/bin/true", &mpiexec).expect("copied");
        let launcher = Launcher {
            name: "mpiexec".into(),
            family: Family::Ompi,
            version: String::new(),
        };
        let mut environment = Environment::new();
        environment.insert("PATH".into(), dir.path().join("bin").into());
        assert_eq!(
            library(&launcher, &environment).as_deref(),
            Some(library_beside.as_path())
        );
        let by_hand = line(&launcher, &library_beside, Path::new("/x/self-test"));
        let expected = format!(
            "mpiexec --oversubscribe -n 2 env LD_PRELOAD={} /x/self-test",
            library_beside.display()
        );
        assert_eq!(by_hand, expected);
    }

    #[test]
    fn a_silent_shim_and_a_lossy_one_are_found_out() {
        assert_eq!(judge(&report()), Ok(224));
        assert!(judge(&json!({})).is_err(), "nothing was observed");
        let mut lossy = report();
        lossy["totals"][1]["calls"] = json!(199);
        let why = judge(&lossy).expect_err("one is missing");
        assert!(
            why.contains("199 calls of MPI_Sendrecv") && why.contains("200"),
            "{why}"
        );
        let mut more = report();
        more["coverage"]["ledger"]["entered"] = json!(225);
        assert!(judge(&more).is_err());
        let mut wrong = report();
        wrong["matrix"]["sent"][0]["bytes"] = json!(1);
        assert!(judge(&wrong).is_err());
    }
}
