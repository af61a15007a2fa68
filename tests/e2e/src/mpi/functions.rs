//! The table of all MPI functions, and which of them an MPI declares.

use super::family::Family;
use crate::paths::root;
use std::collections::BTreeSet;
use std::io::Write;
use std::process::Stdio;

/// A function of the table `proto/mpi.functions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// What the shim does with it: the table says what roles there are.
    pub role: String,
    pub name: String,
    /// The type of its result.
    pub returns: String,
    /// The parameter list, as in C.
    pub parameters: String,
    /// The names of the parameters.
    pub arguments: Vec<String>,
    pub variadic: bool,
}

pub fn all() -> Vec<Function> {
    let path = root().join("proto/mpi.functions");
    let table = std::fs::read_to_string(&path).expect("the table of functions");

    let lines = table
        .lines()
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    lines
        .map(|line| parse(line).unwrap_or_else(|| panic!("{line:?} is no function")))
        .collect()
}

/// `ROLE FAMILIES RETURNS NAME(PARAMETERS)`
fn parse(line: &str) -> Option<Function> {
    let (role, rest) = line.split_once(char::is_whitespace)?;

    let (_, prototype) = rest.trim_start().split_once(char::is_whitespace)?;
    let (head, parameters) = prototype.trim().strip_suffix(')')?.split_once('(')?;
    let (returns, name) = head.rsplit_once(char::is_whitespace)?;

    let name_of = |parameter: &str| {
        // An array parameter has its brackets behind the name.
        let declared = parameter.split('[').next().unwrap_or_default();
        let start = declared
            .rfind(|c: char| !c.is_alphanumeric() && c != '_')
            .map_or(0, |at| at + 1);
        declared[start..].to_owned()
    };

    let list = parameters.split(',').map(str::trim);
    let named = list.filter(|parameter| !matches!(*parameter, "void" | "" | "..."));
    Some(Function {
        role: role.to_owned(),
        name: name.to_owned(),
        returns: returns.trim().to_owned(),
        parameters: parameters.to_owned(),
        arguments: named.map(name_of).collect(),
        variadic: parameters.contains("..."),
    })
}

/// The names of the functions that an MPI's headers declare, found by its preprocessor.
pub fn declared(family: Family) -> BTreeSet<String> {
    let mut compile = family.compiler("mpicc");
    // The preprocessor alone: macros are resolved, and nothing has to link.
    compile.args(["-E", "-P", "-x", "c", "-"]);

    let mut compiler = compile
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("cannot run {compile:?}: {error}"));

    let mut source = compiler.stdin.take().expect("a pipe");
    source
        // Open MPI declares its extensions in a header of their own.
        .write_all(
            b"#include <mpi.h>\n#if __has_include(<mpi-ext.h>)\n#include <mpi-ext.h>\n#endif\n",
        )
        .expect("the compiler reads");
    // Closed, or the compiler waits for more.
    drop(source);

    let output = compiler.wait_with_output().expect("the compiler ends");
    assert!(output.status.success(), "{compile:?} fails");
    names(&String::from_utf8_lossy(&output.stdout))
}

/// The words `MPI_*` and `MPIX_*` before an opening parenthesis.
fn names(text: &str) -> BTreeSet<String> {
    let before = |at: usize| {
        let head = text[..at].trim_end();
        let start = head
            .rfind(|c: char| !c.is_alphanumeric() && c != '_')
            .map_or(0, |at| at + 1);
        head[start..].to_owned()
    };
    // Every parenthesis: casts and types before it are filtered by their names.
    text.match_indices('(')
        .map(|(at, _)| before(at))
        .filter(|name| name.starts_with("MPI_") || name.starts_with("MPIX_"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_table_are_read() {
        let line = "coll  *  int MPI_Reduce_scatter(\
                    const void *sendbuf, const int recvcounts[], MPI_Op op)";
        let function = parse(line).expect("a function");
        assert_eq!(
            (function.role.as_str(), function.name.as_str()),
            ("coll", "MPI_Reduce_scatter")
        );
        assert_eq!(function.arguments, ["sendbuf", "recvcounts", "op"]);
        let function = parse("none * double MPI_Wtime(void)").expect("a function");
        assert_eq!(
            (function.returns.as_str(), function.arguments.len()),
            ("double", 0)
        );
        assert!(
            parse("none * int MPI_Pcontrol(const int level, ...)")
                .expect("a function")
                .variadic
        );
        assert!(all().len() > 600);
    }

    #[test]
    fn declared_names_are_those_before_a_parenthesis() {
        let text = "int MPI_Send (const void *b);\nint PMPI_Recv(void); typedef int (MPI_F)(int);";
        assert_eq!(names(text).into_iter().collect::<Vec<_>>(), ["MPI_Send"]);
    }
}
