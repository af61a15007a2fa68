//! The text of `invivo hang`: the sentence, then the ranks by what they do.

use invivo_grpc::v1::{HangClass, HangReply};
use invivo_report::table::{Side, Table};
use invivo_report::terminal::line;
use invivo_report::units::{count, duration};

/// Ranks that a line lists.
const LISTED_MAX: usize = 8;

/// The whole answer.
pub fn text(hang: &HangReply) -> String {
    let mut text = format!("{}\n\n", line(&hang.sentence));
    let heads = ["doing", "in", "ranks", "for", "where", "which"];
    let sides = [
        Side::Left,
        Side::Left,
        Side::Right,
        Side::Right,
        Side::Left,
        Side::Left,
    ];
    let mut table = Table::of(heads.map(str::to_owned).into_iter().zip(sides));
    for class in &hang.classes {
        table.row(row(class));
    }
    text.push_str(&table.text());
    text
}

fn row(class: &HangClass) -> [String; 6] {
    let or_none = |text: &str| {
        if text.is_empty() {
            "-".to_owned()
        } else {
            text.to_owned()
        }
    };
    let mut which: Vec<String> = class
        .named
        .iter()
        .take(LISTED_MAX)
        .map(u32::to_string)
        .collect();
    // The answer names some ranks of a class; the count is of all.
    if class.ranks as usize > which.len() {
        which.push("...".to_owned());
    }
    [
        class.doing.clone(),
        or_none(&class.function),
        count(u64::from(class.ranks)),
        duration(class.longest_ns),
        or_none(&class.site),
        which.join(" "),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_and_who_does_what() {
        let class =
            |doing: &str, function: &str, named: Vec<u32>, ranks, longest_ns, site: &str| {
                HangClass {
                    doing: doing.into(),
                    function: function.into(),
                    ranks,
                    named,
                    shortest_ns: 0,
                    longest_ns,
                    site: site.into(),
                }
            };
        let hang = HangReply {
            sentence: "3 ranks wait".into(),
            classes: vec![
                class("computing", "", vec![2], 1, 5_000_000_000, ""),
                class(
                    "collective",
                    "MPI_Barrier",
                    (0..8).collect(),
                    1000,
                    31_000_000_000,
                    "a.c:7",
                ),
            ],
            ..HangReply::default()
        };
        assert_eq!(
            text(&hang),
            "3 ranks wait\n\
             \n\
             doing       in           ranks     for  where  which\n\
             computing   -                1  5.00 s  -      2\n\
             collective  MPI_Barrier  1,000  31.0 s  a.c:7  0 1 2 3 4 5 6 7 ...\n"
        );
    }
}
