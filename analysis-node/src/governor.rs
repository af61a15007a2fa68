//! The governor: keeps what the measurement takes of the ranks' time below a cap. Above it detail
//! is given up in a stated order, one step after the other, and far above all at once that is too
//! dear; what fits beneath it comes back.
//!
//! ```text
//! status -- cost: what it takes, and what for -- governor -- orders, as users give them
//!                     ladder: what the next step is --+
//!                 returns: when it is taken back -----+
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
mod returns;

pub use ladder::Wanted;

use cost::{Cost, Counts};
use detail::Detail;
use invivo_proto::control::order::Order;
use invivo_proto::control::overhead::{EVENTS_MAX, Governance, OverheadCap};
use invivo_proto::control::results::{Coverage, JobStatus, Measuring};
use invivo_proto::control::tree::Acks;
use ladder::Ladder;
use returns::{PATIENCE_NS, Returns};
use std::collections::VecDeque;

/// Between two looks, in ns, while something changes.
const LOOK_NS: u64 = 250_000_000;
/// Between two looks, in ns, when nothing has for [`CALM_NS`]: who is asked wakes up.
const CALM_LOOK_NS: u64 = 1_000_000_000;
const CALM_NS: u64 = 5_000_000_000;
/// The shortest time that is judged, in ns, where the overhead is not far above the cap: tools say
/// once a second what samples took.
const JUDGED_NS: u64 = 1_000_000_000;
/// So many times the cap is far above it: it is judged at once, and acted upon by all kinds that
/// are too dear, by two steps each.
const FAR: f64 = 3.0;
/// How often in a row it must be far above the cap before something is done, or above before it is
/// said that nothing can be: a rank that lost its processor in our code, or a large question, is in
/// one look. One is enough behind what was just given up or came back, which is known to be dear,
/// and where the number of calls alone says so.
const LOOKS_ABOVE: u32 = 2;
/// From an acknowledgement until what it did is to be seen, in ns; of short regions, which places
/// look at twice a second.
const SETTLES_NS: u64 = 250_000_000;
const SHORT_SETTLES_NS: u64 = 1_000_000_000;
/// A kind of detail matters where it takes this part of what is above the cap, or more than the cap
/// by itself.
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
    returns: Returns,
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
            returns: Returns::new(),
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
        self.returns.forget_failures(now_ns);
        self.settle(now_ns, 0);
        let event = cap.map_or_else(
            || "no cap any longer".to_owned(),
            |cap| format!("cap: {cap}"),
        );
        self.event(now_ns, event);
        if cap.is_none() {
            while let Some(detail) = self.ladder.raise(|_| true) {
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
        let share = cost.share;
        // Behind an order tool processes of several nodes stay awake for some seconds: no step
        // would save that.
        let cost = match now_ns.saturating_sub(self.changed_ns) < CALM_NS {
            true => cost.of_detail(),
            false => cost,
        };
        let is_far = cost.share > FAR * cap;
        if cost.elapsed_ns < JUDGED_NS && !is_far {
            return None;
        }
        self.base = Some(now);
        self.share = Some(share);
        if cost.share > cap {
            self.above += 1;
            let is_sure = self.above >= LOOKS_ABOVE
                || self.returns.is_suspicious(now_ns)
                || cost.counted > cap;
            if is_far && !is_sure {
                self.next_ns = self.next_ns.min(now_ns.saturating_add(LOOK_NS));
                return None;
            }
            return self.lower(now_ns, &cost, cap);
        }
        (self.above, self.is_exhausted) = (0, false);
        self.returns.lasted(now_ns);
        if now_ns.saturating_sub(self.changed_ns) >= PATIENCE_NS {
            self.raise(now_ns, cost.share, cap);
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
            // What comes in at once is to be seen at once.
            Detail::Recording if self.ladder.level(detail) == 0 => 0,
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

    /// What is measured beside MPI calls.
    pub fn measuring(&self) -> Measuring {
        self.ladder.measuring()
    }

    /// A sentence about what is given up now.
    pub fn note(&self) -> Option<String> {
        let given_up: Vec<String> = self.ladder.given_up().map(|one| one.to_string()).collect();
        let cap = self.cap.filter(|_| !given_up.is_empty())?;
        let given_up = given_up.join("; ");
        Some(format!("to keep the overhead below {cap}: {given_up}"))
    }

    /// Gives up the next kind; far above the cap one after the other, until what is left should be
    /// below it.
    fn lower(&mut self, now_ns: u64, cost: &Cost, cap: f64) -> Option<String> {
        let is_far = cost.share > FAR * cap;
        let mut left = *cost;
        let mut given_up = Vec::new();
        while left.share > cap && (is_far || given_up.is_empty()) {
            let Some(detail) = self.lower_one(now_ns, &left, cap, is_far) else {
                break;
            };
            left = left.without(detail);
            given_up.push(detail);
        }
        // Without the last one, what is before it takes little: it is the most urgent.
        for detail in given_up.iter().rev() {
            self.order_later(*detail);
        }
        let share = percent(cost.share);
        if given_up.is_empty() {
            return match self.above >= LOOKS_ABOVE {
                true => self.exhaust(now_ns, &share),
                false => None,
            };
        }
        self.step(now_ns);
        let now = given_up
            .iter()
            .filter_map(|one| self.ladder.given_up_of(*one));
        let now: Vec<String> = now.map(|one| one.to_string()).collect();
        let now = now.join("; ");
        self.event(now_ns, format!("overhead {share}: {now}"));
        let given_up: Vec<_> = given_up.into_iter().map(Some).collect();
        self.tell(&given_up, &share, &now)
    }

    /// Gives up a kind that matters: what came back last, and no more of it than that, or the next.
    fn lower_one(&mut self, now_ns: u64, left: &Cost, cap: f64, is_far: bool) -> Option<Detail> {
        let dear = ((left.share - cap) * MATTERS).min(cap);
        let matters = |detail| left.of(detail) >= dear;
        let before = Detail::ALL.map(|detail| self.ladder.level(detail));
        let on_trial = self.returns.on_trial(now_ns).filter(|back| matters(*back));
        let detail = match on_trial {
            Some(back) if self.ladder.lower_again(back) => back,
            _ => self.ladder.lower(matters, if is_far { 2 } else { 1 })?,
        };
        let levels = before[detail as usize]..self.ladder.level(detail);
        let saved = left.share - left.without(detail).share;
        self.returns.given_up(now_ns, detail, levels, saved);
        Some(detail)
    }

    /// There is nothing left to give up.
    fn exhaust(&mut self, now_ns: u64, share: &str) -> Option<String> {
        if std::mem::replace(&mut self.is_exhausted, true) {
            return None;
        }
        self.event(now_ns, format!("overhead {share}: {NOTHING_HELPS}"));
        self.tell(&[None], share, NOTHING_HELPS)
    }

    /// The line for standard error, once for each kind of detail: a job's output is no place for
    /// what comes and goes.
    fn tell(&mut self, details: &[Option<Detail>], share: &str, what: &str) -> Option<String> {
        let is_told = details.iter().all(|detail| self.told.contains(detail));
        let cap = self.cap.filter(|_| !is_told)?;
        self.told.extend(details);
        Some(format!(
            "overhead {share} is above {cap}: {what} (`invivo overhead` says more)"
        ))
    }

    /// Takes back the last step of those that fit beneath the cap.
    fn raise(&mut self, now_ns: u64, share: f64, cap: f64) {
        let levels = Detail::ALL.map(|detail| self.ladder.level(detail));
        let may = |detail: Detail| {
            let level = levels[detail as usize];
            self.returns.may_try(now_ns, detail, level, cap - share)
        };
        let Some(detail) = self.ladder.raise(may) else {
            return;
        };
        self.returns.came_back(now_ns, detail);
        self.order_later(detail);
        self.step(now_ns);
        let share = percent(share);
        let now = match self.ladder.given_up_of(detail) {
            Some(given_up) => given_up.to_string(),
            None => detail.back().to_owned(),
        };
        self.event(now_ns, format!("overhead {share}: {now}"));
    }

    fn order_later(&mut self, detail: Detail) {
        if !self.to_order.contains(&detail) {
            self.to_order.push_back(detail);
        }
    }

    /// A step was made: it is looked at as soon as it is done, also where looks were rare.
    fn step(&mut self, now_ns: u64) {
        self.next_ns = now_ns;
        self.settle(now_ns, 0);
    }

    /// Something changed: what is judged begins when that can be seen.
    fn settle(&mut self, now_ns: u64, settles_ns: u64) {
        (self.base, self.above) = (None, 0);
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

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests;
