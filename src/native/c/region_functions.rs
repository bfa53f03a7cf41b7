//! Functions of a component of a region: elements of a row, and leaves of its folds.
//!
//! ```text
//! r0_rows3(n, c0, d0, …, s0, …, o0, e0)          n elements of the columns, which are so many bytes apart, with scalars, to outputs
//! r0_flat3, r0_strided3                          the same with the usual distances, and with any
//! r0_tree3                                       the same by the leaves of folds
//!
//! r0_rows3(n, c0, d0, h0, …, o0, e0, g0)         rows that may be missing: bytes that say which are there, of operands and results
//! r0_full3(n, c0, d0, …, o0, e0)                 rows of which none is missing: bytes of the results that may be missing all the same
//! r0_flat3(n, c0, v0, j0, …, o0, y0)             the same from and to bitmaps, block by block
//!
//! r0_usual_rows3(…), r0_usual_full3(…)           the same for usual elements; 1 if one is rare, where the recipes of operators do not
//!                                                hold: then the block is computed again by functions of single elements
//! ```
//!
//! Without a bitmap all rows are there. Where no operand has one, presence costs nothing but the bitmaps of results.
//!
//! Cells of missing rows are computed as all others, and are not refused.

use crate::native::c::cells::{CellValue, Presence, THERE, cell, usual_cell};
use crate::native::c::constants::constants_of;
use crate::native::c::fold_kinds::Fold;
use crate::native::c::locals::element_name;
use crate::native::c::region_text::Parts;
use crate::native::c::regions::{Member, operator};
use crate::native::c::syntax::ZERO;
use crate::native::c::writer::Writer;
use cembra_vm::program::ValueId;
use cembra_vm::value::{ScalarType, Value};
use std::fmt::Write;

