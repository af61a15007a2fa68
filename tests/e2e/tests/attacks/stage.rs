//! The job that is attacked, and what must hold of it afterwards.

use invivo_e2e::clients::{Client, number};
use invivo_e2e::job::{Job, Running};
use invivo_e2e::mpi::Family;
use invivo_e2e::processes::{self, resident_bytes};
use invivo_e2e::programs::program;
use serde_json::Value;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Ranks of the job.
pub const RANKS: u32 = 2;
/// What a process may grow by, over all attacks.
const GROWTH_MAX: u64 = 128 << 20;
/// The longest that an answer may take behind an attack, on a busy machine.
const ANSWERED_WITHIN: Duration = Duration::from_secs(20);
/// The longest that the job may take.
const LIMIT: Duration = Duration::from_secs(600);
/// A user who is nobody.
pub const NOBODY: u32 = 65534;

/// An attack on a job that runs.
#[derive(Clone, Copy)]
pub struct Attack {
    pub name: &'static str,
    pub attack: fn(&mut Stage),
}

/// A row of a table of attacks, named as its function is.
#[macro_export]
macro_rules! attacks {
    ($($attack:ident),* $(,)?) => {
        &[$($crate::stage::Attack { name: stringify!($attack), attack: $attack }),*]
    };
}

/// A job under attack.
pub struct Stage {
    pub running: Running,
    /// What its `connect.json` says.
    pub connect: Value,
    /// Resident bytes of each of its processes before the first attack.
    before: Vec<(i32, u64)>,
    files: u32,
}

impl Stage {
    pub fn of(family: Family) -> Stage {
        let command = program(family, "message_loop", ["600"]);
        let mut running = Job::observed(family, RANKS, &command).limit(LIMIT).start();
        running.wait_for_answers();
        let text = std::fs::read(running.connect_file()).expect("connect.json");
        let memory = |process: &processes::Process| (process.pid, resident_bytes(process));
        let all = processes::marked(running.mark());
        let before = all.iter().map(memory);
        Stage {
            connect: serde_json::from_slice(&text).expect("connect.json"),
            before: before.collect(),
            running,
            files: 0,
        }
    }

    pub fn client(&self) -> Client {
        self.running.client()
    }

    /// A field of `connect.json`.
    pub fn told(&self, field: &str) -> String {
        self.connect[field].as_str().expect("a text").to_owned()
    }

    /// The gateway's socket.
    pub fn socket(&self) -> PathBuf {
        self.told("socket").into()
    }

