//! `invivo open`: a saved observation in the stead of a running job.
//!
//! ```text
//! invivo open --- observation   reads the directory, answers the gateway
//!              |- ui-gateway    as for a job
//!              '- COMMAND       where one was given
//! ```

use crate::job::artefacts::Artefacts;
use crate::job::job_id::fresh_id;
use crate::output::say;
use crate::process::child::{self, Ended, Inheritance};
use crate::process::poll::is_readable;
use crate::process::signals::{Signals, asks_to_end, for_tools};
use crate::root::cleanup::Cleanup;
use crate::root::gateway_process::{Gateway, Settings};
use crate::root::publication::link;
use crate::tool::command::tool;
use clap::Args;
use invivo_archive::saved::SavedObservation;
use invivo_jobdir::Connect;
use invivo_report::units::{count, duration};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, IsTerminal};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// Open a saved observation.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
The commands for running jobs answer from the observation until this one ends (Ctrl-C):
functions, matrix, messages, waitstates, heatmap, efficiency, timeline, records, status, top,
save, sessions, and Python. Nothing runs, so nothing can be steered.

Examples:
  invivo open melt.obs                            in another terminal: invivo functions
  invivo open melt.obs -- functions --json        one question, and done
  invivo open melt.obs -- session questions.json  a script of them")]
pub struct OpenArgs {
    /// The directory that `invivo save` has written
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// A command for the observation, as behind `invivo`; its exit status is that of this one
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Between two looks at what has ended.
const POLL: Duration = Duration::from_millis(100);
/// Between two looks for the gateway, and how long it is awaited.
const GATEWAY: (Duration, Duration) = (Duration::from_millis(5), Duration::from_secs(10));

/// Opens it until a signal comes, or the command has ended.
pub fn open(args: &OpenArgs) -> ExitCode {
    match run(args) {
        Ok(code) => code,
        Err(Failed::Said) => ExitCode::FAILURE,
        Err(Failed::Why(why)) => {
            say(&why);
            ExitCode::FAILURE
        }
    }
}

enum Failed {
    /// A child has said why.
    Said,
    Why(String),
}

impl<E: std::fmt::Display> From<E> for Failed {
    fn from(error: E) -> Failed {
        Failed::Why(error.to_string())
    }
}

fn run(args: &OpenArgs) -> Result<ExitCode, Failed> {
    let dir = std::fs::canonicalize(&args.dir)
        .map_err(|error| format!("cannot open {}: {error}", args.dir.display()))?;
    // Before anything is started: what can be told of the directory at once.
    let saved = SavedObservation::open(&dir)?;
    let artefacts = Artefacts::of_this_program()?;
    let id = fresh_id(std::process::id() as i32);
    let sockets = invivo_jobdir::runtime_dir(&id)?;
    let _cleanup = Cleanup::start(&sockets, Some(&id));
    // From here on nothing may end this process before it has taken back what it made.
    let signals = Signals::take()?;
    let ended = opened(args, &dir, &saved, &artefacts, (&id, &sockets), &signals);
    let _ = invivo_jobdir::remove_runtime_dir(&sockets);
    ended
}

/// The processes of an observation that is open.
struct Opened<'a> {
    signals: &'a Signals,
    reader: Child,
}

fn opened(
    args: &OpenArgs,
    dir: &Path,
    saved: &SavedObservation,
    artefacts: &Artefacts,
    (id, sockets): (&str, &Path),
    signals: &Signals,
) -> Result<ExitCode, Failed> {
    let program = artefacts.observation();
    let mut reader = Command::new(&program);
    reader.arg("--link").arg(link(sockets)).arg(dir);
    tool(&mut reader)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let reader = reader.spawn().map_err(|error| {
        let program = program.display();
        format!("cannot start {program}: {error}; install the whole tree, bin and lib/invivo")
    })?;
    let mut opened = Opened { signals, reader };
    let calls = opened.wait_until_read()?;
    let socket = sockets.join("gateway.sock");
    let mut connect = Connect::new(id, &socket, saved.about().job.command.clone())?;
    connect.observation = Some(dir.to_owned());
    let file = invivo_jobdir::publish(&connect)?;
    let mut gateway = Gateway::start(Settings {
        program: artefacts.gateway(),
        socket: socket.clone(),
        link: link(sockets),
        log: file.with_file_name("gateway.log"),
        connect: file.clone(),
        listen: None,
        mask: for_tools(signals.mask_before),
    });
    let ended = opened
        .wait_for_gateway(&mut gateway, &socket)
        .and_then(|()| {
            if args.command.is_empty() {
                say(&opened_line(id, saved, calls));
                return opened.until_asked_to_end(&mut gateway);
            }
            let mut command = Command::new(artefacts.client());
            command.arg0("invivo").args(&args.command);
            command.env("INVIVO_CONNECT", &file);
            for other in ["INVIVO_JOB", "INVIVO_ON"] {
                command.env_remove(other);
            }
            opened.until_done(command, &mut gateway)
        });
    gateway.stop();
    let _ = invivo_jobdir::withdraw(id);
    ended
}

