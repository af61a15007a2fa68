//! The governor: keeps what the measurement takes of the ranks' time below a cap. Above it detail
//! is given up, one step after the other in a stated order; well below it comes back.
//!
//! ```text
//! status -- cost: what it takes, and what for -- governor -- orders, as users give them
//!                     ladder: what the next step is --+
//! ```
//!
//! What it takes is what ranks feel: their time in our code, in the kernel's for samples, and the
//! processors that our processes take from them. A user's own command overrules the governor: what
//! it is about is not touched any more.
//!
//! Pure: time is an argument, orders and sentences come out.

mod cost;
mod detail;
mod ladder;

pub use ladder::Wanted;

use cost::{Cost, Counts};
use detail::Detail;
use invivo_proto::control::order::Order;
use invivo_proto::control::overhead::{EVENTS_MAX, Governance, OverheadCap};
use invivo_proto::control::results::{Coverage, JobStatus};
use invivo_proto::control::tree::Acks;
use ladder::Ladder;
use std::collections::VecDeque;

/// Between two looks, in ns, while something changes.
const LOOK_NS: u64 = 250_000_000;
/// Between two looks, in ns, when nothing has for [`CALM_NS`], and for [`STILL_NS`]: who is asked
/// stays awake for some seconds.
const CALM_LOOK_NS: u64 = 1_000_000_000;
const CALM_NS: u64 = 5_000_000_000;
const STILL_LOOK_NS: u64 = 5_000_000_000;
const STILL_NS: u64 = 60_000_000_000;
/// The shortest time that is judged, in ns, where the overhead is not far above the cap: tools say
/// once a second what samples took.
const JUDGED_NS: u64 = 1_000_000_000;
/// So many times the cap is far above it: it is judged at once, and acted upon by two steps.
const FAR: f64 = 4.0;
/// How often in a row it must be far above the cap before something is done, or above before it is
/// said that nothing can be: a rank that lost its processor in our code, or a large question, is in
/// one look.
const LOOKS_ABOVE: u32 = 2;
/// From an acknowledgement until what it did is to be seen, in ns; of short regions, which places
/// look at twice a second.
const SETTLES_NS: u64 = 250_000_000;
const SHORT_SETTLES_NS: u64 = 1_000_000_000;
/// Below this part of the cap detail comes back.
const WELL_BELOW: f64 = 0.5;
/// How long it must be well below, in ns: at first, and at most. It doubles when what came back had
/// to be given up again within [`LASTS`] times as long, and halves when it had not.
const PATIENCE_NS: u64 = 10_000_000_000;
const PATIENCE_NS_MAX: u64 = 640_000_000_000;
const LASTS: u64 = 3;
/// A kind of detail matters where it takes this part of what is above the cap.
const MATTERS: f64 = 0.25;

/// Where no step is left that would matter.
const NOTHING_HELPS: &str = "nothing that may be given up would save it";

/// See the head of the file.
pub struct Governor {
    cap: Option<OverheadCap>,
    ladder: Ladder,
    /// Where the time begins that is judged next.
    base: Option<Counts>,
    /// The last share that was judged.
    share: Option<f64>,
    /// How often in a row it was above the cap.
    above: u32,
    is_exhausted: bool,
    /// The next look.
    next_ns: u64,
    is_asking: bool,
    /// Kinds whose orders have to be given, and the one whose order is under way.
    to_order: VecDeque<Detail>,
    ordering: Option<Detail>,
    /// The level of each kind that ranks are known to have.
    done: [usize; Detail::ALL.len()],
    /// When something was last changed.
    changed_ns: u64,
    /// Since when it is well below the cap without a change.
    below_since_ns: Option<u64>,
    patience_ns: u64,
    /// What came back last, and when.
    came_back: Option<(Detail, u64)>,
    events: VecDeque<(u64, String)>,
    /// Kinds that were told of on standard error; nothing stands for there being none left.
    told: Vec<Option<Detail>>,
}

impl Governor {
    /// Without a cap, of a job that measures so.
    pub fn new(wanted: Wanted) -> Governor {
        Governor {
            cap: None,
            ladder: Ladder::new(wanted),
            base: None,
            share: None,
            above: 0,
            is_exhausted: false,
            next_ns: 0,
            is_asking: false,
            to_order: VecDeque::new(),
            ordering: None,
            done: [0; Detail::ALL.len()],
            changed_ns: 0,
            below_since_ns: None,
            patience_ns: PATIENCE_NS,
            came_back: None,
            events: VecDeque::new(),
            told: Vec::new(),
        }
    }

