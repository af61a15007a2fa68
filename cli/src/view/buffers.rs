//! What the buffers hold and what they gave up.

use invivo_grpc::v1::{BuffersReply, Location, LocationBuffer, Spans, ThinnedSamples};
use invivo_report::table::{Side, Table};
use invivo_report::units::{bytes, count, counted, duration, share};

/// Locations shown of those that an answer names.
const NAMED_TEXT: usize = 8;

/// The strategies in force, a line each.
pub fn strategies(buffers: &BuffersReply) -> String {
    let all = buffers.strategies.len() == 1;
    let line = |of: &invivo_grpc::v1::StrategyInForce| {
        let ranks = counted(of.ranks.into(), "rank");
        if all {
            format!("{}\n", of.strategy)
        } else {
            format!("{}  on {ranks}\n", of.strategy)
        }
    };
    buffers.strategies.iter().map(line).collect()
}

/// All of it.
pub fn text(buffers: &BuffersReply) -> String {
    let mut text = String::new();
    for of in &buffers.strategies {
        text.push_str(&format!("strategy: {}\n", of.strategy));
        if buffers.strategies.len() > 1 {
            text.push_str(&format!(
                "          on {}\n",
                counted(of.ranks.into(), "rank")
            ));
        }
    }
    text.push_str(&format!(
        "{} of {}; {} of {} bins in use ({}); {} calls kept of {} stored, {:.1} bytes per record; \
         {} so far\n",
        counted(buffers.locations.into(), "buffer"),
        bytes(
            buffers
                .bytes
                .checked_div(buffers.locations.into())
                .unwrap_or(0)
        ),
        count(buffers.bins_used),
        count(buffers.bins),
        share(buffers.bins_used as f64, buffers.bins as f64),
        count(buffers.kept),
        count(buffers.stored),
        buffers.bytes_per_call,
        counted(buffers.reductions, "reduction"),
    ));
    if let Some(of) = buffers.regions {
        text.push_str(&format!(
            "{} of regions kept of {} stored\n",
            counted(of.kept, "visit"),
            count(of.stored),
        ));
    }
    if let Some(of) = buffers.samples {
        text.push_str(&format!(
            "{} kept of {} taken\n",
            counted(of.kept, "sample"),
            count(of.stored),
        ));
    }
    if buffers.without > 0 {
        text.push_str(&format!(
            "{} without a buffer: analysed and not kept (--budget asks for more)\n",
            counted(buffers.without.into(), "location")
        ));
    }
    if buffers.recycled > 0 {
        text.push_str(&format!(
            "{} of threads that had ended, taken over by others\n",
            counted(buffers.recycled.into(), "buffer")
        ));
    }
    if let Some(capped) = buffers.capped {
        text.push_str(&format!(
            "cap reached in {}: all events dropped, {}\n",
            counted(capped.buffers.into(), "buffer"),
            between(capped.first_ns, capped.last_ns)
        ));
    }
    if let Some(of) = buffers.thinned {
        text.push_str(&thinned(&of));
    }

    text.push_str(&spans("history", buffers.span));
    text.push_str(&spans("complete", buffers.complete));
    text.push_str(&levels(buffers));
    text.push_str(&losses(buffers));
    text.push_str(&named(&buffers.named));
    text
}

/// How far samples are thinned, and whether those who take them know.
fn thinned(of: &ThinnedSamples) -> String {
    let part = |halvings: u32| {
        format!(
            "1/{}",
            count(1u64.checked_shl(halvings).unwrap_or(u64::MAX))
        )
    };
    let frequency = match (of.least, of.most) {
        (0, 0) => "their first frequency".to_owned(),
        (least, most) if least == most => format!("{} of their first frequency", part(most)),
        (least, most) => format!("{} to {} of their first frequency", part(most), part(least)),
    };
    let told = match of.untold {
        0 => "all ranks know".to_owned(),
        untold => format!("{} not told yet", counted(untold.into(), "location")),
    };
    format!(
        "samples of {}: {frequency}; {told}\n",
        counted(of.locations.into(), "location")
    )
}

fn spans(what: &str, spans: Option<Spans>) -> String {
    let Some(spans) = spans.filter(|spans| spans.shortest.is_some()) else {
        return String::new();
    };
    format!(
        "{what}: {} at least ({}), {} mean, {} at most\n",
        duration(spans.min_ns),
        location(spans.shortest),
        duration(spans.mean_ns),
        duration(spans.max_ns),
    )
}

/// One point in job time, or two.
fn between(first_ns: u64, last_ns: u64) -> String {
    let (first, last) = (seconds(first_ns), seconds(last_ns));
    if first == last {
        format!("at {first}")
    } else {
        format!("the first at {first}, the last at {last}")
    }
}

fn seconds(ns: u64) -> String {
    format!("{:.3} s", ns as f64 / 1e9)
}

fn location(location: Option<Location>) -> String {
    match location.unwrap_or_default() {
        Location { rank, thread: 0 } => format!("rank {rank}"),
        Location { rank, thread } => format!("rank {rank}, thread {thread}"),
    }
}

