//! Each layer against the others.

use super::*;
use invivo_tbon::layout::FanIn;
use std::path::Path;

fn file(path: &str, text: &str) -> File {
    File {
        path: path.into(),
        text: text.into(),
    }
}

fn of(flags: &Flags, variables: &[(&str, &str)], files: &[File]) -> Result<Effective, ConfigError> {
    let variable = |name: &str| {
        let found = variables.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| OsString::from(value))
    };
    let layers = Layers {
        variable: &variable,
        files: files.to_vec(),
    };
    effective_of(flags, &layers)
}

fn fan_in(text: &str) -> FanIn {
    text.parse().expect("a fan-in")
}

fn error(variables: &[(&str, &str)], files: &[File]) -> String {
    of(&Flags::default(), variables, files)
        .expect_err("refused")
        .to_string()
}

#[test]
fn nearer_layers_go_before_farther_ones() {
    let site = file(
        "site",
        "buffer = \"1MiB\"\nfan-in = 2\nquiet = true\nhold = \"1m\"\n",
    );
    let user = file("user", "\nbuffer = \"2MiB\"\nfan-in = 3\n");
    let here = file("invivo.toml", "fan-in = [5, 3]\n\nreport = 'r-%j.json'\n");
    let flags = Flags {
        fan_in: Some(fan_in("7")),
        ..Flags::default()
    };
    let variables = [("INVIVO_BUFFER", "3MiB"), ("INVIVO_FAN_IN", "6")];
    let all = of(&flags, &variables, &[here, user, site]).expect("good");
    assert_eq!(
        (all.fan_in.value, &all.fan_in.origin),
        (fan_in("7"), &Origin::Flag("fan-in"))
    );
    assert_eq!(all.buffer.value, Bytes(3 << 20));
    assert_eq!(
        all.buffer.origin,
        Origin::Environment("INVIVO_BUFFER".into())
    );
    let at = |path: &str, line| Origin::File {
        path: path.into(),
        line,
    };
    assert_eq!(all.report.origin, at("invivo.toml", 3));
    assert_eq!((all.quiet.value, &all.quiet.origin), (true, &at("site", 3)));
    assert_eq!(
        all.hold.value,
        Hold(Some(std::time::Duration::from_secs(60)))
    );
    assert_eq!(
        (&all.listen.value, &all.listen.origin),
        (&None, &Origin::Default)
    );
    assert_eq!(all.report.value.as_deref(), Some(Path::new("r-%j.json")));
}

#[test]
fn unknown_keys_and_bad_values_are_refused_where_they_stand() {
    let here = |text| error(&[], &[file("invivo.toml", text)]);
    assert_eq!(
        here("quiet = true\nfan_in = 3\n"),
        "invivo.toml:2: no key `fan_in`; did you mean `fan-in`?"
    );
    assert_eq!(
        here("\n\nbuffer = 'large'\n"),
        "invivo.toml:3: buffer: \"large\" is no size; write for example 16MiB"
    );
    assert_eq!(
        here("hold = {a = 1}\n"),
        "invivo.toml:1: hold: a table is no value here"
    );
    assert!(here("quiet = true\nquiet = false\n").starts_with("invivo.toml:2: "));
    assert!(here("report = 'a%z'\n").starts_with("invivo.toml:1: `%z` in a%z is no token"));
    assert_eq!(
        error(&[("INVIVO_FAN_IN", "many")], &[]),
        "the variable INVIVO_FAN_IN: \"many\" is no fan-in: a fan-in is `node`, or ranks per tool \
         place and then members per analysis node, the last one repeats; write it like `4,16`"
    );
    // What another layer hides is wrong all the same.
    let hidden = [file("near", "fan-in = 2\n"), file("far", "fan-in = 0\n")];
    assert!(error(&[], &hidden).starts_with("far:1: fan-in: "));
}

/// A buffer that is too small for its strategy is refused before the job starts, where the strategy
/// was asked for.
#[test]
fn a_strategy_must_fit_the_buffer() {
    let fits = |buffer: &str| {
        let variables = [
            ("INVIVO_BUFFER", buffer),
            ("INVIVO_STRATEGY", "duration:1ms,duration:2ms,duration:3ms"),
        ];
        of(&Flags::default(), &variables, &[])
    };
    assert!(fits("100KiB").is_ok());
    let refused = "duration:1ms,duration:2ms,duration:3ms sorts into 25 levels, which need a \
        buffer of at least 100KiB, not 99KiB: give more memory, or \
                   fewer rules";
    assert_eq!(
        fits("99KiB").expect_err("too small").to_string(),
        format!("the variable INVIVO_STRATEGY: {refused}")
    );
    let here = [file(
        "invivo.toml",
        "buffer = '99KiB'\n\nstrategy = 'duration:1ms,duration:2ms,duration:3ms'\n",
    )];
    assert_eq!(error(&[], &here), format!("invivo.toml:3: {refused}"));
    // The flight recorder is nobody's wish.
    let small = [file("invivo.toml", "buffer = '4095'\n")];
    assert_eq!(
        error(&[], &small),
        "invivo.toml:1: a buffer has at least 4KiB, not 4095"
    );
}

