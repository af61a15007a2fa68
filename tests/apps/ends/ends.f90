! Ends a job in the way of its argument, as ends.c does: `ends WAY [CODE]`.
module system
  use, intrinsic :: iso_c_binding
  implicit none
  integer(c_int), parameter :: sigkill = 9, sigusr2 = 12, sigterm = 15
  interface
    function c_getpid() bind(c, name='getpid') result(pid)
      import :: c_int
      integer(c_int) :: pid
    end function
    function c_kill(pid, number) bind(c, name='kill') result(failed)
      import :: c_int
      integer(c_int), value :: pid, number
      integer(c_int) :: failed
    end function
    function c_pause() bind(c, name='pause') result(failed)
      import :: c_int
      integer(c_int) :: failed
    end function
    function c_usleep(us) bind(c, name='usleep') result(failed)
      import :: c_int
      integer(c_int), value :: us
      integer(c_int) :: failed
    end function
    function c_signal(number, handler) bind(c, name='signal') result(before)
      import :: c_int, c_funptr
      integer(c_int), value :: number
      type(c_funptr), value :: handler
      type(c_funptr) :: before
    end function
    function c_write(descriptor, bytes, length) bind(c, name='write') result(written)
      import :: c_int, c_size_t, c_char
      integer(c_int), value :: descriptor
      character(kind=c_char), intent(in) :: bytes(*)
      integer(c_size_t), value :: length
      integer(c_size_t) :: written
    end function
    subroutine c_exit(code) bind(c, name='exit')
      import :: c_int
      integer(c_int), value :: code
    end subroutine
  end interface
  integer :: rank, calls = -1
  logical, volatile :: asked_to_end = .false.
  integer, pointer, volatile :: newest(:)

contains

  subroutine note(at, name, number)
    integer, intent(in) :: at, number
    character(len=*), intent(in) :: name
    character(len=64) :: text
    write (text, '(a,1x,i0)') name, number
    write (calls, pos=at + 1) text
    flush (calls)
  end subroutine

  subroutine open_notes()
    character(len=4096) :: logs
    character(len=16) :: number
    call get_environment_variable('LOG_DIR', logs)
    write (number, '(i0)') rank
    open (newunit=calls, file=trim(logs)//'/'//trim(number)//'.calls', access='stream', form='unformatted')
  end subroutine

  subroutine entering(name, number)
    character(len=*), intent(in) :: name
    integer, intent(in) :: number
    call note(64, name, number)
  end subroutine

  subroutine left(name, number)
    character(len=*), intent(in) :: name
    integer, intent(in) :: number
    call note(0, name, number)
    call note(64, 'none', 0)
  end subroutine

  subroutine barrier(number)
    use mpi
    integer, intent(in) :: number
    integer :: ierror
    call entering('MPI_Barrier', number)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call left('MPI_Barrier', number)
  end subroutine

  subroutine ready()
    character(len=4096) :: logs
    character(len=16) :: number
    integer :: unit
    call get_environment_variable('LOG_DIR', logs)
    write (number, '(i0)') rank
    open (newunit=unit, file=trim(logs)//'/'//trim(number)//'.ready')
    close (unit)
  end subroutine

  subroutine stay()
    integer :: ignored
    do
      ignored = c_pause()
    end do
  end subroutine

  subroutine to_end(number) bind(c)
    integer(c_int), value :: number
    asked_to_end = number > 0
  end subroutine

  subroutine save_for_long()
    integer :: piece, ignored
    do while (.not. asked_to_end)
      ignored = c_usleep(10000_c_int)
    end do
    do piece = 1, 300
      ignored = c_usleep(10000_c_int)
    end do
  end subroutine

  ! A limit of memory is to be in force.
  subroutine exhaust()
    do
      allocate (newest(262144))
      newest = 1
    end do
  end subroutine

  subroutine abort_by(code)
    use mpi
    integer, intent(in) :: code
    integer :: ierror
    call entering('MPI_Abort', 0)
    call MPI_Abort(MPI_COMM_WORLD, code, ierror)
    ! MPICH 5.0's comes back, and the launcher kills a moment later.
    call stay()
  end subroutine

  subroutine told(number) bind(c)
    integer(c_int), value :: number
    character(kind=c_char, len=23), parameter :: line = 'told to come to an end'//c_new_line
    if (number < 0) return
    if (c_write(1_c_int, line, 23_c_size_t) < 0) call c_exit(99_c_int)
  end subroutine

  subroutine last_callback(comm, keyval, value, extra, ierror)
    use mpi
    integer :: comm, keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: value, extra
    call ready()
    if (rank == 1) call stay()
    ierror = MPI_SUCCESS
    if (.false.) value = extra + comm + keyval
  end subroutine
end module

program ends
  use mpi
  use system
  implicit none
  integer, parameter :: rounds = 40
  integer :: round, received, code, keyval, ierror
  integer(c_intptr_t) :: nowhere = 0
  integer(c_int), pointer :: cell
  character(len=32) :: way, text
  character(len=8) :: name
  type(c_funptr) :: before
  way = 'normal'
  text = '0'
  if (command_argument_count() > 0) call get_command_argument(1, way)
  if (command_argument_count() > 1) call get_command_argument(2, text)
  read (text, *) code
  before = c_signal(sigusr2, c_funloc(told))
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call open_notes()
  name = 'MPI_Send'
  if (rank == 1) name = 'MPI_Recv'
  do round = 0, rounds - 1
    call entering(name, round)
    if (rank == 0) call MPI_Send(round, 1, MPI_INTEGER, 1, round, MPI_COMM_WORLD, ierror)
    if (rank == 1) call MPI_Recv(received, 1, MPI_INTEGER, 0, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    call left(name, round)
  end do
  call barrier(0)
  write (*, '(a,i0,a,i0,a)') 'rank ', rank, ': ', rounds, ' messages'
  flush (6)
  ! From here on launchers may kill, and drop what they have not passed on yet.
  ierror = c_usleep(100000_c_int)
  call barrier(1)

  select case (way)
  case ('return')
    call c_exit(int(code, c_int))
  case ('hang')
    call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, last_callback, keyval, 0_MPI_ADDRESS_KIND, ierror)
    call MPI_Comm_set_attr(MPI_COMM_SELF, keyval, 0_MPI_ADDRESS_KIND, ierror)
  case ('stay')
    if (rank == 0) call entering('MPI_Recv', 1)
    call ready()
    if (rank == 1) call stay()
    call MPI_Recv(received, 1, MPI_INTEGER, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
  case ('save')
    before = c_signal(sigterm, c_funloc(to_end))
    call ready()
    call save_for_long()
    call barrier(2)
    write (*, '(a,i0,a)') 'rank ', rank, ': saved'
  case ('abort-late')
    if (rank == 1) then
      ierror = c_usleep(500000_c_int)
      call abort_by(code)
    end if
  case ('exit-early', 'abort', 'fault', 'kill', 'exhaust')
    if (rank == 1) then
      ! The others come to their barrier meanwhile.
      ierror = c_usleep(500000_c_int)
      select case (way)
      case ('exit-early')
        call c_exit(int(code, c_int))
      case ('abort')
        call abort_by(code)
      case ('fault')
        call c_f_pointer(transfer(nowhere, c_null_ptr), cell)
        cell = 0
      case ('kill')
        ierror = c_kill(c_getpid(), sigkill)
      case ('exhaust')
        call exhaust()
      end select
    end if
    call barrier(2)
  end select
  call entering('MPI_Finalize', 0)
  call MPI_Finalize(ierror)
  call c_exit(int(code, c_int))
end program
