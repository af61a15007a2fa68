//! What random clients do to a job, one thing after the other.

use crate::client::Client;
use fastrand::Rng;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Lines of `invivo`; what is switched off is switched on again in the same line of business.
const ERRANDS: &[&[&[&str]]] = &[
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
/// Clients that do not read, at most at a time.
const SLOW_CLIENTS: usize = 3;
/// How long each lives.
const SLOW_CLIENT_LIVES: Duration = Duration::from_secs(8);

/// Whoever steers the job.
#[derive(Debug)]
pub struct Crowd {
    client: Client,
    random: Rng,
    /// Errands that have not had their turn in this round.
    to_do: Vec<&'static [&'static [&'static str]]>,
    slow: Vec<(Child, Instant)>,
    answered: BTreeMap<String, u32>,
    refused: Vec<String>,
}

impl Crowd {
    /// All that they do is made of the seed.
    pub fn of(client: Client, seed: u64) -> Crowd {
        Crowd {
            client,
            random: Rng::with_seed(seed),
            to_do: Vec::new(),
            slow: Vec::new(),
            answered: BTreeMap::new(),
            refused: Vec::new(),
        }
    }

    /// Runs the next errand: each has its turn before one has another, so that any two stretches of
    /// time see the same of each. `may_fail`: nobody may be there to answer.
    pub fn act(&mut self, may_fail: bool) {
        self.dismiss_slow(SLOW_CLIENT_LIVES);
        if self.slow.len() < SLOW_CLIENTS && self.random.u32(..6) == 0 {
            self.slow.push((
                slow(
                    self.client
                        .command(&["watch", "--json", "--interval", "100ms"]),
                ),
                Instant::now(),
            ));
        }
        if self.to_do.is_empty() {
            self.to_do = ERRANDS.to_vec();
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
            std::thread::sleep(Duration::from_millis(self.random.u64(..200)));
        }
    }

    /// Leaves the job running and recording, and everybody goes home. A pause ends with its lease.
    pub fn leave(&mut self) {
        self.dismiss_slow(Duration::ZERO);
        for line in [["resume"].as_slice(), &["record", "on"]] {
            self.client.run(line);
        }
    }

    fn dismiss_slow(&mut self, older_than: Duration) {
        for (child, since) in &mut self.slow {
            if since.elapsed() >= older_than {
                // It may have ended with a gateway.
                let _ = child.kill();
                let _ = child.wait();
            }
        }
        self.slow.retain(|(_, since)| since.elapsed() < older_than);
    }

    /// Lines that were answered and that were not, with the reasons of the latter.
    pub fn done(&self) -> (u32, &[String]) {
        (self.answered.values().sum(), &self.refused)
    }

    /// How often each line was answered.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (line, times) in &self.answered {
            let _ = writeln!(text, "{times:>6} {line}");
        }
        text
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.dismiss_slow(Duration::ZERO);
    }
}

/// A client whose output nobody reads.
fn slow(mut command: Command) -> Child {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command.spawn().expect("a client")
}
