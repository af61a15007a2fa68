! Rounds in known regions, marked ones and procedures of the compiler's: what `regions.c` does, with
! the same log. The helpers are in region_log.c, so that they are no regions; the main program is
! one that begins before MPI_Init, and does not count.
module work
    use mpi
    use invivo_regions
    use, intrinsic :: iso_c_binding, only: c_char, c_int, c_long_long, c_null_char
    implicit none
    integer, parameter :: outers = 2, inners = 5, ints = 25000
    integer(c_long_long), parameter :: setup_ns = 200000, inner_ns = 100000
    integer :: me, all, total = 0

    ! The log keeps the pointers.
    character(kind=c_char, len=9), target :: name_of_setup = 'setup'//c_null_char
    character(kind=c_char, len=9), target :: name_of_solve = 'solve'//c_null_char
    character(kind=c_char, len=9), target :: name_of_outer = 'outer'//c_null_char
    character(kind=c_char, len=9), target :: name_of_inner = 'inner'//c_null_char
    character(kind=c_char, len=9), target :: name_of_exchange = 'exchange'//c_null_char

    interface
        subroutine log_begin(name) bind(C, name='region_log_begin')
            import :: c_char
            character(kind=c_char), intent(in) :: name(*)
        end subroutine log_begin
        subroutine log_end() bind(C, name='region_log_end')
        end subroutine log_end
        subroutine log_mpi_begin() bind(C, name='region_log_mpi_begin')
        end subroutine log_mpi_begin
        subroutine log_mpi_end() bind(C, name='region_log_mpi_end')
        end subroutine log_mpi_end
        subroutine log_compute(ns) bind(C, name='region_log_compute')
            import :: c_long_long
            integer(c_long_long), value :: ns
        end subroutine log_compute
        subroutine log_write(rank) bind(C, name='region_log_write')
            import :: c_int
            integer(c_int), value :: rank
        end subroutine log_write
        subroutine log_wait(rank) bind(C, name='region_log_wait')
            import :: c_int
            integer(c_int), value :: rank
        end subroutine log_wait
    end interface
contains
    subroutine inner()
        call log_begin(name_of_inner)
        call log_compute(inner_ns * (1 + mod(me, 2)))
        call log_end()
    end subroutine inner

    subroutine outer()
        integer :: i, one, ranks, error
        one = 1
        call log_begin(name_of_outer)
        do i = 1, inners
            call inner()
        end do
        call log_mpi_begin()
        call mpi_allreduce(one, ranks, 1, mpi_integer, mpi_sum, mpi_comm_world, error)
        call log_mpi_end()
        total = total + ranks
        call log_end()
    end subroutine outer
end module work

program regions
    use work
    implicit none
    character(len=12) :: argument
    integer :: round, rounds = 50, i, error
    integer, save :: out(ints) = 0, in(ints) = 0
    call get_command_argument(1, argument)
    if (argument /= '') read (argument, *) rounds
    call mpi_init(error)
    call mpi_comm_rank(mpi_comm_world, me, error)
    call mpi_comm_size(mpi_comm_world, all, error)
    do round = 1, rounds
        call invivo_begin('setup')
        call log_begin(name_of_setup)
        call log_compute(setup_ns)
        call log_end()
        call invivo_end('setup')

        call invivo_begin('solve')
        call log_begin(name_of_solve)
        do i = 1, outers
            call outer()
        end do
        call log_mpi_begin()
        call mpi_barrier(mpi_comm_world, error)
        call log_mpi_end()
        call log_end()
        call invivo_end('solve')

        call invivo_begin('exchange')
        call log_begin(name_of_exchange)
        out(1) = me
        call log_mpi_begin()
        call mpi_sendrecv(out, ints, mpi_integer, mod(me + 1, all), 5, in, ints, mpi_integer, &
                          mod(me + all - 1, all), 5, mpi_comm_world, mpi_status_ignore, error)
        call log_mpi_end()
        total = total + in(1)
        call log_end()
        call invivo_end()
    end do
    call log_write(me)
    call log_wait(me)
    call mpi_finalize(error)
    print '(a,i0,a,i0,a,i0)', 'rank ', me, ': ', rounds, ' rounds, sum ', total
end program regions
