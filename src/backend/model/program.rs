//! Programs of a model, each with a layout of its own: the spectrum with parts beside it, and what data differ from it.

use crate::autodiff::Products;
use crate::backend::model::error::{ModelCompileError, ModelRunError};
use crate::backend::model::part::{Part, PartSlot, Values};
use crate::compile::binder::compile_source;
use crate::compile::{CompileError, Options, SlotReuse};
use crate::expr::{Expr, ExprBuilder};
use crate::model::lower::Lowered;
use crate::prepare::Source;
use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;
use cembra_vm::builtins::nd::dot;
use cembra_vm::frame::Frame;
use cembra_vm::layout::{Slot, TypedSlot};
use cembra_vm::machine::{BindError, BoundExpr, Room, RunError, RunOptions, Share, SharedBudget};
use cembra_vm::value::qtype::FLOAT64;
use cembra_vm::value::{NdType, NdView, QType, ScalarType};
use std::sync::{Arc, OnceLock};

/// Code with theta as inputs.
#[derive(Debug)]
struct OfTheta {
    bound: BoundExpr,
    theta: Vec<Slot<f64>>,
    /// Times and energies of the spectrum.
    sizes: [usize; 2],
}

impl OfTheta {
    fn new(lowered: &Lowered, source: Source) -> Result<OfTheta, CompileError> {
        let options = Options { slot_reuse: SlotReuse::Distinct, ..Options::default() };
        let bound = compile_source(source, &options)?;
        let theta = lowered.theta.iter().map(|name| bound.input::<f64>(name)).collect::<Result<_, _>>()?;
        Ok(OfTheta { bound, theta, sizes: lowered.sizes })
    }

    /// A frame with theta in it, which is made if there is none yet.
    fn frame<'f>(&self, theta: &[f64], frame: &'f mut Option<Frame>) -> Result<&'f mut Frame, ModelRunError> {
        if theta.len() != self.theta.len() {
            return Err(ModelRunError::ThetaLength { expected: self.theta.len(), actual: theta.len() });
        }
        let frame = match frame {
            Some(frame) => frame,
            None => frame.insert(self.bound.new_frame()?),
        };
        for (slot, value) in self.theta.iter().zip(theta) {
            frame.set(*slot, *value);
        }
        Ok(frame)
    }
}

/// Runs a program on a frame, within a share of a budget or the default limits.
fn execute(bound: &BoundExpr, frame: &mut Frame, share: Option<&Share<'_>>) -> Result<(), RunError> {
    match share {
        None => bound.execute(frame),
        share => bound.execute_with(frame, RunOptions::new().within(share)),
    }
}

/// Leaves for theta.
pub(super) fn leaves(lowered: &Lowered) -> impl Iterator<Item = (&str, QType)> {
    lowered.theta.iter().map(|name| (name.as_str(), FLOAT64))
}

/// The spectrum and some parts that broadcast to it.
#[derive(Debug)]
pub(super) struct Program {
    code: OfTheta,
    parts: Vec<PartSlot>,
    ways: Vec<Way>,
}

/// How the values of a part come to memory of the host.
#[derive(Debug)]
enum Way {
    /// They are computed there, into this slot's room.
    Computed(TypedSlot),
    /// They are the products of a factor and those of another part, which are computed there.
    Multiplied(TypedSlot, usize),
    /// They are copied from the frame.
    Copied,
}

impl Way {
    /// The ways of parts, of which none may take the spectrum out of the frame.
    fn of_parts(parts: &[PartSlot], spectrum: &TypedSlot, sizes: [usize; 2]) -> Vec<Way> {
        let whole = |part: &PartSlot| part.whole(sizes).filter(|slot| *slot != spectrum).cloned();
        let computed: Vec<Option<TypedSlot>> = parts.iter().map(whole).collect();
        let way = |(part, own): (&PartSlot, &Option<TypedSlot>)| match (own, part) {
            (Some(slot), _) => Way::Computed(slot.clone()),
            (None, PartSlot::Product(factor, values)) => {
                let other = computed.iter().position(|slot| slot.as_ref() == Some(values));
                other.map_or(Way::Copied, |other| Way::Multiplied(factor.clone(), other))
            }
            (None, _) => Way::Copied,
        };
        parts.iter().zip(&computed).map(way).collect()
    }
}

