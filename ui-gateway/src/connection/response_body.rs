//! The body of a response in small chunks, each handed over only when HTTP/2 has space for it, so
//! that an answer that the client does not read costs little and is noticed.

use super::state::ConnectionState;
use crate::limits;
use crate::limits::answer_budget::BudgetShare;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

/// A body in chunks of at most [`limits::CHUNK_BYTES_MAX`].
#[derive(Debug)]
pub struct ChunkedBody<B> {
    inner: B,
    /// The rest of the inner body's last frame.
    rest: Bytes,
    state: Arc<ConnectionState>,
    /// The answer in `state`.
    answer: u64,
    share: Option<BudgetShare>,
}

impl<B> ChunkedBody<B> {
    /// Wraps `inner`; `share` is returned at its end.
    pub fn new(
        inner: B,
        state: Arc<ConnectionState>,
        share: Option<BudgetShare>,
    ) -> ChunkedBody<B> {
        ChunkedBody {
            inner,
            rest: Bytes::new(),
            answer: state.begin_answer(),
            state,
            share,
        }
    }

    /// The next chunk of `rest`.
    fn chunk(&mut self) -> Frame<Bytes> {
        let chunk = if self.rest.len() <= limits::CHUNK_BYTES_MAX {
            std::mem::take(&mut self.rest)
        } else {
            // A copy: a slice would keep all of a long answer alive in HTTP/2's buffer.
            Bytes::copy_from_slice(&self.rest.split_to(limits::CHUNK_BYTES_MAX))
        };
        let is_large = self.share.is_some();
        self.state
            .chunk_sent(self.answer, chunk.len(), is_large, Instant::now());
        Frame::data(chunk)
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for ChunkedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        // HTTP/2 asks for the next frame only when it has space: the client has read what came
        // before.
        self.state.chunk_consumed(self.answer, Instant::now());
        if self.rest.is_empty() {
            match ready!(Pin::new(&mut self.inner).poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.rest = data,
                    // Trailers: passed on as they are, and never cut into chunks.
                    Err(frame) => return Poll::Ready(Some(Ok(frame))),
                },
                other => return Poll::Ready(other),
            }
        }
        Poll::Ready(Some(Ok(self.chunk())))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let mut hint = self.inner.size_hint();
        let rest = self.rest.len() as u64;
        // The upper bound first: the lower one must never be above it.
        if let Some(upper) = hint.upper() {
            hint.set_upper(upper.saturating_add(rest));
        }
        hint.set_lower(hint.lower().saturating_add(rest));
        hint
    }
}

impl<B> Drop for ChunkedBody<B> {
    fn drop(&mut self) {
        // A cancelled call must not count as unread for ever.
        self.state.end_answer(self.answer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::tokens::{Scope, TokenId};
    use crate::connection::admission::{Admission, Capacity};
    use crate::connection::peer::Peer;
    use crate::limits::answer_budget::AnswerBudget;
    use std::collections::VecDeque;
    use std::convert::Infallible;
    use std::time::Duration;

    const VIEW: TokenId = TokenId::Own(Scope::View);

    /// A body of these frames.
    struct Frames(VecDeque<Frame<Bytes>>);

    impl Body for Frames {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            Poll::Ready(self.0.pop_front().map(Ok))
        }
    }

    fn state() -> Arc<ConnectionState> {
        let peer = Peer::Unix { uid: 1, pid: None };
        let (slot, _) = Admission::new(Capacity::within(1024).expect("enough")).accept(&peer);
        Arc::new(ConnectionState::new(peer, slot))
    }

    #[test]
    fn chunks_are_small_and_together_the_whole() {
        let whole: Vec<u8> = (0..100_000u32).map(|at| at as u8).collect();
        let frames = [
            Frame::data(Bytes::from(whole.clone())),
            Frame::data(Bytes::from_static(b"x")),
            Frame::trailers(hyper::HeaderMap::new()),
        ];
        let state = state();
        let mut body = ChunkedBody::new(Frames(frames.into()), state.clone(), None);
        let mut context = Context::from_waker(std::task::Waker::noop());
        let (mut bytes, mut chunks, mut trailers) = (Vec::new(), 0, 0);
        let soon = Instant::now() + Duration::from_secs(9);
        while let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut body).poll_frame(&mut context) {
            match frame.into_data() {
                Ok(data) => {
                    assert!(data.len() <= limits::CHUNK_BYTES_MAX && !data.is_empty());
                    assert!(
                        state.stalled(soon, Duration::from_secs(1)),
                        "a chunk is unread"
                    );
                    bytes.extend_from_slice(&data);
                    chunks += 1;
                }
                Err(_) => trailers += 1,
            }
        }
        assert_eq!((bytes.len(), chunks, trailers), (100_001, 8, 1));
        assert_eq!(&bytes[..100_000], whole);
        assert!(
            !state.stalled(soon, Duration::from_secs(1)),
            "nothing is unread"
        );
    }

    #[test]
    fn the_budget_share_is_returned_with_the_body() {
        let budget = AnswerBudget::default();
        let all = budget.share(limits::LARGE_ANSWER_BYTES_PER_TOKEN_MAX, VIEW);
        let body = ChunkedBody::new((), state(), Some(all.expect("free")));
        assert!(budget.share(1, VIEW).is_err());
        drop(body);
        budget.share(1, VIEW).expect("returned with the body");
    }
}
