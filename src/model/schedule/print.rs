//! A schedule as text.
//!
//! ```text
//! schedule of m: ENERGY_TIME_2D, 40 energies, 30 times
//! theta
//!   r0 Offset_y0  = 2
//! steps
//!   r9 GLP_01_A_resolved  = r1 + expFun(r2, r3, r8)
//! operations
//!   s0 Offset  = Offset(r0), a background
//!   s1 GLP_01  = GLP(r9, r5, r6, r7), a peak
//! formulas
//!   Offset(y0)  = y0
//!   …
//! spectrum = s1 + s0
//! ```

use crate::model::component::{Function, Role};
use crate::model::schedule::plan::{Expression, Operation, Schedule, Source, Step, Trace};

/// Rows, steps and operations in their order.
pub fn text(schedule: &Schedule) -> String {
    let mut out = format!("schedule: {}, semantics {}", schedule.domain.name(), schedule.semantics.name());
    let axes =
        [(&schedule.energy, "energies"), (&schedule.time, "times"), (&schedule.aux, "points of profiles")];
    for (axis, name) in axes.iter().filter(|(axis, _)| !axis.is_empty()) {
        out += &format!(", {} {name}", axis.len());
    }
    let number = |row: usize| format!("r{row} {}  = {}", schedule.row_names[row], schedule.numbers[row]);
    section(&mut out, "theta", (0..schedule.free).map(number));
    section(&mut out, "fixed", (schedule.free..schedule.numbers.len()).map(number));
    section(&mut out, "steps", schedule.steps.iter().map(|s| step(schedule, s)));
    let samples = schedule.samples.iter().enumerate().map(|(index, sample)| {
        let term = |(function, rows): &(Function, Vec<usize>)| call(function.name(), rows);
        let terms: Vec<String> = sample.terms.iter().map(term).collect();
        format!("p{index} {}  = r{} + {}", schedule.row_names[sample.base], sample.base, terms.join(" + "))
    });
    section(&mut out, "profiles", samples);
    let expressions = schedule.sample_expressions.iter().enumerate();
    section(&mut out, "expressions of profiles", expressions.map(|(i, x)| format!("x{i}  = {}", formula(x))));
    section(&mut out, "operations", schedule.operations.iter().enumerate().map(operation));
    section(&mut out, "formulas", formulas(schedule).into_iter());
    out + &format!("spectrum = {}\n", sum(&schedule.output))
}

fn section(out: &mut String, title: &str, lines: impl Iterator<Item = String>) {
    let mut lines = lines.peekable();
    let end = if out.ends_with('\n') { "" } else { "\n" };
    *out += end;
    if lines.peek().is_some() {
        *out += &format!("{title}\n");
    }
    lines.for_each(|line| *out += &format!("  {line}\n"));
}

fn call(function: &str, rows: &[usize]) -> String {
    let rows: Vec<String> = rows.iter().map(|row| format!("r{row}")).collect();
    format!("{function}({})", rows.join(", "))
}

fn sum(operations: &[usize]) -> String {
    operations.iter().map(|o| format!("s{o}")).collect::<Vec<_>>().join(" + ")
}

fn step(schedule: &Schedule, step: &Step) -> String {
    let target = step.target();
    let value = match step {
        Step::Group { base, traces, .. } => {
            let trace = |t: &Trace| {
                let masked = t.mask.iter().any(|m| *m != 1.0);
                let call = call(t.function.name(), &t.parameters);
                if masked { format!(" + {call} in its subcycle") } else { format!(" + {call}") }
            };
            format!("r{base}{}", traces.iter().map(trace).collect::<String>())
        }
        Step::Expression { value, .. } => formula(value),
        Step::Convolution { function, parameters, .. } => {
            format!("r{target} convolved by {}", call(function.name(), parameters))
        }
    };
    format!("r{target} {}  = {value}", schedule.row_names[target])
}

fn source(source: Source) -> String {
    match source {
        Source::Row(row) => format!("r{row}"),
        Source::Sample(index) => format!("p{index}"),
        Source::SampleExpression(index) => format!("x{index}"),
    }
}

fn operation((index, operation): (usize, &Operation)) -> String {
    let parameters: Vec<String> = operation.parameters.iter().map(|s| source(*s)).collect();
    let call = format!("{}({})", operation.function.name(), parameters.join(", "));
    let role = match operation.function.role() {
        Role::SpectrumFed | Role::Kernel => format!(" of {}", sum(&operation.reads)),
        Role::Background => ", a background".to_owned(),
        _ if operation.is_peak => ", a peak".to_owned(),
        _ => String::new(),
    };
    let mean = if operation.is_profiled { "mean of " } else { "" };
    let constant = if operation.is_constant { ", constant" } else { "" };
    format!("s{index} {}  = {mean}{call}{role}{constant}", operation.name)
}

/// The formula of an expression, with the places of what it reads.
fn formula(value: &Expression) -> String {
    let name = |name: &str| {
        let place = value.formula.names().iter().position(|known| known == name);
        place.map(|place| source(value.sources[place]))
    };
    value.formula.renamed(name).text().to_owned()
}

/// What the functions compute that the schedule names, each once.
fn formulas(schedule: &Schedule) -> Vec<String> {
    let of_step = |step: &Step| match step {
        Step::Group { traces, .. } => traces.iter().map(|trace| trace.function).collect(),
        Step::Convolution { function, .. } => vec![*function],
        Step::Expression { .. } => Vec::new(),
    };
    let of_samples = schedule.samples.iter().flat_map(|sample| sample.terms.iter().map(|term| term.0));
    let all = schedule.steps.iter().flat_map(of_step).chain(of_samples);
    let mut functions: Vec<Function> = Vec::new();
    for function in all.chain(schedule.operations.iter().map(|operation| operation.function)) {
        if !functions.contains(&function) {
            functions.push(function);
        }
    }
    let line = |function: &Function| {
        let parameters = function.parameters(schedule.semantics).join(", ");
        let text = function.formula(schedule.semantics).text();
        format!("{}({parameters})  = {text}", function.name())
    };
    functions.iter().map(line).collect()
}
