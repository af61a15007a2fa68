//! What is mapped into the process that is sampled, and when to look at it again.

use crate::mapped;
use rustix::process::Pid;
use std::time::{Duration, Instant};

/// Between two looks at what is mapped, and the longest that it becomes while nothing changes.
const MAPPINGS_INTERVAL: Duration = Duration::from_millis(200);
const MAPPINGS_INTERVAL_MAX: Duration = Duration::from_secs(2);

/// The list of a process' mappings.
pub struct Mappings {
    /// The list as it was read last, until it is taken.
    text: String,
    /// The part of the list in use that is about code.
    code: String,
    is_stale: bool,
    looked: Instant,
    interval: Duration,
}

impl Mappings {
    /// As it is now.
    pub fn of(pid: Pid) -> Mappings {
        Mappings {
            text: mapped::mappings(pid).unwrap_or_default(),
            code: String::new(),
            is_stale: false,
            looked: Instant::now(),
            interval: MAPPINGS_INTERVAL,
        }
    }

    /// The list, to be used until it changes.
    pub fn take(&mut self) -> String {
        let text = std::mem::take(&mut self.text);
        self.code = code(&text);
        text
    }

    /// Code was met in no file that is known, or was mapped.
    pub fn note_stale(&mut self) {
        self.is_stale = true;
    }

    /// Looks again where that is due; true where there is other code now.
    pub fn has_changed(&mut self, pid: Pid) -> bool {
        if !self.is_stale || self.looked.elapsed() < self.interval {
            return false;
        }
        (self.is_stale, self.looked) = (false, Instant::now());
        self.text = mapped::mappings(pid).unwrap_or_default();
        // A process that ends has no list.
        let is_new = !self.text.is_empty() && code(&self.text) != self.code;
        // Code that a program makes itself is in no file, however often we look.
        self.interval = match is_new {
            true => MAPPINGS_INTERVAL,
            false => (self.interval * 2).min(MAPPINGS_INTERVAL_MAX),
        };
        is_new
    }
}

/// The lines of a list of mappings that are about files with code.
fn code(mappings: &str) -> String {
    let is_code = |line: &&str| {
        let mut words = line.split_whitespace().skip(1);
        words.next().is_some_and(|mode| mode.contains('x')) && words.nth(3).is_some()
    };
    let lines = mappings.lines().filter(is_code);
    lines.flat_map(|line| [line, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_with_code_make_a_list_another_one() {
        let text = "\
55d0-55d8 r--p 00000000 08:01 42                         /usr/bin/an app\n\
55d8-55e0 r-xp 00008000 08:01 42                         /usr/bin/an app\n\
7f00-7f10 rw-p 00000000 00:00 0 \n\
7f10-7f20 rwxp 00000000 00:00 0 \n\
7ffc-7ffd rw-p 00000000 00:00 0                          [stack]\n";
        let expected = "55d8-55e0 r-xp 00008000 08:01 42                         /usr/bin/an app\n";
        assert_eq!(code(text), expected);
    }
}
