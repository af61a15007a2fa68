! The conversation in Fortran. The first argument, if any, is the status that the last rank leaves with.
#include "bindings.h"
program conversation
  use stage
  use communicators
  use messages
  use wildcards
  use requests
  use collectives_of_all
  implicit none
  character(len=16) :: argument
  integer :: code
  integer(c_int) :: ignored

  DO(MPI_Init)(ierr)
  DO(MPI_Comm_rank)(MPI_COMM_WORLD, rank, ierr)
  DO(MPI_Comm_size)(MPI_COMM_WORLD, size, ierr)
  left = mod(rank + size - 1, size)
  right = mod(rank + 1, size)

  call make_communicators
  call blocking
  call nonblocking
  call completion
  call persistent
  call wildcard
  call sendrecv
  call nobody
  call probe
  call collectives
  call nonblocking_collectives
  call intercommunicator
  call groups
  call cancelled
  call derived
  call zero
  call freed
  call many_messages
  call free_communicators

  DO(MPI_Finalize)(ierr)
  call write_counts(rank)
  code = 0
  if (command_argument_count() > 0) then
    call get_command_argument(1, argument)
    read (argument, *) code
  end if
  ! The last rank leaves late and with the status that was asked for: some launchers end all others at once when one
  ! leaves with another status than 0, be it after MPI_Finalize.
  if (rank /= size - 1) code = 0
  if (code /= 0) ignored = usleep(500000_c_int)
  call exit(code)
end program
