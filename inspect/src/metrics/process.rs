//! What the system tells of a process as a whole.

use crate::metrics::folder::{Folder, Kept};
use crate::metrics::text::{labelled, resident_pages, stat};
use invivo_proto::control::metrics::{NoMetric, SystemMetric};
use nix::errno::Errno;
use nix::time::ClockId;
use rustix::process::Pid;

/// What is measured of a process as a whole.
pub struct Process {
    pid: Pid,
    clock: Option<ClockId>,
    stat: Option<Kept>,
    statm: Option<Kept>,
    io: Option<Kept>,
    buffer: Vec<u8>,
}

impl Process {
    /// Of this process; nothing is measured yet.
    pub fn new(pid: Pid) -> Process {
        Process {
            pid,
            clock: None,
            stat: None,
            statm: None,
            io: None,
            buffer: Vec::new(),
        }
    }

    /// Whether no thread of it lives. Somebody who has not waited for its end yet keeps its folder.
    ///
    /// # Errors
    /// Why that cannot be told.
    pub fn has_ended(&mut self, folder: &Folder) -> Result<bool, NoMetric> {
        let stat = read(&folder.file("stat")?, &mut self.buffer, stat)?;
        // The first thread may have ended before the others.
        Ok(matches!(stat.state, 'Z' | 'X') && stat.threads <= 1)
    }

    /// Begins to measure one of those that are told of a process as a whole.
    ///
    /// # Errors
    /// Why that cannot be.
    pub fn begin(&mut self, folder: &Folder, metric: SystemMetric) -> Result<(), NoMetric> {
        match metric {
            SystemMetric::CpuTime => {
                let clock = ClockId::pid_cpu_clock_id(raw(self.pid)).map_err(no_clock)?;
                clock.now().map_err(no_clock)?;
                self.clock = Some(clock);
            }
            SystemMetric::PageFaults | SystemMetric::MajorFaults => {
                let file = folder.file("stat")?;
                read(&file, &mut self.buffer, stat)?;
                self.stat = Some(file);
            }
            SystemMetric::ResidentMemory => {
                let file = folder.file("statm")?;
                // No process is without memory: its first thread, whose file this is, has ended.
                if read(&file, &mut self.buffer, resident_pages)? == 0 {
                    return Err(NoMetric::Unreadable);
                }
                self.statm = Some(file);
            }
            SystemMetric::ReadBytes | SystemMetric::WrittenBytes => {
                let file = folder.file("io")?;
                read(&file, &mut self.buffer, bytes)?;
                self.io = Some(file);
            }
            _ => return Err(NoMetric::Unsupported),
        }
        Ok(())
    }

    /// Values now of those that can be read; some beside those that are asked for.
    pub fn read(&mut self) -> Vec<(SystemMetric, u64)> {
        let mut values = Vec::new();
        // The kernel brings it up to date at each tick of a processor that the process is on, and
        // when a thread leaves its processor: some ms are missing, where ticks are switched off up
        // to a second.
        if let Some(now) = self.clock.and_then(|clock| clock.now().ok()) {
            let seconds = u64::try_from(now.tv_sec()).unwrap_or(0);
            let ns = u64::try_from(now.tv_nsec()).unwrap_or(0);
            let ns = seconds.saturating_mul(1_000_000_000).saturating_add(ns);
            values.push((SystemMetric::CpuTime, ns));
        }
        if let Some(stat) = now(&self.stat, &mut self.buffer, stat) {
            let faults = stat.minor_faults.saturating_add(stat.major_faults);
            values.push((SystemMetric::PageFaults, faults));
            values.push((SystemMetric::MajorFaults, stat.major_faults));
        }
        // `stat` has it too, but from counters of which each processor keeps a part to itself: on
        // large machines some hundred MiB may be missing. Newer kernels add those parts up for
        // `statm`. Exact in all of them is only `smaps_rollup`, which walks through the memory.
        match now(&self.statm, &mut self.buffer, resident_pages) {
            // Its first thread has ended meanwhile.
            None | Some(0) => {}
            Some(pages) => {
                let page = rustix::param::page_size() as u64;
                values.push((SystemMetric::ResidentMemory, pages.saturating_mul(page)));
            }
        }
        if let Some((read, written)) = now(&self.io, &mut self.buffer, bytes) {
            values.push((SystemMetric::ReadBytes, read));
            values.push((SystemMetric::WrittenBytes, written));
        }
        values
    }
}

/// Bytes that were read from and written to storage.
fn bytes(io: &str) -> Option<(u64, u64)> {
    Some((labelled(io, "read_bytes")?, labelled(io, "write_bytes")?))
}

/// What a file says, where it is read.
fn now<T>(file: &Option<Kept>, buffer: &mut Vec<u8>, of: fn(&str) -> Option<T>) -> Option<T> {
    read(file.as_ref()?, buffer, of).ok()
}

/// What a file says; it may say something else than we know.
fn read<T>(file: &Kept, buffer: &mut Vec<u8>, of: fn(&str) -> Option<T>) -> Result<T, NoMetric> {
    of(&file.read(buffer)?).ok_or(NoMetric::Unsupported)
}

fn raw(pid: Pid) -> nix::unistd::Pid {
    nix::unistd::Pid::from_raw(pid.as_raw_nonzero().get())
}

fn no_clock(error: Errno) -> NoMetric {
    match error {
        Errno::ESRCH => NoMetric::Ended,
        _ => NoMetric::Unreadable,
    }
}
