//! Random trees with every verb, with and without faults.

use invivo_proto::control::tree::{Order, Partial};
use invivo_sim::case::Case;
use invivo_sim::checker;
use invivo_sim::history::{Delivery, History};
use invivo_tbon::layout::Layout;
use invivo_tbon::root::Ask;

/// What the cases came upon: a simulator in which nothing goes wrong proves nothing.
#[derive(Debug, Default)]
struct Seen {
    layers_max: u32,
    several_hosts: u64,
    complete: u64,
    incomplete: u64,
    rows: u64,
    clipped: u64,
    resolved: u64,
    sent: u64,
    dropped_with_a_place: u64,
    acks_incomplete: u64,
    failures: u64,
    repeated: u64,
    id_taken: u64,
    excluded: u64,
    windows: u64,
    calls_in_windows: u64,
    ended_early: u64,
    cuts: u64,
    cuts_late: u64,
    clocks_compared: u64,
    clock_error_ns_max: u64,
    stood: u64,
    held: u64,
    came_back: u64,
    root_lost: u64,
    late: u64,
    garbage: u64,
}

impl Seen {
    fn note(&mut self, layout: &Layout, history: &History) {
        self.layers_max = self.layers_max.max(layout.layers().count() as u32);
        self.several_hosts += u64::from(layout.hosts() > 1);
        self.root_lost += history.root_lost.len() as u64;
        let commands = history
            .asks
            .iter()
            .filter(|asked| matches!(asked.what, Ask::Command { .. }));
        self.repeated += commands.count() as u64 - history.given.len() as u64;
        self.cuts += history.cuts_made.len() as u64;
        self.cuts_late += history.cuts_made.iter().filter(|cut| !cut.in_time).count() as u64;
        self.clocks_compared += history.clocks_compared;
        let errors = history.cuts_made.iter().map(|cut| cut.error_ns);
        let known = errors.filter(|&error| error < u64::MAX).max();
        self.clock_error_ns_max = self.clock_error_ns_max.max(known.unwrap_or(0));
        self.stood += history.stood.len() as u64;
        for ignored in history.ignored.values() {
            self.late += ignored.late;
            self.garbage += ignored.garbage;
        }
        let mut absent = std::collections::BTreeSet::new();
        let mut answers: Vec<_> = history.asks.iter().collect();
        answers.sort_by_key(|asked| asked.at);
        for asked in answers {
            for (_, delivery) in &asked.delivered {
                match (delivery, &asked.what) {
                    (
                        Delivery::Answer {
                            partial,
                            coverage,
                            missing,
                        },
                        _,
                    ) => {
                        *if missing.is_empty() {
                            &mut self.complete
                        } else {
                            &mut self.incomplete
                        } += 1;
                        self.came_back +=
                            absent.iter().filter(|who| !missing.contains(who)).count() as u64;
                        absent = missing.iter().copied().collect();
                        match partial {
                            Partial::Functions(table) => {
                                self.rows += table.rows.len() as u64;
                                self.clipped +=
                                    table.rows.values().map(|row| row.clipped).sum::<u64>();
                            }
                            Partial::Matrix(matrix) => self.resolved += matrix.sent.len() as u64,
                            Partial::Status(status) => self.held += u64::from(status.states[5]),
                            Partial::Messages(messages) => self.sent += messages.sent.messages,
                            _ => {}
                        }
                        let of_wave = history
                            .in_hand
                            .iter()
                            .filter(|((wave, _), _)| asked.wave == Some(*wave));
                        let entered: u64 =
                            of_wave.map(|(_, hand)| hand.coverage.ledger.entered).sum();
                        self.dropped_with_a_place += u64::from(coverage.ledger.entered > entered);
                    }
                    (Delivery::Acks(acks), Ask::Command { order, .. }) => {
                        self.acks_incomplete += u64::from(!acks.missing.is_empty());
                        self.failures += acks.failures.len() as u64;
                        let early = acks
                            .failures
                            .iter()
                            .any(|(_, why)| why.starts_with("ended by"));
                        self.ended_early += u64::from(early);
                        let whole = acks.done == acks.targets && acks.missing.is_empty();
                        if matches!(order, Order::Window { .. }) && whole {
                            self.windows += 1;
                            self.calls_in_windows += acks.clipped + acks.open;
                        }
                    }
                    (Delivery::Refused(_), _) if asked.is_excluded() => self.excluded += 1,
                    (Delivery::Refused(_), _) => self.id_taken += 1,
                    _ => {}
                }
            }
        }
    }
}

#[test]
fn every_tree_keeps_its_promises() {
    let mut seen = Seen::default();
    for case in (0..1000).map(Case::of_seed) {
        match checker::hold(&case) {
            Ok((layout, history)) => seen.note(&layout, &history),
            Err(failure) => panic!("{failure}"),
        }
    }
    println!("{seen:?}");
    let plenty = [
        seen.several_hosts,
        seen.complete,
        seen.incomplete,
        seen.rows,
        seen.clipped,
        seen.resolved,
        seen.sent,
        seen.failures,
        seen.repeated,
        seen.windows,
        seen.calls_in_windows,
        seen.cuts,
        seen.cuts_late,
        seen.stood,
        seen.root_lost,
        seen.late,
        seen.clocks_compared,
    ];
    assert!(plenty.iter().all(|&count| count > 200), "{seen:?}");
    let some = [
        seen.acks_incomplete,
        seen.dropped_with_a_place,
        seen.id_taken,
        seen.ended_early,
        seen.held,
        seen.came_back,
        seen.garbage,
        seen.excluded,
    ];
    assert!(some.iter().all(|&count| count > 25), "{seen:?}");
    assert!(
        seen.layers_max >= 6 && seen.clock_error_ns_max > 0,
        "{seen:?}"
    );
}

#[test]
fn whatever_several_clients_order_places_agree() {
    for case in (0..300).map(Case::of_clients) {
        if let Err(failure) = checker::hold(&case) {
            panic!("{failure}");
        }
    }
}

#[test]
fn the_same_case_runs_the_same_way() {
    for seed in 0..20 {
        let run = || {
            let (_, history) =
                checker::hold(&Case::of_seed(seed)).unwrap_or_else(|failure| panic!("{failure}"));
            format!("{history:?}")
        };
        assert_eq!(run(), run());
    }
}
