//! Answers that can be of an interval of the run: functions, call sites, iterations, regions,
//! matrix, messages, wait states.

use super::{Service, large, or_default};
use crate::auth::tokens::TokenId;
use crate::limits;
use crate::root_link::request::LinkError;
use invivo_grpc::convert::distribution::Bins;
use invivo_grpc::{convert, v1};
use invivo_proto::control::analyses::Analysis;
use invivo_proto::control::link::Answer;
use invivo_proto::control::profile::Past;
use invivo_proto::control::tree::Query;
use tonic::{Response, Status};

impl Service {
    /// The function table.
    pub(super) async fn answer_functions(
        &self,
        asked: &v1::FunctionsRequest,
        token: TokenId,
    ) -> Result<Response<v1::FunctionsReply>, Status> {
        let rank_rows_max = if asked.per_rank {
            or_default(
                asked.rank_rows_max,
                limits::RANK_ROWS_DEFAULT,
                limits::RANK_ROWS_MAX,
            )
        } else {
            0
        };
        let (bins, bins_bytes) = bins(asked.histograms);
        let share = self.answer_budget.share(
            rank_rows_max as usize * limits::RANK_ROW_BYTES + limits::FUNCTIONS * bins_bytes,
            token,
        )?;
        let asked_ns = (asked.from_ns, asked.to_ns, asked.last_ns);
        let (past, begin_ns) = self.table_past(asked_ns, token).await?.unzip();
        let query = Query::Functions {
            rank_rows_max,
            past,
        };
        let (reply, switches) =
            tokio::try_join!(self.query(token, query), self.query(token, Query::Analyses))?;
        let (Answer::Functions(table, coverage), Answer::Analyses(analyses, _)) =
            (&reply.answer, &switches.answer)
        else {
            return Err(LinkError::Mismatched.into());
        };
        let (rows, mut rank_rows) = convert::function_rows(table, bins);
        rank_rows.truncate(rank_rows_max as usize);
        let known = |row: &v1::FunctionRow| row.durations.as_ref().map_or(0, |of| of.count);
        let lacks_some = rows.iter().any(|row| known(row) < row.calls);
        let message = v1::FunctionsReply {
            coverage: Some(convert::coverage(coverage, &reply.missing)),
            rows,
            rank_rows,
            rank_rows_total: table.rank_rows_total.try_into().unwrap_or(u32::MAX),
            analysis: Some(convert::analyses::one(analyses, Analysis::Functions)),
            interval: interval(table.past, begin_ns),
            call_sites: lacks_some.then(|| convert::analyses::one(analyses, Analysis::Sites)),
        };
        Ok(large(message, share))
    }

    /// The table of call sites.
    pub(super) async fn answer_call_sites(
        &self,
        asked: &v1::CallSitesRequest,
        token: TokenId,
    ) -> Result<Response<v1::CallSitesReply>, Status> {
        let rows_max = or_default(asked.rows_max, limits::SITE_ROWS_MAX, limits::SITE_ROWS_MAX);
        let (bins, bins_bytes) = bins(asked.histograms);
        let row_bytes = limits::SITE_ROW_BYTES + bins_bytes;
        let share = self.answer_budget.share(
            (rows_max as usize * row_bytes).min(limits::ANSWER_BYTES_MAX),
            token,
        )?;
        // All that the tree gives: what is cut here is cut from rows of all ranks.
        let asked_ns = (asked.from_ns, asked.to_ns, asked.last_ns);
        let (past, begin_ns) = self.table_past(asked_ns, token).await?.unzip();
        let query = Query::Sites {
            rows_max: limits::SITE_ROWS_MAX,
            named: true,
            past,
        };
        let (reply, switches) =
            tokio::try_join!(self.query(token, query), self.query(token, Query::Analyses))?;
        let (Answer::Sites(table, coverage), Answer::Analyses(analyses, _)) =
            (&reply.answer, &switches.answer)
        else {
            return Err(LinkError::Mismatched.into());
        };
        let coverage = convert::coverage(coverage, &reply.missing);
        let of = |analysis| Some(convert::analyses::one(analyses, analysis));
        let message = v1::CallSitesReply {
            analysis: of(Analysis::Sites),
            wait_states: of(Analysis::WaitStates),
            messages: of(Analysis::Messages),
            interval: interval(table.past, begin_ns),
            ..convert::sites::reply(table, rows_max, bins, coverage)
        };
        Ok(large(message, share))
    }

