//! Plans changes of recording at a job time as cuts in ticks.

use crate::cuts::{Change, Cuts, Planned};
use crate::time_point::TimePoint;
use invivo_proto::control::tree::Cut;

/// Plans changes at a point in job time, or at once where it has passed; behind what is planned.
/// Where they lie.
pub(super) fn plan(moment: &TimePoint<'_>, cuts: &mut Cuts, at_ns: u64, changes: &[Change]) -> Cut {
    let now_ns = moment.job_ns();
    let at_ns = at_ns.max(cuts.planned_until_ns().unwrap_or(0));
    // A time that has passed is cut now: records before it may have been judged already.
    let (job_ns, ticks) = if at_ns > now_ns {
        (at_ns, moment.ticks_of(at_ns))
    } else {
        (now_ns, moment.ticks())
    };
    for &change in changes {
        cuts.plan(Planned {
            job_ns,
            ticks,
            change,
        });
    }
    cuts.pass(moment.ticks());
    Cut {
        earliest_ns: job_ns,
        latest_ns: job_ns,
        error_ns: moment.error_ns(),
    }
}

/// The job begins unobserved: what was recorded before the ranks could be told is forgotten. That
/// is before anybody can know job time, so that this cut has none; it lies exactly here.
pub(super) fn begin_unobserved(ticks: u64, cuts: &mut Cuts) {
    for change in [Change::Reset, Change::End] {
        cuts.plan(Planned {
            job_ns: 0,
            ticks,
            change,
        });
    }
    cuts.pass(ticks);
}
