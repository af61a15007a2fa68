//! Samples a rank: where it spends its time on a processor, seen by the kernel's clock.
//!
//! ```text
//! Sampler <- child, service      the supervisor's side: a process of its own, and orders to it
//! service <- threads, mappings, gathered, one_by_one, outbox
//!                                empties rings, follows paths, tells samples, answers
//! cost, tally                    what a sample takes from its thread, and all of them so far
//! threads <- ordinals, ring <- record
//!                                an event for each thread, and what the kernel writes
//! timers                         the same by timers in the rank, where events are forbidden
//! mappings                       which files have code there now
//! gathered <- path, paths        places in files, and how often each path was seen
//! answer <- namer                functions of places, added up to a tree
//! one_by_one <- held <- contexts each sample, with the number of its calling context
//! outbox                         what the supervisor has no room for yet
//! ```
//!
//! A thread that runs is interrupted by the kernel at even intervals of its time on a processor,
//! for some microseconds, in which its registers and the end of its stack are copied. The rest is
//! done by the sampler's process, which reads foreign files: it may hang, and ends with nobody.
//!
//! Of a process with more than 256 threads the oldest are seen. A thread is seen within a tenth of
//! a second after it began; what runs for a shorter time may not be. By timers it is seen when a
//! call of MPI has returned since.

mod answer;
mod contexts;
mod cost;
mod gathered;
mod held;
mod mappings;
mod namer;
mod one_by_one;
mod ordinals;
mod outbox;
mod path;
mod paths;
mod record;
mod ring;
mod service;
mod tally;
mod threads;
mod timers;

use crate::child::Child;
use crate::memory::ProcessMemory;
use crate::perf::paranoid;
pub use crate::sampling::service::OfRank;
use crate::sampling::service::{Ends, serve};
use crate::sampling::tally::Tally;
use invivo_jobdir::process_stat;
use invivo_proto::control::local::{FromSupervisor, LOCAL_BYTES_MAX, ToSupervisor};
use invivo_proto::control::profile::{FREQUENCY_MAX, FREQUENCY_MIN, NoSamples};
use invivo_proto::control::sampling::{SampledBy, Sampling};
use invivo_proto::control::{decode, encode};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, socketpair};
use rustix::process::Pid;
use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// What the child calls itself.
const SAMPLER_NAME: &CStr = c"invivo-sampler";
/// The longest wait for the child's word: it opens events, which takes milliseconds.
const WORD_WITHIN: Duration = Duration::from_secs(if cfg!(test) { 4 } else { 1 });

/// A process that samples a rank. Dropped, it is killed.
pub struct Sampler {
    orders: OwnedFd,
    answers: OwnedFd,
    tally: Tally,
    /// The number of the last order.
    sampling: u32,
    child: Child,
}

/// What one receive brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// A [`FromSupervisor::Profiled`], [`FromSupervisor::Contexts`] or [`FromSupervisor::Samples`].
    Message(FromSupervisor),
    /// Nothing now.
    Nothing,
    /// The sampler is gone, or sent what is no message: there will be no more.
    Ended,
}

impl Sampler {
    /// Starts to sample a process, so many times a second: between [`FREQUENCY_MIN`] and
    /// [`FREQUENCY_MAX`], and that halved so often. Takes a second at most. `prepare` is done
    /// first, by the sampler's process.
    ///
    /// # Errors
    /// Why the process cannot be sampled.
    pub fn start(
        of: OfRank,
        how: Sampling,
        halvings: u32,
        prepare: impl FnOnce(),
    ) -> Result<Sampler, NoSamples> {
        // A child may not open it where Yama restricts this to parents.
        let memory = ProcessMemory::of(of.pid).ok_or_else(|| unreadable(of.pid, how.by))?;
        let ((orders, its_orders), (answers, its_answers)) = (pair()?, pair()?);
        let tally = Tally::new().map_err(|_| NoSamples::NoRoom)?;
        let keep = [
            its_orders.as_raw_fd(),
            its_answers.as_raw_fd(),
            memory.descriptor().as_raw_fd(),
            tally.descriptor(),
        ];
        let ends = Ends {
            orders: its_orders,
            answers: its_answers,
        };
        let child = Child::start(keep.into(), || {
            // What people see of it in a list of processes.
            let _ = rustix::thread::set_name(SAMPLER_NAME);
            prepare();
            serve(of, &memory, ends, &tally);
        });
        let mut sampler = Sampler {
            orders,
            answers,
            tally,
            sampling: 0,
            child: child.ok_or(NoSamples::NoRoom)?,
        };
        let frequency = how.frequency.max(FREQUENCY_MIN);
        sampler.switch(Sampling { frequency, ..how }, halvings)?;
        Ok(sampler)
    }

