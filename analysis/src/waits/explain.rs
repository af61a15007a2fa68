//! From pending calls to what is the matter: the wait-for graph of the ranks that are told in full,
//! and everybody else taken for somebody who may still come.

use super::case::Case;
use super::{graph, sentence};
use crate::groups::Members;
use alloc::string::String;
use alloc::vec::Vec;
use invivo_proto::control::waits::{Diagnosis, Doing, FINDINGS_MAX, Finding, Verdict, Waits};
use invivo_proto::ids::CommId;

/// Ranks are looked at one after the other. Calls that have all been pending for so long were
/// pending together, as a wave takes far less; younger ones may be over by the time that the next
/// rank is looked at.
pub const SETTLED_NS: u64 = 1_000_000_000;

/// What else is known of the job.
pub struct Surroundings<'a> {
    /// Ranks of the application.
    pub ranks: u32,
    /// Who is in a communicator, as far as was told.
    pub members: &'a dyn Fn(CommId) -> Option<Members>,
}

/// What is the matter.
pub fn explain(waits: &Waits, around: &Surroundings<'_>) -> Diagnosis {
    let case = Case::new(waits, around);
    let stuck = graph::stuck(&case.nodes);
    let is_stuck = |at: &usize| stuck[*at];
    let mut findings = Vec::new();
    let all = (0..waits.pending.len()).filter(is_stuck).count() as u32;
    if all > 0 {
        case.mismatches(&stuck, &mut findings);
        case.gone(&stuck, &mut findings);
        case.cycles(&stuck, &mut findings);
    } else {
        case.missing(&mut findings);
        case.unmatched(&mut findings);
    }
    findings.truncate(FINDINGS_MAX);
    let waits_for_someone = findings.iter().any(is_for_somebody_at_work);
    let in_mpi = |doing: &Doing| {
        matches!(
            doing,
            Doing::InMpi(_) | Doing::Messages(_) | Doing::Collective(_) | Doing::Held
        )
    };
    let verdict = if all > 0 {
        Verdict::Deadlock
    } else if waits_for_someone {
        Verdict::Waiting
    } else if waits.classes.keys().any(in_mpi) {
        Verdict::Moving
    } else {
        Verdict::Computing
    };
    let at_work = waits
        .classes
        .iter()
        .filter(|(doing, _)| **doing != Doing::Finished);
    let quiet_ns = at_work
        .map(|(_, class)| class.shortest_ns)
        .min()
        .unwrap_or(0);
    let mut diagnosis = Diagnosis {
        verdict,
        sentence: String::new(),
        stuck: all,
        findings,
        quiet_ns,
    };
    diagnosis.sentence = sentence::of(&diagnosis, waits);
    diagnosis
}

fn is_for_somebody_at_work(finding: &Finding) -> bool {
    let works = |doing: &Doing| matches!(doing, Doing::Computing | Doing::Starting);
    match finding {
        Finding::Missing { absent, .. } => absent.iter().any(|link| works(&link.doing)),
        Finding::Unmatched { .. } => true,
        Finding::Mismatch { .. } | Finding::Cycle { .. } | Finding::Finished { .. } => false,
    }
}
