//! The published scenarios come out of the real buffer: when the frequency is halved, where it
//! ends, when the events are dropped, and that no halving revokes more than half of the bins.

#[path = "../examples/scenario/model.rs"]
mod model;

use model::{SCENARIOS, play};

#[test]
fn the_published_scenarios_come_out() {
    for scenario in SCENARIOS {
        let outcome = play(&scenario);
        let name = scenario.name;
        assert_eq!(
            outcome.halvings_s.len(),
            scenario.halvings_s.len(),
            "{name}: {:?}",
            outcome.halvings_s
        );
        for (at, published) in outcome.halvings_s.iter().zip(scenario.halvings_s) {
            let published = *published as f64;
            assert!(
                (at - published).abs() <= 0.02 * published,
                "{name}: {at} s, not {published} s"
            );
        }
        assert_eq!(outcome.end_hz, scenario.end_hz, "{name}");
        match (outcome.drop_s, scenario.drop_s) {
            (Some(at), Some(published)) => {
                let published = published as f64;
                assert!(
                    (at - published).abs() <= 0.01 * published,
                    "{name}: events went at {at} s"
                );
            }
            (at, published) => assert!(
                at.is_none() && published.is_none(),
                "{name}: events went at {at:?}"
            ),
        }
        assert!(
            outcome.revoked_max > 0.4 && outcome.revoked_max <= 0.5,
            "{name}: a halving revoked {} of the bins",
            outcome.revoked_max
        );
    }
}
