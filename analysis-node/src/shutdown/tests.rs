//! The order of steps at the end of a job, for each way in which jobs end.

use super::*;

const MS: u64 = 1_000_000;

#[test]
fn the_normal_end() {
    let mut shutdown = Shutdown::new(2, 3);
    assert_eq!(shutdown.next(5), None);
    shutdown.all_drained();
    assert_eq!(shutdown.next(5), Some(Step::Ask));
    assert!(shutdown.has_begun());
    assert_eq!(shutdown.next(6), None);
    shutdown.all_answered();
    assert_eq!(shutdown.next(7), Some(Step::Write));
    assert_eq!(shutdown.next(8), None);
    shutdown.report_done();
    assert_eq!(shutdown.next(9), Some(Step::Leave { finalize: true }));
    assert_eq!(shutdown.next(10), None);
}

#[test]
fn a_save_comes_before_the_last_questions() {
    for takes in [0, SAVE_NS_MAX] {
        let mut shutdown = Shutdown::new(2, 3);
        shutdown.save_first();
        shutdown.all_drained();
        assert_eq!(shutdown.next(5), Some(Step::Save));
        assert!(!shutdown.has_begun() && shutdown.is_saving(), "answered");
        assert_eq!(shutdown.next(4 + SAVE_NS_MAX), None);
        if takes == 0 {
            shutdown.saved();
        }
        assert_eq!(shutdown.next(5 + takes), Some(Step::Ask));
        assert!(shutdown.has_begun() && !shutdown.is_saving());
    }
}

#[test]
fn a_death_or_a_signal_cuts_a_save_short() {
    let mut shutdown = Shutdown::new(2, 3);
    shutdown.save_first();
    shutdown.all_drained();
    assert_eq!(shutdown.next(0), Some(Step::Save));
    shutdown.rank_ended(MS);
    assert_eq!(shutdown.next(MS + SAVE_AFTER_DEATH_NS_MAX), Some(Step::Ask));

    let mut shutdown = Shutdown::new(2, 3);
    shutdown.save_first();
    shutdown.all_drained();
    assert_eq!(shutdown.next(0), Some(Step::Save));
    shutdown.end_asked(MS);
    assert_eq!(shutdown.next(MS + HURRIED_QUIET_NS), Some(Step::Ask));

    // Who was asked to end before does not begin one.
    let mut shutdown = Shutdown::new(2, 3);
    shutdown.save_first();
    shutdown.end_asked(0);
    assert_eq!(shutdown.next(HURRIED_QUIET_NS), Some(Step::Ask));
}

#[test]
fn after_a_death_the_result_comes_first_and_nobody_finalises() {
    let mut shutdown = Shutdown::new(2, 3);
    shutdown.rank_ended(0);
    assert_eq!(shutdown.next(QUIET_NS - 1), None);
    shutdown.rank_ended(100 * MS);
    assert_eq!(shutdown.next(QUIET_NS + 99 * MS), None);
    assert_eq!(shutdown.next(QUIET_NS + 100 * MS), Some(Step::Ask));
    shutdown.all_answered();
    assert_eq!(shutdown.next(400 * MS), Some(Step::Write));
    shutdown.report_done();
    assert_eq!(shutdown.next(401 * MS), Some(Step::Release));
    assert_eq!(shutdown.next(402 * MS), None);
    // Another one dies later: one result, but its supervisor is let go, too.
    shutdown.rank_ended(500 * MS);
    assert_eq!(shutdown.next(500 * MS), Some(Step::Release));
    shutdown.all_drained();
    assert_eq!(
        shutdown.next(600 * MS),
        Some(Step::Leave { finalize: false })
    );
}

/// Behind the death of a tool process: one result of what there is, and the ranks are not waited
/// for.
#[test]
fn what_was_left_is_reported_once_taken_or_late() {
    for comes in [true, false] {
        let mut shutdown = Shutdown::new(2, 3);
        shutdown.salvage(5);
        assert!(shutdown.is_abnormal() && !shutdown.is_quiet());
        assert_eq!(shutdown.next(4 + SALVAGE_NS), None);
        if comes {
            shutdown.all_drained();
        } else {
            assert_eq!(shutdown.next(5 + SALVAGE_NS), Some(Step::Ask));
        }
        let asked = comes.then(|| shutdown.next(6));
        assert!(asked.is_none_or(|step| step == Some(Step::Ask)));
        shutdown.all_answered();
        assert_eq!(shutdown.next(6 + SALVAGE_NS), Some(Step::Write));
        shutdown.report_done();
        assert_eq!(
            shutdown.next(7 + SALVAGE_NS),
            Some(Step::Leave { finalize: true })
        );
    }
}

