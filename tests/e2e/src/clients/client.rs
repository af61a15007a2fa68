//! The `invivo` command on a running job, and a Python script that knows the service by reflection.

use super::answer::number;
use super::screen::Screen;
use crate::paths;
use crate::programs::python;
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The longest that a client may take: one that hangs must not hang its test.
const SECONDS: &str = "30";

/// A client of one job.
#[derive(Clone, Debug)]
pub struct Client {
    job: String,
    state_home: PathBuf,
    /// Words in front of each command, which run it on the host of the job's gateway.
    prefix: Vec<OsString>,
}

/// The answer of the Python client.
#[derive(Clone, Debug)]
pub struct PythonReply {
    /// Whether the call succeeded.
    pub answered: bool,
    /// The reply, one JSON object per line; of a failed call the name of gRPC's status code.
    pub stdout: String,
    /// Details of a failure.
    pub stderr: String,
}

impl PythonReply {
    /// The messages of the reply; panics where the call failed.
    pub fn messages(&self) -> Vec<Value> {
        assert!(
            self.answered,
            "the call was refused: {} {}",
            self.stdout, self.stderr
        );
        self.stdout
            .lines()
            .map(|line| parse(line.as_bytes()))
            .collect()
    }
}

impl Client {
    pub(crate) fn new(job: &str, state_home: &Path, prefix: Vec<OsString>) -> Client {
        Client {
            job: job.to_owned(),
            state_home: state_home.to_owned(),
            prefix,
        }
    }

    /// `invivo WORDS` on the job, not started yet and without a time limit.
    pub fn command(&self, words: &[&str]) -> Command {
        // The client may itself be run by `nsenter`: the first word is not always `invivo`.
        let mut line = self.line(words).into_iter();
        let mut command = Command::new(line.next().unwrap_or_default());
        command.args(line).envs(self.environment());
        command
    }

    /// Starts `invivo WORDS` in a pseudo-terminal.
    pub fn on_screen(&self, words: &[&str]) -> Screen {
        Screen::start(&self.line(words), &self.environment())
    }

    fn line(&self, words: &[&str]) -> Vec<OsString> {
        let command = self.prefix.iter().cloned().chain([paths::invivo().into()]);
        command.chain(words.iter().map(OsString::from)).collect()
    }

    fn environment(&self) -> [(&'static str, OsString); 2] {
        let state = self.state_home.clone().into();
        [
            ("XDG_STATE_HOME", state),
            ("INVIVO_JOB", self.job.clone().into()),
        ]
    }

    /// Runs `invivo WORDS` on the job.
    pub fn run(&self, words: &[&str]) -> Output {
        // coreutils' `timeout` ends the client also where it does not react to anything from here.
        let mut command = Command::new("timeout");
        command
            .arg(SECONDS)
            .args(self.line(words))
            .envs(self.environment());
        command.output().expect("the invivo command runs")
    }

    /// The answer of `invivo WORDS --json`, or `None` where it fails.
    pub fn try_json(&self, words: &[&str]) -> Option<Value> {
        let output = self.run(&[words, &["--json"]].concat());
        output.status.success().then(|| parse(&output.stdout))
    }

    /// The answers of `invivo WORDS --json`, of a command that gives several.
    pub fn json_stream(&self, words: &[&str]) -> Vec<Value> {
        // Several objects without a separator but white space: a stream, not an array.
        let stdout = self.json_text(words);
        let values = serde_json::Deserializer::from_slice(&stdout).into_iter::<Value>();
        values.map(|value| value.expect("a JSON value")).collect()
    }

    /// Pauses the application; every rank must acknowledge it. Returns the answer.
    pub fn pause(&self, ranks: u32, lease: &str) -> Value {
        self.all_do(ranks, &["pause", "--lease", lease])
    }

    /// Resumes the application; every rank must acknowledge it.
    pub fn resume(&self, ranks: u32) -> Value {
        self.all_do(ranks, &["resume"])
    }

    /// Gives a command that every rank must acknowledge. Returns the answer.
    pub fn all_do(&self, ranks: u32, words: &[&str]) -> Value {
        let reply = self.json(words);
        assert_eq!(
            (number(&reply, "/targets"), number(&reply, "/done")),
            (u64::from(ranks), u64::from(ranks)),
            "{words:?}: {reply}"
        );
        reply
    }

    /// Calls entered so far, as the status says.
    pub fn entered(&self) -> u64 {
        number(&self.json(&["status"]), "/coverage/ledger/entered")
    }

    /// The answer of `invivo WORDS --json`.
    pub fn json(&self, words: &[&str]) -> Value {
        parse(&self.json_text(words))
    }

    fn json_text(&self, words: &[&str]) -> Vec<u8> {
        let output = self.run(&[words, &["--json"]].concat());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "invivo {}: {} {stderr}",
            words.join(" "),
            output.status
        );
        output.stdout
    }

    /// Calls a method of the service from Python. `token` is a scope's name, `none`, or itself.
    pub fn python(&self, method: &str, request: &str, token: &str) -> PythonReply {
        self.python_with(method, request, token, "view")
    }

    /// As [`Client::python`], with another token for the reflection.
    pub fn python_with(
        &self,
        method: &str,
        request: &str,
        token: &str,
        reflection_token: &str,
    ) -> PythonReply {
        let connect = self
            .state_home
            .join("invivo/jobs")
            .join(&self.job)
            .join("connect.json");

        let mut command = Command::new("timeout");
        command.arg(SECONDS).arg(python::interpreter());
        command
            .arg(paths::root().join("tests/e2e/python/reflection_client.py"))
            .arg(connect);
        command.args([
            method,
            request,
            "--token",
            token,
            "--reflection-token",
            reflection_token,
        ]);

        let output = command.output().expect("the Python client runs");
        PythonReply {
            answered: output.status.success(),
            stdout: String::from_utf8_lossy(&output.stdout).trim().to_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        }
    }
}

fn parse(text: &[u8]) -> Value {
    serde_json::from_slice(text)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(text)))
}
