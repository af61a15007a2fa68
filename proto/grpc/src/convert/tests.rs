//! Known tables with known answers.

use super::*;
use invivo_proto::control::results::Moments;

fn stats(count: u64, sum_ns: u64, m2: f64) -> FunctionStats {
    let mean_ns = sum_ns as f64 / count as f64;
    let time = Moments {
        count,
        sum_ns,
        mean_ns,
        m2,
        min_ns: 1,
        max_ns: sum_ns,
        max_rank: Rank(3),
    };
    FunctionStats {
        time,
        bytes_out: 10,
        bytes_in: 20,
    }
}

#[test]
fn function_rows_are_sorted_by_time_and_merged_ones_stand_apart() {
    let table = FunctionTable {
        rows: BTreeMap::from([
            ((None, RegionId(1)), stats(2, 100, 8.0)),
            ((None, RegionId(2)), stats(4, 400, 0.0)),
            ((Some(Rank(0)), RegionId(1)), stats(1, 30, 0.0)),
            ((Some(Rank(1)), RegionId(1)), stats(1, 70, 0.0)),
            ((Some(Rank(5)), RegionId(2)), stats(4, 400, 0.0)),
        ]),
    };
    let (merged, by_rank) = function_rows(&table);
    assert_eq!(
        merged
            .iter()
            .map(|row| (row.rank, row.time_ns))
            .collect::<Vec<_>>(),
        [(None, 400), (None, 100)]
    );
    assert_eq!(
        by_rank
            .iter()
            .map(|row| (row.rank, row.time_ns))
            .collect::<Vec<_>>(),
        [(Some(5), 400), (Some(1), 70), (Some(0), 30)]
    );
    assert_eq!(
        (merged[1].calls, merged[1].mean_ns, merged[1].stddev_ns),
        (2, 50.0, 2.0)
    );
    assert_eq!(merged[0].function, mpi::name(RegionId(2)));
    assert_eq!(
        (merged[0].max_rank, merged[0].bytes_out, merged[0].bytes_in),
        (3, 10, 20)
    );
}

#[test]
fn a_row_without_calls_has_no_absurd_minimum() {
    let time = Moments {
        count: 0,
        sum_ns: 0,
        mean_ns: 0.0,
        m2: 0.0,
        min_ns: u64::MAX,
        max_ns: 0,
        max_rank: Rank(0),
    };
    let row = function_row(
        None,
        RegionId(1),
        &FunctionStats {
            time,
            bytes_out: 0,
            bytes_in: 0,
        },
    );
    assert_eq!((row.min_ns, row.stddev_ns), (0, 0.0));
}

fn ring(ranks: u32) -> Matrix {
    let traffic = |bytes| Traffic { messages: 2, bytes };
    let ends = |rank: u32| (Rank(rank), Rank((rank + 1) % ranks));
    Matrix {
        sent: (0..ranks).map(|rank| (ends(rank), traffic(100))).collect(),
        received: (0..ranks).map(|rank| (ends(rank), traffic(90))).collect(),
        unresolved: Traffic {
            messages: 1,
            bytes: 7,
        },
    }
}

#[test]
fn a_small_matrix_is_exact() {
    let reply = matrix_reply(&ring(4), &Coverage::default(), 4, 64);
    assert_eq!((reply.ranks, reply.block_ranks, reply.cells.len()), (4, 1, 4));
    let last = &reply.cells[3];
    assert_eq!((last.source, last.destination), (3, 0));
    assert_eq!(
        last.sent,
        Some(v1::Traffic {
            messages: 2,
            bytes: 100
        })
    );
    assert_eq!(
        last.received,
        Some(v1::Traffic {
            messages: 2,
            bytes: 90
        })
    );
    assert_eq!(
        reply.unresolved,
        Some(v1::Traffic {
            messages: 1,
            bytes: 7
        })
    );
}

