//! Tables of the page: those of the text report, with a bar behind the numbers that matter.

use super::markup::Html;
use crate::table::{Side, Table};

/// Rows of a table on the page. Functions of MPI are some hundreds; a file may claim more.
pub const ROWS_MAX: usize = 500;

/// A table, and for each of its rows how long the bar in its first column is: 1 is the whole
/// width. Without parts there are no bars.
pub fn table(page: &mut Html, table: &Table, parts: &[f64]) {
    let mut rows = table.rows().iter();
    page.markup("<div class=\"wide\"><table>\n<thead><tr>");
    for (name, side) in rows.next().into_iter().flatten().zip(table.sides()) {
        let begin = match side {
            Side::Left => "<th scope=\"col\">",
            Side::Right => "<th scope=\"col\" class=\"n\">",
        };
        page.element(begin, name, "</th>");
    }
    page.markup("</tr></thead>\n<tbody>\n");
    for (at, row) in rows.take(ROWS_MAX).enumerate() {
        page.markup("<tr>");
        for (column, (cell, side)) in row.iter().zip(table.sides()).enumerate() {
            match (column, parts.get(at)) {
                (0, Some(part)) => {
                    page.markup("<td class=\"bar\" style=\"--part:");
                    page.number(100.0 * part.clamp(0.0, 1.0)).markup("%\">");
                }
                _ if *side == Side::Right => {
                    page.markup("<td class=\"n\">");
                }
                _ => {
                    page.markup("<td>");
                }
            }
            page.text(cell).markup("</td>");
        }
        page.markup("</tr>\n");
    }
    page.markup("</tbody></table></div>\n");
}

/// Sentences, each a paragraph.
pub fn sentences(page: &mut Html, text: &str) {
    for line in text.lines().filter(|line| !line.is_empty()) {
        page.element("<p>", line, "</p>\n");
    }
}
