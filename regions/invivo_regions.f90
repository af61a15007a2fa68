! Marks regions of a program for Invivo, in Fortran 2003. Compile this file with the program: there
! is nothing to link.
!
!   use invivo_regions
!   call invivo_begin('solve')    begins a region in the calling thread
!   call invivo_end('solve')      ends the innermost open region of this name
!   call invivo_end()             ends the innermost one
!
! In a job that Invivo does not observe, each is a call, a load and a branch. Regions nest, and
! begin and end in the same thread, between mpi_init and mpi_finalize. Names are taken without the
! blanks at their end, and without what follows the 128th byte.
!
! Compile it without -finstrument-functions (or with -fno-instrument-functions behind it): its own
! procedures would be seen, and their ends come between a region's begin and its end.
module invivo_regions
    use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_f_procpointer, c_funptr, &
        c_int, c_null_char, c_null_ptr, c_ptr
    implicit none
    private
    public :: invivo_begin, invivo_end

    integer, parameter :: name_max = 128
    integer(c_int), parameter :: not_looked = 0, not_observed = 1, observed = 2

    ! The library is there before the program or never: one look is enough. Threads that look at the
    ! same time find the same, and all is volatile so that the state is written last.
    integer(c_int), volatile, save :: state = not_looked
    type(c_funptr), volatile, save :: found_begin, found_end

    abstract interface
        subroutine region_function(name) bind(C)
            import :: c_char
            character(kind=c_char), intent(in) :: name(*)
        end subroutine region_function

        subroutine innermost_function(name) bind(C)
            import :: c_ptr
            type(c_ptr), value :: name
        end subroutine innermost_function
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

    logical function is_observed()
        ! RTLD_DEFAULT is a null pointer with glibc.
        if (state == not_looked) then
            found_begin = find(c_null_ptr, 'invivo_region_begin'//c_null_char)
            found_end = find(c_null_ptr, 'invivo_region_end'//c_null_char)
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
        integer :: i, length
        length = min(len_trim(name), name_max)
        do i = 1, length
            text(i) = name(i:i)
        end do
        text(length + 1) = c_null_char
        call c_f_procpointer(found, function)
        call function(text)
    end subroutine call_with
end module invivo_regions
