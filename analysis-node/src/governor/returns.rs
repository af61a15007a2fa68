//! When a kind of detail that was given up is tried again.
//!
//! What it would take now is known only when it is on. So it is tried, and what the try takes,
//! spread over the time since it was given up, has to fit beneath the cap next to what remains: the
//! less room there is, the longer it waits, and never for ever. A kind that does not last waits
//! longer each time, for itself.

use super::detail::Detail;
use std::ops::Range;

/// How long a kind waits at least, in ns: at first, and at most. It doubles when what came back had
/// to be given up again within [`LASTS`] times as long, and halves when it had not.
pub const PATIENCE_NS: u64 = 10_000_000_000;
const PATIENCE_NS_MAX: u64 = 640_000_000_000;
const LASTS: u64 = 3;
/// For how long more may be dear behind what was given up, in ns.
const SUSPICIOUS_NS: u64 = 5_000_000_000;
/// About how long it takes until what came back is given up again, in ns.
const TRY_NS: f64 = 1e9;

/// See the head of the file.
#[derive(Clone, Debug)]
pub struct Returns {
    kinds: [Kind; Detail::ALL.len()],
}

#[derive(Clone, Debug)]
struct Kind {
    patience_ns: u64,
    /// When a step of it was made, and when one was made or taken back.
    given_up_ns: Option<u64>,
    changed_ns: u64,
    /// What each of its steps was to save, as a share of the ranks' time; the first one first.
    saved: Vec<f64>,
    /// When it came back, until it has lasted.
    back_ns: Option<u64>,
}

impl Returns {
    pub fn new() -> Returns {
        let kind = |_| Kind {
            patience_ns: PATIENCE_NS,
            given_up_ns: None,
            changed_ns: 0,
            saved: Vec::new(),
            back_ns: None,
        };
        Returns {
            kinds: std::array::from_fn(kind),
        }
    }

    /// Another cap: what did not last may do so now.
    pub fn forget_failures(&mut self, now_ns: u64) {
        for kind in &mut self.kinds {
            (kind.patience_ns, kind.back_ns) = (PATIENCE_NS, None);
            kind.changed_ns = now_ns;
        }
    }

    /// A kind was given up from a level to another one, which is to save this share.
    pub fn given_up(&mut self, now_ns: u64, detail: Detail, levels: Range<usize>, saved: f64) {
        let kind = &mut self.kinds[detail as usize];
        if kind.is_on_trial(now_ns) {
            kind.patience_ns = kind.patience_ns.saturating_mul(2).min(PATIENCE_NS_MAX);
        }
        (kind.given_up_ns, kind.changed_ns, kind.back_ns) = (Some(now_ns), now_ns, None);
        kind.saved.truncate(levels.start);
        kind.saved.resize(levels.end, saved);
    }

    /// A kind came back by a step.
    pub fn came_back(&mut self, now_ns: u64, detail: Detail) {
        let kind = &mut self.kinds[detail as usize];
        (kind.back_ns, kind.changed_ns) = (Some(now_ns), now_ns);
    }

    /// Takes those that have lasted for good.
    pub fn lasted(&mut self, now_ns: u64) {
        for kind in &mut self.kinds {
            if kind.back_ns.is_some() && !kind.is_on_trial(now_ns) {
                kind.back_ns = None;
                kind.patience_ns = (kind.patience_ns / 2).max(PATIENCE_NS);
            }
        }
    }

    /// The kind that came back last, of those that have not lasted yet.
    pub fn on_trial(&self, now_ns: u64) -> Option<Detail> {
        let kind = |detail: &Detail| &self.kinds[*detail as usize];
        let all = Detail::ALL.into_iter();
        all.filter(|detail| kind(detail).is_on_trial(now_ns))
            .max_by_key(|detail| kind(detail).back_ns)
    }

