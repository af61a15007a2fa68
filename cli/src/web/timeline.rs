//! What the timeline's screen draws: the calls of every rank in an interval, its visits of regions
//! and its samples, as columns of numbers, so that a hundred thousand of them are some megabytes;
//! and which call received what which sent.

use super::json::text;
use crate::client::Client;
use invivo_archive::observation::{Call, Observation, Track};
use invivo_grpc::v1;
use invivo_report::timeline_pages::TimelinePages;
use serde::Serialize;
use std::collections::{HashMap, VecDeque};
use std::mem;
use tonic::Status;

/// Calls of an answer: more are no picture that anybody reads.
const CALLS_MAX: u64 = 100_000;
/// Calls of which an interval that lies back is taken: the most that the gateway gives.
const BEHIND_MAX: u64 = 2_000_000;
/// Between the question when the observed time began and the one for the calls.
const SLACK_NS: u64 = 1_000_000_000;
/// The longest interval of the gateway.
const LENGTH_MAX_NS: u64 = 24 * 60 * 60 * 1_000_000_000;

/// Which part.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// The last so many ns; else from and to, since the beginning of the observed time.
    pub last_ns: u64,
    pub from_ns: u64,
    pub to_ns: u64,
    pub first_rank: u32,
    /// None is all from the first one on.
    pub last_rank: Option<u32>,
}

/// All times are ns since the beginning of the observed time, as those of ranks over time are; they
/// may lie before it.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    from_ns: i64,
    to_ns: i64,
    ranks: u32,
    clock_error_ns: u64,
    missing: &'a [u32],
    /// Names that locations refer to by their places.
    functions: Vec<&'a str>,
    locations: Vec<Location<'a>>,
    /// Location and call of the send, location and call that completed the receive.
    messages: Vec<[u32; 4]>,
}

/// One location. All columns have an entry for each call, in the order of their ends.
#[derive(Debug, Serialize)]
struct Location<'a> {
    rank: u32,
    thread: u32,
    state: &'a str,
    /// Its current call, and since when.
    open: Option<(Option<&'a str>, i64)>,
    /// Nothing that ended after this is missing, of what was kept at all.
    gone_until_ns: Option<i64>,
    /// Calls of the interval that are older than these, and not here.
    left_out: u64,
    in_flight: u64,
    dropped: u64,
    not_kept: u64,
    /// Places in `functions`; -1 where the begin of the call was given up.
    function: Vec<i32>,
    begin_ns: Vec<i64>,
    end_ns: Vec<i64>,
    /// A rank of the job; -1 of nobody, or where it is not known.
    peer: Vec<i32>,
    tag: Vec<i32>,
    /// The communicator as the rank numbers it; -1 where there is none.
    comm: Vec<i64>,
    bytes_out: Vec<u64>,
    bytes_in: Vec<u64>,
    /// Requests that it completed, and messages beyond the first.
    parts: Vec<u32>,
    visits: Visits,
    samples: Samples,
}

/// Visits of regions of the program, in order of their begins, the outer ones first; those that
/// have not ended are here as well. All columns have an entry for each.
#[derive(Debug, Default, Serialize)]
struct Visits {
    /// Places in `functions`.
    region: Vec<i32>,
    begin_ns: Vec<i64>,
    end_ns: Vec<i64>,
    /// Regions around it.
    depth: Vec<u32>,
}

/// Samples, in order of time. All columns have an entry for each.
#[derive(Debug, Default, Serialize)]
struct Samples {
    at_ns: Vec<i64>,
    /// Places in `functions`; -1 is not known.
    function: Vec<i32>,
    /// Places in `functions`: the function with its callers, joined by semicolons.
    path: Vec<i32>,
}

/// The answer as JSON.
///
/// # Errors
/// Why there is none.
pub async fn answer(mut client: Client, part: Part) -> Result<String, Status> {
    // For the beginning of the observed time; one column costs nothing.
    let grid = v1::GridRequest {
        columns_max: 1,
        rows_max: 1,
        ..v1::GridRequest::default()
    };
    let grid = client.grid(grid).await?.into_inner();
    let length_ns = match part.last_ns {
        0 => grid.observed_ns.saturating_sub(part.from_ns) + SLACK_NS,
        last_ns => last_ns,
    };
    let request = v1::TimelineRequest {
        length_ns: length_ns.min(LENGTH_MAX_NS),
        calls_max: if part.last_ns == 0 {
            BEHIND_MAX
        } else {
            CALLS_MAX
        },
    };
    let mut pages = client.timeline(request).await?.into_inner();
    let mut gathered = Gathered::new(part, grid.begin_ns);
    while let Some(page) = pages.message().await? {
        gathered.add(page);
    }
    gathered.text()
}

