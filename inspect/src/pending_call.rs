//! Reads what a rank waits for while it is in an MPI call, from outside: the call's arguments from
//! its status page, the meaning of handles from its memory, the line in the source from its stack.
//! The rank is not stopped and does nothing for it; it only has to stay in that call, as a rank
//! does whose call is pending for long.

use crate::memory::{ProcessMemory, Table};
use crate::names::Names;
use crate::site;
use invivo_proto::control::hang::{OPERATIONS_MAX, PASSED_MAX, Side};
use invivo_proto::control::local::{Need, PendingCall, PendingOperation};
use invivo_proto::handles::{Known, Posted};
use invivo_proto::ids::{CommLocal, RegionId};
use invivo_proto::mpi::{self, ANY_TAG, Needs, peer};
use invivo_proto::record::RecordKind;
use invivo_proto::shm::{Library, Page, Status, inside};
use rustix::process::Pid;
use std::sync::atomic::Ordering;

/// Handles that a call waits for and that are looked up; of more it is only told that there are
/// more.
const HANDLES_MAX: usize = 1024;

/// Inspects a rank. Nothing where it cannot be read (the kernel may forbid it), has several threads
/// that call MPI, or went on meanwhile.
pub fn inspect(pid: Pid, page: &Page, names: &mut Names) -> Option<PendingCall> {
    if page.locations.load(Ordering::Acquire) != 1 {
        return None;
    }
    let status = page.status.first()?;
    let memory = ProcessMemory::of(pid)?;
    // The number of calls before and after: as long as it stays, the rank wrote none of this.
    let entered = status.entered.load(Ordering::Acquire);
    let mut seen = PendingCall {
        entered_at: status.entered_at.load(Ordering::Relaxed),
        ..PendingCall::default()
    };
    let comms = Table::<Known>::of(&memory, &page.library.comms);
    for known in comms.all().filter(|known| known.peers > 1 && !known.inter) {
        seen.passed.push((CommLocal(known.local), known.ordinal));
    }
    seen.passed.sort_unstable();
    seen.passed.truncate(PASSED_MAX);
    let is_inside = status.inside.load(Ordering::Acquire) == inside::MPI;
    if is_inside && status.region.load(Ordering::Relaxed) != 0 {
        pending(&memory, page, status, &mut seen);
        seen.site = site::site(names, pid, &memory, status);
    }
    posted(&memory, page, &mut seen);

    // Another number: the rank went on, and what was read belongs to several calls.
    (status.entered.load(Ordering::Acquire) == entered).then_some(seen)
}

/// What the call was given.
fn pending(memory: &ProcessMemory, page: &Page, status: &Status, seen: &mut PendingCall) {
    let library = &page.library;
    let comms = Table::<Known>::of(memory, &library.comms);
    let handle = status.handle.load(Ordering::Relaxed);
    let number = |n: usize| status.numbers[n].load(Ordering::Relaxed) as i32;
    let known = || comms.get(handle);
    let needs = mpi::needs(RegionId(status.region.load(Ordering::Relaxed) as u16));
    let operations: &[(Side, usize)] = match needs {
        Needs::Receiver => &[(Side::Send, 0)],
        Needs::Sender => &[(Side::Recv, 0)],
        Needs::Message => &[(Side::Probe, 0)],
        Needs::Both => &[(Side::Send, 0), (Side::Recv, 2)],
        Needs::Nothing | Needs::All | Needs::Any | Needs::Everybody | Needs::Root => &[],
    };
    for &(side, n) in operations {
        let Some(known) = known() else {
            return;
        };
        let tag = number(n + 1);
        seen.operations.push(PendingOperation {
            waited: true,
            side,
            peer: special(library, number(n)),
            comm: CommLocal(known.local),
            tag: if tag < 0 { ANY_TAG } else { tag },
        });
        seen.need = Need::All;
    }
    match needs {
        Needs::All | Needs::Any => {
            if requests(memory, library, handle, number(0), seen).is_some() {
                seen.need = if needs == Needs::All {
                    Need::All
                } else {
                    Need::Any
                };
            }
        }
        Needs::Everybody | Needs::Root => {
            // What a collective of an intercommunicator needs depends on the group, too.
            if let Some(known) = known().filter(|known| !known.inter && !known.foreign) {
                let root = (needs == Needs::Root).then(|| special(library, number(0)));
                seen.need = Need::Collective {
                    comm: CommLocal(known.local),
                    ordinal: known.ordinal,
                    root: root.unwrap_or(peer::NONE),
                };
            }
        }
        Needs::Nothing | Needs::Receiver | Needs::Sender | Needs::Message | Needs::Both => {}
    }
}

