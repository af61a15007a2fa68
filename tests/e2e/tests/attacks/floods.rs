//! Floods and malformed bytes on the gateway's socket, by whoever may connect to it.

use crate::attacks;
use crate::stage::{Attack, Stage};
use invivo_e2e::clients::http2::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, PING, PREFACE, PRIORITY, RST_STREAM,
    SETTINGS, WINDOW_UPDATE, connect, frame, headers, literal, message, opening, read_until_closed,
    request, throw,
};
use invivo_e2e::clients::number;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::time::Duration;

pub const ATTACKS: &[Attack] = attacks![
    garbage,
    another_protocol,
    frame_of_16_megabytes,
    half_open_connections,
    burst_of_connections,
    wrong_tokens_in_a_row,
    rapid_reset,
    continuation_flood,
    settings_flood,
    ping_flood,
    priority_flood,
    empty_data_flood,
    headers_without_end,
    compression_bomb,
    window_that_overflows,
    streams_out_of_order,
    request_of_megabytes,
    request_by_drops,
    hello_flood,
    denial_flood,
];

/// The longest that a connection is listened to which must be closed.
const CUT_OFF_WITHIN: Duration = Duration::from_secs(10);
/// And that of one that may stay.
const SOON: Duration = Duration::from_millis(500);
/// What the logs may grow by in an attack.
const LOG_BYTES_MAX: u64 = 64 << 10;

fn attacker(stage: &Stage) -> UnixStream {
    connect(&stage.socket()).expect("connected")
}

/// Throws bytes at the gateway behind the opening, and reads what comes.
fn thrown(stage: &Stage, bytes: &[u8]) -> (Vec<u8>, bool) {
    thrown_for(stage, bytes, SOON)
}

fn thrown_for(stage: &Stage, bytes: &[u8], most: Duration) -> (Vec<u8>, bool) {
    let mut stream = attacker(stage);
    throw(&mut stream, &opening());
    throw(&mut stream, bytes);
    read_until_closed(&mut stream, most)
}

/// The same, of bytes for which the gateway must close the connection.
fn is_cut_off(stage: &Stage, bytes: &[u8]) {
    assert!(
        thrown_for(stage, bytes, CUT_OFF_WITHIN).1,
        "the connection is still open"
    );
}

fn garbage(stage: &mut Stage) {
    // Without any pattern that a parser could take for a frame.
    let bytes: Vec<u8> = (0..65536_u32)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    let mut stream = attacker(stage);
    throw(&mut stream, &bytes);
    assert!(read_until_closed(&mut stream, CUT_OFF_WITHIN).1);
}

fn another_protocol(stage: &mut Stage) {
    let mut stream = attacker(stage);
    throw(&mut stream, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(read_until_closed(&mut stream, CUT_OFF_WITHIN).1);
}

fn frame_of_16_megabytes(stage: &mut Stage) {
    let head = [0xff, 0xff, 0xff, DATA, 0, 0, 0, 0, 1];
    is_cut_off(stage, &[&head[..], &[0; 4096]].concat());
}

fn half_open_connections(stage: &mut Stage) {
    let mut open = Vec::new();
    for _ in 0..200 {
        let mut stream = attacker(stage);
        throw(&mut stream, &PREFACE[..10]);
        open.push(stream);
    }
    // While they are open, others are served.
    stage.client().json(&["status"]);
}

fn burst_of_connections(stage: &mut Stage) {
    (0..500).for_each(|_| drop(attacker(stage)));
}

fn wrong_tokens_in_a_row(stage: &mut Stage) {
    let mut stream = attacker(stage);
    throw(&mut stream, &opening());
    // Few at a time: calls beyond those that may be open are not looked at, and a gateway without a
    // processor looks at few.
    let is_cut_off = (0..400).any(|call| {
        throw(&mut stream, &request(1 + 2 * call, "Pause", "0000", &[]));
        let pause = Duration::from_millis(if call % 10 == 9 { 50 } else { 0 });
        !pause.is_zero() && read_until_closed(&mut stream, pause).1
    });
    assert!(is_cut_off, "whoever guesses is cut off");
}

/// Calls that are taken back at once (CVE-2023-44487), with a valid token.
fn rapid_reset(stage: &mut Stage) {
    let token = stage.told("view");
    let block = headers("Status", &token, "resets");
    let cancel = 8_u32.to_be_bytes();
    let calls: Vec<u8> = (0..20_000)
        .flat_map(|call| {
            let stream = 1 + 2 * call;
            let begin = frame(HEADERS, END_HEADERS, stream, &block);
            [begin, frame(RST_STREAM, 0, stream, &cancel)].concat()
        })
        .collect();
    thrown(stage, &calls);
}

/// Headers that never end (CVE-2024-27316).
fn continuation_flood(stage: &mut Stage) {
    let part = literal("x-padding", &"a".repeat(100));
    let mut bytes = frame(HEADERS, 0, 1, &headers("Status", "0000", "endless"));
    for _ in 0..20_000 {
        bytes.extend(frame(CONTINUATION, 0, 1, &part));
    }
    is_cut_off(stage, &bytes);
}

/// Settings that are each acknowledged, by a client that reads none of it.
fn settings_flood(stage: &mut Stage) {
    let one = frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 255, 255]);
    thrown(stage, &one.repeat(50_000));
}

