use super::*;
use proptest::prelude::*;

/// Two processes and the two wires between them, which keep their order and lose nothing, as MPI's
/// do.
#[derive(Default)]
struct Pair {
    accounts: [Account; 2],
    /// `wires[to]`.
    wires: [VecDeque<Vec<u8>>; 2],
}

impl Pair {
    fn send(&mut self, from: usize) {
        while let Some(bytes) = self.accounts[from].next_to_send() {
            self.wires[1 - from].push_back(bytes);
        }
    }

    /// Reads one, if there is one.
    fn read(&mut self, by: usize) -> Option<Received> {
        let bytes = self.wires[by].pop_front()?;
        let received = self.accounts[by].receive(bytes);
        self.send(by);
        Some(received)
    }

    /// Messages, not credits alone, that lie unread before `by`.
    fn unread(&self, by: usize) -> usize {
        let is_message = |bytes: &&Vec<u8>| bytes[bytes.len() - 1] & 0x80 == 0;
        self.wires[by].iter().filter(is_message).count()
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Say { by: usize, kind: Option<u8> },
    Read { by: usize, at_most: usize },
}

fn step() -> impl Strategy<Value = Step> {
    let kind = prop_oneof![3 => Just(None), 1 => (0u8..2).prop_map(Some)];
    prop_oneof![
        6 => (0usize..2, kind).prop_map(|(by, kind)| Step::Say { by, kind }),
        1 => (0usize..2, 0usize..60).prop_map(|(by, at_most)| Step::Read { by, at_most }),
    ]
}

fn number(message: &[u8]) -> u32 {
    u32::from_le_bytes(message.try_into().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Beside a plain queue that loses nothing: what was taken in arrives in order, but for what a
    /// newer one of its kind replaced; never do more lie unread than there are credits; and once
    /// both sides read again, nothing is left.
    #[test]
    fn what_is_taken_in_arrives_in_order(steps in prop::collection::vec(step(), 0..600)) {
        let mut pair = Pair::default();
        // By reader: what a loss-free queue would bring, and what came.
        let mut plain: [Vec<(u32, Option<u8>)>; 2] = Default::default();
        let mut came: [Vec<u32>; 2] = Default::default();
        let mut next = 0u32;
        for step in steps {
            match step {
                Step::Say { by, kind } => {
                    next += 1;
                    let before = pair.accounts[by].waiting();
                    let taken = pair.accounts[by].submit(kind, next.to_le_bytes().to_vec());
                    if taken {
                        plain[1 - by].push((next, kind));
                    } else {
                        prop_assert_eq!(before, QUEUE_MAX);
                    }
                    pair.send(by);
                }
                Step::Read { by, at_most } => {
                    for _ in 0..at_most {
                        match pair.read(by) {
                            Some(Received::Message(bytes)) => came[by].push(number(&bytes)),
                            Some(Received::Credits) => {}
                            Some(Received::Malformed(_)) => prop_assert!(false),
                            None => break,
                        }
                    }
                }
            }
            for by in 0..2 {
                prop_assert!(pair.unread(by) <= CREDITS as usize);
                prop_assert!(pair.wires[by].len() <= CREDITS as usize + 3, "credits alone are few");
                prop_assert!(pair.accounts[by].waiting() <= QUEUE_MAX);
            }
        }
        while pair.wires.iter().any(|wire| !wire.is_empty()) {
            for (by, came) in came.iter_mut().enumerate() {
                if let Some(Received::Message(bytes)) = pair.read(by) {
                    came.push(number(&bytes));
                }
            }
        }
        for (by, came) in came.iter().enumerate() {
            prop_assert_eq!(pair.accounts[by].waiting(), 0);
            let told = plain[by].iter();
            // In order, and what is left out was replaced: a later one of its kind came.
            let mut rest = came.iter().peekable();
            for &(number, kind) in told {
                if rest.next_if_eq(&&number).is_none() {
                    prop_assert!(kind.is_some());
                    let newer = plain[by].iter().any(|(n, k)| *n > number && *k == kind);
                    prop_assert!(newer, "{} of kind {:?} is lost", number, kind);
                }
            }
            prop_assert_eq!(rest.next(), None);
            let last_of = |kind| plain[by].iter().rfind(|(_, k)| *k == kind).map(|(n, _)| n);
            for kind in [Some(0), Some(1)] {
                let newest_came = last_of(kind).is_none_or(|last| came.contains(last));
                prop_assert!(newest_came, "the newest comes");
            }
        }
    }

    /// Whatever comes, the accounts stay within their bounds.
    #[test]
    fn garbage_gives_no_credit_beyond_the_bound(
        messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..12), 0..50),
    ) {
        let mut account = Account::default();
        for bytes in messages {
            let short = bytes.len() < TRAILER_BYTES;
            let received = account.receive(bytes.clone());
            prop_assert_eq!(short, received == Received::Malformed(bytes));
            prop_assert!(account.credits <= CREDITS);
        }
    }
}

#[test]
fn one_that_only_listens_gives_credits_back_alone() {
    let mut pair = Pair::default();
    for n in 0..10 * CREDITS {
        assert!(pair.accounts[0].submit(None, vec![n as u8; 9]));
        pair.send(0);
        assert_eq!(pair.read(1), Some(Received::Message(vec![n as u8; 9])));
        if let Some(received) = pair.read(0) {
            assert_eq!(received, Received::Credits);
        }
    }
}

#[test]
fn what_must_not_be_lost_waits_however_much_does() {
    let mut pair = Pair::default();
    let many = 4 * QUEUE_MAX as u32;
    for n in 0..many {
        pair.accounts[0].submit_surely(n.to_le_bytes().to_vec());
        pair.send(0);
        let room = n < CREDITS + PASSED_ON_MAX as u32 - 1;
        assert_eq!(pair.accounts[0].has_room(), room, "{n}");
    }
    assert!(!pair.accounts[0].submit(None, vec![0]));
    let mut came = Vec::new();
    while came.len() < many as usize {
        if let Some(Received::Message(bytes)) = pair.read(1) {
            came.push(number(&bytes));
        }
        pair.read(0);
    }
    assert_eq!(came, (0..many).collect::<Vec<_>>());
    assert!(pair.accounts[0].has_room() && pair.accounts[0].waiting() == 0);
}

/// Bytes that wait are bounded and one long message goes all the same.
#[test]
fn waiting_bytes_are_bounded_but_one_long_message_goes() {
    let mut account = Account::default();
    assert!(account.submit(None, vec![0; QUEUE_BYTES_MAX + 1]));
    assert!(account.next_to_send().is_some());
    account.credits = 0;
    assert!(!account.submit(None, vec![0; QUEUE_BYTES_MAX + 1]));
    assert!(account.submit(Some(1), vec![0; QUEUE_BYTES_MAX]));
    assert!(!account.submit(None, vec![0]));
    assert!(account.submit(Some(1), vec![0; 7]), "replaces the long one");
    assert!(account.submit(None, vec![0]));
}
