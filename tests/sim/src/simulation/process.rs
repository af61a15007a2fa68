//! A simulated tool process: a machine of `tbon`, its host's clock, its driver's inbox and alarm,
//! and a place if it has ranks.

use crate::agenda::Time;
use crate::case::Case;
use crate::clocks::HostClock;
use crate::machine::Machine;
use crate::merge::SimMerge;
use crate::nonsense::Nonsense;
use crate::place::{Moment, Reply, SimPlace};
use crate::plant::Plant;
use invivo_proto::control::whereabouts::Whereabouts;
use invivo_proto::ids::WorldRank;
use invivo_proto::record::Call;
use invivo_tbon::layout::Layout;
use invivo_tbon::node::{Node, Position};
use invivo_tbon::root::Root;
use std::collections::VecDeque;

/// What reaches a process.
#[derive(Debug)]
pub(super) enum Mail {
    /// A message from the parent, encoded.
    Down(Vec<u8>),
    /// A message from a child, encoded.
    Up(WorldRank, Vec<u8>),
    /// Records of one of a place's ranks.
    Packet(usize, Vec<Call>),
    /// One of a place's ranks came to its gate.
    Stood,
    /// One of a place's ranks is finished.
    Finished(usize),
    /// A place's supervisors have answered.
    Acted(Box<Reply>),
    /// A place's cut is due.
    Due,
    /// Somebody asks the root.
    Ask(usize),
}

/// A tool process.
#[derive(Debug)]
pub(super) struct Process {
    pub machine: Machine<SimMerge>,
    pub clock: HostClock,
    pub place: Option<SimPlace>,
    pub alive: bool,
    pub stalled: bool,
    /// Until when; stalls may overlap.
    pub stalled_until: Time,
    /// What arrived while it stood still.
    pub inbox: VecDeque<Mail>,
    /// The alarm.
    pub ticks_at: Option<Time>,
    /// When its next cut is due.
    pub due_at: Option<Time>,
    /// What it says in place of its next answer.
    pub nonsense: Option<Nonsense>,
}

impl Process {
    pub fn new(case: &Case, layout: &Layout, world: WorldRank) -> Process {
        let position =
            Position::of(layout, world).expect("every process behind the application is a tool");
        let merge = SimMerge::new(case.plant);
        let host = u64::from(layout.host_of(world).unwrap_or(0));
        // By host: processes of one node share its clock.
        let clock = HostClock::of(case.seed ^ host << 32, case.offset_ms, case.drift_ppm);
        let place = position
            .local
            .map(|_| SimPlace::new(case, layout, world, &clock));
        let here = Whereabouts {
            system: u128::from(host) + 1,
            time_space: 1,
            ..Whereabouts::default()
        };
        let now = clock.local(0);
        let machine = if world == layout.root() {
            Machine::Root(Root::new(now, position, merge).located(here))
        } else {
            Machine::Node(Node::new(now, position, merge).located(here))
        };

        Process {
            machine,
            clock,
            place,
            alive: true,
            stalled: false,
            stalled_until: 0,
            inbox: VecDeque::new(),
            ticks_at: None,
            due_at: None,
            nonsense: None,
        }
    }

    /// This moment, as the process knows it.
    pub fn moment(&self, time: Time, plant: Option<Plant>) -> Moment {
        let local = self.clock.local(time);
        let own_time = plant == Some(Plant::OwnTime);
        Moment {
            time,
            local,
            job_ns: if own_time {
                local
            } else {
                self.machine.job_ns(local)
            },
            error_ns: if own_time {
                0
            } else {
                self.machine.clock_error_ns(local)
            },
        }
    }
}
