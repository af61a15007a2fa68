//! Commands: what a client can order, with limits and time-outs, and the form with fixed times in
//! which the root sends it to the tool places.
//!
//! An [`Order`] is the request of a client. The root turns it into a [`Verb`], in which the points
//! in time are fixed, so that all ranks act at the same time. Points in time are job time: the
//! clock of the root's node, in ns, as every tool place knows it within an error.

use super::analyses::AnalysisSet;
use super::metrics::{INTERVAL_NS_DEFAULT, INTERVAL_NS_MAX, INTERVAL_NS_MIN, Measured};
use super::overhead::OverheadCap;
use super::profile::{FREQUENCY_DEFAULT, FREQUENCY_MAX};
use super::sampling::{SampledBy, Sampling};
use super::selection::{InvalidRule, Selection};
use super::strategy::Strategy;
use bincode::{Decode, Encode};
use core::fmt;
use core::time::Duration;

/// The lease of a pause or hold that asks for none, in ns: long enough to look at something, short
/// enough that a forgotten pause does not waste a night's allocation.
pub const LEASE_DEFAULT_NS: u64 = 600 * 1_000_000_000;
/// The longest lease, in ns: a slip in the unit must not stop a job for weeks.
pub const LEASE_NS_MAX: u64 = 24 * 3600 * 1_000_000_000;
/// The shortest window, in ns: below, the error of the clocks would be most of it.
pub const WINDOW_NS_MIN: u64 = 1_000_000;
/// The longest window, in ns: for longer, recording is switched on and later off.
pub const WINDOW_NS_MAX: u64 = 24 * 3600 * 1_000_000_000;

/// A command as a client gives it.
///
/// The order of the variants and of their fields is part of the wire format.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Order {
    /// The application is stopped until a resume, for at most `lease_ns`.
    Pause { lease_ns: u64 },
    /// The application continues after a pause or a hold.
    Resume,
    /// Every rank is held right after its `MPI_Init` until a resume, for at most `lease_ns`.
    Hold { lease_ns: u64 },
    /// Everything recorded so far is discarded, at the earliest time that every place can know of.
    Reset,
    /// Recording is switched on or off, at the earliest time that every place can know of.
    Record { on: bool },
    /// Discards everything recorded so far, records for this time, and leaves recording off.
    Window { length_ns: u64 },
    /// The measurement ends; the job continues at the cost of recording off.
    Shutdown,
    /// The order in which buffers give up detail is changed.
    Strategy { strategy: Strategy },
    /// These analyses are switched on or off, at the earliest time that every place can know of.
    Analyses { these: AnalysisSet, on: bool },
    /// The ranks are sampled so from now on; off, what was seen stays.
    Sampling(Sampling),
    /// What is recorded of regions and functions is changed, at the earliest time that every place
    /// can know of.
    Select(Selection),
    /// These metrics are measured of each rank from now on, instead of those before.
    Metrics(Measured),
    /// The measurement takes no more of the ranks' time than this from now on, and gives up detail
    /// for it; none ends that, and what was given up comes back. It is the root's own affair.
    Overhead { cap: Option<OverheadCap> },
}