impl Writer<'_> {
    /// The functions of a component; their names begin with `of` behind the routine.
    pub(super) fn functions_of(&self, parts: &Parts, name: usize, of: &str) -> String {
        let (number, has_rows) = (self.number, parts.array().has_rows());
        let gives = if parts.refusing().is_some() { "int32_t" } else { "void" };
        let kinds = if has_rows { &[Presence::Bytes, Presence::All][..] } else { &[Presence::Bytes] };
        let prefix = format!("r{number}_{of}");
        let mut text = String::new();
        for how in kinds {
            text += &self.rows_of(parts, &Rows { how: *how, is_usual: false }, &prefix, name);
            if parts.has_rare {
                text += &self.rows_of(parts, &Rows { how: *how, is_usual: true }, &prefix, name);
            }
        }
        for (what, is_strided) in [("flat", false), ("strided", true)] {
            let body = walked(parts, &prefix, name, is_strided);
            let _ = write!(
                text,
                "static __attribute__((noinline)) {gives} {prefix}{what}{name}(int64_t n{})\n{{\n{body}}}\n",
                parameters(parts, is_strided, Presence::Bits)
            );
        }
        if parts.folds().next().is_some() {
            text += &self.tree_of(parts, name);
        }
        text
    }

    /// True if elements of a component may be rare, and those of no other member are refused: then there is a function of usual ones.
    pub(super) fn has_rare(&self, parts: &Parts) -> bool {
        let all = |member: &&Member| member.fold.is_none();
        let of = |member: &Member| {
            let (overload, operands, _) = operator(self.routine, member.ip)?;
            let literal = |position: usize| self.literals.get(&operands[position]).cloned();
            Some(usual_cell(overload, literal, |_, _| String::new()).is_some())
        };
        let is_rare = |member: &Member| of(member) == Some(true);
        parts.members.iter().filter(all).any(is_rare)
            && parts.members.iter().filter(all).all(|member| !member.refuses || is_rare(member))
    }

    /// True if a member has every row where all operands of its component have.
    pub(super) fn is_certain(&self, parts: &Parts, member: &Member) -> bool {
        let Some((overload, operands, _)) = operator(self.routine, member.ip) else { return false };
        let presence = |value: ValueId| self.presence_name(parts, value, Presence::All);
        if member.fold.is_some() {
            return presence(operands[0]) == THERE;
        }
        let literal = |position: usize| self.literals.get(&operands[position]).cloned();
        let local = |position: usize, is_presence: bool| match is_presence {
            true => presence(operands[position]),
            false => String::new(),
        };
        cell(overload, literal, local).is_some_and(|cell| cell.present.is_none_or(|text| text == THERE))
    }

    /// The function of some elements.
    fn rows_of(&self, parts: &Parts, rows: &Rows, prefix: &str, name: usize) -> String {
        let (presence, function) = (rows.how, rows.name(prefix, name));
        let (gives, begin, end) = match (rows.is_usual, parts.refusing()) {
            (true, _) => ("int", "    int rare = 0;\n", "    return rare;\n"),
            (false, Some(_)) => ("int32_t", "    int32_t k = 0;\n", "    return k;\n"),
            (false, None) => ("void", "", ""),
        };
        // Rare blocks need no copy of their own for elements that stand in order.
        let how = match parts.has_rare && !rows.is_usual {
            true => "static __attribute__((noinline, cold))",
            false => "static inline __attribute__((always_inline))",
        };
        let mut text = format!(
            "{how} {gives} {function}(int64_t n{})\n{{\n{begin}    int64_t {ZERO} = 0;\n    __asm__(\"\" : \"+r\"({ZERO}));\n    for (int64_t i = 0; i < n; i++) {{\n",
            parameters(parts, true, presence)
        );
        for (i, column) in parts.columns.iter().enumerate() {
            if column.has_rows && presence == Presence::Bytes {
                let _ = writeln!(text, "        uint8_t p{i} = h{i}[i];");
            }
            if column.size == 0 {
                continue;
            }
            let element = element_name(column.element);
            let truth = if column.element == ScalarType::Boolean {
                format!(" x{i} = x{i} != 0;")
            } else {
                String::new()
            };
            if column.is_taken {
                let _ = writeln!(text, "        int64_t at{i} = l{i}[i];");
            }
            if column.is_taken && takes_alone(parts) {
                let _ = writeln!(text, "        __asm__(\"\" : \"+r\"(at{i}));");
            }
            let at = if column.is_taken { format!("at{i}") } else { "i".to_owned() };
            let _ = writeln!(
                text,
                "        {element} x{i}; memcpy(&x{i}, c{i} + {at} * d{i}, sizeof x{i});{truth}"
            );
        }
        let (mut output, mut buffer) = (0, 0);
        for member in &parts.members {
            let Some((_, operands, _)) = operator(self.routine, member.ip) else { continue };
            if let Some(fold) = member.fold {
                text += &self.buffered(parts, fold, buffer, operands[0], presence);
                buffer += 1;
                continue;
            }
            text += &self.computed(parts, member, rows);
            if member.is_stored {
                text += &stored(member, output, presence);
                output += 1;
            }
        }
        let _ = write!(text, "    }}\n{end}}}\n");
        text
    }

    /// Statements that compute a member of one element.
    fn computed(&self, parts: &Parts, member: &Member, rows: &Rows) -> String {
        let Some((overload, operands, _)) = operator(self.routine, member.ip) else { return String::new() };
        let literal = |position: usize| self.literals.get(&operands[position]).cloned();
        let local = |position: usize, is_presence: bool| match is_presence {
            true => self.presence_name(parts, operands[position], rows.how),
            false => self.cell_name(parts, operands[position]),
        };
        let usual = usual_cell(overload, literal, local).filter(|_| rows.is_usual);
        let (found, rare) = match usual {
            Some((cell, rare)) => (Some(cell), format!("rare |= {rare}; ")),
            None => (cell(overload, literal, local), String::new()),
        };
        let Some(cell) = found else { return String::new() };
        let (ctype, ip) = (member.ctype().name(), member.ip);
        let present = cell.present.unwrap_or_else(|| THERE.to_owned());
        let may_miss = member.may_miss(rows.how);
        let (declared, mut assigned) = match may_miss {
            true => (format!("uint8_t w{ip}; "), format!("w{ip} = {present}; ")),
            false => (String::new(), String::new()),
        };
        let value = match cell.value {
            CellValue::Nothing => String::new(),
            CellValue::Total(value) => {
                let _ = write!(assigned, "m{ip} = {value}; ");
                format!("{ctype} m{ip}; ")
            }
            CellValue::Refusing(call) => {
                let mask = if may_miss { format!(" & -(int32_t)w{ip}") } else { String::new() };
                let _ = write!(assigned, "k |= {call}, &m{ip}){mask}; ");
                format!("{ctype} m{ip}; ")
            }
        };
        format!("        {declared}{value}{{ {}{assigned}{rare}}}\n", cell.temporaries)
    }

    /// Statements that put an element where the leaf of a fold finds it.
    fn buffered(&self, parts: &Parts, fold: Fold, buffer: usize, operand: ValueId, how: Presence) -> String {
        let mut text = String::new();
        let Some(rows) = fold.rows else {
            let from = self.cell_name(parts, operand);
            return format!(
                "        memcpy(b{buffer} + i * (int64_t)sizeof {from}, &{from}, sizeof {from});\n"
            );
        };
        let present = self.presence_name(parts, operand, how);
        let is_there = present == THERE;
        if fold.has_value() {
            let (ctype, from) = (fold.element_type(), self.cell_name(parts, operand));
            let chosen = if is_there { from } else { format!("{present} ? {from} : {}", rows.missing) };
            let _ = writeln!(
                text,
                "        {{ {ctype} e = {chosen}; memcpy(b{buffer} + i * (int64_t)sizeof e, &e, sizeof e); }}"
            );
        }
        if fold.counts() && !(is_there && how == Presence::All) {
            let _ = writeln!(text, "        q{buffer}[i] = {present};");
        }
        text
    }

    /// What stands for an operand in the function of a row.
    fn cell_name(&self, parts: &Parts, value: ValueId) -> String {
        if let Some(name) = self.name_of_array(parts, value, "x", "m") {
            return name;
        }
        if let Some(literal) = self.literals.get(&value) {
            let mut constants = Vec::new();
            constants_of(&Value::Scalar(literal.clone()), &mut constants);
            return constants.pop().unwrap_or_default();
        }
        scalar_name(parts, &self.locals.only(value))
    }

    /// What says in the function of a row whether an operand is there.
    fn presence_name(&self, parts: &Parts, value: ValueId, how: Presence) -> String {
        let owner = self.locals.owner(value);
        let is_of = |member: &&Member| self.result(member) == Some(owner);
        let is_there = how == Presence::All
            && match parts.members.iter().find(is_of) {
                Some(member) => member.is_certain,
                None => parts.columns.iter().any(|column| column.array == owner),
            };
        if is_there {
            return THERE.to_owned();
        }
        let of_array = self.name_of_array(parts, value, "p", "w");
        let of_scalar = || self.locals.presence(value).map(|local| scalar_name(parts, &local));
        of_array.or_else(of_scalar).unwrap_or_else(|| THERE.to_owned())
    }

    /// The owner of what a member gives.
    fn result(&self, member: &Member) -> Option<ValueId> {
        operator(self.routine, member.ip).map(|(.., result)| self.locals.owner(result))
    }

    /// The name of a column or a member, which begin like this.
    fn name_of_array(&self, parts: &Parts, value: ValueId, column: &str, of_member: &str) -> Option<String> {
        let owner = self.locals.owner(value);
        if let Some(number) = parts.columns.iter().position(|column| column.array == owner) {
            return Some(format!("{column}{number}"));
        }
        let is_result = |member: &&Member| self.result(member) == Some(owner);
        parts.members.iter().find(is_result).map(|member| format!("{of_member}{}", member.ip))
    }

    /// The function that computes a component block by block, each with some leaves of its folds, and what is known of these.
    fn tree_of(&self, parts: &Parts, name: usize) -> String {
        let number = self.number;
        let [tree, leaf, known] = ["tree", "leaf", "known"].map(|what| format!("r{number}_{what}{name}"));
        let none = |_: usize, _: &Member| String::new();
        let parameters = parts.list(
            |i, column| {
                column.with(
                    format!("const char *c{i}, int64_t d{i}"),
                    &format!("const uint8_t *v{i}, int64_t j{i}"),
                )
            },
            |i, (_, ctype)| format!("{} s{i}", ctype.name()),
            |i, of| of.with_bits(format!("char *o{i}"), &format!("uint8_t *y{i}"), Presence::Bits),
            none,
        );
        let further = |by: &str| {
            let add = |what: String| if by.is_empty() { what } else { format!("{what} + {by}") };
            let bytes = |what: String, size: String| match by {
                "" => what,
                by => format!("{what} + {by} * {size}"),
            };
            parts.list(
                |i, column| {
                    let cells = format!("{}, d{i}", bytes(format!("c{i}"), format!("d{i}")));
                    column.with(cells, &format!("v{i}, {}", add(format!("j{i}"))))
                },
                |i, _| format!("s{i}"),
                |i, of| {
                    let bits = if by.is_empty() { format!("y{i}") } else { format!("y{i} + {by} / 8") };
                    of.with_bits(bytes(format!("o{i}"), of.array.size().to_string()), &bits, Presence::Bits)
                },
                none,
            )
        };
        let (mut fields, mut joins, mut buffers, mut leaves) = <(String, String, String, String)>::default();
        for (i, member) in parts.folds().enumerate() {
            let Some(fold) = member.fold else { continue };
            if fold.has_value() {
                let _ = write!(fields, "{} f{i}; ", fold.part.name());
                let _ = write!(joins, "z.f{i} = {}; ", fold.call("join", &format!("x.f{i}, y.f{i}")));
                let _ = write!(buffers, "_Alignas(64) {} b{i}[CEMBRA_BLOCK]; ", fold.element_type());
                let _ = write!(leaves, "z.f{i} = {}; ", fold.call("tree", &format!("(const char *)b{i}, n")));
            }
            if fold.counts() {
                let _ = write!(fields, "int64_t p{i}; ");
                let _ = write!(joins, "z.p{i} = x.p{i} + y.p{i}; ");
                let _ = write!(buffers, "uint8_t q{i}[CEMBRA_BLOCK]; ");
                let _ = write!(leaves, "z.p{i} = leaf_count_u8((const char *)q{i}, n); ");
            }
        }
        let call = |is_strided: bool| {
            parts.list(
                |i, column| {
                    let cells = if is_strided { format!("c{i}, d{i}") } else { format!("c{i}") };
                    column.with(cells, &format!("v{i}, j{i}"))
                },
                |i, _| format!("s{i}"),
                |i, of| {
                    let step = if is_strided { format!(", {}", of.array.size()) } else { String::new() };
                    of.with_bits(format!("o{i}{step}"), &format!("y{i}"), Presence::Bits)
                },
                |i, of| of.buffers(&format!("(char *)b{i}"), &format!("q{i}"), Presence::Bits),
            )
        };
        // A block has whole leaves, whose tree is a part of that of all elements; its buffers stand in a frame of their own.
        format!(
            "typedef struct {{ {fields}}} {known};\n\
             static __attribute__((noinline)) {known} {leaf}(int is_flat, int64_t n{parameters})\n{{\n    {known} z;\n    \
             {buffers}\n    if (is_flat) r{number}_flat{name}(n{}); else r{number}_strided{name}(n{});\n    \
             {leaves}\n    return z;\n}}\n\
             static {known} {tree}(int is_flat, int64_t n{parameters})\n{{\n    \
             if (n <= CEMBRA_BLOCK) return {leaf}(is_flat, n{});\n    int64_t left = left_half(n);\n    \
             {known} z, x = {tree}(is_flat, left{}), y = {tree}(is_flat, n - left{});\n    {joins}\n    return z;\n}}\n",
            call(false),
            call(true),
            further(""),
            further(""),
            further("left")
        )
    }
}

