//! Sentences about recording: on or off, since when, or for a window.

use super::units::duration;
use invivo_grpc::v1::{JobStatus, RecordingStatus, WindowStatus};

/// A sentence without an end: "on since 12.3 s ago", "off", "off; a window of 2.00 s is complete".
pub fn text(recording: &RecordingStatus) -> String {
    if recording.shut_down {
        return "the measurement was shut down; the job runs unobserved".to_owned();
    }
    let since = match recording.since_ns {
        0 => "the start of the job".to_owned(),
        since => format!("{} ago", duration(recording.now_ns.saturating_sub(since))),
    };
    if let Some(window) = recording
        .window
        .as_ref()
        .filter(|window| !is_over(recording, window))
    {
        return format!("window {}", progress(recording, window));
    }
    let mut text = match (recording.on, recording.off) {
        (_, 0) => format!("on since {since}"),
        (0, _) => "off".to_owned(),
        (on, off) => format!("on for {on} ranks since {since}, off for {off}"),
    };
    if let Some(window) = &recording.window {
        let length = duration(window.to_ns.saturating_sub(window.from_ns));
        text.push_str(&format!("; a window of {length} is complete"));
    }
    text
}

/// The state of recording in a few words; nothing while everything is recorded.
pub fn alert(recording: &RecordingStatus) -> Option<String> {
    if recording.shut_down {
        return Some("MEASUREMENT SHUT DOWN".to_owned());
    }
    if let Some(window) = recording
        .window
        .as_ref()
        .filter(|window| !is_over(recording, window))
    {
        return Some(format!("WINDOW {}", progress(recording, window)));
    }
    match (recording.on, recording.off) {
        (_, 0) => None,
        (0, _) => Some("RECORDING OFF".to_owned()),
        (_, off) => Some(format!("RECORDING OFF for {off} ranks")),
    }
}

/// The time that the tables are about, in ns: since the first rank had initialised MPI, or since a
/// cut, or a window.
pub fn span_ns(status: &JobStatus) -> u64 {
    let recording = status.recording.unwrap_or_default();
    // Behind a window nothing is recorded until recording is switched on again.
    let ended = recording
        .window
        .filter(|window| recording.on == 0 && recording.since_ns <= window.from_ns);
    let end = ended.map_or(recording.now_ns, |window| {
        window.to_ns.min(recording.now_ns)
    });
    match recording.since_ns {
        0 => status.observed_ns,
        // Job time begins before the first rank is observed.
        since => end.saturating_sub(since).min(status.observed_ns),
    }
}

/// Whether everything in a window has been taken on all ranks, or something else has ended it.
fn is_over(recording: &RecordingStatus, window: &WindowStatus) -> bool {
    window.complete >= recording.on.saturating_add(recording.off)
        || recording.since_ns > window.from_ns
}

fn progress(recording: &RecordingStatus, window: &WindowStatus) -> String {
    let length = window.to_ns.saturating_sub(window.from_ns);
    let gone = recording.now_ns.saturating_sub(window.from_ns);
    if recording.now_ns < window.to_ns {
        return format!("of {}, {} of it over", duration(length), duration(gone));
    }
    format!(
        "of {} is over, complete on {} of {} ranks",
        duration(length),
        window.complete,
        recording.on.saturating_add(recording.off)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn on() -> RecordingStatus {
        RecordingStatus {
            on: 8,
            now_ns: 100 * SECOND,
            ..RecordingStatus::default()
        }
    }

    fn window(complete: u32) -> Option<WindowStatus> {
        Some(WindowStatus {
            command_id: 1,
            from_ns: 98 * SECOND,
            to_ns: 101 * SECOND,
            complete,
        })
    }

    #[test]
    fn on_off_and_in_between() {
        assert_eq!(text(&on()), "on since the start of the job");
        assert_eq!(alert(&on()), None);
        let since = RecordingStatus {
            since_ns: 87_700_000_000,
            ..on()
        };
        assert_eq!(text(&since), "on since 12.3 s ago");
        let off = RecordingStatus {
            on: 0,
            off: 8,
            ..on()
        };
        assert_eq!(
            (text(&off), alert(&off)),
            ("off".into(), Some("RECORDING OFF".into()))
        );
        let part = RecordingStatus { off: 3, ..on() };
        assert_eq!(
            text(&part),
            "on for 8 ranks since the start of the job, off for 3"
        );
        assert_eq!(alert(&part).as_deref(), Some("RECORDING OFF for 3 ranks"));
        let down = RecordingStatus {
            shut_down: true,
            ..off
        };
        assert!(text(&down).contains("shut down") && alert(&down).is_some());
    }

    #[test]
    fn a_window_tells_how_far_it_is() {
        let under_way = RecordingStatus {
            since_ns: 98 * SECOND,
            window: window(0),
            ..on()
        };
        assert_eq!(text(&under_way), "window of 3.00 s, 2.00 s of it over");
        assert_eq!(
            alert(&under_way).as_deref(),
            Some("WINDOW of 3.00 s, 2.00 s of it over")
        );
        let taking = RecordingStatus {
            now_ns: 102 * SECOND,
            on: 1,
            off: 7,
            window: window(7),
            ..under_way
        };
        assert_eq!(
            text(&taking),
            "window of 3.00 s is over, complete on 7 of 8 ranks"
        );
        let complete = RecordingStatus {
            on: 0,
            off: 8,
            window: window(8),
            ..taking
        };
        assert_eq!(text(&complete), "off; a window of 3.00 s is complete");
        // A reset after the window is newer than it.
        let reset = RecordingStatus {
            since_ns: 99 * SECOND,
            on: 8,
            off: 0,
            ..taking
        };
        assert!(
            text(&reset).starts_with("on since 3.00 s ago"),
            "{}",
            text(&reset)
        );
    }

    #[test]
    fn tables_are_about_the_time_since_the_last_cut() {
        let status = |recording| JobStatus {
            observed_ns: 60 * SECOND,
            recording,
            ..JobStatus::default()
        };
        assert_eq!(span_ns(&status(None)), 60 * SECOND);
        assert_eq!(span_ns(&status(Some(on()))), 60 * SECOND);
        let cut = RecordingStatus {
            since_ns: 90 * SECOND,
            ..on()
        };
        assert_eq!(span_ns(&status(Some(cut))), 10 * SECOND);
        let complete = RecordingStatus {
            since_ns: 98 * SECOND,
            now_ns: 200 * SECOND,
            window: window(8),
            on: 0,
            off: 8,
            ..on()
        };
        assert_eq!(span_ns(&status(Some(complete))), 3 * SECOND);
        // A reset behind it, with recording on again.
        let again = RecordingStatus {
            since_ns: 190 * SECOND,
            on: 8,
            off: 0,
            ..complete
        };
        assert_eq!(span_ns(&status(Some(again))), 10 * SECOND);
    }
}
