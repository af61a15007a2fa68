//! Has the ranks sampled by their supervisors, and acknowledges when all of them are.
//!
//! Samples go into the buffers of the ranks' locations. Where a buffer gives up every second one of
//! them to make room, its rank is sampled half as often from then on. A frequency that is a half, a
//! quarter and so on of the one before is ordered as halvings of that: what is kept stays evenly
//! spaced.

use super::buffer_keeping;
use super::local_rank::Life;
use super::local_ranks::LocalRanks;
use super::supervisor_orders::{NOBODY, SupervisorOrders};
use crate::notes::Trouble;
use crate::time_point::Now;
use invivo_proto::control::contexts::Taken;
use invivo_proto::control::local::ToSupervisor;
use invivo_proto::control::profile::NoSamples;
use invivo_proto::control::sampling::Sampling as How;
use invivo_proto::control::tree::Up;
use invivo_proto::ids::{CommandId, Rank};

/// What of sampling is in force, and commands under way.
#[derive(Default)]
pub struct Sampling {
    /// What is ordered.
    pace: Pace,
    pub orders: SupervisorOrders,
}

/// The lowest frequency in Hz that stands for a part of the base though it is rounded.
const ROUNDED_MIN: u32 = 20;

/// How long the last samples of a rank are waited for.
const LAST_SAMPLES_NS: u64 = 500_000_000;

/// How often ranks are sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Pace {
    is_on: bool,
    /// How, before samples are halved; off before the first order.
    base: How,
    /// How often that is halved.
    halvings: u32,
}

impl Pace {
    /// So from now on.
    fn ordered(self, how: How) -> Pace {
        let base = self.base.frequency;
        // Rounded where that is nearly the same: 251, 125, 62.
        let is_halved = |halvings: &u32| {
            let part = base >> halvings;
            let is_exact = part << halvings == base;
            how.by == self.base.by && part == how.frequency && (is_exact || part >= ROUNDED_MIN)
        };
        match (0..u32::BITS).find(is_halved) {
            _ if !how.is_on() => Pace {
                is_on: false,
                ..self
            },
            Some(halvings) => Pace {
                is_on: true,
                halvings,
                ..self
            },
            None => Pace {
                is_on: true,
                base: how,
                halvings: 0,
            },
        }
    }

    /// The order for a rank whose buffers want so many halvings.
    fn order(self, sampling: u32, wanted: u32) -> ToSupervisor {
        ToSupervisor::Sample {
            sampling,
            how: How {
                frequency: if self.is_on { self.base.frequency } else { 0 },
                ..self.base
            },
            halvings: self.halvings(wanted),
        }
    }

    fn halvings(self, wanted: u32) -> u32 {
        self.halvings.max(wanted)
    }

    /// What a unit of the samples' ordinals stands for, in ns; nothing while there are none.
    fn unit_ns(self) -> Option<u64> {
        let base = u64::from(self.base.frequency);
        (self.is_on && base > 0).then(|| (1_000_000_000 + base / 2) / base)
    }
}

impl Sampling {
    /// How ranks are sampled from the start of the job.
    pub fn begin(&mut self, now: Now, how: How, local: &mut LocalRanks) {
        if !how.is_on() {
            return;
        }
        self.set(now, how, local);
        for rank in local.numbers() {
            self.attached(now, rank, local);
        }
    }

    fn set(&mut self, now: Now, how: How, local: &mut LocalRanks) {
        for one in &mut local.ranks {
            one.sampling_ordered = now.ticks;
            // Those that are through are told again that this is not for them.
            one.is_sampled_out = false;
        }
        let before = self.pace;
        self.pace = before.ordered(how);
        // The numbers of samples count other intervals from now on: what is kept of them begins
        // anew.
        if self.pace.base != before.base {
            buffer_keeping::begin_samples(local);
            // What comes before its supervisor's answer is of the frequency of before.
            for one in &mut local.ranks {
                one.samples_are_old = before.base.is_on() && one.life != Life::Absent;
            }
        } else {
            buffer_keeping::share(self.pace.is_on, local);
        }
    }

    /// A supervisor has come: its rank is sampled as the others are.
    pub fn attached(&self, now: Now, rank: Rank, local: &mut LocalRanks) {
        if self.pace.is_on {
            if let Some(index) = local.index(rank) {
                local.ranks[index].sampling_ordered = now.ticks;
            }
            local.tell(rank, &self.pace.order(NOBODY, wanted(rank, local)));
        }
    }

    /// Samples of a thread of a rank have come; where its buffer has no room for so many, it is
    /// sampled less often.
    pub fn came(&self, now: Now, rank: Rank, of: &Came, local: &mut LocalRanks) {
        let Some(index) = local.index(rank) else {
            return;
        };
        let one = &mut local.ranks[index];
        if one.samples_are_old {
            one.records.leave_out(of.taken.len());
            return;
        }
        let (left_out, feed) = (of.left_out, &mut local.feed);
        let whose = (of.tid, of.halvings);
        one.records
            .sampled(now.ticks, whose, left_out, &of.taken, feed);
        let wanted = wanted(rank, local);
        let told = std::mem::replace(&mut local.ranks[index].halvings_told, wanted);
        if self.pace.is_on && self.pace.halvings(wanted) != self.pace.halvings(told) {
            local.tell(rank, &self.pace.order(NOBODY, wanted));
        }
    }

