//! What buffers keep: strategies changed while running, what they tell, pages of records, and
//! buffers that change hands.

use super::*;
use invivo_proto::control::buffers::{Buffers, Cursor, Label, Records};
use invivo_proto::control::strategy::Strategy;
use invivo_proto::ids::LocationId;
use invivo_tbon::coverage::balance;

fn call(number: u64) -> Call {
    Call {
        facts: Facts {
            region: RegionId(3),
            tag: number as i32,
            ..Facts::default()
        },
        // Two of them end together.
        end: (1 + number / 2) * 1000,
        duration: 10,
        ..Call::default()
    }
}

pub fn buffers(scene: &mut Scene) -> Buffers {
    scene.down(Down::Query {
        wave: WaveId(7),
        query: Query::Buffers,
    });
    match scene.said().pop() {
        Some(Up::Partial {
            partial: Partial::Buffers(buffers),
            coverage,
            ..
        }) => {
            assert_eq!(balance(&coverage.ledger), Ok(()), "{:?}", coverage.ledger);
            buffers
        }
        other => panic!("no buffers but {other:?}"),
    }
}

pub fn page(
    scene: &mut Scene,
    rank: u32,
    job_ns: std::ops::Range<u64>,
    after: Option<Cursor>,
) -> Records {
    scene.down(Down::Query {
        wave: WaveId(8),
        query: Query::Records {
            location: LocationId {
                rank: Rank(rank),
                thread: 0,
            },
            from_ns: job_ns.start,
            to_ns: job_ns.end,
            after,
            max: 3,
        },
    });
    match scene.said().pop() {
        Some(Up::Partial {
            partial: Partial::Records(records),
            ..
        }) => records,
        other => panic!("no records but {other:?}"),
    }
}

