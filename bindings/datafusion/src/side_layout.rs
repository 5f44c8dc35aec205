//! What of one side's rows is handed over.

use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::common::Result;
use datafusion::physical_expr::PhysicalExprRef;
use gpujoin::{Context, ExpectedColumn, ExpectedSide, Relation};

use crate::column_types::{column_type, is_comparable, value_bytes};
use crate::declined::Declined;
use crate::errors::failed;

/// What of one side's rows is handed over: columns that DataFusion computes of its batches.
#[derive(Clone, Debug)]
pub struct SideLayout {
    input: SchemaRef,
    expressions: Vec<PhysicalExprRef>,
    fields: Vec<Field>,
    /// Positions of the keys.
    pub keys: Vec<usize>,
    /// Positions of the columns that come out.
    pub outputs: Vec<usize>,
}

impl SideLayout {
    pub fn new(input: SchemaRef) -> Self {
        let (expressions, fields, keys, outputs) = Default::default();
        Self { input, expressions, fields, keys, outputs }
    }

    /// The position of a column, which there is from now on.
    pub fn column(&mut self, expression: &PhysicalExprRef) -> Result<usize, Declined> {
        if let Some(found) = self.expressions.iter().position(|other| other == expression) {
            return Ok(found);
        }
        let data_type = expression.data_type(&self.input).map_err(|error| error.to_string())?;
        if column_type(&data_type).is_none() {
            return Err(format!("column {expression} is of type {data_type}").into());
        }
        self.fields.push(Field::new(self.fields.len().to_string(), data_type, true));
        self.expressions.push(Arc::clone(expression));
        Ok(self.fields.len() - 1)
    }

    pub fn input_name(&self, column: usize) -> &str {
        self.input.field(column).name()
    }

    pub fn add_key(&mut self, expression: &PhysicalExprRef) -> Result<(), Declined> {
        let key = self.compared_column(expression)?;
        self.keys.push(key);
        Ok(())
    }

    /// The same of a column whose values are compared.
    pub fn compared_column(&mut self, expression: &PhysicalExprRef) -> Result<usize, Declined> {
        let position = self.column(expression)?;
        let data_type = self.fields[position].data_type();
        if is_comparable(data_type) {
            Ok(position)
        } else {
            Err(format!("values of type {data_type} are compared").into())
        }
    }

    /// The position among the output columns of a column that comes out.
    pub fn output(&mut self, expression: &PhysicalExprRef) -> Result<usize, Declined> {
        let column = self.column(expression)?;
        if let Some(found) = self.outputs.iter().position(|&other| other == column) {
            return Ok(found);
        }
        self.outputs.push(column);
        Ok(self.outputs.len() - 1)
    }

    fn schema(&self) -> SchemaRef {
        Arc::new(Schema::new(self.fields.clone()))
    }

    /// A batch as the library takes it.
    pub fn relation(&self, context: &Context, batch: &RecordBatch) -> Result<Relation> {
        let rows = batch.num_rows();
        let columns: Result<Vec<_>> = self
            .expressions
            .iter()
            .map(|expression| expression.evaluate(batch)?.into_array(rows))
            .collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(self.schema(), columns?, &options)?;
        Relation::from_batch(context, &batch).map_err(failed)
    }

    /// A relation that has the columns, and no rows.
    pub fn like(&self, context: &Context) -> Result<Relation> {
        Relation::from_batch(context, &RecordBatch::new_empty(self.schema())).map_err(failed)
    }

    pub fn expected(&self, rows: u64) -> ExpectedSide {
        let columns = self.fields.iter().filter_map(|field| column_type(field.data_type()));
        ExpectedSide::new(rows, columns.map(ExpectedColumn::new))
            .keys(self.keys.iter().copied())
            .output(self.outputs.iter().copied())
    }

    /// Bytes of a row, about.
    pub fn row_bytes(&self) -> f64 {
        self.fields.iter().map(|field| value_bytes(field.data_type())).sum()
    }
}
