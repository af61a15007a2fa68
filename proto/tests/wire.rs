//! Holds `wire.md` to the source: every table and every example in it is compared, and it is told
//! when the source has moved on.

mod fingerprint;
mod samples;

use fingerprint::{FILES, fingerprint};
use invivo_proto::control::{
    analyses, buffers, contexts, fault, hang, histogram, local, meetings, metrics, named_ranks,
    overhead, peer, profile, regions, results, selection, sites, stacks, strategy, timeline, tree,
    wait_states,
};
use invivo_proto::record::{MAX_CALL_BYTES, MAX_PART_BYTES, MAX_PARTS, RecordKind};
use invivo_proto::{channel, control, definition, mpi, packet, record, shm, varint};
use std::collections::BTreeMap;
use std::mem::offset_of;
use std::path::Path;

fn read(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The rows of all tables whose head has this cell at this column, without marks of code.
fn rows(head: &str, column: usize) -> Vec<Vec<String>> {
    let document = read("wire.md");
    let mut found = Vec::new();
    let mut lines = document.lines().peekable();
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|')
            .split('|')
            .map(|cell| cell.trim().trim_matches('`').to_owned())
            .collect()
    };
    while let Some(line) = lines.next() {
        let is_head =
            line.starts_with('|') && lines.peek().is_some_and(|next| next.starts_with("|---"));
        if is_head && cells(line).get(column).map(String::as_str) == Some(head) {
            lines.next();
            while let Some(row) = lines.next_if(|next| next.starts_with('|')) {
                found.push(cells(row));
            }
        }
    }
    assert!(
        !found.is_empty(),
        "wire.md has no table with column {column} `{head}`"
    );
    found
}

/// Name and value of every row of a table, in order.
fn pairs(head: &str, column: usize, name: usize, value: usize) -> Vec<(String, i64)> {
    rows(head, column)
        .into_iter()
        .map(|row| {
            (
                row[name].clone(),
                row[value]
                    .parse()
                    .unwrap_or_else(|_| panic!("no number in {row:?}")),
            )
        })
        .collect()
}

fn expected(values: &[(&str, i64)]) -> Vec<(String, i64)> {
    values
        .iter()
        .map(|(name, value)| ((*name).to_owned(), *value))
        .collect()
}

#[test]
fn the_packet_header_is_drawn_as_it_is_written() {
    let header = samples::header(0);
    let message = samples::packet();
    let (_, payload) = packet::Header::decode(&message).unwrap();
    let mut end = 0;
    for row in rows("packet header field", 2) {
        let (offset, bytes): (usize, usize) = (row[0].parse().unwrap(), row[1].parse().unwrap());
        assert_eq!(offset, end, "a gap before {}", row[2]);
        end = offset + bytes;
        let number = |value: u64| value.to_le_bytes()[..bytes].to_vec();
        let written = match row[2].as_str() {
            "magic" => b"IVPK".to_vec(),
            "version" => number(u64::from(packet::VERSION)),
            "header length" => number(packet::HEADER_BYTES as u64),
            "rank" => number(header.location.rank.0.into()),
            "thread" => number(header.location.thread.into()),
            "sequence" => number(header.sequence),
            "epoch" => number(header.epoch.into()),
            "length" => number(payload.len() as u64),
            "first time" => number(header.first_time),
            "last time" => number(header.last_time),
            "entered" => number(header.losses.entered),
            "dropped" => header
                .losses
                .dropped
                .iter()
                .flat_map(|count| count.to_le_bytes())
                .collect(),
            "next request" => number(header.next_request),
            // Its value is held by the golden bytes; here, that it stands where it is drawn.
            "checksum" => {
                let mut changed = message.clone();
                changed[offset] ^= 1;
                let error = packet::Header::decode(&changed).unwrap_err();
                assert!(
                    matches!(error, packet::PacketError::Checksum { .. }),
                    "{error}"
                );
                continue;
            }
            "records" => number(header.records.into()),
            other => panic!("wire.md draws a field that no header has: {other}"),
        };
        assert_eq!(message[offset..end], written, "{}", row[2]);
    }
    assert_eq!(end, packet::HEADER_BYTES);
}

