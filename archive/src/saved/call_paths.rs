//! The call paths of samples: their calling contexts by name.

use super::format::Context;
use super::reader::SavedObservation;

/// What a context that is not known is called: 0, or one that was not told.
pub const UNKNOWN: &str = "(not known)";

impl SavedObservation {
    /// The calling contexts that a rank was met in, in the order of their numbers.
    pub fn contexts(&self, rank: u32) -> &[Context] {
        self.contexts.get(&rank).map_or(&[], Vec::as_slice)
    }

    /// A rank's calling context by its number.
    pub fn context(&self, rank: u32, number: u32) -> Option<&Context> {
        let of_rank = self.contexts(rank);
        let at = of_rank.binary_search_by_key(&number, |of| of.number).ok()?;
        of_rank.get(at)
    }

    /// The name of the function that a rank's calling context is in.
    pub fn context_name(&self, rank: u32, number: u32) -> &str {
        self.context(rank, number).map_or(UNKNOWN, Context::called)
    }

    /// A rank's calling context and those of its callers, the outermost first.
    pub fn context_chain(&self, rank: u32, number: u32) -> Vec<&Context> {
        let innermost = self.context(rank, number);
        // Callers have lower numbers, so this ends.
        let callers = |of: &&Context| self.context(rank, of.parent);
        let mut chain: Vec<&Context> = std::iter::successors(innermost, callers).collect();
        chain.reverse();
        chain
    }

    /// The functions of a rank's calling context, the outermost first, joined by semicolons, as
    /// programs that draw flame graphs read them.
    pub fn context_path(&self, rank: u32, number: u32) -> String {
        let chain = self.context_chain(rank, number);
        if chain.is_empty() {
            return UNKNOWN.to_owned();
        }
        // What separates frames must not be in one.
        let names = chain.iter().map(|of| of.called().replace([';', '\n'], ":"));
        names.collect::<Vec<String>>().join(";")
    }
}
