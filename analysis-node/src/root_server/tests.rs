//! The root with a gateway and one place, which the test plays.

mod governor;
mod job_end;
mod watchdog;

use super::final_result::{QUESTIONS, WHO_WAITS};
use super::*;
use crate::shutdown;
use invivo_proto::control::encode;
use invivo_proto::control::link::Response;
use invivo_proto::control::results::Coverage;
use invivo_proto::control::results::{FunctionTable, JobStatus, Ledger, Matrix, Traffic};
use invivo_proto::control::timeline::{Piece, Timeline, TimelinePosition};
use invivo_proto::control::tree::{Acks, Command, Ended, Query, Verb};
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
    server: RootServer,
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
        let info = (JobInfo::default(), AnalysisSet::DEFAULT);
        let mut server = RootServer::new(0, position, job, info, Some(listening));
        assert_eq!(
            server.take_actions()[0],
            ServerAction::Send(PLACE, Down::Heartbeat)
        );
        let gateway = UnixStream::connect(&path).unwrap();
        server.poll_gateway(0);
        Scene {
            server,
            gateway,
            now_ns: 0,
            _dir: dir,
        }
    }

    fn ask(&mut self, id: u64, ask: LinkAsk) {
        let request = encode(&Request { id, ask }).unwrap();
        self.gateway
            .write_all(&invivo_proto::control::framing::frame(&request))
            .unwrap();
        self.server.poll_gateway(self.now_ns);
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
        assert_eq!(self.tick(1), [ServerAction::Send(PLACE, command)]);
    }

    fn up(&mut self, message: Up) {
        self.server
            .up(self.now_ns, PLACE, &encode(&message).unwrap());
    }

    /// What is to be done, heartbeats apart.
    fn tick(&mut self, ms: u64) -> Vec<ServerAction> {
        self.now_ns += ms * MS;
        let stats = SelfStats {
            cpu_ns: 7,
            refused_sends: 2,
            panics: 0,
        };
        self.server.tick(self.now_ns, stats);
        let mut actions = self.server.take_actions();
        actions.retain(|action| *action != ServerAction::Send(PLACE, Down::Heartbeat));
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
            Query::Messages { .. } => Partial::Messages(Box::default()),
            Query::Buffers => Partial::Buffers(Default::default()),
            Query::Records { .. } => Partial::Records(Default::default()),
            Query::Timeline { from, .. } => Partial::Timeline(piece(from)),
            Query::Hang { .. } => Partial::Hang(Box::default()),
            Query::Stacks { .. } => Partial::Stacks(Box::default()),
            Query::Profile { .. } => Partial::Profile(Box::default()),
            Query::Analyses => Partial::Analyses(Box::default()),
            Query::Grid(_) => Partial::Grid(Box::default()),
            Query::Sites { .. } => Partial::Sites(Box::default()),
            Query::Regions { .. } => Partial::Regions(Box::default()),
            Query::Selection => Partial::Selection(Box::default()),
            Query::Metrics => Partial::Metrics(Box::default()),
            Query::Save(_) => Partial::Saved(Box::default()),
            Query::WaitStates { .. } => Partial::WaitStates(Box::default()),
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

    fn waves(actions: &[ServerAction]) -> Vec<(WaveId, Query)> {
        let wave = |action: &ServerAction| match action {
            ServerAction::Send(PLACE, Down::Query { wave, query }) => Some((*wave, *query)),
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

/// Answers are what the tree found and name who is missing.
#[test]
fn answers_name_who_is_missing() {
    let mut scene = Scene::new();
    let side_max = 8;
    scene.ask(
        5,
        LinkAsk::Query(Query::Matrix {
            side_max,
            past: None,
        }),
    );
    let waves = Scene::waves(&scene.tick(1));
    let [
        (
            wave,
            Query::Matrix {
                side_max: 8,
                past: None,
            },
        ),
    ] = waves[..]
    else {
        panic!("{waves:?}")
    };
    scene.partial(
        wave,
        Query::Matrix {
            side_max,
            past: None,
        },
    );
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
fn the_job_and_a_command_are_answered() {
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

/// Whoever may only look must not keep others from steering.
#[test]
fn questions_leave_room_for_commands() {
    let mut scene = Scene::new();
    for id in 0..ASKED_MAX as u64 {
        scene.ask(id, LinkAsk::Query(Query::Status));
    }
    scene.tick(1);
    scene.command(99, 8, Order::Resume, Verb::Resume);
    scene.up(Up::Ack {
        command: CommandId(8),
        acks: Acks::default(),
    });
    assert_eq!(scene.answer().id, 99);
}

#[test]
fn refused_questions_leave_room_for_the_last_ones() {
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
    assert_eq!(Scene::waves(&scene.tick(1)).len(), QUESTIONS.len() + 2);
}
