//! Places that share a clock and read it each by itself.

use super::known::{receive, send, two_places};

/// Two places of one node read its clocks each by itself: by their times a message seems to be
/// received before it was sent, and is matched all the same.
#[test]
fn places_may_read_one_clock_a_little_apart() {
    for (reading_ns, matched) in [(0, 1), (120, 2)] {
        let mut places = two_places();
        for place in &mut places.places {
            place.messages.set_reading_error(reading_ns);
        }
        send(&mut places, 2, 1000, 1010, 0);
        receive(&mut places, 2, 900, 950, 0);
        send(&mut places, 2, 2000, 2010, 0);
        receive(&mut places, 2, 2000, 2050, 0);
        places.settle();
        let sums = places.sums();
        assert_eq!(sums.matched.messages, matched, "{reading_ns} ns");
        assert_eq!(sums.clock_error_ns, reading_ns * 2);
    }
}
