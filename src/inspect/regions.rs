//! Tile regions: which operators on arrays run together, on blocks of which size, and what does not.

use cembra_vm::machine::BoundExpr;
use cembra_vm::machine::tile::{Closed, Extent, RegionReport};
use cembra_vm::program::{Instruction, Program, Routine, ValueId, dump};
use cembra_vm::value::{QType, ScalarType};
use std::fmt;

/// The regions of a program, and the operators on arrays outside of them.
#[derive(Debug)]
pub struct Regions<'p> {
    program: &'p Program,
    /// The regions.
    pub regions: Vec<RegionReport>,
    /// Operators on arrays that are in no region.
    pub alone: Vec<Alone>,
}

/// An operator on arrays that is in no region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alone {
    /// Number of the routine.
    pub routine: usize,
    /// Number of the instruction.
    pub ip: usize,
    /// Why.
    pub reason: &'static str,
}

impl<'p> Regions<'p> {
    /// Looks at a bound program.
    pub fn new(bound: &'p BoundExpr) -> Regions<'p> {
        let program = bound.program();
        let regions = bound.regions();
        let mut alone = Vec::new();
        for (number, routine) in program.routines().iter().enumerate() {
            for ip in 0..routine.body.instructions().len() {
                let is_member = |r: &RegionReport| {
                    r.routine == number && (r.members.contains(&ip) || r.through.contains(&ip))
                };
                let reason = reason_alone(routine, ip).filter(|_| !regions.iter().any(is_member));
                alone.extend(reason.map(|reason| Alone { routine: number, ip, reason }));
            }
        }
        Regions { program, regions, alone }
    }

    /// True if the program has no operator on arrays.
    pub fn is_empty(&self) -> bool {
        self.regions.is_empty() && self.alone.is_empty()
    }

    /// What ends a region, in words.
    pub fn end(&self, region: &RegionReport) -> String {
        match region.closed {
            Closed::End => "there are no more of its rows".to_owned(),
            Closed::ReadBy(ip) => format!("instruction {ip} needs a whole result"),
            Closed::PlaceTaken(ip) => format!("the result of instruction {ip} takes the place of an operand"),
            Closed::OtherOrder(ip) => format!("instruction {ip} has to go through rows in another order"),
            Closed::Full => "there are as many operators or open regions as there can be".to_owned(),
        }
    }

    /// A value by name if it is an input, else by slot.
    pub fn name(&self, region: &RegionReport, value: ValueId) -> String {
        let routine = &self.program.routines()[region.routine];
        let slot = routine.slot(value);
        match routine.inputs.iter().find(|(_, v)| *v == value) {
            Some((name, _)) => format!("{name}: {slot}"),
            None => slot.to_string(),
        }
    }

    /// The instruction as the dump prints it.
    pub fn instruction(&self, routine: usize, ip: usize) -> String {
        dump::instruction(&self.program.routines()[routine], ip).to_string()
    }
}

/// Why an operator on arrays is in no region; `None` if it has no arrays.
fn reason_alone(routine: &Routine, ip: usize) -> Option<&'static str> {
    let body = &routine.body;
    let instruction @ Instruction::Operator { .. } = &body.instructions()[ip] else { return None };
    let values = body.reads(instruction).iter().chain(body.writes(instruction));
    let types: Vec<&QType> = values.map(|v| routine.slot(*v).qtype()).collect();
    let arrays: Vec<ScalarType> = types.iter().filter_map(|t| t.array()).map(|t| t.element).collect();
    let has_axes = types.iter().any(|t| t.nd().is_some());
    match arrays.iter().any(|element| !element.is_plain()) {
        _ if arrays.is_empty() && !has_axes => None,
        true => Some("strings run row by row"),
        false => Some("works on whole arrays"),
    }
}

impl fmt::Display for Regions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |names: Vec<String>| match names.is_empty() {
            true => "none".to_owned(),
            false => names.join(", "),
        };
        for (number, region) in self.regions.iter().enumerate() {
            let names = |values: &[ValueId]| list(values.iter().map(|v| self.name(region, *v)).collect());
            let operators = region.members.len();
            writeln!(
                f,
                "region {number}: {operators} operator{}, blocks of {} rows, {} bytes",
                if operators == 1 { "" } else { "s" },
                region.block,
                region.block_bytes
            )?;
            match region.extent {
                Extent::Rows => writeln!(f, "  axis: rows of {}", names(&region.arrays))?,
                Extent::Elements(axes) => {
                    let units: String = axes.units().map(|unit| if unit { '1' } else { 'N' }).collect();
                    writeln!(f, "  axes: {units} of {}", names(&region.arrays))?;
                    writeln!(f, "  repeated: {}", names(&region.repeated))?;
                }
            }
            writeln!(f, "  once: {}", names(&region.scalars))?;
            for ip in &region.through {
                writeln!(f, "  {ip:>4}  {}, read where it lies", self.instruction(region.routine, *ip))?;
            }
            for ip in &region.members {
                let mark = if region.in_registers.contains(ip) { '+' } else { ' ' };
                writeln!(f, "  {ip:>4}{mark} {}", self.instruction(region.routine, *ip))?;
            }
            for (number, strip) in region.strips.iter().enumerate() {
                let members: Vec<String> = strip.members.iter().map(usize::to_string).collect();
                write!(f, "  strip {number} of {}: ", members.join(", "))?;
                match &strip.code {
                    Ok(code) => writeln!(f, "{}", code.report())?,
                    Err(refused) => writeln!(f, "none, {refused}")?,
                }
            }
            let outputs = region.outputs.iter().map(ToString::to_string).collect();
            writeln!(f, "  written: {}", list(outputs))?;
            writeln!(f, "  ends: {}", self.end(region))?;
        }
        for alone in &self.alone {
            let instruction = self.instruction(alone.routine, alone.ip);
            writeln!(f, "alone: {:>4}  {instruction}\n  {}", alone.ip, alone.reason)?;
        }
        Ok(())
    }
}
