//! Suggests rules: which regions cost more than they tell.
//!
//! A region that is entered often and takes little time costs two records for each visit, and says
//! little that its caller's row would not say as well.

use crate::table::{Side, Table};
use crate::units::{count, counted, duration_f64, share};
use invivo_grpc::v1::{RegionRow, RegionsReply};
use invivo_proto::control::selection::{
    Fits, Known, PATTERN_BYTES_MAX, RULES_MAX, without_parameters,
};
use serde::Serialize;
use std::collections::BTreeMap;

/// What is suggested.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Regions whose visits take less of their own time on average, in ns.
    pub mean_ns: u64,
    /// Regions with so many visits at least, of all ranks together.
    pub visits: u64,
    /// Regions with at least so much of all begins and ends, from 0 to 1.
    pub share: f64,
}

/// A region that a rule could leave out: all that have its name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Candidate {
    /// Its name.
    pub name: String,
    /// The rule excludes what this fits, as the command takes it.
    pub fits: String,
    pub visits: u64,
    /// Own time of a visit on average, in ns.
    pub mean_ns: f64,
    /// Its part of all begins and ends, from 0 to 1.
    pub share: f64,
}

/// Rules that could be added, those with the most visits first.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Suggestion {
    pub regions: Vec<Candidate>,
    /// Their part of all begins and ends, from 0 to 1.
    pub share: f64,
    /// Regions like these beyond the most rules that can be in force.
    pub more: usize,
    /// Regions like these without a name that a rule could fit.
    pub unnamed: usize,
}

/// All rows of a name.
#[derive(Default)]
struct Named {
    visits: u64,
    own_ns: u64,
}

impl Named {
    fn add(&mut self, of: &Named) {
        self.visits = self.visits.saturating_add(of.visits);
        self.own_ns = self.own_ns.saturating_add(of.own_ns);
    }

    fn is_cheap(&self, wanted: Wanted, all: u64) -> bool {
        self.visits >= wanted.visits.max(1)
            && self.mean_ns() < wanted.mean_ns as f64
            && self.share(all) >= wanted.share
    }

    fn mean_ns(&self) -> f64 {
        self.own_ns as f64 / self.visits as f64
    }

    fn share(&self, all: u64) -> f64 {
        self.visits as f64 / all as f64
    }
}

/// Finds them in an answer; regions that are not recorded on any rank are no part of it.
pub fn suggest(reply: &RegionsReply, wanted: Wanted) -> Suggestion {
    let recorded = |row: &&RegionRow| row.off_ranks == 0 || row.off_ranks < row.ranks;
    let rows = || reply.rows.iter().filter(recorded);
    let visits = rows().chain(&reply.left_out).map(|row| row.visits);
    let all = visits.fold(0, u64::saturating_add);

    // A rule fits all rows of a name, so that these are judged together.
    let mut names: BTreeMap<&str, Named> = BTreeMap::new();
    let mut unnamed = 0;
    for row in rows() {
        let one = Named {
            visits: row.visits,
            own_ns: row.own_ns,
        };
        match name(row) {
            "" => unnamed += usize::from(one.is_cheap(wanted, all)),
            name => {
                names.entry(name).or_default().add(&one);
            }
        }
    }
    let cheap = names.iter().filter(|(_, of)| of.is_cheap(wanted, all));
    let candidates = cheap.filter_map(|(name, _)| {
        // A rule without parameters fits those with any as well. Shorter to write, where all of
        // them are cheap.
        let ways = [without_parameters(name), name].into_iter();
        let mut ways = ways.filter_map(|way| {
            let rule = Fits::Name(pattern(way));
            let of = all_of(&rule, &names);
            let is_it = rule.fit(&known(name)) && of.is_cheap(wanted, all);
            is_it.then(|| Candidate {
                name: way.to_owned(),
                fits: rule.to_string(),
                visits: of.visits,
                mean_ns: of.mean_ns(),
                share: of.share(all),
            })
        });
        ways.next()
    });
    let mut regions: Vec<Candidate> = candidates.collect();
    // Those that differ in their parameters alone.
    regions.dedup_by(|one, other| one.fits == other.fits);
    regions.sort_by_key(|region| std::cmp::Reverse(region.visits));
    let more = regions.len().saturating_sub(RULES_MAX);
    regions.truncate(RULES_MAX);
    Suggestion {
        share: regions.iter().map(|region| region.share).sum(),
        regions,
        more,
        unnamed,
    }
}

/// All names that a rule fits together.
fn all_of(rule: &Fits, names: &BTreeMap<&str, Named>) -> Named {
    let mut sum = Named::default();
    for (name, of) in names {
        if rule.fit(&known(name)) {
            sum.add(of);
        }
    }
    sum
}

fn known(name: &str) -> Known<'_> {
    Known {
        name,
        ..Known::default()
    }
}

