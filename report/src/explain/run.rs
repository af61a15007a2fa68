//! What limited a run that is over, by its report or by what was saved of it.

use super::sites;
use super::{Explanation, Limit, Seen, Site, Time, explain};
use invivo_grpc::v1::{CallSitesReply, FunctionRow, GridReply, WaitStatesReply};

/// What is known of a run by a report, or by a saved observation.
#[derive(Clone, Debug)]
pub struct Run {
    /// Of computing, with the efficiency of all ranks; a report has no columns.
    pub grid: GridReply,
    /// Who waited for whom.
    pub waits: WaitStatesReply,
    /// The call sites, where they are known: of a saved observation they are not.
    pub sites: CallSitesReply,
    /// The functions, all ranks together.
    pub functions: Vec<FunctionRow>,
    /// How long was recorded, in ns.
    pub recorded_ns: u64,
}

/// Explains a run; nothing where too little of it is known.
pub fn explain_run(run: Run) -> Option<Explanation> {
    let most = most(&run);
    let seen = Seen {
        grid: run.grid,
        waits_after: run.waits,
        after: run.sites,
        interval_ns: run.recorded_ns,
        time: Time::Whole,
        ..Seen::default()
    };
    let told = explain(&seen, most);
    (told.limit != Limit::Unknown).then_some(told)
}

/// The call site with the most time, or the function where sites are not known.
fn most(run: &Run) -> Option<Site> {
    let before = CallSitesReply::default();
    let site = sites::site(&before, &run.sites, run.recorded_ns);
    site.or_else(|| function(run))
}

/// The function with the most time.
fn function(run: &Run) -> Option<Site> {
    let all: u64 = run.functions.iter().map(|row| row.time_ns).sum();
    let row = run.functions.iter().max_by_key(|row| row.time_ns)?;
    (all > 0).then(|| Site {
        function: row.function.clone(),
        place: String::new(),
        share: row.time_ns as f64 / all as f64,
        calls: row.calls,
        bytes: row.bytes_out + row.bytes_in,
        ranks: run.grid.efficiency.map_or(0, |of| of.ranks),
        small: None,
        receiver: None,
    })
}
