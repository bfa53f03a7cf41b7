//! Results of steps on disk: the store of [`Cached`](crate::workflow::Cached) steps whose results outlive the process.
//!
//! ```text
//! <folder>/abcdef…(64 digits)     "cembra result, sha256 …", then the text of the result
//! <folder>/.…                     results that are being written: renamed when they are complete
//! ```
//!
//! 1. A result appears under its name when it is whole: written privately, then renamed.
//! 2. What is cut, changed, too long or no file is no result: the step runs again, and its result takes the place.
//! 3. A folder that cannot be read or written is an empty store, which keeps nothing.
//! 4. A result that was kept says itself whether it still holds ([`KeptText::read`]).

use crate::native::files::{children, is_stale, new_file_in, read_text, touch, used};
use crate::workflow::{StepKey, Store};
use cembra_vm::library::Digest;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Bytes of a result that is kept.
const LONGEST: u64 = 1 << 20;

/// A result that is kept as a text.
pub trait KeptText: Sized {
    /// Its text.
    fn text(&self) -> String;

    /// The result of a text, if the text says one that still holds.
    fn read(text: &str) -> Option<Self>;
}

/// Results in the files of a folder, a number of them. Threads and processes may share it; each result is of one process,
/// the last one that wrote it.
#[derive(Clone, Debug)]
pub struct DiskStore {
    folder: PathBuf,
    results: usize,
}

impl DiskStore {
    /// A store in a folder, which is made when it is needed, for a number of results; those used longest ago go first.
    pub fn new(folder: impl Into<PathBuf>, results: usize) -> DiskStore {
        DiskStore { folder: folder.into(), results }
    }

    fn path(&self, key: &StepKey) -> PathBuf {
        self.folder.join(key.to_string())
    }

    fn write(&self, path: &Path, text: &str) -> std::io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let mut file = new_file_in(&self.folder, "")?;
        file.write_all(head(text).as_bytes())?;
        file.write_all(text.as_bytes())?;
        file.persist(path).map_err(|error| error.error)?;
        self.make_room(path);
        Ok(())
    }

    /// Removes results that were not used for the longest time, as far as that goes, and what ended processes left.
    fn make_room(&self, keep: &Path) {
        let (mut results, others): (Vec<_>, Vec<_>) = children(&self.folder)
            .into_iter()
            .map(|path| (used(&path), path))
            .partition(|(_, path)| is_result(path));
        for (_, path) in others.iter().filter(|(_, path)| is_stale(path)) {
            let _ = fs::remove_file(path);
        }
        results.sort();
        let surplus = results.len().saturating_sub(self.results);
        for (_, path) in results.iter().filter(|(_, path)| path != keep).take(surplus) {
            let _ = fs::remove_file(path);
        }
    }
}

/// True for the name of a result: the digits of its key.
fn is_result(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.len() == 64 && !name.as_encoded_bytes().contains(&b'.'))
}

/// The first line of a result's file.
fn head(text: &str) -> String {
    let digits: String =
        Digest::of(text.as_bytes()).sha256.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("cembra result, sha256 {digits}\n")
}

impl<V: KeptText> Store<V> for DiskStore {
    fn load(&self, key: &StepKey) -> Option<V> {
        let path = self.path(key);
        let file = read_text(&path, LONGEST).ok()?;
        let (first, text) = file.split_once('\n')?;
        let result = V::read(text).filter(|_| head(text).trim_end() == first)?;
        touch(&path);
        Some(result)
    }

    fn save(&self, key: &StepKey, value: &V) {
        let text = value.text();
        if text.len() as u64 + 200 <= LONGEST && self.results > 0 {
            // What cannot be written is computed again.
            let _ = self.write(&self.path(key), &text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::{Cached, Step, step};
    use std::cell::Cell;

    impl KeptText for i64 {
        fn text(&self) -> String {
            self.to_string()
        }

        fn read(text: &str) -> Option<i64> {
            text.parse().ok()
        }
    }

    /// The square of a number by a step behind a store in a folder; counts the runs of the step.
    fn square(folder: &Path, n: i64, runs: &Cell<u32>) -> Result<i64, &'static str> {
        let square = step("square", |n: i64| {
            runs.set(runs.get() + 1);
            n.checked_mul(n).ok_or("too large")
        });
        Cached::new(square, "square", DiskStore::new(folder, 8)).run(n)
    }

    #[test]
    fn results_outlive_the_step() {
        let folder = tempfile::tempdir().expect("a folder");
        let (place, runs) = (folder.path().join("results"), Cell::new(0));
        for _ in 0..3 {
            assert_eq!(square(&place, 12, &runs), Ok(144));
        }
        assert_eq!(runs.get(), 1);
        // Errors are not kept.
        assert_eq!((square(&place, i64::MAX, &runs), runs.get()), (Err("too large"), 2));
        assert_eq!((square(&place, i64::MAX, &runs), runs.get()), (Err("too large"), 3));
        assert_eq!(children(&place).len(), 1);
    }

    #[test]
    fn every_damage_of_a_result_is_a_miss() {
        let folder = tempfile::tempdir().expect("a folder");
        let runs = Cell::new(0);
        assert_eq!(square(folder.path(), 12, &runs), Ok(144));
        let file = children(folder.path()).remove(0);
        let whole = fs::read(&file).expect("it is there");
        let flipped = (0..whole.len()).map(|at| {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            bytes
        });
        let cut = (0..whole.len()).map(|len| whole[..len].to_vec());
        let longer = std::iter::once([&whole[..], b"0"].concat());
        for bytes in flipped.chain(cut).chain(longer) {
            let before = runs.get();
            fs::write(&file, &bytes).expect("it is written");
            assert_eq!(square(folder.path(), 12, &runs), Ok(144));
            assert_eq!(runs.get(), before + 1, "{:?}", String::from_utf8_lossy(&bytes));
        }
        // A folder in its place stays there, and nothing is kept.
        fs::remove_file(&file).expect("it is there");
        fs::create_dir(&file).expect("a folder");
        assert_eq!(square(folder.path(), 12, &runs), Ok(144));
        assert!(file.is_dir());
    }

    #[test]
    fn what_was_used_longest_ago_goes_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = DiskStore::new(folder.path(), 2);
        let key = |n: i64| StepKey::of(&n);
        let wait = || std::thread::sleep(std::time::Duration::from_millis(20));
        for n in 1..=2 {
            store.save(&key(n), &n);
            wait();
        }
        assert_eq!(store.load(&key(1)), Some(1));
        wait();
        store.save(&key(3), &3);
        let kept = |n: i64| Store::<i64>::load(&store, &key(n));
        assert_eq!((kept(1), kept(2), kept(3)), (Some(1), None, Some(3)));
        store.save(&key(4), &4);
        assert_eq!(children(folder.path()).len(), 2);
    }

    #[test]
    fn a_folder_that_cannot_be_made_keeps_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let (place, runs) = (folder.path().join("file"), Cell::new(0));
        fs::write(&place, "taken").expect("it is written");
        assert_eq!((square(&place, 3, &runs), square(&place, 3, &runs)), (Ok(9), Ok(9)));
        assert_eq!((runs.get(), fs::read(&place).expect("it is there")), (2, b"taken".to_vec()));
    }
}
