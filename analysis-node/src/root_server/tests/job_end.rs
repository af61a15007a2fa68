//! The result, the last seconds and the order in which everybody leaves.

use super::*;

#[test]
fn the_normal_end() {
    let mut scene = Scene::new();
    scene.up(Up::Drained);
    for (wave, query) in Scene::waves(&scene.tick(1)) {
        scene.partial(wave, query);
    }
    let actions = scene.tick(1);
    let [ServerAction::Report { result, .. }] = &actions[..] else {
        panic!("{actions:?}")
    };
    assert_eq!(result.status.states[4], 3);
    assert_eq!(result.coverage.ledger.kept, 9);
    assert_eq!(result.matrix, matrix());
    assert!(!result.shut_down);
    assert!(result.ended.is_empty());
    scene.ask(1, LinkAsk::Query(Query::Status));
    assert!(matches!(scene.answer().answer, Answer::Refused(_)));
    assert_eq!(scene.tick(1), []);
    scene.server.report_done();
    assert_eq!(
        scene.tick(1),
        [
            ServerAction::Send(PLACE, Down::Shutdown),
            ServerAction::Leave { finalize: true }
        ]
    );
}

#[test]
fn the_counters_are_of_the_moment_of_the_table() {
    let mut scene = Scene::new();
    scene.server.end_asked(0);
    let waves = Scene::waves(&scene.tick(shutdown::HURRIED_QUIET_NS / MS));
    // The program runs on while it is asked.
    for (calls, (wave, query)) in (20..).zip(&waves) {
        scene.partial_after(*wave, *query, calls);
    }
    let table = |(_, query): &(WaveId, Query)| matches!(query, Query::Functions { .. });
    let of_table = 20 + waves.iter().position(table).expect("it is asked for") as u64;
    let actions = scene.tick(shutdown::HURRY_NS / MS);
    let Some(ServerAction::Report { result, .. }) = actions
        .iter()
        .find(|action| matches!(action, ServerAction::Report { .. }))
    else {
        panic!("{actions:?}")
    };
    assert_eq!(result.coverage.ledger.kept, of_table);
}

/// A shutdown gives the result at once and the job goes on.
#[test]
fn a_shutdown_gives_the_result_at_once() {
    let mut scene = Scene::new();
    scene.command(3, 9, Order::Shutdown, Verb::Shutdown);
    let acks = Acks {
        targets: 3,
        done: 3,
        ..Acks::default()
    };
    scene.up(Up::Ack {
        command: CommandId(9),
        acks: acks.clone(),
    });
    assert_eq!(scene.answer().answer, Answer::Command(acks));
    for (wave, query) in Scene::waves(&scene.tick(1)) {
        scene.partial(wave, query);
    }
    let actions = scene.tick(1);
    let [ServerAction::Report { result, .. }] = &actions[..] else {
        panic!("{actions:?}")
    };
    assert!(result.shut_down);
    assert_eq!(result.coverage.ledger.kept, 9);
    scene.ask(4, LinkAsk::Query(Query::Status));
    let Answer::Refused(why) = scene.answer().answer else {
        panic!("no refusal")
    };
    assert!(why.contains("shut down"), "{why}");
    assert!(!scene.server.is_shut_down());
    scene.server.report_done();
    assert_eq!(scene.tick(1), []);
    assert!(scene.server.is_shut_down() && scene.server.gateway().is_none());
    assert_eq!(scene.gateway.read(&mut [0u8; 1]).unwrap(), 0, "closed");
    // The ranks run on for as long as they like, and the root is heard of.
    assert_eq!(scene.tick(3_600_000), []);
    scene.up(Up::Drained);
    assert_eq!(
        scene.tick(1),
        [
            ServerAction::Send(PLACE, Down::Shutdown),
            ServerAction::Leave { finalize: true }
        ]
    );
}

#[test]
fn a_second_shutdown_neither_hurries_nor_ends_anything() {
    let mut scene = Scene::new();
    scene.command(3, 9, Order::Shutdown, Verb::Shutdown);
    let (id, order) = (CommandId(10), Order::Shutdown);
    scene.ask(4, LinkAsk::Command { id, order });
    let Answer::Refused(why) = scene.answer().answer else {
        panic!("no refusal")
    };
    assert!(why.contains("command 9"), "{why}");
    assert_eq!(scene.tick(1), []);
    // No rank does it: the measurement goes on.
    let acks = Acks {
        targets: 3,
        ..Acks::default()
    };
    let ack = |command| Up::Ack {
        command,
        acks: acks.clone(),
    };
    scene.up(ack(CommandId(9)));
    assert_eq!(scene.answer().answer, Answer::Command(acks.clone()));
    assert_eq!(scene.tick(1), []);
    scene.command(5, 10, Order::Shutdown, Verb::Shutdown);
}

