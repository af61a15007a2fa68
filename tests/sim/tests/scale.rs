//! Answers at any size are the closed form's, and what the root receives does not grow.

use invivo_sim::scale;

/// Trees of these sizes, and on nodes of different sizes in no order.
fn hold(sizes: &[(u32, &str)], uneven: &[(u32, u32, &str)]) {
    let mut all = Vec::new();
    println!("{}", scale::HEAD);
    for &(ranks, fan_in) in sizes {
        let measured = scale::run(ranks, fan_in, 1).expect("a tree");
        println!("{measured}");
        assert_eq!(measured.fed, ranks / 16);
        all.push(measured);
    }
    assert_eq!(scale::compare(&all, scale::Order::Blocks), [] as [&str; 0]);
    // By themselves: ranks in no order are in all blocks of the matrix below every member.
    all.clear();
    for &(ranks, nodes, fan_in) in uneven {
        let measured = scale::run_uneven(ranks, nodes, fan_in, 1).expect("a tree");
        println!("{measured}");
        assert_eq!(measured.layout.app(), ranks);
        assert_eq!(
            measured.layout.total() - ranks,
            ranks / 128,
            "one on each node"
        );
        all.push(measured);
    }
    assert_eq!(scale::compare(&all, scale::Order::None), [] as [&str; 0]);
}

#[test]
fn thousands_of_ranks_are_answered_as_the_closed_form_says() {
    hold(&scale::SIZES[..2], &scale::UNEVEN[..1]);
}

/// A minute or so in a release build: cargo test --release -p invivo-sim --test scale -- --ignored
#[test]
#[ignore = "a million ranks"]
fn a_million_ranks_are_answered_as_the_closed_form_says() {
    hold(&scale::SIZES, &scale::UNEVEN);
}
