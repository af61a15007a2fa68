//! A job of four ranks as the tests see it: everything in it is made of the number of the snapshot.

use super::model::{Event, Model, Settings};
use invivo_grpc::v1::{
    Coverage, Distribution, DroppedByShim, FunctionRow, GridCell, GridReply, GridRow, HelloReply,
    Job, JobStatus, Ledger, MatrixCell, MatrixReply, RankCounts, RankState, RankStatus,
    RankWaitRow, RankWaits, RecordingStatus, Snapshot, Traffic, WaitStateRow, WaitStatesReply,
};
use std::time::Duration;

const SECOND: u64 = 1_000_000_000;

/// A model to which these things happened, a second after each other.
pub fn model(events: &[Event]) -> Model {
    let settings = Settings {
        lease: Duration::from_secs(600),
        window: Duration::from_secs(2),
    };
    let mut model = Model::new("known", "./app -v", settings);
    for (event, second) in events.iter().zip(1..) {
        model.step(Duration::from_secs(second), event.clone());
    }
    model
}

/// Who the gateway is.
pub fn hello(scope: &str) -> HelloReply {
    let words = "status watch functions matrix pause resume hold reset record record-window \
                 shutdown audit analyses";
    HelloReply {
        gateway_version: "0.1.0".into(),
        capabilities: words.split(' ').map(str::to_owned).collect(),
        scope: scope.into(),
        job: Some(Job {
            id: "known".into(),
            ranks: 4,
            places: 2,
            nodes: 1,
            family: "ompi".into(),
            library: "Open MPI v4.1.4, package: Debian OpenMPI".into(),
            observation: None,
        }),
        root_connected: true,
    }
}

/// The snapshot of second `n`.
pub fn snapshot(n: u64) -> Snapshot {
    let ledger = Ledger {
        entered: 5_000 * n,
        open: 2,
        in_flight: 8,
        kept: 4_000 * n - 10,
        reduced: 1_000 * n - 7,
        dropped: Some(DroppedByShim {
            no_packet: 7,
            ..DroppedByShim::default()
        }),
        ..Ledger::default()
    };
    Snapshot {
        sequence: n,
        unix_ns: 1_700_000_000 * SECOND + n * SECOND,
        coverage: Some(Coverage {
            ranks: 4,
            ranks_reporting: 4,
            lag_ns: 5_000_000,
            ledger: Some(ledger),
            overhead_ns: 4_000_000 * n,
            tool_cpu_ns: 50_000_000 * n,
            displaced_ns: 30_000_000 * n,
            packets_mpi: 12 * n,
            packets_shm: 3 * n,
            payload_bytes: 37_500 * n,
            buffer_bytes: 64 << 20,
            ..Coverage::default()
        }),
        status: Some(JobStatus {
            ranks: Some(RankCounts {
                computing: 3,
                in_mpi: 1,
                ..RankCounts::default()
            }),
            named: named(n),
            observed_ns: n * SECOND,
            recording: Some(RecordingStatus {
                on: 4,
                now_ns: 100 * SECOND + n * SECOND,
                clock_error_ns: 800,
                ..RecordingStatus::default()
            }),
            ..JobStatus::default()
        }),
        functions: vec![
            row("MPI_Allreduce", 3_000 * n, 1_500_000_000 * n, 3, 24_000 * n),
            row("MPI_Recv", 2_000 * n, 500_000_000 * n, 2, 0),
        ],
    }
}

fn named(n: u64) -> Vec<RankStatus> {
    let of = |(rank, tenths): (u32, u64)| RankStatus {
        rank,
        state: if rank == 2 {
            RankState::InMpi
        } else {
            RankState::Computing
        }
        .into(),
        function: if rank == 2 {
            "MPI_Recv"
        } else {
            "MPI_Allreduce"
        }
        .into(),
        since_ns: 2_500_000,
        entered: 1_250 * n,
        mpi_ns: tenths * SECOND / 10 * n,
    };
    [(3, 2), (1, 4), (0, 6), (2, 8)].map(of).to_vec()
}

