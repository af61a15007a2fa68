! Two ranks in known subroutines until LOG_DIR/stop appears: rank 0 in `inner`, rank 1 waits for it in `exchange`. Lines are
! marked as in `stacks.c`.
module work
    use mpi
    implicit none
    double precision, volatile :: total = 0
    integer, volatile :: left = 0
contains
    subroutine inner()
        integer :: i
        do i = 1, 2000000
            total = total * 0.5d0 + i
        end do
    end subroutine inner

    subroutine compute()
        character(len=4096) :: directory
        logical :: is_told
        call get_environment_variable('LOG_DIR', directory)
        is_told = .false.
        do while (.not. is_told)
            call inner() ! at compute
            inquire(file=trim(directory)//'/stop', exist=is_told)
        end do
        left = left + 1
    end subroutine compute

    subroutine exchange(value)
        integer, intent(out) :: value
        integer :: error
        call mpi_recv(value, 1, mpi_integer, 0, 7, mpi_comm_world, mpi_status_ignore, error) ! at exchange
        left = left + 1
    end subroutine exchange
end module work

program stacks
    use work
    implicit none
    integer :: rank, error, value = 5
    call mpi_init(error)
    call mpi_comm_rank(mpi_comm_world, rank, error)
    if (rank == 0) then
        call compute() ! at main 0
        call mpi_send(value, 1, mpi_integer, 1, 7, mpi_comm_world, error)
    else
        call exchange(value) ! at main 1
    end if
    print '(a,i0,a,i0)', 'rank ', rank, ' has ', value
    call mpi_finalize(error)
end program stacks
