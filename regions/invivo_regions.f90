! Marks regions of a program for Invivo, and tells it numbers, in Fortran 2003. Compile this file
! with the program: there is nothing to link.
!
!   use invivo_regions
!   call invivo_begin('solve')    begins a region in the calling thread
!   call invivo_end('solve')      ends the innermost open region of this name
!   call invivo_end()             ends the innermost one
!   call invivo_count('steps', 1) adds to a counter: what there has been of something
!   call invivo_set('cells', n)   sets a value: what there is of something
!
! In a job that Invivo does not observe, each is a call, a load and a branch. Regions nest, and
! begin and end in the same thread, between mpi_init and mpi_finalize. Names are taken without the
! blanks at their end, and without what follows the 128th byte.
!
! Counters and values are integers of 4 or 8 bytes from 0 on, of the rank: from mpi_init on, in any
! thread. Negative numbers do nothing. Of a name 32 bytes are looked at, and there is room for 16
! names; more are left out.
!
! Compile it without -finstrument-functions (or with -fno-instrument-functions behind it): its own
! procedures would be seen, and their ends come between a region's begin and its end.
module invivo_regions
    use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_f_procpointer, c_funptr, &
        c_int, c_int32_t, c_int64_t, c_null_char, c_null_ptr, c_ptr
    implicit none
    private
    public :: invivo_begin, invivo_end, invivo_count, invivo_set

    integer, parameter :: name_max = 128
    integer(c_int), parameter :: not_looked = 0, not_observed = 1, observed = 2

    ! The library is there before the program or never: one look is enough. Threads that look at the
    ! same time find the same, and all is volatile so that the state is written last.
    integer(c_int), volatile, save :: state = not_looked
    type(c_funptr), volatile, save :: found_begin, found_end
    type(c_funptr), volatile, save :: found_count, found_set

    interface invivo_count
        module procedure count_of_4_bytes, count_of_8_bytes
    end interface invivo_count

    interface invivo_set
        module procedure set_of_4_bytes, set_of_8_bytes
    end interface invivo_set

    abstract interface
        subroutine region_function(name) bind(C)
            import :: c_char
            character(kind=c_char), intent(in) :: name(*)
        end subroutine region_function

        subroutine innermost_function(name) bind(C)
            import :: c_ptr
            type(c_ptr), value :: name
        end subroutine innermost_function

        subroutine number_function(name, number) bind(C)
            import :: c_char, c_int64_t
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int64_t), value :: number
        end subroutine number_function
    end interface

    interface
        function find(handle, symbol) bind(C, name='dlsym')
            import :: c_ptr, c_funptr, c_char
            type(c_ptr), value :: handle
            character(kind=c_char), intent(in) :: symbol(*)
            type(c_funptr) :: find
        end function find
    end interface

contains

    subroutine invivo_begin(name)
        character(len=*), intent(in) :: name
        if (state == not_observed) return
        if (is_observed()) call call_with(found_begin, name)
    end subroutine invivo_begin

    subroutine invivo_end(name)
        character(len=*), intent(in), optional :: name
        procedure(innermost_function), pointer :: function
        type(c_funptr) :: address
        if (state == not_observed) return
        if (.not. is_observed()) return
        if (present(name)) then
            call call_with(found_end, name)
        else
            address = found_end
            call c_f_procpointer(address, function)
            call function(c_null_ptr)
        end if
    end subroutine invivo_end

    subroutine count_of_4_bytes(name, n)
        character(len=*), intent(in) :: name
        integer(c_int32_t), intent(in) :: n
        call count_of_8_bytes(name, int(n, c_int64_t))
    end subroutine count_of_4_bytes

    subroutine count_of_8_bytes(name, n)
        character(len=*), intent(in) :: name
        integer(c_int64_t), intent(in) :: n
        if (state == not_observed) return
        if (is_observed()) call tell(found_count, name, n)
    end subroutine count_of_8_bytes

    subroutine set_of_4_bytes(name, value)
        character(len=*), intent(in) :: name
        integer(c_int32_t), intent(in) :: value
        call set_of_8_bytes(name, int(value, c_int64_t))
    end subroutine set_of_4_bytes

    subroutine set_of_8_bytes(name, value)
        character(len=*), intent(in) :: name
        integer(c_int64_t), intent(in) :: value
        if (state == not_observed) return
        if (is_observed()) call tell(found_set, name, value)
    end subroutine set_of_8_bytes

    logical function is_observed()
        ! RTLD_DEFAULT is a null pointer with glibc.
        if (state == not_looked) then
            found_begin = find(c_null_ptr, 'invivo_region_begin'//c_null_char)
            found_end = find(c_null_ptr, 'invivo_region_end'//c_null_char)
            ! Earlier versions of the library have regions alone.
            found_count = find(c_null_ptr, 'invivo_counter_add'//c_null_char)
            found_set = find(c_null_ptr, 'invivo_value_set'//c_null_char)
            if (is_there(found_begin) .and. is_there(found_end)) then
                state = observed
            else
                state = not_observed
            end if
        end if
        is_observed = state == observed
    end function is_observed

    logical function is_there(address)
        type(c_funptr), intent(in) :: address
        is_there = c_associated(address)
    end function is_there

    subroutine call_with(found, name)
        type(c_funptr), intent(in) :: found
        character(len=*), intent(in) :: name
        character(kind=c_char) :: text(name_max + 1)
        procedure(region_function), pointer :: function
        call copy(name, text)
        call c_f_procpointer(found, function)
        call function(text)
    end subroutine call_with

    subroutine tell(found, name, number)
        type(c_funptr), intent(in) :: found
        character(len=*), intent(in) :: name
        integer(c_int64_t), intent(in) :: number
        character(kind=c_char) :: text(name_max + 1)
        procedure(number_function), pointer :: function
        if (number < 0 .or. .not. is_there(found)) return
        call copy(name, text)
        call c_f_procpointer(found, function)
        call function(text, number)
    end subroutine tell

    ! The name as C has it.
    subroutine copy(name, text)
        character(len=*), intent(in) :: name
        character(kind=c_char), intent(out) :: text(name_max + 1)
        integer :: i, length
        length = min(len_trim(name), name_max)
        do i = 1, length
            text(i) = name(i:i)
        end do
        text(length + 1) = c_null_char
    end subroutine copy
end module invivo_regions
