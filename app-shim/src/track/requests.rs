//! Follows requests from their posting to their completion, by handle.
//!
//! Of requests that share a handle the one that was posted first counts as complete first: their
//! sum is right, and so is each where the application completes them in the order of their posting.

use super::shared_table::{SharedTable, publish};
use crate::family::{Message, Request};
pub use invivo_proto::handles::Posted;
use invivo_proto::ids::RegionId;
use invivo_proto::record::Facts;

static REQUESTS: SharedTable<Posted> =
    SharedTable::new(|address| publish(address, |library| &library.requests));
/// Messages that a matched probe took from the queue: their communicators, as records number them.
static MESSAGES: SharedTable<u32> = SharedTable::new(|_| ());

/// Remembers a request.
#[inline(always)]
pub fn insert(request: Request, posted: Posted) {
    REQUESTS.with(|table| table.insert(request.bits(), posted));
}

/// Starts a persistent request, by a call of `region`, under whose name its bytes move.
pub fn restart(request: Request, number: u64, now: u64, region: RegionId) -> Option<Facts> {
    REQUESTS.with(|table| {
        let posted = table.get(request.bits())?;
        // Each start is an operation of its own.
        posted.active = true;
        posted.request = number;
        posted.posted = now;
        posted.facts.region = region;
        Some(posted.facts)
    })
}

/// Completes a request; gives what `work` makes of what is known of it. Inactive and unknown
/// requests give nothing.
#[inline(always)]
pub fn complete<R>(request: Request, work: impl FnOnce(&Posted) -> R) -> Option<R> {
    let look = |posted: &mut Posted| {
        // An inactive persistent request completes at once in any call, and nothing has happened.
        // It stays until it is freed.
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