/// A command with fixed points in time, as the root sends it to the tool places.
///
/// The order of the variants and of their fields is part of the wire format.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Verb {
    /// As [`Order::Pause`].
    Pause { lease_ns: u64 },
    /// As [`Order::Resume`].
    Resume,
    /// As [`Order::Hold`]. Ranks that are past `MPI_Init` are failures; it is acknowledged when all
    /// others are held.
    Hold { lease_ns: u64 },
    /// Everything that ended before `at_ns` is discarded; a call that straddles it is clipped and
    /// marked. Definitions, open requests and the switch of recording stay.
    Reset { at_ns: u64 },
    /// Recording is switched at `at_ns`. Calls in progress then are clipped when it is switched on
    /// and complete when it is switched off.
    Record {
        on: bool,
        /// The epoch of recording from here on. The root counts and all others copy, so that all
        /// ranks have the same: within an epoch no record is missing between two others, so
        /// messages are matched only within one. What is recorded from the start is in epoch 0;
        /// each switch from off to on begins the next, a greater number. What is on already and
        /// stays on, and what is switched off, carries the number in force.
        epoch: u32,
        at_ns: u64,
    },
    /// Everything before `from_ns` is discarded, recording is on until `to_ns` and off after it.
    /// Calls that straddle an edge are clipped and marked. It is acknowledged when all records of
    /// the window have arrived.
    Window {
        from_ns: u64,
        to_ns: u64,
        /// The epoch of recording from its start on, as in [`Verb::Record`].
        epoch: u32,
    },
    /// As [`Order::Shutdown`].
    Shutdown,
    /// As [`Order::Strategy`]. Records that are in buffers already stay in their levels, which are
    /// given up first.
    Strategy { strategy: Strategy },
    /// These analyses are switched at `at_ns`: a call counts where it ends. Of one under way when
    /// they are switched on the part behind counts, and is marked as clipped.
    Analyses {
        these: AnalysisSet,
        on: bool,
        at_ns: u64,
    },
    /// As [`Order::Sampling`]. It is acknowledged when every rank is sampled, or is a failure.
    Sampling(Sampling),
    /// What is recorded is changed at `at_ns`, or as soon behind it as the names are known by which
    /// it is chosen.
    Select { selection: Selection, at_ns: u64 },
    /// As [`Order::Metrics`]. It is acknowledged when every rank is measured, or is a failure: then
    /// it is measured as before.
    Metrics(Measured),
}

/// An order with an argument outside its limits; the message says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvalidOrder {
    Lease { name: &'static str, lease_ns: u64 },
    Window { length_ns: u64 },
    Analyses,
    Sampling { frequency: u32 },
    Selection(InvalidRule),
    Interval { interval_ns: u64 },
}

impl Order {
    /// The command's name among the gateway's capabilities and in the audit log.
    pub fn name(&self) -> &'static str {
        match self {
            Order::Pause { .. } => "pause",
            Order::Resume => "resume",
            Order::Hold { .. } => "hold",
            Order::Reset => "reset",
            Order::Record { .. } => "record",
            Order::Window { .. } => "record-window",
            Order::Shutdown => "shutdown",
            Order::Strategy { .. } => "strategy",
            Order::Analyses { .. } => "analyses",
            Order::Sampling { .. } => "sampling",
            Order::Select(_) => "selection",
            Order::Metrics(_) => "metrics",
            Order::Overhead { .. } => "overhead",
        }
    }

    /// The order with defaults filled in.
    ///
    /// # Errors
    /// If an argument is outside its limits.
    pub fn checked(mut self) -> Result<Order, InvalidOrder> {
        let name = self.name();
        match &mut self {
            Order::Pause { lease_ns } | Order::Hold { lease_ns } => match *lease_ns {
                // Protobuf's default: the client left the lease to us.
                0 => *lease_ns = LEASE_DEFAULT_NS,
                1..=LEASE_NS_MAX => {}
                lease_ns => return Err(InvalidOrder::Lease { name, lease_ns }),
            },
            Order::Window { length_ns } => match *length_ns {
                WINDOW_NS_MIN..=WINDOW_NS_MAX => {}
                length_ns => return Err(InvalidOrder::Window { length_ns }),
            },
            Order::Analyses { these, .. } if these.is_empty() => {
                return Err(InvalidOrder::Analyses);
            }
            Order::Sampling(sampling) if sampling.frequency > FREQUENCY_MAX => {
                let frequency = sampling.frequency;
                return Err(InvalidOrder::Sampling { frequency });
            }
            Order::Metrics(measured) => match &mut measured.interval_ns {
                0 => measured.interval_ns = INTERVAL_NS_DEFAULT,
                INTERVAL_NS_MIN..=INTERVAL_NS_MAX => {}
                &mut interval_ns => return Err(InvalidOrder::Interval { interval_ns }),
            },
            Order::Resume
            | Order::Reset
            | Order::Record { .. }
            | Order::Shutdown
            | Order::Strategy { .. }
            | Order::Analyses { .. }
            | Order::Sampling { .. }
            | Order::Overhead { .. } => {}
            Order::Select(selection) => {
                let checked = core::mem::take(selection).checked();
                *selection = checked.map_err(InvalidOrder::Selection)?;
            }
        }

        Ok(self)
    }

    /// Its lease in ns; 0 for a command without one.
    pub fn lease_ns(&self) -> u64 {
        match *self {
            Order::Pause { lease_ns } | Order::Hold { lease_ns } => lease_ns,
            _ => 0,
        }
    }

    /// How much longer than other commands it may take to be acknowledged, in ns.
    pub fn extra_time_ns(&self) -> u64 {
        match *self {
            // Acknowledged after its end.
            Order::Window { length_ns } => length_ns,
            // Ranks may reach their MPI_Init as late as the lease allows.
            Order::Hold { lease_ns } => lease_ns,
            _ => 0,
        }
    }

    /// The command with its cut at `cut_ns`, and recording in `epoch` from there on; nothing where
    /// tool places have nothing to do for it.
    pub fn at(self, cut_ns: u64, epoch: u32) -> Option<Verb> {
        Some(match self {
            Order::Pause { lease_ns } => Verb::Pause { lease_ns },
            Order::Resume => Verb::Resume,
            Order::Hold { lease_ns } => Verb::Hold { lease_ns },
            Order::Reset => Verb::Reset { at_ns: cut_ns },
            Order::Record { on } => Verb::Record {
                on,
                epoch,
                at_ns: cut_ns,
            },
            Order::Window { length_ns } => Verb::Window {
                from_ns: cut_ns,
                // From the cut on: a window keeps its length however far ahead the root puts that.
                to_ns: cut_ns.saturating_add(length_ns),
                epoch,
            },
            Order::Shutdown => Verb::Shutdown,
            Order::Strategy { strategy } => Verb::Strategy { strategy },
            Order::Analyses { these, on } => Verb::Analyses {
                these,
                on,
                at_ns: cut_ns,
            },
            Order::Sampling(sampling) => Verb::Sampling(sampling),
            Order::Select(selection) => Verb::Select {
                selection,
                at_ns: cut_ns,
            },
            Order::Metrics(measured) => Verb::Metrics(measured),
            Order::Overhead { .. } => return None,
        })
    }
}

