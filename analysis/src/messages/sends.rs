//! Non-blocking sends of one rank that are complete: whether the call that completed one waited for
//! its receiver.
//!
//! The place of the receiver knows when the receive was posted, this one when the send was
//! completed, and in which call. Either may be known first, and a call that completes several sends
//! hears of their receivers in any order. It waits for all of them at once, so that its waiting is
//! that for the last: each is told as long as it makes the call wait beyond what was told before.

use alloc::collections::VecDeque;
use hashbrown::HashMap;
use invivo_proto::control::meetings::LatePost;
use invivo_proto::ids::{RegionId, SiteId};
use rustc_hash::FxBuildHasher;

/// Completed sends of one rank whose receives may turn out to have been posted late: some 200 KiB.
/// Of more the oldest are forgotten.
pub const COMPLETED_MAX: usize = 1 << 11;
/// Receives of sends of one rank that were posted late: some 200 KiB. Of more the oldest are
/// forgotten.
pub const POSTS_MAX: usize = 1 << 11;

/// The call that completed sends. Times in job time, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completing {
    pub begin_ns: u64,
    pub end_ns: u64,
    pub region: RegionId,
    pub site: SiteId,
    /// What it waits for there is told of: it is timed, counts, waits, and receives nothing.
    pub may_wait: bool,
}

/// A part of a call in which was waited for a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waited {
    pub by: Completing,
    pub post: LatePost,
    /// How far the time of the post may be off beside that of the call, in ns.
    pub error_ns: u64,
    /// For how long the call had waited until then, as was told before.
    pub before_ns: u64,
    pub ns: u64,
}

/// What is kept of a rank's sends, by when the calls began that posted them, in its ticks. Several
/// sends of one call (`MPI_Startall`) have one name: the last of their receivers counts for each.
#[derive(Clone, Debug, Default)]
pub struct Sends {
    /// The numbers of the calls that completed them.
    completed: Newest<u64>,
    calls: VecDeque<Call>,
    /// The number of the first of them.
    first_call: u64,
    posts: Newest<Post>,
    /// Late posts that were forgotten before their sends were complete.
    lost: u64,
}

#[derive(Clone, Copy, Debug)]
struct Call {
    by: Completing,
    /// For how long it has waited, as was told.
    told_ns: u64,
}

#[derive(Clone, Copy, Debug)]
struct Post {
    of: LatePost,
    error_ns: u64,
    /// Its send is complete.
    is_used: bool,
}

impl Sends {
    /// A call has completed the send that was posted then (in ticks).
    pub fn complete(&mut self, posted: u64, by: Completing) -> Option<Waited> {
        if self.calls.back().is_none_or(|last| last.by != by) {
            // A call has one send at least among the completed ones, which are as many.
            if self.calls.len() > COMPLETED_MAX {
                self.calls.pop_front();
                self.first_call += 1;
            }
            self.calls.push_back(Call { by, told_ns: 0 });
        }
        let number = self.first_call + self.calls.len() as u64 - 1;
        self.completed.insert(posted, number, COMPLETED_MAX);
        let post = self.posts.get(posted)?;
        post.is_used = true;
        let (of, error_ns) = (post.of, post.error_ns);
        self.wait(number, of, error_ns)
    }

    /// The receive of one was posted late. The time may be off by so much, in ns.
    pub fn post(&mut self, of: LatePost, error_ns: u64) -> Option<Waited> {
        let ticks = of.send_ticks;
        let number = self.completed.get(ticks).copied();
        let known = self.posts.get(ticks);
        if known.is_none_or(|known| known.of.posted_ns < of.posted_ns) {
            let is_used = number.is_some();
            let post = Post {
                of,
                error_ns,
                is_used,
            };
            let forgotten = self.posts.insert(ticks, post, POSTS_MAX);
            self.lost += u64::from(forgotten.is_some_and(|post| !post.is_used));
        }
        self.wait(number?, of, error_ns)
    }

    /// Nothing of before counts.
    pub fn forget(&mut self) {
        *self = Sends::default();
    }

    /// Late posts that were forgotten before their sends were complete, since this was asked last.
    pub fn take_lost(&mut self) -> u64 {
        core::mem::take(&mut self.lost)
    }

    fn wait(&mut self, number: u64, post: LatePost, error_ns: u64) -> Option<Waited> {
        let at = number.checked_sub(self.first_call)?;
        let call = self.calls.get_mut(usize::try_from(at).ok()?)?;
        let by = call.by;
        // Who has left before did not wait: the message was left behind.
        if !by.may_wait || post.posted_ns >= by.end_ns {
            return None;
        }
        let whole_ns = post.posted_ns.saturating_sub(by.begin_ns);
        // What both clocks together may explain is no wait.
        if whole_ns <= error_ns.saturating_mul(2) || whole_ns <= call.told_ns {
            return None;
        }
        let before_ns = core::mem::replace(&mut call.told_ns, whole_ns);
        Some(Waited {
            by,
            post,
            error_ns,
            before_ns,
            ns: whole_ns - before_ns,
        })
    }
}

/// Things by a number, the newest of them.
#[derive(Clone, Debug)]
struct Newest<T> {
    by_number: HashMap<u64, T, FxBuildHasher>,
    /// Their numbers, in the order in which they came.
    order: VecDeque<u64>,
}

impl<T> Default for Newest<T> {
    fn default() -> Self {
        Newest {
            by_number: HashMap::default(),
            order: VecDeque::new(),
        }
    }
}

