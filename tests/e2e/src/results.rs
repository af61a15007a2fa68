//! What Invivo leaves of a job: the report, and the timeline of its last seconds.

pub mod report;
pub mod timeline;
