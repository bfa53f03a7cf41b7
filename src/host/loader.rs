//! Input loaders: how a host's data gets into input slots.
//!
//! ```
//! use cembra::host::Accessors;
//! struct Point { x: f64, y: f64, label: String }
//! let loader = Accessors::new()
//!     .with("x", |p: &Point| p.x)
//!     .with("y", |p: &Point| p.y)
//!     .with_text("label", |p: &Point| p.label.as_str());
//! ```
//!
//! A loader knows the type of every name it offers. Binding turns each name that an expression uses
//! into one closure over a slot; loading runs them. Loaders combine: [`Chain`] asks one after the other,
//! [`Filter`] hides names, [`Wildcard`] serves a whole pattern of names, [`MapLoader`] reads values by
//! name.

use cembra_vm::frame::{Frame, FrameError};
use cembra_vm::layout::access::{Bytes, Text};
use cembra_vm::layout::{Slot, SlotType};
use cembra_vm::machine::{BindError, BoundExpr};
use cembra_vm::value::{QType, Value};
use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;
use std::sync::Arc;
use thiserror::Error;

/// An input could not be loaded.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The data has no value for a name.
    #[error("the input data has no `{name}`")]
    Missing {
        /// The name.
        name: Arc<str>,
    },
    /// The value is of another type than the loader declared.
    #[error("`{name}`: {error}")]
    Type {
        /// The name.
        name: Arc<str>,
        /// What is wrong.
        error: FrameError,
    },
    /// The host's own reason.
    #[error("`{name}`: {message}")]
    Other {
        /// The name.
        name: Arc<str>,
        /// The reason.
        message: String,
    },
}

/// Writes one input from the host's data.
pub type Setter<I> = Box<dyn Fn(&I, &mut Frame) -> Result<(), LoadError> + Send + Sync>;

/// Offers inputs of a host's data by name.
pub trait InputLoader<I: ?Sized>: Send + Sync {
    /// Type of the input with this name; `None` if the loader does not offer it.
    fn qtype(&self, name: &str) -> Option<QType>;

    /// Names to suggest for a misspelt one.
    fn names(&self) -> Vec<Arc<str>>;

    /// The closure that writes an input into its slot.
    ///
    /// # Errors
    /// The slot is of another type, or the name is not offered.
    fn bind(&self, name: &str, bound: &BoundExpr) -> Result<Setter<I>, BindError>;
}

type BindAccessor<I> = Arc<dyn Fn(&str, &BoundExpr) -> Result<Setter<I>, BindError> + Send + Sync>;

/// One closure per name.
pub struct Accessors<I: ?Sized> {
    rows: BTreeMap<Arc<str>, (QType, BindAccessor<I>)>,
}

impl<I: ?Sized> Clone for Accessors<I> {
    fn clone(&self) -> Self {
        Accessors { rows: self.rows.clone() }
    }
}

impl<I: ?Sized> Default for Accessors<I> {
    fn default() -> Self {
        Accessors { rows: BTreeMap::new() }
    }
}

impl<I: ?Sized> std::fmt::Debug for Accessors<I> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.rows.keys()).finish()
    }
}