#[test]
fn limits_are_the_sources() {
    let all = expected(&[
        ("packet::PAYLOAD_BYTES", packet::PAYLOAD_BYTES as i64),
        ("packet::HEADER_BYTES", packet::HEADER_BYTES as i64),
        ("packet::VERSION", packet::VERSION.into()),
        ("packet::VERSION_MIN", packet::VERSION_MIN.into()),
        ("record::DICTIONARY_SLOTS", record::DICTIONARY_SLOTS as i64),
        ("record::MAX_PARTS", MAX_PARTS as i64),
        ("record::MAX_CALL_BYTES", MAX_CALL_BYTES as i64),
        ("record::MAX_PART_BYTES", MAX_PART_BYTES as i64),
        ("record::OPEN_MAX", record::OPEN_MAX as i64),
        ("record::OPEN_BYTES_MAX", record::OPEN_BYTES_MAX as i64),
        ("varint::MAX_BYTES", varint::MAX_BYTES as i64),
        ("shm::VERSION", shm::VERSION.into()),
        ("shm::LOCATIONS_MAX", shm::LOCATIONS_MAX as i64),
        ("shm::PACKETS_DEFAULT", shm::PACKETS_DEFAULT as i64),
        ("shm::PACKETS_MAX", shm::PACKETS_MAX as i64),
        ("shm::RING_BYTES", shm::RING_BYTES as i64),
        (
            "definition::DEFINITION_BYTES_MAX",
            definition::DEFINITION_BYTES_MAX as i64,
        ),
        ("definition::SITES_MAX", definition::SITES_MAX.into()),
        ("record::REGIONS_MAX", record::REGIONS_MAX.into()),
        (
            "definition::REGION_NAME_BYTES_MAX",
            definition::REGION_NAME_BYTES_MAX as i64,
        ),
        ("definition::MODULES_MAX", definition::MODULES_MAX.into()),
        ("shm::PROGRAM_METRICS_MAX", shm::PROGRAM_METRICS_MAX as i64),
        ("shm::PROGRAM_NAME_BYTES", shm::PROGRAM_NAME_BYTES as i64),
        ("shm::TIMER_THREADS_MAX", shm::TIMER_THREADS_MAX as i64),
        ("shm::TIMER_SAMPLES", shm::TIMER_SAMPLES as i64),
        ("shm::TIMER_STACK_BYTES", shm::TIMER_STACK_BYTES as i64),
        ("control::VERSION", control::VERSION.into()),
        (
            "control::MESSAGE_BYTES_MAX",
            control::MESSAGE_BYTES_MAX as i64,
        ),
        (
            "control::local::LOCAL_BYTES_MAX",
            control::local::LOCAL_BYTES_MAX as i64,
        ),
        ("control::peer::PEER_BYTES_MAX", peer::PEER_BYTES_MAX as i64),
        (
            "control::peer::ENDPOINTS_MAX",
            control::peer::ENDPOINTS_MAX as i64,
        ),
        (
            "buffers::LOCATIONS_NAMED_MAX",
            buffers::LOCATIONS_NAMED_MAX as i64,
        ),
        ("analyses::GAPS_MAX", analyses::GAPS_MAX as i64),
        (
            "buffers::STRATEGIES_NAMED_MAX",
            buffers::STRATEGIES_NAMED_MAX as i64,
        ),
        ("buffers::PAGE_MAX", buffers::PAGE_MAX.into()),
        (
            "timeline::TIMELINE_PAGE_MAX",
            timeline::TIMELINE_PAGE_MAX.into(),
        ),
        (
            "timeline::TIMELINE_LOCATIONS_MAX",
            timeline::TIMELINE_LOCATIONS_MAX as i64,
        ),
        ("strategy::RULES_MAX", strategy::RULES_MAX as i64),
        ("strategy::LEVELS_MAX", strategy::LEVELS_MAX.into()),
        ("results::RANKS_NAMED_MAX", results::RANKS_NAMED_MAX as i64),
        ("results::NOTES_MAX", results::NOTES_MAX as i64),
        ("hang::CLASSES_MAX", hang::CLASSES_MAX as i64),
        ("hang::NAMED_MAX", hang::NAMED_MAX as i64),
        ("hang::PENDING_MAX", hang::PENDING_MAX as i64),
        ("hang::OPERATIONS_MAX", hang::OPERATIONS_MAX as i64),
        ("hang::PASSED_MAX", hang::PASSED_MAX as i64),
        ("hang::SHARED_MAX", hang::SHARED_MAX as i64),
        ("hang::SITE_BYTES_MAX", hang::SITE_BYTES_MAX as i64),
        ("hang::FINDINGS_MAX", hang::FINDINGS_MAX as i64),
        ("hang::LINKS_MAX", hang::LINKS_MAX as i64),
        ("stacks::NODES_MAX", stacks::NODES_MAX as i64),
        ("stacks::DEPTH_MAX", stacks::DEPTH_MAX as i64),
        ("stacks::NAMED_MAX", stacks::NAMED_MAX as i64),
        ("stacks::LINES_MAX", stacks::LINES_MAX as i64),
        (
            "stacks::FUNCTION_BYTES_MAX",
            stacks::FUNCTION_BYTES_MAX as i64,
        ),
        ("stacks::MODULE_BYTES_MAX", stacks::MODULE_BYTES_MAX as i64),
        ("stacks::LINE_BYTES_MAX", stacks::LINE_BYTES_MAX as i64),
        ("stacks::RANGES_MAX", stacks::RANGES_MAX as i64),
        ("profile::FREQUENCY_MAX", profile::FREQUENCY_MAX.into()),
        ("profile::NODES_MAX", profile::NODES_MAX as i64),
        ("profile::LINES_MAX", profile::LINES_MAX as i64),
        ("named_ranks::NAMED_MAX", named_ranks::NAMED_MAX as i64),
        ("local::PROFILE_PART_MAX", local::PROFILE_PART_MAX as i64),
        ("sites::ROWS_MAX", sites::ROWS_MAX.into()),
        ("histogram::BINS_MAX", histogram::BINS_MAX as i64),
        ("sites::FILE_BYTES_MAX", sites::FILE_BYTES_MAX as i64),
        ("sites::CAUSERS_MAX", sites::CAUSERS_MAX as i64),
        ("contexts::CONTEXTS_MAX", contexts::CONTEXTS_MAX.into()),
        ("regions::ROWS_MAX", regions::ROWS_MAX.into()),
        ("metrics::METRICS_MAX", metrics::METRICS_MAX as i64),
        ("overhead::EVENTS_MAX", overhead::EVENTS_MAX as i64),
        ("selection::RULES_MAX", selection::RULES_MAX as i64),
        (
            "selection::PATTERN_BYTES_MAX",
            selection::PATTERN_BYTES_MAX as i64,
        ),
        ("wait_states::RANKS_MAX", wait_states::RANKS_MAX.into()),
        (
            "wait_states::COMMUNICATORS_MAX",
            wait_states::COMMUNICATORS_MAX as i64,
        ),
        ("meetings::MEETINGS_MAX", meetings::MEETINGS_MAX as i64),
        ("meetings::STEPS_MAX", meetings::STEPS_MAX as i64),
        ("local::MODULES_MAX", local::MODULES_MAX as i64),
        ("local::PATH_BYTES_MAX", local::PATH_BYTES_MAX as i64),
        (
            "local::BUILD_ID_BYTES_MAX",
            local::BUILD_ID_BYTES_MAX as i64,
        ),
        ("local::OFFSETS_MAX", local::OFFSETS_MAX as i64),
        ("local::INLINED_MAX", local::INLINED_MAX as i64),
        ("local::THREADS_MAX", local::THREADS_MAX as i64),
        ("local::PYTHON_BYTES_MAX", local::PYTHON_BYTES_MAX as i64),
        ("fault::STEPS_MAX", fault::STEPS_MAX as i64),
        ("fault::FAULTS_MAX", fault::FAULTS_MAX as i64),
        ("tree::FAILURES_MAX", tree::FAILURES_MAX as i64),
        ("tree::MISSING_MAX", tree::MISSING_MAX as i64),
    ]);
    assert_eq!(pairs("name", 0, 0, 1), all);
}

