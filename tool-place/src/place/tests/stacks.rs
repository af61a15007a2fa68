//! Where ranks are: asked of their supervisors as addresses, named once for all of them.

use super::*;
use invivo_proto::control::local::{Module, Named, OFFSETS_MAX, Step, UnwoundThread};
use invivo_proto::control::stacks::{Chosen, Frame, Stacks, UnstoppedReason, Way};

fn ask_of(scene: &mut Scene, chosen: Chosen) {
    scene.down(Down::Query {
        wave: WaveId(3),
        query: Query::Stacks {
            chosen,
            threads: false,
        },
    });
}

fn ask(scene: &mut Scene) {
    ask_of(scene, Chosen::ALL);
}

fn answer(said: Vec<Up>) -> Option<Stacks> {
    said.into_iter().find_map(|up| match up {
        Up::Partial {
            wave: WaveId(3),
            partial: Partial::Stacks(stacks),
            ..
        } => Some(*stacks),
        _ => None,
    })
}

fn app() -> Module {
    Module {
        path: "/home/user/app".into(),
        build_id: vec![7; 20],
    }
}

/// A path through the program, where the thread is first.
fn at(offsets: &[u64]) -> UnwoundThread {
    let step = |&offset: &u64| Step::Code { module: 0, offset };
    UnwoundThread {
        way: Way::Stopped,
        stop_ns: 40_000,
        modules: vec![app()],
        path: offsets.iter().map(step).collect(),
        is_whole: true,
        left_out: 0,
        python: Vec::new(),
        no_python: None,
    }
}

fn say(supervisor: &OneSupervisor, walk: u32, walked: UnwoundThread) {
    supervisor.say(&FromSupervisor::Unwound {
        unwinding: walk,
        thread: walked,
        rest: 0,
    });
}

/// Answers with names made of the addresses: `0x10` is `f10` in line 16.
fn name(supervisor: &OneSupervisor) -> Vec<u64> {
    let Some(ToSupervisor::Name { module, offsets }) = supervisor.hear() else {
        panic!("no question for names");
    };
    let named = |at: &u64| Named {
        function: format!("f{at:x}"),
        line: format!("app.c:{at}"),
    };
    supervisor.say(&FromSupervisor::Named {
        module,
        named: offsets.iter().map(|at| (*at, vec![named(at)])).collect(),
    });
    offsets
}

/// The tree in short: depth, name, ranks, lines.
fn tree(stacks: &Stacks) -> Vec<(u8, String, Vec<Rank>, Vec<&str>)> {
    let nodes = stacks.nodes.iter().map(|node| {
        let text = match &node.frame {
            Frame::Function { module, name } => format!("{name}@{module}"),
            other => format!("{other:?}"),
        };
        let lines = node.lines.keys().map(String::as_str).collect();
        (node.depth, text, node.named.clone(), lines)
    });
    nodes.collect()
}

#[test]
fn addresses_are_named_once_and_paths_merged() {
    let mut scene = Scene::new();
    let (first, _rank) = scene.attach(0);
    let (second, _other) = scene.attach(1);
    ask(&mut scene);
    let walk = ToSupervisor::Unwind {
        unwinding: 1,
        threads: false,
    };
    assert_eq!(
        (first.hear(), second.hear()),
        (Some(walk.clone()), Some(walk))
    );
    say(&first, 1, at(&[0x20, 0x10]));
    assert_eq!(answer(scene.step(1)), None, "the other has not answered");
    say(&second, 1, at(&[0x30, 0x10]));
    assert_eq!(answer(scene.step(1)), None, "nothing has a name");
    assert_eq!(
        name(&first),
        [0x10, 0x20],
        "what both are in is asked of one"
    );
    assert_eq!(name(&second), [0x30]);
    let stacks = answer(scene.step(1)).expect("an answer");
    let (both, lines) = (vec![Rank(0), Rank(1)], ["app.c:16", "app.c:32", "app.c:48"]);
    assert_eq!(
        tree(&stacks),
        [
            (0, "f10@app".into(), both, vec![lines[0]]),
            (1, "f20@app".into(), vec![Rank(0)], vec![lines[1]]),
            (1, "f30@app".into(), vec![Rank(1)], vec![lines[2]]),
        ]
    );
    assert_eq!((stacks.ranks, stacks.unnamed), (2, 0));
    assert_eq!(stacks.longest_stop, Some((40_000, Rank(0))));
    // The names are known now.
    ask(&mut scene);
    say(&first, 2, at(&[0x20, 0x10]));
    say(&second, 2, at(&[0x20, 0x10]));
    let stacks = answer(scene.step(1)).expect("an answer");
    assert_eq!(tree(&stacks).len(), 2);
    assert!(matches!(
        first.hear(),
        Some(ToSupervisor::Unwind { unwinding: 2, .. })
    ));
    assert_eq!(first.hear(), None);
}

