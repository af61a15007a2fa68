//! Where the two halves of a message meet: each new half is put together with the first that waits
//! in its channel, or waits itself. Halves that cannot have another half are told apart here and
//! given up; the head of `messages.rs` says why by what is known of time.

use super::books::{Books, Reason};
use super::waiting::{Channel, Half, Side, Verdict, Waiting};
use alloc::vec::Vec;

/// Halves that wait at one place for their other halves: seconds of a busy place. When more would
/// wait, the older half of them is given up.
pub const WAITING_MAX: usize = 1 << 18;
/// The same for the blocks of memory that they lie in, one for each channel at least: with the
/// table of channels some 50 MB.
pub const BLOCKS_MAX: usize = 1 << 17;

/// See the module's head.
#[derive(Clone, Debug, Default)]
pub struct Meeting {
    waiting: Waiting,
    /// Receives that ended by then may have been given up, so sends that began by then are.
    given_up_ns: u64,
}

impl Meeting {
    /// The halves that wait.
    #[cfg(test)]
    pub fn waiting(&self) -> &Waiting {
        &self.waiting
    }

    /// What was told so far lies so much later.
    pub fn shift(&mut self, offset_ns: i64) {
        if self.given_up_ns != 0 {
            self.given_up_ns = self.given_up_ns.saturating_add_signed(offset_ns);
        }
    }

    /// The halves that wait, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Half> {
        self.waiting.iter_mut()
    }

    /// Takes in a half of a message whose receiver lost records until `lost_ns`.
    pub fn meet(
        &mut self,
        channel: Channel,
        side: Side,
        half: Half,
        lost_ns: u64,
        books: &mut Books,
    ) {
        if side == Side::Send && half.begin_ns <= lost_ns {
            return books.unmatched(&half, Reason::Missing);
        }
        if side == Side::Send && half.begin_ns <= self.given_up_ns {
            return books.unmatched(&half, Reason::Limit);
        }
        if self.waiting.len() >= WAITING_MAX || self.waiting.blocks() >= BLOCKS_MAX {
            self.make_room(books);
        }
        self.waiting.meet(channel, side, half, |other| {
            let (send, receive) = match side {
                Side::Send => (&half, other),
                Side::Receive => (other, &half),
            };
            match impossible(send, receive, lost_ns) {
                None => {
                    books.pair(channel.destination, send, receive);
                    Verdict::Pair
                }
                Some((without, reason)) => {
                    books.unmatched(if without == Side::Send { send } else { receive }, reason);
                    if without == side {
                        Verdict::Leave
                    } else {
                        Verdict::Drop
                    }
                }
            }
        });
    }

    /// Gives up the older half of what waits.
    #[cold]
    fn make_room(&mut self, books: &mut Books) {
        let mut ends: Vec<u64> = self
            .waiting
            .iter()
            .map(|(_, _, half)| half.end_ns)
            .collect();
        let middle = ends.len() / 2;
        let until_ns = *ends.select_nth_unstable(middle).1;
        self.given_up_ns = self.given_up_ns.max(until_ns);
        self.waiting
            .drop_until(until_ns, |half| books.unmatched(half, Reason::Limit));
    }
}

/// Which of two halves that stand first cannot have another half, and why, if they cannot be a
/// pair.
#[inline]
fn impossible(send: &Half, receive: &Half, lost_ns: u64) -> Option<(Side, Reason)> {
    if send.begin_ns <= lost_ns {
        return Some((Side::Send, Reason::Missing));
    }
    if send.epoch != receive.epoch {
        let older = if send.epoch < receive.epoch {
            Side::Send
        } else {
            Side::Receive
        };
        return Some((older, Reason::Cut));
    }
    let error_ns = u64::from(send.error_ns) + u64::from(receive.error_ns);
    let received_first = receive.end_ns.saturating_add(error_ns) < send.begin_ns;
    received_first.then_some((Side::Receive, Reason::Missing))
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_proto::control::peer::Standing;
    use invivo_proto::ids::{CommId, Rank};

    #[test]
    fn channels_in_which_one_waits_are_bounded_too() {
        let (mut meeting, mut books) = (Meeting::default(), Books::default());
        let total = (BLOCKS_MAX + 1000) as u64;
        for at in 1..=total {
            let channel = Channel {
                destination: Rank(0),
                comm: CommId::WORLD,
                source: 1,
                tag: at as i32,
            };
            let half = Half {
                begin_ns: 10 * at,
                end_ns: 10 * at + 5,
                bytes: 8,
                epoch: 0,
                error_ns: 0,
                standing: Standing::Whole,
            };
            meeting.meet(channel, Side::Receive, half, 0, &mut books);
        }
        let waiting = meeting.waiting().len();
        assert!(
            waiting <= BLOCKS_MAX && waiting > BLOCKS_MAX / 3,
            "{waiting}"
        );
        assert_eq!(books.sums.unmatched.limit + waiting as u64, total);
    }
}
