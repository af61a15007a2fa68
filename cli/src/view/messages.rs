//! Point-to-point messages: how many were matched, how long they took, and how long receivers
//! waited for them.

use invivo_grpc::v1::{Durations, MessagesReply, Traffic, Unmatched};
use invivo_report::table::{Side, Table};
use invivo_report::units::{bytes, count, counted, duration, duration_f64};

/// What was sent, received and matched, why not all of it was, then the times with the error of the
/// clocks.
pub fn text(messages: &MessagesReply) -> String {
    let of = |traffic: Option<Traffic>| traffic.unwrap_or_default();
    let (sent, received, matched) = (
        of(messages.sent),
        of(messages.received),
        of(messages.matched),
    );
    if sent.messages + received.messages == 0 {
        return "no point-to-point message has been recorded yet\n".to_owned();
    }
    let mut text = String::new();
    for (name, traffic) in [("sent", sent), ("received", received), ("matched", matched)] {
        let sum = counted(traffic.messages, "message");
        text.push_str(&format!("{name}: {sum} with {}\n", bytes(traffic.bytes)));
    }
    text.push_str(&unmatched(&messages.unmatched.unwrap_or_default()));
    text.push('\n');
    text.push_str(&times(messages));
    if messages.untimed > 0 {
        let pairs = counted(messages.untimed, "pair");
        text.push_str(&format!("without {pairs} that a pause or a cut touches\n"));
    }
    let error = duration(messages.clock_error_ns);
    text.push_str(&format!("between nodes the clocks are known to {error}\n"));
    text
}

/// Why sends and receives were not matched; nothing where all are, or still may be.
fn unmatched(of: &Unmatched) -> String {
    let reasons = [
        (of.unresolved, "communicator not known"),
        (of.limit, "queue full"),
        (of.cut, "across a cut"),
        (of.missing, "record of the other half missing"),
        (of.outside, "with processes outside of the job"),
    ];
    let reasons = reasons.iter().filter(|(halves, _)| *halves > 0);
    let reasons: Vec<String> = reasons
        .map(|(halves, why)| format!("{} {why}", count(*halves)))
        .collect();
    if reasons.is_empty() {
        String::new()
    } else {
        format!("never matched: {}\n", reasons.join(", "))
    }
}

fn times(messages: &MessagesReply) -> String {
    let heads = [
        "", "messages", "time", "mean", "sigma", "min", "max", "of rank",
    ];
    let sides = [Side::Left]
        .into_iter()
        .chain([Side::Right].into_iter().cycle());
    let mut table = Table::of(heads.map(str::to_owned).into_iter().zip(sides));
    for (name, times) in [
        ("transfer", messages.transfer),
        ("Late Sender", messages.late_sender),
    ] {
        table.row(row(name, &times.unwrap_or_default()));
    }
    table.text()
}

fn row(name: &str, times: &Durations) -> [String; 8] {
    let some = |text: String| {
        if times.count == 0 {
            "-".to_owned()
        } else {
            text
        }
    };
    [
        name.to_owned(),
        count(times.count),
        some(duration(times.sum_ns)),
        some(duration_f64(times.mean_ns)),
        some(duration_f64(times.stddev_ns)),
        some(duration(times.min_ns)),
        some(duration(times.max_ns)),
        some(times.max_rank.to_string()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_their_times_and_what_has_none() {
        let traffic = |messages, bytes| Some(Traffic { messages, bytes });
        let messages = MessagesReply {
            sent: traffic(1200, 4096),
            received: traffic(1190, 4000),
            matched: traffic(1180, 3900),
            unmatched: Some(Unmatched {
                cut: 3,
                missing: 7,
                ..Unmatched::default()
            }),
            transfer: Some(Durations {
                count: 1179,
                sum_ns: 5_000_000,
                mean_ns: 4241.0,
                stddev_ns: 9.5,
                min_ns: 900,
                max_ns: 70_000,
                max_rank: 3,
            }),
            late_sender: None,
            untimed: 1,
            clock_error_ns: 850,
            ..MessagesReply::default()
        };
        assert_eq!(
            text(&messages),
            "sent: 1,200 messages with 4.00 KiB\n\
             received: 1,190 messages with 3.91 KiB\n\
             matched: 1,180 messages with 3.81 KiB\n\
             never matched: 3 across a cut, 7 record of the other half missing\n\
             \n\
             \x20            messages     time     mean   sigma     min      max  of rank\n\
             transfer        1,179  5.00 ms  4.24 us  9.5 ns  900 ns  70.0 us        3\n\
             Late Sender         0        -        -       -       -        -        -\n\
             without 1 pair that a pause or a cut touches\n\
             between nodes the clocks are known to 850 ns\n"
        );
    }

    #[test]
    fn no_traffic_says_so() {
        assert!(text(&MessagesReply::default()).starts_with("no point-to-point message"));
    }
}
