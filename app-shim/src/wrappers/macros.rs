//! The shape of every wrapper, as macros.
//!
//! `generated.rs` gives the data: number, names, arguments, and what is noted before and after the
//! real call.
//!
//! Both `MPI_X` and `PMPI_X` are exported, because Fortran layers and other languages reach the C
//! functions by one name or the other; the depth guard in [`crate::record::call::Call`] sees to it
//! that a call counts once.

/// An exported function whose body gets to know its caller.
///
/// Rust does not tell a function where it returns to. So the exported name is that of an entry of
/// two instructions: it puts the stack pointer, below which nothing lies yet but the return
/// address, into the register of the first floating-point argument and goes on to the body.
/// Arguments that are none are passed in the same way with it and without, and no wrapped function
/// has one that is.
///
/// The body has the function's name, too, by which a stack of the program shows it.
macro_rules! entry {
    ($name:ident, ($($arg:ident: $type:ty),*) -> $return:ty, |$caller:ident| $body:block) => {
        const _: () = {
            unsafe extern "C" fn $name($($arg: $type,)* stack: f64) -> $return {
                // SAFETY: from the entry, and this function has not returned.
                let $caller = unsafe { crate::track::sites::Caller::of(stack) };
                $body
            }

            #[cfg(target_arch = "x86_64")]
            #[unsafe(naked)]
            #[unsafe(export_name = stringify!($name))]
            unsafe extern "C" fn entry() {
                core::arch::naked_asm!("movq xmm0, rsp", "jmp {body}", body = sym $name)
            }

            #[cfg(not(target_arch = "x86_64"))]
            #[unsafe(export_name = stringify!($name))]
            unsafe extern "C" fn entry($($arg: $type),*) -> $return {
                // SAFETY: the arguments are the caller's.
                unsafe { $name($($arg,)* 0.0) }
            }
        };
    };
}
pub(crate) use entry;

/// Both names of a recorded function.
macro_rules! wrap {
    ($index:literal, $name:ident, $pname:ident, ($($arg:ident: $type:ty),*),
     |$call:ident| { $($before:tt)* }, |$result:ident| { $($after:tt)* }) => {
        crate::wrappers::macros::entry!($name, ($($arg: $type),*) -> c_int, |caller| {
            crate::wrappers::macros::exported!($name, ($($arg: $type),*), $index, caller,
                |$call| { $($before)* }, |$result| { $($after)* })
        });
        crate::wrappers::macros::entry!($pname, ($($arg: $type),*) -> c_int, |caller| {
            crate::wrappers::macros::exported!($pname, ($($arg: $type),*), $index, caller,
                |$call| { $($before)* }, |$result| { $($after)* })
        });
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
        crate::wrappers::macros::entry!($name, ($($arg: $type),*) -> c_int, |caller| {
            crate::wrappers::macros::exported!($name, ($($arg: $type),*), $index, caller,
                |$call| { $($needs)* $($before)* }, |$result| { $($after)* $($noted)* },
                |real| {
                    crate::wrappers::macros::inside!(real, ($($arg),*), $index,
                        |$call| { $($before)* }, |$result| { $($after)* })
                })
        });
        crate::wrappers::macros::entry!($pname, ($($arg: $type),*) -> c_int, |caller| {
            crate::wrappers::macros::exported!($pname, ($($arg: $type),*), $index, caller,
                |$call| { $($needs)* $($before)* }, |$result| { $($after)* $($noted)* },
                |real| {
                    crate::wrappers::macros::inside!(real, ($($arg),*), $index,
                        |$call| { $($before)* }, |$result| { $($after)* })
                })
        });
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
    ($name:ident, ($($arg:ident: $type:ty),*), $index:literal, $caller:ident,
     |$call:ident| { $($before:tt)* }, |$result:ident| { $($after:tt)* }) => {
        crate::wrappers::macros::exported!($name, ($($arg: $type),*), $index, $caller,
            |$call| { $($before)* }, |$result| { $($after)* },
            |real| { real($($arg),*) })
    };
    ($name:ident, ($($arg:ident: $type:ty),*), $index:literal, $caller:ident,
     |$call:ident| { $($before:tt)* }, |$result:ident| { $($after:tt)* },
     |$real:ident| { $($inner:tt)* }) => {{
        crate::wrappers::macros::next!($real, $name, ($($type),*));
        $(let $arg = crate::world::arguments::Substitute::substituted($arg);)*
        // SAFETY: `real` is the library's function of this name; its arguments are the caller's,
        // who keeps the function's preconditions. What `before` and `after` read through pointers,
        // the function reads too.
        unsafe {
            let Some(mut $call) = crate::record::call::Call::enter($index, $caller) else {
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

/// Both names of a function that has a body of its own, each with its own next function. The body
/// may ask who the caller is.
macro_rules! special {
    ($name:ident, $pname:ident, ($($arg:ident: $type:ty),*), |$real:ident| $body:block) => {
        crate::wrappers::macros::special!($name, $pname, ($($arg: $type),*),
            |$real, _caller| $body);
    };
    ($name:ident, $pname:ident, ($($arg:ident: $type:ty),*),
     |$real:ident, $caller:ident| $body:block) => {
        crate::wrappers::macros::entry!($name, ($($arg: $type),*) -> c_int, |$caller| {
            crate::wrappers::macros::next!($real, $name, ($($type),*));
            $body
        });
        crate::wrappers::macros::entry!($pname, ($($arg: $type),*) -> c_int, |$caller| {
            crate::wrappers::macros::next!($real, $pname, ($($type),*));
            $body
        });
    };
}
pub(crate) use special;
