! Objects of MPI, as Fortran has them: groups, topologies, windows, files, persistent requests, handles.
#include "bindings.h"
module objects
  use stage
  implicit none

contains

  subroutine groups
    GROUP :: world, others
    COMM :: comm
    integer :: size, rank, ranks(1), ranges(3, 1), there(1), result
    current = 'groups'
    call MPI_Comm_group(MPI_COMM_WORLD, world, ierr)
    call MPI_Group_size(world, size, ierr)
    ranges(:, 1) = [all - 1, 0, -1]
    call MPI_Group_range_incl(world, 1, ranges, others, ierr)
    ranks = [0]
    call MPI_Group_translate_ranks(world, 1, ranks, others, there, ierr)
    call MPI_Comm_create(MPI_COMM_WORLD, others, comm, ierr)
    call MPI_Comm_rank(comm, rank, ierr)
    call MPI_Comm_compare(comm, MPI_COMM_WORLD, result, ierr)
    call say('size, first in reverse, rank, comparison', [size, there(1), rank, result])
    call MPI_Comm_free(comm, ierr)
    call MPI_Group_free(others, ierr)
    call MPI_Group_free(world, ierr)
  end subroutine

  subroutine topologies
    COMM :: ring
    integer :: in(1), near(1)
    integer :: count_in, count_out
    logical :: weighted
    current = 'topologies'
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [left], MPI_UNWEIGHTED, 1, [right], MPI_UNWEIGHTED, &
      MPI_INFO_NULL, .true., ring, ierr)
    call MPI_Dist_graph_neighbors_count(ring, count_in, count_out, weighted, ierr)
    in = me
    near = -1
    call MPI_Neighbor_allgather(in, 1, MPI_INTEGER, near, 1, MPI_INTEGER, ring, ierr)
    call say('in, out, weighted, neighbour', [count_in, count_out, number_of(weighted), near(1)])
    call MPI_Comm_free(ring, ierr)
  end subroutine

  subroutine windows
    WINDOW :: window
    integer, asynchronous :: memory(4)
    integer :: value
    integer(kind=MPI_ADDRESS_KIND) :: bytes, at
    current = 'windows'
    memory = -1
    bytes = 16
    at = 1
    value = 100 + me
    call MPI_Win_create(memory, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, window, ierr)
    call MPI_Win_fence(0, window, ierr)
    call MPI_Put(value, 1, MPI_INTEGER, right, at, 1, MPI_INTEGER, window, ierr)
    call MPI_Win_fence(0, window, ierr)
    call say('put', [memory(1), memory(2)])
    call MPI_Win_free(window, ierr)
  end subroutine

  subroutine files
    FILE_ :: file
    character(len=1024) :: directory
    integer :: values(2), found(2), length
    integer(kind=MPI_OFFSET_KIND) :: at, bytes
    current = 'files'
    call get_environment_variable('LOG_DIR', directory, length)
    if (length == 0) directory = '.'
    call MPI_File_open(MPI_COMM_WORLD, trim(directory)//'/whole.fortran', MPI_MODE_CREATE + MPI_MODE_RDWR + &
      MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, file, ierr)
    values = [me, me + 50]
    at = 8*me
    call MPI_File_write_at_all(file, at, values, 2, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
    call MPI_File_sync(file, ierr)
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    call MPI_File_sync(file, ierr)
    at = 8*right
    call MPI_File_read_at(file, at, found, 2, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
    call MPI_File_get_size(file, bytes, ierr)
    call say('read, size', [found, int(bytes)])
    call MPI_File_close(file, ierr)
  end subroutine

  subroutine persistent
    REQUEST :: requests(2)
    integer :: in, out, round
    current = 'persistent'
    call MPI_Send_init(out, 1, MPI_INTEGER, right, 3, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Recv_init(in, 1, MPI_INTEGER, left, 3, MPI_COMM_WORLD, requests(2), ierr)
    do round = 1, 2
      out = 10*round + me
      call MPI_Startall(2, requests, ierr)
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
      call say('round, value', [round, in])
    end do
    call MPI_Request_free(requests(1), ierr)
    call MPI_Request_free(requests(2), ierr)
  end subroutine

  subroutine handles
    COMM :: copy
    integer :: size, rank, result
    current = 'handles'
    copy = MPI_COMM_WORLD
    call MPI_Comm_size(copy, size, ierr)
    call MPI_Comm_rank(copy, rank, ierr)
    call MPI_Comm_compare(copy, MPI_COMM_WORLD, result, ierr)
    call say('the world by its number, of, rank, comparison', [VALUE_OF(copy), size, rank, result])
    call say('self and null by their numbers', [VALUE_OF(MPI_COMM_SELF), VALUE_OF(MPI_COMM_NULL)])
  end subroutine
end module
