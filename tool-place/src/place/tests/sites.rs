//! Where calls are made: joined over ranks that number sites differently, named once.

use super::*;
use invivo_proto::control::analyses::{Analysis, AnalysisSet};
use invivo_proto::control::local::{Named, OFFSETS_MAX};
use invivo_proto::control::sites::{Place as CodePlace, SiteTable};
use invivo_proto::definition::Definition;
use invivo_proto::ids::SiteId;

const APP: &str = "/home/user/app";

fn ask(scene: &mut Scene) {
    scene.down(Down::Query {
        wave: WaveId(3),
        query: Query::Sites {
            rows_max: 100,
            named: true,
            past: None,
        },
    });
}

fn answer(said: Vec<Up>) -> Option<SiteTable> {
    said.into_iter().find_map(|up| match up {
        Up::Partial {
            wave: WaveId(3),
            partial: Partial::Sites(table),
            ..
        } => Some(*table),
        _ => None,
    })
}

/// A rank says that its site of this number is at an address of the program.
fn define(rank: &mut Writer, site: u16, offset: u64) {
    rank.define(&Definition::Module {
        number: 1,
        build_id: &[7; 20],
        path: APP.as_bytes(),
    });
    rank.define(&Definition::Site {
        site: SiteId(site),
        module: 1,
        offset,
    });
}

fn call(number: u64, site: u16) -> Call {
    let mut call = super::call(number);
    call.facts.site = SiteId(site);
    call
}

/// Rows in short: the address, calls, ranks, the name.
fn rows(table: &SiteTable) -> Vec<(u64, u64, u32, String)> {
    let rows = table.rows.iter().map(|(site, row)| {
        let CodePlace::Code { offset, .. } = site.place else {
            panic!("{site:?} is in no file");
        };
        let name = row.named.first().map(|named| named.function.clone());
        let calls = row.stats.time.count;
        (offset, calls, row.ranks, name.unwrap_or_default())
    });
    rows.collect()
}

/// Answers with names made of the addresses: `0x10` is `f10`.
fn name(supervisor: &OneSupervisor) -> Vec<u64> {
    let Some(ToSupervisor::Name { module, offsets }) = supervisor.hear() else {
        panic!("no question for names");
    };
    assert_eq!(module.path, APP);
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

#[test]
fn sites_of_ranks_are_joined_and_named_once() {
    let mut scene = Scene::new();
    let (first, mut rank) = scene.attach(0);
    let (second, mut other) = scene.attach(1);
    define(&mut rank, 1, 0x10);
    define(&mut rank, 2, 0x20);
    // The other rank has met them in the other order.
    define(&mut other, 1, 0x20);
    define(&mut other, 2, 0x10);
    rank.open();
    other.open();
    for number in 0..6 {
        rank.call(&call(number, 1 + u16::from(number == 5)), &[]);
        other.call(&call(number, 1), &[]);
    }
    rank.leave();
    other.leave();
    scene.step(1);
    ask(&mut scene);
    assert_eq!(answer(scene.step(1)), None, "nothing has a name");
    assert_eq!(name(&first), [0x10, 0x20], "asked of one that was there");
    assert_eq!(second.hear(), None);
    let table = answer(scene.step(1)).expect("an answer");
    let expected = [(0x10, 5, 1, "f10".into()), (0x20, 7, 2, "f20".into())];
    assert_eq!(rows(&table), expected);
    assert_eq!((table.unnamed, table.rows_left_out), (0, 0));
    // The names are known now.
    ask(&mut scene);
    let table = answer(scene.step(1)).expect("an answer");
    assert_eq!(rows(&table), expected);
}

#[test]
fn names_that_do_not_come_are_not_waited_for() {
    let mut scene = Scene::new();
    let (_silent, mut rank) = scene.attach(0);
    rank.open();
    for number in 0..20 {
        define(&mut rank, 1 + number, u64::from(number) + 1);
        rank.call(&call(u64::from(number), 1 + number), &[]);
    }
    rank.leave();
    scene.step(1);
    ask(&mut scene);
    assert_eq!(answer(scene.step(700)), None);
    let table = answer(scene.step(100)).expect("an answer without names");
    assert_eq!((table.rows.len(), table.unnamed), (20, 20));
    const { assert!(20 > OFFSETS_MAX) };
}

/// Ranks note where calls are made while somebody wants to know.
#[test]
fn ranks_are_told_whether_sites_are_wanted() {
    let mut scene = Scene::new();
    let (_supervisor, rank) = scene.attach(0);
    let without = |rank: &Writer| {
        let control = &rank.page().control;
        control.without_sites.load(Ordering::Relaxed)
    };
    assert_eq!(without(&rank), 0, "the usual");
    scene.down(Down::Analyses(AnalysisSet::NONE));
    assert_eq!(without(&rank), 1);
    scene.down(Down::Analyses(AnalysisSet::of(Analysis::Sites)));
    assert_eq!(without(&rank), 0);
}
