//! With `--hold` every rank stands right behind its `MPI_Init`, before the next statement of the
//! program, until it is let go or the lease is over.

use invivo_e2e::apps::{begun, program};
use invivo_e2e::checks;
use invivo_e2e::client::number;
use invivo_e2e::family::Family;
use invivo_e2e::job::{Job, Running};
use std::time::{Duration, Instant};

const RANKS: u32 = 2;
/// Not the one that buffers begin with.
const STRATEGY: &str = "duration:1ms";

/// Processes that have executed the statement behind `MPI_Init`.
fn begun_so_far(running: &Running) -> usize {
    let entries = std::fs::read_dir(running.logs()).expect("the logs' directory");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    names
        .filter(|name| name.to_string_lossy().starts_with("begun."))
        .count()
}

#[test]
fn no_statement_behind_init_is_executed_before_the_job_is_let_go() {
    for family in Family::ALL {
        for (language, command) in begun(family) {
            let mut running = Job::observed(family, RANKS, &command)
                .options(["--hold"])
                .start();
            running.wait_for_answers();
            let client = running.client();
            client.all_do(RANKS, &["hold"]);
            let status = client.json(&["status"]);
            assert_eq!(
                number(&status, "/status/ranks/held"),
                u64::from(RANKS),
                "{status}"
            );
            std::thread::sleep(Duration::from_millis(300));
            assert_eq!(
                begun_so_far(&running),
                0,
                "{family:?}, {language}: somebody went on"
            );
            client.resume(RANKS);
            running.until("the ranks to go on", |job| {
                (begun_so_far(job) == RANKS as usize).then_some(())
            });
            let ended = running.end();
            assert_eq!(ended.code(), 0, "{family:?}, {language}");
            checks::complete(&ended.report(), RANKS);
        }
    }
}

/// What is configured while the job is held holds from the first event on: every call behind
/// `MPI_Init` is in the table, and the buffers go by the strategy that was asked for.
#[test]
fn all_is_configured_before_the_first_event() {
    for family in Family::ALL {
        let mut running = Job::observed(family, RANKS, &program(family, "late_sender", ["3"]))
            .options(["--hold", "--recording", "off"])
            .start();
        running.wait_for_answers();
        let client = running.client();
        client.all_do(RANKS, &["hold"]);
        client.all_do(RANKS, &["strategy", STRATEGY]);
        client.all_do(RANKS, &["record", "on"]);
        let status = client.json(&["status"]);
        let of = |name: &str| number(&status, &format!("/coverage/ledger/{name}"));
        // A rank may have recorded its MPI_Init before it could be told not to.
        assert_eq!(of("entered"), of("reset"), "{status}");
        client.resume(RANKS);
        running.wait_for_notes("done");
        let strategy = client.json(&["strategy"]);
        assert!(strategy.to_string().contains(STRATEGY), "{strategy}");
        running.tell("stop");
        let ended = running.end();
        assert_eq!(ended.code(), 0);
        let report = ended.report();
        checks::conserved(&report, RANKS);
        let ledger = report.coverage.ledger;
        assert_eq!(ledger.kept + ledger.reduced + ledger.reset, ledger.entered);
        let mut counted = ended.own_counts().calls;
        counted.retain(|(_, function), _| function != "MPI_Init");
        checks::same_calls(&report, &counted);
        ended.assert_nothing_left();
    }
}

/// Nobody comes to let it go: the lease does.
#[test]
fn a_held_job_goes_on_by_itself_when_the_lease_is_over() {
    let family = Family::Ompi;
    let (_, command) = begun(family).remove(0);
    let begun = Instant::now();
    let mut running = Job::observed(family, RANKS, &command)
        .options(["--hold=3s"])
        .start();
    running.until("the ranks to go on", |job| {
        (begun_so_far(job) == RANKS as usize).then_some(())
    });
    assert!(
        begun.elapsed() >= Duration::from_secs(3),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(running.end().code(), 0);
}
