! Two of the hangs of `hang.c`, with its marks: `hang WAY`.
!
!   ssend    ranks 0 and 1 send to each other and wait for the other to receive first; the others wait for them
!   recv     rank 0 waits for a message that rank 1 never sends; the others wait for it
program hang
    use mpi
    implicit none
    character(len=16) :: way
    integer :: rank, error, value
    call get_command_argument(1, way)
    call mpi_init(error)
    call mpi_comm_rank(mpi_comm_world, rank, error)
    call mpi_barrier(mpi_comm_world, error)
    value = rank
    if (way == 'ssend' .and. rank < 2) then
        call mpi_ssend(value, 1, mpi_integer, 1 - rank, 7, mpi_comm_world, error) ! at ssend 0 1
    else if (way == 'recv' .and. rank == 0) then
        call mpi_recv(value, 1, mpi_integer, 1, 9, mpi_comm_world, mpi_status_ignore, error) ! at recv 0
    end if
    call mpi_barrier(mpi_comm_world, error) ! at the end
    call mpi_finalize(error)
end program hang
