//! What Invivo leaves of a job: the report, also as a page, and the timeline of its last seconds.

pub mod otf2_print;
pub mod page;
pub mod report;
pub mod timeline;
