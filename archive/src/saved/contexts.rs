//! Calling contexts of ranks: checked when they are read, and what samples say by them.

use super::format::{Context, FrameKind};

/// The highest number of a context, as of those that place and sampler give.
const NUMBER_MAX: u32 = 16_384;
/// Contexts above each other: a sampler follows half as many frames. A path takes memory for each.
const DEPTH_MAX: usize = 256;
/// Bytes of a name, as samplers cut them.
const NAME_BYTES_MAX: usize = 192;

/// Why contexts are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContextError {
    /// No sampler numbers so many.
    #[error("a calling context has the number {0}, and none has one that is not 1 to {NUMBER_MAX}")]
    Number(u32),
    /// Two have the same number.
    #[error("two calling contexts have the number {0}")]
    Twice(u32),
    /// Callers have lower numbers, so that no path is endless.
    #[error("calling context {number} has the caller {parent}, whose number is not lower")]
    Order {
        /// The context.
        number: u32,
        /// Its caller.
        parent: u32,
    },
    /// The caller is not there.
    #[error("the caller of calling context {number}, {parent}, is not there")]
    NoCaller {
        /// The context.
        number: u32,
        /// Its caller.
        parent: u32,
    },
    /// Nobody follows a path that far.
    #[error("calling context {0} has more than {DEPTH_MAX} callers above each other")]
    Deep(u32),
}

/// The contexts of a rank in the order of their numbers, if they are a tree. Names that are longer
/// than any sampler gives are cut.
///
/// # Errors
/// Why they are none.
pub(super) fn checked(mut contexts: Vec<Context>) -> Result<Vec<Context>, ContextError> {
    contexts.sort_unstable_by_key(|of| of.number);
    // Of each the number and how many are above it; callers come first.
    let mut depths: Vec<(u32, usize)> = Vec::with_capacity(contexts.len());
    for of in &mut contexts {
        let (number, parent) = (of.number, of.parent);
        if !(1..=NUMBER_MAX).contains(&number) {
            return Err(ContextError::Number(number));
        }
        if depths.last().is_some_and(|(last, _)| *last == number) {
            return Err(ContextError::Twice(number));
        }
        if parent >= number {
            return Err(ContextError::Order { number, parent });
        }
        let mut depth = 0;
        if parent != 0 {
            let caller = depths.binary_search_by_key(&parent, |(number, _)| *number);
            let caller = caller.map_err(|_| ContextError::NoCaller { number, parent })?;
            depth = depths[caller].1 + 1;
        }
        if depth > DEPTH_MAX {
            return Err(ContextError::Deep(number));
        }
        depths.push((number, depth));
        cut(&mut of.module);
        cut(&mut of.name);
    }
    Ok(contexts)
}

/// Cuts a name between two characters.
fn cut(name: &mut String) {
    name.truncate(name.floor_char_boundary(NAME_BYTES_MAX));
}

impl Context {
    /// How it is called where there is one name for it, as in a profile.
    pub fn called(&self) -> &str {
        match (self.kind, self.name.as_str(), self.module.as_str()) {
            (FrameKind::Lost, ..) => "(callers that are not known)",
            (FrameKind::LeftOut, ..) => "(...)",
            (_, "", "") => "(code in no file)",
            (_, "", module) => module,
            (_, name, _) => name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn context(number: u32, parent: u32) -> Context {
        Context {
            number,
            parent,
            name: format!("f{number}"),
            ..Context::default()
        }
    }

    #[test]
    fn hostile_contexts_are_refused_with_the_reason() {
        let refused = [
            (vec![context(0, 0)], ContextError::Number(0)),
            (
                vec![context(NUMBER_MAX + 1, 0)],
                ContextError::Number(NUMBER_MAX + 1),
            ),
            (
                vec![context(2, 0), context(1, 0), context(2, 1)],
                ContextError::Twice(2),
            ),
            (
                vec![context(3, 3)],
                ContextError::Order {
                    number: 3,
                    parent: 3,
                },
            ),
            (
                vec![context(1, 2), context(2, 1)],
                ContextError::Order {
                    number: 1,
                    parent: 2,
                },
            ),
            (
                vec![context(1, 0), context(3, 2)],
                ContextError::NoCaller {
                    number: 3,
                    parent: 2,
                },
            ),
        ];
        for (contexts, error) in refused {
            assert_eq!(checked(contexts), Err(error));
        }
        let deep = (1..NUMBER_MAX).map(|number| context(number, number - 1));
        let error = checked(deep.collect()).expect_err("too deep");
        assert_eq!(error, ContextError::Deep(DEPTH_MAX as u32 + 2));
    }

    #[test]
    fn long_names_are_cut_between_characters() {
        let long = Context {
            name: "x".to_owned() + &"\u{e9}".repeat(200),
            ..context(1, 0)
        };
        let cut = checked(vec![long]).expect("a tree");
        assert_eq!(cut[0].name.len(), NAME_BYTES_MAX - 1);
    }

    #[test]
    fn what_has_no_name_is_called_by_its_file() {
        let of = |kind, module: &str, name: &str| Context {
            kind,
            module: module.to_owned(),
            name: name.to_owned(),
            ..Context::default()
        };
        let called = [
            (of(FrameKind::Function, "app", "main"), "main"),
            (of(FrameKind::Function, "[kernel]", ""), "[kernel]"),
            (of(FrameKind::Function, "", ""), "(code in no file)"),
            (of(FrameKind::Python, "run.py", "step"), "step"),
            (of(FrameKind::LeftOut, "", ""), "(...)"),
            (of(FrameKind::Lost, "", ""), "(callers that are not known)"),
        ];
        for (context, name) in called {
            assert_eq!(context.called(), name);
        }
    }

    proptest! {
        /// Contexts pass exactly if each of them leads to its outermost caller by lower numbers.
        #[test]
        fn equals_following_each_path(
            pairs in prop::collection::vec((0u32..9, 0u32..9), 0..9),
        ) {
            let all: Vec<Context> = pairs.iter().map(|(n, parent)| context(*n, *parent)).collect();
            let is_tree = all.iter().all(|of| {
                let same = all.iter().filter(|other| other.number == of.number);
                let mut at = of;
                let leads = loop {
                    if at.number == 0 || at.parent >= at.number {
                        break false;
                    }
                    if at.parent == 0 {
                        break true;
                    }
                    match all.iter().find(|other| other.number == at.parent) {
                        Some(caller) => at = caller,
                        None => break false,
                    }
                };
                leads && same.count() == 1
            });
            prop_assert_eq!(checked(all).is_ok(), is_tree);
        }
    }
}