fn levels(buffers: &BuffersReply) -> String {
    let mut table = Table::new([
        ("level, the first to go first", Side::Left),
        ("bins", Side::Right),
        ("kept", Side::Right),
        ("given up", Side::Right),
        ("until", Side::Right),
    ]);
    for level in &buffers.levels {
        let mut holds = level.holds.clone();
        if level.former {
            holds.push_str(", of an earlier strategy");
        }
        if level.closed > 0 {
            holds.push_str(&format!(
                ", closed in {}",
                counted(level.closed.into(), "buffer")
            ));
        }
        let until = level.gone_until_ns.map_or_else(|| "-".to_owned(), seconds);
        table.row([
            holds,
            count(level.bins),
            count(level.kept),
            count(level.given_up),
            until,
        ]);
    }
    format!("\n{}", table.text())
}

fn losses(buffers: &BuffersReply) -> String {
    if buffers.losses.is_empty() {
        return "nothing has been given up\n".to_owned();
    }
    let mut table = Table::new([
        ("not there", Side::Left),
        ("of level", Side::Left),
        ("why", Side::Left),
        ("from", Side::Right),
        ("to, since start", Side::Right),
    ]);
    for loss in &buffers.losses {
        table.row([
            counted(loss.records, &loss.class),
            loss.level.clone(),
            loss.reason.clone(),
            seconds(loss.first_ns),
            seconds(loss.last_ns),
        ]);
    }
    format!("\n{}", table.text())
}

fn named(named: &[LocationBuffer]) -> String {
    if named.is_empty() {
        return String::new();
    }
    let mut table = Table::new([
        ("least history", Side::Left),
        ("complete", Side::Right),
        ("history", Side::Right),
        ("bins", Side::Right),
        ("calls kept", Side::Right),
        ("given up", Side::Right),
        ("reductions", Side::Right),
    ]);
    for one in named.iter().take(NAMED_TEXT) {
        let books = one.books.unwrap_or_default();
        table.row([
            location(one.location),
            duration(one.complete_ns),
            duration(one.span_ns),
            format!("{}/{}", one.bins_used, one.bins),
            count(books.kept),
            count(books.reduced),
            count(one.reductions),
        ]);
    }
    format!("\n{}", table.text())
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_grpc::v1::{BufferBooks, BufferCaps, BufferLevel, BufferLoss, StrategyInForce};

    fn reply() -> BuffersReply {
        let worst = Some(Location { rank: 3, thread: 1 });
        BuffersReply {
            strategies: vec![StrategyInForce {
                strategy: "duration:1ms".into(),
                ranks: 4,
            }],
            locations: 2,
            bytes: 2 << 20,
            bins: 256,
            bins_used: 200,
            stored: 5000,
            kept: 1000,
            bytes_per_call: 8.25,
            reductions: 56,
            capped: Some(BufferCaps {
                buffers: 2,
                first_ns: 1_000_000_000,
                last_ns: 1_500_000_000,
            }),
            thinned: Some(ThinnedSamples {
                locations: 2,
                untold: 1,
                least: 2,
                most: 3,
            }),
            complete: Some(Spans {
                mean_ns: 2_000_000_000,
                min_ns: 1_000_000_000,
                max_ns: 3_000_000_000,
                shortest: worst,
            }),
            levels: vec![BufferLevel {
                holds: "shorter than 1.000 ms".into(),
                bins: 200,
                kept: 1000,
                given_up: 4000,
                gone_until_ns: Some(1_500_000_000),
                ..BufferLevel::default()
            }],
            losses: vec![BufferLoss {
                level: "shorter than 1.000 ms".into(),
                class: "call".into(),
                reason: "made room".into(),
                records: 4000,
                first_ns: 500_000_000,
                last_ns: 1_500_000_000,
            }],
            named: vec![LocationBuffer {
                location: worst,
                bins: 128,
                bins_used: 100,
                complete_ns: 1_000_000_000,
                span_ns: 4_000_000_000,
                reductions: 7,
                books: Some(BufferBooks {
                    kept: 10,
                    reduced: 20,
                    ..BufferBooks::default()
                }),
                ..LocationBuffer::default()
            }],
            ..BuffersReply::default()
        }
    }

    #[test]
    fn buffers_tell_what_they_hold_and_what_went() {
        assert_eq!(
            text(&reply()),
            "strategy: duration:1ms\n\
             2 buffers of 1.00 MiB; 200 of 256 bins in use (78.1 %); 1,000 calls kept of 5,000 \
             stored, 8.2 bytes per record; 56 reductions so far\n\
             cap reached in 2 buffers: all events dropped, the first at 1.000 s, the last at 1.500 \
             s\n\
             samples of 2 locations: 1/8 to 1/4 of their first frequency; 1 location not told yet\n\
             complete: 1.00 s at least (rank 3, thread 1), 2.00 s mean, 3.00 s at most\n\
             \n\
             level, the first to go first  bins   kept  given up    until\n\
             shorter than 1.000 ms          200  1,000     4,000  1.500 s\n\
             \n\
             not there    of level               why           from  to, since start\n\
             4,000 calls  shorter than 1.000 ms  made room  0.500 s          1.500 s\n\
             \n\
             least history     complete  history     bins  calls kept  given up  reductions\n\
             rank 3, thread 1    1.00 s   4.00 s  100/128          10        20           7\n"
        );
    }

    #[test]
    fn two_strategies_name_their_ranks() {
        let mut reply = reply();
        assert_eq!(strategies(&reply), "duration:1ms\n");
        reply.strategies.push(StrategyInForce {
            strategy: "time".into(),
            ranks: 1,
        });
        assert_eq!(
            strategies(&reply),
            "duration:1ms  on 4 ranks\ntime  on 1 rank\n"
        );
    }
}
