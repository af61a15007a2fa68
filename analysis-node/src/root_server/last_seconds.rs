//! Fetches the last seconds of a job that ends abnormally, page by page.
//!
//! Pure: questions come out, answers go in.
//!
//! ```text
//! a page is asked for --> it is here --> it is handed to our supervisor --> it is taken
//!        ^------------------------------- the next page -----------------------+
//! ```
//!
//! So one page is in memory at a time, here and on every node below, however many ranks there are.

use invivo_proto::control::link::TimelinePage;
use invivo_proto::control::timeline::{TIMELINE_PAGE_MAX, Timeline, TimelinePosition};
use invivo_proto::control::tree::Query;
use invivo_proto::ids::WorldRank;

/// How much of the past is saved, in ns, counted from the first death: what people look at on one
/// screen, and what buffers of the usual size hold of busy programs.
pub const SAVED_NS: u64 = 5_000_000_000;
/// Calls that are saved, over all locations: some 100 MB with our supervisor, and a file of some 50
/// MB.
pub const SAVED_CALLS_MAX: u64 = 500_000;
/// Calls of each location that are saved however many there are.
pub const SAVED_CALLS_EACH: u64 = 16;

/// The stretch of time that is fetched, and how far that is.
#[derive(Debug)]
pub struct LastSeconds {
    from_ns: u64,
    to_ns: u64,
    newest: u64,
    ranks: u32,
    /// Where the next page begins; nothing behind the last one.
    at: Option<TimelinePosition>,
    /// A page is on its way to our supervisor.
    page_is_out: bool,
}

impl LastSeconds {
    /// Of a job with so many ranks in which the first thing went wrong at `since_ns`; it is
    /// `now_ns`, both in job time.
    pub fn begin(ranks: u32, since_ns: u64, now_ns: u64) -> LastSeconds {
        LastSeconds {
            from_ns: since_ns.saturating_sub(SAVED_NS),
            to_ns: now_ns,
            // The limit is split evenly: which locations matter is not known before.
            newest: (SAVED_CALLS_MAX / u64::from(ranks.max(1))).max(SAVED_CALLS_EACH),
            ranks,
            at: TimelinePosition::of(0, ranks),
            page_is_out: false,
        }
    }

    /// The question for the next page, if there is one.
    pub fn next(&self) -> Option<Query> {
        self.at.map(|from| Query::Timeline {
            from,
            from_ns: self.from_ns,
            to_ns: self.to_ns,
            newest: self.newest,
            max: TIMELINE_PAGE_MAX,
        })
    }

    /// A page came, which is handed to our supervisor.
    pub fn page(&mut self, last: Timeline, missing: Vec<WorldRank>) -> TimelinePage {
        // A page that leads back, from a faulty place, ends the fetch: it would never end.
        self.at = self.at.and_then(|at| at.behind(&last, self.ranks));
        self.page_is_out = true;
        TimelinePage {
            from_ns: self.from_ns,
            to_ns: self.to_ns,
            timeline: last,
            missing,
        }
    }

    /// Our supervisor has taken the page. Whether there was one on its way.
    pub fn page_taken(&mut self) -> bool {
        std::mem::take(&mut self.page_is_out)
    }

    /// Nothing more can be had.
    pub fn give_up(&mut self) {
        self.at = None;
    }

    /// Whether there is nothing more to ask.
    pub fn is_over(&self) -> bool {
        self.at.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_proto::control::buffers::Cursor;
    use invivo_proto::control::timeline::Piece;
    use invivo_proto::ids::{LocationId, Rank};

    fn at(last_seconds: &LastSeconds) -> Option<TimelinePosition> {
        match last_seconds.next() {
            Some(Query::Timeline { from, .. }) => Some(from),
            _ => None,
        }
    }

    fn page(rank: u32, next: Option<TimelinePosition>) -> Timeline {
        Timeline {
            pieces: vec![Piece {
                location: LocationId {
                    rank: Rank(rank),
                    thread: 0,
                },
                ..Piece::default()
            }],
            next,
            clock_error_ns: 0,
        }
    }

    #[test]
    fn pages_follow_each_other_and_silent_places_are_passed_over() {
        let mut last_seconds = LastSeconds::begin(4, 6_000_000_000, 7_000_000_000);
        assert!(matches!(
            last_seconds.next(),
            Some(Query::Timeline {
                from_ns: 1_000_000_000,
                to_ns: 7_000_000_000,
                newest: 125_000,
                ..
            })
        ));
        let more = TimelinePosition {
            after: Some(Cursor {
                end_ticks: 5,
                given: 1,
            }),
            ..TimelinePosition::of(0, 4).expect("a rank")
        };
        last_seconds.page(page(0, Some(more)), Vec::new());
        assert_eq!(at(&last_seconds), Some(more));
        last_seconds.page(page(0, TimelinePosition::of(2, 4)), Vec::new());
        assert_eq!(at(&last_seconds), TimelinePosition::of(2, 4));
        let told = last_seconds.page(Timeline::default(), vec![WorldRank(9)]);
        assert_eq!(told.missing, [WorldRank(9)]);
        assert_eq!(at(&last_seconds), TimelinePosition::of(3, 4));
        last_seconds.page(page(3, None), Vec::new());
        assert!(last_seconds.is_over());
    }

    #[test]
    fn a_page_that_leads_back_is_the_last_one() {
        let mut last_seconds = LastSeconds::begin(4, 0, 0);
        last_seconds.page(page(0, TimelinePosition::of(3, 4)), Vec::new());
        last_seconds.page(page(3, TimelinePosition::of(0, 4)), Vec::new());
        assert!(last_seconds.is_over());
    }
}