#[test]
fn enumerations_are_the_sources() {
    let kinds = [
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
    let kinds: Vec<_> = kinds
        .iter()
        .map(|kind| (format!("{kind:?}"), *kind as i64))
        .collect();
    assert_eq!(pairs("kind", 0, 1, 0), kinds);

    use mpi::peer;
    let peers = [
        ("NONE", peer::NONE),
        ("ANY", peer::ANY),
        ("NULL", peer::NULL),
        ("ROOT", peer::ROOT),
    ];
    assert_eq!(
        pairs("special peer", 0, 0, 1),
        expected(&peers.map(|(name, value)| (name, value.into())))
    );

    use shm::{inside, owner, phase};
    let tables: [(&str, &[(&str, u32)]); 3] = [
        (
            "inside",
            &[
                ("APPLICATION", inside::APPLICATION),
                ("MPI", inside::MPI),
                ("HELD_AT_ENTER", inside::HELD_AT_ENTER),
                ("HELD_AT_LEAVE", inside::HELD_AT_LEAVE),
            ],
        ),
        (
            "phase",
            &[
                ("STARTING", phase::STARTING),
                ("RUNNING", phase::RUNNING),
                ("DRAINED", phase::DRAINED),
                ("ABORTING", phase::ABORTING),
                ("SILENT", phase::SILENT),
            ],
        ),
        (
            "owner",
            &[
                ("FREE", owner::FREE),
                ("RANK", owner::RANK),
                ("MPI", owner::MPI),
                ("PLACE", owner::PLACE),
            ],
        ),
    ];
    for (head, values) in tables {
        let values: Vec<_> = values
            .iter()
            .map(|(name, value)| ((*name).to_owned(), i64::from(*value)))
            .collect();
        assert_eq!(pairs(head, 0, 0, 1), values, "{head}");
    }

    let tags = [
        ("TAG_PACKET", channel::TAG_PACKET),
        ("TAG_WELCOME", channel::TAG_WELCOME),
        ("TAG_DOWN", channel::TAG_DOWN),
        ("TAG_UP", channel::TAG_UP),
        ("TAG_PEER", channel::TAG_PEER),
        ("TAG_PLACES", channel::TAG_PLACES),
    ];
    assert_eq!(
        pairs("tag", 0, 0, 1),
        expected(&tags.map(|(name, value)| (name, value.into())))
    );
}

/// Compares a layout table with the structure: each row's offset and size, no hole between them,
/// the whole size.
macro_rules! layout {
    ($type:ident: $($field:ident),+) => {{
        let drawn: Vec<(String, usize, usize)> = rows(concat!(stringify!($type), " field"), 2)
            .into_iter()
            .map(|row| (row[2].clone(), row[0].parse().unwrap(), row[1].parse().unwrap()))
            .collect();
        let mut end = 0;
        for (name, offset, bytes) in &drawn {
            assert_eq!(*offset, end, "a hole before {name} of {}", stringify!($type));
            end += bytes;
        }
        assert_eq!(end, size_of::<shm::$type>(), "size of {}", stringify!($type));
        let named: BTreeMap<_, _> = drawn.iter().map(|row| (row.0.as_str(), row.1)).collect();
        let source: BTreeMap<&str, usize> =
            [$((stringify!($field), offset_of!(shm::$type, $field))),+].into();
        for (name, offset) in &source {
            assert_eq!(named.get(name), Some(offset), "{} of {}", name, stringify!($type));
        }
        for (name, _, _) in &drawn {
            assert!(source.contains_key(name.as_str()) || name == "reserved", "{name}: not there");
        }
    }};
}

#[test]
fn shared_memory_is_drawn_as_it_lies() {
    layout!(Page: magic, version, packets, rank, ranks, place, pid, phase, locations, sent_packets,
        left_packets, abort_code, library, control, status, occupants, fault, ring, left_calls,
        spawned, program_metrics, program_metrics_lost, sample_timers);
    layout!(ProgramMetric: state, value, name);
    layout!(SampleTimers: order, count, period_ns, until_ns, done, refusal, samples_at, begun,
        handler_ns, threads);
    layout!(TimerSample: state, time_ns, tid, missed, code, stack, frame, copied, bytes);
    layout!(Library: comms, requests, shared, any_source, proc_null, request_bytes,
        thread_multiple);
    layout!(Control: gate, recording, gate_until_ns, recording_since, back_pressure, bell,
        without_sites, without_regions, has_selection, errand, off);
    layout!(Off: words);
    layout!(Fault: state, signal, code, tid, address, instruction, stack, frame);
    layout!(Status: inside, region, entered_at, handle, numbers, stack, frame, entered, tid,
        open_slot, dropped, packets, overhead_ticks, overhead_samples, progress_at, polls,
        region_ticks, region_losses);
    layout!(Ring: head, tail, bytes);
    layout!(SlotHeader: owner, location, sequence, committed, taken, first_time, next_request,
        last_time, records, epoch, wire, payload);
}

/// Every message between our own processes is named on the page, by its variant and what it holds.
#[test]
fn every_control_message_is_on_the_page() {
    let mut drawn: Vec<String> = rows("message", 0)
        .into_iter()
        .map(|row| row[0].clone())
        .collect();
    drawn.sort();
    let mut sampled: Vec<String> = samples::messages::control()
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    sampled.sort();
    assert_eq!(drawn, sampled);
}

/// Every fenced block marked `hex NAME` holds the bytes of that golden sample.
#[test]
fn examples_are_the_golden_bytes() {
    let document = read("wire.md");
    let golden: BTreeMap<String, Vec<u8>> = samples::all().into_iter().collect();
    let mut compared = 0;
    for block in document.split("```hex ").skip(1) {
        let (name, rest) = block.split_once('\n').unwrap();
        let text = rest.split("```").next().unwrap();
        let bytes: Vec<u8> = text
            .split_whitespace()
            .map(|word| u8::from_str_radix(word, 16).expect("hexadecimal"))
            .collect();
        let wanted = golden[name].iter().map(|byte| format!("{byte:02x}"));
        let wanted: Vec<String> = wanted.collect();
        assert_eq!(
            Some(&bytes),
            golden.get(name),
            "{name} should read: {}",
            wanted.join(" ")
        );
        compared += 1;
    }
    assert!(compared > 10, "the examples are gone");
}

#[test]
fn the_document_has_seen_the_source() {
    let said: BTreeMap<String, String> = rows("source", 0)
        .into_iter()
        .map(|row| (row[0].clone(), row[1].clone()))
        .collect();
    let stale: Vec<String> = FILES
        .iter()
        .map(|file| {
            let now = fingerprint(&read(&format!("src/{file}")));
            (file, format!("{now:016x}"))
        })
        .filter(|(file, now)| said.get(**file) != Some(now))
        .map(|(file, now)| format!("| `{file}` | `{now}` |"))
        .collect();
    assert!(
        stale.is_empty(),
        "the source moved: read wire.md again, correct it, and only then put these rows into its \
         last table\n{}",
        stale.join("\n")
    );
    assert_eq!(said.len(), FILES.len(), "files that nobody compares");
}

#[test]
fn fingerprints_ignore_comments_and_see_numbers() {
    let before = fingerprint("/// Old words.\nconst A: u32 = 1;\n");
    let same = "// New words.\nconst A: u32 =\n    1;\n#[cfg(test)]\nmod tests {}\n";
    assert_eq!(before, fingerprint(same));
    assert_ne!(before, fingerprint("/// Old words.\nconst A: u32 = 2;\n"));
}
