//! Random lists, and rows for them: a third of the numbers are special ones.

use crate::columns::Inputs;
use cembra_vm::strip::{
    BinaryOp, Comparison, Lane, LaneFold, List, Op, RunningOp, ShiftOp, Sink, Term, UnaryOp,
};
use fastrand::Rng;

const DOUBLES: [f64; 20] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::MIN_POSITIVE,
    5e-324,
    -1e-310,
    f64::MAX,
    f64::MIN,
    4_503_599_627_370_497.5,
    -9_223_372_036_854_775_808.0,
    9_223_372_036_854_774_784.0,
    -2_147_483_648.75,
];

const INTEGERS: [i64; 16] = [
    0,
    1,
    -1,
    2,
    i64::MAX,
    i64::MIN,
    i32::MAX as i64,
    i32::MIN as i64,
    i64::MIN + 1,
    1 << 53,
    (1 << 53) + 1,
    -(1 << 53) - 1,
    (1 << 32) - 1,
    0x7FFF_FF80_0000_0001,
    -0x7FFF_FFBF_FFFF_FFFF,
    0x0080_0000_4000_0001,
];

/// The bits of a number or truth.
pub fn value(rng: &mut Rng, lane: Lane) -> u64 {
    match lane {
        Lane::Mask => rng.bool().into(),
        Lane::F64 => double(rng).to_bits(),
        Lane::F32 => match rng.u8(..6) {
            0 => f32::MAX.to_bits().into(),
            1 => f32::from_bits(rng.u32(..1 << 24)).to_bits().into(),
            2 => (if rng.bool() { -2_147_483_648.0_f32 } else { 8_388_607.5 }).to_bits().into(),
            _ => (double(rng) as f32).to_bits().into(),
        },
        Lane::I64 => integer(rng) as u64,
        Lane::I32 => integer(rng) as u64 & 0xFFFF_FFFF,
    }
}

fn double(rng: &mut Rng) -> f64 {
    match rng.u8(..6) {
        0 | 1 => DOUBLES[rng.usize(..DOUBLES.len())],
        2 => f64::from_bits(rng.u64(..)),
        3 => f64::from(rng.i32(-20..20)) * 0.5,
        _ => (rng.f64() - 0.5) * 10f64.powi(rng.i32(-3..12)),
    }
}

fn integer(rng: &mut Rng) -> i64 {
    match rng.u8(..4) {
        0 => INTEGERS[rng.usize(..INTEGERS.len())],
        1 => rng.i64(..) >> rng.u32(..63),
        2 => rng.i64(..),
        _ => rng.i64(-10..10),
    }
}

/// A list on the way.
struct Growing {
    list: List,
    rng: Rng,
    lanes: Vec<Lane>,
    terms: Vec<Term>,
}

/// What a random list may have.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub operations: usize,
    pub has_wide: bool,
    pub has_narrow: bool,
    pub has_presence: bool,
    pub has_scalars: bool,
    pub sums: usize,
    pub lanes: usize,
    pub spread: usize,
    pub running: usize,
}

impl Plan {
    pub fn random(rng: &mut Rng) -> Plan {
        let widths = rng.u8(..4);
        Plan {
            operations: [1, 3, 8, 20, 60][rng.usize(..5)],
            has_wide: widths != 0,
            has_narrow: widths != 1,
            has_presence: rng.bool(),
            has_scalars: rng.bool(),
            sums: [0, 0, 1, 4][rng.usize(..4)],
            lanes: [0, 0, 1, 2, 5][rng.usize(..5)],
            spread: [0, 0, 0, 1, 3][rng.usize(..5)],
            running: if widths == 0 { 0 } else { [0, 0, 0, 1, 3][rng.usize(..5)] },
        }
    }
}