    /// Samples so from now on, [`FREQUENCY_MAX`] times a second at most, and that halved so often;
    /// off: no longer. What was seen stays. Takes a second at most.
    ///
    /// The samples of a thread are numbered on; with another frequency, not counting its halvings,
    /// their numbers begin anew: those of before can be received as soon as this is done, and do
    /// not come later.
    ///
    /// # Errors
    /// Why the process cannot be sampled: then it is not any more. After [`NoSamples::Silent`] the
    /// order may be done later; after [`NoSamples::Broken`] this sampler is of no use.
    pub fn switch(&mut self, how: Sampling, halvings: u32) -> Result<(), NoSamples> {
        self.sampling = self.sampling.wrapping_add(1);
        let sampling = self.sampling;
        let frequency = how.frequency.min(FREQUENCY_MAX);
        let order = ToSupervisor::Sample {
            sampling,
            how: Sampling { frequency, ..how },
            halvings,
        };
        if !self.order(&order) {
            return Err(NoSamples::Broken);
        }
        let until = Instant::now() + WORD_WITHIN;
        loop {
            match receive(self.orders.as_fd()) {
                Received::Message(FromSupervisor::Sampling {
                    sampling: of,
                    outcome,
                }) if of == sampling => return outcome,
                // The answer to an order that was given up.
                Received::Message(_) => {}
                Received::Nothing => {
                    let rest = until.checked_duration_since(Instant::now());
                    // It is busy, or hangs; what it says later belongs to an order of before.
                    let rest = rest.ok_or(NoSamples::Silent)?;
                    let mut came = [PollFd::new(&self.orders, PollFlags::IN)];
                    // Whatever it says, the next receive tells.
                    let _ = poll(&mut came, Timespec::try_from(rest).ok().as_ref());
                }
                Received::Ended => return Err(NoSamples::Broken),
            }
        }
    }

    /// Asks for what was seen so far; answers come by [`Sampler::receive`]. An answer that was
    /// asked for before and is not there yet is given up, perhaps in the middle of its parts. False
    /// where the sampler is gone, or has not looked at earlier questions.
    pub fn ask(&mut self, profile: u32) -> bool {
        self.order(&ToSupervisor::Profile { profile })
    }

    /// The next message, without waiting: a part of an answer, or unasked what samples were taken:
    /// [`FromSupervisor::Contexts`] before the first [`FromSupervisor::Samples`] of them.
    pub fn receive(&mut self) -> Received {
        match receive(self.answers.as_fd()) {
            Received::Message(
                message @ (FromSupervisor::Profiled { .. }
                | FromSupervisor::Contexts { .. }
                | FromSupervisor::Samples { .. }),
            ) => Received::Message(message),
            Received::Nothing => Received::Nothing,
            Received::Message(_) | Received::Ended => Received::Ended,
        }
    }

    /// Time on a processor that it has taken.
    pub fn cpu_time(&self) -> Duration {
        self.child.cpu_time().unwrap_or_default()
    }

    /// Time that samples took so far from the rank itself, which the kernel interrupts for each: an
    /// estimate, by what one costs on this machine. Nothing where it cannot be told right now.
    pub fn in_rank(&self) -> Option<Duration> {
        self.tally.read()
    }

    fn order(&self, order: &ToSupervisor) -> bool {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let order = encode(order).ok();
        order.is_some_and(|order| rustix::net::send(&self.orders, &order, flags).is_ok())
    }
}

impl AsFd for Sampler {
    /// Readable when there is something to receive, or the sampler is gone.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.answers.as_fd()
    }
}

fn pair() -> Result<(OwnedFd, OwnedFd), NoSamples> {
    let flags = SocketFlags::CLOEXEC;
    socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
        .map_err(|_| NoSamples::NoRoom)
}

/// Why the memory of a process cannot be opened: what forbids that would forbid events, too.
fn unreadable(pid: Pid, by: SampledBy) -> NoSamples {
    let stat = process_stat::stat(pid.as_raw_nonzero().get());
    match stat.is_none_or(|stat| matches!(stat.state, 'Z' | 'X')) {
        true => NoSamples::Ended,
        false if by == SampledBy::Timer => NoSamples::Unreadable,
        false => NoSamples::Forbidden {
            paranoid: paranoid(),
        },
    }
}

fn receive(socket: BorrowedFd<'_>) -> Received {
    let mut bytes = [0; LOCAL_BYTES_MAX];
    let flags = RecvFlags::DONTWAIT | RecvFlags::TRUNC;
    loop {
        // The length is the message's, so that one that is too long is seen.
        return match rustix::net::recv(socket, &mut bytes, flags) {
            Ok((_, length)) if length > 0 && length <= bytes.len() => {
                decode(&bytes[..length]).map_or(Received::Ended, Received::Message)
            }
            Err(Errno::AGAIN) => Received::Nothing,
            Err(Errno::INTR) => continue,
            Ok(_) | Err(_) => Received::Ended,
        };
    }
}

#[cfg(test)]
mod tests;
