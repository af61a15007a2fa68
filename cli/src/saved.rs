//! The pages of a save, written into an observation as they come.

use invivo_archive::saved::Writer;
use invivo_archive::saved::format::{
    About, Communicator, Context, Counters, FrameKind, Job, Ledger, Location, Loss, Membership,
    OpenCall, OpenRegion, Region, VERSION,
};
use invivo_grpc::v1;
use invivo_proto::mpi::FUNCTIONS;
use serde::Serialize;
use std::collections::{BTreeSet, HashSet};
use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

/// Takes the pages.
pub struct Receiver {
    writer: Writer,
    about: About,
    received: Received,
    missing: BTreeSet<u32>,
    ranks: HashSet<u32>,
    /// The first point of any clock, in job time.
    oldest_ns: Option<u64>,
    is_whole: bool,
}

/// What came.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Received {
    pub ranks: u64,
    pub locations: u64,
    /// Bytes of bins.
    pub bytes: u64,
    /// Calls of the whole run, by what became of them.
    pub kept: u64,
    pub reduced: u64,
    pub dropped: u64,
    pub reset: u64,
    pub in_flight: u64,
    pub not_selected: u64,
    /// Locations whose buffer went to another thread while it was saved.
    pub cut: u64,
    /// Tool processes that did not answer.
    pub missing: Vec<u32>,
}

/// What is known of a job beside what its tool places say.
#[derive(Clone, Debug, Default)]
pub struct JobFacts {
    pub id: String,
    pub host: String,
    pub command: Vec<String>,
    pub described: v1::Job,
    pub strategy: String,
}

impl Receiver {
    /// For an observation that is being written.
    pub fn new(writer: Writer) -> Receiver {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let about = About {
            version: VERSION,
            writer: format!("invivo {}", env!("CARGO_PKG_VERSION")),
            saved_unix_ns: now.map_or(0, |since| since.as_nanos() as u64),
            functions: FUNCTIONS.iter().map(|of| of.name.to_owned()).collect(),
            ..About::default()
        };
        Receiver {
            writer,
            about,
            received: Received::default(),
            missing: BTreeSet::new(),
            ranks: HashSet::new(),
            oldest_ns: None,
            is_whole: false,
        }
    }

    /// Bytes of bins so far.
    pub fn bytes(&self) -> u64 {
        self.writer.bytes()
    }

    /// Locations that are complete.
    pub fn locations(&self) -> u64 {
        self.writer.locations()
    }

    /// The last page has come.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Writes a page.
    ///
    /// # Errors
    /// When it cannot be written, or makes no sense.
    pub fn page(&mut self, page: v1::SavePage) -> io::Result<()> {
        (self.about.from_ns, self.about.to_ns) = (page.from_ns, page.to_ns);
        self.about.observed_from_ns = page.observed_from_ns;
        self.about.job.ranks = page.ranks;
        self.about.clock_error_ns = self.about.clock_error_ns.max(page.clock_error_ns);
        self.missing.extend(&page.missing);
        self.is_whole |= page.last;
        for group in &page.groups {
            self.writer.communicator(&communicator(group))?;
        }
        for piece in page.pieces {
            if let Some(about) = &piece.about {
                let location = location(&piece, about, &page.host, page.clock_error_ns);
                self.count(&location);
                self.writer.begin(location)?;
            }
            for bin in &piece.bins {
                self.writer.bin(bin.chain, &bin.content)?;
            }
            if piece.complete {
                self.received.cut += u64::from(piece.cut);
                self.writer.end(piece.cut)?;
            }
        }
        Ok(())
    }

    fn count(&mut self, location: &Location) {
        self.ranks.insert(location.rank);
        if let Some((_, job_ns)) = location.clock.first() {
            let oldest_ns = self.oldest_ns.unwrap_or(*job_ns);
            self.oldest_ns = Some(oldest_ns.min(*job_ns));
        }
        let (into, of) = (&mut self.received, &location.ledger);
        into.kept += of.kept;
        into.reduced += of.reduced;
        into.dropped += of.dropped;
        into.reset += of.reset;
        into.in_flight += of.in_flight;
        into.not_selected += of.not_selected;
    }