/// A list, and the type of each of its columns of rows and presence that are read.
pub fn list(rng: &mut Rng, plan: Plan) -> (List, Vec<(Op, Lane)>) {
    let mut lanes = vec![Lane::Mask];
    if plan.has_wide {
        lanes.extend([Lane::F64, Lane::I64]);
    }
    if plan.has_narrow {
        lanes.extend([Lane::F32, Lane::I32]);
    }
    let mut growing = Growing { list: List::new(), rng: rng.fork(), lanes, terms: Vec::new() };
    let mut columns = Vec::new();
    for lane in growing.lanes.clone() {
        for _ in 0..1 + growing.rng.usize(..3) {
            let term = growing.list.column(columns.len() as u16, lane);
            columns.push((growing.list.op(term), lane));
            growing.terms.push(term);
        }
    }
    if plan.has_presence {
        for _ in 0..2 {
            let term = growing.list.presence(columns.len() as u16);
            columns.push((growing.list.op(term), Lane::Mask));
            growing.terms.push(term);
        }
    }
    if plan.has_scalars {
        for number in 0..growing.lanes.len() {
            let term = growing.list.scalar(number as u16, growing.lanes[number]);
            growing.terms.push(term);
        }
    }
    for number in 0..plan.operations.max(plan.running) {
        if number < plan.running {
            let lane = if growing.rng.bool() { Lane::F64 } else { Lane::I64 };
            let x = growing.any(lane);
            let op = if growing.rng.bool() { RunningOp::Sum } else { RunningOp::Greatest };
            let sum = growing.list.running(op, (columns.len() + number) as u16, x);
            growing.terms.push(sum);
        }
        let lane = growing.lanes[growing.rng.usize(..growing.lanes.len())];
        let term = growing.operation(lane);
        growing.terms.push(term);
    }
    growing.sinks(plan, &columns);
    (growing.list, columns)
}

impl Growing {
    fn any(&mut self, lane: Lane) -> Term {
        // Later terms are more likely, so that chains grow.
        let of_lane: Vec<Term> =
            self.terms.iter().copied().filter(|term| self.list.lane(*term) == lane).collect();
        let count = of_lane.len();
        match self.rng.u8(..8) {
            0 => {
                let bits = value(&mut self.rng, lane);
                self.list.literal(lane, bits)
            }
            1 | 2 => of_lane[self.rng.usize(..count)],
            _ => of_lane[count - 1 - self.rng.usize(..count.min(4))],
        }
    }

    fn number_lane(&mut self) -> Lane {
        let numbers: Vec<Lane> = self.lanes.iter().copied().filter(|lane| *lane != Lane::Mask).collect();
        numbers[self.rng.usize(..numbers.len())]
    }

    fn operation(&mut self, lane: Lane) -> Term {
        match (lane, self.rng.u8(..10)) {
            (Lane::Mask, 0..5) => {
                let of = self.number_lane();
                let (x, y) = (self.any(of), self.any(of));
                self.comparison(of, x, y)
            }
            (Lane::Mask, 5) => {
                let x = self.any(lane);
                self.list.unary(UnaryOp::Not, x)
            }
            (Lane::Mask, 6) | (_, 0 | 1) => {
                let (mask, yes, no) = (self.any(Lane::Mask), self.any(lane), self.any(lane));
                self.list.select(mask, yes, no)
            }
            (Lane::Mask, _) => {
                const OPS: [BinaryOp; 4] = [BinaryOp::And, BinaryOp::Or, BinaryOp::Xor, BinaryOp::AndNot];
                let op = OPS[self.rng.usize(..4)];
                let (x, y) = (self.any(lane), self.any(lane));
                self.list.binary(op, x, y)
            }
            (_, 2) => self.cast(lane),
            (_, 3 | 4) => self.unary(lane),
            (Lane::F64 | Lane::F32, 5) => {
                let (a, b, c) = (self.any(lane), self.any(lane), self.any(lane));
                self.list.fma(a, b, c)
            }
            (Lane::I64 | Lane::I32, 5) => {
                const OPS: [ShiftOp; 3] = [ShiftOp::Left, ShiftOp::Right, ShiftOp::RightSigned];
                let (op, by) = (OPS[self.rng.usize(..3)], self.rng.u8(..8 * lane.bytes() as u8));
                let x = self.any(lane);
                self.list.shift(op, x, by)
            }
            (Lane::F64 | Lane::F32, 6) => {
                // A choice that is the instruction for a minimum or maximum.
                const OPS: [Comparison; 4] =
                    [Comparison::Less, Comparison::Greater, Comparison::LessEqual, Comparison::GreaterEqual];
                let (x, y) = (self.any(lane), self.any(lane));
                let mask = self.list.compare(OPS[self.rng.usize(..4)], x, y);
                let (x, y) = if self.rng.bool() { (x, y) } else { (y, x) };
                self.list.select(mask, x, y)
            }
            _ => self.binary(lane),
        }
    }

