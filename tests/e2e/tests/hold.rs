//! With `--hold` every rank is held behind its `MPI_Init` until a command or the lease ends it.

use invivo_e2e::checks;
use invivo_e2e::clients::number;
use invivo_e2e::job::{Job, Running};
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::{after_init, program};
use std::time::{Duration, Instant};

const RANKS: u32 = 2;
/// Another one than the default.
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
fn no_statement_behind_init_is_executed_while_held() {
    for family in Family::ALL {
        for (language, command) in after_init(family) {
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
            // Long enough for a rank that is not held to go on.
            std::thread::sleep(Duration::from_millis(300));
            assert_eq!(
                begun_so_far(&running),
                0,
                "{family:?}, {language}: a rank went on"
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

/// Settings that are made while the job is held apply from the first event on: every call behind
/// `MPI_Init` is in the table, and the buffers have the requested strategy.
#[test]
fn settings_apply_from_the_first_event() {
    for family in Family::ALL {
        let mut running = Job::observed(family, RANKS, &program(family, "late_sender", ["3"]))
            .options(["--hold", "--recording", "off"])
            .start();
        running.wait_for_answers();
        let client = running.client();
        // A second hold is acknowledged only when every rank is held: nothing is set too early.
        client.all_do(RANKS, &["hold"]);
        client.all_do(RANKS, &["strategy", STRATEGY]);
        client.all_do(RANKS, &["record", "on"]);

        let status = client.json(&["status"]);
        let of = |name: &str| number(&status, &format!("/coverage/ledger/{name}"));
        // A rank may have recorded its MPI_Init before recording was switched off.
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
        // `MPI_Init` itself begins before the settings.
        let mut counted = ended.own_counts().calls;
        counted.retain(|(_, function), _| function != "MPI_Init");
        checks::same_calls(&report, &counted);
        ended.assert_nothing_left();
    }
}

/// Without a command the job goes on when the lease is over.
#[test]
fn a_held_job_goes_on_after_its_lease() {
    let family = Family::Ompi;
    let (_, command) = after_init(family).remove(0);
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
