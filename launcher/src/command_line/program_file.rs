//! The file of programs of `srun --multi-prog`: which rank runs which program, and the same file
//! with Invivo before every program and lines for the tool processes. Pure.
//!
//! ```text
//! 0-2,7  ./a 'an argument' %t
//! *      ./b                     the ranks that no other line names
//! ```
//!
//! `\` takes the next character as it is, and `'` all to the next `'`; elsewhere `%t` is the number
//! of the process in the job, and `%o` that among those of its line. Both would count tool
//! processes, so ranks whose lines have them get lines of their own.

use crate::job::spread::Spread;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::ops::RangeInclusive;

/// Bytes that Slurm reads of a line.
const LINE_MAX: usize = 1021;
/// Words that Slurm has room for in a line, behind the numbers.
const WORDS_MAX: usize = 127;
/// Bytes that Slurm reads of the file.
const FILE_MAX: usize = 60_000;
/// More ranks than any job has that starts in this way, so that a mistyped range takes no memory.
const RANKS_MAX: u32 = 1 << 20;

/// The programs of a job, as the user has written them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramFile {
    /// Each program with its arguments, as it is written.
    texts: Vec<String>,
    /// The program of each rank, and the rank's number among those of its line.
    of_ranks: Vec<(usize, u32)>,
}

/// The numbers of a line.
enum Numbers {
    All,
    Ranges(Vec<RangeInclusive<u32>>),
}

impl ProgramFile {
    /// Reads the file for so many ranks, or for as many as it names.
    ///
    /// # Errors
    /// What Slurm would not take, or is not read.
    pub fn read(text: &str, ranks: Option<u32>) -> Result<ProgramFile, String> {
        let mut texts = Vec::new();
        let mut named = BTreeMap::new();
        let mut others = None;
        for line in lines(text) {
            let wrong = |why: &str| format!("{line:?} in the file of programs {why}");
            if line.ends_with('\\') {
                return Err(wrong(
                    "goes on in the next line, which `invivo run` does not read",
                ));
            }
            let (numbers, program) = parted(line).ok_or_else(|| wrong("names no program"))?;
            let which = texts.len();
            texts.push(program.to_owned());
            match self::numbers(numbers).ok_or_else(|| wrong("does not say which ranks"))? {
                Numbers::All => others = Some(which),
                Numbers::Ranges(ranges) => {
                    for (offset, rank) in (0..).zip(ranges.into_iter().flatten()) {
                        if named.insert(rank, (which, offset)).is_some() {
                            return Err(wrong(&format!("names rank {rank} a second time")));
                        }
                    }
                }
            }
        }

        let highest = named.keys().next_back().map_or(0, |rank| rank + 1);
        let ranks = match (ranks, others) {
            (Some(ranks), _) => ranks,
            (None, Some(_)) => return Err(
                "the file of programs has a line for all other ranks (*), and nothing says how \
                 many there are; give their number with -n"
                    .to_owned(),
            ),
            (None, None) => highest,
        };
        if highest > ranks {
            return Err(format!(
                "the file of programs names rank {}, and there are {ranks}",
                highest - 1
            ));
        }
        // Slurm counts the offset of such a rank from the first of all.
        let program = |rank| named.get(&rank).copied().or_else(|| Some((others?, rank)));
        let of_ranks = (0..ranks).map(|rank| {
            program(rank).ok_or_else(|| format!("the file of programs has none for rank {rank}"))
        });
        Ok(ProgramFile {
            of_ranks: of_ranks.collect::<Result<_, _>>()?,
            texts,
        })
    }

    /// Ranks of all programs.
    pub fn ranks(&self) -> u32 {
        self.of_ranks.len() as u32
    }

