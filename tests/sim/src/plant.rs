//! Bugs that can be planted, so that a test sees the checker find them.

use clap::ValueEnum;
use std::fmt;

/// A planted bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Plant {
    /// The merge law loses one call.
    LoseCall,
    /// The merge law counts a partial result twice.
    CountTwice,
    /// A place forgets a record that is in flight.
    LoseRecord,
    /// A place counts a record twice, as kept and as reduced.
    KeepTwice,
    /// A place does a command twice on a rank.
    DoTwice,
    /// A place acknowledges a rank that refused.
    AckFailure,
    /// A link swallows an answer.
    Swallow,
    /// The root never hands out an answer.
    Mute,
    /// A reset leaves everything as it is.
    RememberAll,
    /// A record from before a reset is taken when it comes late.
    TakeOld,
    /// A call runs over the end of a window.
    RunOver,
    /// A window is acknowledged before everything in it has come.
    AckEarly,
    /// A place makes its cuts by its own clock, as if that were job time.
    OwnTime,
    /// A place counts epochs of recording by its own switches.
    OwnEpochs,
    /// Gates do not open by themselves.
    StuckGate,
}

impl fmt::Display for Plant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value().expect("no variant is skipped");
        f.write_str(value.get_name())
    }
}