    /// The loops of the program.
    pub(super) async fn answer_iterations(
        &self,
        asked: &v1::IterationsRequest,
        token: TokenId,
    ) -> Result<Response<v1::IterationsReply>, Status> {
        let asked_ns = (asked.from_ns, asked.to_ns, asked.last_ns);
        let (past, begin_ns) = self.table_past(asked_ns, token).await?.unzip();
        let query = Query::Sites {
            rows_max: limits::SITE_ROWS_MAX,
            named: true,
            past,
        };
        let (reply, analysis) = self.query_analysis(token, query, Analysis::Sites).await?;
        let status = self.now(token).await?;
        let Answer::Sites(table, coverage) = &reply.answer else {
            return Err(LinkError::Mismatched.into());
        };
        let coverage = convert::coverage(coverage, &reply.missing);
        Ok(Response::new(v1::IterationsReply {
            analysis: Some(analysis),
            interval: interval(table.past, begin_ns),
            ..convert::iterations::reply(table, convert::grid::begin_ns(&status), coverage)
        }))
    }

    /// Who waits for whom; 0 asks for the default number of ranks.
    pub(super) async fn answer_wait_states(
        &self,
        asked: &v1::WaitStatesRequest,
        token: TokenId,
    ) -> Result<Response<v1::WaitStatesReply>, Status> {
        let ranks_max = or_default(
            asked.ranks_max,
            limits::WAIT_RANKS_DEFAULT,
            limits::WAIT_RANKS_MAX,
        );
        let share = self
            .answer_budget
            .share(ranks_max as usize * limits::WAIT_RANK_BYTES, token)?;
        let asked_ns = (asked.from_ns, asked.to_ns, asked.last_ns);
        let (past, begin_ns) = self.table_past(asked_ns, token).await?.unzip();
        let (reply, switches) = tokio::try_join!(
            self.query(token, Query::WaitStates { ranks_max, past }),
            self.query(token, Query::Analyses)
        )?;
        let (Answer::WaitStates(waits, coverage), Answer::Analyses(analyses, _)) =
            (&reply.answer, &switches.answer)
        else {
            return Err(LinkError::Mismatched.into());
        };
        let coverage = convert::coverage(coverage, &reply.missing);
        let message = v1::WaitStatesReply {
            analysis: Some(convert::analyses::one(analyses, Analysis::WaitStates)),
            messages: Some(convert::analyses::one(analyses, Analysis::Messages)),
            interval: interval(waits.past, begin_ns),
            ..convert::wait_states::reply(waits, coverage)
        };
        Ok(large(message, share))
    }

    /// The table of regions.
    pub(super) async fn answer_regions(
        &self,
        asked: &v1::RegionsRequest,
        token: TokenId,
    ) -> Result<Response<v1::RegionsReply>, Status> {
        let rows_max = or_default(
            asked.rows_max,
            limits::REGION_ROWS_MAX,
            limits::REGION_ROWS_MAX,
        );
        let share = self
            .answer_budget
            .share(rows_max as usize * limits::REGION_ROW_BYTES, token)?;
        // All that the tree gives, as for call sites.
        let asked_ns = (asked.from_ns, asked.to_ns, asked.last_ns);
        let (past, begin_ns) = self.table_past(asked_ns, token).await?.unzip();
        let query = Query::Regions {
            rows_max: limits::REGION_ROWS_MAX,
            named: true,
            past,
        };
        let (reply, analysis) = self.query_analysis(token, query, Analysis::Regions).await?;
        let Answer::Regions(table, coverage) = &reply.answer else {
            return Err(LinkError::Mismatched.into());
        };
        let coverage = convert::coverage(coverage, &reply.missing);
        let message = v1::RegionsReply {
            analysis: Some(analysis),
            interval: interval(table.past, begin_ns),
            ..convert::regions::reply(table, rows_max, coverage)
        };
        Ok(large(message, share))
    }

