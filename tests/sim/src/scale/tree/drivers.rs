//! Drives all processes of the large tree: hands in what arrives, carries out the machines'
//! actions.

use super::{Event, Given, Tree};
use crate::agenda::Time;
use crate::machine::Machine;
use crate::scale::round::{Wave, entries};
use invivo_proto::control;
use invivo_proto::control::link::{Answer, Response};
use invivo_proto::control::results::Coverage;
use invivo_proto::control::tree::{Cut, Down, Partial, Up, Verb};
use invivo_proto::ids::{CommandId, WorldRank};
use invivo_tbon::node::{Action, Input};
use invivo_tbon::root::{RootAction, RootInput};
use std::time::{Duration, Instant};

/// How long a message takes.
const HOP_NS: Time = 50_000;

impl Tree {
    /// Lets things happen until `done`, or until `until`.
    pub(super) fn run(&mut self, until: Time, done: impl Fn(&Tree) -> bool) {
        while !done(self) && self.agenda.now() <= until {
            match self.agenda.take() {
                Some(event) => {
                    let (at, begun) = (event.at(), Instant::now());
                    self.happen(event);
                    self.processes[at].took += begun.elapsed();
                }
                None => return,
            }
        }
    }

    pub(super) fn index(&self, world: WorldRank) -> usize {
        let upper = self.layout.places() as usize;
        let behind = |first: &WorldRank| upper + (world.0 - first.0) as usize;
        match self.layout.place_index(world) {
            Some(place) => place as usize,
            None => self.members.get(upper).map_or(usize::MAX, behind),
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Down(at, bytes) => {
                let message: Down = control::decode(&bytes).expect("nobody garbles");
                // Time and heartbeats go on meanwhile and are no part of the wave.
                self.processes[at].received += u32::from(matches!(message, Down::Query { .. }));
                self.step(at, Input::Down(message));
            }
            Event::Up(at, from, bytes) => {
                let message: Up = control::decode(&bytes).expect("nobody garbles");
                if let Up::Partial { partial, .. } = &message {
                    self.processes[at].received += 1;
                    if at + 1 == self.processes.len() {
                        self.bytes_to_root += bytes.len() as u64;
                        self.entries_to_root += entries(partial);
                    }
                }
                self.step(at, Input::Up { from, message });
            }
            Event::Tick(at) => {
                if self.processes[at].ticks_at == Some(self.agenda.now()) {
                    self.processes[at].ticks_at = None;
                    self.step(at, Input::Tick);
                }
            }
            Event::Due(at, command, at_ns) => self.cut(at, command, at_ns),
        }
    }

    /// Does a reset at a place, or waits again where its idea of job time has changed meanwhile.
    fn cut(&mut self, at: usize, command: CommandId, at_ns: u64) {
        let now = self.agenda.now();
        let process = &mut self.processes[at];
        let local = process.clock.local(now);
        if process.machine.job_ns(local) < at_ns {
            // Estimated with the clock as it is known now, and so looked at again.
            let due = process.clock.time_of(process.machine.from_job(at_ns));
            return self
                .agenda
                .at(due.max(now + 1), Event::Due(at, command, at_ns));
        }

        let cut = Cut {
            earliest_ns: at_ns,
            latest_ns: at_ns,
            error_ns: process.machine.clock_error_ns(local),
        };

        let leaf = process
            .leaf
            .as_mut()
            .expect("only places are given commands");
        let acks = leaf.reset(&self.world, cut);
        self.step(at, Input::Local(Up::Ack { command, acks }));
    }

    pub(super) fn step(&mut self, at: usize, input: Input) {
        let now = self.agenda.now();
        let process = &mut self.processes[at];
        match &mut process.machine {
            Machine::Node(node) => {
                for action in node.step(process.clock.local(now), input) {
                    self.carry_out(at, action);
                }
            }
            Machine::Root(_) => match input {
                Input::Up { from, message } => return self.root(RootInput::Up { from, message }),
                Input::Tick => return self.root(RootInput::Tick),
                other => unreachable!("the root has neither parent nor ranks: {other:?}"),
            },
        }

        self.wind(at);
    }

