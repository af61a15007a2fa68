! Rank 2 comes 100 ms late to each sum, rank 1 to what it broadcasts, and rank 3 posts a barrier as
! late, for which the others wait when they have posted it: `wait_states ROUNDS`. Then
! the ranks wait, outside of MPI, until LOG_DIR/stop appears.
program wait_states
  use mpi
  use, intrinsic :: iso_c_binding
  implicit none
  interface
    function c_usleep(us) bind(c, name='usleep') result(failed)
      import :: c_int
      integer(c_int), value :: us
      integer(c_int) :: failed
    end function
  end interface
  integer, parameter :: late_us = 100000
  integer :: error, rank, rounds, round, posted
  integer(c_int) :: failed
  double precision :: mine, total
  character(len=4096) :: directory, argument
  logical :: stopped
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call get_command_argument(1, argument)
  read (argument, *) rounds
  call get_environment_variable('LOG_DIR', directory)
  mine = rank
  call MPI_Barrier(MPI_COMM_WORLD, error)
  do round = 1, rounds
    if (rank == 2) failed = c_usleep(late_us)
    call MPI_Allreduce(mine, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    if (rank == 1) failed = c_usleep(late_us)
    call MPI_Bcast(total, 1, MPI_DOUBLE_PRECISION, 1, MPI_COMM_WORLD, error)
    if (rank == 3) failed = c_usleep(late_us)
    call MPI_Ibarrier(MPI_COMM_WORLD, posted, error)
    call MPI_Wait(posted, MPI_STATUS_IGNORE, error)
  end do
  stopped = .false.
  do while (.not. stopped)
    failed = c_usleep(10000)
    inquire (file=trim(directory)//'/stop', exist=stopped)
  end do
  call MPI_Finalize(error)
end program
