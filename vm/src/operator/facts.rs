//! Facts: what a row says of an operator beyond its values, for passes that differentiate and rewrite expressions.
//!
//! ```text
//! nd.sum(x, axes, keep)   class   along the axes that argument 1 names; they stay in place if argument 2 is true
//!                         linear  in x
//!                         slope   follows: the operator itself, of the slope of x
//! math.divide(x, y)       class   pointwise, as every operator of scalars
//!                         linear  in x
//!                         slope   (d_x - result * d_y) / y
//! ```
//!
//! Nothing that is not said is assumed: an operator without facts has no derivative, is not linear, and any element of its
//! result may depend on any element of an operand. That a value of a type without fractions (a truth, a mask, a whole
//! number) changes in steps, so that its slope is zero, follows from its type and needs no fact.

/// What a row says of its operator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    class: Class,
    linear: Linear,
    slope: Slope,
    truths: Option<&'static str>,
    annotates: bool,
}

/// Which elements of the operands an element of the result depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Class {
    /// Perhaps on all.
    #[default]
    Unknown,
    /// On those at its own place, to which the operands are broadcast.
    Pointwise,
    /// On those of the first operand along some axes.
    Along(Along),
    /// On all, by pairs of elements at the same place: the result is one value.
    Pairs,
}

/// How an operator goes along axes of its first operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Along {
    /// The axes.
    pub axes: AlongAxes,
    /// Where the axes of the operand are in the result.
    pub places: Places,
}

/// Axes of the first operand of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlongAxes {
    /// None: elements get other places and do not meet.
    None,
    /// The unit axes that the literal in this argument names, along which no elements can meet; `unit` stands for all.
    Units(usize),
    /// Those that the literal in this argument names; `unit` stands for all.
    Named(usize),
    /// All of them.
    All,
}

/// Where the axes of an operand are in the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Places {
    /// Perhaps elsewhere.
    Moved,
    /// Where they are in the operand, counted from the last one.
    Kept,
    /// The same if the literal in this argument is `true`, else perhaps elsewhere.
    KeptIf(usize),
}

/// Which operands an operator is linear in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Linear {
    /// None that is known.
    #[default]
    No,
    /// These together, whatever the others are.
    In(&'static [usize]),
    /// All together.
    InAll,
    /// Each by itself, whatever the others are: a product.
    InEach,
}

/// How the slope of the result follows from those of the operands. Where that is not written, and the operator is linear in
/// all operands with a slope, its slope is the operator itself, of the slopes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Slope {
    /// By no rule that is written here.
    #[default]
    Unwritten,
    /// The sum of partial derivatives times slopes: an expression of the operator's parameters for each parameter.
    Partials(Box<[&'static str]>),
    /// An expression of the operator's parameters, their slopes `d_` with the name, and the `result`. It is linear in the
    /// slopes. A slope has no axes but those that it depends on: what goes along axes of one first gives it all
    /// axes, by a factor or a choice that has them.
    Differential(&'static str),
}

impl Linear {
    /// True if the operator is linear in this operand together with all others of which that is said.
    pub fn has(self, place: usize) -> bool {
        match self {
            Linear::InAll => true,
            Linear::In(places) => places.contains(&place),
            Linear::InEach | Linear::No => false,
        }
    }
}

impl Facts {
    /// Nothing is known.
    pub const fn new() -> Facts {
        Facts {
            class: Class::Unknown,
            linear: Linear::No,
            slope: Slope::Unwritten,
            truths: None,
            annotates: false,
        }
    }

    /// Which elements an element of the result depends on.
    pub fn class(&self) -> Class {
        self.class
    }

    /// Which operands the operator is linear in.
    pub fn linear(&self) -> Linear {
        self.linear
    }

    /// How slopes follow.
    pub fn slope(&self) -> &Slope {
        &self.slope
    }

    /// The partial derivatives, one for each parameter; none if the slope is not written so.
    pub fn partials(&self) -> &[&'static str] {
        match &self.slope {
            Slope::Partials(partials) => partials,
            Slope::Unwritten | Slope::Differential(_) => &[],
        }
    }

    /// The operator that makes or takes truth values where this one makes or takes a mask, which n-dimensional arrays do not
    /// have.
    pub fn truths(&self) -> Option<&'static str> {
        self.truths
    }

    /// True if the value is that of the first operand, whatever the others say of it; preparation strips the operator.
    pub fn annotates(&self) -> bool {
        self.annotates
    }

    /// Sets the class.
    pub fn with_class(mut self, class: Class) -> Facts {
        self.class = class;
        self
    }

    /// An operator applied element by element.
    pub fn pointwise() -> Facts {
        Facts::new().with_class(Class::Pointwise)
    }

    /// An operator that goes along axes of its first operand.
    pub fn along(axes: AlongAxes, places: Places) -> Facts {
        Facts::new().with_class(Class::Along(Along { axes, places }))
    }

    /// An operator of all pairs of elements.
    pub fn pairs() -> Facts {
        Facts::new().with_class(Class::Pairs)
    }

    /// An operator whose value is that of its first operand.
    pub fn annotation() -> Facts {
        Facts { annotates: true, ..Facts::pointwise().with_linear(Linear::In(&[0])) }
    }

    /// Names the operator on truth values.
    pub fn with_truths(mut self, operator: &'static str) -> Facts {
        self.truths = Some(operator);
        self
    }

    /// Says which operands the operator is linear in.
    pub fn with_linear(mut self, linear: Linear) -> Facts {
        self.linear = linear;
        self
    }

    /// Says how slopes follow.
    pub fn with_slope(mut self, slope: Slope) -> Facts {
        self.slope = slope;
        self
    }

    /// Says by which expression slopes follow.
    pub fn differential(self, text: &'static str) -> Facts {
        self.with_slope(Slope::Differential(text))
    }
}
