//! Greedy clients with valid tokens: slow readers, watchers, questions without end. Whoever comes
//! with another token is served meanwhile.

use crate::attacks;
use crate::stage::{Attack, RANKS, Stage};
use invivo_e2e::clients::http2::{
    DATA, END_HEADERS, END_STREAM, HEADERS, PREFACE, SETTINGS, connect, frame, headers, message,
    opening, read_until_closed, request, throw,
};
use invivo_e2e::clients::number;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

pub const ATTACKS: &[Attack] = attacks![
    watchers_that_never_read,
    followers_of_the_audit_log,
    large_answers_that_nobody_reads,
    answers_read_by_drops,
    questions_about_stacks_without_end,
    different_questions_without_end,
    invitations_without_end,
    pauses_by_many,
];

/// The longest that a command may take beside greedy clients.
const COMMANDED_WITHIN: Duration = Duration::from_secs(10);

/// A client whose window for answers has so many bytes.
fn with_window(stage: &Stage, bytes: u32) -> UnixStream {
    let mut stream = connect(&stage.socket()).expect("connected");
    let initial_window = [&[0, 4][..], &bytes.to_be_bytes()].concat();
    throw(
        &mut stream,
        &[PREFACE, &frame(SETTINGS, 0, 0, &initial_window)].concat(),
    );
    stream
}

/// That somebody with the other token commands and looks as ever.
fn is_served(stage: &Stage) {
    let begun = Instant::now();
    stage.client().pause(RANKS, "30s");
    stage.client().resume(RANKS);
    let took = begun.elapsed();
    assert!(took < COMMANDED_WITHIN, "a pause took {took:?}");
}

fn watchers_that_never_read(stage: &mut Stage) {
    let token = stage.told("view");
    // interval_ns: 100 ms; functions: yes
    let ask = [0x08, 0x80, 0xc2, 0xd7, 0x2f, 0x10, 1];
    let mut open = Vec::new();
    for _ in 0..90 {
        let mut stream = connect(&stage.socket()).expect("connected");
        let calls = (0..8).flat_map(|call| request(1 + 2 * call, "Watch", &token, &ask));
        throw(&mut stream, &[opening(), calls.collect()].concat());
        open.push(stream);
    }
    std::thread::sleep(Duration::from_secs(1));
    // With the token control there is room to watch.
    let control = stage.connect["control"].clone();
    let file = stage.doctored(|connect| connect["view"] = control);
    let watched = stage.by(&file, &["watch", "--count", "1"]);
    let stderr = String::from_utf8_lossy(&watched.stderr);
    assert!(watched.status.success(), "{stderr}");
    is_served(stage);
}

fn followers_of_the_audit_log(stage: &mut Stage) {
    let token = stage.told("view");
    let mut open = Vec::new();
    for _ in 0..20 {
        let mut stream = connect(&stage.socket()).expect("connected");
        let calls = (0..8).flat_map(|call| request(1 + 2 * call, "Audit", &token, &[0x08, 1]));
        throw(&mut stream, &[opening(), calls.collect()].concat());
        open.push(stream);
    }
    std::thread::sleep(Duration::from_millis(300));
    let control = stage.connect["control"].clone();
    let file = stage.doctored(|connect| connect["view"] = control);
    let read = stage.by(&file, &["audit"]);
    assert!(
        read.status.success(),
        "{}",
        String::from_utf8_lossy(&read.stderr)
    );
    is_served(stage);
}

/// All of the budget that one token has, held by answers for which there is no window.
fn large_answers_that_nobody_reads(stage: &mut Stage) {
    let token = stage.told("view");
    // per_rank: yes; rank_rows_max: 65536
    let ask = [0x08, 1, 0x10, 0x80, 0x80, 4];
    let mut open = Vec::new();
    for _ in 0..8 {
        let mut stream = with_window(stage, 0);
        let calls = (0..16).flat_map(|call| request(1 + 2 * call, "Functions", &token, &ask));
        throw(&mut stream, &calls.collect::<Vec<u8>>());
        open.push(stream);
    }
    std::thread::sleep(Duration::from_millis(500));
    let control = stage.connect["control"].clone();
    let file = stage.doctored(|connect| connect["view"] = control);
    for words in [&["functions", "--per-rank"][..], &["matrix"]] {
        let asked = stage.by(&file, words);
        let stderr = String::from_utf8_lossy(&asked.stderr);
        assert!(asked.status.success(), "{words:?}: {stderr}");
    }
    is_served(stage);
}

