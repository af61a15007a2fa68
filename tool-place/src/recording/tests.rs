use super::*;
use crate::cuts::Verdict;
use crate::time_point::Now;
use invivo_mpi_link::clock::{NodeClock, Reading};
use invivo_proto::control::tree::Cut;
use invivo_tbon::job_time::{DRIFT_PPM, JobClock};

mod alike;

const MS: u64 = 1_000_000;

/// A place of two ranks. Ticks are nanoseconds; job time is a thousand seconds ahead of the node's.
struct Scene {
    recording: Recording,
    cuts: Cuts,
    node: NodeClock,
    job: JobClock,
    now_ns: u64,
}

const AHEAD: u64 = 1_000_000 * MS;

impl Scene {
    fn new() -> Scene {
        let reading = Reading {
            ticks: 0,
            ns: 0,
            width_ticks: 0,
        };
        let mut job = JobClock::below(0);
        assert!(job.ask(0, false) && job.answered(0, 0, AHEAD, 7));
        let mut scene = Scene {
            recording: Recording::new(4..6),
            cuts: Cuts::default(),
            node: NodeClock::from_readings(reading, reading),
            job,
            now_ns: 0,
        };
        assert_eq!(scene.recording.told(), None);
        let actions = scene.with(|recording, moment, cuts| recording.begin(moment, cuts, true));
        assert_eq!(actions, [RecordingAction::Switch { on: true, epoch: 0 }]);
        scene
    }

