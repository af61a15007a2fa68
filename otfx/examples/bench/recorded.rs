//! The layout in which xtask/bench/stream.c leaves the calls of a rank. Another bench reads it,
//! too.

use invivo_proto::ids::{CommLocal, RegionId};
use invivo_proto::record::{Call, Facts, Part, RecordKind};

/// A call, or a part of the call before.
pub enum Line {
    Call(Call),
    Part(Part),
}

/// All of them in their order. Regions are numbered as in that file.
pub fn lines(bytes: &[u8]) -> impl Iterator<Item = Line> + '_ {
    bytes.as_chunks::<72>().0.iter().map(line)
}

fn line(record: &[u8; 72]) -> Line {
    let word = |index: usize| {
        u64::from_le_bytes(record[8 * index..8 * index + 8].try_into().expect("eight"))
    };
    let half = |at: usize| i32::from_le_bytes(record[at..at + 4].try_into().expect("four"));
    let facts = Facts {
        kind: KINDS[usize::from(record[70])],
        region: RegionId(u16::from_le_bytes([record[68], record[69]])),
        comm: CommLocal(half(64) as u32),
        peer: half(56),
        tag: half(60),
        bytes_out: word(5),
        bytes_in: word(6),
        ..Facts::default()
    };
    if record[71] != 0 {
        return Line::Part(Part {
            facts,
            request: if facts.kind.completes() { word(3) } else { 0 },
            posted: word(4),
        });
    }
    Line::Call(Call {
        facts,
        end: word(0),
        duration: word(1),
        ordinal: word(2),
        request: if facts.kind.posts() { word(3) } else { 0 },
    })
}

const KINDS: [RecordKind; 11] = [
    RecordKind::Plain,
    RecordKind::Send,
    RecordKind::Recv,
    RecordKind::PostSend,
    RecordKind::PostRecv,
    RecordKind::Collective,
    RecordKind::PostCollective,
    RecordKind::CompletedSend,
    RecordKind::CompletedRecv,
    RecordKind::CompletedCollective,
    RecordKind::CompletedNothing,
];
