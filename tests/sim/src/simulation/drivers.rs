//! The drivers' part: hand in what arrives, carry out what the machines say.

use super::process::{Machine, Mail};
use super::{Event, Simulation, TICK_NS_LATE_MAX};
use crate::nonsense;
use crate::plant::Plant;
use crate::trace;
use invivo_proto::control;
use invivo_proto::control::tree::{Down, Up};
use invivo_proto::ids::WorldRank;
use invivo_tbon::node::{Action, Input};
use invivo_tbon::root::RootInput;

impl Simulation {
    /// What a driver does with what has arrived.
    pub(super) fn deliver(&mut self, to: WorldRank, mail: Mail) {
        match mail {
            Mail::Down(bytes) => {
                let message = control::decode(&bytes).expect("nobody garbles what comes from above");
                self.step(to, Input::Down(message));
            }
            Mail::Up(from, bytes) => match control::decode(&bytes) {
                Ok(message) => self.step(to, Input::Up { from, message }),
                Err(_) => self.step(to, Input::Garbage(from)),
            },
            Mail::Lost(child) => self.step(to, Input::ChildLost(child)),
            Mail::Packet(rank, calls) => {
                self.place(to).receive(rank, calls);
                self.drain(to);
            }
            Mail::Finished(rank) => {
                if let Some(ended) = self.place(to).take_the_rest(rank) {
                    self.history.ended.push(ended.rank);
                    self.local(to, Up::RankEnded(ended));
                }
                self.drain(to);
            }
            Mail::Acted(command, acks) => self.local(to, Up::Ack { command, acks }),
            Mail::Ask(index) => self.ask(index),
        }
    }

    pub(super) fn drain(&mut self, place: WorldRank) {
        if self.place(place).is_drained() {
            self.local(place, Up::Drained);
        }
    }

    pub(super) fn local(&mut self, place: WorldRank, message: Up) {
        self.step(place, Input::Local(message));
    }

    /// Lets something happen to a process' machine and carries out what it says.
    pub(super) fn step(&mut self, world: WorldRank, input: Input) {
        let now = self.agenda.now();
        match &mut self.process(world).machine {
            Machine::Node(node) => {
                for action in node.step(now, input) {
                    self.carry_out(world, action);
                }
            }
            Machine::Root(_) => match input {
                Input::Up { from, message } => self.root(RootInput::Up { from, message }),
                Input::ChildLost(child) => self.root(RootInput::ChildLost(child)),
                Input::Garbage(child) => self.root(RootInput::Garbage(child)),
                Input::Tick => self.root(RootInput::Tick),
                Input::Down(_) | Input::Local(_) => unreachable!("the root has neither parent nor ranks"),
            },
        }
        self.wind(world);
    }

    /// Sets the process' alarm.
    pub(super) fn wind(&mut self, world: WorldRank) {
        let (now, late) = (self.agenda.now(), self.jitter.u64(..=TICK_NS_LATE_MAX));
        let process = self.process(world);
        let next = match &process.machine {
            Machine::Node(node) => node.next_tick_ns(),
            Machine::Root(root) => root.next_tick_ns(),
        };
        let Some(next) = next.map(|next| now.max(next + late)) else {
            return;
        };
        if process.ticks_at.is_none_or(|at| at > next) {
            process.ticks_at = Some(next);
            self.agenda.at(next, Event::Tick(world));
        }
    }

    pub(super) fn carry_out(&mut self, world: WorldRank, action: Action) {
        match action {
            Action::Down { to, message } => self.send_down(world, to, &message),
            Action::Up(message) => self.send_up(world, message),
            Action::Local(Down::Command(command)) => {
                let now = self.agenda.now();
                let (acks, outcomes, after) = self.place(world).obey(now, &command);
                self.history
                    .outcomes
                    .entry((command.id, world))
                    .or_default()
                    .extend(outcomes);
                self.agenda
                    .at(now + after, Event::Mail(world, Mail::Acted(command.id, acks)));
            }
            Action::Local(Down::Query { wave, query }) => {
                let (partial, in_hand) = self.place(world).answer(query);
                let coverage = in_hand.coverage;
                self.history.in_hand.insert((wave, world), in_hand);
                self.local(
                    world,
                    Up::Partial {
                        wave,
                        partial,
                        coverage,
                        missing: Vec::new(),
                    },
                );
            }
            Action::Local(Down::Shutdown) => {
                self.history.left.insert(world, self.agenda.now());
            }
            Action::Local(Down::Job(_) | Down::Heartbeat | Down::Release) => {}
            Action::RootLost => {
                self.say(|layout| format!("{} has lost the root", trace::name(layout, world)));
                self.history
                    .root_lost
                    .entry(world)
                    .or_default()
                    .push(self.agenda.now());
            }
        }
    }

    pub(super) fn send_down(&mut self, from: WorldRank, to: WorldRank, message: &Down) {
        self.say(|layout| {
            format!(
                "{} > {} {}",
                trace::name(layout, from),
                trace::name(layout, to),
                trace::down(message)
            )
        });
        let arrival = self.links.arrival(self.agenda.now(), from, to);
        let bytes = control::encode(message).expect("messages of a simulated job are short");
        self.agenda.at(arrival, Event::Mail(to, Mail::Down(bytes)));
    }

    pub(super) fn send_up(&mut self, from: WorldRank, message: Up) {
        let to = self
            .layout
            .parent(from)
            .expect("only the root has no parent, and its node sends nothing up");
        if self.case.plant == Some(Plant::Swallow)
            && matches!(message, Up::Partial { .. })
            && !std::mem::replace(&mut self.swallowed, true)
        {
            return;
        }
        let answer = matches!(message, Up::Partial { .. } | Up::Ack { .. });
        let garbled = if answer {
            self.process(from).nonsense.take()
        } else {
            None
        };
        self.say(|layout| {
            let garbled = garbled.map_or_else(String::new, |garbled| format!("as nonsense: {garbled:?}"));
            let what = trace::up(&message);
            format!(
                "{} > {} {what} {}",
                trace::name(layout, from),
                trace::name(layout, to),
                garbled
            )
        });
        for bytes in nonsense::garble(message, garbled) {
            let arrival = self.links.arrival(self.agenda.now(), from, to);
            self.agenda.at(arrival, Event::Mail(to, Mail::Up(from, bytes)));
        }
    }
}
