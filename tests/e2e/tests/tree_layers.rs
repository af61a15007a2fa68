//! Trees of three layers: the merged results are what the program counted itself.

use invivo_e2e::checks;
use invivo_e2e::job::Job;
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::Conversation;

/// Eight ranks, four places, two nodes, one root: calls and messages of all ranks, on the world and
/// on other communicators whose members report to different places.
#[test]
fn three_layers_give_what_the_program_counted() {
    for family in Family::ALL {
        let ranks = 8;
        let command = Conversation::C.command(family);
        let job = Job::observed(family, ranks, &command).fan_in("2,2").start();
        assert_eq!(job.processes(), 8 + 4 + 2 + 1);
        let ended = job.end();
        assert_eq!(ended.code(), 0);

        let (report, own) = (ended.report(), ended.own_counts());
        assert_eq!((report.job.places, report.job.nodes), (4, 3), "{family:?}");
        checks::complete(&report, ranks);
        checks::same_calls(&report, &own.calls);
        checks::same_traffic(&report, &own);
        assert!(report.notes.is_empty(), "{family:?}: {:?}", report.notes);
        ended.assert_nothing_left();
    }
}
