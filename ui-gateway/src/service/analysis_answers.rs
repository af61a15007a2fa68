//! Answers that rest on analyses, each with whether its analysis was on.

use super::{Service, large, or_default};
use crate::auth::tokens::TokenId;
use crate::limits;
use crate::root_link::request::{LinkError, Reply};
use invivo_grpc::{convert, v1};
use invivo_proto::control::analyses::Analysis;
use invivo_proto::control::link::Answer;
use invivo_proto::control::metric::Metric;
use invivo_proto::control::results::JobStatus;
use invivo_proto::control::tree::Query;
use std::sync::Arc;
use tonic::{Response, Status};

impl Service {
    /// An answer about calls, with which analyses were on. Both at once: the moments that they show
    /// lie closer together.
    pub(super) async fn query_analysis(
        &self,
        token: TokenId,
        query: Query,
        analysis: Analysis,
    ) -> Result<(Arc<Reply>, v1::AnalysisStatus), LinkError> {
        let (reply, switches) =
            tokio::try_join!(self.query(token, query), self.query(token, Query::Analyses))?;
        let Answer::Analyses(status, _) = &switches.answer else {
            return Err(LinkError::Mismatched);
        };
        Ok((reply, convert::analyses::one(status, analysis)))
    }

    /// The state of the ranks, and which analyses are on.
    pub(super) async fn answer_status(
        &self,
        token: TokenId,
    ) -> Result<Response<v1::StatusReply>, Status> {
        let (reply, switches) = tokio::try_join!(
            self.query(token, Query::Status),
            self.query(token, Query::Analyses)
        )?;
        let (Answer::Status(status, coverage), Answer::Analyses(analyses, _)) =
            (&reply.answer, &switches.answer)
        else {
            return Err(LinkError::Mismatched.into());
        };
        Ok(Response::new(v1::StatusReply {
            coverage: Some(convert::coverage(coverage, &reply.missing)),
            status: Some(v1::JobStatus {
                analyses: convert::analyses::all(analyses),
                ..status.into()
            }),
        }))
    }

    /// Which analyses are on.
    pub(super) async fn answer_analyses(
        &self,
        token: TokenId,
    ) -> Result<Response<v1::AnalysesReply>, Status> {
        let reply = self.query(token, Query::Analyses).await?;
        let Answer::Analyses(status, coverage) = &reply.answer else {
            return Err(LinkError::Mismatched.into());
        };
        Ok(Response::new(v1::AnalysesReply {
            coverage: Some(convert::coverage(coverage, &reply.missing)),
            analyses: convert::analyses::all(status),
        }))
    }

    /// What is recorded.
    pub(super) async fn answer_selection(
        &self,
        token: TokenId,
    ) -> Result<Response<v1::SelectionReply>, Status> {
        let reply = self.query(token, Query::Selection).await?;
        let Answer::Selection(status, coverage) = &reply.answer else {
            return Err(LinkError::Mismatched.into());
        };
        let coverage = convert::coverage(coverage, &reply.missing);
        Ok(Response::new(convert::selection::reply(status, coverage)))
    }

    /// What ranks wait for that have done nothing new for so long; 0 asks for the usual time.
    pub(super) async fn answer_hang(
        &self,
        older_ns: u64,
        token: TokenId,
    ) -> Result<Response<v1::HangReply>, Status> {
        let older_ns = match older_ns {
            0 => limits::HANG_OLDER_NS_DEFAULT,
            ns => ns,
        };
        let reply = self.query(token, Query::Hang { older_ns }).await?;
        let Answer::Hang(found, coverage) = &reply.answer else {
            return Err(LinkError::Mismatched.into());
        };
        let coverage = convert::coverage(coverage, &reply.missing);
        let reply = convert::hang::reply(&found.0, &found.1, coverage);
        Ok(Response::new(reply))
    }

    /// What is measured.
    pub(super) async fn answer_metrics(
        &self,
        token: TokenId,
    ) -> Result<Response<v1::MetricsReply>, Status> {
        let reply = self.query(token, Query::Metrics).await?;
        let Answer::Metrics(status, coverage) = &reply.answer else {
            return Err(LinkError::Mismatched.into());
        };
        let coverage = convert::coverage(coverage, &reply.missing);
        Ok(Response::new(convert::metrics::reply(status, coverage)))
    }

