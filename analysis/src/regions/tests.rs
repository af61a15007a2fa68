use super::*;
use alloc::vec;
use invivo_proto::control::regions::{Region, RegionStats, RegionTable};
use invivo_proto::control::sites::Place;
use proptest::prelude::*;
use std::collections::BTreeMap as Map;

fn at(rank: u32, thread: u16) -> LocationId {
    let rank = Rank(rank);
    LocationId { rank, thread }
}

/// What happens to a thread, after so many ns.
#[derive(Clone, Debug)]
enum Step {
    Enter(u16),
    Leave,
    /// An MPI call of this length.
    Call(u64),
    Reset,
}

fn step() -> impl Strategy<Value = (u64, Step)> {
    let step = prop_oneof![
        4 => (0..4u16).prop_map(Step::Enter),
        4 => Just(Step::Leave),
        3 => (0..50u64).prop_map(Step::Call),
        1 => Just(Step::Reset),
    ];
    (0..100u64, step)
}

/// Each stretch of time with the regions that were open then, outermost first.
fn naive(steps: &[(u64, Step)]) -> Map<u16, RegionStats> {
    let mut rows: Map<u16, RegionStats> = Map::new();
    let mut open: Vec<u16> = Vec::new();
    for (ns, step) in steps {
        let mut stretch = |ns: u64, mpi: u64| {
            let mut distinct = open.clone();
            distinct.sort_unstable();
            distinct.dedup();
            for region in distinct {
                let row = rows.entry(region).or_default();
                row.time_ns += ns;
                row.mpi_ns += mpi;
            }
            if let Some(innermost) = open.last() {
                let row = rows.entry(*innermost).or_default();
                row.own_ns += ns;
                row.own_mpi_ns += mpi;
            }
        };
        stretch(*ns, 0);
        match step {
            Step::Call(took) => stretch(*took, *took),
            Step::Enter(region) => {
                rows.entry(*region).or_default().visits += 1;
                open.push(*region);
            }
            Step::Leave => {
                open.pop();
            }
            Step::Reset => rows.clear(),
        }
    }
    rows.retain(|_, row| row.visits + row.time_ns > 0);
    rows
}

/// How long steps take.
fn length(steps: &[(u64, Step)]) -> u64 {
    let took = |(ns, step): &(u64, Step)| match step {
        Step::Call(took) => ns + took,
        _ => *ns,
    };
    steps.iter().map(took).sum()
}

fn feed(regions: &mut Regions, location: LocationId, steps: &[(u64, Step)]) {
    feed_from(regions, location, steps, 0);
}

/// The same, so many ns later.
fn feed_from(regions: &mut Regions, location: LocationId, steps: &[(u64, Step)], later: u64) {
    for region in 0..4 {
        let name = [b'a' + region as u8];
        regions.learn(
            location.rank,
            &Definition::Region {
                region: RegionId(REGIONS_END + region),
                module: 0,
                offset: 0,
                name: &name,
            },
        );
    }
    let mut now = 1_000 + later;
    let mut spend = |regions: &mut Regions, ns: u64, in_mpi: bool| {
        now += ns;
        if regions.inside_since(location).is_some() {
            let mpi_ns = if in_mpi { ns } else { 0 };
            regions.spend(location, now, Spent { ns, mpi_ns });
        }
        now
    };
    for (ns, step) in steps {
        let now = spend(regions, *ns, false);
        match step {
            Step::Call(took) => {
                spend(regions, *took, true);
            }
            Step::Enter(region) => {
                regions.enter(location, RegionId(REGIONS_END + region), now, true);
            }
            Step::Leave => {
                regions.leave(location, now);
            }
            Step::Reset => regions.reset(),
        }
    }
}

fn by_name(regions: &Regions) -> Map<u16, RegionStats> {
    let rows = regions.find(100, |_, _| false).table.rows.into_iter();
    rows.map(|(region, row)| match region {
        Region::Marked(name) => (u16::from(name.as_bytes()[0] - b'a'), row),
        Region::Function(_) => panic!("all are marked"),
    })
    .collect()
}