/// The library's number of a peer as ours.
fn special(library: &Library, number: i32) -> i32 {
    if number >= 0 {
        number
    } else if number as u32 == library.any_source.load(Ordering::Relaxed) {
        peer::ANY
    } else if number as u32 == library.proc_null.load(Ordering::Relaxed) {
        peer::NULL
    } else {
        peer::NONE
    }
}

/// Adds the requests that the call waits for. Unknown handles are complete, or null.
fn requests(
    memory: &ProcessMemory,
    library: &Library,
    base: u64,
    count: i32,
    seen: &mut PendingCall,
) -> Option<()> {
    let table = Table::<Posted>::of(memory, &library.requests);
    let bytes_each = library.request_bytes.load(Ordering::Relaxed) as usize;
    // No other handles are read below, and the number may be any.
    if !matches!(bytes_each, 4 | 8) {
        return None;
    }
    let count = usize::try_from(count).ok()?;
    let looked_at = count.min(HANDLES_MAX);
    let handles = memory.read(base, looked_at.checked_mul(bytes_each)?)?;
    for handle in handles.chunks_exact(bytes_each) {
        let key = match bytes_each {
            4 => u64::from(u32::from_ne_bytes(handle.try_into().ok()?)),
            8 => u64::from_ne_bytes(handle.try_into().ok()?),
            _ => return None,
        };
        // MPICH's handles are ints: the shim may have widened them with their sign.
        let widened = (key as u32 as i32) as i64 as u64;
        let posted = table
            .get(key)
            .or_else(|| (bytes_each == 4).then(|| table.get(widened)).flatten());
        if let Some(posted) = posted.filter(|posted| posted.active) {
            add(seen, &posted, true);
        }
    }
    seen.more_operations |= looked_at < count;
    Some(())
}

/// Adds what else the rank has posted: it may be what others wait for.
fn posted(memory: &ProcessMemory, page: &Page, seen: &mut PendingCall) {
    let table = Table::<Posted>::of(memory, &page.library.requests);
    let waits_for: Vec<PendingOperation> = seen.operations.clone();
    let mut counted = vec![false; waits_for.len()];
    for posted in table.all().filter(|posted| posted.active) {
        let operation = PendingOperation {
            waited: true,
            ..operation_of(&posted)
        };
        // Those that the call waits for are there already. Several may be equal, so each counts
        // once.
        let told = waits_for
            .iter()
            .zip(&mut counted)
            .find(|(told, counted)| !**counted && **told == operation);
        match told {
            Some((_, counted)) => *counted = true,
            None => add(seen, &posted, false),
        }
    }
    seen.more_operations |= !table.is_whole();
}

fn add(seen: &mut PendingCall, posted: &Posted, waited: bool) {
    if seen.operations.len() >= OPERATIONS_MAX {
        seen.more_operations = true;
        return;
    }
    seen.operations.push(PendingOperation {
        waited,
        ..operation_of(posted)
    });
}

fn operation_of(posted: &Posted) -> PendingOperation {
    let facts = &posted.facts;
    PendingOperation {
        waited: false,
        side: if facts.is(RecordKind::CompletedSend) {
            Side::Send
        } else if facts.is(RecordKind::CompletedRecv) {
            Side::Recv
        } else {
            Side::Other
        },
        peer: facts.peer(),
        comm: facts.comm(),
        tag: facts.tag(),
    }
}

#[cfg(test)]
mod tests;