fn row(function: &str, calls: u64, time_ns: u64, max_rank: u32, bytes: u64) -> FunctionRow {
    FunctionRow {
        function: function.into(),
        calls,
        time_ns,
        mean_ns: time_ns as f64 / calls as f64,
        stddev_ns: 1_000.0,
        min_ns: 900,
        max_ns: 20_000_000,
        max_rank,
        bytes_out: bytes,
        bytes_in: bytes,
        durations: Some(Distribution {
            count: calls,
            p50: time_ns / calls / 2,
            p90: 2_000_000,
            p99: 15_000_000,
            bins: Vec::new(),
            error: 0.03125,
        }),
        ..FunctionRow::default()
    }
}

/// A ring of `side` blocks of `block_ranks` ranks, in which block 0 sends twice as much as the
/// others.
pub fn matrix(side: u32, block_ranks: u32) -> MatrixReply {
    let traffic = |block: u32| Traffic {
        messages: 10,
        bytes: if block == 0 { 2 << 20 } else { 1 << 20 },
    };
    let cell = |block| MatrixCell {
        source: block,
        destination: (block + 1) % side,
        sent: Some(traffic(block)),
        received: Some(traffic(block)),
    };
    MatrixReply {
        analysis: None,
        coverage: None,
        ranks: side * block_ranks,
        block_ranks,
        cells: (0..side).map(cell).collect(),
        unresolved: Some(Traffic {
            messages: 2,
            bytes: 9,
        }),
        outside: None,
        interval: None,
    }
}

/// Two ranks of four in MPI by turns, for four seconds; the last one ended early.
pub fn grid() -> GridReply {
    const COLUMNS: u32 = 32;
    let width_ns = 1 << 27;
    let cell = |rank: u32, column: u32| {
        let in_mpi = (column / 8 + rank) % 4 < 2;
        let value = if in_mpi { width_ns } else { width_ns / 10 };
        let is_over = rank == 3 && column > 20;
        match is_over {
            true => GridCell::default(),
            false => GridCell {
                ranks: 1,
                recorded_ns: width_ns,
                sum: value,
                min: value,
                min_rank: rank,
                max: value,
                max_rank: rank,
            },
        }
    };
    let row = |rank| {
        let cells: Vec<GridCell> = (0..COLUMNS).map(|column| cell(rank, column)).collect();
        let sum: u64 = cells.iter().map(|cell| cell.sum).sum();
        let total = GridCell {
            ranks: 1,
            recorded_ns: cells.iter().map(|cell| cell.recorded_ns).sum(),
            sum,
            min: sum,
            min_rank: rank,
            max: sum,
            max_rank: rank,
        };
        GridRow {
            row: rank,
            cells,
            total: Some(total),
        }
    };
    GridReply {
        metric: "mpi".into(),
        unit: "ns".into(),
        ranks: 4,
        block_ranks: 1,
        width_ns,
        columns: COLUMNS,
        rows: (0..4).map(row).collect(),
        ..GridReply::default()
    }
}

/// All wait for rank 3.
pub fn waits() -> WaitStatesReply {
    let rank = |rank, waited_ns, caused_ns| RankWaits {
        rank,
        waited_ns,
        caused_ns,
        rows: vec![RankWaitRow {
            wait_state: "Wait at N x N".into(),
            part_of: String::new(),
            function: "MPI_Allreduce".into(),
            waits: 6_000,
            time_ns: waited_ns,
            caused_waits: 6_000,
            caused_ns,
        }],
    };
    WaitStatesReply {
        rows: vec![WaitStateRow {
            wait_state: "Wait at N x N".into(),
            part_of: String::new(),
            function: "MPI_Allreduce".into(),
            waits: 18_000,
            time_ns: 9_000_000_000,
            max_ns: 12_000_000,
            max_rank: 1,
        }],
        ranks: vec![rank(3, 0, 9_000_000_000), rank(1, 4_000_000_000, 0)],
        ranks_total: 4,
        ..WaitStatesReply::default()
    }
}
