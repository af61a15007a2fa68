//! The report of a job in which a rank was killed by a signal.

use invivo_e2e::checks;
use invivo_e2e::job::Job;
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::program;

/// The job has the status that it has without Invivo, and what the rank did until then is in the
/// report.
#[test]
fn calls_of_a_killed_rank_are_reported() {
    for family in Family::ALL {
        let command = program(family, "killed_rank", ["50", "11"]);
        let bare = Job::bare(family, 2, &command).run();
        let observed = Job::observed(family, 2, &command).run();
        assert_eq!(bare.code(), observed.code(), "{family:?}: exit status");
        assert_ne!(observed.code(), 0);

        let report = observed.report();
        checks::conserved(&report, 2);
        let dead: Vec<_> = report
            .ended
            .iter()
            .filter(|ended| ended.rank == 1)
            .collect();
        assert_eq!(dead.len(), 1, "{family:?}: {:?}", report.ended);
        assert_eq!(
            (dead[0].signal, dead[0].code),
            (Some(11), None),
            "{family:?}: {dead:?}"
        );

        let calls = report.calls();
        let of = |rank: u32, function: &str| {
            calls
                .get(&(rank, function.to_owned()))
                .copied()
                .unwrap_or(0)
        };
        assert_eq!(
            (of(0, "MPI_Send"), of(1, "MPI_Recv"), of(1, "MPI_Barrier")),
            (50, 50, 1),
            "{family:?}: {calls:?}"
        );

        let lines = observed.our_lines();
        assert!(
            lines.iter().any(|line| line.contains("rank 1")),
            "{family:?}: the death is reported: {lines:?}"
        );
    }
}
