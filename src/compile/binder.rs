//! Binder: prepared expressions become bound ones, one or several in one layout.
//!
//! ```
//! # use cembra::compile::{Binder, Options};
//! # use cembra::expr::ExprBuilder;
//! # use cembra::prepare::{Prepare, Source};
//! # use cembra_vm::value::qtype::FLOAT64;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let prepare = |expr| -> Result<_, Box<dyn std::error::Error>> {
//! #     let source = Source::new(expr, [("x", FLOAT64)]);
//! #     Ok(Prepare::standard().run(source)?)
//! # };
//! let b = ExprBuilder::new();
//! let x = b.leaf("x");
//! let (square, cube) = (prepare((x * x).build()?)?, prepare((x * x * x).build()?)?);
//! let mut binder = Binder::new(Options::default());
//! let (square, cube) = (binder.add(&square)?, binder.add(&cube)?);
//! let bound = binder.build()?;
//! let mut frame = bound[square].new_frame()?;
//! frame.set(bound[square].input::<f64>("x")?, 3.0);
//! bound[square].execute(&mut frame)?;
//! bound[cube].execute(&mut frame)?;
//! assert_eq!(frame.get(bound[square].output::<f64>()?), 9.0);
//! assert_eq!(frame.get(bound[cube].output::<f64>()?), 27.0);
//! # Ok(())
//! # }
//! ```
//!
//! Expressions of one layout share inputs by name. Inputs, outputs and literals of all are pinned;
//! temporaries share one region, because the expressions run one after the other. A frame of the
//! layout holds the literals of all.

use crate::compile::assign::{Assignment, SlotReuse, assign};
use crate::compile::emission::{Emission, Role};
use crate::compile::emit::emit;
use crate::compile::error::CompileError;
use crate::compile::postpone::postpone;
use crate::compile::slots::SlotArena;
use crate::compile::tier;
use crate::expr::{Graph, NodeId};
use crate::prepare::join::joined;
use crate::prepare::{Prepare, Prepared, Source};
use crate::registry::{Dialect, Registry};
use cembra_vm::layout::builder::{DEFAULT_FRAME_LIMIT, MAX_FRAME_LIMIT};
use cembra_vm::layout::{FrameLayout, TypedSlot};
use cembra_vm::machine::BoundExpr;
use cembra_vm::program::program::ValueInfo;
use cembra_vm::program::{Program, Routine, ValueId, slot_check};
use cembra_vm::value::{QType, Value};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Instructions a program may have unless the host asks for another limit: four for every node that an
/// expression may have by default.
pub const DEFAULT_INSTRUCTION_LIMIT: usize = 16_000_000;

/// Options of compilation.
#[derive(Clone, Debug)]
pub struct Options {
    /// Results may take the bytes of inputs that are no longer needed; such inputs must be written
    /// again before each run.
    pub allow_overriding_input_slots: bool,
    /// Whether temporaries share bytes.
    pub slot_reuse: SlotReuse,
    /// Largest frame in bytes; more than [`MAX_FRAME_LIMIT`] is an error.
    pub frame_limit: u32,
    /// Most instructions a program may have.
    pub instruction_limit: usize,
    /// Check every slot assignment with the symbolic slot checker.
    pub check_slots: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            allow_overriding_input_slots: false,
            slot_reuse: SlotReuse::default(),
            frame_limit: DEFAULT_FRAME_LIMIT,
            instruction_limit: DEFAULT_INSTRUCTION_LIMIT,
            check_slots: cfg!(debug_assertions),
        }
    }
}

/// Compiles a prepared expression into a layout of its own.
///
/// # Errors
/// The frame would be too large, or an extension fails.
pub fn compile(prepared: &Prepared, options: &Options) -> Result<BoundExpr, CompileError> {
    let mut binder = Binder::new(options.clone());
    binder.add(prepared)?;
    Ok(binder.build()?.swap_remove(0))
}

