//! Lines about the calls and samples that a buffer keeps.

use invivo_grpc::v1::{CallFacts, CallRecord, RecordsReply, SampleRecord};
use invivo_report::terminal;
use invivo_report::units::{bytes, count, counted, duration};

/// The lines above the page: the location, and what is missing.
pub fn head(page: &RecordsReply) -> String {
    let location = page.location.unwrap_or_default();
    let books = page.books.unwrap_or_default();
    let mut text = format!("rank {}, thread {}: ", location.rank, location.thread);
    text.push_str(&format!(
        "{} kept of {} stored",
        counted(books.kept, "call"),
        count(books.stored)
    ));
    match page.gone_until_ns {
        Some(ns) => text.push_str(&format!("; complete since {}\n", time(ns))),
        None => text.push_str("; nothing was given up\n"),
    }
    if let Some(calls) = page.not_kept {
        text.push_str(&format!(
            "{} found no buffer and were not kept\n",
            counted(calls, "call")
        ));
    }
    for loss in &page.losses {
        let missing = format!(
            "missing: {} of level {}, {}, from {} to {}",
            counted(loss.records, &loss.class),
            loss.level,
            loss.reason,
            time(loss.first_ns),
            time(loss.last_ns)
        );
        text.push_str(&terminal::line(&missing));
        text.push('\n');
    }
    text
}

/// The calls and samples of a page, by time; a sample that was taken as a call ended stands behind
/// it.
pub fn lines(page: &RecordsReply) -> String {
    let mut text = String::new();
    let mut samples = page.samples.iter().peekable();
    for record in &page.records {
        // In ticks, as they were recorded: job time is rounded.
        while let Some(before) = samples.next_if(|sample| sample.at_ticks < record.end_ticks) {
            text.push_str(&sample(before));
        }
        text.push_str(&line(record));
    }
    text.extend(samples.map(sample));
    text
}

fn sample(of: &SampleRecord) -> String {
    let values: Vec<String> = of.values.iter().map(|&value| count(value)).collect();
    let values = match values.as_slice() {
        [] => String::new(),
        values => format!(": {}", values.join("; ")),
    };
    let function = match of.function.as_str() {
        "" => String::new(),
        function => format!(" in {}", terminal::line(function)),
    };
    format!(
        "{:>16}  {:>8}  sample {}{function}{values}\n",
        time(of.at_ns),
        "",
        count(of.ordinal),
    )
}

/// Job time, to the microsecond.
fn time(ns: u64) -> String {
    format!("{:.6} s", ns as f64 / 1e9)
}

fn line(record: &CallRecord) -> String {
    let mut text = format!(
        "{:>16}  {:>8}  ",
        time(record.end_ns),
        duration(record.duration_ns)
    );
    if record.facts.as_ref().is_some_and(|of| of.kind == "region") {
        text.push_str("region ");
    }
    match record.function.as_str() {
        "" => text.push_str("(the rest of a call)"),
        name => text.push_str(&terminal::line(name)),
    }
    if let Some(of) = &record.facts {
        text.push_str(&facts(of));
    }
    if record.clipped {
        text.push_str(", clipped");
    }
    if record.occupant > 0 {
        text.push_str(&format!(", occupant {}", count(record.occupant.into())));
    }
    text.push('\n');
    for part in &record.parts {
        let of = part.facts.clone().unwrap_or_default();
        let since = match part.posted_ticks {
            0 => String::new(),
            _ => format!(", request {}", part.request),
        };
        text.push_str(&format!(
            "{:>30}{} {}{}{since}\n",
            "",
            of.kind,
            part.function,
            facts(&of)
        ));
    }
    if record.parts_left_out > 0 {
        text.push_str(&format!(
            "{:>30}and {} more\n",
            "",
            count(record.parts_left_out.into())
        ));
    }
    text
}

fn facts(of: &CallFacts) -> String {
    let mut text = String::new();
    let (to, from) = (format!(" to {}", of.peer), format!(" from {}", of.peer));
    match of.kind.as_str() {
        "send" | "post send" | "sent" => text.push_str(&format!("{to} tag {}", of.tag)),
        "receive" | "post receive" | "received" => text.push_str(&format!("{from} tag {}", of.tag)),
        // One-sided calls have a target, probes whose message they found.
        "call" if of.peer >= 0 => text.push_str(&format!(" with {}", of.peer)),
        _ => {}
    }
    for (number, word) in [(of.bytes_out, "out"), (of.bytes_in, "in")] {
        if number > 0 {
            text.push_str(&format!(", {} {word}", bytes(number)));
        }
    }
    match of.comm {
        Some(comm) if comm != 0 => text.push_str(&format!(", communicator {comm}")),
        _ => {}
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_grpc::v1::{BufferBooks, BufferLoss, CallPart, Location};

    #[test]
    fn a_page_shows_calls_and_what_is_missing() {
        let send = CallFacts {
            kind: "send".into(),
            comm: Some(0),
            peer: 3,
            tag: 7,
            bytes_out: 2048,
            bytes_in: 0,
        };
        let page = RecordsReply {
            location: Some(Location { rank: 2, thread: 0 }),
            books: Some(BufferBooks {
                stored: 5000,
                kept: 1,
                ..BufferBooks::default()
            }),
            gone_until_ns: Some(1_500_000_000),
            losses: vec![BufferLoss {
                level: "all else".into(),
                class: "call".into(),
                reason: "made room".into(),
                records: 4999,
                first_ns: 500_000_000,
                last_ns: 1_500_000_000,
            }],
            records: vec![
                CallRecord {
                    function: "MPI_Send".into(),
                    end_ns: 2_000_000_500,
                    end_ticks: 1000,
                    duration_ns: 700,
                    facts: Some(send.clone()),
                    clipped: true,
                    occupant: 1200,
                    ..CallRecord::default()
                },
                CallRecord {
                    function: String::new(),
                    end_ns: 2_000_001_500,
                    end_ticks: 3000,
                    parts: vec![CallPart {
                        function: "MPI_Isend".into(),
                        facts: Some(CallFacts {
                            kind: "sent".into(),
                            comm: Some(2),
                            ..send
                        }),
                        request: 9,
                        posted_ticks: 4,
                    }],
                    parts_left_out: 2,
                    ..CallRecord::default()
                },
            ],
            samples: [(1000, 8), (4000, 1032)]
                .map(|(at_ticks, ordinal)| SampleRecord {
                    at_ns: 2_000_000_000 + at_ticks / 2,
                    at_ticks,
                    ordinal,
                    context: ordinal as u32 / 1000,
                    function: if ordinal > 8 {
                        "solve".into()
                    } else {
                        String::new()
                    },
                    values: vec![112, 4096],
                    ..SampleRecord::default()
                })
                .into(),
            ..RecordsReply::default()
        };
        assert_eq!(
            head(&page) + &lines(&page),
            "rank 2, thread 0: 1 call kept of 5,000 stored; complete since 1.500000 s\n\
             missing: 4,999 calls of level all else, made room, from 0.500000 s to 1.500000 \
             s\n      \
             2.000001 s    700 ns  MPI_Send to 3 tag 7, 2.00 KiB out, clipped, occupant \
             1,200\n      \
             2.000001 s            sample 8: 112; 4,096\n      \
             2.000002 s       0 s  (the rest of a call)\n                              \
             sent MPI_Isend to 3 tag 7, 2.00 KiB out, communicator 2, request \
             9\n                              \
             and 2 more\n      \
             2.000002 s            sample 1,032 in solve: 112; 4,096\n"
        );
    }
}
