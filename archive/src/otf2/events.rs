//! Expands the calls of a location, its visits of regions and its samples into events, in order of
//! time.
//!
//! A record is a whole call; OTF2 has an enter, what was communicated, and a leave. Messages are
//! sent where their call is entered, and received where it is left, as Score-P places them.

use super::communicators::Communicators;
use super::contexts::Contexts;
use super::counts::Counts;
use super::definitions::SAMPLER;
use super::functions::{RegionOf, Regions, operation};
use super::library::{Otf2Error, number};
use super::partial::{Partial, posted};
use super::writers::{Collective, EventWriter};
use crate::saved::SavedObservation;
use crate::saved::calls::SavedCall;
use crate::saved::format::Location;
use crate::saved::samples::SavedSample;
use invivo_otfx::Head;
use invivo_proto::ids::RegionId;
use invivo_proto::mpi::peer;
use invivo_proto::record::{Call, Facts, RecordKind};
use std::collections::HashSet;

/// `OTF2_COLLECTIVE_ROOT_SELF` and its neighbours.
mod root {
    pub const NONE: u32 = u32::MAX;
    pub const SELF: u32 = u32::MAX - 1;
    pub const THIS_GROUP: u32 = u32::MAX - 2;
}

/// Writes the events of one location.
pub struct LocationWriter<'a> {
    of: &'a SavedObservation,
    location: &'a Location,
    communicators: &'a Communicators,
    out: EventWriter<'a>,
    /// Calls that have been entered and not left, the innermost last.
    entered: Vec<SavedCall>,
    /// Requests that were posted and are not complete.
    posted: HashSet<u64>,
    regions: &'a mut Regions,
    contexts: &'a mut Contexts,
    /// What is left out of messages and collectives.
    without: &'a Partial,
    /// The call that was not left has been entered: its region, if that is known.
    last: Option<Option<u32>>,
    last_ns: u64,
    counts: Counts,
}

