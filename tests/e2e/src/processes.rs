//! Finds the processes of a job by a mark in their environment, and reads and signals them.
//!
//! The mark finds them whatever became of their parents.

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::time::{Duration, Instant};

/// The variable that marks every process of a job.
pub const MARK: &str = "E2E_RUN";

/// One process.
#[derive(Clone, Debug)]
pub struct Process {
    pub pid: i32,
    /// The file name of its program; of a tool process what it calls itself, which says what it is.
    pub name: String,
    /// The letter of its state in `/proc`: `T` is stopped.
    pub state: char,
}

impl Process {
    /// A process by its number alone; the name of its program is left out.
    pub fn with_pid(pid: u32) -> Process {
        Process {
            pid: pid as i32,
            name: String::new(),
            state: state(pid as i32, pid as i32).unwrap_or('Z'),
        }
    }
}

/// Resident memory of a process; 0 of one that has ended.
pub fn resident_bytes(process: &Process) -> u64 {
    let status =
        std::fs::read_to_string(format!("/proc/{}/status", process.pid)).unwrap_or_default();
    // A zombie has no such line.
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib: Option<u64> = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    kib.unwrap_or(0) * 1024
}

/// A variable of the environment with which a process was started.
pub fn variable(process: &Process, name: &str) -> Option<String> {
    // As of its `execve`: later changes by the program itself do not show.
    let environment = std::fs::read(format!("/proc/{}/environ", process.pid)).ok()?;

    let mut variables = environment.split(|byte| *byte == 0);
    let value = variables
        .find_map(|variable| variable.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
    Some(String::from_utf8_lossy(value).into_owned())
}

/// Files that a process has open; 0 of one that has ended.
pub fn open_files(process: &Process) -> usize {
    std::fs::read_dir(format!("/proc/{}/fd", process.pid)).map_or(0, Iterator::count)
}

/// The living processes with this mark (zombies are not).
pub fn marked(mark: &str) -> Vec<Process> {
    let wanted = format!("{MARK}={mark}");
    let entries = std::fs::read_dir("/proc").expect("/proc");
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok())
        .filter_map(|pid| {
            // Whatever ends meanwhile is no process of interest.
            let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
            environment
                .split(|byte| *byte == 0)
                .find(|variable| *variable == wanted.as_bytes())?;
            let program = std::fs::read_link(format!("/proc/{pid}/exe")).ok()?;
            let name = match program.file_name()?.to_string_lossy() {
                file if file == TOOL_PROCESS => own_name(pid)?,
                // What supervisors start by a fork is none of them.
                file if file == "invivo" && own_name(pid)?.starts_with("invivo-") => own_name(pid)?,
                file => file.into_owned(),
            };
            let state = state(pid, pid)?;
            // A zombie has ended; only its parent has not asked yet.
            (state != 'Z').then_some(Process { pid, name, state })
        })
        .collect()
}

/// The program of all tool processes.
const TOOL_PROCESS: &str = "tool-process";

/// What a process calls itself.
fn own_name(pid: i32) -> Option<String> {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(name.trim_end().to_owned())
}

/// The state of a thread.
fn state(pid: i32, tid: i32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/stat")).ok()?;
    // The name before it is in parentheses and may hold anything.
    stat.rsplit_once(") ")?.1.chars().next()
}

/// States of all threads of a process.
pub fn thread_states(pid: i32) -> Vec<char> {
    let Ok(entries) = std::fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| state(pid, entry.ok()?.file_name().to_str()?.parse().ok()?))
        .collect()
}

/// CPU time that a process has used; zero of one that has ended.
pub fn cpu_time(process: &Process) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.pid)).unwrap_or_default();
    let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
    // Fields 14 and 15 of the line; the state behind the name is field 3. In ticks of 10 ms, on all
    // of Linux.
    let ticks = fields.split(' ').skip(11).take(2);
    let ticks: u64 = ticks.filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    Duration::from_millis(10 * ticks)
}

/// Sends SIGKILL to one process.
pub fn kill(process: &Process) {
    signal(process, Signal::KILL);
}

/// Sends a signal to one process; it may have ended.
pub fn signal(process: &Process, signal: Signal) {
    if let Some(pid) = Pid::from_raw(process.pid) {
        let _ = kill_process(pid, signal);
    }
}

/// Sends a signal to a process group, as a terminal does.
pub fn signal_group(leader: u32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(leader as i32) {
        let _ = kill_process_group(pid, signal);
    }
}

/// Kills everything with this mark.
pub fn kill_marked(mark: &str) {
    // Killed launchers' daemons may still have been starting something.
    for _ in 0..50 {
        // Looked for anew in each round.
        let left = marked(mark);
        if left.is_empty() {
            return;
        }
        left.iter().for_each(kill);
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until nothing with this mark lives, for `limit`; returns what still does.
pub fn left_after(mark: &str, limit: Duration) -> Vec<Process> {
    let begun = Instant::now();
    loop {
        // Without a wait first: mostly nothing is left.
        let left = marked(mark);
        if left.is_empty() || begun.elapsed() > limit {
            return left;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
