//! Non-blocking sends of one rank that are complete: whether the call that completed one waited for
//! its receiver.
//!
//! The place of the receiver knows when the receive was posted, this one when the send was
//! completed, and in which call. Either may be known first.

use alloc::collections::VecDeque;
use hashbrown::HashMap;
use invivo_proto::control::meetings::LatePost;
use invivo_proto::ids::{RegionId, SiteId};
use rustc_hash::FxBuildHasher;

/// Completed sends of one rank whose receives may have been posted late, as far as is known: some
/// 200 KiB. Of more the oldest are forgotten.
pub const COMPLETED_MAX: usize = 1 << 11;
/// Receives that were posted late, to sends of one rank that are not complete: some 200 KiB. Of more
/// the oldest are forgotten.
pub const POSTS_MAX: usize = 1 << 11;

/// The call that completed a send. Times in job time, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completed {
    pub begin_ns: u64,
    pub end_ns: u64,
    pub region: RegionId,
    pub site: SiteId,
    /// What it waits for there is told of: it is timed, counts, waits, and completes nothing but
    /// sends.
    pub may_wait: bool,
}

/// A part of a call in which was waited for a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waited {
    pub by: Completed,
    pub post: LatePost,
    /// How far the time of the post may be off, in ns.
    pub error_ns: u32,
    pub from_ns: u64,
    pub ns: u64,
}

/// By when the call began that posted the send, in the rank's ticks. Of sends that one call posts
/// together (`MPI_Startall`) one stands for all: they are mostly completed together, too.
#[derive(Clone, Debug, Default)]
pub struct Sends {
    completed: Newest<Completed>,
    posts: Newest<(LatePost, u32)>,
    /// Until when a call's waiting is told already, by its begin. One that completes several sends
    /// waits for their receivers at once: for each of them as long as for none before it.
    told: VecDeque<(u64, u64)>,
    /// The newest send that was forgotten.
    forgotten: u64,
}

/// What comes of a receive that was posted late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Post {
    /// Somebody waited for it.
    Waited(Waited),
    /// Nobody did, or its send is not complete yet.
    Taken,
    /// Its send was forgotten.
    Lost,
}

/// Calls of a rank of which is known until when their waiting is told.
const TOLD_MAX: usize = 64;

impl Sends {
    /// A send is complete that was posted then (in ticks).
    pub fn complete(&mut self, posted: u64, by: Completed) -> Option<Waited> {
        match self.posts.take(posted) {
            Some((post, error_ns)) => self.wait(by, post, error_ns),
            None => {
                if let Some(oldest) = self.completed.insert(posted, by, COMPLETED_MAX) {
                    self.forgotten = self.forgotten.max(oldest);
                }
                None
            }
        }
    }

    /// The receive of one was posted late. The time may be off by so much, in ns.
    pub fn post(&mut self, post: LatePost, error_ns: u32) -> Post {
        let number = post.send_ticks;
        match self.completed.take(number) {
            Some(by) => {
                return self
                    .wait(by, post, error_ns)
                    .map_or(Post::Taken, Post::Waited);
            }
            None if number <= self.forgotten => return Post::Lost,
            None => _ = self.posts.insert(number, (post, error_ns), POSTS_MAX),
        }
        Post::Taken
    }

    /// Nothing of before counts.
    pub fn forget(&mut self) {
        *self = Sends {
            forgotten: self.forgotten,
            ..Sends::default()
        };
    }

    fn wait(&mut self, by: Completed, post: LatePost, error_ns: u32) -> Option<Waited> {
        // Who has left before did not wait: the message was left behind.
        if !by.may_wait || post.posted_ns >= by.end_ns {
            return None;
        }
        let told = self.told.iter_mut().rev().find(|of| of.0 == by.begin_ns);
        let from_ns = told.as_ref().map_or(by.begin_ns, |of| of.1);
        let ns = post.posted_ns.checked_sub(from_ns).filter(|ns| *ns > 0)?;
        match told {
            Some(told) => told.1 = post.posted_ns,
            None => {
                if self.told.len() >= TOLD_MAX {
                    self.told.pop_front();
                }
                self.told.push_back((by.begin_ns, post.posted_ns));
            }
        }
        Some(Waited {
            by,
            post,
            error_ns,
            from_ns,
            ns,
        })
    }
}

