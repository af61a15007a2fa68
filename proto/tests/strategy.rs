//! Strategies and their texts.

use invivo_proto::control::buffers::RecordClass;
use invivo_proto::control::strategy::{ITERATION_LEVELS_MAX, RULES_MAX, Rule, Strategy as Kept};
use invivo_proto::ids::RegionId;
use invivo_proto::mpi;
use proptest::prelude::*;

fn rule() -> impl Strategy<Value = Rule> {
    let recorded: Vec<u16> = (1..mpi::FUNCTIONS.len())
        .filter(|at| mpi::FUNCTIONS[*at].recorded)
        .map(|at| at as u16)
        .collect();
    prop_oneof![
        prop::sample::select(&RecordClass::ALL[..]).prop_map(Rule::Class),
        any::<u8>().prop_map(|kept| Rule::Depth { kept }),
        (1u64.., 0u32..60).prop_map(|(ns, bits)| Rule::Duration {
            kept_ns: (ns >> bits).max(1)
        }),
        (1..=ITERATION_LEVELS_MAX, prop::sample::select(recorded)).prop_map(|(levels, at)| {
            Rule::Iterations {
                levels,
                at: RegionId(at),
            }
        }),
        Just(Rule::Samples),
    ]
}

proptest! {
    #[test]
    fn a_text_says_all_that_the_data_do(
        rules in prop::collection::vec(rule(), 0..RULES_MAX + 1),
        cap in prop_oneof![Just(0u16), 1u16..1001],
    ) {
        let Ok(strategy) = Kept::new(&rules, cap) else {
            let levels: u32 = rules.iter().map(|rule| u32::from(rule.levels())).sum();
            let twice = (1..rules.len()).any(|at| rules[..at].contains(&rules[at]));
            prop_assert!(twice || levels >= 64, "{rules:?} is refused for no reason");
            return Ok(());
        };
        prop_assert_eq!(strategy.rules().collect::<Vec<_>>(), rules);
        prop_assert_eq!(strategy.cap_permille().unwrap_or(0), cap);
        let text = strategy.to_string();
        prop_assert_eq!(Kept::parse(&text), Ok(strategy), "{}", text);
        let bytes = invivo_proto::control::encode(&strategy).expect("small");
        prop_assert_eq!(invivo_proto::control::decode::<Kept>(&bytes).expect("the same"), strategy);
    }

    #[test]
    fn any_text_is_a_strategy_or_refused_with_a_sentence(text in "[a-zA-Z0-9_:@,=%. ]{0,40}") {
        match Kept::parse(&text) {
            Ok(strategy) => prop_assert_eq!(Kept::parse(&strategy.to_string()), Ok(strategy)),
            Err(error) => prop_assert!(error.to_string().len() > 20),
        }
    }
}

#[test]
fn usual_texts() {
    let same = |text: &str| Kept::parse(text).map(|strategy| strategy.to_string());
    for text in [
        "time",
        "duration:1ms",
        "depth:2",
        "class:sample,class:metric",
        "iterations:4@MPI_Barrier",
        "class:metric,depth:2,duration:10us,cap=50%",
        "samples,cap=12.5%",
        "time,cap=100%",
    ] {
        assert_eq!(same(text).as_deref(), Ok(text));
    }
    assert_eq!(same(" depth:0 , time ").as_deref(), Ok("depth:0"));
    assert_eq!(same("duration:1000us").as_deref(), Ok("duration:1ms"));
    assert_eq!(same("cap=50%,samples").as_deref(), Ok("samples,cap=50%"));
    assert_eq!("time".parse(), Ok(Kept::default()));
}

#[test]
fn refusals_say_what_would_be_right() {
    let refusal = |text: &str| Kept::parse(text).expect_err("refused").to_string();
    for (text, says) in [
        (
            "",
            "\"\" is no rule of a strategy; there are time, duration:1ms",
        ),
        ("oldest", "\"oldest\" is no rule of a strategy"),
        (
            "time,depth:2",
            "depth:2 stands behind `time`, which claims everything",
        ),
        ("depth:two", "\"two\" is no depth; give 0 to 255"),
        ("duration:1", "\"1\" is no duration; give one as 500ns"),
        ("duration:0ms", "no call is shorter than 0"),
        ("duration:99999999999999999999s", "is no duration"),
        ("iterations:4", "\"4\" are no iterations"),
        (
            "iterations:17@MPI_Barrier",
            "iterations are halved 1 to 16 times, not 17",
        ),
        (
            "iterations:4@barrier",
            "\"barrier\" is no MPI function whose calls are recorded",
        ),
        (
            "class:event",
            "\"event\" is no class; there are call, region, sample and metric",
        ),
        ("cap=0%", "\"0%\" is no part of the buffer; give cap=50%"),
        ("cap=50", "\"50\" is no part of the buffer"),
        ("cap=101%", "is no part of the buffer"),
        ("cap=5%,cap=6%", "there is one cap at most"),
        ("depth:1,depth:1", "depth:1 comes twice"),
        (
            "duration:1ns,duration:2ns,duration:3ns,duration:4ns,\
             duration:5ns,duration:6ns,duration:7ns,duration:8ns",
            "65 levels are too many",
        ),
    ] {
        assert!(refusal(text).contains(says), "{text:?}: {}", refusal(text));
    }
}

#[test]
fn what_has_no_effect_is_refused_with_the_reason() {
    for text in [
        "time",
        "duration:1ms",
        "iterations:4@MPI_Barrier,duration:10us",
        "depth:2,duration:1ms",
        "class:region",
        "class:call",
        "class:sample",
        "samples",
    ] {
        assert!(text.parse::<Kept>().is_ok(), "{text}");
    }
    for (text, says) in [
        (
            "class:metric",
            "class:metric has no effect: buffers hold no metrics yet; give time, duration:1ms, \
             depth:2, class:region, samples or iterations:4@MPI_Barrier",
        ),
        (
            "time,cap=50%",
            "a cap has no use: a quarter of the buffer is left to samples",
        ),
        (
            "samples,class:metric",
            "class:metric has no effect: buffers hold no metrics yet",
        ),
    ] {
        let refused = text.parse::<Kept>().expect_err("refused").to_string();
        assert!(refused.contains(says), "{text:?}: {refused}");
        assert!(Kept::parse(text).is_ok(), "{text} is in the language");
    }
}
