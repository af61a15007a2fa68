//! Definitions of an archive: what its numbers stand for, and what is missing.

use super::archive::Archive;
use super::communicators::{Comm, Communicators, SELF};
use super::contexts::Contexts;
use super::counts::{Counts, Exported};
use super::functions::{RegionOf, Regions, role, role_of};
use super::library::{Otf2Error, number};
use super::writers::{DefinitionWriter, RegionDefinition};
use crate::saved::SavedObservation;
use crate::saved::call_paths::UNKNOWN;
use crate::saved::format::{CommId, FrameKind, Location};
use crate::saved::groups::WORLD;
use std::collections::HashMap;

/// The group of all ranks' first threads.
const COMM_LOCATIONS: u32 = 0;
/// The group that stands for every rank's own.
const COMM_SELF: u32 = 1;
/// The first group of a communicator.
const GROUPS: u32 = 2;

/// The number of what takes samples.
pub const SAMPLER: u32 = 0;

/// The number of a location, as Score-P gives them.
pub fn location(rank: u32, thread: u32) -> u64 {
    u64::from(thread) << 32 | u64::from(rank)
}

/// Texts, each once.
struct Strings(HashMap<String, u32>);

impl Strings {
    fn new(writer: &mut DefinitionWriter<'_>) -> Result<Strings, Otf2Error> {
        writer.string(0, "")?;
        Ok(Strings([(String::new(), 0)].into()))
    }

    fn number(&mut self, writer: &mut DefinitionWriter<'_>, text: &str) -> Result<u32, Otf2Error> {
        if let Some(number) = self.0.get(text) {
            return Ok(*number);
        }
        let number = self.0.len() as u32;
        // What C cannot have in a text is no reason to give nothing.
        writer.string(number, &text.replace('\0', "?"))?;
        self.0.insert(text.to_owned(), number);
        Ok(number)
    }
}

/// Ranks of the job that were not saved: a location without events stands for each.
pub fn others(of: &SavedObservation) -> Vec<u32> {
    let place = |location: &Location| (location.rank, location.thread);
    let is_saved = |rank: u32| {
        of.locations()
            .binary_search_by_key(&(rank, 0), place)
            .is_ok()
    };
    (0..of.about().job.ranks)
        .filter(|rank| !is_saved(*rank))
        .collect()
}

/// Ends the events, and writes all definitions. `events`: of each location, in their order.
pub fn write(
    of: &SavedObservation,
    communicators: &Communicators,
    events: &[(u64, Counts)],
    (regions, contexts): (&Regions, &Contexts),
    archive: &Archive<'_>,
) -> Result<(), Otf2Error> {
    let about = of.about();
    let saved = of.locations();
    let others = others(of);
    let places = saved.iter().map(|of| location(of.rank, of.thread));
    archive.end_events(places.chain(others.iter().map(|rank| location(*rank, 0))))?;

    let mut out = archive.definitions()?;
    let out = &mut out;
    let length = about.to_ns.saturating_sub(about.from_ns);
    let (first, last) = span(about.from_ns, about.to_ns, events);
    let unix_ns = about
        .saved_unix_ns
        .saturating_sub(length)
        .saturating_sub(about.from_ns - first);
    out.clock(1_000_000_000, first, last - first, unix_ns)?;
    let strings = &mut Strings::new(out)?;
    let mpi = strings.number(out, "MPI")?;
    out.paradigm(number::PARADIGM_MPI, mpi, number::PARADIGM_CLASS_PROCESS)?;
    if !contexts.met().is_empty() {
        let sampling = strings.number(out, "Sampling")?;
        let class = number::PARADIGM_CLASS_PROCESS;
        out.paradigm(number::PARADIGM_SAMPLING, sampling, class)?;
    }

    let hosts = hosts(of, out, strings)?;
    for rank in 0..about.job.ranks {
        let name = strings.number(out, &format!("MPI Rank {rank}"))?;
        let node = hosts.get(&rank).copied().unwrap_or(0);
        out.location_group(rank, name, number::PROCESS, node, number::UNDEFINED)?;
    }
    for (one, (count, counts)) in saved.iter().zip(events) {
        let name = thread_name(one.thread);
        let name = strings.number(out, &name)?;
        let this = location(one.rank, one.thread);
        out.location(this, name, number::CPU_THREAD, *count, one.rank)?;
        for (key, value) in given_up(one, counts) {
            let key = strings.number(out, key)?;
            out.location_property(this, key, value)?;
        }
    }
    for rank in others {
        let name = strings.number(out, &thread_name(0))?;
        out.location(location(rank, 0), name, number::CPU_THREAD, 0, rank)?;
    }
    for (this, region) in (0..).zip(regions.met()) {
        let definition = definition(of, region, out, strings)?;
        out.region(this, definition)?;
    }
    samples(contexts, saved, out, strings)?;
    groups(of, communicators, out, strings)
}

