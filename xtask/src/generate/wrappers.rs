//! Generates the wrappers: one line of Rust for each function that is recorded or takes a
//! communicator.

use super::hooks::hooks;
use super::needs::needs;
use super::table::Function;
use anyhow::{Context, Result, bail};
use std::fmt::Write as _;

/// The text of the whole file.
pub fn wrappers(functions: &[Function]) -> Result<String> {
    let mut out = String::from(
        "// Made by `cargo xtask generate` from proto/mpi.functions. Do not edit.\n\
         //! Wrappers of all MPI functions that are recorded or take a communicator, generated.\n\n\
         use super::macros::{follow, through, wrap};\n\
         use crate::family::*;\n\
         use core::ffi::{c_char, c_int, c_void};\n\n",
    );
    for (index, function) in functions.iter().enumerate() {
        // Number 0 is no function.
        let index = index + 1;
        let Function {
            role, name, family, ..
        } = function;
        // These are written by hand in the shim, or have no wrapper.
        if matches!(
            role.as_str(),
            "none"
                | "init"
                | "finalize"
                | "abort"
                | "session"
                | "attr"
                | "keyval"
                | "asked"
                | "control"
        ) {
            continue;
        }

        let mut arguments = Vec::new();
        for argument in &function.arguments {
            arguments.push(format!(
                "{}: {}",
                argument.name,
                rust_type(&argument.c_type).with_context(|| name.clone())?
            ));
        }
        let arguments = arguments.join(", ");

        match family.as_deref() {
            // MPICH 5 and Intel MPI serve both interfaces with the same functions.
            Some("mpich") => {
                out.push_str("#[cfg(any(feature = \"family-mpich\", feature = \"family-abi\"))]\n");
            }
            Some(family) => {
                let _ = writeln!(out, "#[cfg(feature = \"family-{family}\")]");
            }
            None => {}
        }

        if role == "through" {
            let _ = writeln!(out, "through!({name}, P{name}, ({arguments}));");
            continue;
        }

        let (before, after) = hooks(function).with_context(|| name.clone())?;
        let needs = needs(function).1;
        // Members of a communicator agree on it, whatever each of them is in the middle of.
        let (shape, before) = match role.as_str() {
            "comm_new" | "comm_dup" | "comm_idup" | "comm_apart" | "comm_group"
            | "comm_foreign" | "comm_spawn" | "comm_free" => {
                ("follow", format!("{{ {needs} }} {{ {before} }}"))
            }
            _ => ("wrap", format!("{{ {needs}{before} }}")),
        };
        let noted = match role.as_str() {
            // A collective like any other, but for what it makes.
            "comm_idup" => " { if result == 0 { call.post_coll(comm, None, 0, 0, request); } }",
            _ if shape == "follow" => " {}",
            _ => "",
        };

        let _ = writeln!(
            out,
            "{shape}!({index}, {name}, P{name}, ({arguments}), |call| {before}, \
             |result| {{ {after} }}{noted});"
        );
    }
    Ok(out)
}

/// The Rust type of a C argument. Function pointers and opaque data are untyped pointers.
fn rust_type(c_type: &str) -> Result<String> {
    let constant = c_type.contains("const");

    let base: String = c_type
        .replace("const", "")
        .replace('*', " ")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");

    let stars = c_type.matches('*').count();

    let base = match base.as_str() {
        "int" => "c_int",
        "char" => "c_char",
        "void" => "c_void",
        "double" => "f64",
        "MPI_Aint" | "MPI_Offset" | "MPI_Count" => "i64",
        "MPI_Fint" => "c_int",
        "MPI_Comm" => "Comm",
        "MPI_Datatype" => "Datatype",
        "MPI_Request" => "Request",
        "MPI_Message" => "Message",
        "MPI_Status" => "Status",
        "MPI_Group" | "MPI_Info" | "MPI_Op" | "MPI_Win" | "MPI_Errhandler" | "MPI_Session" => {
            "Handle"
        }
        "MPI_File" => "File",
        "MPI_Comm_errhandler_function" => return Ok("HandlerFn".to_string()),
        // Arguments of a function type decay to pointers.
        other
            if other.starts_with("MPI_")
                && (other.contains("_function") || other.contains("_fn")) =>
        {
            return Ok("*const c_void".to_string());
        }
        other => bail!("no Rust type for `{other}`"),
    };

    Ok(match stars {
        0 => base.to_string(),
        1 => format!("*{} {base}", if constant { "const" } else { "mut" }),
        2 => format!("*{} *mut {base}", if constant { "const" } else { "mut" }),
        _ => "*mut *mut *mut c_char".to_string(),
    })
}
