//! How Rust values are read from and written to frame memory.
//!
//! | Rust type | slot |
//! | --- | --- |
//! | `()`, `bool`, `i32`, `i64`, `f32`, `f64` | the scalar (`f64` also for WEAK_FLOAT) |
//! | `Option<T>` of those | presence byte, then the value at its alignment |
//! | [`Text`], [`Bytes`] | handle; read as `&str`, `&[u8]` |
//! | `Option<Text>`, `Option<Bytes>` | presence byte, then the handle |
//!
//! An optional is two sub-slots, never a Rust struct in memory. A presence byte is 0 or 1. Writing a
//! missing value writes the zero of its type, so that a frame's bytes depend only on its values.

use crate::layout::handle::{BytesHandle, TextHandle};
use crate::value::{QType, ScalarType};

/// Marker for TEXT slots.
#[derive(Debug)]
pub enum Text {}

/// Marker for BYTES slots.
#[derive(Debug)]
pub enum Bytes {}

/// A Rust type that names the contents of a slot.
///
/// # Safety
/// For a pointer to memory that holds a value of `qtype()` (or whose storage type equals that of
/// `qtype()`), `view` and `assign` access only the `qtype().size()` bytes behind it.
pub unsafe trait SlotType: 'static {
    /// What reading gives and writing takes.
    type View<'a>;

    /// The slot's type.
    fn qtype() -> QType;

    /// Reads the value.
    ///
    /// # Safety
    /// `at` points to an initialised value of this type, aligned to it, unchanged for `'a`.
    unsafe fn view<'a>(at: *const u8) -> Self::View<'a>;

    /// Writes a value; a handle keeps its buffer.
    ///
    /// # Safety
    /// `at` points to an initialised value of this type, aligned to it, that nobody else accesses.
    unsafe fn assign(at: *mut u8, value: Self::View<'_>);
}

/// A slot type of plain bytes, which operators take and give by value.
///
/// # Safety
/// `load` and `store` access only the `qtype().size()` bytes behind the pointer, and any bytes that
/// `store` wrote for a type of the same storage are valid for `load`.
pub unsafe trait PlainSlot: Copy + Send + Sync + 'static {
    /// The scalar type.
    const SCALAR: ScalarType;
    /// True for `Option<T>`.
    const OPTIONAL: bool;

    /// The slot's type.
    fn plain_qtype() -> QType {
        if Self::OPTIONAL { QType::Optional(Self::SCALAR) } else { QType::Scalar(Self::SCALAR) }
    }

    /// Reads a value.
    ///
    /// # Safety
    /// `at` points to initialised plain bytes of this type, aligned to it.
    unsafe fn load(at: *const u8) -> Self;

    /// Writes a value.
    ///
    /// # Safety
    /// `at` points to plain bytes of this type, aligned to it, that nobody else accesses.
    unsafe fn store(at: *mut u8, value: Self);

    /// Reads a row of a column, which has the cell of the scalar; an `Option` is what `present` says.
    ///
    /// # Safety
    /// `at` points to an initialised cell of the scalar type, or anywhere for UNIT, which has no cells.
    unsafe fn load_row(at: *const u8, present: bool) -> Self;

    /// Writes a row of a column; false if the row is missing.
    ///
    /// # Safety
    /// `at` points to the cell of a row that nobody else accesses, or anywhere for UNIT.
    unsafe fn store_row(self, at: *mut u8) -> bool;

    /// The value as a row of a column: whether it is there, and its cell.
    fn to_cell(self) -> (bool, [u8; 8])
    where
        Self: Sized,
    {
        let mut cell = 0u64;
        // SAFETY: the cell of a plain scalar has at most the size and alignment of a `u64`.
        let present = unsafe { self.store_row((&raw mut cell).cast()) };
        (present, cell.to_ne_bytes())
    }

    /// The value carried in the accumulators: floats in the first, everything else in the second.
    fn from_accumulators(held: Accumulators) -> Self;

    /// Replaces the accumulator this type travels in.
    fn into_accumulators(self, held: Accumulators) -> Accumulators;

    /// Which accumulator the type travels in; `None` if in neither.
    const ACCUMULATOR: Option<Accumulator>;
}

