//! MPI functions that no other test program calls give the same values as without Invivo.
//!
//! On each MPI these are the functions that it declares. The report has the calls that an
//! independent counter counts.

use invivo_e2e::checks;
use invivo_e2e::job::Job;
use invivo_e2e::logs::counts::Calls;
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::remaining_functions::command;
use invivo_e2e::programs::{Counter, counter};
use invivo_e2e::tested_functions;
use std::time::Duration;

/// Enough for the left and the right neighbour to be two ranks.
const RANKS: u32 = 3;
/// MPICH spins: more ranks than cores take their time.
const LIMIT: Duration = Duration::from_secs(300);

fn same_values(family: Family, sections: &[&str]) {
    let command = command(family, sections);
    // Over UCX, Open MPI 5 puts the PID into its messages about windows; within one host it would
    // not use UCX anyway.
    let with = |job: Job| job.env("OMPI_MCA_osc", "^ucx").limit(LIMIT);

    let bare = with(Job::bare(family, RANKS, &command)).run();
    assert_eq!(bare.code(), 0, "the bare run on {family:?}");
    let observed = with(Job::observed(family, RANKS, &command))
        .env("LD_PRELOAD", counter(family, Counter::Shallow))
        .run();

    checks::same_for_the_user(&bare, &observed);
    let (report, counted) = (observed.report(), observed.counter_counts().calls);
    checks::complete(&report, RANKS);
    checks::same_calls(&report, &counted);
    // For the manual's table of functions.
    tested_functions::note(family, &counted);
}

#[test]
fn functions_give_the_same_on_open_mpi() {
    same_values(Family::Ompi, &[]);
}

#[test]
#[ignore = "half a minute with the next"]
fn functions_give_the_same_on_mpich() {
    same_values(Family::Mpich, &[]);
}

#[test]
#[ignore = "half a minute with the one before"]
fn functions_give_the_same_on_newer_mpis() {
    for family in Family::NEW {
        same_values(family, &[]);
    }
}

/// `MPI_Abort` does not return, so that the counter does not count it: the job ends as without
/// Invivo, and the report has the call.
#[test]
#[ignore = "half a minute; ends are tested on Debian's two"]
fn an_abort_ends_the_job_on_every_mpi() {
    for family in Family::ALL.into_iter().chain(Family::NEW) {
        let command = command(family, &["aborted"]);
        let bare = Job::bare(family, RANKS, &command).run();
        let observed = Job::observed(family, RANKS, &command).run();
        // MPICH's launcher kills the other ranks, and sometimes its status is theirs.
        let allowed: &[i32] = if family.is_open_mpi() { &[7] } else { &[7, 9] };
        for (run, ended) in [("bare", &bare), ("observed", &observed)] {
            assert!(
                allowed.contains(&ended.code()),
                "{family:?}, {run}: {}",
                ended.code()
            );
        }

        observed.assert_nothing_left();
        let report = observed.report();
        checks::conserved(&report, RANKS);
        tested_functions::note(family, &Calls::from([((1, "MPI_Abort".to_owned()), 1)]));
    }
}