    /// The file for ranks and tool processes, with `inserted` before each program. Where the
    /// processes are spread over nodes the last one of each is the tool, else those behind the
    /// ranks. A tool process is started with the program of the rank before it.
    ///
    /// # Errors
    /// When Slurm would not read it.
    pub fn extended(
        &self,
        total: u32,
        spread: Option<Spread>,
        inserted: &[OsString],
    ) -> Result<String, String> {
        let tools = match spread {
            Some(spread) => spread.tools(),
            None => (0..total).map(|process| process >= self.ranks()).collect(),
        };
        let inserted: Vec<String> = inserted.iter().map(as_written).collect();
        let inserted = inserted.join(" ");
        let mut ranks = (0..).zip(&self.of_ranks);
        let mut program = String::new();
        let mut text = String::new();
        // The numbers of neighbours with the same program, and that.
        let mut open: Option<(RangeInclusive<u32>, String)> = None;
        for (process, is_tool) in (0..).zip(tools) {
            if !is_tool && let Some((rank, (which, offset))) = ranks.next() {
                program = with_numbers(&self.texts[*which], rank, *offset);
            }
            match &mut open {
                Some((numbers, of_them)) if *of_them == program => {
                    *numbers = *numbers.start()..=process;
                }
                open => {
                    let done = open.replace((process..=process, program.clone()));
                    text += &line(done, &inserted)?;
                }
            }
        }
        text += &line(open, &inserted)?;
        if text.len() > FILE_MAX {
            return Err(format!(
                "the file of programs with `invivo exec` in it has {} bytes, and Slurm reads \
                 {FILE_MAX}",
                text.len()
            ));
        }
        Ok(text)
    }
}

/// The names of all programs, as Slurm looks for them.
pub fn names(text: &str) -> Vec<OsString> {
    let programs = lines(text).filter_map(parted);
    programs
        .map(|(_, program)| first_word(program).into())
        .collect()
}

/// Lines that say something.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().map(str::trim_start);
    lines.filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// The numbers of a line, and its program.
fn parted(line: &str) -> Option<(&str, &str)> {
    let (numbers, program) = line.split_once(char::is_whitespace)?;
    let program = program.trim_start();
    (!program.is_empty()).then_some((numbers, program))
}

/// `0-2,7` or `*`
fn numbers(text: &str) -> Option<Numbers> {
    if text == "*" {
        return Some(Numbers::All);
    }
    let ranges = text.split(',').map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let number = |text: &str| text.parse().ok().filter(|rank| *rank < RANKS_MAX);
        let (first, last) = (number(first)?, number(last)?);
        (first <= last).then_some(first..=last)
    });
    ranges.collect::<Option<Vec<_>>>().map(Numbers::Ranges)
}

fn first_word(program: &str) -> String {
    let mut word = String::new();
    let mut is_quoted = false;
    let mut letters = program.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' => is_quoted = !is_quoted,
            '\\' if !is_quoted => word.extend(letters.next()),
            _ if letter.is_whitespace() && !is_quoted => break,
            _ => word.push(letter),
        }
    }
    word
}

/// A program with the numbers of a rank in place of `%t` and `%o`.
fn with_numbers(program: &str, rank: u32, offset: u32) -> String {
    let mut text = String::with_capacity(program.len());
    let mut is_quoted = false;
    let mut letters = program.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '%' if !is_quoted && letters.as_str().starts_with(['t', 'o']) => {
                let number = match letters.next() {
                    Some('t') => rank,
                    _ => offset,
                };
                text += &number.to_string();
                continue;
            }
            '\'' => is_quoted = !is_quoted,
            '\\' if !is_quoted => {
                text.push(letter);
                text.extend(letters.next());
                continue;
            }
            _ => {}
        }
        text.push(letter);
    }
    text
}

/// A word as it is written into such a file.
fn as_written(word: &OsString) -> String {
    let mut text = String::new();
    for letter in word.to_string_lossy().chars() {
        if letter.is_whitespace() || ['\\', '\'', '%'].contains(&letter) {
            text.push('\\');
        }
        text.push(letter);
    }
    text
}

