//! Members of collectives come: their calls, as ranks record them.

use super::coming::{Coming, UNRESOLVED_MAX};
use super::meeting::{self, Arrival};
use super::members::WAITING_MAX;
use super::{Open, Waits};
use crate::communicators::Communicators;
use crate::messages::Of;
use invivo_proto::control::meetings::{Collective, Meeting, Met};
use invivo_proto::control::peer::Clipping;
use invivo_proto::ids::CommId;
use invivo_proto::record::{Call, Part, RecordKind};

impl Waits {
    /// A collective of a rank, or a call that completes some; or more parts of it. Those that lie
    /// outside of what is recorded belong here all the same: others wait for them.
    #[inline]
    pub fn record(
        &mut self,
        of: &Of<'_, impl Fn(u64) -> u64>,
        call: Option<&Call>,
        parts: &[Part],
    ) {
        match call.map(|call| (call, call.facts.kind)) {
            Some((call, RecordKind::Collective)) => self.collective(of, call),
            Some((call, RecordKind::PostCollective)) => self.post(of, call),
            _ if parts.is_empty() => {}
            _ => self.complete(of, call, parts),
        }
    }

    /// A blocking collective.
    #[inline]
    fn collective(&mut self, of: &Of<'_, impl Fn(u64) -> u64>, call: &Call) {
        let facts = &call.facts;
        let Some(shape) = self.shapes.of(facts.region) else {
            return;
        };
        let (begin_ns, end_ns) = ((of.job_ns)(of.begin), (of.job_ns)(of.end));
        let (sends, receives) = shape.moves(facts);
        self.come(
            Coming {
                comm: facts.comm,
                peer: facts.peer,
                ordinal: call.ordinal,
                shape,
                at: (facts.region, facts.site),
                enter_ns: begin_ns,
                is_posted: false,
                arrival: Arrival {
                    rank: of.rank,
                    member: 0,
                    begin_ns,
                    end_ns: end_ns.max(begin_ns),
                    several: 0,
                    is_root: false,
                    sends,
                    receives,
                    untimed: of.clipping != Clipping::Whole,
                },
            },
            of.communicators,
        );
    }

    /// A member has come, whose communicator may not be known yet.
    #[inline]
    pub(super) fn come(&mut self, one: Coming, communicators: &Communicators) {
        if !self.arrive_here(one, communicators) {
            self.wait(one);
        }
    }

    #[cold]
    fn wait(&mut self, one: Coming) {
        match self.unresolved.len() < UNRESOLVED_MAX {
            true => self.unresolved.push_back(one),
            false => {
                self.sums.calls.unresolved += 1;
                self.end_one_of(one.arrival.several);
            }
        }
    }

    /// Communicators have been told: what waited for them goes on.
    pub fn resolve_waiting(&mut self, communicators: &Communicators) {
        for _ in 0..self.unresolved.len() {
            let Some(one) = self.unresolved.pop_front() else {
                return;
            };
            if !self.arrive_here(one, communicators) {
                self.unresolved.push_back(one);
            }
        }
    }

    /// A member has come. False where its communicator is not known.
    #[inline]
    fn arrive_here(&mut self, mut one: Coming, communicators: &Communicators) -> bool {
        let rank = one.arrival.rank;
        let Some(membership) = communicators.membership(rank, one.comm) else {
            let is_outside = communicators.is_outside(rank, one.comm);
            if is_outside {
                self.sums.calls.outside += 1;
                self.end_one_of(one.arrival.several);
            }
            return is_outside;
        };
        if membership.id != membership.peers {
            self.sums.calls.outside += 1;
            self.end_one_of(one.arrival.several);
            return true;
        }
        let size = membership.size.unwrap_or(self.job_ranks);
        // Who is alone waits for nobody.
        if size < 2 {
            self.end_one_of(one.arrival.several);
            return true;
        }
        one.arrival.member = membership.rank;
        one.arrival.is_root = u32::try_from(one.peer) == Ok(membership.rank);
        let of = Collective {
            comm: membership.id,
            ordinal: one.ordinal,
        };
        if self.members.len() >= WAITING_MAX {
            self.make_room();
        }
        let here = self.here(&of.comm);
        let open = self.open.entry(of).or_insert(Open {
            shape: one.shape,
            size,
            untold: Meeting::default(),
            list: 0,
            came: 0,
            last_ns: 0,
            is_due: false,
        });
        open.list = self.members.push(open.list, one.arrival, one.at);
        open.came += 1;
        open.last_ns = open.last_ns.max(one.arrival.begin_ns);
        meeting::merge(&mut open.untold, &one.meeting());
        if open.untold.arrivals >= size {
            // All of them report to this place.
            let met = Met {
                of,
                meeting: core::mem::take(&mut open.untold),
            };
            self.settle(&met);
        } else if open.came >= here && !open.is_due {
            open.is_due = true;
            self.outgoing.is_due(of);
        }
        true
    }

    /// How many members of a communicator report here, as far as they have told.
    fn here(&self, comm: &CommId) -> u32 {
        match *comm {
            CommId::WORLD => self.numbers.len() as u32,
            _ => self.local.get(comm).copied().unwrap_or(0),
        }
    }
}
