//! Streams of calls, beside a twin that compares sets of call sites; programs whose loops are
//! known.

use super::loops::{self, Loop};
use super::*;
use crate::rank_rows::RankRows;
use crate::sites::{Counts, Sites};
use crate::testing::Plain;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use invivo_proto::control::profile::Past;
use invivo_proto::control::sites::{Place, SiteTable};
use invivo_proto::definition::Definition;
use invivo_proto::ids::{LocationId, RegionId, SiteId};
use invivo_proto::record::{Call, Facts};
use proptest::prelude::*;

/// A call at a site, so long after the one before; records are missing before it.
#[derive(Clone, Copy, Debug)]
struct Step {
    site: usize,
    gap: u64,
    interrupted: bool,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let lost = prop_oneof![9 => Just(false), 1 => Just(true)];
    let step = (0usize..4, 0u64..50, lost);
    let step = step.prop_map(|(site, gap, interrupted)| Step {
        site,
        gap,
        interrupted,
    });
    // Iterations that are alike, and a few steps that are none.
    let body = prop::collection::vec(step.clone(), 1..8);
    let part = (body, 1usize..12);
    let part = part.prop_map(|(body, times)| body.repeat(times));
    prop::collection::vec(part, 1..5).prop_map(|parts| parts.concat())
}

/// The sites that an iteration came to, and when it was.
type Round = (BTreeSet<usize>, u64, u64);

/// All iterations that begin with each call at `site`.
fn rounds(steps: &[Step], site: usize) -> Vec<Round> {
    let (mut all, mut at) = (Vec::new(), 0);
    let mut since: Option<(BTreeSet<usize>, u64)> = None;
    for step in steps {
        at += step.gap;
        if step.interrupted {
            since = None;
        }
        if step.site == site {
            if let Some((held, from)) = since.take() {
                all.push((held, from, at));
            }
            since = Some((BTreeSet::new(), at));
        }
        if let Some((held, _)) = &mut since {
            held.insert(step.site);
        }
    }
    all
}

/// Those that are as usual, in their order, and the others: from the sets themselves.
fn told_apart(rounds: &[Round]) -> (Vec<&Round>, Vec<&Round>) {
    let (mut usual, mut others) = (Vec::new(), Vec::new());
    // What is usual, its votes, and the first of its kind while there is no other.
    let mut vote: Option<(&BTreeSet<usize>, u8)> = None;
    let mut first: Option<&Round> = None;
    for round in rounds {
        match vote {
            Some((known, votes)) if *known == round.0 => {
                vote = Some((known, (votes + 1).min(8)));
                usual.extend(first.take());
                usual.push(round);
            }
            Some((known, votes)) if votes > 0 => {
                vote = Some((known, votes - 1));
                others.push(round);
            }
            _ => {
                vote = Some((&round.0, 1));
                others.extend(first.replace(round));
            }
        }
    }
    (usual, others)
}

/// Ticks are ns; the job began at another time.
struct Later;

impl Clock for Later {
    fn job_ns(&self, at: u64) -> u64 {
        7 + at
    }

    fn duration_ns(&self, ticks: u64) -> u64 {
        ticks
    }
}

fn fed(steps: &[Step]) -> Vec<AtSite> {
    let mut sites: Vec<AtSite> = (0..4).map(AtSite::new).collect();
    let (mut stream, mut at) = (Stream::default(), 0);
    for step in steps {
        at += step.gap;
        if step.interrupted {
            stream.interrupt();
        }
        sites[step.site].call((0, &mut stream), at, 0, |from, to| to - from);
    }
    sites
}