/// The arguments in words; empty for a command without arguments.
impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Order::Pause { lease_ns } | Order::Hold { lease_ns } => {
                write!(f, "lease {:?}", Duration::from_nanos(*lease_ns))
            }
            Order::Record { on } => f.write_str(if *on { "on" } else { "off" }),
            Order::Window { length_ns } => {
                write!(f, "for {:?}", Duration::from_nanos(*length_ns))
            }
            Order::Strategy { strategy } => strategy.fmt(f),
            Order::Analyses { these, on } => {
                write!(f, "{} {these}", if *on { "on" } else { "off" })
            }
            Order::Sampling(Sampling { frequency: 0, .. }) => f.write_str("off"),
            Order::Sampling(Sampling { frequency, by }) => {
                let by = match by {
                    SampledBy::Perf => "",
                    SampledBy::Timer => " by timers in the ranks",
                };
                write!(f, "{frequency} Hz{by}")
            }
            Order::Select(selection) => selection.fmt(f),
            Order::Metrics(measured) => measured.fmt(f),
            Order::Overhead { cap: Some(cap) } => write!(f, "at most {cap}"),
            Order::Overhead { cap: None } => f.write_str("uncapped"),
            Order::Resume | Order::Reset | Order::Shutdown => Ok(()),
        }
    }
}

impl Verb {
    /// Job time at which the ranks can have done it at the earliest, in ns; 0 is at once.
    pub fn due_ns(&self) -> u64 {
        match *self {
            Verb::Reset { at_ns }
            | Verb::Record { at_ns, .. }
            | Verb::Analyses { at_ns, .. }
            | Verb::Select { at_ns, .. } => at_ns,
            Verb::Window { to_ns, .. } => to_ns,
            Verb::Pause { .. }
            | Verb::Resume
            | Verb::Hold { .. }
            | Verb::Shutdown
            | Verb::Strategy { .. }
            | Verb::Sampling { .. }
            | Verb::Metrics(_) => 0,
        }
    }

