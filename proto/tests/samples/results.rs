//! Examples of what the analyses answer.

use super::profile::past;
use super::stacks::named;
use invivo_proto::control::analyses::{AnalysesStatus, AnalysisStatus, Gaps};
use invivo_proto::control::grid::{Axes, Grid, GridCell, GridRow};
use invivo_proto::control::histogram::{Distribution, Histogram};
use invivo_proto::control::iterations::{Begin, Iterations, Lengths};
use invivo_proto::control::link::{JobDescription, ObservationDescription};
use invivo_proto::control::metrics::{Measured, MetricSet};
use invivo_proto::control::overhead::{Governance, OverheadCap};
use invivo_proto::control::profile::Past;
use invivo_proto::control::regions::{Region, RegionStats, RegionTable, Unrecorded};
use invivo_proto::control::results::*;
use invivo_proto::control::sampling::Sampling;
use invivo_proto::control::sites::{Causer, Place, Site, SiteStats, SiteTable, SiteWaits};
use invivo_proto::control::wait_states::{Calls, RankWaits, Share, WaitState, WaitStates, Waited};
use invivo_proto::definition::Run;
use invivo_proto::ids::*;

pub fn moments() -> Moments {
    Moments {
        count: 3,
        sum_ns: 600,
        mean_ns: 200.0,
        m2: 20000.0,
        min_ns: 100,
        max_ns: 300,
        max_rank: Rank(1),
    }
}

pub fn functions() -> FunctionTable {
    let stats = FunctionStats {
        time: moments(),
        bytes_out: 4096,
        bytes_in: 0,
        clipped: 1,
    };
    FunctionTable {
        rows: [(RegionId(1), stats)].into(),
        rank_rows: [((Rank(1), RegionId(1)), stats)].into(),
        rank_rows_total: 7,
        rank_rows_max: 1,
        distributions: [(RegionId(1), distribution())].into(),
        past: None,
    }
}

/// Of three calls that moved 4 KiB.
pub fn distribution() -> Distribution {
    Distribution {
        durations: Histogram::new(0, vec![(57, 1), (72, 1), (83, 1)]),
        shortest_ns: 100,
        longest_ns: 300,
        sizes: Histogram::new(0, vec![(144, 3)]),
    }
}

pub fn site_stats() -> SiteStats {
    let functions = functions();
    SiteStats {
        stats: functions.rows[&RegionId(1)],
        ranks: 4,
        named: named().swap_remove(0).1,
        distribution: distribution(),
        waits: [(WaitState::WaitAtNxN, site_waits(1))].into(),
        iterations: [Begin::Call, Begin::Burst]
            .map(|of| (of, iterations()))
            .into(),
    }
}

/// Steps of two ranks, some of which write a checkpoint.
pub fn iterations() -> Iterations {
    let first_ns = 1_000_000_000_000;
    Iterations {
        lengths: Lengths {
            time: functions().rows[&RegionId(1)].time,
            longest: Past {
                from_ns: first_ns + 5,
                to_ns: first_ns + 7,
            },
            first_ns,
            last: Past {
                from_ns: first_ns + 8,
                to_ns: first_ns + 9,
            },
            others: 4,
            others_ns: 5_000_000_000,
        },
        ranks: 2,
        fewest: 99_998,
        most: 100_000,
    }
}

/// Waiting at a site, for so many ranks.
pub fn site_waits(causers: u32) -> SiteWaits {
    let causer = |rank| Causer {
        rank: Rank(rank),
        ns: 60_000,
    };
    SiteWaits {
        waited: waited(),
        causers: (7..7 + causers).map(causer).collect(),
    }
}

