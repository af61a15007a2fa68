//! All that is on a track in the order of its begins, as slices within slices are written.

use crate::observation::{Call, Open, Sample, Track, Visit};

/// What begins on a track.
pub enum Begins<'a> {
    /// A call, and its number on the track.
    Call(usize, &'a Call),
    Visit(&'a Visit),
    Sample(&'a Sample),
    /// A region, or the call, that was not left.
    Open(&'a Open),
}

impl Begins<'_> {
    /// When it began, and when it ended; `u64::MAX` where it did not.
    pub fn job_ns(&self) -> (u64, u64) {
        match self {
            Begins::Call(_, call) => (call.begin_ns, call.end_ns),
            Begins::Visit(visit) => (visit.begin_ns, visit.end_ns),
            Begins::Sample(sample) => (sample.at_ns, sample.at_ns),
            Begins::Open(open) => (open.begin_ns, u64::MAX),
        }
    }

    /// Of what begins together the longer one first, and of equal ones the outer.
    fn order(&self, depth: u32) -> (u64, u64, u32) {
        let (begin_ns, end_ns) = self.job_ns();
        (begin_ns, u64::MAX - end_ns, depth)
    }
}

/// The depth that stands for more.
pub const DEPTH_MAX: u32 = u8::MAX as u32;

/// All that is on a track with its depth, in order of the begins.
pub fn by_begin(track: &Track) -> Vec<(u32, Begins<'_>)> {
    let open = (0..).zip(&track.open_regions);
    let open = open.map(|(depth, open)| (depth, Begins::Open(open)));
    // The call lies in all of them.
    let depth = track.open_regions.len() as u32;
    let open = open.chain(track.open.iter().map(|open| (depth, Begins::Open(open))));
    let visits = track.visits.iter();
    let visits = visits.map(|visit| (visit.depth, Begins::Visit(visit)));
    let calls = track.calls.iter().enumerate();
    let calls = calls.map(|(number, call)| (call.depth, Begins::Call(number, call)));
    // Deeper than all else, so that it ends nothing around it.
    let samples = track.samples.iter();
    let samples = samples.map(|sample| (u32::MAX, Begins::Sample(sample)));
    let all = open.chain(visits).chain(calls).chain(samples);
    let mut all: Vec<(u32, Begins<'_>)> = all.collect();
    // Calls lie in their order already, which a stable sort finds fast.
    all.sort_by_key(|(depth, begins)| begins.order(*depth));
    all
}
