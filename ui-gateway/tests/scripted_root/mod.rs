//! A root that does what a script says, speaking the real protocol over a real socket. Its framing
//! is written out here by hand, so that the gateway's is not tested against itself.
#![allow(dead_code, reason = "each test program uses a part")]

mod kept;
mod metrics;
mod profiles;
mod regions;
mod saves;
mod selection;
mod sites;

pub use kept::{buffers, records};
pub use profiles::profile;
pub use regions::regions;
pub use selection::selection;

use invivo_proto::control;
use invivo_proto::control::analyses::{AnalysesStatus, Analysis, AnalysisStatus, Gaps};
use invivo_proto::control::histogram::{Distribution, Histogram, number};
use invivo_proto::control::link::{Answer, Ask, JobDescription, Request, Response};
use invivo_proto::control::results::{
    Coverage, FunctionStats, FunctionTable, JobStatus, Ledger, Matrix, Messages, Moments,
    RankState, RankStatus, RecordingStatus, Traffic, Unmatched,
};
use invivo_proto::control::timeline::{OpenCall, Piece, Timeline, TimelinePosition};
use invivo_proto::control::tree::{Acks, Cut, Order, Query};
use invivo_proto::ids::{Rank, RegionId, WorldRank};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// What the root does on a request.
pub enum Reply {
    Answer(Answer),
    /// An answer in which these tool processes have no part.
    Partial(Answer, Vec<WorldRank>),
    Late(Duration, Answer),
    Silence,
    /// These bytes as they are.
    Raw(Vec<u8>),
    HangUp,
}

type Script = dyn Fn(&Ask) -> Reply + Send + Sync;

/// A running root; it is gone, socket and connections, when it is dropped.
pub struct ScriptedRoot {
    path: PathBuf,
    asked: Arc<Mutex<Vec<Ask>>>,
    task: JoinHandle<()>,
}

impl ScriptedRoot {
    pub fn start(
        path: &Path,
        script: impl Fn(&Ask) -> Reply + Send + Sync + 'static,
    ) -> ScriptedRoot {
        let listener = UnixListener::bind(path).expect("bound");
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (log, script): (_, Arc<Script>) = (asked.clone(), Arc::new(script));
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.expect("accepted");
                connections.spawn(serve(stream, log.clone(), script.clone()));
            }
        });
        ScriptedRoot {
            path: path.to_owned(),
            asked,
            task,
        }
    }

    /// What it has been asked so far.
    pub fn asked(&self) -> Vec<Ask> {
        self.asked.lock().expect("not poisoned").clone()
    }

    /// How often it has been asked this.
    pub fn times(&self, ask: &Ask) -> usize {
        self.asked().iter().filter(|asked| *asked == ask).count()
    }
}

impl Drop for ScriptedRoot {
    fn drop(&mut self) {
        self.task.abort();
        std::fs::remove_file(&self.path).expect("the socket was there");
    }
}

async fn serve(stream: UnixStream, log: Arc<Mutex<Vec<Ask>>>, script: Arc<Script>) {
    let (mut reader, mut writer) = stream.into_split();
    let (out, mut outgoing) = mpsc::unbounded_channel::<Vec<u8>>();
    let mut writing = tokio::task::JoinSet::new();
    writing.spawn(async move {
        while let Some(bytes) = outgoing.recv().await {
            if writer.write_all(&bytes).await.is_err() {
                return;
            }
        }
    });
    while let Ok(length) = reader.read_u32_le().await {
        let mut bytes = vec![0; length as usize];
        if reader.read_exact(&mut bytes).await.is_err() {
            return;
        }
        let Request { id, ask } = control::decode(&bytes).expect("a request");
        let reply = script(&ask);
        log.lock().expect("not poisoned").push(ask);
        let out = out.clone();
        match reply {
            Reply::Answer(answer) => drop(out.send(framed(id, answer, Vec::new()))),
            Reply::Partial(answer, missing) => drop(out.send(framed(id, answer, missing))),
            Reply::Late(after, answer) => drop(writing.spawn(async move {
                tokio::time::sleep(after).await;
                drop(out.send(framed(id, answer, Vec::new())));
            })),
            Reply::Silence => {}
            Reply::Raw(bytes) => drop(out.send(bytes)),
            Reply::HangUp => return,
        }
    }
}

fn framed(id: u64, answer: Answer, missing: Vec<WorldRank>) -> Vec<u8> {
    let message = control::encode(&Response {
        id,
        answer,
        missing,
    })
    .expect("encoded");
    let mut bytes = u32::try_from(message.len())
        .expect("short")
        .to_le_bytes()
        .to_vec();
    bytes.extend(message);
    bytes
}

