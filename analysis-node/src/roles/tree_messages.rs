//! Sends messages to children and parent: some replaceable by newer ones, others never lost.

use invivo_mpi_link::Transport;
use invivo_mpi_link::bell;
use invivo_mpi_link::credit::CREDITS;
use invivo_proto::channel::{TAG_DOWN, TAG_UP};
use invivo_proto::control::encode;
use invivo_proto::control::tree::{Down, Up};
use invivo_proto::ids::WorldRank;
use invivo_tbon::latest::{kind_of_down, kind_of_up, must_arrive};
use std::time::Duration;

/// How long the last messages to children may take where MPI is not finalised.
pub const FLUSH_MAX: Duration = Duration::from_millis(500);

/// Most messages that are received in one turn from so many senders: as many as credits allow to be
/// under way, so that no message that has arrived counts as late, and no sender can delay the
/// others.
pub fn at_a_time(senders: usize) -> usize {
    CREDITS as usize * senders
}

/// Sends to a child. Results have a bounded size: what cannot be encoded is a fault that the other
/// side sees as silence. What a child does not take is counted; it is asked for again, or the child
/// is named as missing. `pid` is its process, where it can be woken.
pub fn send_down<T: Transport>(
    transport: &mut T,
    to: WorldRank,
    message: &Down,
    pid: Option<u32>,
) -> Result<(), T::Error> {
    match encode(message) {
        Ok(bytes) if must_arrive(message) => transport.send_surely(to, TAG_DOWN, bytes),
        Ok(bytes) => transport
            .send_latest(to, TAG_DOWN, kind_of_down(message), bytes)
            .map(drop),
        Err(_) => Ok(()),
    }?;
    wake(pid, kind_of_down(message));
    Ok(())
}

/// Wakes the process that a message went to, unless it can wait: what a newer one may replace can.
fn wake(pid: Option<u32>, kind: Option<u8>) {
    if let (Some(pid), None) = (pid, kind) {
        bell::ring(pid);
    }
}

/// Sends to the parent. Nothing of it is lost, but for what only the newest counts of. `pid` is its
/// process, where it can be woken.
pub fn send_up<T: Transport>(
    transport: &mut T,
    to: WorldRank,
    message: &Up,
    pid: Option<u32>,
) -> Result<(), T::Error> {
    // A message with a kind is sent again by itself, so an unsent older one is worthless.
    match (encode(message), kind_of_up(message)) {
        (Ok(bytes), kind @ Some(_)) => transport.send_latest(to, TAG_UP, kind, bytes).map(drop),
        (Ok(bytes), None) => transport.send_surely(to, TAG_UP, bytes),
        (Err(_), _) => Ok(()),
    }?;
    wake(pid, kind_of_up(message));
    Ok(())
}