/// What the registers carry from operator to operator: two numbers, which a call passes in two registers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Accumulators {
    /// The last floating-point result.
    pub float: f64,
    /// The last result of any other kind.
    pub bits: u64,
}

/// A register that carries the last result from operator to operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accumulator {
    /// The floating-point register.
    Float,
    /// The integer register.
    Bits,
}

/// A plain scalar: what an `Option` of a plain slot may hold.
pub trait PlainScalar: PlainSlot + Default {}

macro_rules! plain_scalar {
    ($($rust:ty => $scalar:ident, $memory:ty, $accumulator:ident,
        load($m:ident) $load:expr, store($v:ident) $store:expr,
        from($f:ident, $b:ident) $from:expr, into($w:ident, $wf:ident, $wb:ident) ($into_f:expr, $into_b:expr);)*) => {$(
        // SAFETY: reads and writes exactly one `$memory`, whose size and alignment are the scalar's.
        unsafe impl PlainSlot for $rust {
            const SCALAR: ScalarType = ScalarType::$scalar;
            const OPTIONAL: bool = false;
            const ACCUMULATOR: Option<Accumulator> = Some(Accumulator::$accumulator);

            #[inline(always)]
            unsafe fn load(at: *const u8) -> Self {
                // SAFETY: the caller promises an aligned, initialised value.
                let $m = unsafe { at.cast::<$memory>().read() };
                $load
            }

            #[inline(always)]
            unsafe fn store(at: *mut u8, $v: Self) {
                // SAFETY: the caller promises an aligned place that nobody else accesses.
                unsafe { at.cast::<$memory>().write($store) }
            }

            #[inline(always)]
            unsafe fn load_row(at: *const u8, _: bool) -> Self {
                match Self::SCALAR {
                    ScalarType::Unit => Self::default(),
                    // SAFETY: the caller's promise.
                    _ => unsafe { Self::load(at) },
                }
            }

            #[inline(always)]
            unsafe fn store_row(self, at: *mut u8) -> bool {
                if Self::SCALAR != ScalarType::Unit {
                    // SAFETY: the caller's promise.
                    unsafe { Self::store(at, self) };
                }
                true
            }

            #[inline(always)]
            fn from_accumulators(Accumulators { float: $f, bits: $b }: Accumulators) -> Self {
                $from
            }

            #[inline(always)]
            fn into_accumulators(self, Accumulators { float: $wf, bits: $wb }: Accumulators) -> Accumulators {
                let $w = self;
                Accumulators { float: $into_f, bits: $into_b }
            }
        }

        impl PlainScalar for $rust {}
    )*};
}

plain_scalar! {
    () => Unit, u8, Bits,
        load(_m) (), store(_v) 0, from(_f, _b) (), into(_w, f, _b) (f, 0);
    bool => Boolean, u8, Bits,
        load(m) m != 0, store(v) u8::from(v), from(_f, b) b != 0, into(w, f, _b) (f, u64::from(w));
    i32 => Int32, i32, Bits,
        load(m) m, store(v) v, from(_f, b) b as i32, into(w, f, _b) (f, u64::from(w as u32));
    i64 => Int64, i64, Bits,
        load(m) m, store(v) v, from(_f, b) b as i64, into(w, f, _b) (f, w as u64);
    f32 => Float32, f32, Bits,
        load(m) m, store(v) v, from(_f, b) f32::from_bits(b as u32), into(w, f, _b) (f, u64::from(w.to_bits()));
    f64 => Float64, f64, Float,
        load(m) m, store(v) v, from(f, _b) f, into(w, _f, b) (w, b);
}

// SAFETY: touches the presence byte and, unless the value is UNIT, the value at its own alignment,
// which together are the `size()` bytes of the optional type.
unsafe impl<T: PlainScalar> PlainSlot for Option<T> {
    const SCALAR: ScalarType = T::SCALAR;
    const OPTIONAL: bool = true;
    const ACCUMULATOR: Option<Accumulator> = match T::SCALAR {
        ScalarType::Unit => Some(Accumulator::Bits),
        _ => None,
    };

