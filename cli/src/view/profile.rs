//! In which functions the ranks spend their time: as a table, or as a tree, and how far that is to
//! be believed.

use super::stacks::BEGINNINGS;
use crate::profile::{functions, name};
use invivo_grpc::v1::{ProfileNode, ProfileReply, ProfileWithout};
use invivo_report::table::{Side, Table};
use invivo_report::units::{counted, duration, share};
use serde_json::{Value, json};

/// A branch of the tree with a smaller part of all time is left out, and counted.
const SHOWN_SHARE_MIN: f64 = 0.005;
/// Trees that are deeper have narrow steps.
const DEEP: u32 = 24;

/// What is shown.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    /// Functions below their callers, instead of one line for each function.
    pub tree: bool,
    /// Functions at most; 0 for all.
    pub top: usize,
}

/// The whole answer.
pub fn text(profile: &ProfileReply, shown: Shown) -> String {
    let table = match shown.tree {
        true => tree(profile),
        false => table(profile, shown.top),
    };
    format!("{}\n\n{table}\n{}", head(profile), lines(&notes(profile)))
}

/// What is sampled, without where time goes.
pub fn about(profile: &ProfileReply) -> String {
    format!("{}\n{}", sentence(profile), lines(&notes(profile)))
}

/// What the samples are of, or why there are none, without an end.
pub fn sentence(profile: &ProfileReply) -> String {
    match (profile.sampled_ranks, &profile.interval) {
        (0, None) => format!("no rank is sampled: {}", why_none(profile)),
        (0, Some(_)) => format!("there are no samples: {}", why_none(profile)),
        _ => head(profile),
    }
}

/// The answer for programs: as it came, and with the time by function.
pub fn json(profile: &ProfileReply) -> Value {
    let mut value = serde_json::to_value(profile).unwrap_or_default();
    if let Value::Object(fields) = &mut value {
        fields.insert("functions".into(), json!(functions(&profile.nodes)));
    }
    value
}

/// Why there are no samples of any rank, and what to do.
pub fn why_none(profile: &ProfileReply) -> String {
    let why: Vec<String> = profile.without.iter().map(why).collect();
    match why.is_empty() {
        true => "no rank has answered; see: invivo status".to_owned(),
        false => why.join("; "),
    }
}

fn lines(texts: &[String]) -> String {
    texts.iter().map(|text| format!("{text}\n")).collect()
}

/// What the samples are of, in a line.
fn head(profile: &ProfileReply) -> String {
    let frequency = match (profile.frequency_min, profile.frequency_max) {
        (0, 0) if profile.interval.is_some() => "sampled, and never on a processor".to_owned(),
        (0, 0) => "sampled until it was switched off".to_owned(),
        (low, high) if low == high => format!("sampled at {low} Hz"),
        (low, high) => format!("sampled at {low} to {high} Hz"),
    };
    let ranks = u64::from(profile.sampled_ranks.max(1));
    let when = profile.interval.as_ref().map(|of| {
        let (from, to) = (of.from_ns as f64 / 1e9, of.to_ns as f64 / 1e9);
        format!(" from {from:.1} s to {to:.1} s")
    });
    let mut head = format!(
        "{}{} {frequency}: {} in {} a rank, which was on a processor {} of it",
        counted(profile.sampled_ranks.into(), "rank"),
        when.unwrap_or_default(),
        counted(profile.samples, "sample"),
        duration(profile.elapsed_ns / ranks),
        share(profile.cpu_ns as f64, profile.elapsed_ns as f64),
    );
    if profile.cpu_ns > profile.elapsed_ns {
        head.push_str(" (more than all: several threads)");
    }
    head
}

fn table(profile: &ProfileReply, top: usize) -> String {
    let whole = profile.cpu_ns as f64;
    let all = functions(&profile.nodes);
    let mut table = Table::new([
        ("own", Side::Right),
        ("share", Side::Right),
        ("all", Side::Right),
        ("share", Side::Right),
        ("function", Side::Left),
        ("where", Side::Left),
    ]);
    let shown = if top == 0 { all.len() } else { top };
    for of in all.iter().take(shown) {
        let source = of.lines.first().filter(|(text, _)| !text.starts_with('+'));
        table.row([
            duration(of.own_ns),
            share(of.own_ns as f64, whole),
            duration(of.ns),
            share(of.ns as f64, whole),
            of.function.clone(),
            source.map_or(&of.module, |(text, _)| text).clone(),
        ]);
    }
    let mut text = table.text();
    let rest: u64 = all.iter().skip(shown).map(|of| of.own_ns).sum();
    if all.len() > shown {
        text.push_str(&format!(
            "{} in {} (--top 0 lists all)\n",
            duration(rest),
            counted((all.len() - shown) as u64, "further function")
        ));
    }
    text
}