#[test]
fn after_a_shutdown_everybody_leaves_with_the_ranks() {
    for dies in [false, true] {
        let mut shutdown = Shutdown::new(2, 3);
        shutdown.measurement_shut_down();
        assert_eq!(shutdown.next(0), Some(Step::Ask));
        shutdown.all_answered();
        assert_eq!(shutdown.next(1), Some(Step::Write));
        assert!(shutdown.next(2).is_none() && !shutdown.is_idle());
        shutdown.report_done();
        assert_eq!(shutdown.next(3), Some(Step::CloseGateway));
        assert!(shutdown.next(1 << 50).is_none() && shutdown.is_idle());
        if dies {
            shutdown.rank_ended(5);
            assert_eq!(shutdown.next(6), Some(Step::Release));
        }
        shutdown.all_drained();
        assert_eq!(shutdown.next(7), Some(Step::Leave { finalize: !dies }));
        assert_eq!(shutdown.next(8), None);
    }
}

#[test]
fn deaths_without_end_do_not_delay_the_result() {
    let mut shutdown = Shutdown::new(2, 3);
    let mut now = 0;
    loop {
        shutdown.rank_ended(now);
        if shutdown.next(now).is_some() {
            break;
        }
        now += 100 * MS;
    }
    assert_eq!(now, SETTLE_NS_MAX);
}

#[test]
fn silence_is_waited_for_only_so_long() {
    let mut shutdown = Shutdown::new(2, 3);
    shutdown.all_drained();
    assert_eq!(shutdown.next(0), Some(Step::Ask));
    assert_eq!(shutdown.next(ANSWERS_NS_MAX - 1), None);
    assert_eq!(shutdown.next(ANSWERS_NS_MAX), Some(Step::Write));
    assert_eq!(
        shutdown.next(ANSWERS_NS_MAX + REPORT_NS_MAX),
        Some(Step::Leave { finalize: true })
    );
}

/// A high tree has the time that its waves may take.
#[test]
fn a_high_tree_has_time_for_its_waves() {
    let mut shutdown = Shutdown::new(6, 3);
    shutdown.all_drained();
    assert_eq!(shutdown.next(0), Some(Step::Ask));
    assert_eq!(shutdown.next(6 * WAVE_NS_PER_LAYER), None);
    assert_eq!(shutdown.next(7 * WAVE_NS_PER_LAYER), Some(Step::Write));
}

#[test]
fn a_hurried_result_takes_six_tenths_of_a_second() {
    for begun in [false, true] {
        let mut shutdown = Shutdown::new(2, 3);
        if begun {
            shutdown.all_drained();
            assert_eq!(shutdown.next(0), Some(Step::Ask));
        }
        shutdown.end_asked(MS);
        let mut now = MS;
        if !begun {
            assert_eq!(shutdown.next(now + HURRIED_QUIET_NS - 1), None);
            now += HURRIED_QUIET_NS;
            assert_eq!(shutdown.next(now), Some(Step::Ask));
        }
        // Asking again does not give more time.
        shutdown.end_asked(400 * MS);
        assert_eq!(shutdown.next(now + HURRY_NS), Some(Step::Write));
        now += HURRY_NS;
        assert!(now <= MS + 600 * MS);
        assert_eq!(shutdown.next(now), None);
        shutdown.report_done();
        // All that were through before are waited for in MPI_Finalize, and the others here.
        let leave = begun.then_some(Step::Leave { finalize: true });
        assert_eq!(shutdown.next(now), leave);
    }
}

/// A job that goes on when it is asked to end has a second result.
#[test]
fn a_job_that_survives_its_end_has_a_second_result() {
    for dies in [false, true] {
        let mut shutdown = Shutdown::new(2, 3);
        shutdown.end_asked(0);
        assert_eq!(shutdown.next(HURRIED_QUIET_NS), Some(Step::Ask));
        shutdown.all_answered();
        assert_eq!(shutdown.next(HURRIED_QUIET_NS), Some(Step::Write));
        shutdown.report_done();
        let later = 3_600_000 * MS;
        assert!(shutdown.next(later).is_none() && shutdown.is_early());
        if dies {
            shutdown.rank_ended(later);
            assert_eq!(shutdown.next(later), Some(Step::Release));
            assert_eq!(shutdown.next(later), None);
        }
        shutdown.all_drained();
        assert_eq!(shutdown.next(later), Some(Step::Ask));
        assert!(shutdown.next(later).is_none() && !shutdown.is_early());
        // A late word on the first one.
        shutdown.report_done();
        shutdown.all_answered();
        assert_eq!(shutdown.next(later), Some(Step::Write));
        assert_eq!(shutdown.next(later), None);
        shutdown.report_done();
        assert_eq!(shutdown.next(later), Some(Step::Leave { finalize: !dies }));
    }
}

/// Ranks that are told to end have a moment for it.
#[test]
fn ranks_have_a_moment_to_end() {
    for comes_in_time in [false, true] {
        let mut shutdown = Shutdown::new(2, 3);
        shutdown.end_asked(0);
        assert_eq!(shutdown.next(MS), None);
        if comes_in_time {
            shutdown.all_drained();
        }
        assert_eq!(shutdown.next(HURRIED_QUIET_NS), Some(Step::Ask));
        // What comes behind the questions is not in their answers.
        shutdown.all_drained();
        assert_eq!(shutdown.is_early(), !comes_in_time);
    }
}