proptest! {
    #[test]
    fn times_are_those_of_a_naive_count(
        steps in prop::collection::vec(step(), 0..80)
    ) {
        let mut regions = Regions::default();
        feed(&mut regions, at(3, 0), &steps);
        let told = by_name(&regions);
        let mut expected = naive(&steps);
        for row in expected.values_mut() {
            row.ranks = 1;
            (row.most, row.least) = ((Rank(3), row.time_ns), (Rank(3), row.time_ns));
        }
        prop_assert_eq!(told, expected);
    }

    /// Rows that are taken now and then are together those of the whole.
    #[test]
    fn pieces_of_the_run_make_the_whole(
        first in prop::collection::vec(step(), 0..40),
        second in prop::collection::vec(step(), 0..40),
    ) {
        let no_reset = |steps: Vec<(u64, Step)>| -> Vec<(u64, Step)> {
            let steps = steps.into_iter();
            steps.filter(|(_, step)| !matches!(step, Step::Reset)).collect()
        };
        let (first, second) = (no_reset(first), no_reset(second));
        let mut pieces = Regions::default();
        feed(&mut pieces, at(3, 0), &first);
        let visits = |of: &Regions| of.met(Rank(3)).map(|met| met.visits).collect::<Vec<_>>();
        let before = visits(&pieces);
        let mut rows = pieces.take();
        prop_assert!(pieces.rows().is_empty());
        // Who chooses among regions knows all of them still.
        prop_assert_eq!(visits(&pieces), before);
        // It begins by the time that it has come to.
        feed_from(&mut pieces, at(3, 0), &second, length(&first));
        rows.add(&pieces.rows());
        let mut whole = Regions::default();
        feed(&mut whole, at(3, 0), &[first, second].concat());
        let [pieces, whole] = [(&pieces, &rows), (&whole, &whole.rows())]
            .map(|(of, rows)| of.table(rows, 100, |_, _| false).table);
        prop_assert_eq!(pieces, whole);
    }

    /// A thread that says which regions are open, at any time, changes nothing.
    #[test]
    fn what_is_said_again_counts_once(
        steps in prop::collection::vec(step(), 0..40)
    ) {
        let mut regions = Regions::default();
        feed(&mut regions, at(0, 0), &steps);
        let before = by_name(&regions);
        let thread = regions.of_rank(Rank(0)).thread(0);
        let now = thread.last;
        let open: Vec<OpenRegion> = thread
            .open
            .iter()
            .map(|open| OpenRegion { region: open.region, begin: open.begin })
            .collect();
        prop_assert!(regions.is_open(at(0, 0), &open));
        regions.follow(at(0, 0), now, &open);
        prop_assert_eq!(by_name(&regions), before);
    }

    #[test]
    fn tables_of_ranks_merge_in_any_order(
        steps in prop::collection::vec(prop::collection::vec(step(), 0..20), 4)
    ) {
        let mut whole = Regions::default();
        let mut parts = vec![];
        for (rank, steps) in (0..).zip(&steps) {
            // A reset is that of all ranks.
            let steps: Vec<_> = steps
                .iter()
                .filter(|(_, step)| !matches!(step, Step::Reset))
                .cloned()
                .collect();
            let mut part = Regions::default();
            feed(&mut part, at(rank, 0), &steps);
            feed(&mut whole, at(rank, 0), &steps);
            parts.push(part);
        }
        let whole = whole.find(100, |_, _| false).table;
        let sums = |table: &RegionTable| {
            let rows = || table.rows.values().chain([&table.left_out]);
            let sum = |of: fn(&RegionStats) -> u64| rows().map(of).sum::<u64>();
            (sum(|row| row.visits), sum(|row| row.time_ns), sum(|row| row.own_mpi_ns))
        };
        for order in [[0, 1, 2, 3], [3, 1, 0, 2]] {
            let merged = |rows_max| {
                let mut all = RegionTable::default();
                for part in order {
                    merge(&mut all, parts[part].find(rows_max, |_, _| false).table);
                }
                all
            };
            prop_assert_eq!(&merged(100), &whole);
            let cut = merged(2);
            prop_assert!(cut.rows.len() <= 2);
            prop_assert_eq!(sums(&cut), sums(&whole));
        }
    }
}