/// Prepares an expression by the standard steps, and compiles it into a layout of its own.
///
/// # Errors
/// The expression is refused, or the frame would be too large.
pub(crate) fn compile_source(source: Source, options: &Options) -> Result<BoundExpr, CompileError> {
    compile(&Prepare::standard().run(source)?, options)
}

/// The program of nodes of one graph: the main output, then side outputs, whose names are sorted.
///
/// # Errors
/// The expression is refused, or the frame would be too large.
pub(crate) fn compile_nodes(
    graph: Graph,
    outputs: &[NodeId],
    side_outputs: Vec<Arc<str>>,
    inputs: Vec<(Arc<str>, QType)>,
    registry: Registry,
) -> Result<BoundExpr, CompileError> {
    let mut draft = joined(graph, outputs, side_outputs, registry, Dialect::default())?;
    draft.inputs = inputs;
    let prepared = Prepare::standard().run_joined(draft)?;
    compile(&prepared, &Options { frame_limit: MAX_FRAME_LIMIT, ..Options::default() })
}

/// Gives the values of an emission slots in a layout of their own.
///
/// # Errors
/// The frame would be too large.
pub(crate) fn routine(
    emission: Emission,
    input_names: Vec<Arc<str>>,
    options: &Options,
) -> Result<Routine, CompileError> {
    let mut binder = Binder::new(options.clone());
    let mut pinned: Vec<Option<TypedSlot>> = Vec::new();
    for (name, value) in input_names.iter().zip(&emission.inputs) {
        let qtype = emission.values[value.index()].qtype.clone();
        pinned.push(Some(binder.input(name, &qtype)?));
    }
    pinned.push(Some(binder.arena.pin(&emission.values[emission.output.index()].qtype)));
    let Assignment { slots } = assign(&emission, &mut binder.arena, &pinned, false, options.slot_reuse)?;
    binder.pending.push(Pending { emission, slots, inputs: input_names, side_outputs: Vec::new() });
    let layout = binder.layout()?;
    let pending = binder.pending.pop().expect("it was added above");
    Ok(pending.routine(&layout, false))
}

/// Expressions waiting for their common layout.
#[derive(Debug)]
pub struct Binder {
    options: Options,
    arena: SlotArena,
    inputs: Vec<(Arc<str>, TypedSlot)>,
    by_name: HashMap<Arc<str>, usize>,
    pending: Vec<Pending>,
}

/// A compiled expression without a layout.
#[derive(Debug)]
struct Pending {
    emission: Emission,
    slots: Vec<TypedSlot>,
    inputs: Vec<Arc<str>>,
    side_outputs: Vec<Arc<str>>,
}

impl Binder {
    /// An empty layout.
    pub fn new(options: Options) -> Binder {
        Binder {
            options,
            arena: SlotArena::new(),
            inputs: Vec::new(),
            by_name: HashMap::new(),
            pending: Vec::new(),
        }
    }

    /// Adds an expression; gives its position among the bound ones.
    ///
    /// # Errors
    /// An input has another type in an earlier expression, or an extension fails.
    pub fn add(&mut self, prepared: &Prepared) -> Result<usize, CompileError> {
        let overriding = self.options.allow_overriding_input_slots;
        if overriding && !self.pending.is_empty() {
            return Err(CompileError::SharedOverride);
        }
        let mut emission = emit(prepared, self.options.instruction_limit)?;
        postpone(&mut emission);
        let mut pinned: Vec<Option<TypedSlot>> = Vec::new();
        for (name, qtype) in prepared.inputs() {
            pinned.push(Some(self.input(name, qtype)?));
        }
        pinned.push(Some(self.arena.pin(&emission.values[emission.output.index()].qtype)));
        let Assignment { slots } =
            assign(&emission, &mut self.arena, &pinned, overriding, self.options.slot_reuse)?;
        self.pending.push(Pending {
            emission,
            slots,
            inputs: prepared.inputs().iter().map(|i| i.0.clone()).collect(),
            side_outputs: prepared.side_outputs().to_vec(),
        });
        Ok(self.pending.len() - 1)
    }

