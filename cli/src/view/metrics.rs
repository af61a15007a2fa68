//! What is measured of the ranks: a table of values, a list of all metrics, and sentences about
//! what is measured how often, what that cost, and what cannot be.

use super::quantity::{Quantity, is_known};
use crate::measured::{Measurement, Values};
use invivo_grpc::v1::{MetricStatus, MetricWithout, MetricsReply};
use invivo_proto::control::metrics::{METRICS_MAX, MetricSet, PROGRAM_METRICS_MAX, SYSTEM_METRICS};
use invivo_report::table::{Side, Table};
use invivo_report::units::{counted, duration, duration_f64};

/// The values of what is or was measured, a row for each metric, and sentences about them.
pub fn text(measured: &Measurement) -> String {
    let Measurement { reply, values } = measured;
    if values.is_empty() {
        return format!("{}\n", nothing(reply));
    }
    let mut table = Table::new([
        ("metric", Side::Left),
        ("total", Side::Right),
        ("mean", Side::Right),
        ("least", Side::Left),
        ("most", Side::Left),
    ]);
    for of in values {
        table.row(row(of, reply));
    }
    let mut text = format!("{}\n", table.text());
    let mut sentences = vec![interval(values)];
    sentences.extend(cycles(values));
    sentences.extend(about(reply));
    for line in sentences {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// Why there are no values, and what to do.
fn nothing(reply: &MetricsReply) -> String {
    match reply.ranks_measured {
        0 => "nothing has been measured; to begin: invivo metrics set usual (what else there is: \
              invivo metrics list)"
            .to_owned(),
        _ => format!(
            "nothing has been read yet; ranks are measured {}",
            every(reply)
        ),
    }
}

fn row(values: &Values, reply: &MetricsReply) -> [String; 5] {
    let Values { name, total, .. } = values;
    let status = reply.metrics.iter().find(|metric| metric.name == *name);
    let quantity = status.map_or_else(
        || Quantity::new("", false),
        |status| Quantity::new(&status.unit, status.absolute),
    );
    if !is_known(total) {
        let not_known = || "-".to_owned();
        return [
            name.clone(),
            not_known(),
            not_known(),
            not_known(),
            not_known(),
        ];
    }
    let of = |value, rank| format!("{} (rank {rank})", quantity.show_value(value));
    [
        name.clone(),
        match quantity.is_absolute() {
            true => "-".to_owned(),
            false => quantity.show_value(total.sum),
        },
        quantity
            .mean(total)
            .map_or_else(String::new, |mean| quantity.show(mean)),
        of(total.min, total.min_rank),
        of(total.max, total.max_rank),
    ]
}

fn interval(values: &[Values]) -> String {
    let from_ns = values.iter().map(|of| of.from_ns).min().unwrap_or(0);
    let to_ns = values.iter().map(|of| of.to_ns).max().unwrap_or(0);
    format!(
        "from {} to {}; the mean is a rank's: of what is added up by the second, of times as a \
         share",
        duration(from_ns),
        duration(to_ns)
    )
}

/// Instructions for each cycle, where both are known of the same ranks.
fn cycles(values: &[Values]) -> Option<String> {
    let of = |name: &str| values.iter().find(|of| of.name == name);
    let (instructions, cycles) = (of("instructions")?.total, of("cycles")?.total);
    (cycles.sum > 0 && cycles.ranks == instructions.ranks).then(|| {
        let ratio = instructions.sum as f64 / cycles.sum as f64;
        format!("{ratio:.2} instructions a cycle")
    })
}

/// All metrics, whether each is measured now, and what it tells.
pub fn list(reply: &MetricsReply) -> String {
    let mut table = Table::new([
        ("metric", Side::Left),
        ("unit", Side::Left),
        ("measured", Side::Left),
        ("tells", Side::Left),
    ]);
    for metric in &reply.metrics {
        table.row([
            metric.name.clone(),
            metric.unit.clone(),
            measured(metric, reply.ranks),
            metric.tells.clone(),
        ]);
    }
    let mut text = format!(
        "{}\nusual: {}\nprogram: what the program keeps itself, counter:NAME and value:NAME\n",
        table.text(),
        MetricSet::USUAL
    );
    for line in about(reply) {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

fn measured(metric: &MetricStatus, ranks: u32) -> String {
    let cannot = metric.without.iter().filter(|without| is_lasting(without));
    let cannot: u32 = cannot.map(|without| without.ranks).sum();
    match metric.ranks_now {
        0 if ranks > 0 && cannot >= ranks => "cannot be".to_owned(),
        0 => "no".to_owned(),
        now if now == ranks => "yes".to_owned(),
        now => format!("of {now} of {}", counted(ranks.into(), "rank")),
    }
}

/// Whether it stays so until somebody changes the machine.
fn is_lasting(without: &MetricWithout) -> bool {
    ["unsupported", "forbidden", "unreadable", "no room"].contains(&without.reason.as_str())
}

/// How often is measured and what it cost, and what is not measured, a sentence each without an
/// end.
pub fn about(reply: &MetricsReply) -> Vec<String> {
    let mut sentences = vec![match reply.ranks_measured {
        0 => "nothing is measured now".to_owned(),
        ranks => format!(
            "{} of {} measured {}",
            ranks,
            counted(reply.ranks.into(), "rank"),
            every(reply)
        ),
    }];
    if reply.readings > 0 {
        sentences[0].push_str(&format!(
            "; {} so far took {} of a processor each",
            counted(reply.readings, "reading"),
            duration_f64(reply.cost_ns as f64 / reply.readings as f64)
        ));
    }
    let kept = reply.metrics.iter().filter(|metric| metric.ranks_kept > 0);
    let ended = kept.filter(|metric| metric.ranks_now == 0);
    let ended: Vec<&str> = ended.map(|metric| metric.name.as_str()).collect();
    if !ended.is_empty() && reply.ranks_measured > 0 {
        sentences.push(format!("no longer measured: {}", ended.join(", ")));
    }
    if reply.threads_unseen > 0 {
        sentences.push(format!(
            "{} are not seen in metrics of threads: there is no room for so many (ulimit -Hn)",
            counted(reply.threads_unseen, "thread")
        ));
    }
    sentences.extend(reasons(reply));
    if reply.more {
        sentences.push(format!(
            "counters or values of the program are left out: a rank has room for \
             {PROGRAM_METRICS_MAX}, an answer for {METRICS_MAX} metrics"
        ));
    }
    sentences
}

fn every(reply: &MetricsReply) -> String {
    let (least, most) = (reply.interval_min_ns, reply.interval_max_ns);
    match least == most {
        true => format!("every {}", duration(least)),
        false => format!("every {} to {}", duration(least), duration(most)),
    }
}

/// Which metrics cannot be measured and why, those with the same reason together.
fn reasons(reply: &MetricsReply) -> Vec<String> {
    let mut of: Vec<(&MetricWithout, Vec<&str>)> = Vec::new();
    for metric in &reply.metrics {
        for without in &metric.without {
            match of.iter_mut().find(|(other, _)| *other == without) {
                Some((_, names)) => names.push(&metric.name),
                None => of.push((without, vec![&metric.name])),
            }
        }
    }
    let sentence = |(without, names): &(&MetricWithout, Vec<&str>)| {
        let ranks = match (without.ranks, without.ranks == reply.ranks) {
            (_, true) => String::new(),
            (1, _) => format!(" of rank {}", without.which),
            _ => format!(" of ranks {}", without.which),
        };
        let why = why(without);
        match names.len() {
            SYSTEM_METRICS.. => format!("nothing can be measured{ranks}: {why}"),
            _ => format!("cannot be measured{ranks}: {} ({why})", names.join(", ")),
        }
    };
    of.iter().map(sentence).collect()
}

/// Why, and what helps.
fn why(without: &MetricWithout) -> String {
    match (without.reason.as_str(), without.paranoid) {
        ("unsupported", _) => {
            "this machine does not count it; many virtual machines do not".to_owned()
        }
        ("forbidden", level @ 3..) => format!(
            "the kernel forbids it, as kernel.perf_event_paranoid is {level}; where it may be \
             changed: sysctl kernel.perf_event_paranoid=2"
        ),
        ("forbidden", _) => "a container forbids perf_event_open, or the system does; in Docker \
                             --cap-add=PERFMON allows it"
            .to_owned(),
        ("unreadable", _) => "what /proc has of the process cannot be read".to_owned(),
        ("no room", _) => {
            "there are no descriptors or memory left for it; see ulimit -n".to_owned()
        }
        ("starting", _) => "not in MPI_Init yet".to_owned(),
        ("ended", _) => "it has ended".to_owned(),
        ("silent", _) => "its supervisor did not answer in time; ask again".to_owned(),
        (other, _) => other.to_owned(),
    }
}

#[cfg(test)]
mod tests;