fn definition(
    of: &SavedObservation,
    region: &RegionOf,
    out: &mut DefinitionWriter<'_>,
    strings: &mut Strings,
) -> Result<RegionDefinition, Otf2Error> {
    Ok(match region {
        RegionOf::Mpi(function) => {
            let function = of.function(*function);
            RegionDefinition {
                name: strings.number(out, function)?,
                role: role_of(function),
                paradigm: number::PARADIGM_MPI,
                // As Score-P has it: Scalasca knows functions of MPI by this alone.
                file: strings.number(out, "MPI")?,
                ..RegionDefinition::default()
            }
        }
        RegionOf::Program {
            name,
            line,
            is_function,
        } => {
            let (file, line) = line.rsplit_once(':').unwrap_or((line, ""));
            let (role, paradigm) = match is_function {
                true => (role::FUNCTION, number::PARADIGM_COMPILER),
                false => (role::CODE, number::PARADIGM_USER),
            };
            RegionDefinition {
                name: strings.number(out, name)?,
                role,
                paradigm,
                file: strings.number(out, file)?,
                // 0 stands for none.
                line: line.parse().unwrap_or(0),
                ..RegionDefinition::default()
            }
        }
        RegionOf::Sampled { name, module, kind } => {
            let module = strings.number(out, module)?;
            let (file, description) = match kind {
                FrameKind::Python => (module, 0),
                // A library is no source file.
                _ => (0, module),
            };
            RegionDefinition {
                name: strings.number(out, name)?,
                description,
                role: match kind {
                    FrameKind::Function | FrameKind::Python => role::FUNCTION,
                    FrameKind::Lost | FrameKind::LeftOut => role::ARTIFICIAL,
                },
                paradigm: number::PARADIGM_SAMPLING,
                file,
                ..RegionDefinition::default()
            }
        }
        RegionOf::Unknown => RegionDefinition {
            name: strings.number(out, UNKNOWN)?,
            role: role::ARTIFICIAL,
            paradigm: number::PARADIGM_SAMPLING,
            ..RegionDefinition::default()
        },
    })
}

/// What samples refer to; nothing where there are none.
fn samples(
    contexts: &Contexts,
    saved: &[Location],
    out: &mut DefinitionWriter<'_>,
    strings: &mut Strings,
) -> Result<(), Otf2Error> {
    if contexts.met().is_empty() {
        return Ok(());
    }
    let name = strings.number(out, "time on a processor")?;
    let (mode, base) = (number::MODE_TIME, number::BASE_DECIMAL);
    out.interrupt_generator(SAMPLER, name, mode, base, -9, period_ns(saved))?;
    for (this, (region, parent)) in (0..).zip(contexts.met()) {
        out.calling_context(this, *region, number::UNDEFINED, *parent)?;
    }
    Ok(())
}

