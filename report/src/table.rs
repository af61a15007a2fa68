//! Columns of text, aligned.

use super::terminal::line;

/// Which side of its column a cell stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A table with a head; columns are two blanks apart.
#[derive(Clone, Debug)]
pub struct Table {
    sides: Vec<Side>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns.
    pub fn new<'a>(columns: impl IntoIterator<Item = (&'a str, Side)>) -> Table {
        Table::of(
            columns
                .into_iter()
                .map(|(name, side)| (name.to_owned(), side)),
        )
    }

    /// A table with as many columns as there are.
    pub fn of(columns: impl IntoIterator<Item = (String, Side)>) -> Table {
        let (head, sides) = columns.into_iter().unzip();
        Table {
            sides,
            rows: vec![head],
        }
    }

    /// Adds a row; it has a cell for each column.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let cells = cells.into_iter().map(|cell| line(&cell).into_owned());
        self.rows.push(cells.collect());
    }

    /// The columns' sides.
    pub(crate) fn sides(&self) -> &[Side] {
        &self.sides
    }

    /// The rows, the head first.
    pub(crate) fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// The text: lines without blanks at their ends.
    pub fn text(&self) -> String {
        // Characters and not bytes: names may be UTF-8.
        let width = |column: usize| {
            self.rows
                .iter()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.sides.len()).map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for ((cell, side), width) in row.iter().zip(&self.sides).zip(&widths) {
                // No blanks before the first column that has text.
                if !line.is_empty() {
                    line.push_str("  ");
                }
                match side {
                    Side::Left => line.push_str(&format!("{cell:<width$}")),
                    Side::Right => line.push_str(&format!("{cell:>width$}")),
                }
            }
            // Blanks at the end of lines would be noise in a file that is compared.
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new([
            ("function", Side::Left),
            ("calls", Side::Right),
            ("by", Side::Left),
        ]);
        table.row(["MPI_Send".into(), "12".into(), "a".into()]);
        table.row([
            "MPI_Sendrecv_replace".into(),
            "1,234,567".into(),
            String::new(),
        ]);
        assert_eq!(
            table.text(),
            "function                  calls  by\n\
             MPI_Send                     12  a\n\
             MPI_Sendrecv_replace  1,234,567\n"
        );
    }
}
