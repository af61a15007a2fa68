! What counting.h is for C: how often a program called each MPI function, and what it sent and received point to
! point, by ranks of MPI_COMM_WORLD. See there for the file.
module counting
  implicit none
  private
  public :: counted, counted_sent, counted_received, write_counts

  integer, parameter :: functions_max = 256, ranks_max = 64
  integer, parameter :: long = selected_int_kind(18)
  character(len=40) :: names(functions_max)
  integer(long) :: calls(functions_max) = 0
  integer :: functions = 0
  ! Messages and bytes, by peer.
  integer(long) :: sent(2, 0:ranks_max - 1) = 0, received(2, 0:ranks_max - 1) = 0

contains

  subroutine counted(name)
    character(len=*), intent(in) :: name
    integer, save :: latest = 0
    if (latest > 0) then
      if (names(latest) == name) then
        calls(latest) = calls(latest) + 1
        return
      end if
    end if
    do latest = 1, functions
      if (names(latest) == name) exit
    end do
    if (latest > functions) then
      if (latest > functions_max) error stop 'counting: too many functions'
      functions = latest
      names(latest) = name
    end if
    calls(latest) = calls(latest) + 1
  end subroutine

  subroutine counted_sent(destination, bytes)
    integer, intent(in) :: destination, bytes
    sent(:, destination) = sent(:, destination) + [1, bytes]
  end subroutine

  subroutine counted_received(source, bytes)
    integer, intent(in) :: source, bytes
    received(:, source) = received(:, source) + [1, bytes]
  end subroutine

  subroutine write_counts(rank)
    integer, intent(in) :: rank
    character(len=4096) :: pattern, path
    character(len=*), parameter :: row = '(a, 4(a, i0))'
    character(len=*), parameter :: tab = achar(9)
    integer :: at, unit, i
    call get_environment_variable('COUNTS_FILE', pattern)
    if (pattern == '') return
    path = pattern
    at = index(pattern, '%r')
    if (at > 0) write (path, '(a, i0, a)') pattern(:at - 1), rank, trim(pattern(at + 2:))
    open (newunit=unit, file=trim(path), status='replace', action='write')
    do i = 1, functions
      write (unit, '(2a, i0, 3a, i0)') 'call', tab, rank, tab, trim(names(i)), tab, calls(i)
    end do
    do i = 0, ranks_max - 1
      if (sent(1, i) > 0) write (unit, row) 'sent', tab, int(rank, long), tab, int(i, long), tab, sent(1, i), tab, sent(2, i)
      if (received(1, i) > 0) &
        write (unit, row) 'received', tab, int(i, long), tab, int(rank, long), tab, received(1, i), tab, received(2, i)
    end do
    close (unit)
  end subroutine

end module
