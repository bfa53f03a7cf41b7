//! Slot listeners: what a host gets to know of side outputs.
//!
//! ```
//! use cembra::host::Listener;
//! #[derive(Default)]
//! struct Seen { product: f64 }
//! let listener = Listener::new().on("product", |seen: &mut Seen, value: f64| seen.product = value);
//! ```

use cembra_vm::frame::Frame;
use cembra_vm::layout::SlotType;
use cembra_vm::machine::{BindError, BoundExpr};
use cembra_vm::value::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Tells one side output to a sink.
pub type Teller<S> = Box<dyn Fn(&Frame, &mut S) + Send + Sync>;

/// Listens to side outputs by name.
pub trait SlotListener<S: ?Sized>: Send + Sync {
    /// True if the listener wants the side output of this name.
    fn wants(&self, name: &str) -> bool;

    /// The closure that tells a side output.
    ///
    /// # Errors
    /// The side output is of another type.
    fn bind(&self, name: &str, bound: &BoundExpr) -> Result<Teller<S>, BindError>;
}

type BindTeller<S> = Arc<dyn Fn(&str, &BoundExpr) -> Result<Teller<S>, BindError> + Send + Sync>;

/// One closure per side output, or one for all.
pub struct Listener<S: ?Sized> {
    rows: BTreeMap<Arc<str>, BindTeller<S>>,
    all: Option<BindTeller<S>>,
}

impl<S: ?Sized> Default for Listener<S> {
    fn default() -> Self {
        Listener { rows: BTreeMap::new(), all: None }
    }
}

impl<S: ?Sized> std::fmt::Debug for Listener<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.rows.keys()).finish()
    }
}

impl<S: ?Sized + 'static> Listener<S> {
    /// Listens to nothing.
    pub fn new() -> Listener<S> {
        Listener::default()
    }

    /// Listens to a side output of plain type.
    pub fn on<T>(mut self, name: &str, tell: impl Fn(&mut S, T) + Send + Sync + 'static) -> Listener<S>
    where
        T: for<'a> SlotType<View<'a> = T>,
    {
        let tell = Arc::new(tell);
        let bind = move |name: &str, bound: &BoundExpr| -> Result<Teller<S>, BindError> {
            let (slot, tell) = (bound.side_output::<T>(name)?, tell.clone());
            Ok(Box::new(move |frame, sink| tell(sink, frame.get(slot))))
        };
        self.rows.insert(name.into(), Arc::new(bind));
        self
    }

    /// Listens to every side output not named otherwise, of whatever type.
    pub fn on_all(mut self, tell: impl Fn(&mut S, &str, Value) + Send + Sync + 'static) -> Listener<S> {
        let tell = Arc::new(tell);
        let bind = move |name: &str, bound: &BoundExpr| -> Result<Teller<S>, BindError> {
            let (slot, name, tell) = (bound.side_output_slot(name)?.clone(), name.to_owned(), tell.clone());
            Ok(Box::new(move |frame, sink| {
                let value = frame.read(&slot).expect("a run that ends well has written its side outputs");
                tell(sink, &name, value);
            }))
        };
        self.all = Some(Arc::new(bind));
        self
    }
}

impl<S: ?Sized + 'static> SlotListener<S> for Listener<S> {
    fn wants(&self, name: &str) -> bool {
        self.all.is_some() || self.rows.contains_key(name)
    }

    fn bind(&self, name: &str, bound: &BoundExpr) -> Result<Teller<S>, BindError> {
        match self.rows.get(name).or(self.all.as_ref()) {
            Some(bind) => bind(name, bound),
            None => Err(BindError::UnknownName {
                role: "side output",
                name: name.to_owned(),
                known: self.rows.keys().cloned().collect(),
            }),
        }
    }
}
