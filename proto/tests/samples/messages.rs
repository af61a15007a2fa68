//! An example of every message between processes of one release.

use super::buffers::{
    buffers, cursor, freeze, location, position, records, saved, strategy, timeline,
};
use super::hang::{diagnosis, hang};
use super::metrics::{measured, metrics_status};
use super::peers::{peers, places};
use super::profile::{past, profile};
use super::results::{
    analyses, coverage, functions, grid, group, job, matrix, of_messages, regions, sites, status,
    wait_states,
};
use super::selection::{selection, selection_status};
use super::stacks::{chosen, fault, stacks};
pub use super::supervisors::{from_supervisors, to_supervisors};
use super::{Sample, whereabouts};
use invivo_proto::control;
use invivo_proto::control::analyses::{Analysis, AnalysisSet};
use invivo_proto::control::fault::RankFaulted;
use invivo_proto::control::grid::{GridQuery, Metric};
use invivo_proto::control::link::{Answer, Ask, AtEnd, Final, Request, Response, TimelinePage};
use invivo_proto::control::local::{FromSupervisor, ToSupervisor};
use invivo_proto::control::metrics::SystemMetric;
use invivo_proto::control::overhead::OverheadCap;
use invivo_proto::control::peer::Endpoints;
use invivo_proto::control::places::Places;
use invivo_proto::control::sampling::Sampling;
use invivo_proto::control::tree::*;
use invivo_proto::ids::*;

fn acks() -> Acks {
    Acks {
        targets: 4,
        done: 3,
        held_in_mpi: 1,
        partly: 1,
        slowest: Some((Rank(3), 3_100_000)),
        failures: vec![(Rank(0), "no answer".into())],
        missing: vec![WorldRank(5)],
        from: Some(Cut {
            earliest_ns: 5_000_000_000,
            latest_ns: 5_000_000_000,
            error_ns: 2_000,
        }),
        to: Some(Cut {
            earliest_ns: 6_000_000_000,
            latest_ns: 6_000_000_100,
            error_ns: 2_000,
        }),
        complete_ns: 6_100_000_000,
        clipped: 3,
        open: 1,
    }
}

fn ended() -> RankEnded {
    RankEnded {
        rank: Rank(2),
        how: Ended::Signal(11),
        inside: Some(RegionId(2)),
    }
}

fn faulted() -> RankFaulted {
    RankFaulted {
        rank: Rank(2),
        fault: fault(),
    }
}

/// Every message from parent to child, every verb, every question.
pub fn downs() -> Vec<Down> {
    let verbs = [
        Verb::Pause {
            lease_ns: 600_000_000_000,
        },
        Verb::Resume,
        Verb::Hold {
            lease_ns: 600_000_000_000,
        },
        Verb::Reset {
            at_ns: 5_000_000_000,
        },
        Verb::Record {
            on: true,
            epoch: 3,
            at_ns: 5_000_000_000,
        },
        Verb::Window {
            from_ns: 5_000_000_000,
            to_ns: 6_000_000_000,
            epoch: 4,
        },
        Verb::Shutdown,
        Verb::Strategy {
            strategy: strategy(),
        },
        Verb::Analyses {
            these: AnalysisSet::ALL,
            on: true,
            at_ns: 5_000_000_000,
        },
        Verb::Sampling(Sampling::perf(251)),
        Verb::Select {
            selection: selection(),
            at_ns: 5_000_000_000,
        },
        Verb::Metrics(measured()),
    ];
    let commands = verbs.into_iter().zip(9..).map(|(verb, id)| {
        Down::Command(Command {
            id: CommandId(id),
            verb,
        })
    });
    let queries = [
        Query::Functions {
            rank_rows_max: 1,
            past: None,
        },
        Query::Matrix {
            side_max: 64,
            past: None,
        },
        Query::Status,
        Query::Messages { past: None },
        Query::Buffers,
        Query::Records {
            location: location(),
            from_ns: 5_000_000_000,
            to_ns: 6_000_000_000,
            after: Some(cursor()),
            max: 4096,
        },
        Query::Timeline {
            from: position(),
            from_ns: 5_000_000_000,
            to_ns: 6_000_000_000,
            newest: 1000,
            max: 16_384,
        },
        Query::Hang {
            older_ns: 30_000_000_000,
        },
        Query::Stacks {
            chosen: chosen(),
            threads: true,
        },
        Query::Analyses,
        Query::Grid(GridQuery {
            metric: Metric::System(SystemMetric::PageFaults),
            from_ns: 5_000_000_000,
            to_ns: 6_000_000_000,
            observed_ns: 60_000_000_000,
            columns_max: 64,
            rows_max: 32,
        }),
        Query::Sites {
            rows_max: 40,
            named: true,
            past: Some(past()),
        },
        Query::Save(freeze(chosen())),
        Query::WaitStates {
            ranks_max: 64,
            past: None,
        },
        Query::Profile {
            chosen: chosen(),
            past: Some(past()),
        },
        Query::Regions {
            rows_max: 40,
            named: true,
            past: None,
        },
        Query::Selection,
        Query::Metrics,
    ];
    let queries = queries
        .into_iter()
        .zip(1..)
        .map(|(query, wave)| Down::Query {
            wave: WaveId(wave),
            query,
        });
    let job = Down::Job(JobInfo {
        id: "node-17".into(),
        buffer_bytes: 1 << 24,
        budget_bytes: 1 << 30,
        hold_lease_ns: 600_000_000_000,
        recording: true,
        strategy: Box::new(strategy()),
        sampling: Sampling::timer(251),
        selection: Box::new(selection()),
        metrics: Box::new(measured()),
    });
    let rest = [
        Down::Heartbeat,
        Down::Time {
            asked_ns: 1_000_000,
            job_ns: 5_000_000_000,
            error_ns: 800,
            parent_ns: 4_000_000_000,
            here: whereabouts(),
        },
        Down::Groups([(CommId::WORLD, group())].into()),
        Down::Release,
        Down::Shutdown,
        Down::Analyses(AnalysisSet::ALL),
    ];
    [job]
        .into_iter()
        .chain(commands)
        .chain(queries)
        .chain(rest)
        .collect()
}

