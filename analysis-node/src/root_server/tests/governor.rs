//! The governor's questions, orders and line.

use super::*;
use crate::governor::Wanted;
use invivo_proto::control::selection::Selection;

#[test]
fn the_governor_asks_orders_and_says_what_it_did() {
    let mut scene = Scene::new();
    scene.server.governor = Governor::new(Wanted::default());
    let cap = "2%".parse().ok();
    let order = Order::Overhead { cap };
    let id = CommandId(5);
    scene.ask(1, LinkAsk::Command { id, order });
    let Answer::Command(acks) = scene.answer().answer else {
        panic!("no acknowledgement")
    };
    assert_eq!((acks.targets, acks.done), (acks.targets, acks.targets));

    let mut status = JobStatus::default();
    status.states[1] = 3;
    let mut coverage = Coverage::default();
    let mut said = Vec::new();
    let mut selected = None;
    for _ in 0..3 {
        let actions = scene.tick(500);
        let [ServerAction::Send(PLACE, Down::Query { wave, query })] = actions[..] else {
            panic!("no question but {actions:?}")
        };
        assert_eq!(query, Query::Status);
        scene.up(Up::Partial {
            wave,
            partial: Partial::Status(status.clone()),
            coverage,
            missing: Vec::new(),
        });
        coverage.overhead_ns += 900 * MS;
        coverage.overhead_regions_ns += 900 * MS;
        said.extend(scene.server.take_actions());
    }
    for action in scene.tick(1) {
        if let ServerAction::Send(PLACE, Down::Command(command)) = action {
            selected = Some(command);
        }
    }
    let [ServerAction::Print(line)] = &said[..] else {
        panic!("no line but {said:?}")
    };
    assert!(
        line.starts_with("overhead 60.0 % is above 2%: regions shorter than"),
        "{line}"
    );
    let selected = selected.expect("an order to the place");
    let Verb::Select { selection, .. } = &selected.verb else {
        panic!("{selected:?}")
    };
    assert_eq!((selection.replaces, selection.rules.len()), (true, 1));

    // Another order waits until this one is done.
    assert!(scene.server.governor.order().is_none());
    let acks = Acks {
        targets: 3,
        done: 3,
        ..Acks::default()
    };
    let command = selected.id;
    scene.up(Up::Ack { command, acks });

    // Whoever asks is told.
    scene.ask(2, LinkAsk::Query(Query::Status));
    let actions = scene.tick(1);
    let (wave, query) = Scene::waves(&actions)[0];
    scene.partial(wave, query);
    let Answer::Status(status, _) = scene.answer().answer else {
        panic!("no status")
    };
    assert_eq!(
        (status.governance.cap, status.governance.given_up.len()),
        (cap, 1)
    );
    let told = |note: &String| note.starts_with("to keep the overhead below 2%: regions shorter");
    assert!(status.notes.iter().any(told), "{:?}", status.notes);

    // A user's command overrules it, once it is done.
    let order = Order::Select(Selection {
        replaces: true,
        rules: Vec::new(),
    });
    let id = CommandId(6);
    scene.ask(3, LinkAsk::Command { id, order });
    assert_eq!(scene.server.governor.status().given_up.len(), 1, "not yet");
    let acks = Acks {
        targets: 3,
        done: 3,
        ..Acks::default()
    };
    scene.up(Up::Ack { command: id, acks });
    let status = scene.server.governor.status();
    let decided = vec!["invivo selection".to_owned()];
    assert_eq!((status.given_up.len(), status.decided), (0, decided));
}