impl<T> Newest<T> {
    /// Puts one in, instead of one with the same number. Gives the oldest where there would be more
    /// than `most`.
    fn insert(&mut self, number: u64, of: T, most: usize) -> Option<T> {
        if self.by_number.insert(number, of).is_none() {
            self.order.push_back(number);
        }
        if self.order.len() <= most {
            return None;
        }
        let oldest = self.order.pop_front()?;
        self.by_number.remove(&oldest)
    }

    fn get(&mut self, number: u64) -> Option<&mut T> {
        match self.by_number.is_empty() {
            true => None,
            false => self.by_number.get_mut(&number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_proto::ids::{CommId, Rank};

    fn by(begin_ns: u64, end_ns: u64) -> Completing {
        Completing {
            begin_ns,
            end_ns,
            region: RegionId(3),
            site: SiteId(4),
            may_wait: true,
        }
    }

    fn post(send_ticks: u64, posted_ns: u64) -> LatePost {
        LatePost {
            rank: Rank(0),
            receiver: Rank(1),
            comm: CommId::WORLD,
            send_ticks,
            posted_ns,
        }
    }

    /// What was told before, and the wait.
    fn ns(waited: Option<Waited>) -> Option<(u64, u64)> {
        waited.map(|of| (of.before_ns, of.ns))
    }

    #[test]
    fn a_call_waits_until_its_last_receive_is_posted() {
        let mut sends = Sends::default();
        // Two of the three are known before the call, and one behind it.
        assert_eq!(sends.post(post(1, 150), 0), None);
        assert_eq!(sends.post(post(2, 130), 0), None);
        assert_eq!(ns(sends.complete(1, by(100, 200))), Some((0, 50)));
        assert_eq!(
            ns(sends.complete(2, by(100, 200))),
            None,
            "it waits already"
        );
        assert_eq!(sends.complete(3, by(100, 200)), None);
        assert_eq!(ns(sends.post(post(3, 180), 0)), Some((50, 30)));
        assert_eq!(ns(sends.post(post(2, 170), 0)), None);
        assert_eq!(ns(sends.post(post(3, 195), 0)), Some((80, 15)));
    }

    #[test]
    fn of_sends_of_one_call_the_last_receiver_counts() {
        for behind in [false, true] {
            let mut sends = Sends::default();
            let mut told = 0;
            let complete = |sends: &mut Sends| {
                let both = [(); 2].map(|()| sends.complete(7, by(100, 900)));
                both.iter().flatten().map(|of| of.ns).sum::<u64>()
            };
            if behind {
                told += complete(&mut sends);
            }
            for posted_ns in [850, 150] {
                told += sends.post(post(7, posted_ns), 0).map_or(0, |of| of.ns);
            }
            if !behind {
                told += complete(&mut sends);
            }
            assert_eq!(told, 750);
        }
    }

    #[test]
    fn many_calls_are_told_once_each() {
        let mut sends = Sends::default();
        let calls = COMPLETED_MAX as u64 / 2;
        for call in 0..calls {
            for send in 0..2 {
                let of = by(1000 * call, 1000 * call + 900);
                assert_eq!(sends.complete(2 * call + send, of), None);
            }
        }
        let mut sum = 0;
        // All of one receiver, and then all of the other one.
        for send in 0..2 {
            for call in 0..calls {
                let posted = post(2 * call + send, 1000 * call + 400 + 100 * send);
                sum += sends.post(posted, 0).map_or(0, |of| of.ns);
            }
        }
        assert_eq!((sum, sends.take_lost()), (500 * calls, 0));
    }

    #[test]
    fn who_leaves_before_or_only_looks_does_not_wait() {
        let mut sends = Sends::default();
        let looks = Completing {
            may_wait: false,
            ..by(100, 300)
        };
        for (posted, by) in [(1, by(100, 200)), (2, looks), (3, by(250, 300))] {
            assert_eq!(sends.complete(posted, by), None);
            assert_eq!(sends.post(post(posted, 200), 0), None);
        }
        // By clocks that are off by 30 it is no wait, and with what comes then it is a whole one.
        assert_eq!(sends.complete(4, by(400, 500)), None);
        assert_eq!(sends.post(post(4, 450), 30), None);
        assert_eq!(ns(sends.post(post(4, 461), 30)), Some((0, 61)));
        assert!(sends.posts.by_number.values().all(|post| post.is_used));
    }

    #[test]
    fn what_is_forgotten_before_it_is_used_is_lost() {
        let mut sends = Sends::default();
        let many = 3 * COMPLETED_MAX as u64;
        for number in 1..=many {
            assert_eq!(
                sends.complete(number, by(1000 * number, 1000 * number + 200)),
                None
            );
        }
        assert_eq!(sends.completed.by_number.len(), COMPLETED_MAX);
        assert!(sends.calls.len() <= COMPLETED_MAX + 1);
        // One that is not complete yet is not lost, however old it is.
        assert_eq!(sends.post(post(0, 9_000_150), 0), None);
        assert_eq!(
            ns(sends.complete(0, by(9_000_100, 9_000_200))),
            Some((0, 50))
        );
        let newest = post(many, 1000 * many + 150);
        assert_eq!(ns(sends.post(newest, 0)), Some((0, 150)));
        assert_eq!(sends.take_lost(), 0);
        for number in 1..=many {
            sends.post(post(many + number, 150), 0);
        }
        assert_eq!(sends.posts.by_number.len(), POSTS_MAX);
        assert_eq!(sends.take_lost(), many - POSTS_MAX as u64);
        sends.forget();
        assert_eq!(sends.complete(2 * many, by(100, 200)), None);
    }
}
