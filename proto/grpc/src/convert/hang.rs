//! Converts the diagnosis of a hang to its message for clients.

use super::function_name;
use crate::v1;
use invivo_proto::control::hang::{
    Called, Diagnosis, Doing, Finding, Hang, Link, Operation, Partner, RankClass, Side, Verdict,
};
use invivo_proto::ids::{CommId, Rank, RegionId};
use invivo_proto::mpi::ANY_TAG;

pub fn reply(diagnosis: &Diagnosis, waits: &Hang, coverage: v1::Coverage) -> v1::HangReply {
    let verdict = match diagnosis.verdict {
        Verdict::Computing => "computing",
        Verdict::Moving => "moving",
        Verdict::Waiting => "waiting",
        Verdict::Deadlock => "deadlock",
    };
    v1::HangReply {
        coverage: Some(coverage),
        verdict: verdict.to_owned(),
        sentence: diagnosis.sentence.clone(),
        stuck: diagnosis.stuck,
        quiet_ns: diagnosis.quiet_ns,
        findings: diagnosis.findings.iter().map(finding).collect(),
        classes: waits
            .classes
            .iter()
            .map(|(doing, class)| of_class(*doing, class))
            .collect(),
        watched: waits.watched,
    }
}

fn finding(of: &Finding) -> v1::HangFinding {
    let (kind, collectives, ranks, count) = match of {
        Finding::Mismatch { calls } => (
            "mismatch",
            calls.iter().map(called).collect(),
            Vec::new(),
            calls.len() as u32,
        ),
        Finding::Cycle { links, length } => (
            "cycle",
            Vec::new(),
            links.iter().map(link).collect(),
            *length,
        ),
        Finding::Finished { link: one, ranks } => ("finished", Vec::new(), vec![link(one)], *ranks),
        Finding::Missing {
            called: what,
            missing,
            absent,
        } => (
            "missing",
            vec![called(what)],
            absent.iter().map(link).collect(),
            *missing,
        ),
        Finding::Unmatched { link: one, ranks } => {
            ("unmatched", Vec::new(), vec![link(one)], *ranks)
        }
    };
    v1::HangFinding {
        kind: kind.to_owned(),
        collectives,
        ranks,
        count,
    }
}

fn called(of: &Called) -> v1::HangCollective {
    v1::HangCollective {
        communicator: if of.collective.comm == CommId::WORLD {
            "MPI_COMM_WORLD".to_owned()
        } else {
            of.collective.comm.to_string()
        },
        // Counted from 1 for people.
        number: of.collective.ordinal + 1,
        function: function_name(of.collective.region),
        // Negative where the collective has no root.
        root: u32::try_from(of.collective.root).ok(),
        ranks: of.ranks,
        named: numbers(&of.named),
        site: of.site.clone().unwrap_or_default(),
    }
}

fn link(of: &Link) -> v1::HangRank {
    let (doing, region) = words(of.doing);
    v1::HangRank {
        rank: of.rank.0,
        doing: doing.to_owned(),
        function: function_name(region),
        since_ns: of.since_ns,
        site: of.site.clone().unwrap_or_default(),
        waits_for: of.waits_for.map(|rank| rank.0),
        message: of.operation.as_ref().map(message),
        threads_in_mpi: of.threads.in_mpi,
        threads_outside: of.threads.outside,
    }
}

fn message(of: &Operation) -> v1::HangMessage {
    let is_message = !matches!(of.side, Side::Collective { .. } | Side::Window { .. });
    let side = match of.side {
        Side::Send => "send",
        Side::Recv => "receive",
        Side::Probe => "probe",
        Side::Collective { .. } => "collective",
        Side::Window { .. } => "window",
        Side::Other => "other",
    };
    v1::HangMessage {
        side: side.to_owned(),
        peer: match of.peer {
            Partner::Rank(rank) => Some(rank.0),
            Partner::Any | Partner::Nobody | Partner::Unknown => None,
        },
        // Without a tag for receives of any.
        tag: (is_message && of.tag != ANY_TAG).then_some(of.tag),
    }
}

fn of_class(doing: Doing, class: &RankClass) -> v1::HangClass {
    let (doing, region) = words(doing);
    v1::HangClass {
        doing: doing.to_owned(),
        function: function_name(region),
        ranks: class.ranks,
        named: numbers(&class.named),
        shortest_ns: class.shortest_ns,
        longest_ns: class.longest_ns,
        site: class
            .site
            .as_ref()
            .map(|(_, site)| site.clone())
            .unwrap_or_default(),
    }
}

fn words(doing: Doing) -> (&'static str, RegionId) {
    match doing {
        Doing::Starting => ("starting", RegionId::default()),
        Doing::Computing => ("computing", RegionId::default()),
        Doing::Finished => ("finished", RegionId::default()),
        Doing::Held => ("held", RegionId::default()),
        Doing::InMpi(region) => ("in MPI", region),
        Doing::Messages(region) => ("messages", region),
        Doing::Collective(collective) => ("collective", collective.region),
    }
}

fn numbers(ranks: &[Rank]) -> Vec<u32> {
    ranks.iter().map(|rank| rank.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_proto::control::hang::{CollectiveCall, Threads};

    #[test]
    fn a_finding_names_functions_communicators_and_sites() {
        let collective = CollectiveCall {
            comm: CommId::led(Rank(3), 2).unwrap(),
            ordinal: 16,
            region: RegionId(9),
            root: -1,
            shared: 0,
        };
        let absent = Link {
            rank: Rank(2),
            doing: Doing::InMpi(RegionId(2)),
            since_ns: 5,
            site: None,
            operation: Some(Operation {
                waited: true,
                side: Side::Recv,
                peer: Partner::Any,
                comm: CommId::WORLD,
                tag: ANY_TAG,
            }),
            waits_for: None,
            threads: Threads::default(),
        };
        let called = Called {
            collective,
            ranks: 3,
            named: vec![Rank(0), Rank(1), Rank(3)],
            site: Some("a.c:7".into()),
        };
        let diagnosis = Diagnosis {
            verdict: Verdict::Waiting,
            sentence: "it waits".into(),
            findings: vec![Finding::Missing {
                called,
                missing: 1,
                absent: vec![absent],
            }],
            ..Diagnosis::default()
        };
        let reply = reply(&diagnosis, &Hang::default(), v1::Coverage::default());
        assert_eq!(
            (reply.verdict.as_str(), reply.sentence.as_str()),
            ("waiting", "it waits")
        );
        let finding = &reply.findings[0];
        assert_eq!((finding.kind.as_str(), finding.count), ("missing", 1));
        let collective = &finding.collectives[0];
        assert_eq!(
            (
                collective.communicator.as_str(),
                collective.function.as_str(),
                collective.number
            ),
            ("3.2", "MPI_Barrier", 17)
        );
        assert_eq!(
            (collective.root, collective.named.as_slice()),
            (None, &[0, 1, 3][..])
        );
        assert_eq!(collective.site, "a.c:7");
        let rank = &finding.ranks[0];
        assert_eq!(
            (rank.rank, rank.doing.as_str(), rank.function.as_str()),
            (2, "in MPI", "MPI_Recv")
        );
        let message = rank.message.as_ref().expect("a message");
        assert_eq!(
            (message.side.as_str(), message.peer, message.tag),
            ("receive", None, None)
        );
    }
}
