//! The watchdog's questions and the line that it prints.

use super::*;

#[test]
fn the_watchdog_asks_and_says_what_it_found() {
    use invivo_proto::control::hang::{Doing, Hang, Pending};
    use invivo_proto::ids::RegionId;
    let mut scene = Scene::new();
    scene.server = scene.server.watched_by(Watchdog::new(0, 4000 * MS));
    let stands = |rank| Pending {
        rank: Rank(rank),
        doing: Doing::Messages(RegionId(2)),
        since_ns: 5000 * MS,
        quiet_ns: 5000 * MS,
        threads: Default::default(),
        any: true,
        operations: Vec::new(),
        more_operations: true,
        passed: BTreeMap::new(),
        passed_shared: BTreeMap::new(),
        locked: Vec::new(),
        site: None,
    };
    let mut waits = Hang::default();
    (0..3).for_each(|rank| invivo_analysis::hang::add_pending(&mut waits, stands(rank)));
    let mut said = Vec::new();
    for _ in 0..3 {
        let actions = scene.tick(4000);
        let [ServerAction::Send(PLACE, Down::Query { wave, query })] = actions[..] else {
            panic!("no question but {actions:?}")
        };
        assert_eq!(
            query,
            Query::Hang {
                older_ns: 4000 * MS
            }
        );
        scene.up(Up::Partial {
            wave,
            partial: Partial::Hang(Box::new(waits.clone())),
            coverage: Coverage::default(),
            missing: Vec::new(),
        });
        said.extend(scene.server.take_actions());
    }
    let line = "no progress for 5.0 s: nobody is known to wait in vain: 3 ranks are in MPI_Recv";
    assert_eq!(said, [ServerAction::Print(line.into())]);
    // Whoever asks is told the same.
    scene.ask(1, LinkAsk::Query(Query::Hang { older_ns: 7 }));
    let actions = scene.tick(1);
    let Some(ServerAction::Send(_, Down::Query { wave, .. })) = actions.first() else {
        panic!("no question but {actions:?}")
    };
    scene.up(Up::Partial {
        wave: *wave,
        partial: Partial::Hang(Box::new(waits.clone())),
        coverage: Coverage::default(),
        missing: Vec::new(),
    });
    let Answer::Hang(found, _) = scene.answer().answer else {
        panic!("no answer")
    };
    assert!(line.ends_with(&found.0.sentence), "{}", found.0.sentence);
    assert_eq!(found.1, waits);
}
