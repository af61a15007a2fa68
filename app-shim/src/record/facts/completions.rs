//! Facts of requests that are started, complete or freed.
//!
//! Requests are followed while nothing is recorded, too: a handle that MPI uses again must not mean
//! an operation of before.

use super::tag_of;
use crate::family::*;
use crate::record::call::Call;
use crate::record::location::{Here, Part};
use crate::resolve::predefined::request_null;
use crate::track::requests::{self, Completed};
use core::ffi::c_int;
use invivo_proto::mpi::peer as special;
use invivo_proto::record::{RecordKind, Words};

impl Call {
    /// A request's handle, which the real call may overwrite; the null handle where the caller
    /// gives none, which is for MPI to refuse.
    #[inline(always)]
    pub unsafe fn handle(&self, request: *const Request) -> Request {
        if request.is_null() {
            return request_null();
        }
        // SAFETY: MPI itself reads the handle from here.
        unsafe { *request }
    }

    /// Copies request handles, which the real call may overwrite. Gives how many there are.
    #[inline(always)]
    pub unsafe fn held(&mut self, count: c_int, requests: *const Request) -> usize {
        let count = usize::try_from(count).unwrap_or(0);
        // A missing array is for MPI to refuse.
        let count = if requests.is_null() { 0 } else { count };
        // SAFETY: MPI itself reads so many handles from here.
        unsafe { self.location.held.copy(requests, count) };
        count
    }

    /// The caller's statuses, or ours where the caller wants none and the call is recorded. Should
    /// recording begin during the call, what it completes was posted before and is not recorded.
    #[inline(always)]
    pub unsafe fn statuses(&mut self, count: c_int, statuses: *mut Status) -> *mut Status {
        if statuses != STATUS_IGNORE || !self.recorded() {
            return statuses;
        }
        let count = usize::try_from(count).unwrap_or(0);
        // MPI overwrites what is left of other calls.
        let own = self.location.statuses.space(count, Status::EMPTY);
        own.unwrap_or(statuses)
    }

    /// A persistent request is started.
    pub fn start(&mut self, held: Request) {
        if let Some((kind, facts)) = self.restarted(held, 0) {
            self.kind = kind;
            self.facts = facts;
        }
    }

    /// Several persistent requests are started.
    pub fn startall(&mut self, count: usize) {
        let mut before = 0;
        for i in 0..count {
            let Some(held) = self.location.held.get(i).copied() else {
                return;
            };
            if let Some((_, facts)) = self.restarted(held, before) {
                self.part(facts, 0, 0);
                before += 1;
            }
        }
    }

    fn restarted(&mut self, held: Request, before: u64) -> Option<(RecordKind, Words)> {
        let number = self.number(before);
        let by = (self.region, self.site());
        let mut facts = requests::restart(held, number, self.begin_ticks(), by)?;
        let kind = if facts.is(RecordKind::CompletedSend) {
            RecordKind::PostSend
        } else if facts.is(RecordKind::CompletedRecv) {
            RecordKind::PostRecv
        } else {
            RecordKind::PostCollective
        };
        facts.set_kind(kind);
        Some((kind, facts))
    }

    /// A request may be complete.
    #[inline(always)]
    pub unsafe fn completed(&mut self, held: Request, status: *const Status) {
        if !self.recorded() {
            return complete_unrecorded(held);
        }
        let (location, parts) = (self.location, self.parts);
        let is_kept = if requests::are_shared() {
            // SAFETY: as here.
            unsafe { keep_shared(location, parts, held, status) }
        } else {
            // SAFETY: it was just asked; the wrapper passes a status that the real call has filled.
            unsafe { requests::complete_alone(held, |of| keep(location, parts, of, &*status)) }
                .unwrap_or(false)
        };
        self.parts += usize::from(is_kept);
    }

