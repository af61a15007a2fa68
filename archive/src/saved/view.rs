//! A saved observation as calls in memory: what a Perfetto trace is made of.

use super::calls::SavedCall;
use super::format::Location;
use super::reader::{SavedError, SavedObservation};
use crate::flows::{Endpoints, Member};
use crate::observation::{
    Call, CallKind, Facts, Gaps, Names, Observation, Open, Part, Sample, Track, Visit,
};
use invivo_otfx::Head;
use invivo_proto::record::{Facts as RecordFacts, RecordKind};
use std::collections::HashMap;
use std::sync::Arc;

impl SavedObservation {
    /// All of its calls, and the messages that they sent and received. It takes some hundred bytes
    /// of memory for each call.
    ///
    /// # Errors
    /// What is wrong with a file of events.
    pub fn view(&self) -> Result<(Observation, Endpoints), SavedError> {
        let about = self.about();
        let mut observation = Observation {
            job: about.job.id.clone(),
            ranks: about.job.ranks,
            from_ns: about.from_ns,
            to_ns: about.to_ns,
            clock_error_ns: about.clock_error_ns,
            missing: about.missing.clone(),
            ..Observation::default()
        };
        let (mut endpoints, mut names) = (Endpoints::default(), Names::default());
        for location in self.locations() {
            let track = observation.track(location.rank, location.thread);
            self.fill(location, track, &mut endpoints, &mut names)?;
        }
        Ok((observation, endpoints))
    }

    fn fill(
        &self,
        location: &Location,
        track: &mut Track,
        endpoints: &mut Endpoints,
        names: &mut Names,
    ) -> Result<(), SavedError> {
        let place = (location.rank, location.thread);
        let mut records = self.records(location)?;
        // Paths are long: each is made once.
        let mut contexts: HashMap<u32, (Arc<str>, Arc<str>)> = HashMap::new();
        while let Some(saved) = records.next_record()? {
            if let Head::Sample { context, .. } = saved.contents.head {
                let known = contexts.entry(context).or_insert_with(|| {
                    let path = self.context_path(location.rank, context);
                    let function = self.context_name(location.rank, context);
                    (names.one(function), names.one(&path))
                });
                let (function, path) = known.clone();
                track.samples.push(Sample {
                    at_ns: saved.job_ns.end,
                    function,
                    path,
                    occupant: saved.contents.occupant,
                });
                continue;
            }
            if let Head::Region(pass) = &saved.contents.head {
                let name = self.region_name(location.rank, pass.region.0);
                track.visits.push(Visit {
                    region: names.one(&name),
                    begin_ns: saved.job_ns.start,
                    end_ns: saved.job_ns.end,
                    depth: saved.contents.depth.into(),
                    is_clipped: saved.contents.clipped,
                });
                continue;
            }
            let call = self.call_of(location.rank, &saved, names);
            let member = |number| {
                let of = self.membership(location.rank, number)?;
                Some(Member {
                    name: of.id,
                    peers: of.peers,
                    rank: of.rank,
                })
            };
            let begin_ticks = saved.contents.head.begin();
            endpoints.note(&call, begin_ticks, member, place, track.calls.len());
            track.calls.push(call);
        }
        track.is_complete = !location.is_cut;
        track.state.clone_from(&location.state);
        track.open = location.open.as_ref().map(|open| Open {
            function: (!open.function.is_empty()).then(|| names.one(&open.function)),
            begin_ns: open.begin_ns,
            occupant: open.occupant,
        });
        let regions = location.open_regions.iter();
        let regions = regions.map(|open| Open {
            function: Some(names.one(&self.region_name(location.rank, open.number))),
            begin_ns: open.begin_ns,
            occupant: open.occupant,
        });
        track.open_regions = regions.collect();
        track.gaps = Gaps {
            gone_until_ns: location.gone_until_ns,
            left_out: 0,
            in_flight: location.ledger.in_flight,
            dropped: location.ledger.dropped,
            not_kept: 0,
        };
        Ok(())
    }

    fn call_of(&self, rank: u32, saved: &SavedCall, names: &mut Names) -> Call {
        let contents = &saved.contents;
        let parts = contents.parts.iter().map(|part| Part {
            function: names.one(self.function(part.facts.region.0)),
            facts: self.facts_of(rank, &part.facts),
            request: part.request,
            posted_ticks: part.posted,
        });
        let parts = parts.collect();
        let call = match &contents.head {
            Head::Call(call) => Some(call),
            _ => None,
        };
        Call {
            function: call.map(|call| names.one(self.function(call.facts.region.0))),
            begin_ns: saved.job_ns.start,
            end_ns: saved.job_ns.end,
            facts: call.map_or_else(Facts::default, |call| self.facts_of(rank, &call.facts)),
            ordinal: call.map_or(0, |call| call.ordinal),
            request: call.map_or(0, |call| call.request),
            is_clipped: contents.clipped,
            occupant: contents.occupant,
            depth: contents.depth.into(),
            parts,
        }
    }

    /// Facts of a call of a rank, with the peer as a rank of the job.
    pub fn facts_of(&self, rank: u32, facts: &RecordFacts) -> Facts {
        let comm = facts.comm.0;
        let membership = self.membership(rank, comm);
        Facts {
            kind: kind_of(facts.kind),
            comm: membership.map(|_| comm),
            peer: facts.peer,
            rank: membership.and_then(|of| self.peer(of, facts.peer)),
            tag: facts.tag,
            bytes_out: facts.bytes_out,
            bytes_in: facts.bytes_in,
        }
    }
}

fn kind_of(kind: RecordKind) -> CallKind {
    match kind {
        RecordKind::Plain => CallKind::Plain,
        RecordKind::Send => CallKind::Send,
        RecordKind::Recv => CallKind::Receive,
        RecordKind::PostSend => CallKind::PostSend,
        RecordKind::PostRecv => CallKind::PostReceive,
        RecordKind::Collective => CallKind::Collective,
        RecordKind::PostCollective => CallKind::PostCollective,
        RecordKind::CompletedSend => CallKind::Sent,
        RecordKind::CompletedRecv => CallKind::Received,
        RecordKind::CompletedCollective => CallKind::CollectiveDone,
        RecordKind::CompletedNothing => CallKind::Ended,
    }
}
