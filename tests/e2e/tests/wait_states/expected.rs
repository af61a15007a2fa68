//! Wait states as their definitions say, from what the program has written down of its own calls.

use invivo_e2e::logs::call_log::{Call, CallLog};
use invivo_e2e::paths::sources;
use std::collections::BTreeMap;

/// What the program's log has as bytes of a call that completes collectives.
const COLLECTIVES: u64 = 1;

/// What ranks waited, and made others wait, in ns.
#[derive(Default)]
pub struct Expected {
    /// By wait state and function.
    pub kinds: BTreeMap<(&'static str, &'static str), u64>,
    pub waited: BTreeMap<usize, u64>,
    pub caused: BTreeMap<usize, u64>,
    /// By function and, of the lines that call it, by which; then by who is waited for.
    pub sites: BTreeMap<(&'static str, usize), BTreeMap<usize, u64>>,
    waits: u64,
}

/// The lines of the program that call a function, in the order of the calls.
pub fn lines(function: &str) -> Vec<String> {
    let path = sources().join("wait_states/wait_states.c");
    let text = std::fs::read_to_string(path).expect("a source");
    let call = format!("LOGGED({function},");
    let lines = text.lines().enumerate();
    let lines = lines.filter(|(_, line)| line.contains(&call));
    lines
        .map(|(at, _)| format!("wait_states.c:{}", at + 1))
        .collect()
}

impl Expected {
    /// In the `nth` call of the function.
    fn wait(
        &mut self,
        kind: (&'static str, &'static str),
        nth: usize,
        (who, causer): (usize, usize),
        ns: u64,
    ) {
        *self.kinds.entry(kind).or_default() += ns;
        let line = match kind {
            (_, "MPI_Barrier") => nth % 3,
            ("Late Sender", "MPI_Waitall") => 1,
            _ => 0,
        };
        let site = self.sites.entry((kind.1, line)).or_default();
        *site.entry(causer).or_default() += ns;
        *self.waited.entry(who).or_default() += ns;
        *self.caused.entry(causer).or_default() += ns;
        self.waits += 1;
    }
}

/// From the enter of a call to that of another one, and not beyond its own leave.
fn until(call: &Call, other: &Call) -> u64 {
    other
        .begin_ns
        .min(call.end_ns)
        .saturating_sub(call.begin_ns)
}

/// The calls of a function of each rank, by its number among them.
fn calls<'a>(logs: &'a [CallLog], function: &str) -> Vec<Vec<&'a Call>> {
    let of = |log: &'a CallLog| log.calls.iter().filter(|call| call.function == function);
    logs.iter().map(|log| of(log).collect()).collect()
}

