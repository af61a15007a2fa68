//! What a slice says beside its name: the arguments of calls.

use super::proto::{DebugAnnotation, Value};
use crate::observation::{Call, CallKind, Facts};

/// Parts of a call that are shown one by one; of more the number is.
const PARTS_SHOWN: usize = 16;

/// Names of arguments; their numbers are their places, from 1.
pub const ARGUMENTS: [&str; 16] = [
    "peer",
    "root",
    "tag",
    "bytes sent",
    "bytes received",
    "communicator",
    "peer in the communicator",
    "collective",
    "request",
    "clipped",
    "part",
    "parts",
    "why",
    "calls",
    "occupant",
    "path",
];

/// What a call communicated.
pub fn arguments(call: &Call) -> Vec<DebugAnnotation> {
    let mut all = of_facts(&call.facts);
    if matches!(
        call.facts.kind,
        CallKind::Collective | CallKind::PostCollective
    ) {
        // The same number on all ranks of a communicator: it joins the slices of one collective.
        all.push(count("collective", call.ordinal));
    }

    if matches!(
        call.facts.kind,
        CallKind::PostSend | CallKind::PostReceive | CallKind::PostCollective
    ) {
        // Completions name it, so a wait can be followed back to its post.
        all.push(count("request", call.request));
    }

    if call.is_clipped {
        all.push(argument("clipped", Value::Bool(true)));
    }
    all.extend(occupant(call.occupant));
    for part in call.parts.iter().take(PARTS_SHOWN) {
        all.push(text("part", described(&part.function, &part.facts)));
    }

    if call.parts.len() > PARTS_SHOWN {
        all.push(count("parts", call.parts.len() as u64));
    }
    all
}

/// Which of the track's threads it was; nothing of the first, which is the only one of most.
pub fn occupant(occupant: u32) -> Option<DebugAnnotation> {
    (occupant != 0).then(|| count("occupant", occupant.into()))
}

fn of_facts(facts: &Facts) -> Vec<DebugAnnotation> {
    let mut all = Vec::new();
    let is_collective = matches!(
        facts.kind,
        CallKind::Collective | CallKind::PostCollective | CallKind::CollectiveDone
    );
    // Tags mean something for point-to-point operations only.
    let has_tag = !is_collective && !matches!(facts.kind, CallKind::Plain | CallKind::Ended);
    let who = if is_collective { "root" } else { "peer" };
    match facts.rank {
        Some(rank) => all.push(count(who, rank.into())),
        // The rank of the job is unknown while the group has not been reported.
        None if facts.peer >= 0 && (has_tag || is_collective) => {
            all.push(argument(
                "peer in the communicator",
                Value::Int(facts.peer.into()),
            ));
        }
        None => {}
    }

    if has_tag {
        all.push(argument("tag", Value::Int(facts.tag.into())));
    }
    for (name, bytes) in [
        ("bytes sent", facts.bytes_out),
        ("bytes received", facts.bytes_in),
    ] {
        if bytes > 0 {
            all.push(count(name, bytes));
        }
    }

    if let Some(comm) = facts.comm {
        all.push(text("communicator", communicator(comm)));
    }
    all
}

/// A communicator as a rank numbers it.
fn communicator(comm: u32) -> String {
    match comm {
        0 => "MPI_COMM_WORLD".to_owned(),
        1 => "MPI_COMM_SELF".to_owned(),
        other => format!("communicator {other} of this rank"),
    }
}

/// A part of a call in a line.
fn described(function: &str, facts: &Facts) -> String {
    let who = match (facts.rank, facts.peer) {
        (Some(rank), _) => Some(format!("{rank}")),
        (None, peer) if peer >= 0 => Some(format!("{peer} of the communicator")),
        _ => None,
    };

    let (verb, bytes) = match facts.kind {
        CallKind::Send | CallKind::PostSend | CallKind::Sent => (" to ", facts.bytes_out),
        _ => (" from ", facts.bytes_in),
    };

    match (facts.kind, who) {
        (
            CallKind::Send
            | CallKind::PostSend
            | CallKind::Sent
            | CallKind::Receive
            | CallKind::PostReceive
            | CallKind::Received,
            Some(who),
        ) => format!("{function}{verb}{who}, tag {}, {bytes} B", facts.tag),
        _ => function.to_owned(),
    }
}

/// A count as an argument.
pub fn count(name: &str, value: u64) -> DebugAnnotation {
    argument(name, Value::Uint(value))
}

/// A text as an argument.
pub fn text(name: &str, value: String) -> DebugAnnotation {
    argument(name, Value::Text(value))
}

/// An argument, by one of the names.
pub fn argument(name: &str, value: Value) -> DebugAnnotation {
    let at = ARGUMENTS.iter().position(|known| *known == name);
    DebugAnnotation {
        name_iid: at.map(|at| at as u64 + 1),
        value: Some(value),
    }
}
