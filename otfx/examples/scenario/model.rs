//! The published scenarios of adaptive sampling: four hours at 10 kHz in a buffer of 100 MB
//! (decimal), played by the real buffer in bins of 8 KiB, fed with opaque records of the published
//! sizes.

use invivo_otfx::{
    AtCap, Buffer, Dimension, EventCap, EventClass, Geometry, Grid, Label, OPAQUE_HEAD_BYTES,
    Opaque, Strategy,
};

/// Bytes of the buffer.
pub const BUFFER_BYTES: usize = 100_000_000;
/// Length of the run in seconds.
pub const RUN_S: u64 = 4 * 3600;
const SECOND: u64 = 1_000_000;
/// 10 kHz; times are in microseconds.
const INTERVAL: u64 = 100;
/// Bytes of one MPI event: enough for its head, and a divisor of the rates.
const EVENT_BYTES: usize = 50;
/// Points of the curve.
const POINTS: u64 = 72;

/// One scenario.
pub struct Scenario {
    pub name: &'static str,
    /// Bytes of a sample.
    pub sample_bytes: usize,
    /// Bytes of MPI events per second.
    pub event_bytes_per_s: u64,
    /// The published end frequency in Hz.
    pub end_hz: f64,
    /// The published halvings, in seconds.
    pub halvings_s: &'static [u64],
    /// When the events are dropped, in seconds.
    pub drop_s: Option<u64>,
}

const fn at(hours: u64, minutes: u64, seconds: u64) -> u64 {
    (hours * 60 + minutes) * 60 + seconds
}

/// Samples with two and with eight counters, few events and many.
pub const SCENARIOS: [Scenario; 4] = [
    Scenario {
        name: "A",
        sample_bytes: 48,
        event_bytes_per_s: 1000,
        end_hz: 78.125,
        halvings_s: &[
            at(0, 3, 28),
            at(0, 6, 55),
            at(0, 13, 46),
            at(0, 27, 19),
            at(0, 53, 46),
            at(1, 44, 10),
            at(3, 16, 5),
        ],
        drop_s: None,
    },
    Scenario {
        name: "B",
        sample_bytes: 102,
        event_bytes_per_s: 1000,
        end_hz: 39.0625,
        halvings_s: &[
            at(0, 1, 38),
            at(0, 3, 16),
            at(0, 6, 31),
            at(0, 12, 58),
            at(0, 25, 44),
            at(0, 50, 42),
            at(1, 38, 24),
            at(3, 5, 50),
        ],
        drop_s: None,
    },
    Scenario {
        name: "C",
        sample_bytes: 48,
        event_bytes_per_s: 10_000,
        end_hz: 78.125,
        halvings_s: &[
            at(0, 3, 24),
            at(0, 6, 40),
            at(0, 12, 49),
            at(0, 23, 49),
            at(0, 41, 40),
            at(1, 6, 40),
            at(3, 42, 13),
        ],
        drop_s: Some(at(1, 23, 20)),
    },
    Scenario {
        name: "D",
        sample_bytes: 102,
        event_bytes_per_s: 10_000,
        end_hz: 39.0625,
        halvings_s: &[
            at(0, 1, 37),
            at(0, 3, 12),
            at(0, 6, 17),
            at(0, 12, 7),
            at(0, 22, 36),
            at(0, 39, 48),
            at(1, 4, 15),
            at(3, 29, 9),
        ],
        drop_s: Some(at(1, 23, 20)),
    },
];

/// How it went.
#[derive(Debug, Default)]
pub struct Outcome {
    pub halvings_s: Vec<f64>,
    pub end_hz: f64,
    pub drop_s: Option<f64>,
    /// The greatest part of the bins that one halving revoked.
    pub revoked_max: f64,
    /// Samples kept at the end, and their bytes.
    pub samples: u64,
    pub sample_bytes: u64,
    /// Bytes of samples and of events over the run, at equal distances.
    pub curve: Vec<(u64, u64)>,
}

/// Plays one.
pub fn play(scenario: &Scenario) -> Outcome {
    let strategy = Strategy {
        event_cap: Some(EventCap {
            bins_permille: 500,
            then: AtCap::DropAll,
        }),
        ..Strategy::by(Dimension::Ordinal { levels: 32 })
    };
    let geometry = Geometry::with_bins(BUFFER_BYTES, 8 << 10);
    let mut buffer = Buffer::with_geometry(geometry, strategy).expect("100 MB are enough");
    let sample = vec![0; scenario.sample_bytes - OPAQUE_HEAD_BYTES];
    let event = vec![0; EVENT_BYTES - OPAQUE_HEAD_BYTES];
    let event_interval = SECOND * EVENT_BYTES as u64 / scenario.event_bytes_per_s;
    let mut grid = Grid::new(INTERVAL);
    let mut outcome = Outcome::default();
    let (mut next_event, mut next_point) = (event_interval, 0);
    loop {
        let time = grid.due().min(next_event);
        if time > RUN_S * SECOND {
            break;
        }
        while time >= next_point {
            outcome.curve.push(bytes(&buffer, &geometry));
            next_point += RUN_S * SECOND / POINTS;
        }
        if time == next_event {
            next_event += event_interval;
            buffer.store_opaque(&Opaque {
                class: EventClass::Call,
                time,
                ordinal: 0,
                bytes: &event,
            });
        }
        if let Some(ordinal) = grid.take(time) {
            buffer.store_opaque(&Opaque {
                class: EventClass::Sample,
                time,
                ordinal,
                bytes: &sample,
            });
        }
        // The place tells the producer at once.
        if buffer.halvings() != grid.halvings() {
            grid.set_halvings(buffer.halvings());
            outcome.halvings_s.push(time as f64 / SECOND as f64);
            // Every bin was in use, and one is in use again at most.
            let free = f64::from(geometry.bins - buffer.fill().bins_used + 1);
            outcome.revoked_max = outcome.revoked_max.max(free / f64::from(geometry.bins));
        }
    }
    outcome.drop_s = buffer
        .events_dropped_at()
        .map(|at| at as f64 / SECOND as f64);
    outcome.end_hz = (SECOND / INTERVAL) as f64 / f64::from(1u32 << grid.halvings());
    outcome.samples = buffer.kept(EventClass::Sample);
    outcome.sample_bytes = outcome.samples * scenario.sample_bytes as u64;
    outcome
}

/// Bytes of the bins of samples, and of those of events.
fn bytes(buffer: &Buffer, geometry: &Geometry) -> (u64, u64) {
    let of = |samples: bool| {
        let levels = buffer
            .levels()
            .filter(|level| matches!(level.label, Label::Ordinal(_)) == samples);
        levels.map(|level| u64::from(level.bins)).sum::<u64>() * geometry.bin_bytes as u64
    };
    (of(true), of(false))
}