proptest! {
    #[test]
    fn iterations_equal_a_comparison_of_sets(steps in steps()) {
        for (site, found) in fed(&steps).iter().enumerate() {
            let rounds = rounds(&steps, site);
            let (usual, others) = told_apart(&rounds);
            let lengths = found.calls.lengths(Rank(3), &Later);
            let mut naive = moments::EMPTY;
            for (_, from, to) in &usual {
                moments::insert(&mut naive, to - from, Rank(3));
            }
            let others_ns: u64 = others.iter().map(|(_, from, to)| to - from).sum();
            prop_assert!(moments::tests::nearly_equal(&lengths.time, &naive));
            let told = (lengths.others, lengths.others_ns);
            prop_assert_eq!(told, (others.len() as u64, others_ns));
            let spans: Vec<(u64, u64)> = usual.iter().map(|of| (of.1, of.2)).collect();
            if let (Some(first), Some(last)) = (spans.first(), spans.last()) {
                let longest = spans.iter().rev().max_by_key(|(from, to)| to - from).unwrap();
                prop_assert_eq!(lengths.first_ns, 7 + first.0);
                let past = |of: &(u64, u64)| Past { from_ns: 7 + of.0, to_ns: 7 + of.1 };
                prop_assert_eq!((lengths.longest, lengths.last), (past(longest), past(last)));
            }
        }
    }

    /// What is counted in pieces is together what is counted in one, whichever is added to which.
    #[test]
    fn pieces_make_the_whole(steps in steps(), cut in 0usize..200, turned: bool) {
        let whole = fed(&steps);
        let cut = cut.min(steps.len());
        let mut sites = fed(&steps[..cut]);
        let of = |sites: &[AtSite]| -> Vec<Lengths> {
            let each = sites.iter().map(|of| of.calls.lengths(Rank(0), &Plain));
            each.collect()
        };
        let first = of(&sites);
        sites.iter_mut().for_each(AtSite::clear);
        let mut stream = Stream::default();
        let mut at = 0;
        // The stream goes on where it was: the same calls again, of which the first do not count.
        let mut again: Vec<AtSite> = (0..4).map(AtSite::new).collect();
        for (number, step) in steps.iter().enumerate() {
            at += step.gap;
            if step.interrupted {
                stream.interrupt();
            }
            again[step.site].call((0, &mut stream), at, 0, |from, to| to - from);
            if number + 1 == cut {
                again.iter_mut().for_each(AtSite::clear);
            }
        }
        let second = of(&again);
        if cut > 0 {
            for ((first, second), whole) in first.iter().zip(&second).zip(of(&whole)) {
                let (mut sum, from) = if turned { (*second, *first) } else { (*first, *second) };
                sum.add(&from);
                prop_assert!(moments::tests::nearly_equal(&sum.time, &whole.time));
                let rest = |of: &Lengths| (of.first_ns, of.last, of.others, of.others_ns);
                if whole.time.count > 0 {
                    prop_assert_eq!(rest(&sum), rest(&whole));
                    prop_assert_eq!(sum.longest, whole.longest);
                }
            }
        }
    }
}

/// Calls of a program's ranks, one rank after the other.
struct Program {
    sites: Sites,
    rank: Rank,
    now: u64,
}

impl Program {
    fn new() -> Program {
        Program {
            sites: Sites::default(),
            rank: Rank(0),
            now: 0,
        }
    }

    /// What follows is of this rank, which begins when the others did.
    fn rank(&mut self, rank: u32) {
        (self.rank, self.now) = (Rank(rank), 0);
        let module = Definition::Module {
            number: 1,
            build_id: &[7],
            path: b"solver",
        };
        self.sites.learn(self.rank, &module);
        for site in 1..9 {
            let definition = Definition::Site {
                site: SiteId(site),
                module: 1,
                offset: u64::from(site),
            };
            self.sites.learn(self.rank, &definition);
        }
    }

    fn compute(&mut self, ns: u64) {
        self.now += ns;
    }

    fn call(&mut self, site: u16) {
        self.now += 10;
        let call = Call {
            facts: Facts {
                region: RegionId(1 + site),
                site: SiteId(site),
                ..Facts::default()
            },
            end: self.now,
            duration: 10,
            ..Call::default()
        };
        let counts = Counts {
            duration_ns: 10,
            ticks: 10,
            clipped: false,
            since: 0,
        };
        let (rank, thread) = (self.rank, 0);
        let of = LocationId { rank, thread };
        self.sites
            .record(of, &call, &[], &counts, |from, to| to - from);
    }

    fn table(&self) -> SiteTable {
        let iterations = self.sites.iterations(&Plain);
        self.sites
            .table(
                &self.sites.rows(),
                &self.sites.distributions(),
                &iterations,
                100,
                None,
            )
            .table
    }
}

/// Site, how it begins, most iterations of a rank, others of all ranks, mean in ns.
fn told(of: &Loop<'_>) -> (u64, Begin, u64, u64, u64) {
    let Place::Code { offset, .. } = of.site.place else {
        return (0, of.begin, 0, 0, 0);
    };
    let lengths = &of.iterations.lengths;
    let mean_ns = lengths.time.mean_ns as u64;
    (
        offset,
        of.begin,
        of.iterations.most,
        lengths.others,
        mean_ns,
    )
}

fn found(program: &Program) -> Vec<(u64, Begin, u64, u64, u64)> {
    let table = program.table();
    loops::find(&table).iter().map(told).collect()
}

#[test]
fn a_time_step_is_told_by_its_one_collective() {
    let mut program = Program::new();
    for rank in 0..3 {
        program.rank(rank);
        program.call(8);
        for step in 0..100 {
            for _neighbour in 0..4 {
                program.call(1);
            }
            program.call(2);
            program.compute(960);
            // A checkpoint.
            if step % 25 == 24 {
                program.compute(500);
                program.call(4);
            }
            program.call(3);
        }
        program.call(7);
    }
    let table = program.table();
    let all = loops::find(&table);
    assert_eq!(all.len(), 2, "{all:?}");
    let outer = told(&all[0]);
    assert_eq!((outer.0, outer.2), (4, 3));
    let step = told(&all[1]);
    assert_eq!((step.1, step.2, step.3, step.4), (Begin::Call, 99, 9, 1020));
    assert_eq!((all[1].iterations.ranks, all[1].iterations.fewest), (3, 99));
    // The burst of the neighbours, the calls behind it and before it.
    assert_eq!(all[1].places, 3);
    assert!(all[1].share > 0.9);
}

