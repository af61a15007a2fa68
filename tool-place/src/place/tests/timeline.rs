//! The last seconds: pages over the place's locations, what is open, and what is taken for them.

use super::*;
use invivo_proto::control::buffers::Cursor;
use invivo_proto::control::results::Group;
use invivo_proto::control::timeline::{Timeline, TimelinePosition};
use invivo_proto::definition::{Definition, Run};
use invivo_proto::ids::{CommId, CommLocal, LocationId, Rank};
use invivo_proto::record::RecordKind;

fn call(number: u64) -> Call {
    Call {
        facts: Facts {
            kind: RecordKind::Send,
            region: RegionId(1),
            comm: CommLocal::WORLD,
            peer: 1,
            tag: number as i32,
            ..Facts::default()
        },
        end: (1 + number) * 1000,
        duration: 10,
        ..Call::default()
    }
}

fn position(rank: u32) -> TimelinePosition {
    TimelinePosition::of(rank, u32::MAX).unwrap()
}

fn page(
    scene: &mut Scene,
    from: TimelinePosition,
    job_ns: std::ops::Range<u64>,
    newest: u64,
    max: u32,
) -> Timeline {
    scene.down(Down::Query {
        wave: WaveId(8),
        query: Query::Timeline {
            from,
            from_ns: job_ns.start,
            to_ns: job_ns.end,
            newest,
            max,
        },
    });
    match scene.said().pop() {
        Some(Up::Partial {
            partial: Partial::Timeline(last),
            ..
        }) => last,
        other => panic!("no page but {other:?}"),
    }
}

/// All pages: the tags by rank, and how many pages there were.
fn all(
    scene: &mut Scene,
    job_ns: std::ops::Range<u64>,
    newest: u64,
    max: u32,
) -> (Vec<(u32, i32)>, usize) {
    let (mut tags, mut pages) = (Vec::new(), 0);
    let mut from = Some(position(0));
    while let Some(at) = from {
        let last = page(scene, at, job_ns.clone(), newest, max);
        let rows = last
            .pieces
            .iter()
            .map(|piece| piece.rows.len())
            .sum::<usize>();
        assert!(rows <= max as usize, "{rows} rows");
        for piece in &last.pieces {
            tags.extend(
                piece
                    .rows
                    .iter()
                    .map(|row| (piece.location.rank.0, row.facts.tag)),
            );
        }
        pages += 1;
        from = at.behind(&last, 2);
    }
    (tags, pages)
}

#[test]
fn pages_give_every_call_of_every_rank_once() {
    let mut scene = Scene::new();
    let (_zero, mut first) = scene.attach(0);
    let (_one, mut second) = scene.attach(1);
    for (rank, writer) in [&mut first, &mut second].into_iter().enumerate() {
        assert!(writer.open());
        (0..5).for_each(|number| writer.call(&call(10 * rank as u64 + number), &[]));
    }
    scene.step(20);
    let expected: Vec<(u32, i32)> = (0..2)
        .flat_map(|rank| (0..5).map(move |number| (rank, 10 * rank as i32 + number)))
        .collect();
    for (max, pages) in [(100, 1), (3, 4), (1, 10)] {
        assert_eq!(
            all(&mut scene, 0..u64::MAX, u64::MAX, max),
            (expected.clone(), pages)
        );
    }
    // The newest two of each; those that ended at 3 µs or later and began before 4 µs.
    assert_eq!(
        all(&mut scene, 0..u64::MAX, 2, 100).0,
        [(0, 3), (0, 4), (1, 13), (1, 14)]
    );
    assert_eq!(
        all(&mut scene, job(0) + 3000..job(0) + 4000, u64::MAX, 100).0,
        [(0, 2), (0, 3)]
    );
    // What the wrong place is asked for.
    assert_eq!(
        page(&mut scene, position(7), 0..u64::MAX, 1, 1),
        Timeline::default()
    );
}

#[test]
fn what_is_left_out_is_counted_and_peers_have_names() {
    let mut scene = Scene::new();
    let (_supervisor, mut writer) = scene.attach(0);
    assert!(writer.open());
    (0..5).for_each(|number| writer.call(&call(number), &[]));
    scene.step(20);
    let last = page(&mut scene, position(0), 0..u64::MAX, 2, 100);
    let piece = &last.pieces[0];
    assert_eq!(
        (piece.left_out, piece.counters.kept, piece.is_complete),
        (3, 5, true)
    );
    assert_eq!(piece.peers.get(&(CommLocal::WORLD, 1)), Some(&Rank(1)));
    assert_eq!(
        piece.comms.get(&CommLocal::WORLD).map(|member| member.rank),
        Some(0)
    );
    // A rank that is not there has a piece all the same.
    assert_eq!(last.pieces[1].location.rank, Rank(1));
    assert_eq!(last.pieces[1].state, RankState::Starting);
    // A position behind the first call of a location.
    let from = TimelinePosition {
        location: LocationId {
            rank: Rank(0),
            thread: 0,
        },
        after: Some(Cursor {
            end_ticks: 4000,
            given: 1,
        }),
    };
    let rest = page(&mut scene, from, 0..u64::MAX, u64::MAX, 100);
    assert_eq!(rest.pieces[0].rows.len(), 1);
}

