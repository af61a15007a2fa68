//! Analyses that are switched while the job runs. Ticks are ns of the place.

use super::*;
use invivo_proto::control::analyses::{AnalysesStatus, Analysis, AnalysisSet};
use invivo_proto::control::peer::{Clipping, Endpoints, SendEndpoint};
use invivo_proto::control::results::{FunctionStats, Messages};
use invivo_proto::control::wait_states::WaitState;
use invivo_proto::ids::{CommId, SiteId};
use invivo_proto::record::RecordKind;

const MESSAGES: AnalysisSet = AnalysisSet::of(Analysis::Messages);

fn call(kind: RecordKind, peer: i32, begin_ms: u64, end_ms: u64) -> Call {
    Call {
        facts: Facts {
            kind,
            region: RegionId(3),
            peer,
            tag: 5,
            bytes_out: 8,
            bytes_in: 8,
            ..Facts::default()
        },
        end: end_ms * MS,
        duration: (end_ms - begin_ms) * MS,
        ..Call::default()
    }
}

fn asked(scene: &mut Scene, query: Query) -> Partial {
    scene.down(Down::Query {
        wave: WaveId(7),
        query,
    });
    match scene.said().pop() {
        Some(Up::Partial { partial, .. }) => partial,
        other => panic!("no answer but {other:?}"),
    }
}

fn row(scene: &mut Scene) -> Option<FunctionStats> {
    match asked(
        scene,
        Query::Functions {
            rank_rows_max: 0,
            past: None,
        },
    ) {
        Partial::Functions(table) => table.rows.get(&RegionId(3)).copied(),
        other => panic!("no table but {other:?}"),
    }
}

fn messages(scene: &mut Scene) -> Messages {
    match asked(scene, Query::Messages { past: None }) {
        Partial::Messages(messages) => *messages,
        other => panic!("no messages but {other:?}"),
    }
}

fn status(scene: &mut Scene) -> AnalysesStatus {
    match asked(scene, Query::Analyses) {
        Partial::Analyses(status) => *status,
        other => panic!("no status but {other:?}"),
    }
}

fn sent_in_matrix(scene: &mut Scene) -> u64 {
    match asked(
        scene,
        Query::Matrix {
            side_max: 4,
            past: None,
        },
    ) {
        Partial::Matrix(matrix) => matrix.sent.values().map(|sent| sent.messages).sum(),
        other => panic!("no matrix but {other:?}"),
    }
}

/// Ranks 0 and 1 of this place, 2 and 3 of the next; all analyses are on.
fn scene() -> (Scene, [(OneSupervisor, Writer); 2]) {
    let mut scene = Scene::in_layout("4:2,8:tail", 4);
    scene.begin(JobInfo {
        recording: true,
        ..JobInfo::default()
    });
    let ranks = [0, 1].map(|rank| scene.attach(rank));
    scene.step(1);
    (scene, ranks)
}

fn switch(scene: &mut Scene, id: u64, these: AnalysisSet, on: bool, at_ms: u64) {
    let at_ns = job(at_ms);
    scene.command(id, Verb::Analyses { these, on, at_ns });
}

fn acks(said: Vec<Up>) -> Vec<(u64, u32)> {
    let of = |up| match up {
        Up::Ack { command, acks } => Some((command.0, acks.done)),
        _ => None,
    };
    said.into_iter().filter_map(of).collect()
}

/// However late records come, a call counts where it ends, and of one that was under way when its
/// analysis was switched on the part behind.
#[test]
fn a_call_counts_where_it_ends() {
    on_both_sides(|| {
        let (mut scene, [(_first, mut sender), _second]) = scene();
        switch(&mut scene, 1, AnalysisSet::ALL, false, 100);
        switch(&mut scene, 2, AnalysisSet::ALL, true, 200);
        assert_eq!(acks(scene.step(50)), []);
        assert_eq!(acks(scene.step(50)), [(1, 2)]);
        assert_eq!(acks(scene.step(200)), [(2, 2)]);
        sender.open();
        for (begin, end) in [(10, 20), (90, 110), (150, 160), (190, 210), (250, 260)] {
            sender.call(&call(RecordKind::Send, 1, begin, end), &[]);
        }
        scene.step(200);
        let row = row(&mut scene).expect("calls");
        assert_eq!(
            (row.time.count, row.time.sum_ns, row.clipped),
            (3, 30 * MS, 1)
        );
        assert_eq!(sent_in_matrix(&mut scene), 3);
        assert_eq!(messages(&mut scene).sent.messages, 3);
        let status = status(&mut scene);
        for one in &status.of {
            assert_eq!((one.on, one.off, one.since_ns), (2, 0, job(200)));
            assert_eq!(one.gaps.last, [(job(100), job(200))]);
        }
    });
}

/// What is off counts nothing, and the buffers keep all of it.
#[test]
fn what_is_off_only_keeps_buffers() {
    let mut scene = Scene::before();
    scene.down(Down::Analyses(AnalysisSet::NONE));
    scene.begin_with_usual(JobInfo {
        recording: true,
        ..JobInfo::default()
    });
    let (_supervisor, mut writer) = scene.attach(0);
    writer.open();
    writer.call(&call(RecordKind::Send, 1, 10, 20), &[]);
    scene.step(200);
    assert_eq!((row(&mut scene), sent_in_matrix(&mut scene)), (None, 0));
    let status = status(&mut scene);
    assert!(status.of.iter().all(|one| one.gaps.last == [(0, u64::MAX)]));
    assert_eq!(scene.place.local.coverage(scene.now).ledger.kept, 1);
    // The status knows the time in MPI all the same.
    let named = scene.status().named;
    assert_eq!(named.last().unwrap().mpi_ns, 10 * MS);
}