impl Program {
    /// Compiles the spectrum of a model with parts; those that are not there are zero everywhere.
    pub(super) fn new(lowered: &Lowered, parts: &[Option<Expr>]) -> Result<Program, ModelCompileError> {
        let leaves: Vec<(&str, QType)> = leaves(lowered).collect();
        let mut source = Source::new(lowered.spectrum.clone(), leaves.iter().cloned());
        let (mut products, mut is_product) = (Products::new(&leaves), Vec::with_capacity(parts.len()));
        for (index, part) in parts.iter().enumerate() {
            let Some(part) = part else {
                is_product.push(false);
                continue;
            };
            let product = products.split(part)?;
            is_product.push(product.is_some());
            let (factor, values) = product.map_or((None, part.clone()), |(f, values)| (Some(f), values));
            let named = factor.map(|factor| (factor_name(index).into(), factor));
            source.side_outputs.extend(named);
            source.side_outputs.push((part_name(index).into(), values));
        }
        let code = OfTheta::new(lowered, source)?;
        let result = |name: String| code.bound.side_output_slot(&name).cloned();
        let part = |(index, part): (usize, &Option<Expr>)| match part {
            None => Ok(PartSlot::Zero),
            Some(_) if is_product[index] => {
                Ok(PartSlot::Product(result(factor_name(index))?, result(part_name(index))?))
            }
            Some(_) => result(part_name(index)).map(PartSlot::Values),
        };
        let parts = parts.iter().enumerate().map(part).collect::<Result<_, BindError>>();
        let parts: Vec<PartSlot> = parts.map_err(CompileError::from)?;
        let ways = Way::of_parts(&parts, code.bound.output_slot(), lowered.sizes);
        Ok(Program { code, parts, ways })
    }

    /// The program, for dumps.
    pub(super) fn bound(&self) -> &BoundExpr {
        &self.code.bound
    }

    /// Evaluates at theta, in a frame that is made if there is none yet.
    pub(super) fn run<'f>(
        &'f self,
        theta: &[f64],
        frame: &'f mut Option<Frame>,
        share: Option<&Share<'_>>,
    ) -> Result<Parts<'f>, ModelRunError> {
        let frame = self.code.frame(theta, frame)?;
        execute(self.bound(), frame, share)?;
        let spectrum = self.spectrum(frame)?;
        Ok(Parts { spectrum, slots: &self.parts, frame, sizes: self.code.sizes })
    }

    /// Evaluates at theta and writes every value of every part, part after part; gives the spectrum. Parts that stand at
    /// all times and energies are computed where they belong.
    ///
    /// # Panics
    /// The target has another length.
    pub(super) fn run_into<'f>(
        &'f self,
        theta: &[f64],
        frame: &'f mut Option<Frame>,
        target: &mut [f64],
        arena: &Bump,
        share: Option<&Share<'_>>,
    ) -> Result<&'f [f64], ModelRunError> {
        let sizes = self.code.sizes;
        let size = sizes[0] * sizes[1];
        assert_eq!(target.len(), size * self.parts.len(), "a place for each value of each part");
        let frame = self.code.frame(theta, frame)?;
        let columns = target.chunks_exact_mut(size.max(1)).zip(&self.ways);
        let mut rooms = BumpVec::with_capacity_in(self.parts.len(), arena);
        rooms.extend(columns.filter_map(|(column, way)| match way {
            Way::Computed(slot) => Some(Room::new(slot, column)),
            _ => None,
        }));
        self.bound().call(frame).within(share).run_into(&mut rooms)?;
        drop(rooms);
        let range = |part: usize| part * size..(part + 1) * size;
        for (index, way) in self.ways.iter().enumerate() {
            match way {
                Way::Computed(_) => {}
                Way::Multiplied(factor, other) => {
                    let columns = target.get_disjoint_mut([range(index), range(*other)]);
                    let [column, values] = columns.expect("a product is not computed where it belongs");
                    Values::new(frame, factor)?.multiply(values, sizes, column);
                }
                Way::Copied => self.parts[index].read(frame, sizes)?.copy_to(&mut target[range(index)]),
            }
        }
        self.spectrum(frame)
    }

    fn spectrum<'f>(&self, frame: &'f Frame) -> Result<&'f [f64], ModelRunError> {
        let view = frame.nd_view(self.bound().output_slot())?;
        Ok(view.as_slice().expect("results of operators are contiguous"))
    }
}