#[test]
fn only_the_chosen_ranks_are_asked() {
    let mut scene = Scene::new();
    let (first, _rank) = scene.attach(0);
    let (second, _other) = scene.attach(1);
    ask_of(
        &mut scene,
        Chosen::of(&[(Rank(1), Rank(7))]).expect("a range"),
    );
    assert_eq!(first.hear(), None);
    assert!(second.hear().is_some());
    say(&second, 1, at(&[]));
    assert_eq!(answer(scene.step(1)).map(|stacks| stacks.ranks), Some(1));
    ask_of(
        &mut scene,
        Chosen::of(&[(Rank(5), Rank(7))]).expect("a range"),
    );
    assert_eq!(answer(scene.said()), Some(Stacks::default()));
}

/// Who does not answer is told and so are names that come late.
#[test]
fn silent_supervisors_and_late_names_are_reported() {
    let mut scene = Scene::new();
    let (first, _rank) = scene.attach(0);
    let (_second, _other) = scene.attach(1);
    ask(&mut scene);
    let lost = UnwoundThread {
        is_whole: false,
        ..at(&[0x20, 0x10])
    };
    say(&first, 1, lost.clone());
    assert_eq!(answer(scene.step(399)), None);
    assert_eq!(answer(scene.step(1)), None, "names are asked for");
    let stacks = answer(scene.step(350)).expect("an answer");
    let both = |depth, text: &str, lines| (depth, text.to_owned(), vec![Rank(0)], lines);
    assert_eq!(
        tree(&stacks),
        [
            both(0, "Lost", vec![]),
            // All that is known is the file.
            both(1, "@app", vec!["+0x10"]),
            both(2, "@app", vec!["+0x20"]),
        ]
    );
    assert_eq!((stacks.ranks, stacks.unnamed), (2, 1));
    assert_eq!(
        stacks.ways[&Way::Missing(UnstoppedReason::Silent)].named,
        [Rank(1)]
    );
    // They come after all, and the next question finds them.
    assert!(matches!(first.hear(), Some(ToSupervisor::Unwind { .. })));
    assert_eq!(name(&first), [0x10, 0x20]);
    scene.step(1);
    ask(&mut scene);
    say(&first, 2, lost);
    let stacks = answer(scene.step(750)).expect("an answer");
    assert_eq!(tree(&stacks)[2].1, "f20@app");
    assert_eq!(stacks.unnamed, 0);
}

#[test]
fn ranks_that_are_not_there_are_told_at_once() {
    let mut scene = Scene::new();
    ask(&mut scene);
    let stacks = answer(scene.said()).expect("an answer");
    assert_eq!(
        stacks.ways[&Way::Missing(UnstoppedReason::Starting)].named,
        [Rank(0), Rank(1)]
    );
    let (first, _rank) = scene.attach(0);
    first.say(&FromSupervisor::Ended(Ended::Signal(11)));
    scene.step(1);
    ask(&mut scene);
    let stacks = answer(scene.said()).expect("an answer");
    assert_eq!(
        stacks.ways[&Way::Missing(UnstoppedReason::Ended)].named,
        [Rank(0)]
    );
}

#[test]
fn many_addresses_are_asked_in_several_questions() {
    let mut scene = Scene::new();
    let (first, _rank) = scene.attach(0);
    ask_of(
        &mut scene,
        Chosen::of(&[(Rank(0), Rank(0))]).expect("a range"),
    );
    let offsets: Vec<u64> = (1..=OFFSETS_MAX as u64 + 1).collect();
    say(&first, 1, at(&offsets));
    assert_eq!(answer(scene.step(1)), None);
    assert!(matches!(first.hear(), Some(ToSupervisor::Unwind { .. })));
    assert_eq!(name(&first).len(), OFFSETS_MAX);
    assert_eq!(answer(scene.step(1)), None);
    // Names that nobody asked for are not kept.
    first.say(&FromSupervisor::Named {
        module: app(),
        named: vec![(0x999, vec![])],
    });
    assert_eq!(name(&first).len(), 1);
    assert_eq!(
        answer(scene.step(1)).map(|stacks| stacks.nodes.len()),
        Some(OFFSETS_MAX + 1)
    );
}