/// What the definitions say of the program's own times.
pub fn expected(logs: &[CallLog]) -> Expected {
    let mut sum = Expected::default();
    let world: Vec<usize> = (0..logs.len()).collect();
    let halves = |odd| (0..logs.len()).rev().filter(move |rank| rank % 2 == odd);
    let halves: Vec<Vec<usize>> = (0..2).map(|odd| halves(odd).collect()).collect();
    let last = |members: &[usize], of: &[&Call]| {
        let enter = |rank: &&usize| of[**rank].begin_ns;
        *members.iter().max_by_key(enter).expect("members")
    };
    for (function, state, groups) in [
        ("MPI_Barrier", "Wait at Barrier", vec![world.clone()]),
        ("MPI_Allreduce", "Wait at N x N", vec![world.clone()]),
        ("MPI_Allgather", "Wait at N x N", halves.clone()),
    ] {
        let of = calls(logs, function);
        for number in 0..of[0].len() {
            let nth: Vec<&Call> = of.iter().map(|calls| calls[number]).collect();
            for members in &groups {
                let last = last(members, &nth);
                for &rank in members {
                    let ns = until(nth[rank], nth[last]);
                    sum.wait((state, function), number, (rank, last), ns);
                }
            }
        }
    }
    for (function, root_of, groups) in [
        ("MPI_Bcast", 1, vec![world.clone()]),
        ("MPI_Scatter", 0, halves.clone()),
    ] {
        let of = calls(logs, function);
        for (nth, _) in of[0].iter().enumerate() {
            for members in &groups {
                let root = members[root_of];
                for &rank in members.iter().filter(|&&rank| rank != root) {
                    let ns = until(of[rank][nth], of[root][nth]);
                    sum.wait(("Late Broadcast", function), nth, (rank, root), ns);
                }
            }
        }
    }
    for (function, root_of, groups) in [
        ("MPI_Reduce", 3, vec![world.clone()]),
        ("MPI_Gather", 0, halves.clone()),
    ] {
        let of = calls(logs, function);
        for (nth, _) in of[0].iter().enumerate() {
            for members in &groups {
                let root = members[root_of];
                let others = members.iter().filter(|&&rank| rank != root);
                let last = others.max_by_key(|&&rank| of[rank][nth].begin_ns);
                let last = *last.expect("others");
                let ns = until(of[root][nth], of[last][nth]);
                sum.wait(("Early Reduce", function), nth, (root, last), ns);
            }
        }
    }
    scans(logs, "MPI_Scan", std::slice::from_ref(&world), &mut sum);
    scans(logs, "MPI_Exscan", &halves, &mut sum);
    non_blocking(logs, &world, &mut sum);
    let (sends, waits) = (calls(logs, "MPI_Send"), calls(logs, "MPI_Waitall"));
    let waits = waits[0].iter().filter(|wait| wait.bytes != COLLECTIVES);
    for (nth, wait) in waits.enumerate() {
        let later = [1, 2]
            .into_iter()
            .max_by_key(|&rank| sends[rank][nth].begin_ns);
        let later = later.expect("two");
        let ns = until(wait, sends[later][nth]);
        sum.wait(("Late Sender", "MPI_Waitall"), nth, (0, later), ns);
    }
    sum
}

/// A member of a scan waits for the last one of lower rank.
fn scans(logs: &[CallLog], function: &'static str, groups: &[Vec<usize>], sum: &mut Expected) {
    let of = calls(logs, function);
    for (nth, _) in of[0].iter().enumerate() {
        for members in groups {
            for (at, &rank) in members.iter().enumerate() {
                let before = members[..=at].iter();
                let last = before.max_by_key(|&&rank| of[rank][nth].begin_ns);
                let last = *last.expect("itself");
                let ns = until(of[rank][nth], of[last][nth]);
                sum.wait(("Early Scan", function), nth, (rank, last), ns);
            }
        }
    }
}

/// Who posts a collective last is waited for where it is completed; of two that one call completes,
/// the one that is posted later by somebody.
fn non_blocking(logs: &[CallLog], world: &[usize], sum: &mut Expected) {
    let [sums, broadcasts, barriers] =
        ["MPI_Iallreduce", "MPI_Ibcast", "MPI_Ibarrier"].map(|function| calls(logs, function));
    let (waits, both) = (calls(logs, "MPI_Wait"), calls(logs, "MPI_Waitall"));
    let both = both.into_iter().map(|calls| {
        let both = calls.into_iter().filter(|call| call.bytes == COLLECTIVES);
        both.collect()
    });
    let both: Vec<Vec<&Call>> = both.collect();
    let last = |of: &[Vec<&Call>], nth: usize| {
        let posts = world.iter().max_by_key(|&&rank| of[rank][nth].begin_ns);
        *posts.expect("ranks")
    };
    for (nth, _) in sums[0].iter().enumerate() {
        let late = last(&sums, nth);
        for &rank in world {
            let ns = until(waits[rank][nth], sums[late][nth]);
            sum.wait(("Wait at N x N", "MPI_Wait"), nth, (rank, late), ns);
        }
        // Rank 2 is the root.
        let late = last(&barriers, nth);
        for &rank in world {
            let ns = until(both[rank][nth], barriers[late][nth]);
            let of_root = until(both[rank][nth], broadcasts[2][nth]);
            assert!(of_root <= ns, "the barrier is posted behind the broadcast");
            sum.wait(("Wait at Barrier", "MPI_Waitall"), nth, (rank, late), ns);
        }
    }
}
