//! Reads the calls of all locations, in order of their ends, into the analyses.

use anyhow::{Context, bail};
use invivo_archive::saved::SavedObservation;
use invivo_archive::saved::calls::{Calls, SavedCall};
use invivo_archive::saved::format::{CommId as SavedComm, Location, Membership};
use invivo_otfx::{Attributes, Head, Pass};
use invivo_proto::control::results::{Group, Ledger, RankState};
use invivo_proto::control::strategy::Strategy;
use invivo_proto::definition::{Definition, Run};
use invivo_proto::ids::{CommId, CommLocal, LocationId, Rank, RegionId};
use invivo_proto::mpi::FUNCTIONS;
use invivo_proto::record::{Call, Facts, Part};
use invivo_tool_place::place::observed::{Observed, ObservedJob};
use invivo_tool_place::rank::observed::{Kept, ObservedLocation};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Room for a location's calls beside what they took when they were saved, in bytes: their bins are
/// filled anew, and some are not full.
const SPARE_BYTES: u64 = 1 << 20;
/// What a rank takes beside its buffers, whether calls of it are there or not, in bytes: about.
const RANK_BYTES: u64 = 4096;
/// Calls between two looks at how far it is.
const STEP: u64 = 1 << 14;

/// What was read.
pub struct Loaded {
    pub observed: Observed,
    /// Calls.
    pub calls: u64,
    /// Calls that the buffers had given up when it was saved.
    pub reduced: u64,
}

/// A location with its next call.
struct Reading {
    id: LocationId,
    calls: Calls,
    next: SavedCall,
}

/// Reads all of it. `tell` is told how many hundredths are done.
///
/// # Errors
/// What is wrong with the observation, or that there is no memory for it.
pub fn load(saved: &SavedObservation, tell: impl Fn(u64)) -> anyhow::Result<Loaded> {
    let about = saved.about();
    let buffers: u64 = saved
        .locations()
        .iter()
        .map(buffer_bytes)
        .fold(0, u64::saturating_add);
    check_memory(buffers.saturating_add(u64::from(about.job.ranks) * RANK_BYTES))?;
    let strategy = Strategy::parse(&about.strategy).unwrap_or_default();
    let (from_ns, is_cut) = begin(saved, strategy);
    let mut observed = Observed::new(&ObservedJob {
        ranks: about.job.ranks,
        from_ns,
        is_cut,
        to_ns: about.to_ns,
        clock_error_ns: about.clock_error_ns,
        strategy,
    })?;
    let regions = regions(&about.functions);
    define(saved, &mut observed)?;
    for rank in 0..about.job.ranks {
        super::regions::define(saved, rank, &mut observed)?;
    }
    super::samples::define(saved, &mut observed)?;
    let mut sampled = super::samples::Sampled::of(saved)?;
    let mut reading = Vec::new();
    let mut heap = BinaryHeap::new();
    let mut reduced = 0;
    for location in saved.locations() {
        let of = observed_location(location);
        reduced += of.ledger.reduced;
        observed.location(&of, buffer_bytes(location))?;
        let mut calls = saved.calls(location)?;
        if let Some(next) = calls.next_call()? {
            heap.push(Reverse((next.job_ns.end, reading.len())));
            let id = of.id;
            reading.push(Reading { id, calls, next });
        }
    }
    let pauses = saved.locations().iter();
    let pauses = pauses.flat_map(|one| one.pauses.iter().map(|&pause| (pause, one.rank)));
    let mut pauses: Vec<((u64, u64), u32)> = pauses.collect();
    pauses.sort_unstable();
    for ((from_ns, to_ns), rank) in pauses {
        observed.pause(Rank(rank), from_ns, to_ns);
    }
    for one in saved.locations() {
        for (since_ns, unit_ns) in &one.paces {
            observed.paced(Rank(one.rank), *since_ns, *unit_ns);
        }
    }
    let total: u64 = saved.locations().iter().map(|one| one.ledger.kept).sum();
    let mut read = 0u64;
    while let Some(Reverse((_, index))) = heap.pop() {
        let one = &mut reading[index];
        sampled.give_until(one.next.job_ns.end, &mut observed)?;
        give(&mut observed, one, &regions)?;
        read += 1;
        if read.is_multiple_of(STEP) {
            tell((read * 100 / total.max(1)).min(99));
        }
        if let Some(next) = one.calls.next_call()? {
            heap.push(Reverse((next.job_ns.end, index)));
            one.next = next;
        }
    }
    sampled.give_until(u64::MAX, &mut observed)?;
    for location in saved.locations() {
        let id = observed_location(location).id;
        super::regions::follow(saved, location, id, &mut observed)?;
    }
    observed.settle();
    Ok(Loaded {
        observed,
        calls: read,
        reduced,
    })
}

