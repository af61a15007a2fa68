//! Reads the files of a crate into modules: what each defines, imports and names.

use super::tokens::{Token, tokens};
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A module, in a file of its own or in that of its parent.
#[derive(Default)]
pub struct Module {
    /// An index into [`Sources::files`].
    pub file: usize,
    /// An index into [`Sources::modules`]; the root of a crate is its own.
    pub parent: usize,
    pub children: BTreeMap<String, usize>,
    pub definitions: BTreeSet<String>,
    pub imports: Vec<Import>,
    /// The paths before `::*`.
    pub globs: Vec<Vec<String>>,
    /// Paths of two segments or more in the code, imports apart.
    pub paths: BTreeSet<Vec<String>>,
    /// Names in the code, imports apart.
    pub words: BTreeSet<String>,
    /// Names before a `!`.
    pub macro_calls: BTreeSet<String>,
}

/// One name that a `use` brings into a module.
pub struct Import {
    pub name: String,
    pub path: Vec<String>,
    /// `pub use`, of any visibility: it hands a name on, which alone needs nothing of the other
    /// file.
    pub public: bool,
}

/// A crate's modules and the files that hold them.
#[derive(Default)]
pub struct Sources {
    pub modules: Vec<Module>,
    pub files: Vec<PathBuf>,
    /// Macros by name, with the files that define one so called.
    pub macros: BTreeMap<String, Vec<usize>>,
}

impl Sources {
    /// Reads a crate from its root (`src/lib.rs`, `src/main.rs`) on.
    pub fn read(root: &Path) -> Result<Sources> {
        let mut sources = Sources::default();
        sources.modules.push(Module::default());
        let folder = root.parent().context("a source file lies in a folder")?;
        sources.file(root, folder, 0)?;
        Ok(sources)
    }

    /// Reads `path`, which is the text of `module`; modules below it have theirs in `folder`.
    fn file(&mut self, path: &Path, folder: &Path, module: usize) -> Result<()> {
        let source =
            std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
        self.files.push(path.to_owned());
        self.modules[module].file = self.files.len() - 1;
        // The file is known before its items are read: they refer to it.
        let tokens = tokens(&source);
        self.items(&tokens, folder, module)
    }

