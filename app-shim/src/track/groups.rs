//! Defines the groups of communicators, as runs of ranks: `first, stride, count`.

use super::definitions::define;
use crate::family::{Comm, Handle, SUCCESS};
use crate::limits::{GROUP_RANKS, GROUP_RUN_BYTES, RUN_BYTES_MAX};
use crate::resolve::pmpi;
use crate::world::worlds::application_world;
use core::ffi::c_int;
use invivo_proto::definition::{Definition, Run, Runs};
use invivo_proto::ids::{CommId, Rank};

/// Runs `work` on a group of `comm`, which `of` gives, and on the group of the application's world.
fn with_groups<R>(
    of: unsafe fn(Comm, *mut Handle) -> c_int,
    comm: Comm,
    work: impl FnOnce(Handle, Handle) -> R,
) -> Option<R> {
    let world = application_world()?;
    let (mut all, mut part) = (Handle(0), Handle(0));
    // SAFETY: both communicators are valid; the groups are freed below.
    unsafe {
        if pmpi::comm_group(world, &mut all) != SUCCESS {
            return None;
        }
        let result = (of(comm, &mut part) == SUCCESS).then(|| work(part, all));
        if result.is_some() {
            pmpi::group_free(&mut part);
        }
        pmpi::group_free(&mut all);
        result
    }
}

/// Ranks in the application's world of the members `from..from + out.len()`. False where MPI does
/// not translate them.
fn translate(part: Handle, all: Handle, from: usize, out: &mut [c_int]) -> bool {
    let mut ranks = [0; GROUP_RANKS];
    for (rank, number) in ranks.iter_mut().zip(from..) {
        *rank = number as c_int;
    }
    let Some(ranks) = ranks.get(..out.len()) else {
        return false;
    };
    // SAFETY: both arrays have `out.len()` elements.
    unsafe {
        pmpi::group_translate_ranks(
            part,
            out.len() as c_int,
            ranks.as_ptr(),
            all,
            out.as_mut_ptr(),
        ) == SUCCESS
    }
}

/// The first member of an intracommunicator, as a rank of the application's world.
pub fn leader(comm: Comm) -> Option<Rank> {
    let mut rank = [-1];
    with_groups(pmpi::comm_group, comm, |part, all| {
        translate(part, all, 0, &mut rank)
    })
    .filter(|translated| *translated)?;
    u32::try_from(rank[0]).ok().map(Rank)
}

/// Whether the first member of an intercommunicator's remote group belongs to our world.
pub fn remote_is_ours(comm: Comm) -> bool {
    let mut rank = [-1];
    with_groups(pmpi::comm_remote_group, comm, |part, all| {
        translate(part, all, 0, &mut rank)
    })
    .unwrap_or(false)
        && rank[0] >= 0
}

/// Defines the members of `comm` (of an intercommunicator: of the local group).
pub fn define_group(comm: Comm, id: CommId) {
    let mut size: c_int = 0;
    // SAFETY: `comm` is valid.
    if unsafe { pmpi::comm_size(comm, &mut size) } != SUCCESS {
        return;
    }
    let size = size as usize;
    with_groups(pmpi::comm_group, comm, |part, all| {
        let mut writer = GroupWriter {
            id,
            start: 0,
            defined: 0,
            run: None,
            bytes: [0; GROUP_RUN_BYTES],
            at: 0,
        };
        let mut ranks = [0; GROUP_RANKS];
        let mut from = 0;
        while from < size {
            let now = GROUP_RANKS.min(size - from);
            let Some(ranks) = ranks.get_mut(..now) else {
                return;
            };
            if !translate(part, all, from, ranks) {
                return;
            }
            for rank in ranks {
                writer.add(*rank);
            }
            from += now;
        }
        writer.end();
    });
}

/// Gathers members into runs and runs into definitions.
struct GroupWriter {
    id: CommId,
    /// Communicator rank of the first member in `bytes`.
    start: u32,
    /// Members that are in `bytes` or were sent.
    defined: u32,
    run: Option<Run>,
    bytes: [u8; GROUP_RUN_BYTES],
    at: usize,
}

impl GroupWriter {
    fn add(&mut self, rank: c_int) {
        // MPI_UNDEFINED: a member of another world.
        let Ok(rank) = u32::try_from(rank) else {
            return;
        };
        if let Some(run) = &mut self.run {
            let last = i64::from(run.first.0) + i64::from(run.stride) * (i64::from(run.count) - 1);
            let step = i64::from(rank) - last;
            // The second member of a run makes its stride.
            if run.count == 1 {
                if let Ok(stride) = i32::try_from(step) {
                    run.stride = stride;
                    run.count = 2;
                    return;
                }
            } else if step == i64::from(run.stride) {
                run.count += 1;
                return;
            }
            self.close_run();
        }
        self.run = Some(Run {
            first: Rank(rank),
            stride: 1,
            count: 1,
        });
    }

    fn close_run(&mut self) {
        let Some(run) = self.run.take() else { return };
        // One definition is full: the next begins behind the members that it has.
        if self.at + RUN_BYTES_MAX > self.bytes.len() {
            self.send();
        }
        if Runs::encode(run, &mut self.bytes, &mut self.at).is_some() {
            self.defined += run.count;
        }
    }

    fn send(&mut self) {
        if let Some(runs) = self.bytes.get(..self.at).filter(|runs| !runs.is_empty()) {
            define(&Definition::Group {
                id: self.id,
                start: self.start,
                runs: Runs(runs),
            });
        }
        self.start = self.defined;
        self.at = 0;
    }

    fn end(mut self) {
        self.close_run();
        self.send();
    }
}