pub fn sites() -> SiteTable {
    let row = |place| {
        let region = RegionId(1);
        (Site { place, region }, site_stats())
    };
    let code = Place::Code {
        file: "solver".into(),
        build_id: vec![0xb1, 0x1d, 0x1d],
        offset: 0x1b3c,
    };
    SiteTable {
        rows: [Place::NotNoted, Place::Others, Place::Nowhere, code]
            .map(row)
            .into(),
        rows_max: 4,
        left_out: site_stats().stats,
        rows_left_out: 2,
        unnamed: 1,
        waits_left_out: waited(),
        past: Some(past()),
    }
}

pub fn region_stats() -> RegionStats {
    RegionStats {
        visits: 12,
        time_ns: 900,
        own_ns: 600,
        mpi_ns: 300,
        own_mpi_ns: 200,
        ranks: 4,
        most: (Rank(2), 400),
        least: (Rank(1), 100),
        off: 1,
        named: named().swap_remove(0).1,
    }
}

pub fn regions() -> RegionTable {
    let code = Place::Code {
        file: "solver".into(),
        build_id: vec![0xb1, 0x1d, 0x1d],
        offset: 0x1b3c,
    };
    let functions = [Place::Others, Place::Nowhere, code].map(Region::Function);
    let all = functions.into_iter().chain([Region::Marked("step".into())]);
    RegionTable {
        rows: all.map(|region| (region, region_stats())).collect(),
        rows_max: 4,
        left_out: region_stats(),
        rows_left_out: 2,
        unnamed: 1,
        unrecorded: Unrecorded {
            dropped: 5,
            repaired: 6,
            too_deep: 7,
        },
        past: None,
    }
}

fn traffic() -> Traffic {
    Traffic {
        messages: 2,
        bytes: 8192,
    }
}

pub fn matrix() -> Matrix {
    Matrix {
        block_ranks: 2,
        sent: [((0, 1), traffic())].into(),
        received: [((0, 1), traffic())].into(),
        unresolved: Traffic {
            messages: 1,
            bytes: 8,
        },
        outside: Traffic {
            messages: 2,
            bytes: 16,
        },
        past: Some(past()),
    }
}

pub fn of_messages() -> Messages {
    Messages {
        sent: traffic(),
        received: traffic(),
        matched: traffic(),
        unmatched: Unmatched {
            unresolved: 1,
            limit: 2,
            cut: 3,
            missing: 4,
            outside: 5,
        },
        transfer: moments(),
        late_sender: moments(),
        untimed: 1,
        clock_error_ns: 800,
        past: None,
    }
}

pub fn coverage() -> Coverage {
    Coverage {
        ranks: 4,
        ranks_reporting: 3,
        members_missing: 1,
        lag_ns: 250_000_000,
        ledger: Ledger {
            entered: 100,
            open: 1,
            in_flight: 2,
            kept: 80,
            reduced: 10,
            dropped: [3, 2, 1],
            dropped_by_place: 1,
            reset: 0,
        },
        overhead_ns: 1_000_000,
        overhead_regions_ns: 600_000,
        overhead_samples_ns: 300_000,
        tool_cpu_ns: 2_000_000,
        observer_cpu_ns: 500_000,
        displaced_ns: 1_500_000,
        packets_mpi: 5,
        packets_shm: 6,
        payload_bytes: 70_000,
        packets_refused: 1,
        buffer_bytes: 1 << 24,
    }
}

pub fn status() -> JobStatus {
    JobStatus {
        states: [0, 1, 2, 0, 1, 3],
        named: vec![RankStatus {
            rank: Rank(2),
            state: RankState::Held,
            region: RegionId(2),
            since_ns: 5_000_000,
            entered: 12,
            mpi_ns: 900,
        }],
        pause: Some(PauseStatus {
            command: CommandId(9),
            lease_left_ns: 1_000_000_000,
        }),
        observed_ns: 60_000_000_000,
        notes: vec!["place 4 refused a packet".into()],
        recording: RecordingStatus {
            on: 3,
            off: 1,
            since_ns: 5_000_000_000,
            now_ns: 7_000_000_000,
            clock_error_ns: 2_000,
            window: Some(WindowStatus {
                command: CommandId(12),
                from_ns: 5_000_000_000,
                to_ns: 6_000_000_000,
                complete: 4,
            }),
            shut_down: false,
        },
        governance: Box::new(Governance {
            cap: OverheadCap::of_share(0.02),
            share: Some(0.013),
            given_up: vec!["regions are not recorded".into()],
            decided: vec!["invivo metrics".into()],
            is_exhausted: false,
            events: vec![(
                6_000_000_000,
                "overhead 9.0 %: regions are not recorded".into(),
            )],
        }),
        measuring: Some(Measuring {
            sampling: Sampling::timer(251),
            metrics: Measured {
                set: MetricSet::USUAL,
                interval_ns: 100_000_000,
            },
            rules: 3,
        }),
    }
}

