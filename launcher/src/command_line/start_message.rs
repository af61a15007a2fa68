//! What `invivo run` prints before the job starts: ranks, tool processes, and whether the launcher
//! has slots for them.

use crate::command_line::launcher_options::Line;
use crate::command_line::machine::cores;
use crate::command_line::slots;
use crate::command_line::wording;
use crate::job::environment::Environment;
use crate::output::say;
use invivo_tbon::layout::Layout;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::Path;

/// Says what is about to start: on a terminal always, and where the launcher is going to refuse.
pub fn print(line: &Line, words: &[OsString], layout: &Layout, environment: &Environment) {
    let file = |path: &Path| std::fs::read_to_string(path).ok();
    if let Some(few) = slots::too_few(line, words, layout.total(), cores(), environment, file) {
        say(&format!(
            "{} take {total} slots and {}: Open MPI will refuse; type --oversubscribe behind `{}`, \
             or ask for {total} slots",
            wording::sum(layout),
            few.given,
            words[0].display(),
            total = layout.total(),
        ));
    } else if std::io::stderr().is_terminal() {
        say(&format!(
            "{}; in another terminal: invivo top",
            wording::sum(layout)
        ));
    }
}