/// The status query.
pub const STATUS: Ask = Ask::Query(Query::Status);

/// A job of four ranks with known answers.
pub fn known(ask: &Ask) -> Reply {
    Reply::Answer(match ask {
        Ask::Job => Answer::Job(job()),
        Ask::Query(Query::Status) => Answer::Status(status(), coverage()),
        Ask::Query(Query::Functions {
            rank_rows_max,
            past,
        }) => {
            let table = FunctionTable {
                past: *past,
                ..functions(*rank_rows_max)
            };
            Answer::Functions(table, coverage())
        }
        Ask::Query(Query::Matrix { side_max, .. }) => Answer::Matrix(matrix(*side_max), coverage()),
        Ask::Query(Query::Analyses) => Answer::Analyses(Box::new(analyses()), coverage()),
        Ask::Query(Query::Grid(query)) if !query.metric.is_of_calls() => {
            Answer::Grid(Box::new(metrics::grid(query)), coverage())
        }
        Ask::Query(Query::Grid(_)) => Answer::Grid(Box::default(), coverage()),
        Ask::Query(Query::Messages { .. }) => Answer::Messages(messages(), coverage()),
        Ask::Query(Query::Buffers) => Answer::Buffers(buffers(), coverage()),
        Ask::Query(Query::Records { location, max, .. }) => {
            Answer::Records(records(*location, *max), coverage())
        }
        Ask::Query(Query::Timeline { from, .. }) => Answer::Timeline(last(*from), coverage()),
        Ask::Query(Query::Hang { .. }) => Answer::Hang(Box::default(), coverage()),
        Ask::Query(Query::Stacks { .. }) => Answer::Stacks(Box::default(), coverage()),
        Ask::Query(Query::Profile { past, .. }) => {
            Answer::Profile(Box::new(profile(*past)), coverage())
        }
        Ask::Query(Query::Sites { .. }) => Answer::Sites(Box::new(sites::sites()), coverage()),
        Ask::Query(Query::Regions { .. }) => Answer::Regions(Box::new(regions()), coverage()),
        Ask::Query(Query::Selection) => Answer::Selection(Box::new(selection()), coverage()),
        Ask::Query(Query::Metrics) => Answer::Metrics(Box::new(metrics::metrics()), coverage()),
        Ask::Query(Query::Save(query)) => {
            Answer::Saved(Box::new(saves::saved(query.ask)), coverage())
        }
        Ask::Query(Query::WaitStates { .. }) => Answer::WaitStates(Box::default(), coverage()),
        Ask::Command { order, .. } => Answer::Command(acks(order)),
    })
}

/// A page of the last seconds: one rank of the four.
pub fn last(from: TimelinePosition) -> Timeline {
    let open = OpenCall {
        region: RegionId(2),
        begin_ns: 8_000,
        begin_ticks: 80,
        occupant: 2,
    };
    let piece = Piece {
        location: from.location,
        is_complete: true,
        open: Some(open),
        left_out: 7,
        ..Piece::default()
    };
    Timeline {
        pieces: vec![piece],
        next: TimelinePosition::of(from.location.rank.0 + 1, 4),
        clock_error_ns: 50,
    }
}

pub fn job() -> JobDescription {
    JobDescription {
        id: "known".into(),
        ranks: 4,
        places: 1,
        nodes: 1,
        family: "ompi".into(),
        library: "Open MPI".into(),
        observation: None,
    }
}

pub fn coverage() -> Coverage {
    let ledger = Ledger {
        entered: 60,
        open: 1,
        in_flight: 2,
        kept: 40,
        reduced: 10,
        dropped: [4, 2, 1],
        ..Ledger::default()
    };
    Coverage {
        ranks: 4,
        ranks_reporting: 4,
        lag_ns: 5_000_000,
        ledger,
        ..Coverage::default()
    }
}

pub fn status() -> JobStatus {
    let named = RankStatus {
        rank: Rank(3),
        state: RankState::InMpi,
        region: RegionId(1),
        since_ns: 7,
        entered: 15,
        mpi_ns: 900,
    };
    JobStatus {
        states: [0, 3, 1, 0, 0, 0],
        named: vec![named],
        observed_ns: 1_000,
        recording: RecordingStatus {
            on: 4,
            now_ns: 9_000,
            clock_error_ns: 50,
            ..RecordingStatus::default()
        },
        ..JobStatus::default()
    }
}

