//! The main loop of every tool process: receive, tick, send, rest, and leave the job at its end.
//!
//! ```text
//!      each role in its turn
//! +-> [receive -> (end asked for) -> tick -> send -> exit?] -> MPI goes on -> rest, descriptors -+
//! +----------------------------------------------------------------------------------------------+
//! ```
//!
//! A process may have several roles. Each has a panic guard and a [`Seat`] of its own: a panic of
//! one is none of the others', and they speak to each other as to any other process. The process
//! leaves when all of its roles have.

use crate::bell::Bell;
use crate::idle::{Idle, Pace, REST_LONGEST};
use crate::panics::PanicGuard;
use crate::seats::{Loopback, Seat, Seating};
#[cfg(feature = "mpi")]
use crate::{Link, LinkError, exit::hold_pmi_open};
use crate::{Nowhere, Transport};
use invivo_proto::ids::WorldRank;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[cfg(test)]
mod tests;

/// How a tool process is to leave the job, the better ones first: a process leaves by the worst of
/// its roles'.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
    fn flush_max(&self) -> Duration;

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

/// A role with its place in the tree.
pub struct Member<R> {
    /// Its address there.
    pub address: WorldRank,
    /// Its layer: 1 a place.
    pub layer: u32,
    pub role: R,
    pub guard: PanicGuard,
}

/// The roles of one process.
pub struct Roles<R, S> {
    process: WorldRank,
    seating: S,
    seats: Vec<Taken<R>>,
    loopback: Loopback,
}

/// A seat that a role has taken.
struct Taken<R> {
    member: Member<R>,
    refused_sends: u64,
    exit: Option<Exit>,
}

impl<R: Role, S: Seating> Roles<R, S> {
    /// The roles of `process`, which take their turns in this order.
    pub fn new(process: WorldRank, seating: S, members: Vec<Member<R>>) -> Roles<R, S> {
        let taken = |member| Taken {
            member,
            refused_sends: 0,
            exit: None,
        };
        Roles {
            process,
            seating,
            seats: members.into_iter().map(taken).collect(),
            loopback: Loopback::default(),
        }
    }

    /// Every role takes its turn, until it has left. Whether any had something to do.
    fn turn<T: Transport>(&mut self, transport: &mut T, end_asked: bool) -> Result<bool, T::Error> {
        let mut worked = false;
        for taken in self.seats.iter_mut().filter(|taken| taken.exit.is_none()) {
            let Member {
                address,
                layer,
                role,
                guard,
            } = &mut taken.member;
            let mut seat = Seat {
                transport: &mut *transport,
                loopback: &mut self.loopback,
                seating: &self.seating,
                process: self.process,
                address: *address,
                layer: *layer,
                refused: &mut taken.refused_sends,
            };
            worked |= role.receive(&mut seat, guard)?;
            if end_asked {
                role.end_asked(guard);
            }
            worked |= role.tick(&seat, guard);
            worked |= role.send(&mut seat, guard)?;
            // After the send: the last messages of the role are on their way.
            taken.exit = role.exit();
        }
        Ok(worked)
    }

    /// How to leave, once all have.
    fn exit(&self) -> Option<Exit> {
        self.seats
            .iter()
            .map(|taken| taken.exit)
            .try_fold(Exit::Finalize, |worst, exit| Some(worst.max(exit?)))
    }

    /// How the process may rest: as its most alert role.
    fn pace(&self) -> Pace {
        let paces = self.members().map(|member| member.role.pace());
        paces.reduce(Pace::or_more_alert).unwrap_or(Pace::Alert)
    }

    /// Asks all who can wake one of the roles. Whether somebody had to be asked.
    fn ask_to_be_woken(&mut self) -> bool {
        let mut was_needed = false;
        for taken in &mut self.seats {
            was_needed |= taken.member.role.ask_to_be_woken();
        }
        was_needed
    }

    fn members(&self) -> impl Iterator<Item = &Member<R>> {
        self.seats.iter().map(|taken| &taken.member)
    }

    /// Rests for so long at most, and hands what came on descriptors, which are looked at even
    /// where there is no rest, to the roles that they are of. Whether there was anything to do.
    fn rest(&mut self, rest: Option<Duration>) -> bool {
        let woken = wait(self.members().map(|member| &member.role), rest);
        let mut worked = woken.by_bell;
        for (taken, ready) in self.seats.iter_mut().zip(woken.by_descriptor) {
            let Member { role, guard, .. } = &mut taken.member;
            worked |= ready && role.descriptors_ready(guard);
        }
        worked
    }
}

