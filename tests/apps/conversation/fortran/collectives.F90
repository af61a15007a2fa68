! Collective communication, blocking on three communicators and non-blocking on a fourth.
#include "bindings.h"
module collectives_of_all
  use stage
  implicit none
contains

  subroutine on(which)
    COMM, intent(in) :: which
    integer :: members, member, total, i
    integer :: counts(ranks_max), offsets(ranks_max), coming(ranks_max), places(ranks_max)
    integer :: out(ranks_max*2), in(ranks_max*ranks_max)
    DO(MPI_Comm_size)(which, members, ierr)
    DO(MPI_Comm_rank)(which, member, ierr)
    ! Rank i contributes i + 1 numbers where contributions differ.
    total = 0
    do i = 1, members
      counts(i) = i
      offsets(i) = total
      total = total + i
    end do

    DO(MPI_Barrier)(which, ierr)
    call fill(in, 10, member, 200)
    DO(MPI_Bcast)(in, 10, MPI_INTEGER, 0, which, ierr)
    call digest(in, 10)

    call fill(out, 6, member, 201)
    call fill(in, 6, 0, 0)
    DO(MPI_Reduce)(out, in, 6, MPI_INTEGER, MPI_SUM, members - 1, which, ierr)
    call digest(in, 6)
    DO(MPI_Allreduce)(out, in, 6, MPI_INTEGER, MPI_MAX, which, ierr)
    call digest(in, 6)
    DO(MPI_Allreduce)(MPI_IN_PLACE, out, 6, MPI_INTEGER, MPI_SUM, which, ierr)
    call digest(out, 6)

    call fill(out, 2*members, member, 202)
    call fill(in, 2*members, 0, 0)
    DO(MPI_Gather)(out, 2, MPI_INTEGER, in, 2, MPI_INTEGER, 0, which, ierr)
    call digest(in, 2*members)
    call fill(in, total, 0, 0)
    DO(MPI_Gatherv)(out, member + 1, MPI_INTEGER, in, counts, offsets, MPI_INTEGER, 0, which, ierr)
    call digest(in, total)
    DO(MPI_Scatter)(out, 2, MPI_INTEGER, in, 2, MPI_INTEGER, 0, which, ierr)
    call digest(in, 2)
    call fill(out, total, member, 203)
    DO(MPI_Scatterv)(out, counts, offsets, MPI_INTEGER, in, member + 1, MPI_INTEGER, members - 1, which, ierr)
    call digest(in, member + 1)

    call fill(out, members + 2, member, 207)
    DO(MPI_Allgather)(out, 2, MPI_INTEGER, in, 2, MPI_INTEGER, which, ierr)
    call digest(in, 2*members)
    DO(MPI_Allgatherv)(out, member + 1, MPI_INTEGER, in, counts, offsets, MPI_INTEGER, which, ierr)
    call digest(in, total)

    call fill(out, 2*members, member, 204)
    DO(MPI_Alltoall)(out, 2, MPI_INTEGER, in, 2, MPI_INTEGER, which, ierr)
    call digest(in, 2*members)
    ! To rank i go i + 1 numbers, so from everybody come this rank + 1.
    coming(:members) = member + 1
    places(:members) = [((i - 1)*(member + 1), i=1, members)]
    call fill(out, total, member, 205)
    DO(MPI_Alltoallv)(out, counts, offsets, MPI_INTEGER, in, coming, places, MPI_INTEGER, which, ierr)
    call digest(in, members*(member + 1))

    call fill(out, 2*members, member, 206)
    DO(MPI_Reduce_scatter_block)(out, in, 2, MPI_INTEGER, MPI_SUM, which, ierr)
    call digest(in, 2)
    call fill(out, 4, member, 208)
    DO(MPI_Scan)(out, in, 4, MPI_INTEGER, MPI_SUM, which, ierr)
    call digest(in, 4)
    call fill(in, 4, 0, 0)
    DO(MPI_Exscan)(out, in, 4, MPI_INTEGER, MPI_SUM, which, ierr)
    if (member > 0) call digest(in, 4)
  end subroutine

  subroutine collectives
    call on(MPI_COMM_WORLD)
    call on(half)
    call on(MPI_COMM_SELF)
    call tell('collectives')
  end subroutine

  ! Collectives and messages under way together, completed by one call.
  subroutine nonblocking_collectives
    integer, asynchronous :: values(5), total(5), spread(5), everything(ranks_max*2), out(5), in(5)
    REQUEST :: pending(6)
    call fill(values, 5, rank, 210)
    call fill(spread, 5, rank, 211)
    call fill(out, 5, rank, 212)
    DO(MPI_Ibarrier)(dup, pending(1), ierr)
    DO(MPI_Iallreduce)(values, total, 5, MPI_INTEGER, MPI_SUM, dup, pending(2), ierr)
    DO(MPI_Ibcast)(spread, 5, MPI_INTEGER, size - 1, dup, pending(3), ierr)
    DO(MPI_Iallgather)(values, 2, MPI_INTEGER, everything, 2, MPI_INTEGER, dup, pending(4), ierr)
    DO(MPI_Irecv)(in, 5, MPI_INTEGER, left, 212, dup, pending(5), ierr)
    DO(MPI_Isend)(out, 5, MPI_INTEGER, right, 212, dup, pending(6), ierr)
    DO(MPI_Waitall)(6, pending, MPI_STATUSES_IGNORE, ierr)
    call counted_sent(right, 20)
    call counted_received(left, 20)
    call digest(total, 5)
    call digest(spread, 5)
    call digest(everything, 2*size)
    call digest(in, 5)
    call tell('nonblocking_collectives')
  end subroutine

end module
