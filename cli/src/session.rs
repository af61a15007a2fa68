//! Scripted sessions: a TOML file of steps that wait for a state of the job, steer it, query it,
//! and compare answers with expected values. Orders go the way of the commands (`steer`).
//!
//! ```text
//! script  field  part  sums  comparison   pure: the steps, what can be asked, what can be compared
//! read  check                       pure: from a file's text to steps; errors name their line
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
