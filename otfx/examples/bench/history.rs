//! How much history a buffer of 22 MiB keeps.

use crate::figure;
use crate::streams::Calls;
use invivo_otfx::{Buffer, Strategy};
use invivo_proto::record::{Call, Part};

const BUFFER_BYTES: usize = 22 << 20;
const CALLS_PER_S: f64 = 35_000.0;
/// Ticks of a usual clock.
const TICKS_PER_S: f64 = 2.6e9;
/// What the paper has room for: LU at 5.5 MiB/s and 35,000 calls per second.
const PAPER_S: f64 = 4.0;

/// Stores the stream again and again, brought to 35,000 calls per second, until the buffer has been
/// full for a while.
pub fn seconds(calls: &Calls) {
    let mut buffer =
        Buffer::new(BUFFER_BYTES, Strategy::flight_recorder()).expect("22 MiB are enough");
    let (first, last) = calls.span();
    let stretch = TICKS_PER_S / CALLS_PER_S * calls.len() as f64 / (last - first) as f64;
    let scaled = |ticks: u64| (ticks as f64 * stretch) as u64;
    let (mut base, mut requests) = (0, 0);
    let mut moved = Vec::new();
    while buffer.ledger().reduced < 2_000_000 {
        let mut posted = 0;
        for (call, parts) in calls.iter() {
            let end = base + scaled(call.end - first);
            // The longest calls must not overlap when time is made shorter.
            let duration = if stretch < 1.0 {
                scaled(call.duration)
            } else {
                call.duration
            };
            posted += u64::from(call.facts.kind.posts());
            moved.clear();
            moved.extend(parts.iter().map(|part| Part {
                request: if part.facts.kind.completes() {
                    part.request + requests
                } else {
                    0
                },
                posted: base + scaled(part.posted.saturating_sub(first)),
                ..*part
            }));
            let call = Call {
                end,
                duration,
                request: call.request + requests,
                ..*call
            };
            buffer.store(&call, &moved);
        }
        requests += posted;
        base += scaled(last - first);
    }
    let (from, to) = buffer.fill().span.expect("it is full");
    figure(
        "otfx-history",
        (to - from) as f64 / TICKS_PER_S,
        "s",
        PAPER_S,
        "Complete history in 22 MiB of a location with 35,000 calls per second: LAMMPS' stream, \
         brought to that rate. \
         Baseline: the published LU at 5.5 MiB/s.",
    );
}
