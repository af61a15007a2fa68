//! What answers compare to.

use super::super::comparison::{Comparison, Op, shown, value_in};
use super::super::field::{Answer, FIELDS, Field, Kind, Unit};
use super::super::part::Part;
use invivo_grpc::v1::{
    Coverage, FunctionRow, FunctionsReply, JobStatus, Ledger, MatrixCell, MatrixReply, RankCounts,
    StatusReply, Traffic,
};

fn compare(field: &str, part: Part, op: Op, value: f64) -> Comparison {
    Comparison {
        field: field.into(),
        part,
        op,
        value,
        written: value.to_string(),
    }
}

fn number(kind: Kind, answer: &Answer, field: &str, part: Part) -> f64 {
    let told = compare(field, part, Op::Equal, 0.0).evaluate(kind, answer);
    told.expect("a number").1
}

fn table() -> Answer {
    let row = |function: &str, rank, calls, time_ns| FunctionRow {
        function: function.into(),
        rank,
        calls,
        time_ns,
        max_ns: time_ns / 2,
        min_ns: calls,
        bytes_out: 10,
        bytes_in: 20,
        clipped: 1,
        ..FunctionRow::default()
    };
    Answer::Functions {
        table: Box::new(FunctionsReply {
            analysis: None,
            call_sites: None,
            interval: None,
            coverage: Some(Coverage {
                ranks: 2,
                ranks_reporting: 2,
                ..Coverage::default()
            }),
            rows: vec![
                row("MPI_Send", None, 4, 400),
                row("MPI_Recv", None, 1, 100),
                row("MPI_Init", None, 2, 900),
            ],
            rank_rows: vec![
                row("MPI_Send", Some(0), 1, 100),
                row("MPI_Send", Some(1), 3, 300),
            ],
            rank_rows_total: 2,
        }),
        status: JobStatus {
            observed_ns: 500,
            ..JobStatus::default()
        },
    }
}

#[test]
fn numbers_of_tables_are_sums_over_what_is_meant() {
    let answer = table();
    let of = |field, part| number(Kind::FunctionsPerRank, &answer, field, part);
    let send = || Part {
        function: Some("MPI_Send".into()),
        ..Part::default()
    };
    let send_1 = || Part {
        rank: Some(1),
        ..send()
    };
    assert_eq!(
        (
            of("calls", Part::default()),
            of("calls", send()),
            of("calls", send_1())
        ),
        (7.0, 4.0, 3.0)
    );
    assert_eq!(
        (of("time", send()), of("mean", send()), of("max", send_1())),
        (400.0, 100.0, 150.0)
    );
    assert_eq!(
        (
            of("sent", Part::default()),
            of("received", send()),
            of("clipped", send())
        ),
        (30.0, 20.0, 1.0)
    );
    // Of 2 ranks times 500 ns, initialisation left out; of one rank's 500 ns.
    assert_eq!(
        (of("share", Part::default()), of("share", send_1())),
        (0.5, 0.6)
    );
    let never = Part {
        function: Some("MPI_Bcast".into()),
        ..Part::default()
    };
    assert_eq!((of("calls", never.clone()), of("min", never)), (0.0, 0.0));
}

#[test]
fn what_an_answer_does_not_hold_is_no_number() {
    let Answer::Functions { mut table, status } = table() else {
        panic!("a table")
    };
    table.rank_rows_total = 3;
    let cut = Answer::Functions { table, status };
    let rank = Part {
        rank: Some(0),
        ..Part::default()
    };
    let error = compare("calls", rank, Op::Equal, 1.0).evaluate(Kind::FunctionsPerRank, &cut);
    assert!(
        error
            .expect_err("not all rows")
            .contains("has 3 rows, of which 2 were given")
    );
    let matrix = Answer::Matrix(MatrixReply {
        block_ranks: 4,
        ..MatrixReply::default()
    });
    let source = Part {
        source: Some(0),
        ..Part::default()
    };
    let error = compare("messages", source, Op::Equal, 1.0).evaluate(Kind::Matrix, &matrix);
    assert!(error.expect_err("blocks").contains("in blocks of 4 ranks"));
}