/// The line of processes with the same program.
fn line(
    processes: Option<(RangeInclusive<u32>, String)>,
    inserted: &str,
) -> Result<String, String> {
    let Some((numbers, program)) = processes else {
        return Ok(String::new());
    };
    let numbers = match (numbers.start(), numbers.end()) {
        (first, last) if first == last => first.to_string(),
        (first, last) => format!("{first}-{last}"),
    };
    let line = format!("{numbers} {inserted} {program}");
    let words = line.split_whitespace().count() - 1;
    if line.len() > LINE_MAX || words > WORDS_MAX || inserted.contains('\n') {
        return Err(format!(
            "a line of the file of programs with `invivo exec` in it has {} bytes and {words} \
             words, and Slurm reads {LINE_MAX} and {WORDS_MAX}: {line}",
            line.len()
        ));
    }
    Ok(line + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    fn extended(text: &str, total: u32, spread: Option<&str>) -> Result<String, String> {
        let spread: Option<Spread> = spread.map(|text| text.parse().expect("a spread"));
        let tools = spread.map_or(1, |spread| spread.nodes);
        let file = ProgramFile::read(text, Some(total - tools))?;
        file.extended(total, spread, &words("invivo exec --"))
    }

    #[test]
    fn every_program_gets_its_tool_processes() {
        for (text, total, spread, expected) in [
            (
                "0-2 ./a x\n3-7 ./b\n",
                12,
                Some("block:12:4"),
                "0-3 invivo exec -- ./a x\n4-11 invivo exec -- ./b\n",
            ),
            (
                "# two of them\n3-7,0 ./b\n\n  1,2 ./a\n",
                12,
                Some("cyclic:12:4"),
                "0 invivo exec -- ./b\n1-2 invivo exec -- ./a\n3-11 invivo exec -- ./b\n",
            ),
            (
                "0 ./a\n* ./b\n",
                4,
                None,
                "0 invivo exec -- ./a\n1-3 invivo exec -- ./b\n",
            ),
            (
                "0-1 ./a\n2-3 ./b\n",
                6,
                Some("plane=2:6:2"),
                "0-1 invivo exec -- ./a\n2-5 invivo exec -- ./b\n",
            ),
        ] {
            assert_eq!(
                extended(text, total, spread).as_deref(),
                Ok(expected),
                "{text}"
            );
        }
    }

    /// The second node's tool process is number 5, and its ranks are 2 and 3.
    #[test]
    fn numbers_are_those_of_ranks() {
        let text = "0-1 ./a %t-%o '%t' \\%t %x\n2,3 ./b %o%t\n";
        let expected = "0 invivo exec -- ./a 0-0 '%t' \\%t %x\n\
                        1-2 invivo exec -- ./a 1-1 '%t' \\%t %x\n\
                        3 invivo exec -- ./b 02\n4-5 invivo exec -- ./b 13\n";
        assert_eq!(
            extended(text, 6, Some("block:6:2")).as_deref(),
            Ok(expected)
        );
        // As Slurm numbers the ranks of a line for all others.
        let others = extended("0 ./a\n* ./b %o\n", 3, None);
        assert_eq!(
            others.as_deref(),
            Ok("0 invivo exec -- ./a\n1-2 invivo exec -- ./b 1\n")
        );
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        for (text, part) in [
            ("0 ./a\n", "none for rank 1"),
            ("0-3 ./a\n", "names rank 3, and there are 2"),
            ("0-1 ./a\n1 ./b\n", "names rank 1 a second time"),
            ("0,1\n", "names no program"),
            ("0-1 ./a \\\n x\n", "goes on in the next line"),
            ("1-0 ./a\n", "which ranks"),
            ("0-99999999 ./a\n", "which ranks"),
            ("a ./a\n", "which ranks"),
        ] {
            let said = ProgramFile::read(text, Some(2)).expect_err(text);
            assert!(said.contains(part), "{text:?}: {said}");
        }
        let unknown = ProgramFile::read("* ./a\n", None).expect_err("how many?");
        assert!(unknown.contains("-n"), "{unknown}");
        assert_eq!(
            ProgramFile::read("0-2 ./a\n", None).map(|file| file.ranks()),
            Ok(3)
        );
        let long = format!("* ./a {}\n", "x".repeat(LINE_MAX));
        assert!(extended(&long, 3, None).is_err_and(|why| why.contains("1021")));
        let many = format!("* ./a {}\n", "x ".repeat(WORDS_MAX));
        assert!(extended(&many, 3, None).is_err_and(|why| why.contains("127")));
    }

    #[test]
    fn words_are_written_so_that_slurm_reads_them() {
        assert_eq!(as_written(&"a b'%t\\".into()), "a\\ b\\'\\%t\\\\");
        let file = "# x\n0 'a b' c\n1 ./a\\ b\n2 ./c\n3\n";
        assert_eq!(names(file), ["a b", "./a b", "./c"].map(OsString::from));
        assert_eq!(first_word(&as_written(&"a b'%t\\".into())), "a b'%t\\");
    }
}
