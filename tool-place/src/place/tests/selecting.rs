//! What ranks record is what the rules say of the names of what they have met.

use super::*;
use invivo_proto::control::local::Named;
use invivo_proto::control::selection::{Selection, SelectionStatus};
use invivo_proto::definition::Definition;
use invivo_proto::record::REGIONS_END;

const APP: &str = "/opt/app";

fn region(number: u16) -> RegionId {
    RegionId(REGIONS_END + number)
}

/// A rank meets a function at this address, and gives it a number.
fn meet(rank: &mut Writer, number: u16, offset: u64) {
    rank.define(&Definition::Module {
        number: 1,
        build_id: &[],
        path: APP.as_bytes(),
    });
    rank.define(&Definition::Region {
        region: region(number),
        module: 1,
        offset,
        name: b"",
    });
}

fn mark(rank: &mut Writer, number: u16, name: &str) {
    rank.define(&Definition::Region {
        region: region(number),
        module: 0,
        offset: 0,
        name: name.as_bytes(),
    });
}

/// Answers the question for names, where there is one: `0x10` is `f10`, of `app.c`.
fn name(supervisor: &OneSupervisor) -> bool {
    let Some(ToSupervisor::Name { module, offsets }) = supervisor.hear() else {
        return false;
    };
    let named = |at: &u64| Named {
        function: format!("f{at:x}"),
        line: format!("app.c:{at}"),
    };
    supervisor.say(&FromSupervisor::Named {
        module,
        named: offsets.iter().map(|at| (*at, vec![named(at)])).collect(),
    });
    true
}

fn rules(text: &str, replaces: bool) -> Selection {
    Selection {
        replaces,
        ..text.parse().expect("rules")
    }
}

fn select(scene: &mut Scene, id: u64, text: &str, replaces: bool, at_ms: u64) {
    let verb = Verb::Select {
        selection: rules(text, replaces),
        at_ns: job(at_ms),
    };
    scene.command(id, verb);
}

fn ack(said: Vec<Up>, id: u64) -> Option<Acks> {
    said.into_iter().find_map(|up| match up {
        Up::Ack { command, acks } if command == CommandId(id) => Some(acks),
        _ => None,
    })
}

fn is_off(rank: &Writer, number: u16) -> bool {
    rank.page().control.off.has(region(number))
}

fn status(scene: &mut Scene) -> SelectionStatus {
    scene.down(Down::Query {
        wave: WaveId(9),
        query: Query::Selection,
    });
    match scene.said().pop() {
        Some(Up::Partial {
            partial: Partial::Selection(status),
            ..
        }) => *status,
        other => panic!("no status but {other:?}"),
    }
}

#[test]
fn rules_are_in_force_when_names_are_known() {
    let mut scene = Scene::new();
    let (first, mut rank) = scene.attach(0);
    let (_second, mut other) = scene.attach(1);
    meet(&mut rank, 0, 0x10);
    meet(&mut rank, 1, 0x20);
    // The other rank has met them in the other order.
    meet(&mut other, 0, 0x20);
    meet(&mut other, 1, 0x10);
    mark(&mut other, 2, "f10");
    scene.step(20);
    select(&mut scene, 1, "exclude f1*", false, 30);
    assert_eq!(ack(scene.step(100), 1), None, "names are looked up");
    assert!(!is_off(&rank, 0) && name(&first));
    let acks = ack(scene.step(20), 1).expect("an answer");
    assert_eq!((acks.targets, acks.done), (2, 2));
    assert_eq!([0, 1].map(|number| is_off(&rank, number)), [true, false]);
    let others = [0, 1, 2].map(|number| is_off(&other, number));
    assert_eq!(others, [false, true, true]);
    let told = status(&mut scene);
    assert_eq!(
        (told.regions_on, told.regions_off, told.undecided),
        (2, 3, 0)
    );
    assert_eq!(told.rules[0].1, 3);

    // What is met now is recorded until its name is known.
    meet(&mut rank, 2, 0x11);
    scene.step(1000);
    scene.step(20);
    assert!(!is_off(&rank, 2));
    assert_eq!(status(&mut scene).undecided, 1);
    assert!(name(&first));
    scene.step(20);
    assert!(is_off(&rank, 2));

    select(&mut scene, 2, "", true, 0);
    assert!(ack(scene.step(20), 2).is_some());
    assert!((0..3).all(|number| !is_off(&rank, number) && !is_off(&other, number)));
    assert_eq!(status(&mut scene).regions_on, 6);
}

