//! The supervisor of the root: it makes the job findable, keeps the gateway running, starts the analysis node,
//! tells the result, and removes what it made.

use super::artefacts::Artefacts;
use super::child::{self, Ended, Inheritance};
use super::environment::World;
use super::exec::{ToolArgs, tool};
use super::final_message::{FinalMessage, Progress};
use super::gateway::{self, Gateway, how};
use super::job::{ENV_TTY, Job};
use super::say;
use super::signals::{Relations, Signals, asks_to_end, for_tools};
use crate::connect::{self, Connect, PlaceError};
use crate::report;
use invivo_proto::control::link::Final;
use invivo_tbon::layout::Layout;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal};
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// What the root's supervisor has to do.
#[derive(Debug)]
pub struct Assignment {
    /// Who is who.
    pub layout: Layout,
    /// What the launcher said.
    pub world: World,
    /// The installation.
    pub artefacts: Artefacts,
    /// The job.
    pub job: Job,
    /// What was asked for.
    pub tool: ToolArgs,
    /// The application's command line.
    pub command: Vec<String>,
}

/// Runs the root to the job's end.
///
/// # Errors
/// When the analysis node cannot be started: without it there is nothing to wait for.
pub fn supervise(assignment: &Assignment) -> Result<Ended, String> {
    let signals = Signals::take().map_err(|error| format!("no descriptor for signals: {error}"))?;
    // Should the launcher be killed, somebody has to remove what we made.
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::TERM));
    let dir = assignment.job.runtime_dir().map_err(|error| error.to_string())?;
    let mut root = Root {
        assignment,
        relations: Relations::here(),
        public: Public::open(assignment, &dir, &signals),
        node: None,
        message: None,
        result: None,
        asked_to_end: false,
        signals,
        dir,
    };
    let ended = root.start_node().map(|()| root.run());
    root.close();
    ended
}

/// What makes the job findable from outside.
struct Public {
    job: Job,
    gateway: Gateway,
}

impl Public {
    /// Publishes the job and starts the gateway. What goes wrong is told; the job runs without.
    fn open(assignment: &Assignment, dir: &Path, signals: &Signals) -> Option<Public> {
        match Public::try_open(assignment, dir, signals) {
            Ok(public) => Some(public),
            Err(error) => {
                say(&format!("this job cannot be watched while it runs: {error}"));
                None
            }
        }
    }

    fn try_open(assignment: &Assignment, dir: &Path, signals: &Signals) -> Result<Public, PlaceError> {
        let socket = dir.join("gateway.sock");
        let publish = |job: &Job| {
            let command = assignment.command.clone();
            let connect = Connect::new(&job.id, &socket, command).map_err(|source| PlaceError::Io {
                what: "read random numbers for",
                path: PathBuf::from(connect::FILE_NAME),
                source,
            })?;
            connect::publish(&connect)
        };
        let (job, path) = match publish(&assignment.job) {
            // Another step of the same batch job, most likely.
            Err(PlaceError::Running { .. }) => {
                let job = assignment.job.renamed();
                publish(&job).map(|path| (job, path))?
            }
            other => (assignment.job.clone(), other?),
        };
        let gateway = Gateway::start(gateway::Settings {
            program: assignment.artefacts.gateway(),
            socket,
            link: link(dir),
            log: path.with_file_name("gateway.log"),
            connect: path,
            mask: for_tools(signals.mask_before),
        });
        Ok(Public { job, gateway })
    }

    /// Takes the job off the list and ends the gateway, in this order: there may be little time.
    fn close(self) {
        if let Err(error) = connect::withdraw(&self.job.id) {
            say(&error.to_string());
        }
        self.gateway.stop();
    }
}

/// Where the root listens for the gateway.
fn link(dir: &Path) -> PathBuf {
    dir.join("link.sock")
}

struct Root<'a> {
    assignment: &'a Assignment,
    relations: Relations,
    signals: Signals,
    public: Option<Public>,
    node: Option<Pid>,
    /// The result on its way; nothing before the node runs, and once the result is told.
    message: Option<FinalMessage>,
    /// The result, once it is here.
    result: Option<Result<(), String>>,
    asked_to_end: bool,
    /// The sockets' directory.
    dir: PathBuf,
}

