//! Machine code beside the instructions of the program, routine by routine, or why cells run one.

use cembra_vm::machine::BoundExpr;
#[cfg(feature = "jit")]
use cembra_vm::{
    jit::{CodeLine, NotCompiled, RoutineListing, listing},
    program::{Program, Routine, dump},
};
#[cfg(feature = "jit")]
use std::fmt;

/// The machine code of a program, or why the interpreter runs it, for people.
///
/// # Errors
/// The reason.
pub fn machine_code_text(bound: &BoundExpr) -> Result<String, String> {
    #[cfg(feature = "jit")]
    {
        MachineCode::new(bound).map(|code| code.to_string()).map_err(|reason| reason.to_string())
    }
    #[cfg(not(feature = "jit"))]
    {
        let _ = bound;
        Err("built without the feature `jit`".to_owned())
    }
}

/// What the compiled tier makes of a program.
#[cfg(feature = "jit")]
#[derive(Debug)]
pub struct MachineCode<'b> {
    program: &'b Program,
    /// How each routine is run.
    pub routines: Vec<RoutineListing>,
}

#[cfg(feature = "jit")]
impl<'b> MachineCode<'b> {
    /// Compiles a program, which goes on running as before.
    ///
    /// # Errors
    /// Why the whole program stays on the interpreter.
    pub fn new(bound: &'b BoundExpr) -> Result<MachineCode<'b>, NotCompiled> {
        Ok(MachineCode { program: bound.program(), routines: listing(bound)? })
    }
}

#[cfg(feature = "jit")]
impl fmt::Display for MachineCode<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for listing in &self.routines {
            match &listing.code {
                Ok(lines) => {
                    writeln!(
                        f,
                        "routine {}: {} instructions of the processor",
                        listing.routine,
                        lines.len()
                    )?;
                    code(f, &self.program.routines()[listing.routine], lines)?;
                }
                Err(reason) => writeln!(f, "routine {}: the interpreter, since {reason}", listing.routine)?,
            }
        }
        Ok(())
    }
}

#[cfg(feature = "jit")]
fn code(f: &mut fmt::Formatter<'_>, routine: &Routine, lines: &[CodeLine]) -> fmt::Result {
    let mut last = None;
    for line in lines {
        if line.instruction != last
            && let Some(ip) = line.instruction
        {
            writeln!(f, "{}", dump::instruction(routine, ip))?;
        } else if line.instruction != last {
            writeln!(f, "begin or end")?;
        }
        last = line.instruction;
        writeln!(f, "    {:04x}  {}", line.offset, line.text)?;
    }
    Ok(())
}
