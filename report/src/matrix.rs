//! The communication matrix: senders down, receivers across, bytes sent in the cells.

use super::table::{Side, Table};
use super::units::{bytes, counted};
use invivo_grpc::v1::{MatrixCell, MatrixReply, Traffic};
use std::collections::BTreeMap;

/// Rows and columns that fit a terminal.
pub const SIDE_TEXT: u32 = 12;

/// The matrix as a square, then its sums.
pub fn text(matrix: &MatrixReply) -> String {
    if matrix.cells.is_empty() {
        return format!(
            "no point-to-point message has been recorded yet\n{}",
            sums(matrix)
        );
    }
    let block_ranks = matrix.block_ranks.max(1);
    let side = matrix.ranks.div_ceil(block_ranks);

    // As the senders counted it; what the receivers counted is in the sums below and in the JSON.
    let cells = matrix.cells.iter();
    // Cells without traffic do not travel, so a look-up may find none.
    let sent: BTreeMap<(u32, u32), Traffic> = cells
        .map(|cell| {
            (
                (cell.source, cell.destination),
                cell.sent.unwrap_or_default(),
            )
        })
        .collect();
    let mut table = Table::of(
        std::iter::once(("from \\ to".to_owned(), Side::Left))
            .chain((0..side).map(|block| (name(block, block_ranks, matrix.ranks), Side::Right))),
    );
    for source in 0..side {
        let cells = (0..side).map(|destination| match sent.get(&(source, destination)) {
            Some(traffic) if traffic.messages > 0 => bytes(traffic.bytes),
            _ => ".".to_owned(),
        });
        table.row(std::iter::once(name(source, block_ranks, matrix.ranks)).chain(cells));
    }
    table.text() + &sums(matrix)
}

/// The ranks of a block, as `4` or `4-7`.
pub fn name(block: u32, block_ranks: u32, ranks: u32) -> String {
    // The last block may have fewer ranks than the others.
    let first = block.saturating_mul(block_ranks);
    let last = first
        .saturating_add(block_ranks)
        .min(ranks)
        .saturating_sub(1);
    if first >= last {
        first.to_string()
    } else {
        format!("{first}-{last}")
    }
}

/// Messages and bytes of all cells, as senders and receivers told them, and of what is in no cell.
pub(crate) fn sums(matrix: &MatrixReply) -> String {
    let sum = |pick: fn(&MatrixCell) -> Option<Traffic>| {
        matrix
            .cells
            .iter()
            .filter_map(pick)
            .fold(Traffic::default(), |sum, cell| Traffic {
                messages: sum.messages.saturating_add(cell.messages),
                bytes: sum.bytes.saturating_add(cell.bytes),
            })
    };
    let traffic = |traffic: Traffic| {
        format!(
            "{} with {}",
            counted(traffic.messages, "message"),
            bytes(traffic.bytes)
        )
    };
    let mut text = format!(
        "sent: {}; received: {}\n",
        traffic(sum(|cell| cell.sent)),
        traffic(sum(|cell| cell.received))
    );
    let unresolved = matrix.unresolved.unwrap_or_default();
    if unresolved.messages > 0 {
        text.push_str(&format!(
            "in no cell, as the peer could not be told: {}\n",
            traffic(unresolved)
        ));
    }
    let outside = matrix.outside.unwrap_or_default();
    if outside.messages > 0 {
        text.push_str(&format!(
            "in no cell, with processes outside of the job (spawned or connected): {}\n",
            traffic(outside)
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traffic(messages: u64, bytes: u64) -> Option<Traffic> {
        Some(Traffic { messages, bytes })
    }

    #[test]
    fn small_jobs_show_every_rank() {
        let cell = |source, destination, bytes| MatrixCell {
            source,
            destination,
            sent: traffic(1, bytes),
            received: traffic(1, bytes),
        };
        let matrix = MatrixReply {
            ranks: 3,
            block_ranks: 1,
            cells: vec![cell(0, 1, 2048), cell(2, 0, 0)],
            unresolved: traffic(1, 7),
            outside: traffic(2, 9),
            ..MatrixReply::default()
        };
        assert_eq!(
            text(&matrix),
            "from \\ to    0         1  2\n\
             0            .  2.00 KiB  .\n\
             1            .         .  .\n\
             2          0 B         .  .\n\
             sent: 2 messages with 2.00 KiB; received: 2 messages with 2.00 KiB\n\
             in no cell, as the peer could not be told: 1 message with 7 B\n\
             in no cell, with processes outside of the job (spawned or connected): 2 messages with \
             9 B\n"
        );
    }

    #[test]
    fn blocks_are_named_by_their_ranks() {
        let cell = MatrixCell {
            source: 1,
            destination: 0,
            sent: traffic(1, 5),
            received: None,
        };
        let matrix = MatrixReply {
            ranks: 5,
            block_ranks: 4,
            cells: vec![cell],
            ..MatrixReply::default()
        };
        assert!(
            text(&matrix).starts_with("from \\ to  0-3  4\n0-3          .  .\n4          5 B  .\n")
        );
    }

    #[test]
    fn no_traffic_says_so() {
        assert!(text(&MatrixReply::default()).starts_with("no point-to-point message"));
    }
}
