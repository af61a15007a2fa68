//! The commit that is tested.

use crate::run::output;
use std::path::Path;
use std::process::Command;

/// The page that the long run writes: it is no part of what is tested.
pub const PAGE: &str = "docs/manual/reference/long-tests.md";

/// The commit that the files of this repository are; nothing where they differ from every commit,
/// by as much as one new file. A commit that changes the page alone is passed over: whoever commits
/// the page of a run has still tested that.
pub fn tested(root: &Path) -> Option<String> {
    let but_the_page = format!(":(exclude){PAGE}");
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.current_dir(root).args(arguments);
        let said = output(git.args(["--", ".", &but_the_page])).ok()?;
        Some(said.trim().to_owned())
    };
    let changes = git(&["status", "--porcelain", "--untracked-files=all"])?;
    if !changes.is_empty() {
        return None;
    }
    git(&["log", "-1", "--format=%H"]).filter(|commit| !commit.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::check;
    use std::path::PathBuf;

    struct Repository(PathBuf);

    impl Repository {
        fn new(test: &str) -> Repository {
            let name = format!("target/tmp/commit-{}-{test}", std::process::id());
            let repository = Repository(crate::run::root().join(name));
            let _ = std::fs::remove_dir_all(&repository.0);
            std::fs::create_dir_all(repository.0.join(PAGE).parent().unwrap()).unwrap();
            repository.git(&["init", "-q"]);
            repository
        }

        fn git(&self, arguments: &[&str]) {
            let mut git = Command::new("git");
            git.current_dir(&self.0);
            git.args(["-c", "user.name=a", "-c", "user.email=a@b"]);
            git.args(["-c", "commit.gpgsign=false"]);
            check(git.args(arguments)).unwrap();
        }

        fn write(&self, name: &str, text: &str) {
            std::fs::write(self.0.join(name), text).unwrap();
        }

        fn commit(&self) -> String {
            self.git(&["add", "."]);
            self.git(&["commit", "-q", "-m", "a"]);
            let mut head = Command::new("git");
            head.current_dir(&self.0).args(["rev-parse", "HEAD"]);
            output(&mut head).unwrap().trim().to_owned()
        }
    }

    impl Drop for Repository {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn only_a_clean_tree_is_a_commit() {
        let repository = Repository::new("clean");
        repository.write("a", "1");
        let first = repository.commit();
        assert_eq!(tested(&repository.0), Some(first.clone()));
        repository.write("b", "new");
        assert_eq!(tested(&repository.0), None, "a file that is not in it");
        std::fs::remove_file(repository.0.join("b")).unwrap();
        repository.write("a", "2");
        assert_eq!(tested(&repository.0), None, "a changed file");
        assert_ne!(repository.commit(), first);
        assert_ne!(tested(&repository.0), Some(first));
    }

    #[test]
    fn the_page_is_no_part_of_what_is_tested() {
        let repository = Repository::new("page");
        repository.write("a", "1");
        let first = repository.commit();
        repository.write(PAGE, "results");
        assert_eq!(tested(&repository.0), Some(first.clone()), "not committed");
        assert_ne!(repository.commit(), first);
        assert_eq!(tested(&repository.0), Some(first), "committed alone");
        repository.write("a", "2");
        repository.write(PAGE, "more");
        let both = repository.commit();
        assert_eq!(tested(&repository.0), Some(both), "with something else");
    }
}
