//! Functions of a library that the linker found.

macro_rules! functions {
    ($($(#[$text:meta])* pub fn $name:ident($($label:ident: $kind:ty),*) $(-> $answer:ty)?;)*) => {
        unsafe extern "C" {
            $($(#[$text])* pub fn $name($($label: $kind),*) $(-> $answer)?;)*
        }
    };
}