/// The interval of samples, in ns on a processor: the last one that was ordered; 0 where it was not
/// saved.
fn period_ns(saved: &[Location]) -> u64 {
    let paces = saved.iter().flat_map(|of| &of.paces);
    let last = paces.filter(|(_, unit_ns)| *unit_ns > 0).max();
    last.map_or(0, |(_, unit_ns)| *unit_ns)
}

fn thread_name(thread: u32) -> String {
    if thread == 0 {
        "Master thread".to_owned()
    } else {
        format!("Thread {thread}")
    }
}

/// When the first event is, and the last: calls may begin before the interval and end behind it.
fn span(from_ns: u64, to_ns: u64, events: &[(u64, Counts)]) -> (u64, u64) {
    let mut span = (from_ns, to_ns);
    for (first, last) in events.iter().filter_map(|(_, counts)| counts.span) {
        span = (span.0.min(first), span.1.max(last));
    }
    span
}

/// The machine and its hosts; the node of each rank that was saved.
fn hosts(
    of: &SavedObservation,
    out: &mut DefinitionWriter<'_>,
    strings: &mut Strings,
) -> Result<HashMap<u32, u32>, Otf2Error> {
    let machine = strings.number(out, "machine")?;
    let name = strings.number(out, &of.about().job.id)?;
    out.system_tree_node(0, name, machine, number::UNDEFINED)?;
    out.system_tree_domain(0, number::DOMAIN_MACHINE)?;
    let class = strings.number(out, "node")?;
    let (mut nodes, mut of_ranks) = (HashMap::new(), HashMap::new());
    for location in of.locations() {
        let node = match nodes.get(location.host.as_str()) {
            Some(node) => *node,
            None => {
                let node = nodes.len() as u32 + 1;
                let name = strings.number(out, &location.host)?;
                out.system_tree_node(node, name, class, 0)?;
                out.system_tree_domain(node, number::DOMAIN_SHARED_MEMORY)?;
                nodes.insert(location.host.as_str(), node);
                node
            }
        };
        of_ranks.insert(location.rank, node);
    }
    Ok(of_ranks)
}

/// What is missing of a location, by the names of properties.
fn given_up(of: &Location, counts: &Counts) -> Vec<(&'static str, u64)> {
    let ledger = &of.ledger;
    let visits = of.visits.unwrap_or_default();
    let samples = of.samples.unwrap_or_default();
    let numbers = [
        ("INVIVO_CALLS_ENTERED", ledger.entered),
        ("INVIVO_CALLS_REDUCED", ledger.reduced),
        ("INVIVO_CALLS_DROPPED", ledger.dropped),
        ("INVIVO_CALLS_RESET", ledger.reset),
        ("INVIVO_CALLS_IN_FLIGHT", ledger.in_flight),
        ("INVIVO_CALLS_CLIPPED", counts.clipped),
        ("INVIVO_CALLS_OPEN", ledger.open),
        ("INVIVO_REGIONS_REDUCED", visits.reduced),
        ("INVIVO_REGIONS_DROPPED", visits.dropped),
        ("INVIVO_REGIONS_RESET", visits.reset),
        ("INVIVO_REGIONS_OPEN", of.open_regions.len() as u64),
        ("INVIVO_SAMPLES_REDUCED", samples.reduced),
        ("INVIVO_SAMPLES_DROPPED", samples.dropped),
        ("INVIVO_SAMPLES_RESET", samples.reset),
        ("INVIVO_COMPLETE_SINCE_NS", of.gone_until_ns.unwrap_or(0)),
        ("INVIVO_CLOCK_ERROR_NS", of.clock_error_ns),
        ("INVIVO_EVENTS_MOVED", counts.moved),
        ("INVIVO_WITHOUT_COMMUNICATOR", counts.without_communicator),
        ("INVIVO_WITHOUT_OPERATION", counts.without_operation),
        ("INVIVO_POSTED_BEFORE", counts.posted_before),
        ("INVIVO_BINS_MISSING", u64::from(of.is_cut)),
    ];
    numbers
        .into_iter()
        .filter(|(_, value)| *value != 0)
        .collect()
}

