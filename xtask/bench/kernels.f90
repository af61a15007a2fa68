! The kernels in Fortran, see kernels.c: kernels NAME STEPS WORK
!   cg  exchange of a vector with a partner, and sums over all ranks by exchanges of single numbers
!   ft  MPI_Alltoall of complex numbers: the transpose of a Fourier transform
!   ep  computing, and three sums from time to time
program kernels
  use mpi
  implicit none
  integer, parameter :: VECTOR = 1400, BLOCK = 512
  integer :: rank, ranks, error
  integer :: sends = 0, irecvs = 0, waits = 0, allreduces = 0, alltoalls = 0, barriers = 0
  double precision :: made(6), all_made(6)
  character(len=16) :: name, text
  integer :: steps, amount, i
  double precision :: begun, seconds, sum_here, answer, spent, cpu, before, after
  character(len=13), parameter :: names(6) = &
       (/ 'MPI_Send     ', 'MPI_Irecv    ', 'MPI_Wait     ', 'MPI_Allreduce', 'MPI_Alltoall ', 'MPI_Barrier  ' /)

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call get_command_argument(1, name)
  call get_command_argument(2, text)
  read (text, *) steps
  call get_command_argument(3, text)
  read (text, *) amount
  if (iand(ranks, ranks - 1) /= 0) call MPI_Abort(MPI_COMM_WORLD, 2, error)

  call barrier()
  begun = MPI_Wtime()
  call cpu_time(before)
  select case (name)
  case ('cg')
     sum_here = cg()
  case ('ft')
     sum_here = ft()
  case ('ep')
     sum_here = ep()
  case default
     call MPI_Abort(MPI_COMM_WORLD, 2, error)
  end select
  call cpu_time(after)
  spent = after - before
  call barrier()
  seconds = MPI_Wtime() - begun
  call MPI_Reduce(sum_here, answer, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, error)
  call MPI_Reduce(spent, cpu, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, error)
  made = dble((/ sends, irecvs, waits, allreduces, alltoalls, barriers /))
  call MPI_Reduce(made, all_made, 6, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, error)
  if (rank == 0) then
     print '(a, es24.16)', 'answer ', answer
     print '(a, f0.6)', 'seconds ', seconds
     print '(a, f0.6)', 'cpu ', cpu
     do i = 1, 6
        if (all_made(i) /= 0) print '(3a, i0)', 'made ', trim(names(i)), ' ', nint(all_made(i))
     end do
  end if
  call MPI_Finalize(error)

contains

  subroutine barrier()
    barriers = barriers + 1
    call MPI_Barrier(MPI_COMM_WORLD, error)
  end subroutine barrier

  subroutine work()
    integer :: n
    double precision, volatile :: kept
    double precision :: x
    x = rank
    do n = 1, amount
       x = x * 0.999999d0 + 1d-6
    end do
    kept = x
  end subroutine work

  subroutine expect(got, wanted)
    double precision, intent(in) :: got, wanted
    if (got /= wanted) then
       print *, 'rank', rank, 'has', got, 'instead of', wanted
       call MPI_Abort(MPI_COMM_WORLD, 1, error)
    end if
  end subroutine expect

  subroutine swap(out, in, count, partner)
    integer, intent(in) :: count, partner
    ! Targets, so that the compiler knows that they may change until the wait.
    double precision, intent(in), target :: out(count)
    double precision, intent(inout), target :: in(count)
    integer :: request
    call MPI_Irecv(in, count, MPI_DOUBLE_PRECISION, partner, 1, MPI_COMM_WORLD, request, error)
    call MPI_Send(out, count, MPI_DOUBLE_PRECISION, partner, 1, MPI_COMM_WORLD, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    irecvs = irecvs + 1
    sends = sends + 1
    waits = waits + 1
  end subroutine swap

  double precision function cg()
    double precision, target :: vector_out(VECTOR), vector_in(VECTOR), mine(1), other(1)
    integer :: step, distance, number
    cg = 0
    do step = 1, steps
       call work()
       vector_out = rank + step
       call swap(vector_out, vector_in, VECTOR, ieor(rank, ranks - 1))
       call expect(vector_in(VECTOR), dble(ieor(rank, ranks - 1) + step))
       do number = 1, 3
          mine(1) = rank + number
          distance = 1
          do while (distance < ranks)
             call swap(mine, other, 1, ieor(rank, distance))
             mine = mine + other
             distance = distance * 2
          end do
          call expect(mine(1), dble(ranks * number + ranks * (ranks - 1) / 2))
          cg = cg + mine(1)
       end do
    end do
  end function cg

  double precision function ft()
    double complex :: out(BLOCK, 0:ranks - 1), in(BLOCK, 0:ranks - 1)
    integer :: step, other
    ft = 0
    do step = 1, steps
       call work()
       do other = 0, ranks - 1
          out(:, other) = dcmplx(rank + step, other)
       end do
       alltoalls = alltoalls + 1
       call MPI_Alltoall(out, BLOCK, MPI_DOUBLE_COMPLEX, in, BLOCK, MPI_DOUBLE_COMPLEX, MPI_COMM_WORLD, error)
       do other = 0, ranks - 1
          call expect(dble(in(BLOCK, other)), dble(other + step))
          call expect(dimag(in(BLOCK, other)), dble(rank))
       end do
       ft = ft + dble(in(1, ranks - 1))
    end do
  end function ft

  double precision function ep()
    double precision :: mine, all
    integer :: step, number
    ep = 0
    do step = 1, steps
       call work()
       do number = 1, 3
          mine = rank + number
          allreduces = allreduces + 1
          call MPI_Allreduce(mine, all, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
          call expect(all, dble(ranks * number + ranks * (ranks - 1) / 2))
          ep = ep + all
       end do
    end do
  end function ep
end program kernels
