//! Examples of who waits for whom.

use invivo_proto::control::hang::*;
use invivo_proto::control::local::{Need, PendingCall, PendingOperation};
use invivo_proto::ids::{CommId, CommLocal, Rank, RegionId};

const BARRIER: CollectiveCall = CollectiveCall {
    comm: CommId {
        leader: Rank(300),
        counter: 2,
    },
    ordinal: 17,
    region: RegionId(9),
    root: -1,
    shared: 3,
};

const THREADS: Threads = Threads {
    in_mpi: 1,
    outside: 2,
    may_go_on: true,
};

const RECEIVE: Operation = Operation {
    waited: true,
    side: Side::Recv,
    peer: Partner::Rank(Rank(3)),
    comm: CommId::WORLD,
    tag: 99,
};

/// What some ranks wait for.
pub fn hang() -> Hang {
    let class = |rank, site: Option<&str>| RankClass {
        ranks: 1,
        named: vec![Rank(rank)],
        shortest_ns: 31_000_000_000,
        longest_ns: 32_000_000_000,
        site: site.map(|site| (Rank(rank), site.to_owned())),
    };
    let receives = Doing::Messages(RegionId(2));
    Hang {
        classes: [
            (Doing::Computing, class(3, None)),
            (receives, class(2, Some("solve.c:42"))),
            (Doing::Collective(BARRIER), class(1, None)),
        ]
        .into(),
        pending: vec![Pending {
            rank: Rank(2),
            doing: receives,
            since_ns: 31_000_000_000,
            quiet_ns: 30_000_000_000,
            threads: THREADS,
            any: false,
            operations: vec![
                RECEIVE,
                Operation {
                    waited: false,
                    side: Side::Send,
                    peer: Partner::Any,
                    ..RECEIVE
                },
                Operation {
                    side: Side::Collective {
                        ordinal: 17,
                        region: RegionId(300),
                        root: 2,
                    },
                    ..RECEIVE
                },
                Operation {
                    side: Side::Window { shared: 1 },
                    ..RECEIVE
                },
            ],
            more_operations: true,
            passed: [(CommId::WORLD, 12)].into(),
            passed_shared: [((CommId::WORLD, MAKING), 2)].into(),
            locked: vec![(CommId::WORLD, 1, Rank(3))],
            site: Some("solve.c:42".into()),
        }],
        ranks: 3,
        watched: 1,
    }
}

fn link(rank: u32, doing: Doing) -> Link {
    Link {
        rank: Rank(rank),
        doing,
        since_ns: 31_000_000_000,
        site: Some("solve.c:42".into()),
        operation: Some(RECEIVE),
        waits_for: Some(Rank(3)),
        threads: THREADS,
    }
}

/// What follows from it, with a finding of each kind.
pub fn diagnosis() -> Diagnosis {
    let called = Called {
        collective: BARRIER,
        ranks: 1,
        named: vec![Rank(1)],
        site: None,
    };
    let waits = link(2, Doing::Messages(RegionId(2)));
    Diagnosis {
        verdict: Verdict::Deadlock,
        sentence: "deadlock: rank 2 waits".into(),
        stuck: 2,
        findings: vec![
            Finding::Mismatch {
                calls: vec![called.clone()],
            },
            Finding::Cycle {
                links: vec![waits.clone()],
                length: 2,
            },
            Finding::Finished {
                link: waits.clone(),
                ranks: 1,
            },
            Finding::Missing {
                called,
                missing: 1,
                absent: vec![link(3, Doing::InMpi(RegionId(16)))],
            },
            Finding::Unmatched {
                link: waits,
                ranks: 1,
            },
        ],
        quiet_ns: 31_000_000_000,
    }
}

/// What a supervisor saw.
pub fn seen() -> PendingCall {
    PendingCall {
        entered_at: 1_000_000,
        location: 2,
        region: RegionId(9),
        unmoved_ns: Some(1_500_000_000),
        threads: THREADS,
        need: Need::Collective {
            comm: CommLocal(2),
            ordinal: 17,
            root: 0,
            shared: 0,
        },
        operations: vec![PendingOperation {
            waited: false,
            side: Side::Probe,
            peer: -2,
            comm: CommLocal::WORLD,
            tag: -2,
        }],
        more_operations: true,
        passed: vec![(CommLocal::WORLD, 12)],
        passed_shared: vec![(CommLocal::WORLD, 1, 7)],
        locked: vec![(CommLocal::WORLD, 1, 3)],
        site: Some("solve.c:42".into()),
    }
}