/// Operations beside each column of cells that are taken up to which cells are loaded one by one.
const FEW_OPERATIONS: usize = 4;

/// True if cells that are taken are loaded one by one. Instructions that gather wait for each other: sums of three cells by them took 3.5 ns
/// an element where cells come from memory, one by one 1.7, and as long as these from caches (AMD EPYC, gcc 12.2). But no loop of vectors
/// is made then.
fn takes_alone(parts: &Parts) -> bool {
    let taken = parts.columns.iter().filter(|column| column.is_taken).count();
    parts.members.len() <= FEW_OPERATIONS * taken
}

/// The scalar of a local.
fn scalar_name(parts: &Parts, local: &str) -> String {
    let number = parts.scalars.iter().position(|(scalar, _)| scalar == local);
    format!("s{}", number.unwrap_or_default())
}

/// The parameters of a function.
fn parameters(parts: &Parts, is_strided: bool, how: Presence) -> String {
    let step = |name: &str, i: usize| match is_strided {
        true => format!(", int64_t {name}{i}"),
        false => String::new(),
    };
    parts.list(
        |i, column| {
            let bits = match how {
                Presence::Bits => format!("const uint8_t *v{i}, int64_t j{i}"),
                Presence::Bytes => format!("const uint8_t *h{i}"),
                Presence::All => String::new(),
            };
            column.with_positions(
                column.with(format!("const char *c{i}{}", step("d", i)), &bits),
                &format!("const uint32_t *l{i}"),
            )
        },
        |i, (_, ctype)| format!("{} s{i}", ctype.name()),
        |i, of| {
            let bits = format!("uint8_t *restrict {}{i}", if how == Presence::Bits { "y" } else { "g" });
            of.with_bits(format!("char *restrict o{i}{}", step("e", i)), &bits, how)
        },
        |i, of| of.buffers(&format!("char *restrict b{i}"), &format!("uint8_t *restrict q{i}"), how),
    )
}

