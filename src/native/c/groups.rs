//! Rows in groups: operators along edges, scans, and what a whole array becomes otherwise than by a fold.
//!
//! ```text
//! edge.from_sizes(v1)          cembra_grouping v3, which the routine frees; an argument is the caller's
//! math._sum(v0, v3)            for each group: its rows that are there, then group_sum_f64 of groups.c
//! math._median(v0)             the same of one group
//! math._cum_sum(v0, v3)        scan_sum_f64: a result for each row that is there, put where the row stands
//! ```

use crate::native::c::chosen::groups_rows;
use crate::native::c::constants::quoted;
use crate::native::c::locals::{CType, element_name};
use crate::native::c::row_folds::RowFold;
use crate::native::c::writer::Writer;
use crate::native::operation::{Operation, text_for};
use cembra_vm::array::special::FunctionKind;
use cembra_vm::builtins::aggregate::{
    ALL_ROWS, ANY_ROW, ARGMAX_ROWS, ARGMIN_ROWS, COUNT_ROWS, EVERY_TRUTH, KURTOSIS_ROWS, MAX_ROWS, MEAN_ROWS,
    MEDIAN_ROWS, MIN_ROWS, ONE_TRUTH, PROD_ROWS, SKEW_ROWS, STD_ROWS, SUM_ROWS, VAR_ROWS,
};
use cembra_vm::builtins::core::{COPY, WHERE};
use cembra_vm::builtins::edge::{
    CHILD_SIZE, COMPOSE, EXPAND, FROM_MAPPING, FROM_SIZES, FROM_SPLIT_POINTS, GROUP_BY, MAPPING, PARENT_SIZE,
    SIZES, TO_SCALAR,
};
use cembra_vm::builtins::group_values::{COLLAPSE, INVERSE_CDF};
use cembra_vm::builtins::scan::{
    CDF, CUM_COUNT, CUM_MAX, CUM_SUM, DENSE_RANK, ORDINAL_RANK, ROW_OF_GROUP, SOFTMAX,
};
use cembra_vm::library::BoundaryArray;
use cembra_vm::operator::Overload;
use cembra_vm::program::{Program, Routine, ValueId};
use cembra_vm::value::qtype::{BOOLEAN, FLOAT32, FLOAT64};
use cembra_vm::value::{QType, ScalarType};
use cembra_vm::vector::math::{BinaryKind, UnaryKind};
use std::fmt::Write;

/// The text that programs with groups need, behind that of rows and folds.
pub(super) const GROUPS: &str = include_str!("groups.c");

/// The text of what follows from orders and powers, behind that of groups.
pub(super) const RANKS: &str = include_str!("ranks.c");
/// Special functions that [`RANKS`] calls.
pub(super) const RANKS_NEED: [FunctionKind; 2] =
    [FunctionKind::Unary(UnaryKind::Exp), FunctionKind::Binary(BinaryKind::Pow)];

/// What rows of one group become, by the name of the operator: the name in `groups.c`. Those of [`OF_ANY`] read no cells.
const AGGREGATES: [(&str, &str); 19] = [
    (SUM_ROWS, "sum"),
    (MEAN_ROWS, "mean"),
    (MIN_ROWS, "min"),
    (MAX_ROWS, "max"),
    (PROD_ROWS, "prod"),
    (MEDIAN_ROWS, "median"),
    (ARGMIN_ROWS, "argmin"),
    (ARGMAX_ROWS, "argmax"),
    (VAR_ROWS, "var"),
    (STD_ROWS, "std"),
    (COUNT_ROWS, "count"),
    (ANY_ROW, "any"),
    (ALL_ROWS, "all"),
    (EVERY_TRUTH, "logical_all"),
    (ONE_TRUTH, "logical_any"),
    (SKEW_ROWS, "skew"),
    (KURTOSIS_ROWS, "kurtosis"),
    (INVERSE_CDF, "inverse_cdf"),
    (COLLAPSE, "collapse"),
];
/// Operators that give a row for each row.
const SCANS: [(&str, &str); 8] = [
    (CUM_SUM, "sum"),
    (CUM_MAX, "max"),
    (CUM_COUNT, "count"),
    (ROW_OF_GROUP, "index"),
    (ORDINAL_RANK, "ordinal"),
    (DENSE_RANK, "dense"),
    (CDF, "share"),
    (SOFTMAX, "softmax"),
];
/// Names in `ranks.c`, and the words that one needs for each row.
const RANKED: [(&str, usize); 8] = [
    ("ordinal", 4),
    ("dense", 4),
    ("share", 4),
    ("softmax", 1),
    ("inverse_cdf", 4),
    ("skew", 0),
    ("kurtosis", 0),
    ("collapse", 0),
];
/// Names in `groups.c` of what only asks which rows are there.
const OF_ANY: [&str; 5] = ["count", "any", "all", "index", "logical"];

