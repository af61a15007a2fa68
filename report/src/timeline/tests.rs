use super::*;
use invivo_archive::observation::{Call, Death, Facts, Open};

const UTF8: Look = Look {
    ascii: false,
    color: false,
};
const ASCII: Look = Look {
    ascii: true,
    color: true,
};

fn call(begin_ns: u64, end_ns: u64) -> Call {
    Call {
        function: Some("MPI_Recv".into()),
        begin_ns,
        end_ns,
        facts: Facts::default(),
        ordinal: 0,
        request: 0,
        is_clipped: false,
        occupant: 0,
        depth: 0,
        parts: Vec::new(),
    }
}

/// Forty columns of a second each: rank 0 is in MPI from 20 to 22.5, rank 1 died in the call that
/// began at 30, and the buffer of rank 2 begins at 10.
fn job() -> Observation {
    const S: u64 = 1_000_000_000;
    let mut of = Observation {
        ranks: 3,
        from_ns: 10 * S,
        to_ns: 50 * S,
        deaths: vec![Death {
            rank: 1,
            how: "was killed".into(),
        }],
        ..Observation::default()
    };
    of.track(0, 0).calls.push(call(30 * S, 32 * S + S / 2));
    of.track(0, 0).state = "computing".into();
    of.track(1, 0).open = Some(Open {
        function: Some("MPI_Recv".into()),
        begin_ns: 40 * S,
        occupant: 0,
    });
    of.track(2, 0).gaps.gone_until_ns = Some(20 * S);
    of.track(2, 0).state = "in MPI".into();
    of
}

/// Cells are as dark as their share of time in mpi.
#[test]
fn cells_darken_with_their_share_of_mpi() {
    assert_eq!(
        text(&job(), UTF8),
        "the last 40.0 s of 3 ranks, 1 MPI call\n\
         rank 0 │····················██▒·················│  computing\n\
         rank 1 │······························██████████│× MPI_Recv\n\
         rank 2 │          ······························│  in MPI\n        \
         -40.0 s                              now   · no MPI  █ only MPI\n\
         missing: 1 location whose buffer does not reach back so far\n"
    );
}

/// Without block characters it is ascii and the dead are red where there are colours.
#[test]
fn ascii_without_blocks_and_red_for_dead_ranks() {
    let page = text(&job(), ASCII);
    assert!(page.is_ascii(), "{page}");
    assert!(
        page.contains(
            "\x1b[31mrank 1 |..............................##########|x MPI_Recv\x1b[0m\n"
        ),
        "{page}"
    );
}

/// Of a call that is not recorded neither its name nor its begin is known, and the page says
/// neither.
#[test]
fn an_unrecorded_call_has_no_length() {
    let mut of = job();
    of.track(0, 0).open = Some(Open {
        function: None,
        begin_ns: 0,
        occupant: 0,
    });
    let page = text(&of, UTF8);
    assert!(
        page.contains("rank 0 │····················██▒                 │> an MPI call\n"),
        "{page}"
    );
}

/// Of many ranks the worst are shown and no line is too long.
#[test]
fn the_worst_of_many_ranks_fit_the_width() {
    let mut of = job();
    for rank in 3..1000 {
        of.track(rank, 0).open = Some(Open {
            function: Some("MPI_Neighbor_alltoallw_with_a_long_name".into()),
            begin_ns: of.from_ns + u64::from(rank),
            occupant: 0,
        });
    }
    let page = text(&of, UTF8);
    let rows: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("rank "))
        .collect();
    assert_eq!(rows.len(), ROWS_MAX);
    assert!(
        rows[0].starts_with("rank  1 ") && rows[1].starts_with("rank  3 "),
        "{page}"
    );
    assert!(
        page.lines().all(|line| line.chars().count() <= 80),
        "{page}"
    );
}