/// The call that a rank is in is open and what it wrote just now is there.
#[test]
fn open_calls_and_fresh_records_are_in_the_page() {
    let mut scene = Scene::new();
    let (_supervisor, mut writer) = scene.attach(0);
    scene.step(1);
    assert!(writer.open());
    writer.call(&call(0), &[]);
    writer.enter(2, 5000);
    // No step: nothing has been taken yet.
    let last = page(&mut scene, position(0), 0..u64::MAX, u64::MAX, 100);
    let piece = &last.pieces[0];
    assert_eq!(piece.rows.len(), 1);
    let open = piece.open.expect("an open call");
    assert_eq!((open.region, open.begin_ticks), (RegionId(2), 5000));
    // It began behind the end that is asked for.
    let before = page(&mut scene, position(0), 0..job(0) + 4000, u64::MAX, 100);
    assert_eq!(before.pieces[0].open, None);
}

#[test]
fn a_rank_that_aborted_is_in_that_call() {
    let mut scene = Scene::new();
    let (_supervisor, mut writer) = scene.attach(0);
    scene.step(1);
    assert!(writer.open());
    writer.call(&call(0), &[]);
    // As the shim does it: the page names the call, and the thread is not in MPI, as nobody counts
    // it.
    let status = &writer.page().status[0];
    status.entered_at.store(6000, Ordering::Release);
    status.region.store(ABORT.0.into(), Ordering::Release);
    writer
        .page()
        .phase
        .store(phase::ABORTING, Ordering::Release);
    let last = page(&mut scene, position(0), 0..u64::MAX, u64::MAX, 100);
    let open = last.pieces[0].open.expect("an open call");
    assert_eq!((open.region, open.begin_ticks), (ABORT, 6000));
    assert_eq!(
        last.pieces[0].ledger.open, 0,
        "it is no call that was counted"
    );
}

/// A location goes from thread to thread, in one packet and from packet to packet.
#[test]
fn calls_of_one_occupant_are_told_from_the_next() {
    let mut scene = Scene::new();
    let (_supervisor, mut writer) = scene.attach(0);
    assert!(writer.open());
    writer.call(&call(0), &[]);
    writer.occupy(1, 70);
    writer.call(&call(1), &[]);
    // Between two looks, so that the place finds nothing but the next thread's number.
    scene.step(200);
    writer.occupy(2, 71);
    scene.step(200);
    writer.call(&call(2), &[]);
    writer.leave();
    scene.step(20);
    assert!(writer.open());
    writer.occupy(300, 72);
    writer.call(&call(3), &[]);
    writer.enter(2, 6000);
    scene.step(20);

    let last = page(&mut scene, position(0), 0..u64::MAX, u64::MAX, 100);
    let piece = &last.pieces[0];
    let rows: Vec<(i32, u32)> = piece
        .rows
        .iter()
        .map(|row| (row.facts.tag, row.occupant))
        .collect();
    assert_eq!(rows, [(0, 0), (1, 1), (2, 2), (3, 300)]);
    assert_eq!(piece.open.map(|open| open.occupant), Some(300));
    let ledger = piece.ledger;
    assert_eq!((ledger.entered, ledger.kept, ledger.open), (5, 4, 1));
}

#[test]
fn a_page_waits_once_for_whom_it_is_about() {
    let mut scene = Scene::new();
    let (_zero, mut first) = scene.attach(0);
    let _other = scene.attach(1);
    // Nobody asks for groups of itself for a quarter of a second.
    scene.step(300);
    scene.said();
    let id = |counter| CommId {
        leader: Rank(1),
        counter,
    };
    for number in [5, 6] {
        first.define(&Definition::Communicator {
            local: CommLocal(number),
            id: id(number),
            rank: 1,
            size: 2,
            remote: None,
        });
    }
    assert!(first.open());
    for number in [5, 6] {
        let mut send = call(u64::from(number));
        send.facts.comm = CommLocal(number);
        send.facts.peer = 0;
        first.call(&send, &[]);
    }
    let query = Query::Timeline {
        from: position(0),
        from_ns: 0,
        to_ns: u64::MAX,
        newest: u64::MAX,
        max: 10,
    };
    let wave = WaveId(8);
    scene.down(Down::Query { wave, query });
    assert_eq!(scene.said(), [Up::WantGroups(vec![id(5), id(6)])]);
    let members = Run {
        first: Rank(1),
        stride: -1,
        count: 2,
    };
    let group = Group {
        pieces: [(0, vec![members])].into(),
    };
    scene.down(Down::Groups([(id(5), group)].into()));
    assert_eq!(scene.step(1), [], "another is expected");
    let answers = scene.step(LATENCY_NS / MS);
    let [
        Up::Partial {
            partial: Partial::Timeline(page),
            ..
        },
    ] = &answers[..]
    else {
        panic!("no page but {answers:?}");
    };
    let peers = &page.pieces[0].peers;
    assert_eq!(peers.get(&(CommLocal(5), 0)), Some(&Rank(1)));
    assert_eq!(peers.get(&(CommLocal(6), 0)), None);
    scene.down(Down::Query { wave, query });
    let answered = |said: &[Up]| matches!(said.last(), Some(Up::Partial { .. }));
    assert!(answered(&scene.said()), "what has not come is not expected");
}
