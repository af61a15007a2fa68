//! Definitions and the runs of groups.

mod samples;

use invivo_proto::definition::{DEFINITION_BYTES_MAX, Definition, Run, Runs};
use invivo_proto::ids::{CommId, CommLocal, Rank, SiteId};
use proptest::prelude::*;

fn comm_id() -> impl Strategy<Value = CommId> {
    any::<(u32, u32)>().prop_map(|(leader, counter)| CommId {
        leader: Rank(leader),
        counter,
    })
}

/// Runs within a world of 2^32 ranks.
fn run() -> impl Strategy<Value = Run> {
    (any::<u32>(), -1000..1000i32, 1..1000u32)
        .prop_map(|(first, stride, count)| Run {
            first: Rank(first),
            stride,
            count,
        })
        .prop_filter("leaves the world", |run| {
            u32::try_from(
                i64::from(run.first.0) + i64::from(run.stride) * (i64::from(run.count) - 1),
            )
            .is_ok()
        })
}

fn encoded(definition: &Definition) -> Vec<u8> {
    let mut room = vec![0; DEFINITION_BYTES_MAX];
    let length = definition.encode(&mut room).expect("there is room");
    room.truncate(length);
    room
}

proptest! {
    #[test]
    fn communicators_come_back(
        local: u32,
        id in comm_id(),
        rank: u32,
        size: u32,
        remote in prop::option::of(comm_id()),
    ) {
        let local = CommLocal(local);
        let definition = Definition::Communicator { local, id, rank, size, remote };
        let bytes = encoded(&definition);
        prop_assert_eq!(Definition::decode(&bytes), Ok(definition));
        for end in 0..bytes.len() {
            let error = Definition::decode(&bytes[..end]).unwrap_err();
            prop_assert_eq!((error.offset, error.why), (end, "ends early"));
        }
        prop_assert!(Definition::decode(&[&bytes[..], &[0]].concat()).is_err());
    }

    #[test]
    fn groups_come_back(id in comm_id(), start: u32, all in prop::collection::vec(run(), 0..40)) {
        let mut room = [0; 4096];
        let mut at = 0;
        for run in &all {
            Runs::encode(*run, &mut room, &mut at).expect("there is room");
        }
        let definition = Definition::Group { id, start, runs: Runs(&room[..at]) };
        let bytes = encoded(&definition);
        prop_assert_eq!(Definition::decode(&bytes), Ok(definition));
        prop_assert_eq!(Runs(&room[..at]).iter().collect::<Result<Vec<_>, _>>(), Ok(all));
    }

    #[test]
    fn names_come_back(id in comm_id(), name in prop::collection::vec(any::<u8>(), 0..200)) {
        let definition = Definition::Name { id, name: &name };
        let bytes = encoded(&definition);
        prop_assert_eq!(Definition::decode(&bytes), Ok(definition));
    }

    #[test]
    fn what_is_outside_comes_back(local: u32) {
        let definition = Definition::Outside { local: CommLocal(local) };
        let bytes = encoded(&definition);
        prop_assert_eq!(Definition::decode(&bytes), Ok(definition));
        prop_assert!(Definition::decode(&[&bytes[..], &[0]].concat()).is_err());
    }

    #[test]
    fn modules_and_sites_come_back(
        (number, site, module, offset) in any::<(u32, u16, u32, u64)>(),
        build_id in prop::collection::vec(any::<u8>(), 0..40),
        path in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let file = Definition::Module { number, build_id: &build_id, path: &path };
        let bytes = encoded(&file);
        prop_assert_eq!(Definition::decode(&bytes), Ok(file));
        let site = Definition::Site { site: SiteId(site), module, offset };
        let bytes = encoded(&site);
        prop_assert_eq!(Definition::decode(&bytes), Ok(site));
        for end in 0..bytes.len() {
            let error = Definition::decode(&bytes[..end]).unwrap_err();
            prop_assert_eq!((error.offset, error.why), (end, "ends early"));
        }
        prop_assert!(Definition::decode(&[&bytes[..], &[0]].concat()).is_err());
    }

    #[test]
    fn too_little_room_writes_nothing(
        id in comm_id(),
        name in prop::collection::vec(any::<u8>(), 1..50),
        room in 0..20usize,
    ) {
        let definition = Definition::Name { id, name: &name };
        prop_assume!(room < encoded(&definition).len());
        prop_assert_eq!(definition.encode(&mut vec![0; room]), None);
    }

    #[test]
    fn anything_is_answered(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        match Definition::decode(&bytes) {
            Ok(definition) => {
                let again = encoded(&definition);
                prop_assert_eq!(Definition::decode(&again), Ok(definition));
            }
            Err(error) => prop_assert!(error.offset <= bytes.len()),
        }
    }
}

#[test]
fn faults_are_told_with_their_offset() {
    let refused = |bytes: &[u8]| Definition::decode(bytes).unwrap_err().to_string();
    assert_eq!(refused(&[]), "definition: ends early at offset 0");
    assert!(
        refused(&[9, 0]).contains("offset 0"),
        "{}",
        refused(&[9, 0])
    );
    // kind, leader, counter, start, then a run of no ranks.
    assert!(refused(&[2, 0, 0, 0, 5, 0, 0]).contains("run is empty or leaves the world"));
    // A run that falls below rank 0.
    assert!(refused(&[2, 0, 0, 0, 1, 1, 3]).contains("run is empty or leaves the world"));
    // kind, number, then a build id of nine bytes, of which there are two.
    assert!(refused(&[5, 1, 9, 0, 0]).contains("build id is cut off at offset 3"));
    assert!(
        refused(&vec![3; DEFINITION_BYTES_MAX + 1]).contains("longer than a definition may be")
    );
}
