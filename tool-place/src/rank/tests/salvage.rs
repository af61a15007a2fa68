//! What a place that was killed has left in a rank's memory.

use super::*;

/// A rank whose place is dead: five packets of three calls, of which the first two are gone, the
/// third was sent and its slot is free, the fourth is on its way to nobody, and the fifth is open.
fn left() -> (RankRecords, Writer) {
    let (descriptor, region) = memory(2, 4);
    region.page().phase.store(phase::RUNNING, Ordering::Release);
    let mut writer = Writer::new(region);
    let write = |writer: &mut Writer, packet: u64| {
        assert!(writer.open());
        (0..3).for_each(|of| writer.call(&call(3 * packet + of), &[]));
    };
    for packet in 0..4 {
        write(&mut writer, packet);
        writer.send();
        // The first two have arrived, and their slots are the next ones.
        if packet >= 2 {
            writer.sent();
        }
    }
    write(&mut writer, 4);
    writer.sent();
    let mut rank = RankRecords::new(Rank(2));
    rank.salvage(Memory::map(&descriptor).unwrap());
    (rank, writer)
}

/// Looks until nothing new is found; how often that took.
fn look(rank: &mut RankRecords, feed: &mut Feed) -> usize {
    let looks = (1..9).find(|_| {
        rank.peek(0, 0, Eagerness::All, feed);
        rank.is_taken()
    });
    looks.expect("it comes to an end")
}

#[test]
fn all_that_lies_in_the_pool_is_taken_at_once() {
    let (mut rank, mut writer) = left();
    let mut feed = feed(Budget::new(1 << 20, 1 << 20));
    assert_eq!(look(&mut rank, &mut feed), 2);
    let ledger = Ledger {
        entered: 15,
        kept: 9,
        dropped_by_place: 6,
        ..Ledger::default()
    };
    assert_eq!(rank.ledger(), ledger);
    // The call that was under way is recorded yet.
    writer.call(&call(15), &[]);
    assert!(rank.peek(0, 0, Eagerness::All, &mut feed) && !rank.is_taken());
    assert_eq!(rank.ledger().kept, 10);
}

/// A rank that has recorded little has lost nothing with its place.
#[test]
fn a_pool_that_has_everything_gives_everything() {
    let (descriptor, region) = memory(2, 4);
    region.page().phase.store(phase::RUNNING, Ordering::Release);
    let mut writer = Writer::new(region);
    writer.open();
    writer.call(&call(0), &[]);
    writer.send();
    writer.open();
    writer.call(&call(1), &[]);
    let mut rank = RankRecords::new(Rank(2));
    rank.salvage(Memory::map(&descriptor).unwrap());
    let mut feed = feed(Budget::new(1 << 20, 1 << 20));
    look(&mut rank, &mut feed);
    let ledger = Ledger {
        entered: 2,
        kept: 2,
        ..Ledger::default()
    };
    assert_eq!(rank.ledger(), ledger);
}

/// The calls of a thread whose packets are all gone were with the dead place.
#[test]
fn a_thread_without_packets_has_lost_its_calls() {
    let (mut rank, writer) = left();
    let other = Writer::new(writer.region());
    other.status().entered.store(7, Ordering::Release);
    other.status().packets.store(2, Ordering::Release);
    let mut feed = feed(Budget::new(1 << 20, 1 << 20));
    assert_eq!(look(&mut rank, &mut feed), 2);
    assert_eq!(rank.ledger().dropped_by_place, 6 + 7);
}

#[test]
fn nonsense_in_the_pool_ends_the_salvage_as_well() {
    let (mut rank, writer) = left();
    let slot = writer.region().slot(3).expect("a slot");
    slot.sequence.store(u64::MAX, Ordering::Relaxed);
    slot.committed.store(u32::MAX, Ordering::Relaxed);
    slot.records.store(u32::MAX, Ordering::Relaxed);
    let page = writer.page();
    page.ring.head.store(u64::MAX / 2, Ordering::Relaxed);
    page.locations.store(u32::MAX, Ordering::Relaxed);
    let status = writer.status();
    status.packets.store(u64::MAX, Ordering::Relaxed);
    let mut feed = feed(Budget::new(1 << 20, 1 << 20));
    look(&mut rank, &mut feed);
    assert!(rank.ledger().kept >= 9);
}
