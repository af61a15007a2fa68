//! The default: one tool process per node, which is tool place and root.

use invivo_e2e::checks;
use invivo_e2e::clients::number;
use invivo_e2e::job::{Job, Running};
use invivo_e2e::logs::clock_log::{ClockLog, now_ns, ticks, wait_for_ticks};
use invivo_e2e::mpi::Family;
use invivo_e2e::processes::{kill, signal};
use invivo_e2e::programs::{Language, in_language, program};
use rustix::process::Signal;
use std::ffi::OsString;
use std::time::{Duration, Instant};

const RANKS: u32 = 2;
/// The job ends within this time after its last rank is in `MPI_Finalize`, without a tool process.
const END_MAX: Duration = Duration::from_secs(15);
/// Ranks that were held continue within this time after the death of the tool process.
const LEASE_MAX: Duration = Duration::from_secs(3);

/// The program as a user starts it, in both ways.
fn both_ways(family: Family, command: &[OsString]) -> [Job; 2] {
    [
        Job::run_by_invivo(family, RANKS, command),
        Job::observed(family, RANKS, command),
    ]
    .map(|job| job.fan_in("node"))
}

/// The tool process of a job; there is no other.
fn tool_process(running: &Running) -> invivo_e2e::processes::Process {
    assert_eq!(running.processes(), RANKS + 1, "one extra process");
    for other in ["tool-place", "analysis-node"] {
        assert!(running.named(other).is_empty(), "{other}");
    }
    running.only("tool-process")
}

#[test]
fn a_job_is_as_bare_and_every_call_is_counted() {
    for family in Family::ALL {
        let command = program(family, "killed_rank", ["50", "0"]);
        let bare = Job::bare(family, RANKS, &command).run();
        for job in both_ways(family, &command) {
            let observed = job.run();
            assert_eq!(observed.processes(), RANKS + 1);
            checks::same_for_the_user(&bare, &observed);
            let report = observed.report();
            checks::complete(&report, RANKS);
            let calls = report.calls();
            let of = |rank, name: &str| calls.get(&(rank, name.to_owned())).copied();
            for (rank, function, count) in [
                (0, "MPI_Send", 50),
                (1, "MPI_Recv", 50),
                (0, "MPI_Barrier", 2),
                (1, "MPI_Barrier", 2),
            ] {
                assert_eq!(of(rank, function), Some(count), "{family:?}: {calls:?}");
            }
            observed.assert_nothing_left();
        }
    }
}

/// Commands, windows and questions in a job of one tool process, whose clock is job time.
#[test]
fn a_running_job_is_steered() {
    for family in Family::ALL {
        for job in both_ways(family, &program(family, "compute", [])) {
            let mut running = job.start();
            running.wait_for_answers();
            tool_process(&running);
            wait_for_ticks(&mut running, 0..RANKS, 5);
            let client = running.client();

            client.pause(RANKS, "1m");
            std::thread::sleep(Duration::from_millis(300));
            let standing = ticks(&running);
            std::thread::sleep(Duration::from_millis(500));
            assert_eq!(standing, ticks(&running), "{family:?}: they stand");
            client.resume(RANKS);

            client.all_do(RANKS, &["reset"]);
            let window = client.all_do(RANKS, &["record", "--for", "300ms"]);
            assert_eq!(
                (
                    number(&window, "/from/error_ns"),
                    number(&window, "/to/error_ns")
                ),
                (0, 0),
                "{family:?}: the root's clock is the place's: {window}"
            );
            client.all_do(RANKS, &["record", "on"]);
            let status = client.json(&["status"]);
            assert_eq!(
                number(&status, "/coverage/ranks_reporting"),
                u64::from(RANKS)
            );

            client.all_do(RANKS, &["shutdown"]);
            running.tell("stop");
            let ended = running.end();
            assert_eq!(ended.code(), 0, "{family:?}");
            let report = ended.report();
            checks::conserved(&report, RANKS);
            assert!(report.shut_down);
        }
    }
}

/// The black box: the report of a killed rank, and what the others did last.
#[test]
fn a_killed_rank_is_reported() {
    for family in Family::ALL {
        let command = program(family, "killed_rank", ["50", "9"]);
        let bare = Job::bare(family, RANKS, &command).run();
        for job in both_ways(family, &command) {
            let observed = job.run();
            assert_eq!(bare.code(), observed.code(), "{family:?}: exit status");
            let report = observed.report();
            checks::conserved(&report, RANKS);
            let dead: Vec<_> = report.ended.iter().filter(|end| end.rank == 1).collect();
            assert_eq!(dead.len(), 1, "{family:?}: {:?}", report.ended);
            assert_eq!(dead[0].signal, Some(9), "{family:?}");
            assert!(
                observed.timeline().is_some(),
                "{family:?}: the last seconds"
            );
            observed.assert_nothing_left();
        }
    }
}

