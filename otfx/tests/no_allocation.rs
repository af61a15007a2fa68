//! Storing, giving up and resetting take no memory and give none back: the allocations of the
//! test's thread are counted.

use invivo_otfx::{Attributes, Buffer, Dimension, FlightRecorder, Pass, Sample, Strategy};
use invivo_proto::ids::RegionId;
use invivo_proto::record::{Call, Facts, Part, RecordKind};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    /// Calls of this thread; it needs neither initialisation nor destruction, so an allocator may
    /// use it.
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    CALLS.set(CALLS.get() + 1);
}

// SAFETY: everything is handed to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps to the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count();
        // SAFETY: the caller keeps to the contract of `dealloc`.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn storing_never_allocates() {
    let mut buffer = Buffer::new(64 << 10, Box::new(FlightRecorder)).expect("large enough");
    let facts = |region, kind| Facts {
        kind,
        region: RegionId(region),
        peer: 1,
        ..Facts::default()
    };
    let parts: Vec<Part> = (0..500)
        .map(|n| Part {
            facts: facts(2, RecordKind::CompletedRecv),
            request: n,
            posted: n,
        })
        .collect();

    let before = CALLS.get();
    for n in 0..50_000u64 {
        let call = Call {
            facts: facts(1 + (n % 50) as u16, RecordKind::Plain),
            end: n * 100,
            ..Call::default()
        };
        buffer.store(&call, &parts[..(n % 7 * n % 500) as usize]);
        if n % 20_000 == 0 {
            buffer.reset();
        }
    }
    let ledger = buffer.ledger();
    let fill = buffer.fill();
    assert_eq!(CALLS.get(), before);

    assert!(ledger.reduced > 10_000 && ledger.reset > 0, "{ledger:?}");
    assert_eq!(fill.bins_used, fill.geometry.bins);
    drop(std::hint::black_box(Box::new(before)));
    assert_ne!(CALLS.get(), before, "the counter counts");
}

#[test]
fn no_strategy_allocates_while_storing() {
    let strategy = Strategy::by(Dimension::Ordinal { levels: 6 })
        .then(Strategy::by(Dimension::Iteration { levels: 3 }))
        .then(Strategy::by(Dimension::Duration {
            kept_log2: 12,
            levels: 4,
        }))
        .then(Strategy::by(Dimension::Depth { kept: 1, levels: 3 }));
    let mut buffer = Buffer::new(1 << 20, strategy).expect("large enough");

    let before = CALLS.get();
    for n in 0..400_000u64 {
        let attributes = Attributes {
            depth: (n % 7) as u8,
            clipped: n % 50 == 0,
        };
        let pass = Pass {
            region: RegionId(1 + (n % 9) as u16),
            end: n * 100,
            duration: n * n % 10_000,
        };
        buffer.store_region(&pass, attributes);
        buffer.store_sample(&Sample {
            time: n * 100,
            ordinal: n + 1,
            context: 1,
            values: &[n, n * n],
        });
        if n % 100 == 0 {
            buffer.begin_iteration(n * 100);
        }
    }
    let halvings = buffer.halvings();
    let ledger = buffer.ledger();
    assert_eq!(CALLS.get(), before);
    assert!(
        halvings > 3 && ledger.reduced > 600_000,
        "{halvings} {ledger:?}"
    );
}
