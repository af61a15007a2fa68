! Healthy programs of different kinds, one after the other, as `healthy.c` has them: the kind whose
! file LOG_DIR/KIND was made last in the order below, until LOG_DIR/stop appears.
module kinds
  use mpi
  use, intrinsic :: iso_c_binding
  implicit none
  interface
    function c_usleep(us) bind(c, name='usleep') result(failed)
      import :: c_int
      integer(c_int), value :: us
      integer(c_int) :: failed
    end function
  end interface
  integer, parameter :: points = 1000, own = 64
  integer :: rank, ranks, error
  double precision :: heat(0:points + 1) = 0, next_heat(0:points + 1) = 0
contains
  subroutine work(ms)
    integer, intent(in) :: ms
    integer(c_int) :: failed
    failed = c_usleep(int(1000 * ms, c_int))
  end subroutine

  subroutine must(is_right, what)
    logical, intent(in) :: is_right
    character(len=*), intent(in) :: what
    if (is_right) return
    print '(a,i0,2a)', 'rank ', rank, ': wrong: ', what
    call mpi_abort(mpi_comm_world, 71, error)
  end subroutine

  ! Heat in a rod of which each rank has a part.
  subroutine rod()
    integer :: left, right, status(mpi_status_size)
    left = merge(rank - 1, mpi_proc_null, rank > 0)
    right = merge(rank + 1, mpi_proc_null, rank < ranks - 1)
    if (rank == 0) heat(0) = 1
    call mpi_sendrecv(heat(points), 1, mpi_double_precision, right, 0, heat(0), 1, &
                      mpi_double_precision, left, 0, mpi_comm_world, status, error)
    call mpi_sendrecv(heat(1), 1, mpi_double_precision, left, 1, heat(points + 1), 1, &
                      mpi_double_precision, right, 1, mpi_comm_world, status, error)
    next_heat(1:points) = heat(1:points) &
                          + (heat(0:points - 1) - 2*heat(1:points) + heat(2:points + 1))/4
    call work(25)
    heat(1:points) = next_heat(1:points)
    call must(all(heat >= 0 .and. heat <= 1), 'heat')
  end subroutine

  ! A vector of which each rank has a part, times a matrix of which each rank has some rows.
  subroutine matrix_vector()
    double precision :: part(own), whole(own*ranks)
    part = rank + 1
    call mpi_allgather(part, own, mpi_double_precision, whole, own, mpi_double_precision, &
                       mpi_comm_world, error)
    call work(25)
    call must(sum(whole) == own*ranks*(ranks + 1)/2, 'the vector')
  end subroutine

  ! Points of a square of which a quarter of a circle is counted, and the sum rarely.
  subroutine monte_carlo()
    double precision :: x(points), y(points)
    integer :: step
    integer :: inside, all_inside
    inside = 0
    do step = 1, 4
      call random_number(x)
      call random_number(y)
      inside = inside + count(x*x + y*y < 1)
      call work(25)
    end do
    call mpi_reduce(inside, all_inside, 1, mpi_integer, mpi_sum, 0, mpi_comm_world, error)
    if (rank == 0) call must(abs(all_inside/(1000d0*ranks) - 3.14159d0) < 0.5d0, 'pi')
  end subroutine

  ! Where each rank's part of a list begins, and the parts at rank 0 and back again.
  subroutine parts()
    integer :: mine, begin, all_parts(ranks), back
    mine = own
    begin = 0
    call mpi_exscan(mine, begin, 1, mpi_integer, mpi_sum, mpi_comm_world, error)
    if (rank > 0) call must(begin == own*rank, 'the begin')
    call work(20)
    call mpi_gather(begin, 1, mpi_integer, all_parts, 1, mpi_integer, 0, mpi_comm_world, error)
    call mpi_scatter(all_parts, 1, mpi_integer, back, 1, mpi_integer, 0, mpi_comm_world, error)
    call must(rank == 0 .or. back == begin, 'what came back')
    call work(20)
  end subroutine
end module

program healthy
  use kinds
  implicit none
  character(len=16), parameter :: names(4) = &
    [character(len=16) :: 'rod', 'matrix_vector', 'monte_carlo', 'parts']
  character(len=4096) :: directory
  integer :: kind, mine, next, of, file
  logical :: there
  call mpi_init(error)
  call mpi_comm_rank(mpi_comm_world, rank, error)
  call mpi_comm_size(mpi_comm_world, ranks, error)
  call get_environment_variable('LOG_DIR', directory)
  kind = 0
  do
    mine = 0
    if (rank == 0) then
      mine = 1
      do of = 1, size(names)
        inquire (file=trim(directory)//'/'//trim(names(of)), exist=there)
        if (there) mine = of
      end do
      inquire (file=trim(directory)//'/stop', exist=there)
      if (there) mine = size(names) + 1
    end if
    call mpi_allreduce(mine, next, 1, mpi_integer, mpi_max, mpi_comm_world, error)
    if (next > size(names)) exit
    if (next /= kind .and. rank == 0) then
      open (newunit=file, file=trim(directory)//'/running.'//trim(names(next)))
      close (file)
    end if
    kind = next
    do of = 1, 4
      if (kind == 1) call rod()
      if (kind == 2) call matrix_vector()
      if (kind == 3) call monte_carlo()
      if (kind == 4) call parts()
    end do
  end do
  call mpi_finalize(error)
  print '(a,i0,a)', 'rank ', rank, ': done'
end program
