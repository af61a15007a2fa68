//! All tool processes of a job at once, the messages between them encoded as on a wire.

mod drivers;

use super::leaf::Leaf;
use super::round::Wave;
use super::world::World;
use crate::agenda::{Agenda, MS, Time};
use crate::clocks::HostClock;
use crate::machine::Machine;
use invivo_analysis::merge::Mismatch;
use invivo_proto::control::tree::{Acks, JobInfo, Order, Partial, Query, Up};
use invivo_proto::ids::{CommandId, WorldRank};
use invivo_tbon::job_time::UNKNOWN_NS;
use invivo_tbon::layout::Layout;
use invivo_tbon::node::{Input, Node, Position};
use invivo_tbon::root::{Ask, AskId, Root, RootInput};
use std::time::{Duration, Instant};

/// How long the clocks are measured before the first question: all first rounds, layer after layer.
const WARM_UP_NS: Time = 300 * MS;
/// How long an answer is waited for: longer than any time-out of the tree.
const PATIENCE_NS: Time = 30_000 * MS;

type MergeFn = fn(&mut Partial, Partial) -> Result<(), Mismatch>;

#[derive(Debug)]
enum Event {
    Down(usize, Vec<u8>),
    Up(usize, WorldRank, Vec<u8>),
    Tick(usize),
    /// The cut of a reset is due at a place.
    Due(usize, CommandId, u64),
}

impl Event {
    /// The process that it happens to.
    fn at(&self) -> usize {
        match *self {
            Event::Down(at, _) | Event::Up(at, ..) | Event::Tick(at) | Event::Due(at, ..) => at,
        }
    }
}

struct Process {
    machine: Machine<MergeFn>,
    clock: HostClock,
    leaf: Option<Leaf>,
    ticks_at: Option<Time>,
    /// Messages received since the last question.
    received: u32,
    /// What it has taken since then.
    took: Duration,
}

/// What the root gave back.
enum Given {
    Answer(Wave),
    Acks(Acks),
}

/// The tree, in the middle of its job.
pub struct Tree {
    layout: Layout,
    /// Their addresses, in the order of the processes.
    members: Vec<WorldRank>,
    world: World,
    processes: Vec<Process>,
    agenda: Agenda<Event>,
    present: Vec<u32>,
    given: Option<Given>,
    /// Bytes of partial results that came to the root since the last question.
    bytes_to_root: u64,
    /// Their rows, cells and named ranks.
    entries_to_root: u64,
    asks: u64,
}

impl Tree {
    /// Every member with the layout as it knows it, places first and the root last, every rank's
    /// calls made.
    pub fn plant(members: &[(WorldRank, Layout)], world: World) -> Tree {
        let &(root, layout) = members.last().expect("there is a root");
        let process = |&(me, layout): &(WorldRank, Layout)| {
            let position = Position::of(&layout, me).expect("every member is a tool");
            // Each process on a host of its own, no two of them alike; the root's is job time.
            let clock = HostClock::of(u64::from(position.process.0), 3_600_000, 25);
            let (merge, now) = (invivo_analysis::merge::merge as MergeFn, clock.local(0));
            let ranks = layout.ranks_at(me).filter(|_| position.local.is_some());
            let leaf = ranks.map(|ranks| Leaf::new(&world, ranks));
            let machine = if me == root {
                Machine::Root(Root::new(now, position, merge))
            } else {
                Machine::Node(Node::new(now, position, merge))
            };
            Process {
                machine,
                clock,
                leaf,
                ticks_at: None,
                received: 0,
                took: Duration::ZERO,
            }
        };

        Tree {
            processes: members.iter().map(process).collect(),
            members: members.iter().map(|(me, _)| *me).collect(),
            layout,
            world,
            agenda: Agenda::default(),
            present: Vec::new(),
            given: None,
            bytes_to_root: 0,
            entries_to_root: 0,
            asks: 0,
        }
    }