impl<I: ?Sized + 'static> Accessors<I> {
    /// No names.
    pub fn new() -> Accessors<I> {
        Accessors::default()
    }

    /// An input of plain type.
    pub fn with<T>(self, name: &str, get: impl Fn(&I) -> T + Send + Sync + 'static) -> Accessors<I>
    where
        T: for<'a> SlotType<View<'a> = T>,
    {
        let get = Arc::new(get);
        self.row::<T>(name, move |slot| {
            let get = get.clone();
            Box::new(move |input, frame| {
                frame.set(slot, get(input));
                Ok(())
            })
        })
    }

    /// A TEXT input.
    pub fn with_text(
        self,
        name: &str,
        get: impl for<'a> Fn(&'a I) -> &'a str + Send + Sync + 'static,
    ) -> Accessors<I> {
        let get = Arc::new(get);
        self.row::<Text>(name, move |slot| {
            let get = get.clone();
            Box::new(move |input, frame| {
                frame.set(slot, get(input));
                Ok(())
            })
        })
    }

    /// A BYTES input.
    pub fn with_bytes(
        self,
        name: &str,
        get: impl for<'a> Fn(&'a I) -> &'a [u8] + Send + Sync + 'static,
    ) -> Accessors<I> {
        let get = Arc::new(get);
        self.row::<Bytes>(name, move |slot| {
            let get = get.clone();
            Box::new(move |input, frame| {
                frame.set(slot, get(input));
                Ok(())
            })
        })
    }

    fn row<T: SlotType>(
        mut self,
        name: &str,
        setter: impl Fn(Slot<T>) -> Setter<I> + Send + Sync + 'static,
    ) -> Accessors<I> {
        let bind = move |name: &str, bound: &BoundExpr| Ok(setter(bound.input::<T>(name)?));
        self.rows.insert(name.into(), (T::qtype(), Arc::new(bind)));
        self
    }
}

impl<I: ?Sized + 'static> InputLoader<I> for Accessors<I> {
    fn qtype(&self, name: &str) -> Option<QType> {
        self.rows.get(name).map(|row| row.0.clone())
    }

    fn names(&self) -> Vec<Arc<str>> {
        self.rows.keys().cloned().collect()
    }

    fn bind(&self, name: &str, bound: &BoundExpr) -> Result<Setter<I>, BindError> {
        match self.rows.get(name) {
            Some((_, bind)) => bind(name, bound),
            None => Err(not_offered(name, self.names())),
        }
    }
}

fn not_offered(name: &str, known: Vec<Arc<str>>) -> BindError {
    BindError::UnknownName { role: "input", name: name.to_owned(), known }
}

/// Values by name, in a map whose names and types are declared.
#[derive(Clone, Debug, Default)]
pub struct MapLoader {
    types: BTreeMap<Arc<str>, QType>,
}

impl MapLoader {
    /// A loader of these names.
    pub fn new<N: Into<Arc<str>>>(types: impl IntoIterator<Item = (N, QType)>) -> MapLoader {
        MapLoader { types: types.into_iter().map(|(name, qtype)| (name.into(), qtype)).collect() }
    }
}

/// A loader that takes a value by name from the data.
fn bind_value<I: ?Sized + 'static>(
    name: &str,
    bound: &BoundExpr,
    get: impl Fn(&I, &str) -> Option<Value> + Send + Sync + 'static,
) -> Result<Setter<I>, BindError> {
    let (slot, name): (_, Arc<str>) = (bound.input_slot(name)?.clone(), name.into());
    Ok(Box::new(move |input, frame| {
        let value = get(input, &name).ok_or_else(|| LoadError::Missing { name: name.clone() })?;
        frame.write(&slot, &value).map_err(|error| LoadError::Type { name: name.clone(), error })
    }))
}

impl<S: BuildHasher + Send + Sync + 'static> InputLoader<HashMap<String, Value, S>> for MapLoader {
    fn qtype(&self, name: &str) -> Option<QType> {
        self.types.get(name).cloned()
    }

    fn names(&self) -> Vec<Arc<str>> {
        self.types.keys().cloned().collect()
    }

    fn bind(&self, name: &str, bound: &BoundExpr) -> Result<Setter<HashMap<String, Value, S>>, BindError> {
        bind_value(name, bound, |input: &HashMap<String, Value, S>, name| input.get(name).cloned())
    }
}

type ParseName<K> = dyn Fn(&str) -> Option<K> + Send + Sync;
type GetByKey<I, K> = dyn Fn(&I, &K) -> Option<Value> + Send + Sync;

