//! Merges pages of the timeline: the place that has the location at which a page begins gives the
//! page.

use core::mem;
use invivo_proto::control::timeline::Timeline;

/// Keeps the page of the place that has the location. Two such pages are a fault of this program;
/// then the one with more pieces is kept.
pub fn merge(into: &mut Timeline, mut from: Timeline) {
    let weight = |last: &Timeline| {
        let rows = last
            .pieces
            .iter()
            .map(|piece| piece.rows.len())
            .sum::<usize>();
        (
            last.pieces.len(),
            rows,
            last.pieces.first().map(|piece| piece.location),
        )
    };

    if weight(&from) > weight(into) {
        mem::swap(into, &mut from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use invivo_proto::control::timeline::Piece;

    #[test]
    fn whoever_has_the_locations_is_believed_in_either_order() {
        let known = Timeline {
            pieces: vec![Piece::default()],
            clock_error_ns: 7,
            ..Timeline::default()
        };
        for (mut into, from) in [
            (known.clone(), Timeline::default()),
            (Timeline::default(), known.clone()),
        ] {
            merge(&mut into, from);
            assert_eq!(into, known);
        }
    }
}
