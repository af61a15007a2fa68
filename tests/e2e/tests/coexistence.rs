//! Other tools in the same processes: PMPI layers, an allocator, sanitizers, a debugger.
//!
//! The program does what it does with them alone, and every call is counted.

use invivo_e2e::checks;
use invivo_e2e::job::Ended;
use invivo_e2e::job::Job;
use invivo_e2e::logs::counts::{Calls, calls_of_each_rank};
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::other_tools::{behind, eztrace, jemalloc};
use invivo_e2e::programs::{Conversation, Counter, counter, program, sanitized};
use std::ffi::OsString;
use std::process::Command;

const RANKS: u32 = 2;

/// A program whose calls are known.
fn known_program(family: Family) -> Vec<OsString> {
    program(family, "late_to_barrier", ["3", "10"])
}

/// The recorded calls of that program.
fn known_calls() -> Calls {
    let calls = [
        ("MPI_Init", 1),
        ("MPI_Allreduce", 1),
        ("MPI_Barrier", 3),
        ("MPI_Finalize", 1),
    ];
    calls_of_each_rank(RANKS, calls)
}

/// Runs a job bare and observed, and compares output, status and calls.
fn same_as_bare(make: impl Fn(bool) -> Job) -> Ended {
    let (bare, observed) = (make(false).run(), make(true).run());
    assert_eq!(bare.code(), 0, "the bare run");
    checks::same_for_the_user(&bare, &observed);
    checks::complete(&observed.report(), RANKS);
    checks::same_calls(&observed.report(), &known_calls());
    observed
}

fn job(observed: bool, family: Family, command: &[OsString]) -> Job {
    if observed {
        Job::observed(family, RANKS, command)
    } else {
        Job::bare(family, RANKS, command)
    }
}

/// A PMPI layer in front of Invivo: it gets the program's calls, and Invivo the calls of the layer.
/// (A layer behind Invivo is tested in `transparency`.)
fn a_pmpi_layer_before_changes_nothing(family: Family) {
    let layer = counter(family, Counter::Shallow);
    let command = behind(&layer, &Conversation::C.command(family));
    let bare = job(false, family, &command).run();
    let observed = job(true, family, &command).run();
    checks::same_for_the_user(&bare, &observed);

    let (report, own) = (observed.report(), observed.own_counts());
    let counted = observed.counter_counts();
    checks::same(
        "calls by the program and by the layer",
        &own.calls,
        &counted.calls,
    );
    checks::complete(&report, RANKS);
    checks::same_calls(&report, &counted.calls);
    checks::same_traffic(&report, &own);
}

/// EZTrace looks up the next function itself and communicates on the world. Behind the shim that
/// would be MPI's own world, with the tool processes in it, which do not answer. So the shim goes
/// behind EZTrace, whose calls count as the program's.
fn eztrace_records_beside(family: Family) {
    let with = |job: Job| job.env("LD_PRELOAD", eztrace(family));

    let bare = with(job(false, family, &known_program(family))).run();
    let observed = with(job(true, family, &known_program(family))).run();
    assert_eq!(
        (bare.code(), bare.stdout()),
        (observed.code(), observed.stdout()),
        "{family:?}"
    );

    let report = observed.report();
    checks::complete(&report, RANKS);
    let reported = report.calls();
    // EZTrace makes calls of its own: at least those of the program must be there.
    for (call, number) in known_calls() {
        let found = reported.get(&call).copied().unwrap_or_default();
        assert!(
            found >= number,
            "{family:?}, {call:?}: {found} reported, {number} made"
        );
    }

    for ended in [&bare, &observed] {
        let trace = ended
            .directory()
            .join("late_to_barrier_trace/eztrace_log.otf2");
        assert!(trace.exists(), "{family:?}: EZTrace has written its trace");
    }
}

fn another_allocator_is_no_trouble(family: Family) {
    let command = known_program(family);
    same_as_bare(|observed| job(observed, family, &command).env("LD_PRELOAD", jemalloc()));
    // The same library behind Invivo's start, in front of everything else.
    let before = behind(&jemalloc(), &command);
    same_as_bare(|observed| job(observed, family, &before));
}

