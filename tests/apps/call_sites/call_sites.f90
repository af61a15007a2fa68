! Two ranks call MPI from known lines, so and so often, and wait until LOG_DIR/stop appears. Lines are marked as in
! `call_sites.c`.
module work
    use mpi
    implicit none
    double precision :: own = 1, total, box(4) = 0
contains
    subroutine sums()
        integer :: i, error
        do i = 1, 30
            call mpi_allreduce(own, total, 1, mpi_double_precision, mpi_sum, mpi_comm_world, error) ! at sum
        end do
        do i = 1, 20
            call mpi_allreduce(own, total, 1, mpi_double_precision, mpi_sum, mpi_comm_world, error) ! at one sum
            call mpi_allreduce(own, total, 1, mpi_double_precision, mpi_sum, mpi_comm_world, error) ! at next sum
        end do
    end subroutine sums

    subroutine messages(rank)
        integer, intent(in) :: rank
        integer :: i, error
        if (rank == 0) then
            do i = 1, 50
                call mpi_send(box, 4, mpi_double_precision, 1, 7, mpi_comm_world, error) ! at send
            end do
            do i = 1, 7
                call mpi_send(box, 4, mpi_double_precision, 1, 7, mpi_comm_world, error) ! at other send
            end do
        else
            do i = 1, 57
                call mpi_recv(box, 4, mpi_double_precision, 0, 7, mpi_comm_world, mpi_status_ignore, error) ! at receive
            end do
        end if
    end subroutine messages

    subroutine posted(rank)
        integer, intent(in) :: rank
        integer :: i, error, both(2)
        do i = 1, 12
            call mpi_irecv(total, 1, mpi_double_precision, 1 - rank, 8, mpi_comm_world, both(1), error) ! at post
            call mpi_isend(own, 1, mpi_double_precision, 1 - rank, 8, mpi_comm_world, both(2), error) ! at posted send
            call mpi_waitall(2, both, mpi_statuses_ignore, error) ! at wait
        end do
    end subroutine posted
end module work

program call_sites
    use work
    implicit none
    character(len=4096) :: directory
    integer :: rank, error
    logical :: is_told
    ! Compilers count the first statements as in the line of the program's own name.
    is_told = command_argument_count() > 0
    if (.not. is_told) call mpi_init(error) ! at begin
    call mpi_comm_rank(mpi_comm_world, rank, error)
    call sums()
    call messages(rank)
    call posted(rank)
    call get_environment_variable('LOG_DIR', directory)
    do while (.not. is_told)
        call sleep(1)
        inquire(file=trim(directory)//'/stop', exist=is_told)
    end do
    call mpi_finalize(error)
end program call_sites
