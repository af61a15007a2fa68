! One of the hangs of `hang_kinds.c`, with its mark: `hang_kinds fence`, where rank 2 never comes to
! an MPI_Win_fence.
program hang_kinds
    use mpi
    implicit none
    integer :: rank, error, value, win, i
    integer(kind=mpi_address_kind) :: bytes
    call mpi_init(error)
    call mpi_comm_rank(mpi_comm_world, rank, error)
    bytes = 4
    call mpi_win_create(value, bytes, 4, mpi_info_null, mpi_comm_world, win, error)
    if (rank == 2) then
        do i = 1, 3600
            call sleep(1)
        end do
    end if
    call mpi_win_fence(0, win, error) ! at fence 0 1 3
    call mpi_win_free(win, error)
    call mpi_finalize(error)
end program hang_kinds
