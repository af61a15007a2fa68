//! A program in a pseudo-terminal: keys go in, and the text on the screen is read.

use portable_pty::{Child, CommandBuilder, PtySize, native_pty_system};
use std::ffi::OsString;
use std::io::{Read, Write};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// The smallest screen that a terminal has: columns and lines.
const SIZE: (u16, u16) = (80, 24);
/// The longest wait for something on the screen.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A screen with a program on it. Dropped, the program is killed.
pub struct Screen {
    parser: Arc<Mutex<vt100::Parser>>,
    keyboard: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
}

impl Screen {
    /// Starts the program of a command line, with more environment variables.
    pub fn start(line: &[OsString], environment: &[(&str, OsString)]) -> Screen {
        let (cols, rows) = SIZE;
        let size = PtySize {
            rows,
            cols,
            ..PtySize::default()
        };

        let pair = native_pty_system().openpty(size).expect("a terminal");

        let mut command = CommandBuilder::from_argv(line.to_vec());
        // The user's settings must change neither colours nor characters.
        for name in ["LC_ALL", "LC_CTYPE", "NO_COLOR"] {
            command.env_remove(name);
        }
        command.env("TERM", "xterm-256color");
        command.env("LANG", "C.UTF-8");
        for (name, value) in environment {
            command.env(name, value);
        }

        let child = pair.slave.spawn_command(command).expect("started");
        let parser = Arc::new(Mutex::new(vt100::Parser::new(rows, cols, 0)));
        let mut reader = pair.master.try_clone_reader().expect("a reader");
        let shared = parser.clone();

        // It ends when the program does: nobody else has the terminal open then.
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                shared
                    .lock()
                    .expect("not poisoned")
                    .process(&bytes[..count]);
            }
        });

        Screen {
            parser,
            keyboard: pair.master.take_writer().expect("a keyboard"),
            child,
        }
    }

    fn parser(&self) -> MutexGuard<'_, vt100::Parser> {
        self.parser.lock().expect("not poisoned")
    }

    /// Presses keys, one after the other.
    pub fn press(&mut self, keys: &str) {
        self.keyboard
            .write_all(keys.as_bytes())
            .expect("back_pressure");
        self.keyboard.flush().expect("back_pressure");
    }

    /// Waits until `holds` is true of the text on the screen, and returns it.
    pub fn until(&self, what: &str, holds: impl Fn(&str) -> bool) -> String {
        let begun = Instant::now();
        loop {
            let text = self.parser().screen().contents();
            if holds(&text) {
                return text;
            }
            assert!(
                begun.elapsed() < TIMEOUT,
                "no {what} on the screen:\n{text}"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until the screen has this text, and returns the whole screen.
    pub fn until_it_says(&self, text: &str) -> String {
        self.until(text, |screen| screen.contains(text))
    }

    /// Waits for the program's end; returns its exit status.
    pub fn end(mut self) -> u32 {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("its status") {
                return status.exit_code();
            }
            assert!(begun.elapsed() < TIMEOUT, "the program does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