/// Groups and communicators.
fn groups(
    of: &SavedObservation,
    communicators: &Communicators,
    out: &mut DefinitionWriter<'_>,
    strings: &mut Strings,
) -> Result<(), Otf2Error> {
    let ranks = of.about().job.ranks;
    let world: Vec<u64> = (0..ranks).map(|rank| location(rank, 0)).collect();
    out.group(COMM_LOCATIONS, 0, number::COMM_LOCATIONS, &world)?;
    out.group(COMM_SELF, 0, number::COMM_SELF, &[])?;
    let name = strings.number(out, "MPI_COMM_SELF")?;
    out.comm(SELF, name, COMM_SELF, number::UNDEFINED, 0)?;

    let mut known: HashMap<CommId, u32> = HashMap::new();
    for (comm, this) in communicators.iter() {
        let (sides, name) = match comm {
            Comm::Intra(id) if *id == WORLD => (vec![*id], "MPI_COMM_WORLD".to_owned()),
            Comm::Intra(id) => (vec![*id], format!("communicator {}.{}", id.0, id.1)),
            Comm::Inter(one, other) => (
                vec![*one, *other],
                format!(
                    "intercommunicator {}.{}, {}.{}",
                    one.0, one.1, other.0, other.1
                ),
            ),
        };
        let mut numbers = Vec::new();
        for side in sides {
            let next = GROUPS + known.len() as u32;
            let group = *known.entry(side).or_insert(next);
            if group == next {
                let members = of
                    .group(side)
                    .into_iter()
                    .flat_map(|group| group.members(ranks));
                let members: Vec<u64> = members.map(u64::from).collect();
                out.group(group, 0, number::COMM_GROUP, &members)?;
            }
            numbers.push(group);
        }
        let name = strings.number(out, &name)?;
        match numbers[..] {
            [group, other] => {
                out.inter_comm(this, name, group, other, number::UNDEFINED, 0)?;
            }
            _ => out.comm(this, name, numbers[0], number::UNDEFINED, 0)?,
        }
    }
    Ok(())
}

/// Properties of the whole: where it comes from, and what is missing.
pub fn properties(
    of: &SavedObservation,
    exported: &Exported,
    archive: &Archive<'_>,
) -> Result<(), Otf2Error> {
    let about = of.about();
    let sum = |number: fn(&Location) -> u64| -> u64 { of.locations().iter().map(number).sum() };
    let missing: Vec<String> = about.missing.iter().map(u32::to_string).collect();
    let properties = [
        ("INVIVO::JOB", about.job.id.clone()),
        ("INVIVO::COMMAND", about.job.command.join(" ")),
        ("INVIVO::MPI", about.job.library.clone()),
        ("INVIVO::STRATEGY", about.strategy.clone()),
        ("INVIVO::CLOCK_ERROR_NS", about.clock_error_ns.to_string()),
        ("INVIVO::CALLS", exported.calls.to_string()),
        ("INVIVO::REGIONS", exported.visits.to_string()),
        ("INVIVO::SAMPLES", exported.samples.to_string()),
        (
            "INVIVO::CALLS_REDUCED",
            sum(|of| of.ledger.reduced).to_string(),
        ),
        (
            "INVIVO::CALLS_DROPPED",
            sum(|of| of.ledger.dropped).to_string(),
        ),
        ("INVIVO::CALLS_RESET", sum(|of| of.ledger.reset).to_string()),
        ("INVIVO::EVENTS_MOVED", exported.moved.to_string()),
        ("INVIVO::UNMATCHED_LEFT_OUT", exported.unmatched.to_string()),
        ("INVIVO::MISSING_TOOL_PROCESSES", missing.join(",")),
    ];
    for (name, value) in properties {
        if !value.is_empty() {
            archive.property(name, &value.replace('\0', "?"))?;
        }
    }
    Ok(())
}