/// The arguments of a call of the function of some rows; of a block they are those of its rows.
fn arguments(parts: &Parts, is_strided: bool, how: Presence, of_block: bool) -> String {
    let at = |name: String, step: &str| match of_block {
        true => format!("{name} + at * {step}, {step}"),
        false => format!("{name}, {step}"),
    };
    parts.list(
        |i, column| {
            let step = if is_strided { format!("d{i}") } else { column.usual.to_string() };
            let bytes = if how == Presence::Bytes { format!("h{i}") } else { String::new() };
            // Of a column that positions choose from, these go on.
            let first = if column.is_taken { format!("c{i}, {step}") } else { at(format!("c{i}"), &step) };
            let positions = if of_block { format!("l{i} + at") } else { format!("l{i}") };
            column.with_positions(column.with(first, &bytes), &positions)
        },
        |i, _| format!("s{i}"),
        |i, of| {
            let step = if is_strided { format!("e{i}") } else { of.array.size().to_string() };
            of.with_bits(at(format!("o{i}"), &step), &format!("g{i}"), how)
        },
        |i, of| of.buffers(&format!("b{i}"), &format!("q{i}"), how),
    )
}

/// The body of a function that goes over elements: at once, or block by block where presence comes from bitmaps, or blocks with rare
/// elements are computed again. What the tree above takes for a leaf is one block.
fn walked(parts: &Parts, prefix: &str, name: usize, is_strided: bool) -> String {
    let (begin, end, gives) = match parts.refusing() {
        Some(_) => ("    int32_t k = 0;\n", "    return k;\n", "return k"),
        None => ("", "", "return"),
    };
    let blocks = |how: Presence, before: &str| blocks(parts, how, prefix, name, is_strided, before);
    if !parts.array().has_rows() {
        return format!("{begin}{}{end}", blocks(Presence::Bytes, ""));
    }
    let (mut declared, mut unpacked, mut is_full) = <(String, String, Vec<String>)>::default();
    for i in 0..parts.columns.len() {
        let _ = write!(declared, "uint8_t h{i}[CEMBRA_BLOCK]; ");
        let _ = write!(unpacked, "unpack_rows(v{i}, j{i} + at, m, h{i}); ");
        is_full.push(format!("v{i} == NULL"));
    }
    let mut certain = String::new();
    for (i, _) in parts.stored().enumerate().filter(|(_, member)| !member.may_miss(Presence::All)) {
        let _ = write!(certain, "all_rows(n, y{i}); ");
    }
    let counts = |member: &Member| member.is_certain && member.fold.is_some_and(|fold| fold.counts());
    for (i, _) in parts.folds().enumerate().filter(|(_, member)| counts(member)) {
        let _ = write!(certain, "memset(q{i}, 1, (uint64_t)n); ");
    }
    format!(
        "{begin}    if ({}) {{\n{}    {certain}{gives};\n    }}\n    {declared}\n{}{end}",
        is_full.join(" && "),
        blocks(Presence::All, ""),
        blocks(Presence::Bytes, &unpacked)
    )
}

