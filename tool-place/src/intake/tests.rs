use super::*;
use crate::testing::{write, write_occupant, write_regions};
use invivo_proto::ids::{CommLocal, LocationId, Rank, RegionId, SiteId};
use invivo_proto::record::{Encoder, Facts, REGIONS_END, RecordKind};
use proptest::prelude::*;
use proptest::sample::Index;

/// What a location recorded: calls with their parts, and parts that came apart from their call.
#[derive(Clone, Debug, PartialEq)]
enum Told {
    Call(Call, Vec<Part>),
    More(u64, Vec<Part>),
    Occupant(u32),
    Enter(u64, RegionId),
    Leave(u64),
    Open(u64, Vec<OpenRegion>),
}

#[derive(Default)]
struct Seen(Vec<Told>);

impl Sink for Seen {
    fn epoch(&mut self, epoch: u32) {
        assert_eq!(epoch, EPOCH);
    }
    fn occupant(&mut self, occupant: u32) {
        self.0.push(Told::Occupant(occupant));
    }
    fn call(&mut self, call: &Call, parts: &[Part]) {
        self.0.push(Told::Call(*call, parts.to_vec()));
    }
    fn more(&mut self, begin: u64, end: u64, parts: &[Part]) {
        assert!(begin <= end);
        self.0.push(Told::More(end, parts.to_vec()));
    }
    fn enter(&mut self, time: u64, region: RegionId) {
        self.0.push(Told::Enter(time, region));
    }
    fn leave(&mut self, time: u64) {
        self.0.push(Told::Leave(time));
    }
    fn open(&mut self, time: u64, open: &[OpenRegion]) {
        self.0.push(Told::Open(time, open.to_vec()));
    }
}

/// In which everything here is recorded.
const EPOCH: u32 = 3;

/// A packet with the ends of its records.
#[derive(Clone, Debug)]
struct Packet {
    header: Header,
    payload: Vec<u8>,
    ends: Vec<usize>,
    told: Vec<Told>,
}

/// Packets of records as a location writes them, `sizes` records in each.
fn packets(sizes: &[usize], seed: &[u8]) -> Vec<Packet> {
    let mut encoder = Encoder::new(1_000, 1);
    let mut time = 1_000;
    let mut salt = 0usize;
    let mut next = || {
        salt += 1;
        u64::from(seed[salt % seed.len()]) + (salt as u64 % 7)
    };
    let mut all = Vec::new();
    for (sequence, &size) in sizes.iter().enumerate() {
        let mut header = Header {
            location: LocationId {
                rank: Rank(3),
                thread: 1,
            },
            sequence: sequence as u64,
            first_time: time,
            next_request: encoder.next_request(),
            epoch: EPOCH,
            ..Header::default()
        };
        encoder.restart(time);
        let (mut payload, mut ends, mut told) = (Vec::new(), Vec::new(), Vec::new());
        for number in 0..size {
            let facts = Facts {
                kind: [
                    RecordKind::Plain,
                    RecordKind::Send,
                    RecordKind::PostRecv,
                    RecordKind::Collective,
                ][next() as usize % 4],
                region: RegionId(1 + (next() % 5) as u16),
                comm: CommLocal(0),
                peer: next() as i32 % 3,
                tag: 7,
                bytes_out: next() % 4,
                bytes_in: 0,
                site: SiteId(next() as u16 % 3),
            };
            let part = Part {
                facts: Facts {
                    kind: RecordKind::CompletedSend,
                    ..facts
                },
                request: next(),
                posted: 999,
            };
            let parts = vec![part; next() as usize % 3];
            // A continuation now and then, as the first record of a packet or behind a call.
            let more = next() % 11 == 0 && (sequence, number) != (0, 0);
            if next() % 5 == 0 {
                time += next();
                let region = RegionId(REGIONS_END + next() as u16);
                let record = match next() % 3 {
                    0 => Told::Enter(time, region),
                    1 => Told::Leave(time),
                    _ => {
                        let begin = time - 1;
                        let open = vec![OpenRegion { region, begin }; next() as usize % 4];
                        Told::Open(time, open)
                    }
                };
                write_region(&mut encoder, &record, &mut payload);
                told.push(record);
            } else if next() % 13 == 0 {
                let occupant = next() as u32;
                told.push(Told::Occupant(occupant));
                write_occupant(&mut encoder, occupant, &mut payload);
            } else if more {
                told.push(Told::More(time, parts.clone()));
                write(&mut encoder, None, &parts, &mut payload);
            } else {
                time += next();
                let mut call = Call {
                    facts,
                    end: time,
                    duration: next(),
                    ..Call::default()
                };
                call.ordinal = if facts.kind.has_ordinal() { next() } else { 0 };
                call.request = if facts.kind.posts() {
                    encoder.next_request()
                } else {
                    0
                };
                told.push(Told::Call(call, parts.clone()));
                header.records += 1;
                write(&mut encoder, Some(&call), &parts, &mut payload);
            }
            ends.push(payload.len());
        }
        header.last_time = time;
        header.length = payload.len() as u32;
        all.push(Packet {
            header,
            payload,
            ends,
            told,
        });
    }
    all
}