#[test]
fn what_is_not_known_yet_does_as_all_do() {
    let mut scene = Scene::of(JobInfo {
        recording: true,
        selection: Box::new(rules(
            "exclude *; include f20; exclude module:lib*; exclude MPI_*",
            true,
        )),
        ..JobInfo::default()
    });
    let (first, mut rank) = scene.attach(0);
    assert!(is_off(&rank, 0) && is_off(&rank, 8000), "before it is met");
    meet(&mut rank, 0, 0x10);
    meet(&mut rank, 1, 0x20);
    scene.step(1000);
    scene.step(20);
    assert!(name(&first));
    scene.step(20);
    assert_eq!(
        [0, 1, 2].map(|number| is_off(&rank, number)),
        [true, false, true]
    );
    // Functions of MPI by their names as well.
    let has = |name: &str| {
        let functions = invivo_proto::mpi::FUNCTIONS.iter();
        let number = functions.clone().position(|function| function.name == name);
        let number = RegionId(number.expect("a function") as u16);
        rank.page().control.off.has(number)
    };
    assert!(has("MPI_Allreduce") && !has("MPI_Send") && !has("MPI_Init"));
}

#[test]
fn rules_about_nothing_named_wait_for_no_names() {
    let mut scene = Scene::new();
    let (first, mut rank) = scene.attach(0);
    meet(&mut rank, 0, 0x10);
    scene.step(20);
    select(&mut scene, 1, "exclude module:app", false, 0);
    assert!(ack(scene.step(20), 1).is_some());
    assert!(is_off(&rank, 0) && first.hear().is_none());
}

#[test]
fn commands_without_answers_of_supervisors_are_done_all_the_same() {
    let mut scene = Scene::new();
    let (_silent, mut rank) = scene.attach(0);
    meet(&mut rank, 0, 0x10);
    scene.step(20);
    select(&mut scene, 1, "exclude f10", false, 0);
    assert_eq!(ack(scene.step(1000), 1), None);
    assert!(ack(scene.step(1000), 1).is_some());
    assert!(!is_off(&rank, 0));
    assert_eq!(status(&mut scene).undecided, 1);
}

#[test]
fn more_rules_than_there_may_be_are_refused() {
    let mut scene = Scene::new();
    let (_first, _rank) = scene.attach(0);
    scene.step(20);
    for (id, expected) in [(1, 2), (2, 0)] {
        select(&mut scene, id, &"exclude a;".repeat(40), false, 0);
        let acks = ack(scene.step(20), id).expect("an answer");
        assert_eq!(acks.done, expected);
        let told = acks
            .failures
            .iter()
            .all(|(_, why)| why.contains("80 rules"));
        assert!(told, "{acks:?}");
    }
    assert_eq!(status(&mut scene).rules.len(), 40);
}

#[test]
fn a_command_waits_for_its_time() {
    let mut scene = Scene::new();
    let (_first, mut rank) = scene.attach(0);
    mark(&mut rank, 0, "step");
    scene.step(20);
    select(&mut scene, 1, "exclude step", false, 500);
    assert_eq!(ack(scene.step(100), 1), None);
    assert!(!is_off(&rank, 0));
    assert!(ack(scene.step(500), 1).is_some());
    assert!(is_off(&rank, 0));
}
