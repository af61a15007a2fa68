//! A simulated tool process: a machine of `tbon`, its driver's inbox and alarm, and a place if it has ranks.

use crate::agenda::Time;
use crate::case::Case;
use crate::law::SimLaw;
use crate::nonsense::Nonsense;
use crate::place::SimPlace;
use invivo_proto::control::tree::Acks;
use invivo_proto::ids::{CommandId, WorldRank};
use invivo_proto::record::Call;
use invivo_tbon::layout::Layout;
use invivo_tbon::node::{Node, Seat};
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
    /// One of a place's ranks is finished.
    Finished(usize),
    /// A place's supervisors have answered.
    Acted(CommandId, Acks),
    /// A child will not be heard again.
    Lost(WorldRank),
    /// Somebody asks the root.
    Ask(usize),
}

/// Which machine it runs.
#[derive(Debug)]
pub(super) enum Machine {
    Node(Node<SimLaw>),
    Root(Root<SimLaw>),
}

/// A tool process.
#[derive(Debug)]
pub(super) struct Process {
    pub machine: Machine,
    pub place: Option<SimPlace>,
    pub alive: bool,
    pub stalled: bool,
    /// What arrived while it stood still.
    pub inbox: VecDeque<Mail>,
    /// The alarm.
    pub ticks_at: Option<Time>,
    /// What it says in place of its next answer.
    pub nonsense: Option<Nonsense>,
}

impl Process {
    pub fn new(case: &Case, layout: &Layout, world: WorldRank) -> Process {
        let seat = Seat::of(layout, world).expect("every process behind the application is a tool");
        let law = SimLaw::new(case.plant);
        let place = seat.local.map(|_| SimPlace::new(case, layout, world));
        let machine = if world == layout.root() {
            Machine::Root(Root::new(0, seat, law))
        } else {
            Machine::Node(Node::new(0, seat, law))
        };
        Process {
            machine,
            place,
            alive: true,
            stalled: false,
            inbox: VecDeque::new(),
            ticks_at: None,
            nonsense: None,
        }
    }
}
