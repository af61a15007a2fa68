use super::*;
use alloc::string::ToString;
use alloc::vec;
use proptest::prelude::*;

fn rule(text: &str) -> Rule {
    let (word, fits) = text.split_once(' ').expect("a word and a pattern");
    Rule {
        include: word == "include",
        fits: fits.parse().expect("a rule"),
    }
}

fn rules(texts: &[&str]) -> Vec<Rule> {
    texts.iter().map(|text| rule(text)).collect()
}

fn named(name: &str) -> Known<'_> {
    Known {
        name,
        ..Known::default()
    }
}

#[test]
fn patterns_are_those_of_a_shell() {
    for (pattern, text, expected) in [
        ("solve", "solve", true),
        ("solve", "solver", false),
        ("solve*", "solver", true),
        ("*", "", true),
        ("?", "", false),
        ("a*b*c", "aXXbYYc", true),
        ("a*b*c", "aXXbYY", false),
        ("*ab", "aab", true),
        ("[a-c]?", "bz", true),
        ("[!a-c]?", "bz", false),
        ("[]x]", "]", true),
        ("[ab", "[ab", true),
        ("\\*", "*", true),
        ("\\*", "a", false),
        ("m::*", "m::step(int)", true),
        ("ö?", "öß", true),
    ] {
        assert_eq!(fits(pattern, text), expected, "{pattern} {text}");
    }
}

/// The same by trying every length of every star.
fn fits_slowly(pattern: &[char], text: &[char]) -> bool {
    match pattern.split_first() {
        None => text.is_empty(),
        Some(('*', rest)) => (0..=text.len()).any(|skip| fits_slowly(rest, &text[skip..])),
        Some((first, rest)) => text.split_first().is_some_and(|(character, behind)| {
            (*first == '?' || first == character) && fits_slowly(rest, behind)
        }),
    }
}

proptest! {
    #[test]
    fn a_pattern_fits_what_trying_all_finds(pattern in "[ab*?]{0,8}", text in "[ab]{0,10}") {
        let slow = |text: &str| text.chars().collect::<Vec<_>>();
        prop_assert_eq!(fits(&pattern, &text), fits_slowly(&slow(&pattern), &slow(&text)));
    }

    #[test]
    fn no_pattern_is_too_much(pattern in "\\PC{0,40}", text in "\\PC{0,60}") {
        fits(&pattern, &text);
        if let Ok(fits) = pattern.parse::<Fits>() {
            prop_assert_eq!(fits.to_string().parse::<Fits>(), Ok(fits));
        }
    }
}

#[test]
fn the_last_rule_that_fits_decides() {
    let rules = rules(&["exclude *", "include solve*", "exclude solve_tiny"]);
    for (name, on, by) in [
        ("other", false, 0),
        ("solve", true, 1),
        ("solve_tiny", false, 2),
    ] {
        assert_eq!(judge(&rules, &named(name)), (on, Some(by)), "{name}");
    }
    assert_eq!(judge(&rules[1..], &named("other")), (true, None));
    assert!(!judge_unknown(&rules) && judge_unknown(&rules[1..]));
}

#[test]
fn parameters_are_meant_where_they_are_written() {
    for (pattern, name, expected) in [
        ("work::outer", "work::outer()", true),
        ("*outer", "work::outer(void (*)(int), long) const", true),
        ("work::outer(*)", "work::outer(int)", true),
        ("*Vector*", "exchange(Vector_STRUCT&)", false),
        ("*(*Vector*)", "exchange(Vector_STRUCT&)", true),
        ("outer", "outer_most(int)", false),
        (
            "(anonymous namespace)::f",
            "(anonymous namespace)::f(int)",
            true,
        ),
        ("(anonymous namespace)", "(anonymous namespace)::f", false),
        (
            "std::function<void*",
            "std::function<void(int)>::operator=",
            true,
        ),
        (
            "std::function<void",
            "std::function<void(int)>::operator=",
            false,
        ),
        ("f", ")f(", false),
    ] {
        let rules = [rule(&["exclude ", pattern].concat())];
        assert_eq!(!judge(&rules, &named(name)).0, expected, "{pattern} {name}");
    }
}

