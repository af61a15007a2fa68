//! Reads what a rank waits for while it is in an MPI call, from outside: the call's arguments from
//! its status page, the meaning of handles from its memory, the line in the source from its stack.
//! The rank is not stopped and does nothing for it; it only has to stay in that call, as a rank
//! does whose call is pending for long.

mod threads;

pub use threads::Watch;

use crate::memory::{ProcessMemory, Table};
use crate::names::Names;
use crate::python::KnownPython;
use invivo_proto::control::hang::{MAKING, OPERATIONS_MAX, PASSED_MAX, SHARED_MAX, Side};
use invivo_proto::control::local::{Need, PendingCall, PendingOperation};
use invivo_proto::handles::{Known, Posted, Shared};
use invivo_proto::ids::{CommLocal, RegionId};
use invivo_proto::mpi::{self, ANY_TAG, Needs, peer};
use invivo_proto::record::RecordKind;
use invivo_proto::shm::{Library, Page, Status};
use rustix::process::Pid;
use std::sync::atomic::Ordering;

/// Handles that a call waits for and that are looked up; of more it is only told that there are
/// more.
const HANDLES_MAX: usize = 1024;

/// What is kept between inspections of a rank.
pub struct Readers<'r> {
    pub names: &'r mut Names,
    pub python: &'r mut KnownPython,
    pub watch: &'r mut Watch,
}

/// Inspects a rank. Nothing where it cannot be read (the kernel may forbid it), or went on
/// meanwhile.
pub fn inspect(pid: Pid, page: &Page, readers: Readers<'_>) -> Option<PendingCall> {
    let Readers {
        names,
        python,
        watch,
    } = readers;
    let memory = ProcessMemory::of(pid)?;
    let (thread, threads) = threads::choose(pid, page, &memory, names, python);
    if !thread.is_visible() {
        return None;
    }
    let status = page.status.get(usize::from(thread.location))?;
    let mut seen = PendingCall {
        entered_at: thread.entered_at,
        location: thread.location,
        region: thread.region,
        unmoved_ns: watch.unmoved_ns(&thread),
        threads,
        ..PendingCall::default()
    };
    passed(&memory, page, &mut seen);
    if thread.region != RegionId(0) {
        pending(&memory, page, status, &mut seen);
        seen.site = thread.site.clone();
    }
    posted(&memory, page, &mut seen);

    // Another number: the thread went on, and what was read belongs to several calls.
    thread.is_still(page, &memory).then_some(seen)
}

/// How far the rank is on its communicators, windows and files.
fn passed(memory: &ProcessMemory, page: &Page, seen: &mut PendingCall) {
    let comms = Table::<Known>::of(memory, &page.library.comms);
    for known in comms.all().filter(|known| known.peers > 1 && !known.inter) {
        let comm = CommLocal(known.local);
        seen.passed.push((comm, known.ordinal));
        if known.shared > 0 {
            let made = u64::from(known.shared);
            seen.passed_shared.push((comm, MAKING, made));
        }
    }
    seen.passed.sort_unstable();
    seen.passed.truncate(PASSED_MAX);
    for known in Table::<Shared>::of(memory, &page.library.shared).all() {
        let (comm, number) = (CommLocal(known.local), known.number);
        seen.passed_shared.push((comm, number, known.calls));
        if known.locked >= 0 {
            seen.locked.push((comm, number, known.locked));
        }
    }
    seen.passed_shared.sort_unstable();
    seen.passed_shared.truncate(SHARED_MAX);
    seen.locked.sort_unstable();
    seen.locked.truncate(SHARED_MAX);
}

/// What the call was given.
fn pending(memory: &ProcessMemory, page: &Page, status: &Status, seen: &mut PendingCall) {
    let library = &page.library;
    let handle = status.handle.load(Ordering::Relaxed);
    let number = |n: usize| status.numbers[n].load(Ordering::Relaxed) as i32;
    let known = || Table::<Known>::of(memory, &library.comms).get(handle);
    let shared = || Table::<Shared>::of(memory, &library.shared).get(handle);
    let needs = mpi::needs(seen.region);
    let operations: &[(Side, usize)] = match needs {
        Needs::Receiver => &[(Side::Send, 0)],
        Needs::Sender => &[(Side::Recv, 0)],
        Needs::Message => &[(Side::Probe, 0)],
        Needs::Both => &[(Side::Send, 0), (Side::Recv, 2)],
        _ => &[],
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
    let collective = |local: u32, ordinal: u64, root: i32, shared: u32| Need::Collective {
        comm: CommLocal(local),
        ordinal,
        root,
        shared,
    };
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
        Needs::Everybody | Needs::Root | Needs::Makers => {
            // What a collective of an intercommunicator needs depends on the group, too.
            if let Some(known) = known().filter(|known| !known.inter && !known.foreign) {
                let root = (needs == Needs::Root).then(|| special(library, number(0)));
                let root = root.unwrap_or(peer::NONE);
                seen.need = if needs == Needs::Makers {
                    collective(known.local, u64::from(known.shared), root, MAKING)
                } else {
                    collective(known.local, known.ordinal, root, 0)
                };
            }
        }
        Needs::Sharers | Needs::SomeSharers => {
            if let Some(known) = shared() {
                seen.need = collective(known.local, known.calls, peer::NONE, known.number);
            }
        }
        Needs::Closers => {
            let (local, which) = (number(0) as u32, number(1) as u32);
            // 0 is left of another call: nothing was known of the handle.
            if handle == 0 && which != 0 {
                let calls = u64::from(number(2) as u32);
                seen.need = collective(local, calls, peer::NONE, which);
            }
        }
        Needs::Target => {
            if let Some(known) = shared() {
                seen.operations.push(PendingOperation {
                    waited: true,
                    side: Side::Window {
                        shared: known.number,
                    },
                    peer: special(library, number(0)),
                    comm: CommLocal(known.local),
                    tag: ANY_TAG,
                });
                seen.need = Need::All;
            }
        }
        Needs::Nothing
        | Needs::Partners
        | Needs::Receiver
        | Needs::Sender
        | Needs::Message
        | Needs::Both => {}
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
        if let Some(posted) = posted.filter(|(posted, _)| posted.active) {
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
    for posted in table.all().filter(|(posted, _)| posted.active) {
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

fn add(seen: &mut PendingCall, posted: &(Posted, u32), waited: bool) {
    if seen.operations.len() >= OPERATIONS_MAX {
        seen.more_operations = true;
        return;
    }
    seen.operations.push(PendingOperation {
        waited,
        ..operation_of(posted)
    });
}

/// Whether all ranks of the communicator have to begin it. Persistent ones are not counted, and in
/// a topology each rank needs its neighbours alone.
fn is_collective(posted: &Posted) -> bool {
    let facts = &posted.facts;
    facts.is(RecordKind::CompletedCollective)
        && !posted.persistent
        && !mpi::name(facts.region()).contains("eighbor")
}

fn operation_of((posted, nth): &(Posted, u32)) -> PendingOperation {
    let facts = &posted.facts;
    PendingOperation {
        waited: false,
        side: if facts.is(RecordKind::CompletedSend) {
            Side::Send
        } else if facts.is(RecordKind::CompletedRecv) {
            Side::Recv
        } else if is_collective(posted) {
            Side::Collective {
                ordinal: u64::from(*nth),
                region: facts.region(),
                root: facts.peer(),
            }
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
