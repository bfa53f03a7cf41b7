//! User functions: Rust closures that a graph calls by name.
//!
//! ```
//! use cembra::backend::{Function, State, evaluate_nodes};
//! use cembra::dag::{Array, Graph, linearize};
//! use ndarray::ArrayViewD;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let graph = Graph::new();
//! let x = graph.placeholder("x");
//! let y = graph.function_call("clip", &[&x]);
//!
//! let mut state = State::new(&graph);
//! state.set_node_value(&x, Array::vector([1.0, 2.5, 4.0]))?;
//! let clip = Function::of_one(|x: ArrayViewD<'_, f64>| x.mapv(|x| x.clamp(2.0, 3.0)));
//! state.set_function("clip", clip.with_shape_of_arguments());
//! evaluate_nodes(&mut state, &linearize::forest(&[y.clone()], &[])?)?;
//! assert_eq!(state.get_node_value(&y)?, &Array::vector([2.0, 2.5, 3.0]));
//! # Ok(())
//! # }
//! ```
//!
//! What a function declares of its result is checked after each call. A panic inside is an error of the
//! node like any other, and the state stays usable.

use crate::backend::broadcast::common_shape;
use crate::backend::error::UserFunctionError;
use crate::dag::{Array, DType, Element};
use ndarray::{ArrayD, ArrayViewD};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

type Body = dyn Fn(&Arguments<'_>) -> Result<Array, UserFunctionError> + Send + Sync;

/// A function that a graph calls by name.
#[derive(Clone)]
pub struct Function {
    body: Arc<Body>,
    dtype: Option<DType>,
    shape: Option<ResultShape>,
}

/// The shape that a result must have.
#[derive(Clone, Debug)]
enum ResultShape {
    Exactly(Vec<usize>),
    OfArguments,
}

/// What a function is called with.
#[derive(Clone, Debug)]
pub struct Arguments<'a> {
    positional: Vec<&'a Array>,
    keyword: Vec<(&'a str, &'a Array)>,
}

impl<'a> Arguments<'a> {
    pub(crate) fn new(positional: Vec<&'a Array>, keyword: Vec<(&'a str, &'a Array)>) -> Arguments<'a> {
        Arguments { positional, keyword }
    }

    /// Arguments by position.
    pub fn positional(&self) -> &[&'a Array] {
        &self.positional
    }

    /// Arguments by keyword, in the order of the call.
    pub fn keyword(&self) -> &[(&'a str, &'a Array)] {
        &self.keyword
    }

    /// All arguments by position, if there are so many and no others.
    ///
    /// # Errors
    /// There are fewer or more, or keywords.
    pub fn exactly<const N: usize>(&self) -> Result<[&'a Array; N], UserFunctionError> {
        self.expect_keywords(&[])?;
        self.first()
    }

    /// All arguments by position, if there are so many; keywords are looked at apart.
    ///
    /// # Errors
    /// There are fewer or more.
    pub fn first<const N: usize>(&self) -> Result<[&'a Array; N], UserFunctionError> {
        let actual = self.positional.len();
        if actual < N {
            return Err(UserFunctionError::MissingArgument { position: actual + 1 });
        }
        let all = self.positional[..].try_into();
        all.map_err(|_| UserFunctionError::TooManyArguments { expected: N, actual })
    }

    /// The argument of a keyword.
    ///
    /// # Errors
    /// It was not given.
    pub fn get(&self, name: &str) -> Result<&'a Array, UserFunctionError> {
        let found = self.keyword.iter().find(|(key, _)| *key == name);
        found
            .map(|(_, array)| *array)
            .ok_or_else(|| UserFunctionError::MissingKeyword { name: name.to_owned() })
    }

    /// Fails if there is a keyword besides these.
    ///
    /// # Errors
    /// There is one.
    pub fn expect_keywords(&self, names: &[&str]) -> Result<(), UserFunctionError> {
        match self.keyword.iter().find(|(key, _)| !names.contains(key)) {
            Some((name, _)) => Err(UserFunctionError::UnexpectedKeyword { name: (*name).to_owned() }),
            None => Ok(()),
        }
    }

