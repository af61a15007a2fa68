//! The strategies that are tried, and which level of theirs an event belongs to, in words rather
//! than in bits.

use invivo_otfx::{
    AtCap, Attributes, Classes, Dimension, EventCap, EventClass, Label, Rule, Strategy, lambda,
};

/// What is tried, by number: each dimension alone, and combinations.
pub fn strategies() -> Vec<Strategy> {
    let cap = |strategy: Strategy, bins_permille, then| Strategy {
        event_cap: Some(EventCap {
            bins_permille,
            then,
        }),
        ..strategy
    };
    let samples = || Strategy::by(Dimension::Ordinal { levels: 7 });
    let regions_by_depth = Strategy {
        rules: vec![Rule {
            of: Classes::of(&[EventClass::Region]),
            by: Dimension::Depth { kept: 0, levels: 3 },
        }],
        event_cap: None,
    };
    vec![
        Strategy::flight_recorder(),
        Strategy::by_class(&[EventClass::Sample, EventClass::Metric, EventClass::Region]),
        Strategy::by(Dimension::Depth { kept: 1, levels: 4 }),
        Strategy::by(Dimension::Duration {
            kept_log2: 11,
            levels: 4,
        }),
        Strategy::by(Dimension::Iteration { levels: 3 }),
        samples(),
        cap(samples(), 500, AtCap::DropAll),
        cap(samples(), 400, AtCap::Oldest),
        cap(
            Strategy::by_class(&[EventClass::Sample]),
            500,
            AtCap::Oldest,
        ),
        regions_by_depth.then(Strategy::by(Dimension::Duration {
            kept_log2: 9,
            levels: 2,
        })),
        Strategy::by_class(&[EventClass::Metric])
            .then(samples())
            .then(Strategy::by(Dimension::Iteration { levels: 2 })),
    ]
}

/// Rules of a strategy that is made up, and levels of a rule.
const RULES_MAX: usize = 3;
const RULE_LEVELS_MAX: u8 = 4;
/// Levels of a strategy that is made up.
pub const LEVELS_MAX: usize = 1 + RULES_MAX * RULE_LEVELS_MAX as usize;

/// Any strategy of so many rules: any classes by any dimension, with any cap or none.
pub fn any() -> impl proptest::strategy::Strategy<Value = Strategy> {
    use proptest::prelude::{Just, Strategy as _, prop, prop_oneof};
    let levels = || 1..=RULE_LEVELS_MAX;
    let by = prop_oneof![
        Just(Dimension::Class),
        (prop_oneof![4 => 0u8..4, 1 => 252u8..], levels())
            .prop_map(|(kept, levels)| Dimension::Depth { kept, levels }),
        (0u8..14, levels())
            .prop_map(|(kept_log2, levels)| Dimension::Duration { kept_log2, levels }),
        levels().prop_map(|levels| Dimension::Iteration { levels }),
        levels().prop_map(|levels| Dimension::Ordinal { levels }),
    ];
    let classes = prop::sample::subsequence(EventClass::ALL.to_vec(), 1..=EventClass::ALL.len());
    let rule = (classes, by).prop_map(|(classes, by)| Rule {
        of: Classes::of(&classes),
        by,
    });
    let then = prop_oneof![Just(AtCap::DropAll), Just(AtCap::Oldest)];
    let cap = (1u16..=1000, then).prop_map(|(bins_permille, then)| EventCap {
        bins_permille,
        then,
    });
    let rules = prop::collection::vec(rule, 0..=RULES_MAX);
    (rules, prop::option::weighted(0.3, cap))
        .prop_map(|(rules, event_cap)| Strategy { rules, event_cap })
}

/// The number of an event's level.
pub fn level(
    strategy: &Strategy,
    class: EventClass,
    attributes: Attributes,
    duration: u64,
    ordinal: u64,
    iteration: u64,
) -> usize {
    let lasts = class == EventClass::Call || class == EventClass::Region;
    let mut before = 0;
    for rule in &strategy.rules {
        let labels = Strategy {
            rules: vec![*rule],
            event_cap: None,
        }
        .labels();
        // The rest is not the rule's.
        let labels = &labels[..labels.len() - 1];
        let belongs = |label: &Label, first: bool, last: bool| match *label {
            Label::Class | Label::Samples => true,
            Label::Depth(depth) => {
                lasts && (attributes.depth == depth || first && attributes.depth > depth)
            }
            Label::ShorterThanLog2(log2) => {
                let below = duration < 1 << log2;
                lasts && below && (first || duration >= 1 << (log2 - 1))
            }
            Label::Iteration(level) => iteration != 0 && lambda(iteration) == u32::from(level),
            Label::Ordinal(level) => {
                let lambda = lambda(ordinal);
                class == EventClass::Sample
                    && (lambda == u32::from(level) || last && lambda > u32::from(level))
            }
            Label::Rest | Label::Earlier => false,
        };
        if rule.of.contains(class)
            && let Some(found) = labels
                .iter()
                .enumerate()
                .position(|(index, label)| belongs(label, index == 0, index + 1 == labels.len()))
        {
            return before + found;
        }
        before += labels.len();
    }
    before
}
