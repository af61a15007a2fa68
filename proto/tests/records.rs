//! Records: random sequences come back, in whatever pieces they are committed; damage is refused or
//! read as something else, and never does harm.

mod samples;

use invivo_proto::ids::{CommLocal, RegionId, SiteId};
use invivo_proto::packet::PAYLOAD_BYTES;
use invivo_proto::record::{
    Call, Decoded, Decoder, Encoder, Facts, MAX_CALL_BYTES, MAX_PART_BYTES, MAX_PARTS, OPEN_MAX,
    Part, REGIONS_END, RecordError, RecordFault, RecordKind,
};
use proptest::prelude::*;
use samples::{Record, encode};

const CALLS: [RecordKind; 7] = [
    RecordKind::Plain,
    RecordKind::Send,
    RecordKind::Recv,
    RecordKind::PostSend,
    RecordKind::PostRecv,
    RecordKind::Collective,
    RecordKind::PostCollective,
];
const COMPLETIONS: [RecordKind; 4] = [
    RecordKind::CompletedSend,
    RecordKind::CompletedRecv,
    RecordKind::CompletedCollective,
    RecordKind::CompletedNothing,
];

/// Facts from a small world, so that the dictionary is hit and slots collide; now and then extreme
/// ones.
fn facts(kinds: &'static [RecordKind]) -> impl Strategy<Value = Facts> {
    let small = (
        0..20u16,
        0..3u32,
        -3..6i32,
        0..3i32,
        0..3u64,
        0..3u64,
        0..3u16,
    );
    let usual = small.prop_map(|(region, comm, peer, tag, out, into, site)| {
        (region + 1, comm, peer, tag, out * 512, into, site)
    });
    let numbers = prop_oneof![
        20 => usual,
        1 => any::<(u16, u32, i32, i32, u64, u64, u16)>(),
        1 => Just((u16::MAX, u32::MAX, i32::MIN, i32::MAX, u64::MAX, u64::MAX, u16::MAX)),
    ];
    (prop::sample::select(kinds), numbers).prop_map(
        |(kind, (region, comm, peer, tag, bytes_out, bytes_in, site))| Facts {
            kind,
            region: RegionId(region % REGIONS_END),
            site: SiteId(site),
            comm: CommLocal(comm),
            peer,
            tag,
            bytes_out,
            bytes_in,
        },
    )
}

/// What is chosen for a record; times and request numbers follow from the sequence.
#[derive(Clone, Debug)]
struct Chosen {
    continuation: bool,
    /// The record says whose calls follow, and nothing else.
    occupant: Option<u32>,
    /// The record is about regions: entered, left, or so many are open.
    region: Option<(u8, u16, usize)>,
    facts: Facts,
    since: u64,
    duration: u64,
    ordinal: u64,
    parts: Vec<(Facts, u64, u64)>,
}

fn chosen() -> impl Strategy<Value = Chosen> {
    let kinds: &[RecordKind] = &[
        RecordKind::CompletedSend,
        RecordKind::CompletedRecv,
        RecordKind::CompletedCollective,
        RecordKind::CompletedNothing,
        RecordKind::Send,
        RecordKind::Recv,
        RecordKind::PostSend,
        RecordKind::PostRecv,
        RecordKind::Plain,
    ];
    let number = || prop_oneof![10 => 0..2000u64, 1 => 0..1u64 << 40];
    let ordinal = prop_oneof![10 => 0..50u64, 1 => any::<u64>()];
    let parts = prop::collection::vec((facts(kinds), any::<u64>(), number()), 0..6);
    (
        prop::bool::weighted(0.1),
        prop::option::weighted(0.1, any::<u32>()),
        prop::option::weighted(0.3, (0..3u8, REGIONS_END..=u16::MAX, 0..=OPEN_MAX)),
        facts(&CALLS),
        number(),
        prop_oneof![number(), any::<u64>()],
        ordinal,
        parts,
    )
        .prop_map(
            |(continuation, occupant, region, facts, since, duration, ordinal, parts)| Chosen {
                continuation,
                occupant,
                region,
                facts,
                since,
                duration,
                ordinal,
                parts,
            },
        )
}

