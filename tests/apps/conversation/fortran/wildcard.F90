! Receives that name no sender, on several communicators, with a status and without. What they yield is put in the
! senders' order before it is digested.
#include "bindings.h"
module wildcards
  use stage
  implicit none
  integer, parameter, private :: words = 64
contains

  ! By status: the sender and the tag are read from it.
  subroutine with_status
    integer :: out(words), in(words, ranks_max), i, many, source
    STATUS_(status)
    DO(MPI_Barrier)(dup, ierr)
    if (rank > 0) then
      call fill(out, rank, rank, 50 + rank)
      DO(MPI_Send)(out, rank, MPI_INTEGER, 0, 50 + rank, dup, ierr)
      call counted_sent(0, 4*rank)
      return
    end if
    do i = 1, size - 1
      DO(MPI_Recv)(out, words, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, dup, status, ierr)
      DO(MPI_Get_count)(status, MPI_INTEGER, many, ierr)
      source = SOURCE_OF(status)
      in(:many, source) = out(:many) + TAG_OF(status)
      call counted_received(source, 4*many)
    end do
    do source = 1, size - 1
      call digest(in(:, source), source)
    end do
  end subroutine

  ! Without: the sender is known by the message's first number.
  subroutine sort_in(in, message_)
    integer, intent(inout) :: in(5, ranks_max)
    integer, intent(in) :: message_(5)
    in(:, message_(1)) = message_
    call counted_received(message_(1), 20)
  end subroutine

  subroutine without_status
    integer :: out(5), in(5, ranks_max), i
    DO(MPI_Barrier)(dup, ierr)
    if (rank > 0) then
      call fill(out, 5, rank, 60)
      out(1) = rank
      DO(MPI_Send)(out, 5, MPI_INTEGER, 0, 60, dup, ierr)
      call counted_sent(0, 20)
      return
    end if
    do i = 1, size - 1
      DO(MPI_Recv)(out, 5, MPI_INTEGER, MPI_ANY_SOURCE, 60, dup, MPI_STATUS_IGNORE, ierr)
      call sort_in(in, out)
    end do
    call digest(in, 5*(size - 1))
  end subroutine

  subroutine non_blocking
    integer, asynchronous :: out(5), raw(5, ranks_max)
    integer :: in(5, ranks_max), i
    REQUEST :: pending(ranks_max)
    DO(MPI_Barrier)(dup, ierr)
    if (rank > 0) then
      call fill(out, 5, rank, 70)
      out(1) = rank
      DO(MPI_Isend)(out, 5, MPI_INTEGER, 0, 70, dup, pending(1), ierr)
      DO(MPI_Wait)(pending(1), MPI_STATUS_IGNORE, ierr)
      call counted_sent(0, 20)
      return
    end if
    do i = 1, size - 1
      DO(MPI_Irecv)(raw(1, i), 5, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, dup, pending(i), ierr)
    end do
    DO(MPI_Waitall)(size - 1, pending, MPI_STATUSES_IGNORE, ierr)
    do i = 1, size - 1
      call sort_in(in, raw(:, i))
    end do
    call digest(in, 5*(size - 1))
  end subroutine

  ! On a communicator that numbers the ranks in another order than the world.
  subroutine in_the_half
    integer :: out(6), in(6, ranks_max), i
    STATUS_(status)
    DO(MPI_Barrier)(half, ierr)
    if (half_rank > 0) then
      call fill(out, 6, rank, 80)
      DO(MPI_Send)(out, 6, MPI_INTEGER, 0, 80, half, ierr)
      call counted_sent(world_of_half(parity, 0), 24)
      return
    end if
    do i = 1, half_size - 1
      DO(MPI_Recv)(out, 6, MPI_INTEGER, MPI_ANY_SOURCE, 80, half, status, ierr)
      in(:, SOURCE_OF(status)) = out
      call counted_received(world_of_half(parity, SOURCE_OF(status)), 24)
    end do
    call digest(in, 6*(half_size - 1))
  end subroutine

  subroutine wildcard
    call with_status
    call without_status
    call non_blocking
    call in_the_half
    DO(MPI_Barrier)(MPI_COMM_WORLD, ierr)
    call tell('wildcard')
  end subroutine

end module