#[test]
fn a_supervisor_leaves_once_its_ranks_death_is_reported() {
    let mut scene = Scene::new();
    let ended = RankEnded {
        rank: Rank(1),
        how: Ended::Signal(11),
        inside: None,
    };
    scene.up(Up::RankEnded(ended.clone()));
    assert_eq!(Scene::waves(&scene.tick(1)), []);
    let mut waves = Scene::waves(&scene.tick(shutdown::QUIET_NS / MS));
    assert_eq!(waves.len(), QUESTIONS.len() + 4);
    assert!(waves.iter().any(|(_, query)| *query == WHO_WAITS));
    // Page after page, each when the one before has been taken.
    let mut pages = Vec::new();
    let actions = loop {
        for (wave, query) in waves.drain(..) {
            scene.partial(wave, query);
        }
        let mut actions = scene.tick(1);
        let Some(ServerAction::Page(_)) = actions.first() else {
            break actions;
        };
        let ServerAction::Page(page) = actions.remove(0) else {
            unreachable!()
        };
        assert_eq!(
            actions,
            [],
            "nothing more is asked for before it has been taken"
        );
        pages.push(page.timeline.pieces[0].location.rank.0);
        scene.server.page_taken(scene.now_ns);
        let actions = scene.tick(1);
        waves = Scene::waves(&actions);
        if waves.is_empty() {
            break actions;
        }
    };
    assert_eq!(pages, [0, 1, 2]);
    let [ServerAction::Report { result, .. }] = &actions[..] else {
        panic!("{actions:?}")
    };
    assert_eq!(result.ended, [ended]);
    scene.server.report_done();
    assert_eq!(scene.tick(1), [ServerAction::Send(PLACE, Down::Release)]);
}

/// Names of functions may take supervisors a second, which a launcher that ends a job does not
/// leave.
#[test]
fn names_are_looked_up_where_all_is_well() {
    for has_died in [false, true] {
        let mut scene = Scene::new();
        scene.up(if has_died {
            Up::RankEnded(RankEnded {
                rank: Rank(1),
                how: Ended::Code(3),
                inside: None,
            })
        } else {
            Up::Drained
        });
        let mut waves = Scene::waves(&scene.tick(1));
        waves.extend(Scene::waves(&scene.tick(shutdown::QUIET_NS / MS)));
        let named = waves.iter().filter_map(|(_, query)| match query {
            Query::Regions { named, .. } | Query::Sites { named, .. } => Some(*named),
            _ => None,
        });
        assert_eq!(named.collect::<Vec<_>>(), [!has_died; 2]);
    }
}

#[test]
fn a_hurried_result_is_made_again_at_the_end() {
    let mut scene = Scene::new();
    scene.server.end_asked(0);
    let actions = scene.tick(shutdown::HURRIED_QUIET_NS / MS);
    assert_eq!(Scene::waves(&actions).len(), QUESTIONS.len() + 3);
    let resumes = |action: &ServerAction| match action {
        ServerAction::Send(PLACE, Down::Command(command)) => command.verb == Verb::Resume,
        _ => false,
    };
    assert!(
        actions.iter().any(resumes),
        "nobody could let the ranks go any more: {actions:?}"
    );
    let actions = scene.tick(shutdown::HURRY_NS / MS);
    let [ServerAction::Report { result, .. }] = &actions[..] else {
        panic!("{actions:?}")
    };
    let coverage = &result.coverage;
    assert_eq!(
        (
            coverage.ranks,
            coverage.ranks_reporting,
            coverage.members_missing
        ),
        (3, 0, 1)
    );
    let notes = &result.status.notes;
    let says = |words: &str| notes.iter().any(|note| note.contains(words));
    assert!(says("the end of the job was asked for"), "{notes:?}");
    assert!(says("3 ranks are missing"), "{notes:?}");
    scene.server.report_done();
    // They save what they have, for as long as they like.
    scene.server.end_asked(scene.now_ns);
    assert_eq!(scene.tick(3_600_000), []);
    scene.up(Up::Drained);
    // The last seconds are those before that.
    let waves = Scene::waves(&scene.tick(1));
    assert_eq!(waves.len(), QUESTIONS.len() + 2);
    for (wave, query) in waves {
        scene.partial(wave, query);
    }
    let actions = scene.tick(1);
    let Some(ServerAction::Report {
        result,
        early: false,
        ..
    }) = actions.last()
    else {
        panic!("{actions:?}")
    };
    assert_eq!(
        (result.coverage.ranks_reporting, result.coverage.ledger.kept),
        (3, 9)
    );
    assert!(
        !result
            .status
            .notes
            .iter()
            .any(|note| note.contains("asked for"))
    );
    scene.server.report_done();
    let actions = scene.tick(1);
    assert!(
        matches!(&actions[..], [.., ServerAction::Leave { finalize: true }]),
        "{actions:?}"
    );
}