/// What a shim would write for the choices, as a reader must get it.
fn written(base_time: u64, next_request: u64, choices: &[Chosen]) -> Vec<Record> {
    let (mut time, mut request) = (base_time, next_request);
    let mut take = |kind: RecordKind| {
        let number = if kind.posts() { request } else { 0 };
        request += u64::from(kind.posts());
        number
    };
    choices
        .iter()
        .map(|chosen| {
            if let Some(occupant) = chosen.occupant {
                return (Decoded::Occupant(occupant), Vec::new());
            }
            if let Some((kind, region, count)) = chosen.region {
                time += chosen.since;
                let region = RegionId(region);
                let record = match kind {
                    0 => Decoded::Enter { time, region },
                    1 => Decoded::Leave { time },
                    _ => Decoded::Open { time, count },
                };
                return (record, Vec::new());
            }
            let count = chosen.parts.len();
            let first = if chosen.continuation {
                Decoded::Continuation {
                    end: time,
                    parts: count,
                }
            } else {
                time += chosen.since;
                let facts = chosen.facts;
                let ordinal = if facts.kind.has_ordinal() {
                    chosen.ordinal
                } else {
                    0
                };
                let call = Call {
                    facts,
                    end: time,
                    duration: chosen.duration,
                    ordinal,
                    request: take(facts.kind),
                };
                Decoded::Call(call, count)
            };
            let parts = chosen.parts.iter().map(|&(facts, request, before)| {
                if facts.kind.completes() {
                    Part {
                        facts,
                        request,
                        posted: time.saturating_sub(before),
                    }
                } else {
                    Part {
                        facts,
                        request: take(facts.kind),
                        posted: 0,
                    }
                }
            });
            (first, parts.collect())
        })
        .collect()
}

/// Reads whole records from `at` to the end of `bytes`.
fn read(decoder: &mut Decoder, bytes: &[u8], at: &mut usize) -> Result<Vec<Record>, RecordError> {
    let mut records = Vec::new();
    while *at < bytes.len() {
        let mut first = decoder.record(bytes, at)?;
        let parts = (0..first.parts())
            .map(|_| decoder.part(bytes, at))
            .collect::<Result<_, _>>()?;
        if let Decoded::Open { time, count, .. } = first {
            let is_intact = samples::open(time, count)
                .map(|region| decoder.open_region(bytes, at).map(|read| read == region))
                .collect::<Result<Vec<bool>, _>>()?;
            // Damage may be in any of them: without it what was written is there.
            first = if is_intact.contains(&false) {
                Decoded::Open {
                    time,
                    count: usize::MAX,
                }
            } else {
                first
            };
        }
        records.push((first, parts));
    }
    Ok(records)
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        base_time in 0..1u64 << 60, next_request in 0..1u64 << 60,
        choices in prop::collection::vec(chosen(), 0..60),
    ) {
        let records = written(base_time, next_request, &choices);
        let bytes = encode(base_time, next_request, &records);
        let mut decoder = Decoder::new(base_time, next_request);
        prop_assert_eq!(read(&mut decoder, &bytes, &mut 0), Ok(records));
    }

    /// The place peeks into an open packet again and again: each time it goes on where the commit
    /// before ended.
    #[test]
    fn pieces_read_as_the_whole(
        choices in prop::collection::vec(chosen(), 1..40), cuts in prop::collection::vec(
            any::<prop::sample::Index>(),
            0..6,
        ),
    ) {
        let records = written(5, 0, &choices);
        let commits: Vec<usize> = (0..=records.len())
            .map(|n| encode(5, 0, &records[..n]).len())
            .collect();
        let bytes = encode(5, 0, &records);
        let mut ends: Vec<usize> = cuts
            .iter()
            .map(|cut| commits[cut.index(commits.len())])
            .collect();
        ends.push(bytes.len());
        ends.sort_unstable();
        let (mut decoder, mut at, mut all) = (Decoder::new(5, 0), 0, Vec::new());
        for end in ends {
            all.extend(read(&mut decoder, &bytes[..end], &mut at).unwrap());
            prop_assert_eq!(at, end);
        }
        prop_assert_eq!(all, records);
    }

    /// A prefix gives the records that it holds whole, then says that it ends early, where it ends.
    #[test]
    fn a_shortened_payload_is_refused_where_it_ends(
        choices in prop::collection::vec(chosen(), 1..12),
    ) {
        let records = written(5, 0, &choices);
        let commits: Vec<usize> = (1..=records.len())
            .map(|n| encode(5, 0, &records[..n]).len())
            .collect();
        let bytes = encode(5, 0, &records);
        for end in 0..bytes.len() {
            let result = read(&mut Decoder::new(5, 0), &bytes[..end], &mut 0);
            if end == 0 || commits.contains(&end) {
                prop_assert!(result.is_ok());
            } else {
                prop_assert_eq!(
                    result,
                    Err(RecordError { offset: end, fault: RecordFault::Truncated })
                );
            }
        }
    }

    #[test]
    fn damage_does_no_harm(
        choices in prop::collection::vec(chosen(), 1..30), at: prop::sample::Index, value: u8,
    ) {
        let mut bytes = encode(5, 0, &written(5, 0, &choices));
        let at = at.index(bytes.len());
        bytes[at] = value;
        if let Err(error) = read(&mut Decoder::new(5, 0), &bytes, &mut 0) {
            prop_assert!(error.offset <= bytes.len());
        }
    }

    #[test]
    fn anything_is_answered(
        time: u64,
        request: u64,
        bytes in prop::collection::vec(any::<u8>(), 0..500),
    ) {
        if let Err(error) = read(&mut Decoder::new(time, request), &bytes, &mut 0) {
            prop_assert!(error.offset <= bytes.len());
        }
    }

    /// `restart` begins a packet as `new` does, the request counter apart, which runs on.
    #[test]
    fn a_restarted_encoder_is_a_new_one(
        before in prop::collection::vec(chosen(), 0..20),
        after in prop::collection::vec(chosen(), 1..20),
        base_time in 0..1u64 << 40,
    ) {
        let mut used = Encoder::new(1, 2);
        let mut room = [0; MAX_CALL_BYTES];
        for (decoded, _) in written(1, 2, &before) {
            if let Decoded::Call(call, _) = decoded {
                // SAFETY: `room` has MAX_CALL_BYTES bytes; parts are announced and left out, the
                // bytes are not read.
                unsafe { used.call(room.as_mut_ptr(), &call, 0) };
            }
        }
        used.restart(base_time);
        let mut fresh = Encoder::new(base_time, used.next_request());
        for (decoded, _) in written(base_time, used.next_request(), &after) {
            if let Decoded::Call(call, _) = decoded {
                let mut other = [0; MAX_CALL_BYTES];
                // SAFETY: both arrays have MAX_CALL_BYTES bytes.
                let (end, other_end) = unsafe {
                    (
                        used.call(room.as_mut_ptr(), &call, 0),
                        fresh.call(other.as_mut_ptr(), &call, 0),
                    )
                };
                let length = end as usize - room.as_ptr() as usize;
                prop_assert_eq!(length, other_end as usize - other.as_ptr() as usize);
                prop_assert_eq!(&room[..length], &other[..length]);
            }
        }
    }
}

