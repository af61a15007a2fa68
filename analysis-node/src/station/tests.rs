use super::*;
use crate::ending;
use invivo_proto::control::encode;
use invivo_proto::control::link::Response;
use invivo_proto::control::results::{Ledger, Traffic};
use invivo_proto::control::timeline::{Piece, Timeline, TimelinePosition};
use invivo_proto::control::tree::{Acks, Command, Ended, Verb};
use invivo_proto::ids::{CommandId, Rank, WaveId};
use invivo_tbon::layout::Layout;
use invivo_tbon::limits::WAVE_NS_PER_LAYER;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

const PLACE: WorldRank = WorldRank(3);
const MS: u64 = 1_000_000;

/// The root of a job of three ranks and one place, which the test plays, and the gateway's end of
/// the link.
struct Scene {
    station: Station,
    gateway: UnixStream,
    now_ns: u64,
    _dir: tempfile::TempDir,
}

impl Scene {
    fn new() -> Scene {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("link.sock");
        let layout = "3:4:tail".parse::<Layout>().unwrap();
        let position = Position::of(&layout, layout.root()).unwrap();
        let job = JobDescription {
            id: "test".into(),
            ranks: 3,
            ..JobDescription::default()
        };
        let listening = Gateway::listen(&path).unwrap();
        let mut station = Station::new(0, position, job, JobInfo::default(), Some(listening));
        assert_eq!(
            station.take_actions()[0],
            Action::Send(PLACE, Down::Heartbeat)
        );
        let gateway = UnixStream::connect(&path).unwrap();
        station.hear_gateway(0);
        Scene {
            station,
            gateway,
            now_ns: 0,
            _dir: dir,
        }
    }

    fn ask(&mut self, id: u64, ask: LinkAsk) {
        let request = encode(&Request { id, ask }).unwrap();
        self.gateway
            .write_all(&crate::frames::frame(&request))
            .unwrap();
        self.station.hear_gateway(self.now_ns);
    }

    fn answer(&mut self) -> Response {
        let mut length = [0u8; 4];
        self.gateway.read_exact(&mut length).unwrap();
        let mut message = vec![0u8; u32::from_le_bytes(length) as usize];
        self.gateway.read_exact(&mut message).unwrap();
        decode(&message).unwrap()
    }

    /// Gives a command, and sees it go to the place.
    fn command(&mut self, ask: u64, id: u64, order: Order, verb: Verb) {
        let id = CommandId(id);
        self.ask(ask, LinkAsk::Command { id, order });
        let command = Down::Command(Command { id, verb });
        assert_eq!(self.tick(1), [Action::Send(PLACE, command)]);
    }

    fn up(&mut self, message: Up) {
        self.station
            .up(self.now_ns, PLACE, &encode(&message).unwrap());
    }

    /// What is to be done, heartbeats apart.
    fn tick(&mut self, ms: u64) -> Vec<Action> {
        self.now_ns += ms * MS;
        let own = Own {
            cpu_ns: 7,
            refused_sends: 2,
            stumbles: 0,
        };
        self.station.tick(self.now_ns, own);
        let mut actions = self.station.take_actions();
        actions.retain(|action| *action != Action::Send(PLACE, Down::Heartbeat));
        actions
    }

    /// Answers a wave as the place does.
    fn partial(&mut self, wave: WaveId, query: Query) {
        self.partial_after(wave, query, 9);
    }

