//! The newer members of the families, and the standard's own interface: the same installation
//! observes programs of all of them, though they name their libraries differently and keep them in
//! places that no search path knows.

use invivo_e2e::apps::{Conversation, Counter, counter, program};
use invivo_e2e::checks;
use invivo_e2e::family::Family;
use invivo_e2e::job::Job;
use invivo_e2e::seen;
use std::time::Duration;

/// Few: all of these spin while they wait.
const RANKS: u32 = 2;
/// Ranks that wait in the tool processes' world would wait for ever.
const LIMIT: Duration = Duration::from_secs(60);

/// Output, status and counts of a program with and without, on an MPI beside Debian's.
fn conversation(program: Conversation, family: Family) {
    let command = program.command(family);
    let bare = Job::bare(family, RANKS, &command).run();
    assert_eq!(bare.code(), 0, "the bare run on {family:?}");
    let observed = Job::observed(family, RANKS, &command)
        .env("LD_PRELOAD", counter(family, Counter::Shallow))
        .run();
    assert_eq!(bare.stdout(), observed.stdout(), "standard outputs");
    assert_eq!(bare.stderr(), observed.stderr(), "standard error outputs");
    assert_eq!(bare.code(), observed.code(), "exit status");
    observed.assert_nothing_left();
    let (report, own, counted) = (
        observed.report(),
        observed.own_counts(),
        observed.counter_counts(),
    );
    assert_eq!(report.job.family, family.interface());
    checks::complete(&report, RANKS);
    checks::same_calls(&report, &counted.calls);
    checks::same_traffic(&report, &own);
    seen::note(family, &counted.calls);
}

#[test]
fn programs_of_newer_mpis_are_observed() {
    for family in Family::NEW {
        conversation(Conversation::C, family);
    }
}

/// It loads its MPI when it runs: which one is seen only then.
#[test]
fn mpi4py_on_newer_mpis_is_observed() {
    for family in [Family::Ompi5, Family::Mpich5] {
        conversation(Conversation::Python, family);
    }
}

/// `invivo run` before the line of a launcher that is in no search path.
#[test]
fn invivo_run_knows_the_newer_launchers() {
    for family in Family::NEW {
        let command = Conversation::C.command(family);
        let observed = Job::run_by_invivo(family, RANKS, &command).run();
        assert_eq!(observed.code(), 0, "{family:?}");
        checks::complete(&observed.report(), RANKS);
        checks::same_calls(&observed.report(), &observed.own_counts().calls);
    }
}

/// Where an older library was expected than the one that is loaded, what only the newer one has is
/// observed all the same: its functions were hidden from a program that found them already, at its
/// start or when it called them.
#[test]
fn a_newer_library_than_expected_has_all_its_functions() {
    let (expected, family) = (Family::Ompi.library(), Family::Ompi5);
    let command = program(family, "newer", []);
    let bare = Job::bare(family, RANKS, &command).run();
    assert_eq!(bare.code(), 0, "the bare run");
    for at_the_start in ["", "1"] {
        let observed = Job::observed(family, RANKS, &command)
            .env("INVIVO_MPI", &expected)
            .env("LD_BIND_NOW", at_the_start)
            .env("LD_PRELOAD", counter(family, Counter::Shallow))
            .limit(LIMIT)
            .run();
        assert_eq!(
            (bare.code(), bare.stdout()),
            (observed.code(), observed.stdout())
        );
        observed.assert_nothing_left();
        checks::complete(&observed.report(), RANKS);
        let counted = observed.counter_counts().calls;
        assert_eq!(counted.get(&(0, "MPI_Barrier_init".to_owned())), Some(&2));
        checks::same_calls(&observed.report(), &counted);
    }
}
