//! The answers of a scripted root to a save.

use invivo_proto::control::saved::{SaveAsk, Saved, SavedBin, SavedPage, SavedPiece};
use invivo_proto::ids::{LocationId, Rank};

/// A save of two places with two ranks each, the first of which has two pages.
pub fn saved(ask: SaveAsk) -> Saved {
    let piece = |rank| SavedPiece {
        location: LocationId {
            rank: Rank(rank),
            thread: 0,
        },
        bins: vec![SavedBin {
            chain: 0,
            content: vec![rank as u8],
        }],
        is_complete: true,
        ..SavedPiece::default()
    };
    let page = |number, pieces, is_last| Saved {
        page: Some(SavedPage {
            number,
            pieces,
            is_last,
            host: "node17".into(),
            ..SavedPage::default()
        }),
        ..Saved::default()
    };
    match ask {
        SaveAsk::Freeze { .. } => Saved {
            locations: 4,
            bytes: 4,
            ..Saved::default()
        },
        SaveAsk::Page {
            rank: Rank(0),
            page: 0,
        } => page(0, vec![piece(0)], false),
        SaveAsk::Page {
            rank: Rank(0),
            page: 1,
        } => page(1, vec![piece(3)], true),
        SaveAsk::Page { page: 0, .. } => page(0, vec![piece(1), piece(2)], true),
        SaveAsk::Page { .. } | SaveAsk::Thaw => Saved::default(),
    }
}
