//! Programs have the output and status of a bare run, and the report has their own counts.
//!
//! Six programs communicate in all ways of the script of `tests/apps/README.md`; the report of each
//! run equals the program's own counts, call by call and byte by byte.

use invivo_e2e::checks;
use invivo_e2e::job::Ended;
use invivo_e2e::job::Job;
use invivo_e2e::logs::counts::calls_of_each_rank;
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::{Conversation, Counter, counter, program};

/// The status with which the programs exit: not one of a program that was killed.
const STATUS: i32 = 3;

/// Fewer on MPICH, which spins while it waits: its processes take the cores from each other.
fn ranks(family: Family) -> u32 {
    match family {
        Family::Ompi | Family::Ompi5 => 4,
        _ => 3,
    }
}

/// The same for the user, but for one line of Invivo per job.
fn same_but_for_one_line(bare: &Ended, observed: &Ended) {
    checks::same_for_the_user(bare, observed);
    let lines = observed.our_lines();
    assert_eq!(lines.len(), 1, "one line per job: {lines:?}");
}

fn conversation(program: Conversation, family: Family) {
    let ranks = ranks(family);
    let mut command = program.command(family);
    command.push(STATUS.to_string().into());

    let bare = Job::bare(family, ranks, &command).run();
    assert_eq!(bare.code(), STATUS, "the bare run");

    let mut job = Job::observed(family, ranks, &command);
    if program == Conversation::Python {
        // mpi4py makes calls of its own; a PMPI counter counts them all.
        job = job.env("LD_PRELOAD", counter(family, Counter::Shallow));
    }
    let observed = job.run();
    same_but_for_one_line(&bare, &observed);

    let (report, own) = (observed.report(), observed.own_counts());
    checks::complete(&report, ranks);
    // MPICH's is the library that is built on UCX.
    assert_eq!(
        report.coverage.packets_mpi > 0,
        family == Family::Ompi,
        "the section `many` fills packets, which go over MPI, but for UCX"
    );
    if program == Conversation::Python {
        checks::same_calls(&report, &observed.counter_counts().calls);
        checks::same_calls_where_counted(&report, &own.calls);
    } else {
        checks::same_calls(&report, &own.calls);
    }
    checks::same_traffic(&report, &own);
}

