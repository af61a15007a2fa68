//! Streams in pieces. A place has decoded a record just before it stores it: what a writer is given
//! lies in the first cache level. So each piece of a stream is copied there before its time is
//! taken, for both rivals alike; else a good part of the time would be that of fetching the stream
//! from memory.

use crate::streams::{Calls, Step};
use std::time::Instant;

/// Calls of a piece: with their parts some 25 KB.
const CALLS: usize = 256;
/// Enters and leaves of a piece: 16 KB.
const STEPS: usize = 1024;
/// Samples of a piece.
const SAMPLES: usize = 256;

/// The times of a stream's pieces. Every turn has the same ones, and of each the least counts: what
/// a writer does comes back in every turn at the same place, what the machine does beside it does
/// not.
#[derive(Default)]
pub struct Stopwatch {
    least_ns: Vec<f64>,
    at: usize,
}

impl Stopwatch {
    /// The next turn begins.
    pub fn turn(&mut self) {
        self.at = 0;
    }

    /// Takes the next piece's time.
    pub fn time(&mut self, work: impl FnOnce()) {
        let begun = Instant::now();
        work();
        let ns = begun.elapsed().as_nanos() as f64;
        match self.least_ns.get_mut(self.at) {
            Some(least) => *least = least.min(ns),
            None => self.least_ns.push(ns),
        }
        self.at += 1;
    }

    /// Of all pieces, in ns.
    pub fn ns(&self) -> f64 {
        self.least_ns.iter().sum()
    }
}

/// Hands a stream of calls over, piece by piece.
pub fn calls(all: &Calls, watch: &mut Stopwatch, mut each: impl FnMut(&Calls)) {
    let mut piece = Calls::default();
    for from in (0..all.len()).step_by(CALLS) {
        piece.copy(all, from..all.len().min(from + CALLS));
        watch.time(|| each(&piece));
    }
}

/// Hands enters and leaves over, piece by piece.
pub fn steps(all: &[Step], watch: &mut Stopwatch, mut each: impl FnMut(&[Step])) {
    let mut piece = Vec::with_capacity(STEPS);
    for from in all.chunks(STEPS) {
        piece.clear();
        piece.extend_from_slice(from);
        watch.time(|| each(&piece));
    }
}

/// Hands samples over, piece by piece, where they lie: their values are all over the memory.
pub fn samples(
    all: &[(u64, Vec<u64>)],
    watch: &mut Stopwatch,
    mut each: impl FnMut(&[(u64, Vec<u64>)]),
) {
    for piece in all.chunks(SAMPLES) {
        watch.time(|| each(piece));
    }
}