    /// The elements of an argument, from 0 by position.
    ///
    /// # Errors
    /// There is no such argument, or its elements are of another type.
    pub fn view<T: Element>(&self, position: usize) -> Result<ArrayViewD<'a, T>, UserFunctionError> {
        let array = self.positional.get(position);
        let array = array.ok_or(UserFunctionError::MissingArgument { position: position + 1 })?;
        view(array, || format!("argument {}", position + 1))
    }

    /// The elements of the argument of a keyword.
    ///
    /// # Errors
    /// It was not given, or its elements are of another type.
    pub fn keyword_view<T: Element>(&self, name: &str) -> Result<ArrayViewD<'a, T>, UserFunctionError> {
        view(self.get(name)?, || format!("argument `{name}`"))
    }
}

fn view<T: Element>(
    array: &Array,
    argument: impl FnOnce() -> String,
) -> Result<ArrayViewD<'_, T>, UserFunctionError> {
    array.elements::<T>().map(|elements| elements.view()).ok_or_else(|| UserFunctionError::ArgumentType {
        argument: argument(),
        expected: T::DTYPE,
        actual: array.dtype(),
    })
}

impl Function {
    /// A function of any arguments.
    pub fn new<F>(body: F) -> Function
    where
        F: Fn(&Arguments<'_>) -> Result<Array, UserFunctionError> + Send + Sync + 'static,
    {
        Function { body: Arc::new(body), dtype: None, shape: None }
    }

    /// A function of one array.
    pub fn of_one<A: Element, R: Element>(
        body: impl Fn(ArrayViewD<'_, A>) -> ArrayD<R> + Send + Sync + 'static,
    ) -> Function {
        Function::new(move |arguments| {
            arguments.exactly::<1>()?;
            Ok(R::wrap(body(arguments.view(0)?).into_shared()))
        })
    }

    /// A function of two arrays.
    pub fn of_two<A: Element, B: Element, R: Element>(
        body: impl Fn(ArrayViewD<'_, A>, ArrayViewD<'_, B>) -> ArrayD<R> + Send + Sync + 'static,
    ) -> Function {
        Function::new(move |arguments| {
            arguments.exactly::<2>()?;
            Ok(R::wrap(body(arguments.view(0)?, arguments.view(1)?).into_shared()))
        })
    }

    /// Declares the type of the result.
    pub fn with_dtype(self, dtype: DType) -> Function {
        Function { dtype: Some(dtype), ..self }
    }

    /// Declares the shape of the result.
    pub fn with_shape(self, shape: &[usize]) -> Function {
        Function { shape: Some(ResultShape::Exactly(shape.to_vec())), ..self }
    }

    /// Declares that the result has the shape to which all arguments broadcast.
    pub fn with_shape_of_arguments(self) -> Function {
        Function { shape: Some(ResultShape::OfArguments), ..self }
    }

    /// Calls the function and checks the result.
    pub(crate) fn call(&self, arguments: &Arguments<'_>) -> Result<Array, UserFunctionError> {
        let called = catch_unwind(AssertUnwindSafe(|| (self.body)(arguments)));
        let result = called.unwrap_or_else(|panic| {
            Err(UserFunctionError::Panicked { message: panic_message(panic.as_ref()) })
        })?;
        let actual = result.dtype();
        if let Some(expected) = self.dtype.filter(|expected| *expected != actual) {
            return Err(UserFunctionError::ResultType { expected, actual });
        }
        let expected = match &self.shape {
            None => return Ok(result),
            Some(ResultShape::Exactly(shape)) => shape.clone(),
            Some(ResultShape::OfArguments) => {
                let keyword = arguments.keyword.iter().map(|(_, array)| array.shape());
                let positional = arguments.positional.iter().map(|array| array.shape());
                common_shape(&positional.chain(keyword).collect::<Vec<_>>())?
            }
        };
        let actual = result.shape().to_vec();
        if expected == actual { Ok(result) } else { Err(UserFunctionError::ResultShape { expected, actual }) }
    }
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Function").field("dtype", &self.dtype).field("shape", &self.shape).finish()
    }
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
