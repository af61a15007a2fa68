//! Known tables and their messages.

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
        clipped: 4,
    }
}

/// Function rows are sorted by time and merged ones stand apart.
#[test]
fn function_rows_are_sorted_by_time_with_merged_rows_apart() {
    let table = FunctionTable {
        rows: BTreeMap::from([
            (RegionId(1), stats(2, 100, 8.0)),
            (RegionId(2), stats(4, 400, 0.0)),
        ]),
        rank_rows: BTreeMap::from([
            ((Rank(0), RegionId(1)), stats(1, 30, 0.0)),
            ((Rank(1), RegionId(1)), stats(1, 70, 0.0)),
            ((Rank(5), RegionId(2)), stats(4, 400, 0.0)),
        ]),
        rank_rows_total: 3,
        rank_rows_max: 3,
        distributions: BTreeMap::new(),
        past: None,
    };
    let (merged, by_rank) = function_rows(&table, Bins::LeftOut);
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
    let first = &merged[0];
    assert_eq!(
        (
            first.max_rank,
            first.bytes_out,
            first.bytes_in,
            first.clipped
        ),
        (3, 10, 20, 4)
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
            clipped: 0,
        },
    );
    assert_eq!((row.min_ns, row.stddev_ns), (0, 0.0));
}

fn ring(ranks: u32) -> Matrix {
    let traffic = |bytes| Traffic { messages: 2, bytes };
    let ends = |rank: u32| (rank, (rank + 1) % ranks);
    Matrix {
        block_ranks: 1,
        sent: (0..ranks).map(|rank| (ends(rank), traffic(100))).collect(),
        received: (0..ranks).map(|rank| (ends(rank), traffic(90))).collect(),
        unresolved: Traffic {
            messages: 1,
            bytes: 7,
        },
        outside: Traffic {
            messages: 3,
            bytes: 11,
        },
        past: None,
    }
}

#[test]
fn a_small_matrix_is_exact() {
    let reply = matrix_reply(&ring(4), &Coverage::default(), 4, 64);
    assert_eq!(
        (reply.ranks, reply.block_ranks, reply.cells.len()),
        (4, 1, 4)
    );
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

/// Blocks come as they are or are folded into whole blocks of blocks.
#[test]
fn matrix_blocks_are_folded_only_into_whole_blocks() {
    // 1000 ranks in blocks of 16: 63 blocks, as the tree answers a side of 64.
    let blocks = Matrix {
        block_ranks: 16,
        ..ring(63)
    };
    let as_given = matrix_reply(&blocks, &Coverage::default(), 1000, 64);
    assert_eq!((as_given.block_ranks, as_given.cells.len()), (16, 63));
    let last = &as_given.cells[62];
    assert_eq!((last.source, last.destination), (62, 0));
    // A side of 20 takes four of them together: 16 blocks, each of which sends within and to the
    // next.
    let folded = matrix_reply(&blocks, &Coverage::default(), 1000, 20);
    assert_eq!((folded.block_ranks, folded.cells.len()), (64, 32));
    let bytes: u64 = folded
        .cells
        .iter()
        .map(|cell| cell.sent.expect("sent").bytes)
        .sum();
    assert_eq!(bytes, 6300);
    let nobody = matrix_reply(&Matrix::default(), &Coverage::default(), 0, 64);
    assert_eq!((nobody.block_ranks, nobody.cells.len()), (1, 0));
}

#[test]
fn states_keep_their_order() {
    let status = JobStatus {
        states: [1, 2, 3, 4, 5, 6],
        ..JobStatus::default()
    };
    let counts = v1::JobStatus::from(&status).ranks.expect("there");
    assert_eq!(counts.starting, status.states[RankState::Starting as usize]);
    assert_eq!(
        counts.computing,
        status.states[RankState::Computing as usize]
    );
    assert_eq!(counts.in_mpi, status.states[RankState::InMpi as usize]);
    assert_eq!(counts.paused, status.states[RankState::Paused as usize]);
    assert_eq!(counts.finished, status.states[RankState::Finished as usize]);
    assert_eq!(counts.held, status.states[RankState::Held as usize]);
    let state = v1::RankState::from(RankState::Held);
    assert_eq!(
        (state, state_name(state.into())),
        (v1::RankState::Held, "held")
    );
}

#[test]
fn recording_cuts_and_missing_processes_are_passed_on() {
    use invivo_proto::control::results::WindowStatus;
    use invivo_proto::ids::CommandId;
    let recording = RecordingStatus {
        on: 1,
        off: 2,
        since_ns: 3,
        now_ns: 4,
        clock_error_ns: 5,
        window: Some(WindowStatus {
            command: CommandId(6),
            from_ns: 7,
            to_ns: 8,
            complete: 9,
        }),
        shut_down: true,
    };
    let told = v1::RecordingStatus::from(&recording);
    assert_eq!(
        (
            told.on,
            told.off,
            told.since_ns,
            told.now_ns,
            told.clock_error_ns,
            told.shut_down
        ),
        (1, 2, 3, 4, 5, true)
    );
    let window = told.window.expect("a window");
    assert_eq!(
        (
            window.command_id,
            window.from_ns,
            window.to_ns,
            window.complete
        ),
        (6, 7, 8, 9)
    );

    let cut = |earliest_ns| Cut {
        earliest_ns,
        latest_ns: earliest_ns + 1,
        error_ns: 2,
    };
    let acks = Acks {
        from: Some(cut(10)),
        to: Some(cut(20)),
        complete_ns: 30,
        clipped: 4,
        open: 5,
        ..Acks::default()
    };
    let reply = command_reply(1, &acks);
    let told = |cut: Option<v1::Cut>| cut.map(|cut| (cut.earliest_ns, cut.latest_ns, cut.error_ns));
    assert_eq!(
        (told(reply.from), told(reply.to)),
        (Some((10, 11, 2)), Some((20, 21, 2)))
    );
    assert_eq!((reply.complete_ns, reply.clipped, reply.open), (30, 4, 5));

    let covered = coverage(&Coverage::default(), &[WorldRank(8), WorldRank(11)]);
    assert_eq!(covered.missing, [8, 11]);
}

#[test]
fn drop_reasons_keep_their_order() {
    use invivo_proto::packet::DropReason;
    let mut ledger = Ledger::default();
    ledger.dropped[DropReason::NoPacket as usize] = 1;
    ledger.dropped[DropReason::NoLocation as usize] = 2;
    ledger.dropped[DropReason::NotSelected as usize] = 3;
    let ledger = v1::Ledger::from(&ledger);
    let dropped = ledger.dropped.expect("there");
    assert_eq!(
        (dropped.no_packet, dropped.no_location, ledger.not_selected),
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
    let set = prost_types::FileDescriptorSet::decode(crate::DESCRIPTORS).expect("descriptors");
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
    // Numbers of fields in descriptor.proto: 4 messages, 5 enums, 6 services; within each 2 their
    // parts.
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
