//! The calls of every location between two points in time, those that are still open, and what is
//! missing.
//!
//! Times are job time in ns.

use std::collections::HashMap;
use std::sync::Arc;

#[derive(Clone, Debug, Default)]
pub struct Observation {
    /// The job's id.
    pub job: String,
    /// Ranks of the job.
    pub ranks: u32,
    /// Where the time begins.
    pub from_ns: u64,
    /// Where it ends.
    pub to_ns: u64,
    /// It ended before these calls were asked for.
    pub is_past: bool,
    /// How far job time may be off on any rank, in ns.
    pub clock_error_ns: u64,
    /// Locations, in the order of ranks and threads.
    pub tracks: Vec<Track>,
    /// Ranks that died.
    pub deaths: Vec<Death>,
    /// Tool processes that said nothing, by their rank in the whole MPI job.
    pub missing: Vec<u32>,
}

/// A rank that ended otherwise than through `MPI_Finalize`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Death {
    pub rank: u32,
    /// How, as "was killed by signal 9 (SIGKILL)".
    pub how: String,
}

/// One location.
#[derive(Clone, Debug, Default)]
pub struct Track {
    pub rank: u32,
    /// The location's number in the rank: of the thread that initialised MPI 0.
    pub thread: u32,
    /// Its calls, in order of their ends.
    pub calls: Vec<Call>,
    /// Its visits of regions of the program, in order of their ends.
    pub visits: Vec<Visit>,
    /// Its samples, in order of time.
    pub samples: Vec<Sample>,
    /// The call that it is in.
    pub open: Option<Open>,
    /// The regions that it is in, the outermost first.
    pub open_regions: Vec<Open>,
    /// What the rank is doing, in a word.
    pub state: String,
    /// What is missing of it.
    pub gaps: Gaps,
    /// All that it kept is here.
    pub is_complete: bool,
}

/// What is missing of a location's calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    /// Calls that ended before this were given up by the buffer.
    pub gone_until_ns: Option<u64>,
    /// Calls that were left out because there were more than were wanted; they are the oldest.
    pub left_out: u64,
    /// Calls that ended and had not been read yet.
    pub in_flight: u64,
    /// Calls of the whole run whose records were dropped.
    pub dropped: u64,
    /// Calls that found no buffer.
    pub not_kept: u64,
}

/// One visit of a region of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visit {
    /// The region.
    pub region: Arc<str>,
    /// When it was entered.
    pub begin_ns: u64,
    /// When it was left.
    pub end_ns: u64,
    /// Regions that were open around it; 255 stands for more.
    pub depth: u32,
    /// It was longer.
    pub is_clipped: bool,
}

/// One sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When it was taken.
    pub at_ns: u64,
    /// The function that the thread was in.
    pub function: Arc<str>,
    /// That function with those that called it, the outermost first, joined by semicolons.
    pub path: Arc<str>,
    /// Which of the location's threads it is of.
    pub occupant: u32,
}

/// One call.
#[derive(Clone, Debug)]
pub struct Call {
    /// The function; of the rest of a call whose begin was given up, nothing.
    pub function: Option<Arc<str>>,
    /// When it was entered.
    pub begin_ns: u64,
    /// When it was left.
    pub end_ns: u64,
    /// What it communicated.
    pub facts: Facts,
    /// Which collective on its communicator it was.
    pub ordinal: u64,
    /// The number of the request that it posted.
    pub request: u64,
    /// It was longer.
    pub is_clipped: bool,
    /// Which of the location's threads, one after the other, made it.
    pub occupant: u32,
    /// Regions that were open around it; 255 stands for more.
    pub depth: u32,
    /// What else it did.
    pub parts: Vec<Part>,
}

/// A part of a call.
#[derive(Clone, Debug)]
pub struct Part {
    /// The function that posted the request, where it completes one.
    pub function: Arc<str>,
    /// What it communicated.
    pub facts: Facts,
    /// The number of the request that it posted or completed.
    pub request: u64,
    /// When a completed request was posted, in ticks of its node; 0 where it was not.
    pub posted_ticks: u64,
}

/// What a call or a part of one was about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// What it did.
    pub kind: CallKind,
    /// The communicator as the rank numbers it.
    pub comm: Option<u32>,
    /// The peer or root, as a rank of that communicator; negative of nobody.
    pub peer: i32,
    /// The peer as a rank of the job, where it is known.
    pub rank: Option<u32>,
    /// The message's tag.
    pub tag: i32,
    /// Bytes that left the rank.
    pub bytes_out: u64,
    /// Bytes that came to it.
    pub bytes_in: u64,
}