#[test]
fn an_empty_text_unsets_what_a_farther_layer_set() {
    let files = [
        file("near", "report = ''\n"),
        file("far", "report = 'a'\nbudget = '1k'\n"),
    ];
    let all = of(&Flags::default(), &[("INVIVO_BUDGET", "")], &files).expect("good");
    assert_eq!((all.report.value, all.budget.value), (None, None));
}

#[test]
fn what_is_written_beside_a_report_says_the_same_again() {
    let flags = Flags {
        report: Some("out/a \"b\"\u{7f}.json".into()),
        quiet: Some(false),
        hold: Some(Hold(None)),
        fan_in: Some(fan_in("node,4")),
        budget: Some(Bytes(3000)),
        listen: Some(Address("login1:99".into())),
        ..Flags::default()
    };
    let first = of(&flags, &[], &[]).expect("good");
    assert_eq!(
        beside(Path::new("out/a.json")),
        Path::new("out/a.json.config.toml")
    );
    let again = of(&Flags::default(), &[], &[file("again", &first.toml())]).expect("good");
    let values = |all: &Effective| {
        all.rows()
            .into_iter()
            .map(|row| (row.key, row.json))
            .collect::<Vec<_>>()
    };
    assert_eq!(values(&first), values(&again));
    assert!(
        first.toml().contains("buffer = \"16MiB\"  # default\n"),
        "{}",
        first.toml()
    );
    assert!(
        first
            .toml()
            .contains("listen = \"login1:99\"  # --listen\n"),
        "{}",
        first.toml()
    );
}

#[test]
fn flags_for_another_process_say_the_same_again() {
    use clap::Parser;
    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        flags: Flags,
    }
    let file = file(
        "invivo.toml",
        "quiet = false\nstrategy = 'duration:1ms,iterations:4@MPI_Barrier'\nbuffer = '1MiB'\nhold \
         = '90s'\nfan-in = [2, 4]\nreport = 'x%j'\nsave = 'y%j'\ninterval = '2s'\n",
    );
    let first = of(&Flags::default(), &[], &[file]).expect("good");
    let words = std::iter::once(OsString::from("exec")).chain(first.to_flags());
    let line = Line::try_parse_from(words).expect("flags");
    assert!(line.flags.no_config);
    let again = of(&line.flags, &[], &[]).expect("good");
    assert_eq!(
        (again.quiet.value, &again.quiet.origin),
        (false, &Origin::Flag("quiet"))
    );
    assert_eq!(again.hold.value, first.hold.value);
    assert_eq!(again.strategy.value, first.strategy.value);
    assert_eq!(
        again.strategy.text(),
        "duration:1ms,iterations:4@MPI_Barrier"
    );
    assert_eq!(
        (again.buffer.value, &again.fan_in.value),
        (first.buffer.value, &first.fan_in.value)
    );
    assert!(
        again
            .report
            .value
            .as_deref()
            .is_some_and(|path| path.is_absolute() && path.ends_with("x%j"))
    );
    let save = again.save.value.expect("a directory");
    assert!(save.is_absolute() && save.ends_with("y%j"));
    let plain = of(&Flags::default(), &[], &[]).expect("good");
    assert_eq!(plain.to_flags(), ["--no-config"]);
}

#[test]
fn the_budget_follows_buffer_and_ranks() {
    let flags = Flags {
        buffer: Some(Bytes(10_000)),
        ..Flags::default()
    };
    let all = of(&flags, &[], &[]).expect("good");
    let by_ranks = Budget {
        // A few ranks may have many threads each.
        least: 320_000,
        per_rank: 40_000,
    };
    assert_eq!(all.budget(), by_ranks);
    let all = of(&flags, &[("INVIVO_BUDGET", "50")], &[]).expect("good");
    let said = Budget {
        least: 50,
        per_rank: 0,
    };
    assert_eq!(all.budget(), said);
}

#[test]
fn the_file_in_the_manual_has_every_key() {
    let page = include_str!("../../docs/manual/configuration.md");
    let text = page
        .split("```toml\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .expect("a block");
    let all = of(&Flags::default(), &[], &[file("invivo.toml", text)]).expect("a configuration");
    for row in all.rows() {
        assert!(
            matches!(row.origin, Origin::File { .. }),
            "{} is not in the manual's file",
            row.key
        );
        let line = format!("| `{}` | ", row.key);
        let variable = format!("`{}` |\n", key::variable(row.key));
        assert!(
            page.contains(&line) && page.contains(&variable),
            "{}",
            row.key
        );
    }
}
