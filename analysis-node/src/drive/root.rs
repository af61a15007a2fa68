//! The root on MPI, with the gateway's socket and the supervisor's descriptor.

use super::wire::{Wire, at_a_time};
use super::{leave, own};
use crate::gateway::Gateway;
use crate::report::Report;
use crate::station::{Action, Station};
use invivo_mpi_link::clock::monotonic_ns;
use invivo_mpi_link::guard::Guard;
use invivo_mpi_link::idle::Idle;
use invivo_mpi_link::{Link, LinkError};
use invivo_proto::channel::TAG_UP;
use rustix::event::{PollFd, Timespec, poll};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Runs the root to the job's end.
///
/// # Errors
/// When MPI refuses.
pub fn run(
    mut link: Link,
    mut station: Station,
    report: Report,
    guard: Guard,
    asked_to_end: &Arc<AtomicBool>,
) -> Result<(), LinkError> {
    let finalize = drive(&mut link, &mut station, report, guard, asked_to_end)?;
    drop(station);
    leave(link, finalize, asked_to_end)
}

/// Whether MPI is to be finalised.
fn drive(
    link: &mut Link,
    station: &mut Station,
    mut report: Report,
    mut guard: Guard,
    asked_to_end: &AtomicBool,
) -> Result<bool, LinkError> {
    let mut idle = Idle::default();
    let (mut reporting, mut paging) = (false, false);
    loop {
        let mut worked = false;
        for _ in 0..at_a_time(station.children()) {
            let Some(message) = link.receive(TAG_UP)? else {
                break;
            };
            worked = true;
            guard.run(|| station.up(monotonic_ns(), message.from, &message.bytes));
        }
        if asked_to_end.load(Ordering::Relaxed) {
            station.asked_to_end(monotonic_ns());
        }
        // Pages are sent by this, too.
        let is_dealt_with = (reporting || paging) && report.look();
        if reporting && is_dealt_with {
            reporting = false;
            station.dealt_with();
        }
        if paging && report.is_taken() {
            paging = false;
            guard.run(|| station.page_taken(monotonic_ns()));
        }
        worked |= guard
            .run(|| station.hear_gateway(monotonic_ns()))
            .unwrap_or(true);
        let own = own(link, &guard);
        guard.run(|| station.tick(monotonic_ns(), own));
        for action in station.take_actions() {
            worked = true;
            match action {
                Action::Send(to, message) => link.send_down(to, &message)?,
                Action::Page(page) => {
                    // One that cannot be encoded is a fault of ours: it is missing, and the next
                    // one may not be.
                    paging = true;
                    let _ = report.page(*page);
                }
                Action::Report { result, early } => {
                    reporting = true;
                    if let Err(error) = report.write(result, early) {
                        eprintln!("invivo: the report cannot be made: {error}");
                        station.dealt_with();
                    }
                }
                Action::Say(line) => eprintln!("invivo: {line}"),
                Action::Leave { finalize } => return Ok(finalize),
            }
        }
        link.progress()?;
        if station.is_shut_down() {
            idle.shut_down();
        }
        let rest = idle.after(worked).unwrap_or(Duration::ZERO);
        let timeout = Timespec::try_from(rest).unwrap_or_default();
        let mut fds: Vec<PollFd<'_>> = station
            .gateway()
            .map(Gateway::poll_fd)
            .into_iter()
            .collect();
        // Whatever it says, everything is looked at.
        let _ = poll(&mut fds, Some(&timeout));
    }
}