/// Every message from child to parent.
pub fn ups() -> Vec<Up> {
    let partials = [
        Partial::Functions(functions()),
        Partial::Matrix(matrix()),
        Partial::Status(status()),
        Partial::Messages(Box::new(of_messages())),
        Partial::Buffers(buffers()),
        Partial::Records(records()),
        Partial::Timeline(timeline()),
        Partial::Hang(Box::new(hang())),
        Partial::Stacks(Box::new(stacks())),
        Partial::Analyses(Box::new(analyses())),
        Partial::Grid(Box::new(grid())),
        Partial::Sites(Box::new(sites())),
        Partial::Saved(Box::new(saved())),
        Partial::WaitStates(Box::new(wait_states())),
        Partial::Profile(Box::new(profile())),
        Partial::Regions(Box::new(regions())),
        Partial::Selection(Box::new(selection_status())),
        Partial::Metrics(Box::new(metrics_status())),
    ];
    let partials = partials
        .into_iter()
        .zip(1..)
        .map(|(partial, wave)| Up::Partial {
            wave: WaveId(wave),
            partial,
            coverage: coverage(),
            missing: vec![WorldRank(6)],
        });
    let first = [
        Up::Hello { ranks: 4 },
        Up::Ack {
            command: CommandId(9),
            acks: acks(),
        },
    ];
    let rest = [
        Up::Groups([(CommId::WORLD, group())].into()),
        Up::WantGroups(vec![CommId {
            leader: Rank(300),
            counter: 2,
        }]),
        Up::WhatTime {
            asked_ns: 1_000_000,
            here: whereabouts(),
        },
        Up::RankEnded(ended()),
        Up::Drained,
        Up::RankFaulted(Box::new(faulted())),
    ];
    first.into_iter().chain(partials).chain(rest).collect()
}

/// Every request of the gateway, and every order.
pub fn requests() -> Vec<Request> {
    let lease_ns = 600_000_000_000;
    let orders = [
        Order::Pause { lease_ns },
        Order::Resume,
        Order::Hold { lease_ns },
        Order::Reset,
        Order::Record { on: true },
        Order::Window {
            length_ns: 1_000_000_000,
        },
        Order::Shutdown,
        Order::Strategy {
            strategy: strategy(),
        },
        Order::Analyses {
            these: AnalysisSet::of(Analysis::Messages),
            on: true,
        },
        Order::Sampling(Sampling::perf(251)),
        Order::Select(selection()),
        Order::Metrics(measured()),
        Order::Overhead {
            cap: OverheadCap::of_share(0.02),
        },
    ];
    let orders = orders.into_iter().zip(9..).map(|(order, id)| Ask::Command {
        id: CommandId(id),
        order,
    });
    let asks = [Ask::Job, Ask::Query(Query::Status)];
    let asks = asks.into_iter().chain(orders);
    asks.zip(1..).map(|(ask, id)| Request { id, ask }).collect()
}

