//! Which limit it is, and the sentence.

use super::growth::{self, Growth};
use super::idle::idle;
use super::measured::Whose;
use super::moments::{Stretch, moments, stretch};
use super::phases::{self, in_turn, late};
use super::seen::{GOOD, Limit, Seen, Time, WAITS};
use super::sites::{Site, most, receives};
use super::waits::{self, Late, Waiting};
use super::{OutsideMpi, computing, outside};
use crate::units::{duration, share};
use invivo_grpc::v1::Efficiency;

/// What is said.
pub(super) struct Judged {
    pub limit: Limit,
    pub sentence: String,
    /// The rank that computes longest, where that is the limit.
    pub rank: Option<u32>,
    /// Two such ranks.
    pub late: Vec<Late>,
    /// Of ranks that communicate.
    pub growth: Option<Growth>,
}

/// What is known, and the parts of sentences that are made of it.
struct Known<'a> {
    seen: &'a Seen,
    of: &'a Efficiency,
    site: Option<&'a Site>,
    waiting: Option<&'a Waiting>,
    /// "parallel efficiency 45.0 %, ..."
    numbers: String,
    /// "in the last 3.00 s"
    when: String,
    /// "; 75.0 % of the time in MPI is ..."
    at: String,
}

fn percent(part: f64) -> String {
    share(part, 1.0)
}

pub(super) fn judged(
    seen: &Seen,
    of: &Efficiency,
    site: Option<&Site>,
    waiting: Option<&Waiting>,
) -> Judged {
    let time = duration(seen.interval_ns);
    let known = Known {
        seen,
        of,
        site,
        waiting,
        numbers: format!(
            "parallel efficiency {}, load balance {}, communication efficiency {}",
            percent(of.parallel_efficiency),
            percent(of.load_balance),
            percent(of.communication_efficiency)
        ),
        when: match seen.time {
            Time::Whole => format!("over the run of {time}"),
            Time::Lately => format!("in the last {time}"),
            Time::Past { from_ns, to_ns } => {
                format!("from {} to {}", duration(from_ns), duration(to_ns))
            }
        },
        at: site.map_or_else(String::new, |site| {
            format!("; {}", most(site, seen.interval_ns))
        }),
    };
    let is_even = of.load_balance >= of.communication_efficiency;
    let told = known.good();
    let told = told.or_else(|| known.standstill());
    let told = told.or_else(|| known.one_computes_less());
    let told = told.or_else(|| known.two_compute_longer());
    let told = told.or_else(|| (!is_even).then(|| known.one_computes_longer()));
    let told = told.or_else(|| known.turns());
    let mut told = told.unwrap_or_else(|| known.communication());
    if told.limit.is_of_waiting() {
        let other_there = waiting.map_or_else(String::new, waits::other_there);
        told.sentence.push_str(&other_there);
    }
    told
}

/// Of no rank.
fn of_all(limit: Limit, sentence: String) -> Judged {
    Judged {
        limit,
        sentence,
        rank: None,
        late: Vec::new(),
        growth: None,
    }
}