    /// The same after so many calls.
    fn partial_after(&mut self, wave: WaveId, query: Query, calls: u64) {
        let partial = match query {
            Query::Functions { .. } => Partial::Functions(FunctionTable::default()),
            Query::Matrix { .. } => Partial::Matrix(matrix()),
            Query::Messages => Partial::Messages(Box::default()),
            Query::Buffers => Partial::Buffers(Default::default()),
            Query::Records { .. } => Partial::Records(Default::default()),
            Query::Timeline { from, .. } => Partial::Timeline(piece(from)),
            Query::Hang { .. } => Partial::Hang(Box::default()),
            Query::Stacks { .. } => Partial::Stacks(Box::default()),
            Query::Status => Partial::Status(JobStatus {
                states: [0, 0, 0, 0, 3, 0],
                ..JobStatus::default()
            }),
        };
        let coverage = Coverage {
            ranks: 3,
            ranks_reporting: 3,
            ledger: Ledger {
                entered: calls,
                kept: calls,
                ..Ledger::default()
            },
            tool_cpu_ns: 100,
            ..Coverage::default()
        };
        self.up(Up::Partial {
            wave,
            partial,
            coverage,
            missing: Vec::new(),
        });
    }

    fn waves(actions: &[Action]) -> Vec<(WaveId, Query)> {
        let wave = |action: &Action| match action {
            Action::Send(PLACE, Down::Query { wave, query }) => Some((*wave, *query)),
            _ => None,
        };
        actions.iter().filter_map(wave).collect()
    }
}

/// A page of one rank.
fn piece(from: TimelinePosition) -> Timeline {
    let piece = Piece {
        location: from.location,
        ..Piece::default()
    };
    Timeline {
        pieces: vec![piece],
        next: TimelinePosition::of(from.location.rank.0 + 1, 3),
        clock_error_ns: 5,
    }
}

fn matrix() -> Matrix {
    let traffic = Traffic {
        messages: 1,
        bytes: 10,
    };
    Matrix {
        block_ranks: 1,
        sent: [((2, 1), traffic)].into(),
        ..Matrix::default()
    }
}

#[test]
fn answers_are_what_the_tree_found_and_name_who_is_missing() {
    let mut scene = Scene::new();
    let side_max = 8;
    scene.ask(5, LinkAsk::Query(Query::Matrix { side_max }));
    let waves = Scene::waves(&scene.tick(1));
    let [(wave, Query::Matrix { side_max: 8 })] = waves[..] else {
        panic!("{waves:?}")
    };
    scene.partial(wave, Query::Matrix { side_max });
    let Response {
        id: 5,
        answer: Answer::Matrix(answer, coverage),
        missing,
    } = scene.answer()
    else {
        panic!("no matrix")
    };
    assert_eq!(answer, matrix());
    assert_eq!(coverage.tool_cpu_ns, 107, "the root's own time counts, too");
    assert_eq!(missing, []);
    scene.ask(6, LinkAsk::Query(Query::Status));
    scene.tick(1);
    scene.tick(WAVE_NS_PER_LAYER * 2 / MS);
    let late = scene.answer();
    assert_eq!((late.id, late.missing), (6, vec![PLACE]));
    let Answer::Status(status, coverage) = late.answer else {
        panic!("no status")
    };
    assert_eq!(coverage.members_missing, 1);
    assert!(status.notes[0].contains("does not answer"), "{status:?}");
    assert!(
        status.notes[1].contains("could not send 2 messages"),
        "{status:?}"
    );
}

#[test]
fn what_job_and_what_a_command_did() {
    let mut scene = Scene::new();
    scene.ask(1, LinkAsk::Job);
    let Response {
        id: 1,
        answer: Answer::Job(job),
        ..
    } = scene.answer()
    else {
        panic!("no job")
    };
    assert_eq!(job.id, "test");
    let verb = Verb::Pause { lease_ns: 1 };
    let order = Order::Pause { lease_ns: 1 };
    scene.command(2, 8, order, verb);
    let acks = Acks {
        targets: 3,
        done: 3,
        ..Acks::default()
    };
    scene.up(Up::Ack {
        command: CommandId(8),
        acks: acks.clone(),
    });
    assert_eq!(
        scene.answer(),
        Response {
            id: 2,
            answer: Answer::Command(acks),
            missing: Vec::new(),
        }
    );
}