macro_rules! conversations {
    ($($(#[$attribute:meta])* $test:ident: $program:ident on $family:ident;)*) => {$(
        #[test]
        $(#[$attribute])*
        fn $test() {
            conversation(Conversation::$program, Family::$family);
        }
    )*};
}

conversations! {
    c_on_open_mpi: C on Ompi;
    c_on_mpich: C on Mpich;
    #[ignore = "long: C++ on MPICH, C on Open MPI"]
    cpp_on_open_mpi: Cpp on Ompi;
    cpp_on_mpich: Cpp on Mpich;
    #[ignore = "long: this on MPICH, mpi_f08 on Open MPI"]
    fortran_mpif_h_on_open_mpi: FortranMpifH on Ompi;
    fortran_mpif_h_on_mpich: FortranMpifH on Mpich;
    #[ignore = "long: this on MPICH, mpi_f08 on Open MPI"]
    fortran_use_mpi_on_open_mpi: FortranMpi on Ompi;
    fortran_use_mpi_on_mpich: FortranMpi on Mpich;
    fortran_mpi_f08_on_open_mpi: FortranF08 on Ompi;
    fortran_mpi_f08_on_mpich: FortranF08 on Mpich;
    mpi4py_on_open_mpi: Python on Ompi;
    mpi4py_on_mpich: Python on Mpich;
}

/// A PMPI layer behind the shim counts what it would count alone: none of Invivo's own messages,
/// and nothing twice.
#[test]
fn a_pmpi_layer_behind_counts_every_call() {
    for family in Family::ALL {
        let ranks = ranks(family);
        let observed = Job::observed(family, ranks, &Conversation::C.command(family))
            .env("LD_PRELOAD", counter(family, Counter::Shallow))
            .run();
        assert_eq!(observed.code(), 0);
        let (report, own, counted) = (
            observed.report(),
            observed.own_counts(),
            observed.counter_counts(),
        );
        checks::same(
            "calls by the program and by the counter",
            &own.calls,
            &counted.calls,
        );
        checks::complete(&report, ranks);
        checks::same_calls(&report, &counted.calls);
    }
}

/// With two tool places, the sender and the receiver of a message may belong to different ones, and
/// so may the leader and the members of a communicator.
#[test]
fn two_places_have_the_results_of_one() {
    for family in Family::ALL {
        let observed = Job::observed(family, 3, &Conversation::C.command(family))
            .fan_in("2")
            .run();

        assert_eq!(observed.code(), 0);
        let (report, own) = (observed.report(), observed.own_counts());
        assert_eq!(report.job.places, 2);
        checks::complete(&report, 3);
        checks::same_calls(&report, &own.calls);
        checks::same_traffic(&report, &own);
    }
}

/// `invivo run` before the user's own launcher line: the same output, status and counts.
#[test]
fn invivo_run_adds_its_processes_to_the_launchers_line() {
    for family in Family::ALL {
        let ranks = ranks(family);
        let mut command = Conversation::C.command(family);
        command.push(STATUS.to_string().into());
        let bare = Job::bare(family, ranks, &command).run();
        let observed = Job::run_by_invivo(family, ranks, &command).run();

        same_but_for_one_line(&bare, &observed);
        let (report, own) = (observed.report(), observed.own_counts());
        checks::complete(&report, ranks);
        checks::same_calls(&report, &own.calls);
        checks::same_traffic(&report, &own);
    }
}

/// Members agree on the name of each communicator, however it was made: each rank's messages on all
/// of them go to the rank below it, and the report says so.
#[test]
fn communicators_made_of_communicators_have_known_peers() {
    for family in Family::ALL {
        let ranks = ranks(family);
        let command = program(family, "communicator_chains", []);
        let bare = Job::bare(family, ranks, &command).run();
        let observed = Job::observed(family, ranks, &command).run();

        same_but_for_one_line(&bare, &observed);
        let (report, own) = (observed.report(), observed.own_counts());
        checks::complete(&report, ranks);
        checks::same_calls(&report, &own.calls);
        checks::same_traffic(&report, &own);
    }
}

/// Callbacks of the application in `MPI_Finalize` may still communicate.
#[test]
fn callbacks_in_finalize_still_communicate() {
    for family in Family::ALL {
        let ranks = ranks(family);
        let command = program(family, "finalize_callback", []);
        let bare = Job::bare(family, ranks, &command).run();
        assert_eq!(bare.stdout()[0], format!("{ranks} ranks said goodbye\n"));
        let observed = Job::observed(family, ranks, &command).run();
        same_but_for_one_line(&bare, &observed);
        checks::complete(&observed.report(), ranks);
    }
}

/// The shortest programs are observed like any other, down to a single rank, whatever status they
/// leave with.
#[test]
fn a_program_that_only_begins_and_ends_is_observed() {
    for family in Family::ALL {
        for (ranks, status) in [(1, "0"), (2, "3")] {
            let command = program(family, "init_finalize", [status]);
            let bare = Job::bare(family, ranks, &command).run();
            assert_eq!(bare.code().to_string(), status);

            let observed = Job::observed(family, ranks, &command).run();
            same_but_for_one_line(&bare, &observed);
            let report = observed.report();
            checks::complete(&report, ranks);
            let calls = [("MPI_Init", 1), ("MPI_Finalize", 1)];
            checks::same_calls(&report, &calls_of_each_rank(ranks, calls));
            checks::within_the_time_observed(&report);
        }
    }
}

/// Waiting times that are known by construction: rank r comes r * 60 ms late to each of five
/// barriers, where the others wait.
#[test]
fn time_in_a_barrier_is_time_of_waiting() {
    for family in Family::ALL {
        let ranks = ranks(family);
        let observed = Job::observed(
            family,
            ranks,
            &program(family, "late_to_barrier", ["5", "60"]),
        )
        .run();
        assert_eq!(observed.code(), 0);
        let report = observed.report();
        checks::complete(&report, ranks);
        checks::same_calls(&report, &observed.own_counts().calls);
        for rank in 0..ranks {
            let expected = f64::from(ranks - 1 - rank) * 0.060 * 5.0;
            let found = report.seconds(rank, "MPI_Barrier");
            // A sleep is never short, but waking up takes its time on a busy machine.
            let late = found - expected;
            assert!(
                (-0.03..0.5).contains(&late),
                "{family:?}: rank {rank} waited {found} s instead of {expected} s"
            );
        }
    }
}
