//! What of an observation is not whole: messages of which a side or the completion of a request is
//! not there, and collectives of which a member is not.
//!
//! An observation begins and ends in the midst of a run, and buffers give calls up. A reader that
//! replays what ranks did, as Scalasca's analyser, needs all sides of everything. Some 300 bytes of
//! memory are taken for each message meanwhile.

use crate::flows::{Channel, Endpoint, Endpoints};
use crate::saved::format::{CommId, Location, Membership};
use crate::saved::groups::WORLD;
use crate::saved::{SavedError, SavedObservation};
use invivo_otfx::Head;
use invivo_proto::mpi::peer;
use invivo_proto::record::{Facts, Part, RecordKind};
use std::collections::{HashMap, HashSet};

/// The number of a rank's communicator `MPI_COMM_SELF`.
const SELF_NUMBER: u32 = 1;

/// What a rank does of a message or collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Does {
    Send,
    Receive,
    /// A non-blocking collective.
    Collect,
}

/// One side of a message, or a request: of a rank, when it was posted (in ticks), and its request
/// (0 where it is none).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Side {
    rank: u32,
    posted: u64,
    request: u64,
    does: Does,
}

/// A collective of the job: its communicator (of an intercommunicator both sides), and its number
/// on it.
type Meeting = ((CommId, CommId), u64);

/// What is not whole.
#[derive(Clone, Debug, Default)]
pub struct Partial {
    sides: HashSet<Side>,
    meetings: HashSet<Meeting>,
}

/// What is known while calls are read.
#[derive(Default)]
struct Reading {
    endpoints: Endpoints,
    /// By the `call` of their endpoints.
    sides: Vec<Side>,
    /// Which of these are complete.
    complete: Vec<bool>,
    /// What is posted and not complete: of sends their number in `sides`.
    open: HashMap<Side, Option<usize>>,
    /// What is complete and whose post was not read: of receives their number in `sides`. Another
    /// thread of the rank, which is read later, may have posted it.
    early: HashMap<Side, Option<usize>>,
    /// What belongs to nobody who is known.
    unknown: HashSet<Side>,
    /// Members that have come.
    arrived: HashMap<Meeting, u32>,
    /// Non-blocking ones that are complete, and that are posted.
    collected: HashSet<Side>,
    collecting: HashMap<Side, Option<Meeting>>,
}

/// When a part of a call was posted that began then (in ticks): earlier where it completes a
/// request.
pub fn posted(part: &Part, begin: u64) -> u64 {
    match part.facts.kind.posts() || part.request == 0 {
        true => begin,
        false => part.posted,
    }
}

/// A collective of a member. None of its own, which nobody else comes to.
fn meeting(of: &Membership, ordinal: u64) -> Option<Meeting> {
    let both = (of.id.min(of.peers), of.id.max(of.peers));
    (of.number != SELF_NUMBER).then_some((both, ordinal))
}

impl Partial {
    /// Of an observation: reads all of its calls.
    ///
    /// # Errors
    /// What is wrong with a file of events.
    pub fn of(saved: &SavedObservation) -> Result<Partial, SavedError> {
        let mut reading = Reading::default();
        for location in saved.locations() {
            reading.location(saved, location)?;
        }
        Ok(reading.partial(saved))
    }

    /// Whether what a call or a part of one communicates is not whole. `posted`: in ticks.
    pub fn has(
        &self,
        saved: &SavedObservation,
        rank: u32,
        facts: &Facts,
        (posted, request, ordinal): (u64, u64, u64),
    ) -> bool {
        let does = match facts.kind {
            RecordKind::Send | RecordKind::PostSend | RecordKind::CompletedSend => Does::Send,
            RecordKind::Recv | RecordKind::PostRecv | RecordKind::CompletedRecv => Does::Receive,
            RecordKind::PostCollective | RecordKind::CompletedCollective => Does::Collect,
            RecordKind::Collective => {
                let member = saved.membership(rank, facts.comm.0);
                let of = member.and_then(|of| meeting(of, ordinal));
                return of.is_some_and(|of| self.meetings.contains(&of));
            }
            _ => return false,
        };
        self.sides.contains(&Side {
            rank,
            posted,
            request,
            does,
        })
    }
}

