//! A place in the stead of one that died.

use super::*;
use invivo_proto::shm::recording::word;

/// Its ranks stand and run as before: a gate that the dead place had closed opens by itself, and
/// recording stays as the supervisors have left it.
#[test]
fn a_salvaging_place_takes_all_and_changes_nothing() {
    let mut scene = Scene::before();
    scene.place = scene.place.salvaging();
    scene.begin(JobInfo {
        recording: true,
        hold_lease_ns: 5_000 * MS,
        ..JobInfo::default()
    });
    let attach = |rank| {
        let (descriptor, region) = memory(rank, 4);
        let page = region.page();
        page.phase.store(phase::RUNNING, Ordering::Release);
        page.control.gate.store(7, Ordering::Release);
        page.control
            .recording
            .store(word(5, false), Ordering::Release);
        let mut writer = Writer::new(region);
        writer.open();
        writer.call(&call(1), &[]);
        writer.send();
        writer.open();
        writer.call(&call(2), &[]);
        let supervisor = scene.connect();
        supervisor.attach(rank, Some(&descriptor));
        (supervisor, writer)
    };
    let ranks: Vec<_> = [0, 1].map(attach).into();
    let said: Vec<Up> = (0..5).flat_map(|_| scene.step(10)).collect();
    assert!(said.contains(&Up::Drained), "{said:?}");
    let ended = |up: &Up| matches!(up, Up::RankEnded(_));
    assert!(!said.iter().any(ended), "they live: {said:?}");

    let status = scene.status();
    assert_eq!(status.states[RankState::Computing as usize], 2);
    for (supervisor, rank) in &ranks {
        let control = &rank.page().control;
        assert_eq!(control.gate.load(Ordering::Acquire), 7);
        assert_eq!(control.recording.load(Ordering::Acquire), word(5, false));
        assert_eq!(supervisor.hear(), None);
    }
    let kept: u64 = scene
        .place
        .local
        .iter()
        .map(|(_, one)| one.records.ledger().kept)
        .sum();
    assert_eq!(kept, 4);
}