#[test]
fn calls_in_bursts_are_one_iteration() {
    let mut program = Program::new();
    for rank in 0..2 {
        program.rank(rank);
        for _step in 0..200 {
            for neighbour in 0..6 {
                program.call(1);
                program.call(2);
                program.compute(7 * (neighbour % 3));
                program.call(3);
            }
            program.compute(5000);
        }
    }
    let all = found(&program);
    assert_eq!(all.len(), 1, "{all:?}");
    let (_, begin, most, others, mean_ns) = all[0];
    assert_eq!((begin, others, mean_ns), (Begin::Burst, 0, 5222));
    // It takes some steps to know what is long.
    assert!((190..200).contains(&most), "{all:?}");
}

#[test]
fn loops_in_loops_are_told_apart() {
    let mut program = Program::new();
    program.rank(0);
    for _step in 0..50 {
        for _iteration in 0..20 {
            program.compute(190);
            program.call(1);
        }
        program.compute(1990);
        program.call(2);
    }
    let all = found(&program);
    // The 19 iterations of the solver that lie within a step, and what is between two of these.
    let solver = (1, Begin::Call, 999, 49, 200);
    assert_eq!(all.len(), 2, "{all:?}");
    assert_eq!((all[0].0, all[0].2, all[0].4), (2, 49, 6000));
    assert_eq!(all[1], solver);
}

/// However often a solver comes to its collective: a step is a step.
#[test]
fn steps_with_more_and_fewer_sweeps_are_alike() {
    let mut program = Program::new();
    program.rank(0);
    for step in 0..60 {
        for _sweep in 0..3 + step * 7 % 5 {
            program.compute(190);
            program.call(1);
        }
        program.call(2);
    }
    let all = found(&program);
    assert_eq!((all[0].0, all[0].2, all[0].3), (2, 59, 0), "{all:?}");
}

/// They are as many as each other, but at other times.
#[test]
fn phases_of_a_program_are_loops_each() {
    let mut program = Program::new();
    program.rank(0);
    for site in [1, 2] {
        for _step in 0..100 {
            program.compute(490);
            program.call(site);
        }
    }
    let all = found(&program);
    assert_eq!(all.len(), 2, "{all:?}");
    assert!(all.iter().all(|of| (of.2, of.4) == (99, 500)), "{all:?}");
}

#[test]
fn a_program_without_loops_has_none() {
    let mut program = Program::new();
    program.rank(0);
    let mut random = 1u64;
    for _call in 0..1000 {
        random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        program.compute(random >> 50);
        program.call(1 + (random >> 40) as u16 % 7);
    }
    assert_eq!(found(&program), []);
    assert!(loops::find(&SiteTable::default()).is_empty());
}

/// Threads call from the same place at the same time: one of them is followed.
#[test]
fn iterations_are_of_one_thread() {
    let mut site = AtSite::new(0);
    let mut streams = [Stream::default(), Stream::default()];
    for step in 0..10 {
        for thread in [1, 0] {
            let at = 100 * step + u64::from(thread);
            let stream = &mut streams[usize::from(thread)];
            site.call((thread, stream), at, 0, |from, to| to - from);
        }
    }
    let of: BTreeMap<_, _> = site.lengths(Rank(0), &Plain).collect();
    let calls = &of[&Begin::Call];
    assert_eq!((calls.time.count, calls.time.mean_ns), (9, 100.0));
    assert_eq!(calls.first_ns, 1);
}

#[test]
fn what_was_not_recorded_is_no_iteration() {
    let mut site = AtSite::new(0);
    let mut stream = Stream::default();
    // Nothing is known of the time before 250.
    for at in [100, 200, 300, 400, 500] {
        site.call((0, &mut stream), at, 250, |from, to| to - from);
    }
    stream.interrupt();
    for at in [600, 700] {
        site.call((0, &mut stream), at, 250, |from, to| to - from);
    }
    let of: BTreeMap<_, _> = site.lengths(Rank(0), &Plain).collect();
    assert_eq!(of[&Begin::Call].time.count, 3);
}

#[test]
fn rows_of_ranks_are_theirs() {
    let mut program = Program::new();
    for rank in 0..2 {
        program.rank(rank);
        for _ in 0..rank + 2 {
            program.call(1);
            program.call(1);
            program.compute(50);
        }
    }
    let rows: RankRows<_, Lengths> = program.sites.iterations(&Plain);
    let counts: Vec<_> = rows
        .iter()
        .map(|(rank, _, of)| (rank.0, of.count()))
        .collect();
    assert_eq!(counts, [(0, 3), (1, 5)]);
}