impl Reading {
    fn location(&mut self, saved: &SavedObservation, of: &Location) -> Result<(), SavedError> {
        let mut calls = saved.calls(of)?;
        while let Some(call) = calls.next_call()? {
            let head = &call.contents.head;
            let begin = head.begin();
            let times = (call.job_ns.start, call.job_ns.end);
            if let Head::Call(whole) = head {
                let of_call = (begin, whole.request);
                self.facts(saved, of.rank, &whole.facts, of_call, times);
                self.collective(saved, of.rank, &whole.facts, of_call, whole.ordinal);
            }
            for part in &call.contents.parts {
                let of_request = (posted(part, begin), part.request);
                self.facts(saved, of.rank, &part.facts, of_request, times);
                self.collective(saved, of.rank, &part.facts, of_request, 0);
            }
        }
        Ok(())
    }

    fn collective(
        &mut self,
        saved: &SavedObservation,
        rank: u32,
        facts: &Facts,
        (posted, request): (u64, u64),
        ordinal: u64,
    ) {
        let side = Side {
            rank,
            posted,
            request,
            does: Does::Collect,
        };
        let of = || {
            let member = saved.membership(rank, facts.comm.0)?;
            meeting(member, ordinal)
        };
        match facts.kind {
            RecordKind::Collective => {
                if let Some(of) = of() {
                    *self.arrived.entry(of).or_default() += 1;
                }
            }
            RecordKind::PostCollective => _ = self.collecting.insert(side, of()),
            RecordKind::CompletedCollective => _ = self.collected.insert(side),
            _ => {}
        }
    }

    fn facts(
        &mut self,
        saved: &SavedObservation,
        rank: u32,
        facts: &Facts,
        (posted, request): (u64, u64),
        times: (u64, u64),
    ) {
        let side = |does| Side {
            rank,
            posted,
            request,
            does,
        };
        // `MPI_PROC_NULL` is nobody: there is no message.
        let is_message = facts.peer >= 0;
        match facts.kind {
            RecordKind::Send if is_message => {
                self.send(saved, facts, side(Does::Send), times);
            }
            RecordKind::PostSend if is_message => {
                let side = side(Does::Send);
                let number = self.send(saved, facts, side, times);
                if self.early.remove(&side).is_none() {
                    self.complete(number, false);
                    self.open.insert(side, number);
                }
            }
            RecordKind::CompletedSend if is_message => {
                let side = side(Does::Send);
                match self.open.remove(&side) {
                    Some(number) => self.complete(number, true),
                    None => _ = self.early.insert(side, None),
                }
            }
            RecordKind::Recv if is_message => {
                self.receive(saved, facts, side(Does::Receive), times);
            }
            RecordKind::PostRecv if facts.peer != peer::NULL => {
                let side = side(Does::Receive);
                match self.early.remove(&side) {
                    Some(number) => self.complete(number, true),
                    None => _ = self.open.insert(side, None),
                }
            }
            RecordKind::CompletedRecv if is_message => {
                let side = side(Does::Receive);
                let number = self.receive(saved, facts, side, times);
                if self.open.remove(&side).is_none() {
                    self.complete(number, false);
                    self.early.insert(side, number);
                }
            }
            // Cancelled, or from nobody: it is whole without a message.
            RecordKind::CompletedRecv | RecordKind::CompletedNothing => {
                _ = self.open.remove(&side(Does::Receive));
            }
            _ => {}
        }
    }

    fn complete(&mut self, number: Option<usize>, is_complete: bool) {
        if let Some(number) = number {
            self.complete[number] = is_complete;
        }
    }

