! What the sections share: who this is, and how they say what they see.
#include "bindings.h"
module stage
#if defined(BINDING_MPI)
  use mpi
#elif defined(BINDING_F08)
  use mpi_f08
#endif
  implicit none
#ifdef BINDING_MPIF_H
  include 'mpif.h'
#endif

  integer :: me, all, left, right, ierr
  character(len=32) :: current = 'main'

contains

  ! One line, with the section's name in front, then so many numbers.
  subroutine say(what, numbers)
    character(len=*), intent(in) :: what
    integer, intent(in), optional :: numbers(:)
    if (present(numbers)) then
      write (*, '(a, ": ", a, *(1x, i0))') trim(current), what, numbers
    else
      write (*, '(a, ": ", a)') trim(current), what
    end if
  end subroutine

  ! The same of what a call gave back: its class. (A code of MPICH's is a number that belongs to the very error.)
  subroutine say_code(what, code)
    character(len=*), intent(in) :: what
    integer, intent(in) :: code
    integer :: class, length, err
    character(len=MPI_MAX_ERROR_STRING) :: text
    call MPI_Error_class(code, class, err)
    call MPI_Error_string(class, text, length, err)
    write (*, '(a, ": ", a, ": class ", i0, ", """, a, """, length ", i0)') trim(current), what, class, trim(text), length
  end subroutine

  integer function number_of(flag)
    logical, intent(in) :: flag
    number_of = merge(1, 0, flag)
  end function

  ! 1 for the world's own handle, 2 for self's, 0 for any other.
  integer function which(handle)
    COMM, intent(in) :: handle
    which = 0
    if (handle == MPI_COMM_WORLD) which = 1
    if (handle == MPI_COMM_SELF) which = 2
  end function
end module