/// As the shim writes it.
fn write_region(encoder: &mut Encoder, record: &Told, out: &mut Vec<u8>) {
    let (decoded, open) = match record {
        Told::Enter(time, region) => {
            let (time, region) = (*time, *region);
            (Decoded::Enter { time, region }, &[][..])
        }
        Told::Leave(time) => (Decoded::Leave { time: *time }, &[][..]),
        Told::Open(time, open) => {
            let (time, count) = (*time, open.len());
            let decoded = Decoded::Open { time, count };
            (decoded, open.as_slice())
        }
        _ => return,
    };
    write_regions(encoder, &decoded, open, out);
}

/// Parts are told with times relative to what the packet knows; compare what does not depend on it.
fn plain(told: &[Told]) -> Vec<Told> {
    let strip = |parts: &Vec<Part>| {
        parts
            .iter()
            .map(|part| Part { posted: 0, ..*part })
            .collect()
    };
    told.iter()
        .map(|t| match t {
            Told::Call(call, parts) => Told::Call(*call, strip(parts)),
            Told::More(end, parts) => Told::More(*end, strip(parts)),
            other => other.clone(),
        })
        .collect()
}

fn all_told(packets: &[Packet]) -> Vec<Told> {
    plain(
        &packets
            .iter()
            .flat_map(|p| p.told.clone())
            .collect::<Vec<_>>(),
    )
}

/// One way in which records reach the intake.
#[derive(Clone, Debug)]
enum Way {
    /// This packet over MPI, perhaps early, perhaps once more.
    Mpi(Index),
    /// A look into shared memory at the packet wanted next, when so many of its records were
    /// committed.
    Look(Index),
    /// The same when the packet was closed.
    LookClosed,
}

fn way() -> impl Strategy<Value = Way> {
    prop_oneof![
        any::<Index>().prop_map(Way::Mpi),
        any::<Index>().prop_map(Way::Look),
        Just(Way::LookClosed)
    ]
}

/// Looks at the packet wanted next when `records` of its records are committed.
fn look(intake: &mut Intake, packets: &[Packet], records: usize, closed: bool, seen: &mut Seen) {
    let (sequence, at) = intake.wants();
    let Some(packet) = packets.get(sequence as usize) else {
        return;
    };
    let end = records.checked_sub(1).map_or(0, |last| packet.ends[last]);
    if end < at {
        return;
    }
    let calls = |records: &[Told]| {
        records
            .iter()
            .filter(|t| matches!(t, Told::Call(..)))
            .count() as u32
    };
    let piece = Piece {
        sequence,
        first_time: packet.header.first_time,
        next_request: packet.header.next_request,
        epoch: EPOCH,
        records: calls(&packet.told[..records]),
        bytes: &packet.payload[at..end],
        closed,
    };
    intake.piece(&piece, seen).unwrap();
}