/// The walk over blocks; `before` makes bytes of the bitmaps of one.
fn blocks(parts: &Parts, how: Presence, prefix: &str, name: usize, is_strided: bool, before: &str) -> String {
    let (mut declared, mut behind) = (String::new(), String::new());
    for (i, _) in parts.stored().enumerate().filter(|(_, member)| member.may_miss(how)) {
        let _ = write!(declared, "uint8_t g{i}[CEMBRA_BLOCK]; ");
        let _ = write!(behind, "pack_rows(g{i}, m, y{i} + at / 8); ");
    }
    let taken = if parts.refusing().is_some() { "k |= " } else { "" };
    let exact = Rows { how, is_usual: false }.name(prefix, name);
    // Where nothing is missing or rare, there is nothing to be kept in the cache.
    if before.is_empty() && behind.is_empty() && !parts.has_rare {
        return format!("    {taken}{exact}(n{});\n", arguments(parts, is_strided, how, false));
    }
    let arguments = arguments(parts, is_strided, how, true);
    let usual = Rows { how, is_usual: true }.name(prefix, name);
    let is_rare = match parts.has_rare {
        true => format!("if (CEMBRA_RARE({usual}(m{arguments}))) "),
        false => String::new(),
    };
    format!(
        "    {declared}\n    for (int64_t at = 0; at < n; at += CEMBRA_BLOCK) {{\n        \
         int64_t m = n - at < CEMBRA_BLOCK ? n - at : CEMBRA_BLOCK;\n        {before}\n        \
         {is_rare}{taken}{exact}(m{arguments});\n        {behind}\n    }}\n"
    )
}

/// A function of some elements.
struct Rows {
    how: Presence,
    /// True if it is for usual elements, and says whether there are others.
    is_usual: bool,
}

impl Rows {
    fn name(&self, prefix: &str, name: usize) -> String {
        let what = if self.how == Presence::All { "full" } else { "rows" };
        let usual = if self.is_usual { "usual_" } else { "" };
        format!("{prefix}{usual}{what}{name}")
    }
}

/// Statements that store an element.
fn stored(member: &Member, output: usize, how: Presence) -> String {
    let ip = member.ip;
    let cells = match member.array.size() {
        0 => String::new(),
        _ => format!("memcpy(o{output} + i * e{output}, &m{ip}, sizeof m{ip}); "),
    };
    let bits = if member.may_miss(how) { format!("g{output}[i] = w{ip};") } else { String::new() };
    format!("        {cells}{bits}\n")
}
