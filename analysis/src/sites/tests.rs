use super::*;
use crate::functions::{bytes, size};
use crate::messages::Late;
use crate::moments;
use crate::moments::tests::nearly_equal;
use crate::testing::{self, RANKS, Recorded};
use crate::waits::Waits;
use alloc::format;
use invivo_proto::control::local::Named;
use invivo_proto::control::results::FunctionStats;
use invivo_proto::control::sites::CAUSERS_MAX;
use invivo_proto::control::wait_states::WaitState;
use invivo_proto::ids::{CommId, RegionId};
use invivo_proto::mpi::peer;
use invivo_proto::record::{Facts, RecordKind};
use proptest::prelude::*;

/// Rows enough for whatever a test makes.
const ALL: u32 = ROWS_MAX;

/// Where a site of a rank truly is: each rank numbers the same three places in another order; the
/// fourth number is that of code in no file.
fn truth(rank: Rank, site: SiteId) -> Place {
    match site.0 {
        0 => Place::NotNoted,
        1..=3 => Place::Code {
            file: "solver".into(),
            build_id: Vec::from([7]),
            offset: u64::from(0x100 * (1 + (u32::from(site.0) + rank.0) % 3)),
        },
        _ => Place::Nowhere,
    }
}

/// The same as the rank tells it. Ranks have the file at different paths.
fn define(sites: &mut Sites, rank: Rank) {
    let path = format!("/node{}/bin/solver", rank.0 % 2);
    sites.learn(
        rank,
        &Definition::Module {
            number: 1 + rank.0,
            build_id: &[7],
            path: path.as_bytes(),
        },
    );
    for site in (1..=4).map(SiteId) {
        let (module, offset) = match truth(rank, site) {
            Place::Code { offset, .. } => (1 + rank.0, offset),
            _ => (0, 99),
        };
        let definition = Definition::Site {
            site,
            module,
            offset,
        };
        sites.learn(rank, &definition);
    }
}

/// A thread that a rank's calls are of.
fn thread(rank: Rank) -> LocationId {
    LocationId { rank, thread: 0 }
}

/// A call that took so long; nobody asks for its iterations.
fn counts(duration_ns: u64, clipped: bool) -> Counts {
    Counts {
        duration_ns,
        ticks: duration_ns,
        clipped,
        since: 0,
    }
}

impl Sites {
    fn count(&mut self, rank: Rank, call: &Call, parts: &[Part], counts: &Counts) {
        self.record(thread(rank), call, parts, counts, |from, to| to - from);
    }

    /// The table so far.
    fn find(&self, rows_max: u32, waits: Option<&waits::Sums>) -> Found {
        let iterations = self.iterations(&crate::testing::Plain);
        let distributions = self.distributions();
        self.table(&self.rows(), &distributions, &iterations, rows_max, waits)
    }

    fn take(&mut self) -> (RankRows<At>, RankRows<At, Distribution>) {
        let taken = (self.rows(), self.distributions());
        self.clear();
        taken
    }
}

fn fed(all: &[Recorded], of: impl Fn(Rank) -> bool) -> Sites {
    let mut sites = Sites::default();
    for r in all.iter().filter(|r| of(r.rank)) {
        sites.count(r.rank, &r.call, &r.parts, &counts(r.duration_ns, r.clipped));
    }
    // Definitions may come late.
    for rank in (0..RANKS).map(Rank).filter(|rank| of(*rank)) {
        define(&mut sites, rank);
    }
    sites
}

/// One pass over everything, straight into a map.
fn naive(all: &[Recorded]) -> BTreeMap<Site, (FunctionStats, Vec<Rank>)> {
    let mut rows: BTreeMap<Site, (FunctionStats, Vec<Rank>)> = BTreeMap::new();
    let mut row = |rank: Rank, facts: &Facts, add: &dyn Fn(&mut FunctionStats)| {
        let site = Site {
            place: truth(rank, facts.site),
            region: facts.region,
        };
        let (stats, ranks) = rows.entry(site).or_default();
        add(stats);
        if !ranks.contains(&rank) {
            ranks.push(rank);
        }
    };
    for r in all {
        row(r.rank, &r.call.facts, &|stats| {
            moments::insert(&mut stats.time, r.duration_ns, r.rank);
            stats.clipped += u64::from(r.clipped);
        });
        for facts in r.facts() {
            let (out, into) = bytes(facts);
            if out + into != 0 || size(facts).is_some() {
                row(r.rank, facts, &|stats| {
                    stats.bytes_out += out;
                    stats.bytes_in += into;
                });
            }
        }
    }
    rows
}

fn same(a: &FunctionStats, b: &FunctionStats) -> bool {
    let exact = |of: &FunctionStats| (of.bytes_out, of.bytes_in, of.clipped);
    exact(a) == exact(b) && nearly_equal(&a.time, &b.time)
}

