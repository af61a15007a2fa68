//! Streams a save: what the buffers of the ranks hold, page by page.
//!
//! All places freeze their buffers with the first question, so that the save is of one moment. Then
//! each gives its pages; the next one is requested when the client has taken the one before. A
//! stream that ends lets go of what is held, and so do the places when nobody asks any more.

use super::{Service, large};
use crate::audit::event::Event;
use crate::audit::{Audit, OpenEntry};
use crate::auth::caller::Caller;
use crate::auth::tokens::TokenId;
use crate::limits;
use crate::root_link::RootLink;
use crate::root_link::request::{LinkError, Reply};
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt};
use invivo_grpc::{convert, v1};
use invivo_proto::control::link::{Answer, Ask};
use invivo_proto::control::results::JobStatus;
use invivo_proto::control::saved::{SaveAsk, SaveQuery, Saved, SavedPage};
use invivo_proto::control::stacks::Chosen;
use invivo_proto::control::tree::Query;
use invivo_proto::ids::{Rank, WorldRank};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tonic::{Response, Status};

/// The pages still to come.
struct Pages {
    save: Save,
    /// What holds for every page.
    head: v1::SavePage,
    chosen: Chosen,
    ranks: u32,
    /// Ranks that have been given, or whose place does not answer.
    done: Vec<bool>,
    missing: BTreeSet<u32>,
    /// The rank whose place is asked, and pages that it has given; nothing behind the last.
    next: Option<(u32, u64)>,
}

/// A save under way; dropped, the places let go of what they hold.
struct Save {
    link: RootLink,
    token: TokenId,
    number: u64,
    audit: Audit,
    entry: OpenEntry,
    begun: Instant,
    ranks: u32,
    saved: u32,
    is_complete: bool,
}

impl Save {
    async fn ask(&self, ask: SaveAsk) -> Result<Arc<Reply>, LinkError> {
        let query = Query::Save(SaveQuery {
            save: self.number,
            ask,
        });
        self.link.ask_for(self.token, query).await
    }
}

impl Drop for Save {
    fn drop(&mut self) {
        let event = if self.is_complete {
            Event::Answered {
                command_id: self.number,
                targets: self.ranks,
                done: self.saved,
                took_ns: self.begun.elapsed().as_nanos() as u64,
            }
        } else {
            Event::Failed {
                command_id: self.number,
                why: "it was not taken to its end".to_owned(),
            }
        };
        self.audit.end(&self.entry, &event);
        let thaw = Query::Save(SaveQuery {
            save: self.number,
            ask: SaveAsk::Thaw,
        });
        let link = self.link.clone();
        // Where there is no runtime any more, the gateway ends; places notice that by themselves.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                // Whoever does not hear of it lets go when nobody asks any more.
                let _ = link.ask(Ask::Query(thaw), limits::QUERY_TIME_MAX).await;
            });
        }
    }
}

impl Service {
    /// The pages of a save, until the gateway ends.
    pub(super) async fn answer_save(
        &self,
        caller: &Caller,
        request: &v1::SaveRequest,
    ) -> Result<Response<BoxStream<'static, Result<v1::SavePage, Status>>>, Status> {
        let share = self
            .answer_budget
            .share(limits::SAVE_PAGE_BYTES, caller.token)?;
        let pages = pages(self.link.clone(), self.audit.clone(), caller, request).await?;
        // The client may be slow, and the job's end does not wait for it.
        let pages = pages.take_until(Box::pin(self.ended()));
        Ok(large(pages.boxed(), share))
    }
}

/// Since when the job was observed, in job time.
fn observed_from_ns(status: &JobStatus) -> u64 {
    status.recording.now_ns.saturating_sub(status.observed_ns)
}

