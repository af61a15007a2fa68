! What the parts of the Fortran conversation share; README.md tells the script.
#include "bindings.h"
module stage
#if defined(BINDING_MPI)
  use mpi
#elif defined(BINDING_F08)
  use mpi_f08
#endif
  use counting
  use, intrinsic :: iso_c_binding, only: c_int
  implicit none
#ifdef BINDING_MPIF_H
  include 'mpif.h'
#endif

  integer, parameter :: ranks_max = 64
  integer :: rank, size, left, right
  integer :: parity, half_rank, half_size, remote_size
  COMM :: dup, half, inter, merged, pair, reversed, idup
  integer :: ierr
  integer(selected_int_kind(18)), private :: running = 7

  interface
    integer(c_int) function usleep(microseconds) bind(C)
      import :: c_int
      integer(c_int), value :: microseconds
    end function
  end interface

contains

  ! World rank of a rank of the half with this parity: its world ranks fall.
  integer function world_of_half(which, member)
    integer, intent(in) :: which, member
    integer :: last
    last = size - 1
    if (mod(last, 2) /= which) last = last - 1
    world_of_half = last - 2*member
  end function

  integer function world_of_merged(member)
    integer, intent(in) :: member
    integer :: evens
    evens = (size + 1)/2
    if (member < evens) then
      world_of_merged = world_of_half(0, member)
    else
      world_of_merged = world_of_half(1, member - evens)
    end if
  end function

  ! The message of `many` numbers that world rank `source` sends with `tag`.
  subroutine fill(buffer, many, source, tag)
    integer, intent(inout) :: buffer(*)
    integer, intent(in) :: many, source, tag
    integer :: i
    do i = 1, many
      buffer(i) = mod(source*1000 + tag*10 + (i - 1)*7, 9973)
    end do
  end subroutine

  ! Takes numbers into the running digest.
  subroutine digest(buffer, many)
    integer, intent(in) :: buffer(*), many
    integer :: i
    do i = 1, many
      running = mod(running*31 + buffer(i), 1000003_8)
    end do
  end subroutine

  ! Prints the digest of a section and begins anew.
  subroutine tell(section)
    character(len=*), intent(in) :: section
    write (*, '(a, 1x, i0)') section, running
    running = 7
  end subroutine

  ! A short sleep between two tests of something that has not happened yet.
  subroutine nap
    integer(c_int) :: ignored
    ignored = usleep(200_c_int)
  end subroutine

end module
