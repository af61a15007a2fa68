//! What the kernel's own counters say of a process over a stretch, by `perf stat`.
//!
//! perf opens its events first, on all threads that there are, and begins to count when it is told:
//! it answers when that is done.

use crate::remarks::not_tested;
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const EVENTS: [&str; 2] = ["page-faults", "context-switches"];
/// The longest that perf takes to do what it is told.
const LIMIT: Duration = Duration::from_secs(20);

/// Counts of a process, all of its threads together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    pub page_faults: u64,
    pub context_switches: u64,
}

/// A perf that counts.
#[derive(Debug)]
pub struct PerfStat {
    perf: Child,
    control: File,
    answers: File,
    written: PathBuf,
    errors: PathBuf,
}

/// Whether this machine lets perf count what the kernel does for a process, too; where it does not,
/// that is said.
pub fn is_possible() -> bool {
    let tried = Command::new("perf")
        .args(["stat", "-x,", "-e", &EVENTS.join(","), "--", "true"])
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output();
    let why = match tried {
        Err(error) => format!("perf: {error}"),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            if output.status.success() && counts(&said).is_some() {
                return true;
            }
            format!("perf counts no page faults and switches here: {said}")
        }
    };
    not_tested(&format!("counts of perf stat: {why}"));
    false
}

impl PerfStat {
    /// Counts from here on what a process does. Files with this name and some more are made.
    pub fn begin(pid: i32, name: &Path) -> PerfStat {
        let pipe = |ending: &str| {
            let path = name.with_extension(ending);
            mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
            let mut options = OpenOptions::new();
            // Open for both directions: perf may open it whenever it does.
            options.read(true).write(true);
            options.custom_flags(OFlags::NONBLOCK.bits().cast_signed());
            (options.open(&path).expect("a pipe"), path)
        };
        let (control, control_path) = pipe("control");
        let (answers, answers_path) = pipe("answers");
        let written = name.with_extension("counts");
        let errors = name.with_extension("errors");
        let pipes = format!("{},{}", control_path.display(), answers_path.display());
        let perf = Command::new("perf")
            .args(["stat", "-x,", "-e", &EVENTS.join(",")])
            .args(["-p", &pid.to_string()])
            // Nothing is counted before it is told so.
            .args(["-D", "-1", "--control", &format!("fifo:{pipes}")])
            .arg("-o")
            .arg(&written)
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stderr(File::create(&errors).expect("a file for what perf says"))
            .spawn()
            .expect("perf");
        let mut stat = PerfStat {
            perf,
            control,
            answers,
            written,
            errors,
        };
        stat.tell("enable");
        stat
    }

    /// What was counted.
    pub fn end(mut self) -> Counts {
        self.tell("disable");
        let pid = Pid::from_child(&self.perf);
        kill_process(pid, Signal::INT).expect("perf lives");
        let begun = Instant::now();
        while self.perf.try_wait().expect("the status of perf").is_none() {
            assert!(begun.elapsed() < LIMIT, "perf does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
        let text = std::fs::read_to_string(&self.written).expect("what perf has counted");
        counts(&text).unwrap_or_else(|| panic!("perf has counted something else: {text}"))
    }

    fn tell(&mut self, word: &str) {
        writeln!(self.control, "{word}").expect("perf listens");
        let (begun, mut answer) = (Instant::now(), [0; 16]);
        loop {
            match self.answers.read(&mut answer) {
                Ok(length) => {
                    let answer = String::from_utf8_lossy(&answer[..length]);
                    assert!(answer.starts_with("ack"), "{word}: {answer}");
                    return;
                }
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}"),
            }
            let ended = self.perf.try_wait().expect("the status of perf");
            let errors = || std::fs::read_to_string(&self.errors).unwrap_or_default();
            assert!(ended.is_none(), "no {word} of perf: {}", errors());
            assert!(begun.elapsed() < LIMIT, "perf does not answer to {word}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for PerfStat {
    fn drop(&mut self) {
        let _ = self.perf.kill();
        let _ = self.perf.wait();
    }
}

/// The counts in what `perf stat -x,` has written.
fn counts(text: &str) -> Option<Counts> {
    let of = |event: &str| {
        // COUNT,UNIT,EVENT,...; where the kernel's part is not counted `:u` stands behind the name.
        let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let line = lines.find(|line| line.get(2) == Some(&event))?;
        line[0].parse().ok()
    };
    Some(Counts {
        page_faults: of(EVENTS[0])?,
        context_switches: of(EVENTS[1])?,
    })
}

#[test]
fn counts_of_half_of_the_kernel_are_none() {
    let text =
        "# started on Fri\n\n48,,page-faults,5627,100.00,,\n3,,context-switches,5627,100.00,,\n";
    let counted = Counts {
        page_faults: 48,
        context_switches: 3,
    };
    assert_eq!(counts(text), Some(counted));
    assert_eq!(counts(&text.replace("faults", "faults:u")), None);
    assert_eq!(counts(&text.replace("48", "<not counted>")), None);
}
