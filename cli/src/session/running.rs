//! The state of a session while it runs: its job, its results so far, the last answer.

use super::field::{Answer, Kind};
use super::outcome::StepResult;
use crate::client::Client;
use crate::job::Job;
use tokio::time::Instant;

/// A session under way.
pub(super) struct Session<'a, L> {
    pub(super) job: &'a Job,
    pub(super) client: Client,
    pub(super) listener: &'a mut L,
    pub(super) start: Instant,
    pub(super) results: Vec<StepResult>,
    pub(super) answers_bytes: usize,
    pub(super) last: Option<(Kind, Answer)>,
    /// Saves so far.
    pub(super) saves: u32,
    /// This session has stopped the application.
    pub(super) standing: bool,
}
