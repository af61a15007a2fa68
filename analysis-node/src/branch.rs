//! An inner node of the tree: merges its children's answers, and passes on its parent's messages.
//!
//! It has no gateway and reports to nobody but its parent. Knows no MPI and no clock: its role
//! carries messages and passes the time.

use crate::self_stats::SelfStats;
use invivo_analysis::merge::Mismatch;
use invivo_mpi_link::idle::Pace;
use invivo_mpi_link::runtime::Exit;
use invivo_proto::control::decode;
use invivo_proto::control::tree::{Command, Down, Partial, Up, Verb};
use invivo_proto::control::whereabouts::Whereabouts;
use invivo_proto::ids::{CommandId, WorldRank};
use invivo_tbon::node::{Action as NodeAction, Input, Node, Position};

/// How long a node whose ranks are through waits for a lost root to come back.
pub const WITHOUT_ROOT_NS: u64 = 1_000_000_000;

/// Merges two partial results.
type MergeFn = fn(&mut Partial, Partial) -> Result<(), Mismatch>;

/// What the node's role has to send.
#[derive(Clone, Debug, PartialEq)]
#[allow(
    clippy::large_enum_variant,
    reason = "messages are moved once or twice, a box would cost more than the copy"
)]
pub enum BranchAction {
    /// Send to a child.
    Down(WorldRank, Down),
    /// Send to the parent.
    Up(Up),
}

/// An inner node, without its transport.
pub struct Branch {
    me: WorldRank,
    node: Node<MergeFn>,
    stats: SelfStats,
    /// Messages of the parent that could not be read.
    unreadable: u64,
    abnormal: bool,
    drained: bool,
    root_lost_ns: Option<u64>,
    /// The command that shuts the measurement down, until it is acknowledged.
    shutting_down: Option<CommandId>,
    shut_down: bool,
    exit: Option<Exit>,
    actions: Vec<BranchAction>,
}

impl Branch {
    /// A node at its position.
    pub fn new(now_ns: u64, position: Position) -> Branch {
        Branch {
            me: position.process,
            node: Node::new(now_ns, position, invivo_analysis::merge::merge as MergeFn),
            stats: SelfStats::default(),
            unreadable: 0,
            abnormal: false,
            drained: false,
            root_lost_ns: None,
            shutting_down: None,
            shut_down: false,
            exit: None,
            actions: Vec::new(),
        }
    }

    /// In a process that runs here, of which its neighbours are told.
    pub fn located(mut self, here: Whereabouts) -> Branch {
        self.node = self.node.located(here);
        self
    }

    /// A message of the parent.
    pub fn down(&mut self, now_ns: u64, bytes: &[u8]) {
        match decode::<Down>(bytes) {
            Ok(message) => {
                if let Down::Command(Command {
                    id,
                    verb: Verb::Shutdown,
                }) = message
                {
                    self.shutting_down = Some(id);
                }
                self.run(now_ns, Input::Down(message));
            }
            // Counted for the status; there is nobody to answer with an error.
            Err(_) => self.unreadable += 1,
        }
    }

    /// A message of a child.
    pub fn up(&mut self, now_ns: u64, from: WorldRank, bytes: &[u8]) {
        let input = match decode::<Up>(bytes) {
            Ok(message) => Input::Up { from, message },
            Err(_) => Input::Garbage(from),
        };
        self.run(now_ns, input);
    }

    /// Time passes, and everything that has come was handed in.
    pub fn tick(&mut self, now_ns: u64, stats: SelfStats) {
        self.pass_time(now_ns, stats, Input::Tick);
    }

    /// Time passes, and what the children say waits, because the parent takes no more.
    pub fn backlog(&mut self, now_ns: u64, stats: SelfStats) {
        self.pass_time(now_ns, stats, Input::Backlog);
    }

