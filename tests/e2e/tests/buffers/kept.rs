//! Reads what a buffer keeps, from `invivo records --json`.

use invivo_e2e::clients::Client;
use invivo_proto::mpi;
use serde::Deserialize;
use std::collections::HashMap;

/// A call as far as it is compared: end, duration, region, tag, bytes out, number of parts.
pub type Known = (u64, u64, u16, i32, u64, usize);

/// A line of the output.
#[derive(Deserialize)]
struct Page {
    records: Vec<Record>,
    books: CallCounts,
}

/// What became of the calls that a buffer was given.
#[derive(Deserialize)]
pub struct CallCounts {
    pub stored: u64,
    pub kept: u64,
    pub reduced: u64,
}

/// The content of one location's buffer.
pub struct Kept {
    pub calls: Vec<Known>,
    pub counts: CallCounts,
}

#[derive(Deserialize)]
struct Record {
    function: String,
    end_ticks: u64,
    duration_ticks: u64,
    facts: Facts,
    clipped: bool,
    parts: Vec<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct Facts {
    tag: i32,
    bytes_out: u64,
}

/// Reads the buffer of a rank.
pub fn kept(client: &Client, rank: u32) -> Kept {
    let output = client.run(&["records", &rank.to_string(), "--json"]);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );

    let regions: HashMap<&str, u16> = mpi::FUNCTIONS
        .iter()
        .map(|function| function.name)
        .zip(0..)
        .collect();

    let mut calls = Vec::new();
    let mut last = None;
    for page in serde_json::Deserializer::from_slice(&output.stdout).into_iter::<Page>() {
        let page = page.expect("a page");
        for record in page.records {
            assert!(!record.clipped);
            let facts = record.facts;
            calls.push((
                record.end_ticks,
                record.duration_ticks,
                regions[record.function.as_str()],
                facts.tag,
                facts.bytes_out,
                record.parts.len(),
            ));
        }
        // The counters of the last page are the newest.
        last = Some(page.books);
    }

    let counts = last.expect("a page at least");
    Kept { calls, counts }
}
