//! Thousands of random trees, with and without faults.

use invivo_proto::control::tree::Partial;
use invivo_sim::case::Case;
use invivo_sim::history::{Delivery, History};
use invivo_sim::{checker, simulation};
use invivo_tbon::layout::Layout;

/// What the cases came upon: a simulator in which nothing goes wrong proves nothing.
#[derive(Debug, Default)]
struct Seen {
    layers_max: u32,
    complete: u64,
    incomplete: u64,
    rows: u64,
    dropped_with_a_place: u64,
    acks_incomplete: u64,
    repeated: u64,
    root_lost: u64,
    late: u64,
    garbage: u64,
    strangers: u64,
}

impl Seen {
    fn note(&mut self, layout: &Layout, history: &History) {
        self.layers_max = self.layers_max.max(layout.layers().count() as u32);
        self.root_lost += history.root_lost.len() as u64;
        self.repeated += history.asks.iter().filter(|asked| asked.wave.is_none()).count() as u64
            - history.command_order.len() as u64;
        for ignored in history.ignored.values() {
            self.late += ignored.late;
            self.garbage += ignored.garbage;
            self.strangers += ignored.strangers;
        }
        for asked in &history.asks {
            for (_, delivery) in &asked.delivered {
                match delivery {
                    Delivery::Answer {
                        partial,
                        coverage,
                        missing,
                    } => {
                        *if missing.is_empty() {
                            &mut self.complete
                        } else {
                            &mut self.incomplete
                        } += 1;
                        if let Partial::Functions(table) = partial {
                            self.rows += table.rows.len() as u64;
                        }
                        let of_wave = history
                            .in_hand
                            .iter()
                            .filter(|((wave, _), _)| asked.wave == Some(*wave));
                        let entered: u64 = of_wave.map(|(_, hand)| hand.coverage.ledger.entered).sum();
                        self.dropped_with_a_place += u64::from(coverage.ledger.entered > entered);
                    }
                    Delivery::Acks(acks) => self.acks_incomplete += u64::from(!acks.missing.is_empty()),
                    Delivery::Refused(_) => {}
                }
            }
        }
    }
}

fn run(case: &Case) -> (Layout, History, Vec<String>) {
    let (layout, history) = simulation::run(case, false).expect("a random case has a tree");
    let violations = checker::violations(case, &layout, &history);
    (layout, history, violations)
}

fn hold(seeds: std::ops::Range<u64>) -> Seen {
    let mut seen = Seen::default();
    for case in seeds.map(Case::of_seed) {
        let (layout, history, violations) = run(&case);
        if !violations.is_empty() {
            let smallest = case.shrunk(|case| !run(case).2.is_empty());
            let why = run(&smallest).2.join("\n  ");
            panic!("\n  {why}\nrerun with\n  {smallest}\nwhich was shrunk from\n  {case}\n");
        }
        seen.note(&layout, &history);
    }
    seen
}

#[test]
fn every_tree_keeps_its_promises() {
    let seen = hold(0..4000);
    println!("{seen:?}");
    let plenty = [
        seen.complete,
        seen.incomplete,
        seen.rows,
        seen.repeated,
        seen.root_lost,
        seen.late,
        seen.garbage,
    ];
    assert!(plenty.iter().all(|&count| count > 500), "{seen:?}");
    let some = [seen.acks_incomplete, seen.dropped_with_a_place, seen.strangers];
    assert!(some.iter().all(|&count| count > 50), "{seen:?}");
    assert!(seen.layers_max >= 6, "{seen:?}");
}

#[test]
fn the_same_case_runs_the_same_way() {
    for seed in 0..20 {
        let case = Case::of_seed(seed);
        assert_eq!(format!("{:?}", run(&case).1), format!("{:?}", run(&case).1));
    }
}
