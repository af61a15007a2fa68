//! A budget of bytes for large answers in progress, over all connections.

use crate::auth::tokens::TokenId;
use crate::limits;
use crate::limits::shares::{Share, Shares};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::Status;

/// The budget; clones share it.
#[derive(Clone, Debug)]
pub struct AnswerBudget {
    /// In KiB, because a semaphore hands out at most 2^32 permits at once.
    free: Arc<Semaphore>,
    /// In bytes.
    by_token: Shares<TokenId>,
}

/// A share of the budget, returned when its last clone is dropped. A response carries it in its
/// extensions until it is sent.
#[derive(Clone, Debug)]
pub struct BudgetShare {
    _kib: Arc<(OwnedSemaphorePermit, Share<TokenId>)>,
}

impl Default for AnswerBudget {
    fn default() -> AnswerBudget {
        AnswerBudget {
            free: Arc::new(Semaphore::new(limits::LARGE_ANSWER_BYTES_TOTAL_MAX / 1024)),
            by_token: Shares::new(limits::LARGE_ANSWER_BYTES_PER_TOKEN_MAX),
        }
    }
}

impl AnswerBudget {
    /// Takes a share for an answer of at most `bytes` to a call with this token.
    ///
    /// # Errors
    /// `RESOURCE_EXHAUSTED` if the budget is used up, or the token's part of it.
    pub fn share(&self, bytes: usize, token: TokenId) -> Result<BudgetShare, Status> {
        let full = |most: usize, whose: &str| {
            Status::resource_exhausted(format!(
                "large answers to other calls{whose} are under way ({} MiB at most): ask again in \
                 a moment, or for less",
                most / (1024 * 1024)
            ))
        };
        let of_token = self.by_token.take(token, bytes).ok_or_else(|| {
            full(
                limits::LARGE_ANSWER_BYTES_PER_TOKEN_MAX,
                " with the same token",
            )
        })?;
        // Rounded up, so that the sum of shares never exceeds the budget.
        let kib = u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX);
        // Not waiting for permits: the caller is told to ask for less instead of queueing.
        let permit = Arc::clone(&self.free)
            .try_acquire_many_owned(kib)
            .map_err(|_| full(limits::LARGE_ANSWER_BYTES_TOTAL_MAX, ""))?;
        Ok(BudgetShare {
            _kib: Arc::new((permit, of_token)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::tokens::Scope;

    const VIEW: TokenId = TokenId::Own(Scope::View);
    const GUEST: TokenId = TokenId::Guest(1);

    #[test]
    fn shares_are_refused_beyond_the_budget() {
        let budget = AnswerBudget::default();
        let half = |token| budget.share(limits::LARGE_ANSWER_BYTES_TOTAL_MAX / 2, token);
        let (first, second) = (half(VIEW).expect("free"), half(GUEST).expect("free"));
        let full = budget.share(1, VIEW).expect_err("full");
        assert_eq!(full.code(), tonic::Code::ResourceExhausted);
        drop(first);
        budget.share(1, VIEW).expect("returned");
        drop(second);
    }

    #[test]
    fn a_token_leaves_room_for_the_longest_answer_of_others() {
        let budget = AnswerBudget::default();
        let all = budget.share(limits::LARGE_ANSWER_BYTES_PER_TOKEN_MAX, GUEST);
        let _held = all.expect("its own part");
        assert!(budget.share(1, GUEST).is_err());
        budget.share(limits::ANSWER_BYTES_MAX, VIEW).expect("room");
    }
}