    /// A command came. The answer, where no supervisor has to be waited for.
    pub fn command(
        &mut self,
        now: Now,
        command: CommandId,
        how: How,
        local: &mut LocalRanks,
    ) -> Vec<Up> {
        self.set(now, how, local);
        // Ranks whose buffers want less are told right behind this, with their next samples.
        for one in &mut local.ranks {
            one.halvings_told = 0;
        }
        let pace = self.pace;
        self.orders
            .give(now, command, |sampling| pace.order(sampling, 0), local)
    }

    /// A supervisor samples its rank as ordered, or says why not.
    pub fn answered(
        &mut self,
        now: Now,
        rank: Rank,
        sampling: u32,
        outcome: Result<(), NoSamples>,
        local: &mut LocalRanks,
    ) -> Vec<Up> {
        if let Some(index) = local.index(rank) {
            let one = &mut local.ranks[index];
            (one.samples_are_old, one.samples_until_ns) = (false, 0);
            let unit_ns = self.pace.unit_ns().filter(|_| !one.is_sampled_out);
            match (unit_ns, outcome) {
                // Its first samples were taken before it said that there are some.
                (Some(unit_ns), Ok(())) => one.records.paced(one.sampling_ordered, unit_ns),
                // It is busy, and does later what it was told.
                (_, Err(NoSamples::Silent)) => {}
                _ => one.records.paced(now.ticks, 0),
            }
        }
        // There is nothing left to sample of one that has ended, which is no failure.
        let outcome = match outcome {
            Err(why) if why != NoSamples::Ended => Err(reason(why)),
            _ => Ok(()),
        };
        if sampling == NOBODY
            && let Err(why) = &outcome
        {
            local.feed.notes.add(Trouble::Sampling, || {
                format!("rank {rank} is not sampled: {why}")
            });
        }
        self.orders.answered(now, rank, sampling, outcome)
    }

    /// Ranks that are through are not sampled any longer: what their samplers still have comes now.
    pub fn end_of_ranks(&self, now: Now, local: &mut LocalRanks) {
        if !self.pace.is_on {
            return;
        }
        for index in 0..local.ranks.len() {
            let one = &mut local.ranks[index];
            if matches!(one.life, Life::Ending | Life::Finished) && !one.is_sampled_out {
                one.is_sampled_out = true;
                one.samples_until_ns = now.ns.saturating_add(LAST_SAMPLES_NS);
                let over = Pace {
                    is_on: false,
                    ..self.pace
                };
                let rank = local.rank(index);
                if !local.tell(rank, &over.order(NOBODY, 0)) {
                    local.ranks[index].samples_until_ns = 0;
                }
            }
        }
    }

    /// The measurement is over: ranks are not sampled any longer.
    pub fn end(&mut self, local: &mut LocalRanks) {
        if std::mem::take(&mut self.pace.is_on) {
            for rank in local.numbers() {
                local.tell(rank, &self.pace.order(NOBODY, 0));
            }
        }
    }
}

/// Samples of one thread, see [`invivo_proto::control::local::FromSupervisor::Samples`].
pub struct Came {
    pub tid: u32,
    pub halvings: u32,
    pub left_out: u64,
    pub taken: Vec<Taken>,
}

/// How often the buffers of a rank want its samples halved.
fn wanted(rank: Rank, local: &LocalRanks) -> u32 {
    let index = local.index(rank);
    index.map_or(0, |index| local.ranks[index].records.halvings_wanted())
}

/// Why a rank is not sampled, and what would help.
fn reason(why: NoSamples) -> String {
    match why {
        NoSamples::Off => "sampling is off".to_owned(),
        NoSamples::Starting => "it has not called MPI_Init".to_owned(),
        NoSamples::Ended => "it has ended".to_owned(),
        NoSamples::Silent => "its supervisor did not answer".to_owned(),
        NoSamples::Forbidden { paranoid } => format!(
            "the kernel does not allow it (kernel.perf_event_paranoid is {paranoid}; with 2 or \
             less a user's own programs can be sampled); timers in the ranks need no permission: \
             invivo sampling timer"
        ),
        NoSamples::Unsupported => {
            "the kernel has no perf events; without them: invivo sampling timer".to_owned()
        }
        NoSamples::NoRoom => {
            "there is no memory or descriptor left for it (see ulimit -l and ulimit -n)".to_owned()
        }
        NoSamples::Broken => "its sampler has ended".to_owned(),
        NoSamples::NotThen => "it was not sampled then".to_owned(),
        NoSamples::NextCall => "its timers are set when a call of MPI returns".to_owned(),
        NoSamples::SignalInUse => {
            "the program handles or ignores the signal of the timer, SIGURG, itself".to_owned()
        }
        NoSamples::NoTimers => {
            "the system gives it no timers, or not so many (see ulimit -i)".to_owned()
        }
        NoSamples::Unreadable => {
            "its memory may not be read (see /proc/sys/kernel/yama/ptrace_scope)".to_owned()
        }
        NoSamples::TooOften { most } => {
            format!("a timer fires {most} times a second at most there, with the kernel's tick")
        }
    }
}