#[test]
fn rules_fit_by_file_and_by_time_too() {
    let known = Known {
        name: "tiny",
        source: "tiny.c",
        module: "libtiny.so",
        visits: 10_000,
        mean_ns: 999,
        ..Known::default()
    };
    for (text, expected) in [
        ("source:tiny.c", true),
        ("source:*/tin*.c", true),
        ("source:iny.c", false),
        ("module:libtiny*", true),
        ("module:tiny", false),
        ("shorter:1us", true),
        ("shorter:999ns", false),
        ("shorter:1us@10001", false),
        ("group:coll", false),
    ] {
        let fits: Fits = text.parse().expect(text);
        assert_eq!(fits.fit(&known), expected, "{text}");
    }
}

#[test]
fn functions_that_carry_messages_stay() {
    let names = |numbers: Vec<usize>| -> Vec<&str> {
        let names = numbers.into_iter().map(|number| FUNCTIONS[number].name);
        names.collect()
    };
    let rules = rules(&["exclude MPI_*"]);
    let (off, kept) = (names(functions_off(&rules)), names(functions_kept(&rules)));
    for name in ["MPI_Test", "MPI_Allreduce", "MPI_Put", "MPI_File_read"] {
        assert!(off.contains(&name) && !kept.contains(&name), "{name}");
    }
    for name in [
        "MPI_Send",
        "MPI_Irecv",
        "MPI_Ibcast",
        "MPI_Init",
        "MPI_Finalize",
    ] {
        assert!(kept.contains(&name) && !off.contains(&name), "{name}");
    }
    for all in ["exclude *", "exclude *Allreduce"].map(rule) {
        assert_eq!(functions_off(&[all]), Vec::<usize>::new());
    }
}

#[test]
fn what_is_met_next_does_as_all_regions_do() {
    let first = usize::from(crate::record::REGIONS_END) / 64;
    for (texts, regions, functions) in [
        (&[][..], 0, 0),
        (&["exclude tiny"], 0, 0),
        (
            &["exclude *", "include solve", "exclude MPI_Barrier"],
            u64::MAX,
            1,
        ),
    ] {
        let off = off_at_first(&rules(texts));
        assert!(
            off[first..].iter().all(|word| *word == regions),
            "{texts:?}"
        );
        let bits: u32 = off[..first].iter().map(|word| word.count_ones()).sum();
        assert_eq!(bits, functions, "{texts:?}");
    }
}

#[test]
fn what_is_no_rule_is_told() {
    for (text, expected) in [
        ("", "a name, such as"),
        ("source:", "a name, such as"),
        ("source:/src/tiny.c", "without folders"),
        ("group:all", "there are p2p, request, coll"),
        ("shorter:fast", "shorter:1us or"),
        ("shorter:2s", "shorter:1us or"),
        ("shorter:1us@often", "shorter:1us or"),
    ] {
        let told = text.parse::<Fits>().expect_err(text).to_string();
        assert!(told.contains(expected), "{text}: {told}");
    }
    let long = "x".repeat(PATTERN_BYTES_MAX + 1);
    assert!(long.parse::<Fits>().is_err());
    let many = Selection {
        replaces: true,
        rules: vec![rule("exclude x"); RULES_MAX + 1],
    };
    assert!(many.clone().checked().is_err());
    assert_eq!(many.after(&[]), None);
}

#[test]
fn a_change_replaces_or_comes_behind() {
    let before = rules(&["exclude a"]);
    let mut change = Selection {
        replaces: false,
        rules: rules(&["include ab"]),
    };
    assert_eq!(change.after(&before).expect("two").len(), 2);
    assert_eq!(change.to_string(), "include ab");
    change.replaces = true;
    assert_eq!(change.after(&before), Some(change.rules.clone()));
    assert_eq!(
        Selection {
            replaces: true,
            rules: Vec::new()
        }
        .to_string(),
        "all is recorded"
    );
}

#[test]
fn ranks_with_other_rules_are_counted() {
    let status = |text: &str, ranks| SelectionStatus {
        ranks,
        same: ranks,
        rules: vec![(rule(text), 3)],
        regions_off: 3,
        ..SelectionStatus::default()
    };
    let parts = [
        status("exclude b", 2),
        status("exclude a", 4),
        status("exclude b", 1),
    ];
    // In whatever order they come.
    for order in [[0, 1, 2], [1, 0, 2], [2, 1, 0], [0, 2, 1]] {
        let mut all = SelectionStatus::default();
        for part in order {
            all.merge(parts[part].clone());
        }
        assert_eq!((all.ranks, all.same), (7, 3));
        assert_eq!((all.rules[0].1, all.regions_off), (6, 9));
        assert_eq!(all.rules[0].0, rule("exclude b"));
    }
}
