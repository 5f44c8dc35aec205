//! What the caller may say about how to join.

use std::time::Duration;

use gpujoin_sys as sys;

use crate::error::{Result, count};
use crate::number::{Device, Side, numbers};

numbers! {
    /// A name for a whole combination of techniques.
    Algorithm {
        /// One hash table, not partitioned; payloads fetched by row number.
        Nop = GPUJOIN_ALGORITHM_NOP,
        /// Stable partitions, payloads transformed with their keys (Wu et al. 4.3).
        PhjOm = GPUJOIN_ALGORITHM_PHJ_OM,
        /// The same with payloads fetched by row number.
        PhjGfur = GPUJOIN_ALGORITHM_PHJ_GFUR,
        /// Radix sort and merge path, payloads transformed (Wu et al. 4.2).
        SmjOm = GPUJOIN_ALGORITHM_SMJ_OM,
        /// The same with payloads fetched by row number.
        SmjUm = GPUJOIN_ALGORITHM_SMJ_UM,
        /// The CPU executor's radix-partitioned hash join.
        CpuRadix = GPUJOIN_ALGORITHM_CPU_RADIX,
        /// Bucket chains, payloads fetched by row number.
        PhjUm = GPUJOIN_ALGORITHM_PHJ_UM,
        /// A multiset of row numbers (Lin & Liao 3.1.2).
        RowMultiset = GPUJOIN_ALGORITHM_ROW_MULTISET,
        /// Unordered partitions of whole rows; the match writes the output.
        PhjCarried = GPUJOIN_ALGORITHM_PHJ_CARRIED,
        /// One hash table; the probe writes the output.
        NopCarried = GPUJOIN_ALGORITHM_NOP_CARRIED,
        /// Dense keys as addresses; the probe writes the output.
        DirectCarried = GPUJOIN_ALGORITHM_DIRECT_CARRIED,
        /// Sides in the order of their keys, merged where they lie; the match writes the output.
        SmjCarried = GPUJOIN_ALGORITHM_SMJ_CARRIED,
        /// Dense keys as addresses within parts; the match writes the output.
        PdjCarried = GPUJOIN_ALGORITHM_PDJ_CARRIED,
    }
}

numbers! {
    /// How columns in host memory reach the device.
    Transfer {
        /// Nothing to transfer.
        None = GPUJOIN_TRANSFER_NONE,
        /// Each column copied before the join begins.
        ExplicitCopies = GPUJOIN_TRANSFER_EXPLICIT_COPIES,
        /// Copies under the transform of what has arrived.
        OverlappedCopies = GPUJOIN_TRANSFER_OVERLAPPED_COPIES,
        /// The build side kept on the device, the probe side in chunks, results to host memory.
        ProbeChunks = GPUJOIN_TRANSFER_PROBE_CHUNKS,
    }
}

numbers! {
    /// Which rows are left out before they are moved.
    Filter {
        /// Those with NULL keys.
        None = GPUJOIN_FILTER_NONE,
        /// And those that cannot match, by a bit for each key of a small range.
        KeyBits = GPUJOIN_FILTER_KEY_BITS,
        /// And most of those that cannot match, by a Bloom filter.
        KeyHashes = GPUJOIN_FILTER_KEY_HASHES,
    }
}

numbers! {
    /// How rows are moved before the match.
    Transform {
        /// Rows stay where they are.
        None = GPUJOIN_TRANSFORM_NONE,
        /// Stable radix partition.
        RadixOnesweep = GPUJOIN_TRANSFORM_RADIX_ONESWEEP,
        /// Full sort of the varying key bits.
        RadixSort = GPUJOIN_TRANSFORM_RADIX_SORT,
        /// Partitions as chains of buckets.
        BucketChains = GPUJOIN_TRANSFORM_BUCKET_CHAINS,
        /// Radix partition of all columns, rows of a partition in any order.
        RadixUnordered = GPUJOIN_TRANSFORM_RADIX_UNORDERED,
        /// To parts of a direct table, in one pass that combines its writes to lines.
        WriteCombined = GPUJOIN_TRANSFORM_WRITE_COMBINED,
    }
}

numbers! {
    /// How rows with equal keys find each other.
    Match {
        /// One hash table in device memory.
        GlobalTable = GPUJOIN_MATCH_GLOBAL_TABLE,
        /// Hash tables in shared memory, a pair of partitions at a time.
        CoPartitions = GPUJOIN_MATCH_CO_PARTITIONS,
        /// Lower bounds by merge path, upper bounds by a local search.
        MergePath = GPUJOIN_MATCH_MERGE_PATH,
        /// A multiset of hash and row number.
        RowMultiset = GPUJOIN_MATCH_ROW_MULTISET,
        /// Unique build keys from a small range are addresses of their rows.
        DirectTable = GPUJOIN_MATCH_DIRECT_TABLE,
        /// Both sides in the order of their keys as they lie.
        MergeTiles = GPUJOIN_MATCH_MERGE_TILES,
    }
}

