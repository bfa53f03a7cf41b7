//! How the memory of calls of a library is laid out: plain values in a frame, arrays one after the other, and so
//! edges.

use crate::layout::{FrameLayout, TypedSlot};
use crate::library::boundary_array::BoundaryArray;
use crate::library::signature::Signature;
use crate::value::QType;
use std::sync::Arc;

/// Where an argument or a result stands in the memory of a call.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// In the frame.
    Plain(TypedSlot),
    /// Among the arrays.
    Array(usize, BoundaryArray),
    /// Among the edges.
    Edge(usize, QType),
}

/// How the memory of calls of a library is laid out.
#[derive(Debug)]
pub(super) struct CallLayout {
    pub(super) frame: Arc<FrameLayout>,
    pub(super) arguments: Vec<Place>,
    pub(super) results: Vec<Place>,
    /// Arrays of arguments, then those of results.
    pub(super) arrays: usize,
    /// The same of edges.
    pub(super) edges: usize,
}

impl CallLayout {
    /// The layout for a signature; the error is told for people.
    pub(super) fn new(signature: &Signature) -> Result<CallLayout, String> {
        let (mut builder, mut arrays, mut edges) = (FrameLayout::builder(), 0, 0);
        let mut place = |qtype: &QType| match BoundaryArray::of(qtype) {
            Some(array) => {
                arrays += 1;
                Place::Array(arrays - 1, array)
            }
            None if qtype.is_edge() => {
                edges += 1;
                Place::Edge(edges - 1, qtype.clone())
            }
            None => Place::Plain(builder.typed(qtype.clone())),
        };
        let arguments: Vec<Place> = signature.parameters.iter().map(|of| place(&of.qtype)).collect();
        let results: Vec<Place> = signature.results.iter().map(|(_, qtype)| place(qtype)).collect();
        let slot = |place: &Place| match place {
            Place::Plain(slot) => Some(slot.clone()),
            Place::Array(..) | Place::Edge(..) => None,
        };
        arguments.iter().filter_map(slot).for_each(|slot| builder.place_input(&slot));
        results.iter().filter_map(slot).for_each(|slot| builder.place_output(&slot));
        let frame = builder.build().map_err(|error| error.to_string())?;
        Ok(CallLayout { frame, arguments, results, arrays, edges })
    }
}
