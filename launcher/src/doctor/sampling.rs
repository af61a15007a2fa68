//! Whether ranks can be sampled: the kernel and its settings, and containers, decide.

use super::finding::Finding;
use invivo_inspect::sampling::{OfRank, Sampler};
use invivo_proto::control::profile::NoSamples;
use invivo_proto::control::sampling::Sampling;
use invivo_proto::ids::Rank;
use rustix::process::Pid;
use std::process::{Command, Stdio};

/// The kernel's setting of who may use its performance events.
const PARANOID: &str = "/proc/sys/kernel/perf_event_paranoid";

/// Tries it.
pub fn check() -> Finding {
    finding(sampled_child(), std::fs::read_to_string(PARANOID).ok())
}

/// Samples a child for a moment, as a supervisor does.
fn sampled_child() -> Result<(), NoSamples> {
    let mut sleep = Command::new("sleep");
    let child = sleep.arg("60").stdin(Stdio::null()).spawn();
    let mut child = child.map_err(|_| NoSamples::NoRoom)?;
    let of = OfRank {
        rank: Rank(0),
        pid: Pid::from_child(&child),
        page: None,
    };
    let sampled = Sampler::start(of, Sampling::ON, 0, || ());
    let _ = child.kill();
    let _ = child.wait();
    sampled.map(drop)
}

fn finding(sampled: Result<(), NoSamples>, paranoid: Option<String>) -> Finding {
    let check = "sampling";
    let level = paranoid.and_then(|text| text.trim().parse::<i32>().ok());
    let why = match sampled {
        Ok(()) if level.is_some_and(|level| level > 1) && !rustix::process::geteuid().is_root() => {
            return Finding::good(
                check,
                "ranks can be sampled (invivo profile), without their time in the kernel",
            );
        }
        Ok(()) => return Finding::good(check, "ranks can be sampled (invivo profile)"),
        Err(NoSamples::Forbidden { paranoid: 3.. }) => {
            format!("{PARANOID} is {}", level.unwrap_or(3))
        }
        Err(NoSamples::Forbidden { .. }) => "the container forbids perf_event_open".to_owned(),
        Err(NoSamples::Unsupported) => "the kernel has no perf events".to_owned(),
        Err(NoSamples::NoRoom) => "there is no memory left for samples".to_owned(),
        Err(why) => format!("a child could not be sampled ({why:?})"),
    };
    Finding::note(
        check,
        format!("{why}: ranks are not sampled by perf events"),
        "nothing: invivo sampling timer and --sampling=timer need no permission; or sysctl \
         kernel.perf_event_paranoid=2, or docker run --cap-add=PERFMON, or ulimit -l unlimited \
         where memory is short",
    )
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::*;

    #[test]
    fn this_machine_can_sample() {
        // A busy machine may take longer than a supervisor waits.
        let found = (0..5).map(|_| check());
        let found: Vec<Finding> = found.collect();
        assert!(
            found.iter().any(|one| one.level == Level::Good),
            "{}",
            found[0].what
        );
    }

    #[test]
    fn what_forbids_sampling_is_named() {
        let of = |why, paranoid: &str| finding(Err(why), Some(paranoid.to_owned()));
        let setting = of(NoSamples::Forbidden { paranoid: 4 }, "4\n");
        assert!(setting.what.contains("perf_event_paranoid is 4"));
        let container = of(NoSamples::Forbidden { paranoid: 2 }, "2\n");
        assert!(container.what.contains("the container forbids"));
        assert_eq!(container.level, Level::Note, "jobs run all the same");
    }
}