/// The sum of the squares of what data differ from the spectrum, which is never laid out as a whole.
#[derive(Debug)]
pub(super) struct Squares {
    code: OfTheta,
    data: TypedSlot,
    sum: Slot<f64>,
}

/// The leaf of the data. No parameter has a name with a space.
const DATA: &str = "measured data";

impl Squares {
    pub(super) fn new(lowered: &Lowered) -> Result<Squares, CompileError> {
        let builder = ExprBuilder::new();
        let (data, spectrum) = (builder.leaf(DATA), builder.import(&lowered.spectrum));
        let sum = match lowered.sizes.contains(&1) {
            // The type of the spectrum may have unit axes, which that of the data has not.
            true => builder.call(dot::DOT, &[data - spectrum, data - spectrum]),
            false => builder.call(dot::SQUARED_DISTANCE, &[data, spectrum]),
        };
        let sum = sum.build()?;
        let data = NdType::new(ScalarType::Float64, lowered.sizes.len(), 0).expect("two axes");
        let leaves = leaves(lowered).chain([(DATA, QType::NdArray(data))]);
        let code = OfTheta::new(lowered, Source::new(sum, leaves))?;
        let (data, sum) = (code.bound.input_slot(DATA)?.clone(), code.bound.output::<f64>()?);
        Ok(Squares { code, data, sum })
    }

    /// The sum at theta, in a frame that is made if there is none yet.
    pub(super) fn run(
        &self,
        theta: &[f64],
        data: &[f64],
        frame: &mut Option<Frame>,
        share: Option<&Share<'_>>,
    ) -> Result<f64, ModelRunError> {
        let data = NdView::from_slice(data, &self.code.sizes)?;
        let frame = self.code.frame(theta, frame)?;
        let outputs = self.code.bound.call(frame).within(share).input(&self.data, &data)?.run()?;
        Ok(outputs.frame().get(self.sum))
    }
}

fn factor_name(index: usize) -> String {
    format!("factor {index}")
}

fn part_name(index: usize) -> String {
    format!("part {index}")
}

/// A program that is compiled when it is first asked for, once for all threads.
#[derive(Debug)]
pub(super) struct Late<P>(OnceLock<Result<P, ModelCompileError>>);

impl<P> Default for Late<P> {
    fn default() -> Late<P> {
        Late(OnceLock::new())
    }
}

impl<P> Late<P> {
    /// The program; `compile` runs unless it has run before.
    pub(super) fn get(
        &self,
        compile: impl FnOnce() -> Result<P, ModelCompileError>,
    ) -> Result<&P, ModelCompileError> {
        self.0.get_or_init(compile).as_ref().map_err(Clone::clone)
    }
}

/// The memory of evaluations of one model, one after the other: a frame for each of its programs, made when the
/// program first runs.
#[derive(Debug, Default)]
pub struct ModelFrame {
    pub(super) frames: [Option<Frame>; 4],
    pub(super) squares: Option<Frame>,
    /// For lists that a call needs.
    pub(super) arena: Bump,
    /// What its evaluations may use up, all together.
    pub(super) budget: Option<Arc<SharedBudget>>,
}

impl ModelFrame {
    /// The same for evaluations that use up this budget together, with others that share it. Without one, each has the
    /// limits of [`Budget::default`](cembra_vm::value::Budget).
    pub fn within(self, budget: Arc<SharedBudget>) -> ModelFrame {
        ModelFrame { budget: Some(budget), ..self }
    }
}

/// Results of a program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts<'f> {
    pub(super) spectrum: &'f [f64],
    slots: &'f [PartSlot],
    frame: &'f Frame,
    sizes: [usize; 2],
}

impl<'f> Parts<'f> {
    pub(super) fn count(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn part(&self, index: usize) -> Part<'f> {
        self.slots[index].read(self.frame, self.sizes).expect("the run has written all results")
    }
}
