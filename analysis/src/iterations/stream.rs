//! What a thread has called so far, and what it called between two points of that.

/// What a call at one site adds to the contents.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    /// Looks random: sums of some differ where these are not the same.
    number: u64,
    /// Sites have one of 64 bits each: of few sites two have the same.
    bit: u8,
}

impl Mark {
    /// Of the call site with this number.
    pub fn of(number: u32) -> Mark {
        // SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
        let mut z = (u64::from(number) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Mark {
            number: z ^ (z >> 31),
            bit: (number % BITS as u32) as u8,
        }
    }
}

const BITS: usize = 64;

/// What a thread has called so far.
#[derive(Clone, Debug)]
pub struct Stream {
    /// The sum of all calls' marks.
    sum: u64,
    /// How many calls these are.
    calls: u32,
    /// Time in them, in ticks.
    in_mpi: u64,
    /// How often its records were interrupted.
    interrupted: u32,
    /// By bit: the number of the last call with it.
    last: [u32; BITS],
}

/// Where a call stands in its thread's stream.
#[derive(Clone, Copy, Debug)]
pub struct Here {
    /// When it began, in ticks.
    pub at: u64,
    sum: u64,
    in_mpi: u64,
    calls: u32,
    interrupted: u32,
}

impl Default for Stream {
    fn default() -> Stream {
        Stream {
            sum: 0,
            calls: 0,
            in_mpi: 0,
            interrupted: 0,
            last: [0; BITS],
        }
    }
}

impl Stream {
    /// A call begins here.
    #[inline(always)]
    pub fn here(&self, at: u64) -> Here {
        Here {
            at,
            sum: self.sum,
            in_mpi: self.in_mpi,
            calls: self.calls,
            interrupted: self.interrupted,
        }
    }

    /// It was this one.
    #[inline(always)]
    pub fn call(&mut self, mark: &Mark) {
        self.calls = self.calls.wrapping_add(1);
        self.sum = self.sum.wrapping_add(mark.number);
        self.last[usize::from(mark.bit)] = self.calls;
    }

    /// And it took so many ticks, pauses subtracted.
    #[inline(always)]
    pub fn end_call(&mut self, ticks: u64) {
        self.in_mpi = self.in_mpi.wrapping_add(ticks);
    }

    /// Records are missing: no iteration goes on.
    pub fn interrupt(&mut self) {
        self.interrupted = self.interrupted.wrapping_add(1);
    }

    /// The bits of all calls from `since` to now, that one included.
    pub fn sites(&self, since: &Here) -> u64 {
        let calls = self.calls.wrapping_sub(since.calls);
        let mut bits = 0;
        for (bit, last) in self.last.iter().enumerate() {
            let ago = self.calls.wrapping_sub(*last);
            bits |= u64::from(ago < calls) << bit;
        }
        bits
    }
}

impl Here {
    /// Whether all records are known between a call and this one.
    #[inline(always)]
    pub fn follows(&self, since: &Here) -> bool {
        self.interrupted == since.interrupted
    }

    /// Time in MPI since then, in ticks.
    #[inline(always)]
    pub fn in_mpi(&self, since: &Here) -> u64 {
        self.in_mpi.wrapping_sub(since.in_mpi)
    }

    /// The sum of the calls since then: equal sums are equal calls.
    #[inline(always)]
    pub fn sum(&self, since: &Here) -> u64 {
        self.sum.wrapping_sub(since.sum)
    }
}