numbers! {
    /// Where payload values come from.
    Gather {
        /// From the input columns by row number.
        Untransformed = GPUJOIN_GATHER_UNTRANSFORMED,
        /// Transformed with their keys, fetched by position.
        Transformed = GPUJOIN_GATHER_TRANSFORMED,
        /// The match writes the output columns.
        Carried = GPUJOIN_GATHER_CARRIED,
        /// Row numbers are transformed with their keys; payloads are fetched by them.
        CarriedRows = GPUJOIN_GATHER_CARRIED_ROWS,
    }
}

/// What the caller may say about how to join. What is not said the planner chooses; techniques that
/// do not go together are [`Error::IllegalPlan`](crate::Error::IllegalPlan), and the message says
/// why.
///
/// ```
/// use std::time::Duration;
/// use gpujoin::{PlanOptions, Side};
///
/// let options = PlanOptions::default().build_side(Side::Left).timeout(Duration::from_secs(2));
/// # let _ = options;
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct PlanOptions {
    pub(crate) build: Option<Side>,
    device: i32,
    algorithm: i32,
    transfer: i32,
    filter: i32,
    transform: i32,
    matching: i32,
    gather: i32,
    radix_bits: i32,
    probe_chunk_rows: i64,
    timeout: Option<Duration>,
}

impl PlanOptions {
    /// The executor; a CUDA context can also run a plan on the CPU.
    pub fn device(mut self, device: Device) -> Self {
        self.device = device.number();
        self
    }

    /// Transform, match and gather at once.
    pub fn algorithm(mut self, algorithm: Algorithm) -> Self {
        self.algorithm = algorithm.number();
        self
    }

    /// How columns in host memory reach the device.
    pub fn transfer(mut self, transfer: Transfer) -> Self {
        self.transfer = transfer.number();
        self
    }

    /// Which rows are left out before they are moved.
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filter = filter.number();
        self
    }

    /// How rows are moved before the match.
    pub fn transform(mut self, transform: Transform) -> Self {
        self.transform = transform.number();
        self
    }

    /// How rows with equal keys find each other.
    pub fn matching(mut self, matching: Match) -> Self {
        self.matching = matching.number();
        self
    }

    /// Where payload values come from.
    pub fn gather(mut self, gather: Gather) -> Self {
        self.gather = gather.number();
        self
    }

    /// The side that is hashed or sorted into; without it the smaller. Of operations it says which
    /// side the build is; without it the right one.
    pub fn build_side(mut self, side: Side) -> Self {
        self.build = Some(side);
        self
    }

    /// 2^bits partitions, 1 to 16 (on the CPU to 14).
    pub fn radix_bits(mut self, bits: i32) -> Self {
        self.radix_bits = bits;
        self
    }

    /// Rows of a chunk of [`Transfer::ProbeChunks`].
    pub fn probe_chunk_rows(mut self, rows: i64) -> Self {
        self.probe_chunk_rows = rows;
        self
    }

    /// How long a call that plans or executes may take before it answers
    /// [`Error::Deadline`](crate::Error::Deadline): rounded up to a millisecond, at least one.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    pub(crate) fn raw(&self) -> Result<sys::gpujoin_plan_options> {
        Ok(sys::gpujoin_plan_options {
            device: self.device,
            algorithm: self.algorithm,
            transform: self.transform,
            r#match: self.matching,
            gather: self.gather,
            build_side: self.build.map_or(0, Side::number),
            radix_bits: self.radix_bits,
            transfer: self.transfer,
            filter: self.filter,
            probe_chunk_rows: self.probe_chunk_rows,
            timeout_milliseconds: milliseconds(self.timeout)?,
            ..sys::gpujoin_plan_options::INIT
        })
    }
}

/// 0 of none; a timeout of less than a millisecond is one, as 0 says that there is no end.
pub(crate) fn milliseconds(timeout: Option<Duration>) -> Result<i64> {
    let Some(timeout) = timeout else { return Ok(0) };
    let rounded_up = timeout.as_nanos().div_ceil(1_000_000).max(1);
    count("timeout", u64::try_from(rounded_up).unwrap_or(u64::MAX))
}