/// Calls and bytes of all rows, those left out included.
fn sums(table: &SiteTable) -> (u64, u64, u64) {
    let rows = table.rows.values().map(|row| &row.stats);
    rows.chain([&table.left_out]).fold((0, 0, 0), |sum, row| {
        (
            sum.0 + row.time.count,
            sum.1 + row.bytes_out,
            sum.2 + row.bytes_in,
        )
    })
}

proptest! {
    #[test]
    fn the_table_equals_a_direct_count(all in testing::recorded()) {
        let found = fed(&all, |_| true).find(ALL, None);
        let expected = naive(&all);
        prop_assert!(found.table.rows.keys().eq(expected.keys()));
        for (site, row) in &found.table.rows {
            let (stats, ranks) = &expected[site];
            prop_assert!(same(&row.stats, stats), "{:?} {:?}", row.stats, stats);
            prop_assert_eq!(row.ranks as usize, ranks.len());
            let is_in_file = matches!(site.place, Place::Code { .. });
            prop_assert_eq!(found.code.contains_key(site), is_in_file);
        }
    }

    /// However ranks are spread over places: rows are those of one place, and whatever is cut, the
    /// sums stay.
    #[test]
    fn any_tree_gives_the_same_sums(
        all in testing::recorded(),
        place_of in prop::collection::vec(0usize..4, RANKS as usize),
        rows_max in 0u32..8,
    ) {
        let flat = fed(&all, |_| true).find(ALL, None).table;
        for rows_max in [ALL, rows_max] {
            let mut joined = SiteTable::default();
            for place in 0..4 {
                let here = fed(&all, |rank| place_of[rank.0 as usize] == place);
                merge(&mut joined, here.find(rows_max, None).table);
            }
            prop_assert_eq!(sums(&joined), sums(&flat));
            prop_assert!(joined.rows.len() <= rows_max as usize);
            if rows_max == ALL {
                prop_assert!(joined.rows.keys().eq(flat.rows.keys()));
                for (site, row) in &joined.rows {
                    prop_assert!(same(&row.stats, &flat.rows[site].stats));
                    prop_assert_eq!(row.ranks, flat.rows[site].ranks);
                }
            }
        }
    }
}

proptest! {
    /// Rows that are taken now and then are together those of the whole.
    #[test]
    fn pieces_of_the_run_make_the_whole(all in testing::recorded(), cut in 0usize..100) {
        let whole = fed(&all, |_| true).find(ALL, None).table;
        let (first, second) = all.split_at(cut.min(all.len()));
        let mut sites = fed(first, |_| true);
        let (mut rows, mut distributions) = sites.take();
        prop_assert!(sites.rows().is_empty());
        for r in second {
            sites.count(r.rank, &r.call, &r.parts, &counts(r.duration_ns, r.clipped));
        }
        rows.add(&sites.rows());
        distributions.add(&sites.distributions());
        let none = RankRows::default();
        let pieces = sites.table(&rows, &distributions, &none, ALL, None).table;
        prop_assert!(pieces.rows.keys().eq(whole.rows.keys()));
        for (site, row) in &pieces.rows {
            prop_assert!(same(&row.stats, &whole.rows[site].stats));
            prop_assert_eq!(row.ranks, whole.rows[site].ranks);
            prop_assert_eq!(&row.distribution, &whole.rows[site].distribution);
            prop_assert_eq!(row.distribution.durations.count(), row.stats.time.count);
        }
    }
}