/// The shim checks the room once, before it writes: the promised maxima must hold for the worst
/// facts.
#[test]
fn no_record_is_longer_than_promised() {
    for kind in CALLS.into_iter().chain(COMPLETIONS) {
        let facts = Facts {
            kind,
            region: RegionId(REGIONS_END - 1),
            site: SiteId::OTHERS,
            comm: CommLocal(u32::MAX),
            peer: i32::MIN,
            tag: i32::MIN,
            bytes_out: u64::MAX,
            bytes_in: u64::MAX,
        };
        if !kind.completes() {
            let call = Call {
                facts,
                end: u64::MAX,
                duration: u64::MAX,
                ordinal: 1 << 63,
                request: 0,
            };
            let bytes = encode(0, 0, &[(Decoded::Call(call, MAX_PARTS), vec![])]);
            assert!(bytes.len() <= MAX_CALL_BYTES, "{kind:?}: {}", bytes.len());
        }
        let part = Part {
            facts,
            request: 1 << 63,
            posted: 0,
        };
        let late = Call {
            end: u64::MAX,
            ..Call::default()
        };
        let alone = encode(0, 0, &[(Decoded::Call(late, 1), vec![])]).len();
        let both = encode(0, 0, &[(Decoded::Call(late, 1), vec![part])]).len();
        assert!(both - alone <= MAX_PART_BYTES, "{kind:?}: {}", both - alone);
    }
    // A call with as many parts as allowed fits a packet, so that no call needs more than one
    // continuation.
    const { assert!(MAX_CALL_BYTES + MAX_PARTS * MAX_PART_BYTES <= PAYLOAD_BYTES) };
}

#[test]
fn faults_are_told_with_their_offset() {
    let refused = |bytes: &[u8]| read(&mut Decoder::new(0, 0), bytes, &mut 0).unwrap_err();
    let is = |offset, fault| RecordError { offset, fault };
    assert_eq!(refused(&[5]), is(0, RecordFault::EmptySlot(5)));
    assert_eq!(refused(&[70]), is(0, RecordFault::UnknownToken(70)));
    assert_eq!(refused(&[67, 1, 8]), is(2, RecordFault::NoRegion(8)));
    let most = OPEN_MAX as u64;
    assert_eq!(
        refused(&[69, 1, 0x81, 2]),
        is(2, RecordFault::TooManyOpen(most + 1))
    );
    assert_eq!(refused(&[66]), is(1, RecordFault::Truncated));
    // An occupant of more than 32 bits.
    assert_eq!(
        refused(&[66, 0x80, 0x80, 0x80, 0x80, 0x10]),
        is(1, RecordFault::Overflow)
    );
    assert_eq!(refused(&[64, 11]), is(1, RecordFault::UnknownKind(11)));
    assert_eq!(refused(&[64]), is(1, RecordFault::Truncated));
    // A completion is no call.
    assert_eq!(
        refused(&[64, 8, 1, 0, 0, 0, 0, 0, 0, 0]),
        is(0, RecordFault::UnknownKind(8))
    );
    // A region of more than sixteen bits, told where the number begins.
    assert_eq!(
        refused(&[64, 0, 0x80, 0x80, 4, 0, 0, 0, 0, 0]),
        is(2, RecordFault::Overflow)
    );
    assert_eq!(
        refused(&[65, 0x81, 2]),
        is(1, RecordFault::TooManyParts(257))
    );
    for (error, words) in [
        (refused(&[5]), "payload offset 0"),
        (refused(&[64]), "ends early at payload offset 1"),
    ] {
        assert!(error.to_string().contains(words), "{error}");
    }
}
