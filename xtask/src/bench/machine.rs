//! Describes the machine of a bench, and how busy others kept it meanwhile.

use crate::run::{output, root};
use serde_json::{Value, json};
use std::process::Command;
use std::time::Instant;

/// The kernel's unit of CPU time in /proc, in seconds: always a hundredth at this interface.
const TICK_S: f64 = 0.01;

/// The machine, and the versions of the programs.
pub fn machine() -> Value {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let after = |text: &str, key: &str| {
        let mut lines = text.lines();
        let value = lines.find_map(|line| line.strip_prefix(key));
        value.map(|value| value.trim_start_matches([' ', '\t', ':']).trim().to_owned())
    };

    let cpu = read("/proc/cpuinfo");
    let kib = after(&read("/proc/meminfo"), "MemTotal:");
    let kib = kib.and_then(|kib| kib.split(' ').next()?.parse::<f64>().ok());
    let release = read("/etc/os-release");

    let says = |program: &str, arguments: &[&str]| {
        let said = output(Command::new(program).args(arguments).current_dir(root()));
        said.unwrap_or_default()
            .lines()
            .next()
            .unwrap_or_default()
            .trim()
            .to_owned()
    };

    json!({
        "cpu": after(&cpu, "model name"),
        "is_virtual": cpu.contains(" hypervisor"),
        "cores": std::thread::available_parallelism().map_or(0, usize::from),
        "memory_gib": (kib.unwrap_or(0.0) / f64::from(1 << 20)).round(),
        "kernel": read("/proc/sys/kernel/osrelease").trim(),
        "system": after(&release, "PRETTY_NAME=").map(|name| name.trim_matches('"').to_owned()),
        "rust": says("rustc", &["--version"]),
        "commit": says("git", &["describe", "--always", "--dirty", "--abbrev=12"]),
        "date": says("date", &["--utc", "+%F %H:%MZ"]),
    })
}

/// Measures how busy others keep the machine while something is measured.
pub struct Beside {
    begun: Instant,
    busy_s: f64,
    own_s: f64,
}

impl Beside {
    /// Begins now.
    pub fn begin() -> Beside {
        Beside {
            begun: Instant::now(),
            busy_s: busy_s(),
            own_s: own_s(),
        }
    }

    /// Ends now: the cores that others used on average, and the seconds.
    pub fn json(&self) -> Value {
        let seconds = self.begun.elapsed().as_secs_f64();
        // Own time counts only children that have ended: those of a bench have.
        let others_s = (busy_s() - self.busy_s) - (own_s() - self.own_s);
        json!({ "seconds": seconds, "cores_used_by_others": (others_s / seconds).max(0.0) })
    }
}

/// Measures what share of the processors' time a virtual machine did not get from its host (the
/// column *steal* of `/proc/stat`, proc(5)). Other machines see none.
pub struct Stolen {
    ticks: Vec<f64>,
}

impl Stolen {
    /// Begins now.
    pub fn begin() -> Stolen {
        Stolen { ticks: ticks() }
    }

    /// Until now, from 0 to 1.
    pub fn share(&self) -> f64 {
        stolen_share(&self.ticks, &ticks())
    }
}

fn ticks() -> Vec<f64> {
    ticks_of(&std::fs::read_to_string("/proc/stat").unwrap_or_default())
}

fn stolen_share(before: &[f64], now: &[f64]) -> f64 {
    let passed: Vec<f64> = now
        .iter()
        .zip(before)
        .map(|(now, then)| now - then)
        .collect();
    let all: f64 = passed.iter().sum();
    match passed.get(7) {
        Some(stolen) if all > 0.0 => stolen / all,
        _ => 0.0,
    }
}

/// CPU time that all processes of the machine have used, and that was stolen from it, in seconds.
fn busy_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    busy_ticks(&stat) * TICK_S
}

/// user, nice, system, idle, iowait, irq, softirq, steal: the first line of /proc/stat.
fn ticks_of(stat: &str) -> Vec<f64> {
    let first = stat.lines().next().unwrap_or_default();
    let words = first.split_whitespace().skip(1);
    words.filter_map(|word| word.parse().ok()).take(8).collect()
}

fn busy_ticks(stat: &str) -> f64 {
    let ticks = ticks_of(stat);
    // Idle and iowait are the two that are not busy.
    let idle: f64 = ticks.iter().skip(3).take(2).sum();
    ticks.iter().sum::<f64>() - idle
}

/// CPU time of this process and of all that it has started and that have ended, in seconds.
pub fn own_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    own_ticks(&stat) * TICK_S
}

/// The fields 14 to 17; the second, the program's name, may contain anything.
fn own_ticks(stat: &str) -> f64 {
    let behind = stat.rsplit_once(')').map_or("", |(_, behind)| behind);
    let times = behind.split_whitespace().skip(11).take(4);
    times.filter_map(|word| word.parse::<f64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_where_the_kernel_puts_them() {
        let stat = "cpu  10 20 30 4000 500 6 7 8 9 1\ncpu0 1 1 1 1 1 1 1 1 1 1\n";
        assert_eq!(busy_ticks(stat), 81.0);
        let later = "cpu  20 20 30 4020 500 6 7 18 9 1\n";
        assert_eq!(stolen_share(&ticks_of(stat), &ticks_of(later)), 0.25);
        assert_eq!(stolen_share(&ticks_of(later), &ticks_of(later)), 0.0);
        assert_eq!(stolen_share(&[], &[]), 0.0);
        let stat = "17 (a) b) S 1 17 17 0 -1 4194304 100 200 0 0 3 5 7 11 20 0 1 0 500 1 1\n";
        assert_eq!(own_ticks(stat), 26.0);
    }

    #[test]
    fn what_this_process_does_is_its_own() {
        let (before, begun) = (own_s(), Instant::now());
        while own_s() == before {
            assert!(begun.elapsed().as_secs() < 30, "no CPU time is told");
        }
        assert!(machine()["cores"].as_u64().unwrap() > 0);
    }
}
