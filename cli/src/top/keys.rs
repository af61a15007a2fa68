//! Translates the terminal's key events into those of the model.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// A key that was pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    /// Escape.
    Escape,
    /// One line up.
    Up,
    /// One line down.
    Down,
    /// A screen up.
    PageUp,
    /// A screen down.
    PageDown,
    /// To the first line.
    Home,
    /// Ctrl-C: in raw mode it is a key like others.
    Interrupt,
}

/// The key of an event; nothing for keys without a meaning here.
pub fn key(event: &KeyEvent) -> Option<Key> {
    // Some terminals report releases too.
    if event.kind == KeyEventKind::Release {
        return None;
    }
    let control = event.modifiers.contains(KeyModifiers::CONTROL);
    match event.code {
        KeyCode::Char('c') if control => Some(Key::Interrupt),
        // Alt or Ctrl with a letter is another key, which must not steer the job.
        KeyCode::Char(_) if control || event.modifiers.contains(KeyModifiers::ALT) => None,
        KeyCode::Char(c) => Some(Key::Char(c)),
        KeyCode::Esc => Some(Key::Escape),
        KeyCode::Up => Some(Key::Up),
        KeyCode::Down => Some(Key::Down),
        KeyCode::PageUp => Some(Key::PageUp),
        KeyCode::PageDown => Some(Key::PageDown),
        KeyCode::Home => Some(Key::Home),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_keys_are_no_characters() {
        let of = |code, modifiers| key(&KeyEvent::new(code, modifiers));
        assert_eq!(
            of(KeyCode::Char('P'), KeyModifiers::SHIFT),
            Some(Key::Char('P'))
        );
        assert_eq!(
            of(KeyCode::Char('c'), KeyModifiers::CONTROL),
            Some(Key::Interrupt)
        );
        assert_eq!(of(KeyCode::Char('p'), KeyModifiers::CONTROL), None);
        let release = KeyEvent::new_with_kind(
            KeyCode::Char('y'),
            KeyModifiers::NONE,
            KeyEventKind::Release,
        );
        assert_eq!(key(&release), None);
    }
}
