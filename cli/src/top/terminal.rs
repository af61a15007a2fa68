//! The terminal of `top`: raw mode and an alternate screen, restored at the end, at a signal, and
//! at a panic.

use super::model::Model;
use super::view;
use invivo_report::glyphs::Look;
use ratatui::DefaultTerminal;
use ratatui::layout::Size;
use std::future::poll_fn;
use std::io;
use std::task::Poll;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The screen, while it is ours.
pub struct Screen {
    terminal: DefaultTerminal,
}

impl Screen {
    /// Takes the terminal over: raw mode, and a screen of its own beside the one with the user's
    /// shell. A panic gives it back before it tells what happened.
    ///
    /// # Errors
    /// When standard output is no terminal that can do this.
    pub fn open() -> io::Result<Screen> {
        Ok(Screen {
            terminal: ratatui::try_init()?,
        })
    }

    /// Draws the model; the size of the screen.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn draw(&mut self, model: &Model, look: Look) -> io::Result<Size> {
        let completed = self
            .terminal
            .draw(|frame| view::draw(model, look, frame.area(), frame.buffer_mut()))?;
        Ok(completed.area.as_size())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // The terminal may be gone: then there is nothing to give back.
        let _ = ratatui::try_restore();
    }
}

/// The signals that end a program.
pub struct Signals {
    kinds: Vec<(SignalKind, Signal)>,
}

impl Signals {
    /// Takes them over: from now on they are read with [`Signals::next`].
    ///
    /// # Errors
    /// When the system does not let them be handled.
    pub fn new() -> io::Result<Signals> {
        // All that a terminal or a batch system sends: without a handler the screen would stay in
        // raw mode.
        let kinds = [
            SignalKind::hangup(),
            SignalKind::interrupt(),
            SignalKind::quit(),
            SignalKind::terminate(),
        ];
        let kinds = kinds.map(|kind| Ok((kind, signal(kind)?)));
        Ok(Signals {
            kinds: kinds.into_iter().collect::<io::Result<_>>()?,
        })
    }

    /// The next one.
    pub async fn next(&mut self) -> SignalKind {
        poll_fn(|context| {
            for (kind, signal) in &mut self.kinds {
                if signal.poll_recv(context).is_ready() {
                    return Poll::Ready(*kind);
                }
            }
            Poll::Pending
        })
        .await
    }

    /// Does what the signal does to a program that does not handle it.
    ///
    /// # Errors
    /// When the system does not let it.
    pub fn die_of(&self, kind: SignalKind) -> io::Result<()> {
        signal_hook::low_level::emulate_default_handler(kind.as_raw_value())
    }
}

#[cfg(test)]
#[path = "../../tests/terminal/mod.rs"]
mod pseudo_terminal;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::top::samples;

    /// The program in the terminal of the other test.
    #[test]
    #[ignore = "panics, in a terminal that the other test opens"]
    fn panics_on_the_screen() {
        let mut screen = Screen::open().expect("a terminal");
        let look = Look {
            ascii: true,
            color: true,
        };
        screen.draw(&samples::model(&[]), look).expect("drawn");
        panic!("something unforeseen");
    }

    #[test]
    fn a_panic_is_told_on_the_terminal_as_it_was() {
        let program = std::env::current_exe().expect("this program");
        let arguments = [
            "--ignored",
            "--exact",
            "--nocapture",
            "top::terminal::tests::panics_on_the_screen",
        ];
        let terminal = pseudo_terminal::Terminal::start(
            &program,
            &arguments,
            &[("RUST_BACKTRACE", "0")],
            (80, 24),
        );
        let left = terminal.left();
        assert_eq!(left.code, 101, "{}", left.screen);
        let opened = left.raw.find("\x1b[?1049h").expect("a screen of its own");
        let told = left.raw.find("something unforeseen").expect("told");
        let closed = left.raw.find("\x1b[?1049l").expect("closed");
        assert!(opened < closed && closed < told, "{:?}", left.raw);
    }
}
