//! The root: a node without a parent, and the clients that ask in its place.

use crate::limits::{ASKERS_MAX, COMMANDS_MAX, HEARTBEAT_NS, WAVES_MAX};
use crate::merge::Merge;
use crate::node::{Action, Ignored, Input, Node, Position};
use crate::orders::{self, Epochs, Orders};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use invivo_proto::control::analyses::AnalysisSet;
use invivo_proto::control::fault::RankFaulted;
use invivo_proto::control::results::{Coverage, Group};
use invivo_proto::control::tree::{
    Acks, Command, Down, JobInfo, Order, Partial, Query, RankEnded, Up,
};
use invivo_proto::control::whereabouts::Whereabouts;
use invivo_proto::ids::{CommId, CommandId, WaveId, WorldRank};

/// Who asked: a number of the driver's choice, given back with the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AskId(pub u64);

/// What can be asked from above.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// A question to the tree.
    Query(Query),
    /// A command to the ranks.
    Command {
        /// The same id twice is the same command.
        id: CommandId,
        /// What to do; the root fixes when.
        order: Order,
    },
}

/// What can happen to the root.
#[derive(Clone, Debug, PartialEq)]
pub enum RootInput {
    /// The identity of the job: the first message down.
    Job(JobInfo),
    /// The analyses that are on from the start, before [`RootInput::Job`].
    Analyses(AnalysisSet),
    /// Somebody asks.
    Ask {
        /// Who.
        ask: AskId,
        what: Ask,
    },
    /// Let the supervisors of the ended ranks leave.
    Release,
    /// Let every tool process leave.
    Shutdown,
    /// A message of a child.
    Up { from: WorldRank, message: Up },
    /// Time passes. Before a tick, hand in everything that has arrived.
    Tick,
    /// There is no more time: what was asked is answered with what has come.
    Enough,
    /// A child's message cannot be read.
    Garbage(WorldRank),
}

/// What the driver has to do for the root.
#[derive(Clone, Debug, PartialEq)]
pub enum RootAction {
    /// Send to a child.
    Down { to: WorldRank, message: Down },
    /// A question is answered.
    Answer {
        /// Who asked.
        ask: AskId,
        /// The merged answer.
        partial: Partial,
        /// How much of the truth it is.
        coverage: Coverage,
        /// Tool processes that did not answer, the lowest of them; the coverage counts them all.
        missing: Vec<WorldRank>,
    },
    /// A command is over.
    Acked {
        /// Who asked.
        ask: AskId,
        /// How it went.
        acks: Acks,
    },
    /// What was asked cannot be done.
    Refused {
        /// Who asked.
        ask: AskId,
        refusal: Refusal,
    },
    /// Every member is there: said once.
    Present {
        /// Ranks of the job.
        ranks: u32,
    },
    /// Where a thread was that ended its rank: right before that is said.
    RankFaulted(Box<RankFaulted>),
    /// A rank ended otherwise than through `MPI_Finalize`.
    RankEnded(RankEnded),
    /// Every rank has drained or ended: said once. Run the last waves now.
    Drained,
}

/// Why the root does not do what was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// [`WAVES_MAX`] questions are under way.
    TooManyWaves,
    /// [`COMMANDS_MAX`] commands are under way.
    TooManyCommands,
    /// [`ASKERS_MAX`] askers wait for this command.
    TooManyAskers { id: CommandId },
    /// The id belongs to a command that does something else.
    IdTaken { id: CommandId },
    /// A window is being recorded, and nothing else may forget or begin one meanwhile: which places
    /// would still refuse and which not would depend on how far each has come.
    Window {
        /// The command that records it.
        id: CommandId,
    },
    /// The measurement is being shut down already.
    ShuttingDown {
        /// The command that does so.
        id: CommandId,
    },
    /// The measurement is being shut down.
    ShutDown,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::TooManyWaves => {
                write!(
                    f,
                    "{WAVES_MAX} questions are being answered already; ask again when one of them \
                     is"
                )
            }
            Refusal::TooManyCommands => {
                write!(
                    f,
                    "{COMMANDS_MAX} commands are under way already; ask again when one of them is \
                     done"
                )
            }
            Refusal::TooManyAskers { id } => {
                write!(
                    f,
                    "{ASKERS_MAX} requests wait for command {id} already; wait for its end"
                )
            }
            Refusal::IdTaken { id } => {
                write!(
                    f,
                    "command {id} was given before and does something else; choose a new id"
                )
            }
            Refusal::Window { id } => {
                write!(
                    f,
                    "command {id} is recording a window; wait for its end, or end it early with \
                     `record off`"
                )
            }
            Refusal::ShuttingDown { id } => {
                write!(
                    f,
                    "command {id} is shutting the measurement down already; wait for its end"
                )
            }
            Refusal::ShutDown => {
                f.write_str("the measurement is over; nothing can be asked any more")
            }
        }
    }
}

