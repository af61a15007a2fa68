//! Requests to the root and their answers or errors, as both sides of the link's channel see them.

use invivo_proto::control::link::{Answer, Ask, JobDescription};
use invivo_proto::ids::WorldRank;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tonic::Status;

/// Whether the root is connected.
#[derive(Clone, Debug)]
pub enum RootState {
    /// With the reason.
    Disconnected(Arc<str>),
    /// It has answered with its job.
    Connected(Arc<JobDescription>),
}

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    #[error(
        "the root of the measurement is not connected ({0}): it is starting, ending, or lost; the \
         application is not affected; try again in a moment, and look at `invivo list`"
    )]
    Disconnected(Arc<str>),
    #[error(
        "the root of the measurement has not answered within {0:?}; the application is not \
         affected; try again"
    )]
    TimedOut(Duration),
    #[error(
        "{0} questions to the root wait for an answer already; ask again when some are answered"
    )]
    Busy(usize),
    #[error(
        "{0} questions with this token, or with others that may not steer, wait for an answer \
         already; ask again when some are answered"
    )]
    BusyToken(usize),
    /// The root's own sentence.
    #[error("{0}")]
    Refused(String),
    /// The answer is of another kind than the request: a fault of Invivo.
    #[error(
        "the root of the measurement answered another question than was asked; please report this"
    )]
    Mismatched,
}

impl From<LinkError> for Status {
    fn from(error: LinkError) -> Status {
        let sentence = error.to_string();
        match error {
            LinkError::Disconnected(_) => Status::unavailable(sentence),
            LinkError::TimedOut(_) => Status::deadline_exceeded(sentence),
            LinkError::Busy(_) | LinkError::BusyToken(_) => Status::resource_exhausted(sentence),
            LinkError::Refused(_) => Status::failed_precondition(sentence),
            LinkError::Mismatched => Status::internal(sentence),
        }
    }
}

/// The root's answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// Never a refusal: that is [`LinkError::Refused`].
    pub answer: Answer,
    /// Tool processes that did not answer, the lowest of them.
    pub missing: Vec<WorldRank>,
}

/// A request that waits for its answer.
pub(super) struct PendingRequest {
    pub ask: Ask,
    pub reply: oneshot::Sender<Result<Reply, LinkError>>,
}

/// Where the answer to a request comes.
pub(super) type ReplyReceiver = oneshot::Receiver<Result<Reply, LinkError>>;

/// The answer, or an error after `time_max`.
pub(super) async fn within(
    time_max: Duration,
    answer: impl Future<Output = Result<Arc<Reply>, LinkError>>,
) -> Result<Arc<Reply>, LinkError> {
    match tokio::time::timeout(time_max, answer).await {
        Err(_) => Err(LinkError::TimedOut(time_max)),
        Ok(reply) => reply,
    }
}

/// The answer, once it is there.
pub(super) async fn received(answer: ReplyReceiver) -> Result<Arc<Reply>, LinkError> {
    match answer.await {
        // The other end of the reply was dropped, with the link's task.
        Err(_) => Err(LinkError::Disconnected("the gateway is ending".into())),
        Ok(Ok(Reply {
            answer: Answer::Refused(why),
            ..
        })) => Err(LinkError::Refused(why)),
        Ok(reply) => reply.map(Arc::new),
    }
}
