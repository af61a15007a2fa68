//! Gives the samples of an observation to the buffers of its ranks, in the order of their time
//! among the calls.

use invivo_archive::saved::format::{Context as SavedContext, FrameKind, Location, Loss};
use invivo_archive::saved::samples::{Samples, SavedSample};
use invivo_archive::saved::{SavedError, SavedObservation};
use invivo_otfx::{Attributes, Sample};
use invivo_proto::control::contexts::Context;
use invivo_proto::control::stacks::Frame;
use invivo_proto::ids::{LocationId, Rank};
use invivo_tool_place::place::observed::Observed;
use invivo_tool_place::rank::observed::Kept;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Tells what the calling contexts of all ranks are.
///
/// # Errors
/// When they are no tree.
pub fn define(saved: &SavedObservation, observed: &mut Observed) -> anyhow::Result<()> {
    for rank in 0..saved.about().job.ranks {
        let all = saved.contexts(rank);
        let follow = (1..).zip(all).all(|(number, of)| of.number == number);
        let told = match all {
            [] => Ok(()),
            all => observed.contexts(Rank(rank), all.iter().map(context).collect()),
        };
        anyhow::ensure!(
            follow && told.is_ok(),
            "the calling contexts of rank {rank} make no sense"
        );
    }
    Ok(())
}

fn context(of: &SavedContext) -> Context {
    let (module, name) = (of.module.clone(), of.name.clone());
    let frame = match of.kind {
        FrameKind::Function => Frame::Function { module, name },
        FrameKind::Python => Frame::Python { file: module, name },
        FrameKind::Lost => Frame::Lost,
        FrameKind::LeftOut => Frame::LeftOut,
    };
    let parent = of.parent;
    Context { parent, frame }
}

/// When the last sample was taken that its buffer had given up, where that kept the newest: those
/// that are thinned evenly stand for the others.
pub fn gone_until_ns(of: &Location) -> Option<u64> {
    let is_of_newest = |level: &str| matches!(level, "samples" | "earlier strategies");
    let samples = |loss: &&Loss| loss.class == "sample" && is_of_newest(&loss.level);
    let lost = of.losses.iter().filter(samples);
    lost.map(|loss| loss.last_ns).max()
}

/// The number of a location.
pub fn id(of: &Location) -> LocationId {
    LocationId {
        rank: Rank(of.rank),
        thread: u16::try_from(of.thread).unwrap_or(u16::MAX),
    }
}

/// The samples of all locations.
pub struct Sampled {
    locations: Vec<One>,
    /// When the next one of each location was taken, and which location that is.
    next: BinaryHeap<Reverse<(u64, usize)>>,
}

struct One {
    id: LocationId,
    samples: Samples,
    next: SavedSample,
}

impl Sampled {
    /// None of them is given yet.
    ///
    /// # Errors
    /// What is wrong with the observation.
    pub fn of(saved: &SavedObservation) -> Result<Sampled, SavedError> {
        let (mut locations, mut heap) = (Vec::new(), BinaryHeap::new());
        for location in saved.locations() {
            let mut samples = saved.samples(location)?;
            if let Some(next) = samples.next_sample()? {
                heap.push(Reverse((next.at_ns, locations.len())));
                let id = id(location);
                locations.push(One { id, samples, next });
            }
        }
        Ok(Sampled {
            locations,
            next: heap,
        })
    }

    /// Gives those that were taken by then, in job time.
    ///
    /// # Errors
    /// What is wrong with the observation.
    pub fn give_until(&mut self, until_ns: u64, observed: &mut Observed) -> Result<(), SavedError> {
        while let Some(Reverse((at_ns, index))) = self.next.peek().copied()
            && at_ns <= until_ns
        {
            self.next.pop();
            let one = &mut self.locations[index];
            let of = &one.next;
            let sample = Sample {
                time: of.at_ns,
                ordinal: of.ordinal,
                context: of.context,
                values: &of.values,
            };
            let kept = Kept::Sample(&sample);
            observed.record(one.id, of.occupant, kept, Attributes::default());
            if let Some(next) = one.samples.next_sample()? {
                self.next.push(Reverse((next.at_ns, index)));
                one.next = next;
            }
        }
        Ok(())
    }
}
