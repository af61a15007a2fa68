! Leaves the file LOG_DIR/begun.PID in the first statement behind mpi_init.
program after_init
    use mpi_f08
    implicit none
    character(len=4096) :: directory
    character(len=16) :: pid
    integer :: unit
    call mpi_init()
    write (pid, '(i0)') getpid()
    call get_environment_variable('LOG_DIR', directory)
    open (newunit=unit, file=trim(directory)//'/begun.'//trim(pid), status='replace')
    close (unit)
    call mpi_barrier(mpi_comm_world)
    call mpi_finalize()
end program after_init