impl Root<'_> {
    fn start_node(&mut self) -> Result<(), String> {
        let Assignment {
            layout,
            world,
            artefacts,
            tool: asked,
            job,
            ..
        } = self.assignment;
        let cannot = |error: &dyn std::fmt::Display| format!("cannot start the analysis node: {error}");
        let (message, theirs) = FinalMessage::pair().map_err(|error| cannot(&error))?;
        let job = self.public.as_ref().map_or(job, |public| &public.job);
        let mut command = Command::new(artefacts.analysis_node(world.family));
        command.arg("--app").arg(layout.app().to_string());
        command.arg("--fan-in").arg(layout.fan_in().to_string());
        command.arg("--job").arg(&job.id);
        command.arg("--link").arg(link(&self.dir));
        command.arg("--report-fd").arg(theirs.as_raw_fd().to_string());
        command.arg("--buffer-bytes").arg(asked.buffer.to_string());
        command.arg("--budget-bytes").arg(asked.budget().to_string());
        tool(&mut command).stdin(Stdio::null());
        let inheritance = Inheritance {
            mask: for_tools(self.signals.mask_before),
            descriptors: &[theirs.as_fd()],
            nothing_else: false,
        };
        self.node = Some(child::start(command, inheritance).map_err(|error| cannot(&error))?);
        self.message = Some(message);
        Ok(())
    }

    fn run(&mut self) -> Ended {
        loop {
            self.wait();
            self.take_signals();
            self.take_result();
            if let Some(public) = &mut self.public {
                public.gateway.look();
            }
            if let Some(ended) = self.node.and_then(child::ended) {
                self.node = None;
                // What it wrote last may have come after the look above.
                self.take_result();
                if let Some(status) = self.node_ended(ended) {
                    return status;
                }
            } else if self.node.is_none() && self.asked_to_end {
                return Ended::Code(0);
            }
        }
    }

    /// The job's status as far as the root is concerned, or nothing when it has to stay.
    fn node_ended(&mut self, ended: Ended) -> Option<Ended> {
        match (&self.result, ended) {
            // The application's status counts, not ours.
            (Some(_), _) | (None, Ended::Code(0)) => {
                if self.result.is_none() {
                    self.tell("the job ended without a report");
                }
                Some(Ended::Code(0))
            }
            (None, ended) if self.asked_to_end => {
                self.tell("the job was ended before its report");
                Some(ended)
            }
            (None, ended) => {
                let how = how(ended);
                self.tell(&format!(
                    "the analysis node ended {how}: the application runs on, unobserved"
                ));
                // Nobody answers any more. To leave would make the launcher end the job.
                self.close();
                None
            }
        }
    }

    fn wait(&self) {
        let mut fds: Vec<PollFd<'_>> = vec![PollFd::new(&self.signals, PollFlags::IN)];
        fds.extend(
            self.message
                .as_ref()
                .map(|message| PollFd::new(message, PollFlags::IN)),
        );
        let due = self.public.as_ref().and_then(|public| public.gateway.due());
        let timeout =
            due.and_then(|due| Timespec::try_from(due.saturating_duration_since(Instant::now())).ok());
        // Whatever it says, everything is looked at.
        let _ = poll(&mut fds, timeout.as_ref());
    }

    fn take_signals(&mut self) {
        while let Some(incoming) = self.signals.next() {
            if !asks_to_end(incoming.signal) {
                continue;
            }
            self.asked_to_end = true;
            // A launcher that asks kills soon after: what others can see goes first, the result may still come.
            self.close();
            if let (Some(node), true) = (self.node, self.relations.sent_to_us_alone(incoming)) {
                let _ = rustix::process::kill_process(node, Signal::TERM);
            }
        }
    }

    /// Removes what we made. A second time is not needed, and does no harm.
    fn close(&mut self) {
        // A directory that is gone already, or filled again by a place, is none of our trouble.
        let _ = connect::remove_runtime_dir(&self.dir);
        if let Some(public) = self.public.take() {
            public.close();
        }
    }

    fn take_result(&mut self) {
        let Some(message) = &mut self.message else { return };
        self.result = Some(match message.take() {
            Progress::Waiting => return,
            Progress::Complete(result) => {
                self.present(&result);
                Ok(())
            }
            Progress::Broken(why) => {
                self.tell(&format!("the job's report is lost: {why}"));
                Err(why)
            }
            Progress::Closed => {
                self.message = None;
                return;
            }
        });
        // The node waits for this end to close before it lets the ranks leave: from then on a launcher may
        // kill us.
        self.message = None;
    }

    fn present(&self, result: &Final) {
        self.tell(&report::one_line(result));
        if let Some(path) = &self.assignment.tool.report {
            let json = path.extension().is_some_and(|extension| extension == "json");
            let text = if json {
                report::json(result)
            } else {
                report::text(result)
            };
            if let Err(error) = std::fs::write(path, text) {
                self.tell(&format!("cannot write the report to {}: {error}", path.display()));
            }
        }
        let terminal = std::env::var_os(ENV_TTY).is_some_and(|value| value == "1");
        if terminal && !self.assignment.tool.quiet {
            eprint!("{}", report::text(result));
        }
    }

    fn tell(&self, line: &str) {
        if !self.assignment.tool.quiet {
            say(line);
        }
    }
}
