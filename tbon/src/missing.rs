//! Merges the names of members that did not answer.

use alloc::vec::Vec;
use invivo_proto::control::tree::MISSING_MAX;
use invivo_proto::ids::WorldRank;

/// Adds names, each once, and keeps the lowest [`MISSING_MAX`], so that the order of arrival does
/// not matter.
pub(crate) fn note(names: &mut Vec<WorldRank>, more: impl IntoIterator<Item = WorldRank>) {
    names.extend(more);
    names.sort_unstable();
    names.dedup();
    names.truncate(MISSING_MAX);
}