/// AddressSanitizer ends a program where another library is loaded before its own; here it finds
/// the errors of the program.
fn sanitizers_in_the_program_still_work(family: Family) {
    // Leaks are MPI's own, and a matter of luck.
    let with = |job: Job| job.env("ASAN_OPTIONS", "detect_leaks=0");
    let good = sanitized(family, "late_to_barrier", ["3", "10"]);
    same_as_bare(|observed| with(job(observed, family, &good)));

    let bad = sanitized(family, "memory_errors", []);
    let bare = with(job(false, family, &bad)).run();
    let observed = with(job(true, family, &bad)).run();
    assert_ne!(bare.code(), 0, "{family:?}: the bare run");
    assert_eq!(bare.code(), observed.code(), "{family:?}: exit status");
    for ended in [&bare, &observed] {
        let stderr = ended.stderr().concat();
        assert!(
            stderr.contains("stack-buffer-overflow") && stderr.contains("signed integer overflow"),
            "{family:?}: {stderr}"
        );
    }
}

/// Ranks that are started by a debugger.
fn ranks_start_in_a_debugger(family: Family) {
    let front = ["gdb", "-nx", "-batch", "-ex", "run", "--args"].map(OsString::from);
    let command: Vec<OsString> = front.into_iter().chain(known_program(family)).collect();
    let observed = job(true, family, &command).run();
    assert_eq!(observed.code(), 0, "{family:?}");
    for output in observed.stdout() {
        assert!(
            output.contains("3 rounds") && output.contains("exited normally"),
            "{family:?}: {output}"
        );
    }
    checks::complete(&observed.report(), RANKS);
    checks::same_calls(&observed.report(), &known_calls());
}

fn debug(pid: i32, what: &str) -> String {
    let mut gdb = Command::new("gdb");
    gdb.args(["-nx", "-batch", "-p", &pid.to_string(), "-ex", what]);
    let output = gdb
        // gdb itself must not be observed.
        .env_remove("LD_PRELOAD")
        .output()
        .expect("gdb is installed");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}");
    text
}

/// A debugger attaches to a rank and detaches, also while the job is paused; the rank goes on.
fn a_debugger_may_attach(family: Family) {
    let mut running = job(true, family, &program(family, "logged_rounds", [])).start();
    running.wait_for_answers();
    running.wait_for_notes("begun");

    let (client, rank) = (running.client(), running.member("logged_rounds", 1).pid);
    let seen = debug(rank, "bt");
    assert!(
        seen.contains("main"),
        "{family:?}: a stack of the program: {seen}"
    );
    // A process that is stopped can be attached to as well.
    client.pause(RANKS, "1m");
    debug(rank, "info threads");
    client.resume(RANKS);

    let before = client.entered();
    running.until("the job to go on", |job| {
        (job.client().entered() > before + 100).then_some(())
    });

    running.tell("stop");
    let ended = running.end();
    ended.assert_printed(|rank| format!("rank {rank}: 0 wrong, computed\n"));
    checks::complete(&ended.report(), RANKS);
    checks::same_calls(&ended.report(), &ended.own_counts().calls);
    ended.assert_nothing_left();
}

macro_rules! on_both {
    ($($test:ident: $check:ident on $family:ident $(, $long:literal)?;)*) => {$(
        #[test]
        $(#[ignore = $long])?
        fn $test() {
            $check(Family::$family);
        }
    )*};
}

on_both! {
    layer_before_on_open_mpi: a_pmpi_layer_before_changes_nothing on Ompi;
    layer_before_on_mpich: a_pmpi_layer_before_changes_nothing on Mpich, "the other MPI is tested";
    eztrace_on_open_mpi: eztrace_records_beside on Ompi;
    eztrace_on_mpich: eztrace_records_beside on Mpich, "the other MPI is tested";
    allocator_on_open_mpi: another_allocator_is_no_trouble on Ompi, "the other MPI is tested";
    allocator_on_mpich: another_allocator_is_no_trouble on Mpich;
    sanitizers_on_open_mpi: sanitizers_in_the_program_still_work on Ompi;
    sanitizers_on_mpich: sanitizers_in_the_program_still_work on Mpich, "the other MPI is tested";
    debugger_starts_on_open_mpi: ranks_start_in_a_debugger on Ompi, "the other MPI is tested";
    debugger_starts_on_mpich: ranks_start_in_a_debugger on Mpich;
    debugger_attaches_on_open_mpi: a_debugger_may_attach on Ompi;
    debugger_attaches_on_mpich: a_debugger_may_attach on Mpich, "the other MPI is tested";
}
