//! Jobs that Slurm's `srun` starts are observed, or refused where its PMI does not fit their MPI.

use invivo_e2e::checks;
use invivo_e2e::cluster::slurm::{Slurm, possible};
use invivo_e2e::job::Job;
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::{Conversation, Language, in_language};

const RANKS: u32 = 2;
/// The status with which the program exits.
const STATUS: i32 = 3;

fn yielding(job: Job) -> Job {
    // There are more processes than cores, which Open MPI does not know from srun.
    job.env("OMPI_MCA_mpi_yield_when_idle", "1")
}

#[test]
fn jobs_of_srun_are_observed_or_refused() {
    if !possible() {
        return;
    }
    // One Slurm for all: its start takes longest.
    let slurm = Slurm::start();
    jobs_with_the_right_pmi_are_observed(&slurm);
    a_program_saves_after_a_time_limit(&slurm);
    jobs_with_the_wrong_pmi_are_refused(&slurm);
}

/// By hand and by `invivo run`: the output and the status of the bare run, every call counted,
/// nothing left.
fn jobs_with_the_right_pmi_are_observed(slurm: &Slurm) {
    for (family, mpi) in [(Family::Ompi, "pmix"), (Family::Mpich, "pmi2")] {
        let mut command = Conversation::C.command(family);
        command.push(STATUS.to_string().into());

        let bare = yielding(Job::bare(family, RANKS, &command).in_slurm(slurm, mpi)).run();
        assert_eq!(bare.code(), STATUS, "{family:?}: the bare run");
        for job in [
            Job::observed(family, RANKS, &command),
            Job::run_by_invivo(family, RANKS, &command),
        ] {
            let observed = yielding(job.in_slurm(slurm, mpi)).run();
            assert_eq!(observed.code(), STATUS, "{family:?}");
            assert_eq!(
                observed.stdout(),
                bare.stdout(),
                "{family:?}: standard outputs"
            );

            let (report, own) = (observed.report(), observed.own_counts());
            assert_eq!(
                (report.job.ranks, report.job.places),
                (RANKS, 1),
                "{family:?}"
            );
            checks::complete(&report, RANKS);
            checks::same_calls(&report, &own.calls);
            checks::same_traffic(&report, &own);
            observed.assert_nothing_left();
        }
    }
}

/// At a time limit Slurm sends SIGTERM to every process of a step, and SIGKILL half a minute later:
/// a program that saves its work meanwhile can, and all of its calls are reported.
fn a_program_saves_after_a_time_limit(slurm: &Slurm) {
    for (family, mpi) in [(Family::Ompi, "pmix"), (Family::Mpich, "pmi2")] {
        let command = in_language(family, "ends", Language::C, &["save"]);
        let ends = [
            Job::bare(family, RANKS, &command),
            Job::observed(family, RANKS, &command),
        ];

        let [bare, observed] = ends.map(|job| {
            let mut running = yielding(job.in_slurm(slurm, mpi)).start();
            running.wait_for_notes("ready");
            slurm.terminate_steps();
            running.end()
        });

        assert_eq!(observed.code(), bare.code(), "{family:?}");
        assert_eq!(
            observed.stdout(),
            bare.stdout(),
            "{family:?}: standard outputs"
        );

        let saved = |rank| format!("rank {rank}: saved");
        let output = observed.stdout().concat();
        assert!(
            (0..RANKS).all(|rank| output.contains(&saved(rank))),
            "{output}"
        );
        checks::complete(&observed.report(), RANKS);
        observed.assert_nothing_left();
    }
}

/// Each of these would run as several worlds of one process, without an error.
fn jobs_with_the_wrong_pmi_are_refused(slurm: &Slurm) {
    for (family, mpi, right) in [
        (Family::Mpich, "pmix", "--mpi=pmi2"),
        (Family::Ompi, "pmi2", "--mpi=pmix"),
        (Family::Mpich, "none", "--mpi=pmi2"),
        (Family::Ompi, "none", "--mpi=pmix"),
    ] {
        let command = Conversation::C.command(family);
        let refused = Job::observed(family, RANKS, &command)
            .in_slurm(slurm, mpi)
            .run();
        assert_eq!(refused.code(), 2, "{family:?}, {mpi}: wrong usage");
        let lines = refused.our_lines();
        assert!(
            lines.len() == 1 && lines[0].contains(right),
            "{family:?}, {mpi}: {lines:?}"
        );
        assert!(
            refused.stdout().concat().is_empty(),
            "{family:?}, {mpi}: nothing was started"
        );
        refused.assert_nothing_left();
    }
}
