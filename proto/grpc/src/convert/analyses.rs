//! Converts which analyses are on, and when they were off.

use crate::v1;
use invivo_proto::control::analyses::{AnalysesStatus, Analysis};

/// All of them, in their order.
pub fn all(status: &AnalysesStatus) -> Vec<v1::AnalysisStatus> {
    let all = Analysis::ALL.into_iter();
    all.map(|analysis| one(status, analysis)).collect()
}

/// One of them.
pub fn one(status: &AnalysesStatus, analysis: Analysis) -> v1::AnalysisStatus {
    let of = &status.of[analysis as usize];
    let interval = |&(from_ns, to_ns): &(u64, u64)| v1::OffInterval {
        from_ns,
        to_ns: Some(to_ns).filter(|to_ns| *to_ns != u64::MAX),
    };
    v1::AnalysisStatus {
        name: analysis.name().to_owned(),
        answers: analysis.answers().to_owned(),
        on: of.on,
        off: of.off,
        since_ns: of.since_ns,
        off_intervals: of.gaps.last.iter().map(interval).collect(),
        earlier_intervals: of.gaps.earlier,
        earlier_off_ns: of.gaps.earlier_ns,
        now_ns: status.now_ns,
        cost_ns: analysis.cost_ns(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_proto::control::analyses::{AnalysisStatus, Gaps};

    #[test]
    fn an_interval_that_goes_on_has_no_end() {
        let mut status = AnalysesStatus::default();
        status.of[Analysis::Matrix as usize] = AnalysisStatus {
            off: 4,
            gaps: Gaps {
                last: vec![(0, 10), (20, u64::MAX)],
                ..Gaps::default()
            },
            ..AnalysisStatus::default()
        };
        let told = one(&status, Analysis::Matrix);
        let ends: Vec<_> = told.off_intervals.iter().map(|off| off.to_ns).collect();
        assert_eq!((told.name.as_str(), told.off), ("matrix", 4));
        assert_eq!(ends, [Some(10), None]);
        let names: Vec<_> = all(&status).into_iter().map(|one| one.name).collect();
        assert_eq!(
            names,
            [
                "functions",
                "matrix",
                "messages",
                "heatmap",
                "sites",
                "waitstates",
                "regions"
            ]
        );
    }
}
