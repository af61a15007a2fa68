//! The communication matrix as a picture: senders down, receivers across, darker for more bytes.

use super::markup::Html;
use super::tables;
use crate::matrix;
use crate::table::{Side, Table};
use crate::units::{bytes, counted};
use invivo_grpc::v1::{MatrixCell, MatrixReply, Traffic};

/// Rows and columns of the picture: of more, cells are too small to be told apart on paper, and
/// each adds some hundred bytes to the page.
pub const SIDE: u32 = 64;
/// The picture's side, in pixels, and a cell's: of few ranks the picture is smaller.
const WIDTH: f64 = 512.0;
const CELL_MAX: f64 = 24.0;
/// A cell that has its bytes written in it, which it has where the page of text shows all cells.
const CELL_WITH_BYTES: f64 = 58.0;
/// Room for the names of ranks at the left and above, in pixels.
const LEFT: f64 = 62.0;
const TOP: f64 = 38.0;
/// Half the height of a small letter, in pixels: text is placed by its base.
const HALF_LETTER: f64 = 4.0;
/// The least distance of two names, in pixels.
const NAME_DISTANCE: f64 = 26.0;
/// The same of names of blocks, such as 1024-1039.
const BLOCK_NAME_DISTANCE: f64 = 64.0;
/// Pairs of ranks that are named beside the picture.
const PAIRS_MAX: usize = 10;

/// Shades for each eighth of the most bytes, the last for the most. Steps and not a smooth scale:
/// eyes tell eight shades of one colour apart, also those that confuse colours.
const SHADES: [&str; 8] = [
    "<rect class=\"s1\"",
    "<rect class=\"s2\"",
    "<rect class=\"s3\"",
    "<rect class=\"s4\"",
    "<rect class=\"s5\"",
    "<rect class=\"s6\"",
    "<rect class=\"s7\"",
    "<rect class=\"s8\"",
];
/// The first shade on which text is of the other colour.
const SHADE_OF_OTHER_TEXT: usize = 4;

/// The picture, what its shades mean, and the pairs with the most bytes.
pub fn section(page: &mut Html, of: &MatrixReply) {
    let block_ranks = of.block_ranks.max(1);
    let side = of.ranks.div_ceil(block_ranks);
    let is_inside = |cell: &&MatrixCell| cell.source < side && cell.destination < side;
    let sent = of.cells.iter().filter(is_inside).map(|cell| {
        let traffic = cell.sent.unwrap_or_default();
        (cell, traffic)
    });
    let mut sent: Vec<(&MatrixCell, Traffic)> =
        sent.filter(|(_, traffic)| traffic.messages > 0).collect();
    let most = sent.iter().map(|(_, traffic)| traffic.bytes).max();
    if let Some(most) = most {
        let name = |block| matrix::name(block, block_ranks, of.ranks);
        page.markup("<div class=\"beside\"><div>\n");
        picture(page, &sent, side, most, &name);
        legend(page, most);
        page.markup("</div>\n<div>\n<h3>Most bytes</h3>\n");
        sent.sort_by_key(|(cell, traffic)| {
            (
                std::cmp::Reverse(traffic.bytes),
                cell.source,
                cell.destination,
            )
        });
        pairs(page, &sent, &name);
        page.markup("</div></div>\n");
    }
    tables::sentences(page, &matrix::sums(of));
}