/// True if a routine has operators of [`GROUPS`].
fn has_groups(routine: &Routine) -> bool {
    routine.values.iter().any(|info| info.slot.qtype().is_edge())
        || routine
            .body
            .operators()
            .iter()
            .any(|overload| groups_rows(overload) || Grouped::of(overload).is_some())
}

/// The text of groups, if a program needs it.
pub(super) fn group_functions(program: &Program) -> &'static str {
    if program.routines().iter().any(has_groups) { GROUPS } else { "" }
}

/// The text of ranks, if a program needs it: it calls the functions of [`RANKS_NEED`].
pub(super) fn rank_functions(program: &Program) -> &'static str {
    text_for(program, RANKS, |overload| Grouped::of(overload).is_some_and(|grouped| grouped.is_ranked))
}

/// True if a program has groups: their functions call those of folds.
pub(super) fn needs_folds(program: &Program) -> bool {
    program.routines().iter().any(has_groups)
}

/// An operator on the rows of groups.
struct Grouped {
    /// The function of a group.
    function: String,
    is_scan: bool,
    /// Bytes of the cells that it reads.
    size: usize,
    has_edge: bool,
    has_option: bool,
    /// True if it is one of `ranks.c`.
    is_ranked: bool,
    /// Words of memory that it needs for each row.
    scratch: usize,
}

