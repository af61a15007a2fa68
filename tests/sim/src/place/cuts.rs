//! Cuts of a simulated place: made when their job time has come, or at once where the place heard
//! of them too late.

use super::SimPlace;
use super::steering::{Due, Edge, Moment, Reply, Taking};
use crate::agenda::Time;
use crate::history::Outcome;
use crate::plant::Plant;
use crate::truth::What;
use invivo_analysis::switches::Planned;
use invivo_proto::control::tree;
use invivo_proto::ids::CommandId;

/// How late a cut may be before it is one that the place missed, in ns: nobody's clock is better.
const LATE_NS: u64 = 1_000;

impl SimPlace {
    pub(super) fn await_cut(
        &mut self,
        now: Moment,
        command: CommandId,
        edges: &[(Edge, u64)],
    ) -> Vec<Reply> {
        self.steering
            .due
            .extend(edges.iter().map(|&(edge, at_ns)| Due {
                command,
                edge,
                at_ns,
                arrived: now.time,
                order: self.steering.commands,
            }));
        Vec::new()
    }

    /// The cuts that the place waits for, in job time.
    pub fn next_due_ns(&self) -> Option<u64> {
        self.steering.due.iter().map(|due| due.at_ns).min()
    }

    /// Makes the cuts that are due, and those whose time nobody knows; what is acknowledged, and
    /// each cut with the time that it was ordered for and whether it was made in time.
    pub fn cut_what_is_due(&mut self, now: Moment) -> (Vec<Reply>, Vec<(u64, tree::Cut, bool)>) {
        let (mut replies, mut made) = (Vec::new(), Vec::new());
        loop {
            let unknown = now.error_ns == u64::MAX;
            let due = self.steering.due.iter().enumerate();
            // In the order of job time, and of arrival where that is equal.
            let next = due.min_by_key(|(at, due)| (due.at_ns, *at));
            let Some(at) = next
                // unknown && due.edge != Edge::To) || Without job time a cut is made at once; the
                // end of a window cannot be, or it would have no length.
                .filter(|(_, due)| due.at_ns <= now.job_ns || unknown && due.edge != Edge::To)
                .map(|(at, _)| at)
            else {
                return (replies, made);
            };
            let due = self.steering.due.remove(at);
            // A late cut is stated where it really lay.
            let late = unknown || now.job_ns - due.at_ns > LATE_NS;
            let stated = if late { now.job_ns } else { due.at_ns };
            let cut = tree::Cut {
                earliest_ns: stated,
                latest_ns: stated,
                error_ns: now.error_ns.saturating_add(now.job_ns.abs_diff(stated)),
            };
            made.push((due.at_ns, cut, !late));
            replies.extend(self.cut(now, due, cut));
        }
    }

    pub(super) fn cut(&mut self, now: Moment, due: Due, cut: tree::Cut) -> Vec<Reply> {
        let local = now.local;
        let across = self
            .ranks
            .iter()
            .filter(|rank| rank.straddles(local))
            .count() as u64;
        match due.edge {
            Edge::Reset => {
                // A reset inside a window would take calls out of it.
                if let Some(why) = self.busy() {
                    return vec![self.refused_all(due.command, &why)];
                }
                self.forget();
                self.steering.note(What::Forget, local);
                vec![self.done(now, due, Some(cut), across)]
            }
            Edge::Record { .. } if self.steering.shut_down => {
                vec![self.refused_all(due.command, "the measurement was shut down")]
            }
            Edge::Record { on, epoch } => {
                // A window that was ordered later begins behind this cut.
                let earlier = self
                    .steering
                    .window
                    .as_ref()
                    .is_some_and(|window| window.order < due.order);
                let mut replies = if earlier {
                    self.end_window(due.command)
                } else {
                    Vec::new()
                };
                if on {
                    self.enter(epoch);
                }
                let entered_unseen = self
                    .ranks
                    .iter()
                    .filter(|rank| rank.is_inside() && rank.open() == 0)
                    .count() as u64;
                let mut clipped = 0;
                if on != self.is_recording() {
                    self.switch(on, local);
                    clipped = if on { entered_unseen } else { 0 };
                }
                replies.push(self.done(now, due, Some(cut), clipped));
                replies
            }
            Edge::Analyses { these, on } => {
                self.switches.plan(Planned {
                    job_ns: cut.earliest_ns,
                    ticks: local,
                    these,
                    on,
                });
                self.switches.pass(local);
                vec![self.done(now, due, Some(cut), 0)]
            }
            Edge::From => {
                // Switched off by an order of before, meanwhile.
                if !self.is_recording() {
                    self.switch(true, local);
                }
                self.forget();
                self.steering.note(What::Forget, local);
                if let Some(window) = &mut self.steering.window {
                    window.obeyed.from = Some(cut);
                    window.obeyed.clipped += across;
                }
                Vec::new()
            }
            Edge::To => {
                self.switch(false, local);
                self.steering.note(What::Close, local);
                if let Some(window) = &mut self.steering.window {
                    window.obeyed.to = Some(cut);
                    window.obeyed.clipped += across;
                }
                self.take_all(now, due.command, due.arrived)
            }
        }
    }

    /// Takes what lies in shared memory, and waits for what is on its way.
    pub(super) fn take_all(
        &mut self,
        now: Moment,
        command: CommandId,
        arrived: Time,
    ) -> Vec<Reply> {
        // Packets that are still open are taken from the ranks, so that the window ends without
        // their help.
        for index in 0..self.ranks.len() {
            self.take(index, now.time);
        }
        self.steering.taking.push(Taking {
            command,
            arrived,
            packets: self.ranks.iter().map(|rank| rank.shipped).collect(),
        });
        self.taken(now)
    }

    /// The acknowledgements of what waited for packets, once they have come.
    pub fn taken(&mut self, now: Moment) -> Vec<Reply> {
        let (received, early) = (&self.received, self.plant == Some(Plant::AckEarly));
        let is_here = |taking: &mut Taking| {
            let mut packets = taking.packets.iter().zip(received);
            // The cut is complete when every packet sent before it has come.
            early || packets.all(|(sent, here)| here >= sent)
        };
        let here: Vec<Taking> = self.steering.taking.extract_if(.., is_here).collect();
        here.into_iter()
            .map(|taking| self.all_taken(now, taking))
            .collect()
    }

    pub(super) fn all_taken(&mut self, now: Moment, taking: Taking) -> Reply {
        let window = self
            .steering
            .window
            .take_if(|window| window.command == taking.command);
        let mut obeyed = window.map(|window| window.obeyed).unwrap_or_default();
        if obeyed.to.is_some() {
            obeyed.complete_ns = now.job_ns;
            obeyed.open = self.ranks.iter().map(|rank| rank.open()).sum();
        }
        obeyed.ranks = self.all(Outcome::Done, now.time - taking.arrived);
        self.reply(taking.command, obeyed, 0)
    }

    /// A window does not come to its end.
    pub(super) fn end_window(&mut self, by: CommandId) -> Vec<Reply> {
        // Its own cut may still be due, or its packets on their way: neither may end it again.
        let Some(window) = self.steering.window.take() else {
            return Vec::new();
        };
        self.steering
            .due
            .retain(|due| due.command != window.command);
        self.steering
            .taking
            .retain(|taking| taking.command != window.command);
        vec![self.refused_all(window.command, &format!("ended by command {by}"))]
    }
}
