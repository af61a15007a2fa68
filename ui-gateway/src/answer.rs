//! The bytes of an answer on their way to a client: in small pieces, each only when HTTP/2 has room
//! for it, so that what a client does not read costs little and is noticed.

use crate::limits;
use crate::visit::Visit;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::Status;

/// The room for large answers; clones share it.
#[derive(Clone, Debug)]
pub struct LargeAnswers {
    /// In KiB, as a semaphore counts to 2^32 at once only.
    room: Arc<Semaphore>,
}

/// A share of it, given back when the last clone is dropped. A response carries it in its
/// extensions.
#[derive(Clone, Debug)]
pub struct Share {
    _kib: Arc<OwnedSemaphorePermit>,
}

impl Default for LargeAnswers {
    fn default() -> LargeAnswers {
        LargeAnswers {
            room: Arc::new(Semaphore::new(limits::LARGE_ANSWER_BYTES_TOTAL_MAX / 1024)),
        }
    }
}

impl LargeAnswers {
    /// Room for an answer of at most `bytes`, until the client has it.
    ///
    /// # Errors
    /// When there is none.
    pub fn share(&self, bytes: usize) -> Result<Share, Status> {
        let kib = u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX);
        let full = |_| {
            Status::resource_exhausted(format!(
                "large answers to other calls are under way ({} MiB at most): ask again in a moment, or for less",
                limits::LARGE_ANSWER_BYTES_TOTAL_MAX / (1024 * 1024)
            ))
        };
        let permit = Arc::clone(&self.room)
            .try_acquire_many_owned(kib)
            .map_err(full)?;
        Ok(Share {
            _kib: Arc::new(permit),
        })
    }
}

/// A body in pieces of at most [`limits::PIECE_BYTES`].
#[derive(Debug)]
pub struct InPieces<B> {
    inner: B,
    /// What is left of the inner body's last piece.
    rest: Bytes,
    visit: Arc<Visit>,
    number: u64,
    _share: Option<Share>,
}

impl<B> InPieces<B> {
    /// `inner` for the client of `visit`; `share` is given back at its end.
    pub fn new(inner: B, visit: Arc<Visit>, share: Option<Share>) -> InPieces<B> {
        InPieces {
            inner,
            rest: Bytes::new(),
            number: visit.begin_answer(),
            visit,
            _share: share,
        }
    }

    /// The next piece, of its own memory: a slice would keep all of a long answer alive in HTTP/2's
    /// buffer.
    fn piece(&mut self) -> Frame<Bytes> {
        let piece = if self.rest.len() <= limits::PIECE_BYTES {
            std::mem::take(&mut self.rest)
        } else {
            Bytes::copy_from_slice(&self.rest.split_to(limits::PIECE_BYTES))
        };
        self.visit.handed(self.number, Instant::now());
        Frame::data(piece)
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for InPieces<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        self.visit.asked_on(self.number);
        if self.rest.is_empty() {
            match ready!(Pin::new(&mut self.inner).poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.rest = data,
                    Err(frame) => return Poll::Ready(Some(Ok(frame))),
                },
                other => return Poll::Ready(other),
            }
        }
        Poll::Ready(Some(Ok(self.piece())))
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

impl<B> Drop for InPieces<B> {
    fn drop(&mut self) {
        self.visit.asked_on(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::door::{Door, Peer, Room};
    use std::collections::VecDeque;
    use std::convert::Infallible;
    use std::time::Duration;

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

    fn visit() -> Arc<Visit> {
        let peer = Peer::Unix { uid: 1, pid: None };
        let (place, _) = Door::new(Room::within(1024).expect("enough")).enter(&peer);
        Arc::new(Visit::new(peer, place))
    }

    #[test]
    fn pieces_are_small_and_together_the_whole() {
        let whole: Vec<u8> = (0..100_000u32).map(|at| at as u8).collect();
        let frames = [
            Frame::data(Bytes::from(whole.clone())),
            Frame::data(Bytes::from_static(b"x")),
            Frame::trailers(hyper::HeaderMap::new()),
        ];
        let visit = visit();
        let mut body = InPieces::new(Frames(frames.into()), visit.clone(), None);
        let mut context = Context::from_waker(std::task::Waker::noop());
        let (mut bytes, mut pieces, mut trailers) = (Vec::new(), 0, 0);
        let soon = Instant::now() + Duration::from_secs(9);
        while let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut body).poll_frame(&mut context) {
            match frame.into_data() {
                Ok(data) => {
                    assert!(data.len() <= limits::PIECE_BYTES && !data.is_empty());
                    assert!(
                        visit.stalled(soon, Duration::from_secs(1)),
                        "a piece is out"
                    );
                    bytes.extend_from_slice(&data);
                    pieces += 1;
                }
                Err(_) => trailers += 1,
            }
        }
        assert_eq!((bytes.len(), pieces, trailers), (100_001, 8, 1));
        assert_eq!(&bytes[..100_000], whole);
        assert!(
            !visit.stalled(soon, Duration::from_secs(1)),
            "nothing is out"
        );
    }

    #[test]
    fn large_answers_share_their_room() {
        let room = LargeAnswers::default();
        let half = room
            .share(limits::LARGE_ANSWER_BYTES_TOTAL_MAX / 2)
            .expect("room");
        let other = room
            .share(limits::LARGE_ANSWER_BYTES_TOTAL_MAX / 2)
            .expect("room");
        let full = room.share(1).expect_err("full");
        assert_eq!(full.code(), tonic::Code::ResourceExhausted);
        let body = InPieces::new((), visit(), Some(half));
        assert!(room.share(1).is_err());
        drop(body);
        room.share(1).expect("given back with the body");
        drop(other);
    }
}
