//! Newer MPIs of each family, and the standard ABI, are observed by the same installation.
//!
//! Their libraries have other names, and lie in folders that no search path knows.

use invivo_e2e::checks;
use invivo_e2e::job::Job;
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::{Conversation, Counter, counter, program};
use invivo_e2e::tested_functions;
use std::time::Duration;

/// Few, because all of these MPIs spin while they wait.
const RANKS: u32 = 2;
/// Short: a rank that calls MPI on the world of the tool processes would wait for ever.
const LIMIT: Duration = Duration::from_secs(60);

/// Compares output, status and counts of a program with and without Invivo.
fn conversation(program: Conversation, family: Family) {
    let command = program.command(family);

    let bare = Job::bare(family, RANKS, &command).run();
    assert_eq!(bare.code(), 0, "the bare run on {family:?}");
    let observed = Job::observed(family, RANKS, &command)
        .env("LD_PRELOAD", counter(family, Counter::Shallow))
        .run();

    checks::same_for_the_user(&bare, &observed);
    let (report, own, counted) = (
        observed.report(),
        observed.own_counts(),
        observed.counter_counts(),
    );

    assert_eq!(report.job.family, family.interface());
    checks::complete(&report, RANKS);
    checks::same_calls(&report, &counted.calls);
    checks::same_traffic(&report, &own);
    tested_functions::note(family, &counted.calls);
}

#[test]
fn programs_of_newer_mpis_are_observed() {
    for family in Family::NEW {
        conversation(Conversation::C, family);
    }
}

/// Python loads its MPI at run time: which one it is shows only then.
#[test]
fn mpi4py_on_newer_mpis_is_observed() {
    for family in [Family::Ompi5, Family::Mpich5] {
        conversation(Conversation::Python, family);
    }
}

/// `invivo run` before the line of a launcher that is in no search path.
#[test]
fn invivo_run_starts_the_newer_launchers() {
    for family in Family::NEW {
        let command = Conversation::C.command(family);
        let observed = Job::run_by_invivo(family, RANKS, &command).run();
        assert_eq!(observed.code(), 0, "{family:?}");
        checks::complete(&observed.report(), RANKS);
        checks::same_calls(&observed.report(), &observed.own_counts().calls);
    }
}

/// A program loads a newer library than was expected: the functions that only the newer one has are
/// observed, whether the program resolves them at its start or at their first call.
#[test]
fn a_newer_library_than_expected_has_all_its_functions() {
    let (expected, family) = (Family::Ompi.library(), Family::Ompi5);
    let command = program(family, "newer_functions", []);
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
        // Also the function that the expected library does not have.
        let counted = observed.counter_counts().calls;
        assert_eq!(counted.get(&(0, "MPI_Barrier_init".to_owned())), Some(&2));
        checks::same_calls(&observed.report(), &counted);
    }
}
