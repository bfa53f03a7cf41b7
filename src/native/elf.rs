//! ELF files, as far as they are looked at without being loaded: whether one is whole, and the numbers that its symbols name.
//!
//! Loading would run what a library begins with, and a file that was cut would end the process. Only files of 64 bits,
//! lowest byte first, are known. The crate `object` compares every place with the size of the file before it reads there.

use object::LittleEndian as Little;
use object::elf::{FileHeader64, PT_LOAD, ProgramHeader64, SHT_DYNSYM};
use object::read::elf::{FileHeader, ProgramHeader, Sym};

/// The header of a file that is known.
type Header = FileHeader64<Little>;

/// An ELF file in memory.
#[derive(Clone, Copy)]
pub(super) struct Elf<'b> {
    bytes: &'b [u8],
}

impl<'b> Elf<'b> {
    /// The file, if it is one that is known.
    pub(super) fn of(bytes: &'b [u8]) -> Option<Elf<'b>> {
        bytes.starts_with(b"\x7fELF\x02\x01").then_some(Elf { bytes })
    }

    /// True if nothing is missing of its segments and tables.
    pub(super) fn is_whole(self) -> bool {
        let Some(header) = self.header() else { return false };
        let has_sections = header.section_headers(Little, self.bytes).is_ok();
        let has_segments = self.segments(header).is_some_and(|segments| {
            segments.len() == usize::from(header.e_phnum(Little))
                && segments.iter().all(|segment| segment.data(Little, self.bytes).is_ok())
        });
        has_sections && has_segments
    }

    /// The number of 32 bits that a symbol names.
    pub(super) fn number(self, symbol: &str) -> Option<u32> {
        let address = self.address(symbol)?;
        let mut loaded =
            self.segments(self.header()?)?.iter().filter(|segment| segment.p_type(Little) == PT_LOAD);
        let bytes = loaded.find_map(|segment| segment.data_range(Little, self.bytes, address, 4).ok()?)?;
        Some(u32::from_le_bytes(*bytes.first_chunk()?))
    }

    /// Where a symbol of the file stands when it is loaded at 0.
    fn address(self, symbol: &str) -> Option<u64> {
        let sections = self.header()?.sections(Little, self.bytes).ok()?;
        let symbols = sections.symbols(Little, self.bytes, SHT_DYNSYM).ok()?;
        // A symbol without a section is one of another library.
        let mut own = symbols.iter().filter(|entry| !entry.is_undefined(Little));
        let is_it = |entry: &&_| {
            Sym::name(*entry, Little, symbols.strings()).is_ok_and(|name| name == symbol.as_bytes())
        };
        own.find(is_it).map(|entry| entry.st_value(Little))
    }

    fn header(self) -> Option<&'b Header> {
        Header::parse(self.bytes).ok()
    }

    fn segments(self, header: &Header) -> Option<&'b [ProgramHeader64<Little>]> {
        header.program_headers(Little, self.bytes).ok()
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
        // Where the segments stand, and where the sections do; nowhere is no place for segments that there are.
        for (place, byte) in [(32, 0xff), (32, 0), (40, 0xff)] {
            let mut wild = own.clone();
            wild[place..place + 8].fill(byte);
            assert!(!Elf { bytes: &wild }.is_whole(), "{byte} at {place}");
        }
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
            let cut = Elf { bytes: &bytes[..size] };
            assert!(!cut.is_whole(), "{size} of {} bytes", bytes.len());
            cut.number("a_abi");
        }
        let mut random = fastrand::Rng::with_seed(22);
        let mut changed = bytes.clone();
        for _ in 0..20_000 {
            let at = if random.bool() { random.usize(..64) } else { random.usize(..bytes.len()) };
            changed[at] = random.u8(..);
            let elf = Elf { bytes: &changed };
            elf.number("a_abi");
            elf.is_whole();
            if random.u8(..) == 0 {
                changed.clone_from(&bytes);
            }
        }
    }
}
