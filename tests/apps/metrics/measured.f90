! Counts its steps, of about 10 ms, with a barrier in each: `measured [SECONDS]`. The value `cells`
! is 1000 + RANK; the counter `twice` is counted with integers of 8 bytes. In the end each rank
! prints `rank R steps N`.
program measured
    use mpi
    use invivo_regions
    use, intrinsic :: iso_c_binding, only: c_int, c_int64_t
    implicit none
    character(len=12) :: argument
    double precision :: seconds = 10, begun
    integer :: rank, steps = 0, error, ignored
    logical :: is_going_on, goes_on

    interface
        function usleep(us) bind(C)
            import :: c_int
            integer(c_int), value :: us
            integer(c_int) :: usleep
        end function usleep
    end interface

    call get_command_argument(1, argument)
    if (argument /= '') read (argument, *) seconds
    call mpi_init(error)
    call mpi_comm_rank(mpi_comm_world, rank, error)
    begun = mpi_wtime()
    goes_on = .true.
    do while (goes_on)
        call invivo_count('steps', 1)
        call invivo_count('twice', 2_c_int64_t)
        ! Nothing happens with this one.
        call invivo_count('steps', -1)
        call invivo_set('cells  ', 1000 + rank)
        steps = steps + 1
        ignored = usleep(10000_c_int)
        call mpi_barrier(mpi_comm_world, error)
        is_going_on = mpi_wtime() - begun < seconds
        call mpi_allreduce(is_going_on, goes_on, 1, mpi_logical, mpi_land, mpi_comm_world, error)
    end do
    print '(a,i0,a,i0)', 'rank ', rank, ' steps ', steps
    call mpi_finalize(error)
end program measured
