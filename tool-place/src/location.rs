//! One location (a thread of a rank): passes its calls through the cuts to buffer and analyses.
//!
//! Calls outside of what is recorded are dropped, those at a cut are clipped. The buffer takes
//! memory of the place's budget, the analyses take none of it.

use crate::analyses::OneSink;
use crate::cuts::{CutNumber, Cuts, Verdict};
use crate::intake::{Intake, Sink};
use crate::store::{Budget, Store};
use crate::tap::Taps;
use crate::time_point::LATENCY_NS;
use crate::traffic::When;
use invivo_mpi_link::BUFFERS_MAX;
use invivo_otfx::{Attributes, Pass, Sample};
use invivo_proto::control::peer::Clipping;
use invivo_proto::control::results::Ledger;
use invivo_proto::ids::{LocationId, RegionId};
use invivo_proto::packet::Losses;
use invivo_proto::record::{Call, OpenRegion, Part};
use std::ops::Range;

/// One thread of a rank.
pub struct Location {
    /// What came.
    pub intake: Intake,
    /// What is kept.
    pub store: Store,
    /// The loss ledger of the newest packet that came over MPI.
    pub losses: Losses,
    /// How long its next packet has been missing; nothing while it is not.
    pub missing: Option<Missing>,
    /// Calls that were cut off.
    pub cut_off: CutOff,
    /// Losses that the order of messages knows of.
    pub lost_known: u64,
    /// What had been given up of it before its calls came here; nothing of a location that records.
    pub before: Before,
}

/// What a saved observation says of calls that it does not have.
#[derive(Clone, Copy, Debug, Default)]
pub struct Before {
    /// Of what ended later nothing is missing, in ticks; nothing if none was given up.
    pub gone_until: Option<u64>,
    /// When the last sample was taken that the buffer had given up, in ticks.
    pub samples_gone_until: Option<u64>,
    /// Calls that the buffer had given up.
    pub reduced: u64,
}

/// What a location's cuts have done to its calls.
#[derive(Clone, Copy, Debug, Default)]
pub struct CutOff {
    /// Calls that lay outside of what is recorded.
    calls: u64,
    /// Resets that the buffer has made.
    resets: u64,
    /// What the call read last is: what follows of it is the same.
    last: Clipping,
    /// The epoch of what is being read.
    epoch: u32,
    /// Packets up to this one may be the first behind a loss that is known already.
    lost_before: Option<u64>,
    /// What is read next may be.
    near_loss: bool,
    /// The cuts at the begin and at the end of the calls that were clipped last.
    clips: [(CutNumber, CutNumber); CLIPS],
}

/// Clipped calls that a location remembers. A cut clips one call of a location at most, and a
/// command asks about its two cuts soon behind the last of them.
const CLIPS: usize = 8;

impl CutOff {
    /// Records were lost, before this packet or one that came or comes before it.
    pub fn lost_before(&mut self, packet: u64) {
        self.lost_before = Some(packet);
    }

    /// The next record to be read is in this packet, behind so many bytes. A rank loses records
    /// while it has no packet: what follows is the first of the next one.
    pub fn reads(&mut self, (packet, at): (u64, usize)) {
        let is_near = self.lost_before.is_some_and(|before| packet <= before);
        self.near_loss = is_near && at == 0;
    }

    /// Calls that these cuts clipped, as far as they have been read.
    pub fn clipped_by(&self, cuts: &Range<CutNumber>) -> u64 {
        let by = |clip: &&(CutNumber, CutNumber)| cuts.contains(&clip.0) || cuts.contains(&clip.1);
        self.clips.iter().filter(by).count() as u64
    }

    #[inline]
    fn when(&self, begin: u64, end: u64) -> When {
        When {
            begin,
            end,
            epoch: self.epoch,
            clipping: self.last,
        }
    }
}

/// Time in which a packet was looked for and not found. A place that gets no processor does not
/// look: the packet may be here all the while, so that the time between two looks counts for
/// [`LOOK_NS_MAX`] at most.
#[derive(Clone, Copy)]
pub struct Missing {
    looked_ns: u64,
    waited_ns: u64,
}

/// What one look counts for at most: the usual time between two looks at a packet that is not full.
const LOOK_NS_MAX: u64 = LATENCY_NS;

impl Missing {
    /// The first look.
    pub fn since(now_ns: u64) -> Missing {
        Missing {
            looked_ns: now_ns,
            waited_ns: 0,
        }
    }

