//! Members of NPZ files: where the bytes of each array stand, and how many the file can justify.
//!
//! The directory of a ZIP file is believed only as far as the file bears it out. Every array stands there once, its
//! bytes belong to no other member, and it cannot be longer than what its stored bytes expand to.

use crate::columns::error::ColumnsError;
use crate::columns::npy_header::Header;
use crate::columns::source::open_regular;
use flate2::CrcReader;
use flate2::read::DeflateDecoder;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom, Take};
use std::path::Path;
use zip::{CompressionMethod, ZipArchive};

/// What the name of the member ends with that says which rows are present.
pub const PRESENT: &str = ".present";

/// Bytes that one byte of a deflated member can become: 258 bytes of a match for two bits.
const DEFLATED: u64 = 1032;

/// A member of the ZIP file.
#[derive(Clone, Debug)]
pub struct Member {
    /// Name without `.npy`.
    pub name: String,
    start: u64,
    stored_size: u64,
    size: u64,
    crc: u32,
    deflated: bool,
}

/// The bytes of a member, checked at their end.
pub struct MemberBytes {
    bytes: CrcReader<Box<dyn Read + Send>>,
    left: u64,
    crc: u32,
}

impl Read for MemberBytes {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.bytes.read(buffer)?;
        self.left = self.left.saturating_sub(count as u64);
        match count > 0 && self.left == 0 && self.bytes.crc().sum() != self.crc {
            true => {
                Err(std::io::Error::new(std::io::ErrorKind::InvalidData, "a member has a wrong checksum"))
            }
            false => Ok(count),
        }
    }
}

/// The NPY members of a ZIP file.
///
/// # Errors
/// The file cannot be read, or its directory contradicts itself or the length of the file.
pub fn members(path: &Path) -> Result<Vec<Member>, ColumnsError> {
    let file = path.display().to_string();
    let wrong = |what: String| ColumnsError::malformed(&file, what);
    let (opened, length) = open_regular(path)?;
    let mut archive = ZipArchive::new(BufReader::new(opened)).map_err(|e| wrong(e.to_string()))?;
    if archive.has_duplicate_names() {
        return Err(wrong("two members have one name".to_owned()));
    }
    if archive.has_overlapping_files().map_err(|e| wrong(e.to_string()))? {
        return Err(wrong("two members share bytes, or one goes beyond the members".to_owned()));
    }
    let mut members = Vec::new();
    for index in 0..archive.len() {
        let member = archive.by_index_raw(index).map_err(|e| wrong(e.to_string()))?;
        let Some(name) = member.name().ok().and_then(|n| Some(n.strip_suffix(".npy")?.to_owned())) else {
            continue;
        };
        let in_member = |what: &str| wrong(format!("{name}.npy {what}"));
        if member.encrypted() {
            return Err(in_member("is encrypted"));
        }
        let deflated = match member.compression() {
            CompressionMethod::Stored => false,
            CompressionMethod::Deflated => true,
            other => {
                let what = format!("is compressed by {other}; stored and deflated members can be read");
                return Err(in_member(&what));
            }
        };
        let start = member.data_start().ok_or_else(|| in_member("has no data"))?;
        let (stored_size, size, crc) = (member.compressed_size(), member.size(), member.crc32());
        if start.checked_add(stored_size).is_none_or(|end| end > length) {
            return Err(in_member("goes beyond the end of the file"));
        }
        let most = if deflated { stored_size.saturating_mul(DEFLATED) } else { stored_size };
        if size > most || (!deflated && size < stored_size) {
            return Err(in_member(&format!("cannot have {size} bytes: it is stored in {stored_size}")));
        }
        members.push(Member { name, start, stored_size, size, crc, deflated });
    }
    Ok(members)
}

impl Member {
    /// Its header, checked against its length, and the bytes of its cells.
    ///
    /// # Errors
    /// The file cannot be read, or the member is no array.
    pub fn open(&self, path: &Path) -> Result<(Header, MemberBytes), ColumnsError> {
        let file = path.display().to_string();
        let mut bytes = self.bytes(path).map_err(|e| ColumnsError::read(&file, e))?;
        let read =
            Header::read(&mut bytes).and_then(|header| header.check_length(self.size).map(|()| header));
        match read {
            Ok(header) => Ok((header, bytes)),
            Err(error) => Err(ColumnsError::malformed(&file, format!("{}.npy: {error}", self.name))),
        }
    }

    fn bytes(&self, path: &Path) -> std::io::Result<MemberBytes> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(self.start))?;
        let stored: Take<BufReader<File>> = BufReader::with_capacity(1 << 16, file).take(self.stored_size);
        let bytes: Box<dyn Read + Send> = match self.deflated {
            true => Box::new(DeflateDecoder::new(stored).take(self.size)),
            false => Box::new(stored),
        };
        Ok(MemberBytes { bytes: CrcReader::new(bytes), left: self.size, crc: self.crc })
    }
}

/// Members by their names.
pub fn by_name(members: &[Member]) -> HashMap<&str, &Member> {
    members.iter().map(|member| (&*member.name, member)).collect()
}

/// Name of the member that says which rows of the one of this name are present.
pub fn presence_name(name: &str) -> String {
    format!("{name}{PRESENT}")
}

/// The error for a member that should say which rows are present, and holds no truth values.
pub fn no_presence(file: &str, name: &str, header: &Header) -> ColumnsError {
    let of = name.strip_suffix(PRESENT).unwrap_or(name);
    let what = format!(
        "{name}.npy says which rows of `{of}` are present, and holds {}, not truth values",
        header.descr
    );
    ColumnsError::malformed(file, what)
}
