use super::*;
use crate::top::samples;
use invivo_grpc::v1::Observation;

fn model() -> Model {
    samples::model(&[Event::Hello(samples::hello("control"))])
}

/// Lets keys be pressed; the last thing to be done.
fn press(model: &mut Model, keys: &str) -> Option<Action> {
    let mut last = None;
    for key in keys.chars() {
        last = model.step(model.now, Event::Key(Key::Char(key)));
    }
    last
}

#[test]
fn nothing_is_done_before_it_is_confirmed() {
    let mut model = model();
    model.step(
        Duration::ZERO,
        Event::Snapshot(Box::new(samples::snapshot(1))),
    );
    for (letter, order) in [
        (
            'P',
            Order::Pause {
                lease_ns: 600_000_000_000,
            },
        ),
        ('R', Order::Record { on: false }),
        ('X', Order::Reset),
        (
            'W',
            Order::Window {
                length_ns: 2_000_000_000,
            },
        ),
    ] {
        for no in ['n', 'q', ' ', letter] {
            assert_eq!(press(&mut model, &format!("{letter}{no}")), None);
            assert_eq!(model.line, Line::Keys);
        }
        assert_eq!(
            press(&mut model, &format!("{letter}y")),
            Some(Action::Do(order.clone()))
        );
        assert_eq!(model.line, Line::Doing(order.clone()));
        assert_eq!(press(&mut model, "Xy"), None, "one after the other");
        let reply = CommandReply {
            targets: 4,
            done: 4,
            ..CommandReply::default()
        };
        model.step(Duration::ZERO, Event::Answered(order, Ok(reply)));
        assert!(
            matches!(model.line, Line::Said { good: true, .. }),
            "{:?}",
            model.line
        );
    }
}

#[test]
fn p_and_r_undo_what_is_in_force() {
    let mut model = model();
    let mut snapshot = samples::snapshot(1);
    let status = snapshot.status.as_mut().expect("a status");
    status.pause = Some(Default::default());
    status.recording = Some(invivo_grpc::v1::RecordingStatus {
        off: 4,
        ..Default::default()
    });
    model.step(Duration::ZERO, Event::Snapshot(Box::new(snapshot)));
    assert_eq!(press(&mut model, "Py"), Some(Action::Do(Order::Resume)));
    model.step(
        Duration::ZERO,
        Event::Answered(Order::Resume, Err("lost".into())),
    );
    assert_eq!(
        press(&mut model, "ry"),
        Some(Action::Do(Order::Record { on: true }))
    );
}

/// A switches what the page shows, and from pages without an analysis the matching of messages.
#[test]
fn a_switches_the_analysis_of_the_page() {
    let mut model = model();
    let mut snapshot = samples::snapshot(1);
    let status = snapshot.status.as_mut().expect("a status");
    status.analyses = [
        ("functions", 4),
        ("matrix", 0),
        ("messages", 0),
        ("heatmap", 4),
    ]
    .map(|(name, on)| invivo_grpc::v1::AnalysisStatus {
        name: name.into(),
        on,
        off: 4 - on,
        ..Default::default()
    })
    .to_vec();
    model.step(Duration::ZERO, Event::Snapshot(Box::new(snapshot)));
    for (keys, analysis, on) in [
        ("Ay", Analysis::Messages, true),
        ("3ay", Analysis::Functions, false),
        ("4Ay", Analysis::Matrix, true),
        ("6Ay", Analysis::Grid, false),
    ] {
        let these = AnalysisSet::of(analysis);
        let order = Order::Analyses { these, on };
        assert_eq!(
            press(&mut model, keys),
            Some(Action::Do(order.clone())),
            "{keys}"
        );
        model.step(Duration::ZERO, Event::Answered(order, Err("no".into())));
    }
}

