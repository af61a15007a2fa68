! Two of the hangs of `hang_kinds.c`, with its marks: `hang_kinds WAY`.
!
!   icoll    rank 2 never begins an MPI_Iallreduce that the others wait for
!   fence    rank 2 never comes to an MPI_Win_fence
program hang_kinds
    use mpi
    implicit none
    character(len=16) :: way
    integer :: rank, error, value, total, request, win, i
    integer(kind=mpi_address_kind) :: bytes
    call get_command_argument(1, way)
    call mpi_init(error)
    call mpi_comm_rank(mpi_comm_world, rank, error)
    value = rank
    bytes = 4
    call mpi_win_create(value, bytes, 4, mpi_info_null, mpi_comm_world, win, error)
    if (rank == 2) then
        do i = 1, 3600
            call sleep(1)
        end do
    end if
    if (way == 'icoll') then
        call mpi_iallreduce(rank, total, 1, mpi_integer, mpi_sum, mpi_comm_world, request, error)
        call mpi_wait(request, mpi_status_ignore, error) ! at icoll 0 1 3
    else
        call mpi_win_fence(0, win, error) ! at fence 0 1 3
    end if
    call mpi_finalize(error)
end program hang_kinds
