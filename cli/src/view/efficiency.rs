//! The efficiencies of the ranks together, over an interval and in each of its columns.

use crate::view::heatmap;
use invivo_grpc::v1::{Efficiency, GridReply};
use invivo_report::glyphs::Look;
use invivo_report::table::{Side, Table};
use invivo_report::units::{counted, share};

/// Where an efficiency is in a message.
type Of = fn(&Efficiency) -> f64;

/// Each efficiency: its name, and where it is in a message.
const EFFICIENCIES: [(&str, Of); 3] = [
    ("parallel efficiency", |of| of.parallel_efficiency),
    ("  load balance", |of| of.load_balance),
    ("  communication efficiency", |of| {
        of.communication_efficiency
    }),
];

/// A table with a line over time for each, and who computes longest.
pub fn text(grid: &GridReply, look: Look) -> String {
    let Some(total) = &grid.efficiency else {
        return "nothing has been recorded in this interval yet\n".to_owned();
    };
    let head = [
        ("", Side::Left),
        ("", Side::Right),
        ("over time", Side::Left),
    ];
    let mut table = Table::new(head);
    for (name, of) in EFFICIENCIES {
        let line = over_time(grid, of, look);
        table.row([name.to_owned(), share(of(total), 1.0), line]);
    }
    let ranks = counted(total.ranks.into(), "rank");
    let between = heatmap::between(grid);
    format!(
        "{ranks}, {between}\n\n{}\nrank {} computes longest, rank {} shortest\n",
        table.text(),
        total.max_rank,
        total.min_rank
    )
}

/// A character for each column.
fn over_time(grid: &GridReply, of: Of, look: Look) -> String {
    let mut columns = vec![None; grid.columns as usize];
    for one in &grid.efficiencies {
        if let Some(column) = columns.get_mut(one.column as usize) {
            *column = one.efficiency.as_ref().map(of);
        }
    }
    let glyphs = columns.into_iter().map(|share| heatmap::glyph(share, look));
    glyphs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_grpc::v1::ColumnEfficiency;

    #[test]
    fn the_product_and_its_two_parts_over_time() {
        let of = |load_balance, communication_efficiency| Efficiency {
            parallel_efficiency: load_balance * communication_efficiency,
            load_balance,
            communication_efficiency,
            max_rank: 3,
            min_rank: 0,
            ranks: 4,
        };
        let column = |column, efficiency| ColumnEfficiency {
            column,
            efficiency: Some(efficiency),
        };
        let grid = GridReply {
            width_ns: 1 << 30,
            columns: 3,
            efficiency: Some(of(0.5, 0.8)),
            efficiencies: vec![column(0, of(1.0, 1.0)), column(2, of(0.5, 0.5))],
            ..GridReply::default()
        };
        let look = Look {
            ascii: false,
            color: false,
        };
        assert_eq!(
            text(&grid, look),
            "4 ranks, from 0 s to 3.22 s; a column is 1.07 s\n\
             \n\
             \x20                                   over time\n\
             parallel efficiency         40.0 %  █·▂\n\
             \x20 load balance              50.0 %  █·▄\n\
             \x20 communication efficiency  80.0 %  █·▄\n\
             \n\
             rank 3 computes longest, rank 0 shortest\n"
        );
        let nothing = text(&GridReply::default(), look);
        assert!(nothing.starts_with("nothing has been recorded"));
    }
}