fn tree(profile: &ProfileReply) -> String {
    let whole = profile.cpu_ns as f64;
    let nodes: Vec<&ProfileNode> = shown_nodes(&profile.nodes, whole);
    let step = match nodes.iter().any(|node| node.depth > DEEP) {
        true => 1,
        false => 2,
    };
    let mut table = Table::new([
        ("all", Side::Right),
        ("share", Side::Right),
        ("own", Side::Right),
        ("most", Side::Left),
        ("function", Side::Left),
    ]);
    let outermost = nodes.iter().map(|node| node.depth).min().unwrap_or(0);
    for node in nodes {
        let blanks = step * (node.depth - outermost) as usize;
        let most = match node.most_ns {
            0 => String::new(),
            ns => format!("rank {} ({})", node.most_rank, duration(ns)),
        };
        table.row([
            duration(node.ns),
            share(node.ns as f64, whole),
            match node.own_ns {
                0 => String::new(),
                ns => duration(ns),
            },
            most,
            format!("{:blanks$}{}", "", described(node)),
        ]);
    }
    table.text()
}

/// Those with a part of the time that is worth a line, and none of what only begins a program.
fn shown_nodes(nodes: &[ProfileNode], whole: f64) -> Vec<&ProfileNode> {
    let is_beginning = |node: &ProfileNode| {
        let is_libc = ["libc.", "libc-"]
            .iter()
            .any(|name| node.module.starts_with(name));
        node.own_ns == 0
            && (node.function.is_empty() && is_libc || BEGINNINGS.contains(&node.function.as_str()))
    };
    let mut begins = true;
    let mut of = |node: &&ProfileNode| {
        // Only from the outside: a function of that name may be called again further in.
        begins = if node.depth == 0 {
            is_beginning(node)
        } else {
            begins && is_beginning(node)
        };
        !begins && node.ns as f64 >= SHOWN_SHARE_MIN * whole
    };
    nodes.iter().filter(|node| of(node)).collect()
}

fn described(node: &ProfileNode) -> String {
    let source: Vec<&str> = (node.lines.iter().map(|line| line.text.as_str()))
        .filter(|text| !text.starts_with('+'))
        .collect();
    match (source.is_empty(), node.kind.as_str()) {
        (false, _) => format!("{} ({})", name(node), source.join(", ")),
        (true, "function") if !node.function.is_empty() && node.module != "MPI" => {
            format!("{} in {}", name(node), node.module)
        }
        _ => name(node),
    }
}

/// How far it is to be believed, each in a sentence.
pub fn notes(profile: &ProfileReply) -> Vec<String> {
    let mut notes = Vec::new();
    if profile.sampled_ranks == 0 {
        // The sentence says already why.
        return notes;
    }
    if let Some(of) = profile.interval.as_ref().filter(|of| of.cut_ranks > 0) {
        notes.push(format!(
            "buffers had no room for all samples of {}: only from {:.1} s on are there all",
            counted(of.cut_ranks.into(), "rank"),
            of.gone_until_ns as f64 / 1e9
        ));
    }
    if let Some(of) = profile
        .interval
        .as_ref()
        .filter(|of| of.samples_not_kept > 0)
    {
        notes.push(format!(
            "{} since the start in no buffer, and in no line above: mostly of threads that never \
             call MPI",
            were(of.samples_not_kept)
        ));
    }
    // Nobody knows what of it was of an interval.
    if profile.elapsed_ns > 0 && profile.interval.is_none() {
        notes.push(format!(
            "following the samples took {} of a processor for each rank, beside it",
            share(profile.sampler_cpu_ns as f64, profile.elapsed_ns as f64)
        ));
    }
    if profile.samples_lost > 0 {
        let why = match profile.ranks_by_timer {
            0 => "the kernel had no room for them",
            _ => "timers were late, or what they had written was read late",
        };
        notes.push(format!(
            "{} lost, in no line above: {why} (a lower frequency helps)",
            were(profile.samples_lost)
        ));
    }
    if profile.samples_unnamed > 0 {
        notes.push(format!(
            "{} in functions whose names are still being read: ask again",
            were(profile.samples_unnamed)
        ));
    }
    if profile.left_out_ns > 0 {
        notes.push(format!(
            "{} in paths that are left out, because others have more time",
            duration(profile.left_out_ns)
        ));
    }
    if profile.ranks_without_kernel > 0 {
        notes.push(format!(
            "time in the kernel is not seen of {} (kernel.perf_event_paranoid is above 1)",
            counted(profile.ranks_without_kernel.into(), "rank")
        ));
    }
    if profile.ranks_by_timer > 0 {
        notes.push(format!(
            "{} sampled by timers: time in the kernel counts as the function's that called it",
            counted(profile.ranks_by_timer.into(), "rank")
        ));
    }
    if profile.ranks_untimed > 0 {
        notes.push(format!(
            "{} with threads that have no timer yet, or none any more: they are set when a call of \
             MPI returns, and deleted where the program handles SIGURG itself",
            counted(profile.ranks_untimed.into(), "rank")
        ));
    }
    notes.extend(profile.without.iter().map(why));
    notes
}

