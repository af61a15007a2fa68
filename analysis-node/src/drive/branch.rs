//! An inner node on MPI.

use super::wire::{Wire, at_a_time};
use super::{leave, own};
use crate::branch::{Action, Branch, Exit};
use crate::own::Own;
use invivo_mpi_link::clock::monotonic_ns;
use invivo_mpi_link::guard::Guard;
use invivo_mpi_link::idle::Idle;
use invivo_mpi_link::{Link, LinkError};
use invivo_proto::channel::{TAG_DOWN, TAG_UP};
use invivo_proto::ids::WorldRank;
use invivo_tbon::node::Position;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Runs the node to the job's end.
///
/// # Errors
/// When MPI refuses.
pub fn run(
    mut link: Link,
    position: Position,
    parent: WorldRank,
    guard: Guard,
    asked_to_end: &Arc<AtomicBool>,
) -> Result<Exit, LinkError> {
    let children = position.children.len();
    let mut branch = Branch::new(monotonic_ns(), position);
    let exit = drive(&mut link, &mut branch, parent, children, guard)?;
    leave(link, exit == Exit::Finalize, asked_to_end)?;
    Ok(exit)
}

fn drive(
    link: &mut Link,
    branch: &mut Branch,
    parent: WorldRank,
    children: usize,
    mut guard: Guard,
) -> Result<Exit, LinkError> {
    let mut idle = Idle::default();
    loop {
        let own = own(link, &guard);
        let turned = guard.run(|| turn(link, branch, parent, children, monotonic_ns, own));
        let worked = turned.transpose()?.unwrap_or(true);
        link.progress()?;
        if let Some(exit) = branch.exit() {
            return Ok(exit);
        }
        if branch.is_shut_down() {
            idle.shut_down();
        }
        if let Some(rest) = idle.after(worked) {
            std::thread::sleep(rest);
        }
    }
}

/// Reads what has come, as far as it can be passed on, and does what follows. Whether there was
/// anything.
fn turn<W: Wire>(
    wire: &mut W,
    branch: &mut Branch,
    parent: WorldRank,
    children: usize,
    now_ns: impl Fn() -> u64,
    own: Own,
) -> Result<bool, W::Error> {
    let mut worked = false;
    for _ in 0..at_a_time(1) {
        let Some(message) = wire.receive(TAG_DOWN)? else {
            break;
        };
        worked = true;
        if message.from == parent {
            branch.down(now_ns(), &message.bytes);
        }
    }
    act(wire, branch, parent)?;
    let mut room = wire.has_room(parent, TAG_UP);
    for _ in 0..at_a_time(children) {
        let message = if room { wire.receive(TAG_UP)? } else { None };
        let Some(message) = message else {
            break;
        };
        worked = true;
        branch.up(now_ns(), message.from, &message.bytes);
        act(wire, branch, parent)?;
        room = wire.has_room(parent, TAG_UP);
    }
    if room {
        branch.tick(now_ns(), own);
    } else {
        branch.backlog(now_ns(), own);
    }
    Ok(act(wire, branch, parent)? || worked)
}

/// Sends what the node wants sent. Whether there was anything.
fn act<W: Wire>(wire: &mut W, branch: &mut Branch, parent: WorldRank) -> Result<bool, W::Error> {
    let actions = branch.take_actions();
    let acted = !actions.is_empty();
    for action in actions {
        match action {
            Action::Down(to, message) => wire.send_down(to, &message)?,
            Action::Up(message) => wire.send_up(parent, &message)?,
        }
    }
    Ok(acted)
}

#[cfg(test)]
mod tests;
