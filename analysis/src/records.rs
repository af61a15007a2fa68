//! Merges answers about what one location's buffer keeps: the place that has the location gives the
//! answer.

use core::mem;
use invivo_proto::control::buffers::Records;

/// Keeps the answer of the place that has the location. Two such answers are a fault of this
/// program; then the one with more records is kept.
pub fn merge(into: &mut Records, mut from: Records) {
    let rows = |records: &Records| records.rows.len() + records.samples.len();
    let weight = |records: &Records| (records.location, rows(records), records.counters.stored);
    if weight(&from) > weight(into) {
        mem::swap(into, &mut from);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use alloc::vec::Vec;
    use invivo_proto::control::buffers::Row;
    use invivo_proto::ids::{LocationId, Rank};
    use proptest::prelude::*;

    /// A page of somebody.
    pub fn page() -> impl Strategy<Value = Records> {
        (0u32..4, prop::collection::vec(0u64..9, 0..5)).prop_map(|(rank, ends)| Records {
            location: Some(LocationId {
                rank: Rank(rank),
                thread: 0,
            }),
            rows: ends
                .into_iter()
                .map(|end_ticks| Row {
                    end_ticks,
                    ..Row::default()
                })
                .collect::<Vec<_>>(),
            ..Records::default()
        })
    }

    #[test]
    fn whoever_knows_is_believed_in_either_order() {
        let known = Records {
            location: Some(LocationId::default()),
            ..Records::default()
        };
        for (mut into, from) in [
            (known.clone(), Records::default()),
            (Records::default(), known.clone()),
        ] {
            merge(&mut into, from);
            assert_eq!(into, known);
        }
    }
}