impl Opened<'_> {
    /// Waits until all calls are read: how many there are.
    ///
    /// # Errors
    /// When they cannot be, or a signal asks for the end.
    fn wait_until_read(&mut self) -> Result<u64, Failed> {
        let out = self.reader.stdout.take().ok_or(Failed::Said)?;
        let mut lines = BufReader::new(out);
        let shows = std::io::stderr().is_terminal();
        loop {
            while lines.buffer().is_empty() && !is_readable(lines.get_ref()) {
                if self.is_asked_to_end() {
                    return Err(Failed::Said);
                }
                std::thread::sleep(GATEWAY.0);
            }
            let mut line = String::new();
            lines.read_line(&mut line)?;
            match line.trim_end().split_once(' ') {
                Some(("ready", calls)) => {
                    if shows {
                        eprint!("\r\x1b[K");
                    }
                    return Ok(calls.parse()?);
                }
                Some((_, percent)) if shows => eprint!("\rreading the calls: {percent} %"),
                Some(_) => {}
                // Its end.
                None => return Err(self.why_not_read()),
            }
        }
    }

    /// Why the reader has ended: it has said it, unless somebody killed it.
    fn why_not_read(&mut self) -> Failed {
        match self.reader.wait().map(|status| status.signal()) {
            Ok(Some(signal)) => Failed::Why(format!(
                "what reads the calls was killed by signal {signal}; where memory is short, save a \
                 part of the job (invivo save --rank, --since)"
            )),
            _ => Failed::Said,
        }
    }

    /// Waits until the gateway takes connections.
    fn wait_for_gateway(&mut self, gateway: &mut Gateway, socket: &Path) -> Result<(), Failed> {
        let (pause, most) = GATEWAY;
        let until = Instant::now() + most;
        while UnixStream::connect(socket).is_err() {
            if Instant::now() >= until {
                let why = "the gateway does not begin; try again, or see: invivo doctor";
                return Err(Failed::Why(why.to_owned()));
            }
            if self.is_asked_to_end() {
                return Err(Failed::Said);
            }
            gateway.poll();
            std::thread::sleep(pause);
        }
        Ok(())
    }

    /// Keeps it open until a signal asks for the end.
    fn until_asked_to_end(&mut self, gateway: &mut Gateway) -> Result<ExitCode, Failed> {
        while !self.is_asked_to_end() {
            self.check_reader()?;
            gateway.poll();
            std::thread::sleep(POLL);
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Runs a command to its end. Signals of a terminal reach it as they do this process; others
    /// are passed on.
    fn until_done(&mut self, command: Command, gateway: &mut Gateway) -> Result<ExitCode, Failed> {
        // Signals that wait for this process must not wait for the command too.
        let inheritance = Inheritance {
            mask: self.signals.mask_before,
            descriptors: &[],
            nothing_else: false,
        };
        let command = child::start(command, inheritance).map_err(|error| {
            format!("cannot start the command: {error}; install the whole tree")
        })?;
        loop {
            match child::ended(command) {
                Some(Ended::Code(code)) => return Ok(ExitCode::from(code as u8)),
                Some(Ended::Signal(signal)) => return Ok(ExitCode::from(128 + signal as u8)),
                None => {}
            }
            while let Some(incoming) = self.signals.next() {
                let came_to_all = incoming.code > 0;
                if asks_to_end(incoming.signal) && !came_to_all {
                    child::pass_on(command, incoming.signal);
                }
            }
            gateway.poll();
            std::thread::sleep(GATEWAY.0);
        }
    }

    fn is_asked_to_end(&self) -> bool {
        std::iter::from_fn(|| self.signals.next()).any(|incoming| asks_to_end(incoming.signal))
    }

    /// That the reader is there: it has said why where it is not.
    fn check_reader(&mut self) -> Result<(), Failed> {
        match self.reader.try_wait()? {
            Some(_) => Err(Failed::Said),
            None => Ok(()),
        }
    }
}

impl Drop for Opened<'_> {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.reader.kill();
        let _ = self.reader.wait();
    }
}

fn opened_line(id: &str, saved: &SavedObservation, calls: u64) -> String {
    let about = saved.about();
    let length = duration(about.to_ns.saturating_sub(about.from_ns));
    format!(
        "{} calls of job {}, {} ranks, {length}: open as {id}; ask in another terminal, as: invivo \
         functions; ends with Ctrl-C",
        count(calls),
        about.job.id,
        about.job.ranks,
    )
}
