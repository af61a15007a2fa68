//! `MPI_Pcontrol`: the program switches recording off and on for its own rank.
//!
//! The place's switch is another one: calls are recorded while both are on.

use crate::clock::ticks;
use crate::process;
use core::sync::atomic::Ordering;
use invivo_proto::shm::recording;

/// Switches recording of this rank, in all of its threads.
pub fn switch(on: bool) {
    let Some(page) = process::page().filter(|_| process::observing()) else {
        return;
    };
    let control = &page.control;
    let word = control.recording.load(Ordering::Relaxed);
    if recording::is_off_by_program(word) != on {
        return;
    }
    if on {
        // Before the word: calls of other threads that are under way begin here.
        control
            .recording_since
            .store(ticks().saturating_sub(1), Ordering::Release);
    }
    // The place may switch at the same time.
    let switched = |before| Some(recording::by_program(before, on));
    let _ = control
        .recording
        .fetch_update(Ordering::Release, Ordering::Relaxed, switched);
}
