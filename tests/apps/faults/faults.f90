! Ends rank 1 by a fault, as `faults.c` does: `faults WAY`, where WAY is `segv` or `abort`.
! Lines are marked as in `faults.c`.
module work
    use mpi
    implicit none
    integer, volatile :: left = 0
    ! A module's: a compiler leaves out what nobody else could read.
    double precision :: values(4)
    integer(kind=8), volatile :: far = 2000000000000_8
contains
    subroutine touch(at)
        integer(kind=8), intent(in) :: at
        values(at) = 1 ! at segv
        left = left + 1
    end subroutine touch
end module work

program faults
    use work
    implicit none
    integer :: rank, error
    character(len=32) :: way
    call get_command_argument(1, way)
    call mpi_init(error)
    call mpi_comm_rank(mpi_comm_world, rank, error)
    print '(a,i0)', 'rank ', rank
    flush(6)
    call mpi_barrier(mpi_comm_world, error)
    if (rank == 1 .and. way == 'segv') call touch(far) ! at main
    if (rank == 1 .and. way == 'abort') call abort() ! at abort
    call mpi_barrier(mpi_comm_world, error)
    call mpi_finalize(error)
end program faults
