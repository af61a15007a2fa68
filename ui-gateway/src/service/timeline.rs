//! Streams a timeline, the calls of every rank in the last seconds, page by page.
//!
//! The next page is requested from the root only when the client has taken the one before, so that
//! a client that does not read costs one page, however many ranks there are.

use crate::auth::tokens::TokenId;
use crate::limits;
use crate::root_link::RootLink;
use crate::root_link::request::LinkError;
use futures_util::Stream;
use invivo_grpc::{convert, v1};
use invivo_proto::control::link::{Answer, TimelinePage};
use invivo_proto::control::timeline::{TIMELINE_PAGE_MAX, TimelinePosition};
use invivo_proto::control::tree::Query;
use std::time::Duration;
use tonic::Status;

/// The pages still to come.
struct Pages {
    link: RootLink,
    token: TokenId,
    from_ns: u64,
    to_ns: u64,
    ranks: u32,
    /// The newest calls of each location that are sent.
    newest: u64,
    /// Where the next page begins; `None` after the last location.
    next: Option<TimelinePosition>,
}

/// The pages of the requested interval, which ends now.
///
/// # Errors
/// If the interval is too long, or the root does not answer with its job time.
pub async fn pages(
    link: RootLink,
    token: TokenId,
    request: &v1::TimelineRequest,
) -> Result<impl Stream<Item = Result<v1::TimelinePage, Status>> + use<>, Status> {
    let length = match request.length_ns {
        0 => limits::TIMELINE_LENGTH_DEFAULT,
        ns => Duration::from_nanos(ns),
    };
    if length > limits::TIMELINE_LENGTH_MAX {
        return Err(Status::invalid_argument(
            "the last seconds are 24 hours at most: buffers hold less",
        ));
    }
    let calls_max = match request.calls_max {
        0 => limits::TIMELINE_CALLS_DEFAULT,
        calls => calls.min(limits::TIMELINE_CALLS_MAX),
    };

    // The interval ends now, by the root's clock.
    let reply = link.ask_for(token, Query::Status).await?;
    let Answer::Status(status, coverage) = &reply.answer else {
        return Err(LinkError::Mismatched.into());
    };
    let to_ns = status.recording.now_ns;
    let pages = Pages {
        link,
        token,
        from_ns: to_ns.saturating_sub(length.as_nanos() as u64),
        to_ns,
        ranks: coverage.ranks,
        // An equal part for each rank, so that a busy one does not displace the others.
        newest: (calls_max / u64::from(coverage.ranks.max(1))).max(1),
        next: TimelinePosition::of(0, coverage.ranks),
    };
    Ok(futures_util::stream::try_unfold(
        pages,
        |mut pages| async move {
            let page = pages.page().await?;
            Ok(page.map(|page| (page, pages)))
        },
    ))
}

impl Pages {
    async fn page(&mut self) -> Result<Option<v1::TimelinePage>, Status> {
        let Some(from) = self.next else {
            return Ok(None);
        };
        let query = Query::Timeline {
            from,
            from_ns: self.from_ns,
            to_ns: self.to_ns,
            newest: self.newest,
            max: TIMELINE_PAGE_MAX,
        };
        let reply = self.link.ask_for(self.token, query).await?;
        let Answer::Timeline(last, _) = &reply.answer else {
            return Err(LinkError::Mismatched.into());
        };

        // `behind` never goes back: a faulty answer cannot make the stream loop.
        self.next = from.behind(last, self.ranks);
        let page = TimelinePage {
            from_ns: self.from_ns,
            to_ns: self.to_ns,
            timeline: last.clone(),
            missing: reply.missing.clone(),
        };
        Ok(Some(convert::timeline::page(&page, self.ranks)))
    }
}