impl core::error::Error for Refusal {}

#[derive(Clone, Debug)]
pub struct Root<M> {
    node: Node<M>,
    next_wave: u64,
    /// Who asked for a wave under way; at most [`WAVES_MAX`].
    waves: BTreeMap<WaveId, AskId>,
    /// Who waits for a command under way; at most [`COMMANDS_MAX`] lists of [`ASKERS_MAX`].
    commands: BTreeMap<CommandId, Vec<AskId>>,
    orders: Orders,
    epochs: Epochs,
    height: u32,
    next_beat_ns: u64,
    closed: bool,
}

impl<M: Merge> Root<M> {
    /// The root at its position.
    pub fn new(now_ns: u64, position: Position, merge: M) -> Root<M> {
        Root {
            height: position.height,
            node: Node::root(now_ns, position, merge),
            next_wave: 0,
            waves: BTreeMap::new(),
            commands: BTreeMap::new(),
            orders: Orders::default(),
            epochs: Epochs::new(true),
            next_beat_ns: now_ns,
            closed: false,
        }
    }

    /// The members of a communicator, as far as they were told.
    pub fn group(&self, id: CommId) -> Option<&Group> {
        self.node.group(id)
    }

    /// In a process that runs here, of which its children are told.
    pub fn located(mut self, here: Whereabouts) -> Root<M> {
        self.node = self.node.located(here);
        self
    }

    /// Whether something is under way, or came lately; see [`Node::is_alert`].
    pub fn is_alert(&self, now_ns: u64) -> bool {
        self.node.is_alert(now_ns)
    }

    /// Whether all children can wake this process.
    pub fn is_woken_by_all(&self) -> bool {
        self.node.is_woken_by_all()
    }

    /// A child's process, where it can be woken from here.
    pub fn child_pid(&self, child: WorldRank) -> Option<u32> {
        self.node.child_pid(child)
    }

    /// Ranks of the job.
    pub fn ranks(&self) -> u32 {
        self.node.ranks()
    }

    /// What was ignored so far.
    pub fn ignored(&self) -> Ignored {
        self.node.ignored()
    }