/// Every name that a pattern accepts, such as `feature_<n>`.
pub struct Wildcard<I: ?Sized, K> {
    qtype: QType,
    example: Arc<str>,
    parse: Arc<ParseName<K>>,
    get: Arc<GetByKey<I, K>>,
}

impl<I: ?Sized, K> std::fmt::Debug for Wildcard<I, K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Wildcard({}: {})", self.example, self.qtype)
    }
}

impl<I: ?Sized, K> Wildcard<I, K> {
    /// `parse` reads the key out of a name, `get` the value for the key; `example` is what to suggest.
    pub fn new(
        qtype: QType,
        example: &str,
        parse: impl Fn(&str) -> Option<K> + Send + Sync + 'static,
        get: impl Fn(&I, &K) -> Option<Value> + Send + Sync + 'static,
    ) -> Wildcard<I, K> {
        Wildcard { qtype, example: example.into(), parse: Arc::new(parse), get: Arc::new(get) }
    }
}

impl<I: ?Sized + 'static, K: Send + Sync + 'static> InputLoader<I> for Wildcard<I, K> {
    fn qtype(&self, name: &str) -> Option<QType> {
        (self.parse)(name).map(|_| self.qtype.clone())
    }

    fn names(&self) -> Vec<Arc<str>> {
        vec![self.example.clone()]
    }

    fn bind(&self, name: &str, bound: &BoundExpr) -> Result<Setter<I>, BindError> {
        let key = (self.parse)(name).ok_or_else(|| not_offered(name, self.names()))?;
        let get = self.get.clone();
        bind_value(name, bound, move |input: &I, _| get(input, &key))
    }
}

/// The first loader that offers a name serves it.
pub struct Chain<I: ?Sized> {
    loaders: Vec<Box<dyn InputLoader<I>>>,
}

impl<I: ?Sized> std::fmt::Debug for Chain<I> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Chain of {}", self.loaders.len())
    }
}

impl<I: ?Sized> Chain<I> {
    /// These loaders, in order.
    pub fn new(loaders: Vec<Box<dyn InputLoader<I>>>) -> Chain<I> {
        Chain { loaders }
    }
}

impl<I: ?Sized> InputLoader<I> for Chain<I> {
    fn qtype(&self, name: &str) -> Option<QType> {
        self.loaders.iter().find_map(|l| l.qtype(name))
    }

    fn names(&self) -> Vec<Arc<str>> {
        self.loaders.iter().flat_map(|l| l.names()).collect()
    }

    fn bind(&self, name: &str, bound: &BoundExpr) -> Result<Setter<I>, BindError> {
        match self.loaders.iter().find(|l| l.qtype(name).is_some()) {
            Some(loader) => loader.bind(name, bound),
            None => Err(not_offered(name, self.names())),
        }
    }
}

/// A loader that shows only some of another's names.
pub struct Filter<L> {
    loader: L,
    keep: Arc<dyn Fn(&str) -> bool + Send + Sync>,
}

impl<L> std::fmt::Debug for Filter<L> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Filter")
    }
}

impl<L> Filter<L> {
    /// The names of a loader that pass a test.
    pub fn new(loader: L, keep: impl Fn(&str) -> bool + Send + Sync + 'static) -> Filter<L> {
        Filter { loader, keep: Arc::new(keep) }
    }
}

impl<I: ?Sized, L: InputLoader<I>> InputLoader<I> for Filter<L> {
    fn qtype(&self, name: &str) -> Option<QType> {
        (self.keep)(name).then(|| self.loader.qtype(name)).flatten()
    }

    fn names(&self) -> Vec<Arc<str>> {
        self.loader.names().into_iter().filter(|n| (self.keep)(n)).collect()
    }

    fn bind(&self, name: &str, bound: &BoundExpr) -> Result<Setter<I>, BindError> {
        match (self.keep)(name) {
            true => self.loader.bind(name, bound),
            false => Err(not_offered(name, self.names())),
        }
    }
}
