//! Follows names to the files that define them, through imports and re-exports.

use super::modules::{Import, Module, Sources};
use std::collections::{BTreeMap, BTreeSet};

/// For each pair of files (indices into [`Sources::files`]) the names that the first takes from the
/// second.
pub type Arrows = BTreeMap<(usize, usize), BTreeSet<String>>;

/// What was looked up on the way to an answer: re-exports by `*` can lead back to themselves.
type Seen = BTreeSet<(usize, String)>;

enum Found {
    Module(usize),
    Item { file: usize, name: String },
}

/// All arrows between the files of a crate.
pub fn arrows(sources: &Sources) -> Arrows {
    let mut arrows = Arrows::new();
    for index in 0..sources.modules.len() {
        for (file, name) in uses(sources, index) {
            // Within one file there is no arrow.
            let from = sources.modules[index].file;
            if from != file {
                arrows.entry((from, file)).or_default().insert(name);
            }
        }
    }
    arrows
}

/// What a module takes, with the file that defines it.
fn uses(sources: &Sources, index: usize) -> Vec<(usize, String)> {
    let module = &sources.modules[index];
    let mut found = Vec::new();
    let mut note = |what: Option<Found>| {
        if let Some(Found::Item { file, name }) = what {
            found.push((file, name));
        }
    };

    for import in module
        .imports
        .iter()
        .filter(|import| is_used(module, import))
    {
        // Each look-up has a record of its own: only a way that comes back to itself is cut.
        note(resolve(sources, index, &import.path, &mut Seen::new()));
    }

    for path in &module.paths {
        note(resolve(sources, index, path, &mut Seen::new()));
    }

    for glob in &module.globs {
        if let Some(Found::Module(target)) = resolve(sources, index, glob, &mut Seen::new()) {
            // A glob gives whatever of its module is named here and not defined here.
            for word in module.words.difference(&module.definitions) {
                note(lookup(sources, target, word, false, &mut Seen::new()));
            }
        }
    }

    for name in &module.macro_calls {
        // Macros are also in scope by the order of the text, without an import.
        let files = sources
            .macros
            .get(name)
            .filter(|files| !files.contains(&module.file));
        let file = files.and_then(|files| files.first());
        note(file.map(|file| Found::Item {
            file: *file,
            name: format!("{name}!"),
        }));
    }
    found
}

/// A re-export counts only where the module names it in its own code too.
fn is_used(module: &Module, import: &Import) -> bool {
    !import.public
        || module.words.contains(&import.name)
        || module.paths.iter().any(|path| path[0] == import.name)
}

/// What `path` means in `module`; nothing for what another crate defines.
fn resolve(sources: &Sources, module: usize, path: &[String], seen: &mut Seen) -> Option<Found> {
    let parent = |module: usize| {
        let parent = sources.modules[module].parent;
        (parent, &path[1..])
    };

    let (mut at, mut rest) = match path.first()?.as_str() {
        "crate" => (0, &path[1..]),
        "self" => (module, &path[1..]),
        "super" => parent(module),
        // A first word that is not known belongs to another crate: nothing.
        first => match lookup(sources, module, first, path.len() > 1, seen)? {
            Found::Module(found) => (found, &path[1..]),
            item @ Found::Item { .. } => return Some(item),
        },
    };

    while let Some((name, more)) = rest.split_first() {
        rest = more;
        // `super::super` is possible.
        if name == "super" {
            at = sources.modules[at].parent;
            continue;
        }
        match lookup(sources, at, name, !rest.is_empty(), seen) {
            Some(Found::Module(found)) => at = found,
            Some(item) => return Some(item),
            // A macro defines it there.
            None => {
                let file = sources.modules[at].file;
                return Some(Found::Item {
                    file,
                    name: name.clone(),
                });
            }
        }
    }
    Some(Found::Module(at))
}

/// What `name` means in a module; `before_others` where more of a path follows, so that it is
/// rather a module than a function of that name.
fn lookup(
    sources: &Sources,
    index: usize,
    name: &str,
    before_others: bool,
    seen: &mut Seen,
) -> Option<Found> {
    let module = &sources.modules[index];
    let item = module.definitions.contains(name).then(|| Found::Item {
        file: module.file,
        name: name.to_owned(),
    });
    let child = module.children.get(name).map(|child| Found::Module(*child));

    let own = if before_others {
        child.or(item)
    } else {
        item.or(child)
    };
    // Own definitions hide imports; the second condition ends circles of re-exports.
    if own.is_some() || !seen.insert((index, name.to_owned())) {
        return own;
    }

    let imported = module
        .imports
        .iter()
        .filter(|import| import.name == name)
        .find_map(|import| {
            // `use name::name` is about the crate of that name, not about itself.
            let own = import.path.first().is_some_and(|first| first == name);
            if own && !module.children.contains_key(name) {
                return None;
            }
            resolve(sources, index, &import.path, seen)
        });

    // Globs come last, as in the language.
    imported.or_else(|| {
        module
            .globs
            .iter()
            .find_map(|glob| match resolve(sources, index, glob, seen)? {
                Found::Module(target) if target != index => {
                    lookup(sources, target, name, before_others, seen)
                }
                _ => None,
            })
    })
}
