//! Clocks that run unlike on the hosts of a job, injected into the processes of each.
//!
//! The hosts of [`super::hosts`] have one kernel and one clock, which the programs read. So the
//! true time of what they log is known, and by the same function as in the job what each host's
//! clocks showed then.

use super::hosts;
use crate::job::Job;
use crate::logs::call_log::CallLog;
use crate::logs::clock_log::now_ns;
use crate::paths;
use invivo_proto::clock::skew::{Skew, VARIABLE};
use invivo_proto::clock::tsc;
use std::time::Duration;

/// For how long the rate of the counter is measured.
const MEASURED: Duration = Duration::from_millis(200);

/// How the clocks of the hosts run.
#[derive(Clone, Debug)]
pub struct Skews {
    text: String,
    of: Vec<Skew>,
}

impl Skews {
    /// Of each host, by terms of `proto/src/clock/skew.rs`, which are made of the true time now.
    pub fn new(terms: impl FnOnce(u64) -> [String; hosts::HOSTS as usize]) -> Skews {
        let (ns, ticks) = (now_ns(), tsc());
        std::thread::sleep(MEASURED);
        let (later_ns, later_ticks) = (now_ns(), tsc());
        let khz = u128::from(later_ticks - ticks) * 1_000_000 / u128::from(later_ns - ns);

        let mut text = format!("{ns}/{ticks}/{}", khz.max(1));
        for (host, terms) in (0..).zip(terms(ns)) {
            text += &format!(";{}:{terms}", hosts::name(host));
        }
        let of = (0..hosts::HOSTS).map(|host| {
            let skew = Skew::of(&text, &hosts::name(host));
            skew.unwrap_or_else(|| panic!("{text} is no skew"))
        });
        Skews {
            of: of.collect(),
            text,
        }
    }

    /// The job under these clocks, in the tree with test hooks.
    pub fn of_job(&self, job: Job) -> Job {
        let is_open_mpi = job.family().is_open_mpi();
        let job = job
            .on_hosts()
            .by(paths::invivo_with_hooks())
            .env(VARIABLE, &self.text);
        // Open MPI takes no variable along by itself.
        match is_open_mpi {
            true => job.launcher_options(["-x", VARIABLE, "-x", "INVIVO_JOB"]),
            false => job,
        }
    }

    /// What a host's clock shows at this true time.
    pub fn shown(&self, host: u32, true_ns: u64) -> u64 {
        self.of[host as usize].ns(true_ns)
    }

    /// Logs with true times, by a host's clock.
    pub fn log_shown(&self, host: u32, logs: Vec<CallLog>) -> Vec<CallLog> {
        let mut logs = logs;
        for call in logs.iter_mut().flat_map(|log| &mut log.calls) {
            call.begin_ns = self.shown(host, call.begin_ns);
            call.end_ns = self.shown(host, call.end_ns);
        }
        logs
    }
}