    /// What is wrong with the members, as sentences; every status carries them.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        self.node.notes()
    }

    /// When [`RootInput::Tick`] is needed next, if nothing else happens before.
    pub fn next_tick_ns(&self) -> Option<u64> {
        let beat = (!self.closed).then_some(self.next_beat_ns);
        self.node.next_tick_ns().into_iter().chain(beat).min()
    }

    /// Lets something happen; what the driver then has to do, in order. `now_ns` never runs back.
    pub fn step(&mut self, now_ns: u64, input: RootInput) -> Vec<RootAction> {
        let mut out = Vec::new();
        // With every input and not only with ticks: a busy root must not fall silent.
        if !self.closed && now_ns >= self.next_beat_ns {
            self.next_beat_ns = now_ns.saturating_add(HEARTBEAT_NS);
            self.pass(now_ns, Input::Down(Down::Heartbeat), &mut out);
        }

        match input {
            RootInput::Ask { ask, what } => {
                if let Err(refusal) = self.ask(now_ns, ask, what, &mut out) {
                    out.push(RootAction::Refused { ask, refusal });
                }
            }
            RootInput::Job(job) => {
                self.epochs = Epochs::new(job.recording);
                self.pass(now_ns, Input::Down(Down::Job(job)), &mut out);
            }
            RootInput::Analyses(on) => {
                self.pass(now_ns, Input::Down(Down::Analyses(on)), &mut out);
            }
            RootInput::Release => self.pass(now_ns, Input::Down(Down::Release), &mut out),
            RootInput::Shutdown => self.shut_down(now_ns, &mut out),
            RootInput::Up { from, message } => {
                self.pass(now_ns, Input::Up { from, message }, &mut out)
            }
            RootInput::Tick => self.pass(now_ns, Input::Tick, &mut out),
            RootInput::Enough => self.pass(now_ns, Input::Enough, &mut out),
            RootInput::Garbage(child) => self.pass(now_ns, Input::Garbage(child), &mut out),
        }

        out
    }

    fn ask(
        &mut self,
        now_ns: u64,
        ask: AskId,
        what: Ask,
        out: &mut Vec<RootAction>,
    ) -> Result<(), Refusal> {
        if self.closed {
            return Err(Refusal::ShutDown);
        }

        match what {
            Ask::Query(query) => {
                if self.node.waves_full() {
                    return Err(Refusal::TooManyWaves);
                }
                let wave = WaveId(self.next_wave);
                self.next_wave += 1;
                // Before the node is asked: where no member is awake, the answer comes within this
                // step.
                self.waves.insert(wave, ask);
                self.pass(now_ns, Input::Down(Down::Query { wave, query }), out);
            }
            Ask::Command { id, order } => {
                let known = self.node.knows(id);
                let cut_ns = now_ns.saturating_add(orders::ahead_ns(self.height));
                // A command that is known already keeps the cut and the epoch that it has.
                let mut epochs = self.epochs;
                let epoch = epochs.after(&order);
                let Some(verb) = order.clone().at(cut_ns, epoch) else {
                    // The members have nothing to do for it.
                    let acks = Acks {
                        targets: self.ranks(),
                        done: self.ranks(),
                        ..Acks::default()
                    };
                    out.push(RootAction::Acked { ask, acks });
                    return Ok(());
                };
                self.admit(ask, id, &order, known)?;
                if !known {
                    self.epochs = epochs;
                }
                self.pass(
                    now_ns,
                    Input::Down(Down::Command(Command { id, verb })),
                    out,
                );
            }
        }

        Ok(())
    }

    /// Lets `ask` wait for a command, new or not.
    fn admit(
        &mut self,
        ask: AskId,
        id: CommandId,
        order: &Order,
        known: bool,
    ) -> Result<(), Refusal> {
        if known && self.orders.is_taken(id, order) {
            return Err(Refusal::IdTaken { id });
        }

        // Otherwise the node would cut the oldest command short.
        if !known && self.node.commands_full() {
            return Err(Refusal::TooManyCommands);
        }

        if !known {
            self.excludes(order)?;
        }
        let askers = self.commands.entry(id).or_default();
        if askers.len() >= ASKERS_MAX {
            return Err(Refusal::TooManyAskers { id });
        }

        // A repeated id waits for the same acknowledgement as the first.
        askers.push(ask);
        if !known {
            self.orders
                .remember(id, order.clone(), |id| self.node.knows(id));
        }

        Ok(())
    }

    /// Refuses what cannot go beside a command under way.
    fn excludes(&self, order: &Order) -> Result<(), Refusal> {
        let under_way = |is_such: fn(&Order) -> bool| {
            self.orders
                .such(is_such)
                .find(|&id| self.node.is_under_way(id))
        };

        let refusal = match order {
            Order::Reset | Order::Window { .. } => {
                under_way(|order| matches!(order, Order::Window { .. }))
                    .map(|id| Refusal::Window { id })
            }
            Order::Shutdown => {
                under_way(|order| *order == Order::Shutdown).map(|id| Refusal::ShuttingDown { id })
            }
            Order::Pause { .. }
            | Order::Resume
            | Order::Hold { .. }
            | Order::Record { .. }
            | Order::Strategy { .. }
            | Order::Analyses { .. }
            | Order::Sampling { .. }
            | Order::Select(_)
            | Order::Metrics(_)
            | Order::Overhead { .. } => None,
        };

        refusal.map_or(Ok(()), Err)
    }

    /// Refuses all askers that still wait.
    fn shut_down(&mut self, now_ns: u64, out: &mut Vec<RootAction>) {
        self.closed = true;
        // The tree answers nothing after the shutdown, so nobody may be left waiting.
        let waves = core::mem::take(&mut self.waves).into_values();
        let commands = core::mem::take(&mut self.commands).into_values().flatten();
        out.extend(waves.chain(commands).map(|ask| RootAction::Refused {
            ask,
            refusal: Refusal::ShutDown,
        }));
        self.pass(now_ns, Input::Down(Down::Shutdown), out);
    }

    /// Lets something happen to the node, and takes what it would send to a parent.
    fn pass(&mut self, now_ns: u64, input: Input, out: &mut Vec<RootAction>) {
        for action in self.node.step(now_ns, input) {
            match action {
                Action::Down { to, message } => out.push(RootAction::Down { to, message }),
                Action::Up(message) => self.arrive(message, out),
                // The root has no ranks of its own, and cannot lose itself.
                Action::Local(_) | Action::RootLost => {}
            }
        }
    }

    fn arrive(&mut self, message: Up, out: &mut Vec<RootAction>) {
        match message {
            Up::Partial {
                wave,
                partial,
                coverage,
                missing,
            } => {
                if let Some(ask) = self.waves.remove(&wave) {
                    out.push(RootAction::Answer {
                        ask,
                        partial,
                        coverage,
                        missing,
                    });
                }
            }
            Up::Ack { command, acks } => {
                let askers = self.commands.remove(&command).unwrap_or_default();
                out.extend(askers.into_iter().map(|ask| RootAction::Acked {
                    ask,
                    acks: acks.clone(),
                }));
            }
            Up::Hello { ranks } => out.push(RootAction::Present { ranks }),
            Up::RankFaulted(faulted) => out.push(RootAction::RankFaulted(faulted)),
            Up::RankEnded(ended) => out.push(RootAction::RankEnded(ended)),
            Up::Drained => out.push(RootAction::Drained),
            // The root's node answers these itself.
            Up::Groups(_) | Up::WantGroups(_) | Up::WhatTime { .. } => {}
        }
    }
}
