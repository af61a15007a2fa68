//! The main loop of every tool process: receive, tick, send, rest, and leave the job at its end.
//!
//! ```text
//! +-> receive -> (end asked for) -> tick -> send -> MPI goes on -> exit? -> rest or descriptors -+
//! +---------------------------------------------------------------------------------------------+
//! ```

use crate::bell::Bell;
use crate::exit::hold_pmi_open;
use crate::idle::{Idle, Pace, REST_LONGEST};
use crate::panics::PanicGuard;
use crate::{Link, LinkError, Transport};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[cfg(test)]
mod tests;

/// How a tool process is to leave the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Through `MPI_Finalize`.
    Finalize,
    /// Leave MPI as it is: a process of the job has died, and finalising would wait for it.
    Abandon,
    /// Leave MPI as it is, and say by the exit status that the root was lost.
    RootLost,
}

/// What a tool process does in the job: tool place, analysis node or root.
///
/// A role runs what may panic under the guard that it is given. How much it gives to one run is how
/// much a panic costs: a message, a turn.
pub trait Role {
    /// How long the last messages may take when MPI is not finalised, which would see to them. Zero
    /// where there is nothing that anybody waits for.
    const FLUSH_MAX: Duration;

    /// Reads what has come, no more at a time than keeps nothing else waiting. Whether there was
    /// anything.
    ///
    /// # Errors
    /// When the transport refuses.
    fn receive<T: Transport>(
        &mut self,
        transport: &mut T,
        guard: &mut PanicGuard,
    ) -> Result<bool, T::Error>;

    /// The end was requested by a signal. Called in every turn from then on.
    fn end_asked(&mut self, guard: &mut PanicGuard);

    /// Time passes. Whether there was anything to do.
    fn tick<T: Transport>(&mut self, transport: &T, guard: &mut PanicGuard) -> bool;

    /// Sends what is to be sent. Whether there was anything.
    ///
    /// # Errors
    /// When the transport refuses.
    fn send<T: Transport>(
        &mut self,
        transport: &mut T,
        guard: &mut PanicGuard,
    ) -> Result<bool, T::Error>;

    /// How to leave, once it is time.
    fn exit(&self) -> Option<Exit>;

    /// Whether the measurement is over and only the job's end is waited for.
    fn is_shut_down(&self) -> bool;

    /// How the process may rest at present.
    fn pace(&self) -> Pace {
        Pace::Alert
    }

    /// Asks those who can wake this process to do so, before a long rest. Whether somebody had to
    /// be asked: what came before that is looked for once more.
    fn ask_to_be_woken(&mut self) -> bool {
        false
    }

    /// Descriptors other than MPI's that end a rest early.
    fn descriptors(&self) -> Vec<PollFd<'_>> {
        Vec::new()
    }

    /// Something came on a descriptor. Whether there was anything to do about it: the process rests
    /// less then.
    fn descriptors_ready(&mut self, _guard: &mut PanicGuard) -> bool {
        false
    }
}

/// Runs a role to its end and leaves the job. What the role has open is closed before that, so that
/// nobody waits for it while MPI is finalised.
///
/// # Errors
/// When MPI refuses.
pub fn run<R: Role>(
    mut link: Link,
    mut role: R,
    mut guard: PanicGuard,
    end_asked: &Arc<AtomicBool>,
) -> Result<Exit, LinkError> {
    let exit = turn_until_exit(&mut link, &mut role, &mut guard, end_asked)?;
    drop(role);
    leave(link, exit, R::FLUSH_MAX, end_asked)?;
    Ok(exit)
}

/// Turns until the role has an exit.
fn turn_until_exit<T: Transport, R: Role>(
    transport: &mut T,
    role: &mut R,
    guard: &mut PanicGuard,
    end_asked: &AtomicBool,
) -> Result<Exit, T::Error> {
    let mut idle = Idle::default();
    loop {
        let mut worked = role.receive(transport, guard)?;
        if end_asked.load(Ordering::Relaxed) {
            role.end_asked(guard);
        }
        worked |= role.tick(transport, guard);
        worked |= role.send(transport, guard)?;
        // MPI moves messages only while it is called.
        transport.progress()?;

        // After the send: the last messages of the role are on their way.
        if let Some(exit) = role.exit() {
            return Ok(exit);
        }
        if role.is_shut_down() {
            idle.shut_down();
        }
        let rest = idle.after(worked, role.pace());
        if rest > Some(REST_LONGEST) && role.ask_to_be_woken() {
            continue;
        }
        let woken = rest_until_woken(role, rest);
        // Work on a descriptor is work: what follows from it should not wait for a long rest.
        if woken.by_bell || (woken.by_descriptor && role.descriptors_ready(guard)) {
            idle.wake();
        }
    }
}

/// What ended a rest before its time.
#[derive(Clone, Copy, Debug, Default)]
struct Woken {
    by_bell: bool,
    by_descriptor: bool,
}

/// Rests for so long at most. The role's descriptors are looked at even where there is no rest.
fn rest_until_woken<R: Role>(role: &R, rest: Option<Duration>) -> Woken {
    let mut descriptors = role.descriptors();
    if descriptors.is_empty() && rest <= Some(REST_LONGEST) {
        // Not even a system call between two polls of MPI that follow at once.
        rest.into_iter().for_each(std::thread::sleep);
        return Woken::default();
    }
    let bell = Bell::own();
    let of_role = descriptors.len();
    descriptors.extend(bell.map(|bell| PollFd::from_borrowed_fd(bell.descriptor(), PollFlags::IN)));
    let timeout = Timespec::try_from(rest.unwrap_or_default()).unwrap_or_default();
    // Errors, such as a signal, are no reason to stop: everything is looked at again in the next
    // turn.
    if !poll(&mut descriptors, Some(&timeout)).is_ok_and(|ready| ready > 0) {
        return Woken::default();
    }
    let is_ready = |one: &PollFd<'_>| !one.revents().is_empty();
    Woken {
        by_descriptor: descriptors[..of_role].iter().any(is_ready),
        by_bell: descriptors[of_role..].iter().any(is_ready) && bell.is_some_and(Bell::was_rung),
    }
}

/// Leaves the job, through MPI's own end or without it.
fn leave(
    mut link: Link,
    exit: Exit,
    flush_max: Duration,
    end_asked: &Arc<AtomicBool>,
) -> Result<(), LinkError> {
    match exit {
        Exit::Finalize => link.finish(end_asked),
        Exit::Abandon | Exit::RootLost => {
            if !flush_max.is_zero() {
                link.flush(flush_max)?;
            }
            hold_pmi_open();
            Ok(())
        }
    }
}
