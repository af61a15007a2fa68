//! Writes a diagnosis as one sentence, of bounded length whatever the size of the job.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cmp::Reverse;
use invivo_proto::control::hang::{
    Called, CollectiveCall, Diagnosis, Doing, Finding, Hang, Link, MAKING, Operation, Partner,
    Side, Threads, Verdict,
};
use invivo_proto::ids::{CommId, Rank, RegionId};
use invivo_proto::mpi::{self, ANY_TAG, Needs};

/// Ranks that a sentence lists before it only counts.
const LISTED_MAX: usize = 6;
/// Links of a cycle that a sentence spells out.
const LINKS_SPELT_MAX: usize = 4;

/// The sentence. It begins in lower case and has no full stop, because it follows a prefix.
pub fn of(diagnosis: &Diagnosis, waits: &Hang) -> String {
    let first = diagnosis
        .findings
        .first()
        .map(|finding| of_finding(finding, waits));
    match (diagnosis.verdict, first) {
        (Verdict::Deadlock, Some(why)) => format!("deadlock: {why}"),
        (Verdict::Deadlock, None) => format!("deadlock of {} ranks", diagnosis.stuck),
        (Verdict::Waiting, Some(why)) => format!("no deadlock is known: {why}"),
        (Verdict::Moving, Some(why)) => why,
        _ => doing(waits),
    }
}

fn of_finding(finding: &Finding, waits: &Hang) -> String {
    match finding {
        Finding::Mismatch { calls } => {
            let place = calls.first().map_or(String::new(), |called| {
                format!(
                    " as {} of {}",
                    place(called.collective),
                    communicator(called.collective.comm)
                )
            });
            let calls: Vec<String> = calls.iter().map(called).collect();
            format!("{} do not fit together{place}", calls.join(" and "))
        }
        Finding::Cycle { links, length } => {
            let mut told: Vec<String> = links.iter().take(LINKS_SPELT_MAX).map(waiting).collect();
            if *length as usize > told.len() {
                told.push(format!("and so on around {length} ranks"));
            }
            told.join(", ")
        }
        Finding::Finished { link, ranks } => {
            let whom = link
                .waits_for
                .map_or("those that it waits for".to_string(), |rank| {
                    format!("rank {rank}")
                });
            format!(
                "{}{}, and {whom} has finished",
                waiting(link),
                likewise(*ranks)
            )
        }
        Finding::Missing {
            called: what,
            missing,
            absent,
        } => {
            let of = if what.collective.comm == CommId::WORLD {
                format!("{} of {} ranks", what.ranks, waits.ranks)
            } else {
                count(u64::from(what.ranks), "rank")
            };
            let verb = if what.ranks == 1 { "waits" } else { "wait" };
            let named: Vec<Rank> = absent.iter().map(|link| link.rank).collect();
            let does = match absent.first() {
                Some(first) if absent.iter().all(|link| link.doing == first.doing) => {
                    format!(", which {}", does(first.doing, *missing != 1))
                }
                _ => String::new(),
            };
            format!(
                "{of} {verb} in {}{} for {}{does}",
                call(what.collective.region.0, what.collective.root),
                at(what.site.as_deref()),
                ranks(&named, *missing as usize),
            )
        }
        Finding::Unmatched { link, ranks } => {
            let whom = link
                .waits_for
                .map_or("that".to_string(), |rank| format!("rank {rank}"));
            format!("{}{}, and {whom} computes", waiting(link), likewise(*ranks))
        }
    }
}

fn likewise(ranks: u32) -> String {
    match ranks {
        0 | 1 => String::new(),
        more => format!(" ({} more likewise)", more - 1),
    }
}

/// "rank 0 waits in MPI_Recv (a.c:7) for a message of rank 1 with tag 3".
fn waiting(link: &Link) -> String {
    let (region, root) = match link.doing {
        Doing::Collective(collective) => (collective.region.0, collective.root),
        Doing::Messages(region) | Doing::InMpi(region) => (region.0, mpi::peer::NONE),
        _ => (0, mpi::peer::NONE),
    };

    let what = match (&link.operation, link.waits_for) {
        (Some(operation), to) => message(operation, to),
        (None, Some(rank)) => format!(" for rank {rank}"),
        (None, None) => String::new(),
    };

    format!(
        "rank {} waits in {}{}{what}{}",
        link.rank,
        call(region, root),
        at(link.site.as_deref()),
        beside(link.threads)
    )
}