    /// Another look; how long the packet has been missing, in ns.
    pub fn look(&mut self, now_ns: u64) -> u64 {
        self.waited_ns += now_ns.saturating_sub(self.looked_ns).min(LOOK_NS_MAX);
        self.looked_ns = now_ns;
        self.waited_ns
    }
}

impl Location {
    /// A new location of a rank with so many packets. All of them may overtake one, and those that
    /// lie in our receive buffers, which are handed over in any order, as well: their slots may be
    /// in use again.
    pub fn new(
        id: LocationId,
        packets: usize,
        budget: &mut Budget,
        taps: Option<&Taps>,
    ) -> Location {
        Location {
            intake: Intake::new(packets + BUFFERS_MAX, taps.map(|taps| taps.of(id))),
            store: Store::new(budget),
            losses: Losses::default(),
            missing: None,
            cut_off: CutOff::default(),
            lost_known: 0,
            before: Before::default(),
        }
    }

    /// Forgets what is kept, if a reset has taken effect that the buffer has not seen.
    pub fn forget_to(&mut self, resets: u64) {
        forget_to(&mut self.store, &mut self.cut_off, resets);
    }

    /// What became of the calls that were taken.
    pub fn taken(&self) -> Ledger {
        let mut ledger = self.store.taken();
        ledger.dropped_by_place += self.intake.counts().unreadable;
        ledger.reset += self.cut_off.calls;
        ledger
    }

    /// The ledger with what cannot be seen. A packet between the two processes, or one that never
    /// came, says nothing of what it holds: that is told by what is missing, as in flight or as
    /// dropped. Where every packet is accounted for, nothing is added, and the ledger balances or
    /// it does not.
    pub fn balanced(&self, mut ledger: Ledger, packets_between: bool) -> Ledger {
        let missing = match invivo_tbon::coverage::balance(&ledger) {
            Err(imbalance) => ledger.entered.saturating_sub(imbalance.accounted),
            Ok(()) => 0,
        };
        // The calls of a lost packet are dropped for good, those of a packet under way only late.
        if self.intake.counts().lost != 0 {
            ledger.dropped_by_place += missing;
        } else if packets_between {
            ledger.in_flight += missing;
        }
        ledger
    }

    /// Bytes of its buffer.
    pub fn buffer_bytes(&self) -> u64 {
        self.store
            .buffer()
            .map_or(0, |buffer| buffer.arena_bytes() as u64)
    }
}

/// Gives a location's calls to both its buffer and the analyses.
pub struct Both<'a> {
    /// What is recorded, and where it is cut.
    pub cuts: &'a mut Cuts,
    /// Calls that are cut off.
    pub cut_off: &'a mut CutOff,
    /// The buffer.
    pub store: &'a mut Store,
    /// The analyses.
    pub analyses: OneSink<'a>,
}

impl Both<'_> {
    /// A call of a saved observation: cuts have judged it before it was saved. All of it is kept,
    /// and what lies behind `since` counts.
    pub fn saved(&mut self, call: &Call, parts: &[Part], attributes: Attributes, since: u64) {
        let begin = call.end.saturating_sub(call.duration);
        let is_clipped = attributes.clipped;
        self.store.call(call, parts, attributes);
        self.cut_off.last = match (call.end <= since, is_clipped || begin < since) {
            (true, _) => Clipping::Outside,
            (false, true) => Clipping::Clipped,
            (false, false) => Clipping::Whole,
        };
        if self.cut_off.last != Clipping::Outside {
            let part = Call {
                duration: call.end - begin.max(since),
                ..*call
            };
            let is_clipped = self.cut_off.last == Clipping::Clipped;
            self.analyses.call(&part, parts, is_clipped);
        }
        self.analyses
            .messages(&self.cut_off.when(begin, call.end), Some(call), parts);
    }

    /// A visit of a region of a saved observation.
    pub fn saved_region(&mut self, pass: &Pass, attributes: Attributes) {
        self.store.region(pass, attributes);
    }

    /// A sample, if it was taken while recording was on. It may come behind calls that were made
    /// after it.
    pub fn sample(&mut self, sample: &Sample<'_>) {
        self.reach(sample.time);
        let mut parts = self.cuts.parts(sample.time, sample.time.saturating_add(1));
        if parts.next().is_some() {
            self.store.sample(sample);
        }
    }

    /// A sample of a saved observation.
    pub fn saved_sample(&mut self, sample: &Sample<'_>) {
        self.store.sample(sample);
    }

    /// What is left of a call of a saved observation: more of what it completed.
    pub fn saved_rest(&mut self, end: u64, parts: &[Part], since: u64) {
        self.cut_off.last = match end <= since {
            true => Clipping::Outside,
            false => Clipping::Whole,
        };
        if self.cut_off.last != Clipping::Outside {
            self.analyses.more(end, end, parts);
        }
        self.analyses
            .messages(&self.cut_off.when(end, end), None, parts);
    }

    /// Something of then is known.
    fn reach(&mut self, time: u64) {
        self.cuts.reach(time);
        self.notice_reset();
    }

    /// What was read may be the first behind a reset.
    #[inline]
    fn notice_reset(&mut self) {
        if self.cut_off.resets != self.cuts.resets() {
            forget_to(self.store, self.cut_off, self.cuts.resets());
            self.analyses
                .forget_to(self.cuts.resets(), self.cuts.reset_job_ns());
        }
    }

    #[inline]
    fn give(&mut self, call: &Call, parts: &[Part], clipped: bool) {
        let depth = self.analyses.depth();
        self.store.call(call, parts, Attributes { depth, clipped });
        self.analyses.call(call, parts, clipped);
    }
}

