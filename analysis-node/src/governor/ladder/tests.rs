use super::*;
use invivo_proto::control::metrics::MetricSet;

fn wanted() -> Wanted {
    Wanted {
        rules: vec![Rule {
            include: true,
            fits: Fits::Name("solve*".into()),
        }],
        sampling: Sampling::timer(1000),
        metrics: Measured {
            set: MetricSet::USUAL,
            interval_ns: 100_000_000,
        },
        analyses: AnalysisSet::ALL,
        recording: true,
    }
}

/// All steps down, as sentences, and back up again.
#[test]
fn each_step_has_its_sentence_and_its_order() {
    let mut ladder = Ladder::new(wanted());
    let mut seen = Vec::new();
    while let Some(detail) = ladder.lower(|_| true, 1) {
        let given_up = ladder.given_up_of(detail).expect("a reduction");
        seen.push((given_up.to_string(), ladder.order(detail).to_string()));
    }
    let sentences: Vec<&str> = seen.iter().map(|(sentence, _)| sentence.as_str()).collect();
    assert_eq!(
        sentences,
        [
            "regions shorter than 1us are not recorded",
            "regions shorter than 10us are not recorded",
            "regions are not recorded",
            "250 samples a second are taken instead of 1000",
            "62 samples a second are taken instead of 1000",
            "no samples are taken (before: 1000 a second)",
            "metrics are read every 1s instead of every 100ms",
            "metrics are read every 10s instead of every 100ms",
            "metrics are not measured",
            "analyses are off: messages,sites,waitstates",
            "MPI functions that carry no messages are not recorded",
            "nothing is recorded",
        ]
    );
    let orders: Vec<&str> = seen.iter().map(|(_, order)| order.as_str()).collect();
    let expected = [
        (3, "250 Hz by timers in the ranks"),
        (5, "off"),
        (8, "off"),
        (11, "off"),
    ];
    for (at, order) in expected {
        assert_eq!(orders[at], order);
    }
    for order in &orders[..3] {
        assert!(
            order.ends_with("include solve*"),
            "{order}: the user's rules decide"
        );
    }
    assert_eq!(ladder.given_up().count(), 6);

    for _ in &seen {
        let detail = ladder.raise(|_| true).expect("a step");
        let order = ladder.order(detail).checked();
        assert!(order.is_ok(), "{order:?}");
    }
    assert_eq!(
        (ladder.raise(|_| true), ladder),
        (None, Ladder::new(wanted()))
    );
}

#[test]
fn a_kind_may_come_back_before_others() {
    let mut ladder = Ladder::new(wanted());
    while ladder.lower(|_| true, 1).is_some() {}
    let is_sampling = |detail| detail == Detail::Sampling;
    assert_eq!(ladder.raise(is_sampling), Some(Detail::Sampling));
    assert_eq!(ladder.level(Detail::Sampling), 2);
    // What regions take is seen while recording is on.
    let is_region = |detail| detail == Detail::Regions;
    assert_eq!(ladder.raise(is_region), None);
    assert_eq!(ladder.raise(|_| true), Some(Detail::Recording));
    assert_eq!(ladder.raise(is_region), Some(Detail::Regions));
}

#[test]
fn what_is_not_wanted_cannot_be_given_up() {
    let mut ladder = Ladder::new(Wanted {
        sampling: Sampling::timer(25),
        metrics: Measured::default(),
        analyses: AnalysisSet::of(Analysis::Functions),
        recording: false,
        rules: vec![wanted().rules[0].clone(); RULES_MAX],
    });
    assert_eq!(ladder.lower(|_| true, 2), Some(Detail::Sampling));
    assert_eq!(ladder.lower(|_| true, 2), None);
    let off = Order::Sampling(Sampling::timer(0));
    assert_eq!(ladder.order(Detail::Sampling), off);
}

#[test]
fn users_commands_take_the_place_of_steps() {
    let mut ladder = Ladder::new(wanted());
    while ladder.lower(|_| true, 1).is_some() {}
    let more = Rule {
        include: false,
        fits: Fits::Name("tiny".into()),
    };
    for order in [
        Order::Sampling(Sampling::perf(99)),
        Order::Record { on: true },
        Order::Analyses {
            these: AnalysisSet::of(Analysis::Sites),
            on: true,
        },
        Order::Metrics(Measured::default()),
        Order::Reset,
    ] {
        let to_order = ladder.heard(&order, true);
        // Of the analyses that were off one is on now, and the others come back.
        let is_one_of_some = matches!(order, Order::Analyses { .. });
        assert_eq!(to_order.len(), usize::from(is_one_of_some), "{order:?}");
    }
    assert_eq!(ladder.given_up().count(), 2);
    let append = Order::Select(Selection {
        replaces: false,
        rules: vec![more.clone()],
    });
    assert_eq!(ladder.heard(&append, true), []);
    assert_eq!(ladder.given_up().count(), 2, "more rules decide nothing");
    let rules = ladder.rules();
    assert_eq!((rules.len(), rules.last()), (4, Some(&more)));
    let replace = Order::Select(Selection {
        replaces: true,
        rules: vec![more.clone()],
    });
    assert_eq!(ladder.heard(&replace, true), []);
    assert_eq!(ladder.given_up().count(), 0);
    assert_eq!(ladder.decided().len(), Detail::ALL.len());
    assert_eq!(ladder.raise(|_| true), None, "nothing is taken back");
    assert_eq!(ladder.rules(), [more]);
    let dear = Order::Analyses {
        these: DEAR,
        on: true,
    };
    assert_eq!(ladder.order(Detail::Analyses), dear);
    ladder.forget_decisions();
    assert_eq!(ladder.lower(|_| true, 1), Some(Detail::Regions));
}
