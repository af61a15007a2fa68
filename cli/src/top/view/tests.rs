use super::*;
use crate::top::keys::Key;
use crate::top::model::{Event, Model};
use crate::top::picture::{LATELY_NS, Table};
use crate::top::samples;
use invivo_grpc::v1::{
    CommandReply, FunctionsReply, PauseStatus, RecordingStatus, Snapshot, TableInterval,
};
use invivo_proto::control::order::Order;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::time::Duration;

/// The screen as lines of text.
fn screen(model: &Model, width: u16, height: u16, ascii: bool) -> String {
    let look = Look { ascii, color: true };
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a test terminal");
    terminal
        .draw(|frame| draw(model, look, frame.area(), frame.buffer_mut()))
        .expect("drawn");
    let buffer = terminal.backend().buffer().clone();
    let line = |y| {
        let symbols: String = (0..width).map(|x| buffer[(x, y)].symbol()).collect();
        symbols.trim_end().to_owned() + "\n"
    };
    (0..height).map(line).collect()
}

/// Compares with a screen that a human has looked at. INSTA_UPDATE=always writes them anew.
fn golden(name: &str, screen: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.set_snapshot_path("screens");
    settings.bind(|| insta::assert_snapshot!(name, screen));
}

fn watched(seconds: u64) -> Vec<Event> {
    let snapshot = |n| Event::Snapshot(Box::new(samples::snapshot(n)));
    std::iter::once(Event::Hello(samples::hello("control")))
        .chain((1..=seconds).map(snapshot))
        .collect()
}

/// A job of which a page is looked at.
fn at(page: char) -> Model {
    let mut model = samples::model(&watched(12));
    let functions = FunctionsReply {
        rows: samples::snapshot(12).functions,
        interval: Some(TableInterval {
            from_ns: 0,
            to_ns: 12_300_000_000,
        }),
        ..FunctionsReply::default()
    };
    for table in [
        Table::Functions(functions),
        Table::Matrix(samples::matrix(4, 1)),
        Table::Grid(samples::grid()),
        Table::Waits(samples::waits()),
    ] {
        model.step(
            Duration::from_secs(14),
            Event::Table(LATELY_NS, Box::new(table)),
        );
    }
    model.step(Duration::from_secs(15), Event::Key(Key::Char(page)));
    model
}

#[test]
fn pages_look_like_this() {
    for (key, name) in [
        ('1', "overview"),
        ('2', "ranks"),
        ('3', "functions"),
        ('4', "matrix"),
        ('5', "buffers"),
        ('6', "time"),
        ('7', "waits"),
        ('?', "help"),
    ] {
        let model = at(key);
        for (width, height) in [(80, 24), (120, 40)] {
            for (ascii, characters) in [(false, "utf8"), (true, "ascii")] {
                let screen = screen(&model, width, height, ascii);
                assert!(!ascii || screen.is_ascii(), "{screen}");
                golden(&format!("{name}-{width}x{height}-{characters}"), &screen);
            }
        }
    }
}

#[test]
fn nothing_is_shown_of_a_job_that_has_said_nothing() {
    let model = samples::model(&[]);
    for page in ['1', '2', '3', '4', '5', '6', '7'] {
        let mut model = model.clone();
        model.step(Duration::ZERO, Event::Key(Key::Char(page)));
        let screen = screen(&model, 80, 24, true);
        assert!(
            screen.contains("\n CONNECTING\n no numbers yet"),
            "{screen}"
        );
    }
}

