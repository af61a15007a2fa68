! What pcontrol.c does, in Fortran: ranks that tell their phases, and of which the odd ones switch
! recording off and on for themselves.
include '../common/counting.f90'

module switching
    use mpi
    use counting
    implicit none
    integer :: me, all
    logical :: is_on = .true.
contains
    subroutine seen(name)
        character(len=*), intent(in) :: name
        if (is_on) call counted(name)
    end subroutine seen

    subroutine switch_to(level)
        integer, intent(in) :: level
        if (mod(me, 2) == 0) return
        call mpi_pcontrol(level)
        is_on = level == 1
    end subroutine switch_to

    subroutine meet(times, total)
        integer, intent(in) :: times
        integer, intent(inout) :: total
        integer :: i, value, in, error
        do i = 1, times
            value = me + i
            call seen('MPI_Sendrecv')
            call mpi_sendrecv(value, 1, mpi_integer, mod(me + 1, all), 3, in, 1, mpi_integer, mod(me + all - 1, all), 3, &
                              mpi_comm_world, mpi_status_ignore, error)
            call seen('MPI_Allreduce')
            call mpi_allreduce(in, value, 1, mpi_integer, mpi_sum, mpi_comm_world, error)
            total = total + value
        end do
    end subroutine meet
end module switching

program pcontrol
    use switching
    implicit none
    character(len=4096) :: logs, note
    integer :: error, unit, on, off, total = 0, posted_on = -1, posted_off = -1
    logical :: is_told
    call counted('MPI_Init')
    call mpi_init(error)
    call mpi_comm_rank(mpi_comm_world, me, error)
    call mpi_comm_size(mpi_comm_world, all, error)
    call mpi_pcontrol(3)
    call meet(2, total)
    call mpi_pcontrol(huge(0))
    call mpi_pcontrol(-4)
    call mpi_pcontrol(2)
    call meet(1, total)
    call mpi_pcontrol(3)
    call mpi_pcontrol(-3)
    call mpi_pcontrol(-huge(0) - 1)
    call seen('MPI_Irecv')
    call mpi_irecv(posted_on, 1, mpi_integer, mod(me + 1, all), 4, mpi_comm_world, on, error)
    call switch_to(0)
    call seen('MPI_Irecv')
    call mpi_irecv(posted_off, 1, mpi_integer, mod(me + 1, all), 5, mpi_comm_world, off, error)
    call seen('MPI_Send')
    call mpi_send(me, 1, mpi_integer, mod(me + all - 1, all), 4, mpi_comm_world, error)
    call seen('MPI_Wait')
    call mpi_wait(on, mpi_status_ignore, error)
    call get_environment_variable('LOG_DIR', logs)
    write (note, '(a, a, i0, a)') trim(logs), '/', me, '.off'
    open (newunit=unit, file=trim(note), status='replace', action='write')
    close (unit)
    is_told = .false.
    do while (.not. is_told)
        inquire (file=trim(logs)//'/go', exist=is_told)
        call sleep(0)
    end do
    call meet(5, total)
    call switch_to(1)
    call seen('MPI_Send')
    call mpi_send(me, 1, mpi_integer, mod(me + all - 1, all), 5, mpi_comm_world, error)
    call seen('MPI_Wait')
    call mpi_wait(off, mpi_status_ignore, error)
    call meet(2, total)
    print '(a,i0,a,i0,a,i0,a,i0)', 'rank ', me, ': sum ', total, ', from the right ', posted_on, ' ', posted_off
    call counted('MPI_Finalize')
    call mpi_finalize(error)
    call write_counts(me)
end program pcontrol
