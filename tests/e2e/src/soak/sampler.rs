//! Looks at what the processes of a job hold, at even times, whatever happens to them meanwhile.

use super::holdings::{Holding, Holdings};
use crate::processes::{marked, variable};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Between two looks: some of them in each quarter of the life that a gateway has.
const LOOK: Duration = Duration::from_millis(500);
/// The tree's processes, whatever the application is called.
const PROGRAMS: [&str; 4] = ["invivo", "tool-place", "analysis-node", "ui-gateway"];

/// A thread that takes samples until it is stopped.
#[derive(Debug)]
pub struct Sampler {
    stopped: Arc<AtomicBool>,
    thread: JoinHandle<Holdings>,
}

impl Sampler {
    /// Of the job with this mark, which runs `application`, and whose launcher numbers its
    /// processes in `number`.
    pub fn start(mark: &str, application: &str, number: &'static str) -> Sampler {
        let stopped = Arc::new(AtomicBool::new(false));
        let (mark, application, told) = (
            mark.to_owned(),
            application.to_owned(),
            Arc::clone(&stopped),
        );
        let thread = std::thread::spawn(move || {
            let (begun, mut holdings) = (Instant::now(), Holdings::default());
            while !told.load(Ordering::Relaxed) {
                for process in marked(&mark) {
                    let numbered = variable(&process, number).filter(|_| {
                        process.name == application || PROGRAMS.contains(&process.name.as_str())
                    });
                    if let Some((number, holding)) = numbered.zip(Holding::of(&process)) {
                        let role = format!("{} {number}", process.name);
                        holdings.take((role, process.pid), begun.elapsed(), holding);
                    }
                }
                std::thread::sleep(LOOK);
            }
            holdings
        });
        Sampler { stopped, thread }
    }

    /// What it saw.
    pub fn stop(self) -> Holdings {
        self.stopped.store(true, Ordering::Relaxed);
        self.thread.join().expect("it only looks")
    }
}
