//! Says what a page of text leaves out, and where it is.

use crate::units::{count, counted};

/// What is behind the deaths that a page shows, of so many that the JSON report has and some that
/// it has left out; nothing where it shows all.
pub fn ended(known: usize, left_out: u64, shown: usize) -> String {
    let known = known as u64;
    let all = known.saturating_add(left_out);
    let more = all.saturating_sub(shown as u64);
    if more == 0 {
        return String::new();
    }
    format!(
        "... and {} ended early: the JSON report has {}\n",
        counted_more(more, "rank"),
        how_many(known, all)
    )
}

/// The same of the rows by rank.
pub fn rank_rows(known: usize, left_out: u64, shown: usize) -> String {
    let known = known as u64;
    let all = known.saturating_add(left_out);
    if all <= shown as u64 {
        return String::new();
    }
    format!(
        "the JSON report has {}; while a job runs: invivo functions --per-rank --rows N\n",
        how_many(known, all)
    )
}

/// What is behind the blocks of a matrix, of which each has so many ranks; the JSON report's have
/// so many.
pub fn blocks(block_ranks: u32, in_json: u32) -> String {
    match (block_ranks, in_json) {
        (..=1, _) => String::new(),
        (ranks, ..=1) => format!("in blocks of {ranks} ranks; the JSON report has single ranks\n"),
        (ranks, finer) if finer < ranks => {
            format!("in blocks of {ranks} ranks; the JSON report has blocks of {finer}\n")
        }
        (ranks, _) => format!("in blocks of {ranks} ranks\n"),
    }
}

/// What is behind the call paths that a page shows, of so many that are known; `is_cut` says that
/// those of further ranks are not.
pub fn paths(known: usize, shown: usize, is_cut: bool) -> String {
    if known <= shown {
        return String::new();
    }
    let further = match is_cut {
        true => ", and further ones were not kept",
        false => "",
    };
    format!(
        "... and the call paths of {}: in the JSON report{further}\n",
        counted_more((known - shown) as u64, "rank")
    )
}

/// The ranks that a status does not name: those in the middle.
pub fn ranks(all: u64, named: usize) -> String {
    let more = all.saturating_sub(named as u64);
    if more == 0 || named == 0 {
        return String::new();
    }
    format!(
        "... and {} from the middle of this order: invivo functions --per-rank --rows N\n",
        counted_more(more, "rank")
    )
}

/// `all of them` or `the first 4,096`.
fn how_many(known: u64, all: u64) -> String {
    match known >= all {
        true => "all of them".to_owned(),
        false => format!("the first {} of {}", count(known), count(all)),
    }
}

/// `1 more rank`, `4,032 more ranks`.
fn counted_more(number: u64, what: &str) -> String {
    counted(number, &format!("more {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_said_where_nothing_is_left_out() {
        assert_eq!(blocks(1, 1) + &paths(8, 8, true) + &ranks(32, 32), "");
        assert_eq!(rank_rows(0, 0, 20) + &ended(20, 0, 20), "");
    }

    #[test]
    fn what_is_left_out_is_counted() {
        assert_eq!(
            paths(9, 8, false),
            "... and the call paths of 1 more rank: in the JSON report\n"
        );
        assert!(paths(128, 8, true).ends_with("further ones were not kept\n"));
        assert_eq!(
            blocks(342, 16),
            "in blocks of 342 ranks; the JSON report has blocks of 16\n"
        );
        assert!(blocks(2, 1).ends_with("the JSON report has single ranks\n"));
        assert!(ranks(4096, 32).starts_with("... and 4,064 more ranks from the middle of"));
        assert!(rank_rows(0, 20_480, 20).starts_with("the JSON report has the first 0 of 20,480;"));
    }
}