    /// The observation is whole; what is in it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(mut self, facts: JobFacts) -> io::Result<(About, Received)> {
        let ranks = self.about.job.ranks;
        self.about.job = Job {
            id: facts.id,
            ranks,
            family: facts.described.family,
            library: facts.described.library,
            host: facts.host,
            command: facts.command,
        };
        // All that the buffers held begins where the first of them does.
        if self.about.from_ns == 0 {
            self.about.is_all = true;
            self.about.from_ns = self.oldest_ns.unwrap_or(0);
        }
        self.about.strategy = facts.strategy;
        self.about.missing = self.missing.iter().copied().collect();
        let received = Received {
            ranks: self.ranks.len() as u64,
            locations: self.writer.locations(),
            bytes: self.writer.bytes(),
            missing: self.about.missing.clone(),
            ..self.received
        };
        self.writer.finish(self.about.clone())?;
        Ok((self.about, received))
    }
}

fn name(of: &Option<v1::CommName>) -> (u32, u32) {
    of.map_or((0, 0), |of| (of.leader, of.counter))
}

fn communicator(of: &v1::CommGroup) -> Communicator {
    let piece = |piece: &v1::CommGroupPiece| {
        let runs = piece.runs.iter();
        let runs = runs.map(|run| (run.first, run.stride, run.count));
        (piece.start, runs.collect())
    };
    Communicator {
        id: name(&of.name),
        pieces: of.pieces.iter().map(piece).collect(),
    }
}

fn location(
    piece: &v1::SavedPiece,
    about: &v1::LocationPiece,
    host: &str,
    clock_error_ns: u64,
) -> Location {
    let place = piece.location.unwrap_or_default();
    let membership = |of: &v1::Membership| Membership {
        number: of.comm,
        id: name(&of.name),
        peers: name(&of.peers),
        rank: of.rank,
    };
    let loss = |of: &v1::BufferLoss| Loss {
        level: of.level.clone(),
        class: of.class.clone(),
        reason: of.reason.clone(),
        records: of.records,
        first_ns: of.first_ns,
        last_ns: of.last_ns,
    };
    let clock = piece.clock.iter();
    Location {
        rank: place.rank,
        thread: place.thread,
        host: host.to_owned(),
        state: about.state.clone(),
        clock: clock.map(|point| (point.ticks, point.job_ns)).collect(),
        clock_error_ns,
        communicators: about.comms.iter().map(membership).collect(),
        communicators_left_out: piece.comms_left_out,
        pauses: piece
            .pauses
            .iter()
            .map(|one| (one.from_ns, one.to_ns))
            .collect(),
        paces: piece
            .paces
            .iter()
            .map(|one| (one.since_ns, one.unit_ns))
            .collect(),
        open: about.open.as_ref().map(|open| OpenCall {
            function: open.function.clone(),
            begin_ns: open.begin_ns,
            occupant: open.occupant,
        }),
        open_regions: about.open_regions.iter().map(open_region).collect(),
        regions: about.regions.iter().map(region).collect(),
        visits: about.region_books.as_ref().and_then(counters),
        contexts: about.contexts.iter().map(context).collect(),
        samples: about.sample_books.as_ref().and_then(counters),
        ledger: about.ledger.as_ref().map(ledger).unwrap_or_default(),
        losses: about.losses.iter().map(loss).collect(),
        gone_until_ns: about.gone_until_ns,
        ..Location::default()
    }
}

fn open_region(of: &v1::OpenCall) -> OpenRegion {
    OpenRegion {
        number: number(of.region),
        begin_ticks: of.begin_ticks,
        begin_ns: of.begin_ns,
        occupant: of.occupant,
    }
}

/// A region's number, which has 16 bits.
fn number(of: u32) -> u16 {
    u16::try_from(of).unwrap_or(u16::MAX)
}

fn region(of: &v1::RegionName) -> Region {
    Region {
        number: number(of.number),
        name: of.name.clone(),
        line: of.line.clone(),
        is_function: of.function,
    }
}

fn context(of: &v1::CallingContext) -> Context {
    Context {
        number: of.number,
        parent: of.parent,
        kind: FrameKind::named(&of.kind),
        module: of.module.clone(),
        name: of.function.clone(),
    }
}

/// Nothing where there were none.
fn counters(of: &v1::BufferBooks) -> Option<Counters> {
    (of.stored != 0).then_some(Counters {
        stored: of.stored,
        kept: of.kept,
        reduced: of.reduced,
        dropped: of.dropped,
        reset: of.reset,
    })
}

fn ledger(of: &v1::Ledger) -> Ledger {
    let by_shim = of.dropped.unwrap_or_default();
    Ledger {
        entered: of.entered,
        open: of.open,
        in_flight: of.in_flight,
        kept: of.kept,
        reduced: of.reduced,
        dropped: by_shim.no_packet + by_shim.no_location + of.dropped_by_place,
        reset: of.reset,
        not_selected: of.not_selected,
    }
}
