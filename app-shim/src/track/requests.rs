//! Follows requests from their posting to their completion, by handle.
//!
//! Of requests that share a handle the one that was posted first counts as complete first: their
//! sum is right, and so is each where the application completes them in the order of their posting.

use super::shared_table::{SharedTable, publish};
use crate::family::{Message, Request};
use invivo_proto::handles::Nth;
pub use invivo_proto::handles::Posted;
use invivo_proto::ids::RegionId;
use invivo_proto::record::Words;

static REQUESTS: SharedTable<Posted> =
    SharedTable::new(|address| publish(address, |library| &library.requests));
/// Messages that a matched probe took from the queue: their communicators, as records number them.
static MESSAGES: SharedTable<u32> = SharedTable::new(|_| ());

/// Remembers a request, which is active unless it is persistent.
#[inline(always)]
pub fn insert(request: Request, posted: Posted) {
    if REQUESTS.is_shared() {
        let Posted { facts, .. } = posted;
        return insert_shared(
            request,
            (facts.head, facts.message),
            (facts.bytes_out, facts.bytes_in),
            (posted.request, posted.posted),
            posted.persistent,
        );
    }
    // Written here, so that each field goes from its register to where it is to lie.
    // SAFETY: it was just asked.
    unsafe { REQUESTS.alone(|table| table.insert(request.bits(), posted)) }
}

/// As [`insert`], under the lock. It is given field by field what would have to lie in memory
/// otherwise, for the other way, too.
#[cold]
#[inline(never)]
fn insert_shared(
    request: Request,
    (head, message): (u64, u64),
    (bytes_out, bytes_in): (u64, u64),
    (number, posted): (u64, u64),
    persistent: bool,
) {
    let facts = Words {
        head,
        message,
        bytes_out,
        bytes_in,
    };
    let posted = Posted {
        facts,
        request: number,
        posted,
        persistent,
        active: !persistent,
        nth: Nth::default(),
    };
    REQUESTS.locked(|table| table.insert(request.bits(), posted));
}

/// Notes which collective of its communicator a request is that was just remembered.
#[inline(never)]
pub fn is_nth(request: Request, number: u32) {
    REQUESTS.with(|table| {
        if let Some(posted) = table.get(request.bits()) {
            posted.nth = Nth::new(number);
        }
    });
}

/// Starts a persistent request, by a call of `region`, under whose name its bytes move.
pub fn restart(
    request: Request,
    number: u64,
    now: u64,
    (region, site): (RegionId, u64),
) -> Option<Words> {
    REQUESTS.with(|table| {
        let posted = table.get(request.bits())?;
        // Each start is an operation of its own.
        posted.active = true;
        posted.request = number;
        posted.posted = now;
        posted.facts.set_region(region);
        posted.facts.set_site(site);
        Some(posted.facts)
    })
}

/// What a completion tells of its request: the facts of the operation, with the completion's kind;
/// its number; when it was posted.
pub type Completed = (Words, u64, u64);

/// Whether several threads may complete requests at once.
#[inline(always)]
pub fn are_shared() -> bool {
    REQUESTS.is_shared()
}

/// Completes a request; gives what `work` makes of what is known of it. Inactive and unknown
/// requests give nothing.
///
/// # Safety
/// [`are_shared`] says no.
#[inline(always)]
pub unsafe fn complete_alone<R>(request: Request, work: impl FnOnce(Completed) -> R) -> Option<R> {
    let look = |posted: &mut Posted| complete(posted, work);
    // SAFETY: the caller vouches for being alone.
    unsafe { REQUESTS.alone(|table| table.look(request.bits(), look)) }.flatten()
}

/// As [`complete_alone`], under the lock.
#[cold]
#[inline(never)]
pub fn complete_shared(request: Request) -> Option<Completed> {
    let look = |posted: &mut Posted| complete(posted, |completed| completed);
    REQUESTS
        .locked(|table| table.look(request.bits(), look))
        .flatten()
}

/// Completes the operation; says whether its request stays.
#[inline(always)]
fn complete<R>(posted: &mut Posted, work: impl FnOnce(Completed) -> R) -> (Option<R>, bool) {
    // An inactive persistent request completes at once in any call, and nothing has happened. It
    // stays until it is freed.
    let was_active = core::mem::replace(&mut posted.active, false);
    if !was_active && posted.persistent {
        return (None, true);
    }
    // SAFETY: reads words of a value that is there. Volatile, so that each comes alone, as it was
    // written: a processor cannot hand on two words that still wait to be stored as one.
    let word = |word: &u64| unsafe { core::ptr::from_ref(word).read_volatile() };
    let facts = Words {
        head: word(&posted.facts.head),
        message: word(&posted.facts.message),
        bytes_out: word(&posted.facts.bytes_out),
        bytes_in: word(&posted.facts.bytes_in),
    };
    let completed = (facts, word(&posted.request), word(&posted.posted));
    (Some(work(completed)), posted.persistent)
}

/// Forgets a request that was freed.
pub fn free(request: Request) {
    REQUESTS.with(|table| table.remove(request.bits()));
}

/// Remembers a message that a matched probe took from the queue.
pub fn matched(message: Message, comm: u32) {
    MESSAGES.with(|table| table.insert(message.bits(), comm));
}

/// Forgets a message that is received; gives its communicator.
pub fn take_message(message: Message) -> Option<u32> {
    MESSAGES.with(|table| table.remove(message.bits()))
}
