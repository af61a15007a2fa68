//! Late senders that a receiver waited for although another message was there: one that it received
//! later had been sent earlier (Scalasca's Late Sender, Wrong Order).
//!
//! Pairs are found in any order, as records of ranks come in packets, one rank's after the other's.
//! So a late sender is compared with messages that were received later and are known already, and
//! kept for those that are found after it. What is kept of either is bounded; what has no room is
//! only not told.

use super::calls::Late;
use alloc::collections::VecDeque;
use invivo_proto::control::wait_states::WaitState;

/// Late senders of a receiver that are kept: records of ranks come in packets, one rank's after the
/// other's, so that a message may be found long after those that were received later.
pub const LATE_MAX: usize = 1024;
/// Messages of a receiver that are kept.
pub const RECEIVED_MAX: usize = 2048;

/// A message, in job time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// When the call was left that completed the receive.
    pub received_ns: u64,
    /// When the call was entered that sent it.
    pub sent_ns: u64,
}

/// What one receiver has received.
///
/// Of both kinds only those are kept that no other one makes needless, so that each was sent before
/// the next one, which was received later: a late sender before which another one was sent that was
/// received later is told and gone; of messages that one tells as much.
#[derive(Clone, Debug, Default)]
pub struct WrongOrder {
    late: VecDeque<(Passed, Late)>,
    received: VecDeque<Passed>,
    /// Those that were told, by when they were received: a message that is found later may have
    /// been there for longer.
    told: VecDeque<Told>,
    /// By how much a late sender may be kept that sent later than one that was received later:
    /// where clocks are off, those of late senders and of others are told apart from each other.
    slack_ns: u64,
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
    /// A message was received; `each` gets the waits for late senders that it had been sent before,
    /// and was received after, and for how long it was there.
    #[inline]
    pub fn received(&mut self, of: Passed, mut each: impl FnMut(Late)) {
        if (self.told.back()).is_some_and(|last| last.other_ns > of.sent_ns) {
            self.tell_longer(of, &mut each);
        }
        if (self.late.back()).is_some_and(|(last, _)| self.may_be_before(of, *last)) {
            self.tell(of, &mut each);
        }
        // As a rule it was received last.
        while let Some(last) = self.received.back() {
            if last.received_ns > of.received_ns {
                return self.insert(of);
            }
            if last.sent_ns < of.sent_ns {
                break;
            }
            self.received.pop_back();
        }
        self.push(self.received.len(), of);
    }

