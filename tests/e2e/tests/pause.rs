//! Pausing the application: a pause ends by command, by its lease, or when the root is lost.

use invivo_e2e::checks;
use invivo_e2e::clients::number;
use invivo_e2e::job::{Job, Running};
use invivo_e2e::logs::clock_log::{ClockLog, now_ns, ticks, wait_for_ticks};
use invivo_e2e::mpi::Family;
use invivo_e2e::processes::{kill, thread_states};
use invivo_e2e::programs::program;
use std::time::{Duration, Instant};

/// Fewer on MPICH, which spins while it waits.
fn ranks(family: Family) -> u32 {
    match family {
        Family::Ompi | Family::Ompi5 => 4,
        _ => 2,
    }
}

/// Between two ticks of a rank that runs: 10 ms and what a busy machine adds.
const TICK_MAX: Duration = Duration::from_millis(700);

/// Work for each thread of a program, in seconds: enough for a busy machine to have answered before
/// it is done.
const SECONDS: usize = 4;

/// Pauses a program that computes without an MPI call: every thread stands while the pause lasts.
fn computing(family: Family) {
    let ranks = ranks(family);
    let command = program(family, "compute", [&SECONDS.to_string()]);
    let mut running = Job::observed(family, ranks, &command)
        .limit(Duration::from_secs(120))
        .start();

    wait_for_ticks(&mut running, 0..ranks, 50);
    running.wait_for_answers();
    let client = running.client();

    let asked = now_ns();
    let reply = client.pause(ranks, "1m");
    let paused = Instant::now();
    let before = ticks(&running);
    let programs = running.named("compute");
    assert_eq!(programs.len(), ranks as usize);
    // `T`: stopped; every thread of the process, not the first alone.
    for process in &programs {
        let states = thread_states(process.pid);
        assert!(
            states.len() >= 2 && states.iter().all(|state| *state == 'T'),
            "{process:?}: {states:?}"
        );
    }

    std::thread::sleep(Duration::from_secs(2));
    let status = client.json(&["status"]);
    assert_eq!(
        number(&status, "/status/ranks/paused"),
        u64::from(ranks),
        "{status}"
    );
    assert!(
        number(&status, "/status/pause/lease_left_ns") > 50_000_000_000,
        "{status}"
    );
    assert_eq!(
        before,
        ticks(&running),
        "no rank has computed meanwhile: {reply}"
    );
    // By the clock of this test, which began after the acknowledgement: a lower bound.
    let lasted = paused.elapsed();
    client.resume(ranks);

    let ended = running.end();
    assert_eq!(ended.code(), 0);
    for rank in 0..ranks {
        let log = ClockLog::read(&ended.logs(), rank);
        let (gap, begun) = log.longest_gap();
        assert!(
            gap >= lasted,
            "rank {rank} stood {gap:?} by its own clock, the pause lasted {lasted:?}"
        );
        assert!(
            gap < lasted + Duration::from_secs(4),
            "rank {rank} stood {gap:?} for a pause of {lasted:?}"
        );
        // A gap before the command would be the machine's, not the pause's.
        assert!(
            begun + TICK_MAX.as_nanos() as u64 > asked,
            "rank {rank} stood before it was asked to"
        );
        assert_eq!(
            log.ticks(),
            2 * 100 * SECONDS,
            "rank {rank} did all its work"
        );
    }

    let bare = Job::bare(family, ranks, &command).limit(Duration::from_secs(120));
    assert_eq!(ended.stdout(), bare.run().stdout());
    let report = ended.report();
    checks::complete(&report, ranks);
    checks::same_calls(&report, &ended.own_counts().calls);
    ended.assert_nothing_left();
}

#[test]
fn a_computing_job_is_paused_on_open_mpi() {
    computing(Family::Ompi);
}

#[test]
fn a_computing_job_is_paused_on_mpich() {
    computing(Family::Mpich);
}

/// Ranks in `MPI_Recv` count as paused, and get their message when the sender goes on.
#[test]
fn ranks_in_a_receive_go_on_after_a_pause() {
    for family in Family::ALL {
        let ranks = ranks(family);
        let mut running =
            Job::observed(family, ranks, &program(family, "recv_blocked", [])).start();
        // Rank 0 computes; the others tick once and then wait.
        wait_for_ticks(&mut running, 0..1, 50);
        wait_for_ticks(&mut running, 1..ranks, 1);
        running.wait_for_answers();
        // A rank ticks before it receives.
        running.until("all but rank 0 in MPI", |job| {
            let status = job.client().try_json(&["status"])?;
            let of = |state: &str| number(&status, &format!("/status/ranks/{state}"));
            (of("in_mpi") == u64::from(ranks) - 1 && of("computing") == 1).then_some(())
        });
        let client = running.client();

        let reply = client.pause(ranks, "1m");
        assert_eq!(
            number(&reply, "/held_in_mpi"),
            u64::from(ranks) - 1,
            "all but rank 0 wait in MPI_Recv: {reply}"
        );

        let before = ticks(&running);
        std::thread::sleep(Duration::from_secs(2));
        assert_eq!(before, ticks(&running), "{family:?}: nobody went on");

        let resumed = now_ns();
        client.resume(ranks);
        running.tell("stop");

        let ended = running.end();
        assert_eq!(ended.code(), 0);
        let (gap, _) = ClockLog::read(&ended.logs(), 0).longest_gap();
        assert!(
            gap >= Duration::from_secs(2),
            "{family:?}: rank 0 stood {gap:?}"
        );
        for rank in 1..ranks {
            assert_eq!(
                ended.stdout()[rank as usize],
                format!("rank {rank} has {rank}\n")
            );
            let received = ClockLog::read(&ended.logs(), rank).threads["received"][0];
            assert!(
                received > resumed,
                "{family:?}: rank {rank} received before the end of the pause"
            );
        }
        let (report, own) = (ended.report(), ended.own_counts());
        checks::complete(&report, ranks);
        checks::same_calls(&report, &own.calls);
        checks::same_traffic(&report, &own);
    }
}

