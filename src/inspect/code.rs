//! The code of strips: what a region runs as loops over registers, instruction by instruction.

use crate::inspect::regions::Regions;
use cembra_vm::machine::RegionReport;
use cembra_vm::machine::tile::{ColumnOf, StripReport};
use cembra_vm::strip::{Code, Line, Operand, listing};
use std::fmt;

/// The instructions of all strips of a program, as they are when no input misses a row.
#[derive(Debug)]
pub struct CodeListing<'r, 'p>(pub &'r Regions<'p>);

impl CodeListing<'_, '_> {
    /// What a line finds by the arguments of the call, in words.
    pub fn comment(&self, region: &RegionReport, strip: &StripReport, line: &Line) -> Option<String> {
        let operand = line.operand?;
        let (part, column) = strip.operand(operand)?;
        let of = match column {
            ColumnOf::Input(value) => self.0.name(region, value),
            ColumnOf::Member(ip) => format!("instruction {ip}"),
        };
        Some(match operand {
            Operand::Column(_) => format!("{} of {of}", part.name()),
            Operand::Scalar(_) => of,
        })
    }

    fn code(
        &self,
        f: &mut fmt::Formatter<'_>,
        region: &RegionReport,
        strip: &StripReport,
        code: &Code,
    ) -> fmt::Result {
        let (bytes, entry) = code.bytes();
        for (number, literal) in bytes[..entry].chunks(8).enumerate() {
            let digits: String = literal.iter().rev().map(|byte| format!("{byte:02x}")).collect();
            writeln!(f, "  {:04x}  0x{digits}", number * 8)?;
        }
        for line in listing(code) {
            match self.comment(region, strip, &line) {
                Some(comment) => writeln!(f, "  {:04x}  {:<48} ; {comment}", line.offset, line.text)?,
                None => writeln!(f, "  {:04x}  {}", line.offset, line.text)?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for CodeListing<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (region_number, region) in self.0.regions.iter().enumerate() {
            for (number, strip) in region.strips.iter().enumerate() {
                let members: Vec<String> = strip.members.iter().map(usize::to_string).collect();
                write!(f, "region {region_number}, strip {number} of {}: ", members.join(", "))?;
                match &strip.code {
                    Ok(code) => {
                        writeln!(f, "{}", code.report())?;
                        self.code(f, region, strip, code)?;
                    }
                    Err(refused) => writeln!(f, "none, {refused}")?,
                }
            }
        }
        Ok(())
    }
}
