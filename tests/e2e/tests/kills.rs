//! Random kills and stops of every process of a job, at random moments. `cargo xtask kills` runs
//! other campaigns than these two, and single cases of them again. The table of
//! `docs/manual/reference/process-failures.md` is what a campaign finds: `INVIVO_BLESS=1` writes it.

use invivo_e2e::asked;
use invivo_e2e::family::Family;
use invivo_e2e::job::turn;
use invivo_e2e::kills::case::{Case, Way};
use invivo_e2e::kills::hunt;
use invivo_e2e::kills::outcome::Outcome;
use invivo_e2e::kills::tally::{Tally, row};
use invivo_e2e::kills::victim::Victim;
use invivo_e2e::manual::{Column, same_column};
use invivo_e2e::places::root;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::thread::{available_parallelism, scope};
use std::time::Instant;

/// What the cases are made of unless something else is asked for.
const SEED: u64 = 1;

/// Cases of the test that is run each time.
const SOME: usize = 100;
/// Reports that may be late, see [`Outcome::is_late`]: one of so many, or
const LATE_ONE_IN: usize = 100;
/// one of a few.
const LATE_MIN: usize = 1;

/// Cases that broke a promise once: a root that died in `MPI_Init` and left all others waiting
/// there, a root's supervisor that was asked to end and did the same, a root that was asked to end
/// and made a report that did not say so.
const ONCE_BROKEN: [(u64, Family); 4] = [
    (1_037_355_545, Family::Ompi),
    (2_694_071_413, Family::Mpich),
    (3_359_879_671, Family::Mpich),
    (2_649_710_410, Family::Ompi),
];

/// All cases with what became of them, or nothing where a promise did not hold; as many beside each
/// other as there are cores, for most of their time is waiting.
fn hunted(cases: Vec<Case>) -> Vec<(Case, Option<Outcome>)> {
    let _turn = turn();
    let lanes = available_parallelism().map_or(1, NonZeroUsize::get);
    let (left, ended) = (Mutex::new(cases.into_iter()), Mutex::new(Vec::new()));
    let next = || left.lock().expect("the cases").next();
    let lane = || {
        while let Some(case) = next() {
            let begun = Instant::now();
            let outcome = catch_unwind(AssertUnwindSafe(|| hunt::run(&case))).ok();
            let words = outcome.map_or_else(|| "BROKEN".to_owned(), |outcome| outcome.to_string());
            println!("{case}: {words} ({:.1} s)", begun.elapsed().as_secs_f64());
            ended
                .lock()
                .expect("what became of them")
                .push((case, outcome));
        }
    };
    scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(lane);
        }
    });
    ended.into_inner().expect("what became of them")
}

/// So many cases unless others are asked for; those that broke a promise are named at the end, too.
fn campaign(number: usize) {
    let families = asked::families("INVIVO_KILLS_MPI", &Family::ALL);
    let cases: Vec<Case> = match asked::number("INVIVO_KILLS_CASE") {
        Some(seed) => families
            .iter()
            .map(|family| Case::of(seed, *family))
            .collect(),
        None => {
            let number = asked::number("INVIVO_KILLS_CASES").map_or(number, |cases| cases as usize);
            let seed = asked::number("INVIVO_KILLS_SEED").unwrap_or(SEED);
            Case::campaign(seed, &families).take(number).collect()
        }
    };
    let ended = hunted(cases);
    let is_late =
        |(case, outcome): &&(Case, Option<Outcome>)| outcome.is_some_and(|it| it.is_late(case));
    let late = ended.iter().filter(is_late).count();
    assert!(
        late <= LATE_MIN.max(ended.len() / LATE_ONE_IN),
        "{late} of {} reports of a rank's death have a part",
        ended.len()
    );
    let (mut tally, mut broken) = (Tally::default(), Vec::new());
    for (case, outcome) in &ended {
        match outcome {
            Some(outcome) => tally.count(case, *outcome),
            None => broken.push(format!("cargo xtask kills {case}\n")),
        }
    }
    for family in families {
        let cells = tally.column(family);
        for (kind, cell) in &cells {
            println!("{}, {kind}: {cell}", family.title());
        }
        if std::env::var_os("INVIVO_BLESS").is_some() {
            let cells: Vec<(&str, String)> = cells
                .iter()
                .map(|(kind, cell)| (kind.as_str(), cell.clone()))
                .collect();
            same_column(&Column {
                page: "reference/process-failures.md",
                rows: "process: signal",
                name: family.title(),
                cells: &cells,
            });
        }
    }
    assert!(
        broken.is_empty(),
        "{} of {} cases broke a promise:\n{}",
        broken.len(),
        ended.len(),
        broken.concat()
    );
}

#[test]
fn what_broke_a_promise_once_keeps_it() {
    let cases = ONCE_BROKEN.map(|(seed, family)| Case::of(seed, family));
    let ended = hunted(cases.to_vec());
    assert!(
        ended.iter().all(|(_, outcome)| outcome.is_some()),
        "{ended:?}"
    );
}

#[test]
fn some_random_kills_and_stops() {
    campaign(SOME);
}

#[test]
#[ignore = "half an hour"]
fn a_thousand_random_kills_and_stops() {
    campaign(1000);
}

#[test]
fn the_manual_has_every_kind_of_death() {
    let page = std::fs::read_to_string(root().join("docs/manual/reference/process-failures.md"))
        .expect("the page");
    for (victim, way) in Victim::ALL
        .iter()
        .flat_map(|victim| Way::ALL.map(|way| (*victim, way)))
    {
        let beginning = format!("| {} | ", row(victim, way));
        assert!(
            page.lines().any(|line| line.starts_with(&beginning)),
            "{beginning}"
        );
    }
}