    /// The communication matrix; 0 asks for the default size.
    pub(super) async fn answer_matrix(
        &self,
        asked: &v1::MatrixRequest,
        token: TokenId,
    ) -> Result<Response<v1::MatrixReply>, Status> {
        let side_max = or_default(
            asked.side_max,
            limits::MATRIX_SIDE_DEFAULT,
            limits::MATRIX_SIDE_MAX,
        );
        let cells = side_max as usize * side_max as usize;
        let share = self
            .answer_budget
            .share(cells * limits::MATRIX_CELL_BYTES, token)?;
        let asked_ns = (asked.from_ns, asked.to_ns, asked.last_ns);
        let (past, begin_ns) = self.table_past(asked_ns, token).await?.unzip();
        let query = Query::Matrix { side_max, past };
        let (reply, analysis) = self.query_analysis(token, query, Analysis::Matrix).await?;
        let Answer::Matrix(matrix, coverage) = &reply.answer else {
            return Err(LinkError::Mismatched.into());
        };
        let message = v1::MatrixReply {
            coverage: Some(convert::coverage(coverage, &reply.missing)),
            analysis: Some(analysis),
            interval: interval(matrix.past, begin_ns),
            ..convert::matrix_reply(matrix, coverage, coverage.ranks, side_max)
        };
        Ok(large(message, share))
    }

    /// Matched messages.
    pub(super) async fn answer_messages(
        &self,
        asked: &v1::MessagesRequest,
        token: TokenId,
    ) -> Result<Response<v1::MessagesReply>, Status> {
        let asked_ns = (asked.from_ns, asked.to_ns, asked.last_ns);
        let (past, begin_ns) = self.table_past(asked_ns, token).await?.unzip();
        let (reply, analysis) = self
            .query_analysis(token, Query::Messages { past }, Analysis::Messages)
            .await?;
        let Answer::Messages(messages, coverage) = &reply.answer else {
            return Err(LinkError::Mismatched.into());
        };
        let coverage = convert::coverage(coverage, &reply.missing);
        Ok(Response::new(v1::MessagesReply {
            analysis: Some(analysis),
            interval: interval(messages.past, begin_ns),
            ..convert::messages_reply(messages, coverage)
        }))
    }

    /// The interval of a request, if it has one, in job time; and when the observed time begins, by
    /// the same idea of it.
    pub(super) async fn past(
        &self,
        asked_ns: (u64, u64, u64),
        token: TokenId,
    ) -> Result<Option<(Past, u64)>, Status> {
        if asked_ns == (0, 0, 0) {
            return Ok(None);
        }
        let status = self.now(token).await?;
        let interval = convert::grid::interval(asked_ns, &status);
        let interval = interval.map_err(Status::invalid_argument)?;
        let past = Past {
            from_ns: interval.start,
            to_ns: interval.end,
        };
        Ok(Some((past, convert::grid::begin_ns(&status))))
    }

    /// The same of a table. The last minute of those who ask at about the same time is the same, so
    /// that one answer of the tree is enough for all of them.
    async fn table_past(
        &self,
        asked_ns: (u64, u64, u64),
        token: TokenId,
    ) -> Result<Option<(Past, u64)>, Status> {
        let past = self.past(asked_ns, token).await?;
        Ok(past.map(|(past, begin_ns)| match asked_ns {
            (_, _, 0) => (past, begin_ns),
            _ => {
                let from_ns = past.from_ns / limits::SAME_TIME_NS * limits::SAME_TIME_NS;
                let to_ns = u64::MAX;
                (Past { from_ns, to_ns }, begin_ns)
            }
        }))
    }
}

/// The interval that a table is of, where one was requested.
fn interval(of: Option<Past>, begin_ns: Option<u64>) -> Option<v1::TableInterval> {
    let (of, begin_ns) = of.zip(begin_ns)?;
    Some(convert::grid::table_interval(of, begin_ns))
}

/// Whether bins are sent, and how many bytes they take in a row.
fn bins(asked: bool) -> (Bins, usize) {
    match asked {
        true => (Bins::Included, limits::BINS_BYTES),
        false => (Bins::LeftOut, 0),
    }
}
