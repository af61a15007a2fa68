//! The supervisor's part of a pause: the application's process stands still while no thread of it
//! is in MPI.
//!
//! The gate holds threads at their next MPI call; this stops those that compute. A thread inside
//! MPI must never be stopped: it may hold a shared queue half-written, on which other ranks would
//! spin. The rules:
//!
//! 1. Look at the flags. Is a thread in MPI, leave the process alone: the gate holds that thread
//!    when it leaves. (The look saves the stop below in the common case. Stopping is not free of
//!    effects: some system calls return early after it.)
//! 2. SIGSTOP, and wait until every thread stands still.
//! 3. Look again. The place has closed the gate and made it visible to every processor (membarrier)
//!    before it asked us, so a thread that shows no MPI here cannot be in it. Is one in MPI all the
//!    same, SIGCONT at once.
//! 4. Not stopped? Again every [`TICK`], as long as the pause lasts.
//! 5. The pause ends when the place says so, when the gate opens, and when the gate's time is over:
//!    then nobody may be left to say so.

use crate::rank::shared_memory::monotonic_ns;
use invivo_jobdir::process_stat;
use invivo_proto::control::local::Outcome;
use invivo_proto::shm::{Region, inside, phase};
use rustix::process::{Pid, Signal};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Between two polls of a pause in force.
pub const TICK: Duration = Duration::from_millis(50);
/// The longest wait for threads to stand still: a thread must get a processor once to stop, which
/// can take some tens of milliseconds where many share one.
const STANDSTILL: Duration = Duration::from_millis(if cfg!(test) { 10_000 } else { 500 });
/// Between two polls of threads that are about to stop: doubled from the first to the second.
const POLL_INTERVALS: (Duration, Duration) = (Duration::from_micros(50), Duration::from_millis(2));

/// A thread, as far as a pause is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Its state's letter in `/proc`.
    pub state: char,
    /// Its status page's `inside`, or nothing for a thread that has none: it never called MPI, or
    /// came when all pages were taken and none of its kind is in MPI.
    pub inside: Option<u32>,
}

impl Thread {
    /// It runs no code until it is continued. A thread in the kernel (`D`) stops before it leaves
    /// it.
    fn stands(self) -> bool {
        matches!(self.state, 'T' | 't' | 'D' | 'Z' | 'X')
    }

    /// It runs, and nothing of ours will hold it.
    fn computes(self) -> bool {
        self.state == 'R' && matches!(self.inside, None | Some(inside::APPLICATION))
    }
}

/// What may be done to a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// No thread is in MPI: it may be stopped, and stay stopped.
    MayStop,
    /// It must run, and this is what to say of it.
    MustRun(Outcome),
}

/// Decides by the rank's phase and its threads. Pure.
pub fn judge(in_phase: u32, threads: &[Thread]) -> Judgement {
    let in_mpi = threads
        .iter()
        .any(|thread| thread.inside == Some(inside::MPI));
    match in_phase {
        // The shim does not keep the flags: whether a thread is in MPI is not known.
        phase::SILENT => Judgement::MustRun(Outcome::Running),
        // In `MPI_Init` or `MPI_Abort`, whatever the flags say.
        phase::STARTING | phase::ABORTING => Judgement::MustRun(alone_or_partly(threads)),
        _ if in_mpi => Judgement::MustRun(alone_or_partly(threads)),
        _ => Judgement::MayStop,
    }
}

fn alone_or_partly(threads: &[Thread]) -> Outcome {
    match threads.iter().filter(|thread| thread.computes()).count() {
        0 => Outcome::HeldInMpi,
        running => Outcome::Partly {
            running: running as u32,
        },
    }
}

/// A pause of one process.
#[derive(Debug)]
pub struct Pause {
    pid: Pid,
    /// The generation in force.
    generation: Option<u32>,
    /// We have stopped the process.
    holding: bool,
}

impl Pause {
    /// Of a process that is not paused.
    pub fn of(pid: Pid) -> Pause {
        Pause {
            pid,
            generation: None,
            holding: false,
        }
    }

    /// A pause is in force: call [`Pause::tick`].
    pub fn in_force(&self) -> bool {
        self.generation.is_some()
    }

    /// Begins a pause, or a newer one, and says what became of it.
    pub fn begin(&mut self, region: &Region, generation: u32) -> Outcome {
        if gate_open(region) {
            // Over already: the message was slow.
            self.end();
            return Outcome::Running;
        }
        self.generation = Some(generation);
        self.attempt(region)
    }