/// What has come so far, of the part that is wanted.
struct Gathered {
    pages: TimelinePages,
    part: Part,
    begin_ns: u64,
    /// What the last page says of all, without its locations.
    about: v1::TimelinePage,
    /// The location that has come in part: its pieces joined, but for the calls, and these.
    open: Option<(v1::LocationPiece, VecDeque<v1::CallRecord>)>,
}

impl Gathered {
    fn new(part: Part, begin_ns: u64) -> Gathered {
        Gathered {
            pages: TimelinePages::default(),
            part,
            begin_ns,
            about: v1::TimelinePage::default(),
            open: None,
        }
    }

    /// The interval, in job time.
    fn interval(&self, page: &v1::TimelinePage) -> (u64, u64) {
        match self.part.last_ns {
            0 => (
                self.begin_ns.saturating_add(self.part.from_ns),
                self.begin_ns.saturating_add(self.part.to_ns),
            ),
            _ => (page.from_ns, page.to_ns),
        }
    }

    fn add(&mut self, mut page: v1::TimelinePage) {
        let pieces = mem::take(&mut page.pieces);
        (page.from_ns, page.to_ns) = self.interval(&page);
        self.about = page;
        self.pages.add(&self.about);
        for piece in pieces {
            if self.is_wanted(&piece) {
                self.piece(piece);
            }
        }
    }

    fn is_wanted(&self, piece: &v1::LocationPiece) -> bool {
        let rank = piece.location.unwrap_or_default().rank;
        rank >= self.part.first_rank && self.part.last_rank.is_none_or(|last| rank <= last)
    }

    /// As the gateway does: each rank that is wanted has an equal part, its newest.
    fn calls_max(&self) -> usize {
        let end = self
            .part
            .last_rank
            .map_or(u32::MAX, |last| last.saturating_add(1));
        let ranks = end
            .min(self.about.ranks)
            .saturating_sub(self.part.first_rank);
        (CALLS_MAX / u64::from(ranks.max(1))).max(1) as usize
    }

    fn piece(&mut self, mut piece: v1::LocationPiece) {
        // A tool process that is gone leaves its last location in part.
        if self
            .open
            .as_ref()
            .is_some_and(|(open, _)| open.location != piece.location)
        {
            self.close();
        }
        let (open, mut kept) = self.open.take().unwrap_or_default();
        // Each piece names the peers and communicators of its own calls.
        piece.comms.splice(0..0, open.comms);
        piece.peers.splice(0..0, open.peers);
        piece.samples.splice(0..0, open.samples);
        join(&mut piece.contexts, open.contexts);
        piece.left_out = piece.left_out.max(open.left_out);
        let (from_ns, to_ns) = (self.about.from_ns, self.about.to_ns);
        let begin = |call: &v1::CallRecord| call.end_ns.saturating_sub(call.duration_ns);
        let calls = mem::take(&mut piece.calls).into_iter();
        kept.extend(calls.filter(|call| {
            call.end_ns >= from_ns && (self.part.last_ns > 0 || begin(call) <= to_ns)
        }));
        let more = kept.len().saturating_sub(self.calls_max());
        kept.drain(..more);
        piece.left_out += more as u64;
        piece
            .samples
            .retain(|of| (from_ns..=to_ns).contains(&of.at_ns));
        let is_complete = piece.complete;
        self.open = Some((piece, kept));
        if is_complete {
            self.close();
        }
    }

    /// No more comes of the location that is open.
    fn close(&mut self) {
        if let Some((mut piece, calls)) = self.open.take() {
            piece.calls = calls.into();
            // At equal distances, as the gateway gives them.
            let step = piece.samples.len().div_ceil(self.calls_max()).max(1);
            piece.samples = piece.samples.into_iter().step_by(step).collect();
            self.pages.add(&v1::TimelinePage {
                pieces: vec![piece],
                ..self.about.clone()
            });
        }
    }

    fn text(mut self) -> Result<String, Status> {
        self.close();
        let of = &self.pages.observation;
        let mut names = Places::default();
        let locations = of.tracks.iter();
        let locations = locations
            .map(|track| self.location(track, &mut names))
            .collect();
        text(&Answer {
            from_ns: self.since(of.from_ns),
            to_ns: self.since(of.to_ns),
            ranks: of.ranks,
            clock_error_ns: of.clock_error_ns,
            missing: &of.missing,
            functions: names.names,
            locations,
            messages: self.messages(of),
        })
    }

    fn since(&self, job_ns: u64) -> i64 {
        job_ns.wrapping_sub(self.begin_ns).cast_signed()
    }

