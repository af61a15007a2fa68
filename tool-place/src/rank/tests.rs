mod kept_profile;
mod salvage;

use super::*;
use crate::testing::{Writer, memory};
use crate::time_point::LATENCY_NS;
use invivo_mpi_link::BUFFERS_MAX;
use invivo_mpi_link::clock::{NodeClock, Reading};
use invivo_proto::control::results::{Coverage, Ledger};
use invivo_proto::ids::{CommLocal, RegionId};
use invivo_proto::record::{Call, Facts, Part, RecordKind};
use invivo_proto::shm::{inside, phase};
use invivo_tbon::layout::Layout;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, channel};

/// A clock whose ticks are nanoseconds.
fn clock() -> NodeClock {
    let reading = Reading {
        ticks: 0,
        ns: 0,
        width_ticks: 0,
    };
    NodeClock::from_readings(reading, reading)
}

fn feed(budget: Budget) -> Feed {
    let layout: Layout = "4:1,8:tail".parse().unwrap();
    Feed {
        analyses: Analyses::new(layout, layout.place_of(Rank(2)), clock()),
        cuts: Cuts::default(),
        budget,
        notes: Notes::default(),
        latency_ticks: 1_000,
        taps: None,
        is_lost: false,
    }
}

fn attached(packets: usize) -> (RankRecords, Writer) {
    let (descriptor, region) = memory(2, packets);
    let mut rank = RankRecords::new(Rank(2));
    rank.attach(Memory::map(&descriptor).unwrap());
    region.page().phase.store(phase::RUNNING, Ordering::Release);
    (rank, Writer::new(region))
}

fn call(number: u64) -> Call {
    Call {
        facts: Facts {
            kind: RecordKind::Send,
            region: RegionId(1 + (number % 3) as u16),
            comm: CommLocal::WORLD,
            peer: 1,
            // The number, so that no two calls are alike.
            tag: number as i32,
            bytes_out: number % 5,
            ..Facts::default()
        },
        end: 10 * number + 5,
        duration: 4,
        ordinal: 0,
        request: 0,
    }
}

fn parts(number: u64) -> Vec<Part> {
    let facts = Facts {
        kind: RecordKind::CompletedSend,
        ..call(number).facts
    };
    vec![
        Part {
            facts,
            request: number,
            posted: 10 * number
        };
        (number % 3) as usize
    ]
}

/// Small numbers that follow from a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// Writes calls at full speed into packets of random length, some left for the place, some sent.
fn write_all(mut writer: Writer, calls: u64, seed: u64, messages: &Sender<Vec<u8>>) {
    let mut dice = Dice(seed);
    let mut number = 0;
    while number < calls {
        while !writer.open() {
            writer.sent();
            std::thread::yield_now();
        }
        for _ in 0..1 + dice.roll(24) {
            if number < calls {
                writer.call(&call(number), &parts(number));
                number += 1;
            }
        }
        // The last one stays open, as in a rank that dies.
        if number < calls {
            match dice.roll(3) {
                0 => writer.leave(),
                _ => messages.send(writer.send()).unwrap(),
            }
            if dice.roll(4) != 0 {
                writer.sent();
            }
        }
    }
}

/// Looks at random times, as the place does, until everything is taken.
fn take_all(
    rank: &mut RankRecords,
    messages: &Receiver<Vec<u8>>,
    ended: &AtomicBool,
    feed: &mut Feed,
) {
    let mut dice = Dice(99);
    let mut late = Vec::new();
    for step in 0u64.. {
        let has_ended = ended.load(Ordering::Acquire);
        late.extend(messages.try_iter());
        while !late.is_empty() && (has_ended || late.len() > BUFFERS_MAX / 2 || dice.roll(3) == 0) {
            // Any of those under way, and now and then one twice.
            let message = late.swap_remove(dice.roll(late.len() as u64) as usize);
            let (header, payload) = Header::decode(&message).unwrap();
            rank.packet(&header, payload, feed);
            if dice.roll(20) == 0 {
                rank.packet(&header, payload, feed);
            }
        }
        // Late in the sense of ticks long past: everything that is committed is late.
        let eagerness = if has_ended || dice.roll(2) == 0 {
            Eagerness::All
        } else {
            Eagerness::Late
        };
        rank.peek(
            step,
            if dice.roll(2) == 0 { 0 } else { u64::MAX },
            eagerness,
            feed,
        );
        if has_ended && rank.is_taken() {
            return;
        }
        assert!(step < 100_000_000, "never complete");
        if dice.roll(8) == 0 {
            std::thread::yield_now();
        }
    }
}

