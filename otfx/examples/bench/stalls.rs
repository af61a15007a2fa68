//! How long one insert takes at worst. Each run is repeated, and each insert counts with its least
//! time: what the buffer does comes back in every run at the same place, what the machine does
//! beside it does not.

use crate::figure;
use crate::streams::Calls;
use anyhow::Result;
use invivo_otfx::{Buffer, Dimension, EventClass, Geometry, OPAQUE_HEAD_BYTES, Opaque, Strategy};
use std::arch::x86_64::_rdtsc;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

const BUFFER_BYTES: usize = 100_000_000;
const RUNS: usize = 4;
/// Twice what fits.
const INSERTS: usize = 26_000_000;
/// A published sample of two counters.
const SAMPLE_BYTES: usize = 48;

fn ticks() -> u64 {
    // SAFETY: every x86-64 has it.
    unsafe { _rdtsc() }
}

fn ticks_per_ns() -> f64 {
    let (begun, from) = (Instant::now(), ticks());
    while begun.elapsed().as_millis() < 50 {}
    (ticks() - from) as f64 / begun.elapsed().as_nanos() as f64
}

/// p50, p99.9 and the longest insert of a run that fills 100 MB twice.
pub fn inserts(calls: &Calls) {
    let mut least = vec![u32::MAX; INSERTS];
    let mut bare = vec![u32::MAX; INSERTS];
    let (first, last) = calls.span();
    let per_ns = ticks_per_ns();
    for run in 0..RUNS {
        let mut buffer =
            Buffer::new(BUFFER_BYTES, Strategy::flight_recorder()).expect("100 MB are enough");
        let mut base = 0;
        let (mut slots, mut bares) = (least.iter_mut(), bare.iter_mut());
        'run: loop {
            for (call, parts) in calls.iter() {
                let (Some(slot), Some(bare)) = (slots.next(), bares.next()) else {
                    break 'run;
                };
                let call = invivo_proto::record::Call {
                    end: call.end - first + base,
                    ..*call
                };
                let begun = ticks();
                let between = ticks();
                buffer.store(&call, parts);
                let ended = ticks();
                *bare = (*bare).min((between - begun) as u32);
                *slot = (*slot).min((ended - between) as u32);
            }
            base += last - first;
        }
        assert!(buffer.ledger().reduced > 0);
        if run == 0 {
            distribution("-once", &mut least.clone(), &mut bare.clone(), per_ns);
        }
    }
    distribution("", &mut least, &mut bare, per_ns);
}

/// Three points of the distribution of one run, with what the machine did beside it, or of the
/// least of all runs.
fn distribution(of: &str, least: &mut [u32], bare: &mut [u32], per_ns: f64) {
    least.sort_unstable();
    bare.sort_unstable();
    let about = match of {
        "" => "the least of four equal runs for each insert",
        _ => "of one run, with all that the machine does beside it",
    };
    let at = |sorted: &[u32], part: f64| {
        f64::from(sorted[(part * (INSERTS - 1) as f64) as usize]) / per_ns
    };
    for (name, part) in [("p50", 0.5), ("p99.9", 0.999), ("max", 1.0)] {
        figure(
            &format!("otfx-insert-{name}{of}"),
            at(least, part),
            "ns",
            at(bare, part),
            &format!(
                "One insert of LAMMPS' stream into 100 MB, over 26 million inserts of which the \
                 second half needs removals; \
                 {about}. Two time stamps included; the baseline is these alone."
            ),
        );
    }
}

/// The stall of the insert that closes a level of 10 to 90 % of a full buffer, beside compacting a
/// flat one and beside writing it to a file.
pub fn removals(folder: &Path) -> Result<()> {
    let flat_records = BUFFER_BYTES / SAMPLE_BYTES;
    let mut flat = vec![[1u8; SAMPLE_BYTES]; flat_records];
    let file_ns = least(3, || {
        let begun = Instant::now();
        let mut file = std::fs::File::create(folder.join("flush"))?;
        file.write_all(flat.as_flattened())?;
        file.sync_data()?;
        Ok(begun.elapsed().as_nanos() as f64)
    })?;
    std::fs::remove_file(folder.join("flush"))?;
    for tenths in 1..=9 {
        let ns = least(5, || Ok(stall(tenths)))?;
        if tenths == 5 {
            figure(
                "otfx-removal-file",
                ns / 1000.0,
                "us",
                file_ns / 1000.0,
                "The insert that revokes 50 % of 100 MB. Baseline: writing 100 MB to a file, as a \
                 flush does.",
            );
        }
        let flat_ns = least(3, || {
            let begun = Instant::now();
            let mut kept = 0;
            for index in 0..flat_records {
                if index as u64 % 10 >= tenths {
                    flat[kept] = flat[index];
                    kept += 1;
                }
            }
            std::hint::black_box((&mut flat, kept));
            Ok(begun.elapsed().as_nanos() as f64)
        })?;
        figure(
            &format!("otfx-removal-{tenths}0"),
            ns / 1000.0,
            "us",
            flat_ns / 1000.0,
            &format!(
                "The insert that revokes {tenths}0 % of 100 MB in bins of 8 KiB. Baseline: \
                 compacting as many records of 48 \
                 bytes."
            ),
        );
    }
    Ok(())
}

fn least(times: usize, mut run: impl FnMut() -> Result<f64>) -> Result<f64> {
    (0..times).try_fold(f64::MAX, |least, _| Ok(least.min(run()?)))
}

/// Fills a buffer with samples of which so many tenths are at level 0, and times the insert that
/// closes it, in ns.
fn stall(tenths: u64) -> f64 {
    let geometry = Geometry::with_bins(BUFFER_BYTES, 8 << 10);
    let strategy = Strategy::by(Dimension::Ordinal { levels: 2 });
    let mut buffer = Buffer::with_geometry(geometry, strategy).expect("100 MB are enough");
    let content = [0; SAMPLE_BYTES - OPAQUE_HEAD_BYTES];
    let mut longest = 0.0f64;
    for n in 0u64.. {
        let record = Opaque {
            class: EventClass::Sample,
            time: n,
            ordinal: if n % 10 < tenths { 1 } else { 2 },
            bytes: &content,
        };
        let begun = Instant::now();
        buffer.store_opaque(&record);
        let ns = begun.elapsed().as_nanos() as f64;
        if buffer.halvings() != 0 {
            longest = ns;
            break;
        }
    }
    longest
}