    fn location<'a>(&self, track: &'a Track, names: &mut Places<'a>) -> Location<'a> {
        let calls = &track.calls;
        let sum = |call: &Call, of: fn(&invivo_archive::observation::Facts) -> u64| {
            let parts = call.parts.iter().map(|part| of(&part.facts));
            of(&call.facts) + parts.sum::<u64>()
        };
        let gaps = &track.gaps;
        Location {
            rank: track.rank,
            thread: track.thread,
            state: &track.state,
            open: track.open.as_ref().map(|open| {
                let function = open.function.as_deref();
                (function, self.since(open.begin_ns))
            }),
            gone_until_ns: gaps.gone_until_ns.map(|ns| self.since(ns)),
            left_out: gaps.left_out,
            in_flight: gaps.in_flight,
            dropped: gaps.dropped,
            not_kept: gaps.not_kept,
            function: column(calls, |call| names.place(call.function.as_deref())),
            begin_ns: column(calls, |call| self.since(call.begin_ns)),
            end_ns: column(calls, |call| self.since(call.end_ns)),
            peer: column(calls, |call| {
                let rank = call.facts.rank.map(i32::try_from);
                rank.and_then(Result::ok).unwrap_or(-1)
            }),
            tag: column(calls, |call| call.facts.tag),
            comm: column(calls, |call| call.facts.comm.map_or(-1, i64::from)),
            bytes_out: column(calls, |call| sum(call, |facts| facts.bytes_out)),
            bytes_in: column(calls, |call| sum(call, |facts| facts.bytes_in)),
            parts: column(calls, |call| call.parts.len() as u32),
            visits: self.visits(track, names),
            samples: samples(track, |ns| self.since(ns), names),
        }
    }

    fn visits<'a>(&self, track: &'a Track, names: &mut Places<'a>) -> Visits {
        let open = (0..).zip(&track.open_regions);
        let open = open.map(|(depth, open)| {
            let end_ns = self.pages.observation.to_ns.max(open.begin_ns);
            (open.begin_ns, depth, end_ns, open.function.as_deref())
        });
        let ended = track.visits.iter();
        let ended = ended.map(|one| (one.begin_ns, one.depth, one.end_ns, Some(&*one.region)));
        let mut all: Vec<_> = open.chain(ended).collect();
        all.sort_by_key(|(begin_ns, depth, ..)| (*begin_ns, *depth));
        let mut visits = Visits::default();
        for (begin_ns, depth, end_ns, region) in all {
            visits.region.push(names.place(region));
            visits.begin_ns.push(self.since(begin_ns));
            visits.end_ns.push(self.since(end_ns));
            visits.depth.push(depth);
        }
        visits
    }

    fn messages(&self, of: &Observation) -> Vec<[u32; 4]> {
        let place = |location: (u32, u32)| {
            let found = of
                .tracks
                .binary_search_by_key(&location, |track| (track.rank, track.thread));
            found.unwrap_or_default() as u32
        };
        let messages = self.pages.messages().into_iter();
        let messages = messages.map(|message| {
            let (send, receive) = (message.send, message.receive);
            [
                place(send.location),
                send.call as u32,
                place(receive.location),
                receive.call as u32,
            ]
        });
        messages.collect()
    }
}

/// Adds calling contexts that came before: callers stand before those whom they called.
fn join(contexts: &mut Vec<v1::CallingContext>, before: Vec<v1::CallingContext>) {
    contexts.extend(before);
    contexts.sort_by_key(|context| context.number);
    contexts.dedup_by_key(|context| context.number);
}

fn samples<'a>(track: &'a Track, since: impl Fn(u64) -> i64, names: &mut Places<'a>) -> Samples {
    let mut samples = Samples::default();
    for one in &track.samples {
        let known = |name: &'a str| Some(name).filter(|name| !name.is_empty());
        samples.at_ns.push(since(one.at_ns));
        samples.function.push(names.place(known(&one.function)));
        samples.path.push(names.place(known(&one.path)));
    }
    samples
}

fn column<'a, T>(calls: &'a [Call], of: impl FnMut(&'a Call) -> T) -> Vec<T> {
    calls.iter().map(of).collect()
}

/// Names by the places where they stand.
#[derive(Default)]
struct Places<'a> {
    names: Vec<&'a str>,
    known: HashMap<&'a str, i32>,
}

impl<'a> Places<'a> {
    fn place(&mut self, name: Option<&'a str>) -> i32 {
        let Some(name) = name else { return -1 };
        let next = self.names.len() as i32;
        *self.known.entry(name).or_insert_with(|| {
            self.names.push(name);
            next
        })
    }
}

#[cfg(test)]
mod tests;