/// Two threads of a rank write at full speed into four slots, which change hands all the time,
/// while the place looks: every record is there once, whole, and in its order.
#[test]
fn every_record_is_taken_once_at_full_speed() {
    const CALLS: u64 = 60_000;
    let (mut rank, first) = attached(4);
    let second = Writer::new(first.region());
    let page = first.page();
    let mut feed = feed(Budget::new(16 << 20, 64 << 20));
    let ended = AtomicBool::new(false);
    let (sender, messages) = channel();
    std::thread::scope(|scope| {
        let (other, ended) = (sender.clone(), &ended);
        let writers = [
            scope.spawn(move || write_all(first, CALLS, 5, &sender)),
            scope.spawn(move || write_all(second, CALLS, 77, &other)),
        ];
        scope.spawn(move || {
            for writer in writers {
                writer.join().unwrap();
            }
            page.phase.store(phase::DRAINED, Ordering::Release);
            ended.store(true, Ordering::Release);
        });
        take_all(&mut rank, &messages, ended, &mut feed);
    });
    assert_eq!(feed.notes.sentences(), [] as [&str; 0]);
    for location in &rank.locations {
        let Some(buffer) = location.store.buffer() else {
            panic!("no buffer")
        };
        let mut reader = buffer.read();
        let mut expected = 0;
        while let Some(record) = reader.next().unwrap() {
            let invivo_otfx::Head::Call(read) = record.head else {
                panic!("a call has few parts")
            };
            assert_eq!(
                (read.facts, read.end),
                (call(expected).facts, call(expected).end)
            );
            assert_eq!(record.parts.len(), parts(expected).len());
            expected += 1;
        }
        assert_eq!(expected, CALLS);
    }
    let ledger = rank.ledger();
    assert_eq!(
        ledger,
        Ledger {
            entered: 2 * CALLS,
            kept: 2 * CALLS,
            ..Ledger::default()
        }
    );
    let mut coverage = Coverage::default();
    rank.add_coverage(0, |ticks| ticks, &mut coverage);
    assert!(
        coverage.packets_mpi > 100 && coverage.packets_shm > 100,
        "one of the two ways was hardly used"
    );
    let counted: u64 = feed
        .analyses
        .functions(0, None)
        .rows
        .values()
        .map(|row| row.time.count)
        .sum();
    assert_eq!(counted, 2 * CALLS);
}

/// A rank may have sent whole packets, and have their slots in use again, before the place has
/// heard of it.
/// What was sent before the first look is on its way.
#[test]
fn packets_before_the_first_look_are_in_flight() {
    let (rank, mut writer) = attached(4);
    for packet in 0..2 {
        writer.open();
        (0..3).for_each(|number| writer.call(&call(3 * packet + number), &[]));
        writer.send();
        writer.sent();
    }
    assert_eq!(
        rank.ledger(),
        Ledger {
            entered: 6,
            in_flight: 6,
            ..Ledger::default()
        }
    );
}

/// What is young is left to MPI and what is late is taken.
#[test]
fn only_late_records_are_taken_from_shared_memory() {
    let (mut rank, mut writer) = attached(4);
    let mut feed = feed(Budget::new(1 << 20, 1 << 20));
    writer.open();
    writer.call(&call(0), &[]);
    assert!(!rank.peek(0, 500, Eagerness::Late, &mut feed));
    assert_eq!(
        rank.ledger(),
        Ledger {
            entered: 1,
            in_flight: 1,
            ..Ledger::default()
        }
    );
    assert!(rank.peek(0, 2_000, Eagerness::Late, &mut feed));
    assert_eq!(
        rank.ledger(),
        Ledger {
            entered: 1,
            kept: 1,
            ..Ledger::default()
        }
    );
    // Nothing new: nothing is taken, whatever the time.
    assert!(!rank.peek(0, 9_000, Eagerness::Late, &mut feed));
    // The whole packet by MPI brings only what is new.
    writer.call(&call(1), &[]);
    let message = writer.send();
    let (header, payload) = Header::decode(&message).unwrap();
    rank.packet(&header, payload, &mut feed);
    assert_eq!(
        rank.ledger(),
        Ledger {
            entered: 2,
            kept: 2,
            ..Ledger::default()
        }
    );
    assert!(rank.is_taken());
}

/// A packet that was left is taken at once and goes back to the pool.
#[test]
fn a_left_packet_is_taken_and_freed_at_once() {
    let (mut rank, mut writer) = attached(2);
    let mut feed = feed(Budget::new(1 << 20, 1 << 20));
    for number in 0..20 {
        assert!(writer.open(), "no packet is free for call {number}");
        writer.call(&call(number), &[]);
        writer.leave();
        assert!(rank.has_left_packets());
        assert!(rank.peek(0, 0, Eagerness::Late, &mut feed));
        assert!(!rank.has_left_packets());
    }
    assert_eq!(rank.ledger().kept, 20);
}

#[test]
fn a_location_without_memory_is_analysed_and_counted() {
    let (mut rank, mut writer) = attached(2);
    let mut feed = feed(Budget::new(1 << 20, 1 << 19));
    writer.open();
    (0..5).for_each(|number| writer.call(&call(number), &[]));
    rank.peek(0, 0, Eagerness::All, &mut feed);
    assert_eq!(
        rank.ledger(),
        Ledger {
            entered: 5,
            dropped_by_place: 5,
            ..Ledger::default()
        }
    );
    assert_eq!(feed.analyses.functions(0, None).rows.len(), 3);
    assert_eq!(feed.notes.sentences().len(), 1);
}