    fn carry_out(&mut self, at: usize, action: Action) {
        let me = self.members[at];
        let arrives = self.agenda.now() + HOP_NS;
        match action {
            Action::Down { to, message } => {
                let bytes = control::encode(&message).expect("short");
                self.agenda.at(arrives, Event::Down(self.index(to), bytes));
            }
            Action::Up(message) => {
                let parent = self.layout.parent(me).expect("all but the root have one");
                let bytes = control::encode(&message).expect("short");
                self.agenda
                    .at(arrives, Event::Up(self.index(parent), me, bytes));
            }
            Action::Local(Down::Query { wave, query }) => {
                let leaf = self.processes[at].leaf.as_ref().expect("a place");
                let (partial, coverage) = leaf.answer(&self.world, query);
                let answer = Up::Partial {
                    wave,
                    partial,
                    coverage,
                    missing: Vec::new(),
                };
                self.step(at, Input::Local(answer));
            }
            Action::Local(Down::Command(command)) => match command.verb {
                Verb::Reset { at_ns } => self.cut(at, command.id, at_ns),
                other => unreachable!("nobody orders {other:?}"),
            },
            Action::Local(_) => {}
            Action::RootLost => unreachable!("the root lives"),
        }
    }

    pub(super) fn root(&mut self, input: RootInput) {
        let now = self.agenda.now();
        let at = self.processes.len() - 1;
        let process = &mut self.processes[at];
        let local = process.clock.local(now);
        let Machine::Root(root) = &mut process.machine else {
            unreachable!("the last process is the root");
        };

        for action in root.step(local, input) {
            match action {
                RootAction::Down { to, message } => {
                    self.carry_out(at, Action::Down { to, message })
                }
                RootAction::Answer {
                    partial,
                    coverage,
                    missing,
                    ..
                } => self.answered(partial, coverage, missing),
                RootAction::Acked { acks, .. } => self.given = Some(Given::Acks(acks)),
                RootAction::Present { ranks } => self.present.push(ranks),
                other => unreachable!("nobody asked for {other:?}"),
            }
        }

        self.wind(at);
    }

    fn answered(&mut self, partial: Partial, coverage: Coverage, missing: Vec<WorldRank>) {
        let answer = match partial.clone() {
            Partial::Functions(table) => Answer::Functions(table, coverage),
            Partial::Matrix(matrix) => Answer::Matrix(matrix, coverage),
            Partial::Status(status) => Answer::Status(status, coverage),
            Partial::Messages(messages) => Answer::Messages(*messages, coverage),
            Partial::Buffers(buffers) => Answer::Buffers(buffers, coverage),
            Partial::Records(records) => Answer::Records(records, coverage),
            Partial::Timeline(last) => Answer::Timeline(last, coverage),
            Partial::Hang(waits) => Answer::Hang(Box::new((Default::default(), *waits)), coverage),
            Partial::Stacks(stacks) => Answer::Stacks(stacks, coverage),
            Partial::Profile(profile) => Answer::Profile(profile, coverage),
            Partial::Analyses(analyses) => Answer::Analyses(analyses, coverage),
            Partial::Grid(grid) => Answer::Grid(grid, coverage),
            Partial::Sites(table) => Answer::Sites(table, coverage),
            Partial::Regions(table) => Answer::Regions(table, coverage),
            Partial::Selection(status) => Answer::Selection(status, coverage),
            Partial::Metrics(status) => Answer::Metrics(status, coverage),
            Partial::Saved(saved) => Answer::Saved(saved, coverage),
            Partial::WaitStates(waits) => Answer::WaitStates(waits, coverage),
        };

        let response = Response {
            id: self.asks,
            answer,
            missing: missing.clone(),
        };

        let handed_out = control::encode(&response).expect("short").len() as u64;
        self.given = Some(Given::Answer(Wave {
            partial,
            coverage,
            missing,
            root_bytes: self.bytes_to_root + handed_out,
            root_entries: self.entries_to_root,
            // Known when all of it is done.
            took: Duration::ZERO,
            messages_max: self
                .processes
                .iter()
                .map(|process| process.received)
                .max()
                .unwrap_or(0),
        }));
    }

    /// What the wave has taken so far, layer by layer: of each the process that took longest.
    pub(super) fn took(&self) -> Duration {
        let mut first = 0;
        let layers = self.layout.layers().skip(1).map(|layer| {
            let members = &self.processes[first..first + layer.members as usize];
            first += layer.members as usize;
            members.iter().map(|process| process.took).max()
        });
        layers.flatten().sum()
    }

    /// Sets the process' alarm.
    pub(super) fn wind(&mut self, at: usize) {
        let now = self.agenda.now();
        let process = &mut self.processes[at];
        let Some(next) = process.machine.next_tick_ns() else {
            return;
        };
        let next = process.clock.time_of(next).max(now);
        if process.ticks_at.is_none_or(|at| at > next) {
            process.ticks_at = Some(next);
            self.agenda.at(next, Event::Tick(at));
        }
    }
}
