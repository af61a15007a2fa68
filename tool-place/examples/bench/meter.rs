//! Time and memory.

use rustix::time::{ClockId, clock_gettime};

/// What something took.
pub struct Spent {
    /// Of this thread.
    pub cpu_ns: u64,
    /// On the wall.
    pub wall_ns: u64,
}

/// Does it and says what it took.
pub fn measure(work: impl FnOnce()) -> Spent {
    let (cpu, wall) = (now(ClockId::ThreadCPUTime), now(ClockId::Monotonic));
    work();
    Spent {
        wall_ns: now(ClockId::Monotonic) - wall,
        cpu_ns: now(ClockId::ThreadCPUTime) - cpu,
    }
}

fn now(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Memory of this process that is resident, 0 where the system does not tell.
pub fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