#[test]
fn what_cannot_be_done_is_not_asked() {
    let said = |model: &Model| match &model.line {
        Line::Said {
            text, good: false, ..
        } => text.clone(),
        other => panic!("{other:?}"),
    };
    let mut viewer = samples::model(&[
        Event::Hello(samples::hello("view")),
        Event::Snapshot(Box::new(samples::snapshot(1))),
    ]);
    press(&mut viewer, "P");
    assert!(said(&viewer).contains("needs the scope control"));
    let old = HelloReply {
        capabilities: vec!["pause".into()],
        ..samples::hello("control")
    };
    let mut old = samples::model(&[
        Event::Hello(old),
        Event::Snapshot(Box::new(samples::snapshot(1))),
    ]);
    press(&mut old, "W");
    assert!(said(&old).contains("does not know record-window"));
    let mut lost = model();
    lost.step(Duration::ZERO, Event::Lost("gone".into()));
    press(&mut lost, "X");
    assert!(said(&lost).contains("is away"));
}

#[test]
fn a_frozen_view_stays_while_the_job_goes_on() {
    let mut model = model();
    model.step(
        Duration::ZERO,
        Event::Snapshot(Box::new(samples::snapshot(1))),
    );
    press(&mut model, " ");
    model.step(
        Duration::ZERO,
        Event::Snapshot(Box::new(samples::snapshot(2))),
    );
    let sequence = |picture: &Picture| picture.snapshot.as_ref().map(|snapshot| snapshot.sequence);
    assert_eq!(
        (sequence(model.picture()), sequence(&model.live)),
        (Some(1), Some(2))
    );
    press(&mut model, " ");
    assert_eq!(sequence(model.picture()), Some(2));
}

/// A loss is dated from its beginning and ends with a snapshot.
#[test]
fn a_loss_begins_at_its_first_sign_until_a_snapshot() {
    let mut model = model();
    let second = Duration::from_secs;
    model.step(second(1), Event::Snapshot(Box::new(samples::snapshot(1))));
    model.step(second(5), Event::Lost("a".into()));
    model.step(second(9), Event::Lost("b".into()));
    let (since, why) = (second(5), "b".into());
    assert_eq!(model.connection, Connection::Lost { since, why });
    model.step(second(10), Event::Snapshot(Box::new(samples::snapshot(2))));
    assert_eq!(model.connection, Connection::Live);
    model.step(second(11), Event::Ended);
    assert_eq!(model.connection, Connection::Ended);
    assert_eq!(press(&mut model, "q"), Some(Action::Quit));
}

#[test]
fn what_was_said_gives_way_to_the_keys() {
    let mut model = model();
    model.step(
        Duration::ZERO,
        Event::Answered(Order::Reset, Err("no".into())),
    );
    model.step(SAID_FOR / 2, Event::Tick);
    assert!(matches!(model.line, Line::Said { .. }));
    model.step(SAID_FOR, Event::Tick);
    assert_eq!(model.line, Line::Keys);
}

#[test]
fn only_a_matrix_that_is_seen_is_asked_for() {
    let mut model = model();
    model.step(
        Duration::ZERO,
        Event::Snapshot(Box::new(samples::snapshot(1))),
    );
    let matrix = Some((Page::Matrix, LATELY_NS));
    assert_ne!(model.wants(), matrix);
    press(&mut model, "4");
    assert_eq!(model.wants(), matrix);
    press(&mut model, " ");
    assert_ne!(model.wants(), matrix);
}

/// What was asked for before the key was pressed is of the other time.
#[test]
fn m_turns_from_the_last_minute_to_the_whole_run() {
    let mut model = model();
    let matrix = || Box::new(Table::Matrix(samples::matrix(4, 1)));
    model.step(Duration::ZERO, Event::Table(LATELY_NS, matrix()));
    assert!(model.live.lately && model.live.matrix.is_some());
    press(&mut model, "m");
    assert!(!model.live.lately && model.live.matrix.is_none());
    model.step(Duration::ZERO, Event::Table(LATELY_NS, matrix()));
    assert!(model.live.matrix.is_none());
    model.step(Duration::ZERO, Event::Table(0, matrix()));
    assert!(model.live.matrix.is_some());
    press(&mut model, "M");
    assert!(model.live.lately && model.live.matrix.is_none());
}

#[test]
fn a_saved_observation_is_shown_as_a_whole() {
    let mut model = model();
    let mut hello = model.hello.clone().expect("a gateway");
    hello.job.as_mut().expect("a job").observation = Some(Observation::default());
    model.step(Duration::ZERO, Event::Hello(hello));
    assert!(!model.live.lately);
    press(&mut model, "m");
    assert!(!model.live.lately && matches!(model.line, Line::Said { good: false, .. }));
}
