//! One partition of a join: rows of the right side go into a probe, results come out.

use std::collections::VecDeque;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use datafusion::arrow::compute::{cast, filter_record_batch};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::cast::as_boolean_array;
use datafusion::common::{DataFusionError, JoinType, Result, internal_err};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::metrics::RecordOutput;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::future::{BoxFuture, Shared};
use futures::{StreamExt, TryStreamExt, stream};
use gpujoin::{Appended, Context, JoinResult, Next, Probe, Relation};

use crate::build_side::{Attached, BuildSide, off_thread};
use crate::errors::failed;
use crate::join_layout::{JoinLayout, KeptFilter, Output};
use crate::join_metrics::{JoinMetrics, Ran};

/// The left side, when it has been read; of all partitions that wait for it.
pub type Building = Shared<BoxFuture<'static, Result<Arc<BuildSide>, Arc<DataFusionError>>>>;

/// What a partition joins.
pub struct JoinStream {
    pub layout: Arc<JoinLayout>,
    pub join_type: JoinType,
    pub context: Context,
    pub building: Building,
    pub right: SendableRecordBatchStream,
    pub metrics: JoinMetrics,
    pub ran: Arc<Ran>,
    pub batch_size: usize,
    /// Rows that may still come out.
    pub fetch: Option<usize>,
}

impl JoinStream {
    pub fn start(self) -> SendableRecordBatchStream {
        let schema = Arc::clone(&self.layout.schema);
        let joining =
            Joining { stream: self, phase: Phase::Build, waiting: None, ready: VecDeque::new() };
        let batches = stream::try_unfold(joining, |mut joining| async move {
            let batch = joining.next().await?;
            Ok::<_, DataFusionError>(batch.map(|batch| (batch, joining)))
        });
        Box::pin(RecordBatchStreamAdapter::new(schema, batches.into_stream()))
    }
}

struct Joining {
    stream: JoinStream,
    phase: Phase,
    /// Rows that the probe did not take yet.
    waiting: Option<Relation>,
    /// Batches that came out.
    ready: VecDeque<RecordBatch>,
}

enum Phase {
    /// Waits for the left side.
    Build,
    /// Rows of the right side go in.
    Rows(Attached, Arc<Probe>),
    /// All have; results are taken until there are none.
    Results(Attached, Arc<Probe>),
    /// All partitions have ended: what comes out then.
    Rest(Attached),
    End,
}

