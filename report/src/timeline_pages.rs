//! Joins the pages of a timeline into one observation, and writes it as a Perfetto trace.

use crate::rows::Start;
use invivo_archive::flows::{Endpoints, Member, Message};
use invivo_archive::observation::{
    Call, CallKind, Facts, Gaps, Names, Observation, Open, Part, Sample, Visit,
};
use invivo_archive::perfetto;
use invivo_archive::saved::call_paths::UNKNOWN;
use invivo_archive::saved::format::{Context, FrameKind};
use invivo_archive::waiters::Waiter;
use invivo_grpc::v1;
use invivo_proto::control::analyses::AnalysesStatus;
use invivo_proto::control::fault::RankFaulted;
use invivo_proto::control::tree::Ended;
use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

/// An observation that grows page by page.
#[derive(Debug, Default)]
pub struct TimelinePages {
    /// What has come so far.
    pub observation: Observation,
    endpoints: Endpoints,
    names: Names,
}

/// The application's ranks of peers, and the communicators, of one piece.
struct Known {
    peers: HashMap<(u32, i32), u32>,
    comms: HashMap<u32, v1::Membership>,
}

impl TimelinePages {
    /// Of a job.
    pub fn new(job: &str) -> TimelinePages {
        TimelinePages {
            observation: Observation {
                job: job.to_owned(),
                ..Observation::default()
            },
            ..TimelinePages::default()
        }
    }

    /// Adds a page.
    pub fn add(&mut self, page: &v1::TimelinePage) {
        let of = &mut self.observation;
        (of.from_ns, of.to_ns) = (page.from_ns, page.to_ns);
        of.ranks = page.ranks;
        // Each page comes from one place; the worst of them holds for all.
        of.clock_error_ns = of.clock_error_ns.max(page.clock_error_ns);
        for missing in &page.missing {
            if let Err(at) = of.missing.binary_search(missing) {
                of.missing.insert(at, *missing);
            }
        }
        for piece in &page.pieces {
            self.piece(piece);
        }
    }

    fn piece(&mut self, piece: &v1::LocationPiece) {
        let location = piece.location.unwrap_or_default();
        let of = (location.rank, location.thread);
        let peers = piece.peers.iter();
        let comms = piece.comms.iter();
        let known = Known {
            peers: peers.map(|one| ((one.comm, one.peer), one.rank)).collect(),
            comms: comms.map(|one| (one.comm, *one)).collect(),
        };
        let track = self.observation.track(of.0, of.1);
        for record in &piece.calls {
            if is_visit(record) {
                track.visits.push(visit(record, &mut self.names));
                continue;
            }
            let call = call(record, &known, &mut self.names);
            let begin_ticks = record.end_ticks.saturating_sub(record.duration_ticks);
            let member = |comm| known.comms.get(&comm).map(member);
            let number = track.calls.len();
            self.endpoints.note(&call, begin_ticks, member, of, number);
            track.calls.push(call);
        }

        let paths = paths(&piece.contexts, &mut self.names);
        let samples = piece.samples.iter();
        track.samples.extend(samples.map(|of| Sample {
            at_ns: of.at_ns,
            function: self.names.one(match of.function.as_str() {
                "" => UNKNOWN,
                function => function,
            }),
            path: match paths.get(&of.context) {
                Some(path) => path.clone(),
                None => self.names.one(UNKNOWN),
            },
            occupant: of.occupant,
        }));

        let gaps: &mut Gaps = &mut track.gaps;
        // Only the first piece of a location counts them.
        gaps.left_out = gaps.left_out.max(piece.left_out);
        // A location may come in several pieces: what holds for all of them comes with the last.
        if !piece.complete {
            return;
        }
        track.is_complete = !piece.broken;
        track.state.clone_from(&piece.state);
        track.open = piece.open.as_ref().map(|open| Open {
            function: (!open.function.is_empty()).then(|| self.names.one(&open.function)),
            begin_ns: open.begin_ns,
            occupant: open.occupant,
        });
        let regions = piece.open_regions.iter();
        let regions = regions.map(|open| Open {
            function: Some(self.names.one(&open.function)),
            begin_ns: open.begin_ns,
            occupant: open.occupant,
        });
        track.open_regions = regions.collect();
        gaps.gone_until_ns = piece.gone_until_ns;
        gaps.not_kept = piece.not_kept.unwrap_or(0);
        if let Some(ledger) = &piece.ledger {
            gaps.in_flight = ledger.in_flight;
            let dropped = ledger.dropped.unwrap_or_default();
            gaps.dropped = dropped.no_packet + dropped.no_location + ledger.dropped_by_place;
        }
    }