/// Two ranks that wait for each other: the watchdog says so, and the job is left alone.
#[test]
fn a_hang_is_reported() {
    for family in Family::ALL {
        let command = in_language(family, "hang", Language::C, &["ssend"]);
        // The program's hang is between ranks 0 and 1 of four.
        let job = Job::observed(family, 4, &command).options(["--watchdog=1s"]);
        let mut running = job.fan_in("node").start();
        let line = running.until("the watchdog's line", |job| {
            let lines = job.our_lines();
            lines.into_iter().find(|line| line.contains("no progress"))
        });
        let expected = "deadlock: rank 0 waits in MPI_Ssend";
        assert!(line.contains(expected), "{family:?}: {line}");
        assert!(running.runs());
    }
}

/// Several programs in one job, with one tool process behind them all.
#[test]
fn several_programs_share_the_tool_process() {
    for family in Family::ALL {
        let [one, other] = ["0", "0"].map(|status| program(family, "init_finalize", [status]));
        let job = Job::run_by_invivo(family, 1, &one).and(2, &other);
        let ended = job.fan_in("node").run();
        assert_eq!((ended.code(), ended.processes()), (0, 4), "{family:?}");
        ended.assert_printed(|rank| format!("rank {rank}\n"));
        checks::complete(&ended.report(), 3);
    }
}

/// With the tool process place and root are gone: held ranks continue by themselves, and run on.
#[test]
fn ranks_run_on_without_the_tool_process() {
    for family in Family::ALL {
        let command = program(family, "compute", []);
        let mut running = Job::observed(family, RANKS, &command)
            .fan_in("node")
            .start();
        running.wait_for_answers();
        wait_for_ticks(&mut running, 0..RANKS, 5);
        running.client().pause(RANKS, "10m");
        let killed = now_ns();
        kill(&tool_process(&running));
        for rank in 0..RANKS {
            let first = running.until("a tick after the death", |job| {
                let log = ClockLog::read(&job.logs(), rank);
                let ticks = log.threads.values().flatten().copied();
                ticks.filter(|ns| *ns > killed).min()
            });
            let stood = Duration::from_nanos(first - killed);
            assert!(stood < LEASE_MAX, "{family:?}: rank {rank} stood {stood:?}");
        }
        let before = ticks(&running);
        running.until("all ranks to go on", |job| {
            let mut pairs = before.iter().zip(ticks(job));
            pairs.all(|(before, after)| *before < after).then_some(())
        });
        running.until("it to be told", |job| {
            let lines = job.our_lines();
            let is_it = |line: &String| line.contains("runs on, unobserved");
            lines.iter().any(is_it).then_some(())
        });
    }
}

/// Without the tool process, `MPI_Finalize` would wait for ever: the job ends there, as failed.
fn without_its_tool_process(family: Family, language: Language) {
    let command = in_language(family, "ends", language, &["save"]);
    let mut running = Job::observed(family, RANKS, &command)
        .fan_in("node")
        .start();
    running.wait_for_notes("ready");
    kill(&tool_process(&running));
    std::thread::sleep(Duration::from_millis(500));
    assert!(running.runs(), "{family:?}: it goes on");
    // They work for three seconds, and then print what no one but MPI_Finalize flushes.
    let ranks = running.named(running.program_name());
    assert_eq!(ranks.len(), RANKS as usize);
    let asked = Instant::now();
    for rank in ranks {
        signal(&rank, Signal::TERM);
    }
    let ended = running.end();
    let took = asked.elapsed();
    let least = Duration::from_secs(3);
    assert!(
        took > least && took < least + END_MAX,
        "{family:?}: {took:?}"
    );
    assert_ne!(ended.code(), 0, "{family:?}: a process of the job died");
    for (rank, printed) in (0..RANKS).zip(ended.stdout()) {
        let whole = format!("rank {rank}: 40 messages\nrank {rank}: saved\n");
        assert_eq!(printed, whole, "{family:?}");
    }
    let lines = ended.our_lines();
    let lines = lines
        .iter()
        .filter(|line| line.contains("tool process ended"));
    assert_eq!(lines.count(), 1, "{family:?}: {:?}", ended.our_lines());
    ended.assert_nothing_left();
}

#[test]
fn a_job_without_its_tool_process_ends() {
    without_its_tool_process(Family::Ompi, Language::C);
    without_its_tool_process(Family::Mpich, Language::Fortran);
}

#[test]
#[ignore = "long: the other languages"]
fn a_job_in_the_other_language_ends_too() {
    without_its_tool_process(Family::Ompi, Language::Fortran);
    without_its_tool_process(Family::Mpich, Language::C);
}
