//! The memory of a tool place in a job that runs for a week.
//!
//! The clock is played: most of the week passes in large steps, its begin and its end second by
//! second.

use invivo_mpi_link::clock::{NodeClock, Reading};
use invivo_proto::control::analyses::AnalysisSet;
use invivo_proto::control::encode;
use invivo_proto::control::tree::{Down, JobInfo, Up};
use invivo_proto::control::whereabouts::Whereabouts;
use invivo_proto::ids::{CommLocal, LocationId, Rank, RegionId, SiteId, WorldRank};
use invivo_proto::mpi::FUNCTIONS;
use invivo_proto::packet::{HEADER_BYTES, Header, Losses};
use invivo_proto::record::{Call, Encoder, Facts, MAX_CALL_BYTES, RecordKind};
use invivo_tbon::layout::{FanIn, Layout, Policy};
use invivo_tool_place::place::Place;
use invivo_tool_place::time_point::Now;
use std::alloc::{GlobalAlloc, Layout as Memory, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts what is taken and not given back.
struct Counting;

static TAKEN: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is handed to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, memory: Memory) -> *mut u8 {
        TAKEN.fetch_add(memory.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps to the contract of `alloc`.
        unsafe { System.alloc(memory) }
    }

    unsafe fn dealloc(&self, at: *mut u8, memory: Memory) {
        TAKEN.fetch_sub(memory.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps to the contract of `dealloc`.
        unsafe { System.dealloc(at, memory) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const SECOND_NS: u64 = 1_000_000_000;
const MINUTE_NS: u64 = 60 * SECOND_NS;
const WEEK_NS: u64 = 7 * 24 * 60 * MINUTE_NS;
/// Between two looks at the ranks, in the middle of the week.
const STEP_NS: u64 = 4 * MINUTE_NS;
/// When the job begins, in ns and in ticks.
const START: u64 = 1 << 40;
const RANKS: u32 = 2;
/// As by default.
const BUFFER_BYTES: u64 = 16 << 20;
/// Rounds of the program in each step.
const ROUNDS: u64 = 40;
const ROUND_NS: u64 = 20_000_000;

fn function(name: &str) -> RegionId {
    let at = FUNCTIONS.iter().position(|of| of.name == name);
    RegionId(at.expect("a function of MPI") as u16)
}

/// A place with everything on, and its ranks.
struct Job {
    place: Place,
    now: Now,
    /// Packets of each rank so far.
    sequence: u64,
}

impl Job {
    fn new() -> Job {
        let fan_in = FanIn::new(&[RANKS]).expect("ranks");
        let layout = Layout::for_app(RANKS, fan_in, Policy::Tail).expect("a job");
        let reading = Reading {
            ticks: START,
            ns: START,
            width_ticks: 0,
        };
        let clock = NodeClock::from_readings(reading, reading);
        let now = Now {
            ns: START,
            ticks: START,
        };
        let place = Place::new(layout, layout.place(0), None, clock, now).expect("a place");
        let mut job = Job {
            place,
            now,
            sequence: 0,
        };
        job.down(&Down::Analyses(AnalysisSet::ALL));
        job.down(&Down::Job(JobInfo {
            id: "week".into(),
            buffer_bytes: BUFFER_BYTES,
            budget_bytes: u64::from(RANKS) * BUFFER_BYTES,
            recording: true,
            ..JobInfo::default()
        }));
        for _ in 0..100 {
            job.pass(1_000_000);
        }
        assert!(job.place.is_ready(), "the place did not begin");
        job
    }

    fn down(&mut self, message: &Down) {
        let message = encode(message).expect("a short message");
        self.place.down(self.now, &message);
    }

    /// Time passes, and the place looks after everything; what it asks for the time is answered.
    fn pass(&mut self, ns: u64) {
        self.now.ns += ns;
        self.now.ticks += ns;
        self.place.step(self.now);
        for up in self.place.take_up() {
            if let Up::WhatTime { asked_ns, .. } = up {
                self.down(&Down::Time {
                    asked_ns,
                    job_ns: asked_ns,
                    error_ns: 0,
                    parent_ns: 0,
                    here: Whereabouts::default(),
                });
            }
        }
    }

    /// The program runs for nearly a second; then so much time has passed.
    fn go_on(&mut self, ns: u64) {
        for rank in 0..RANKS {
            let packet = self.packet(rank);
            self.place.packet(WorldRank(rank), Some(&packet));
        }
        self.sequence += 1;
        self.pass(ns);
    }

    /// In each round rank 0 waits for a message of rank 1, at one of twenty places in the program,
    /// and both meet.
    fn packet(&self, rank: u32) -> Vec<u8> {
        let mut encoder = Encoder::new(self.now.ticks, 0);
        let mut payload = Vec::new();
        let mut add = |facts: Facts, begin: u64, end: u64, ordinal: u64| {
            let call = Call {
                facts,
                end,
                duration: end - begin,
                ordinal,
                request: 0,
            };
            let mut bytes = [0; MAX_CALL_BYTES];
            let start = bytes.as_mut_ptr();
            // SAFETY: there is room for a call without parts.
            let behind = unsafe { encoder.call(start, &call, 0) };
            payload.extend_from_slice(&bytes[..behind as usize - start as usize]);
        };
        let before = self.sequence * ROUNDS;
        for round in 0..ROUNDS {
            let at = self.now.ticks + round * ROUND_NS;
            // Messages of other sizes, waits of other lengths.
            let late = 1_000_000 + (before + round) % 977 * 10_000;
            let (kind, peer, name, begin) = match rank {
                0 => (RecordKind::Recv, 1, "MPI_Recv", at),
                _ => (RecordKind::Send, 0, "MPI_Send", at + late),
            };
            let message = Facts {
                kind,
                region: function(name),
                comm: CommLocal::WORLD,
                peer,
                bytes_out: late,
                bytes_in: late,
                site: SiteId(1 + (round % 20) as u16),
                ..Facts::default()
            };
            add(message, begin, at + late + 50_000, 0);
            let barrier = Facts {
                kind: RecordKind::Collective,
                region: function("MPI_Barrier"),
                comm: CommLocal::WORLD,
                peer: -1,
                site: SiteId(30),
                ..Facts::default()
            };
            let begin = at + late + 60_000 + u64::from(rank) * 20_000;
            add(barrier, begin, at + late + 90_000, before + round);
        }
        let header = Header {
            location: LocationId {
                rank: Rank(rank),
                thread: 0,
            },
            sequence: self.sequence,
            first_time: self.now.ticks,
            last_time: encoder.time(),
            records: 2 * ROUNDS as u32,
            length: payload.len() as u32,
            losses: Losses {
                entered: 2 * (before + ROUNDS),
                ..Losses::default()
            },
            ..Header::default()
        };
        let mut head = [0; HEADER_BYTES];
        header.encode(&payload, &mut head);
        [&head[..], &payload].concat()
    }
}

/// Buffers have their size from the start. Pieces of the last minute, and of the time before, are
/// so many at most: a minute has a third of them, and some minutes have all.
#[test]
fn a_week_takes_the_memory_of_a_minute() {
    let before = TAKEN.load(Ordering::Relaxed);
    let mut job = Job::new();
    let mut taken = |until: u64, step: u64| {
        while job.now.ns < START + until {
            job.go_on(step);
        }
        (TAKEN.load(Ordering::Relaxed) - before) as f64
    };
    let minute = taken(MINUTE_NS, SECOND_NS);
    let minutes = taken(5 * MINUTE_NS, SECOND_NS);
    let nearly = taken(WEEK_NS - 5 * MINUTE_NS, STEP_NS);
    let week = taken(WEEK_NS, SECOND_NS);
    let all = [minute, minutes, nearly, week];
    println!("bytes after a minute, five, nearly a week, a week: {all:?}");
    let most = nearly.max(week);
    assert!(most <= 1.1 * minute && most <= 1.02 * minutes, "{all:?}");
    let buffers = f64::from(RANKS) * BUFFER_BYTES as f64;
    // And of what is no buffer.
    assert!(most - buffers <= 1.15 * (minutes - buffers), "{all:?}");
}
