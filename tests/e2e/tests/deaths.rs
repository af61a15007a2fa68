//! What is known of a job that did not end well.

use invivo_e2e::apps::program;
use invivo_e2e::checks;
use invivo_e2e::family::Family;
use invivo_e2e::job::Job;

/// A rank dies of a signal: the job's status is the one it has without us, and what the rank did
/// until then is in the report.
#[test]
fn what_a_killed_rank_did_is_reported() {
    for family in Family::ALL {
        let command = program(family, "killed", ["50", "11"]);
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
            "{family:?}: the death is told: {lines:?}"
        );
    }
}
