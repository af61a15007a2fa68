//! Pages as they come become one observation.

use super::*;

fn send(end_ns: u64, to: u32) -> v1::CallRecord {
    v1::CallRecord {
        function: "MPI_Send".into(),
        end_ns,
        duration_ns: 10,
        end_ticks: end_ns,
        duration_ticks: 10,
        facts: Some(v1::CallFacts {
            kind: "send".into(),
            comm: Some(0),
            peer: to as i32,
            tag: 3,
            bytes_out: 8,
            bytes_in: 0,
        }),
        ..v1::CallRecord::default()
    }
}

fn receive(end_ns: u64, from: u32) -> v1::CallRecord {
    let sent = send(end_ns, from);
    v1::CallRecord {
        function: "MPI_Recv".into(),
        facts: sent.facts.map(|facts| v1::CallFacts {
            kind: "receive".into(),
            ..facts
        }),
        ..sent
    }
}

fn piece(rank: u32, calls: Vec<v1::CallRecord>, complete: bool) -> v1::LocationPiece {
    let world = v1::CommName {
        leader: 0,
        counter: 0,
    };
    v1::LocationPiece {
        location: Some(v1::Location { rank, thread: 0 }),
        calls,
        complete,
        comms: vec![v1::Membership {
            comm: 0,
            name: Some(world),
            peers: Some(world),
            rank,
        }],
        peers: vec![v1::PeerRank {
            comm: 0,
            peer: 1 - rank as i32,
            rank: 1 - rank,
        }],
        state: "computing".into(),
        ..v1::LocationPiece::default()
    }
}

fn page(pieces: Vec<v1::LocationPiece>) -> v1::TimelinePage {
    v1::TimelinePage {
        from_ns: 0,
        to_ns: 1000,
        ranks: 2,
        pieces,
        clock_error_ns: 1,
        missing: Vec::new(),
    }
}

/// A location may go on over pages and messages find their other sides.
#[test]
fn a_location_spans_pages_and_messages_match() {
    let mut gathered = TimelinePages::new("j");
    gathered.add(&page(vec![piece(0, vec![send(100, 1)], false)]));
    let mut rest = piece(0, vec![send(200, 1)], true);
    rest.open = Some(v1::OpenCall {
        function: "MPI_Barrier".into(),
        begin_ns: 300,
        begin_ticks: 300,
        region: 0,
        occupant: 0,
    });
    gathered.add(&page(vec![
        rest,
        piece(1, vec![receive(150, 0), receive(250, 0)], true),
    ]));
    let of = &gathered.observation;
    assert_eq!(of.tracks.len(), 2);
    assert_eq!(of.tracks[0].calls.len(), 2);
    assert!(of.tracks.iter().all(|track| track.is_complete));
    let open = of.tracks[0].open.as_ref().expect("an open call");
    assert_eq!(
        (open.function.as_deref(), open.begin_ns),
        (Some("MPI_Barrier"), 300)
    );
    let messages = gathered.endpoints.messages(of.clock_error_ns);
    let pairs: Vec<_> = messages
        .iter()
        .map(|m| (m.send.call, m.receive.call))
        .collect();
    assert_eq!(pairs, [(0, 0), (1, 1)]);
}

#[test]
fn silent_processes_are_told_once() {
    let mut gathered = TimelinePages::new("j");
    for missing in [vec![7, 5], vec![5]] {
        gathered.add(&v1::TimelinePage {
            missing,
            ..page(Vec::new())
        });
    }
    assert_eq!(gathered.observation.missing, [5, 7]);
}