fn ping_flood(stage: &mut Stage) {
    thrown(stage, &frame(PING, 0, 0, &[7; 8]).repeat(50_000));
}

fn priority_flood(stage: &mut Stage) {
    let bytes: Vec<u8> = (0..50_000_u32)
        .flat_map(|stream| frame(PRIORITY, 0, 1 + 2 * stream, &[0, 0, 0, 0, 16]))
        .collect();
    thrown(stage, &bytes);
}

fn empty_data_flood(stage: &mut Stage) {
    let block = headers("Status", &stage.told("view"), "empty");
    let begin = frame(HEADERS, END_HEADERS, 1, &block);
    let empty = frame(DATA, 0, 1, &[]).repeat(50_000);
    thrown(stage, &[begin, empty].concat());
}

/// Calls that begin, as many as are allowed and more, and never end.
fn headers_without_end(stage: &mut Stage) {
    let block = headers("Reset", &stage.told("control"), "endless");
    let bytes: Vec<u8> = (0..200)
        .flat_map(|call| frame(HEADERS, END_HEADERS, 1 + 2 * call, &block))
        .collect();
    thrown(stage, &bytes);
}

/// A field in the table of compressed headers, which is then named thousands of times.
fn compression_bomb(stage: &mut Stage) {
    let mut block = literal("x-long", &"b".repeat(120));
    // With indexing: it becomes the first entry of the table, which is 62.
    block[0] = 0x40;
    let mut bytes = frame(HEADERS, END_HEADERS, 1, &block);
    for call in 1..200 {
        let named = vec![0x80 | 62; 16_000];
        bytes.extend(frame(
            HEADERS,
            END_HEADERS | END_STREAM,
            1 + 2 * call,
            &named,
        ));
    }
    thrown(stage, &bytes);
}

fn window_that_overflows(stage: &mut Stage) {
    let most = 0x7fff_ffff_u32.to_be_bytes();
    is_cut_off(stage, &frame(WINDOW_UPDATE, 0, 0, &most).repeat(2));
}

fn streams_out_of_order(stage: &mut Stage) {
    let block = headers("Status", &stage.told("view"), "backwards");
    let on = |stream| frame(HEADERS, END_HEADERS, stream, &block);
    is_cut_off(stage, &[on(9), on(2)].concat());
    is_cut_off(stage, &frame(DATA, 0, 77, b"of no call"));
}

fn request_of_megabytes(stage: &mut Stage) {
    let block = headers("Pause", &stage.told("control"), "long");
    let mut stream = attacker(stage);
    throw(&mut stream, &opening());
    throw(&mut stream, &frame(HEADERS, END_HEADERS, 1, &block));
    let long = message(&vec![0; 4 << 20]);
    for part in long.chunks(16 << 10) {
        if stream.write_all(&frame(DATA, 0, 1, part)).is_err() {
            break;
        }
    }
    read_until_closed(&mut stream, Duration::from_millis(300));
    let status = stage.client().json(&["status"]);
    assert_eq!(number(&status, "/status/ranks/paused"), 0);
}

fn request_by_drops(stage: &mut Stage) {
    let bytes = [opening(), request(1, "Status", &stage.told("view"), &[])].concat();
    let mut stream = attacker(stage);
    for byte in &bytes[..60] {
        throw(&mut stream, &[*byte]);
        std::thread::sleep(Duration::from_millis(10));
    }
    stage.client().json(&["status"]);
}

/// Introductions with long names: the log does not grow with them.
fn hello_flood(stage: &mut Stage) {
    let before = stage.log_bytes();
    let name = "n".repeat(110);
    let hello = [&[0x0a, 110], name.as_bytes()].concat();
    let token = stage.told("view");
    let calls: Vec<u8> = (0..2000)
        .flat_map(|call| request(1 + 2 * call, "Hello", &token, &hello))
        .collect();
    thrown(stage, &calls);
    let grown = stage.log_bytes() - before;
    assert!(grown < LOG_BYTES_MAX, "the log has grown by {grown} bytes");
}

/// Commands that are denied: the log does not grow with them, and what was commanded stays in it.
fn denial_flood(stage: &mut Stage) {
    let behind = stage.newest();
    stage.client().json(&["record", "on"]);
    stage.is_in_audit(behind, "record", "done");
    let (token, before) = (stage.told("view"), stage.log_bytes());
    let file = stage.running.connect_file().with_file_name("audit.jsonl");
    let audit_bytes = || std::fs::metadata(&file).map_or(0, |about| about.len());
    let audit_before = audit_bytes();
    let calls: Vec<u8> = (0..1000)
        .flat_map(|call| request(1 + 2 * call, "Reset", &token, &[]))
        .collect();
    for _ in 0..4 {
        thrown(stage, &calls);
    }
    stage.is_in_audit(behind, "record", "done");
    let grown = (stage.log_bytes() - before, audit_bytes() - audit_before);
    assert!(
        grown.0 < LOG_BYTES_MAX && grown.1 < LOG_BYTES_MAX,
        "{grown:?} bytes"
    );
}
