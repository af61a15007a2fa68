//! Tool processes run on the processors that the ranks leave, and on all where they leave none.

use invivo_e2e::job::{Job, Running};
use invivo_e2e::logs::clock_log::wait_for_ticks;
use invivo_e2e::mpi::Family;
use invivo_e2e::paths;
use invivo_e2e::processes::Process;
use invivo_e2e::programs::program;
use invivo_e2e::remarks::not_tested;
use std::ffi::OsString;
use std::path::Path;
use tempfile::TempDir;

/// The processors of a process, as the kernel lists them.
fn processors(process: &Process) -> String {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.pid));
    let status = status.expect("a process that lives");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    line.expect("its processors").trim().to_owned()
}

/// The processors of a list such as `0-2,5`.
fn listed(list: &str) -> Vec<u32> {
    let number = |text: &str| text.parse::<u32>().expect("a number");
    let spans = list
        .split(',')
        .map(|span| span.split_once('-').unwrap_or((span, span)));
    spans
        .flat_map(|(first, last)| number(first)..=number(last))
        .collect()
}

/// The processors of this test and of every launcher that it starts. Less than two are too few.
fn all() -> Option<Vec<u32>> {
    let all = listed(&processors(&Process::with_pid(std::process::id())));
    if all.len() > 1 {
        return Some(all);
    }
    not_tested("where tools run: this test may use one processor only");
    None
}

/// `compute` under `invivo exec`, each process of the job bound to the processor of its number, or
/// to the first where there is none of that number.
fn bound(family: Family, ranks: u32, all: &[u32], home: &Path) -> Job {
    let number = match family.is_open_mpi() {
        true => "$OMPI_COMM_WORLD_RANK",
        false => "$PMI_RANK",
    };
    let cases: String = (0..)
        .zip(all)
        .map(|(rank, cpu)| format!("{rank}) cpu={cpu};; "))
        .collect();
    let script = format!(
        "cpu={}; case {number} in {cases}esac; exec taskset -c $cpu \"$@\"",
        all[0]
    );
    let mut command: Vec<OsString> = vec!["sh".into(), "-c".into(), script.into(), "sh".into()];
    command.extend([
        paths::invivo().into(),
        "exec".into(),
        "--no-config".into(),
        "--".into(),
    ]);
    command.extend(program(family, "compute", []));
    let job = Job::bare(family, ranks + 1, &command);
    job.env("XDG_RUNTIME_DIR", home).env("XDG_STATE_HOME", home)
}

/// For sockets and state of a job that the test itself puts under Invivo.
fn home() -> TempDir {
    tempfile::tempdir_in("/tmp").expect("a directory")
}

/// The processors of the tool process, and of the ranks.
fn masks(mut running: Running, ranks: u32) -> (Vec<u32>, Vec<String>) {
    // In `MPI_Init`, hwloc binds a process to one processor after the other, and then as before.
    wait_for_ticks(&mut running, 0..ranks, 2);
    let tool = running.until("the tool process", |job| {
        job.named("tool-process").first().cloned()
    });
    let ranks = running.until("the ranks", |job| {
        let named = job.named("compute");
        (named.len() == ranks as usize).then_some(named)
    });
    let masks = ranks.iter().map(processors).collect();
    (listed(&processors(&tool)), masks)
}

/// One rank on the first processor, and the tool process bound there as well by its launcher.
#[test]
fn a_tool_process_goes_where_no_rank_is() {
    let Some(all) = all() else { return };
    let home = home();
    for family in Family::ALL {
        let (tool, ranks) = masks(bound(family, 1, &all[..1], home.path()).start(), 1);
        assert_eq!(ranks, [all[0].to_string()], "{family:?}: the rank stays");
        assert_eq!(tool, all[1..], "{family:?}");
    }
}

/// A rank on every processor: the scheduler chooses among all of them.
#[test]
fn a_tool_process_of_full_cores_may_use_all() {
    let Some(all) = all() else { return };
    let home = home();
    for family in Family::ALL {
        let cpus = &all[..all.len().min(4)];
        let ranks = cpus.len() as u32;
        let launcher: Vec<String> = cpus.iter().map(u32::to_string).collect();
        // The job has these processors alone.
        let taskset = format!("exec taskset -c {} \"$@\"", launcher.join(","));
        let job = bound(family, ranks, cpus, home.path()).behind(&taskset);
        let (tool, masks) = masks(job.start(), ranks);
        assert_eq!(tool, cpus, "{family:?}");
        assert!(
            masks.iter().all(|mask| listed(mask).len() == 1),
            "{family:?}: {masks:?}"
        );
    }
}