/// Since when calls are known, in job time, and whether some are of before. A flight recorder has
/// all of some last time; what other strategies give up lies between what they keep.
fn begin(saved: &SavedObservation, strategy: Strategy) -> (u64, bool) {
    let about = saved.about();
    let from_ns = match about.is_all {
        true => about.observed_from_ns,
        false => about.observed_from_ns.max(about.from_ns),
    };
    let gone = saved.locations().iter().filter_map(|one| one.gone_until_ns);
    let gone = gone.max().filter(|_| strategy.rules().next().is_none());
    let is_cut = !about.is_all || gone.is_some();
    (gone.unwrap_or(0).max(from_ns), is_cut)
}

fn buffer_bytes(of: &Location) -> u64 {
    let bytes = of.events.bytes;
    bytes.saturating_add(bytes / 2).saturating_add(SPARE_BYTES)
}

/// Refuses what this machine has no memory for, before it begins to swap.
fn check_memory(need: u64) -> anyhow::Result<()> {
    let info = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available = info.lines().find_map(|line| {
        let kib = line
            .strip_prefix("MemAvailable:")?
            .trim()
            .strip_suffix("kB")?;
        Some(kib.trim().parse::<u64>().ok()? << 10)
    });
    if let Some(available) = available.filter(|available| need > *available) {
        let mib = |bytes: u64| bytes >> 20;
        bail!(
            "the observation needs {} MiB of memory, and {} MiB are available; save a part of the \
             job (invivo save --rank 0-63, --since 30s), or open it on a larger machine",
            mib(need),
            mib(available)
        );
    }
    Ok(())
}

/// This program's numbers of the functions of an observation, by theirs.
fn regions(names: &[String]) -> Vec<Option<RegionId>> {
    let known: BTreeMap<&str, u16> = (0..).zip(FUNCTIONS).map(|(at, of)| (of.name, at)).collect();
    let number = |name: &String| known.get(name.as_str()).copied().map(RegionId);
    names.iter().map(number).collect()
}

fn observed_location(of: &Location) -> ObservedLocation {
    let open = of.open.as_ref().map(|open| {
        let region = FUNCTIONS.iter().position(|one| one.name == open.function);
        let region = RegionId(region.unwrap_or(0) as u16);
        (region, open.begin_ns, open.occupant)
    });
    let ledger = &of.ledger;
    ObservedLocation {
        id: super::samples::id(of),
        state: match of.state.as_str() {
            "computing" => RankState::Computing,
            "in MPI" => RankState::InMpi,
            "paused" => RankState::Paused,
            "finished" => RankState::Finished,
            "held" => RankState::Held,
            _ => RankState::Starting,
        },
        open,
        ledger: Ledger {
            entered: ledger.entered,
            open: ledger.open,
            in_flight: ledger.in_flight,
            kept: ledger.kept,
            reduced: ledger.reduced,
            // Who dropped them was not saved.
            dropped: [ledger.dropped, 0, ledger.not_selected],
            reset: ledger.reset,
            ..Ledger::default()
        },
        gone_until_ns: of.gone_until_ns,
        samples_gone_until_ns: super::samples::gone_until_ns(of),
    }
}

