#include "bindings.h"
program mpi_features
  use stage
  use callbacks
  use arguments
  use objects
  implicit none
  logical :: flag
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, all, ierr)
  left = mod(me + all - 1, all)
  right = mod(me + 1, all)
  call attributes
  call errors
  call operations
  call logicals
  call strings
  call statuses
  call in_place
  call sections
  call groups
  call topologies
  call windows
  call files
  call persistent
  call handles
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  call MPI_Finalize(ierr)
  current = 'finalize'
  call MPI_Finalized(flag, ierr)
  call say('finalized', [number_of(flag)])
end program