/// The name that rules fit: that of a function, or the one that the program gave.
fn name(row: &RegionRow) -> &str {
    match row.kind.as_str() {
        "marked" => &row.name,
        // The outermost of those that were inlined there.
        _ => row.functions.last().map_or("", |of| &of.function),
    }
}

/// A pattern that fits this name; of one that is too long its beginning.
fn pattern(name: &str) -> String {
    let mut pattern = String::new();
    for character in name.chars() {
        let is_special = matches!(character, '*' | '?' | '[' | '\\');
        // Room for this one, and for the star.
        if pattern.len() + usize::from(is_special) + character.len_utf8() >= PATTERN_BYTES_MAX {
            pattern.push('*');
            break;
        }
        if is_special {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
}

/// What the regions cost, and what leaves them out; `file` is the name of a filter file that was
/// written.
pub fn text(suggestion: &Suggestion, file: Option<&str>) -> String {
    let mut text = match suggestion.regions.is_empty() {
        true => "no region is that short and entered that often\n".to_owned(),
        false => table(suggestion),
    };
    if suggestion.more > 0 {
        text.push_str(&format!(
            "{} like these more: at most {RULES_MAX} rules are in force; * in a pattern stands for \
             any text\n",
            counted(suggestion.more as u64, "region")
        ));
    }
    if suggestion.unnamed > 0 {
        text.push_str(&format!(
            "{} like these without a name, which only a rule of their file fits: module:FILE\n",
            counted(suggestion.unnamed as u64, "region")
        ));
    }
    if !suggestion.regions.is_empty() {
        text.push_str(&format!("{}\n", command(suggestion, file)));
    }
    text
}

fn table(suggestion: &Suggestion) -> String {
    let mut table = Table::new([
        ("region", Side::Left),
        ("visits", Side::Right),
        ("own time of a visit", Side::Right),
        ("of begins and ends", Side::Right),
    ]);
    for region in &suggestion.regions {
        table.row([
            region.name.clone(),
            count(region.visits),
            duration_f64(region.mean_ns),
            share(region.share, 1.0),
        ]);
    }
    format!(
        "{}without {} {} of all begins and ends go away\n",
        table.text(),
        if suggestion.regions.len() == 1 {
            "it"
        } else {
            "these"
        },
        share(suggestion.share, 1.0)
    )
}

/// What a shell is told to have them left out.
fn command(suggestion: &Suggestion, file: Option<&str>) -> String {
    match file {
        Some(file) => format!(
            "to leave them out, in the place of all rules in force: invivo selection load {}",
            quoted(file)
        ),
        None => {
            let patterns = suggestion.regions.iter().map(|region| quoted(&region.fits));
            let patterns: Vec<String> = patterns.collect();
            format!(
                "to leave them out: invivo selection exclude {}",
                patterns.join(" ")
            )
        }
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:@%+,".contains(&byte);
    match !word.is_empty() && word.bytes().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// The same rules as a filter file of Score-P.
pub fn filter_file(suggestion: &Suggestion) -> String {
    let mut text = "SCOREP_REGION_NAMES_BEGIN\n  EXCLUDE\n".to_owned();
    for region in &suggestion.regions {
        text.push_str(&format!("    {}\n", word(&pattern(&region.name))));
    }
    text.push_str("SCOREP_REGION_NAMES_END\n");
    text
}

/// A pattern as one word: what would end it, or begin a comment, is any character. So is the first
/// character of a word that has a meaning there.
fn word(pattern: &str) -> String {
    const MEANINGS: [&str; 4] = ["INCLUDE", "EXCLUDE", "MANGLED", "SCOREP_REGION_NAMES_END"];
    let is_meaning = MEANINGS.contains(&pattern);
    let characters = pattern.chars().enumerate();
    let any = |(at, character): (usize, char)| match character {
        _ if is_meaning && at == 0 => '?',
        '#' => '?',
        character if character.is_whitespace() => '?',
        character => character,
    };
    characters.map(any).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_grpc::v1::CodeFunction;
    use invivo_proto::control::selection::{Selection, fits, judge};

    const WANTED: Wanted = Wanted {
        mean_ns: 1_000,
        visits: 10_000,
        share: 0.01,
    };

    fn function(name: &str, visits: u64, own_ns: u64) -> RegionRow {
        RegionRow {
            kind: "code".into(),
            file: "solver".into(),
            functions: ["inlined", name]
                .map(|name| CodeFunction {
                    function: name.into(),
                    line: String::new(),
                })
                .to_vec(),
            visits,
            own_ns,
            ranks: 4,
            ..RegionRow::default()
        }
    }

    fn reply(rows: Vec<RegionRow>) -> RegionsReply {
        RegionsReply {
            rows,
            left_out: Some(RegionRow {
                visits: 100_000,
                ..RegionRow::default()
            }),
            ..RegionsReply::default()
        }
    }

    fn names(suggestion: &Suggestion) -> Vec<&str> {
        let regions = suggestion.regions.iter();
        regions.map(|region| region.name.as_str()).collect()
    }

    #[test]
    fn short_regions_are_found_by_their_visits() {
        let marked = RegionRow {
            kind: "marked".into(),
            name: "tiny step".into(),
            functions: Vec::new(),
            ..function("", 100_000, 50_000_000)
        };
        let off = RegionRow {
            off_ranks: 4,
            ..function("off", 900_000, 1)
        };
        let suggestion = suggest(
            &reply(vec![
                function("long", 200_000, 200_000_000),
                function("add", 500_000, 50_000_000),
                function("seldom", 9_999, 1),
                // Below the share that is wanted.
                function("rare", 10_001, 1),
                function("", 90_000, 90_000),
                marked,
                off,
            ]),
            WANTED,
        );
        assert_eq!(names(&suggestion), ["add", "tiny step"]);
        assert_eq!(suggestion.unnamed, 1);
        assert_eq!(
            text(&suggestion, None),
            "region      visits  own time of a visit  of begins and ends\n\
             add        500,000               100 ns              49.5 %\n\
             tiny step  100,000               500 ns               9.9 %\n\
             without these 59.4 % of all begins and ends go away\n\
             1 region like these without a name, which only a rule of their file fits: \
             module:FILE\n\
             to leave them out: invivo selection exclude add 'tiny step'\n"
        );
        let told = text(&suggestion, Some("my filter"));
        assert!(
            told.ends_with("invivo selection load 'my filter'\n"),
            "{told}"
        );
    }

    #[test]
    fn all_that_a_rule_fits_is_judged_together() {
        let short = || function("get", 20_000, 1);
        let mut suggestion = Suggestion::default();
        for name in ["get", "get(int)"] {
            let long = function(name, 20_000, 90_000_000);
            suggestion = suggest(&reply(vec![short(), long]), WANTED);
            assert_eq!(suggestion, Suggestion::default(), "{name}");
        }
        let told = text(&suggestion, None);
        assert_eq!(told, "no region is that short and entered that often\n");
    }

    #[test]
    fn overloads_that_are_all_cheap_are_one_rule() {
        let of = |name| function(name, 20_000, 1_000_000);
        let suggestion = suggest(&reply(["at(int)", "at(long)"].map(of).to_vec()), WANTED);
        assert_eq!(names(&suggestion), ["at"]);
        assert_eq!(suggestion.regions[0].visits, 40_000);
        let long = function("at(long)", 20_000, 900_000_000);
        let suggestion = suggest(&reply(vec![of("at(int)"), long]), WANTED);
        assert_eq!(names(&suggestion), ["at(int)"]);
    }

    #[test]
    fn at_most_as_many_rules_as_there_can_be() {
        let rows = (0..RULES_MAX + 3).map(|at| function(&format!("f{at}"), 10_000, 1));
        let suggestion = suggest(
            &reply(rows.collect()),
            Wanted {
                share: 0.0,
                ..WANTED
            },
        );
        assert_eq!((suggestion.regions.len(), suggestion.more), (RULES_MAX, 3));
        assert!(text(&suggestion, None).contains("3 regions like these more: at most 64 rules"));
    }

    /// What the file says fits the names that it was made for.
    #[test]
    fn a_filter_file_leaves_out_the_names_suggested() {
        let long = "n".repeat(2 * PATTERN_BYTES_MAX);
        let hard = [
            "ns::add(int, int)",
            "operator*",
            "a[1]",
            "back\\slash",
            "EXCLUDE",
            "run()::{lambda()#1}",
            "source:x",
            &long,
        ];
        let rows = hard.map(|name| function(name, 20_000, 1));
        let suggestion = suggest(&reply(rows.to_vec()), WANTED);
        assert_eq!(suggestion.regions.len(), hard.len());
        let read: Selection = filter_file(&suggestion).parse().expect("a filter file");
        assert_eq!(read.rules.len(), hard.len());
        for name in hard {
            let known = Known {
                name,
                ..Known::default()
            };
            assert!(!judge(&read.rules, &known).0, "{name}");
            let mut rules = suggestion.regions.iter().map(|region| &region.fits);
            let rule = rules.find(|rule| rule.parse::<Fits>().is_ok_and(|rule| rule.fit(&known)));
            assert!(rule.is_some(), "{name}");
        }
        assert!(!fits(&pattern("operator*"), "operator**"));
    }

    #[test]
    fn words_are_quoted_as_shells_need_it() {
        for (word, expected) in [
            ("ns::add", "ns::add"),
            ("a b", "'a b'"),
            ("\\*", "'\\*'"),
            ("it's", "'it'\\''s'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }
}
