//! Random kills and stops of every process of a job, at random moments.
//!
//! `cargo xtask kills` runs other campaigns than these two, and single cases again. The manual's
//! table of process failures is what a campaign finds: `INVIVO_BLESS=1` writes it.

use invivo_e2e::campaign;
use invivo_e2e::job::turn;
use invivo_e2e::kills::case::{Case, Fault};
use invivo_e2e::kills::outcome::Outcome;
use invivo_e2e::kills::outcome_table::{OutcomeTable, row};
use invivo_e2e::kills::run;
use invivo_e2e::kills::target::Target;
use invivo_e2e::manual::{self, Column, PROCESS_FAILURES, same_column};
use invivo_e2e::mpi::Family;
use invivo_e2e::remarks::remark;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::thread::{available_parallelism, scope};
use std::time::Instant;

/// The seed of the cases, unless another is set.
const SEED: u64 = 1;

/// Cases of the short campaign.
const SOME: usize = 40;
/// Of so many cases one report may be late, see [`Outcome::is_late`].
const LATE_ONE_IN: usize = 100;
/// Reports that may be late in a short campaign.
const LATE_MIN: usize = 3;

/// Cases that broke a promise once: a root that died in `MPI_Init` while all others waited for it
/// there, a root's supervisor that got SIGTERM and left them waiting, a root that got SIGTERM and
/// made a report that did not say that it was not complete.
const REGRESSIONS: [(u64, Family); 4] = [
    (1_037_355_545, Family::Ompi),
    (2_694_071_413, Family::Mpich),
    (3_359_879_671, Family::Mpich),
    (2_649_710_410, Family::Ompi),
];

/// Runs all cases, as many at the same time as there are cores, because most of their time is
/// waiting. Returns their outcomes; `None` where a promise did not hold.
fn outcomes(cases: Vec<Case>) -> Vec<(Case, Option<Outcome>)> {
    let _turn = turn();
    let workers = available_parallelism().map_or(1, NonZeroUsize::get);
    let (left, ended) = (Mutex::new(cases.into_iter()), Mutex::new(Vec::new()));
    let next = || left.lock().expect("the cases").next();
    let worker = || {
        while let Some(case) = next() {
            let begun = Instant::now();
            // A case that breaks a promise panics; the campaign goes on and counts it.
            let outcome = catch_unwind(AssertUnwindSafe(|| run::run(&case))).ok();
            let words = outcome.map_or_else(|| "BROKEN".to_owned(), |outcome| outcome.to_string());
            println!("{case}: {words} ({:.1} s)", begun.elapsed().as_secs_f64());
            ended.lock().expect("the outcomes").push((case, outcome));
        }
    };

    scope(|scope| {
        for _ in 0..workers {
            scope.spawn(worker);
        }
    });
    ended.into_inner().expect("the outcomes")
}

/// Runs so many cases, unless variables say which; the message at the end names those that broke a
/// promise.
fn campaign(number: usize) {
    let families = campaign::families("INVIVO_KILLS_MPI", &Family::ALL);
    let cases: Vec<Case> = match campaign::number("INVIVO_KILLS_CASE") {
        Some(seed) => families
            .iter()
            .map(|family| Case::of(seed, *family))
            .collect(),
        None => {
            let number =
                campaign::number("INVIVO_KILLS_CASES").map_or(number, |cases| cases as usize);
            let seed = campaign::number("INVIVO_KILLS_SEED").unwrap_or(SEED);
            Case::campaign(seed, &families).take(number).collect()
        }
    };

    let ended = outcomes(cases);
    let is_late =
        |(case, outcome): &&(Case, Option<Outcome>)| outcome.is_some_and(|it| it.is_late(case));
    let late = ended.iter().filter(is_late).count();
    assert!(
        late <= LATE_MIN.max(ended.len() / LATE_ONE_IN),
        "{late} of {} reports of a rank's death have a part",
        ended.len()
    );

    remark(&format!("{} cases, {late} reports were late", ended.len()));

    let (mut table, mut broken) = (OutcomeTable::default(), Vec::new());
    for (case, outcome) in &ended {
        match outcome {
            Some(outcome) => table.count(case, *outcome),
            None => broken.push(format!("cargo xtask kills {case}\n")),
        }
    }

    for family in families {
        let cells = table.column(family);
        for (kind, cell) in &cells {
            println!("{}, {kind}: {cell}", family.title());
        }
        if manual::is_to_be_written() {
            let cells: Vec<(&str, String)> = cells
                .iter()
                .map(|(kind, cell)| (kind.as_str(), cell.clone()))
                .collect();
            same_column(&Column {
                page: PROCESS_FAILURES,
                rows: "process: signal",
                name: family.title(),
                cells: &cells,
            });
        }
    }

    // Last, so that the table of a campaign with broken cases is printed all the same.
    assert!(
        broken.is_empty(),
        "{} of {} cases broke a promise:\n{}",
        broken.len(),
        ended.len(),
        broken.concat()
    );
}

#[test]
fn cases_that_broke_a_promise_once_keep_it() {
    let cases = REGRESSIONS.map(|(seed, family)| Case::of(seed, family));
    let ended = outcomes(cases.to_vec());
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
fn the_manual_has_every_target_and_fault() {
    let page = manual::text(PROCESS_FAILURES);
    for (target, fault) in Target::ALL
        .iter()
        .flat_map(|target| Fault::ALL.map(|fault| (*target, fault)))
    {
        let beginning = format!("| {} | ", row(target, fault));
        assert!(
            page.lines().any(|line| line.starts_with(&beginning)),
            "{beginning}"
        );
    }
}
