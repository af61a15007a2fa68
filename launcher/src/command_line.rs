//! The user's side of a job's start: `invivo plan`, `invivo run`, and what they read of a
//! launcher's command line.

mod advice;
mod allocation;
pub mod binding;
mod insertion;
pub mod launcher_options;
pub mod machine;
pub mod plan;
mod program_file;
mod room;
pub mod run;
pub mod slots;
pub mod start_message;
mod wording;