/// Every answer to the gateway.
pub fn responses() -> Vec<Response> {
    [
        Answer::Job(job()),
        Answer::Functions(functions(), coverage()),
        Answer::Matrix(matrix(), coverage()),
        Answer::Status(status(), coverage()),
        Answer::Command(acks()),
        Answer::Messages(of_messages(), coverage()),
        Answer::Refused("no such rank".into()),
        Answer::Buffers(buffers(), coverage()),
        Answer::Records(records(), coverage()),
        Answer::Timeline(timeline(), coverage()),
        Answer::Hang(Box::new((diagnosis(), hang())), coverage()),
        Answer::Stacks(Box::new(stacks()), coverage()),
        Answer::Analyses(Box::new(analyses()), coverage()),
        Answer::Grid(Box::new(grid()), coverage()),
        Answer::Sites(Box::new(sites()), coverage()),
        Answer::Saved(Box::new(saved()), coverage()),
        Answer::WaitStates(Box::new(wait_states()), coverage()),
        Answer::Profile(Box::new(profile()), coverage()),
        Answer::Regions(Box::new(regions()), coverage()),
        Answer::Selection(Box::new(selection_status()), coverage()),
        Answer::Metrics(Box::new(metrics_status()), coverage()),
    ]
    .map(|answer| Response {
        id: 1,
        answer,
        missing: vec![WorldRank(6)],
    })
    .into()
}

/// What the root leaves behind.
pub fn at_ends() -> Vec<AtEnd> {
    let page = TimelinePage {
        from_ns: 5_000_000_000,
        to_ns: 6_000_000_000,
        timeline: timeline(),
        missing: vec![WorldRank(6)],
    };
    vec![
        AtEnd::Page(page),
        AtEnd::Result(Box::new(result())),
        AtEnd::Early(Box::new(result())),
        AtEnd::Analyses(Box::new(analyses())),
        AtEnd::Faults(vec![faulted()]),
        AtEnd::Save,
    ]
}

fn result() -> Final {
    Final {
        job: job(),
        functions: functions(),
        matrix: matrix(),
        status: status(),
        coverage: coverage(),
        ended: vec![ended()],
        ended_left_out: 3,
        hang: Box::default(),
        waits: Box::new(wait_states()),
        regions: Box::new(regions()),
        sites: Box::new(sites()),
        shut_down: false,
    }
}

/// What a message is called: the innermost variant that tells it from its neighbours.
pub trait Named {
    /// In lower case.
    fn word(&self) -> String;
}

/// The first word of what is shown for debugging: a variant's name.
fn variant(of: &dyn std::fmt::Debug) -> String {
    let text = format!("{of:?}");
    let word = text.split(|c: char| !c.is_alphanumeric()).next();
    word.unwrap_or_default().to_lowercase()
}

impl Named for Down {
    fn word(&self) -> String {
        match self {
            Down::Command(command) => format!("command-{}", variant(&command.verb)),
            Down::Query { query, .. } => format!("query-{}", variant(query)),
            other => variant(other),
        }
    }
}

impl Named for Up {
    fn word(&self) -> String {
        match self {
            Up::Partial { partial, .. } => format!("partial-{}", variant(partial)),
            other => variant(other),
        }
    }
}

impl Named for FromSupervisor {
    fn word(&self) -> String {
        match self {
            FromSupervisor::Acted { outcome, .. } => format!("acted-{}", variant(outcome)),
            other => variant(other),
        }
    }
}

impl Named for Request {
    fn word(&self) -> String {
        match &self.ask {
            Ask::Command { order, .. } => format!("command-{}", variant(order)),
            Ask::Query(query) => format!("query-{}", variant(query)),
            Ask::Job => "job".to_owned(),
        }
    }
}

impl Named for Response {
    fn word(&self) -> String {
        variant(&self.answer)
    }
}

impl Named for ToSupervisor {
    fn word(&self) -> String {
        variant(self)
    }
}

impl Named for AtEnd {
    fn word(&self) -> String {
        variant(self)
    }
}

impl Named for Places {
    fn word(&self) -> String {
        variant(self)
    }
}

impl Named for Endpoints {
    fn word(&self) -> String {
        variant(self)
    }
}

/// The file of one sample.
pub fn file(kind: &str, message: &impl Named) -> String {
    format!("{kind}-{}", message.word())
}

/// Everything that only one release reads, as files.
pub fn control() -> Vec<Sample> {
    macro_rules! files {
        ($kind:literal, $all:expr) => {
            $all.into_iter()
                .map(|message| {
                    (
                        file($kind, &message),
                        control::encode(&message).expect("encodable"),
                    )
                })
                .collect::<Vec<Sample>>()
        };
    }
    [
        files!("down", downs()),
        files!("up", ups()),
        files!("peer", peers()),
        files!("places", places()),
        files!("from-supervisor", from_supervisors()),
        files!("to-supervisor", to_supervisors()),
        files!("request", requests()),
        files!("response", responses()),
        files!("at-end", at_ends()),
    ]
    .concat()
}