proptest! {
    /// Whatever is cut: waiting stands in the rows of its calls, and its sums are those of wait
    /// states by function.
    #[test]
    fn waiting_stands_where_it_was(
        calls in prop::collection::vec((0..RANKS, 0u16..5, 1u16..4), 0..60),
        waits in prop::collection::vec((0..RANKS, 0u16..5, 1u16..4, 1u64..1000), 0..60),
        rows_max in 0u32..6,
        split in 0..=RANKS,
    ) {
        let place = |ranks: core::ops::Range<u32>| {
            let mut sites = Sites::default();
            for &(rank, site, region) in calls.iter().filter(|of| ranks.contains(&of.0)) {
                sites.count(Rank(rank), &call(site, region), &[], &counts(10, false));
            }
            let place_of = alloc::boxed::Box::new(|_| Some(0));
            let home_of = alloc::boxed::Box::new(|_| 0);
            let mut here = Waits::new(ranks.clone(), RANKS, 0, home_of, place_of);
            for &(rank, site, region, ns) in waits.iter().filter(|of| ranks.contains(&of.0)) {
                // Some have a part that is told by itself, and is in no sum.
                let mut late = Late {
                    state: WaitState::LateSender,
                    waiter: Rank(rank),
                    causer: Rank((rank + 1) % RANKS),
                    comm: CommId::WORLD,
                    region: RegionId(region),
                    site: SiteId(site),
                    from_ns: 0,
                    before_ns: 0,
                    ns,
                    error_ns: 0,
                };
                here.late(&late);
                if ns % 2 == 0 {
                    late.state = WaitState::LateSenderWrongOrder;
                    here.late(&late);
                }
            }
            ranks.map(Rank).for_each(|rank| define(&mut sites, rank));
            (sites, here)
        };
        let mut expected: BTreeMap<Site, u64> = BTreeMap::new();
        for &(rank, site, region, ns) in &waits {
            let place = truth(Rank(rank), SiteId(site));
            *expected.entry(Site { place, region: RegionId(region) }).or_default() += ns;
        }
        for rows_max in [ALL, rows_max] {
            let mut table = SiteTable::default();
            let mut by_function = invivo_proto::control::wait_states::WaitStates::default();
            for (sites, waits) in [place(0..split), place(split..RANKS)] {
                merge(&mut table, sites.find(rows_max, Some(waits.sums())).table);
                waits::merge(&mut by_function, waits.to_partial(0));
            }
            let in_rows = |of: &SiteStats| {
                let whole = of.waits.iter().filter(|(state, _)| state.part_of().is_none());
                whole.map(|(_, of)| of.waited.ns).sum::<u64>()
            };
            let whole = by_function.kinds.iter();
            let whole = whole.filter(|((state, _), _)| state.part_of().is_none());
            let all = whole.map(|(_, of)| of.ns).sum::<u64>();
            let told: u64 = table.rows.values().map(in_rows).sum();
            prop_assert_eq!(told + table.waits_left_out.ns, all);
            if rows_max == ALL {
                let mut told: BTreeMap<Site, u64> = BTreeMap::new();
                for (site, row) in &table.rows {
                    told.insert(site.clone(), in_rows(row));
                    for of in row.waits.values() {
                        let causers: u64 = of.causers.iter().map(|causer| causer.ns).sum();
                        prop_assert!(causers <= of.waited.ns && of.causers.len() <= CAUSERS_MAX);
                    }
                }
                told.retain(|_, ns| *ns > 0);
                prop_assert_eq!(&told, &expected);
            }
        }
    }
}

fn call(site: u16, region: u16) -> Call {
    Call {
        facts: Facts {
            kind: RecordKind::Plain,
            region: RegionId(region),
            peer: peer::NONE,
            site: SiteId(site),
            ..Facts::default()
        },
        ..Call::default()
    }
}

#[test]
fn a_receive_counts_its_bytes_where_it_was_posted() {
    let mut sites = Sites::default();
    define(&mut sites, Rank(0));
    let mut posting = call(1, 2);
    posting.facts.kind = RecordKind::PostRecv;
    sites.count(Rank(0), &posting, &[], &counts(10, false));
    let completed = Part {
        facts: Facts {
            kind: RecordKind::CompletedRecv,
            peer: 1,
            bytes_in: 64,
            ..posting.facts
        },
        ..Part::default()
    };
    sites.count(Rank(0), &call(2, 3), &[completed], &counts(500, false));
    let rows = sites.find(ALL, None).table.rows;
    let of = |site, region| {
        let site = Site {
            place: truth(Rank(0), SiteId(site)),
            region: RegionId(region),
        };
        let stats = rows[&site].stats;
        (stats.time.count, stats.bytes_in)
    };
    assert_eq!((of(1, 2), of(2, 3)), ((1, 64), (1, 0)));
}

/// Numbers that no rank gives, and functions without end at one place, take no memory without end.
#[test]
fn what_a_rank_makes_up_is_bounded() {
    let mut sites = Sites::default();
    for site in 0..=u16::MAX {
        for region in 1..4 {
            sites.count(Rank(0), &call(site, region), &[], &counts(1, false));
        }
    }
    let of_rank = &sites.ranks[0];
    let rows = of_rank.rows.len();
    assert!(rows <= RANK_ROWS_MAX + 3, "{rows}");
    assert!(of_rank.index.len() <= usize::from(SITES_MAX) + 2);
    let found = sites.find(ALL, None);
    assert_eq!(sums(&found.table).0, 3 * (1 << 16));
    sites.reset();
    assert!(sites.find(ALL, None).table.rows.is_empty());
}

#[test]
fn names_stay_whichever_part_knows_them() {
    let table = |named: &[&str]| {
        let site = Site {
            place: Place::Nowhere,
            region: RegionId(1),
        };
        let name = |function: &&str| Named {
            function: (*function).into(),
            line: std::string::String::new(),
        };
        let row = SiteStats {
            stats: FunctionStats::default(),
            ranks: 1,
            named: named.iter().map(name).collect(),
            ..SiteStats::default()
        };
        SiteTable {
            rows: [(site, row)].into(),
            rows_max: ALL,
            ..SiteTable::default()
        }
    };
    let joined = |first, second| {
        let mut into = table(first);
        merge(&mut into, table(second));
        into
    };
    assert_eq!(joined(&[], &["main"]), joined(&["main"], &[]));
    assert_eq!(
        joined(&[], &["main"])
            .rows
            .values()
            .next()
            .map(|row| row.ranks),
        Some(2)
    );
}
