//! Gives visits of regions to the table of regions, in the order in which the program made them.
//!
//! Buffers keep a visit when it ends; a table counts the time of a region while it lasts. So the
//! records of a thread are read once more, by their begins.

use invivo_archive::saved::calls::SavedCall;
use invivo_archive::saved::format::Location;
use invivo_archive::saved::{SavedError, SavedObservation};
use invivo_otfx::Head;
use invivo_proto::definition::Definition;
use invivo_proto::ids::{LocationId, Rank, RegionId};
use invivo_tool_place::place::observed::{Observed, RegionStep};

/// Tells what the regions of a rank are called.
///
/// # Errors
/// When a definition makes no sense.
pub fn define(saved: &SavedObservation, rank: u32, observed: &mut Observed) -> anyhow::Result<()> {
    for region in saved.regions(rank) {
        let definition = Definition::Region {
            region: RegionId(region.number),
            module: 0,
            offset: 0,
            name: region.name.as_bytes(),
        };
        observed.define(Rank(rank), &definition)?;
    }
    Ok(())
}

/// Follows a thread through its regions.
///
/// # Errors
/// What is wrong with the observation.
pub fn follow(
    saved: &SavedObservation,
    of: &Location,
    id: LocationId,
    observed: &mut Observed,
) -> Result<(), SavedError> {
    if of.visits.is_none() && of.open_regions.is_empty() {
        return Ok(());
    }
    let mut calls = saved.calls(of)?.by_begin()?;
    // Visits that have not ended, the innermost last.
    let mut inside: Vec<SavedCall> = Vec::new();
    let end_ns = saved.about().to_ns;
    while let Some(next) = calls.next_call()? {
        if next.job_ns.end <= observed.since() {
            continue;
        }
        let begin = next.contents.head.begin();
        while let Some(left) = inside.pop_if(|open| open.contents.head.end() <= begin) {
            observed.region(id, RegionStep::Leave(left.job_ns.end));
        }
        match next.contents.head {
            Head::Region(pass) => {
                let step = RegionStep::Enter(next.job_ns.start, pass.region);
                observed.region(id, step);
                inside.push(next);
            }
            Head::Call(_) => {
                let (begin, end) = (next.job_ns.start, next.job_ns.end);
                observed.region(id, RegionStep::Call(begin, end));
            }
            _ => {}
        }
    }
    while let Some(left) = inside.pop_if(|open| !open.is_open()) {
        observed.region(id, RegionStep::Leave(left.job_ns.end));
    }
    // What is open goes on up to the end; it is no call that ends there.
    if !inside.is_empty() {
        observed.region(id, RegionStep::Call(end_ns, end_ns));
    }
    Ok(())
}
