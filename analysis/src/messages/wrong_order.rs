//! Late senders that a receiver waited for although another message was there: one that it received
//! later had been sent earlier (Scalasca's Late Sender, Wrong Order).
//!
//! Pairs are found in any order, as records of ranks come in packets, one rank's after the other's.
//! So a late sender is compared with messages that were received later and are known already, and
//! kept for those that are found after it. They are compared many at once, in the order in which
//! they were received: each by itself would have to find its place among thousands. What is kept of
//! either is bounded; what has no room is only not told.

use super::calls::Late;
use alloc::vec::Vec;
use invivo_proto::control::wait_states::WaitState;

/// Late senders of a receiver that are kept; where there would be more, the newest two thirds of so
/// many stay. Records of ranks come in packets, one rank's after the other's, so that a message may
/// be found long after those that were received later.
pub const LATE_MAX: usize = 1536;
/// Messages of a receiver that are kept, in the same way.
pub const RECEIVED_MAX: usize = 3072;
/// Messages, or late senders, that are found until they are compared: 4 KiB, or 18 KiB.
/// In tests few, so that they are compared often.
const NEW_MAX: usize = if cfg!(test) { 7 } else { 256 };

/// A message, in job time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// When the call was left that completed the receive.
    pub received_ns: u64,
    /// When the call was entered that sent it.
    pub sent_ns: u64,
}

/// A late sender: its message, and the wait.
type LateOne = (Passed, Late);

/// What one receiver has received.
///
/// Of both kinds only those are kept that no other one makes needless, so that each was sent before
/// the next one, which was received later: a late sender before which another one was sent that was
/// received later is told and gone; of messages that one tells as much.
#[derive(Clone, Debug, Default)]
pub struct WrongOrder {
    late: Vec<LateOne>,
    received: Vec<Passed>,
    /// Those that were told, by when they were received: a message that is found later may have
    /// been there for longer.
    told: Vec<Told>,
    /// By how much a late sender may be kept that sent later than one that was received later:
    /// where clocks are off, those of late senders and of others are told apart from each other.
    slack_ns: u64,
    /// What has not been compared with the others, as it was found.
    new_late: Vec<LateOne>,
    new_received: Vec<Passed>,
    /// Those that are told while they are compared; nothing in between.
    new_told: Vec<Told>,
}

/// A late sender that was told.
#[derive(Clone, Copy, Debug)]
struct Told {
    received_ns: u64,
    wait: Late,
    /// When the other message was sent, of those that were found the one that was first.
    other_ns: u64,
}

impl WrongOrder {
    /// A message was received; `each` gets what [`WrongOrder::settle`] tells, where it is time for
    /// that.
    #[inline]
    pub fn received(&mut self, of: Passed, each: impl FnMut(Late)) {
        self.new_received.push(of);
        if self.new_received.len() >= NEW_MAX {
            self.settle(each);
        }
    }

    /// It was waited for a late sender, in a call that was left then. By so much its `sent_ns` is
    /// before that of its message, as it was told to [`WrongOrder::received`]; `each` gets what
    /// [`WrongOrder::settle`] tells, where it is time for that.
    #[inline]
    pub fn late(&mut self, of: Passed, off_ns: u64, wait: &Late, each: impl FnMut(Late)) {
        self.slack_ns = self.slack_ns.max(off_ns);
        self.new_late.push((of, *wait));
        if self.new_late.len() >= NEW_MAX {
            self.settle(each);
        }
    }