    /// All of the held requests may be complete; after an error those whose handle is gone are.
    #[inline(always)]
    pub unsafe fn completed_all(
        &mut self,
        count: usize,
        requests: *const Request,
        statuses: *const Status,
        result: c_int,
    ) {
        for i in 0..count {
            let Some(held) = self.location.held.get(i).copied() else {
                return;
            };
            // SAFETY: both arrays have `count` elements, written by the real call, unless there are
            // no statuses.
            unsafe {
                if result == SUCCESS || *requests.add(i) != held {
                    if statuses == STATUS_IGNORE.cast_const() {
                        complete_unrecorded(held);
                    } else {
                        self.completed(held, statuses.add(i));
                    }
                }
            }
        }
    }

    /// A call for one request has failed.
    #[cold]
    pub unsafe fn failed(&mut self, held: Request, request: *const Request) {
        // SAFETY: as for `handle`.
        if unsafe { self.handle(request) } != held {
            complete_unrecorded(held);
        }
    }

    /// A call for one of the held requests has failed.
    #[cold]
    pub unsafe fn failed_one(&mut self, count: usize, requests: *const Request) {
        for i in 0..count {
            // SAFETY: MPI itself reads `count` handles from here.
            let now = unsafe { *requests.add(i) };
            if let Some(held) = self
                .location
                .held
                .get(i)
                .copied()
                .filter(|held| *held != now)
            {
                complete_unrecorded(held);
            }
        }
    }

    /// One of the held requests is complete, unless the index says none.
    #[inline(always)]
    pub unsafe fn completed_one(&mut self, count: usize, index: c_int, status: *const Status) {
        let Ok(index) = usize::try_from(index) else {
            return;
        };
        if let Some(held) = self
            .location
            .held
            .get(index)
            .copied()
            .filter(|_| index < count)
        {
            // SAFETY: the caller vouches for the status.
            unsafe { self.completed(held, status) };
        }
    }

    /// Some of the held requests are complete: those that the indices name.
    #[inline(always)]
    pub unsafe fn completed_some(
        &mut self,
        count: usize,
        done: c_int,
        indices: *const c_int,
        statuses: *const Status,
    ) {
        for i in 0..usize::try_from(done).unwrap_or(0) {
            // SAFETY: the real call has written `done` indices and as many statuses, unless there
            // are none.
            unsafe {
                let index = *indices.add(i);
                if statuses != STATUS_IGNORE.cast_const() {
                    self.completed_one(count, index, statuses.add(i));
                } else if let Some(held) = usize::try_from(index)
                    .ok()
                    .and_then(|index| self.location.held.get(index))
                {
                    complete_unrecorded(*held);
                }
            }
        }
    }

    /// A request is freed; an active one completes without anybody seeing it.
    pub fn request_free(&mut self, held: Request) {
        requests::free(held);
    }
}

/// Keeps a completion as the part behind so many others of the present call. False where there is
/// no memory for it.
#[inline(always)]
fn keep(
    mut location: Here,
    parts: usize,
    (mut facts, request, posted): Completed,
    status: &Status,
) -> bool {
    let is_receive = facts.is(RecordKind::CompletedRecv);
    if status.is_cancelled() && (is_receive || facts.is(RecordKind::CompletedSend)) {
        facts.set_kind(RecordKind::CompletedNothing);
    } else if is_receive && facts.peer() != special::NULL {
        // A receive from MPI_PROC_NULL can share its handle with sends, whose status says nothing.
        facts.message = Words::message(peer(status.source), tag_of(status.tag));
        facts.bytes_in = status.bytes();
    }
    let part = Part {
        facts,
        request,
        posted,
    };
    // SAFETY: the call has written so many parts.
    unsafe { location.parts.put(parts, part) }
}

/// Completes a request that other threads may reach, and keeps it.
///
/// # Safety
/// The real call has filled the status.
#[cold]
#[inline(never)]
unsafe fn keep_shared(location: Here, parts: usize, held: Request, status: *const Status) -> bool {
    // SAFETY: the caller vouches for the status.
    let kept = |of| unsafe { keep(location, parts, of, &*status) };
    requests::complete_shared(held).is_some_and(kept)
}

/// Completes a request without a record.
#[inline(never)]
fn complete_unrecorded(held: Request) {
    if requests::are_shared() {
        requests::complete_shared(held);
    } else {
        // SAFETY: it was just asked.
        unsafe { requests::complete_alone(held, |_| ()) };
    }
}
