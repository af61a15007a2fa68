//! Requests from their posting to their completion: what a completion has to repeat, by the
//! request's handle.
//!
//! Of requests that share a handle the one that was posted first counts as complete first: their
//! sum is right, and so is each where the application completes them in the order of their posting.

use crate::family::{Message, Request};
use crate::handles::{Handles, Place};
use crate::process::{self, MULTIPLE};
use crate::ring::Locked;
use core::sync::atomic::Ordering;
pub use invivo_proto::handles::Posted;
use invivo_proto::ids::RegionId;
use invivo_proto::record::Facts;
use invivo_proto::shm::{self, Library};

/// A table that is locked only where several threads may be in MPI at once.
pub struct Table<T>(Locked<Handles<T>>);

impl<T: Copy + Default> Table<T> {
    /// Empty. Wherever it comes to lie is told there.
    pub const fn new(told: fn(Place)) -> Self {
        Table(Locked::new(Handles::new(told)))
    }

    /// Runs `work` on the table.
    #[inline(always)]
    pub fn with<R>(&self, work: impl FnOnce(&mut Handles<T>) -> R) -> R {
        if MULTIPLE.load(Ordering::Relaxed) {
            self.locked(work)
        } else {
            // SAFETY: below MPI_THREAD_MULTIPLE the application itself sees to it that only one
            // thread at a time is in an MPI call, and its own synchronisation orders these calls.
            unsafe { self.0.with_unlocked(work) }
        }
    }

    #[inline(never)]
    fn locked<R>(&self, work: impl FnOnce(&mut Handles<T>) -> R) -> R {
        self.0.with(work)
    }
}

static REQUESTS: Table<Posted> = Table::new(|place| tell(place, |library| &library.requests));
/// Messages that a matched probe took from the queue: communicator, as records number it.
static MESSAGES: Table<u32> = Table::new(|_| ());

/// Says on the page where a table has come to lie.
pub fn tell(place: Place, of: fn(&Library) -> &shm::Handles) {
    if let Some(page) = process::page() {
        of(&page.library).lie(place.slots, place.entries);
    }
}

/// Remembers a request.
#[inline(always)]
pub fn insert(request: Request, posted: Posted) {
    REQUESTS.with(|table| table.insert(request.bits(), posted));
}

/// A persistent request has been started by a call of `region`, under whose name its bytes move.
pub fn restart(request: Request, number: u64, now: u64, region: RegionId) -> Option<Facts> {
    REQUESTS.with(|table| {
        let posted = table.get(request.bits())?;
        posted.active = true;
        posted.request = number;
        posted.posted = now;
        posted.facts.region = region;
        Some(posted.facts)
    })
}

/// A request is complete; gives what `work` says of what is known of it. Inactive and unknown
/// requests give nothing.
#[inline(always)]
pub fn complete<R>(request: Request, work: impl FnOnce(&Posted) -> R) -> Option<R> {
    let look = |posted: &mut Posted| {
        let was_active = core::mem::replace(&mut posted.active, false);
        (
            (was_active || !posted.persistent).then(|| work(posted)),
            posted.persistent,
        )
    };
    REQUESTS
        .with(|table| table.look(request.bits(), look))
        .flatten()
}

/// A request was freed.
pub fn free(request: Request) {
    REQUESTS.with(|table| table.remove(request.bits()));
}

/// A matched probe took a message from the queue.
pub fn matched(message: Message, comm: u32) {
    MESSAGES.with(|table| table.insert(message.bits(), comm));
}

/// The message is received.
pub fn take_message(message: Message) -> Option<u32> {
    MESSAGES.with(|table| table.remove(message.bits()))
}
