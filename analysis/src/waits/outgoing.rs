//! What is to be told to other places: arrivals to homes, wholes back to places, causes to places
//! of causers, waits for late receivers and late posts of receives to places of senders.

use super::at_sites::At;
use crate::messages::{Late, PlaceOf};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use invivo_proto::control::meetings::{
    Arrived, Caused, Collective, LatePost, LateReceiver, MEETINGS_MAX, Meeting, Meetings, Met,
};
use invivo_proto::control::wait_states::{WaitState, Waited};
use invivo_proto::ids::{CommId, Rank, RegionId};

/// Items of a kind that wait for the way to other places: some 8 MB, as long as that takes when it
/// is not stuck. Further ones are given up.
pub const OUTGOING_MAX: usize = 1 << 16;

/// Sends that waited: of whom, on which communicator, at which place in the program, to whom.
type Send = (Rank, CommId, At, Rank);

/// Items by place, in order.
#[derive(Clone, Debug, Default)]
pub struct Outgoing {
    /// Collectives of which all members here have come, and which have not been told yet.
    due: VecDeque<Collective>,
    by_place: BTreeMap<u32, Queue>,
    /// Items in these queues, by the room that they take in a message.
    queued: usize,
    /// Summed: one for each rank that others wait for, however often they do.
    causes: BTreeMap<(Rank, WaitState, RegionId), (u64, u64)>,
    /// Likewise: one for each sender, place in its program, and receiver; with when the last of its
    /// waits was over.
    late_receivers: BTreeMap<Send, (Waited, u64)>,
    late_posts: VecDeque<LatePost>,
}

#[derive(Clone, Debug, Default)]
struct Queue {
    arrived: VecDeque<Arrived>,
    met: VecDeque<Met>,
}

impl Outgoing {
    /// Items that wait.
    pub fn len(&self) -> usize {
        let late = self.late_receivers.len() + self.late_posts.len();
        self.due.len() + self.queued + self.causes.len() + late
    }

    /// All members here of a collective have come. No more wait than have members that wait.
    pub fn is_due(&mut self, of: Collective) {
        self.due.push_back(of);
    }

    /// The next collective to be told.
    pub fn take_due(&mut self) -> Option<Collective> {
        self.due.pop_front()
    }

    /// To the home of a collective; false when there is no room.
    pub fn arrived(&mut self, home: u32, arrived: Arrived) -> bool {
        let has_room = self.count(&arrived.meeting);
        if has_room {
            self.by_place
                .entry(home)
                .or_default()
                .arrived
                .push_back(arrived);
        }
        has_room
    }

    /// Back to a place whose ranks are members; false when there is no room.
    pub fn met(&mut self, place: u32, met: Met) -> bool {
        let has_room = self.count(&met.meeting);
        if has_room {
            self.by_place.entry(place).or_default().met.push_back(met);
        }
        has_room
    }

    fn count(&mut self, meeting: &Meeting) -> bool {
        let has_room = self.queued < OUTGOING_MAX;
        if has_room {
            self.queued += meeting.items();
        }
        has_room
    }

    /// To the place of a causer; false when there is no room.
    pub fn caused(&mut self, one: Caused) -> bool {
        let key = (one.rank, one.state, one.region);
        if self.causes.len() >= OUTGOING_MAX && !self.causes.contains_key(&key) {
            return false;
        }
        let (waits, ns) = self.causes.entry(key).or_default();
        *waits = waits.saturating_add(one.waits);
        *ns = ns.saturating_add(one.ns);
        true
    }

    /// To the place of a sender; false when there is no room.
    pub fn late_receiver(&mut self, late: &Late) -> bool {
        let at = (late.region, late.site);
        let key = (late.waiter, late.comm, at, late.causer);
        let is_full = self.late_receivers.len() >= OUTGOING_MAX;
        if is_full && !self.late_receivers.contains_key(&key) {
            return false;
        }
        let (waited, until_ns) = self.late_receivers.entry(key).or_default();
        waited.add(&Waited::once(late.ns, late.waiter));
        *until_ns = late.from_ns.saturating_add(late.ns).max(*until_ns);
        true
    }

