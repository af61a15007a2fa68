//! Tables of the manual that tests fill: what a test finds must be what the manual says.
//!
//! With `INVIVO_BLESS=1` a test writes what it found instead.

use crate::paths::root;
use std::path::PathBuf;

/// How to launch jobs, with the list of what differs for the program.
pub const LAUNCHING: &str = "docs/manual/launching.md";
/// Every end that a job can have.
pub const JOB_ENDS: &str = "docs/manual/reference/job-ends.md";
/// Random kills and stops of a job's processes.
pub const PROCESS_FAILURES: &str = "docs/manual/reference/process-failures.md";
/// Features of MPI that an interposed library can break.
pub const MPI_FEATURES: &str = "docs/manual/reference/mpi-features.md";

/// The text of a page.
pub fn text(page: &str) -> String {
    std::fs::read_to_string(root().join(page)).unwrap_or_else(|error| panic!("{page}: {error}"))
}

/// Whether tests write what they find instead of comparing it.
pub fn is_to_be_written() -> bool {
    std::env::var_os("INVIVO_BLESS").is_some()
}

/// One column of a table, as a test found it.
#[derive(Clone, Copy, Debug)]
pub struct Column<'a> {
    /// The page with the table: one of the constants above.
    pub page: &'a str,
    /// The head of the table's first column, by which the table is found on its page.
    pub rows: &'a str,
    /// The head of this column.
    pub name: &'a str,
    /// Names of rows with the text of their cells.
    pub cells: &'a [(&'a str, String)],
}

/// Checks that the manual has this column as it was found, row by row.
pub fn same_column(column: &Column<'_>) {
    let path: PathBuf = root().join(column.page);
    let text = text(column.page);
    let found = with_column(&text, column).unwrap_or_else(|| {
        panic!(
            "{}: no table of {:?} with a column {:?}",
            column.page, column.rows, column.name
        )
    });

    if is_to_be_written() {
        std::fs::write(&path, found).expect("the manual is written");
        return;
    }

    let lines = |of: &str, not_in: &str, who: &str| -> String {
        of.lines()
            .filter(|line| !not_in.lines().any(|other| other == *line))
            .map(|line| format!("  {who} {line}\n"))
            .collect()
    };
    let differing = [
        lines(&text, &found, "the manual:"),
        lines(&found, &text, "found:     "),
    ];

    assert!(
        text == found,
        "{}, column {:?} (INVIVO_BLESS=1 writes it):\n{}",
        column.page,
        column.name,
        differing.concat()
    );
}

/// The page with this column as it was found. Rows that the table does not have are added at its
/// end, rows that were not found stay as they are.
fn with_column(text: &str, column: &Column<'_>) -> Option<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();

    let head = lines
        .iter()
        .position(|line| fields(line).is_some_and(|fields| fields[0] == column.rows))?;

    let titles = fields(&lines[head])?;
    let at = titles.iter().position(|title| *title == column.name)?;
    let width = titles.len();
    // Behind the head comes the line of dashes.
    let mut end = head + 2;
    while lines.get(end).is_some_and(|line| fields(line).is_some()) {
        end += 1;
    }

    for (row, cell) in column.cells {
        let line = (head + 2..end)
            .find(|line| fields(&lines[*line]).is_some_and(|fields| fields[0] == *row));
        let mut cells = line.map_or_else(
            || vec![String::new(); width],
            |line| {
                fields(&lines[line])
                    .unwrap_or_default()
                    .iter()
                    .map(|field| (*field).to_owned())
                    .collect()
            },
        );
        // A line with too few cells must not make the next one panic.
        cells.resize(width, String::new());
        cells[0] = (*row).to_owned();
        cells[at].clone_from(cell);

        let written = format!("| {} |", cells.join(" | "));
        match line {
            Some(line) => lines[line] = written,
            None => {
                lines.insert(end, written);
                end += 1;
            }
        }
    }
    Some(lines.join("\n") + "\n")
}

/// The cells of a table's line.
fn fields(line: &str) -> Option<Vec<&str>> {
    let inner = line.strip_prefix('|')?.strip_suffix('|')?;
    Some(inner.split('|').map(str::trim).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "words\n\n| end | A | B |\n|---|---|---|\n| one | 1 | 2 |\n\nmore\n";

    fn with(cells: &[(&str, &str)]) -> Option<String> {
        let cells: Vec<(&str, String)> = cells
            .iter()
            .map(|(row, cell)| (*row, (*cell).to_owned()))
            .collect();
        let column = Column {
            page: "",
            rows: "end",
            name: "B",
            cells: &cells,
        };
        with_column(PAGE, &column)
    }

    #[test]
    fn a_column_is_compared_cell_by_cell() {
        assert_eq!(with(&[("one", "2")]).as_deref(), Some(PAGE));
        let changed = with(&[("one", "3"), ("two", "4")]).expect("a table");
        assert!(
            changed.contains("| one | 1 | 3 |\n| two |  | 4 |\n\nmore"),
            "{changed}"
        );
    }

    #[test]
    fn a_table_that_is_not_there_is_no_table() {
        let column = Column {
            page: "",
            rows: "end",
            name: "C",
            cells: &[],
        };
        assert_eq!(with_column(PAGE, &column), None);
    }
}