    /// Ends it.
    pub fn end(&mut self) {
        self.generation = None;
        if std::mem::take(&mut self.holding) {
            // A process that is gone needs no signal.
            let _ = rustix::process::kill_process(self.pid, Signal::CONT);
        }
    }

    /// Polls a pause in force: ends it, or tries again to stop the process.
    pub fn tick(&mut self, region: &Region) {
        if !self.in_force() {
            return;
        }
        if gate_open(region) {
            self.end();
            return;
        }
        // Somebody else may have continued it.
        if self.holding
            && process_stat::stat(pid(self.pid))
                .is_some_and(|stat| stat.state != 'T' && stat.state != 't')
        {
            self.holding = false;
        }
        if !self.holding {
            self.attempt(region);
        }
    }

    fn attempt(&mut self, region: &Region) -> Outcome {
        let threads = threads_of(self.pid, region);
        if gone(&threads) {
            return Outcome::Gone;
        }

        // Before the stop, because SIGSTOP is not free of effects.
        if let Judgement::MustRun(outcome) =
            judge(region.page().phase.load(Ordering::Acquire), &threads)
        {
            return outcome;
        }
        // A user or a debugger has stopped it: then it is not ours to continue.
        if !self.holding
            && threads
                .iter()
                .all(|thread| matches!(thread.state, 'T' | 't' | 'Z' | 'X'))
        {
            return Outcome::Stopped;
        }

        self.holding = true;
        if rustix::process::kill_process(self.pid, Signal::STOP).is_err() {
            self.holding = false;
            return Outcome::Gone;
        }

        // Again, now that no flag can change: a thread may have entered MPI since the first look.
        let threads = self.standstill(region);
        let moving = threads.iter().filter(|thread| !thread.stands()).count();
        let judgement = judge(region.page().phase.load(Ordering::Acquire), &threads);
        let outcome = match judgement {
            _ if gone(&threads) => Outcome::Gone,
            Judgement::MustRun(outcome) => outcome,
            Judgement::MayStop if moving > 0 => Outcome::Partly {
                running: moving as u32,
            },
            Judgement::MayStop => return Outcome::Stopped,
        };

        // A thread stopped inside MPI may hold a queue in shared memory that others spin on.
        self.holding = false;
        let _ = rustix::process::kill_process(self.pid, Signal::CONT);
        outcome
    }

    /// Waits until every thread stands still, for a bounded time.
    fn standstill(&self, region: &Region) -> Vec<Thread> {
        let until = Instant::now() + STANDSTILL;
        let (mut pause, longest) = POLL_INTERVALS;
        loop {
            let threads = threads_of(self.pid, region);
            if threads.iter().all(|thread| thread.stands()) || Instant::now() >= until {
                return threads;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(longest);
        }
    }
}

/// The gate is open, or would be if its time were looked at.
fn gate_open(region: &Region) -> bool {
    let control = &region.page().control;
    control.gate.load(Ordering::Acquire) == 0
        || monotonic_ns() >= control.gate_until_ns.load(Ordering::Acquire)
}

/// A process without threads, or with dead ones only.
fn gone(threads: &[Thread]) -> bool {
    threads
        .iter()
        .all(|thread| matches!(thread.state, 'Z' | 'X'))
}

/// The threads with their flags.
fn threads_of(of: Pid, region: &Region) -> Vec<Thread> {
    // States first: a thread that is stopped does not change its flag any more.
    let states = process_stat::threads(pid(of));
    let page = region.page();
    let locations = (page.locations.load(Ordering::Acquire) as usize).min(page.status.len());
    let flag = |tid: u32| {
        let status = page.status[..locations]
            .iter()
            .find(|status| status.tid.load(Ordering::Acquire) == tid);
        status.map(|status| status.inside.load(Ordering::Acquire))
    };
    // The last page counts the threads in MPI that have no page of their own, without their
    // numbers: any thread without a page may be one of them.
    let without_page = page
        .status
        .last()
        .is_some_and(|last| last.inside.load(Ordering::Acquire) != 0);
    let without_page = without_page.then_some(inside::MPI);
    states
        .into_iter()
        .map(|(tid, state)| Thread {
            state,
            inside: flag(tid).or(without_page),
        })
        .collect()
}

fn pid(pid: Pid) -> i32 {
    pid.as_raw_nonzero().get()
}

#[cfg(test)]
mod tests;
