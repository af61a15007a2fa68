//! Processes of ours that are killed.

use crate::TOTAL;
use crate::stage::{self, LAUNCHERS, Stage, in_mpi, lines_of};
use std::time::Duration;

#[test]
fn a_killed_supervisor_takes_its_rank_along() {
    for launcher in LAUNCHERS.iter().filter(|launcher| launcher.installed()) {
        let stage = Stage::new();
        let mut job = stage.start(launcher, TOTAL, true, "echo $$ > pid.$RANK; exec sleep 60");
        let pid = || lines_of(&stage.path("pid.1")).first()?.parse::<i32>().ok();
        stage::until("the rank runs", || pid().is_some());
        let pid = pid().expect("a rank");
        stage::kill(stage::parent(pid), "KILL");
        stage::until("the rank is gone", || !stage::alive(pid));
        assert!(!job.wait().expect("ended").success());
    }
}

/// A killed analysis node ends neither the job nor its supervisor.
#[test]
fn a_killed_analysis_node_does_not_end_the_job() {
    for launcher in LAUNCHERS.iter().filter(|launcher| launcher.installed()) {
        let stage = Stage::new();
        let mut job = stage.start(
            launcher,
            TOTAL,
            true,
            &format!(
                "{}; echo $$ > pid.$RANK; until [ -e stop ]; do sleep 0.02; done",
                in_mpi()
            ),
        );
        let node = || {
            lines_of(&stage.path("node.pid"))
                .first()?
                .parse::<i32>()
                .ok()
        };
        stage::until("the job runs", || {
            node().is_some()
                && !lines_of(&stage.path("pid.0")).is_empty()
                && !stage.jobs().is_empty()
        });
        let node = node().expect("a process");
        let root = stage::parent(node);
        stage::kill(node, "KILL");
        stage::until("the job is off the list", || stage.jobs().is_empty());
        std::thread::sleep(Duration::from_millis(300));
        assert!(
            stage::alive(root) && job.try_wait().expect("asked").is_none(),
            "{}",
            launcher.name
        );
        // The ranks may save their work then, and the launcher would end them.
        stage::kill(root, "TERM");
        std::thread::sleep(Duration::from_millis(300));
        assert!(stage::alive(root), "{}", launcher.name);
        stage::kill(root, "KILL");
        std::fs::write(stage.path("stop"), "").expect("written");
        job.wait().expect("ended");
    }
}
