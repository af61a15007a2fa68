! Blocking point-to-point communication: every send mode, probes, datatypes, nobody as a peer.
#include "bindings.h"
module messages
  use stage
  use, intrinsic :: iso_c_binding, only: c_ptr, c_double
  implicit none
contains

  subroutine send(mode, buffer, many, tag, which)
    character, intent(in) :: mode
    integer, intent(in) :: buffer(*), many, tag
    COMM, intent(in) :: which
    select case (mode)
    case ('s')
      DO(MPI_Ssend)(buffer, many, MPI_INTEGER, right, tag, which, ierr)
    case ('b')
      DO(MPI_Bsend)(buffer, many, MPI_INTEGER, right, tag, which, ierr)
    case default
      DO(MPI_Send)(buffer, many, MPI_INTEGER, right, tag, which, ierr)
    end select
  end subroutine

  ! A ring in which the even ranks send first, so that even a synchronous send ends.
  subroutine pass_on(mode, which, many, tag)
    character, intent(in) :: mode
    COMM, intent(in) :: which
    integer, intent(in) :: many, tag
    integer :: out(100), in(100)
    call fill(out, many, rank, tag)
    if (mod(rank, 2) == 0) call send(mode, out, many, tag, which)
    DO(MPI_Recv)(in, many, MPI_INTEGER, left, tag, which, MPI_STATUS_IGNORE, ierr)
    if (mod(rank, 2) == 1) call send(mode, out, many, tag, which)
    call counted_sent(right, 4*many)
    call counted_received(left, 4*many)
    call digest(in, many)
  end subroutine

  subroutine blocking
    integer, asynchronous, save :: room(200)
    integer, asynchronous :: out(10), in(10)
    integer :: bytes
    REQUEST :: pending
#ifdef BINDING_F08
    type(c_ptr) :: detached
#else
    integer :: detached(200)
