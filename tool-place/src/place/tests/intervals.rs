//! Tables of a part of the run. Ticks are ns of the place.

use super::recorded::call;
use super::*;
use invivo_analysis::history::PIECE_NS;
use invivo_proto::control::profile::Past;
use invivo_proto::control::results::FunctionTable;
use invivo_proto::control::wait_states::WaitStates;
use invivo_proto::record::RecordKind;

/// Where pieces of the run end, in ms.
const PIECE_MS: u64 = PIECE_NS / MS;

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

fn table(scene: &mut Scene, past: Option<(u64, u64)>) -> FunctionTable {
    let past = past.map(|(from_ms, to_ms)| Past {
        from_ns: job(from_ms),
        to_ns: job(to_ms),
    });
    let query = Query::Functions {
        rank_rows_max: 10,
        past,
    };
    match asked(scene, query) {
        Partial::Functions(table) => table,
        other => panic!("no table but {other:?}"),
    }
}

/// Calls, and the longest of them in ms.
fn calls(table: &FunctionTable) -> (u64, u64) {
    let row = table.rows.get(&RegionId(3));
    row.map_or((0, 0), |row| (row.time.count, row.time.max_ns / MS))
}

/// Calls of which the duration is known by its bin, and the bin of the longest: the least ms of it.
fn distributed(table: &FunctionTable) -> (u64, u64) {
    let of = table.distributions.get(&RegionId(3));
    of.map_or((0, 0), |of| {
        let longest = of.durations.bins().last().map_or(0, |bin| bin.least / MS);
        (of.durations.count(), longest)
    })
}

/// Of which time a table is, in ms.
fn of(table: &FunctionTable) -> Option<(u64, u64)> {
    let past = table.past?;
    let ms = |ns: u64| ns.saturating_sub(job(0)) / MS;
    Some((ms(past.from_ns), ms(past.to_ns)))
}

/// The matrix has the same pieces, the first one included.
#[test]
fn a_matrix_is_of_the_same_pieces() {
    let mut scene = Scene::new();
    let _rank = run(&mut scene);
    let of = table(&mut scene, Some((0, 50))).past;
    let past = Some(Past {
        from_ns: job(0),
        to_ns: job(50),
    });
    let query = Query::Matrix { side_max: 4, past };
    let Partial::Matrix(matrix) = asked(&mut scene, query) else {
        panic!("no matrix");
    };
    assert!(of.is_some() && matrix.past == of, "{:?}", matrix.past);
    let sent = matrix.sent.values().map(|sent| sent.messages).sum::<u64>();
    assert_eq!(sent + matrix.unresolved.messages, 1, "{matrix:?}");
}

/// A call in each of three pieces of the run, the second one the longest.
fn run(scene: &mut Scene) -> (OneSupervisor, Writer) {
    let (supervisor, mut rank) = scene.attach(0);
    rank.open();
    for (begin, end) in [(100, 110), (1500, 1800), (2400, 2420)] {
        // In small steps, as time passes.
        while scene.now.ticks / MS < end {
            scene.step(2);
        }
        let mut sends = call(begin, end);
        (sends.facts.kind, sends.facts.peer) = (RecordKind::Send, 1);
        rank.call(&sends, &[]);
    }
    rank.leave();
    scene.step(80);
    (supervisor, rank)
}

#[test]
fn a_table_is_of_the_pieces_that_an_interval_touches() {
    on_both_sides(|| {
        let mut scene = Scene::new();
        let _rank = run(&mut scene);
        assert_eq!(calls(&table(&mut scene, None)), (3, 300));
        let first = table(&mut scene, Some((0, 50)));
        assert_eq!(calls(&first), (1, 10));
        let edge = of(&first).expect("a piece").1;
        assert!((PIECE_MS..PIECE_MS + 5).contains(&edge), "{edge}");
        assert_eq!(calls(&table(&mut scene, Some((2200, 2300)))), (1, 20));
        let two = table(&mut scene, Some((1900, 9000)));
        assert_eq!(calls(&two), (2, 300));
        assert_eq!(distributed(&first), (1, 9));
        assert_eq!(distributed(&two), (2, 285));
        assert_eq!(distributed(&table(&mut scene, None)), (3, 285));
        assert_eq!(of(&two), Some((edge, scene.now.ticks / MS)));
        assert_eq!(two.rank_rows.len(), 1);
        let later = table(&mut scene, Some((9000, 9100)));
        assert_eq!((calls(&later), of(&later)), ((0, 0), None));
    });
}

#[test]
fn wait_states_and_sites_are_of_the_same_pieces() {
    let mut scene = Scene::new();
    let _rank = run(&mut scene);
    let past = Some(Past {
        from_ns: job(1500),
        to_ns: job(1600),
    });
    let of = table(&mut scene, Some((1500, 1600))).past;
    let query = Query::WaitStates { ranks_max: 9, past };
    let Partial::WaitStates(waits) = asked(&mut scene, query) else {
        panic!("no waits");
    };
    assert!(waits.past.is_some() && waits.past == of);
    let nothing = WaitStates {
        ranks_max: 9,
        past: of,
        ..WaitStates::default()
    };
    assert_eq!(*waits, nothing, "nobody waited");
    let query = Query::Sites {
        rows_max: 9,
        named: false,
        past,
    };
    let Partial::Sites(sites) = asked(&mut scene, query) else {
        panic!("no sites");
    };
    assert_eq!(sites.past, of);
    let calls: u64 = sites.rows.values().map(|row| row.stats.time.count).sum();
    assert_eq!(calls, 1);
}

#[test]
fn a_reset_forgets_what_was_before() {
    let mut scene = Scene::new();
    let (_supervisor, mut rank) = run(&mut scene);
    scene.command(1, Verb::Reset { at_ns: job(2600) });
    scene.step(200);
    assert_eq!(calls(&table(&mut scene, Some((0, 2000)))), (0, 0));
    assert_eq!(of(&table(&mut scene, Some((0, 2000)))), None);
    rank.open();
    rank.call(&call(2700, 2702), &[]);
    rank.leave();
    scene.step(900);
    let left = table(&mut scene, Some((0, 9000)));
    assert_eq!(calls(&left), (1, 2));
    assert_eq!(of(&left).map(|of| of.0), Some(2600));
}