#[test]
fn a_packet_that_never_comes_counts_as_dropped() {
    let (mut rank, mut writer) = attached(4);
    let mut feed = feed(Budget::new(1 << 20, 1 << 20));
    for number in 0..3 {
        writer.open();
        writer.call(&call(number), &[]);
        let message = writer.send();
        writer.sent();
        if number != 1 {
            let (header, payload) = Header::decode(&message).unwrap();
            rank.packet(&header, payload, &mut feed);
        }
    }
    assert_eq!(
        rank.ledger(),
        Ledger {
            entered: 3,
            kept: 1,
            in_flight: 2,
            ..Ledger::default()
        }
    );
    // One look after a long time without a processor is one look.
    let mut now_ns = MISSING_AFTER_END_NS * 5;
    rank.peek(0, 0, Eagerness::All, &mut feed);
    rank.peek(now_ns, 0, Eagerness::All, &mut feed);
    assert!(!rank.is_taken());
    let looks = MISSING_AFTER_END_NS / LATENCY_NS;
    for look in 0..looks {
        assert!(!rank.is_taken(), "after {look} looks");
        now_ns += LATENCY_NS;
        rank.peek(now_ns, 0, Eagerness::All, &mut feed);
    }
    assert!(rank.is_taken());
    assert_eq!(
        rank.ledger(),
        Ledger {
            entered: 3,
            kept: 2,
            dropped_by_place: 1,
            ..Ledger::default()
        }
    );
    assert_eq!(feed.notes.sentences().len(), 1);
}

/// A call in which the rank was when it was killed is open; one whose record was written just
/// before is not.
#[test]
fn the_call_that_a_dead_rank_was_in_is_open() {
    let (mut rank, mut writer) = attached(2);
    let mut feed = feed(Budget::new(1 << 20, 1 << 20));
    let status = &writer.page().status[0];
    writer.open();
    writer.call(&call(7), &[]);
    rank.peek(0, 0, Eagerness::All, &mut feed);
    status.inside.store(inside::MPI, Ordering::Release);
    status.region.store(9, Ordering::Release);
    status
        .entered_at
        .store(call(7).end - call(7).duration, Ordering::Release);
    assert_eq!(
        rank.ledger(),
        Ledger {
            entered: 1,
            kept: 1,
            ..Ledger::default()
        }
    );
    status.entered.store(2, Ordering::Release);
    status.entered_at.store(100, Ordering::Release);
    assert_eq!(
        rank.ledger(),
        Ledger {
            entered: 2,
            kept: 1,
            open: 1,
            ..Ledger::default()
        }
    );
    assert_eq!(rank.inside(), Some(RegionId(9)));
}

/// `MPI_Finalize` is recorded from within. Where there is no packet for it, it was dropped, and is
/// not open as well.
#[test]
fn no_call_of_a_drained_rank_is_open() {
    let (mut rank, mut writer) = attached(2);
    let mut feed = feed(Budget::new(1 << 20, 1 << 20));
    let page = writer.page();
    let status = &page.status[0];
    writer.open();
    writer.call(&call(7), &[]);
    rank.peek(0, 0, Eagerness::All, &mut feed);
    status.entered.store(2, Ordering::Release);
    status.dropped[0].store(1, Ordering::Release);
    status.inside.store(inside::MPI, Ordering::Release);
    status.region.store(9, Ordering::Release);
    status.entered_at.store(100, Ordering::Release);
    page.phase.store(phase::DRAINED, Ordering::Release);
    let ledger = rank.ledger();
    assert_eq!(
        (ledger.entered, ledger.open, ledger.kept, ledger.dropped[0]),
        (2, 0, 1, 1),
        "{ledger:?}"
    );
}

/// Between a look at a packet and the copy of its bytes its slot may be given to another packet:
/// one with another number, or another location's with the same number.
/// A slot that changed hands is not taken for what it was.
#[test]
fn a_reused_slot_is_not_taken_for_its_past() {
    let (rank, mut first) = attached(2);
    let mut second = Writer::new(first.region());
    let memory = rank.memory().unwrap();
    let mut bytes = Vec::new();
    first.open();
    first.call(&call(0), &[]);
    let seen = memory.slot(0).unwrap();
    assert!(memory.copy(&seen, 0, &mut bytes) && !bytes.is_empty());
    first.send();
    assert!(
        memory.copy(&seen, 0, &mut bytes),
        "it is the same packet, whoever owns it"
    );
    first.sent();
    second.open();
    assert_eq!(memory.slot(0).unwrap().sequence, seen.sequence);
    assert!(
        !memory.copy(&seen, 0, &mut bytes),
        "another location's packet"
    );
    memory.free(&seen);
    let seen = memory.slot(0).unwrap();
    second.send();
    second.sent();
    second.open();
    assert!(
        !memory.copy(&seen, 0, &mut bytes),
        "the location's next packet"
    );
    // Nor is a packet given back that is not the one that was left.
    second.leave();
    memory.free(&seen);
    assert_eq!(memory.slot(0).unwrap().owner, owner::PLACE);
}