#endif
    call pass_on('-', MPI_COMM_WORLD, 100, 1)
    call pass_on('s', dup, 50, 2)
    bytes = 400 + MPI_BSEND_OVERHEAD
    if (bytes > 800) error stop 'the buffer for MPI_Bsend is too small'
    DO(MPI_Buffer_attach)(room, bytes, ierr)
    call pass_on('b', MPI_COMM_WORLD, 25, 3)
    DO(MPI_Buffer_detach)(detached, bytes, ierr)

    call fill(out, 10, rank, 4)
    DO(MPI_Irecv)(in, 10, MPI_INTEGER, left, 4, MPI_COMM_WORLD, pending, ierr)
    DO(MPI_Barrier)(MPI_COMM_WORLD, ierr)
    DO(MPI_Rsend)(out, 10, MPI_INTEGER, right, 4, MPI_COMM_WORLD, ierr)
    DO(MPI_Wait)(pending, MPI_STATUS_IGNORE, ierr)
    call counted_sent(right, 40)
    call counted_received(left, 40)
    call digest(in, 10)
    call tell('blocking')
  end subroutine

  subroutine sendrecv
    integer :: out(20), in(20), member, next, previous, up, down
    STATUS_(status)
    DO(MPI_Comm_rank)(merged, member, ierr)
    next = mod(member + 1, size)
    previous = mod(member + size - 1, size)
    call fill(out, 20, rank, 90)
    DO(MPI_Sendrecv)(out, 20, MPI_INTEGER, next, 90, in, 20, MPI_INTEGER, previous, 90, merged, MPI_STATUS_IGNORE, ierr)
    call counted_sent(world_of_merged(next), 80)
    call counted_received(world_of_merged(previous), 80)
    call digest(in, 20)

    call fill(in, 20, rank, 91)
    DO(MPI_Sendrecv_replace)(in, 15, MPI_INTEGER, right, 91, left, 91, dup, MPI_STATUS_IGNORE, ierr)
    call counted_sent(right, 60)
    call counted_received(left, 60)
    call digest(in, 15)

    up = MPI_PROC_NULL
    if (rank + 1 < size) up = rank + 1
    down = MPI_PROC_NULL
    if (rank > 0) down = rank - 1
    call fill(out, 10, rank, 92)
    call fill(in, 10, 0, 0)
    DO(MPI_Sendrecv)(out, 10, MPI_INTEGER, up, 92, in, 10, MPI_INTEGER, down, 92, MPI_COMM_WORLD, status, ierr)
    if (up /= MPI_PROC_NULL) call counted_sent(up, 40)
    if (down /= MPI_PROC_NULL) call counted_received(SOURCE_OF(status), 40)
    call digest(in, 10)
    call tell('sendrecv')
  end subroutine

  subroutine nobody
    integer, asynchronous :: values(3)
    integer :: many, found
    STATUS_(status)
    REQUEST :: pending(2)
    values = [1, 2, 3]
    DO(MPI_Send)(values, 3, MPI_INTEGER, MPI_PROC_NULL, 95, MPI_COMM_WORLD, ierr)
    DO(MPI_Recv)(values, 3, MPI_INTEGER, MPI_PROC_NULL, 95, MPI_COMM_WORLD, status, ierr)
    DO(MPI_Get_count)(status, MPI_INTEGER, many, ierr)
    DO(MPI_Isend)(values, 3, MPI_INTEGER, MPI_PROC_NULL, 96, dup, pending(1), ierr)
    DO(MPI_Irecv)(values, 3, MPI_INTEGER, MPI_PROC_NULL, 96, dup, pending(2), ierr)
    DO(MPI_Waitall)(2, pending, MPI_STATUSES_IGNORE, ierr)
    DO(MPI_Probe)(MPI_PROC_NULL, 97, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    found = 0
    if (SOURCE_OF(status) == MPI_PROC_NULL) found = 1
    call digest([found, many], 2)
    call digest(values, 3)
    call tell('nobody')
  end subroutine

  subroutine probe
    integer, asynchronous :: out(80), in(80)
    integer :: many, mine, theirs, tag
    logical :: flag
    REQUEST :: sending, receiving
    MESSAGE :: found
    STATUS_(status)
    mine = 3 + rank
    theirs = 3 + left
    do tag = 100, 103
      call fill(out, mine, rank, tag)
      DO(MPI_Isend)(out, mine, MPI_INTEGER, right, tag, MPI_COMM_WORLD, sending, ierr)
      select case (tag)
      case (100)
        DO(MPI_Probe)(left, tag, MPI_COMM_WORLD, status, ierr)
        DO(MPI_Get_count)(status, MPI_INTEGER, many, ierr)
        DO(MPI_Recv)(in, many, MPI_INTEGER, left, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
      case (101)
        do
          DO(MPI_Iprobe)(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, flag, status, ierr)
          if (flag) exit
          call nap
        end do
        DO(MPI_Get_count)(status, MPI_INTEGER, many, ierr)
        DO(MPI_Recv)(in, many, MPI_INTEGER, SOURCE_OF(status), tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
      case (102)
        DO(MPI_Mprobe)(left, MPI_ANY_TAG, MPI_COMM_WORLD, found, status, ierr)
        DO(MPI_Get_count)(status, MPI_INTEGER, many, ierr)
        DO(MPI_Mrecv)(in, many, MPI_INTEGER, found, MPI_STATUS_IGNORE, ierr)
      case default
        do
          DO(MPI_Improbe)(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, flag, found, status, ierr)
          if (flag) exit
          call nap
        end do
        DO(MPI_Get_count)(status, MPI_INTEGER, many, ierr)
        DO(MPI_Imrecv)(in, many, MPI_INTEGER, found, receiving, ierr)
        DO(MPI_Wait)(receiving, MPI_STATUS_IGNORE, ierr)
      end select
      DO(MPI_Wait)(sending, MPI_STATUS_IGNORE, ierr)
      call counted_sent(right, 4*mine)
      call counted_received(left, 4*theirs)
      call digest([many], 1)
      call digest(in, theirs)
    end do
    call tell('probe')
  end subroutine

  subroutine derived
    type, bind(C) :: particle
      integer(c_int) :: id
      real(c_double) :: mass
    end type
    type(particle), asynchronous :: given(2), got(2)
    integer, asynchronous :: grid(24), out(15), in(15)
    DATATYPE :: column, triple, record, types(2)
    REQUEST :: pending
    integer :: i
    DO(MPI_Type_vector)(4, 1, 6, MPI_INTEGER, column, ierr)
    DO(MPI_Type_commit)(column, ierr)
    call fill(grid, 24, rank, 121)
    DO(MPI_Sendrecv)(grid(3), 1, column, right, 121, in, 4, MPI_INTEGER, left, 121, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call counted_sent(right, 16)
    call counted_received(left, 16)
    call digest(in, 4)
    DO(MPI_Type_free)(column, ierr)

    DO(MPI_Type_contiguous)(3, MPI_INTEGER, triple, ierr)
    DO(MPI_Type_commit)(triple, ierr)
    call fill(out, 15, rank, 122)
    DO(MPI_Isend)(out, 5, triple, right, 122, MPI_COMM_WORLD, pending, ierr)
    DO(MPI_Recv)(in, 5, triple, left, 122, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    DO(MPI_Wait)(pending, MPI_STATUS_IGNORE, ierr)
    call counted_sent(right, 60)
    call counted_received(left, 60)
    call digest(in, 15)
    DO(MPI_Type_free)(triple, ierr)

    given = [particle(rank, rank + 0.5d0), particle(rank + 10, 2.5d0)]
    types = [MPI_INTEGER, MPI_DOUBLE_PRECISION]
    DO(MPI_Type_create_struct)(2, [1, 1], [0_MPI_ADDRESS_KIND, 8_MPI_ADDRESS_KIND], types, record, ierr)
    DO(MPI_Type_commit)(record, ierr)
    DO(MPI_Isend)(given, 2, record, right, 123, dup, pending, ierr)
    DO(MPI_Recv)(got, 2, record, left, 123, dup, MPI_STATUS_IGNORE, ierr)
    DO(MPI_Wait)(pending, MPI_STATUS_IGNORE, ierr)
    call counted_sent(right, 24)
    call counted_received(left, 24)
    do i = 1, 2
      call digest([got(i)%id, int(got(i)%mass*2)], 2)
    end do
    DO(MPI_Type_free)(record, ierr)
    call tell('derived')
  end subroutine

  subroutine zero
    integer, asynchronous :: out(1), in(1)
    integer :: many
    REQUEST :: pending
    STATUS_(status)
    DO(MPI_Isend)(out, 0, MPI_INTEGER, right, 124, MPI_COMM_WORLD, pending, ierr)
    DO(MPI_Recv)(in, 0, MPI_INTEGER, left, 124, MPI_COMM_WORLD, status, ierr)
    DO(MPI_Wait)(pending, MPI_STATUS_IGNORE, ierr)
    DO(MPI_Get_count)(status, MPI_INTEGER, many, ierr)
    call counted_sent(right, 0)
    call counted_received(left, 0)
    call digest([many, SOURCE_OF(status)], 2)
    call tell('zero')
  end subroutine

  subroutine many_messages
    integer :: i, in
    do i = 0, 19999
      in = -1
      DO(MPI_Sendrecv)(i, 1, MPI_INTEGER, 0, 125, in, 1, MPI_INTEGER, 0, 125, MPI_COMM_SELF, MPI_STATUS_IGNORE, ierr)
      call counted_sent(rank, 4)
      call counted_received(rank, 4)
      if (mod(i, 100) == 0) call digest([in], 1)
    end do
    call tell('many')
  end subroutine

end module
