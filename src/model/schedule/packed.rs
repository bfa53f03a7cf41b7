//! The packed view of a schedule: the published flat arrays, for inspection.
//!
//! Nothing evaluates this form. Expressions are pairs of words (kind, operand): 0 pushes the number
//! whose bits the operand is, 1 pushes a row, 2 to 7 are + - * / neg and power. Kinds that the
//! published plans have not are added after these, as are kernels of semantics 0.9.

use crate::model::component::{Function, Semantics};
use crate::model::error::ModelErrorKind;
use crate::model::formula::Postfix;
use crate::model::graph::print::{list, quote};
use crate::model::kernel;
use crate::model::lower::{InitialValues, initial_values};
use crate::model::schedule::plan::{Expression, Operation, Row, Schedule, Source, Step, Trace};
use crate::model::tree::Domain;

/// A field of a packed schedule.
#[derive(Clone, Debug, PartialEq)]
pub enum Field {
    /// Nothing.
    Absent,
    /// A number.
    Integer(i64),
    /// Numbers.
    Integers(Vec<i64>),
    /// Words of 64 bits; written as texts, because JSON numbers do not hold them.
    Words(Vec<i64>),
    /// Lists of numbers.
    Lists(Vec<Vec<i64>>),
    /// Values.
    Floats(Vec<f64>),
    /// Rows of values.
    Matrix(Vec<Vec<f64>>),
    /// Names.
    Names(Vec<String>),
    /// True or false.
    Flags(Vec<bool>),
    /// Fields by name.
    Object(Vec<(&'static str, Field)>),
}

/// The published form of a schedule, field by field.
#[derive(Clone, Debug, PartialEq)]
pub struct PackedSchedule {
    /// `ScheduledPlan1D`, `ScheduledPlan2D` or, for a dynamics model by itself, `ScheduledPlanTime`.
    pub kind: &'static str,
    /// Fields in the published order.
    pub fields: Vec<(&'static str, Field)>,
}

impl PackedSchedule {
    /// The field of that name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|(n, _)| *n == name).map(|(_, field)| field)
    }

    /// The recorded JSON form.
    pub fn json(&self) -> String {
        let field = |(name, field): &(&str, Field)| format!("  {}: {}", quote(name), field.json());
        let fields: Vec<String> = self.fields.iter().map(field).collect();
        format!("{{\n  \"_type\": {},\n{}\n}}\n", quote(self.kind), fields.join(",\n"))
    }
}

impl Field {
    /// The field as JSON.
    pub fn json(&self) -> String {
        let joined = |items: Vec<String>| format!("[{}]", items.join(", "));
        let numbers = |values: &[i64]| joined(values.iter().map(i64::to_string).collect());
        match self {
            Field::Absent => "null".to_owned(),
            Field::Integer(value) => value.to_string(),
            Field::Integers(values) => numbers(values),
            Field::Words(words) => joined(words.iter().map(|w| quote(&w.to_string())).collect()),
            Field::Lists(lists) => joined(lists.iter().map(|l| numbers(l)).collect()),
            Field::Floats(values) => list(values),
            Field::Matrix(rows) => joined(rows.iter().map(|row| list(row)).collect()),
            Field::Names(names) => joined(names.iter().map(|n| quote(n)).collect()),
            Field::Flags(flags) => joined(flags.iter().map(bool::to_string).collect()),
            Field::Object(fields) => {
                let field = |(name, field): &(&str, Field)| format!("{}: {}", quote(name), field.json());
                format!("{{{}}}", fields.iter().map(field).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

/// Packs a schedule.
///
/// # Errors
/// The values at the initial theta cannot be computed: there is no memory, or the model is beyond a limit.
pub fn pack(schedule: &Schedule) -> Result<PackedSchedule, ModelErrorKind> {
    let initial = initial_values(schedule)?;
    let (kind, fields) = match schedule.domain {
        Domain::EnergyTime2D => ("ScheduledPlan2D", pack_2d(schedule, initial)),
        Domain::Energy1D => ("ScheduledPlan1D", pack_1d(schedule, initial)),
        Domain::Time1D => ("ScheduledPlanTime", pack_1d(schedule, initial)),
    };
    Ok(PackedSchedule { kind, fields })
}

fn pack_1d(schedule: &Schedule, initial: InitialValues) -> Vec<(&'static str, Field)> {
    let rows = initial.rows.iter().map(|row| row[0]).collect();
    let mut fields = match schedule.domain {
        Domain::Time1D => vec![("time", Field::Floats(schedule.time.clone()))],
        _ => vec![("energy", Field::Floats(schedule.energy.clone()))],
    };
    fields.push(("n_params", count(schedule.row_names.len())));
    fields.push(("param_values_init", Field::Floats(rows)));
    fields.extend(theta(schedule));
    fields.extend(expressions(schedule, "expr_target_indices"));
    let names = ["profile_sample_base_indices", "profile_component_param_indices"];
    fields.extend(profiles(schedule, names));
    fields.extend(operations(schedule));
    fields.push(("cached_result", Field::Floats(initial.constant)));
    fields.push(("cached_peak_sum", Field::Floats(initial.constant_peaks)));
    fields
}

fn pack_2d(schedule: &Schedule, initial: InitialValues) -> Vec<(&'static str, Field)> {
    let floats = |values: &[f64]| Field::Floats(values.to_vec());
    let at_all_times = |row: &Vec<f64>| match row[..] {
        [value] => vec![value; schedule.time.len()],
        _ => row.clone(),
    };
    let mut fields = vec![
        ("energy", floats(&schedule.energy)),
        ("time", floats(&schedule.time)),
        ("n_params", count(schedule.row_names.len())),
        ("n_time", count(schedule.time.len())),
        ("param_traces_init", Field::Matrix(initial.rows.iter().map(at_all_times).collect())),
    ];
    fields.extend(theta(schedule));
    fields.extend(groups(schedule));
    fields.extend(expressions(schedule, "expr_target_rows"));
    fields.extend(resolution(schedule));
    fields.extend(convolutions(schedule));
    fields.extend(profiles(schedule, ["profile_sample_base_rows", "profile_component_param_rows"]));
    fields.extend(operations(schedule));
    fields.push(("op_schedule", integers(0..schedule.operations.len())));
    let rows = |values: Vec<f64>| values.chunks(schedule.energy.len().max(1)).map(<[f64]>::to_vec).collect();
    fields.push(("cached_result", Field::Matrix(rows(initial.constant))));
    fields.push(("cached_peak_sum", Field::Matrix(rows(initial.constant_peaks))));
    fields
}

fn count(value: usize) -> Field {
    Field::Integer(value as i64)
}

fn integers(values: impl IntoIterator<Item = usize>) -> Field {
    Field::Integers(values.into_iter().map(|v| v as i64).collect())
}

/// Where each list begins in the concatenation of all, and where the last one ends.
fn starts(lengths: impl IntoIterator<Item = usize>) -> Field {
    let mut end = 0;
    let ends = lengths.into_iter().map(|length| {
        end += length;
        end
    });
    integers(std::iter::once(0).chain(ends.collect::<Vec<_>>()))
}

fn theta(schedule: &Schedule) -> [(&'static str, Field); 2] {
    let names = Field::Names(schedule.theta_names().to_vec());
    [("opt_indices", integers(0..schedule.free)), ("opt_param_names", names)]
}

fn groups(schedule: &Schedule) -> Vec<(&'static str, Field)> {
    let groups = schedule.steps.iter().filter_map(|step| match step {
        Step::Group { target, base, traces } => Some((*target, *base, traces)),
        _ => None,
    });
    let groups: Vec<(Row, Row, &Vec<Trace>)> = groups.collect();
    let traces: Vec<&Trace> = groups.iter().flat_map(|g| g.2).collect();
    let longest = traces.iter().map(|t| t.parameters.len()).max().unwrap_or(0);
    let padded = |t: &&Trace| -> Vec<i64> {
        let rows = t.parameters.iter().map(|row| *row as i64);
        rows.chain(std::iter::repeat(-1)).take(longest).collect()
    };
    vec![
        ("n_dyn_groups", count(groups.len())),
        ("dyn_group_target_row", integers(groups.iter().map(|g| g.0))),
        ("dyn_group_base_row", integers(groups.iter().map(|g| g.1))),
        ("dyn_group_indptr", starts(groups.iter().map(|g| g.2.len()))),
        ("dyn_sub_func_id", Field::Integers(traces.iter().map(|t| t.function.code()).collect())),
        ("dyn_sub_param_rows", Field::Lists(traces.iter().map(padded).collect())),
        ("dyn_sub_n_params", integers(traces.iter().map(|t| t.parameters.len()))),
        ("dyn_sub_time_axes", Field::Matrix(traces.iter().map(|t| t.time.clone()).collect())),
        ("dyn_sub_masks", Field::Matrix(traces.iter().map(|t| t.mask.clone()).collect())),
    ]
}

fn expressions(schedule: &Schedule, targets: &'static str) -> Vec<(&'static str, Field)> {
    let expressions = schedule.steps.iter().filter_map(|step| match step {
        Step::Expression { target, value } => Some((*target, packed_words(schedule, value))),
        _ => None,
    });
    let (rows, words): (Vec<Row>, Vec<Vec<i64>>) = expressions.unzip();
    let mut fields = vec![("n_expressions", count(rows.len())), (targets, integers(rows))];
    fields.extend(word_lists(schedule, words, ["expr_programs", "expr_instructions", "expr_indptr"]));
    fields
}

/// Lists of words: as they are in semantics 0.9, one after the other in the current one.
fn word_lists(
    schedule: &Schedule,
    words: Vec<Vec<i64>>,
    names: [&'static str; 3],
) -> Vec<(&'static str, Field)> {
    match schedule.semantics {
        Semantics::V0_9 => vec![(names[0], Field::Lists(words))],
        Semantics::Current => {
            let ends = starts(words.iter().map(Vec::len));
            vec![(names[1], Field::Words(words.concat())), (names[2], ends)]
        }
    }
}

/// References of samples come after the rows.
fn packed_words(schedule: &Schedule, value: &Expression) -> Vec<i64> {
    let pair = |step: &Postfix| match *step {
        Postfix::Number(number) => [0, number.to_bits() as i64],
        Postfix::Name(place) => match value.sources[place] {
            Source::Row(row) => [1, row as i64],
            Source::Sample(index) | Source::SampleExpression(index) => {
                [1, (schedule.row_names.len() + index) as i64]
            }
        },
        Postfix::Apply(word) => [2 + word.place() as i64, 0],
    };
    value.formula.postfix().iter().flat_map(pair).collect()
}

fn resolution(schedule: &Schedule) -> [(&'static str, Field); 2] {
    let mut counts = [0usize; 3];
    let number = |step: &Step| {
        let kind = match step {
            Step::Group { .. } => 0,
            Step::Expression { .. } => 1,
            Step::Convolution { .. } => 2,
        };
        counts[kind] += 1;
        (kind, counts[kind] - 1)
    };
    let (kinds, indices): (Vec<usize>, Vec<usize>) = schedule.steps.iter().map(number).unzip();
    [("resolution_kinds", integers(kinds)), ("resolution_indices", integers(indices))]
}

fn convolutions(schedule: &Schedule) -> Vec<(&'static str, Field)> {
    let all = schedule.steps.iter().filter_map(|step| match step {
        Step::Convolution { target, function, parameters, support } => {
            Some((*target, function.code(), parameters, support))
        }
        _ => None,
    });
    let all: Vec<(Row, i64, &Vec<Row>, &Vec<f64>)> = all.collect();
    let mut fields = vec![
        ("n_conv_steps", count(all.len())),
        ("conv_func_ids", Field::Integers(all.iter().map(|step| step.1).collect())),
        ("conv_param_indptr", starts(all.iter().map(|step| step.2.len()))),
        ("conv_param_rows", integers(all.iter().flat_map(|step| step.2.iter().copied()))),
    ];
    match schedule.semantics {
        Semantics::V0_9 => {
            fields.push(("conv_support_indptr", starts(all.iter().map(|step| step.3.len()))));
            let values = all.iter().flat_map(|step| step.3.iter().copied());
            fields.push(("conv_support_values", Field::Floats(values.collect())));
        }
        Semantics::Current if all.is_empty() => fields.push(("conv_operator", Field::Absent)),
        Semantics::Current => fields.push(("conv_operator", operator(&schedule.time))),
    }
    fields.push(("conv_target_rows", integers(all.iter().map(|step| step.0))));
    fields
}

/// Differences of times, each once, and where the difference of each pair is among them.
fn operator(time: &[f64]) -> Field {
    let mut unique: Vec<f64> = time.iter().flat_map(|t| time.iter().map(move |s| t - s)).collect();
    unique.sort_by(f64::total_cmp);
    unique.dedup();
    let position = |d: f64| unique.partition_point(|u| *u < d) as i64;
    let row = |t: &f64| time.iter().map(|s| position(t - s)).collect();
    let gather: Vec<Vec<i64>> = time.iter().map(row).collect();
    let ends = (time.first().copied().unwrap_or(0.0), time.last().copied().unwrap_or(0.0));
    Field::Object(vec![
        ("dt_unique", Field::Floats(unique.clone())),
        ("gather_idx", Field::Lists(gather)),
        ("quad_weights", Field::Floats(kernel::weights(time))),
        ("dt_left", Field::Floats(time.iter().map(|t| t - ends.0).collect())),
        ("dt_right", Field::Floats(time.iter().map(|t| t - ends.1).collect())),
    ])
}

fn profiles(schedule: &Schedule, names: [&'static str; 2]) -> Vec<(&'static str, Field)> {
    let samples = &schedule.samples;
    let terms: Vec<&(Function, Vec<usize>)> = samples.iter().flat_map(|s| &s.terms).collect();
    let mut fields = vec![
        ("n_aux", count(schedule.aux.len())),
        ("aux_axis", Field::Floats(schedule.aux.clone())),
        ("n_profile_samples", count(samples.len())),
        (names[0], integers(samples.iter().map(|s| s.base))),
        ("profile_sample_component_indptr", starts(samples.iter().map(|s| s.terms.len()))),
        ("profile_component_func_ids", Field::Integers(terms.iter().map(|t| t.0.code()).collect())),
        ("profile_component_param_indptr", starts(terms.iter().map(|t| t.1.len()))),
        (names[1], integers(terms.iter().flat_map(|t| t.1.iter().copied()))),
        ("n_profile_exprs", count(schedule.sample_expressions.len())),
    ];
    let words = schedule.sample_expressions.iter().map(|w| packed_words(schedule, w)).collect();
    let names = ["profile_expr_programs", "profile_expr_instructions", "profile_expr_indptr"];
    fields.extend(word_lists(schedule, words, names));
    fields
}

fn operations(schedule: &Schedule) -> Vec<(&'static str, Field)> {
    let all = &schedule.operations;
    let flags = |flag: fn(&Operation) -> bool| Field::Flags(all.iter().map(flag).collect());
    let sources: Vec<(usize, usize)> = all.iter().flat_map(|o| &o.parameters).map(source_code).collect();
    vec![
        ("n_ops", count(all.len())),
        ("op_kinds", Field::Integers(all.iter().map(|o| o.function.code()).collect())),
        ("op_param_indptr", starts(all.iter().map(|o| o.parameters.len()))),
        ("op_param_source_kinds", integers(sources.iter().map(|s| s.0))),
        ("op_param_indices", integers(sources.iter().map(|s| s.1))),
        ("op_needs_spectrum", flags(|o| !o.reads.is_empty())),
        ("op_is_pre_spectrum", flags(|o| o.is_peak)),
        ("op_is_profiled", flags(|o| o.is_profiled)),
        ("op_is_constant", flags(|o| o.is_constant)),
    ]
}

/// Kind and number of a source.
fn source_code(source: &Source) -> (usize, usize) {
    match source {
        Source::Row(row) => (0, *row),
        Source::Sample(index) => (1, *index),
        Source::SampleExpression(index) => (2, *index),
    }
}
