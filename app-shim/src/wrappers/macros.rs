//! The shape of every wrapper, as macros.
//!
//! `generated.rs` gives the data: number, names, arguments, and what is noted before and after the
//! real call.
//!
//! Both `MPI_X` and `PMPI_X` are exported, because Fortran layers and other languages reach the C
//! functions by one name or the other; the depth guard in [`crate::record::call::Call`] sees to it
//! that a call counts once.

/// Both names of a recorded function.
macro_rules! wrap {
    ($index:literal, $name:ident, $pname:ident, ($($arg:ident: $type:ty),*),
     |$call:ident| { $($before:tt)* }, |$result:ident| { $($after:tt)* }) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $type),*) -> c_int {
            crate::wrappers::macros::exported!($name, ($($arg: $type),*), $index,
                |$call| { $($before)* }, |$result| { $($after)* })
        }
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $pname($($arg: $type),*) -> c_int {
            crate::wrappers::macros::exported!($pname, ($($arg: $type),*), $index,
                |$call| { $($before)* }, |$result| { $($after)* })
        }
    };
}
pub(crate) use wrap;

/// Both names of a function that has to be followed wherever it is called from, because all members
/// of a communicator take part in what its hooks do: inside another call (from a callback, or from
/// MPI itself), too, and after a call that never returned because a handler left it by a jump.
///
/// What it needs of others, and the request that it makes, are noted for an outermost call alone:
/// inside another one, that one's needs are what the application waits for.
macro_rules! follow {
    ($index:literal, $name:ident, $pname:ident, ($($arg:ident: $type:ty),*),
     |$call:ident| { $($needs:tt)* } { $($before:tt)* },
     |$result:ident| { $($after:tt)* } { $($noted:tt)* }) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $type),*) -> c_int {
            crate::wrappers::macros::exported!($name, ($($arg: $type),*), $index,
                |$call| { $($needs)* $($before)* }, |$result| { $($after)* $($noted)* },
                |real| {
                    crate::wrappers::macros::inside!(real, ($($arg),*), $index,
                        |$call| { $($before)* }, |$result| { $($after)* })
                })
        }
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $pname($($arg: $type),*) -> c_int {
            crate::wrappers::macros::exported!($pname, ($($arg: $type),*), $index,
                |$call| { $($needs)* $($before)* }, |$result| { $($after)* $($noted)* },
                |real| {
                    crate::wrappers::macros::inside!(real, ($($arg),*), $index,
                        |$call| { $($before)* }, |$result| { $($after)* })
                })
        }
    };
}
pub(crate) use follow;

/// The body of a followed function that is called inside another call.
macro_rules! inside {
    ($real:ident, ($($arg:ident),*), $index:literal,
     |$call:ident| { $($before:tt)* }, |$result:ident| { $($after:tt)* }) => {{
        let Some(mut $call) = crate::record::call::Call::inside($index) else {
            return $real($($arg),*);
        };
        $($before)*
        let $result = $real($($arg),*);
        $($after)*
        $result
    }};
}
pub(crate) use inside;

/// The body under one of the two names. A call inside another one is passed on, unless the last
/// argument says what to do then.
macro_rules! exported {
    ($name:ident, ($($arg:ident: $type:ty),*), $index:literal,
     |$call:ident| { $($before:tt)* }, |$result:ident| { $($after:tt)* }) => {
        crate::wrappers::macros::exported!($name, ($($arg: $type),*), $index,
            |$call| { $($before)* }, |$result| { $($after)* },
            |real| { real($($arg),*) })
    };
    ($name:ident, ($($arg:ident: $type:ty),*), $index:literal,
     |$call:ident| { $($before:tt)* }, |$result:ident| { $($after:tt)* },
     |$real:ident| { $($inner:tt)* }) => {{
        crate::wrappers::macros::next!($real, $name, ($($type),*));
        $(let $arg = crate::world::arguments::Substitute::substituted($arg);)*
        // SAFETY: `real` is the library's function of this name; its arguments are the caller's,
        // who keeps the function's preconditions. What `before` and `after` read through pointers,
        // the function reads too.
        unsafe {
            let Some(mut $call) = crate::record::call::Call::enter($index) else {
                return { $($inner)* };
            };
            $($before)*
            $call.calling();
            let $result = $real($($arg),*);
            $call.called();
            $($after)*
            $call.leave();
            $result
        }
    }};
}
pub(crate) use exported;

/// Both names of a function that is not recorded and gets the application's world for
/// `MPI_COMM_WORLD`.
macro_rules! through {
    ($name:ident, $pname:ident, ($($arg:ident: $type:ty),*)) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $type),*) -> c_int {
            crate::wrappers::macros::next!(real, $name, ($($type),*));
            // SAFETY: as for `wrap`.
            unsafe { real($(crate::world::arguments::Substitute::substituted($arg)),*) }
        }
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $pname($($arg: $type),*) -> c_int {
            crate::wrappers::macros::next!(real, $pname, ($($type),*));
            // SAFETY: as for `wrap`.
            unsafe { real($(crate::world::arguments::Substitute::substituted($arg)),*) }
        }
    };
}
pub(crate) use through;

/// Binds `$real` to the next function of this name, or returns an error where no library has it.
macro_rules! next {
    ($real:ident, $name:ident, ($($type:ty),*)) => {
        let $real: unsafe extern "C" fn($($type),*) -> c_int = {
            use crate::resolve::symbols::NextFunction;
            static NEXT: NextFunction =
                NextFunction::by_bytes(concat!(stringify!($name), "\0").as_bytes());
            let address = NEXT.address();
            if address.is_null() {
                return crate::lifecycle::refusals::missing_function();
            }
            // SAFETY: the library's function of this name has this signature.
            unsafe {
                core::mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> c_int>(
                    address,
                )
            }
        };
    };
}
pub(crate) use next;

/// Both names of a function that has a body of its own, each with its own next function.
macro_rules! special {
    ($name:ident, $pname:ident, ($($arg:ident: $type:ty),*), |$real:ident| $body:block) => {
        #[doc = concat!("`", stringify!($name), "`")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $type),*) -> c_int {
            crate::wrappers::macros::next!($real, $name, ($($type),*));
            $body
        }
        #[doc = concat!("`", stringify!($pname), "`")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $pname($($arg: $type),*) -> c_int {
            crate::wrappers::macros::next!($real, $pname, ($($type),*));
            $body
        }
    };
}
pub(crate) use special;
