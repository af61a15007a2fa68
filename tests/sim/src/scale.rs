//! A job of a million ranks in one process: a real node of the crate `tbon` for every tool process,
//! in a tree of several layers, and ranks whose calls follow from a seed in such a way that every
//! answer is known in closed form. One rank in [`world::FED_EVERY`] has its calls encoded into
//! packets, decoded and fed to the analyses; of the others the leaf results are generated.
//!
//! What it shows: answers are right at any size, and what the root receives and hands out does not
//! depend on the number of ranks.

pub mod closed_form;
pub mod leaf;
pub mod packets;
pub mod permutation;
pub mod round;
pub mod tree;
pub mod uneven;
pub mod waiting;
pub mod world;

use invivo_proto::control::grid::{CallMetric, GridQuery, Metric};
use invivo_proto::control::tree::Query;
use invivo_proto::ids::WorldRank;
use invivo_tbon::layout::{Layout, LayoutError, Policy};
use round::Round;
use std::fmt;
use std::time::{Duration, Instant};
use tree::Tree;
use world::World;

/// Sizes with the fan-in of their layers: the root has as many children in each, so that what it
/// receives can be compared.
pub const SIZES: [(u32, &str); 4] = [
    (1_024, "64,16"),
    (16_384, "64,16,16"),
    (131_072, "64,16,8,16"),
    (1_048_576, "64,64,16,16"),
];
/// A job of as many ranks on so many nodes of different sizes, with one tool process on each, its
/// processes dealt out at random: ranks, nodes, fan-in.
pub const UNEVEN: [(u32, u32, &str); 3] = [
    (16_384, 128, "node,8,16"),
    (131_072, 1_024, "node,8,8,16"),
    (1_048_576, 8_192, "node,32,16,16"),
];
/// Members of each of these trees' roots.
pub const ROOT_MEMBERS: usize = 16;
/// The most memory that the whole may take, in bytes: 8 GiB.
pub const RESIDENT_BYTES_MAX: u64 = 8 << 30;
/// How far the root's bytes of a wave may be apart from those of the smallest tree, as a share:
/// rows, cells and ranks named are as many in any tree, and numbers take their full width.
pub const BYTES_APART_MAX: f64 = 0.05;
/// The same of the grid, whose cells name two ranks each: their numbers take more bytes where there
/// are more ranks.
pub const GRID_BYTES_APART_MAX: f64 = 0.25;

/// The questions of one round: what a page that shows everything asks.
pub const QUERIES: [Query; 6] = [
    Query::Functions {
        rank_rows_max: 32,
        past: None,
    },
    Query::Matrix {
        side_max: 64,
        past: None,
    },
    Query::Status,
    Query::Messages { past: None },
    Query::Grid(GridQuery {
        metric: Metric::OfCalls(CallMetric::MpiTime),
        from_ns: 0,
        to_ns: 32 * GRID_COLUMN_NS,
        observed_ns: 32 * GRID_COLUMN_NS,
        columns_max: 32,
        rows_max: 32,
    }),
    Query::WaitStates {
        ranks_max: 32,
        past: None,
    },
];
/// How often grid and wait states are asked for, to see how long an answer takes at most.
const ASKED: usize = 10;
/// Width of a column of the grid in the questions: a power of two times the unit, so that there are
/// as many columns as are asked for.
const GRID_COLUMN_NS: u64 = 1 << 30;

/// What came out at one size.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The tree.
    pub layout: Layout,
    /// Ranks whose calls went through packets.
    pub fed: u32,
    /// Calls that went through packets.
    pub calls_fed: u64,
    /// The questions and their answers.
    pub waves: Round,
    /// The largest stated clock error of any place, in ns.
    pub clock_error_ns: u64,
    /// What does not hold, a sentence each.
    pub violations: Vec<String>,
    /// How long it took.
    pub took: Duration,
}

/// Runs a tree of `ranks` ranks.
///
/// # Errors
/// When the numbers make no tree.
pub fn run(ranks: u32, fan_in: &str, seed: u64) -> Result<Measured, LayoutError> {
    let begun = Instant::now();
    let layout = Layout::for_app(ranks, fan_in.parse()?, Policy::Tail)?;
    let members: Vec<(WorldRank, Layout)> = (layout.app()..layout.total())
        .map(|me| (WorldRank(me), layout))
        .collect();
    Ok(measure(begun, layout, &members, seed, Vec::new()))
}

/// Runs a tree of `ranks` ranks on nodes of different sizes, in no order, that every tool process
/// finds by itself.
///
/// # Errors
/// When the fan-in is none, or a tool process finds no tree.
pub fn run_uneven(
    ranks: u32,
    nodes: u32,
    fan_in: &str,
    seed: u64,
) -> Result<Measured, Box<dyn std::error::Error>> {
    let begun = Instant::now();
    let layouts = uneven::layouts(ranks, nodes, fan_in.parse()?, seed)?;
    let layout = *layouts.first().ok_or("no node")?;
    let violations = uneven::check_directory(&layouts, seed);
    let places = (0..).zip(&layouts);
    let places = places.map(|(place, layout)| (layout.place(place), *layout));
    // Above the places nobody needs to know of ranks.
    let upper = (layout.total()..layout.members()).map(|me| (WorldRank(me), layout));
    let members: Vec<(WorldRank, Layout)> = places.chain(upper).collect();
    Ok(measure(begun, layout, &members, seed, violations))
}