    /// To the place of a sender; false when there is no room.
    pub fn late_post(&mut self, post: LatePost) -> bool {
        let has_room = self.late_posts.len() < OUTGOING_MAX;
        if has_room {
            self.late_posts.push_back(post);
        }
        has_room
    }

    /// Causes and waits that have not been told are of the time before a reset.
    pub fn forget_sums(&mut self) {
        self.late_posts.clear();
        self.causes.clear();
        self.late_receivers.clear();
    }

    /// Takes messages' worth of items out, one for each place that takes it.
    pub fn take(
        &mut self,
        place_of: &PlaceOf,
        resets: u64,
        mut credit: impl FnMut(u32) -> bool,
    ) -> Vec<(u32, Meetings)> {
        let mut taken: BTreeMap<u32, (Meetings, usize)> = BTreeMap::new();
        let empty = || (Meetings::default(), MEETINGS_MAX);
        let mut free: BTreeMap<u32, bool> = BTreeMap::new();
        let mut is_free = |place| *free.entry(place).or_insert_with(|| credit(place));
        for (&place, queue) in &mut self.by_place {
            if !is_free(place) {
                continue;
            }
            let (message, room) = taken.entry(place).or_insert_with(empty);
            let before = *room;
            let wholes = fit(&queue.met, room, |of| of.meeting.items());
            message.met.extend(queue.met.drain(..wholes));
            let arrivals = fit(&queue.arrived, room, |of| of.meeting.items());
            message.arrived.extend(queue.arrived.drain(..arrivals));
            self.queued -= before - *room;
        }
        self.by_place
            .retain(|_, queue| !(queue.met.is_empty() && queue.arrived.is_empty()));

        // Where it is not known yet which place a rank reports to, its causes wait.
        self.causes
            .retain(|&(rank, state, region), &mut (waits, ns)| {
                let Some(place) = place_of(rank).filter(|&place| is_free(place)) else {
                    return true;
                };
                let (message, room) = taken.entry(place).or_insert_with(empty);
                let has_room = *room > 0;
                if has_room {
                    *room -= 1;
                    message.caused.push(Caused {
                        rank,
                        state,
                        region,
                        waits,
                        ns,
                    });
                }
                !has_room
            });
        self.late_receivers.retain(
            |&(rank, comm, (region, site), receiver), (waited, until_ns)| {
                let Some(place) = place_of(rank).filter(|&place| is_free(place)) else {
                    return true;
                };
                let (message, room) = taken.entry(place).or_insert_with(empty);
                let has_room = *room > 0;
                if has_room {
                    *room -= 1;
                    message.late_receivers.push(LateReceiver {
                        rank,
                        receiver,
                        comm,
                        region,
                        site,
                        waits: waited.waits,
                        ns: waited.ns,
                        max_ns: waited.max_ns,
                        until_ns: *until_ns,
                    });
                }
                !has_room
            },
        );
        self.late_posts.retain(|post| {
            let Some(place) = place_of(post.rank).filter(|&place| is_free(place)) else {
                return true;
            };
            let (message, room) = taken.entry(place).or_insert_with(empty);
            let has_room = *room > 0;
            if has_room {
                *room -= 1;
                message.late_posts.push(*post);
            }
            !has_room
        });
        let taken = taken.into_iter().map(|(place, (message, _))| {
            let message = Meetings { resets, ..message };
            (place, message)
        });
        taken.filter(|(_, message)| !message.is_empty()).collect()
    }
}

/// How many of these, the first ones, find room, which is taken.
fn fit<T>(queue: &VecDeque<T>, room: &mut usize, items: impl Fn(&T) -> usize) -> usize {
    let fits = |one: &&T| {
        let left = room.checked_sub(items(one));
        *room = left.unwrap_or(*room);
        left.is_some()
    };
    queue.iter().take_while(fits).count()
}