    fn comparison(&mut self, lane: Lane, x: Term, y: Term) -> Term {
        const ALL: [Comparison; 7] = [
            Comparison::Equal,
            Comparison::NotEqual,
            Comparison::Less,
            Comparison::LessEqual,
            Comparison::Greater,
            Comparison::GreaterEqual,
            Comparison::Unordered,
        ];
        let count = if lane.is_float() { 7 } else { 6 };
        self.list.compare(ALL[self.rng.usize(..count)], x, y)
    }

    fn unary(&mut self, lane: Lane) -> Term {
        const FLOATS: [UnaryOp; 7] = [
            UnaryOp::Neg,
            UnaryOp::Abs,
            UnaryOp::Sqrt,
            UnaryOp::Floor,
            UnaryOp::Ceil,
            UnaryOp::Trunc,
            UnaryOp::Nearest,
        ];
        const INTEGERS: [UnaryOp; 3] = [UnaryOp::Neg, UnaryOp::Abs, UnaryOp::Not];
        let x = self.any(lane);
        let op = match lane.is_float() {
            true => FLOATS[self.rng.usize(..7)],
            false => INTEGERS[self.rng.usize(..3)],
        };
        self.list.unary(op, x)
    }

    fn binary(&mut self, lane: Lane) -> Term {
        const FLOATS: [BinaryOp; 6] =
            [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div, BinaryOp::Min, BinaryOp::Max];
        const INTEGERS: [BinaryOp; 9] = [
            BinaryOp::Add,
            BinaryOp::Sub,
            BinaryOp::Mul,
            BinaryOp::Min,
            BinaryOp::Max,
            BinaryOp::And,
            BinaryOp::Or,
            BinaryOp::Xor,
            BinaryOp::AndNot,
        ];
        let (x, y) = (self.any(lane), self.any(lane));
        let op = match lane.is_float() {
            true => FLOATS[self.rng.usize(..6)],
            false => INTEGERS[self.rng.usize(..9)],
        };
        self.list.binary(op, x, y)
    }

    /// From another type, or from the other one of the same bits.
    fn cast(&mut self, to: Lane) -> Term {
        let from = self.lanes[self.rng.usize(..self.lanes.len())];
        let x = self.any(from);
        if from == to.same_bits() && self.rng.bool() {
            // Which NaN it is must not be told.
            let x = if from.is_float() { self.without_nan(x) } else { x };
            return self.list.bits(x);
        }
        if !(from.is_float() && matches!(to, Lane::I64 | Lane::I32)) {
            return self.list.cast(x, to);
        }
        let (low, high) = match to {
            Lane::I64 => (-(2f64.powi(63)), 2f64.powi(63)),
            _ => (-(2f64.powi(31)), 2f64.powi(31)),
        };
        let [low, high] = [low, high].map(|bound| match from {
            Lane::F64 => self.list.f64(bound),
            _ => self.list.f32(bound as f32),
        });
        let above = self.list.compare(Comparison::GreaterEqual, x, low);
        let below = self.list.compare(Comparison::Less, x, high);
        let fits = self.list.binary(BinaryOp::And, above, below);
        if self.rng.u8(..4) == 0 {
            let fire = self.list.unary(UnaryOp::Not, fits);
            self.list.fire(fire);
        }
        let zero = self.list.number(from, 0);
        let x = self.list.select(fits, x, zero);
        self.list.cast(x, to)
    }

