//! A job is paused, goes on, and ends by itself or loses a rank on its third node.

use invivo_e2e::checks;
use invivo_e2e::job::{Job, Running};
use invivo_e2e::logs::clock_log::{rank_of, ticks, wait_for_ticks};
use invivo_e2e::processes::{Process, kill, marked, variable};
use std::time::Duration;

/// The node on which a rank is killed.
const NODE: &str = "n3";

/// Starts a job of the program `compute`, and pauses it: all ranks stand, on all nodes, and go on.
fn paused(job: Job, what: &str) -> Running {
    let mut running = job.start();
    let ranks = running.ranks();
    running.wait_for_answers();
    wait_for_ticks(&mut running, 0..ranks, 5);

    let client = running.client();
    client.pause(ranks, "1m");
    std::thread::sleep(Duration::from_millis(300));
    let standing = ticks(&running);
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(standing, ticks(&running), "{what}: they stand");
    client.resume(ranks);
    let more = standing.iter().map(|ticks| ticks + 5).max().unwrap_or(0);
    wait_for_ticks(&mut running, 0..ranks, more);
    running
}

/// After the pause the job ends as without one: no call is missing.
pub fn complete_after_a_pause(job: Job, what: &str) {
    let running = paused(job, what);
    running.tell("stop");
    let ended = running.end();
    assert_eq!(ended.code(), 0, "{what}: {:?}", ended.our_lines());
    let report = ended.report();
    checks::complete(&report, ended.ranks());
    checks::same_calls(&report, &ended.own_counts().calls);
    ended.assert_nothing_left();
}

/// After the pause a rank of the third node is killed, and named.
pub fn after_a_pause(job: Job, what: &str) {
    let is_step = job.is_step();
    let job = match is_step {
        // Otherwise the ranks of MPICH go on without the dead one, in a bare run as well.
        true => job.launcher_options(["--kill-on-bad-exit=1"]),
        false => job,
    };
    let running = paused(job, what);
    let ranks = running.ranks();
    let (victim, rank) = victim(&running);
    kill(&victim);
    let ended = running.end();
    assert_ne!(ended.code(), 0, "{what}");
    let report = ended.report();
    checks::conserved(&report, ranks);
    let killed: Vec<_> = report
        .ended
        .iter()
        .filter(|end| end.rank == rank && end.signal == Some(9))
        .collect();
    assert_eq!(killed.len(), 1, "{what}: {:?}", report.ended);
    let named = format!("rank {rank} was killed by signal 9");
    let lines = ended.our_lines();
    let names = lines.iter().filter(|line| line.contains(&named)).count();
    assert_eq!(names, 1, "{what}: {lines:?}");
    // Slurm kills all processes of a step at once, those that tidy up included.
    if !is_step {
        ended.assert_nothing_left();
    }
}

/// A process of a program on that node, and its rank.
fn victim(running: &Running) -> (Process, u32) {
    let is_there =
        |process: &Process| variable(process, "SLURMD_NODENAME").is_some_and(|name| name == NODE);
    let there = marked(running.mark()).into_iter().filter(is_there);
    // Only ranks have a log open.
    let mut ranks = there.filter_map(|process| Some((rank_of(&process)?, process)));
    let (rank, process) = ranks.next().expect("a rank on the third node");
    (process, rank)
}
