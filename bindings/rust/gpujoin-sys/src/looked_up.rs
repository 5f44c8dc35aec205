//! Functions of a library that is opened at run time: each looks for itself in a table that
//! `load` fills, and where it is not there answers so, and does nothing.

macro_rules! functions {
    ($($(#[$text:meta])* pub fn $name:ident($($label:ident: $kind:ty),*) $(-> $answer:ty)?;)*) => {
        /// Addresses of the functions; of an older library some are not there.
        pub(crate) struct Functions {
            $($name: Option<unsafe extern "C" fn($($kind),*) $(-> $answer)?>,)*
        }

        impl Functions {
            /// # Safety
            ///
            /// Symbols of the library are those of the header, and it stays open.
            pub(crate) unsafe fn of(library: &libloading::Library) -> Self {
                Self {
                    // SAFETY: the caller says that the symbol has this type.
                    $($name: unsafe { library.get(stringify!($name)) }.ok().map(|found| *found),)*
                }
            }

            /// 0 where the library has no such function.
            pub(crate) fn version_number(&self) -> i32 {
                // SAFETY: it takes nothing, and may be called at any time.
                self.gpujoin_version_number.map_or(0, |function| unsafe { function() })
            }
        }

        $(
            $(#[$text])*
            ///
            /// # Safety
            ///
            /// Pointers are what the text says of them.
            #[allow(clippy::too_many_arguments)] // as many as in C
            pub unsafe fn $name($($label: $kind),*) $(-> $answer)? {
                match crate::load::functions().and_then(|functions| functions.$name) {
                    // SAFETY: the caller keeps to what the header says.
                    Some(function) => unsafe { function($($label),*) },
                    None => crate::load::Missing::answer(stringify!($name)),
                }
            }
        )*
    };
}