impl Grouped {
    /// That of an operator; `None` if it is another one, or has no form in C.
    fn of(overload: &Overload) -> Option<Grouped> {
        let (QType::Array(rows), rest) = overload.args().split_first()? else { return None };
        BoundaryArray::of(&overload.args()[0])?;
        let has_edge = rest.first().is_some_and(QType::is_edge);
        let options = if has_edge { &rest[1..] } else { rest };
        if options.len() > 1 || !options.iter().all(|option| matches!(*option, BOOLEAN | FLOAT32 | FLOAT64)) {
            return None;
        }
        let named = |table: &[(&str, &'static str)]| {
            table.iter().find(|(name, _)| *name == &**overload.name()).map(|(_, kind)| *kind)
        };
        let (kind, what) = match (named(&AGGREGATES), named(&SCANS)) {
            // Folds of whole arrays belong to regions.
            (Some(_), _) if !has_edge && RowFold::of(overload).is_some() => return None,
            (Some(kind), _) => (kind, "group"),
            (None, kind) => (kind?, "scan"),
        };
        let is_of_any = OF_ANY.iter().any(|any| kind.starts_with(any));
        let code = match rows.element {
            element if kind == "collapse" && element.is_float() => "floats",
            _ if kind == "collapse" => "rows",
            _ if is_of_any => "u8",
            ScalarType::Int32 => "i32",
            ScalarType::Int64 => "i64",
            ScalarType::Float32 => "f32",
            ScalarType::Float64 => "f64",
            _ => return None,
        };
        let size = if is_of_any && rows.element != ScalarType::Boolean {
            0
        } else {
            BoundaryArray::Rows(*rows).size()
        };
        let rounded = if options == [FLOAT32] { "_single" } else { "" };
        let (function, is_scan) = (format!("{what}_{kind}{rounded}_{code}"), what == "scan");
        let ranked = RANKED.iter().find(|(name, _)| *name == kind);
        let (is_ranked, scratch) = (ranked.is_some(), ranked.map_or(0, |(_, words)| *words));
        let has_option = !options.is_empty();
        Some(Grouped { function, is_scan, size, has_edge, has_option, is_ranked, scratch })
    }
}

impl Writer<'_> {
    /// Statements of an operator on edges or groups; `None` if it is none of them.
    pub(super) fn groups(&self, operation: Operation<'_>) -> Option<String> {
        let Operation { ip, overload, operands, result } = operation;
        if let Some(grouped) = Grouped::of(overload) {
            return Some(match grouped.is_scan {
                true => self.scanned(ip, &grouped, operands, result),
                false => self.aggregated(ip, &grouped, operands, result),
            });
        }
        let own = |position: usize| self.locals.owner(operands[position]);
        let refuse = |k: &str, what: &str, then: &str| {
            let raise = self.raise(ip, &quoted(what), &[]);
            format!("int32_t k = {k}; if (CEMBRA_RARE(k)) {{ {raise} }} {then}")
        };
        let edge_of = |function: &str, more: &str| {
            let made = refuse(
                &format!("{function}(&f{more}, &{})", self.locals.owner(result)),
                "there is no such edge",
                "",
            );
            format!("{{ cembra_array f = {}; {made} }}", self.descriptor(operands[0]))
        };
        let rows_of = |function: String| {
            let made = refuse(&function, "the array is too large", &self.taken(result, "t"));
            format!("{{ cembra_array t = {{ 0 }}; {made} }}")
        };
        let copied = |from: String| {
            let made = format!("copied_edge({from}, &{})", self.locals.owner(result));
            format!("{{ {} }}", refuse(&made, "there is no memory for the edge", ""))
        };
        let is_of_edge = overload.args().first().is_some_and(QType::is_edge);
        Some(match &**overload.name() {
            FROM_SIZES => edge_of("edge_of_points", ", 1"),
            FROM_SPLIT_POINTS => edge_of("edge_of_points", ", 0"),
            FROM_MAPPING => edge_of("edge_of_mapping", &format!(", {}", self.locals.only(operands[1]))),
            COMPOSE => {
                let made = format!("edge_of_edges(&{}, &{}, &{})", own(0), own(1), self.locals.owner(result));
                format!("{{ {} }}", refuse(&made, "the rows of one edge are not the parents of the next", ""))
            }
            GROUP_BY => {
                let element = self.locals.array(operands[0])?.element();
                let is_float = element.is_float();
                let size = self.locals.array(operands[0])?.size();
                edge_of("edge_of_equals", &format!(", {size}, {}, 1", u8::from(is_float)))
            }
            TO_SCALAR if !is_of_edge => {
                let array = own(0);
                let edge = self.locals.owner(result);
                format!("free_grouping(&{edge}); {edge}.children = {array}_n0; {edge}.parents = 1;")
            }
            MAPPING => rows_of(format!("numbers_of_edge(&{}, 0, &t)", own(0))),
            SIZES => rows_of(format!("numbers_of_edge(&{}, 1, &t)", own(0))),
            COPY if is_of_edge => copied(format!("&{}", own(0))),
            WHERE if overload.result().is_edge() => {
                copied(format!("{} ? &{} : &{}", self.locals.presence(operands[0])?, own(1), own(2)))
            }
            CHILD_SIZE => format!("{} = {}.children;", self.locals.only(result), own(0)),
            PARENT_SIZE => format!("{} = {}.parents;", self.locals.only(result), own(0)),
            EXPAND => {
                let (edge, size) = (own(1), self.locals.array(operands[0])?.size());
                format!(
                    "{{ {}cembra_array f = {}, t = {{ 0 }}; {} }}",
                    self.rows_fit(ip, operands[0], format!("{edge}.parents")),
                    self.descriptor(operands[0]),
                    refuse(
                        &format!("expand_rows(&f, {size}, &{edge}, &t)"),
                        "the array is too large",
                        &self.taken(result, "t")
                    )
                )
            }
            _ => return None,
        })
    }

    /// Refuses rows that are not as many as an edge has.
    fn rows_fit(&self, ip: usize, rows: ValueId, of_edge: String) -> String {
        let sizes = [(format!("{}_n0", self.locals.owner(rows)), CType::I64), (of_edge, CType::I64)];
        let raise = self.raise(ip, &quoted("an edge has another number of rows than the array"), &sizes);
        format!(
            "if (CEMBRA_RARE({} != {})) {{ int32_t k = CEMBRA_SIZE_MISMATCH; {raise} }} ",
            sizes[0].0, sizes[1].0
        )
    }