/// Matching begins anew: what waits from an earlier interval finds nothing any more, and neither
/// does a send that began before the switch.
#[test]
fn nothing_is_matched_across_a_switch() {
    on_both_sides(|| {
        let (mut scene, [(_first, mut sender), (_second, mut receiver)]) = scene();
        sender.open();
        receiver.open();
        sender.call(&call(RecordKind::Send, 1, 10, 11), &[]);
        scene.step(200);
        switch(&mut scene, 1, MESSAGES, false, 250);
        switch(&mut scene, 2, MESSAGES, true, 300);
        sender.call(&call(RecordKind::Send, 1, 299, 301), &[]);
        receiver.call(&call(RecordKind::Recv, 0, 302, 303), &[]);
        receiver.call(&call(RecordKind::Recv, 0, 304, 305), &[]);
        sender.call(&call(RecordKind::Send, 1, 310, 311), &[]);
        receiver.call(&call(RecordKind::Recv, 0, 312, 313), &[]);
        scene.step(300);
        let messages = messages(&mut scene);
        assert_eq!(messages.matched.messages, 1);
        assert_eq!(messages.transfer.sum_ns, 3 * MS);
        assert_eq!(
            (messages.unmatched.cut, messages.unmatched.missing),
            (1, 3),
            "{messages:?}"
        );
    });
}

/// A receiver waits from 100 to 130 ms for a message, and then takes another one that was sent at
/// 110.
fn wrong_order(sender: &mut Writer, receiver: &mut Writer) {
    let tagged = |tag, call: Call| Call {
        facts: Facts { tag, ..call.facts },
        ..call
    };
    sender.open();
    receiver.open();
    sender.call(&tagged(6, call(RecordKind::Send, 1, 110, 111)), &[]);
    sender.call(&tagged(5, call(RecordKind::Send, 1, 130, 131)), &[]);
    receiver.call(&tagged(5, call(RecordKind::Recv, 0, 100, 135)), &[]);
    receiver.call(&tagged(6, call(RecordKind::Recv, 0, 140, 141)), &[]);
}

/// How long was waited in a wait state, in ns.
fn waited_ns(scene: &mut Scene, state: WaitState) -> u64 {
    let query = Query::WaitStates {
        ranks_max: 9,
        past: None,
    };
    match asked(scene, query) {
        Partial::WaitStates(waits) => {
            let kinds = waits.kinds.iter().filter(|((of, _), _)| *of == state);
            kinds.map(|(_, waited)| waited.ns).sum()
        }
        other => panic!("no waits but {other:?}"),
    }
}

/// What of the order of messages was not looked at until then.
#[test]
fn a_wrong_order_is_told_before_a_switch() {
    for analysis in [Analysis::Messages, Analysis::WaitStates] {
        let (mut scene, [(_first, mut sender), (_second, mut receiver)]) = scene();
        wrong_order(&mut sender, &mut receiver);
        scene.step(200);
        switch(&mut scene, 1, AnalysisSet::of(analysis), false, 250);
        switch(&mut scene, 2, AnalysisSet::of(analysis), true, 300);
        scene.step(200);
        let ns = waited_ns(&mut scene, WaitState::LateSenderWrongOrder);
        assert_eq!(ns, 30 * MS, "{analysis:?}");
    }
}

/// Where messages are matched from the start, and nobody asked for waits.
#[test]
fn nobody_waits_where_wait_states_are_off() {
    for (on, ns) in [(AnalysisSet::ALL, 30 * MS), (MESSAGES, 0)] {
        let mut scene = Scene::before();
        scene.down(Down::Analyses(on));
        scene.begin_with_usual(JobInfo {
            recording: true,
            ..JobInfo::default()
        });
        let (_first, mut sender) = scene.attach(0);
        let (_second, mut receiver) = scene.attach(1);
        scene.step(1);
        wrong_order(&mut sender, &mut receiver);
        scene.step(200);
        assert_eq!(messages(&mut scene).late_sender.sum_ns, 30 * MS);
        assert_eq!(waited_ns(&mut scene, WaitState::LateSender), ns);
    }
}

/// Another place may be heard of before time has passed the switch here.
#[test]
fn sends_of_other_places_may_come_early() {
    on_both_sides(|| {
        let (mut scene, [_first, (_second, mut receiver)]) = scene();
        switch(&mut scene, 1, MESSAGES, false, 50);
        scene.step(60);
        switch(&mut scene, 2, MESSAGES, true, 100);
        let send = SendEndpoint {
            sender: Rank(2),
            destination: Rank(1),
            comm: CommId::WORLD,
            source: 3,
            tag: 5,
            bytes: 8,
            begin_ns: job(110),
            end_ns: job(111),
            posted: 0,
            epoch: 0,
            region: RegionId(0),
            site: SiteId::NONE,
            clipping: Clipping::Whole,
        };
        let endpoints = Endpoints::new(WorldRank(5), 0, vec![send]);
        scene.place.peer(WorldRank(5), &encode(&endpoints).unwrap());
        receiver.open();
        receiver.call(&call(RecordKind::Recv, 3, 112, 113), &[]);
        scene.step(200);
        let messages = messages(&mut scene);
        assert_eq!(messages.matched.messages, 1, "{messages:?}");
    });
}

/// Behind the end of the measurement nothing is switched any more.
#[test]
fn a_switch_behind_the_shutdown_is_refused() {
    let (mut scene, _ranks) = scene();
    scene.command(1, Verb::Shutdown);
    scene.step(10);
    switch(&mut scene, 2, MESSAGES, false, 50);
    assert_eq!(acks(scene.said()), [(2, 0)]);
    scene.step(100);
    assert_eq!(status(&mut scene).of[Analysis::Messages as usize].on, 2);
}
