//! Reads the table of all MPI functions.

use anyhow::{Context, Result, bail, ensure};

/// The file of the table.
pub const TABLE: &str = "proto/mpi.functions";

/// One line of the table.
#[derive(Debug)]
pub struct Function {
    /// The role, which says what a wrapper does.
    pub role: String,
    /// The only family that declares it; `None` if all do.
    pub family: Option<String>,
    /// The name, as in C.
    pub name: String,
    /// Its arguments; the three dots of variable ones are left out.
    pub arguments: Vec<Argument>,
}

impl Function {
    /// Whether its wrapper records calls.
    pub fn is_recorded(&self) -> bool {
        !matches!(
            self.role.as_str(),
            "none" | "through" | "attr" | "keyval" | "asked" | "control"
        )
    }
}

/// One argument of a function.
#[derive(Debug)]
pub struct Argument {
    /// The name, changed where Rust reserves it.
    pub name: String,
    /// The C type without the name; an array is a pointer.
    pub c_type: String,
}

/// Reads the table.
pub fn parse(table: &str) -> Result<Vec<Function>> {
    let mut functions = Vec::new();
    for (number, line) in table.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let function =
            parse_line(line).with_context(|| format!("{TABLE}:{}: {line}", number + 1))?;
        ensure!(
            !functions.iter().any(|f: &Function| f.name == function.name),
            "{TABLE}:{}: {} stands twice",
            number + 1,
            function.name
        );
        functions.push(function);
    }
    Ok(functions)
}

fn parse_line(line: &str) -> Result<Function> {
    let (role, rest) = line
        .split_once(char::is_whitespace)
        .context("a role, families, then a prototype")?;
    let (family, prototype) = rest
        .trim()
        .split_once(char::is_whitespace)
        .context("families, then a prototype")?;

    let family = match family {
        "*" => None,
        "ompi" | "mpich" => Some(family.to_string()),
        other => bail!("`{other}` is no family"),
    };

    let prototype = prototype.trim();
    let open = prototype.find('(').context("no argument list")?;
    let inner = prototype[open + 1..]
        .strip_suffix(')')
        .context("no closing parenthesis")?;
    let name = prototype[..open]
        .split_whitespace()
        .last()
        .context("no name")?
        .to_string();

    let arguments = if inner == "void" || inner.is_empty() {
        Vec::new()
    } else {
        inner
            .split(',')
            .map(str::trim)
            .filter(|a| *a != "...")
            .map(argument)
            .collect::<Result<_>>()?
    };
    Ok(Function {
        role: role.to_string(),
        family,
        name,
        arguments,
    })
}

/// `const int counts[]` and the like: the name is the last word, arrays are pointers.
fn argument(text: &str) -> Result<Argument> {
    let (declared, array) = match text.find('[') {
        Some(at) => (&text[..at], true),
        None => (text, false),
    };

    let start = declared
        .rfind(|c: char| !(c.is_alphanumeric() || c == '_'))
        .map_or(0, |at| at + 1);
    let name = &declared[start..];
    ensure!(
        !name.is_empty() && start > 0,
        "argument `{text}` has no name"
    );

    let mut c_type: String = declared[..start]
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    if array {
        c_type.push_str(" *");
    }
    Ok(Argument {
        name: keyword(name),
        c_type,
    })
}

/// MPI's argument names that Rust keeps for itself.
fn keyword(name: &str) -> String {
    match name {
        "type" | "in" | "ref" | "match" | "self" | "fn" => format!("{name}_"),
        _ => name.to_string(),
    }
}

impl Function {
    /// Whether it has an argument of this name.
    pub fn has(&self, name: &str) -> bool {
        self.arguments.iter().any(|argument| argument.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_line_is_named() {
        let error = parse("# comment\nplain * int MPI_X\n").unwrap_err();
        assert!(
            format!("{error:#}").contains("mpi.functions:2"),
            "{error:#}"
        );
    }
}