/// Runs the roles of a process to their end and leaves the job. What they have open is closed
/// before that, so that nobody waits for it while MPI is finalised.
///
/// # Errors
/// When MPI refuses.
#[cfg(feature = "mpi")]
pub fn run<R: Role, S: Seating>(
    mut link: Link,
    mut roles: Roles<R, S>,
    end_asked: &std::sync::Arc<AtomicBool>,
) -> Result<Exit, LinkError> {
    let exit = turn_until_exit(&mut link, &mut roles, end_asked)?;
    let flush_max = roles.members().map(|member| member.role.flush_max()).max();
    drop(roles);
    leave(link, exit, flush_max.unwrap_or_default(), end_asked)?;
    Ok(exit)
}

/// Runs the roles of a process that is in no job, to their end: they speak to each other alone, and
/// nobody asks them to end.
pub fn run_apart<R: Role, S: Seating>(mut roles: Roles<R, S>) -> Exit {
    let Ok(exit) = turn_until_exit(&mut Nowhere, &mut roles, &AtomicBool::new(false));
    exit
}

/// Turns until the roles have an exit.
fn turn_until_exit<T: Transport, R: Role, S: Seating>(
    transport: &mut T,
    roles: &mut Roles<R, S>,
    end_asked: &AtomicBool,
) -> Result<Exit, T::Error> {
    let mut idle = Idle::default();
    loop {
        let worked = roles.turn(transport, end_asked.load(Ordering::Relaxed))?;
        // MPI moves messages only while it is called.
        transport.progress()?;
        if let Some(exit) = roles.exit() {
            return Ok(exit);
        }
        if roles.members().all(|member| member.role.is_shut_down()) {
            idle.shut_down();
        }
        let pace = match transport.is_sending() {
            true => Pace::Alert,
            false => roles.pace(),
        };
        let rest = idle.after(worked, pace);
        if rest > Some(REST_LONGEST) && roles.ask_to_be_woken() {
            continue;
        }
        // Work on a descriptor is work: what follows from it should not wait for a long rest.
        if roles.rest(rest) {
            idle.wake();
        }
    }
}

/// What ended a rest before its time.
#[derive(Clone, Debug, Default)]
struct Woken {
    by_bell: bool,
    /// For each role whether something came on its own descriptors.
    by_descriptor: Vec<bool>,
}

/// Waits for so long at most for the descriptors of the roles and for the bell.
fn wait<'a, R: Role + 'a>(roles: impl Iterator<Item = &'a R>, rest: Option<Duration>) -> Woken {
    let mut descriptors = Vec::new();
    let mut counts = Vec::new();
    for role in roles {
        let before = descriptors.len();
        descriptors.extend(role.descriptors());
        counts.push(descriptors.len() - before);
    }
    if descriptors.is_empty() && rest <= Some(REST_LONGEST) {
        // Not even a system call between two polls of MPI that follow at once.
        rest.into_iter().for_each(std::thread::sleep);
        return Woken::default();
    }
    let bell = Bell::own();
    let of_roles = descriptors.len();
    descriptors.extend(bell.map(|bell| PollFd::from_borrowed_fd(bell.descriptor(), PollFlags::IN)));
    let timeout = Timespec::try_from(rest.unwrap_or_default()).unwrap_or_default();
    // Errors, such as a signal, are no reason to stop: everything is looked at again in the next
    // turn.
    if !poll(&mut descriptors, Some(&timeout)).is_ok_and(|ready| ready > 0) {
        return Woken::default();
    }
    let is_ready = |one: &PollFd<'_>| !one.revents().is_empty();
    let by_bell = descriptors[of_roles..].iter().any(is_ready) && bell.is_some_and(Bell::was_rung);
    let mut rest = &descriptors[..of_roles];
    let mut came = |count| {
        let (of_role, behind) = rest.split_at(count);
        rest = behind;
        of_role.iter().any(is_ready)
    };
    Woken {
        by_bell,
        by_descriptor: counts.into_iter().map(&mut came).collect(),
    }
}

/// Leaves the job, through MPI's own end or without it.
#[cfg(feature = "mpi")]
fn leave(
    mut link: Link,
    exit: Exit,
    flush_max: Duration,
    end_asked: &std::sync::Arc<AtomicBool>,
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
