//! Signals: who gets them, and how often.

use crate::stage::{self, LAUNCHERS, Launcher, Stage, lines_of};
use crate::{RANKS, TOTAL};
use std::time::Duration;

/// Open MPI's mpiexec now and then stops passing signals on, to all of its processes; it lost two
/// of 24 in bare runs, too. A job in which that happens says nothing about us, and another is
/// started, so often at most.
const JOBS: usize = 8;

#[test]
fn every_signal_arrives_once() {
    for launcher in LAUNCHERS.iter().filter(|launcher| launcher.installed()) {
        let tried = (0..JOBS).any(|_| signals_arrive_once(launcher));
        assert!(
            tried,
            "{} passed signals on in none of {JOBS} jobs",
            launcher.name
        );
    }
}

/// False where the launcher passes a signal on to nobody; what reaches one rank must reach all,
/// once.
fn signals_arrive_once(launcher: &Launcher) -> bool {
    let stage = Stage::new();
    let witness = stage.witness();
    let mut job = stage.launch(launcher, TOTAL, true, &[&witness]);
    let pid = |rank: u32| {
        lines_of(&stage.path(&format!("pid.{rank}")))
            .first()?
            .parse::<i32>()
            .ok()
    };
    stage::until("the ranks run", || {
        (0..RANKS).all(|rank| pid(rank).is_some())
    });
    let count = |rank: u32, name: &str| {
        lines_of(&stage.path(&format!("got.{rank}")))
            .iter()
            .filter(|line| *line == name)
            .count()
    };
    let counts = |name: &str| -> Vec<usize> { (0..RANKS).map(|rank| count(rank, name)).collect() };
    let settle = || std::thread::sleep(Duration::from_millis(150));
    for name in launcher.forwards {
        for round in 1..=3 {
            stage::kill(job.id() as i32, name);
            let came = stage::comes_within(Duration::from_secs(5), || {
                counts(name).iter().all(|count| *count >= round)
            });
            if !came && counts(name).iter().all(|count| *count < round) {
                std::fs::write(stage.path("stop"), "").expect("written");
                // It may not notice either that its processes have ended.
                let ends = || job.try_wait().expect("its status").is_some();
                if !stage::comes_within(Duration::from_secs(20), ends) {
                    eprintln!("{} does not end", launcher.name);
                    job.kill().expect("killed");
                }
                job.wait().expect("ended");
                return false;
            }
            settle();
            assert_eq!(
                counts(name),
                vec![round; RANKS as usize],
                "{} {name}",
                launcher.name
            );
        }
    }
    // To the supervisor alone, from somebody who is not the launcher.
    let supervisor = stage::parent(pid(1).expect("a rank"));
    for (round, name) in ["USR2", "TERM", "INT"].into_iter().enumerate() {
        let before = count(1, name);
        stage::kill(supervisor, name);
        stage::until("the signal is passed on", || count(1, name) > before);
        settle();
        assert_eq!(
            count(1, name),
            before + 1,
            "{} {name} {round}",
            launcher.name
        );
    }
    std::fs::write(stage.path("stop"), "").expect("written");
    job.wait().expect("ended");
    true
}

/// The end asked for by a signal comes once and leaves nothing behind.
#[test]
fn a_terminating_signal_arrives_once_and_leaves_nothing() {
    for launcher in LAUNCHERS.iter().filter(|launcher| launcher.installed()) {
        let stage = Stage::new();
        let witness = stage.witness();
        let mut job = stage.launch(launcher, TOTAL, true, &[&witness]);
        let running =
            || (0..RANKS).all(|rank| !lines_of(&stage.path(&format!("pid.{rank}"))).is_empty());
        stage::until("the ranks run", || running() && !stage.jobs().is_empty());
        stage::kill(job.id() as i32, "TERM");
        let got = |rank: u32| {
            let lines = lines_of(&stage.path(&format!("got.{rank}")));
            lines
                .into_iter()
                .filter(|line| line != "CONT")
                .collect::<Vec<_>>()
        };
        stage::until("the ranks are told", || {
            (0..RANKS).all(|rank| !got(rank).is_empty())
        });
        stage::until("the job is off the list", || stage.jobs().is_empty());
        std::thread::sleep(Duration::from_millis(200));
        for rank in 0..RANKS {
            assert_eq!(got(rank), ["TERM"], "{}", launcher.name);
        }
        std::fs::write(stage.path("stop"), "").expect("written");
        job.wait().expect("ended");
        stage::until("nothing is left", || stage.sockets().is_empty());
    }
}
