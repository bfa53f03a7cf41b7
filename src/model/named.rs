//! Kinds with published names, which stand beside them.
//!
//! ```text
//! named! { /// What an edge means.
//!          EdgeKind { Addend = 3 "ADDEND", … } }      EdgeKind::Addend.name() is "ADDEND"
//! ```

/// An enum of variants with names, and with codes where there are any.
macro_rules! named {
    ($(#[$meta:meta])* $name:ident { $($(#[$of:meta])* $variant:ident $(= $code:literal)? $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$of])* $variant $(= $code)?,)*
        }

        impl $name {
            /// The published name.
            pub fn name(self) -> &'static str {
                match self { $($name::$variant => $text),* }
            }
        }
    };
}
pub(super) use named;
