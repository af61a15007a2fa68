//! The functions that the other programs leave out, on each MPI those that it declares: ranks get
//! the same values with Invivo and without, and the report has the calls that an independent
//! counter counts.

use invivo_e2e::apps::{Counter, counter};
use invivo_e2e::checks;
use invivo_e2e::counts::Calls;
use invivo_e2e::every::command;
use invivo_e2e::family::Family;
use invivo_e2e::job::Job;
use invivo_e2e::seen;
use std::time::Duration;

/// Enough for left and right to be two.
const RANKS: u32 = 3;
/// MPICH spins: more ranks than cores take their time.
const LIMIT: Duration = Duration::from_secs(300);

fn same_values(family: Family, sections: &[&str]) {
    let command = command(family, sections);
    // Open MPI 5 tells of windows over UCX with the number of the process; between two of them it
    // takes another way anyway.
    let with = |job: Job| job.env("OMPI_MCA_osc", "^ucx").limit(LIMIT);
    let bare = with(Job::bare(family, RANKS, &command)).run();
    assert_eq!(bare.code(), 0, "the bare run on {family:?}");
    let observed = with(Job::observed(family, RANKS, &command))
        .env("LD_PRELOAD", counter(family, Counter::Shallow))
        .run();
    assert_eq!(
        bare.stdout(),
        observed.stdout(),
        "{family:?}: what each section got, by rank"
    );
    assert_eq!(
        bare.stderr(),
        observed.stderr(),
        "{family:?}: standard errors"
    );
    assert_eq!(bare.code(), observed.code(), "{family:?}: exit status");
    observed.assert_nothing_left();
    let (report, counted) = (observed.report(), observed.counter_counts().calls);
    checks::complete(&report, RANKS);
    checks::same_calls(&report, &counted);
    seen::note(family, &counted);
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

/// `MPI_Abort` does not come back, so nobody counts it: the job ends as it does without, and the
/// report has who called it.
#[test]
#[ignore = "half a minute; ends are tested on Debian's two"]
fn an_abort_is_one_on_every_mpi() {
    for family in Family::ALL.into_iter().chain(Family::NEW) {
        let command = command(family, &["aborted"]);
        let bare = Job::bare(family, RANKS, &command).run();
        let observed = Job::observed(family, RANKS, &command).run();
        // MPICH's launcher kills the others, and sometimes it is their end that it tells.
        let told: &[i32] = if family.is_open_mpi() { &[7] } else { &[7, 9] };
        for (run, ended) in [("bare", &bare), ("observed", &observed)] {
            assert!(
                told.contains(&ended.code()),
                "{family:?}, {run}: {}",
                ended.code()
            );
        }
        observed.assert_nothing_left();
        let report = observed.report();
        checks::conserved(&report, RANKS);
        seen::note(family, &Calls::from([((1, "MPI_Abort".to_owned()), 1)]));
    }
}
