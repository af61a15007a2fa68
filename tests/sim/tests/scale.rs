//! Answers at any size are the closed form's, and what the root receives does not grow.

use invivo_sim::scale;

fn hold(sizes: &[(u32, &str)]) {
    let mut all = Vec::new();
    println!("{}", scale::HEAD);
    for &(ranks, fan_in) in sizes {
        let measured = scale::run(ranks, fan_in, 1).expect("a tree");
        println!("{measured}");
        assert_eq!(measured.fed, ranks / 16);
        all.push(measured);
    }
    assert_eq!(scale::compare(&all), [] as [&str; 0]);
}

#[test]
fn thousands_of_ranks_are_answered_as_the_closed_form_says() {
    hold(&scale::SIZES[..2]);
}

/// A minute or so in a release build: cargo test --release -p invivo-sim --test scale -- --ignored
#[test]
#[ignore = "a million ranks"]
fn a_million_ranks_are_answered_as_the_closed_form_says() {
    hold(&scale::SIZES);
}
