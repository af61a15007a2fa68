//! What each strategy keeps, by its own definition, computed from a full record of what was stored.

use crate::{input, kept, policy};
use invivo_otfx::{
    Attributes, Buffer, Contents, Dimension, EventClass, Geometry, Head, Pass, Strategy,
};
use invivo_proto::ids::RegionId;

/// A program of iterations, nested regions and calls of all lengths; what it stored, with its
/// level.
fn program(buffer: &mut Buffer, strategy: &Strategy, iterations: u64) -> Vec<(usize, Contents)> {
    let (mut full, mut time) = (Vec::new(), 0);
    let mut random = 7u64;
    for iteration in 1..=iterations {
        buffer.begin_iteration(time);
        for n in 0..50u64 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let duration = 1 << (random >> 60);
            let attributes = Attributes {
                depth: (random >> 40) as u8 % 7,
                clipped: false,
            };
            time += duration + 10;
            let (class, head) = if n % 3 == 0 {
                let region = RegionId(1 + u16::from(attributes.depth));
                let end = time;
                let pass = Pass {
                    region,
                    end,
                    duration,
                };
                buffer.store_region(&pass, attributes);
                (EventClass::Region, Head::Region(pass))
            } else {
                let mut call = input::plain_call(n);
                (call.end, call.duration) = (time, duration);
                buffer.store_call(&call, &[], attributes);
                (EventClass::Call, Head::Call(call))
            };
            let contents = Contents {
                head,
                depth: attributes.depth,
                iteration,
                ..Contents::default()
            };
            let level = policy::level(strategy, class, attributes, duration, 0, iteration);
            full.push((level, contents));
        }
    }
    full
}

fn check(strategy: Strategy, name: &str) {
    let geometry = Geometry::with_bins(256 << 10, 1 << 10);
    let mut buffer = Buffer::with_geometry(geometry, strategy.clone()).expect("large enough");
    let full = program(&mut buffer, &strategy, 10_000);
    let kept = kept(&buffer);
    assert!(
        full.len() > 10 * kept.len() && kept.len() > 25_000,
        "{name}: {} of {}",
        kept.len(),
        full.len()
    );

    // One level of which the newest is kept; nothing of those below, everything of those above.
    let mut expected = Vec::new();
    let count = |level: usize| full.iter().filter(|(of, _)| *of == level).count();
    let mut left = kept.len();
    let mut cut = strategy.levels();
    while left > 0 {
        cut -= 1;
        left = left.saturating_sub(count(cut));
    }
    let in_cut = kept.len() - (cut + 1..strategy.levels()).map(count).sum::<usize>();
    let skip = count(cut) - in_cut;
    let mut seen = 0;
    for (level, contents) in &full {
        seen += usize::from(*level == cut);
        if *level > cut || *level == cut && seen > skip {
            expected.push(contents.clone());
        }
    }
    assert!(
        kept == expected,
        "{name}: another set than its definition says"
    );
    let fill = buffer.fill();
    assert!(
        fill.bins_used * 100 >= 95 * fill.geometry.bins,
        "{name}: {} of {} bins in use",
        fill.bins_used,
        fill.geometry.bins
    );
    println!(
        "{name}: {} of {} kept, cut in level {cut}, {} bins of {}",
        kept.len(),
        full.len(),
        fill.bins_used,
        fill.geometry.bins
    );
}

#[test]
fn each_strategy_keeps_what_its_definition_says() {
    check(Strategy::flight_recorder(), "time");
    check(Strategy::by_class(&[EventClass::Region]), "class");
    check(
        Strategy::by(Dimension::Depth { kept: 0, levels: 6 }),
        "depth",
    );
    check(
        Strategy::by(Dimension::Duration {
            kept_log2: 15,
            levels: 12,
        }),
        "duration",
    );
    check(
        Strategy::by(Dimension::Iteration { levels: 12 }),
        "iterations",
    );
    check(
        Strategy::by(Dimension::Iteration { levels: 4 })
            .then(Strategy::by(Dimension::Depth { kept: 1, levels: 4 })),
        "iterations, then depth",
    );
}

/// The summaries of iterations tell of all of them, whatever was kept.
#[test]
fn every_iteration_is_summarised() {
    let strategy = Strategy::by(Dimension::Iteration { levels: 8 });
    let mut buffer = Buffer::new(1 << 20, strategy.clone()).expect("large enough");
    let full = program(&mut buffer, &strategy, 10_000);
    let end = full.last().expect("not empty").1.head.end();
    buffer.end_iteration(end);
    let summaries = buffer.summaries().expect("it sorts by iterations");
    let sum =
        |pyramid: &invivo_otfx::Pyramid| pyramid.cells().map(|(_, cell)| cell.sum).sum::<u128>();
    assert_eq!(sum(&summaries.records), full.len() as u128);
    assert_eq!(sum(&summaries.duration), u128::from(end));
    let call_time = full.iter().map(|(_, contents)| match contents.head {
        Head::Call(call) => u128::from(call.duration),
        _ => 0,
    });
    assert_eq!(sum(&summaries.call_time), call_time.sum());
    assert!(buffer.ledger().reduced > 0);
    let whole = kept(&buffer)
        .into_iter()
        .filter(|contents| contents.iteration == 256);
    assert_eq!(whole.count(), 50);
}
