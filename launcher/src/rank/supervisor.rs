//! Supervises one rank of the application: starts it, serves requests of its place, waits for its
//! end, and exits with its status.
//!
//! ```text
//!            started ---- ends before MPI ----------------------------------+
//!               | welcome: the shim passes on where the place listens       |
//!            attached --- place gone: goes on unobserved, notes its end ----+
//!               | Stop, Continue: pauses                                    |
//!               | the application ends                                      v
//!            drained? ---- yes, or nobody is interested ----------------> leave
//!               | no: Ended, then wait for Leave, at most LINGER            ^
//!               +-----------------------------------------------------------+
//! ```
//!
//! It sleeps in `poll`; a pause in force wakes it every 50 ms, and readings of metrics as often as
//! they are wanted. No failure on our side keeps the application from running or its supervisor
//! from leaving.

mod fault;
mod measured;
mod place_loss;
mod sampled;
mod shim;

use crate::job::{environment, slurm_fence};
use crate::mpi::library;
use crate::output::{say, say_for_all};
use crate::process::child::{self, Ended, Inheritance};
use crate::process::signals::{Relations, Signals, asks_to_end};
use crate::rank::assignment::RankAssignment;
use crate::rank::fd_handover::FdHandover;
use crate::rank::measuring::Measuring;
use crate::rank::pause::{Pause, TICK};
use crate::rank::place_socket::{PlaceSocket, Received};
use crate::rank::salvager::{AwaitedSalvager, SALVAGER_POLL};
use crate::rank::sampling::RankSampling;
use crate::rank::shared_memory::SharedMemory;
use crate::rank::spent::Spent;
use crate::tool::startup_barrier::poll_interval;
use invivo_inspect::fault::SeenFault;
use invivo_inspect::pending_call::Watch;
use invivo_inspect::{KnownPython, Names};
use invivo_proto::channel::ENV_HANDOVER;
use invivo_proto::control::local::{FromSupervisor, ToSupervisor};
use invivo_proto::shm::phase;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Pid;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The longest that a supervisor waits for its place after the application's end: the place takes
/// what a rank left in milliseconds and the root makes its last queries in a second or two; a
/// launcher that ends the job kills earlier by itself.
const LINGER: Duration = Duration::from_secs(10);
/// The same once the launcher has asked for the end: it kills soon after.
const LINGER_ASKED: Duration = Duration::from_secs(1);

/// Between two looks whether a rank without a place is in `MPI_Finalize`, which no event announces.
const THROUGH_POLL: Duration = Duration::from_secs(1);

/// Faults of a rank that are looked at: a program that goes on behind each of them must not keep us
/// from our work.
const SIGHTS_MAX: u32 = 8;

/// What to do when the system has too little left for us.
const TRY_WITHOUT: &str = "ask for more memory and descriptors, or run it without invivo";

/// Runs the application to its end; calls `started` once it runs.
pub fn supervise(assignment: &RankAssignment, started: impl FnOnce()) -> Ended {
    match start(assignment) {
        Ok(mut supervisor) => {
            started();
            supervisor.run()
        }
        Err((code, why)) => {
            let mut speaks = assignment.world.speaks();
            if let Some(barrier) = &assignment.barrier {
                // On one node all processes see the notes. On several, rank 0 speaks for all.
                let program = assignment.program.first();
                let first = program.is_none_or(|program| barrier.is_first_to_fail(program));
                if assignment.numbers.hosts == 1 {
                    speaks = first;
                }
                barrier.ended(assignment.identity.rank);
            }
            say_for_all(speaks, &why);
            if let Some(barrier) = &assignment.barrier {
                barrier.wait_for_removal(std::os::unix::process::parent_id());
            }
            Ended::Code(code)
        }
    }
}