/// The bar's lines after these changes to the newest snapshot.
fn bar(change: impl Fn(&mut Snapshot), more: &[Event]) -> String {
    let mut snapshot = samples::snapshot(2);
    change(&mut snapshot);
    let mut events = watched(1);
    events.push(Event::Snapshot(Box::new(snapshot)));
    events.extend_from_slice(more);
    let screen = screen(&samples::model(&events), 120, 24, true);
    screen
        .lines()
        .skip(1)
        .take(2)
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn the_bar_tells_what_is_not_as_usual() {
    let plain = bar(|_| (), &[]);
    assert_eq!(
        plain,
        " LIVE | 4 of 4 ranks | recording\n \
         lag 5.00 ms | dropped 7 (0.1 %) | overhead 0.9 % | scope control | 10,000 calls"
    );
    let paused = |snapshot: &mut Snapshot| {
        let status = snapshot.status.as_mut().expect("a status");
        status.pause = Some(PauseStatus {
            command_id: 1,
            lease_left_ns: 90_000_000_000,
        });
        status.recording = Some(RecordingStatus {
            off: 4,
            ..RecordingStatus::default()
        });
    };
    let frozen = [Event::Key(Key::Char(' '))];
    assert!(
        bar(paused, &frozen)
            .starts_with(" PAUSED 1 min 30 s + RECORDING OFF + FROZEN | 4 of 4 ranks\n "),
        "{}",
        bar(paused, &frozen)
    );
    let missing = |snapshot: &mut Snapshot| {
        let coverage = snapshot.coverage.as_mut().expect("coverage");
        (coverage.ranks_reporting, coverage.members_missing) = (2, 5);
        coverage.missing = vec![8, 9, 10, 11, 12];
    };
    assert!(bar(missing, &[]).contains("2 of 4 ranks, missing: 8 9 10 11 .. |"));
    let lost = [Event::Lost("broken".into()), Event::Tick, Event::Tick];
    assert!(bar(|_| (), &lost).starts_with(" GATEWAY LOST 2 s ago, trying again | "));
    assert!(bar(|_| (), &[Event::Ended]).starts_with(" ENDED | 4 of 4"));
}

#[test]
fn the_last_line_asks_tells_and_answers() {
    let last = |model: &Model| {
        screen(model, 80, 24, true)
            .lines()
            .last()
            .map(str::to_owned)
    };
    let mut model = at('1');
    assert_eq!(
        last(&model).as_deref(),
        Some(" space freeze  M time  P pause  R recording  X reset  W window  ? help  q quit")
    );
    let now = Duration::from_secs(20);
    model.step(now, Event::Key(Key::Char('P')));
    assert_eq!(
        last(&model).as_deref(),
        Some(" Pause the application (4 ranks) for at most 10 min? y/n")
    );
    model.step(now, Event::Key(Key::Char('y')));
    assert_eq!(last(&model).as_deref(), Some(" pausing ..."));
    let reply = CommandReply {
        targets: 4,
        done: 4,
        took_ns: 3_000_000,
        ..CommandReply::default()
    };
    model.step(
        now,
        Event::Answered(Order::Pause { lease_ns: 0 }, Ok(reply)),
    );
    assert_eq!(
        last(&model).as_deref(),
        Some(" paused 4 of 4 ranks in 3.00 ms")
    );
}

#[test]
fn a_long_answer_loses_its_last_parts() {
    assert_eq!(
        fitting("reset 4 of 4 ranks; cut at 7 s; and more", 30),
        "reset 4 of 4 ranks; cut at 7 s"
    );
    assert_eq!(
        fitting("reset 4 of 4 ranks; cut at 7 s", 20),
        "reset 4 of 4 ranks"
    );
    assert_eq!(fitting("one long part", 5), "one long part");
}

#[test]
fn a_terminal_that_is_too_small_says_so() {
    for (width, height) in [(79, 24), (80, 23), (20, 5)] {
        let screen = screen(&at('1'), width, height, false).replace('\n', " ");
        assert!(screen.starts_with("invivo top needs"), "{screen}");
        assert!(screen.contains(&format!("{width} and")), "{screen}");
    }
}

#[test]
fn any_size_can_be_drawn() {
    for page in ['1', '2', '3', '4', '5', '?'] {
        let mut model = at(page);
        model.live.matrix = Some(samples::matrix(200, 4));
        for width in (1..250).step_by(13) {
            for height in [1, 2, 23, 24, 25, 31, 60, 200] {
                screen(&model, width, height, width % 2 == 0);
            }
        }
    }
}

#[test]
fn a_long_page_scrolls() {
    let mut model = at('2');
    let snapshot = model.live.snapshot.as_mut().expect("a snapshot");
    let status = snapshot.status.as_mut().expect("a status");
    let one = status.named[0].clone();
    status.named = (0..32)
        .map(|rank| invivo_grpc::v1::RankStatus {
            rank,
            ..one.clone()
        })
        .collect();
    assert!(screen(&model, 80, 24, true).contains(" 1 to 16 of 32; arrow keys move"));
    for _ in 0..9 {
        model.step(Duration::from_secs(20), Event::Key(Key::PageDown));
    }
    assert!(screen(&model, 80, 24, true).contains(" 17 to 32 of 32; arrow keys move"));
}

/// Blocks of ranks are named and as many as fit are asked for.
#[test]
fn blocks_of_ranks_are_named_and_fit_the_screen() {
    assert_eq!((matrix_side(80, 24), matrix_side(120, 40)), (15, 31));
    let mut model = at('4');
    model.live.matrix = Some(samples::matrix(matrix_side(80, 24), 4));
    golden("matrix-blocks-80x24-ascii", &screen(&model, 80, 24, true));
}