#[test]
fn numbers_of_a_matrix_and_of_a_status() {
    let traffic = |messages, bytes| Some(Traffic { messages, bytes });
    let cell = |source, destination, bytes| MatrixCell {
        source,
        destination,
        sent: traffic(1, bytes),
        received: traffic(1, bytes - 1),
    };
    let matrix = Answer::Matrix(MatrixReply {
        ranks: 3,
        block_ranks: 1,
        cells: vec![cell(0, 1, 10), cell(0, 2, 20), cell(1, 2, 40)],
        unresolved: traffic(7, 0),
        ..MatrixReply::default()
    });
    let from = |source| Part {
        source,
        ..Part::default()
    };
    let of = |field, part| number(Kind::Matrix, &matrix, field, part);
    assert_eq!(
        (
            of("messages", from(None)),
            of("sent", from(Some(0))),
            of("received", from(Some(1)))
        ),
        (3.0, 30.0, 39.0)
    );
    assert_eq!(
        (of("unresolved", from(None)), of("block-ranks", from(None))),
        (7.0, 1.0)
    );
    let status = Answer::Status(Box::new(StatusReply {
        coverage: Some(Coverage {
            ranks: 8,
            lag_ns: 5,
            ledger: Some(Ledger {
                entered: 100,
                dropped_by_place: 3,
                ..Ledger::default()
            }),
            ..Coverage::default()
        }),
        status: Some(JobStatus {
            ranks: Some(RankCounts {
                held: 8,
                ..RankCounts::default()
            }),
            ..JobStatus::default()
        }),
    }));
    let of = |field| number(Kind::Status, &status, field, Part::default());
    assert_eq!(
        (
            of("calls"),
            of("dropped"),
            of("held"),
            of("lag"),
            of("ranks")
        ),
        (100.0, 3.0, 8.0, 5.0, 8.0)
    );
}

#[test]
fn comparisons_compare() {
    let answer = table();
    let holds = |op, value| {
        let told = compare("calls", Part::default(), op, value).evaluate(Kind::Functions, &answer);
        told.expect("a number").0
    };
    let outcomes = Op::ALL.map(|(_, op)| [6.0, 7.0, 8.0].map(|value| holds(op, value)));
    assert_eq!(
        outcomes,
        [
            [false, false, true],
            [false, true, true],
            [false, true, false],
            [true, false, true],
            [true, true, false],
            [true, false, false],
        ]
    );
}

#[test]
fn values_have_the_units_of_their_fields() {
    assert_eq!(value_in(Unit::Count, "1e3"), Ok(1000.0));
    assert_eq!(value_in(Unit::Time, "2ms"), Ok(2e6));
    assert_eq!(value_in(Unit::Bytes, "64KiB"), Ok(65536.0));
    assert_eq!(value_in(Unit::Share, "20 %"), Ok(0.2));
    for (unit, text) in [
        (Unit::Count, "2s"),
        (Unit::Time, "64KiB"),
        (Unit::Share, "half"),
        (Unit::Count, "inf"),
    ] {
        assert!(value_in(unit, text).is_err(), "{text}");
    }
    assert_eq!(
        (shown(Unit::Time, 2e6), shown(Unit::Share, 0.25)),
        ("2.00 ms".into(), "25.0 %".into())
    );
}

#[test]
fn fields_of_one_name_have_one_unit() {
    for field in &FIELDS {
        assert!(
            FIELDS
                .iter()
                .all(|other| other.name != field.name || other.unit == field.unit),
            "{}",
            field.name
        );
    }
    for kind in Kind::ALL {
        let names = Field::names(kind);
        let distinct: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(names.len(), distinct.len(), "{names:?}");
    }
}
