//! Callbacks of the program that leave MPI by `longjmp` or by an exception: their calls have ended,
//! and the thread is recorded as before.

use invivo_e2e::checks;
use invivo_e2e::clients::number;
use invivo_e2e::job::{Ended, Job};
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::left_calls;
use invivo_e2e::results::report::Report;

const RANKS: u32 = 2;
/// C leaves by `longjmp`, C++ by an exception.
const WAYS: [bool; 2] = [false, true];

/// Runs the program bare and observed: the same for the user, and every call is there once. Gives
/// the report.
fn same_calls(family: Family, is_cpp: bool, how: &str, prints: &str) -> Report {
    let what = format!("{family:?}, C++ {is_cpp}, {how}");
    let command = left_calls(family, is_cpp, how);
    let bare = Job::bare(family, RANKS, &command).run();
    assert_eq!(bare.stdout()[0], format!("rank 0: {prints}\n"), "{what}");
    let observed = Job::observed(family, RANKS, &command).run();
    println!("{what}");
    checks::same_for_the_user(&bare, &observed);
    all_there(&observed)
}

fn all_there(observed: &Ended) -> Report {
    let report = observed.report();
    checks::complete(&report, RANKS);
    checks::same_calls(&report, &observed.own_counts().calls);
    report
}

/// How many calls a report says to have been left.
fn left(report: &Report) -> Option<u64> {
    let mut notes = report.notes.iter();
    let note = notes.find(|note| note.contains("left by a jump"))?;
    note.split(' ').next()?.parse().ok()
}

/// Calls behind one that was left are recorded, in frames above and below it; what was left is
/// counted.
#[test]
fn calls_behind_a_jump_are_recorded() {
    for family in Family::ALL {
        for is_cpp in WAYS {
            let report = same_calls(family, is_cpp, "jumps", "5 left, 0 inside");
            assert_eq!(left(&report), Some(5 * u64::from(RANKS)), "{family:?}");
            // The first thing that a program does behind them may take long: no time in MPI.
            checks::within_the_time_observed(&report);
        }
    }
}

/// A call that is left ends where its handler was called, however late the next one comes, and
/// `MPI_Finalize` is recorded behind it.
#[test]
fn a_call_may_be_left_before_finalize() {
    for family in Family::ALL {
        for is_cpp in WAYS {
            let report = same_calls(family, is_cpp, "last", "1 left, 0 inside");
            assert_eq!(left(&report), Some(u64::from(RANKS)), "{family:?}");
        }
    }
}

/// Callbacks that call MPI and come back leave nothing, whichever stack they run on.
#[test]
fn calls_inside_others_are_not_taken_for_jumps() {
    for family in Family::ALL {
        for is_cpp in WAYS {
            let report = same_calls(family, is_cpp, "inner", "0 left, 60 inside");
            assert_eq!(left(&report), None, "{family:?}: {:?}", report.notes);
        }
    }
}

/// A rank that has left a call is paused and goes on as any other.
#[test]
fn ranks_are_paused_behind_a_jump() {
    for family in Family::ALL {
        let command = left_calls(family, false, "rounds");
        let mut running = Job::observed(family, RANKS, &command).start();
        running.wait_for_answers();
        let client = running.client();
        client.pause(RANKS, "30s");
        let calls = || number(&client.json(&["status"]), "/coverage/ledger/entered");
        let before = calls();
        std::thread::sleep(std::time::Duration::from_millis(200));
        assert_eq!(
            calls(),
            before,
            "{family:?}: ranks call while they are paused"
        );
        client.resume(RANKS);
        let ended = running.end();
        assert_eq!(ended.code(), 0, "{family:?}");
        let report = all_there(&ended);
        assert_eq!(left(&report), Some(u64::from(RANKS)), "{family:?}");
        ended.assert_nothing_left();
    }
}
