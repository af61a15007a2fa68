//! Two places that hear the same commands at other times.

use super::*;
use proptest::prelude::*;

/// How far ahead of a command its cut lies.
const AHEAD_MS: u64 = 40;

/// What a rank was told, and what was made of calls; everything that two places must agree on.
#[derive(Debug, PartialEq)]
struct Came {
    /// The epoch in which ranks record, if they do.
    epoch: Option<u32>,
    verdicts: Vec<Verdict>,
    since_ns: u64,
    windows_failed: Vec<u64>,
}

/// The verbs as a root gives them out: cuts in order, an epoch for each beginning, no window or
/// reset in a window.
fn commands(steps: &[(u64, u8)]) -> Vec<(u64, Verb)> {
    let (mut now, mut epoch, mut window_to) = (100, 0, 0);
    let mut commands = Vec::new();
    for (gap, kind) in steps {
        now += gap;
        let at = now + AHEAD_MS;
        let free = window_to < now;
        epoch += 1;
        let verb = match kind {
            0 => record(false, at),
            1 => Verb::Record {
                on: true,
                epoch,
                at_ns: job(at),
            },
            2 if free => Verb::Reset { at_ns: job(at) },
            3 if free => {
                window_to = at + 60;
                Verb::Window {
                    from_ns: job(at),
                    to_ns: job(window_to),
                    epoch,
                }
            }
            _ => continue,
        };
        commands.push((now, verb));
    }
    commands
}

/// A place that hears each command so much later; it looks at the clock every `pace` ms.
fn place(commands: &[(u64, Verb)], late: &[u64], pace: u64) -> Came {
    let mut scene = Scene::new();
    let mut windows_failed = Vec::new();
    let mut heard = 0;
    let end = commands.last().map_or(0, |(at, _)| *at) + 500;
    let mut verdicts: Vec<Verdict> = Vec::new();
    let mut resets = 0;
    for ms in 0..end {
        let mut actions = Vec::new();
        while let Some((at, verb)) = commands.get(heard)
            && at + late[heard % late.len()] <= ms
        {
            heard += 1;
            actions.extend(scene.command(ms, heard as u64, verb.clone()));
        }
        if ms % pace == 0 {
            actions.extend(scene.step(ms));
            // Every rank has nothing open, and all of it is taken.
            for look in scene.looks() {
                for rank in look.ranks {
                    actions.extend(scene.seen(look.command.0, rank.0, true, 0));
                }
            }
        }
        for action in &actions {
            if let RecordingAction::Ack { command, acks } = action
                && !acks.failures.is_empty()
            {
                windows_failed.push(command.0);
            }
        }
        // Calls of 3 ms, as they come a little later than they ended.
        if ms % 5 == 0 && ms > 50 {
            let verdict = scene.cuts.judge((ms - 50) * MS + 1, (ms - 47) * MS + 1);
            if std::mem::replace(&mut resets, scene.cuts.resets()) != scene.cuts.resets() {
                // What was taken before is forgotten: as if it had come behind the reset.
                verdicts.fill(Verdict::Outside);
            }
            verdicts.push(verdict);
        }
    }
    Came {
        epoch: scene
            .recording
            .told()
            .filter(|(on, _)| *on)
            .map(|(_, epoch)| epoch),
        verdicts,
        since_ns: scene.status().since_ns,
        windows_failed,
    }
}

proptest! {
    #[test]
    fn the_same_comes_of_the_same_commands(
        steps in prop::collection::vec((1u64..60, 0u8..4), 1..12),
        late in prop::collection::vec(0..AHEAD_MS, 1..12),
        pace in 1u64..10,
    ) {
        let commands = commands(&steps);
        let late = in_order(&commands, &late);
        prop_assume!(late.iter().all(|late| *late < AHEAD_MS));
        prop_assert_eq!(place(&commands, &late, pace), place(&commands, &[0], 1));
    }

    #[test]
    fn a_late_place_is_in_the_same_epoch(
        steps in prop::collection::vec((1u64..60, 0u8..4), 1..12),
        late in prop::collection::vec(0..3 * AHEAD_MS, 1..12),
        pace in 1u64..10,
    ) {
        let commands = commands(&steps);
        let late = in_order(&commands, &late);
        prop_assert_eq!(place(&commands, &late, pace).epoch, place(&commands, &[0], 1).epoch);
    }
}

/// How late commands are heard if none overtakes another.
fn in_order(commands: &[(u64, Verb)], late: &[u64]) -> Vec<u64> {
    let mut last = 0;
    let late = commands.iter().zip(late.iter().cycle());
    let mut late: Vec<u64> = late
        .map(|((at, _), late)| {
            last = last.max(at + late);
            last - at
        })
        .collect();
    // Of no commands.
    late.push(0);
    late
}