pub fn group() -> Group {
    Group {
        pieces: [(
            0,
            vec![Run {
                first: Rank(0),
                stride: 1,
                count: 4,
            }],
        )]
        .into(),
    }
}

pub fn grid() -> Grid {
    Grid {
        axes: Axes {
            width_ns: 1 << 30,
            first: 4,
            columns: 2,
            block_ranks: 4,
        },
        rows: [(
            1,
            GridRow {
                cells: vec![GridCell::of(Rank(5), 300, 1 << 30), GridCell::EMPTY],
                total: GridCell::of(Rank(5), 300, 1 << 30),
            },
        )]
        .into(),
        unresolved: 3,
    }
}

pub fn analyses() -> AnalysesStatus {
    let on = AnalysisStatus {
        on: 4,
        ..AnalysisStatus::default()
    };
    let off = AnalysisStatus {
        on: 0,
        off: 4,
        since_ns: 7_000_000_000,
        gaps: Gaps {
            earlier: 1,
            earlier_ns: 300,
            last: vec![(5_000_000_000, 6_000_000_000), (7_000_000_000, u64::MAX)],
        },
    };
    AnalysesStatus {
        of: [
            on.clone(),
            on.clone(),
            off,
            on.clone(),
            on.clone(),
            on.clone(),
            on,
        ],
        now_ns: 8_000_000_000,
    }
}

/// Rank 7 is late to a collective, and rank 2 waits.
fn waited() -> Waited {
    Waited {
        waits: 3,
        ns: 70_000,
        max_ns: 40_000,
        max_rank: Rank(2),
    }
}

pub fn wait_states() -> WaitStates {
    let kind = (WaitState::WaitAtNxN, RegionId(9));
    let waited = waited();
    let of = |waits, ns, caused, caused_ns| RankWaits {
        kinds: [(
            kind,
            Share {
                waits,
                ns,
                caused,
                caused_ns,
            },
        )]
        .into(),
    };
    WaitStates {
        ranks_max: 64,
        kinds: [(kind, waited)].into(),
        ranks: [
            (Rank(2), of(3, 70_000, 0, 0)),
            (Rank(7), of(0, 0, 3, 70_000)),
        ]
        .into(),
        ranks_total: 2,
        communicators: [(CommId::WORLD, [(WaitState::WaitAtNxN, waited)].into())].into(),
        communicators_left_out: Waited::default(),
        unblamed_ns: 900,
        calls: Calls {
            met: 6,
            untimed: 1,
            open: 2,
            limit: 3,
            unresolved: 4,
            outside: 5,
        },
        clock_error_ns: 800,
        past: Some(past()),
    }
}

/// A job of which an observation is open.
pub fn job() -> JobDescription {
    JobDescription {
        id: "node-17".into(),
        ranks: 4,
        places: 1,
        nodes: 1,
        family: "ompi".into(),
        library: "Open MPI v4.1.4".into(),
        observation: Some(ObservationDescription {
            from_ns: 4_000_000_000,
            to_ns: 9_000_000_000,
            saved_unix_ns: 1_790_000_000_000_000_000,
            calls: 8_000,
            reduced: 300,
        }),
    }
}