    /// A socket of the job beside the gateway's.
    pub fn socket_named(&self, begins: &str) -> PathBuf {
        let folder = self.socket();
        let folder = folder.parent().expect("a directory");
        let entries = std::fs::read_dir(folder).expect("the job's sockets");
        let mut paths = entries.map(|entry| entry.expect("an entry").path());
        let is_it = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(begins) && name.ends_with(".sock")
        };
        let found = paths.find(is_it);
        found.unwrap_or_else(|| panic!("no socket {begins}* in {}", folder.display()))
    }

    /// A `connect.json` with other fields.
    pub fn doctored(&mut self, change: impl FnOnce(&mut Value)) -> PathBuf {
        let mut connect = self.connect.clone();
        change(&mut connect);
        self.files += 1;
        let path = self
            .running
            .directory()
            .join(format!("{}.json", self.files));
        std::fs::write(&path, connect.to_string()).expect("written");
        std::fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("mode set");
        path
    }

    /// Runs `invivo WORDS --connect FILE`.
    pub fn by(&self, file: &Path, words: &[&str]) -> Output {
        let mut command = Command::new("timeout");
        command
            .arg("30")
            .arg(invivo_e2e::paths::invivo())
            .args(words);
        command.arg("--connect").arg(file).env_remove("INVIVO_JOB");
        command
            .stdin(Stdio::null())
            .output()
            .expect("the invivo command runs")
    }

    /// That `invivo WORDS` with this file fails, at once and with these words.
    pub fn is_refused(&self, file: &Path, words: &[&str], why: &str) {
        let output = self.by(file, words);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && output.status.code() != Some(124),
            "{words:?}: {} {stderr}",
            output.status
        );
        assert!(
            stderr.contains(why),
            "{words:?}: {stderr} does not say {why:?}"
        );
    }

    /// The audit log, as lines of JSON.
    pub fn audit(&self) -> Vec<Value> {
        self.client().json_stream(&["audit"])
    }

    /// That the audit log has an entry of this command whose outcome begins so, newer than
    /// `behind`.
    pub fn is_in_audit(&self, behind: u64, command: &str, outcome: &str) {
        let begun = Instant::now();
        loop {
            let all = self.audit();
            let is_it = |entry: &Value| {
                number(entry, "/sequence") > behind
                    && entry["command"] == command
                    && entry["outcome"]
                        .as_str()
                        .is_some_and(|text| text.starts_with(outcome))
            };
            if all.iter().any(is_it) {
                return;
            }
            assert!(
                begun.elapsed() < Duration::from_secs(5),
                "no {command} that is {outcome:?} behind {behind}: {all:?}"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The newest entry's number in the audit log.
    pub fn newest(&self) -> u64 {
        let all = self.audit();
        all.iter()
            .map(|entry| number(entry, "/sequence"))
            .max()
            .unwrap_or(0)
    }

    /// Runs a Python script as another user, and returns what it printed.
    pub fn as_nobody(&self, script: &str, arguments: &[&str]) -> String {
        let mut command = Command::new("timeout");
        command.args(["60", "setpriv", "--reuid", "65534", "--regid", "65534"]);
        command
            .args(["--clear-groups", "/usr/bin/python3", "-c", script])
            .args(arguments);
        let output = command
            .current_dir("/")
            .output()
            .expect("setpriv and python3");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{script}: {stderr}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// The gateway's log, in bytes.
    pub fn log_bytes(&self) -> u64 {
        let log = self.running.connect_file().with_file_name("gateway.log");
        std::fs::metadata(log).map_or(0, |about| about.len())
    }

    /// That the job answers, completely and soon, and none of its processes has ended or grown.
    pub fn is_unharmed(&mut self, name: &str) {
        let begun = Instant::now();
        loop {
            let status = self.client().try_json(&["status"]);
            let reporting = status.map(|status| number(&status, "/coverage/ranks_reporting"));
            if reporting == Some(u64::from(RANKS)) {
                break;
            }
            assert!(self.running.runs(), "{name}: the job has ended");
            assert!(
                begun.elapsed() < ANSWERED_WITHIN,
                "{name}: {reporting:?} ranks report"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
        let living = processes::marked(self.running.mark());
        for (pid, before) in &self.before {
            let process = living.iter().find(|process| process.pid == *pid);
            let process = process.unwrap_or_else(|| panic!("{name}: process {pid} has ended"));
            let now = resident_bytes(process);
            assert!(
                now < before + GROWTH_MAX,
                "{name}: {} has grown from {before} to {now} bytes",
                process.name
            );
        }
    }

    /// That the job ends as it would have without any of this.
    pub fn end(self) {
        self.running.tell("stop");
        let ended = self.running.end();
        assert_eq!(ended.code(), 0);
        ended.assert_printed(|rank| format!("rank {rank}: 0 wrong\n"));
        ended.assert_nothing_left();
    }
}

/// Sets the mode of a path for as long as this lives.
pub struct Opened {
    paths: Vec<(PathBuf, u32)>,
}

impl Opened {
    /// Opens a path, and all directories above it below `/tmp`, to everybody.
    pub fn to_all(path: &Path) -> Opened {
        let below = path
            .ancestors()
            .take_while(|above| *above != Path::new("/tmp"));
        let paths: Vec<(PathBuf, u32)> = below
            .filter(|above| above.parent().is_some())
            .map(|path| {
                let mode = std::fs::metadata(path).expect("there").permissions().mode();
                (path.to_owned(), mode)
            })
            .collect();
        for (path, _) in &paths {
            std::fs::set_permissions(path, Permissions::from_mode(0o777)).expect("opened");
        }
        Opened { paths }
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        for (path, mode) in &self.paths {
            let _ = std::fs::set_permissions(path, Permissions::from_mode(*mode));
        }
    }
}