fn message(operation: &Operation, to: Option<Rank>) -> String {
    let tag = match operation.tag {
        ANY_TAG => "any tag".to_string(),
        tag => format!("tag {tag}"),
    };

    let whom = match (operation.peer, to) {
        (Partner::Any, Some(rank)) => format!("anybody, thus rank {rank}"),
        (Partner::Any, None) => "anybody".to_string(),
        (Partner::Rank(rank), _) | (_, Some(rank)) => format!("rank {rank}"),
        _ => "nobody".to_string(),
    };

    match operation.side {
        Side::Send => format!(" for {whom} to receive its message with {tag}"),
        Side::Recv | Side::Probe => format!(" for a message of {whom} with {tag}"),
        Side::Collective { region, .. } => format!(" for {}", mpi::name(region)),
        Side::Window { .. } => match (operation.peer, to) {
            (Partner::Rank(part), Some(holder)) if part != holder => {
                format!(" for the window of rank {part}, which rank {holder} has locked")
            }
            _ => format!(" for the window of {whom}"),
        },
        Side::Other => format!(" for {whom}"),
    }
}

/// ", while 2 other threads of it are in MPI".
fn beside(threads: Threads) -> String {
    let told = |number: u32, where_: &str| match number {
        0 => None,
        1 => Some(format!("1 other thread of it is {where_}")),
        more => Some(format!("{more} other threads of it are {where_}")),
    };
    let told = [
        told(threads.in_mpi, "in MPI"),
        told(threads.outside, "in its own code"),
    ];
    let told: Vec<String> = told.into_iter().flatten().collect();
    match told.is_empty() {
        true => String::new(),
        false => format!(" while {}", told.join(" and ")),
    }
}

/// "collective 3", "call 2 on window or file 1", "window or file 4".
fn place(collective: CollectiveCall) -> String {
    let number = collective.ordinal + 1;
    match collective.shared {
        0 => format!("collective {number}"),
        MAKING => format!("window or file {number}"),
        which => format!("call {number} on window or file {which}"),
    }
}

/// "MPI_Bcast from root 0 by rank 0 (a.c:7)".
fn called(called: &Called) -> String {
    format!(
        "{} of {}{}",
        call(called.collective.region.0, called.collective.root),
        ranks(&called.named, called.ranks as usize),
        at(called.site.as_deref())
    )
}

fn call(region: u16, root: i32) -> String {
    let name = mpi::name(invivo_proto::ids::RegionId(region));
    match root {
        root @ 0.. => format!("{name} with root {root}"),
        _ => name.to_string(),
    }
}

fn at(site: Option<&str>) -> String {
    site.map_or(String::new(), |site| format!(" ({site})"))
}

fn communicator(comm: CommId) -> String {
    if comm == CommId::WORLD {
        "MPI_COMM_WORLD".to_string()
    } else {
        format!("communicator {comm}")
    }
}

/// "rank 3", "ranks 1, 2, 5", "ranks 1, 2, 3, 4, 5, 6 and 90 more".
fn ranks(named: &[Rank], all: usize) -> String {
    let listed: Vec<String> = named.iter().take(LISTED_MAX).map(Rank::to_string).collect();
    let all = all.max(listed.len());
    match (listed.len(), all) {
        (0, all) => count(all as u64, "rank"),
        (1, 1) => format!("rank {}", listed[0]),
        (listed_count, all) if listed_count == all => format!("ranks {}", listed.join(", ")),
        (listed_count, all) => format!(
            "ranks {} and {} more",
            listed.join(", "),
            all - listed_count
        ),
    }
}

fn count(number: u64, noun: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{s}")
}

fn does(doing: Doing, many: bool) -> String {
    let pick = |one: &str, all: &str| if many { all } else { one }.to_string();
    match doing {
        Doing::Starting => pick("has not called MPI_Init", "have not called MPI_Init"),
        Doing::Computing => pick("computes", "compute"),
        Doing::Finished => pick("has finished", "have finished"),
        Doing::Held => pick("is held", "are held"),
        Doing::InMpi(region) if mpi::needs(region) == Needs::Partners => format!(
            "{} in {}, for whom is not known",
            pick("waits", "wait"),
            mpi::name(region)
        ),
        Doing::InMpi(RegionId(0)) => pick("is in MPI", "are in MPI"),
        Doing::InMpi(region) | Doing::Messages(region) => {
            format!("{} in {}", pick("is", "are"), mpi::name(region))
        }
        Doing::Collective(collective) => {
            format!("{} in {}", pick("is", "are"), mpi::name(collective.region))
        }
    }
}

/// Counts the ranks by what they do, where no finding is known.
fn doing(waits: &Hang) -> String {
    let mut by: Vec<(u32, String)> = Vec::new();
    for (doing, class) in &waits.classes {
        by.push((
            class.ranks,
            format!(
                "{} {}",
                count(u64::from(class.ranks), "rank"),
                does(*doing, class.ranks != 1)
            ),
        ));
    }

    by.sort_by_key(|one| Reverse(one.0));
    let told: Vec<String> = by
        .into_iter()
        .take(LISTED_MAX)
        .map(|(_, told)| told)
        .collect();
    if told.is_empty() {
        return "no rank is known".to_string();
    }

    format!("nobody is known to wait in vain: {}", told.join(", "))
}
