! What is special in Fortran's arguments: logicals, strings, statuses, buffers that are none, sections of arrays.
#include "bindings.h"
module arguments
  use stage
  implicit none

contains

  subroutine logicals
    COMM :: grid
    integer :: dims(2), coords(2)
    logical :: periods(2), back(2), flag
    REQUEST :: none
    current = 'logicals'
    dims = [all, 1]
    periods = [.true., .false.]
    call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, .false., grid, ierr)
    call MPI_Cart_get(grid, 2, dims, back, coords, ierr)
    call say('periods', [number_of(back(1)), number_of(back(2)), dims, coords])
    call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, .true., grid, ierr)
    call MPI_Comm_test_inter(grid, flag, ierr)
    call say('inter', [number_of(flag), number_of(flag .eqv. .false.)])
    call MPI_Initialized(flag, ierr)
    call say('initialized', [number_of(flag), number_of(flag .eqv. .true.)])
    call MPI_Finalized(flag, ierr)
    call say('finalized', [number_of(flag)])
    none = MPI_REQUEST_NULL
    call MPI_Test(none, flag, MPI_STATUS_IGNORE, ierr)
    call say('a test of nothing', [number_of(flag)])
    call MPI_Is_thread_main(flag, ierr)
    call say('main thread', [number_of(flag)])
    call MPI_Comm_free(grid, ierr)
  end subroutine

  subroutine strings
    COMM :: dup
    INFO_ :: info
    character(len=MPI_MAX_OBJECT_NAME) :: name
    character(len=MPI_MAX_PROCESSOR_NAME) :: host
    character(len=12) :: short
    logical :: flag
    integer :: length
    current = 'strings'
    call MPI_Comm_get_name(MPI_COMM_WORLD, name, length, ierr)
    call say('"'//trim(name)//'"', [length])
    call MPI_Comm_dup(MPI_COMM_WORLD, dup, ierr)
    call MPI_Comm_set_name(dup, '  a name with blanks around  ', ierr)
    name = repeat('x', len(name))
    call MPI_Comm_get_name(dup, name, length, ierr)
    call say('"'//trim(name)//'"', [length, len_trim(name)])
    call MPI_Comm_free(dup, ierr)
    call MPI_Get_processor_name(host, length, ierr)
    call say('"'//trim(host)//'"', [length])
    call MPI_Info_create(info, ierr)
    call MPI_Info_set(info, ' key ', ' value ', ierr)
    short = repeat('y', len(short))
    call MPI_Info_get(info, 'key', len(short), short, flag, ierr)
    call say('"'//short//'"', [number_of(flag)])
    call MPI_Info_get_valuelen(info, 'key', length, flag, ierr)
    call say('of length', [length, number_of(flag)])
    call MPI_Info_free(info, ierr)
  end subroutine

  subroutine statuses
    integer, parameter :: many = 3
    REQUEST :: requests(2*many)
    STATUS_(status)
    STATUSES_(several, 2*many)
    integer :: in(many), out(many), i, count, indices(many), done, index
    logical :: flag
    current = 'statuses'
    do i = 1, many
      out(i) = 10*me + i
      call MPI_Irecv(in(i), 1, MPI_INTEGER, left, i, MPI_COMM_WORLD, requests(i), ierr)
    end do
    do i = 1, many
      call MPI_Isend(out(i), 1, MPI_INTEGER, right, i, MPI_COMM_WORLD, requests(many + i), ierr)
    end do
    call MPI_Waitall(2*many, requests, several, ierr)
    do i = 1, many
      call say('source, tag, value', [SOURCE_AT(several, i), TAG_AT(several, i), in(i)])
    end do
    do i = 1, many
      call MPI_Irecv(in(i), 1, MPI_INTEGER, left, i, MPI_COMM_WORLD, requests(i), ierr)
      call MPI_Isend(out(i), 1, MPI_INTEGER, right, i, MPI_COMM_WORLD, requests(many + i), ierr)
    end do
    call MPI_Waitall(2*many, requests, MPI_STATUSES_IGNORE, ierr)
    call say('ignored', [in, number_of(all_null(requests))])
    call MPI_Sendrecv(out, 2, MPI_INTEGER, right, 7, in, 3, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &
      status, ierr)
    call MPI_Get_count(status, MPI_INTEGER, count, ierr)
    call say('source, tag, count', [SOURCE_OF(status), TAG_OF(status), count])
    call MPI_Sendrecv(out, 1, MPI_INTEGER, right, 8, in, 1, MPI_INTEGER, left, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call MPI_Recv(in, 1, MPI_INTEGER, MPI_PROC_NULL, 8, MPI_COMM_WORLD, status, ierr)
    call say('from nobody', [number_of(SOURCE_OF(status) == MPI_PROC_NULL)])

    call MPI_Irecv(in(1), 1, MPI_INTEGER, left, 11, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Irecv(in(2), 1, MPI_INTEGER, left, 12, MPI_COMM_WORLD, requests(2), ierr)
    call MPI_Send(out(2), 1, MPI_INTEGER, right, 12, MPI_COMM_WORLD, ierr)
    call MPI_Waitany(2, requests, index, status, ierr)
    call say('any: index counts from one, tag', [index, TAG_OF(status)])
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    call MPI_Send(out(1), 1, MPI_INTEGER, right, 11, MPI_COMM_WORLD, ierr)
    call MPI_Waitsome(2, requests, done, indices, MPI_STATUSES_IGNORE, ierr)
    call say('some', [done, indices(1)])
    call MPI_Testall(2, requests, flag, MPI_STATUSES_IGNORE, ierr)
    call say('all', [number_of(flag)])
  end subroutine

  logical function all_null(requests)
    REQUEST, intent(in) :: requests(:)
    integer :: i
    all_null = .true.
    do i = 1, size(requests)
      if (requests(i) /= MPI_REQUEST_NULL) all_null = .false.
    end do
  end function

  subroutine in_place
    integer :: values(64), i, out(2), in(2)
    DATATYPE :: absolute
    integer(kind=MPI_ADDRESS_KIND) :: places(2)
    current = 'in_place'
    values = me + 1
    call MPI_Allreduce(MPI_IN_PLACE, values, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call say('allreduce', [values(1)])
    values = -1
    values(me + 1) = me
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, values, 1, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    call say('allgather', values(:all))
    values(:all) = [(100*me + i, i=1, all)]
    call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, values, 1, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    call say('alltoall', values(:all))
    values = me + 1
    call MPI_Scan(MPI_IN_PLACE, values, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call say('scan', [values(1)])
    if (me == 0) then
      values(:all) = [(i, i=1, all)]
      call MPI_Scatter(values, 1, MPI_INTEGER, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD, ierr)
    else
      call MPI_Scatter(values, 0, MPI_DATATYPE_NULL, values, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
    end if
    call say('scatter', [values(1)])

    out = [me, me + 5]
    in = -1
    call MPI_Get_address(out(2), places(1), ierr)
    call MPI_Get_address(out(1), places(2), ierr)
    call MPI_Type_create_hindexed(2, [1, 1], places, MPI_INTEGER, absolute, ierr)
    call MPI_Type_commit(absolute, ierr)
    call MPI_Sendrecv(MPI_BOTTOM, 1, absolute, right, 1, in, 2, MPI_INTEGER, left, 1, MPI_COMM_WORLD, &
      MPI_STATUS_IGNORE, ierr)
    call say('from the bottom', in)
    call MPI_Type_free(absolute, ierr)
  end subroutine

  ! Every second element, every second column: mpi_f08 hands the section itself to MPI, the others a copy.
  subroutine sections
    integer :: out(8, 8), in(8, 8), i, j
    REQUEST :: requests(2)
    current = 'sections'
    do j = 1, 8
      do i = 1, 8
        out(i, j) = 1000*me + 10*i + j
      end do
    end do
    in = -1
#ifdef BINDING_F08
    call say('subarrays supported', [number_of(MPI_SUBARRAYS_SUPPORTED)])
    if (MPI_SUBARRAYS_SUPPORTED) then
      call MPI_Irecv(in(1:8:2, 2:8:2), 16, MPI_INTEGER, left, 1, MPI_COMM_WORLD, requests(1), ierr)
      call MPI_Isend(out(2:8:2, 1:8:2), 16, MPI_INTEGER, right, 1, MPI_COMM_WORLD, requests(2), ierr)
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
      call say('without waiting', [sum(in), in(1, 2), in(7, 8), in(2, 2)])
    end if
#endif
    in = -1
    call MPI_Sendrecv(out(2:8:2, 1:8:2), 16, MPI_INTEGER, right, 2, in(1:8:2, 2:8:2), 16, MPI_INTEGER, left, 2, &
      MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call say('waiting', [sum(in), in(1, 2), in(7, 8), in(2, 2)])
    call MPI_Bcast(out(1, 1:8:3), 3, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
    call say('bcast', [out(1, 1), out(1, 4), out(1, 7), out(1, 2)])
  end subroutine
end module
