//! Samples the resource usage of a job's processes at even times, in a thread of its own.

use super::resource_usage::{Usage, UsageLog};
use crate::processes::{marked, variable};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Between two samples: there are some in each quarter of a gateway's life.
const INTERVAL: Duration = Duration::from_millis(500);
/// File names of Invivo's own processes.
const PROGRAMS: [&str; 5] = [
    "invivo",
    "tool-process",
    "tool-place",
    "analysis-node",
    "ui-gateway",
];

/// A thread that takes samples until it is stopped.
#[derive(Debug)]
pub struct Sampler {
    stopped: Arc<AtomicBool>,
    thread: JoinHandle<UsageLog>,
}

impl Sampler {
    /// Samples the job with this mark, which runs `application`, and whose launcher gives each
    /// process its number in the variable `number`.
    pub fn start(mark: &str, application: &str, number: &'static str) -> Sampler {
        let stopped = Arc::new(AtomicBool::new(false));
        let (mark, application, stop_flag) = (
            mark.to_owned(),
            application.to_owned(),
            Arc::clone(&stopped),
        );
        let thread = std::thread::spawn(move || {
            let (begun, mut usages) = (Instant::now(), UsageLog::default());
            while !stop_flag.load(Ordering::Relaxed) {
                for process in marked(&mark) {
                    // Shells and daemons of the launcher have the mark, too.
                    let numbered = variable(&process, number).filter(|_| {
                        process.name == application || PROGRAMS.contains(&process.name.as_str())
                    });
                    if let Some((number, usage)) = numbered.zip(Usage::of(&process)) {
                        let role = format!("{} {number}", process.name);
                        usages.add((role, process.pid), begun.elapsed(), usage);
                    }
                }
                std::thread::sleep(INTERVAL);
            }
            usages
        });
        Sampler { stopped, thread }
    }

    /// Ends the thread; returns its samples.
    pub fn stop(self) -> UsageLog {
        self.stopped.store(true, Ordering::Relaxed);
        self.thread.join().expect("it only looks")
    }
}