#[test]
fn a_large_matrix_is_folded_and_keeps_its_sums() {
    let reply = matrix_reply(&ring(1000), &Coverage::default(), 1000, 64);
    assert_eq!(reply.block_ranks, 16);
    assert!(
        reply
            .cells
            .iter()
            .all(|cell| cell.source < 64 && cell.destination < 64)
    );
    // In each block all but its last rank send to the same block.
    let within = reply
        .cells
        .iter()
        .find(|cell| (cell.source, cell.destination) == (0, 0))
        .expect("there");
    assert_eq!(
        within.sent,
        Some(v1::Traffic {
            messages: 30,
            bytes: 1500
        })
    );
    let sum = |pick: fn(&v1::MatrixCell) -> Option<v1::Traffic>| -> u64 {
        reply
            .cells
            .iter()
            .filter_map(pick)
            .map(|traffic| traffic.bytes)
            .sum()
    };
    assert_eq!(
        (sum(|cell| cell.sent), sum(|cell| cell.received)),
        (100_000, 90_000)
    );
}

#[test]
fn states_keep_their_order() {
    let status = JobStatus {
        states: [1, 2, 3, 4, 5],
        ..JobStatus::default()
    };
    let counts = v1::JobStatus::from(&status).ranks.expect("there");
    assert_eq!(counts.starting, status.states[RankState::Starting as usize]);
    assert_eq!(counts.computing, status.states[RankState::Computing as usize]);
    assert_eq!(counts.in_mpi, status.states[RankState::InMpi as usize]);
    assert_eq!(counts.paused, status.states[RankState::Paused as usize]);
    assert_eq!(counts.finished, status.states[RankState::Finished as usize]);
}

#[test]
fn drop_reasons_keep_their_order() {
    use invivo_proto::packet::DropReason;
    let mut ledger = Ledger::default();
    ledger.dropped[DropReason::NoPacket as usize] = 1;
    ledger.dropped[DropReason::NoLocation as usize] = 2;
    ledger.dropped[DropReason::Switched as usize] = 3;
    let dropped = v1::Ledger::from(&ledger).dropped.expect("there");
    assert_eq!(
        (dropped.no_packet, dropped.no_location, dropped.switched),
        (1, 2, 3)
    );
}

#[test]
fn json_has_words_and_numbers() {
    let status = RankStatus {
        rank: Rank(2),
        state: RankState::InMpi,
        region: RegionId(0),
        since_ns: 5,
        entered: u64::MAX,
        mpi_ns: 6,
    };
    let json = serde_json::to_value(v1::RankStatus::from(&status)).expect("json");
    assert_eq!(json["state"], "in MPI");
    assert_eq!(json["entered"], u64::MAX);
    assert_eq!(json["function"], "");
}

#[test]
fn every_message_and_field_of_the_interface_has_a_comment() {
    use prost::Message;
    let set = tonic_prost_build::FileDescriptorSet::decode(crate::DESCRIPTORS).expect("descriptors");
    let file = set
        .file
        .iter()
        .find(|file| file.package() == "invivo.v1")
        .expect("package");
    let info = file.source_code_info.as_ref().expect("comments");
    let commented = |path: &[i32]| {
        info.location
            .iter()
            .any(|at| at.path == path && !at.leading_comments().trim().is_empty())
    };
    // Numbers of fields in descriptor.proto: 4 messages, 5 enums, 6 services; within each 2 their parts.
    let mut seen = 0;
    let parts = file
        .message_type
        .iter()
        .enumerate()
        .map(|(at, m)| (4, at, m.name(), m.field.len()));
    let parts = parts.chain(
        file.enum_type
            .iter()
            .enumerate()
            .map(|(at, e)| (5, at, e.name(), e.value.len())),
    );
    let parts = parts.chain(
        file.service
            .iter()
            .enumerate()
            .map(|(at, s)| (6, at, s.name(), s.method.len())),
    );
    for (kind, at, name, count) in parts {
        assert!(commented(&[kind, at as i32]), "{name} has no comment");
        for part in 0..count {
            assert!(
                commented(&[kind, at as i32, 2, part as i32]),
                "part {part} of {name} has no comment"
            );
            seen += 1;
        }
    }
    assert!(seen > 100, "only {seen} fields found: the test is blind");
}
