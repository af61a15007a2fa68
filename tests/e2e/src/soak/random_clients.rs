//! Random clients of a job: they run all commands in random order, and some never read.

use crate::clients::Client;
use fastrand::Rng;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Tasks, each of some commands; what a task switches off it switches on again.
const TASKS: &[&[&[&str]]] = &[
    &[&["status"]],
    &[&["functions", "--per-rank"]],
    &[&["matrix"]],
    &[&["messages"]],
    &[&["buffers"]],
    &[&["records", "1", "--last", "200ms"]],
    &[&["timeline", "--seconds", "0.2"]],
    &[&["hang"]],
    &[&["audit"]],
    &[&["watch", "--interval", "100ms", "--count", "5"]],
    &[&["pause", "--lease", "5s"], &["resume"]],
    &[&["pause", "--lease", "5s"], &["status"], &["resume"]],
    &[&["reset"]],
    &[&["record", "off"], &["status"], &["record", "on"]],
    &[
        &["record", "--for", "300ms"],
        &["functions"],
        &["record", "on"],
    ],
    &[&["strategy", "duration:100us"]],
    &[&["strategy", "iterations:4@MPI_Allreduce"]],
    &[&["strategy", "time"]],
];
/// The most clients at a time that do not read.
const SLOW_CLIENTS: usize = 3;
/// How long each of them lives.
const SLOW_CLIENT_LIVES: Duration = Duration::from_secs(8);

/// The clients of one job.
#[derive(Debug)]
pub struct RandomClients {
    client: Client,
    random: Rng,
    /// Tasks of this round that are left.
    to_do: Vec<&'static [&'static [&'static str]]>,
    slow: Vec<(Child, Instant)>,
    answered: BTreeMap<String, u32>,
    refused: Vec<String>,
}

impl RandomClients {
    /// The order of their tasks follows from the seed.
    pub fn new(client: Client, seed: u64) -> RandomClients {
        RandomClients {
            client,
            random: Rng::with_seed(seed),
            to_do: Vec::new(),
            slow: Vec::new(),
            answered: BTreeMap::new(),
            refused: Vec::new(),
        }
    }

    /// Runs the next task. All tasks have their turn before one comes again, so that any two
    /// quarters of a run have the same number of each. `may_fail`: the gateway may be gone.
    pub fn act(&mut self, may_fail: bool) {
        self.end_slow_clients(SLOW_CLIENT_LIVES);

        if self.slow.len() < SLOW_CLIENTS && self.random.u32(..6) == 0 {
            self.slow.push((
                slow_client(
                    self.client
                        .command(&["watch", "--json", "--interval", "100ms"]),
                ),
                Instant::now(),
            ));
        }

        if self.to_do.is_empty() {
            self.to_do = TASKS.to_vec();
            self.random.shuffle(&mut self.to_do);
        }

        let lines = self.to_do.pop().unwrap_or_default();
        for line in lines {
            let output = self.client.run(line);
            if output.status.success() {
                *self.answered.entry(line.join(" ")).or_default() += 1;
            } else if !may_fail {
                let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
                self.refused
                    .push(format!("{}: {} {why}", line.join(" "), output.status));
            }
            // Without a pause the clients would be most of the machine's load.
            std::thread::sleep(Duration::from_millis(self.random.u64(..200)));
        }
    }

    /// Ends all clients, and leaves the job running and recording.
    pub fn leave(&mut self) {
        self.end_slow_clients(Duration::ZERO);
        // Twice is harmless: both say how it is to be, not what to change.
        for line in [["resume"].as_slice(), &["record", "on"]] {
            self.client.run(line);
        }
    }

    fn end_slow_clients(&mut self, older_than: Duration) {
        for (child, since) in &mut self.slow {
            if since.elapsed() >= older_than {
                // It may have ended when a gateway was killed.
                let _ = child.kill();
                let _ = child.wait();
            }
        }
        self.slow.retain(|(_, since)| since.elapsed() < older_than);
    }

    /// The number of commands that were answered, and those that were not with their reasons.
    pub fn done(&self) -> (u32, &[String]) {
        (self.answered.values().sum(), &self.refused)
    }

    /// How often each command was answered, as a table.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (line, times) in &self.answered {
            let _ = writeln!(text, "{times:>6} {line}");
        }
        text
    }
}

impl Drop for RandomClients {
    fn drop(&mut self) {
        self.end_slow_clients(Duration::ZERO);
    }
}

/// A client whose output nobody reads.
fn slow_client(mut command: Command) -> Child {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command.spawn().expect("a client")
}
