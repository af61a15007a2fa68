//! An inner node on MPI.

use super::{leave, own, send_down, send_up};
use crate::branch::{Action, Branch, Exit};
use invivo_mpi_link::clock::monotonic_ns;
use invivo_mpi_link::idle::Idle;
use invivo_mpi_link::{Link, LinkError};
use invivo_proto::channel::{TAG_DOWN, TAG_UP};
use invivo_proto::ids::WorldRank;
use invivo_tbon::node::Seat;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a node goes on after the launcher has asked for the end: the root needs its last answers.
const GRACE: Duration = Duration::from_secs(1);

/// Runs the node to the job's end.
///
/// # Errors
/// When MPI refuses.
pub fn run(
    mut link: Link,
    seat: Seat,
    parent: WorldRank,
    asked_to_end: &AtomicBool,
) -> Result<Exit, LinkError> {
    let mut branch = Branch::new(monotonic_ns(), seat);
    let exit = drive(&mut link, &mut branch, parent, asked_to_end)?;
    leave(link, exit == Exit::Finalize)?;
    Ok(exit)
}

fn drive(
    link: &mut Link,
    branch: &mut Branch,
    parent: WorldRank,
    asked_to_end: &AtomicBool,
) -> Result<Exit, LinkError> {
    let mut idle = Idle::default();
    let mut grace: Option<Instant> = None;
    loop {
        let mut worked = false;
        while let Some(message) = link.receive(TAG_DOWN)? {
            worked = true;
            if message.from == parent {
                branch.down(monotonic_ns(), &message.bytes);
            }
        }
        while let Some(message) = link.receive(TAG_UP)? {
            worked = true;
            branch.up(monotonic_ns(), message.from, &message.bytes);
        }
        branch.tick(monotonic_ns(), own(link));
        for action in branch.take_actions() {
            worked = true;
            match action {
                Action::Down(to, message) => send_down(link, to, &message)?,
                Action::Up(message) => send_up(link, parent, &message)?,
            }
        }
        link.progress()?;
        if let Some(exit) = branch.exit() {
            return Ok(exit);
        }
        if asked_to_end.load(Ordering::Relaxed) && grace.get_or_insert_with(Instant::now).elapsed() > GRACE {
            return Ok(Exit::Abandon);
        }
        if branch.is_shut_down() {
            idle.shut_down();
        }
        if let Some(rest) = idle.after(worked) {
            std::thread::sleep(rest);
        }
    }
}