    /// The messages of which both sides have come.
    pub fn messages(&self) -> Vec<Message> {
        self.endpoints.messages(self.observation.clock_error_ns)
    }

    /// Writes the Perfetto trace.
    ///
    /// # Errors
    /// When `out` takes no more.
    pub fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        perfetto::write(&self.observation, &self.endpoints, out)
    }
}

/// How a job was started and ended, and where its last seconds are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndContext {
    /// How the job was started.
    pub start: Option<Start>,
    /// Which analyses the result was made with.
    pub analyses: AnalysesStatus,
    /// Where threads were that ended their ranks.
    pub faults: Vec<RankFaulted>,
    /// The signal by which the job was asked to end, where it was before anything else happened.
    pub asked_by: Option<i32>,
    /// How the tool process ended, where it did before the job: the result is what it has left.
    pub tool_ended: Option<Ended>,
    /// Who waited for it, the longest first.
    pub waiters: Vec<Waiter>,
    /// Where time ended, in job time.
    pub to_ns: u64,
    /// The timeline.
    pub path: Option<PathBuf>,
    /// The same as a picture of a few lines.
    pub picture: String,
}

/// Whether it is a visit of a region, and no call.
pub fn is_visit(record: &v1::CallRecord) -> bool {
    record.facts.as_ref().is_some_and(|of| of.kind == "region")
}

fn visit(record: &v1::CallRecord, names: &mut Names) -> Visit {
    Visit {
        region: names.one(&record.function),
        begin_ns: record.end_ns.saturating_sub(record.duration_ns),
        end_ns: record.end_ns,
        depth: record.depth,
        is_clipped: record.clipped,
    }
}

/// What separates functions of a path must not be in one.
fn step(function: &str) -> String {
    function.replace([';', '\n'], ":")
}

/// The functions of each calling context, the outermost first, joined by semicolons.
fn paths(contexts: &[v1::CallingContext], names: &mut Names) -> HashMap<u32, Arc<str>> {
    let mut paths: HashMap<u32, Arc<str>> = HashMap::new();
    // Callers have lower numbers.
    for context in contexts {
        let function = Context {
            kind: FrameKind::named(&context.kind),
            module: context.module.clone(),
            name: context.function.clone(),
            ..Context::default()
        };
        let path = match paths.get(&context.parent) {
            Some(callers) => format!("{callers};{}", step(function.called())),
            None => step(function.called()),
        };
        paths.insert(context.number, names.one(&path));
    }
    paths
}

fn call(record: &v1::CallRecord, known: &Known, names: &mut Names) -> Call {
    let parts = record.parts.iter().map(|part| Part {
        function: names.one(&part.function),
        facts: facts(part.facts.as_ref(), known),
        request: part.request,
        posted_ticks: part.posted_ticks,
    });
    Call {
        parts: parts.collect(),
        function: (!record.function.is_empty()).then(|| names.one(&record.function)),
        begin_ns: record.end_ns.saturating_sub(record.duration_ns),
        end_ns: record.end_ns,
        facts: facts(record.facts.as_ref(), known),
        ordinal: record.ordinal,
        request: record.request,
        is_clipped: record.clipped,
        occupant: record.occupant,
        depth: record.depth,
    }
}

fn facts(of: Option<&v1::CallFacts>, known: &Known) -> Facts {
    let Some(of) = of else {
        return Facts::default();
    };
    let rank = of.comm.and_then(|comm| known.peers.get(&(comm, of.peer)));
    Facts {
        kind: CallKind::named(&of.kind),
        comm: of.comm,
        peer: of.peer,
        rank: rank.copied(),
        tag: of.tag,
        bytes_out: of.bytes_out,
        bytes_in: of.bytes_in,
    }
}

fn member(of: &v1::Membership) -> Member {
    let name =
        |name: &Option<v1::CommName>| name.map_or((0, 0), |name| (name.leader, name.counter));
    Member {
        name: name(&of.name),
        peers: name(&of.peers),
        rank: of.rank,
    }
}

#[cfg(test)]
mod tests;