fn measure(
    begun: Instant,
    layout: Layout,
    members: &[(WorldRank, Layout)],
    seed: u64,
    mut violations: Vec<String>,
) -> Measured {
    let world = World::new(layout.app(), seed);
    let mut tree = Tree::plant(members, world.clone());
    violations.extend(tree.start());
    let mut waves = Round::default();
    for query in QUERIES {
        let wave = tree.ask(query);
        violations.extend(closed_form::check(&world, &layout, query, &wave));
        // Those that a page asks for all the time.
        let again = match query {
            Query::Grid(_) | Query::WaitStates { .. } => ASKED - 1,
            _ => 0,
        };
        let mut took: Vec<Duration> = (0..again).map(|_| tree.ask(query).took).collect();
        took.push(wave.took);
        waves.note(wave, took);
    }

    // Last, because it takes away what the queries are compared with.
    let reset = tree.reset();
    violations.extend(closed_form::check_reset(&world, &reset));
    violations.extend(tree.nothing_is_left());
    violations.extend(tree.check_clocks());
    Measured {
        layout,
        fed: world.fed(),
        calls_fed: tree.calls_fed(),
        waves,
        clock_error_ns: tree.clock_error_ns(),
        violations,
        took: begun.elapsed(),
    }
}

/// Where a job's ranks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// In blocks, one node after the other.
    Blocks,
    /// Dealt out at random: every node sends to nearly all blocks of the matrix, and which it
    /// misses is chance.
    None,
}

impl Order {
    /// How far the root's entries of a wave may be apart from those of the smallest tree, as a
    /// share.
    fn entries_apart_max(self) -> f64 {
        match self {
            Order::Blocks => 0.0,
            Order::None => 0.01,
        }
    }
}

/// What does not hold of several sizes together, a sentence each.
pub fn compare(all: &[Measured], order: Order) -> Vec<String> {
    let mut violations: Vec<String> = all.iter().flat_map(|one| one.violations.clone()).collect();
    let Some(smallest) = all.first() else {
        return violations;
    };

    let apart = |one: u64, other: u64| one as f64 / other as f64 - 1.0;
    for one in all {
        let ranks = one.layout.app();
        let waves = one.waves.bytes.iter().zip(&smallest.waves.bytes);
        for ((wave, other), query) in waves.zip(QUERIES) {
            let of_wave = apart(*wave, *other);
            let apart_max = match query {
                Query::Grid(_) => GRID_BYTES_APART_MAX,
                _ => BYTES_APART_MAX,
            };
            if of_wave.abs() > apart_max {
                violations.push(format!(
                    "the root of {ranks} ranks has {wave} bytes a wave, {:+.1} % from the smallest \
                     job's",
                    100.0 * of_wave
                ));
            }
        }
        // Bytes may differ by some percent, entries of jobs in blocks not at all.
        let mut entries = one.waves.entries.iter().zip(&smallest.waves.entries);
        if !entries.all(|(one, other)| apart(*one, *other).abs() <= order.entries_apart_max()) {
            violations.push(format!(
                "the root of {ranks} ranks was told {:?} rows, cells and ranks, that of the \
                 smallest job {:?}",
                one.waves.entries, smallest.waves.entries
            ));
        }
    }

    if let Some(bytes) = peak_resident_bytes().filter(|&bytes| bytes > RESIDENT_BYTES_MAX) {
        violations.push(format!(
            "{bytes} bytes were resident, at most {RESIDENT_BYTES_MAX} may"
        ));
    }

    violations
}

/// The most memory that this process has had so far, in bytes, where the system tells.
pub fn peak_resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        // The peak of the resident set, which is what a million ranks cost at worst.
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// The head of the table whose lines [`Measured`] prints.
pub const HEAD: &str = "    ranks  layers                     tools     fed  calls fed  \
                        functions   matrix  status  messages      grid     waits  root bytes  \
                        received  answers: functions, matrix, status, messages, grid, waits  \
                        clock error      took";

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let layers: Vec<String> = self
            .layout
            .layers()
            .skip(1)
            .map(|layer| layer.members.to_string())
            .collect();
        let bytes = |at: usize| self.waves.bytes.get(at).copied().unwrap_or(0);
        write!(
            f,
            "{:>9}  {:<22} {:>9} {:>7} {:>10} {:>10} {:>8} {:>7} {:>9} {:>9} {:>9} {:>11} {:>9}  \
             {} {:>9} ns {:>7.1} s",
            self.layout.app(),
            layers.join(" > "),
            self.layout.total() - self.layout.app(),
            self.fed,
            self.calls_fed,
            bytes(0),
            bytes(1),
            bytes(2),
            bytes(3),
            bytes(4),
            bytes(5),
            self.waves.root_bytes(),
            self.waves.messages_max,
            self.waves.slowest(),
            self.clock_error_ns,
            self.took.as_secs_f64()
        )
    }
}
