//! Elements of arrays in memory, and the scalars that operators take and give for them.

use crate::layout::PlainSlot;
use crate::value::ScalarType;

/// An element of an array, and the scalar that operators take and give for it.
pub(crate) trait Element: 'static {
    /// Type of the element.
    const ELEMENT: ScalarType;
    /// The scalar.
    type Value: PlainSlot;

    /// Reads an element; `None` if it is beyond the scalar.
    ///
    /// # Safety
    /// A valid element stands there, of any alignment.
    unsafe fn read(at: *const u8) -> Option<Self::Value>;

    /// Writes an element.
    ///
    /// # Safety
    /// There is an element, of any alignment, that nobody else accesses.
    unsafe fn write(at: *mut u8, value: Self::Value);
}

macro_rules! element {
    ($($rust:ty => $element:ident as $memory:ty, $value:ty, read($m:ident) $read:expr, write($v:ident) $write:expr;)*) => {$(
        impl Element for $rust {
            const ELEMENT: ScalarType = ScalarType::$element;
            type Value = $value;

            #[inline(always)]
            unsafe fn read(at: *const u8) -> Option<$value> {
                // SAFETY: the caller's promise.
                let $m = unsafe { at.cast::<$memory>().read_unaligned() };
                $read
            }

            #[inline(always)]
            unsafe fn write(at: *mut u8, $v: $value) {
                // SAFETY: the caller's promise.
                unsafe { at.cast::<$memory>().write_unaligned($write) }
            }
        }
    )*};
}

element! {
    bool => Boolean as u8, bool, read(m) Some(m != 0), write(v) u8::from(v);
    i32 => Int32 as i32, i32, read(m) Some(m), write(v) v;
    i64 => Int64 as i64, i64, read(m) Some(m), write(v) v;
    f32 => Float32 as f32, f32, read(m) Some(m), write(v) v;
    f64 => Float64 as f64, f64, read(m) Some(m), write(v) v;
    i8 => Int8 as i8, i64, read(m) Some(i64::from(m)), write(v) v as i8;
    i16 => Int16 as i16, i64, read(m) Some(i64::from(m)), write(v) v as i16;
    u8 => Uint8 as u8, i64, read(m) Some(i64::from(m)), write(v) v as u8;
    u16 => Uint16 as u16, i64, read(m) Some(i64::from(m)), write(v) v as u16;
    u32 => Uint32 as u32, i64, read(m) Some(i64::from(m)), write(v) v as u32;
    u64 => Uint64 as u64, i64, read(m) i64::try_from(m).ok(), write(v) v as u64;
}