    /// Compares what was found since this was done last. `each` gets the waits for late senders
    /// before which another message had been sent, which was received after theirs, and for how
    /// long that was there.
    pub fn settle(&mut self, mut each: impl FnMut(Late)) {
        // Taken out, as they are compared with the rest; put back to reuse their memory.
        let mut received = core::mem::take(&mut self.new_received);
        let mut late = core::mem::take(&mut self.new_late);
        received.sort_by_key(|of| of.received_ns);
        late.sort_by_key(|(of, _)| key(of));
        self.tell_longer(&received, &mut each);
        self.tell_kept(&received, &mut each);
        self.keep_received(&received);
        self.tell_new(&mut late, &mut each);
        merge_in(&mut self.late, &late, |(of, _)| key(of));
        self.new_told.sort_by_key(|told| told.received_ns);
        merge_in(&mut self.told, &self.new_told, |told| told.received_ns);
        give_up_oldest(&mut self.received, RECEIVED_MAX);
        give_up_oldest(&mut self.late, LATE_MAX);
        give_up_oldest(&mut self.told, LATE_MAX);
        self.new_told.clear();
        received.clear();
        late.clear();
        (self.new_received, self.new_late) = (received, late);
    }

    /// Job time is so far ahead of the clock that all so far was told by.
    pub fn shift(&mut self, offset_ns: i64) {
        let shift = |ns: &mut u64| *ns = ns.saturating_add_signed(offset_ns);
        for (of, wait) in self.late.iter_mut().chain(&mut self.new_late) {
            [&mut of.received_ns, &mut of.sent_ns, &mut wait.from_ns]
                .into_iter()
                .for_each(shift);
        }
        for of in self.received.iter_mut().chain(&mut self.new_received) {
            [&mut of.received_ns, &mut of.sent_ns]
                .into_iter()
                .for_each(shift);
        }
        for told in &mut self.told {
            let wait = &mut told.wait.from_ns;
            [&mut told.received_ns, &mut told.other_ns, wait]
                .into_iter()
                .for_each(shift);
        }
    }

    /// Some were there for longer than others that were found before. Of two that were told the one
    /// that was received later has no other message that was sent before the other one's.
    fn tell_longer(&mut self, new: &[Passed], each: &mut impl FnMut(Late)) {
        let mut later = Backward::over(new);
        for told in self.told.iter_mut().rev() {
            let other_ns = later.first_sent_behind(told.received_ns);
            if other_ns < told.other_ns {
                tell_there(&told.wait, other_ns, told.other_ns, each);
                told.other_ns = other_ns;
            } else if later.is_over() {
                return;
            }
        }
    }

    /// New messages may have been sent before late senders that were kept for them.
    fn tell_kept(&mut self, new: &[Passed], each: &mut impl FnMut(Late)) {
        let mut later = Backward::over(new);
        // Those that stay move together, to the end.
        let (mut at, mut stay) = (self.late.len(), self.late.len());
        while at > 0 {
            let of = self.late[at - 1].0;
            let other_ns = later.first_sent_behind(of.received_ns);
            if other_ns < of.sent_ns {
                let wait = self.late[at - 1].1;
                self.tell_first(of, &wait, other_ns, each);
            } else if later.is_over() && other_ns >= of.sent_ns.saturating_add(self.slack_ns) {
                // Nor was it before those that are kept before this one.
                break;
            } else {
                stay -= 1;
                if stay != at - 1 {
                    self.late[stay] = self.late[at - 1];
                }
            }
            at -= 1;
        }
        self.late.drain(at..stay);
    }

    /// New late senders may have been waited for although messages were there that are kept.
    fn tell_new(&mut self, new: &mut Vec<LateOne>, each: &mut impl FnMut(Late)) {
        let (mut behind, mut stay) = (self.received.len(), new.len());
        for at in (0..new.len()).rev() {
            let (of, wait) = new[at];
            let before = |one: &Passed| one.received_ns <= of.received_ns;
            behind = self.received[..behind].partition_point(before);
            // Of those received later the first one was sent first.
            match self.received.get(behind) {
                Some(later) if later.sent_ns < of.sent_ns => {
                    let other_ns = later.sent_ns;
                    self.tell_first(of, &wait, other_ns, each);
                }
                _ => {
                    stay -= 1;
                    new[stay] = (of, wait);
                }
            }
        }
        new.drain(..stay);
    }