/// Tells what communicators mean.
fn define(saved: &SavedObservation, observed: &mut Observed) -> anyhow::Result<()> {
    for (rank, of) in saved.memberships() {
        let local = CommLocal(of.number);
        if matches!(local, CommLocal::WORLD | CommLocal::SELF) {
            continue;
        }
        let definition = Definition::Communicator {
            local,
            id: comm(of.id),
            rank: of.rank,
            size: size(saved, of),
            remote: (of.peers != of.id).then(|| comm(of.peers)),
        };
        observed
            .define(Rank(rank), &definition)
            .context("a communicator of the observation makes no sense")?;
    }
    let groups = saved.communicators().iter().map(|told| {
        let run = |&(first, stride, count): &(u32, i32, u32)| Run {
            first: Rank(first),
            stride,
            count,
        };
        let pieces = told.pieces.iter();
        let pieces = pieces.map(|(start, runs)| (*start, runs.iter().map(run).collect()));
        let pieces = pieces.collect();
        (comm(told.id), Group { pieces })
    });
    observed.learn_groups(groups);
    Ok(())
}

fn comm((leader, counter): SavedComm) -> CommId {
    CommId {
        leader: Rank(leader),
        counter,
    }
}

/// Members of the side that the rank is on.
fn size(saved: &SavedObservation, of: &Membership) -> u32 {
    let told = saved.communicators().iter().find(|told| told.id == of.id);
    let pieces = told.into_iter().flat_map(|told| &told.pieces);
    let runs = pieces.flat_map(|(_, runs)| runs);
    runs.map(|(_, _, count)| *count).sum()
}

/// Gives the next call of a location.
fn give(observed: &mut Observed, of: &Reading, regions: &[Option<RegionId>]) -> anyhow::Result<()> {
    let SavedCall { contents, job_ns } = &of.next;
    let facts = |facts: &Facts| -> anyhow::Result<Facts> {
        let region = regions.get(usize::from(facts.region.0)).copied().flatten();
        let region = region.context(
            "the observation has an MPI function that this invivo does not know; use the one that \
             wrote it",
        )?;
        Ok(Facts { region, ..*facts })
    };
    let part = |part: &Part| -> anyhow::Result<Part> {
        Ok(Part {
            facts: facts(&part.facts)?,
            posted: match part.posted {
                0 => 0,
                ticks => of.calls.job_ns(ticks),
            },
            ..*part
        })
    };
    let parts: Vec<Part> = contents.parts.iter().map(part).collect::<Result<_, _>>()?;
    let attributes = Attributes {
        depth: contents.depth,
        clipped: contents.clipped,
    };
    let mut record = |kept| observed.record(of.id, contents.occupant, kept, attributes);
    match &contents.head {
        Head::Call(call) => record(Kept::Call(
            &Call {
                facts: facts(&call.facts)?,
                end: job_ns.end,
                duration: job_ns.end - job_ns.start,
                ..*call
            },
            &parts,
        )),
        Head::Region(pass) => record(Kept::Region(&Pass {
            end: job_ns.end,
            duration: job_ns.end - job_ns.start,
            ..*pass
        })),
        _ => record(Kept::Rest(job_ns.end, &parts)),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_proto::control::tree::{Partial, Query};
    use std::path::Path;

    /// Two ranks that sent each other messages.
    fn golden() -> SavedObservation {
        let dir = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../archive/tests/golden/saved-1"
        );
        SavedObservation::open(Path::new(dir)).expect("whole")
    }

    #[test]
    fn an_observation_of_this_version_is_read() {
        let mut loaded = load(&golden(), |_| {}).expect("read");
        assert_eq!((loaded.calls, loaded.reduced), (24, 4));
        let Some((Partial::Matrix(matrix), _)) = loaded.observed.answer(Query::Matrix {
            side_max: 2,
            past: None,
        }) else {
            panic!("a matrix")
        };
        assert!(matrix.sent.values().any(|cell| cell.messages > 0));
    }

    #[test]
    fn functions_keep_their_names() {
        let names = ["", "MPI_Recv", "MPI_Send", "MPI_Future"].map(str::to_owned);
        let told = regions(&names);
        let name = |at: usize| told[at].map(invivo_proto::mpi::name);
        assert_eq!(name(1), Some("MPI_Recv"));
        assert_eq!(name(2), Some("MPI_Send"));
        assert_eq!(told[3], None, "of a newer version");
    }
}