impl Joining {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Ok(Some(batch.record_output(&self.stream.metrics.baseline)));
            }
            if self.stream.fetch == Some(0) {
                self.phase = Phase::End;
            }
            match self.next_result().await? {
                Some(result) => self.put_out(&result)?,
                None => {
                    self.stream.metrics.baseline.done();
                    return Ok(None);
                }
            }
        }
    }

    async fn next_result(&mut self) -> Result<Option<JoinResult>> {
        loop {
            self.phase = match std::mem::replace(&mut self.phase, Phase::End) {
                Phase::Build => self.begin().await?,
                Phase::Rows(attached, probe) => {
                    let Some(rows) = self.next_rows().await? else {
                        probe.finish().map_err(failed)?;
                        self.phase = Phase::Results(attached, probe);
                        continue;
                    };
                    let mut result = None;
                    if probe.append(&rows).map_err(failed)? == Appended::Full {
                        self.waiting = Some(rows);
                        result = self.next_of(&probe).await?;
                    }
                    if result.is_some() {
                        self.phase = Phase::Rows(attached, probe);
                        return Ok(result);
                    }
                    Phase::Rows(attached, probe)
                }
                Phase::Results(attached, probe) => {
                    if let Some(result) = self.next_of(&probe).await? {
                        self.phase = Phase::Results(attached, probe);
                        return Ok(Some(result));
                    }
                    drop(probe);
                    self.end(attached)?
                }
                Phase::Rest(attached) => {
                    let Some(result) = self.next_of_rest(&attached).await? else { continue };
                    self.phase = Phase::Rest(attached);
                    return Ok(Some(result));
                }
                Phase::End => return Ok(None),
            }
        }
    }

    async fn begin(&mut self) -> Result<Phase> {
        let side = self.stream.building.clone().await.map_err(DataFusionError::Shared)?;
        if side.rows == 0 && self.stream.join_type.empty_build_side_produces_empty_result() {
            return Ok(Phase::End);
        }
        let attached = side.attach()?;
        let probe = Arc::new(attached.operation().probe().map_err(failed)?);
        Ok(Phase::Rows(attached, probe))
    }

    async fn next_rows(&mut self) -> Result<Option<Relation>> {
        if let Some(rows) = self.waiting.take() {
            return Ok(Some(rows));
        }
        let Some(batch) = self.stream.right.next().await.transpose()? else { return Ok(None) };
        self.stream.metrics.input_rows.add(batch.num_rows());
        self.stream.layout.right.relation(&self.stream.context, &batch).map(Some)
    }

    async fn next_of(&mut self, probe: &Arc<Probe>) -> Result<Option<JoinResult>> {
        let timer = self.stream.metrics.join_time.timer();
        let probe = Arc::clone(probe);
        let next = off_thread(move || probe.next_result()).await?;
        timer.done();
        Ok(if let Next::Ready(result) = next { Some(result) } else { None })
    }

    fn end(&mut self, attached: Attached) -> Result<Phase> {
        let spilled = attached.operation().progress().map_err(failed)?.spilled_bytes;
        if !attached.end() {
            return Ok(Phase::End);
        }
        self.stream.metrics.spilled_bytes.add(spilled as usize);
        attached.operation().close().map_err(failed)?;
        Ok(Phase::Rest(attached))
    }

    async fn next_of_rest(&mut self, attached: &Attached) -> Result<Option<JoinResult>> {
        let timer = self.stream.metrics.join_time.timer();
        let operation = attached.operation().clone();
        let next = off_thread(move || operation.next_result()).await?;
        timer.done();
        match next {
            Next::Ready(result) => Ok(Some(result)),
            Next::Finished => Ok(None),
            Next::NotReady => internal_err!("gpujoin: a probe of an operation has not ended"),
        }
    }

    fn put_out(&mut self, result: &JoinResult) -> Result<()> {
        self.stream.ran.by_library(result)?;
        if result.rows() == 0 {
            return Ok(());
        }
        let layout = &self.stream.layout;
        let rows: RecordBatch = result.to_batch().map_err(failed)?;
        let mut batch = shown(layout, &rows, &layout.output, &layout.schema)?;
        if let Some(filter) = &layout.kept_filter {
            batch = filter_record_batch(&batch, &passing(layout, &rows, filter)?)?;
        }
        if let Some(left) = &mut self.stream.fetch {
            batch = batch.slice(0, batch.num_rows().min(*left));
            *left -= batch.num_rows();
        }
        let most = self.stream.batch_size.max(1);
        for first in (0..batch.num_rows()).step_by(most) {
            self.ready.push_back(batch.slice(first, most.min(batch.num_rows() - first)));
        }
        Ok(())
    }
}

/// Columns of a result, as a plan's schema has them.
fn shown(
    layout: &JoinLayout,
    rows: &RecordBatch,
    columns: &[Output],
    schema: &SchemaRef,
) -> Result<RecordBatch> {
    let columns: Result<Vec<ArrayRef>> = columns
        .iter()
        .zip(schema.fields())
        .map(|(&column, field)| {
            let array = rows.column(layout.position(column));
            if column == Output::Mark {
                return Ok(Arc::new(is_true(as_boolean_array(array)?)) as ArrayRef);
            }
            if array.data_type() == field.data_type() {
                return Ok(Arc::clone(array));
            }
            Ok(cast(array, field.data_type())?)
        })
        .collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns?, &options)?)
}

/// The library's marks are SQL's of IN, where NULL is unknown; DataFusion's are of EXISTS.
fn is_true(marks: &BooleanArray) -> BooleanArray {
    match marks.nulls() {
        Some(valid) => BooleanArray::new(marks.values() & valid.inner(), None),
        None => marks.clone(),
    }
}

/// Which rows fulfil what DataFusion asks of them.
fn passing(layout: &JoinLayout, rows: &RecordBatch, filter: &KeptFilter) -> Result<BooleanArray> {
    let batch = shown(layout, rows, &filter.columns, &filter.schema)?;
    let answers = filter.expression.evaluate(&batch)?.into_array(batch.num_rows())?;
    Ok(is_true(as_boolean_array(&answers)?))
}
