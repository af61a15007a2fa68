//! Messages with processes that are no ranks of the job.

use super::*;
use invivo_proto::definition::Definition;
use invivo_proto::ids::CommLocal;
use invivo_proto::record::{Facts, RecordKind};

/// They wait for nothing: their other half never comes, whenever that is known.
#[test]
fn what_goes_outside_is_never_matched() {
    let outside = CommLocal(9);
    let mut places = Places::new(&[true, false]);
    let record = |places: &mut Places, kind, begin: u64| {
        let facts = Facts {
            kind,
            comm: outside,
            bytes_out: 8,
            bytes_in: 8,
            ..Facts::default()
        };
        let call = Call {
            facts,
            end: begin + 5,
            duration: 5,
            ..Call::default()
        };
        places.record(0, &(call, Vec::new()), 0, ALWAYS);
    };
    record(&mut places, RecordKind::Send, 10);
    assert_eq!(places.sums().unmatched.unresolved, 1);

    let definition = Definition::Outside { local: outside };
    places.places[0].communicators.define(Rank(0), &definition);
    places.resolve();
    record(&mut places, RecordKind::Send, 20);
    record(&mut places, RecordKind::Recv, 30);
    let unmatched = places.sums().unmatched;
    assert_eq!((unmatched.outside, unmatched.unresolved), (3, 0));
    assert_eq!(places.places[0].messages.outgoing(), 0);
}
