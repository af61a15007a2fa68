//! Drives the root of a case: asks, answers, and the end of the job.

use super::process::Mail;
use super::{Event, Simulation};
use crate::history::{Asked, Delivery};
use crate::machine::Machine;
use crate::plant::Plant;
use crate::script;
use invivo_proto::control::tree::{Down, Order, Query};
use invivo_tbon::root::{Ask, AskId, RootAction, RootInput};

/// What the root asks when the job is over.
const LAST_QUERY: Query = Query::Functions {
    rank_rows_max: 1001,
    past: None,
};

impl Simulation {
    pub(super) fn ask(&mut self, index: usize) {
        let what = self.history.asks[index].what.clone();
        self.say(|_| format!("ask {index}: {what:?}"));
        let ask = AskId(index as u64);
        self.last_ask = Some(ask);
        self.root(RootInput::Ask { ask, what });
        self.last_ask = None;
    }

    pub(super) fn root(&mut self, input: RootInput) {
        let (now, root) = (self.agenda.now(), self.layout.root());
        let process = self.process(root);
        let local = process.clock.local(now);
        let actions = match &mut process.machine {
            Machine::Root(machine) => machine.step(local, input),
            Machine::Node(_) => unreachable!("the last process is the root"),
        };

        for action in actions {
            match action {
                RootAction::Down { to, message } => {
                    self.note(&message);
                    self.send_down(root, to, &message);
                }
                RootAction::Answer {
                    ask,
                    partial,
                    coverage,
                    missing,
                } => {
                    self.hand_out(
                        ask,
                        Delivery::Answer {
                            partial,
                            coverage,
                            missing,
                        },
                    );
                }
                RootAction::Acked { ask, acks } => self.hand_out(ask, Delivery::Acks(acks)),
                RootAction::Refused { ask, refusal } => {
                    self.hand_out(ask, Delivery::Refused(refusal))
                }
                RootAction::Present { ranks } => self.history.present.push(ranks),
                RootAction::RankFaulted(_) => {}
                RootAction::RankEnded(ended) => self.history.ended_at_root.push(ended.rank),
                RootAction::Drained => {
                    self.say(|_| "all drained".into());
                    self.history.drained.push(now);
                    self.finish_if_done();
                }
            }
        }

        self.wind(root);
    }

    /// Which wave an ask has become, and which verb an order.
    fn note(&mut self, message: &Down) {
        match message {
            Down::Query { wave, .. } => {
                if let Some(ask) = self.last_ask {
                    self.history.asks[ask.0 as usize].wave = Some(*wave);
                }
            }
            Down::Command(command) => {
                let given = &mut self.history.given;
                if given.iter().all(|(id, _)| *id != command.id) {
                    given.push((command.id, command.verb.clone()));
                }
            }
            _ => {}
        }
    }

    pub(super) fn hand_out(&mut self, ask: AskId, delivery: Delivery) {
        let mute = self.case.plant == Some(Plant::Mute) && ask.0 == 0;
        if mute {
            return;
        }
        self.say(|_| format!("answer {}: {delivery:?}", ask.0));
        self.look_into_a_window(ask, &delivery);
        self.history.asks[ask.0 as usize]
            .delivered
            .push((self.agenda.now(), delivery));
        self.waiting -= 1;
        self.finish_if_done();
    }

    /// Whoever has recorded a window asks at once what is in it.
    fn look_into_a_window(&mut self, ask: AskId, delivery: &Delivery) {
        let order = match &self.history.asks[ask.0 as usize].what {
            Ask::Command { order, .. } => Some(order),
            Ask::Query(_) => None,
        };

        if matches!(
            (order, delivery),
            (Some(Order::Window { .. }), Delivery::Acks(_))
        ) {
            let index = self.history.asks.len();
            let now = self.agenda.now();
            self.history.asks.push(Asked {
                at: now,
                what: Ask::Query(Query::Functions {
                    rank_rows_max: 3,
                    past: None,
                }),
                wave: None,
                delivered: Vec::new(),
            });
            self.waiting += 1;
            self.agenda
                .at(now, Event::Mail(self.layout.root(), Mail::Ask(index)));
        }
    }

    /// When all is drained and answered: one last question, then everybody leaves.
    pub(super) fn finish_if_done(&mut self) {
        if self.waiting > 0
            || (self.history.drained.is_empty() && !self.ended)
            || self.history.left.contains_key(&self.layout.root())
        {
            return;
        }

        let last = Ask::Query(LAST_QUERY);
        let asked = self
            .history
            .asks
            .last()
            .is_some_and(|asked| asked.what == last);
        let now = self.agenda.now();
        if asked {
            self.history.left.insert(self.layout.root(), now);
            // Supervisors are let go before the tool processes leave: later nobody could tell them.
            self.root(RootInput::Release);
            self.root(RootInput::Shutdown);
        } else {
            let index = self.history.asks.len();
            // Behind the script, so that it sees all that the job recorded.
            let at = now.max(script::SCRIPT_NS);
            self.history.asks.push(Asked {
                at,
                what: last,
                wave: None,
                delivered: Vec::new(),
            });
            self.waiting += 1;
            self.agenda
                .at(at, Event::Mail(self.layout.root(), Mail::Ask(index)));
        }
    }
}