    /// Job time is so far ahead of the clock that all so far was told by.
    pub fn shift(&mut self, offset_ns: i64) {
        let shift = |ns: &mut u64| *ns = ns.saturating_add_signed(offset_ns);
        for (of, wait) in &mut self.late {
            [&mut of.received_ns, &mut of.sent_ns, &mut wait.from_ns]
                .into_iter()
                .for_each(shift);
        }
        for of in &mut self.received {
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

    /// It was there for longer than others that were found before. Of two that were told the one
    /// that was received later has no other message that was sent before the other one's.
    fn tell_longer(&mut self, of: Passed, each: &mut impl FnMut(Late)) {
        let before = |told: &Told| told.received_ns < of.received_ns;
        let at = match self.told.back().is_some_and(before) {
            true => self.told.len(),
            false => self.told.partition_point(before),
        };
        for told in self.told.range_mut(..at).rev() {
            if told.other_ns <= of.sent_ns {
                break;
            }
            tell_there(&told.wait, of.sent_ns, told.other_ns, each);
            told.other_ns = of.sent_ns;
        }
    }

    fn tell(&mut self, of: Passed, each: &mut impl FnMut(Late)) {
        let before = |(late, _): &(Passed, Late)| late.received_ns < of.received_ns;
        let mut at = match self.late.back().is_some_and(before) {
            true => self.late.len(),
            false => self.late.partition_point(before),
        };
        while at > 0 && self.may_be_before(of, self.late[at - 1].0) {
            at -= 1;
            if of.sent_ns < self.late[at].0.sent_ns
                && let Some((late, wait)) = self.late.remove(at)
            {
                self.tell_first(late, &wait, of, each);
            }
        }
    }

    /// All of the wait is in wrong order, and since the other message had been sent that was there.
    fn tell_first(&mut self, of: Passed, wait: &Late, other: Passed, each: &mut impl FnMut(Late)) {
        each(Late {
            state: WaitState::LateSenderWrongOrder,
            ..*wait
        });
        tell_there(wait, other.sent_ns, u64::MAX, each);
        if other.sent_ns <= wait.from_ns {
            // For all of it.
            return;
        }
        if self.told.len() >= LATE_MAX {
            self.told.pop_front();
        }
        let before = |told: &Told| told.received_ns <= of.received_ns;
        let at = match self.told.back().is_none_or(before) {
            true => self.told.len(),
            false => self.told.partition_point(before),
        };
        let told = Told {
            received_ns: of.received_ns,
            wait: *wait,
            other_ns: other.sent_ns,
        };
        self.told.insert(at, told);
    }

    /// Whether a message may have been sent before this late sender or one that is kept before it.
    #[inline]
    fn may_be_before(&self, of: Passed, late: Passed) -> bool {
        of.sent_ns < late.sent_ns.saturating_add(self.slack_ns)
    }

    /// One that is not the last.
    fn insert(&mut self, of: Passed) {
        let after = self.behind(of);
        // One behind it tells as much.
        if (self.received.get(after)).is_some_and(|later| later.sent_ns <= of.sent_ns) {
            return;
        }
        let mut at = after;
        while at > 0 && self.received[at - 1].sent_ns >= of.sent_ns {
            at -= 1;
        }
        self.received.drain(at..after);
        self.push(at, of);
    }

    /// Where those begin that were received later: as a rule there is none.
    fn behind(&self, of: Passed) -> usize {
        let before = |one: &Passed| one.received_ns <= of.received_ns;
        match self.received.back().is_none_or(before) {
            true => self.received.len(),
            false => self.received.partition_point(before),
        }
    }

    #[inline]
    fn push(&mut self, at: usize, of: Passed) {
        match at == self.received.len() {
            true => self.received.push_back(of),
            false => self.received.insert(at, of),
        }
        if self.received.len() > RECEIVED_MAX {
            self.received.pop_front();
        }
    }

    /// It was waited for a late sender, in a call that was left then, and who sent by so much
    /// before what was told of its message to [`WrongOrder::received`]; `each` gets the wait where
    /// a message is known already that had been sent before, and was received later.
    pub fn late(&mut self, of: Passed, off_ns: u64, wait: &Late, mut each: impl FnMut(Late)) {
        self.slack_ns = self.slack_ns.max(off_ns);
        // Of those received later the first one was sent first.
        let later = self.received.get(self.behind(of));
        if let Some(later) = later.filter(|later| later.sent_ns < of.sent_ns) {
            let later = *later;
            return self.tell_first(of, wait, later, &mut each);
        }
        if self.late.len() >= LATE_MAX {
            self.late.pop_front();
        }
        let key = |of: Passed| (of.received_ns, of.sent_ns);
        let before = |(late, _): &(Passed, Late)| key(*late) <= key(of);
        if self.late.back().is_none_or(before) {
            return self.late.push_back((of, *wait));
        }
        let at = self.late.partition_point(before);
        self.late.insert(at, (of, *wait));
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
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;
    use invivo_proto::ids::{CommId, Rank, RegionId, SiteId};
    use proptest::prelude::*;

    /// A wait for a long time, of which only the end is known.
    fn wait(number: u64) -> Late {
        Late {
            state: WaitState::LateSender,
            waiter: Rank(0),
            causer: Rank(1),
            comm: CommId::WORLD,
            region: RegionId(1),
            site: SiteId(2),
            from_ns: number,
            before_ns: 0,
            ns: 1,
            error_ns: 0,
        }
    }

    fn passed(received_ns: u64, sent_ns: u64) -> Passed {
        Passed {
            received_ns,
            sent_ns,
        }
    }

    /// All messages in this order, the late ones by their numbers; those told.
    fn told_of(all: &[(Passed, Option<u64>)]) -> Vec<u64> {
        let (mut order, mut told) = (WrongOrder::default(), Vec::new());
        let mut each = |late: Late| {
            if late.state == WaitState::LateSenderWrongOrder {
                told.push(late.from_ns);
            }
        };
        for (of, late) in all {
            order.received(*of, &mut each);
            if let Some(number) = late {
                order.late(*of, 0, &wait(*number), &mut each);
            }
        }
        told.sort_unstable();
        told
    }

    #[test]
    fn a_message_that_was_there_makes_it_wrong() {
        // It waited until 50 for the first; the second had been sent at 10.
        let late = (passed(60, 50), Some(1));
        let there = (passed(70, 10), None);
        assert_eq!(told_of(&[late, there]), [1]);
        assert_eq!(told_of(&[there, late]), [1]);
        // Sent later, received before, or in the same call.
        for other in [passed(70, 55), passed(30, 10), passed(60, 10)] {
            assert_eq!(told_of(&[late, (other, None)]), [0; 0], "{other:?}");
            assert_eq!(told_of(&[(other, None), late]), [0; 0], "{other:?}");
        }
        // Once, however many there were.
        assert_eq!(told_of(&[late, there, (passed(80, 20), None)]), [1]);
    }

    #[test]
    fn it_is_said_for_how_long_the_other_was_there() {
        // Waited from 20 to 50 for it.
        let late = Late {
            from_ns: 20,
            ns: 30,
            ..wait(0)
        };
        for (sent, expected) in [(35, (35, 15)), (10, (20, 30))] {
            for is_known in [false, true] {
                let (mut order, mut told) = (WrongOrder::default(), Vec::new());
                let mut each = |late: Late| told.push((late.state, late.from_ns, late.ns));
                let other = passed(70, sent);
                if is_known {
                    order.received(other, &mut each);
                }
                order.late(passed(60, 50), 0, &late, &mut each);
                if !is_known {
                    order.received(other, &mut each);
                }
                let (from_ns, ns) = expected;
                assert_eq!(
                    told,
                    [
                        (WaitState::LateSenderWrongOrder, 20, 30),
                        (WaitState::LateSenderOtherThere, from_ns, ns)
                    ]
                );
            }
        }
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut order = WrongOrder::default();
        for number in 0..4000 {
            let of = passed(2 * number + 10, 2 * number + 5);
            order.received(of, |_| panic!("in order"));
            order.late(of, 0, &wait(number), |_| panic!("in order"));
        }
        assert_eq!(order.late.len(), LATE_MAX);
        assert!(order.received.len() <= RECEIVED_MAX, "messages");
        // The newest are kept.
        let mut told = Vec::new();
        order.received(passed(99_999, 0), |late| {
            told.push((late.state, late.from_ns))
        });
        told.retain(|(state, _)| *state == WaitState::LateSenderWrongOrder);
        let mut told: Vec<u64> = told.into_iter().map(|(_, number)| number).collect();
        told.sort_unstable();
        assert_eq!(told, Vec::from_iter(4000 - LATE_MAX as u64..4000));
    }

    proptest! {
        /// In whatever order they are found, and however much later it is known that somebody
        /// waited, as long as all have room. Senders' clocks may be off by so much.
        #[test]
        fn the_order_of_finding_does_not_matter(
            (all, order) in proptest::collection::vec(
                (0u64..40, 10u64..50, 0u64..6, any::<bool>()),
                1..50,
            )
            .prop_flat_map(|all| {
                let events = (0..2 * all.len()).collect::<Vec<usize>>();
                (Just(all), Just(events).prop_shuffle())
            }),
        ) {
            type Message = (u64, u64, u64, bool);
            let (mut found, mut told) = (WrongOrder::default(), Vec::new());
            let mut there = vec![0; all.len()];
            // Who waits is named by its number, and waited from 0 on.
            let mut each = |late: Late| match late.state {
                WaitState::LateSenderWrongOrder => told.push(u64::from(late.waiter.0)),
                _ => there[late.waiter.0 as usize] += late.ns,
            };
            // The message itself, and then that it was waited for.
            let mut seen = vec![false; all.len()];
            for event in order {
                let number = event / 2;
                let (received, sent, off, is_late): Message = all[number];
                if !core::mem::replace(&mut seen[number], true) {
                    found.received(passed(received, sent + off), &mut each);
                } else if is_late {
                    let of = passed(received, sent - off);
                    let wait = Late {
                        waiter: Rank(number as u32),
                        ns: sent,
                        ..wait(0)
                    };
                    found.late(of, 2 * off, &wait, &mut each);
                }
            }
            told.sort_unstable();
            // When the first of the others was sent.
            let first = |&(received, sent, off, is_late): &Message| {
                let others = all.iter().filter(|other| is_late && other.0 > received);
                let others = others.map(|other| other.1 + other.2);
                others.filter(|other| *other < sent - off).min()
            };
            let naive = (0u64..).zip(&all).filter(|(_, of)| first(of).is_some());
            let naive: Vec<u64> = naive.map(|(number, _)| number).collect();
            prop_assert_eq!(told, naive);
            let longest = all.iter().map(|of| first(of).map_or(0, |other| of.1 - other));
            prop_assert_eq!(there, longest.collect::<Vec<u64>>());
        }
    }
}
