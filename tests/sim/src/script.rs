//! The script of a case: questions and commands from above, and their times.

use crate::agenda::{MS, SECOND, Time};
use crate::case::{Case, stream};
use fastrand::Rng;
use invivo_proto::control::analyses::{ANALYSES, Analysis, AnalysisSet};
use invivo_proto::control::selection::{Fits, Rule, Selection};
use invivo_proto::control::tree::{Order, Query};
use invivo_proto::ids::CommandId;
use invivo_tbon::limits::GONE_NS;
use invivo_tbon::root::Ask;

/// When the last ask comes at the latest.
pub const SCRIPT_NS: Time = 5 * SECOND;
/// Two clients' commands that may reach places on different sides of a cut.
const CLOSE_NS: Time = 200 * MS;
/// The longest lease: pauses must end long before the simulator gives up.
pub const LEASE_NS_MAX: Time = SECOND;

/// The asks of a case with their times.
pub fn plan(case: &Case) -> Vec<(Time, Ask)> {
    let mut rng = stream(case.seed, "script");
    let mut asks = Vec::new();
    for _ in 0..case.questions {
        let query = match rng.u32(..6) {
            0 => Query::Functions {
                rank_rows_max: [0, 3, 1000][rng.usize(..3)],
                past: None,
            },
            1 => Query::Functions {
                rank_rows_max: 0,
                past: None,
            },
            2 => Query::Matrix {
                side_max: [1, 7, 64][rng.usize(..3)],
                past: None,
            },
            3 => Query::Messages { past: None },
            4 => Query::Analyses,
            _ => Query::Status,
        };
        asks.push((rng.u64(..SCRIPT_NS), Ask::Query(query)));
    }

    if case.stalls > 0 {
        // When the longest of them is taken for gone.
        asks.push((
            rng.u64(GONE_NS + SECOND..GONE_NS + 6 * SECOND),
            Ask::Query(Query::Status),
        ));
    }

    let mut given: Vec<(Time, CommandId, Order)> = Vec::new();
    for id in 0..case.commands {
        let mut within = SCRIPT_NS / 2;
        let (after, id, what) = match given.get(rng.usize(..given.len().max(1))) {
            // One in five repeats an earlier one, at once or later; some of these with another
            // order by mistake.
            Some(&(at, id, ref earlier)) if rng.u32(..5) == 0 => {
                let what = if rng.u32(..4) == 0 {
                    order(&mut rng)
                } else {
                    earlier.clone()
                };
                (at, id, what)
            }
            // One in three of the others comes close behind an earlier one, as another client's
            // does.
            Some(&(at, ..)) if rng.u32(..3) == 0 => {
                within = CLOSE_NS;
                (at, CommandId(u64::from(id)), order(&mut rng))
            }
            _ => (
                rng.u64(..SCRIPT_NS / 2),
                CommandId(u64::from(id)),
                order(&mut rng),
            ),
        };
        given.push((after + rng.u64(..within), id, what));
    }

    asks.extend(
        given
            .into_iter()
            .map(|(at, id, order)| (at, Ask::Command { id, order })),
    );
    asks
}

fn order(rng: &mut Rng) -> Order {
    let lease_ns = rng.u64(1..LEASE_NS_MAX);
    match rng.u32(..25) {
        0..4 => Order::Pause { lease_ns },
        4..7 => Order::Resume,
        7 => Order::Hold { lease_ns },
        8..11 => Order::Reset,
        11..13 => Order::Record { on: false },
        13..15 => Order::Record { on: true },
        15..19 => Order::Window {
            length_ns: rng.u64(MS..SECOND),
        },
        19..22 => Order::Analyses {
            these: AnalysisSet::of(Analysis::ALL[rng.usize(..ANALYSES)]),
            on: rng.bool(),
        },
        22..24 => Order::Select(selection(rng)),
        _ => Order::Shutdown,
    }
}

/// A rule, alone or behind those in force.
fn selection(rng: &mut Rng) -> Selection {
    let rule = Rule {
        include: rng.bool(),
        fits: Fits::Name("tiny_*".to_owned()),
    };
    Selection {
        replaces: rng.bool(),
        rules: vec![rule],
    }
}
