//! How much of the time in MPI over an interval was waiting for a rank that came late, and for
//! which: wait states by Scalasca's definitions.

use super::seen::{Seen, Time};
use super::sites::Site;
use super::small::of_messages;
use crate::units::share;
use invivo_grpc::v1::{RankWaitRow, RankWaits, WaitStateRow, WaitStatesReply};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What waits without a cause ends with: the operation takes its time.
const COMPLETION: &str = "Completion";
/// Late senders while another message was there.
const OTHER_THERE: &str = "Late Sender, Other There";
/// A place is named if this part of the wait state is there, and that another message was there if
/// it was for this part of all waiting.
const MOSTLY: f64 = 0.5;
/// And if it is this part of the time in MPI.
const MUCH: f64 = 0.25;
/// One of two ranks that compute longer than the others.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Late {
    pub rank: u32,
    /// Its part of all waiting; where that is not known, of what the others were behind.
    pub share: f64,
    /// In which function most of that was waited.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub function: String,
    /// Where that is called, if it is one place.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub place: String,
}

/// Waiting over an interval.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Waiting {
    /// Of the time in MPI, what was waited for a rank that came late. Late senders are only known
    /// where messages are matched.
    pub share: f64,
    /// The wait state with the most of it, by Scalasca's name.
    pub wait_state: String,
    /// In which MPI function.
    pub function: String,
    /// Of the time in MPI.
    pub wait_state_share: f64,
    /// Where in the program most of that was waited, as `solve (solver.c:212)`; empty where call
    /// sites are not recorded.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub place: String,
    /// The part of it that was waited there.
    #[serde(default)]
    pub place_share: f64,
    /// The rank that the others waited for longest, where one is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub causer: Option<u32>,
    /// Of all that was waited.
    pub causer_share: f64,
    /// Of all that was waited, the part for late senders while another message was there, which was
    /// received later.
    #[serde(default)]
    pub other_there_share: f64,
    /// The two ranks that compute longer than the others, where it is two.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub late: Vec<Late>,
}

/// What was waited between two answers, of so much time in MPI of all ranks, in ns. Nothing where
/// nobody waited, or it was not looked for.
pub(super) fn waiting(
    before: &WaitStatesReply,
    after: &WaitStatesReply,
    in_mpi_ns: f64,
) -> Option<Waiting> {
    let key = |row: &WaitStateRow| (row.wait_state.clone(), row.function.clone());
    let then: BTreeMap<_, _> = (before.rows.iter())
        .map(|row| (key(row), row.time_ns))
        .collect();
    let since = |row: &WaitStateRow| {
        let then = then.get(&key(row)).copied().unwrap_or(0);
        row.time_ns.saturating_sub(then)
    };
    let rows = after.rows.iter().filter(|row| is_for_somebody(row));
    let rows: Vec<(&WaitStateRow, u64)> = rows.map(|row| (row, since(row))).collect();
    let there = after
        .rows
        .iter()
        .filter(|row| row.wait_state == OTHER_THERE);
    let there: u64 = there.map(since).sum();
    // It is told later than the whole, and may be of waits of before.
    let whole = rows
        .iter()
        .filter(|(row, _)| row.wait_state == "Late Sender");
    let is_known = there <= whole.map(|(_, time)| time).sum();
    let all: u64 = rows.iter().map(|(_, time)| time).sum();
    let (most, time) = rows.into_iter().max_by_key(|(_, time)| *time)?;
    if all == 0 || in_mpi_ns <= 0.0 {
        return None;
    }
    // A wait that ends in the interval may have begun before.
    let part = |time: u64| (time as f64 / in_mpi_ns).min(1.0);
    let caused = Caused::between(before, after);
    let causer = caused.most();
    Some(Waiting {
        share: part(all),
        wait_state: most.wait_state.clone(),
        function: most.function.clone(),
        wait_state_share: part(time),
        place: String::new(),
        place_share: 0.0,
        causer,
        causer_share: causer.map_or(0.0, |rank| caused.share(rank)),
        other_there_share: if is_known {
            there as f64 / all as f64
        } else {
            0.0
        },
        late: Vec::new(),
    })
}

/// Whether somebody is waited for; what is a part of another wait state is in that one.
fn is_for_somebody(row: &WaitStateRow) -> bool {
    !row.wait_state.ends_with(COMPLETION) && row.part_of.is_empty()
}

/// What ranks made others wait between two answers.
pub(super) struct Caused<'a> {
    before: BTreeMap<u32, &'a RankWaits>,
    /// Of a rank that the first answer had no room for it is not known what it caused since.
    after: Vec<&'a RankWaits>,
    /// All that was waited, for whomever, in ns.
    all_ns: u64,
}