    fn input(&mut self, name: &Arc<str>, qtype: &QType) -> Result<TypedSlot, CompileError> {
        if let Some(known) = self.by_name.get(name) {
            let slot = &self.inputs[*known].1;
            return match slot.qtype() == qtype {
                true => Ok(slot.clone()),
                false => Err(CompileError::SharedInput {
                    name: name.clone(),
                    first: slot.qtype().clone(),
                    second: qtype.clone(),
                }),
            };
        }
        let slot = self.arena.pin(qtype);
        self.by_name.insert(name.clone(), self.inputs.len());
        self.inputs.push((name.clone(), slot.clone()));
        Ok(slot)
    }

    /// Builds the layout and binds all expressions to it, in the order they were added.
    ///
    /// # Errors
    /// The frame would be too large.
    pub fn build(self) -> Result<Vec<BoundExpr>, CompileError> {
        let layout = self.layout()?;
        let mut bound = Vec::with_capacity(self.pending.len());
        for mut pending in self.pending {
            let called = std::mem::take(&mut pending.emission.routines);
            let main = pending.routine(&layout, self.options.allow_overriding_input_slots);
            let program = Program::new(std::iter::once(main).chain(called).collect());
            if self.options.check_slots {
                slot_check::check(&program)?;
            }
            bound.push(tier::bind(program)?);
        }
        Ok(bound)
    }

    fn layout(&self) -> Result<Arc<FrameLayout>, CompileError> {
        let mut layout = FrameLayout::builder().frame_limit(self.options.frame_limit);
        self.inputs.iter().for_each(|(_, slot)| layout.place_input(slot));
        let mut outputs: Vec<&TypedSlot> = Vec::new();
        for pending in &self.pending {
            for (index, slot) in pending.slots.iter().enumerate() {
                match &pending.emission.values[index].role {
                    Role::Literal(value, _) => layout.place_literal(slot.offset(), value.clone()),
                    Role::Temporary => layout.place(slot),
                    _ => {}
                }
            }
            let results =
                std::iter::once(pending.emission.output).chain(pending.emission.side_outputs.iter().copied());
            outputs.extend(results.map(|v| &pending.slots[v.index()]));
        }
        // An output may be an input, and several outputs one value. Slots of an empty tuple stand where
        // others of its type stand, and are still their own.
        let inputs = self.inputs.iter().map(|(_, slot)| slot).filter(|slot| slot.qtype().size() > 0);
        let mut placed: HashSet<&TypedSlot> = inputs.collect();
        outputs.into_iter().filter(|slot| placed.insert(slot)).for_each(|slot| layout.place_output(slot));
        layout.reserve(u32::try_from(self.arena.end()).unwrap_or(u32::MAX), 1);
        Ok(layout.build()?)
    }
}

impl Pending {
    fn routine(self, layout: &Arc<FrameLayout>, overrides_inputs: bool) -> Routine {
        let Pending { emission, slots, inputs, side_outputs } = self;
        let view_of = |role: &Role| match role {
            Role::View(of, _) => Some(*of),
            _ => None,
        };
        let rows = emission.values.iter().zip(slots);
        let literals: Vec<(ValueId, Value)> = emission
            .values
            .iter()
            .enumerate()
            .filter_map(|(index, v)| match &v.role {
                Role::Literal(value, _) => Some((ValueId(index as u32), value.clone())),
                _ => None,
            })
            .collect();
        Routine {
            layout: layout.clone(),
            values: rows.map(|(v, slot)| ValueInfo { slot, view_of: view_of(&v.role) }).collect(),
            inputs: inputs.into_iter().zip(emission.inputs.iter().copied()).collect(),
            output: emission.output,
            side_outputs: side_outputs.into_iter().zip(emission.side_outputs.iter().copied()).collect(),
            literals,
            overrides_inputs,
            updated_inputs: Vec::new(),
            parallel: None,
            body: emission.body,
        }
    }
}