impl Sink for Both<'_> {
    fn epoch(&mut self, epoch: u32) {
        // Meanwhile nobody said what was entered and left.
        if self.cut_off.epoch != epoch {
            self.analyses.interrupt();
        } else if self.cut_off.near_loss {
            self.analyses.interrupt_iterations();
        }
        self.cut_off.epoch = epoch;
    }

    fn occupant(&mut self, occupant: u32) {
        // It is said again in each packet.
        if self.store.occupant() != occupant {
            self.analyses.interrupt();
        }
        self.store.begin_occupant(occupant);
    }

    fn lost(&mut self) {
        self.analyses.interrupt();
    }

    fn enter(&mut self, time: u64, region: RegionId) {
        self.reach(time);
        self.analyses.enter(self.cuts, time, region);
    }

    fn leave(&mut self, time: u64) {
        self.reach(time);
        let Some(visit) = self.analyses.leave(self.cuts, time) else {
            return;
        };
        if let Some((begin, end)) = self.cuts.last_part(visit.begin, time) {
            let pass = Pass {
                region: visit.region,
                end,
                duration: end.saturating_sub(begin),
            };
            let clipped = begin != visit.begin;
            let depth = visit.depth;
            self.store.region(&pass, Attributes { depth, clipped });
        }
    }

    fn open(&mut self, time: u64, open: &[OpenRegion]) {
        self.reach(time);
        self.analyses.open(self.cuts, time, open);
    }

    #[inline]
    fn call(&mut self, call: &Call, parts: &[Part]) {
        let begin = call.end.saturating_sub(call.duration);
        let verdict = self.cuts.judge(begin, call.end);
        self.notice_reset();
        if self.analyses.has_regions() {
            self.analyses.spend(self.cuts, begin, false);
            self.analyses.spend(self.cuts, call.end, true);
        }

        self.cut_off.last = match verdict {
            Verdict::Whole => Clipping::Whole,
            Verdict::Clipped { .. } => Clipping::Clipped,
            Verdict::Outside => Clipping::Outside,
        };

        match verdict {
            Verdict::Whole => self.give(call, parts, false),
            Verdict::Clipped { begin, end } => {
                // A ring of the last few: commands count clipped calls soon after their cuts.
                self.cut_off.clips.rotate_right(1);
                self.cut_off.clips[0] = self.cuts.last_clip();
                let part = Call {
                    end,
                    duration: end - begin,
                    ..*call
                };
                self.give(&part, parts, true);
            }
            // Counted as reset in the ledger: neither kept nor lost.
            Verdict::Outside => {
                self.cut_off.calls += 1;
                self.analyses.interrupt_iterations();
            }
        }
        // All calls, with their original times: a message whose send is cut off here may have a
        // receive that counts elsewhere.
        self.analyses
            .messages(&self.cut_off.when(begin, call.end), Some(call), parts);
    }

    fn more(&mut self, begin: u64, end: u64, parts: &[Part]) {
        if self.cut_off.last != Clipping::Outside {
            self.store.more(parts);
            self.analyses.more(begin, end, parts);
        }
        self.analyses
            .messages(&self.cut_off.when(begin, end), None, parts);
    }
}

fn forget_to(store: &mut Store, cut_off: &mut CutOff, resets: u64) {
    if cut_off.resets != resets {
        cut_off.resets = resets;
        // What follows of a call from before is from before as well.
        cut_off.last = Clipping::Outside;
        store.reset();
    }
}
