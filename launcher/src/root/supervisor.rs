//! The supervisor of the root: it publishes the job, keeps the gateway running, starts the analysis
//! node, presents the result, and removes what it made.

use crate::job::job_id::Job;
use crate::job::slurm_fence;
use crate::output::say;
use crate::process::child::{self, Ended, Inheritance};
use crate::process::poll::is_readable;
use crate::process::signals::{Relations, Signals, asks_to_end, for_tools};
use crate::root::assignment::RootAssignment;
use crate::root::cleanup::Cleanup;
use crate::root::end_without_node::{EndWithoutNode, POLL as END_POLL};
use crate::root::final_message::FinalMessage;
use crate::root::gateway_process::how;
use crate::root::last_seconds::LastSeconds;
use crate::root::publication::{Publication, link};
use crate::root::salvage::Salvage;
use crate::root::save_at_end::SaveAtEnd;
use crate::tool::command::{loaded, tool_on};
use crate::tool::processors;
use crate::tool::startup_barrier::{Stage, StartupBarrier, poll_interval};
use crate::tool::test_hooks;
use invivo_proto::control::analyses::AnalysesStatus;
use invivo_proto::control::fault::RankFaulted;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Runs the root to the job's end.
///
/// # Errors
/// When the analysis node cannot be started: without it there is nothing to wait for.
pub fn supervise(assignment: &RootAssignment, signals: Signals) -> Result<Ended, String> {
    let dir = assignment
        .job
        .runtime_dir()
        .map_err(|error| error.to_string())?;
    let relations = Relations::here();
    let publication = Publication::open(assignment, &dir, for_tools(signals.mask_before));
    let _cleanup = Cleanup::start(
        &dir,
        publication
            .as_ref()
            .map(|publication| publication.job.id.as_str()),
    );
    let mut root = Root {
        assignment,
        barrier: assignment
            .barrier
            .clone()
            .map(|barrier| (barrier, Instant::now())),
        launcher: relations.launcher_fd(),
        relations,
        publication,
        node: None,
        message: None,
        result: None,
        last: LastSeconds::default(),
        hold_pmi_open: false,
        left_early: None,
        last_words: None,
        asked_to_end: false,
        started_unix: unix_seconds(),
        asked_by: None,
        analyses: AnalysesStatus::default(),
        faults: Vec::new(),
        launcher_gone: None,
        node_lost: None,
        end_without_node: None,
        salvage: None,
        saving: None,
        signals,
        dir,
    };
    root.check_report();
    root.check_save();
    let ended = root.run();
    root.say_last_words();
    root.close();
    // MPICH's launcher kills the others when one connection closes early: ours may not close before
    // those of ranks that died, or that it has asked to end.
    if (root.hold_pmi_open || root.asked_to_end)
        && root.launcher_gone.is_none()
        && !root.is_forsaken()
    {
        child::hold_pmi_open();
    }
    ended
}

pub(super) struct Root<'a> {
    pub(super) assignment: &'a RootAssignment,
    pub(super) relations: Relations,
    /// Readable once the launcher's process is gone: then no process but this one removes what it
    /// made.
    pub(super) launcher: Option<OwnedFd>,
    pub(super) signals: Signals,
    /// Waits for the application to begin, since then; nothing once it has, and where it cannot be
    /// told.
    pub(super) barrier: Option<(StartupBarrier, Instant)>,
    pub(super) publication: Option<Publication>,
    pub(super) node: Option<Pid>,
    /// The result on its way; nothing before the node runs, and once the result is presented.
    pub(super) message: Option<FinalMessage>,
    /// The result, once it is here.
    pub(super) result: Option<Result<(), String>>,
    /// The last seconds, where the job did not end well.
    pub(super) last: LastSeconds,
    /// Ranks left MPI as it was: MPICH's launcher should not see that before all have left.
    pub(super) hold_pmi_open: bool,
    /// Since when it is known that a rank left without `MPI_Finalize`, where the launcher is of
    /// MPICH's kin.
    pub(super) left_early: Option<Instant>,
    /// The line for the job's end, where the result came before it.
    pub(super) last_words: Option<String>,
    /// When this process began, in seconds since 1970.
    pub(super) started_unix: u64,
    /// The launcher, or a user, has asked for the end.
    pub(super) asked_to_end: bool,
    /// The first signal that did.
    pub(super) asked_by: Option<i32>,
    /// Which analyses the next result was made with.
    pub(super) analyses: AnalysesStatus,
    /// Where threads were that ended their ranks.
    pub(super) faults: Vec<RankFaulted>,
    /// Since when the launcher is gone.
    pub(super) launcher_gone: Option<Instant>,
    /// Since when the analysis node is gone and the job is not.
    pub(super) node_lost: Option<Instant>,
    /// The job's end, where nobody else ends it.
    pub(super) end_without_node: Option<EndWithoutNode>,
    /// What the analysis node has left is being taken.
    pub(super) salvage: Option<Salvage>,
    /// What the buffers hold is being saved.
    pub(super) saving: Option<SaveAtEnd>,
    /// The sockets' directory.
    pub(super) dir: PathBuf,
}

