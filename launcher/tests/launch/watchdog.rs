//! Ends what runs too long in a directory, and shows what that is: a launcher that hangs must not
//! be the end of all other tests.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// The longest test takes a third of it.
const TIME: Duration = Duration::from_secs(180);
/// Between two times that what is still there is ended.
const AGAIN: Duration = Duration::from_millis(100);

/// Watches until it is dropped.
pub struct Watchdog {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<bool>>,
}

impl Watchdog {
    /// Over the processes that have this as working directory.
    pub fn over(directory: &Path) -> Watchdog {
        // As the kernel names it.
        let directory = directory.canonicalize().expect("a directory");
        let (stop, stopped) = channel();
        let watch = move || {
            let goes_on = |time| stopped.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
            if !goes_on(TIME) {
                return false;
            }
            show(&directory);
            end(&directory);
            // Some may have begun meanwhile.
            while goes_on(AGAIN) {
                end(&directory);
            }
            true
        };
        Watchdog {
            stop: Some(stop),
            thread: Some(std::thread::spawn(watch)),
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.stop = None;
        let was_late = self.thread.take().map(JoinHandle::join);
        let was_in_time = matches!(was_late, Some(Ok(false)));
        assert!(
            was_in_time || std::thread::panicking(),
            "what ran too long was ended"
        );
    }
}

fn show(directory: &Path) {
    let mut ps = Command::new("ps");
    ps.args(["-o", "pid,ppid,stat,etimes,wchan:24,args", "-p"]);
    if let Ok(output) = ps.arg(numbers(directory).join(",")).output() {
        let shown = String::from_utf8_lossy(&output.stdout);
        eprintln!("still there after {TIME:?}:\n{shown}");
    }
}

fn end(directory: &Path) {
    let numbers = numbers(directory);
    if !numbers.is_empty() {
        let mut kill = Command::new("kill");
        let _ = kill.arg("-KILL").args(numbers).status();
    }
}

fn numbers(directory: &Path) -> Vec<String> {
    within(directory).iter().map(i32::to_string).collect()
}

/// The processes in a directory and below.
fn within(directory: &Path) -> Vec<i32> {
    let processes = std::fs::read_dir("/proc").expect("processes").flatten();
    let inside = processes.filter_map(|process| {
        let pid: i32 = process.file_name().to_str()?.parse().ok()?;
        let place: PathBuf = std::fs::read_link(process.path().join("cwd")).ok()?;
        place.starts_with(directory).then_some(pid)
    });
    inside.collect()
}

#[test]
fn what_runs_in_a_directory_is_found_and_ended() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut sleep = Command::new("sleep");
    let mut sleep = sleep
        .arg("60")
        .current_dir(&directory)
        .spawn()
        .expect("started");
    assert_eq!(within(directory.path()), [sleep.id() as i32]);
    end(directory.path());
    assert_eq!(sleep.wait().expect("ended").code(), None);
    assert_eq!(within(directory.path()), [0; 0]);
}
