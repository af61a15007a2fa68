//! Makes the diagnosis of a hang from the pending calls: verdict, findings, and a sentence.
//!
//! The wait-for graph has the ranks whose calls are known in full; all others are taken for ranks
//! that may still come.

use super::surroundings::Surroundings;
use super::wait_for_graph::WaitGraph;
use super::{deadlock_search, sentence};
use alloc::string::String;
use alloc::vec::Vec;
use invivo_proto::control::hang::{Diagnosis, Doing, FINDINGS_MAX, Finding, Hang, Verdict};

/// Returns the verdict, the findings and the sentence for a merged answer.
pub fn explain(waits: &Hang, around: &Surroundings<'_>) -> Diagnosis {
    let graph = WaitGraph::new(waits, around, false);
    let mut findings = Vec::new();
    let all = in_vain(&graph, waits, &mut findings);
    let mut is_for_threads = false;
    if all == 0 {
        // Other threads may do what these ranks wait for; if they do not, this is why.
        let of_idle = WaitGraph::new(waits, around, true);
        is_for_threads = in_vain(&of_idle, waits, &mut findings) > 0;
        graph.missing(&mut findings);
        graph.unmatched(&mut findings);
    }

    findings.truncate(FINDINGS_MAX);
    let waits_for_someone = is_for_threads || findings.iter().any(is_for_somebody_at_work);
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

    // A rank that has finished is quiet for ever and would say nothing about the others.
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

/// How many ranks can never go on, by a graph, and why.
fn in_vain(graph: &WaitGraph<'_>, waits: &Hang, findings: &mut Vec<Finding>) -> u32 {
    let stuck = deadlock_search::stuck(&graph.nodes);
    // Pending calls are the first nodes; those behind them are helpers of the graph and no ranks.
    let all = (0..waits.pending.len()).filter(|at| stuck[*at]).count() as u32;
    if all > 0 {
        // The order matters: the first finding becomes the sentence.
        graph.mismatches(&stuck, findings);
        graph.gone(&stuck, findings);
        graph.cycles(&stuck, findings);
    }
    all
}

fn is_for_somebody_at_work(finding: &Finding) -> bool {
    let works = |doing: &Doing| matches!(doing, Doing::Computing | Doing::Starting);
    match finding {
        Finding::Missing { absent, .. } => absent.iter().any(|link| works(&link.doing)),
        Finding::Unmatched { .. } => true,
        Finding::Mismatch { .. } | Finding::Cycle { .. } | Finding::Finished { .. } => false,
    }
}