fn answers_read_by_drops(stage: &mut Stage) {
    let token = stage.told("view");
    let mut stream = with_window(stage, 1);
    throw(&mut stream, &request(1, "Functions", &token, &[0x08, 1]));
    for _ in 0..50 {
        // One byte more of window, for the call and for the connection.
        for of in [0, 1] {
            throw(&mut stream, &frame(8, 0, of, &1_u32.to_be_bytes()));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    is_served(stage);
}

fn questions_about_stacks_without_end(stage: &mut Stage) {
    let token = stage.told("view");
    let mut open = Vec::new();
    for _ in 0..20 {
        let mut stream = connect(&stage.socket()).expect("connected");
        let calls = (0..16).flat_map(|call| request(1 + 2 * call, "Stacks", &token, &[]));
        throw(&mut stream, &[opening(), calls.collect()].concat());
        open.push(stream);
    }
    is_served(stage);
}

/// More different questions than the root takes at once: none is answered by another one's answer.
fn different_questions_without_end(stage: &mut Stage) {
    let (token, socket) = (stage.told("view"), stage.socket());
    let flood = |round: u32| {
        let mut open = Vec::new();
        for connection in 0..8_u32 {
            let mut stream = connect(&socket).expect("connected");
            let calls = (0..16_u32).flat_map(|call| {
                // per_rank: yes; rank_rows_max: another one for each call
                let rows = 129 + round * 128 + connection * 16 + call;
                let ask = [0x08, 1, 0x10, 0x80 | rows as u8, (rows >> 7) as u8];
                request(1 + 2 * call, "Functions", &token, &ask)
            });
            throw(&mut stream, &[opening(), calls.collect()].concat());
            open.push(stream);
        }
        open
    };
    let control = stage.connect["control"].clone();
    let file = stage.doctored(|connect| connect["view"] = control);
    for round in 0..20 {
        let open = flood(round);
        // The questions of whoever steers find a place, and are answered.
        let asked = stage.by(&file, &["matrix", "--side", &(2 + round).to_string()]);
        let stderr = String::from_utf8_lossy(&asked.stderr);
        assert!(asked.status.success(), "{stderr}");
        drop(open);
    }
    is_served(stage);
}

fn invitations_without_end(stage: &mut Stage) {
    let token = stage.told("view");
    let mut stream = connect(&stage.socket()).expect("connected");
    throw(&mut stream, &opening());
    let ask = [&[0x0a, 4][..], b"view"].concat();
    let calls: Vec<u8> = (0..300)
        .flat_map(|call| request(1 + 2 * call, "Invite", &token, &ask))
        .collect();
    throw(&mut stream, &calls);
    read_until_closed(&mut stream, Duration::from_millis(500));
    let invited = stage.client().json(&["invite", "--scope", "control"]);
    let guest = number(&invited, "/guest").to_string();
    assert!(
        stage
            .client()
            .run(&["invite", "--revoke", &guest])
            .status
            .success()
    );
    let listed = stage.client().json(&["invite", "--list"]);
    let guests = listed["guests"].as_array().map_or(0, Vec::len);
    assert!(guests <= 64, "{guests} guests");
}

/// Many commands at once, each of a client that leaves: at the end the job runs.
fn pauses_by_many(stage: &mut Stage) {
    let token = stage.told("control");
    for round in 0..5_u8 {
        let mut stream = connect(&stage.socket()).expect("connected");
        throw(&mut stream, &opening());
        for call in 0..16_u32 {
            // Ids of their own; a lease of half a second in field 2.
            let id = [0x08, 0x80 | round, 0x80 | call as u8, 1];
            let lease = [0x10, 0x80, 0xca, 0xb5, 0xee, 1];
            let method = if call % 2 == 0 { "Pause" } else { "Resume" };
            let ask = if call % 2 == 0 {
                [&id[..], &lease].concat()
            } else {
                id.to_vec()
            };
            let block = headers(method, &token, "many");
            throw(
                &mut stream,
                &frame(HEADERS, END_HEADERS, 1 + 2 * call, &block),
            );
            throw(
                &mut stream,
                &frame(DATA, END_STREAM, 1 + 2 * call, &message(&ask)),
            );
        }
    }
    let begun = Instant::now();
    loop {
        let status = stage.client().json(&["status"]);
        if number(&status, "/status/ranks/paused") == 0 {
            break;
        }
        assert!(begun.elapsed() < COMMANDED_WITHIN, "still paused: {status}");
        std::thread::sleep(Duration::from_millis(100));
    }
    is_served(stage);
}
