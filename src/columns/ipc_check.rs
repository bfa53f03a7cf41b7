//! What an Arrow IPC file says about sizes, checked against its length before a reader believes it.
//!
//! ```text
//! file:    ARROW1 .. message body .. message body ..  footer (where each block is)  length  ARROW1
//! stream:  FFFFFFFF length message body   FFFFFFFF length message body   FFFFFFFF 0
//! ```
//!
//! 1. Every block, and every buffer of its body, lies inside of the file, and the blocks together are no longer.
//! 2. A compressed buffer is no longer than its bytes can become.
//! 3. A batch has no more rows than its bytes can hold, one bit each.

use arrow_ipc::{Message, MessageHeader, RecordBatch, root_as_footer, root_as_message};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// Bytes that one byte of an LZ4 block can become.
const LZ4: u64 = 255;

/// Marks the length of a message in files of version 0.15 and later.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// Checks a file of the file format.
///
/// # Errors
/// It cannot be read, or says sizes that its length does not justify.
pub fn check_file(file: &mut File) -> io::Result<()> {
    let length = file.metadata()?.len();
    let end = length.checked_sub(10).ok_or_else(|| wrong("it is too short"))?;
    let tail = read_at(file, end, 4)?;
    let footer_length = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
    let start = end.checked_sub(footer_length).ok_or_else(|| wrong("the footer is longer than the file"))?;
    let footer = read_at(file, start, footer_length)?;
    let footer = root_as_footer(&footer).map_err(|e| wrong(&format!("the footer is damaged: {e}")))?;
    let blocks =
        footer.dictionaries().into_iter().flatten().chain(footer.recordBatches().into_iter().flatten());
    let mut bytes_left = length;
    for block in blocks {
        let size = |size: i64| u64::try_from(size).map_err(|_| wrong("a block has a negative size"));
        let (at, body) = (size(block.offset())?, size(block.bodyLength())?);
        let header = size(i64::from(block.metaDataLength()))?;
        let bytes = header.checked_add(body).filter(|bytes| *bytes <= bytes_left);
        let bytes = bytes.ok_or_else(|| wrong("its blocks are longer than the file"))?;
        if at.checked_add(bytes).is_none_or(|end| end > length) {
            return Err(wrong("a block goes beyond the end of the file"));
        }
        bytes_left -= bytes;
        let message = read_at(file, at, header)?;
        let skipped = if message.starts_with(&CONTINUATION) { 8 } else { 4 };
        check_message(file, message.get(skipped..).unwrap_or_default(), at + header, body)?;
    }
    Ok(())
}

/// Checks a file of the stream format.
///
/// # Errors
/// It cannot be read, or says sizes that its length does not justify.
pub fn check_stream(file: &mut File) -> io::Result<()> {
    let length = file.metadata()?.len();
    let mut at = 0;
    loop {
        let Some(prefix) = prefix_at(file, &mut at, length)? else { return Ok(()) };
        let header = u64::from(prefix);
        if header == 0 {
            return Ok(());
        }
        if header > length - at {
            return Err(wrong("a message is longer than the file"));
        }
        let message = read_at(file, at, header)?;
        at += header;
        let body = root_as_message(&message).map_err(|e| wrong(&e.to_string()))?.bodyLength();
        let body = u64::try_from(body).ok().filter(|body| *body <= length - at);
        let body = body.ok_or_else(|| wrong("a message is longer than the file"))?;
        check_message(file, &message, at, body)?;
        at += body;
    }
}

/// The length that stands before a message; none at the end of the file.
fn prefix_at(file: &mut File, at: &mut u64, length: u64) -> io::Result<Option<u32>> {
    loop {
        if length - *at < 4 {
            return Ok(None);
        }
        let word = read_at(file, *at, 4)?;
        *at += 4;
        if word != CONTINUATION {
            return Ok(Some(u32::from_le_bytes([word[0], word[1], word[2], word[3]])));
        }
    }
}

/// Checks a message with its body, which stands at this place.
fn check_message(file: &mut File, message: &[u8], body_at: u64, body: u64) -> io::Result<()> {
    let message = root_as_message(message).map_err(|e| wrong(&e.to_string()))?;
    match batch_of(&message) {
        Some(batch) => check_batch(file, batch, body_at, body),
        None => Ok(()),
    }
}

fn batch_of<'m>(message: &Message<'m>) -> Option<RecordBatch<'m>> {
    match message.header_type() {
        MessageHeader::RecordBatch => message.header_as_record_batch(),
        MessageHeader::DictionaryBatch => message.header_as_dictionary_batch()?.data(),
        _ => None,
    }
}

fn check_batch(file: &mut File, batch: RecordBatch<'_>, body_at: u64, body: u64) -> io::Result<()> {
    let expansion = if batch.compression().is_some() { LZ4 } else { 1 };
    let most_rows = body.saturating_mul(8 * expansion);
    let lengths = batch.nodes().into_iter().flatten().map(|node| node.length());
    for rows in lengths.chain([batch.length()]) {
        if u64::try_from(rows).ok().is_none_or(|rows| rows > most_rows) {
            return Err(wrong(&format!("{body} bytes cannot be {rows} rows")));
        }
    }
    for buffer in batch.buffers().into_iter().flatten() {
        let (at, bytes) = (u64::try_from(buffer.offset()).ok(), u64::try_from(buffer.length()).ok());
        let (Some(at), Some(bytes)) = (at, bytes) else { return Err(wrong("a buffer has a negative size")) };
        if at.checked_add(bytes).is_none_or(|end| end > body) {
            return Err(wrong("a buffer goes beyond the end of its batch"));
        }
        if expansion > 1 && bytes >= 8 {
            let word = read_at(file, body_at + at, 8)?;
            let word: [u8; 8] = word.try_into().map_err(|_| wrong("a buffer is cut off"))?;
            // -1 says that the buffer is not compressed.
            let claimed = i64::from_le_bytes(word);
            if claimed < -1 || claimed.unsigned_abs() > (bytes - 8).saturating_mul(LZ4).max(1) {
                return Err(wrong(&format!("{} compressed bytes cannot become {claimed}", bytes - 8)));
            }
        }
    }
    Ok(())
}

/// Bytes that are known to stand in the file.
fn read_at(file: &mut File, at: u64, bytes: u64) -> io::Result<Vec<u8>> {
    let size = usize::try_from(bytes).map_err(|_| wrong("it is longer than memory"))?;
    let mut read = vec![0; size];
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(&mut read)?;
    Ok(read)
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
