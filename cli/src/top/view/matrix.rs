//! The communication matrix as shades: senders down, receivers across.

use crate::top::palette::Palette;
use crate::top::picture::Picture;
use crate::top::view::frame::{nothing, titled};
use invivo_grpc::v1::{MatrixReply, Traffic};
use invivo_report::glyphs::Look;
use invivo_report::units::{bytes, counted};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;
use std::collections::BTreeMap;

/// Columns before the cells: the names of the senders' blocks.
const LABEL: u16 = 12;
/// Columns behind the cells: what a block sent.
const SUM: u16 = 12;
/// Columns of a cell.
const CELL: u16 = 2;
/// Lines of the page beside the rows: title, head, and two lines of sums.
const LINES: u16 = 4;
/// Lines of the screen that are no page.
const FRAME: u16 = 5;

/// The most rows and columns that a screen of this size shows.
pub fn side(width: u16, height: u16) -> u32 {
    let across = width.saturating_sub(LABEL + SUM) / CELL;
    let down = height.saturating_sub(FRAME + LINES);
    u32::from(across.min(down).max(1))
}

/// Draws the page.
pub fn draw(picture: &Picture, look: Look, area: Rect, buffer: &mut Buffer) {
    let Some(matrix) = &picture.matrix else {
        return nothing("The matrix has been asked for.", look, area, buffer);
    };
    if matrix.cells.is_empty() {
        let text = picture
            .off("matrix")
            .unwrap_or_else(|| match picture.lately {
                true => "No point-to-point message in the last minute.".to_owned(),
                false => "No point-to-point message has been recorded yet.".to_owned(),
            });
        return nothing(&text, look, area, buffer);
    }
    let block_ranks = matrix.block_ranks.max(1);
    let blocks = matrix.ranks.div_ceil(block_ranks);
    let title = if block_ranks == 1 {
        "bytes sent from each rank (down) to each rank (across)".to_owned()
    } else {
        format!("bytes sent from block to block, {block_ranks} ranks each")
    };
    let title = format!("{title}, {}", picture.of_time(matrix.interval.as_ref()));
    let title = match picture.off("matrix") {
        Some(off) => format!("{title}; {off}"),
        None => title,
    };
    let area = titled(&title, look, area, buffer);
    // The terminal may have become smaller since the matrix was asked for.
    let across = (area.width.saturating_sub(LABEL + SUM) / CELL).min(blocks as u16);
    let down = (area.height.saturating_sub(LINES - 1)).min(blocks as u16);
    let sent: BTreeMap<(u32, u32), u64> = matrix
        .cells
        .iter()
        .filter_map(|cell| {
            cell.sent
                .map(|sent| ((cell.source, cell.destination), sent))
        })
        .filter(|(_, sent)| sent.messages > 0)
        .map(|(cell, sent)| (cell, sent.bytes))
        .collect();

    // Shades are relative to the heaviest cell.
    let most = sent.values().copied().max().unwrap_or(0);
    let mut lines = vec![Line::styled(head(across, block_ranks), look.aside())];
    for source in 0..u32::from(down) {
        let mut text = format!(
            " {:>width$} ",
            name(source, block_ranks, matrix.ranks),
            width = usize::from(LABEL) - 2
        );
        for destination in 0..u32::from(across) {
            let cell = sent.get(&(source, destination));
            text.push_str(look.shade(cell.map(|&bytes| bytes as f64 / most.max(1) as f64)));
        }
        // The sum over the whole row, columns beyond the screen included.
        let row = sent.range((source, 0)..=(source, u32::MAX));
        text.push_str(&format!("  {}", bytes(row.map(|(_, bytes)| bytes).sum())));
        lines.push(Line::raw(text));
    }
    lines.push(Line::raw(heaviest(&sent, block_ranks, matrix.ranks, look)));
    lines.push(Line::styled(sums(matrix), look.aside()));
    for (line, y) in lines.into_iter().zip(area.y..area.bottom()) {
        line.render(
            Rect {
                y,
                height: 1,
                ..area
            },
            buffer,
        );
    }
}

/// Every fourth receiver's first rank, as far as the numbers fit.
fn head(across: u16, block_ranks: u32) -> String {
    let mut text = " ".repeat(usize::from(LABEL));
    for block in (0..u32::from(across)).step_by(4) {
        let at = usize::from(LABEL) + block as usize * usize::from(CELL);
        let number = (block * block_ranks).to_string();
        // A number may be wider than four cells: the next one is left out then.
        if text.len() <= at {
            text.push_str(&" ".repeat(at - text.len()));
            text.push_str(&number);
        }
    }
    text
}

fn name(block: u32, block_ranks: u32, ranks: u32) -> String {
    let first = block * block_ranks;
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

fn heaviest(sent: &BTreeMap<(u32, u32), u64>, block_ranks: u32, ranks: u32, look: Look) -> String {
    let heaviest = sent
        .iter()
        // Of equals the first cell, so that the line does not jump from snapshot to snapshot.
        .max_by_key(|&(cell, bytes)| (bytes, std::cmp::Reverse(cell)));
    let legend = [0.1, 0.3, 0.6, 1.0]
        .map(|share| look.shade(Some(share)))
        .join(" ");
    match heaviest {
        Some((&(from, to), &most)) => format!(
            " most: {} to {}, {}   shades: {legend} up to that",
            name(from, block_ranks, ranks),
            name(to, block_ranks, ranks),
            bytes(most)
        ),
        None => String::new(),
    }
}

fn sums(matrix: &MatrixReply) -> String {
    let sum = |traffic: &mut dyn Iterator<Item = Traffic>| {
        traffic.fold((0, 0), |(messages, bytes), next| {
            (messages + next.messages, bytes + next.bytes)
        })
    };
    let (messages, sent) = sum(&mut matrix.cells.iter().filter_map(|cell| cell.sent));
    let (_, received) = sum(&mut matrix.cells.iter().filter_map(|cell| cell.received));
    let nowhere = [matrix.unresolved, matrix.outside].into_iter().flatten();
    let unresolved: u64 = nowhere.map(|traffic| traffic.messages).sum();
    let mut text = format!(
        " sent {} in {}, received {}",
        bytes(sent),
        counted(messages, "message"),
        bytes(received)
    );
    if unresolved > 0 {
        text.push_str(&format!("; in no cell: {}", counted(unresolved, "message")));
    }
    text
}
