use super::*;
use serde_json::{Value, json};

fn record(function: &str, begin_ns: u64, end_ns: u64) -> v1::CallRecord {
    v1::CallRecord {
        function: function.into(),
        end_ns,
        duration_ns: end_ns - begin_ns,
        ..v1::CallRecord::default()
    }
}

fn page(rank: u32, calls: Vec<v1::CallRecord>, complete: bool) -> v1::TimelinePage {
    let piece = v1::LocationPiece {
        location: Some(v1::Location { rank, thread: 0 }),
        calls,
        complete,
        ..v1::LocationPiece::default()
    };
    v1::TimelinePage {
        from_ns: 1_000,
        to_ns: 2_000,
        ranks: 2,
        pieces: vec![piece],
        ..v1::TimelinePage::default()
    }
}

fn seen(part: Part, pages: Vec<v1::TimelinePage>) -> Value {
    let mut gathered = Gathered::new(part, 1_000);
    pages.into_iter().for_each(|page| gathered.add(page));
    serde_json::from_str(&gathered.text().expect("an answer")).expect("JSON")
}

#[test]
fn calls_are_columns_since_the_beginning_of_the_observed_time() {
    let part = Part {
        last_ns: 1_000,
        ..Part::default()
    };
    let first = vec![
        record("MPI_Send", 900, 1_100),
        record("MPI_Wait", 1_200, 1_300),
    ];
    let rest = vec![record("MPI_Send", 1_400, 1_500)];
    let answer = seen(part, vec![page(0, first, false), page(0, rest, true)]);
    let one = &answer["locations"][0];
    assert_eq!(answer["functions"], json!(["MPI_Send", "MPI_Wait"]));
    assert_eq!(one["function"], json!([0, 1, 0]));
    assert_eq!(one["begin_ns"], json!([-100, 200, 400]));
    assert_eq!(one["end_ns"], json!([100, 300, 500]));
    assert_eq!(
        (&answer["from_ns"], &answer["to_ns"]),
        (&json!(0), &json!(1_000))
    );
}

#[test]
fn regions_are_columns_of_their_own_the_outer_ones_first() {
    let part = Part {
        last_ns: 1_000,
        ..Part::default()
    };
    let visit = |name: &str, begin_ns, end_ns, depth| v1::CallRecord {
        facts: Some(v1::CallFacts {
            kind: "region".into(),
            ..v1::CallFacts::default()
        }),
        depth,
        ..record(name, begin_ns, end_ns)
    };
    let rows = vec![
        visit("step", 1_100, 1_300, 2),
        record("MPI_Send", 1_300, 1_400),
        visit("solve", 1_100, 1_500, 1),
    ];
    let mut page = page(0, rows, true);
    page.pieces[0].open_regions = vec![v1::OpenCall {
        function: "main".into(),
        begin_ns: 900,
        ..v1::OpenCall::default()
    }];
    let answer = seen(part, vec![page]);
    let one = &answer["locations"][0];
    assert_eq!(one["begin_ns"], json!([300]), "calls alone");
    let names = answer["functions"].as_array().expect("names");
    let visits = &one["visits"];
    let regions = visits["region"].as_array().expect("a list").iter();
    let regions = regions.map(|at| &names[at.as_u64().expect("a place") as usize]);
    assert_eq!(regions.collect::<Vec<_>>(), ["main", "solve", "step"]);
    assert_eq!(visits["begin_ns"], json!([-100, 100, 100]));
    assert_eq!(visits["end_ns"], json!([1_000, 500, 300]));
    assert_eq!(visits["depth"], json!([0, 1, 2]));
}

#[test]
fn an_interval_and_some_ranks_are_all_that_comes() {
    let part = Part {
        from_ns: 250,
        to_ns: 450,
        first_rank: 1,
        last_rank: Some(1),
        ..Part::default()
    };
    let calls = || {
        let times = [(0, 100), (200, 300), (400, 500), (600, 700)];
        let calls = times.iter();
        calls
            .map(|(begin, end)| record("MPI_Send", 1_000 + begin, 1_000 + end))
            .collect()
    };
    let answer = seen(part, vec![page(0, calls(), true), page(1, calls(), true)]);
    let locations = answer["locations"].as_array().expect("a list");
    assert_eq!(locations.len(), 1);
    assert_eq!(locations[0]["rank"], 1);
    assert_eq!(locations[0]["begin_ns"], json!([200, 400]));
    assert_eq!(
        (&answer["from_ns"], &answer["to_ns"]),
        (&json!(250), &json!(450))
    );
}

#[test]
fn of_too_many_the_newest_stay() {
    let part = Part {
        last_ns: 1_000,
        ..Part::default()
    };
    let most = CALLS_MAX / 2;
    let calls = (0..most + 3).map(|at| record("MPI_Send", 1_000 + at, 1_000 + at));
    let answer = seen(part, vec![page(0, calls.collect(), true)]);
    let one = &answer["locations"][0];
    assert_eq!(one["left_out"], 3);
    assert_eq!(
        one["begin_ns"].as_array().map(Vec::len),
        Some(most as usize)
    );
    assert_eq!(one["begin_ns"][0], 3);
}

/// What is left of a location goes to no other one; peers of all pieces are known.
#[test]
fn a_location_that_came_in_part_stands_by_itself() {
    let part = Part {
        last_ns: 1_000,
        ..Part::default()
    };
    let sent = |peer, at| v1::CallRecord {
        facts: Some(v1::CallFacts {
            kind: "send".into(),
            comm: Some(0),
            peer,
            ..v1::CallFacts::default()
        }),
        ..record("MPI_Send", at, at)
    };
    let with_peer = |mut page: v1::TimelinePage, peer| {
        page.pieces[0].peers = vec![v1::PeerRank {
            comm: 0,
            peer,
            rank: 7 + peer as u32,
        }];
        page
    };
    let pages = vec![
        with_peer(page(0, vec![sent(0, 1_100)], false), 0),
        with_peer(page(0, vec![sent(1, 1_200)], false), 1),
        page(1, vec![record("MPI_Wait", 1_300, 1_400)], true),
    ];
    let answer = seen(part, pages);
    let [first, second] = [0, 1].map(|at| &answer["locations"][at]);
    assert_eq!(first["begin_ns"], json!([100, 200]));
    assert_eq!(first["peer"], json!([7, 8]));
    assert_eq!(second["begin_ns"], json!([300]));
}

#[test]
fn ranks_that_are_not_wanted_take_no_room() {
    let part = Part {
        last_ns: 1_000,
        last_rank: Some(0),
        ..Part::default()
    };
    let calls = (0..CALLS_MAX + 3).map(|at| record("MPI_Send", 1_000 + at, 1_000 + at));
    let one = seen(part, vec![page(0, calls.collect(), true)]);
    assert_eq!(one["locations"][0]["left_out"], 3);
}