    /// Whether something is known to be dear: it was given up right now, or has not lasted yet.
    pub fn is_suspicious(&self, now_ns: u64) -> bool {
        let is_new = |kind: &Kind| {
            let given_up_ns = kind.given_up_ns;
            given_up_ns.is_some_and(|then_ns| now_ns.saturating_sub(then_ns) < SUSPICIOUS_NS)
        };
        let mut kinds = self.kinds.iter();
        kinds.any(|kind| is_new(kind) || kind.is_on_trial(now_ns))
    }

    /// Whether a kind that is given up to this level may be tried, with so much left of the ranks'
    /// time below the cap.
    pub fn may_try(&self, now_ns: u64, detail: Detail, level: usize, room: f64) -> bool {
        let kind = &self.kinds[detail as usize];
        let since = |then_ns| now_ns.saturating_sub(then_ns);
        let saved = level.checked_sub(1).and_then(|at| kind.saved.get(at));
        let try_ns = saved.copied().unwrap_or(0.0) * TRY_NS;
        let fits = try_ns <= room * since(kind.given_up_ns.unwrap_or(0)) as f64;
        fits && since(kind.changed_ns) >= kind.patience_ns
    }
}

impl Kind {
    fn is_on_trial(&self, now_ns: u64) -> bool {
        let lasts_ns = self.patience_ns.saturating_mul(LASTS);
        self.back_ns
            .is_some_and(|back_ns| now_ns.saturating_sub(back_ns) < lasts_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;
    const KIND: Detail = Detail::Recording;

    /// The first whole second at which it may be tried.
    fn due_s(returns: &Returns, level: usize, room: f64) -> Option<u64> {
        (0..10_000).find(|second| returns.may_try(second * S, KIND, level, room))
    }

    #[test]
    fn the_dearer_and_the_less_room_the_longer() {
        let mut returns = Returns::new();
        returns.given_up(0, KIND, 0..1, 0.3);
        returns.given_up(0, KIND, 1..3, 0.03);
        for (level, room, due) in [
            (3, 0.02, 10),
            (3, 0.001, 30),
            (2, 0.001, 30),
            (1, 0.02, 15),
            (1, 0.001, 300),
        ] {
            assert_eq!(due_s(&returns, level, room), Some(due), "{level} {room}");
        }
        returns.came_back(30 * S, KIND);
        assert_eq!(due_s(&returns, 2, 0.02), Some(40), "one after the other");
        assert_eq!(due_s(&returns, 1, 0.0), None, "there is no room at all");
        returns.forget_failures(50 * S);
        assert_eq!(due_s(&returns, 1, 0.02), Some(60));
    }

    #[test]
    fn patience_is_one_for_each_kind() {
        let mut returns = Returns::new();
        let mut now_s = 0;
        for wait_s in [10, 20, 40, 80, 160, 320, 640, 640] {
            returns.given_up(now_s * S, KIND, 0..1, 0.001);
            assert_eq!(due_s(&returns, 1, 0.02), Some(now_s + wait_s));
            now_s += wait_s;
            returns.came_back(now_s * S, KIND);
            assert_eq!(returns.on_trial(now_s * S), Some(KIND));
            assert!(returns.is_suspicious((now_s + 9) * S));
        }
        returns.lasted((now_s + 3 * 640 - 1) * S);
        assert!(returns.on_trial((now_s + 1) * S).is_some());
        returns.came_back((now_s + 1) * S, Detail::Metrics);
        assert_eq!(returns.on_trial((now_s + 2) * S), Some(Detail::Metrics));
        now_s += 3 * 640;
        returns.lasted(now_s * S);
        assert_eq!(returns.on_trial(now_s * S), None);
        returns.given_up(now_s * S, KIND, 0..1, 0.001);
        assert_eq!(due_s(&returns, 1, 0.02), Some(now_s + 320));
        returns.given_up(now_s * S, Detail::Metrics, 0..1, 0.001);
        assert!(returns.may_try((now_s + 10) * S, Detail::Metrics, 1, 0.02));
    }
}