    fn pass_time(&mut self, now_ns: u64, stats: SelfStats, input: Input) {
        self.stats = stats;
        self.run(now_ns, input);

        // Not before the ranks are through: until then the parent may come back.
        let lost = |since_ns| now_ns.saturating_sub(since_ns) > WITHOUT_ROOT_NS;
        if self.drained && self.root_lost_ns.is_some_and(lost) {
            self.exit.get_or_insert(Exit::RootLost);
        }
    }

    /// What is to be done now.
    pub fn take_actions(&mut self) -> Vec<BranchAction> {
        std::mem::take(&mut self.actions)
    }

    /// How to leave, once it is time.
    pub fn exit(&self) -> Option<Exit> {
        self.exit
    }

    /// Whether the measurement is over and only the job's end is waited for.
    pub fn is_shut_down(&self) -> bool {
        self.shut_down
    }

    /// How the node may rest.
    pub fn pace(&self, now_ns: u64) -> Pace {
        let is_ending = self.abnormal || self.drained || self.root_lost_ns.is_some();
        let is_alert = is_ending || self.node.is_alert(now_ns);
        Pace::of(is_alert, self.node.is_woken_by_all())
    }

    /// A child's process, where it can be woken from here.
    pub fn child_pid(&self, child: WorldRank) -> Option<u32> {
        self.node.child_pid(child)
    }

    /// The parent's process, where it can be woken from here.
    pub fn parent_pid(&self) -> Option<u32> {
        self.node.parent_pid()
    }

    fn run(&mut self, now_ns: u64, input: Input) {
        for action in self.node.step(now_ns, input) {
            match action {
                NodeAction::Down { to, message } => {
                    self.actions.push(BranchAction::Down(to, message))
                }
                NodeAction::Up(message) => {
                    let message = self.with_stats(message);
                    self.actions.push(BranchAction::Up(message));
                }
                NodeAction::RootLost => self.root_lost_ns = Some(now_ns),
                NodeAction::Local(message) => self.hear(message),
            }
        }
    }

    /// Handles the parent's messages that concern this node itself.
    fn hear(&mut self, message: Down) {
        // Whatever the node delivers comes from the root: it is back.
        self.root_lost_ns = None;
        match message {
            // A rank has died: the launcher ends the job, and nobody can finalise MPI any more.
            Down::Release => self.abnormal = true,
            Down::Shutdown => {
                self.exit = Some(if self.abnormal {
                    Exit::Abandon
                } else {
                    Exit::Finalize
                });
            }
            Down::Job(_)
            | Down::Analyses(_)
            | Down::Command(_)
            | Down::Query { .. }
            | Down::Heartbeat
            | Down::Time { .. }
            | Down::Groups(_) => {}
        }
    }

    /// Adds to what goes up what the node knows of itself.
    fn with_stats(&mut self, mut message: Up) -> Up {
        match &mut message {
            Up::Partial {
                partial, coverage, ..
            } => {
                self.stats.add_to(coverage);
                if let Partial::Status(status) = partial {
                    // A status has a bounded size: notes of the layers below come first.
                    status.notes.extend(self.notes());
                    status.cut_notes();
                }
            }
            Up::Ack { command, acks } => {
                // As at the root: the measurement is over only if some rank has ended it.
                self.shut_down |= self.shutting_down == Some(*command) && acks.done > 0;
            }
            Up::Drained => self.drained = true,
            Up::Hello { .. }
            | Up::Groups(_)
            | Up::WantGroups(_)
            | Up::WhatTime { .. }
            | Up::RankFaulted(_)
            | Up::RankEnded(_) => {}
        }
        message
    }

    fn notes(&self) -> impl Iterator<Item = String> {
        let unreadable = (self.unreadable > 0).then(|| {
            format!(
                "tool process {} could not read {} messages from its parent: they were ignored",
                self.me, self.unreadable
            )
        });
        unreadable.into_iter().chain(self.stats.notes(self.me))
    }
}

#[cfg(test)]
mod tests;
