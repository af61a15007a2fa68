//! Drives the processes of a case: hands in what arrives, carries out the machines' actions.

use super::process::Mail;
use super::{Event, Simulation, TICK_NS_LATE_MAX};
use crate::machine::Machine;
use crate::nonsense;
use crate::plant::Plant;
use crate::trace;
use invivo_proto::control;
use invivo_proto::control::tree::{Down, Up};
use invivo_proto::ids::WorldRank;
use invivo_tbon::job_time::UNKNOWN_NS;
use invivo_tbon::node::{Action, Input};
use invivo_tbon::root::RootInput;

/// Ideas of job time that are told when they are wrong.
const WRONG_CLOCKS_TOLD: usize = 3;

impl Simulation {
    /// What a driver does with what has arrived.
    pub(super) fn deliver(&mut self, to: WorldRank, mail: Mail) {
        let now = self.agenda.now();
        match mail {
            Mail::Down(bytes) => {
                let message =
                    control::decode(&bytes).expect("nobody garbles what comes from above");
                self.step(to, Input::Down(message));
            }
            Mail::Up(from, bytes) => match control::decode(&bytes) {
                Ok(message) => self.step(to, Input::Up { from, message }),
                // What does not decode is handed in as such: the machine decides what follows.
                Err(_) => self.step(to, Input::Garbage(from)),
            },
            Mail::Packet(rank, calls) => {
                self.place(to).receive(rank, calls, now);
                self.after_feeding(to);
            }
            Mail::Stood => {
                let replies = self.place(to).held(now);
                self.reply(to, replies);
            }
            Mail::Finished(rank) => {
                if let Some(ended) = self.place(to).take_the_rest(rank, now) {
                    self.history.ended.push(ended.rank);
                    self.local(to, Up::RankEnded(ended));
                }
                self.after_feeding(to);
            }
            Mail::Acted(reply) => {
                let (command, acks) = (reply.command, reply.acks);
                self.local(to, Up::Ack { command, acks });
            }
            Mail::Due => self.due(to),
            Mail::Ask(index) => self.ask(index),
        }
    }

    pub(super) fn local(&mut self, place: WorldRank, message: Up) {
        self.step(place, Input::Local(message));
    }

    /// Lets something happen to a process' machine and carries out what it says.
    pub(super) fn step(&mut self, world: WorldRank, input: Input) {
        let now = self.agenda.now();
        let process = self.process(world);
        let local = process.clock.local(now);
        match &mut process.machine {
            Machine::Node(node) => {
                for action in node.step(local, input) {
                    self.carry_out(world, action);
                }
            }
            Machine::Root(_) => match input {
                Input::Up { from, message } => self.root(RootInput::Up { from, message }),
                Input::Garbage(child) => self.root(RootInput::Garbage(child)),
                Input::Tick => self.root(RootInput::Tick),
                Input::Backlog => unreachable!("links of the simulation take everything"),
                Input::Enough => unreachable!("the simulation has time"),
                Input::Down(_) | Input::Local(_) => {
                    unreachable!("the root has neither parent nor ranks")
                }
            },
        }

        self.compare_clock(world);
        self.wind(world);
    }

    /// Holds a process' idea of job time against the root's clock.
    fn compare_clock(&mut self, world: WorldRank) {
        let now = self.agenda.now();
        let root = self.layout.root();
        let job = self.process(root).clock.local(now);
        let process = self.process(world);
        let local = process.clock.local(now);
        let (idea, error) = (
            process.machine.job_ns(local),
            process.machine.clock_error_ns(local),
        );
        // Before the first round trip nothing is claimed.
        if error == UNKNOWN_NS {
            return;
        }

        self.history.clocks_compared += 1;
        if idea.abs_diff(job) > error && self.history.clocks_wrong.len() < WRONG_CLOCKS_TOLD {
            let wrong = format!("{world} takes {job} ns of job time for {idea}, within {error}");
            self.history.clocks_wrong.push(wrong);
        }
    }

    /// Sets the process' alarm.
    pub(super) fn wind(&mut self, world: WorldRank) {
        // Real ticks are late as well, where the application has the cores.
        let (now, late) = (self.agenda.now(), self.jitter.u64(..=TICK_NS_LATE_MAX));
        let process = self.process(world);
        let Some(next) = process.machine.next_tick_ns() else {
            return;
        };
        let next = now.max(process.clock.time_of(next) + late);
        if process.ticks_at.is_none_or(|at| at > next) {
            process.ticks_at = Some(next);
            self.agenda.at(next, Event::Tick(world));
        }
    }

    pub(super) fn carry_out(&mut self, world: WorldRank, action: Action) {
        let now = self.agenda.now();
        let is_place = self.process(world).place.is_some();
        match action {
            Action::Down { to, message } => self.send_down(world, to, &message),
            Action::Up(message) => self.send_up(world, message),
            Action::Local(Down::Command(command)) => self.obey(world, &command),
            Action::Local(Down::Query { wave, query }) => {
                let (partial, in_hand) = self.place(world).answer(query, now);
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
            Action::Local(Down::Groups(told)) => self.place(world).learn_groups(told),
            Action::Local(Down::Job(job)) if is_place => self.job(world, &job),
            Action::Local(Down::Heartbeat) if is_place => self.heartbeat(world),
            Action::Local(Down::Shutdown) => {
                self.history.left.insert(world, now);
                if is_place {
                    self.open(world);
                }
            }
            // Jobs of the simulation start with the usual analyses.
            Action::Local(
                Down::Job(_)
                | Down::Analyses(_)
                | Down::Heartbeat
                | Down::Release
                | Down::Time { .. },
            ) => {}
            Action::RootLost => {
                self.say(|layout| format!("{} has lost the root", trace::name(layout, world)));
                self.history.root_lost.entry(world).or_default().push(now);
                if is_place {
                    self.open(world);
                }
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
        // Nonsense waits for an answer: other messages say too little to be absurd.
        let garbled = if answer {
            self.process(from).nonsense.take()
        } else {
            None
        };

        self.say(|layout| {
            let garbled =
                garbled.map_or_else(String::new, |garbled| format!("as nonsense: {garbled:?}"));
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
            self.agenda
                .at(arrival, Event::Mail(to, Mail::Up(from, bytes)));
        }
    }
}