/// The pages of a save, whose interval ends now at the latest.
///
/// # Errors
/// If the request makes no sense, another save is under way, or the root does not answer.
async fn pages(
    link: RootLink,
    audit: Audit,
    caller: &Caller,
    request: &v1::SaveRequest,
) -> Result<impl Stream<Item = Result<v1::SavePage, Status>> + use<>, Status> {
    let chosen = convert::stacks::chosen(&request.ranks)
        .ok_or_else(|| Status::invalid_argument("ranks: at most 8 ranges of ranks"))?;
    let token = caller.token;
    let now = link.ask_for(token, Query::Status).await?;
    let Answer::Status(status, coverage) = &now.answer else {
        return Err(LinkError::Mismatched.into());
    };
    let asked_ns = (request.from_ns, request.to_ns, request.last_ns);
    let interval = convert::grid::interval(asked_ns, status).map_err(Status::invalid_argument)?;
    // Without an interval all that is there, also of ranks that began before the first one was
    // observed.
    let is_all = asked_ns == (0, 0, 0);
    let interval = if is_all { 0 } else { interval.start }..interval.end;
    let ranks = coverage.ranks;
    let targets = (0..ranks).filter(|rank| chosen.holds(Rank(*rank))).count() as u32;
    if targets == 0 {
        return Err(Status::invalid_argument(format!(
            "the job has none of these ranks: they are 0 to {}",
            ranks.saturating_sub(1)
        )));
    }

    let number = invivo_jobdir::random::id()
        .map_err(|error| Status::internal(format!("no random number: {error}")))?;
    let entry = audit.begin("save", caller.clone(), number, String::new());
    let mut save = Save {
        link,
        token,
        number,
        audit,
        entry,
        begun: Instant::now(),
        ranks: targets,
        saved: 0,
        is_complete: false,
    };
    // Where the end lies in the past, what came since is held as well: bins are whole.
    let freeze = SaveAsk::Freeze {
        chosen,
        from_ns: interval.start,
        to_ns: interval.end,
    };
    let reply = save.ask(freeze).await?;
    let saved = saved(&reply)?;
    if saved.busy > 0 {
        save.is_complete = false;
        return Err(Status::failed_precondition(
            "another save is under way; one that was broken off is given up after 30 s: try again \
             then",
        ));
    }
    let mut pages = Pages {
        head: v1::SavePage {
            from_ns: interval.start,
            to_ns: interval.end,
            observed_from_ns: observed_from_ns(status),
            ranks,
            locations_total: saved.locations,
            bytes_total: saved.bytes,
            ..v1::SavePage::default()
        },
        done: vec![false; ranks as usize],
        missing: BTreeSet::new(),
        next: None,
        save,
        chosen,
        ranks,
    };
    pages.missing_are(&reply.missing);
    pages.next = pages.rank_behind().map(|rank| (rank, 0));
    Ok(futures_util::stream::try_unfold(
        pages,
        |mut pages| async move {
            let page = pages.page().await?;
            Ok(page.map(|page| (page, pages)))
        },
    ))
}

fn saved(reply: &Reply) -> Result<&Saved, Status> {
    match &reply.answer {
        Answer::Saved(saved, _) => Ok(saved),
        _ => Err(LinkError::Mismatched.into()),
    }
}

impl Pages {
    fn missing_are(&mut self, missing: &[WorldRank]) {
        self.missing.extend(missing.iter().map(|process| process.0));
    }

    /// The first rank that is still to be given.
    fn rank_behind(&self) -> Option<u32> {
        let is_left = |rank: &u32| !self.done[*rank as usize] && self.chosen.holds(Rank(*rank));
        (0..self.ranks).find(is_left)
    }

    async fn page(&mut self) -> Result<Option<v1::SavePage>, Status> {
        while let Some((rank, number)) = self.next {
            let page = self.ask(rank, number).await?;
            let mut message = match &page {
                Some(page) if page.is_gone => {
                    return Err(Status::aborted(
                        "the tool place has given the save up, because it was not asked for long, \
                         or lost what it held; save again",
                    ));
                }
                Some(page) => convert::saved::page(page),
                // Its process is among those that are missing.
                None => v1::SavePage::default(),
            };
            let given = page.iter().flat_map(|page| &page.pieces);
            for piece in given {
                if let Some(done) = self.done.get_mut(piece.location.rank.0 as usize) {
                    self.save.saved += u32::from(!std::mem::replace(done, true));
                }
            }
            let is_last_of_place = page.as_ref().is_none_or(|page| page.is_last);
            self.next = if is_last_of_place {
                // Whatever a place says, no rank is asked for twice.
                self.done[rank as usize] = true;
                self.rank_behind().map(|rank| (rank, 0))
            } else {
                Some((rank, number + 1))
            };
            let is_last = self.next.is_none();
            if page.is_none() && !is_last {
                continue;
            }
            self.save.is_complete |= is_last;
            message.missing = self.missing.iter().copied().collect();
            message.last = is_last;
            return Ok(Some(v1::SavePage {
                pieces: message.pieces,
                groups: message.groups,
                host: message.host,
                clock_error_ns: message.clock_error_ns,
                missing: message.missing,
                last: message.last,
                ..self.head.clone()
            }));
        }
        Ok(None)
    }

    /// A page of the place that has a rank; nothing where it does not answer.
    async fn ask(&mut self, rank: u32, page: u64) -> Result<Option<SavedPage>, Status> {
        let ask = SaveAsk::Page {
            rank: Rank(rank),
            page,
        };
        for attempt in 1..=limits::SAVE_TRIES_MAX {
            let reply = self.save.ask(ask).await?;
            let saved = saved(&reply)?;
            if let Some(page) = &saved.page {
                return Ok(Some(page.clone()));
            }
            if attempt == limits::SAVE_TRIES_MAX {
                self.missing_are(&reply.missing);
            } else {
                // A place that is silent is not waited for again until it has answered.
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        }
        Ok(None)
    }
}