fn stats(count: u64, sum_ns: u64, max_rank: u32) -> FunctionStats {
    let mean_ns = sum_ns as f64 / count as f64;
    let time = Moments {
        count,
        sum_ns,
        mean_ns,
        m2: 0.0,
        min_ns: 1,
        max_ns: sum_ns,
        max_rank: Rank(max_rank),
    };
    FunctionStats {
        time,
        bytes_out: 100,
        bytes_in: 50,
        clipped: 0,
    }
}

/// So many calls of 20 ns that moved 8 bytes, but for one of 1 us that moved a KiB.
pub fn distribution(calls: u64) -> Distribution {
    let one_larger = |usual, larger| {
        let bins = vec![(number(usual), calls - 1), (number(larger), 1)];
        Histogram::new(0, bins)
    };
    Distribution {
        durations: one_larger(20, 1000),
        shortest_ns: 20,
        longest_ns: 1000,
        sizes: one_larger(8, 1024),
    }
}

/// Two functions; by rank, the second one on four ranks with 100, 200, 300 and 400 ns: those with
/// the most time.
pub fn functions(rank_rows_max: u32) -> FunctionTable {
    let row = |rank: u32| {
        let stats = stats(5, 100 * (u64::from(rank) + 1), rank);
        ((Rank(rank), RegionId(2)), stats)
    };
    let mut table = FunctionTable {
        rows: BTreeMap::from([
            (RegionId(1), stats(10, 500, 0)),
            (RegionId(2), stats(50, 1000, 3)),
        ]),
        rank_rows_max,
        distributions: [(RegionId(2), distribution(50))].into(),
        ..FunctionTable::default()
    };
    if rank_rows_max > 0 {
        table.rank_rows = (0..4).rev().take(rank_rows_max as usize).map(row).collect();
        table.rank_rows_total = 4;
    }
    table
}

/// A ring of four ranks in blocks, at most `side_max` of them.
pub fn matrix(side_max: u32) -> Matrix {
    let block_ranks = 4u32.div_ceil(side_max);
    let ring = |bytes| {
        let mut cells = BTreeMap::<(u32, u32), Traffic>::new();
        for rank in 0..4 {
            let cell = cells
                .entry((rank / block_ranks, (rank + 1) % 4 / block_ranks))
                .or_default();
            cell.messages += 1;
            cell.bytes += bytes;
        }
        cells
    };
    Matrix {
        block_ranks,
        sent: ring(80),
        received: ring(70),
        unresolved: Traffic {
            messages: 2,
            bytes: 9,
        },
        outside: Traffic::default(),
        past: None,
    }
}

/// All analyses are on, but for the matrix, which was switched off.
pub fn analyses() -> AnalysesStatus {
    let mut status = AnalysesStatus {
        now_ns: 9_000_000_000,
        ..AnalysesStatus::default()
    };
    status.of.iter_mut().for_each(|of| of.on = 4);
    status.of[Analysis::Matrix as usize] = AnalysisStatus {
        on: 0,
        off: 4,
        since_ns: 5_000_000_000,
        gaps: Gaps {
            last: vec![(5_000_000_000, u64::MAX)],
            ..Gaps::default()
        },
    };
    status
}

/// Four messages, of which three have been received, and one before it was waited for.
pub fn messages() -> Messages {
    let traffic = |messages| Traffic {
        messages,
        bytes: 80 * messages,
    };
    let times = |count, sum_ns| stats(count, sum_ns, 3).time;
    Messages {
        sent: traffic(4),
        received: traffic(3),
        matched: traffic(3),
        unmatched: Unmatched {
            cut: 1,
            ..Unmatched::default()
        },
        transfer: times(2, 3_000),
        late_sender: times(1, 700),
        untimed: 1,
        clock_error_ns: 50,
        past: None,
    }
}

/// All ranks have done it, in the way of the order.
pub fn acks(order: &Order) -> Acks {
    let cut = |at_ns| {
        Some(Cut {
            earliest_ns: at_ns,
            latest_ns: at_ns,
            error_ns: 50,
        })
    };
    let plain = Acks {
        targets: 4,
        done: 4,
        slowest: Some((Rank(2), 1_000_000)),
        ..Acks::default()
    };
    match order {
        Order::Pause { .. } | Order::Hold { .. } => Acks {
            held_in_mpi: 1,
            ..plain
        },
        Order::Reset | Order::Record { .. } | Order::Analyses { .. } | Order::Select(_) => Acks {
            from: cut(10_000),
            clipped: 3,
            ..plain
        },
        Order::Window { length_ns } => Acks {
            from: cut(10_000),
            to: cut(10_000 + length_ns),
            complete_ns: 12_000 + length_ns,
            clipped: 3,
            open: 2,
            ..plain
        },
        _ => plain,
    }
}