fn were(samples: u64) -> String {
    let verb = if samples == 1 { "was" } else { "were" };
    format!("{} {verb}", counted(samples, "sample"))
}

/// Of which ranks there are no samples, and why.
fn why(without: &ProfileWithout) -> String {
    let why = match without.reason.as_str() {
        "off" => "sampling is off; switch it on: invivo sampling on".to_owned(),
        "starting" => "not in MPI_Init yet".to_owned(),
        "ended" => "ended before it was sampled".to_owned(),
        "silent" => "its supervisor did not answer in time; ask again".to_owned(),
        "forbidden" => format!(
            "the kernel forbids it (kernel.perf_event_paranoid is {} and must be 2 or less); \
             timers need no permission: invivo sampling timer",
            without.paranoid
        ),
        "unsupported" => {
            "the kernel has no perf events; without them: invivo sampling timer".to_owned()
        }
        "next call" => "its timers are set when a call of MPI returns".to_owned(),
        "no timers" => "the system gives no timers, or not so many (see ulimit -i)".to_owned(),
        "unreadable" => {
            "its memory may not be read (see /proc/sys/kernel/yama/ptrace_scope)".to_owned()
        }
        "signal in use" => {
            "the program handles or ignores SIGURG, the signal of the timers, itself".to_owned()
        }
        "too often" => {
            "a timer does not fire so often there; less often: invivo sampling timer".to_owned()
        }
        "no room" => "no memory or descriptors for it (see ulimit -l and ulimit -n)".to_owned(),
        "broken" => "its sampler has ended; switch it on again: invivo sampling on".to_owned(),
        "not then" => "not sampled in this time, or its buffers keep no samples; see: invivo \
                       sampling, and: invivo buffers"
            .to_owned(),
        other => other.to_owned(),
    };
    let noun = if without.ranks == 1 { "rank" } else { "ranks" };
    format!("{noun} {}: {why}", without.which)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::tests::reply;
    use crate::profile::without_inside;

    fn shown(tree: bool) -> String {
        let mut reply = reply();
        without_inside(&mut reply.nodes);
        text(&reply, Shown { tree, top: 3 })
    }

    #[test]
    fn functions_stand_by_their_own_time() {
        let text = shown(false);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[..8],
            [
                "4 ranks sampled at 251 Hz: 2,510 samples in 3.00 s a rank, which was on a \
                 processor 83.3 % of it",
                "",
                "   own   share     all   share  function  where",
                "4.00 s  40.0 %  7.00 s  70.0 %  solve     app.c:40",
                "3.00 s  30.0 %  3.00 s  30.0 %  MPI_Recv  MPI",
                "3.00 s  30.0 %  3.00 s  30.0 %  hot       app.c:12",
                "0 s in 1 further function (--top 0 lists all)",
                "",
            ],
            "{text}"
        );
        assert!(
            text.contains("following the samples took 0.1 % of a processor"),
            "{text}"
        );
    }

    #[test]
    fn a_tree_has_callees_below_their_callers() {
        let text = shown(true);
        let lines: Vec<&str> = text.lines().skip(3).take(5).collect();
        assert_eq!(
            lines,
            [
                "10.0 s  100.0 %          rank 1 (10.0 s)  main (app.c:90)",
                "7.00 s   70.0 %  1.00 s  rank 1 (7.00 s)    solve (app.c:40)",
                "4.00 s   40.0 %  3.00 s  rank 1 (4.00 s)      solve (app.c:41)",
                "1.00 s   10.0 %  1.00 s  rank 1 (1.00 s)        hot (app.c:12)",
                "2.00 s   20.0 %  2.00 s  rank 1 (2.00 s)      hot (app.c:12)",
            ],
            "{text}"
        );
    }

    #[test]
    fn ranks_without_samples_have_a_reason_and_a_way_out() {
        let without = |reason: &str| ProfileWithout {
            reason: reason.into(),
            ranks: 2,
            which: "4-5".into(),
            paranoid: 3,
        };
        let mut reply = ProfileReply {
            ranks: 2,
            without: vec![without("off")],
            ..ProfileReply::default()
        };
        assert_eq!(
            about(&reply),
            "no rank is sampled: ranks 4-5: sampling is off; switch it on: invivo sampling on\n"
        );
        reply.without = vec![without("forbidden")];
        assert!(why_none(&reply).contains("kernel.perf_event_paranoid is 3"));
    }
}