/// In a job that does nothing but communicate no call begins while it is paused, and no message is
/// lost.
#[test]
fn a_job_that_only_communicates_is_paused() {
    for family in Family::ALL {
        let ranks = ranks(family);
        let mut running =
            Job::observed(family, ranks, &program(family, "message_loop", [])).start();
        running.wait_for_answers();
        let client = running.client();
        running.until("calls", |job| (job.client().entered() > 1000).then_some(()));
        client.pause(ranks, "1m");
        let begun = client.entered();

        std::thread::sleep(Duration::from_secs(1));
        assert_eq!(
            begun,
            client.entered(),
            "{family:?}: calls began during the pause"
        );

        client.resume(ranks);
        running.until("more calls", |job| {
            (job.client().entered() > begun + 1000).then_some(())
        });
        running.tell("stop");

        let ended = running.end();
        ended.assert_printed(|rank| format!("rank {rank}: 0 wrong\n"));
        let (report, own) = (ended.report(), ended.own_counts());
        checks::same_but_for_drops(&report, ranks, &own);
    }
}

/// A job that computes until it is told to stop, paused with this lease.
fn paused(family: Family, lease: &str) -> Running {
    let ranks = ranks(family);
    let mut running = Job::observed(family, ranks, &program(family, "compute", [])).start();
    wait_for_ticks(&mut running, 0..ranks, 50);
    running.wait_for_answers();
    running.client().pause(ranks, lease);
    running
}

/// A pause without a command to end it ends with its lease.
#[test]
fn a_pause_ends_with_its_lease() {
    for family in Family::ALL {
        let ranks = ranks(family);
        let running = paused(family, "1s");
        let client = running.client();

        // More than twice the lease: the job goes on by itself in the middle.
        std::thread::sleep(Duration::from_millis(2500));
        let status = client.json(&["status"]);
        assert!(
            status
                .pointer("/status/pause")
                .is_none_or(serde_json::Value::is_null),
            "{family:?}: {status}"
        );
        assert_eq!(
            number(&status, "/status/ranks/paused"),
            0,
            "{family:?}: {status}"
        );

        running.tell("stop");

        let ended = running.end();
        assert_eq!(ended.code(), 0);
        for rank in 0..ranks {
            let (gap, _) = ClockLog::read(&ended.logs(), rank).longest_gap();
            let expected = Duration::from_millis(600)..Duration::from_millis(3500);
            assert!(
                expected.contains(&gap),
                "{family:?}: rank {rank} stood {gap:?} for a lease of 1 s"
            );
        }
        let report = ended.report();
        checks::complete(&report, ranks);
        checks::same_calls(&report, &ended.own_counts().calls);
    }
}

/// The root is killed during a pause, so that no process can end it by command: it ends all the
/// same.
#[test]
fn a_pause_ends_when_the_root_is_lost() {
    for family in Family::ALL {
        let ranks = ranks(family);
        let mut running = paused(family, "10m");
        std::thread::sleep(Duration::from_secs(1));
        let standing = ticks(&running);
        std::thread::sleep(Duration::from_secs(1));
        assert_eq!(
            standing,
            ticks(&running),
            "{family:?}: the pause holds while the root is alive"
        );

        let killed = now_ns();
        kill(&running.only("analysis-node"));
        for rank in 0..ranks {
            let first = running.until("a tick after the root's death", |job| {
                let log = ClockLog::read(&job.logs(), rank);
                log.threads
                    .values()
                    .flatten()
                    .copied()
                    .filter(|ns| *ns > killed)
                    .min()
            });

            let stood = Duration::from_nanos(first - killed);
            assert!(
                stood < Duration::from_secs(3),
                "{family:?}: rank {rank} stood {stood:?} after the root's death"
            );
        }
        // They do not stop again.
        let before = ticks(&running);
        std::thread::sleep(TICK_MAX + Duration::from_millis(500));
        for (rank, (before, after)) in before.iter().zip(ticks(&running)).enumerate() {
            assert!(
                after > before + 20,
                "{family:?}: rank {rank} ticked {before} and then {after} times"
            );
        }
    }
}