pub(super) struct Supervisor<'a> {
    assignment: &'a RankAssignment,
    relations: Relations,
    signals: Signals,
    pub(super) child: Pid,
    /// Wakes us when the child ends. An old kernel has none; there the signal does it alone.
    child_fd: Option<OwnedFd>,
    pub(super) memory: SharedMemory,
    /// Our end of the pair that the shim writes to; nothing once it is closed.
    shim: Option<OwnedFd>,
    /// Where a shim comes that has lost the other end; nothing where the system gives no such
    /// place.
    handover: Option<FdHandover>,
    place: Option<PlaceSocket>,
    /// The shim has told where the place is.
    welcomed: bool,
    /// Where it listens, until it is gone.
    place_path: Option<PathBuf>,
    /// Since when the place is gone.
    place_gone: Option<Instant>,
    /// Who takes what the rank has recorded, in the stead of a place that was killed.
    salvager: Option<AwaitedSalvager>,
    pause: Pause,
    pub(super) names: Names,
    pub(super) python: KnownPython,
    /// The last fault that a thread of the rank met.
    fault: Option<SeenFault>,
    /// Faults that are looked at yet.
    sights: u32,
    pub(super) watch: Watch,
    sampling: RankSampling,
    measuring: Measuring,
    spent: Spent,
    /// The launcher, or a user, has asked for the end.
    asked_to_end: bool,
    /// The rank is in `MPI_Abort` and waits for our answer.
    aborting: bool,
    /// The place has taken everything.
    let_go: bool,
    /// The application left MPI as it was: MPICH's launcher should not see that before all have
    /// left.
    hold_pmi_open: bool,
    /// How the application ended, once it has.
    ended: Option<Ended>,
    /// The rank has called `MPI_Init`.
    in_mpi: bool,
    since: Instant,
}

fn start(assignment: &RankAssignment) -> Result<Supervisor<'_>, (i32, String)> {
    let name = assignment
        .program
        .first()
        .map(|name| name.to_string_lossy())
        .unwrap_or_default();
    let cannot = |code: i32, what: &str, error: &std::io::Error, advice: &str| {
        (
            code,
            format!("cannot start {name}: {what} ({error}); {advice}"),
        )
    };
    let relations = Relations::here();
    let signals = Signals::take()
        .map_err(|error| cannot(1, "no descriptor for its signals", &error, TRY_WITHOUT))?;
    let unshared =
        |error: std::io::Error| cannot(1, "no memory to share with it", &error, TRY_WITHOUT);
    // Without its memory a rank cannot be told from a tool process, so it cannot run unobserved
    // either.
    let memory =
        SharedMemory::create(assignment.identity, &assignment.start_state).map_err(unshared)?;

    // Packets, so that a welcome arrives whole, and the end of either side is seen by the other.
    let (ours, theirs) = rustix::net::socketpair(
        rustix::net::AddressFamily::UNIX,
        rustix::net::SocketType::SEQPACKET,
        rustix::net::SocketFlags::CLOEXEC,
        None,
    )
    .map_err(|error| unshared(error.into()))?;
    let descriptors = [memory.as_fd(), theirs.as_fd()];

    let mut command = child::command(&assignment.program);
    for (name, value) in environment::for_application(
        &assignment.environment,
        assignment.numbers,
        &assignment.program,
        assignment.preload.as_ref(),
        &descriptors.map(|fd| fd.as_raw_fd().to_string()).join(","),
    ) {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let handover = FdHandover::listen().ok();
    if let (Some(handover), Some(_)) = (&handover, &assignment.preload) {
        command.env(ENV_HANDOVER, handover.name());
    }

    // The launcher's descriptors too: MPI finds its connection to the launcher among them.
    let inheritance = Inheritance {
        mask: signals.mask_before,
        descriptors: &descriptors,
        nothing_else: false,
    };
    let child = child::start(command, inheritance).map_err(|error| {
        let (code, what) = child::failure(&error);
        cannot(code, what, &error, "check the path and its mode")
    })?;
    Ok(Supervisor {
        assignment,
        relations,
        signals,
        child,
        child_fd: rustix::process::pidfd_open(child, rustix::process::PidfdFlags::empty()).ok(),
        memory,
        shim: Some(ours),
        handover,
        place: None,
        place_path: None,
        salvager: None,
        welcomed: false,
        place_gone: None,
        pause: Pause::of(child),
        names: Names::default(),
        python: KnownPython::default(),
        fault: None,
        sights: SIGHTS_MAX,
        watch: Watch::default(),
        sampling: RankSampling::default(),
        measuring: Measuring::default(),
        spent: Spent::default(),
        asked_to_end: false,
        aborting: false,
        let_go: false,
        hold_pmi_open: false,
        ended: None,
        in_mpi: false,
        since: Instant::now(),
    })
}