    #[inline(always)]
    unsafe fn load(at: *const u8) -> Self {
        // SAFETY: the presence byte is the first byte, the value stands at its alignment behind it.
        let (present, value) = unsafe {
            let present = at.read() != 0;
            match T::SCALAR {
                ScalarType::Unit => (present, T::default()),
                _ => (present, T::load(at.add(T::SCALAR.align() as usize))),
            }
        };
        present.then_some(value)
    }

    #[inline(always)]
    unsafe fn store(at: *mut u8, value: Self) {
        // SAFETY: as in `load`.
        unsafe {
            at.write(u8::from(value.is_some()));
            if T::SCALAR != ScalarType::Unit {
                T::store(at.add(T::SCALAR.align() as usize), value.unwrap_or_default());
            }
        }
    }

    #[inline(always)]
    unsafe fn load_row(at: *const u8, present: bool) -> Self {
        // SAFETY: the caller's promise.
        present.then(|| unsafe { T::load_row(at, true) })
    }

    #[inline(always)]
    unsafe fn store_row(self, at: *mut u8) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.unwrap_or_default().store_row(at) };
        self.is_some()
    }

    #[inline(always)]
    fn from_accumulators(held: Accumulators) -> Self {
        (held.bits != 0).then(T::default)
    }

    #[inline(always)]
    fn into_accumulators(self, held: Accumulators) -> Accumulators {
        match Self::ACCUMULATOR {
            Some(_) => Accumulators { bits: u64::from(self.is_some()), ..held },
            None => held,
        }
    }
}

macro_rules! plain_slot_type {
    ($($rust:ty),*) => {$(
        // SAFETY: `load` and `store` of the plain type access only its own bytes.
        unsafe impl SlotType for $rust {
            type View<'a> = $rust;

            fn qtype() -> QType {
                <$rust>::plain_qtype()
            }

            #[inline(always)]
            unsafe fn view<'a>(at: *const u8) -> Self::View<'a> {
                // SAFETY: the caller's promise is that of `load`.
                unsafe { <$rust>::load(at) }
            }

            #[inline(always)]
            unsafe fn assign(at: *mut u8, value: $rust) {
                // SAFETY: the caller's promise is that of `store`.
                unsafe { <$rust>::store(at, value) }
            }
        }
    )*};
}

plain_slot_type!((), bool, i32, i64, f32, f64);
plain_slot_type!(Option<()>, Option<bool>, Option<i32>, Option<i64>, Option<f32>, Option<f64>);

macro_rules! handle_slot_type {
    ($($marker:ident => $handle:ident, $view:ty, $fill:ident;)*) => {$(
        // SAFETY: the slot holds exactly one `$handle`.
        unsafe impl SlotType for $marker {
            type View<'a> = &'a $view;

            fn qtype() -> QType {
                QType::Scalar(ScalarType::$marker)
            }

            #[inline(always)]
            unsafe fn view<'a>(at: *const u8) -> Self::View<'a> {
                // SAFETY: the caller promises a valid handle that stays unchanged for `'a`.
                unsafe { (*at.cast::<$handle>()).view() }
            }

            #[inline(always)]
            unsafe fn assign(at: *mut u8, value: &$view) {
                // SAFETY: the caller promises a valid handle that nobody else accesses.
                let handle = unsafe { &mut *at.cast::<$handle>() };
                handle.cleared().$fill(value);
            }
        }

        // SAFETY: the presence byte, and one `$handle` at the type's alignment of 8.
        unsafe impl SlotType for Option<$marker> {
            type View<'a> = Option<&'a $view>;

            fn qtype() -> QType {
                QType::Optional(ScalarType::$marker)
            }

            #[inline(always)]
            unsafe fn view<'a>(at: *const u8) -> Self::View<'a> {
                // SAFETY: the caller promises a presence byte followed by a valid handle.
                unsafe { (at.read() != 0).then(|| $marker::view(at.add(8))) }
            }

            #[inline(always)]
            unsafe fn assign(at: *mut u8, value: Option<&$view>) {
                // SAFETY: as above, and nobody else accesses it.
                unsafe {
                    at.write(u8::from(value.is_some()));
                    $marker::assign(at.add(8), value.unwrap_or_default());
                }
            }
        }
    )*};
}

handle_slot_type! {
    Text => TextHandle, str, push_str;
    Bytes => BytesHandle, [u8], extend_from_slice;
}
