//! A gateway that is killed is replaced, and the job does not notice.

use invivo_e2e::checks;
use invivo_e2e::clients::number;
use invivo_e2e::job::Job;
use invivo_e2e::mpi::Family;
use invivo_e2e::processes::kill;
use invivo_e2e::programs::program;

/// It is killed twice and replaced twice; nothing is missing in the report.
#[test]
fn a_killed_gateway_is_replaced_and_the_job_unharmed() {
    for family in Family::ALL {
        let ranks = 2;
        let mut running =
            Job::observed(family, ranks, &program(family, "message_loop", [])).start();
        for _ in 0..2 {
            running.until("an answer", |job| job.client().try_json(&["status"]));
            let old = running.only("ui-gateway");
            kill(&old);
            let status = running.until("an answer of the new gateway", |job| {
                job.client().try_json(&["status"])
            });
            assert_eq!(
                number(&status, "/coverage/ranks_reporting"),
                u64::from(ranks),
                "{family:?}: {status}"
            );
            let new = running.only("ui-gateway");
            assert_ne!(old.pid, new.pid, "{family:?}: the old gateway is dead");
        }
        assert!(running.runs(), "{family:?}: the job is still there");
        running.tell("stop");

        let ended = running.end();
        ended.assert_printed(|rank| format!("rank {rank}: 0 wrong\n"));
        let (report, own) = (ended.report(), ended.own_counts());
        checks::same_but_for_drops(&report, ranks, &own);
        ended.assert_nothing_left();
    }
}