#[test]
fn pages_give_each_record_once_though_records_end_together() {
    let mut scene = Scene::new();
    scene.step(1);
    let (_supervisor, mut writer) = scene.attach(0);
    assert!(writer.open());
    (0..10).for_each(|number| writer.call(&call(number), &[]));
    writer.leave();
    scene.step(20);
    let mut tags = Vec::new();
    let mut after = None;
    loop {
        let records = page(&mut scene, 0, 0..u64::MAX, after);
        assert_eq!(
            (
                records.counters.stored,
                records.counters.kept,
                records.gone_until_ns
            ),
            (10, 10, None)
        );
        assert!(records.rows.len() <= 3);
        tags.extend(records.rows.iter().map(|row| row.facts.tag));
        after = records.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(tags, (0..10).collect::<Vec<_>>());
    // In job time: the third and the fourth.
    let some = page(&mut scene, 0, job(0) + 2000..job(0) + 3000, None);
    let times: Vec<_> = some
        .rows
        .iter()
        .map(|row| (row.facts.tag, row.end_ns, row.duration_ns))
        .collect();
    assert_eq!(times, [(2, job(0) + 2000, 10), (3, job(0) + 2000, 10)]);
    assert_eq!(page(&mut scene, 99, 0..u64::MAX, None), Records::default());
}

#[test]
fn a_job_begins_with_its_strategy() {
    let strategy: Strategy = "duration:1us".parse().unwrap();
    let mut scene = Scene::of(JobInfo {
        recording: true,
        strategy: Box::new(strategy),
        ..JobInfo::default()
    });
    let (_supervisor, _writer) = scene.attach(0);
    scene.step(20);
    let told = buffers(&mut scene);
    assert_eq!(told.strategies.keys().collect::<Vec<_>>(), [&strategy]);
    // A tick is a nanosecond: 1000 of them are at least 2^9.
    assert_eq!(told.levels.keys().next_back(), Some(&(9, Label::Rest)));
    assert!(
        told.levels.contains_key(&(8, Label::ShorterThanLog2(9))),
        "{:?}",
        told.levels
    );
    assert_eq!(told.tick_ps, 1000);
}

#[test]
fn a_strategy_changes_all_buffers_of_a_place_or_none() {
    let mut scene = Scene::new();
    let (_supervisor, mut writer) = scene.attach(0);
    assert!(writer.open());
    writer.call(&call(0), &[]);
    writer.leave();
    scene.step(20);
    let give = |scene: &mut Scene, id: u64, strategy: Strategy| {
        scene.command(id, Verb::Strategy { strategy });
        match scene.said().into_iter().next() {
            Some(Up::Ack { acks, .. }) => acks,
            other => panic!("no acknowledgement but {other:?}"),
        }
    };
    let by_duration: Strategy = "duration:1us".parse().unwrap();
    let acks = give(&mut scene, 5, by_duration);
    assert_eq!(
        (acks.targets, acks.done, &acks.failures[..]),
        (2, 2, &[][..])
    );
    let told = buffers(&mut scene);
    assert_eq!(told.strategies, [(by_duration, 2)].into());
    assert_eq!((told.stored, told.kept), (1, 1));
    let former = told
        .levels
        .iter()
        .find(|((number, _), level)| *number == 0 && level.kept == 1);
    assert!(
        former.is_some(),
        "what was there stays as it was sorted: {:?}",
        told.levels
    );

    // 57 levels want 228 bins; there are 128.
    let too_many = Strategy::parse("samples,depth:0,depth:1,depth:2,depth:3,duration:1ms").unwrap();
    let acks = give(&mut scene, 6, too_many);
    assert_eq!((acks.targets, acks.done, acks.failures.len()), (2, 0, 2));
    assert!(
        acks.failures[0].1.contains("is too small"),
        "{:?}",
        acks.failures
    );
    assert_eq!(buffers(&mut scene).strategies, [(by_duration, 2)].into());
}

/// A thread that has ended, as the kernel knows it.
fn ended_thread() -> u32 {
    let thread = std::thread::spawn(|| rustix::thread::gettid().as_raw_nonzero().get());
    let thread = thread.join().unwrap() as u32;
    // It is joined a moment before the kernel has taken it away.
    while std::path::Path::new(&format!("/proc/self/task/{thread}")).exists() {
        std::thread::yield_now();
    }
    thread
}

#[test]
fn buffers_of_threads_that_have_ended_change_hands() {
    // Room for four buffers of this place: one for each of its ranks' first threads, the rest for
    // others.
    let mut scene = Scene::new();
    let (_supervisor, first) = scene.attach(0);
    let page = first.page();
    page.pid.store(std::process::id(), Ordering::Release);
    let living = rustix::thread::gettid().as_raw_nonzero().get() as u32;
    let write = |mut writer: Writer, tid: u32, scene: &mut Scene| {
        writer.status().tid.store(tid, Ordering::Release);
        assert!(writer.open());
        (0..5).for_each(|number| writer.call(&call(number), &[]));
        writer.leave();
        scene.step(20);
    };
    let region = first.region();
    write(first, living, &mut scene);
    let before = buffers(&mut scene);
    let room = 4 - before.locations;
    for _ in 0..room {
        write(Writer::new(region), living, &mut scene);
    }
    assert_eq!(
        (buffers(&mut scene).locations, buffers(&mut scene).without),
        (4, 0)
    );
    write(Writer::new(region), living, &mut scene);
    let beyond = buffers(&mut scene);
    assert_eq!(
        (beyond.locations, beyond.without, beyond.recycled),
        (4, 1, 0)
    );
    // One ends: the location that waits takes its buffer.
    page.status[1].tid.store(ended_thread(), Ordering::Release);
    scene.step(300);
    let after = buffers(&mut scene);
    assert_eq!((after.locations, after.without, after.recycled), (4, 1, 1));
    assert_eq!(
        after.kept,
        beyond.kept - 5,
        "what the ended thread's held is given up"
    );
    assert_eq!(after.bytes, beyond.bytes);
}

#[test]
fn a_tap_writes_what_is_taken_as_packets() {
    let directory = tempfile::tempdir().unwrap();
    let mut scene = Scene::before();
    scene.place.tap(directory.path().to_owned());
    scene.begin(JobInfo {
        recording: true,
        ..JobInfo::default()
    });
    let (_supervisor, mut writer) = scene.attach(0);
    for packet in 0..3 {
        assert!(writer.open());
        (0..4).for_each(|number| writer.call(&call(4 * packet + number), &[]));
        if packet < 2 {
            writer.leave();
        }
        scene.step(200);
    }
    assert!(
        scene
            .status()
            .notes
            .iter()
            .any(|note| note.contains("INVIVO_TAP"))
    );
    drop(scene);
    let file = directory.path().join("rank-0.thread-0.packets");
    let bytes = std::fs::read(file).unwrap();
    let (mut at, mut tags, mut sequences) = (0, Vec::new(), Vec::new());
    while at < bytes.len() {
        let length = u32::from_le_bytes(bytes[at + 28..at + 32].try_into().unwrap()) as usize;
        let end = at + invivo_proto::packet::HEADER_BYTES + length;
        let (header, payload) = invivo_proto::packet::Header::decode(&bytes[at..end]).unwrap();
        assert_eq!(header.records, 4);
        sequences.push(header.sequence);
        let mut decoder =
            invivo_proto::record::Decoder::new(header.first_time, header.next_request);
        let mut of_payload = 0;
        while of_payload < payload.len() {
            match decoder.record(payload, &mut of_payload).unwrap() {
                invivo_proto::record::Decoded::Call(call, 0) => tags.push(call.facts.tag),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(decoder.time(), header.last_time);
        at = end;
    }
    assert_eq!(sequences, [0, 1, 2]);
    assert_eq!(tags, (0..12).collect::<Vec<_>>());
}
