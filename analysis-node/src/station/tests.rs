use super::*;
use crate::ending;
use invivo_proto::control::encode;
use invivo_proto::control::link::Response;
use invivo_proto::control::results::{CommKey, Ledger, MatrixPartial, Traffic};
use invivo_proto::control::tree::{Acks, Command, Ended, Verb};
use invivo_proto::definition::Run;
use invivo_proto::ids::{CommId, CommandId, Rank, WaveId};
use invivo_tbon::layout::Layout;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

const PLACE: WorldRank = WorldRank(3);
const MS: u64 = 1_000_000;

/// The root of a job of three ranks and one place, which the test plays, and the gateway's end of the link.
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
        let layout = Layout::for_app(3, 4).unwrap();
        let seat = Seat::of(&layout, layout.root()).unwrap();
        let job = Job {
            id: "test".into(),
            ranks: 3,
            ..Job::default()
        };
        let listening = Gateway::listen(&path).unwrap();
        let mut station = Station::new(0, seat, job, JobInfo::default(), Some(listening));
        assert_eq!(station.take_actions()[0], Action::Send(PLACE, Down::Heartbeat));
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
        self.gateway.write_all(&crate::frames::frame(&request)).unwrap();
        self.station.hear_gateway(self.now_ns);
    }

    fn answer(&mut self) -> Response {
        let mut length = [0u8; 4];
        self.gateway.read_exact(&mut length).unwrap();
        let mut message = vec![0u8; u32::from_le_bytes(length) as usize];
        self.gateway.read_exact(&mut message).unwrap();
        decode(&message).unwrap()
    }

    fn up(&mut self, message: Up) {
        self.station.up(self.now_ns, PLACE, &encode(&message).unwrap());
    }

    /// What is to be done, heartbeats apart.
    fn tick(&mut self, ms: u64) -> Vec<Action> {
        self.now_ns += ms * MS;
        self.station.tick(self.now_ns, 7);
        let mut actions = self.station.take_actions();
        actions.retain(|action| *action != Action::Send(PLACE, Down::Heartbeat));
        actions
    }

    /// Answers a wave as the place does.
    fn partial(&mut self, wave: WaveId, query: Query) {
        let partial = match query {
            Query::Functions { .. } => Partial::Functions(FunctionTable::default()),
            Query::Matrix => Partial::Matrix(matrix()),
            Query::Status => Partial::Status(JobStatus {
                states: [0, 0, 0, 0, 3],
                ..JobStatus::default()
            }),
        };
        let coverage = Coverage {
            ranks: 3,
            ranks_reporting: 3,
            ledger: Ledger {
                entered: 9,
                kept: 9,
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

const ROWS: CommId = CommId {
    leader: Rank(2),
    counter: 1,
};

/// Rank 2 sent to its peer 1 on a communicator whose members are 2, 1, 0.
fn matrix() -> MatrixPartial {
    let traffic = Traffic {
        messages: 1,
        bytes: 10,
    };
    MatrixPartial {
        sent: [((Rank(2), CommKey::Group(ROWS), 1), traffic)].into(),
        ..MatrixPartial::default()
    }
}

fn groups() -> Up {
    let run = Run {
        first: Rank(2),
        stride: -1,
        count: 3,
    };
    let group = invivo_proto::control::results::Group {
        pieces: [(0, vec![run])].into(),
    };
    Up::Groups([(ROWS, group)].into())
}

#[test]
fn peers_are_presented_as_ranks_of_the_world() {
    let mut scene = Scene::new();
    scene.up(groups());
    scene.ask(5, LinkAsk::Query(Query::Matrix));
    let waves = Scene::waves(&scene.tick(1));
    let [(wave, Query::Matrix)] = waves[..] else {
        panic!("{waves:?}")
    };
    scene.partial(wave, Query::Matrix);
    let Response {
        id: 5,
        answer: Answer::Matrix(matrix, coverage),
    } = scene.answer()
    else {
        panic!("no matrix")
    };
    assert_eq!(
        matrix.sent,
        [(
            (Rank(2), Rank(1)),
            Traffic {
                messages: 1,
                bytes: 10
            }
        )]
        .into()
    );
    assert_eq!(coverage.tool_cpu_ns, 107, "the root's own time counts, too");
}

#[test]
fn what_job_and_what_a_command_did() {
    let mut scene = Scene::new();
    scene.ask(1, LinkAsk::Job);
    let Response {
        id: 1,
        answer: Answer::Job(job),
    } = scene.answer()
    else {
        panic!("no job")
    };
    assert_eq!(job.id, "test");
    let command = Command {
        id: CommandId(8),
        verb: Verb::Pause { lease_ns: 1 },
    };
    scene.ask(2, LinkAsk::Command(command.clone()));
    assert_eq!(scene.tick(1), [Action::Send(PLACE, Down::Command(command))]);
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
            answer: Answer::Command(acks)
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
    scene.up(groups());
    scene.up(Up::Drained);
    for (wave, query) in Scene::waves(&scene.tick(1)) {
        scene.partial(wave, query);
    }
    let actions = scene.tick(1);
    let [Action::Report(result)] = &actions[..] else {
        panic!("{actions:?}")
    };
    assert_eq!(result.status.states[4], 3);
    assert_eq!(result.coverage.ledger.kept, 9);
    assert!(result.matrix.sent.contains_key(&(Rank(2), Rank(1))));
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
fn a_death_is_in_the_result_and_its_supervisor_leaves_after_it() {
    let mut scene = Scene::new();
    let ended = RankEnded {
        rank: Rank(1),
        how: Ended::Signal(11),
        inside: None,
    };
    scene.up(Up::RankEnded(ended.clone()));
    assert_eq!(Scene::waves(&scene.tick(1)), []);
    for (wave, query) in Scene::waves(&scene.tick(ending::QUIET_NS / MS)) {
        scene.partial(wave, query);
    }
    let actions = scene.tick(1);
    let [Action::Report(result)] = &actions[..] else {
        panic!("{actions:?}")
    };
    assert_eq!(result.ended, [ended]);
    scene.station.dealt_with();
    assert_eq!(scene.tick(1), [Action::Send(PLACE, Down::Release)]);
}

#[test]
fn in_a_hurry_the_result_is_made_without_the_place() {
    let mut scene = Scene::new();
    scene.station.asked_to_end(0);
    assert_eq!(Scene::waves(&scene.tick(0)).len(), LAST_QUESTIONS.len());
    let actions = scene.tick(ending::HURRY_NS / MS);
    assert!(matches!(&actions[..], [Action::Report(_)]), "{actions:?}");
    let actions = scene.tick(ending::HURRY_NS / MS);
    assert!(
        matches!(&actions[..], [.., Action::Leave { finalize: false }]),
        "{actions:?}"
    );
}
