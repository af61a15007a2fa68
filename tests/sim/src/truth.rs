//! Computes what a place must have of a call, from what the rank really did and the cuts that the
//! place made.
//!
//! This is the meaning of the verbs, in a few lines. Times are those of the host.

use crate::rank::Done;

/// What a cut does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Recording is switched on.
    On,
    /// It is switched off.
    Off,
    /// Everything before is forgotten.
    Forget,
    /// A window ends.
    Close,
}

/// A cut that a place made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    pub what: What,
    /// When, by the host's clock.
    pub at: u64,
}

/// A call as the place has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// When it begins.
    pub begin: u64,
    /// When it ends.
    pub end: u64,
    /// It is only the part of it before or behind a cut.
    pub clipped: bool,
}

/// What must be seen of a call after these cuts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// This.
    Call(Seen),
    Nothing,
    /// It begins or ends on a cut to the nanosecond: either side is right.
    Tie,
}

/// The truth about a call, of a job that is recorded from its start.
pub fn truth(done: &Done, cuts: &[Cut]) -> Truth {
    if cuts
        .iter()
        .any(|cut| cut.at == done.begin || cut.at == done.end)
    {
        // Whether such a call lies before or behind the cut depends on rounding.
        return Truth::Tie;
    }

    // The switch before a time; before the first one everything is recorded.
    let switch = |at: u64| {
        cuts.iter()
            .rev()
            .find(|cut| cut.at < at && matches!(cut.what, What::On | What::Off))
            .copied()
    };

    let is_on = |at: u64| switch(at).is_none_or(|cut| cut.what == What::On);
    let mut seen = match (is_on(done.begin), switch(done.end)) {
        (true, _) => Seen {
            begin: done.begin,
            end: done.end,
            clipped: false,
        },
        (false, Some(Cut { what: What::On, at })) => Seen {
            begin: at,
            end: done.end,
            clipped: true,
        },
        (false, _) => return Truth::Nothing,
    };

    for cut in cuts {
        match cut.what {
            What::Forget if seen.end <= cut.at => return Truth::Nothing,
            What::Forget if seen.begin < cut.at => (seen.begin, seen.clipped) = (cut.at, true),
            What::Close if seen.begin < cut.at && cut.at < seen.end => {
                (seen.end, seen.clipped) = (cut.at, true);
            }
            _ => {}
        }
    }

    Truth::Call(seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(begin: u64, end: u64, cuts: &[(What, u64)]) -> Truth {
        let cuts: Vec<Cut> = cuts.iter().map(|&(what, at)| Cut { what, at }).collect();
        let dropped = false;
        truth(
            &Done {
                begin,
                end,
                dropped,
            },
            &cuts,
        )
    }

    fn seen(begin: u64, end: u64, clipped: bool) -> Truth {
        Truth::Call(Seen {
            begin,
            end,
            clipped,
        })
    }

    #[test]
    fn a_reset_forgets_what_ended_before() {
        let reset = [(What::Forget, 50)];
        assert_eq!(of(10, 40, &reset), Truth::Nothing);
        assert_eq!(of(40, 60, &reset), seen(50, 60, true));
        assert_eq!(of(60, 70, &reset), seen(60, 70, false));
        assert_eq!(of(40, 50, &reset), Truth::Tie);
    }

    #[test]
    fn a_switch_clips_what_it_begins_alone() {
        let pause = [(What::Off, 50), (What::On, 80)];
        assert_eq!(of(40, 60, &pause), seen(40, 60, false));
        assert_eq!(of(60, 70, &pause), Truth::Nothing);
        assert_eq!(of(60, 90, &pause), seen(80, 90, true));
        assert_eq!(of(40, 90, &pause), seen(40, 90, false));
    }

    #[test]
    fn a_window_clips_on_both_sides() {
        let window = [
            (What::On, 20),
            (What::Forget, 30),
            (What::Off, 60),
            (What::Close, 60),
        ];
        let window: Vec<_> = [(What::Off, 5)].into_iter().chain(window).collect();
        assert_eq!(of(25, 90, &window), seen(30, 60, true));
        assert_eq!(of(22, 28, &window), Truth::Nothing);
        assert_eq!(of(40, 50, &window), seen(40, 50, false));
        assert_eq!(of(61, 70, &window), Truth::Nothing);
        assert_eq!(of(7, 40, &window), seen(30, 40, true));
    }
}