/// Things by a number, the newest of them.
#[derive(Clone, Debug)]
struct Newest<T> {
    by_number: HashMap<u64, T, FxBuildHasher>,
    /// Numbers in their order, with such as are not there any more.
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
    /// Puts one in. Where more than `most` would be there the oldest goes: its number.
    fn insert(&mut self, number: u64, of: T, most: usize) -> Option<u64> {
        self.by_number.insert(number, of);
        self.order.push_back(number);
        let mut gone = None;
        while self.by_number.len() > most || self.order.len() > 2 * most {
            let oldest = self.order.pop_front()?;
            if self.by_number.remove(&oldest).is_some() {
                gone = Some(oldest);
            }
        }
        gone
    }

    fn take(&mut self, number: u64) -> Option<T> {
        match self.by_number.is_empty() {
            true => None,
            false => self.by_number.remove(&number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_proto::ids::{CommId, Rank};

    fn by(begin_ns: u64, end_ns: u64) -> Completed {
        Completed {
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

    fn ns(waited: Option<Waited>) -> Option<(u64, u64)> {
        waited.map(|of| (of.from_ns, of.ns))
    }

    fn posted(of: Post) -> Option<(u64, u64)> {
        match of {
            Post::Waited(waited) => ns(Some(waited)),
            Post::Taken | Post::Lost => None,
        }
    }

    #[test]
    fn a_call_waits_until_its_last_receive_is_posted() {
        let mut sends = Sends::default();
        // Two of the three are known before the call, and one behind it.
        assert_eq!(sends.post(post(1, 150), 0), Post::Taken);
        assert_eq!(sends.post(post(2, 130), 0), Post::Taken);
        assert_eq!(ns(sends.complete(1, by(100, 200))), Some((100, 50)));
        assert_eq!(
            ns(sends.complete(2, by(100, 200))),
            None,
            "it waits already"
        );
        assert_eq!(sends.complete(3, by(100, 200)), None);
        assert_eq!(posted(sends.post(post(3, 180), 0)), Some((150, 30)));
        // Each is told once, and another call is another one.
        assert_eq!(sends.post(post(3, 190), 0), Post::Taken);
        assert_eq!(
            ns(sends.complete(3, by(300, 400))),
            None,
            "posted long before"
        );
    }

    #[test]
    fn who_leaves_before_or_does_not_wait_is_not_told_of() {
        let mut sends = Sends::default();
        for (posted, by) in [
            (1, by(100, 200)),
            (
                2,
                Completed {
                    may_wait: false,
                    ..by(100, 300)
                },
            ),
            (3, by(250, 300)),
        ] {
            assert_eq!(sends.complete(posted, by), None);
            assert_eq!(sends.post(post(posted, 200), 0), Post::Taken);
        }
    }

    #[test]
    fn what_is_forgotten_is_told_to_be_lost() {
        let mut sends = Sends::default();
        let many = 3 * COMPLETED_MAX as u64;
        for number in 1..=many {
            assert_eq!(sends.complete(number, by(100, 200)), None);
        }
        assert_eq!(sends.completed.by_number.len(), COMPLETED_MAX);
        assert!(sends.completed.order.len() <= 2 * COMPLETED_MAX);
        assert_eq!(sends.post(post(1, 150), 0), Post::Lost);
        assert_eq!(posted(sends.post(post(many, 150), 0)), Some((100, 50)));
        for number in 1..=many {
            sends.post(post(many + number, 150), 0);
        }
        assert_eq!(sends.posts.by_number.len(), POSTS_MAX);
        sends.forget();
        assert_eq!(sends.complete(2 * many, by(100, 200)), None);
    }
}