    /// What the ranks did over time.
    pub(super) async fn answer_grid(
        &self,
        asked: &v1::GridRequest,
        token: TokenId,
    ) -> Result<Response<v1::GridReply>, Status> {
        let columns_max = or_default(
            asked.columns_max,
            limits::GRID_COLUMNS_DEFAULT,
            limits::GRID_COLUMNS_MAX,
        );
        let rows_max = or_default(
            asked.rows_max,
            limits::GRID_ROWS_DEFAULT,
            limits::GRID_ROWS_MAX,
        );
        let cells = columns_max as usize * rows_max as usize;
        let share = self
            .answer_budget
            .share(cells * limits::GRID_CELL_BYTES, token)?;
        // The interval is said in the time that the root's clock shows.
        let now = self.query(token, Query::Status).await?;
        let Answer::Status(status, _) = &now.answer else {
            return Err(LinkError::Mismatched.into());
        };
        let query = convert::grid::query(asked, status, (columns_max, rows_max))
            .map_err(Status::invalid_argument)?;
        let (reply, analysis) = match query.metric {
            Metric::OfCalls(metric) => {
                let (reply, analysis) = self
                    .query_analysis(token, Query::Grid(query), metric.analysis())
                    .await?;
                (reply, Some(analysis))
            }
            _ => (self.query(token, Query::Grid(query)).await?, None),
        };
        let Answer::Grid(grid, coverage) = &reply.answer else {
            return Err(LinkError::Mismatched.into());
        };
        let message = v1::GridReply {
            coverage: Some(convert::coverage(coverage, &reply.missing)),
            analysis,
            ..convert::grid::reply(grid, query.metric, status, coverage.ranks)
        };
        Ok(large(message, share))
    }

    /// Call paths.
    pub(super) async fn answer_stacks(
        &self,
        asked: &v1::StacksRequest,
        token: TokenId,
    ) -> Result<Response<v1::StacksReply>, Status> {
        let chosen = convert::stacks::chosen(&asked.ranks)
            .ok_or_else(|| Status::invalid_argument("ranks: at most 8 ranges of ranks"))?;
        let threads = asked.threads;
        let query = Query::Stacks { chosen, threads };
        let reply = self.query(token, query).await?;
        let Answer::Stacks(stacks, coverage) = &reply.answer else {
            return Err(LinkError::Mismatched.into());
        };
        let coverage = convert::coverage(coverage, &reply.missing);
        Ok(Response::new(convert::stacks::reply(stacks, coverage)))
    }

    /// What the root's clock shows, beside all else.
    pub(super) async fn now(&self, token: TokenId) -> Result<JobStatus, Status> {
        let now = self.query(token, Query::Status).await?;
        match &now.answer {
            Answer::Status(status, _) => Ok(JobStatus::clone(status)),
            _ => Err(LinkError::Mismatched.into()),
        }
    }

    /// Samples.
    pub(super) async fn answer_profile(
        &self,
        asked: &v1::ProfileRequest,
        token: TokenId,
    ) -> Result<Response<v1::ProfileReply>, Status> {
        let chosen = convert::stacks::chosen(&asked.ranks)
            .ok_or_else(|| Status::invalid_argument("ranks: at most 8 ranges of ranks"))?;
        let asked_ns = (asked.from_ns, asked.to_ns, asked.last_ns);
        // Times are asked for and told since the beginning of the observed time, by one idea of it.
        let (past, begin_ns) = self.past(asked_ns, token).await?.unzip();
        let query = Query::Profile { chosen, past };
        let reply = self.query(token, query).await?;
        let Answer::Profile(profile, coverage) = &reply.answer else {
            return Err(LinkError::Mismatched.into());
        };
        let begin_ns = match (begin_ns, &profile.kept) {
            (Some(begin_ns), _) => begin_ns,
            // A saved observation tells samples of all its time.
            (None, Some(_)) => convert::grid::begin_ns(&self.now(token).await?),
            (None, None) => 0,
        };
        let coverage = convert::coverage(coverage, &reply.missing);
        let message = convert::profile::reply(profile, begin_ns, coverage);
        Ok(Response::new(message))
    }

    /// What the buffers hold.
    pub(super) async fn answer_buffers(
        &self,
        token: TokenId,
    ) -> Result<Response<v1::BuffersReply>, Status> {
        let reply = self.query(token, Query::Buffers).await?;
        let Answer::Buffers(buffers, coverage) = &reply.answer else {
            return Err(LinkError::Mismatched.into());
        };
        Ok(Response::new(v1::BuffersReply {
            coverage: Some(convert::coverage(coverage, &reply.missing)),
            ..convert::buffers::reply(buffers)
        }))
    }

    /// A page of records.
    pub(super) async fn answer_records(
        &self,
        asked: &v1::RecordsRequest,
        token: TokenId,
    ) -> Result<Response<v1::RecordsReply>, Status> {
        let max = or_default(asked.max, limits::PAGE_DEFAULT, limits::PAGE_MAX);
        let share = self
            .answer_budget
            .share(max as usize * limits::PAGE_ROW_BYTES, token)?;
        let query = convert::buffers::records_query(asked, max);
        let query = query.map_err(Status::invalid_argument)?;
        let reply = self.query(token, query).await?;
        let Answer::Records(records, coverage) = &reply.answer else {
            return Err(LinkError::Mismatched.into());
        };
        let message = convert::buffers::records_reply(records).ok_or_else(|| {
            let (rank, thread) = (asked.rank, asked.thread);
            Status::not_found(format!(
                "nobody has records of rank {rank}, thread {thread}: the job has {} ranks, each \
                 with threads from 0 on",
                coverage.ranks
            ))
        })?;
        let message = v1::RecordsReply {
            coverage: Some(convert::coverage(coverage, &reply.missing)),
            ..message
        };
        Ok(large(message, share))
    }
}
