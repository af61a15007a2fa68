! Known parts of the time of each rank below known callers, until LOG_DIR/stop appears: the same work
! as in `shares.c`, without messages. Each rank writes its parts to LOG_DIR/RANK.shares in the same way.
module work
    use mpi
    use, intrinsic :: iso_fortran_env, only: int64
    implicit none
    double precision, volatile :: total = 0
    integer, volatile :: left = 0
    integer(int64) :: spent(3) = 0
contains
    ! Time of this process on a processor, in ns.
    integer(int64) function cpu_ns()
        double precision :: seconds
        call cpu_time(seconds)
        cpu_ns = int(seconds * 1d9, int64)
    end function cpu_ns

    subroutine kernel(parts)
        integer, intent(in) :: parts
        integer :: i
        do i = 1, parts * 100000
            total = total * 0.5d0 + i
        end do
    end subroutine kernel

    subroutine heavy()
        call kernel(5) ! at heavy
        left = left + 1
    end subroutine heavy

    subroutine middle()
        call kernel(3) ! at middle
        left = left + 1
    end subroutine middle

    subroutine light()
        call kernel(2) ! at light
        left = left + 1
    end subroutine light

    subroutine step()
        integer(int64) :: at(4)
        at(1) = cpu_ns()
        call heavy() ! at step heavy
        at(2) = cpu_ns()
        call middle() ! at step middle
        at(3) = cpu_ns()
        call light() ! at step light
        at(4) = cpu_ns()
        spent = spent + at(2:4) - at(1:3)
        left = left + 1
    end subroutine step
end module work

program shares
    use work
    implicit none
    character(len=4096) :: directory
    character(len=12) :: number
    character(len=6), parameter :: names(3) = ['heavy ', 'middle', 'light ']
    integer :: rank, error, i
    integer(int64) :: begun
    logical :: is_told = .false.
    call mpi_init(error)
    call mpi_comm_rank(mpi_comm_world, rank, error)
    call get_environment_variable('LOG_DIR', directory)
    begun = cpu_ns()
    do while (.not. is_told)
        do i = 1, 20
            call step() ! at main
        end do
        inquire(file=trim(directory)//'/stop', exist=is_told)
    end do
    write(number, '(i0)') rank
    open(unit=11, file=trim(directory)//'/'//trim(number)//'.shares', action='write')
    do i = 1, 3
        write(11, '(a,1x,i0)') trim(names(i)), spent(i)
    end do
    write(11, '(a,1x,i0)') 'all', cpu_ns() - begun
    close(11)
    call mpi_finalize(error)
end program shares