    /// The array as `f`, its groups as `e`, and memory for one of them as `g`; `made` is the array of the results as `t0`, if there
    /// is one.
    fn begin(
        &self,
        ip: usize,
        grouped: &Grouped,
        operands: &[ValueId],
        made: Option<(ValueId, &str)>,
    ) -> String {
        let mut text = format!("cembra_array f = {}; ", self.descriptor(operands[0]));
        match grouped.has_edge {
            true => {
                let edge = self.locals.owner(operands[1]);
                text += &self.rows_fit(ip, operands[0], format!("{edge}.children"));
                let _ = write!(text, "cembra_grouping *e = &{edge}; ");
            }
            false => text += "cembra_grouping all = { f.shape[0], 1, NULL, NULL, NULL }, *e = &all; ",
        }
        if grouped.function.starts_with("group_inverse_cdf") {
            let share = self.option(grouped, operands);
            let raise = self.raise(ip, &quoted("cdf_arg must be in [0, 1]"), &[]);
            let _ = write!(
                text,
                "if (CEMBRA_RARE(!({share} >= 0 && {share} <= 1))) {{ int32_t k = CEMBRA_INDEX_OUT_OF_RANGE; {raise} }} "
            );
        }
        let too_large = self.raise(ip, &quoted("the array is too large"), &[]);
        let _ = write!(
            text,
            "cembra_group g; {{ int32_t k = begin_groups(e, &f, {}, &g); \
             if (CEMBRA_RARE(k)) {{ end_groups(&g); {too_large} }} }} ",
            grouped.scratch
        );
        if let Some((result, count)) = made {
            let size = self.locals.array(result).map_or(0, BoundaryArray::size);
            let make = self.lent_or(result, 0, &format!("new_rows({size}, &t0)"), true);
            let _ = write!(
                text,
                "cembra_array t0 = {{ NULL, {{ {count} }} }}; {{ int32_t k = {make}; \
                 if (CEMBRA_RARE(k)) {{ end_groups(&g); {too_large} }} }} clear_rows(&t0, {size}); "
            );
        }
        text
    }

    fn aggregated(&self, ip: usize, grouped: &Grouped, operands: &[ValueId], result: ValueId) -> String {
        let (function, size) = (&grouped.function, grouped.size);
        let option = self.option(grouped, operands);
        if let Some(array) = self.locals.array(result) {
            let (element, bytes) = (element_name(array.element()), array.size());
            return format!(
                "{{ {}for (int64_t p = 0; p < e->parents; p++) {{ {element} z = 0; gather_rows(&f, {size}, e, p, &g); \
                 int is = {function}(&g, {option}, &z); put_row(&t0, p, is, &z, {bytes}); }} end_groups(&g); {}}}",
                self.begin(ip, grouped, operands, Some((result, "e->parents"))),
                self.taken_or_lent(result, 0)
            );
        }
        let to = self.locals.all(result);
        let ctype = to.last().map_or(CType::U8, |(_, ctype)| *ctype).name();
        let moved = match (&to[..], self.locals.presence(result)) {
            ([(only, _)], None) => format!("(void)is; {only} = z;"),
            ([(presence, _)], Some(_)) => format!("{presence} = (uint8_t)is;"),
            ([(presence, _), (cells, _)], _) => format!("{presence} = (uint8_t)is; {cells} = z;"),
            _ => String::new(),
        };
        format!(
            "{{ {}{ctype} z = 0; gather_rows(&f, {size}, e, 0, &g); int is = {function}(&g, {option}, &z); end_groups(&g); {moved} }}",
            self.begin(ip, grouped, operands, None)
        )
    }

    fn scanned(&self, ip: usize, grouped: &Grouped, operands: &[ValueId], result: ValueId) -> String {
        let (function, size) = (&grouped.function, grouped.size);
        let option = self.option(grouped, operands);
        let bytes = self.locals.array(result).map_or(0, BoundaryArray::size);
        format!(
            "{{ {}for (int64_t p = 0; p < e->parents; p++) {{ \
             if (is_one_run(&f, {size}, e)) {{ cembra_group h = {{ f.shape[0], f.shape[0], 0, f.data, NULL, NULL, NULL, NULL, NULL, g.scratch }}; \
             {function}(&h, {option}, t0.data); all_rows(h.count, t0.validity); break; }} \
             gather_rows(&f, {size}, e, p, &g); {function}(&g, {option}, (char *)g.results); \
             for (int64_t i = 0; i < g.count; i++) put_row(&t0, row_of(&g, i), 1, (char *)g.results + i * {bytes}, {bytes}); }} \
             end_groups(&g); {}}}",
            self.begin(ip, grouped, operands, Some((result, "f.shape[0]"))),
            self.taken_or_lent(result, 0)
        )
    }

    /// The option of an operator as a number, or the bytes of a row that are compared; 0 if it has none.
    fn option(&self, grouped: &Grouped, operands: &[ValueId]) -> String {
        if grouped.function.starts_with("group_collapse") {
            return grouped.size.to_string();
        }
        let option = operands.last().filter(|_| grouped.has_option);
        option.map_or("0".to_owned(), |option| self.locals.only(*option))
    }
}