impl Known<'_> {
    fn good(&self) -> Option<Judged> {
        let part = self.of.parallel_efficiency;
        if part < GOOD {
            return None;
        }
        // What ranks do between the calls is theirs alone.
        if let Some((limit, told)) = self
            .outside_of_all()
            .as_ref()
            .and_then(outside::told_of_all)
        {
            let sentence = format!(
                "The ranks compute for {} of the time {}, but {told} ({})",
                percent(part),
                self.when,
                self.numbers
            );
            return Some(of_all(limit, sentence));
        }
        let sentence = format!(
            "Nothing limits it: {} the ranks computed for {} of the time ({})",
            self.when,
            percent(part),
            self.numbers
        );
        Some(of_all(Limit::None, sentence))
    }

    /// What the ranks did outside MPI in the mean, where it is measured.
    fn outside_of_all(&self) -> Option<OutsideMpi> {
        outside::outside_mpi(&self.seen.measured, Whose::All)
    }

    /// "; for 48.1 % of the time in which their threads could run they had no processor", of ranks
    /// that wait in MPI.
    fn without_processor(&self) -> String {
        let of_all = self.outside_of_all();
        let told = of_all.and_then(|of| outside::told_delay(&of, "their"));
        told.map_or_else(String::new, |told| format!("; {told}"))
    }

    fn standstill(&self) -> Option<Judged> {
        let counts = self.seen.status.ranks.unwrap_or_default();
        let none_ended = self.site.is_none_or(|site| site.calls == 0);
        if let Time::Past { .. } = self.seen.time {
            let sentence = format!("No MPI call ended {}, and no rank computed", self.when);
            let stood = none_ended && self.of.parallel_efficiency < 1.0 - GOOD;
            return stood.then(|| of_all(Limit::Standstill, sentence));
        }
        let none_ended = none_ended && self.seen.time == Time::Lately;
        let sentence = format!(
            "No MPI call has ended {}, and no rank computes; see who waits for whom: invivo hang",
            self.when
        );
        let stands =
            none_ended && self.of.parallel_efficiency < 1.0 - GOOD && counts.computing == 0;
        stands.then(|| of_all(Limit::Standstill, sentence))
    }

    fn one_computes_less(&self) -> Option<Judged> {
        let idle = idle(&self.seen.grid, self.of)?;
        let rank = idle.rank;
        let (when, numbers) = (&self.when, &self.numbers);
        let (one, all_others) = (percent(idle.computed), percent(idle.others));
        let ranks = self.of.ranks - 1;
        if idle.is_beside() {
            let sentence = format!(
                "Nothing limits {ranks} of {} ranks: {when} they computed for {all_others} of the \
                 time, and rank {rank}, which does not share their work, for {one} ({numbers})",
                self.of.ranks
            );
            return Some(of_all(Limit::None, sentence));
        }
        let sentence = format!(
            "Rank {rank} computes for {one} of the time {when}, the other {ranks} ranks for \
             {all_others}, and it waits for them ({numbers}){}",
            self.at
        );
        Some(of_all(Limit::LoadBalance, sentence))
    }

    fn two_compute_longer(&self) -> Option<Judged> {
        let late = late(self.seen, self.of, self.waiting);
        let [first, second] = late.as_slice() else {
            return None;
        };
        let turns = match in_turn(self.seen, self.of) {
            true => ", one at a time,",
            false => "",
        };
        let sentence = format!(
            "Ranks {} and {} compute longer than the other {}{turns} {}, and the others wait, {} \
             ({}){}",
            first.rank.min(second.rank),
            first.rank.max(second.rank),
            self.of.ranks - 2,
            self.when,
            phases::told(&late),
            self.numbers,
            self.at
        );
        Some(Judged {
            rank: Some(self.of.max_rank),
            late,
            ..of_all(Limit::LoadBalance, sentence)
        })
    }

    /// "100.0 % longer than the mean of 4 ranks"
    fn longer(&self) -> String {
        let longer = percent(1.0 / self.of.load_balance - 1.0);
        format!("{longer} longer than the mean of {} ranks", self.of.ranks)
    }

    fn one_computes_longer(&self) -> Judged {
        let rank = self.of.max_rank;
        // Of a rank that waits itself nothing is said while another one is known to be late.
        let waits = (self.waiting).filter(|one| one.share >= WAITS && one.causer == Some(rank));
        let waits = waits.map_or_else(String::new, |of| {
            format!(", in {}", waits::told(of, self.site))
        });
        let computes = self.seen.samples.as_ref().and_then(computing::computing);
        let computes =
            computes.map_or_else(String::new, |of| format!(", {}", computing::told(&of)));
        let outside = outside::outside_mpi(&self.seen.measured, Whose::Rank(rank));
        let outside = outside.as_ref().and_then(outside::told);
        let outside = outside.map_or_else(String::new, |told| format!(", though {told}"));
        let within = stretch(&self.seen.grid, self.seen.end_ns());
        let within = within.map_or_else(String::new, |of| told_stretch(of, self.seen.time));
        let sentence = format!(
            "Rank {rank} computes {} {}{within}{computes}{outside}, and the others wait{waits} \
             ({}){}",
            self.longer(),
            self.when,
            self.numbers,
            self.at
        );
        Judged {
            rank: Some(rank),
            ..of_all(Limit::LoadBalance, sentence)
        }
    }

    /// Ranks that take turns: by the load in columns, or by who waits for whom.
    fn turns(&self) -> Option<Judged> {
        let at_once = self.of.parallel_efficiency * f64::from(self.of.ranks);
        let each = match self.of.load_balance >= GOOD {
            true => "though each computes as long as the next".to_owned(),
            false => format!("and rank {} computes {}", self.of.max_rank, self.longer()),
        };
        let (when, numbers, at) = (&self.when, &self.numbers, &self.at);
        let delayed = self.without_processor();
        if moments(&self.seen.grid).is_some_and(|of| of.few_compute()) {
            let sentence = format!(
                "Ranks compute in turn: {at_once:.1} of {} at a time {when}, and the others wait, \
                 {each} ({numbers}){at}{delayed}",
                self.of.ranks
            );
            return Some(of_all(Limit::Serialisation, sentence));
        }
        // Where mostly nobody computes, whoever comes late comes from another call.
        let waiting = self.waiting.filter(|of| of.share >= WAITS)?;
        let sentence = format!(
            "Ranks wait for each other in turn, for {} of their time in MPI {when}, {each}: {} \
             ({numbers}){at}{delayed}",
            percent(waiting.share),
            waits::told(waiting, self.site)
        );
        // Whoever they wait for computes as long as the others, so that it waits as well.
        (at_once >= WAITS).then(|| of_all(Limit::Serialisation, sentence))
    }

    fn communication(&self) -> Judged {
        let known = match self.waiting {
            Some(of) => format!("; {} of that is waiting for late ranks", percent(of.share)),
            None => String::new(),
        };
        let how = self.site.and_then(|site| {
            let receives = |of| format!(", and {}", receives(of, self.seen.interval_ns));
            let small = site.small.map(|of| format!(" in many small {}", of.name()));
            small.or_else(|| site.receiver.as_ref().map(receives))
        });
        // One of them is enough for a sentence.
        let growth = match how {
            Some(_) => None,
            None => growth::growth(&self.seen.moved, self.seen.end_ns()),
        };
        let how = how.or_else(|| Some(format!(", and {}", growth::told(growth.as_ref()?))));
        let sentence = format!(
            "The ranks communicate{}: they are in MPI for {} of their time {}, all alike{known}{} \
             ({}){}{}",
            how.unwrap_or_default(),
            percent(1.0 - self.of.parallel_efficiency),
            self.when,
            waits::unmatched(self.seen, self.site),
            self.numbers,
            self.at,
            self.without_processor()
        );
        Judged {
            growth,
            ..of_all(Limit::Communication, sentence)
        }
    }
}

/// ", mostly within 905 ms that ended 610 ms ago", or at a time that is past.
fn told_stretch(of: Stretch, time: Time) -> String {
    let length = duration(of.length_ns);
    match (of.ago_ns, time) {
        (0, _) => format!(", mostly in the last {length} of it"),
        (ago_ns, Time::Past { to_ns, .. }) => {
            let end = duration(to_ns.saturating_sub(ago_ns));
            format!(", mostly within {length} that ended at {end}")
        }
        (ago_ns, _) => {
            let ago = duration(ago_ns);
            format!(", mostly within {length} that ended {ago} ago")
        }
    }
}