#[test]
fn ranks_are_joined_by_name_and_by_function() {
    let mut regions = Regions::default();
    for rank in 0..2u32 {
        let define = |regions: &mut Regions, definition: Definition<'_>| {
            regions.learn(Rank(rank), &definition);
        };
        define(
            &mut regions,
            Definition::Module {
                number: 1,
                build_id: b"\x01",
                path: b"/opt/solver",
            },
        );
        // In another order on each rank.
        let (function, marked) = (rank as u16, 1 - rank as u16);
        define(
            &mut regions,
            Definition::Region {
                region: RegionId(REGIONS_END + function),
                module: 1,
                offset: 0x40,
                name: b"",
            },
        );
        define(
            &mut regions,
            Definition::Region {
                region: RegionId(REGIONS_END + marked),
                module: 0,
                offset: 0,
                name: b"solve",
            },
        );
        let location = at(rank, 0);
        for (region, begin) in [(marked, 10), (function, 20), (99, 25)] {
            regions.enter(location, RegionId(REGIONS_END + region), begin, true);
        }
        let ns = 100 * u64::from(rank + 1);
        regions.spend(location, 200, Spent { ns, mpi_ns: 0 });
    }
    let found = regions.find(10, |_, _| false);
    let function = Region::Function(Place::Code {
        file: "solver".into(),
        build_id: vec![1],
        offset: 0x40,
    });
    assert_eq!(found.code.keys().collect::<Vec<_>>(), [&function]);
    let row = &found.table.rows[&function];
    assert_eq!(
        (row.ranks, row.visits, row.time_ns, row.own_ns),
        (2, 2, 300, 0)
    );
    assert_eq!(row.most, (Rank(1), 200));
    assert_eq!(row.least, (Rank(0), 100));
    let solve = &found.table.rows[&Region::Marked("solve".into())];
    assert_eq!((solve.ranks, solve.time_ns), (2, 300));
    // Nobody has defined it.
    let others = &found.table.rows[&Region::Function(Place::Others)];
    assert_eq!((others.own_ns, others.visits), (300, 2));
}

#[test]
fn a_thread_of_which_something_is_missing_is_followed_again() {
    let mut regions = Regions::default();
    feed(
        &mut regions,
        at(0, 0),
        &[
            (0, Step::Enter(0)),
            (10, Step::Enter(1)),
            (5, Step::Call(1)),
        ],
    );
    let open = [(0, 1_000), (2, 1_500)].map(|(region, begin)| OpenRegion {
        region: RegionId(REGIONS_END + region),
        begin,
    });
    assert!(!regions.is_open(at(0, 0), &open));
    regions.follow(at(0, 0), 2_000, &open);
    regions.spend(at(0, 0), 2_100, Spent { ns: 100, mpi_ns: 0 });
    let told = by_name(&regions);
    assert_eq!((told[&0].time_ns, told[&0].own_ns), (116, 10));
    assert_eq!((told[&1].time_ns, told[&1].own_ns), (6, 6));
    assert_eq!((told[&2].visits, told[&2].own_ns), (0, 100));
    regions.lose(at(0, 0));
    assert_eq!(regions.inside_since(at(0, 0)), None);
    assert_eq!(by_name(&regions)[&2].time_ns, 100);
}

#[test]
fn a_hostile_rank_takes_no_memory() {
    let mut regions = Regions::default();
    for region in 0..100_000u32 {
        let region = RegionId(region as u16 | REGIONS_END);
        regions.enter(at(0, 0), region, 1, true);
        regions.learn(
            Rank(0),
            &Definition::Region {
                region,
                module: 0,
                offset: 0,
                name: b"x",
            },
        );
    }
    let of_rank = &regions.ranks[0];
    assert!(of_rank.threads[0].open.len() <= OPEN_MAX);
    assert!(of_rank.rows.len() <= ROWS_MAX);
    assert!(of_rank.known.len() <= usize::from(REGIONS_MAX));
}