proptest! {
    /// Whatever comes by which way, in which order and how often: every record is told once and in
    /// order, and at any moment calls told, calls in flight and calls not yet there make up all
    /// calls.
    #[test]
    fn every_record_once_and_in_order(
        sizes in prop::collection::vec(0usize..12, 1..8),
        seed in prop::collection::vec(any::<u8>(), 32),
        ways in prop::collection::vec(way(), 0..40),
    ) {
        let packets = packets(&sizes, &seed);
        let mut intake = Intake::new(packets.len(), None);
        let mut seen = Seen::default();
        let expected = all_told(&packets);
        let all_calls: u64 = packets.iter().map(|p| u64::from(p.header.records)).sum();
        for way in ways {
            match way {
                Way::Mpi(index) => {
                    let packet = index.get(&packets);
                    intake.packet(&packet.header, &packet.payload, &mut seen).unwrap();
                }
                Way::Look(index) => {
                    let (sequence, _) = intake.wants();
                    if let Some(packet) = packets.get(sequence as usize) {
                        let records = index.index(packet.ends.len() + 1);
                        look(&mut intake, &packets, records, false, &mut seen);
                    }
                }
                Way::LookClosed => {
                    let (sequence, _) = intake.wants();
                    let records = packets.get(sequence as usize).map_or(0, |p| p.ends.len());
                    look(&mut intake, &packets, records, true, &mut seen);
                }
            }
            let told = plain(&seen.0);
            prop_assert_eq!(&told[..], &expected[..told.len()]);
            let sent = packets.iter().map(|p| (p.header.sequence, p.header.records));
            let in_flight = intake.in_flight(sent);
            prop_assert_eq!(intake.counts().calls + in_flight, all_calls);
        }
        for packet in packets.iter().rev() {
            intake.packet(&packet.header, &packet.payload, &mut seen).unwrap();
        }
        prop_assert_eq!(plain(&seen.0), expected);
        let counts = intake.counts();
        prop_assert_eq!(counts.calls, all_calls);
        let payload_bytes: u64 = packets.iter().map(|p| p.payload.len() as u64).sum();
        prop_assert_eq!(counts.payload_bytes, payload_bytes);
        prop_assert_eq!((counts.unreadable, counts.lost, counts.packets_refused), (0, 0, 0));
        prop_assert!(!intake.has_gap());
    }

    /// A packet cut anywhere loses the records behind the cut, counted; no other packet loses any.
    #[test]
    fn a_truncated_packet_harms_no_other(
        sizes in prop::collection::vec(1usize..12, 1..6),
        seed in prop::collection::vec(any::<u8>(), 32),
        victim: Index,
        cut: Index,
    ) {
        let packets = packets(&sizes, &seed);
        let victim = victim.index(packets.len());
        let cut = cut.index(packets[victim].payload.len());
        let mut intake = Intake::new(packets.len(), None);
        let mut seen = Seen::default();
        let mut errors = 0;
        for (number, packet) in packets.iter().enumerate() {
            let length = if number == victim { cut } else { packet.payload.len() };
            let payload = &packet.payload[..length];
            if let Err(error) = intake.packet(&packet.header, payload, &mut seen) {
                prop_assert!(error.offset <= cut);
                errors += 1;
            }
        }
        let mut expected = packets.clone();
        let whole = packets[victim].ends.iter().filter(|&&end| end <= cut).count();
        expected[victim].told.truncate(whole);
        let expected = all_told(&expected);
        prop_assert_eq!(plain(&seen.0), expected);
        let counts = intake.counts();
        let all_calls: u64 = packets.iter().map(|p| u64::from(p.header.records)).sum();
        prop_assert_eq!(counts.calls + counts.unreadable, all_calls);
        let on_a_border = cut == 0 || packets[victim].ends.contains(&cut);
        let expected = if on_a_border { (0, 0) } else { (1, 1) };
        prop_assert_eq!((errors, counts.packets_refused), expected);
    }

    /// Any change of any byte is survived, and the other packets are told as they are.
    #[test]
    fn a_corrupt_packet_harms_no_other(
        seed in prop::collection::vec(any::<u8>(), 32),
        at: Index,
        value: u8,
        by_shm: bool,
    ) {
        let mut packets = packets(&[9, 9, 9], &seed);
        let at = at.index(packets[1].payload.len());
        packets[1].payload[at] = value;
        let mut intake = Intake::new(4, None);
        let mut seen = Seen::default();
        for (number, packet) in packets.iter().enumerate() {
            if number == 1 && by_shm {
                let piece = Piece {
                    sequence: 1,
                    first_time: packet.header.first_time,
                    next_request: packet.header.next_request,
                    epoch: EPOCH,
                    records: packet.header.records,
                    bytes: &packet.payload,
                    closed: true,
                };
                let _ = intake.piece(&piece, &mut seen);
            } else {
                let _ = intake.packet(&packet.header, &packet.payload, &mut seen);
            }
        }
        let told = plain(&seen.0);
        let (first, last) = (all_told(&packets[..1]), all_told(&packets[2..]));
        prop_assert_eq!(&told[..first.len()], &first[..]);
        prop_assert_eq!(&told[told.len() - last.len()..], &last[..]);
        prop_assert_eq!(intake.wants(), (3, 0));
    }
}

#[test]
fn a_packet_that_never_comes_is_given_up() {
    let packets = packets(&[3, 3, 3, 3], &[5; 32]);
    let mut intake = Intake::new(8, None);
    let mut seen = Seen::default();
    for number in [0, 2, 3] {
        intake
            .packet(&packets[number].header, &packets[number].payload, &mut seen)
            .unwrap();
    }
    assert!(intake.has_gap());
    assert_eq!(intake.wants(), (1, 0));
    intake.give_up(&mut seen).unwrap();
    assert_eq!(intake.wants(), (4, 0));
    assert_eq!(intake.counts().lost, 1);
    let expected = [&packets[0], &packets[2], &packets[3]].map(Clone::clone);
    assert_eq!(plain(&seen.0), all_told(&expected));
    // Too late.
    intake
        .packet(&packets[1].header, &packets[1].payload, &mut seen)
        .unwrap();
    assert_eq!(seen.0.len(), all_told(&expected).len());
}

#[test]
fn what_waits_is_bounded() {
    let packets = packets(&[1; 12], &[9; 32]);
    let mut intake = Intake::new(4, None);
    let mut seen = Seen::default();
    for packet in &packets[1..] {
        intake
            .packet(&packet.header, &packet.payload, &mut seen)
            .unwrap();
        assert!(intake.waiting.len() <= 4);
    }
    assert_eq!(intake.wants(), (12, 0));
    assert_eq!(intake.counts().lost, 1);
    assert_eq!(plain(&seen.0), all_told(&packets[1..]));
}
