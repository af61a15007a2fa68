//! What is measured of the ranks, with the values over a part of the run: one question for what
//! there is, and one for each metric that has values.

use crate::client::Client;
use invivo_grpc::v1::{GridCell, GridReply, GridRequest, MetricsReply, MetricsRequest};
use serde::Serialize;
use tonic::{Response, Status};

/// As fine as the grid goes: values are of whole columns, so the interval begins where it should
/// within one of them.
const COLUMNS: u32 = 256;

/// The values of a metric over an interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Values {
    /// Of which metric.
    pub name: String,
    /// Where the interval begins, in ns since the beginning of the observed time.
    pub from_ns: u64,
    /// Where it ends.
    pub to_ns: u64,
    /// Of all ranks.
    #[serde(flatten)]
    pub total: GridCell,
}

/// What is measured, and the values of what is or was.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Measurement {
    /// What is measured, and what could be.
    #[serde(flatten)]
    pub reply: MetricsReply,
    /// Of each metric that has values, in the same order.
    pub values: Vec<Values>,
}

/// Asks for a part of the run.
///
/// # Errors
/// Why there is no answer.
pub async fn ask(mut client: Client, part: &GridRequest) -> Result<Response<Measurement>, Status> {
    let reply = client.metrics(MetricsRequest {}).await?.into_inner();
    let mut part = GridRequest {
        columns_max: COLUMNS,
        rows_max: 1,
        ..part.clone()
    };
    let mut values = Vec::new();
    for metric in reply.metrics.iter().filter(|metric| metric.ranks_kept > 0) {
        part.metric.clone_from(&metric.name);
        let grid = client.grid(part.clone()).await?.into_inner();
        fix(&mut part, grid.observed_ns);
        values.push(of(grid));
    }
    Ok(Response::new(Measurement { reply, values }))
}

/// Lets the next question be about the same time, not one that ends a bit later.
fn fix(part: &mut GridRequest, observed_ns: u64) {
    if part.last_ns > 0 {
        part.from_ns = observed_ns.saturating_sub(part.last_ns);
        part.last_ns = 0;
    }
    if part.to_ns == 0 {
        part.to_ns = observed_ns;
    }
}

fn of(grid: GridReply) -> Values {
    let end_ns = i128::from(grid.from_ns) + i128::from(grid.columns) * i128::from(grid.width_ns);
    let end_ns = u64::try_from(end_ns).unwrap_or(0);
    Values {
        name: grid.metric,
        // The first column may begin before there was anything, and the last one end behind now.
        from_ns: u64::try_from(grid.from_ns).unwrap_or(0),
        to_ns: end_ns.min(grid.observed_ns),
        total: grid
            .rows
            .first()
            .and_then(|row| row.total)
            .unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_grpc::v1::GridRow;

    #[test]
    fn later_questions_are_about_the_same_time() {
        let fixed = |last_ns, from_ns, to_ns| {
            let mut part = GridRequest {
                from_ns,
                to_ns,
                last_ns,
                ..GridRequest::default()
            };
            fix(&mut part, 100);
            (part.from_ns, part.to_ns, part.last_ns)
        };
        assert_eq!(fixed(0, 0, 0), (0, 100, 0));
        assert_eq!(fixed(30, 0, 0), (70, 100, 0));
        assert_eq!(fixed(300, 0, 0), (0, 100, 0));
        assert_eq!(fixed(0, 20, 40), (20, 40, 0));
    }

    #[test]
    fn an_interval_lies_in_the_observed_time() {
        let total = Some(GridCell {
            ranks: 4,
            sum: 9,
            ..GridCell::default()
        });
        let of = |from_ns, columns, rows| {
            of(GridReply {
                from_ns,
                columns,
                width_ns: 10,
                observed_ns: 25,
                rows,
                ..GridReply::default()
            })
        };
        let row = GridRow {
            total,
            ..GridRow::default()
        };
        let values = of(-5, 4, vec![row]);
        assert_eq!((values.from_ns, values.to_ns), (0, 25));
        assert_eq!((values.total.ranks, values.total.sum), (4, 9));
        let none = of(5, 1, Vec::new());
        assert_eq!((none.from_ns, none.to_ns, none.total.ranks), (5, 15, 0));
    }
}
