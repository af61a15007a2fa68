//! Scripted sessions: a TOML file of steps that wait for a job to be in some state, steer it, ask
//! it and hold the answers against what was expected. What a session does goes the way of the
//! commands (`steer`).
//!
//! ```text
//! script  field  part  sums  comparison   pure: the steps, what can be asked, what can be compared
//! read  check                       pure: from a file's text to steps that make sense, every error with its line
//! run  step  running  outcome       carrying it out, and the results
//! ```

mod check;
mod comparison;
mod field;
mod outcome;
mod part;
mod read;
mod run;
mod running;
mod script;
mod step;
mod sums;

pub use outcome::{Ending, Listener, StepResult, Summary};
pub use read::read;
pub use run::run;
pub use script::{Action, Script, Step};

#[cfg(test)]
mod tests;