impl<'a> Caused<'a> {
    pub fn between(before: &'a WaitStatesReply, after: &'a WaitStatesReply) -> Caused<'a> {
        let waited = |reply: &WaitStatesReply| {
            let waits = reply.rows.iter().filter(|row| is_for_somebody(row));
            waits.map(|row| row.time_ns).sum::<u64>()
        };
        let then: BTreeMap<u32, &RankWaits> = before.ranks.iter().map(|of| (of.rank, of)).collect();
        let had_all = before.ranks.len() >= before.ranks_total as usize;
        let known = after.ranks.iter();
        let known = known.filter(|of| had_all || then.contains_key(&of.rank));
        Caused {
            after: known.collect(),
            before: then,
            all_ns: waited(after).saturating_sub(waited(before)),
        }
    }

    fn caused_ns(&self, of: &RankWaits) -> u64 {
        let then = self.before.get(&of.rank).map_or(0, |then| then.caused_ns);
        of.caused_ns.saturating_sub(then)
    }

    /// The rank that made others wait longest.
    fn most(&self) -> Option<u32> {
        let caused = self.after.iter().map(|of| (of.rank, self.caused_ns(of)));
        // Of equals the lowest rank.
        let most = caused.max_by_key(|(rank, caused)| (*caused, std::cmp::Reverse(*rank)));
        most.filter(|(_, caused)| *caused > 0).map(|(rank, _)| rank)
    }

    fn of(&self, rank: u32) -> Option<&'a RankWaits> {
        self.after.iter().copied().find(|of| of.rank == rank)
    }

    /// A rank's part of all that was waited.
    pub fn share(&self, rank: u32) -> f64 {
        let caused = self.of(rank).map_or(0, |of| self.caused_ns(of));
        (caused as f64 / self.all_ns.max(1) as f64).min(1.0)
    }

    /// The function in which others waited for this rank longest.
    pub fn function(&self, rank: u32) -> Option<String> {
        let rows = |of: &'a RankWaits| of.rows.iter();
        let then = self.before.get(&rank).map(|of| rows(of));
        let then: Vec<_> = then.into_iter().flatten().collect();
        let since = rows(self.of(rank)?).map(|row| {
            let same = |old: &&&RankWaitRow| {
                (&old.wait_state, &old.function) == (&row.wait_state, &row.function)
            };
            let before = then.iter().find(same).map_or(0, |old| old.caused_ns);
            (row, row.caused_ns.saturating_sub(before))
        });
        let most = since.max_by_key(|(_, caused)| *caused);
        most.filter(|(_, caused)| *caused > 0)
            .map(|(row, _)| row.function.clone())
    }
}

/// "Wait at Barrier in MPI_Barrier at step (step.c:12) (91.2 % of the time in MPI), 97.3 % of it
/// for rank 3". The place is left out where it is that of `site`, which the sentence tells anyway.
pub(super) fn told(of: &Waiting, site: Option<&Site>) -> String {
    let is_told = site.is_some_and(|site| site.place == of.place);
    let place = match of.place_share >= MOSTLY && !is_told {
        true => format!(" at {}", of.place),
        false => String::new(),
    };
    let mut text = format!(
        "{} in {}{place} ({} of the time in MPI)",
        of.wait_state,
        of.function,
        share(of.wait_state_share, 1.0)
    );
    if let Some(rank) = of.causer {
        text.push_str(&format!(
            "; {} of all waiting is for rank {rank}",
            share(of.causer_share, 1.0)
        ));
    }
    text
}

/// "; for 83.2 % of all waiting another message was there ...", where that is much.
pub(super) fn other_there(of: &Waiting) -> String {
    let part = of.other_there_share;
    match part >= MOSTLY && part * of.share >= MUCH {
        true => format!(
            "; for {} of all waiting another message was there, which was received later (Late \
             Sender, Wrong Order)",
            share(part, 1.0)
        ),
        false => String::new(),
    }
}

/// What is not known of waits while messages are not matched, and how to know it.
pub(super) fn unmatched(seen: &Seen, site: Option<&Site>) -> &'static str {
    let messages = seen.waits_after.messages.as_ref();
    // What is switched on now tells nothing of the past.
    match seen.time == Time::Lately
        && messages.is_some_and(|of| of.on == 0)
        && site.is_some_and(|site| of_messages(&site.function))
    {
        true => {
            "; whether they wait for each other's messages is told after invivo analyses on \
                 messages"
        }
        false => "",
    }
}