    /// A user's command was done.
    pub fn heard(&mut self, now_ns: u64, order: &Order) {
        match order {
            Order::Overhead { cap } => self.set_cap(now_ns, *cap),
            // They change nothing of the cost.
            Order::Reset | Order::Strategy { .. } | Order::Shutdown => {}
            _ => {
                let to_order = self.ladder.heard(order, self.cap.is_some());
                let decided = self.ladder.decided();
                self.to_order.retain(|detail| !decided.contains(detail));
                for detail in to_order {
                    self.order_later(detail);
                }
                for detail in Detail::ALL {
                    // What a command has decided lies at none.
                    let done = &mut self.done[detail as usize];
                    *done = (*done).min(self.ladder.level(detail));
                }
                self.settle(now_ns, SETTLES_NS);
            }
        }
    }

    /// Sets the cap. What users decided before counts no more; without a cap all comes back.
    pub fn set_cap(&mut self, now_ns: u64, cap: Option<OverheadCap>) {
        self.cap = cap;
        self.ladder.forget_decisions();
        self.told.clear();
        (self.share, self.is_exhausted) = (None, false);
        self.patience_ns = PATIENCE_NS;
        self.settle(now_ns, 0);
        let event = cap.map_or_else(
            || "no cap any longer".to_owned(),
            |cap| format!("cap: {cap}"),
        );
        self.event(now_ns, event);
        if cap.is_none() {
            while let Some(detail) = self.ladder.raise() {
                self.order_later(detail);
            }
        }
    }

    /// Whether it is time to ask for the status.
    pub fn asks(&mut self, now_ns: u64) -> bool {
        let is_busy = self.is_asking || self.ordering.is_some() || !self.to_order.is_empty();
        if self.cap.is_none() || is_busy || now_ns < self.next_ns {
            return false;
        }
        self.is_asking = true;
        let every_ns = match now_ns.saturating_sub(self.changed_ns) {
            STILL_NS.. => STILL_LOOK_NS,
            CALM_NS.. => CALM_LOOK_NS,
            _ => LOOK_NS,
        };
        self.next_ns = now_ns.saturating_add(every_ns);
        true
    }

    /// The status was not answered; it asks again when it is time.
    pub fn unanswered(&mut self) {
        self.is_asking = false;
    }

    /// Takes the status; gives a line to report, if there is something new to report.
    pub fn hears(
        &mut self,
        now_ns: u64,
        status: &JobStatus,
        coverage: &Coverage,
    ) -> Option<String> {
        self.is_asking = false;
        let cap = self.cap?.share();
        let now = Counts::of(now_ns, status, coverage);
        let (Some(now), Some(base)) = (now, self.base) else {
            self.base = now;
            return None;
        };
        let Some(cost) = now.since(&base) else {
            self.base = Some(now);
            return None;
        };
        let is_far = cost.share > FAR * cap;
        if cost.elapsed_ns < JUDGED_NS && !is_far {
            return None;
        }
        self.base = Some(now);
        self.share = Some(cost.share);
        if cost.share > cap {
            self.below_since_ns = None;
            self.above += 1;
            return match is_far && self.above < LOOKS_ABOVE {
                true => None,
                false => self.lower(now_ns, &cost, cap),
            };
        }
        if let Some((_, at_ns)) = self.came_back
            && now_ns.saturating_sub(at_ns) >= self.patience_ns.saturating_mul(LASTS)
        {
            self.came_back = None;
            self.patience_ns = (self.patience_ns / 2).max(PATIENCE_NS);
        }
        self.above = 0;
        self.is_exhausted = false;
        if cost.share > cap * WELL_BELOW {
            self.below_since_ns = None;
        } else {
            let since_ns = *self.below_since_ns.get_or_insert(now_ns);
            if now_ns.saturating_sub(since_ns) >= self.patience_ns {
                self.raise(now_ns, cost.share);
            }
        }
        None
    }

    /// The order to give now, if there is one.
    pub fn order(&mut self) -> Option<Order> {
        if self.ordering.is_some() {
            return None;
        }
        self.ordering = self.to_order.pop_front();
        self.ordering.map(|detail| self.ladder.order(detail))
    }

    /// How the order went; nothing where it was refused, or nobody answered.
    pub fn ordered(&mut self, now_ns: u64, acks: Option<&Acks>) {
        let Some(detail) = self.ordering.take() else {
            return;
        };
        if acks.is_some_and(|acks| acks.done > 0) {
            self.done[detail as usize] = self.ladder.level(detail);
        } else {
            // It would be tried again and again.
            self.ladder.refused(detail, self.done[detail as usize]);
            let why = acks.and_then(|acks| acks.failures.first());
            let why = why.map_or("the command was refused", |(_, why)| why.as_str());
            let command = detail.command();
            self.event(now_ns, format!("a step was not made ({command}): {why}"));
        }
        let settles_ns = match detail {
            Detail::Regions => SHORT_SETTLES_NS,
            _ => SETTLES_NS,
        };
        self.settle(now_ns, settles_ns);
    }