fn picture(
    page: &mut Html,
    sent: &[(&MatrixCell, Traffic)],
    side: u32,
    most: u64,
    name: &impl Fn(u32) -> String,
) {
    let with_bytes = side <= matrix::SIDE_TEXT;
    let cell_px = match with_bytes {
        true => CELL_WITH_BYTES,
        false => (WIDTH / f64::from(side)).min(CELL_MAX),
    };
    let inner = cell_px * f64::from(side);
    // Half a name of a rank may stand out at the right.
    let (width, height) = (LEFT + inner + 12.0, TOP + inner + 2.0);
    page.markup("<svg class=\"map\" role=\"img\" aria-label=\"Bytes sent: senders down, ");
    page.markup("receivers across\" viewBox=\"0 0 ");
    page.number(width).markup(" ").number(height).markup("\"");
    page.attribute("width", width).markup(">\n");
    square(page, "<rect class=\"none\"", LEFT, TOP, inner);
    page.markup("\n<text class=\"axis\"");
    page.attribute("x", LEFT + inner / 2.0);
    page.markup(" y=\"12\" text-anchor=\"middle\">to rank</text>\n");
    page.markup("<text class=\"axis\" x=\"0\"");
    page.attribute("y", TOP - 8.0).markup(">from rank</text>\n");

    // Every name where there is room for it, else every second, fourth, ...
    let is_block = name(0).contains('-');
    let distance = match is_block {
        true => BLOCK_NAME_DISTANCE,
        false => NAME_DISTANCE,
    };
    let mut every = 1;
    while f64::from(every) * cell_px < distance && every < side {
        every *= 2;
    }
    for block in (0..side).step_by(every as usize) {
        let at = (f64::from(block) + 0.5) * cell_px;
        label(page, "<text", LEFT + at, TOP - 5.0, &name(block));
        page.markup("<text text-anchor=\"end\"");
        page.attribute("x", LEFT - 5.0);
        page.attribute("y", TOP + at + HALF_LETTER);
        page.element(">", &name(block), "</text>\n");
    }
    for (cell, traffic) in sent {
        let shade = shade(traffic.bytes, most);
        let x = LEFT + f64::from(cell.destination) * cell_px;
        let y = TOP + f64::from(cell.source) * cell_px;
        let says = format!(
            "{} to {}: {}, {}",
            name(cell.source),
            name(cell.destination),
            counted(traffic.messages, "message"),
            bytes(traffic.bytes)
        );
        page.element("<g><title>", &says, "</title>");
        square(page, SHADES[shade], x, y, cell_px);
        if with_bytes {
            let text = match shade {
                ..SHADE_OF_OTHER_TEXT => "<text",
                _ => "<text class=\"other\"",
            };
            let (x, y) = (x + cell_px / 2.0, y + cell_px / 2.0 + HALF_LETTER);
            label(page, text, x, y, &bytes(traffic.bytes));
        }
        page.markup("</g>\n");
    }
    page.markup("</svg>\n");
}

fn square(page: &mut Html, begin: &'static str, x: f64, y: f64, side: f64) {
    page.markup(begin).attribute("x", x).attribute("y", y);
    page.attribute("width", side).attribute("height", side);
    page.markup("/>");
}

/// Text with its middle at `x`.
fn label(page: &mut Html, begin: &'static str, x: f64, y: f64, text: &str) {
    page.markup(begin).attribute("x", x).attribute("y", y);
    page.element(" text-anchor=\"middle\">", text, "</text>");
}

/// Which eighth of the most bytes these are in, from 0.
fn shade(bytes: u64, most: u64) -> usize {
    let eighths = u128::from(bytes) * SHADES.len() as u128;
    let shade = eighths.div_ceil(u128::from(most.max(1)));
    (shade as usize).clamp(1, SHADES.len()) - 1
}

fn legend(page: &mut Html, most: u64) {
    page.markup("<p class=\"legend\">up to ");
    for (step, shade) in SHADES.into_iter().enumerate() {
        let up_to = u128::from(most) * (step as u128 + 1) / SHADES.len() as u128;
        page.markup("<span><svg width=\"14\" height=\"14\" aria-hidden=\"true\">");
        square(page, shade, 0.0, 0.0, 14.0);
        page.markup("</svg> ");
        page.text(&bytes(up_to as u64)).markup("</span> ");
    }
    page.markup("</p>\n");
}

fn pairs(page: &mut Html, sorted: &[(&MatrixCell, Traffic)], name: &impl Fn(u32) -> String) {
    let mut table = Table::new([
        ("from", Side::Right),
        ("to", Side::Right),
        ("messages", Side::Right),
        ("bytes", Side::Right),
    ]);
    for (cell, traffic) in sorted.iter().take(PAIRS_MAX) {
        table.row([
            name(cell.source),
            name(cell.destination),
            crate::units::count(traffic.messages),
            bytes(traffic.bytes),
        ]);
    }
    tables::table(page, &table, &[]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shade_is_an_eighth_of_the_most() {
        let shades = [0, 1, 100, 101, 799, 800].map(|bytes| shade(bytes, 800));
        assert_eq!(shades, [0, 0, 0, 1, 7, 7]);
        // Messages without bytes, and more bytes than anybody sends.
        assert_eq!((shade(0, 0), shade(u64::MAX, u64::MAX)), (0, 7));
    }
}
