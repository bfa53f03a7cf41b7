//! ELF files, as far as they are looked at without being loaded: where one ends, and the numbers that its symbols name.
//!
//! ```text
//! header ─┬─ segments: place in the file, address in memory
//!         └─ sections ── dynamic symbols: name, address ──segments──> bytes of the file
//! ```
//!
//! Loading would run what a library begins with, and a file that was cut would end the process. Only files of 64 bits,
//! lowest byte first, are known. Every place is compared with the size of the file before it is read.

/// The kind of a segment that is loaded.
const LOADED: u32 = 1;
/// The kind of the section of dynamic symbols.
const DYNAMIC_SYMBOLS: u32 = 11;
/// Bytes of a symbol.
const SYMBOL_SIZE: usize = 24;

/// An ELF file in memory.
#[derive(Clone, Copy)]
pub(super) struct Elf<'b> {
    bytes: &'b [u8],
}

/// A table of the header.
struct Table {
    first: u64,
    row_size: u16,
    count: u16,
}

impl Table {
    fn end(&self) -> Option<u64> {
        self.first.checked_add(u64::from(self.row_size) * u64::from(self.count))
    }

    /// Where the rows begin.
    fn rows(&self) -> impl Iterator<Item = Option<usize>> + use<> {
        let (first, size) = (self.first, u64::from(self.row_size));
        (0..u64::from(self.count)).map(move |row| usize::try_from(first.checked_add(row * size)?).ok())
    }
}

impl<'b> Elf<'b> {
    /// The file, if it is one that is known.
    pub(super) fn of(bytes: &'b [u8]) -> Option<Elf<'b>> {
        bytes.starts_with(b"\x7fELF\x02\x01").then_some(Elf { bytes })
    }

    /// True if nothing is missing of its segments and tables.
    pub(super) fn is_whole(self) -> bool {
        self.end().is_some_and(|end| end <= self.bytes.len() as u64)
    }

    /// Where it ends, by its headers; `None` if these are cut.
    fn end(self) -> Option<u64> {
        let mut end = self.segments()?.end()?.max(self.sections()?.end()?);
        for row in self.segments()?.rows() {
            let (place, size) = (self.word(row?, 8)?, self.word(row?, 32)?);
            end = end.max(place.checked_add(size)?);
        }
        Some(end)
    }

    /// The number of 32 bits that a symbol names.
    pub(super) fn number(self, symbol: &str) -> Option<u32> {
        let address = self.address(symbol)?;
        for row in self.segments()?.rows() {
            let row = row?;
            let (place, begin, size) = (self.word(row, 8)?, self.word(row, 16)?, self.word(row, 32)?);
            if self.half_word(row, 0)? == LOADED && address >= begin && address - begin < size {
                return self.half_word(usize::try_from(place.checked_add(address - begin)?).ok()?, 0);
            }
        }
        None
    }

    /// Where a symbol of the file stands when it is loaded at 0.
    fn address(self, symbol: &str) -> Option<u64> {
        let sections = self.sections()?;
        for row in sections.rows() {
            let row = row?;
            if self.half_word(row, 4)? != DYNAMIC_SYMBOLS {
                continue;
            }
            let link = usize::try_from(self.half_word(row, 40)?).ok()?;
            let texts = self.contents(sections.rows().nth(link)??)?;
            for entry in self.contents(row)?.chunks_exact(SYMBOL_SIZE) {
                let entry = Elf { bytes: entry };
                let name = texts.get(usize::try_from(entry.half_word(0, 0)?).ok()?..)?;
                let is_it = name.strip_prefix(symbol.as_bytes()).is_some_and(|rest| rest.first() == Some(&0));
                // A symbol without a section is one of another library.
                if is_it && entry.quarter_word(6)? != 0 {
                    return entry.word(8, 0);
                }
            }
        }
        None
    }

    /// The bytes of the section that a row describes.
    fn contents(self, row: usize) -> Option<&'b [u8]> {
        let first = usize::try_from(self.word(row, 24)?).ok()?;
        self.bytes.get(first..first.checked_add(usize::try_from(self.word(row, 32)?).ok()?)?)
    }

    fn segments(self) -> Option<Table> {
        Some(Table {
            first: self.word(32, 0)?,
            row_size: self.quarter_word(54)?,
            count: self.quarter_word(56)?,
        })
    }

    fn sections(self) -> Option<Table> {
        Some(Table {
            first: self.word(40, 0)?,
            row_size: self.quarter_word(58)?,
            count: self.quarter_word(60)?,
        })
    }

    fn quarter_word(self, at: usize) -> Option<u16> {
        Some(u16::from_le_bytes(*self.bytes.get(at..)?.first_chunk()?))
    }

    fn half_word(self, row: usize, at: usize) -> Option<u32> {
        Some(u32::from_le_bytes(*self.bytes.get(row.checked_add(at)?..)?.first_chunk()?))
    }

    fn word(self, row: usize, at: usize) -> Option<u64> {
        Some(u64::from_le_bytes(*self.bytes.get(row.checked_add(at)?..)?.first_chunk()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> Vec<u8> {
        std::fs::read(std::env::current_exe().expect("this program")).expect("it is there")
    }

    #[test]
    fn cut_files_are_not_whole() {
        let own = own();
        let Some(elf) = Elf::of(&own) else { return };
        assert!(elf.is_whole());
        for size in [7, 63, 64, 100, 1000, own.len() / 2, own.len() - 1] {
            assert!(!Elf { bytes: &own[..size] }.is_whole());
        }
        let mut wild = own.clone();
        wild[32..40].fill(0xff);
        assert!(!Elf { bytes: &wild }.is_whole());
        assert!(Elf::of(b"").is_none() && Elf::of(b"no library").is_none());
    }

    #[test]
    fn changed_files_have_other_symbols_or_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let source = "const unsigned a_abi = 6; const char text[] = \"x\"; extern const unsigned b_abi; \
            const unsigned *other(void) { return &b_abi; }";
        std::fs::write(folder.path().join("a.c"), source).expect("it is written");
        let args = ["-shared", "-fPIC", "-o", "liba.so", "a.c"];
        let compiled = std::process::Command::new("cc").args(args).current_dir(folder.path()).status();
        assert!(compiled.expect("a compiler").success());
        let bytes = std::fs::read(folder.path().join("liba.so")).expect("it is there");
        let Some(elf) = Elf::of(&bytes) else { return };
        assert_eq!(elf.number("a_abi"), Some(6));
        assert_eq!([elf.number("b_abi"), elf.number("a_ab"), elf.number("")], [None; 3]);
        for size in 0..bytes.len() {
            Elf { bytes: &bytes[..size] }.number("a_abi");
        }
        let mut random = fastrand::Rng::with_seed(22);
        let mut changed = bytes.clone();
        for _ in 0..20_000 {
            let at = if random.bool() { random.usize(..64) } else { random.usize(..bytes.len()) };
            changed[at] = random.u8(..);
            Elf { bytes: &changed }.number("a_abi");
            if random.u8(..) == 0 {
                changed.clone_from(&bytes);
            }
        }
    }
}