    fn send(
        &mut self,
        saved: &SavedObservation,
        facts: &Facts,
        side: Side,
        times: (u64, u64),
    ) -> Option<usize> {
        let channel = saved.membership(side.rank, facts.comm.0).and_then(|of| {
            Some(Channel {
                destination: saved.peer(of, facts.peer)?,
                comm: of.id,
                source: of.rank,
                tag: facts.tag,
            })
        });
        let endpoint = self.endpoint(channel, side, times)?;
        self.endpoints.send(channel?, endpoint);
        Some(endpoint.call)
    }

    fn receive(
        &mut self,
        saved: &SavedObservation,
        facts: &Facts,
        side: Side,
        times: (u64, u64),
    ) -> Option<usize> {
        let channel = saved.membership(side.rank, facts.comm.0).and_then(|of| {
            Some(Channel {
                destination: side.rank,
                comm: of.peers,
                source: u32::try_from(facts.peer).ok()?,
                tag: facts.tag,
            })
        });
        let endpoint = self.endpoint(channel, side, times)?;
        self.endpoints.receive(channel?, endpoint);
        Some(endpoint.call)
    }

    /// An endpoint of a channel that is known.
    fn endpoint(
        &mut self,
        channel: Option<Channel>,
        side: Side,
        (begin_ns, end_ns): (u64, u64),
    ) -> Option<Endpoint> {
        if channel.is_none() {
            self.unknown.insert(side);
            return None;
        }
        self.sides.push(side);
        self.complete.push(true);
        Some(Endpoint {
            location: (side.rank, 0),
            call: self.sides.len() - 1,
            posted_ticks: side.posted,
            begin_ns,
            end_ns,
        })
    }

    fn partial(mut self, saved: &SavedObservation) -> Partial {
        let mut is_whole = vec![false; self.sides.len()];
        for message in self.endpoints.messages(saved.about().clock_error_ns) {
            let both = [message.send.call, message.receive.call];
            let whole = both.iter().all(|side| self.complete[*side]);
            both.into_iter().for_each(|side| is_whole[side] = whole);
        }
        let sides = self.sides.iter().zip(is_whole);
        let mut sides: HashSet<Side> = sides
            .filter(|(_, whole)| !whole)
            .map(|(side, _)| *side)
            .collect();
        sides.extend(self.open.into_keys().chain(self.early.into_keys()));
        sides.extend(&self.unknown);

        // A member of a non-blocking collective has come when it is complete.
        for (side, of) in &self.collecting {
            if let (true, Some(of)) = (self.collected.contains(side), of) {
                *self.arrived.entry(*of).or_default() += 1;
            }
        }
        let mut sizes: HashMap<(CommId, CommId), Option<u32>> = HashMap::new();
        let mut is_whole = |of: &Meeting| {
            let both = of.0;
            let size = *sizes.entry(both).or_insert_with(|| size(saved, both));
            size.is_some() && self.arrived.get(of).copied() >= size
        };
        let meetings = self.arrived.keys().filter(|of| !is_whole(of)).copied();
        let meetings: HashSet<Meeting> = meetings.collect();
        for (side, of) in &self.collecting {
            let is_there = of.is_none_or(|of| !meetings.contains(&of));
            if !is_there || !self.collected.contains(side) {
                sides.insert(*side);
            }
        }
        let posted = |side: &&Side| self.collecting.contains_key(*side);
        sides.extend(self.collected.iter().filter(|side| !posted(side)));
        Partial { sides, meetings }
    }
}

/// The members of a communicator, or of both sides of an intercommunicator, if they are known.
fn size(saved: &SavedObservation, (one, other): (CommId, CommId)) -> Option<u32> {
    let ranks = saved.about().job.ranks;
    let members = |id: CommId| match id {
        WORLD => Some(ranks),
        _ => Some(saved.group(id)?.members(ranks).count() as u32),
    };
    match one == other {
        true => members(one),
        false => members(one)?.checked_add(members(other)?),
    }
}
