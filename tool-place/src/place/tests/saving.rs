//! Saves: what is held, page by page, and what lets go of it.

use super::*;
use invivo_otfx::{BinReader, Contents, Head};
use invivo_proto::control::saved::{SAVE_LEASE_NS, SaveAsk, SaveQuery, Saved, SavedPage};
use invivo_proto::control::stacks::Chosen;

fn call(number: u64) -> Call {
    Call {
        facts: Facts {
            region: RegionId(1),
            tag: number as i32,
            ..Facts::default()
        },
        end: (1 + number) * 1000,
        duration: 10,
        ..Call::default()
    }
}

fn ask(scene: &mut Scene, save: u64, ask: SaveAsk) -> Saved {
    scene.down(Down::Query {
        wave: WaveId(8),
        query: Query::Save(SaveQuery { save, ask }),
    });
    match scene.said().pop() {
        Some(Up::Partial {
            partial: Partial::Saved(saved),
            ..
        }) => *saved,
        other => panic!("no answer but {other:?}"),
    }
}

fn freeze(scene: &mut Scene, save: u64) -> Saved {
    let all = SaveAsk::Freeze {
        chosen: Chosen::ALL,
        from_ns: 0,
        to_ns: u64::MAX,
    };
    ask(scene, save, all)
}

fn page(scene: &mut Scene, save: u64, page: u64) -> SavedPage {
    let rank = Rank(1);
    let saved = ask(scene, save, SaveAsk::Page { rank, page });
    saved.page.expect("the place has the rank")
}

/// The tags of the calls in a page, with their ranks.
fn tags(page: &SavedPage) -> Vec<(u32, i32)> {
    let mut tags = Vec::new();
    for piece in &page.pieces {
        for bin in &piece.bins {
            let mut reader = BinReader::new(&bin.content).expect("a bin");
            let mut contents = Contents::default();
            while reader.next(&mut contents).expect("records") {
                if let Head::Call(call) = &contents.head {
                    tags.push((piece.location.rank.0, call.facts.tag));
                }
            }
        }
    }
    tags
}

/// Two ranks with calls that are taken.
fn recorded() -> (Scene, Vec<(OneSupervisor, Writer)>) {
    let mut scene = Scene::new();
    let mut ranks: Vec<_> = (0..2).map(|rank| scene.attach(rank)).collect();
    for (rank, (_, writer)) in ranks.iter_mut().enumerate() {
        assert!(writer.open());
        (0..5).for_each(|number| writer.call(&call(10 * rank as u64 + number), &[]));
    }
    scene.step(20);
    (scene, ranks)
}

fn expected() -> Vec<(u32, i32)> {
    let of = |rank: u32| (0..5).map(move |number| (rank, 10 * rank as i32 + number));
    (0..2).flat_map(of).collect()
}

#[test]
fn a_save_gives_what_was_there_when_it_began() {
    let (mut scene, mut ranks) = recorded();
    let saved = freeze(&mut scene, 7);
    assert_eq!((saved.locations, saved.busy), (2, 0));
    assert!(saved.bytes > 0);
    // What comes later is not part of it.
    ranks[0].1.call(&call(99), &[]);
    scene.step(200);
    let first = page(&mut scene, 7, 0);
    assert_eq!(tags(&first), expected());
    assert!(first.is_last && !first.host.is_empty());
    for piece in &first.pieces {
        let about = piece.about.as_ref().expect("with its first piece");
        assert!(piece.is_complete && !piece.is_cut);
        assert_eq!(about.piece.counters.kept, 5);
        assert!(about.clock.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert!(about.piece.comms.len() >= 2, "the world, and itself");
    }
    // An answer may be lost on its way: the same page again.
    assert_eq!(page(&mut scene, 7, 0), first);
    ask(&mut scene, 7, SaveAsk::Thaw);
    // The next one has it all.
    freeze(&mut scene, 8);
    assert_eq!(tags(&page(&mut scene, 8, 0)).len(), 11);
}

/// A place that was descheduled takes calls from behind its idea of the time: a pause that comes
/// next takes nothing from them, live or saved.
#[test]
fn a_pause_begins_behind_calls_that_are_counted() {
    const REAL_MS: u64 = 230;
    let mut scene = Scene::new();
    let (_supervisor, mut rank) = scene.attach(0);
    scene.place.read_time_by(|| Now {
        ns: START_NS + REAL_MS * MS,
        ticks: REAL_MS * MS,
    });
    scene.step(10);
    assert!(rank.open());
    rank.call(&super::recorded::call(20, 225), &[]);
    scene.now.ns += 200 * MS;
    scene.now.ticks += 200 * MS;
    let lease_ns = 60_000 * MS;
    scene.command(1, Verb::Pause { lease_ns });
    let ranks = scene.status().named;
    let in_mpi: u64 = ranks.iter().map(|line| line.mpi_ns).sum();
    assert_eq!(in_mpi, 205 * MS);
    scene.step(100);
    freeze(&mut scene, 7);
    let first = page(&mut scene, 7, 0);
    let about = first.pieces.iter().find_map(|piece| piece.about.as_ref());
    let pauses = &about.expect("of rank 0").pauses;
    assert_eq!(pauses.first().map(|pause| pause.0), Some(job(REAL_MS)));
}

#[test]
fn there_is_one_save_at_a_time() {
    let (mut scene, _ranks) = recorded();
    freeze(&mut scene, 7);
    assert_eq!(freeze(&mut scene, 8).busy, 1);
    assert!(page(&mut scene, 8, 0).is_gone);
    // The other one does not end it.
    ask(&mut scene, 8, SaveAsk::Thaw);
    assert_eq!(tags(&page(&mut scene, 7, 0)), expected());
    ask(&mut scene, 7, SaveAsk::Thaw);
    assert_eq!(freeze(&mut scene, 8).busy, 0);
}

#[test]
fn a_save_that_is_forgotten_is_given_up() {
    let (mut scene, _ranks) = recorded();
    freeze(&mut scene, 7);
    scene.step(SAVE_LEASE_NS / MS + 1);
    assert!(page(&mut scene, 7, 0).is_gone);
    assert_eq!(freeze(&mut scene, 8).busy, 0);
}

#[test]
fn another_places_rank_is_not_answered_for() {
    let (mut scene, _ranks) = recorded();
    freeze(&mut scene, 7);
    let rank = Rank(99);
    let saved = ask(&mut scene, 7, SaveAsk::Page { rank, page: 0 });
    assert_eq!(saved.page, None);
}

#[test]
fn ranks_that_were_not_chosen_are_left_out() {
    let (mut scene, _ranks) = recorded();
    let one = SaveAsk::Freeze {
        chosen: Chosen::of(&[(Rank(1), Rank(1))]).expect("one range"),
        from_ns: 0,
        to_ns: u64::MAX,
    };
    assert_eq!(ask(&mut scene, 7, one).locations, 1);
    assert_eq!(tags(&page(&mut scene, 7, 0)), expected()[5..]);
}

/// A buffer that is reset while it is held gives what it held, and is empty.
#[test]
fn a_reset_does_not_touch_what_is_held() {
    let (mut scene, _ranks) = recorded();
    freeze(&mut scene, 7);
    scene.place.local.ranks[0].records.forget_to(1);
    assert_eq!(tags(&page(&mut scene, 7, 0)), expected());
    ask(&mut scene, 7, SaveAsk::Thaw);
    freeze(&mut scene, 8);
    assert_eq!(tags(&page(&mut scene, 8, 0)), expected()[5..]);
}
