//! Drives the places of a case: ranks that act, gates, commands, cuts.

use super::process::Mail;
use super::{Event, Simulation};
use crate::agenda::{MS, Time};
use crate::history::CutMade;
use crate::place::Reply;
use crate::plant::Plant;
use crate::rank::Deed;
use crate::script::LEASE_NS_MAX;
use invivo_proto::control::tree::{Command, Cut, JobInfo, Up, Verb};
use invivo_proto::ids::WorldRank;

/// How long a rank needs after its gate has opened, at most.
const WAKE_NS_MAX: Time = MS;

impl Simulation {
    pub(super) fn act(&mut self, place: WorldRank, index: usize) {
        let now = self.agenda.now();
        let local = self.process(place).clock.local(now);
        let rank = self.place(place).ranks()[index].rank;
        let (deed, next) = self.place(place).act(index, now, local);
        match deed {
            Deed::Nothing => {}
            Deed::Stood => {
                self.agenda.at(now, Event::Mail(place, Mail::Stood));
                // The gate is looked at when it may have opened.
                return self.watch_gates(place);
            }
            Deed::Shipped(calls) => {
                let from = self.layout.world_of(rank);
                let arrival = self.links.arrival(now, from, place);
                self.agenda
                    .at(arrival, Event::Mail(place, Mail::Packet(index, calls)));
            }
            Deed::Finished => {
                self.say(|_| format!("A{rank} finished"));
                return self
                    .agenda
                    .at(now, Event::Mail(place, Mail::Finished(index)));
            }
        }

        self.agenda.at(next, Event::Act(place, index));
    }

    /// A gate opens by itself, whatever has become of the place.
    pub(super) fn watch_gates(&mut self, place: WorldRank) {
        if self.case.plant == Some(Plant::StuckGate) {
            return;
        }
        if let Some(until) = self.place(place).closed_until() {
            let at = self.process(place).clock.time_of(until);
            self.agenda.at(at, Event::Gate(place));
        }
    }

    /// Ranks whose gate is open go on.
    pub(super) fn release(&mut self, place: WorldRank) {
        let now = self.agenda.now();
        let local = self.process(place).clock.local(now);
        for (index, since) in self.place(place).released(local) {
            let rank = self.place(place).ranks()[index].rank;
            self.history.stood.push((rank, since, now));
            let wakes = now + self.jitter.u64(..WAKE_NS_MAX);
            self.agenda.at(wakes, Event::Act(place, index));
        }

        let all_open = self
            .place(place)
            .closed_until()
            .is_none_or(|until| until <= local);
        if all_open && self.is_awake(place) {
            let replies = self.place(place).holds_released(now);
            self.reply(place, replies);
        }
    }

    pub(super) fn job(&mut self, place: WorldRank, job: &JobInfo) {
        if job.hold_lease_ns > 0 {
            let now = self.agenda.now();
            let local = self.process(place).clock.local(now);
            self.place(place).hold_from_start(local, job.hold_lease_ns);
            self.note_lease(place, job.hold_lease_ns);
            self.watch_gates(place);
        }
    }

    pub(super) fn heartbeat(&mut self, place: WorldRank) {
        let local = self.moment(place).local;
        self.place(place).push(local);
        self.watch_gates(place);
        self.release(place);
    }

    pub(super) fn open(&mut self, place: WorldRank) {
        self.place(place).open();
        self.release(place);
    }

    fn note_lease(&mut self, place: WorldRank, lease_ns: Time) {
        let now = self.agenda.now();
        self.history
            .leases
            .entry(place)
            .or_default()
            .push((now, now + lease_ns));
    }

    pub(super) fn obey(&mut self, place: WorldRank, command: &Command) {
        if let Verb::Pause { lease_ns } | Verb::Hold { lease_ns } = command.verb {
            self.note_lease(place, lease_ns.min(LEASE_NS_MAX));
        }
        let moment = self.moment(place);
        let replies = self.place(place).obey(moment, command);
        self.reply(place, replies);
        self.watch_gates(place);
        self.release(place);
        self.due(place);
    }

    /// Makes the cuts that are due, and waits for the next one.
    pub(super) fn due(&mut self, place: WorldRank) {
        let moment = self.moment(place);
        let (replies, made) = self.place(place).cut_what_is_due(moment);
        for (ordered_ns, cut, in_time) in made {
            let Cut {
                earliest_ns: stated_ns,
                error_ns,
                ..
            } = cut;
            self.history.cuts_made.push(CutMade {
                place,
                at: moment.time,
                ordered_ns,
                stated_ns,
                error_ns,
                in_time,
            });
        }

        self.reply(place, replies);
        let Some(next_ns) = self.place(place).next_due_ns() else {
            return;
        };

        let own_time = self.case.plant == Some(Plant::OwnTime);
        let process = self.process(place);
        let local = if own_time {
            next_ns
        } else {
            process.machine.from_job(next_ns)
        };

        // Job time may become better known meanwhile: then it is waited again, or was too long.
        let at = process.clock.time_of(local).max(moment.time + 1);
        let at = at.min(moment.time + 50 * MS);
        if process
            .due_at
            .is_none_or(|due| due > at || due <= moment.time)
        {
            process.due_at = Some(at);
            self.agenda.at(at, Event::Mail(place, Mail::Due));
        }
    }

    pub(super) fn reply(&mut self, place: WorldRank, replies: Vec<Reply>) {
        for mut reply in replies {
            reply.obeyed.at = self.agenda.now();
            self.history
                .obeyed
                .insert((reply.command, place), reply.obeyed.clone());
            let at = self.agenda.now() + reply.after;
            self.agenda
                .at(at, Event::Mail(place, Mail::Acted(Box::new(reply))));
        }
    }

    /// What a place does after records have come.
    pub(super) fn after_feeding(&mut self, place: WorldRank) {
        let moment = self.moment(place);
        let replies = self.place(place).taken(moment);
        self.reply(place, replies);
        let wanted = self.place(place).wanted();
        if !wanted.is_empty() {
            self.local(place, Up::WantGroups(wanted));
        }
        if self.place(place).is_drained() {
            self.local(place, Up::Drained);
        }
    }

    pub(super) fn logs(&mut self) {
        for process in self.processes.values() {
            let Some(place) = &process.place else {
                continue;
            };
            for rank in place.ranks() {
                self.history.done.insert(rank.rank, rank.obeyed.clone());
                self.history.logs.insert(rank.rank, rank.log.clone());
                if let Some(since) = rank.standing {
                    // Still standing at the end: longer than any lease.
                    self.history.stood.push((rank.rank, since, Time::MAX));
                }
            }
            self.history.refused.extend(place.refused().iter().copied());
        }

        let epochs = self
            .processes
            .iter()
            .filter_map(|(world, process)| Some((*world, process.place.as_ref()?.epoch())));
        self.history.epochs = epochs.collect();
        let analyses = self
            .processes
            .iter()
            .filter_map(|(world, process)| Some((*world, process.place.as_ref()?.analyses_on())));
        self.history.analyses = analyses.collect();
        let cuts = self.processes.iter().filter_map(|(world, process)| {
            let place = process.place.as_ref()?;
            Some((*world, place.cuts().to_vec()))
        });
        self.history.cuts = cuts.collect();
    }
}