    /// All of the wait is in wrong order, and since the other message had been sent that was there.
    fn tell_first(&mut self, of: Passed, wait: &Late, other_ns: u64, each: &mut impl FnMut(Late)) {
        each(Late {
            state: WaitState::LateSenderWrongOrder,
            ..*wait
        });
        tell_there(wait, other_ns, u64::MAX, each);
        if other_ns <= wait.from_ns {
            // For all of it.
            return;
        }
        self.new_told.push(Told {
            received_ns: of.received_ns,
            wait: *wait,
            other_ns,
        });
    }

    /// Keeps messages, in the order in which they were received, but for those before which one was
    /// sent that was received later.
    fn keep_received(&mut self, mut new: &[Passed]) {
        let all = &mut self.received;
        let mut old = all.len();
        // From the last to the first, to where there is room now.
        all.extend_from_slice(new);
        let (mut at, mut first_ns) = (all.len(), u64::MAX);
        loop {
            let last_old = old.checked_sub(1).map(|last| all[last]);
            let next = match (last_old, new.split_last()) {
                (Some(of), Some((last, _))) if of.received_ns > last.received_ns => {
                    old -= 1;
                    of
                }
                (_, Some((last, rest))) => {
                    new = rest;
                    *last
                }
                // As those before it.
                (Some(of), None) if of.sent_ns < first_ns => break,
                (Some(of), None) => {
                    old -= 1;
                    of
                }
                (None, None) => break,
            };
            if next.sent_ns < first_ns {
                first_ns = next.sent_ns;
                at -= 1;
                all[at] = next;
            }
        }
        all.drain(old..at);
    }
}

/// Messages from the one that was received last on.
struct Backward<'a> {
    rest: &'a [Passed],
    /// When the first of those before was sent.
    first_ns: u64,
}

impl Backward<'_> {
    fn over(all: &[Passed]) -> Backward<'_> {
        Backward {
            rest: all,
            first_ns: u64::MAX,
        }
    }

    /// When the first of those was sent that were received later than that. To be asked from late
    /// to early.
    #[inline]
    fn first_sent_behind(&mut self, received_ns: u64) -> u64 {
        while let Some((last, rest)) = self.rest.split_last()
            && last.received_ns > received_ns
        {
            self.first_ns = self.first_ns.min(last.sent_ns);
            self.rest = rest;
        }
        self.first_ns
    }

    fn is_over(&self) -> bool {
        self.rest.is_empty()
    }
}

/// The order of late senders.
fn key(of: &Passed) -> (u64, u64) {
    (of.received_ns, of.sent_ns)
}

/// Puts new ones among the others, both in the order of a key; of equal ones behind the old. As a
/// rule they belong among the last ones.
fn merge_in<T: Copy, K: Ord>(all: &mut Vec<T>, mut new: &[T], key: impl Fn(&T) -> K) {
    let mut old = all.len();
    all.extend_from_slice(new);
    // From the last to the first, to where there is room now.
    let mut at = all.len();
    while let Some((last, rest)) = new.split_last() {
        at -= 1;
        if old > 0 && key(&all[old - 1]) > key(last) {
            old -= 1;
            all[at] = all[old];
        } else {
            all[at] = *last;
            new = rest;
        }
    }
}

/// Gives up the oldest where there are more than that: two thirds of so many stay.
fn give_up_oldest<T>(all: &mut Vec<T>, most: usize) {
    if all.len() > most {
        all.drain(..all.len() - most / 3 * 2);
    }
}

/// Another message was there from then on, of which `told_ns` on has been told.
fn tell_there(wait: &Late, since_ns: u64, told_ns: u64, each: &mut impl FnMut(Late)) {
    let end_ns = wait.from_ns.saturating_add(wait.ns);
    let (from_ns, to_ns) = (wait.from_ns.max(since_ns), end_ns.min(told_ns));
    if from_ns < to_ns {
        each(Late {
            state: WaitState::LateSenderOtherThere,
            from_ns,
            before_ns: end_ns - to_ns,
            ns: to_ns - from_ns,
            ..*wait
        });
    }
}

#[cfg(test)]
mod tests;
