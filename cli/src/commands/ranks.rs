//! Some ranks of a job, as options name them.

use invivo_grpc::v1::RankRange;

/// Ranks from one to another, both included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranges(Vec<(u32, u32)>);

impl Ranges {
    /// As a request names them.
    pub fn iter(&self) -> impl Iterator<Item = RankRange> + '_ {
        let ranges = self.0.iter();
        ranges.map(|&(first, last)| RankRange { first, last })
    }
}

/// Reads ranks as `0-3,7`.
///
/// # Errors
/// What is no rank and no range of ranks.
pub fn ranges(text: &str) -> Result<Ranges, String> {
    let wrong = |what: &str| format!("'{what}' is no rank and no range of ranks such as 0-3");
    let range = |what: &str| -> Result<(u32, u32), String> {
        // A single rank is a range of one.
        let (first, last) = what.split_once('-').unwrap_or((what, what));
        let number = |text: &str| text.trim().parse::<u32>().map_err(|_| wrong(what));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(wrong(what));
        }
        Ok((first, last))
    };
    text.split(',')
        .map(range)
        .collect::<Result<_, _>>()
        .map(Ranges)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_read_as_people_write_them() {
        assert_eq!(ranges("0-3,7"), Ok(Ranges(vec![(0, 3), (7, 7)])));
        assert_eq!(ranges("5"), Ok(Ranges(vec![(5, 5)])));
        for wrong in ["", "3-0", "a", "1,,2", "-1"] {
            assert!(ranges(wrong).is_err(), "{wrong}");
        }
    }
}