    /// How things stand.
    pub fn status(&self) -> Governance {
        let mut decided: Vec<String> = Vec::new();
        for detail in self.ladder.decided() {
            let command = detail.command();
            if !decided.iter().any(|other| other == command) {
                decided.push(command.to_owned());
            }
        }
        Governance {
            cap: self.cap,
            share: self.share,
            given_up: self.ladder.given_up().map(|one| one.to_string()).collect(),
            decided,
            is_exhausted: self.is_exhausted,
            events: self.events.iter().cloned().collect(),
        }
    }

    /// A sentence about what is given up now.
    pub fn note(&self) -> Option<String> {
        let given_up: Vec<String> = self.ladder.given_up().map(|one| one.to_string()).collect();
        let cap = self.cap.filter(|_| !given_up.is_empty())?;
        let given_up = given_up.join("; ");
        Some(format!("to keep the overhead below {cap}: {given_up}"))
    }

    fn lower(&mut self, now_ns: u64, cost: &Cost, cap: f64) -> Option<String> {
        let matters = |detail| cost.of(detail) >= (cost.share - cap) * MATTERS;
        let lasts_ns = self.patience_ns.saturating_mul(LASTS);
        let came_back = self.came_back.take();
        let came_back = came_back.filter(|(_, at_ns)| now_ns.saturating_sub(*at_ns) < lasts_ns);
        let share = percent(cost.share);
        let detail = match came_back {
            // It goes again, and no more than that.
            Some((back, _)) if self.ladder.lower_again(back) => {
                self.patience_ns = self.patience_ns.saturating_mul(2).min(PATIENCE_NS_MAX);
                Some(back)
            }
            _ => {
                let is_far = cost.share > FAR * cap;
                self.ladder.lower(matters, if is_far { 2 } else { 1 })
            }
        };
        let Some(detail) = detail else {
            return match self.above >= LOOKS_ABOVE {
                true => self.exhaust(now_ns, &share),
                false => None,
            };
        };
        self.order_later(detail);
        self.settle(now_ns, 0);
        let given_up = self.ladder.given_up_of(detail)?;
        self.event(now_ns, format!("overhead {share}: {given_up}"));
        self.tell(Some(detail), &share, &given_up.to_string())
    }

    /// There is nothing left to give up.
    fn exhaust(&mut self, now_ns: u64, share: &str) -> Option<String> {
        if std::mem::replace(&mut self.is_exhausted, true) {
            return None;
        }
        self.event(now_ns, format!("overhead {share}: {NOTHING_HELPS}"));
        self.tell(None, share, NOTHING_HELPS)
    }

    /// The line for standard error, once for each kind of detail: a job's output is no place for
    /// what comes and goes.
    fn tell(&mut self, detail: Option<Detail>, share: &str, what: &str) -> Option<String> {
        let cap = self.cap.filter(|_| !self.told.contains(&detail))?;
        self.told.push(detail);
        Some(format!(
            "overhead {share} is above {cap}: {what} (`invivo overhead` says more)"
        ))
    }

    fn raise(&mut self, now_ns: u64, share: f64) {
        let Some(detail) = self.ladder.raise() else {
            return;
        };
        self.came_back = Some((detail, now_ns));
        self.order_later(detail);
        self.settle(now_ns, 0);
        let share = percent(share);
        let now = match self.ladder.given_up_of(detail) {
            Some(given_up) => given_up.to_string(),
            None => back(detail).to_owned(),
        };
        self.event(now_ns, format!("overhead {share}: {now}"));
    }

    fn order_later(&mut self, detail: Detail) {
        if !self.to_order.contains(&detail) {
            self.to_order.push_back(detail);
        }
    }

    /// Something changed: what is judged begins when that can be seen.
    fn settle(&mut self, now_ns: u64, settles_ns: u64) {
        (self.base, self.above, self.below_since_ns) = (None, 0, None);
        self.changed_ns = now_ns;
        self.next_ns = self.next_ns.max(now_ns.saturating_add(settles_ns));
    }

    fn event(&mut self, now_ns: u64, sentence: String) {
        if self.events.len() == EVENTS_MAX {
            self.events.pop_front();
        }
        self.events.push_back((now_ns, sentence));
    }
}

/// What is as the user wants it again.
fn back(detail: Detail) -> &'static str {
    match detail {
        Detail::Regions => "regions are recorded again",
        Detail::Sampling => "samples are taken as before",
        Detail::Metrics => "metrics are read as before",
        Detail::Analyses => "analyses are on again",
        Detail::Functions => "all MPI functions are recorded again",
        Detail::Recording => "recording is on again",
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests;
