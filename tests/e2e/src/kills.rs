//! Random kills and stops of the processes of real jobs.
//!
//! A seed gives a [`case`]: which process is the [`target`], which signal it gets, and when. The
//! case is [`run`] on a real job, whose [`outcome`] is judged by what the ranks have written down
//! ([`marks`]). The [`outcome_table`] of many cases is a table of the manual.

pub mod case;
pub mod marks;
pub mod outcome;
pub mod outcome_table;
pub mod run;
pub mod target;