impl Supervisor<'_> {
    fn run(&mut self) -> Ended {
        loop {
            let polls = [
                self.pause.in_force().then_some(TICK),
                self.before_mpi(),
                self.salvager.as_ref().and(Some(SALVAGER_POLL)),
                self.place_gone.and(Some(THROUGH_POLL)),
                self.before_reading(),
                self.before_spent(),
            ];
            self.wait(polls.into_iter().flatten().min());
            self.note_mpi();
            self.note_through();
            self.seek_salvager();
            self.pause.tick(&self.memory.region());
            self.handle_events();
            if let Some(ended) = child::ended_keeping_number(self.child) {
                self.ended = Some(ended);
                // A short program may have come and gone between two polls.
                self.note_mpi();
                self.note_through();
                if let (false, Some(barrier)) = (self.in_mpi, &self.assignment.barrier) {
                    barrier.ended(self.assignment.identity.rank);
                }
                self.wait_for_place(ended);
                if self.hold_pmi_open {
                    child::hold_pmi_open();
                }
                // No signal comes behind this. Who measures the job has its CPU time from us.
                child::ended(self.child);
                return ended;
            }
        }
    }

    /// How long to sleep at most while the rank has not called MPI: no event announces that.
    fn before_mpi(&self) -> Option<Duration> {
        (!self.in_mpi && self.assignment.barrier.is_some()).then(|| poll_interval(self.since))
    }

    /// Notes whether the shim has taken the rank's memory, which it does first in `MPI_Init`.
    fn note_mpi(&mut self) {
        if self.in_mpi {
            return;
        }
        let pid = self.memory.region().page().pid.load(Ordering::Acquire);
        self.in_mpi = pid != 0;
        if let (true, Some(barrier)) = (self.in_mpi, &self.assignment.barrier) {
            let library = library::of_process(pid).map(|library| library.file);
            barrier.began(library.as_deref());
        }
        // The shim has its memory now: nobody else is to get it.
        if self.in_mpi {
            self.handover = None;
        }
    }

    /// Sleeps until something comes.
    fn wait(&self, at_most: Option<Duration>) {
        let mut fds: Vec<PollFd<'_>> = vec![PollFd::new(&self.signals, PollFlags::IN)];
        if self.ended.is_none() {
            fds.extend(
                self.child_fd
                    .as_ref()
                    .map(|fd| PollFd::new(fd, PollFlags::IN)),
            );
        }
        fds.extend(
            self.handover
                .as_ref()
                .map(|handover| PollFd::new(handover, PollFlags::IN)),
        );
        fds.extend(self.shim.as_ref().map(|fd| PollFd::new(fd, PollFlags::IN)));
        fds.extend(
            self.place
                .as_ref()
                .map(|place| PollFd::new(place, PollFlags::IN)),
        );

        fds.extend(self.sampling.poll_fd());

        let has_work = self.place.as_ref().is_some_and(PlaceSocket::has_questions);
        let at_most = if has_work {
            Some(Duration::ZERO)
        } else {
            at_most
        };
        let timeout = at_most.and_then(|duration| Timespec::try_from(duration).ok());
        // Its result does not matter: every source is polled without waiting afterwards.
        let _ = poll(&mut fds, timeout.as_ref());
    }

    /// Handles everything that may have come since the last sleep.
    fn handle_events(&mut self) {
        self.take_signals();
        self.answer_handover();
        self.read_shim();
        // One at a time: a place that sends without pause must not keep us from seeing the child's
        // end. What is left makes `wait` return at once.
        if let Some(message) = self.read_place() {
            self.act(message);
        }
        self.pass_samples();
        self.take_due_reading();
        self.tell_spent();
        self.let_abort();
    }

    fn take_signals(&mut self) {
        while let Some(incoming) = self.signals.next() {
            if incoming.signal == libc::SIGCHLD {
                continue;
            }
            if asks_to_end(incoming.signal) {
                self.asked_to_end = true;
                // A stopped process handles no signal but SIGKILL, so it could not end in order.
                self.pause.end();
            }
            if self.relations.sent_to_us_alone(incoming) {
                child::pass_on(self.child, incoming.signal);
            }
        }
    }

    fn read_place(&mut self) -> Option<ToSupervisor> {
        match self.place.as_mut()?.receive() {
            Received::Message(message) => Some(message),
            Received::Nothing => None,
            // A pause in force ends by itself when the gate's time is over.
            Received::Closed => {
                self.place_closed();
                None
            }
        }
    }

    fn act(&mut self, message: ToSupervisor) {
        let (generation, outcome) = match message {
            ToSupervisor::Stop { generation } => (
                generation,
                self.pause.begin(&self.memory.region(), generation),
            ),
            ToSupervisor::Continue { generation } => {
                self.pause.end();
                (generation, invivo_proto::control::local::Outcome::Running)
            }
            ToSupervisor::Inspect { inspection } => return self.report_pending_call(inspection),
            ToSupervisor::Unwind { unwinding, threads } => {
                return self.report_stacks(unwinding, threads);
            }
            ToSupervisor::Name { module, offsets } => return self.report_names(module, &offsets),
            ToSupervisor::Sample {
                sampling,
                how,
                halvings,
            } => return self.order_sampling(sampling, how, halvings),
            ToSupervisor::Profile { profile } => return self.ask_profile(profile),
            ToSupervisor::Measure {
                measuring,
                measured,
            } => return self.order_measuring(measuring, measured),
            ToSupervisor::TryMetrics { trying } => return self.try_metrics(trying),
            // It comes after the end, see `wait_for_place`, and after what counts as one.
            ToSupervisor::Leave => {
                self.let_go = true;
                return;
            }
        };
        self.tell(&FromSupervisor::Acted {
            generation,
            outcome,
        });
        // Who stops the ranks looks at what they did until then.
        self.tell_readings();
    }

    /// Sends a message that the place can do without; false where it does not read now.
    pub(super) fn offer(&mut self, message: &FromSupervisor) -> bool {
        let offered = self.place.as_ref().map(|place| place.offer(message));
        if let Some(Err(error)) = &offered {
            self.place_fails(error);
        }
        matches!(offered, Some(Ok(true)))
    }

    /// The same without waiting.
    pub(super) fn offer_now(&mut self, message: &FromSupervisor) -> bool {
        let offered = self.place.as_ref().map(|place| place.offer_now(message));
        if let Some(Err(error)) = &offered {
            self.place_fails(error);
        }
        matches!(offered, Some(Ok(true)))
    }

    pub(super) fn tell(&mut self, message: &FromSupervisor) {
        let sent = self.place.as_ref().map(|place| place.send(message));
        if let Some(Err(error)) = &sent {
            self.place_fails(error);
        }
    }

    /// After the application's end: reports it to the place, and waits until the place has taken
    /// what the application left.
    fn wait_for_place(&mut self, ended: Ended) {
        // The rank may have died right after the welcome, which is then still unread.
        self.read_shim();
        self.tell_fault();
        self.tell_last();
        self.tell(&FromSupervisor::Ended(ended));

        let left = self.memory.region().page().phase.load(Ordering::Acquire);
        if left == phase::STARTING && self.in_mpi && slurm_fence::may_explain(ended) {
            let advice = slurm_fence::advice(&self.assignment.environment, &self.assignment.world);
            advice.iter().for_each(|advice| say(advice));
        }
        // Starting: nothing was recorded. Silent: the shim observed nothing.
        if matches!(left, phase::STARTING | phase::SILENT) {
            return;
        }
        if left != phase::DRAINED && matches!(ended, Ended::Code(_)) {
            self.hold_pmi_open = true;
        }
        // Drained: the place has everything of this rank. But a death makes the launcher end the
        // job, and other ranks may have records left: their places need the time.
        if left == phase::DRAINED && matches!(ended, Ended::Code(_)) {
            return;
        }

        let start = Instant::now();
        while self.place.is_some() {
            let message = self.read_place();
            if self.let_go || message == Some(ToSupervisor::Leave) {
                return;
            }
            match message {
                Some(ToSupervisor::Profile { profile }) => self.ask_profile(profile),
                Some(ToSupervisor::Sample { sampling, .. }) => self.refuse_sampling(sampling),
                Some(ToSupervisor::Measure { measuring, .. }) => self.refuse_measuring(measuring),
                Some(ToSupervisor::TryMetrics { trying }) => self.try_metrics(trying),
                _ => {}
            }
            self.pass_samples();
            self.take_signals();
            let most = if self.asked_to_end {
                LINGER_ASKED
            } else {
                LINGER
            };
            let Some(rest) = most.checked_sub(start.elapsed()) else {
                return;
            };
            self.wait(Some(rest));
        }
    }
}

#[cfg(test)]
mod tests;