    /// Reads the tokens between the braces of a module, or all of a file's.
    fn items(&mut self, tokens: &[Token<'_>], folder: &Path, module: usize) -> Result<()> {
        let mut at = 0;
        // Of the item that is being read: each ends where the item does.
        let mut public = false;
        let mut path_attribute = None;
        // Braces that are open; those of `extern "C"` hold definitions of the module.
        let mut depth = 0_usize;
        let text = |at: usize| tokens.get(at).map_or("", |token| token.text);

        while at < tokens.len() {
            match text(at) {
                "#" => {
                    let end = attribute_end(tokens, at);
                    let attribute = &tokens[at..end];
                    if is_for_tests(attribute) {
                        // `#![cfg(test)]` is about the whole module.
                        if text(at + 1) == "!" {
                            return Ok(());
                        }
                        // Tests may use anything of their crate.
                        at = item_end(tokens, end);
                        continue;
                    }

                    if text(at + 2) == "path" && text(at + 3) == "=" {
                        path_attribute = Some(text(at + 4).trim_matches('"').to_owned());
                    }
                    at = end;
                    continue;
                }
                "pub" => {
                    public = true;
                    at += 1;
                    if text(at) == "(" {
                        at = group_end(tokens, at);
                    }
                    continue;
                }
                "use" => {
                    let end = semicolon(tokens, at);

                    let mut prefix = Vec::new();
                    self.import(&tokens[at + 1..end], &mut prefix, public, module);
                    at = end;
                }
                "mod" if text(at + 2) == ";" => {
                    let child = self.child(text(at + 1), module);
                    let folder =
                        self.child_file(folder, child, text(at + 1), path_attribute.take());
                    let (path, below) = folder;
                    self.file(&path, &below, child)?;
                    at += 2;
                }
                "mod" if text(at + 2) == "{" => {
                    let child = self.child(text(at + 1), module);
                    // It has no file of its own.
                    self.modules[child].file = self.modules[module].file;
                    let end = group_end(tokens, at + 2);
                    self.items(&tokens[at + 3..end - 1], &folder.join(text(at + 1)), child)?;
                    at = end;
                    public = false;
                    continue;
                }
                "extern" if text(at + 1).starts_with('"') && text(at + 2) == "{" => {
                    let end = group_end(tokens, at + 2);
                    self.items(&tokens[at + 3..end - 1], folder, module)?;
                    at = end;
                    public = false;
                    continue;
                }
                "macro_rules" => {
                    let name = text(at + 2).to_owned();
                    let file = self.modules[module].file;
                    self.macros.entry(name.clone()).or_default().push(file);
                    self.modules[module].definitions.insert(name);
                    at += 2;
                }
                "{" => depth += 1,
                "}" => depth = depth.saturating_sub(1),
                // Only outside of braces: definitions inside of a function belong to nobody else.
                keyword if depth == 0 && DEFINING.contains(&keyword) => {
                    let mut name = at + 1;
                    if text(name) == "mut" {
                        name += 1;
                    }
                    // `const fn f` defines `f`, which the next round finds.
                    if tokens.get(name).is_some_and(Token::is_word) && text(name) != "fn" {
                        self.modules[module]
                            .definitions
                            .insert(text(name).to_owned());
                    }
                    at = name - 1;
                }
                _ if tokens[at].is_word() => {
                    at = self.path(tokens, at, module);
                    public = false;
                    continue;
                }
                _ => {}
            }
            public = false;
            at += 1;
        }
        Ok(())
    }

    fn child(&mut self, name: &str, parent: usize) -> usize {
        self.modules.push(Module {
            parent,
            ..Module::default()
        });
        let child = self.modules.len() - 1;
        self.modules[parent].children.insert(name.to_owned(), child);
        child
    }

    /// The file of a module that its parent only names, and the folder of the modules below it.
    fn child_file(
        &self,
        folder: &Path,
        child: usize,
        name: &str,
        attribute: Option<String>,
    ) -> (PathBuf, PathBuf) {
        if let Some(path) = attribute {
            let parent = &self.files[self.modules[self.modules[child].parent].file];
            // Relative to the file's own folder, as rustc takes it.
            let path = parent.with_file_name("").join(path);
            let below = path.with_file_name("");
            return (path, below);
        }

        let below = folder.join(name);
        let flat = folder.join(format!("{name}.rs"));
        let path = if flat.exists() {
            flat
        } else {
            below.join("mod.rs")
        };
        (path, below)
    }

    /// Reads one tree of a `use`, without the keyword and the semicolon.
    fn import(
        &mut self,
        tokens: &[Token<'_>],
        prefix: &mut Vec<String>,
        public: bool,
        module: usize,
    ) {
        let depth = prefix.len();
        let mut at = 0;
        while at < tokens.len() {
            match tokens[at].text {
                "{" => {
                    let end = group_end(tokens, at);
                    for part in parts(&tokens[at + 1..end - 1]) {
                        self.import(part, prefix, public, module);
                    }
                    prefix.truncate(depth);
                    return;
                }
                "*" => {
                    self.modules[module].globs.push(prefix.clone());
                    prefix.truncate(depth);
                    return;
                }
                "as" => {
                    let name = tokens.get(at + 1).map_or("_", |token| token.text);
                    self.imported(name.to_owned(), prefix, public, module);
                    prefix.truncate(depth);
                    return;
                }
                "::" => {}
                // `use a::{self}` brings `a` itself.
                "self" if !prefix.is_empty() => {}
                word => prefix.push(word.to_owned()),
            }
            at += 1;
        }

        if let Some(name) = prefix.last().cloned() {
            self.imported(name, prefix, public, module);
        }
        prefix.truncate(depth);
    }

    fn imported(&mut self, name: String, path: &[String], public: bool, module: usize) {
        let path = path.to_vec();
        self.modules[module]
            .imports
            .push(Import { name, path, public });
    }

    /// Notes the path or the name that begins at `at`; the index behind it.
    fn path(&mut self, tokens: &[Token<'_>], at: usize, module: usize) -> usize {
        let text = |at: usize| tokens.get(at).map_or("", |token| token.text);

        let before = if at == 0 { "" } else { text(at - 1) };
        let mut path = vec![text(at).to_owned()];
        let mut end = at + 1;
        while text(end) == "::" && tokens.get(end + 1).is_some_and(Token::is_word) {
            path.push(text(end + 1).to_owned());
            end += 2;
        }

        // A method, a field, or a path from another crate's root.
        if before == "." || before == "::" {
            return end;
        }

        let module = &mut self.modules[module];
        if path.len() > 1 {
            module.paths.insert(path);
        // `a != b` is no macro.
        } else if text(end) == "!" && text(end + 1) != "=" {
            module.macro_calls.insert(path.remove(0));
        } else {
            module.words.insert(path.remove(0));
        }
        end
    }
}

/// Keywords that a definition's name follows.
const DEFINING: [&str; 8] = [
    "fn", "struct", "enum", "union", "trait", "type", "const", "static",
];

/// Behind the attribute at `at`, which is a `#`.
fn attribute_end(tokens: &[Token<'_>], at: usize) -> usize {
    let inner = tokens.get(at + 1).is_some_and(|token| token.text == "!");
    let open = at + if inner { 2 } else { 1 };
    if tokens.get(open).is_some_and(|token| token.text == "[") {
        group_end(tokens, open)
    } else {
        at + 1
    }
}

/// `#[cfg(test)]` and `#[cfg(all(test, ...))]`.
pub fn is_for_tests(attribute: &[Token<'_>]) -> bool {
    // `any(test, ...)` is compiled without tests, too.
    let has = |word: &str| attribute.iter().any(|token| token.text == word);
    has("cfg") && has("test") && !has("not") && !has("any")
}

/// Behind the item that begins at `at`: behind its semicolon or its first braces.
fn item_end(tokens: &[Token<'_>], mut at: usize) -> usize {
    let by_semicolon = |word: &str| ["use", "const", "static", "type", "let"].contains(&word);
    let mut only_semicolon = false;

    let mut begun = false;
    while at < tokens.len() {
        match tokens[at].text {
            ";" => return at + 1,
            "#" if !begun => {
                at = attribute_end(tokens, at);
                continue;
            }
            "{" if !only_semicolon => return group_end(tokens, at),
            "{" | "(" | "[" => {
                at = group_end(tokens, at);
                continue;
            }
            // Of a field, an arm or an argument.
            "," | "}" => return at,
            // `const fn` has braces.
            "fn" => only_semicolon = false,
            word if by_semicolon(word) => only_semicolon = true,
            _ => {}
        }

        begun = true;
        at += 1;
    }
    at
}

/// Behind the bracket that closes the one at `at`.
fn group_end(tokens: &[Token<'_>], at: usize) -> usize {
    let mut depth = 0;
    for (index, token) in tokens.iter().enumerate().skip(at) {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return index + 1;
        }
    }
    tokens.len()
}

fn semicolon(tokens: &[Token<'_>], at: usize) -> usize {
    let length = tokens[at..].iter().position(|token| token.text == ";");
    length.map_or(tokens.len(), |length| at + length)
}

/// Splits at the commas that stand in no bracket.
fn parts<'a, 'b>(tokens: &'a [Token<'b>]) -> Vec<&'a [Token<'b>]> {
    // Inside of braces a comma belongs to an inner list.
    let mut depth = 0;
    tokens
        .split(|token| {
            match token.text {
                "{" => depth += 1,
                "}" => depth -= 1,
                _ => {}
            }
            depth == 0 && token.text == ","
        })
        .filter(|part| !part.is_empty())
        .collect()
}