/// How long the analysis node may take to end when the launcher is gone.
const LINGER: Duration = Duration::from_secs(2);

/// How long the ranks under MPICH's launcher have to follow a process that left without
/// `MPI_Finalize`. Bare runs have not even that: the launcher kills the others at once. But MPICH
/// 5.0 does not, where the connection of that rank stays open a moment longer
/// ([`child::hold_pmi_open`]): it accepts a connection that closes after its process. Ours closes
/// before.
const FORSAKEN: Duration = Duration::from_secs(2);

/// How long we stay without an analysis node for ranks that were asked to end: batch systems give
/// them no more. Whoever asked may wait for all processes.
const UNOBSERVED: Duration = Duration::from_secs(30);

fn unix_seconds() -> u64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    since_1970.map_or(0, |time| time.as_secs())
}

impl Root<'_> {
    fn start_node(&mut self) -> Result<(), String> {
        let cannot =
            |error: &dyn std::fmt::Display| format!("cannot start the tool process: {error}");
        let (message, theirs) = FinalMessage::pair().map_err(|error| cannot(&error))?;
        let mut command = self.tool_process(&theirs);
        command.arg("--link").arg(link(&self.dir));
        let options = &self.assignment.options;
        let config = &options.config;
        let budget = config.budget();
        for (name, value) in [
            ("--buffer-bytes", config.buffer.0),
            ("--budget-bytes", budget.least),
            ("--budget-bytes-per-rank", budget.per_rank),
            ("--hold-ns", options.hold_lease_ns()),
            ("--watchdog-ns", options.watchdog_ns()),
            ("--metrics-interval-ns", config.metrics.interval_ns),
        ] {
            command.arg(name).arg(value.to_string());
        }

        if config.save.is_some() {
            command.arg("--save");
        }
        command.arg("--recording").arg(options.recording.text());
        command.arg("--strategy").arg(config.strategy.to_string());
        command.arg("--analyses").arg(config.analyses.to_string());
        command.arg("--sampling").arg(config.sampling.to_string());
        command.arg("--selection").arg(config.selection.text());
        command.arg("--metrics").arg(config.metrics.set.to_string());
        if let Some(cap) = config.overhead.0 {
            command.arg("--overhead").arg(cap.to_string());
        }
        test_hooks::add(&mut command);
        let barrier = self.assignment.barrier.as_ref();
        processors::step_aside(self.job().launcher(), barrier, processors::NOTES_WITHIN);
        let inheritance = Inheritance {
            mask: for_tools(self.signals.mask_before),
            descriptors: &[theirs.as_fd()],
            nothing_else: false,
        };
        self.node = Some(child::start(command, inheritance).map_err(|error| cannot(&error))?);
        self.message = Some(message);
        Ok(())
    }

    /// The job, as it is published.
    pub(super) fn job(&self) -> &Job {
        let published = self.publication.as_ref();
        published.map_or(&self.assignment.job, |publication| &publication.job)
    }

    /// A tool process that is the root, or was, and hands its result to `report`.
    pub(super) fn tool_process(&self, report: &OwnedFd) -> Command {
        let RootAssignment {
            plan,
            library,
            barrier,
            artefacts,
            ..
        } = self.assignment;
        let library = loaded(barrier.as_ref(), library.clone());
        let mut command = Command::new(artefacts.tool_process(library.family));
        // For the sockets of a tool place, which may be in the same process.
        command.arg("--runtime-dir").arg(&self.dir);
        command.arg("--family").arg(library.family.name());
        command.arg("--layout").arg(plan.to_string());
        command.arg("--job").arg(&self.job().id);
        command
            .arg("--report-fd")
            .arg(report.as_raw_fd().to_string());
        tool_on(&mut command, &library).stdin(Stdio::null());
        command
    }

    fn run(&mut self) -> Result<Ended, String> {
        // With a barrier the node starts once a rank is in `MPI_Init`: before, it might wait there
        // for a program that never calls MPI.
        if self.barrier.is_none() {
            self.start_node()?;
        }
        loop {
            self.wait();
            self.take_signals();
            self.take_result();
            self.tend_save();
            self.tend_salvage();
            if let Some(publication) = &mut self.publication {
                publication.gateway.poll();
                if let Some(why) = publication.gateway.trouble() {
                    self.tell(&why);
                }
            }

            match self.barrier.as_ref().map(|(barrier, _)| barrier.stage()) {
                Some(Stage::Began) => {
                    self.barrier = None;
                    self.start_node()?;
                }
                // The others leave before us: the directory with their notes is ours to remove.
                Some(Stage::Over) => {
                    let mut started = true;
                    if let Some((barrier, _)) = self.barrier.take() {
                        started = !barrier.has_failed();
                        let parent = self.relations.parent as u32;
                        barrier.wait_for_tools(self.assignment.others_here, parent);
                    }
                    // It has called another one's MPI, or could not be started, which was said.
                    if started && !self.assignment.foreign {
                        self.tell("the program ended without calling MPI: nothing was observed");
                    }
                    return Ok(Ended::Code(0));
                }
                Some(Stage::Waiting) | None => {}
            }

            if let Some(ended) = self.node.and_then(child::ended) {
                self.node = None;
                // Its last message may have come after `take_result` above.
                self.take_result();
                if let Some(status) = self.node_ended(ended) {
                    return Ok(status);
                }
            } else if let (Some(end), None) = (&mut self.end_without_node, &self.salvage)
                && let Some(status) = end.status()
            {
                return Ok(status);
            } else if self.may_leave() {
                if let Some(node) = self.node {
                    child::end(node);
                }
                return Ok(Ended::Code(0));
            }
        }
    }

    /// Whether the job is to end and nothing is left to wait for.
    fn may_leave(&self) -> bool {
        let over =
            |since: Option<Instant>, most| since.is_some_and(|since| since.elapsed() >= most);
        let useless = self.asked_to_end && over(self.node_lost, UNOBSERVED);
        useless || over(self.launcher_gone, LINGER) || self.is_forsaken()
    }

    /// Whether ranks have stayed where one has left.
    fn is_forsaken(&self) -> bool {
        self.left_early
            .is_some_and(|since| since.elapsed() >= FORSAKEN)
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
            // The others wait for it in `MPI_Init`, and only the launcher can end that.
            (None, ended) if !self.has_begun() => {
                let how = how(ended);
                self.tell(&format!(
                    "the tool process ended {how} before MPI_Init was complete, and the job with \
                     it"
                ));
                if let Some(fence) = &self.assignment.fence
                    && slurm_fence::may_explain(ended)
                {
                    self.tell(fence);
                }
                Some(ended)
            }
            // No tool place is left that would end the job: `MPI_Finalize` waits for ever.
            (None, ended) if self.assignment.is_alone => {
                let how = how(ended);
                let Some(barrier) = self.assignment.barrier.clone() else {
                    self.tell(&format!(
                        "the tool process ended {how}, and the job with it"
                    ));
                    return Some(ended);
                };
                self.tell(&format!(
                    "the tool process ended {how}: the application runs on, unobserved; once all \
                     ranks are in MPI_Finalize, which would wait for ever, the job ends as failed"
                ));
                // While the job has the name under which it was published.
                self.start_salvage(ended);
                // The ranks' notes are in the directory: it stays.
                self.unpublish();
                self.node_lost = Some(Instant::now());
                self.end_without_node = Some(EndWithoutNode::new(barrier, ended));
                None
            }
            (None, ended) => {
                let how = how(ended);
                self.tell(&format!(
                    "the root ended {how}: the application runs on, unobserved"
                ));
                // No query can be answered any more, so the job is taken off the list. But we stay:
                // the launcher would take the end of one process for a failure and end the job.
                match self.start_salvage(ended) {
                    true => self.unpublish(),
                    false => self.close(),
                }
                self.node_lost = Some(Instant::now());
                None
            }
        }
    }

    /// Whether the analysis node was through `MPI_Init`: right behind it, it binds the socket for
    /// the gateway.
    fn has_begun(&self) -> bool {
        link(&self.dir).exists()
    }

    fn wait(&self) {
        let mut fds: Vec<PollFd<'_>> = vec![PollFd::new(&self.signals, PollFlags::IN)];
        fds.extend(
            self.message
                .as_ref()
                .map(|message| PollFd::new(message, PollFlags::IN)),
        );
        fds.extend(
            self.launcher
                .as_ref()
                .map(|launcher| PollFd::new(launcher, PollFlags::IN)),
        );
        let gateway = self
            .publication
            .as_ref()
            .and_then(|publication| publication.gateway.due());
        // Every time limit in force: the nearest one ends the sleep.
        let times = [
            gateway.map(|due| due.saturating_duration_since(Instant::now())),
            self.barrier
                .as_ref()
                .map(|(_, since)| poll_interval(*since)),
            self.launcher_gone
                .map(|since| LINGER.saturating_sub(since.elapsed())),
            self.left_early
                .map(|since| FORSAKEN.saturating_sub(since.elapsed())),
            self.end_without_node.as_ref().map(|_| END_POLL),
            self.salvage.as_ref().map(Salvage::left),
            self.node_lost
                .filter(|_| self.asked_to_end)
                .map(|since| UNOBSERVED.saturating_sub(since.elapsed())),
        ];
        let timeout = times
            .into_iter()
            .flatten()
            .min()
            .and_then(|time| Timespec::try_from(time).ok());
        // Its result does not matter: every source is polled without waiting afterwards.
        let _ = poll(&mut fds, timeout.as_ref());
    }

    fn take_signals(&mut self) {
        while let Some(incoming) = self.signals.next() {
            if asks_to_end(incoming.signal) {
                // The kernel sends SIGTERM when our process proxy dies: no user or launcher asked.
                if !self.relations.is_orphan() {
                    self.asked_by.get_or_insert(incoming.signal);
                }
                self.end_was_asked_for(self.relations.sent_to_us_alone(incoming));
            }
        }
        let gone = self.launcher.as_ref().is_some_and(is_readable);
        if self.launcher_gone.is_none() && (gone || self.asked_to_end && self.relations.is_orphan())
        {
            self.launcher = None;
            self.launcher_gone = Some(Instant::now());
            self.end_was_asked_for(true);
        }
    }

    /// Acts on a request to end. A launcher kills soon after it: what others can see goes first,
    /// the result may still come. The directory of sockets stays until they are not needed any
    /// more: the job may be on its way through `MPI_Init`.
    fn end_was_asked_for(&mut self, tell_the_node: bool) {
        self.asked_to_end = true;
        self.unpublish();
        self.say_last_words();
        if let (Some(node), true) = (self.node, tell_the_node) {
            let _ = rustix::process::kill_process(node, Signal::TERM);
        }
    }

    /// Removes what others could find of us. A second time is not needed, and does no harm.
    pub(super) fn close(&mut self) {
        // The directory may be gone already, or a place may have put a socket into it again.
        let _ = invivo_jobdir::remove_runtime_dir(&self.dir);
        self.unpublish();
    }

    /// Takes the job off the list and ends the gateway, which may take a moment.
    pub(super) fn unpublish(&mut self) {
        if let Some(publication) = self.publication.take() {
            publication.withdraw();
            publication.gateway.stop();
        }
    }

    fn say_last_words(&mut self) {
        if let Some(line) = self.last_words.take() {
            self.tell(&line);
        }
    }

    pub(super) fn quiet(&self) -> bool {
        *self.assignment.options.config.quiet
    }

    pub(super) fn tell(&self, line: &str) {
        if !self.quiet() {
            say(line);
        }
    }
}
