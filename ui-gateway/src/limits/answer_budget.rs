//! A budget of bytes for large answers in progress, over all connections.

use crate::limits;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::Status;

/// The budget; clones share it.
#[derive(Clone, Debug)]
pub struct AnswerBudget {
    /// In KiB, because a semaphore hands out at most 2^32 permits at once.
    free: Arc<Semaphore>,
}

/// A share of the budget, returned when its last clone is dropped. A response carries it in its
/// extensions until it is sent.
#[derive(Clone, Debug)]
pub struct BudgetShare {
    _kib: Arc<OwnedSemaphorePermit>,
}

impl Default for AnswerBudget {
    fn default() -> AnswerBudget {
        AnswerBudget {
            free: Arc::new(Semaphore::new(limits::LARGE_ANSWER_BYTES_TOTAL_MAX / 1024)),
        }
    }
}

impl AnswerBudget {
    /// Takes a share for an answer of at most `bytes`.
    ///
    /// # Errors
    /// `RESOURCE_EXHAUSTED` if the budget is used up.
    pub fn share(&self, bytes: usize) -> Result<BudgetShare, Status> {
        // Rounded up, so that the sum of shares never exceeds the budget.
        let kib = u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX);
        let full = |_| {
            Status::resource_exhausted(format!(
                "large answers to other calls are under way ({} MiB at most): ask again in a \
                 moment, or for less",
                limits::LARGE_ANSWER_BYTES_TOTAL_MAX / (1024 * 1024)
            ))
        };
        // Not waiting for permits: the caller is told to ask for less instead of queueing.
        let permit = Arc::clone(&self.free)
            .try_acquire_many_owned(kib)
            .map_err(full)?;
        Ok(BudgetShare {
            _kib: Arc::new(permit),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_refused_beyond_the_budget() {
        let budget = AnswerBudget::default();
        let half = || budget.share(limits::LARGE_ANSWER_BYTES_TOTAL_MAX / 2);
        let (first, second) = (half().expect("free"), half().expect("free"));
        let full = budget.share(1).expect_err("full");
        assert_eq!(full.code(), tonic::Code::ResourceExhausted);
        drop(first);
        budget.share(1).expect("returned");
        drop(second);
    }
}
