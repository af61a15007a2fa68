//! A program in a pseudo-terminal, seen as its user sees it: keys go in, and what stands on the
//! screen is read.
#![allow(dead_code, reason = "each test program uses a part")]

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::io::{Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// The longest that something is waited for: the machine may be busy with other tests.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the program has written so far.
struct Output {
    parser: vt100::Parser,
    raw: Vec<u8>,
}

/// A terminal with a program in it, which is killed when this is dropped.
pub struct Terminal {
    output: Arc<Mutex<Output>>,
    master: Box<dyn MasterPty + Send>,
    keyboard: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    settings: String,
    /// Ends when all that has the terminal open has ended.
    reading: Option<std::thread::JoinHandle<()>>,
}

/// How a program left.
#[derive(Debug)]
pub struct Left {
    /// Its exit status.
    pub code: u32,
    /// The signal that it died of, as the system names it.
    pub signal: Option<String>,
    /// What stands on the terminal when it is gone.
    pub screen: String,
    /// Everything that it wrote.
    pub raw: String,
}

impl Terminal {
    /// Starts a program with these additions to the environment, in a terminal of the locale
    /// C.UTF-8.
    pub fn start(
        program: &Path,
        arguments: &[&str],
        environment: &[(&str, &str)],
        (columns, lines): (u16, u16),
    ) -> Terminal {
        let pair = native_pty_system()
            .openpty(size(columns, lines))
            .expect("a terminal");
        let mut command = CommandBuilder::new(program);
        command.args(arguments);
        for name in [
            "LC_ALL",
            "LC_CTYPE",
            "NO_COLOR",
            "INVIVO_JOB",
            "INVIVO_CONNECT",
        ] {
            command.env_remove(name);
        }
        for (name, value) in [("TERM", "xterm-256color"), ("LANG", "C.UTF-8")]
            .iter()
            .chain(environment)
        {
            command.env(name, value);
        }
        let settings = settings(&*pair.master);
        let child = pair.slave.spawn_command(command).expect("started");
        // So that reading ends when the program does.
        drop(pair.slave);
        let output = Arc::new(Mutex::new(Output {
            parser: vt100::Parser::new(lines, columns, 0),
            raw: Vec::new(),
        }));
        let mut reader = pair.master.try_clone_reader().expect("a reader");
        let shared = output.clone();
        let reading = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                let mut output = shared.lock().expect("not poisoned");
                output.parser.process(&bytes[..count]);
                output.raw.extend(&bytes[..count]);
            }
        });
        Terminal {
            output,
            keyboard: pair.master.take_writer().expect("a writer"),
            master: pair.master,
            child,
            settings,
            reading: Some(reading),
        }
    }

    fn output(&self) -> MutexGuard<'_, Output> {
        self.output.lock().expect("not poisoned")
    }

    /// The process.
    pub fn pid(&self) -> i32 {
        let pid = self.child.process_id().expect("it runs");
        i32::try_from(pid).expect("a process id")
    }

    /// What stands on the screen.
    pub fn screen(&self) -> String {
        self.output().parser.screen().contents()
    }

    /// Everything written so far.
    pub fn raw(&self) -> String {
        String::from_utf8_lossy(&self.output().raw).into_owned()
    }

    /// Presses keys, one after the other.
    pub fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("written");
        self.keyboard.flush().expect("written");
    }

    /// Gives the terminal another size.
    pub fn resize(&self, columns: u16, lines: u16) {
        self.output().parser.screen_mut().set_size(lines, columns);
        self.master.resize(size(columns, lines)).expect("resized");
    }

    /// Waits until the screen is as it should be, and returns it.
    pub fn until(&self, what: &str, holds: impl Fn(&str) -> bool) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            let screen = self.screen();
            if holds(&screen) {
                return screen;
            }
            assert!(
                Instant::now() < end,
                "waited in vain until {what}:\n{screen}"
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until a text stands on the screen.
    pub fn until_it_says(&self, text: &str) -> String {
        self.until(&format!("it says {text:?}"), |screen| screen.contains(text))
    }

    /// Waits for the program's end, and sees that it leaves the terminal as it found it.
    pub fn left(mut self) -> Left {
        let end = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("waited") {
                break status;
            }
            assert!(Instant::now() < end, "it does not end:\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(10));
        };
        // The last bytes may still be on their way to us, and what it has started may live on.
        let reading = self.reading.take();
        while reading
            .as_ref()
            .is_some_and(|reading| !reading.is_finished())
            && Instant::now() < end
        {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(
            settings(&*self.master),
            self.settings,
            "the terminal's settings"
        );
        let output = self.output();
        let screen = output.parser.screen();
        assert!(
            !screen.alternate_screen(),
            "the other screen is still there"
        );
        assert!(!screen.hide_cursor(), "the cursor is still hidden");
        Left {
            code: status.exit_code(),
            signal: status.signal().map(str::to_owned),
            screen: screen.contents(),
            raw: String::from_utf8_lossy(&output.raw).into_owned(),
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn size(cols: u16, rows: u16) -> PtySize {
    PtySize {
        rows,
        cols,
        ..PtySize::default()
    }
}

/// Echo, line mode and all the rest.
fn settings(master: &(dyn MasterPty + Send)) -> String {
    format!(
        "{:?}",
        master.get_termios().expect("a terminal has settings")
    )
}