    /// How long after its order it is due, in ns, for a node that does not know job time yet;
    /// `ahead_ns` is the time by which cuts lie in the future.
    pub fn due_after_ns(&self, ahead_ns: u64) -> u64 {
        match *self {
            Verb::Window { from_ns, to_ns, .. } => {
                ahead_ns.saturating_add(to_ns.saturating_sub(from_ns))
            }
            Verb::Reset { .. }
            | Verb::Record { .. }
            | Verb::Analyses { .. }
            | Verb::Select { .. } => ahead_ns,
            Verb::Pause { .. }
            | Verb::Resume
            | Verb::Hold { .. }
            | Verb::Shutdown
            | Verb::Strategy { .. }
            | Verb::Sampling { .. }
            | Verb::Metrics(_) => 0,
        }
    }

    /// How much longer than other commands it may take, in ns from the time at which it is due.
    pub fn extra_time_ns(&self) -> u64 {
        match *self {
            // Ranks may reach their MPI_Init as late as the lease allows.
            Verb::Hold { lease_ns } => lease_ns,
            _ => 0,
        }
    }
}

impl fmt::Display for InvalidOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InvalidOrder::Lease { name, lease_ns } => write!(
                f,
                "a lease of {lease_ns} ns: a {name} lasts at most 24 hours ({LEASE_NS_MAX} ns); \
                 ask for less and {name} again"
            ),
            InvalidOrder::Window { length_ns } => write!(
                f,
                "a window of {length_ns} ns: length_ns must be at least a millisecond \
                 ({WINDOW_NS_MIN}) and at most 24 hours ({WINDOW_NS_MAX}); for longer, switch \
                 recording on and later off"
            ),
            InvalidOrder::Analyses => {
                f.write_str("no analysis is named; name those to switch, such as messages")
            }
            InvalidOrder::Sampling { frequency } => write!(
                f,
                "{frequency} samples a second: at most {FREQUENCY_MAX} can be taken; \
                 {FREQUENCY_DEFAULT} are usual, and 0 ends it"
            ),
            InvalidOrder::Selection(why) => why.fmt(f),
            InvalidOrder::Interval { interval_ns } => write!(
                f,
                "an interval of {interval_ns} ns: metrics are read every {} ms at most and every \
                 {} s at least; {} ms are usual",
                INTERVAL_NS_MIN / 1_000_000,
                INTERVAL_NS_MAX / 1_000_000_000,
                INTERVAL_NS_DEFAULT / 1_000_000
            ),
        }
    }
}

impl core::error::Error for InvalidOrder {}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    const HOUR_NS: u64 = 3_600_000_000_000;

    #[test]
    fn windows_have_limits_and_take_their_length_longer() {
        for length_ns in [0, 999_999, 24 * HOUR_NS + 1, u64::MAX] {
            let refused = Order::Window { length_ns }.checked().expect_err("refused");
            let text = refused.to_string();
            assert!(text.contains(&length_ns.to_string()) && text.contains("24 hours"));
        }
        for length_ns in [1_000_000, 24 * HOUR_NS] {
            let order = Order::Window { length_ns };
            assert_eq!(order.clone().checked(), Ok(order.clone()));
            assert_eq!(order.extra_time_ns(), length_ns);
        }
        let length_ns = 1_500_000_000;
        assert_eq!(Order::Window { length_ns }.to_string(), "for 1.5s");
    }

    #[test]
    fn leases_have_a_default_and_a_limit() {
        let hold = |lease_ns| Order::Hold { lease_ns }.checked();
        let default = hold(0).expect("a default");
        assert_eq!(default.lease_ns(), 600_000_000_000);
        assert_eq!(default.to_string(), "lease 600s");
        // It waits for the ranks.
        assert_eq!(default.extra_time_ns(), default.lease_ns());
        assert_eq!(
            hold(24 * HOUR_NS).map(|order| order.lease_ns()),
            Ok(24 * HOUR_NS)
        );
        let refused = hold(24 * HOUR_NS + 1).expect_err("too long");
        assert!(
            refused
                .to_string()
                .contains("a hold lasts at most 24 hours")
        );
    }
}
