//! Injects faults: which tool process dies, stalls or sends garbage, and when.
//!
//! Members of the tree in one process die and stand still together.

use crate::agenda::{MS, SECOND, Time};
use crate::case::{Case, stream};
use crate::nonsense::Nonsense;
use invivo_proto::ids::WorldRank;
use invivo_tbon::layout::{Layout, Role};
use invivo_tbon::limits::GONE_NS;

/// What is wrong with a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ailment {
    /// It dies; nobody is told.
    Death,
    /// It stands still until this time, and then goes on with what has come meanwhile.
    Stall {
        /// When it goes on.
        until: Time,
    },
    /// It sends nonsense once.
    Garble(Nonsense),
}

/// One thing that goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    pub who: WorldRank,
    pub at: Time,
    pub what: Ailment,
}

impl Fault {
    /// Whether it can keep an answer back that was asked for at `from` and given at `to`, where it
    /// takes `settle` until a process that has come back is heard.
    pub fn touches(&self, from: Time, to: Time, settle: Time) -> bool {
        let ends = match self.what {
            Ailment::Stall { until } => until + settle,
            // Nonsense waits for its victim's next answer.
            Ailment::Death | Ailment::Garble(_) => Time::MAX,
        };
        self.at <= to && from <= ends
    }
}

/// The faults of a case.
pub fn plan(case: &Case, layout: &Layout) -> Vec<Fault> {
    let mut rng = stream(case.seed, "faults");
    let of_root = layout.process_of(layout.root());
    let victims: Vec<WorldRank> = (0..layout.members())
        .map(WorldRank)
        .filter(|&world| {
            // The root is no victim here: its death ends the job and is a parameter of its own.
            matches!(
                layout.role(world),
                Some(Role::Place { .. } | Role::Node { .. })
            ) && layout.process_of(world) != of_root
        })
        .collect();
    let mut faults = Vec::new();
    let mut fault = |count, ail: fn(&mut fastrand::Rng, Time) -> Ailment| {
        // With one tool process on one host there is none but the root's.
        let count = if victims.is_empty() { 0 } else { count };
        for _ in 0..count {
            let at = rng.u64(..4 * SECOND);
            let who = victims[rng.usize(..victims.len())];
            let what = ail(&mut rng, at);
            let hit = together(layout, who, what).into_iter();
            faults.extend(hit.map(|who| Fault { who, at, what }));
        }
    };

    fault(case.deaths, |_, _| Ailment::Death);
    fault(case.stalls, |rng, at| Ailment::Stall {
        // One in eight is so long that what the process held is given up before it comes back.
        until: at
            + match rng.u32(..8) {
                0 => rng.u64(GONE_NS + 2 * SECOND..GONE_NS + 5 * SECOND),
                _ => rng.u64(MS..6 * SECOND),
            },
    });
    fault(case.garbles, |rng, _| {
        Ailment::Garble(Nonsense::ALL[rng.usize(..Nonsense::ALL.len())])
    });
    if case.root_dies {
        let (at, what) = (rng.u64(..4 * SECOND), Ailment::Death);
        let dead = together(layout, layout.root(), what).into_iter();
        faults.extend(dead.map(|who| Fault { who, at, what }));
    }

    faults
}

/// The members that a fault of one of them hits: nonsense is a member's own.
fn together(layout: &Layout, who: WorldRank, what: Ailment) -> Vec<WorldRank> {
    let process = layout.process_of(who).unwrap_or(who);
    let members = layout.roles(process).map(|(address, _)| address);
    let alone = matches!(what, Ailment::Garble(_));
    members.filter(|&member| !alone || member == who).collect()
}
