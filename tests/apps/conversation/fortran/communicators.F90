! Making communicators in every way the script knows, and talking on them.
#include "bindings.h"
module communicators
  use stage
  implicit none
contains

  subroutine digest_shape(which)
    COMM, intent(in) :: which
    integer :: shape(2)
    DO(MPI_Comm_rank)(which, shape(1), ierr)
    DO(MPI_Comm_size)(which, shape(2), ierr)
    call digest(shape, 2)
  end subroutine

  subroutine make_communicators
    COMM :: evens
    GROUP :: everybody, two, backwards
    REQUEST :: pending
    integer :: color, i, falling(ranks_max), first_two(2)
    parity = mod(rank, 2)
    DO(MPI_Comm_dup)(MPI_COMM_WORLD, dup, ierr)
    DO(MPI_Comm_set_name)(dup, 'rehearsal', ierr)
    DO(MPI_Comm_split)(MPI_COMM_WORLD, parity, size - rank, half, ierr)
    DO(MPI_Comm_rank)(half, half_rank, ierr)
    DO(MPI_Comm_size)(half, half_size, ierr)

    color = 0
    if (parity == 1) color = MPI_UNDEFINED
    DO(MPI_Comm_split)(MPI_COMM_WORLD, color, 0, evens, ierr)
    if (evens /= MPI_COMM_NULL) then
      DO(MPI_Comm_free)(evens, ierr)
    end if

    first_two = [1, 0]
    falling(:size) = [(size - i, i=1, size)]
    DO(MPI_Comm_group)(MPI_COMM_WORLD, everybody, ierr)
    DO(MPI_Group_incl)(everybody, 2, first_two, two, ierr)
    DO(MPI_Group_incl)(everybody, size, falling, backwards, ierr)
    pair = MPI_COMM_NULL
    if (rank < 2) then
      DO(MPI_Comm_create_group)(MPI_COMM_WORLD, two, 5, pair, ierr)
    end if
    DO(MPI_Comm_create)(MPI_COMM_WORLD, backwards, reversed, ierr)
    DO(MPI_Group_free)(backwards, ierr)
    DO(MPI_Group_free)(two, ierr)
    DO(MPI_Group_free)(everybody, ierr)

    DO(MPI_Intercomm_create)(half, 0, MPI_COMM_WORLD, world_of_half(1 - parity, 0), 6, inter, ierr)
    DO(MPI_Comm_remote_size)(inter, remote_size, ierr)
    DO(MPI_Intercomm_merge)(inter, parity == 1, merged, ierr)

    DO(MPI_Comm_idup)(MPI_COMM_WORLD, idup, pending, ierr)
    DO(MPI_Wait)(pending, MPI_STATUS_IGNORE, ierr)

    call digest_shape(MPI_COMM_WORLD)
    call digest_shape(MPI_COMM_SELF)
    call digest_shape(dup)
    call digest_shape(half)
    call digest_shape(inter)
    call digest_shape(merged)
    call digest_shape(reversed)
    call digest_shape(idup)
    if (pair /= MPI_COMM_NULL) call digest_shape(pair)
    call tell('communicators')
  end subroutine

  subroutine free_communicators
    DO(MPI_Comm_free)(idup, ierr)
    DO(MPI_Comm_free)(merged, ierr)
    DO(MPI_Comm_free)(inter, ierr)
    DO(MPI_Comm_free)(reversed, ierr)
    if (pair /= MPI_COMM_NULL) then
      DO(MPI_Comm_free)(pair, ierr)
    end if
    DO(MPI_Comm_free)(half, ierr)
    DO(MPI_Comm_free)(dup, ierr)
  end subroutine

  subroutine intercommunicator
    integer :: out(12), in(12), partner, root, i, mine, theirs
    STATUS_(status)
    partner = MPI_PROC_NULL
    if (half_rank < remote_size) partner = half_rank
    call fill(out, 12, rank, 110)
    call fill(in, 12, 0, 0)
    DO(MPI_Sendrecv)(out, 12, MPI_INTEGER, partner, 110, in, 12, MPI_INTEGER, partner, 110, inter, MPI_STATUS_IGNORE, ierr)
    if (partner /= MPI_PROC_NULL) then
      call counted_sent(world_of_half(1 - parity, partner), 48)
      call counted_received(world_of_half(1 - parity, partner), 48)
    end if
    call digest(in, 12)

    if (parity == 0 .and. half_rank == 0) then
      do i = 0, remote_size - 1
        call fill(out, 4 + i, rank, 111)
        DO(MPI_Send)(out, 4 + i, MPI_INTEGER, i, 111, inter, ierr)
        call counted_sent(world_of_half(1, i), 4*(4 + i))
      end do
    end if
    if (parity == 1) then
      DO(MPI_Recv)(in, 12, MPI_INTEGER, MPI_ANY_SOURCE, 111, inter, status, ierr)
      call counted_received(world_of_half(0, SOURCE_OF(status)), 4*(4 + half_rank))
      call digest(in, 4 + half_rank)
    end if

    root = MPI_PROC_NULL
    call fill(in, 12, 0, 112)
    if (parity == 1) then
      root = 0
    else if (half_rank == 0) then
      root = MPI_ROOT
      call fill(in, 12, rank, 112)
    end if
    DO(MPI_Bcast)(in, 12, MPI_INTEGER, root, inter, ierr)
    call digest(in, 12)
    mine = rank + 1
    theirs = 0
    DO(MPI_Allreduce)(mine, theirs, 1, MPI_INTEGER, MPI_SUM, inter, ierr)
    call digest([theirs], 1)
    DO(MPI_Barrier)(inter, ierr)
    call tell('intercommunicator')
  end subroutine

  ! A message to the next rank of a communicator where world ranks stand in another order.
  subroutine ring(which, member, world_next, world_previous, tag)
    COMM, intent(in) :: which
    integer, intent(in) :: member, world_next, world_previous, tag
    integer, asynchronous :: out(8), in(8)
    integer :: members
    REQUEST :: pending(2)
    DO(MPI_Comm_size)(which, members, ierr)
    call fill(out, 8, rank, tag)
    DO(MPI_Irecv)(in, 8, MPI_INTEGER, mod(member + members - 1, members), tag, which, pending(1), ierr)
    DO(MPI_Isend)(out, 8, MPI_INTEGER, mod(member + 1, members), tag, which, pending(2), ierr)
    DO(MPI_Waitall)(2, pending, MPI_STATUSES_IGNORE, ierr)
    call counted_sent(world_next, 32)
    call counted_received(world_previous, 32)
    call digest(in, 8)
  end subroutine

  subroutine groups
    call ring(half, half_rank, world_of_half(parity, mod(half_rank + 1, half_size)), &
              world_of_half(parity, mod(half_rank + half_size - 1, half_size)), 113)
    call ring(reversed, size - 1 - rank, left, right, 114)
    call ring(idup, rank, right, left, 115)
    call ring(MPI_COMM_SELF, 0, rank, rank, 116)
    if (pair /= MPI_COMM_NULL) call ring(pair, 1 - rank, 1 - rank, 1 - rank, 117)
    call tell('groups')
  end subroutine

end module
