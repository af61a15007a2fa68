//! Prints a simulation as one line per event.

use crate::agenda::{SECOND, Time};
use invivo_proto::control::tree::{Down, Up};
use invivo_proto::ids::WorldRank;
use invivo_tbon::layout::{Layout, Role};

/// A process as a letter and its world rank: T a tool place, N a node, R the root.
pub fn name(layout: &Layout, world: WorldRank) -> String {
    let letter = match layout.role(world) {
        Some(Role::Application(_)) => 'A',
        Some(Role::Place { .. }) => 'T',
        Some(Role::Node { .. }) => 'N',
        Some(Role::Root) => 'R',
        None => '?',
    };
    format!("{letter}{world}")
}

/// A time in seconds.
pub fn time(now: Time) -> String {
    format!("{}.{:09}", now / SECOND, now % SECOND)
}

/// A message from above in a few words.
pub fn down(message: &Down) -> String {
    match message {
        Down::Job(_) => "Job".into(),
        Down::Analyses(on) => format!("Analyses {on}"),
        Down::Command(command) => format!("Command {} {:?}", command.id, command.verb),
        Down::Query { wave, query } => format!("Query wave {wave} {query:?}"),
        Down::Heartbeat => "Heartbeat".into(),
        Down::Time {
            job_ns, error_ns, ..
        } => format!("Time {job_ns} within {error_ns}"),
        Down::Groups(groups) => format!("Groups {}", groups.len()),
        Down::Release => "Release".into(),
        Down::Shutdown => "Shutdown".into(),
    }
}

/// A message from below in a few words.
pub fn up(message: &Up) -> String {
    match message {
        Up::Hello { ranks } => format!("Hello {ranks} ranks"),
        Up::Ack { command, acks } => {
            format!(
                "Ack {command} {}/{} missing {:?}",
                acks.done,
                acks.targets,
                names(&acks.missing)
            )
        }
        Up::Partial {
            wave,
            coverage,
            missing,
            ..
        } => format!(
            "Partial wave {wave} {}/{} missing {:?}",
            coverage.ranks_reporting,
            coverage.ranks,
            names(missing)
        ),
        Up::Groups(groups) => format!("Groups {}", groups.len()),
        Up::WantGroups(ids) => format!("WantGroups {}", ids.len()),
        Up::WhatTime { asked_ns, .. } => format!("WhatTime at {asked_ns}"),
        Up::RankFaulted(faulted) => format!("RankFaulted {}", faulted.rank),
        Up::RankEnded(ended) => format!("RankEnded {} {:?}", ended.rank, ended.how),
        Up::Drained => "Drained".into(),
    }
}

/// World ranks as plain numbers.
pub fn names(missing: &[WorldRank]) -> Vec<u32> {
    missing.iter().map(|world| world.0).collect()
}