/// What a call or a part of one did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CallKind {
    /// Nothing that is followed.
    #[default]
    Plain,
    /// A blocking send.
    Send,
    /// A blocking receive.
    Receive,
    /// A send was posted.
    PostSend,
    /// A receive was posted.
    PostReceive,
    /// A collective.
    Collective,
    /// A collective was posted.
    PostCollective,
    /// A posted send is complete.
    Sent,
    /// A posted receive is complete.
    Received,
    /// A posted collective is complete.
    CollectiveDone,
    /// A posted operation came to nothing.
    Ended,
}

impl CallKind {
    /// All but those of which nothing is followed.
    const NAMED: [CallKind; 10] = [
        CallKind::Send,
        CallKind::Receive,
        CallKind::PostSend,
        CallKind::PostReceive,
        CallKind::Collective,
        CallKind::PostCollective,
        CallKind::Sent,
        CallKind::Received,
        CallKind::CollectiveDone,
        CallKind::Ended,
    ];

    /// Its name at the gateway; empty where nothing is followed.
    pub fn name(self) -> &'static str {
        match self {
            CallKind::Plain => "",
            CallKind::Send => "send",
            CallKind::Receive => "receive",
            CallKind::PostSend => "post send",
            CallKind::PostReceive => "post receive",
            CallKind::Collective => "collective",
            CallKind::PostCollective => "post collective",
            CallKind::Sent => "sent",
            CallKind::Received => "received",
            CallKind::CollectiveDone => "collective done",
            CallKind::Ended => "ended",
        }
    }

    /// By its name at the gateway; what is not known is nothing that is followed.
    pub fn named(name: &str) -> CallKind {
        let mut named = CallKind::NAMED.into_iter();
        named.find(|kind| kind.name() == name).unwrap_or_default()
    }
}

/// A call or a region that was entered and not left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Open {
    /// The function, or the region; nothing where recording was off, so that nobody noted which.
    pub function: Option<Arc<str>>,
    /// When it was entered.
    pub begin_ns: u64,
    /// Which of the location's threads is in it.
    pub occupant: u32,
}

impl Observation {
    /// The track of a location, made if it is new; tracks come in their order, a page may go on
    /// with the last one.
    pub fn track(&mut self, rank: u32, thread: u32) -> &mut Track {
        // Pages come in order, so the last track is nearly always the one, or the new one goes
        // behind it.
        let at = match self.tracks.last() {
            Some(last) if (last.rank, last.thread) < (rank, thread) => Err(self.tracks.len()),
            _ => self
                .tracks
                .binary_search_by_key(&(rank, thread), |track| (track.rank, track.thread)),
        };

        let at = at.unwrap_or_else(|at| {
            let track = Track {
                rank,
                thread,
                ..Track::default()
            };
            self.tracks.insert(at, track);
            at
        });
        &mut self.tracks[at]
    }

    /// Calls of all locations.
    pub fn calls(&self) -> u64 {
        let tracks = self.tracks.iter();
        tracks.map(|track| track.calls.len() as u64).sum()
    }

    /// Visits of regions of all locations.
    pub fn visits(&self) -> u64 {
        let tracks = self.tracks.iter();
        tracks.map(|track| track.visits.len() as u64).sum()
    }

    /// Samples of all locations.
    pub fn samples(&self) -> u64 {
        let tracks = self.tracks.iter();
        tracks.map(|track| track.samples.len() as u64).sum()
    }

    /// How a rank died.
    pub fn death(&self, rank: u32) -> Option<&Death> {
        self.deaths.iter().find(|death| death.rank == rank)
    }
}

impl Track {
    /// When the last thing happened that is known of it: a call ended, or began and did not end.
    pub fn last_ns(&self) -> Option<u64> {
        let ended = self.calls.last().map(|call| call.end_ns);
        let begun = self.open.as_ref().map(|open| open.begin_ns);
        ended.max(begun)
    }
}

/// Names, each kept once.
#[derive(Clone, Debug, Default)]
pub struct Names {
    known: HashMap<Box<str>, Arc<str>>,
}

impl Names {
    /// The one copy of a name.
    pub fn one(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.known.get(name) {
            return Arc::clone(known);
        }
        let new: Arc<str> = name.into();
        self.known.insert(name.into(), Arc::clone(&new));
        new
    }
}
