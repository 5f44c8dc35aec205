//! The left side of a join: a build of the library.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use datafusion::common::runtime::SpawnedTask;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::memory_pool::MemoryReservation;
use futures::StreamExt;
use gpujoin::{Build, BuildInfo, Operation, OperationOptions, PlanOptions, Side};

use crate::errors::failed;
use crate::join_layout::JoinLayout;
use crate::join_metrics::JoinMetrics;
use crate::key_ranges::KeyRanges;
use crate::library::Place;

/// A finished build, and who joins it.
pub struct BuildSide {
    build: CancelledBuild,
    place: Place,
    layout: Arc<JoinLayout>,
    pub rows: u64,
    /// The operation of all partitions; without it each has its own.
    shared: Option<Attached>,
    _reservation: MemoryReservation,
}

/// An operation, and how many partitions have not ended that probe it.
#[derive(Clone)]
pub struct Attached {
    operation: Arc<CancelledOperation>,
    probes: Arc<AtomicUsize>,
}

/// Calls that run stop when the last one goes who waits for them.
struct CancelledBuild(Build);
struct CancelledOperation(Operation);

impl Drop for CancelledBuild {
    fn drop(&mut self) {
        let _ = self.0.cancel();
    }
}

impl Drop for CancelledOperation {
    fn drop(&mut self) {
        let _ = self.0.cancel();
    }
}

impl Attached {
    fn new(operation: Operation, probes: usize) -> Self {
        let operation = Arc::new(CancelledOperation(operation));
        Self { operation, probes: Arc::new(AtomicUsize::new(probes)) }
    }

    pub fn operation(&self) -> &Operation {
        &self.operation.0
    }

    /// A partition has ended; whether it is the last one.
    pub fn end(&self) -> bool {
        self.probes.fetch_sub(1, Ordering::AcqRel) == 1
    }
}

/// Runs what may take long off the runtime's threads.
async fn blocking<T: Send + 'static>(call: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    SpawnedTask::spawn_blocking(call)
        .join()
        .await
        .map_err(|error| DataFusionError::External(Box::new(error)))
}

/// The same of a call of the library.
pub async fn off_thread<T: Send + 'static>(
    call: impl FnOnce() -> gpujoin::Result<T> + Send + 'static,
) -> Result<T> {
    blocking(call).await?.map_err(failed)
}

/// How long rows that others are to read may fill DataFusion's memory.
const PATIENCE: Duration = Duration::from_secs(2);

/// Reserves what a build holds. A repartitioning gives its memory back as its rows are read, by
/// other tasks too: a shortage passes while this one reads nothing, or it is a lack of memory.
async fn reserve(build: &Build, reservation: &MemoryReservation) -> Result<BuildInfo> {
    let info = build.info().map_err(failed)?;
    let began = Instant::now();
    while let Err(error) = reservation.try_resize((info.bytes - info.spilled_bytes) as usize) {
        if began.elapsed() > PATIENCE {
            return Err(error);
        }
        // The runtime may have no timer.
        blocking(|| std::thread::sleep(Duration::from_millis(1))).await?;
    }
    Ok(info)
}

impl BuildSide {
    /// Reads the left side, which `probes` partitions of the right one will be joined with.
    pub async fn read(
        mut rows: SendableRecordBatchStream,
        layout: Arc<JoinLayout>,
        place: Place,
        probes: usize,
        ranges: Option<Arc<KeyRanges>>,
        reservation: MemoryReservation,
        metrics: JoinMetrics,
    ) -> Result<Self> {
        let timer = metrics.build_time.timer();
        let like = layout.left.like(&place.context)?;
        let build = CancelledBuild(layout.build().create(&like).map_err(failed)?);
        while let Some(batch) = rows.next().await {
            let batch = layout.left.relation(&place.context, &batch?)?;
            build.0.append(&batch).map_err(failed)?;
            reserve(&build.0, &reservation).await?;
        }
        let finished = build.0.clone();
        off_thread(move || finished.finish()).await?;
        if let Some(ranges) = ranges {
            let finished = build.0.clone();
            blocking(move || ranges.add(&finished)).await??;
        }
        let info = reserve(&build.0, &reservation).await?;
        metrics.add_build(&info);

        let (rows, _reservation) = (info.rows, reservation);
        let mut side = Self { build, place, layout, rows, shared: None, _reservation };
        // Rows of an operation whose build does not fit come when all probes have ended, and then
        // of no partition. Where plans rely on partitions each has an operation of its own.
        if info.is_whole || probes == 1 || side.layout.ends_with_left_rows() {
            side.shared = Some(Attached::new(side.new_operation()?, probes));
        }
        timer.done();
        Ok(side)
    }

    /// The operation that a partition of the right side probes.
    pub fn attach(&self) -> Result<Attached> {
        match &self.shared {
            Some(shared) => Ok(shared.clone()),
            None => Ok(Attached::new(self.new_operation()?, 1)),
        }
    }

    fn new_operation(&self) -> Result<Operation> {
        let context = &self.place.context;
        operation_of(&self.build.0, &self.layout, context)
    }
}

/// One join with a build.
fn operation_of(
    build: &Build,
    layout: &JoinLayout,
    context: &gpujoin::Context,
) -> Result<Operation> {
    let like = layout.right.like(context)?;
    let mut options =
        OperationOptions::default().plan(PlanOptions::default().build_side(Side::Left));
    if let Some(decided) = &layout.decided {
        options = decided.ask(options);
    }
    build.operation(&like, &layout.join(context)?, options).map_err(failed)
}

/// Whether the library does a join, in a context: of no rows.
pub fn try_out(layout: &JoinLayout, context: &gpujoin::Context) -> Result<()> {
    let build = layout.build().create(&layout.left.like(context)?).map_err(failed)?;
    build.finish().map_err(failed)?;
    operation_of(&build, layout, context).map(|_| ())
}