    /// Lets everybody say hello and learn the time; what went wrong.
    pub fn start(&mut self) -> Vec<String> {
        for at in 0..self.processes.len() {
            if let Some(leaf) = &self.processes[at].leaf {
                let hello = Up::Hello {
                    ranks: leaf.ranks(),
                };
                self.step(at, Input::Local(hello));
            }
            self.wind(at);
        }

        self.root(RootInput::Job(JobInfo::default()));
        // The first round trips to the parents: before them a cut would lie at an unknown time.
        self.run(WARM_UP_NS, |tree| {
            !tree.present.is_empty() && tree.agenda.now() >= WARM_UP_NS
        });
        if self.present == [self.world.ranks] {
            Vec::new()
        } else {
            vec![format!(
                "{} ranks: present are {:?}",
                self.world.ranks, self.present
            )]
        }
    }

    /// Asks a question.
    ///
    /// # Panics
    /// When it is not answered, which the machines promise.
    pub fn ask(&mut self, query: Query) -> Wave {
        match self.give(Ask::Query(query)) {
            Given::Answer(wave) => Wave {
                took: self.took(),
                ..wave
            },
            Given::Acks(acks) => unreachable!("a question answered by {acks:?}"),
        }
    }

    /// Gives the order to forget everything.
    ///
    /// # Panics
    /// When it is not answered, which the machines promise.
    pub fn reset(&mut self) -> Acks {
        let ask = Ask::Command {
            id: CommandId(1),
            order: Order::Reset,
        };
        match self.give(ask) {
            Given::Acks(acks) => acks,
            Given::Answer(wave) => unreachable!("a command answered by {wave:?}"),
        }
    }

    /// What is there still after a reset, a sentence each.
    pub fn nothing_is_left(&mut self) -> Vec<String> {
        let wave = self.ask(Query::Functions {
            rank_rows_max: 1,
            past: None,
        });
        match wave.partial {
            Partial::Functions(table) if table.rows.is_empty() && table.rank_rows_total == 0 => {
                Vec::new()
            }
            other => vec![format!(
                "{} ranks: left after a reset: {other:?}",
                self.world.ranks
            )],
        }
    }

    /// Calls that went through packets.
    pub fn calls_fed(&self) -> u64 {
        let leaves = self
            .processes
            .iter()
            .filter_map(|process| process.leaf.as_ref());
        leaves.map(|leaf| leaf.calls_fed).sum()
    }

    /// The largest clock error that a process states now, in ns.
    pub fn clock_error_ns(&self) -> u64 {
        let now = self.agenda.now();
        self.processes
            .iter()
            .map(|process| process.machine.clock_error_ns(process.clock.local(now)))
            .max()
            .unwrap_or(UNKNOWN_NS)
    }

    /// Processes whose idea of job time is off by more than they state, a sentence each.
    pub fn check_clocks(&self) -> Vec<String> {
        let now = self.agenda.now();
        let root = self
            .processes
            .last()
            .map(|root| root.clock.local(now))
            .unwrap_or(0);
        let wrong = self
            .processes
            .iter()
            .zip(&self.members)
            .filter_map(|(process, me)| {
                let local = process.clock.local(now);
                let (job, error) = (
                    process.machine.job_ns(local),
                    process.machine.clock_error_ns(local),
                );
                (job.abs_diff(root) > error).then(|| {
                    format!("process {me} takes {root} ns of job time for {job}, within {error}")
                })
            });
        // A wrong clock high in the tree makes thousands below it wrong.
        wrong.take(3).collect()
    }

    fn give(&mut self, what: Ask) -> Given {
        for process in &mut self.processes {
            (process.received, process.took) = (0, Duration::ZERO);
        }
        (self.bytes_to_root, self.entries_to_root, self.given) = (0, 0, None);
        self.asks += 1;
        let begun = Instant::now();
        self.root(RootInput::Ask {
            ask: AskId(self.asks),
            what,
        });
        if let Some(root) = self.processes.last_mut() {
            root.took += begun.elapsed();
        }
        let until = self.agenda.now() + PATIENCE_NS;
        self.run(until, |tree| tree.given.is_some());
        self.given.take().expect("every ask is answered")
    }
}