    fn without_nan(&mut self, x: Term) -> Term {
        let one = self.list.number(self.list.lane(x), 1);
        let is_nan = self.list.compare(Comparison::Unordered, x, x);
        self.list.select(is_nan, one, x)
    }

    fn sinks(&mut self, plan: Plan, columns: &[(Op, Lane)]) {
        let mut in_place: Vec<usize> = (0..columns.len()).collect();
        self.rng.shuffle(&mut in_place);
        let mut next = (columns.len() + plan.running) as u16;
        for _ in 0..1 + self.rng.usize(..4) {
            let term = match self.rng.u8(..3) {
                0 => self.terms[self.rng.usize(..self.terms.len())],
                _ => *self.terms.last().expect("a list has terms"),
            };
            let lane = self.list.lane(term);
            let is_presence = lane == Lane::Mask && plan.has_presence && self.rng.bool();
            let fits = |(op, of): (Op, Lane)| of == lane && matches!(op, Op::Presence(_)) == is_presence;
            let place = in_place.iter().position(|number| fits(columns[*number]) && next.is_multiple_of(2));
            let number = match place {
                Some(place) => in_place.swap_remove(place) as u16,
                None => {
                    next += 1;
                    next - 1
                }
            };
            match is_presence {
                true => self.list.store_presence(number, term),
                false => self.list.store(number, term),
            }
        }
        if self.rng.u8(..3) == 0 {
            let mask = self.any(Lane::Mask);
            self.list.fire(mask);
        }
        let can_be_summed = |lane: &&Lane| !matches!(lane, Lane::Mask | Lane::I32);
        let lanes: Vec<Lane> = self.lanes.iter().filter(can_be_summed).copied().collect();
        self.list.leaves(next);
        for number in 0..plan.sums {
            let lane = lanes[self.rng.usize(..lanes.len())];
            let term = self.any(lane);
            self.list.sum(next + 1 + number as u16, term);
        }
        next += 1 + plan.sums as u16;
        for _ in 0..plan.spread {
            let lane = lanes[self.rng.usize(..lanes.len())];
            let term = self.any(lane);
            self.list.spread(next, term);
            next += 1;
        }
        for number in 0..plan.lanes {
            let lane = self.number_lane();
            let term = self.any(lane);
            let fold = match self.rng.u8(..3) {
                0 if !lane.is_float() => LaneFold::Sum,
                1 => LaneFold::Least,
                _ => LaneFold::Greatest,
            };
            self.list.fold(fold, next + number as u16, term);
        }
    }
}

/// Rows for the columns of a list.
pub fn inputs(rng: &mut Rng, list: &List, columns: &[(Op, Lane)], rows: usize) -> Inputs {
    let column = |(op, lane): &(Op, Lane)| match op {
        Op::Presence(_) => (0..rows.div_ceil(64)).flat_map(|_| rng.u64(..).to_le_bytes()).collect(),
        _ => {
            let row = |_| {
                let bits = value(rng, *lane).to_le_bytes();
                bits[..lane.bytes()].to_vec()
            };
            (0..rows).flat_map(row).collect::<Vec<u8>>()
        }
    };
    let columns = columns.iter().map(column).collect();
    let mut scalars = vec![0; 8];
    for (_, op, lane) in list.terms() {
        if let Op::Scalar(number) = op {
            scalars[number as usize] = value(rng, lane);
        }
    }
    Inputs { columns, scalars }
}

/// True if rows of the list can begin at row 64 only.
pub fn has_presence(list: &List) -> bool {
    list.terms().any(|(_, op, _)| matches!(op, Op::Presence(_)))
        || list.sinks().iter().any(|sink| matches!(sink, Sink::Presence(..)))
}
