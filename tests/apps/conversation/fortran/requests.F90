! Non-blocking and persistent communication, completed in every way.
#include "bindings.h"
module requests
  use stage
  implicit none
  integer, parameter :: waitany = 0, waitsome = 1, test = 2, testall = 3, testany = 4, testsome = 5
contains

  subroutine nonblocking
    integer, parameter :: large = 100000
    integer, asynchronous :: out(200, 2), in(200, 2)
    integer, asynchronous, allocatable :: large_out(:), large_in(:)
    REQUEST :: pending(4)
    call fill(out(:, 1), 200, rank, 5)
    call fill(out(:, 2), 200, rank, 6)
    DO(MPI_Irecv)(in(1, 1), 200, MPI_INTEGER, left, 5, MPI_COMM_WORLD, pending(1), ierr)
    DO(MPI_Irecv)(in(1, 2), 200, MPI_INTEGER, right, 6, MPI_COMM_WORLD, pending(2), ierr)
    DO(MPI_Isend)(out(1, 1), 200, MPI_INTEGER, right, 5, MPI_COMM_WORLD, pending(3), ierr)
    DO(MPI_Isend)(out(1, 2), 200, MPI_INTEGER, left, 6, MPI_COMM_WORLD, pending(4), ierr)
    DO(MPI_Waitall)(4, pending, MPI_STATUSES_IGNORE, ierr)
    call counted_sent(right, 800)
    call counted_sent(left, 800)
    call counted_received(left, 800)
    call counted_received(right, 800)
    call digest(in, 400)

    ! Large enough for every rendezvous protocol.
    allocate (large_out(large), large_in(large))
    call fill(large_out, large, rank, 7)
    DO(MPI_Irecv)(large_in, large, MPI_INTEGER, left, 7, dup, pending(1), ierr)
    DO(MPI_Issend)(large_out, large, MPI_INTEGER, right, 7, dup, pending(2), ierr)
    DO(MPI_Wait)(pending(1), MPI_STATUS_IGNORE, ierr)
    DO(MPI_Wait)(pending(2), MPI_STATUS_IGNORE, ierr)
    call counted_sent(right, 4*large)
    call counted_received(left, 4*large)
    call digest(large_in(1::1000), large/1000)
    call tell('nonblocking')
  end subroutine

  ! Completes three receives by one of the methods.
  subroutine complete(method, pending)
    integer, intent(in) :: method
    REQUEST, intent(inout) :: pending(3)
    integer :: index, many, indices(3), done
    logical :: flag
    STATUS_(status)
    STATUSES_(statuses, 3)
    done = 0
    do while (done < 3)
      select case (method)
      case (waitany)
        DO(MPI_Waitany)(3, pending, index, status, ierr)
        done = done + 1
      case (waitsome)
        DO(MPI_Waitsome)(3, pending, many, indices, MPI_STATUSES_IGNORE, ierr)
        done = done + many
      case (test)
        DO(MPI_Test)(pending(done + 1), flag, status, ierr)
        if (flag) done = done + 1
      case (testall)
        DO(MPI_Testall)(3, pending, flag, statuses, ierr)
        if (flag) done = 3
      case (testany)
        DO(MPI_Testany)(3, pending, index, flag, MPI_STATUS_IGNORE, ierr)
        if (flag) done = done + 1
      case default
        DO(MPI_Testsome)(3, pending, many, indices, statuses, ierr)
        done = done + many
      end select
      if (method >= test .and. done < 3) call nap
    end do
  end subroutine

  subroutine completion
    integer, asynchronous :: out(12, 3), in(12, 3)
    REQUEST :: receives(3), sends(3), nothing(1)
    integer :: method, k, tag
    do method = waitany, testsome
      do k = 1, 3
        tag = 20 + 3*method + k - 1
        DO(MPI_Irecv)(in(1, k), 12, MPI_INTEGER, left, tag, dup, receives(k), ierr)
      end do
      do k = 1, 3
        tag = 20 + 3*method + k - 1
        call fill(out(:, k), 9 + k, rank, tag)
        DO(MPI_Isend)(out(1, k), 9 + k, MPI_INTEGER, right, tag, dup, sends(k), ierr)
        call counted_sent(right, 4*(9 + k))
      end do
      call complete(method, receives)
      DO(MPI_Waitall)(3, sends, MPI_STATUSES_IGNORE, ierr)
      do k = 1, 3
        call counted_received(left, 4*(9 + k))
        call digest(in(:, k), 9 + k)
      end do
    end do
    ! Nothing to wait for.
    nothing = MPI_REQUEST_NULL
    DO(MPI_Wait)(nothing(1), MPI_STATUS_IGNORE, ierr)
    DO(MPI_Waitall)(1, nothing, MPI_STATUSES_IGNORE, ierr)
    call tell('completion')
  end subroutine

  subroutine persistent
    integer, asynchronous :: out(30), in(30)
    REQUEST :: pending(2), anybody
    STATUS_(status)
    integer :: round
    DO(MPI_Recv_init)(in, 30, MPI_INTEGER, left, 40, MPI_COMM_WORLD, pending(1), ierr)
    DO(MPI_Send_init)(out, 30, MPI_INTEGER, right, 40, MPI_COMM_WORLD, pending(2), ierr)
    do round = 0, 2
      call fill(out, 30, rank, 40 + round)
      if (round < 2) then
        DO(MPI_Startall)(2, pending, ierr)
        DO(MPI_Waitall)(2, pending, MPI_STATUSES_IGNORE, ierr)
      else
        DO(MPI_Start)(pending(1), ierr)
        DO(MPI_Start)(pending(2), ierr)
        DO(MPI_Wait)(pending(1), MPI_STATUS_IGNORE, ierr)
        DO(MPI_Wait)(pending(2), MPI_STATUS_IGNORE, ierr)
      end if
      call counted_sent(right, 120)
      call counted_received(left, 120)
      call digest(in, 30)
    end do
    DO(MPI_Request_free)(pending(1), ierr)
    DO(MPI_Request_free)(pending(2), ierr)

    DO(MPI_Recv_init)(in, 30, MPI_INTEGER, MPI_ANY_SOURCE, 44, MPI_COMM_WORLD, anybody, ierr)
    DO(MPI_Start)(anybody, ierr)
    call fill(out, 10, rank, 44)
    DO(MPI_Send)(out, 10, MPI_INTEGER, right, 44, MPI_COMM_WORLD, ierr)
    DO(MPI_Wait)(anybody, status, ierr)
    DO(MPI_Request_free)(anybody, ierr)
    call counted_sent(right, 40)
    call counted_received(SOURCE_OF(status), 40)
    call digest(in, 10)
    call tell('persistent')
  end subroutine

  subroutine cancelled
    integer, asynchronous :: in(4)
    logical :: flag
    REQUEST :: pending
    STATUS_(status)
    DO(MPI_Irecv)(in, 4, MPI_INTEGER, left, 120, MPI_COMM_WORLD, pending, ierr)
    DO(MPI_Cancel)(pending, ierr)
    DO(MPI_Wait)(pending, status, ierr)
    DO(MPI_Test_cancelled)(status, flag, ierr)
    call digest([merge(1, 0, flag)], 1)
    call tell('cancelled')
  end subroutine

  subroutine freed
    integer, asynchronous :: out(9), in(9)
    REQUEST :: pending
    call fill(out, 9, rank, 126)
    DO(MPI_Isend)(out, 9, MPI_INTEGER, right, 126, MPI_COMM_WORLD, pending, ierr)
    DO(MPI_Request_free)(pending, ierr)
    DO(MPI_Recv)(in, 9, MPI_INTEGER, left, 126, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call counted_sent(right, 36)
    call counted_received(left, 36)
    call digest(in, 9)
    ! Nobody leaves, and nobody's buffer goes away, before every message has arrived.
    DO(MPI_Barrier)(MPI_COMM_WORLD, ierr)
    call tell('freed')
  end subroutine

end module