#[test]
fn too_many_questions_are_refused_and_the_last_ones_still_find_room() {
    let mut scene = Scene::new();
    for id in 0..ASKED_MAX as u64 + 1 {
        scene.ask(id, LinkAsk::Query(Query::Status));
    }
    let Response {
        id,
        answer: Answer::Refused(_),
        ..
    } = scene.answer()
    else {
        panic!("no refusal")
    };
    assert_eq!(id, ASKED_MAX as u64);
    scene.tick(1);
    scene.up(Up::Drained);
    assert_eq!(Scene::waves(&scene.tick(1)).len(), LAST_QUESTIONS.len());
}

#[test]
fn the_normal_end() {
    let mut scene = Scene::new();
    scene.up(Up::Drained);
    for (wave, query) in Scene::waves(&scene.tick(1)) {
        scene.partial(wave, query);
    }
    let actions = scene.tick(1);
    let [Action::Report { result, .. }] = &actions[..] else {
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
    scene.station.dealt_with();
    assert_eq!(
        scene.tick(1),
        [
            Action::Send(PLACE, Down::Shutdown),
            Action::Leave { finalize: true }
        ]
    );
}

#[test]
fn the_books_are_of_the_moment_of_the_table() {
    let mut scene = Scene::new();
    scene.station.asked_to_end(0);
    let waves = Scene::waves(&scene.tick(ending::HURRIED_QUIET_NS / MS));
    // The program runs on while it is asked.
    for (calls, (wave, query)) in (20..).zip(&waves) {
        scene.partial_after(*wave, *query, calls);
    }
    let table = |(_, query): &(WaveId, Query)| matches!(query, Query::Functions { .. });
    let of_table = 20 + waves.iter().position(table).expect("it is asked for") as u64;
    let actions = scene.tick(ending::HURRY_NS / MS);
    let Some(Action::Report { result, .. }) = actions
        .iter()
        .find(|action| matches!(action, Action::Report { .. }))
    else {
        panic!("{actions:?}")
    };
    assert_eq!(result.coverage.ledger.kept, of_table);
}

#[test]
fn a_shutdown_gives_the_result_at_once_and_the_job_goes_on() {
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
    let [Action::Report { result, .. }] = &actions[..] else {
        panic!("{actions:?}")
    };
    assert!(result.shut_down);
    assert_eq!(result.coverage.ledger.kept, 9);
    scene.ask(4, LinkAsk::Query(Query::Status));
    let Answer::Refused(why) = scene.answer().answer else {
        panic!("no refusal")
    };
    assert!(why.contains("shut down"), "{why}");
    assert!(!scene.station.is_shut_down());
    scene.station.dealt_with();
    assert_eq!(scene.tick(1), []);
    assert!(scene.station.is_shut_down() && scene.station.gateway().is_none());
    assert_eq!(scene.gateway.read(&mut [0u8; 1]).unwrap(), 0, "closed");
    // The ranks run on for as long as they like, and the root is heard of.
    assert_eq!(scene.tick(3_600_000), []);
    scene.up(Up::Drained);
    assert_eq!(
        scene.tick(1),
        [
            Action::Send(PLACE, Down::Shutdown),
            Action::Leave { finalize: true }
        ]
    );
}

#[test]
fn a_second_shutdown_neither_hurries_the_first_nor_ends_anything_by_failing() {
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
fn a_death_is_in_the_result_and_its_supervisor_leaves_after_it() {
    let mut scene = Scene::new();
    let ended = RankEnded {
        rank: Rank(1),
        how: Ended::Signal(11),
        inside: None,
    };
    scene.up(Up::RankEnded(ended.clone()));
    assert_eq!(Scene::waves(&scene.tick(1)), []);
    let mut waves = Scene::waves(&scene.tick(ending::QUIET_NS / MS));
    assert_eq!(waves.len(), LAST_QUESTIONS.len() + 2);
    assert!(waves.iter().any(|(_, query)| *query == WHO_WAITS));
    // Page after page, each when the one before has been taken.
    let mut pages = Vec::new();
    let actions = loop {
        for (wave, query) in waves.drain(..) {
            scene.partial(wave, query);
        }
        let mut actions = scene.tick(1);
        let Some(Action::Page(_)) = actions.first() else {
            break actions;
        };
        let Action::Page(page) = actions.remove(0) else {
            unreachable!()
        };
        assert_eq!(
            actions,
            [],
            "nothing more is asked for before it has been taken"
        );
        pages.push(page.timeline.pieces[0].location.rank.0);
        scene.station.page_taken(scene.now_ns);
        let actions = scene.tick(1);
        waves = Scene::waves(&actions);
        if waves.is_empty() {
            break actions;
        }
    };
    assert_eq!(pages, [0, 1, 2]);
    let [Action::Report { result, .. }] = &actions[..] else {
        panic!("{actions:?}")
    };
    assert_eq!(result.ended, [ended]);
    scene.station.dealt_with();
    assert_eq!(scene.tick(1), [Action::Send(PLACE, Down::Release)]);
}

#[test]
fn in_a_hurry_the_result_is_made_without_the_place_and_again_when_the_ranks_are_through() {
    let mut scene = Scene::new();
    scene.station.asked_to_end(0);
    let actions = scene.tick(ending::HURRIED_QUIET_NS / MS);
    assert_eq!(Scene::waves(&actions).len(), LAST_QUESTIONS.len() + 1);
    let resumes = |action: &Action| matches!(action, Action::Send(PLACE, Down::Command(Command { verb, .. })) if *verb == Verb::Resume);
    assert!(
        actions.iter().any(resumes),
        "nobody could let the ranks go any more: {actions:?}"
    );
    let actions = scene.tick(ending::HURRY_NS / MS);
    let [Action::Report { result, .. }] = &actions[..] else {
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
    scene.station.dealt_with();
    // They save what they have, for as long as they like.
    scene.station.asked_to_end(scene.now_ns);
    assert_eq!(scene.tick(3_600_000), []);
    scene.up(Up::Drained);
    // The last seconds are those before that.
    let waves = Scene::waves(&scene.tick(1));
    assert_eq!(waves.len(), LAST_QUESTIONS.len());
    for (wave, query) in waves {
        scene.partial(wave, query);
    }
    let actions = scene.tick(1);
    let Some(Action::Report {
        result,
        early: false,
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
    scene.station.dealt_with();
    let actions = scene.tick(1);
    assert!(
        matches!(&actions[..], [.., Action::Leave { finalize: true }]),
        "{actions:?}"
    );
}

#[test]
fn the_watchdog_asks_and_says_what_it_found() {
    use invivo_proto::control::hang::{Doing, Hang, Pending};
    use invivo_proto::ids::RegionId;
    let mut scene = Scene::new();
    scene.station = scene.station.watched_by(Watchdog::new(0, 4000 * MS));
    let stands = |rank| Pending {
        rank: Rank(rank),
        doing: Doing::Messages(RegionId(2)),
        since_ns: 5000 * MS,
        any: true,
        operations: Vec::new(),
        more_operations: true,
        passed: BTreeMap::new(),
        site: None,
    };
    let mut waits = Hang::default();
    (0..3).for_each(|rank| invivo_analysis::hang::add_pending(&mut waits, stands(rank)));
    let mut said = Vec::new();
    for _ in 0..3 {
        let actions = scene.tick(4000);
        let [Action::Send(PLACE, Down::Query { wave, query })] = actions[..] else {
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
        said.extend(scene.station.take_actions());
    }
    let line = "no progress for 5.0 s: nobody is known to wait in vain: 3 ranks are in MPI_Recv";
    assert_eq!(said, [Action::Say(line.into())]);
    // Whoever asks is told the same.
    scene.ask(1, LinkAsk::Query(Query::Hang { older_ns: 7 }));
    let actions = scene.tick(1);
    let Some(Action::Send(_, Down::Query { wave, .. })) = actions.first() else {
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