    fn with<T>(&mut self, work: impl FnOnce(&mut Recording, &TimePoint<'_>, &mut Cuts) -> T) -> T {
        let now = Now {
            ns: self.now_ns,
            ticks: self.now_ns,
        };
        let moment = TimePoint::new(now, &self.node, &self.job);
        work(&mut self.recording, &moment, &mut self.cuts)
    }

    fn command(&mut self, ms: u64, id: u64, verb: Verb) -> Vec<RecordingAction> {
        self.now_ns = ms * MS;
        let id = CommandId(id);
        self.with(|recording, moment, cuts| recording.command(moment, cuts, &Command { id, verb }))
    }

    fn step(&mut self, ms: u64) -> Vec<RecordingAction> {
        self.now_ns = ms * MS;
        self.with(|recording, moment, cuts| recording.step(moment, cuts))
    }

    fn looks(&mut self) -> Vec<Look> {
        self.with(|recording, moment, _| recording.looks(moment))
    }

    /// A look at a rank; what is answered then.
    fn seen(&mut self, id: u64, rank: u32, all_taken: bool, open: u64) -> Vec<RecordingAction> {
        self.seen_clipped(id, rank, all_taken, open, 0)
    }

    fn seen_clipped(
        &mut self,
        id: u64,
        rank: u32,
        all_taken: bool,
        open: u64,
        clipped: u64,
    ) -> Vec<RecordingAction> {
        let seen = Seen {
            all_taken,
            open,
            clipped,
        };
        self.with(|recording, moment, _| {
            recording.seen(moment, CommandId(id), Rank(rank), seen);
            recording.conclude(moment)
        })
    }

    fn status(&mut self) -> RecordingStatus {
        self.with(|recording, moment, cuts| recording.status(moment, cuts, 2))
    }
}

/// A point in job time.
fn job(ms: u64) -> u64 {
    AHEAD + ms * MS
}

fn window(from: u64, to: u64) -> Verb {
    Verb::Window {
        from_ns: job(from),
        to_ns: job(to),
        epoch: 1,
    }
}

fn record(on: bool, at: u64) -> Verb {
    let at_ns = job(at);
    Verb::Record {
        on,
        epoch: 1,
        at_ns,
    }
}

/// A cut of which the error was stated last when it was made: job time was measured at the
/// beginning.
fn cut(ms: u64) -> Option<Cut> {
    Some(Cut {
        earliest_ns: job(ms),
        latest_ns: job(ms),
        error_ns: 7 + ms * MS * DRIFT_PPM / 1_000_000,
    })
}

fn acks(actions: &[RecordingAction], id: u64) -> Acks {
    let of = |action: &RecordingAction| match action {
        RecordingAction::Ack { command, acks } if command.0 == id => Some(acks.clone()),
        _ => None,
    };
    let found: Vec<Acks> = actions.iter().filter_map(of).collect();
    assert_eq!(found.len(), 1, "one answer to {id} in {actions:?}");
    found[0].clone()
}

/// A reset is done when its cut has passed and the ranks were looked at.
#[test]
fn a_reset_is_done_behind_its_cut_and_a_look() {
    let mut scene = Scene::new();
    assert_eq!(scene.command(100, 1, Verb::Reset { at_ns: job(140) }), []);
    assert_eq!(scene.step(139), []);
    assert_eq!(scene.looks(), []);
    assert_eq!(
        scene.cuts.judge(100 * MS, 139 * MS),
        Verdict::Whole,
        "it will be forgotten"
    );
    assert_eq!(scene.step(140), []);
    let looks = scene.looks();
    assert_eq!(looks.len(), 1);
    assert_eq!((looks[0].command, looks[0].at), (CommandId(1), 140 * MS));
    assert_eq!(scene.cuts.resets(), 1);
    assert_eq!(scene.seen_clipped(1, 4, false, 1, 1), []);
    let acks = acks(&scene.seen(1, 5, false, 0), 1);
    assert_eq!((acks.targets, acks.done, acks.failures.len()), (2, 2, 0));
    assert_eq!(acks.slowest, Some((Rank(4), 40 * MS)));
    assert_eq!(acks.from, cut(140));
    assert_eq!(
        (acks.clipped, acks.open),
        (2, 0),
        "one that was read and one that is open"
    );
    assert_eq!(scene.status().since_ns, job(140));
}

#[test]
fn a_late_command_cuts_at_once_and_says_where() {
    let mut scene = Scene::new();
    assert_eq!(scene.command(100, 1, Verb::Reset { at_ns: job(90) }), []);
    assert_eq!(scene.cuts.resets(), 1);
    scene.seen(1, 4, true, 0);
    let acks = acks(&scene.seen(1, 5, true, 0), 1);
    assert_eq!(acks.from, cut(100));
}

#[test]
fn switched_off_at_the_cut_and_on_before_it() {
    let mut scene = Scene::new();
    assert_eq!(scene.command(100, 1, record(false, 120)), []);
    let actions = scene.step(120);
    assert_eq!(
        actions[0],
        RecordingAction::Switch {
            on: false,
            epoch: 0
        }
    );
    let acks_off = acks(&actions, 1);
    assert_eq!((acks_off.done, acks_off.clipped), (2, 0));
    assert_eq!((scene.status().on, scene.status().off), (0, 2));
    // On as soon as it is known, so that nothing behind the cut is missed.
    assert_eq!(
        scene.command(200, 2, record(true, 220)),
        [RecordingAction::Switch { on: true, epoch: 1 }]
    );
    assert_eq!(scene.status().off, 2, "until the cut");
    assert_eq!(scene.step(220), []);
    assert_eq!(
        scene.cuts.judge(200 * MS - 1, 230 * MS),
        Verdict::Clipped {
            begin: 220 * MS,
            end: 230 * MS
        }
    );
    scene.seen_clipped(2, 4, true, 0, 1);
    let acks_on = acks(&scene.seen(2, 5, true, 3), 2);
    assert_eq!((acks_on.done, acks_on.clipped), (2, 4));
    // What is on stays on: nobody is told anything, and no call is cut.
    assert_eq!(scene.command(300, 3, record(true, 320)), []);
    let again = acks(&scene.step(320), 3);
    assert_eq!((again.done, again.clipped), (2, 0));
    assert_eq!(scene.cuts.judge(310 * MS, 330 * MS), Verdict::Whole);
}

#[test]
fn a_window_is_complete_when_all_of_it_is_taken() {
    let mut scene = Scene::new();
    scene.command(10, 1, record(false, 10));
    assert_eq!(
        scene.command(100, 2, window(120, 1120)),
        [RecordingAction::Switch { on: true, epoch: 1 }]
    );
    assert_eq!(scene.step(120), []);
    assert_eq!((scene.status().on, scene.status().since_ns), (2, job(120)));
    assert_eq!(scene.step(1119), []);
    assert_eq!(scene.looks(), []);
    assert_eq!(
        scene.step(1120),
        [RecordingAction::Switch {
            on: false,
            epoch: 1
        }]
    );
    assert_eq!(scene.looks()[0].at, 1120 * MS);
    assert_eq!(
        scene.seen(2, 4, false, 1),
        [],
        "its packets are on their way"
    );
    assert_eq!(scene.seen_clipped(2, 5, true, 1, 1), []);
    assert_eq!(scene.status().window.map(|window| window.complete), Some(1));
    scene.step(1150);
    assert_eq!(scene.looks()[0].ranks, BTreeSet::from([Rank(4)]));
    let acks = acks(&scene.seen(2, 4, true, 0), 2);
    assert_eq!((acks.done, acks.clipped, acks.open), (2, 2, 1));
    assert_eq!((acks.from, acks.to), (cut(120), cut(1120)));
    assert_eq!(acks.complete_ns, job(1150));
    assert_eq!(acks.slowest, Some((Rank(4), 1050 * MS)));
    let window = scene.status().window.unwrap();
    assert_eq!(
        (window.command, window.from_ns, window.to_ns),
        (CommandId(2), job(120), job(1120))
    );
    assert_eq!(window.complete, 2);
}

/// What a window has clipped is told once and for its own cuts.
#[test]
fn clipped_calls_are_counted_for_their_own_window() {
    let mut scene = Scene::new();
    scene.command(100, 1, window(120, 1120));
    scene.step(1120);
    let look = scene.looks().remove(0);
    assert_eq!(look.cuts, 1..4, "forget, begin, end");
    scene.seen(1, 4, true, 1);
    // While the other rank is awaited: the call that was open is clipped at the window's end, one
    // by another cut.
    scene.cuts.judge(1100 * MS, 1130 * MS);
    assert_eq!(scene.cuts.last_clip(), (0, 3));
    scene.command(1140, 2, record(true, 1150));
    scene.cuts.judge(1145 * MS, 1160 * MS);
    assert!(!look.cuts.contains(&scene.cuts.last_clip().0));
    assert_eq!(acks(&scene.seen_clipped(1, 5, true, 0, 2), 1).clipped, 3);
}

#[test]
fn a_switch_of_recording_ends_a_window_early() {
    for on in [true, false] {
        let mut scene = Scene::new();
        scene.command(100, 1, window(120, 1120));
        let actions = scene.command(500, 2, record(on, 520));
        assert_eq!(
            scene.status().window.map(|window| window.command),
            Some(CommandId(1))
        );
        let acks = acks(&actions, 1);
        assert_eq!((acks.done, acks.to, acks.complete_ns), (0, None, 0));
        assert_eq!(
            acks.failures,
            [4, 5].map(|rank| (Rank(rank), "ended by command 2".to_owned()))
        );
        scene.step(600);
        assert_eq!(scene.cuts.is_on(), on);
        scene.step(1200);
        assert_eq!(
            scene.cuts.is_on(),
            on,
            "the window's end has no meaning any more"
        );
        assert_eq!(
            scene.cuts.judge(110 * MS, 130 * MS),
            Verdict::Clipped {
                begin: 120 * MS,
                end: 130 * MS
            }
        );
    }
}

/// The end of the measurement is done when all is taken and final.
#[test]
fn the_end_is_done_when_all_is_taken() {
    let mut scene = Scene::new();
    let actions = scene.command(100, 1, Verb::Shutdown);
    assert_eq!(
        actions,
        [RecordingAction::Switch {
            on: false,
            epoch: 0
        }]
    );
    assert!(scene.recording.is_shut_down() && !scene.recording.is_over());
    assert_eq!(scene.looks()[0].at, 100 * MS);
    assert_eq!(scene.seen(1, 4, true, 1), []);
    let last = acks(&scene.seen(1, 5, true, 0), 1);
    assert_eq!((last.done, last.open, last.clipped), (2, 1, 0));
    assert!(scene.recording.is_over());
    for (id, verb) in [
        (2, record(true, 300)),
        (3, window(300, 400)),
        (4, Verb::Shutdown),
    ] {
        let acks = acks(&scene.command(200, id, verb), id);
        assert_eq!((acks.done, acks.failures.len()), (0, 2));
    }
    assert_eq!(scene.step(500), []);
    assert!(scene.status().shut_down && !scene.cuts.is_on());
}

#[test]
fn a_job_that_begins_unobserved_keeps_nothing() {
    let mut scene = Scene::new();
    scene.now_ns = 50 * MS;
    let actions = scene.with(|recording, moment, cuts| recording.begin(moment, cuts, false));
    assert_eq!(
        actions,
        [RecordingAction::Switch {
            on: false,
            epoch: 0
        }]
    );
    assert_eq!(scene.recording.told(), Some((false, 0)));
    assert_eq!(scene.cuts.resets(), 1);
    assert_eq!(scene.cuts.judge(10 * MS, 60 * MS), Verdict::Outside);
    assert_eq!(scene.status().off, 2);
    assert_eq!(
        scene.command(100, 1, window(120, 220)),
        [RecordingAction::Switch { on: true, epoch: 1 }]
    );
}

/// A window that ends before a switch is left to its end.
#[test]
fn a_switch_leaves_earlier_windows_to_their_end() {
    // Heard in time; between the window's end and the switch; behind both. The same comes of it.
    for heard in [1100, 1125, 1140] {
        let mut scene = Scene::new();
        scene.command(100, 1, window(120, 1120));
        scene.step(heard - 1);
        let said = scene.command(
            heard,
            2,
            Verb::Record {
                on: true,
                epoch: 2,
                at_ns: job(1130),
            },
        );
        let is_answer = |action: &&RecordingAction| matches!(action, RecordingAction::Ack { .. });
        assert_eq!(said.iter().filter(is_answer).count(), 0, "{said:?}");
        scene.step(1150);
        assert_eq!(scene.recording.told(), Some((true, 2)));
        assert_eq!(scene.cuts.judge(1121 * MS, 1129 * MS), Verdict::Outside);
        assert_eq!(scene.cuts.judge(1141 * MS, 1149 * MS), Verdict::Whole);
        scene.seen(1, 4, true, 0);
        let acks = acks(&scene.seen(1, 5, true, 0), 1);
        assert_eq!((acks.done, acks.failures.len()), (2, 0));
    }
}

#[test]
fn before_job_time_is_known_commands_wait() {
    let mut scene = Scene::new();
    let known = std::mem::replace(&mut scene.job, JobClock::below(0));
    assert_eq!(scene.command(100, 1, window(120, 1120)), []);
    assert_eq!(scene.command(101, 2, record(false, 130)), []);
    assert_eq!(scene.step(110), []);
    assert_eq!((scene.looks(), scene.status().window), (Vec::new(), None));
    scene.job = known;
    let actions = scene.step(115);
    assert_eq!(acks(&actions, 1).failures[0].1, "ended by command 2");
    let off = acks(&scene.step(130), 2);
    assert_eq!((off.done, off.from), (2, cut(130)));
}

/// Ranks that are told late move the beginning and the answer says so.
#[test]
fn late_ranks_move_the_beginning_in_the_answer() {
    let mut scene = Scene::new();
    scene.command(10, 1, record(false, 10));
    scene.command(100, 2, window(120, 1120));
    // The place stood still before the last rank was told.
    scene.now_ns = 150 * MS;
    scene.with(|recording, moment, cuts| recording.switched(moment, cuts));
    assert_eq!(scene.step(160), []);
    assert_eq!(scene.status().since_ns, job(150));
    assert_eq!(scene.cuts.judge(130 * MS, 140 * MS), Verdict::Outside);
    scene.step(1120);
    scene.seen(2, 4, true, 0);
    let acks_of = acks(&scene.seen(2, 5, true, 0), 2);
    assert_eq!(acks_of.from.unwrap().latest_ns, job(150));
    assert_eq!(acks_of.to.unwrap().latest_ns, job(1120));
    // In time, nothing moves; nor does what has been on for long.
    scene.command(1200, 3, record(true, 1220));
    scene.with(|recording, moment, cuts| recording.switched(moment, cuts));
    scene.step(1300);
    scene.with(|recording, moment, cuts| recording.switched(moment, cuts));
    assert_eq!(
        scene.cuts.judge(1219 * MS, 1230 * MS),
        Verdict::Clipped {
            begin: 1220 * MS,
            end: 1230 * MS
        }
    );
}

#[test]
fn a_better_clock_moves_what_has_not_passed() {
    let mut scene = Scene::new();
    scene.command(100, 1, window(120, 1120));
    scene.step(200);
    // A second measurement with a smaller error: job time is 4 ns further ahead.
    scene.job = JobClock::below(0);
    let asked = 200 * MS;
    assert!(scene.job.ask(asked, false) && scene.job.answered(asked, asked, AHEAD + asked + 4, 1));
    scene.step(300);
    assert_eq!(scene.cuts.judge(500 * MS, 1119 * MS), Verdict::Whole);
    let end = 1120 * MS - 4;
    assert_eq!(
        scene.cuts.judge(end - 1, end + 1),
        Verdict::Clipped {
            begin: end - 1,
            end
        }
    );
}