impl<'a> LocationWriter<'a> {
    /// Of a location.
    pub fn new(
        of: &'a SavedObservation,
        location: &'a Location,
        communicators: &'a Communicators,
        (regions, contexts): (&'a mut Regions, &'a mut Contexts),
        without: &'a Partial,
        out: EventWriter<'a>,
    ) -> LocationWriter<'a> {
        LocationWriter {
            of,
            location,
            communicators,
            out,
            entered: Vec::new(),
            posted: HashSet::new(),
            regions,
            contexts,
            without,
            last: None,
            last_ns: 0,
            counts: Counts::default(),
        }
    }

    /// The next call, in order of their begins.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn call(&mut self, call: &SavedCall) -> Result<(), Otf2Error> {
        // By ticks: two of them may be one ns.
        self.leave_until(call.contents.head.begin())?;
        match &call.contents.head {
            Head::Call(of) => {
                self.enter(call, of)?;
                self.entered.push(call.clone());
            }
            Head::Region(pass) => {
                self.visit(call, pass.region)?;
                self.entered.push(call.clone());
            }
            // It began before all that is known; what it completed stands for itself.
            _ => self.leave(call)?,
        }
        Ok(())
    }

    /// Leaves what ended at these ticks or before.
    fn leave_until(&mut self, ticks: u64) -> Result<(), Otf2Error> {
        while let Some(inner) = self
            .entered
            .pop_if(|open| open.contents.head.end() <= ticks)
        {
            self.leave(&inner)?;
        }
        Ok(())
    }

    /// The next sample, behind all calls that began at its time or before.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn sample(&mut self, sample: &SavedSample) -> Result<(), Otf2Error> {
        self.leave_until(sample.at_ticks)?;
        self.enter_open(sample.at_ns)?;
        self.counts.samples += 1;
        let rank = self.location.rank;
        let context = self
            .contexts
            .number(self.of, rank, sample.context, self.regions);
        let at = self.time(sample.at_ns);
        self.out.sample(at, context, number::UNDEFINED, SAMPLER)
    }

    /// There are no more calls; how many events were written. `late`: calls that came out of order.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn close(mut self, late: u64) -> Result<(u64, Counts), Otf2Error> {
        let mut open = Vec::new();
        while let Some(inner) = self.entered.pop() {
            match inner.is_open() {
                true => open.push(self.region_of(&inner)),
                false => self.leave_last(&inner)?,
            }
        }
        self.enter_open(u64::MAX)?;
        // Readers of whole runs, as Scalasca, refuse what is entered and not left.
        let regions = [self.last.flatten()].into_iter().chain(open).flatten();
        for region in regions.collect::<Vec<_>>() {
            let at = self.time(self.end_ns());
            self.out.leave(at, region)?;
        }
        self.counts.moved += late;
        Ok((self.out.close()?, self.counts))
    }

    /// When the observation ends, and the location's last event at the earliest.
    fn end_ns(&self) -> u64 {
        self.of.about().to_ns.max(self.last_ns)
    }

    /// Enters the call that was not left, if it began by then, in job time: it is the last one.
    fn enter_open(&mut self, by_ns: u64) -> Result<(), Otf2Error> {
        let open = self.location.open.as_ref();
        let Some(open) = open.filter(|open| open.begin_ns <= by_ns && self.last.is_none()) else {
            return Ok(());
        };
        let functions = &self.of.about().functions;
        let region = functions.iter().position(|name| *name == open.function);
        let region = region.filter(|_| !open.function.is_empty());
        let region = region.map(|region| self.regions.number(RegionOf::Mpi(region as u16)));
        self.last = Some(region);
        let Some(region) = region else { return Ok(()) };
        let at = self.time(open.begin_ns);
        self.out.enter(at, region)
    }

    /// A time that is not before the last event's.
    fn time(&mut self, job_ns: u64) -> u64 {
        let at = job_ns.max(self.last_ns);
        self.counts.moved += u64::from(at > job_ns);
        self.last_ns = at;
        let first = self.counts.span.map_or(at, |(first, _)| first);
        self.counts.span = Some((first, at));
        at
    }

    fn enter(&mut self, call: &SavedCall, of: &Call) -> Result<(), Otf2Error> {
        self.counts.calls += 1;
        self.counts.clipped += u64::from(call.contents.clipped);
        let at = self.time(call.job_ns.start);
        let region = self.regions.number(RegionOf::Mpi(of.facts.region.0));
        self.out.enter(at, region)?;
        let begin = call.contents.head.begin();
        if self.is_whole(&of.facts, (begin, of.request, of.ordinal)) {
            self.begins(at, &of.facts, of.request)?;
        }
        for part in &call.contents.parts {
            if self.is_whole(&part.facts, (posted(part, begin), part.request, 0)) {
                self.begins(at, &part.facts, part.request)?;
            }
        }
        Ok(())
    }

    fn leave(&mut self, call: &SavedCall) -> Result<(), Otf2Error> {
        self.leave_at(call, call.job_ns.end)
    }

    /// Leaves a call or visit that nothing follows.
    fn leave_last(&mut self, call: &SavedCall) -> Result<(), Otf2Error> {
        // The record of MPI_Finalize ends where the rank has told its last, before the others have
        // come.
        let end_ns = match &call.contents.head {
            Head::Call(of) if self.of.function(of.facts.region.0) == "MPI_Finalize" => {
                call.job_ns.end.max(self.end_ns())
            }
            _ => call.job_ns.end,
        };
        self.leave_at(call, end_ns)
    }

    fn leave_at(&mut self, call: &SavedCall, end_ns: u64) -> Result<(), Otf2Error> {
        let at = self.time(end_ns);
        let head = match &call.contents.head {
            Head::Call(of) => Some(of),
            _ => None,
        };
        let begin = call.contents.head.begin();
        if let Some(of) = head {
            if self.is_whole(&of.facts, (begin, of.request, of.ordinal)) {
                self.ends(at, &of.facts, of.request)?;
            } else {
                self.counts.unmatched += 1;
            }
        }
        for part in &call.contents.parts {
            if self.is_whole(&part.facts, (posted(part, begin), part.request, 0)) {
                self.ends(at, &part.facts, part.request)?;
            } else {
                self.counts.unmatched += 1;
            }
        }
        match self.region_of(call) {
            Some(region) => self.out.leave(at, region),
            None => Ok(()),
        }
    }

    fn region_of(&mut self, call: &SavedCall) -> Option<u32> {
        match &call.contents.head {
            Head::Call(of) => Some(self.regions.number(RegionOf::Mpi(of.facts.region.0))),
            Head::Region(pass) => Some(self.region(pass.region)),
            _ => None,
        }
    }

    /// A region of the program is entered.
    fn visit(&mut self, call: &SavedCall, region: RegionId) -> Result<(), Otf2Error> {
        self.counts.visits += 1;
        self.counts.clipped += u64::from(call.contents.clipped);
        let at = self.time(call.job_ns.start);
        let region = self.region(region);
        self.out.enter(at, region)
    }

    fn region(&mut self, region: RegionId) -> u32 {
        let (rank, number) = (self.location.rank, region.0);
        let known = self.of.region(rank, number);
        self.regions.number(RegionOf::Program {
            name: self.of.region_name(rank, number),
            line: known.map_or_else(String::new, |of| of.line.clone()),
            is_function: known.is_some_and(|of| of.is_function),
        })
    }

    /// Whether all sides are there of what a call or a part of one communicates, or nobody asks.
    fn is_whole(&self, facts: &Facts, of: (u64, u64, u64)) -> bool {
        !self.without.has(self.of, self.location.rank, facts, of)
    }

    /// What a call or a part of one does where it begins.
    fn begins(&mut self, at: u64, facts: &Facts, request: u64) -> Result<(), Otf2Error> {
        match facts.kind {
            RecordKind::Send => {
                let Some((receiver, comm)) = self.message(facts) else {
                    return Ok(());
                };
                let (tag, bytes) = (facts.tag.cast_unsigned(), facts.bytes_out);
                self.out.send(at, receiver, comm, tag, bytes)
            }
            RecordKind::PostSend => {
                let Some((receiver, comm)) = self.message(facts) else {
                    return Ok(());
                };
                self.posted.insert(request);
                let (tag, bytes) = (facts.tag.cast_unsigned(), facts.bytes_out);
                self.out.isend(at, receiver, comm, tag, bytes, request)
            }
            RecordKind::Collective if self.collective(facts).is_some() => {
                self.out.collective_begin(at)
            }
            _ => Ok(()),
        }
    }

    /// What a call or a part of one does where it ends.
    fn ends(&mut self, at: u64, facts: &Facts, request: u64) -> Result<(), Otf2Error> {
        match facts.kind {
            RecordKind::Recv => {
                let Some((sender, comm)) = self.message(facts) else {
                    return Ok(());
                };
                let (tag, bytes) = (facts.tag.cast_unsigned(), facts.bytes_in);
                self.out.receive(at, sender, comm, tag, bytes)
            }
            RecordKind::PostRecv if facts.peer != peer::NULL => {
                self.posted.insert(request);
                self.out.irecv_request(at, request)
            }
            RecordKind::CompletedSend if facts.peer >= 0 => {
                self.completes(request);
                self.out.isend_complete(at, request)
            }
            RecordKind::CompletedRecv => {
                let Some((sender, comm)) = self.message(facts) else {
                    return Ok(());
                };
                self.completes(request);
                let (tag, bytes) = (facts.tag.cast_unsigned(), facts.bytes_in);
                self.out.irecv(at, sender, comm, tag, bytes, request)
            }
            RecordKind::CompletedNothing if self.posted.remove(&request) => {
                self.out.cancelled(at, request)
            }
            RecordKind::Collective => match self.collective(facts) {
                Some(of) => self.out.collective_end(at, of),
                None => {
                    self.collective_is_missing(facts);
                    Ok(())
                }
            },
            RecordKind::PostCollective if self.collective(facts).is_some() => {
                self.posted.insert(request);
                self.out.collective_request(at, request)
            }
            RecordKind::CompletedCollective => match self.collective(facts) {
                Some(of) => {
                    self.completes(request);
                    self.out.collective_complete(at, of, request)
                }
                None => {
                    self.collective_is_missing(facts);
                    Ok(())
                }
            },
            _ => Ok(()),
        }
    }

    /// Notes a completion whose posting is not there.
    fn completes(&mut self, request: u64) {
        self.counts.posted_before += u64::from(!self.posted.remove(&request));
    }

    /// Peer and communicator of a message; nothing where there is none (`MPI_PROC_NULL`), or its
    /// communicator is not known.
    fn message(&mut self, facts: &Facts) -> Option<(u32, u32)> {
        let peer = u32::try_from(facts.peer).ok()?;
        let comm = self.communicators.number(self.location.rank, facts.comm.0);
        self.counts.without_communicator += u64::from(comm.is_none());
        Some((peer, comm?))
    }

    fn collective(&self, facts: &Facts) -> Option<Collective> {
        let numbers = self.communicators;
        Some(Collective {
            operation: operation(self.of.function(facts.region.0))?,
            comm: numbers.number(self.location.rank, facts.comm.0)?,
            root: root_of(facts.peer),
            sent: facts.bytes_out,
            received: facts.bytes_in,
        })
    }

    fn collective_is_missing(&mut self, facts: &Facts) {
        let known = operation(self.of.function(facts.region.0)).is_some();
        self.counts.without_communicator += u64::from(known);
        self.counts.without_operation += u64::from(!known);
    }
}

fn root_of(rank: i32) -> u32 {
    match rank {
        peer::ROOT => root::SELF,
        // Of an intercommunicator: another rank of this rank's own group is the root.
        peer::NULL => root::THIS_GROUP,
        _ => u32::try_from(rank).unwrap_or(root::NONE),
    }
}

const _: () = assert!(root::NONE == number::UNDEFINED);
