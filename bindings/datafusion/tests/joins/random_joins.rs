//! Random joins, with the rule and without: kinds, keys, NULLs, conditions, projections.
//!
//! GPUJOIN_SEED repeats one, GPUJOIN_JOINS says how many there are.

use std::sync::Arc;

use crate::sessions::{Random, config, rows_of, runtime, session, sorted_rows_of};
use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::common::{JoinSide, JoinType, NullEquality, ScalarValue};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{Column, binary, col, is_null, lit, not};
use datafusion::physical_expr::{Partitioning, PhysicalExprRef};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::reset_plan_states;
use datafusion::physical_plan::joins::utils::{ColumnIndex, JoinFilter};
use datafusion::physical_plan::joins::{HashJoinExec, PartitionMode};
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, collect, displayable};
use datafusion::prelude::SessionContext;
use gpujoin_datafusion::{GpuJoinExec, GpuJoinOptions, GpuJoinRule};

const KINDS: [JoinType; 10] = [
    JoinType::Inner,
    JoinType::Left,
    JoinType::Right,
    JoinType::Full,
    JoinType::LeftSemi,
    JoinType::RightSemi,
    JoinType::LeftAnti,
    JoinType::RightAnti,
    JoinType::LeftMark,
    JoinType::RightMark,
];

fn key_types() -> Vec<DataType> {
    vec![
        DataType::Int8,
        DataType::Int32,
        DataType::Int64,
        DataType::UInt16,
        DataType::UInt64,
        DataType::Float64,
        DataType::Boolean,
        DataType::Utf8,
        DataType::LargeUtf8,
        DataType::Utf8View,
        DataType::Binary,
        DataType::Date32,
        DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        DataType::Decimal128(12, 2),
        DataType::Decimal256(50, 3),
        DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
    ]
}

fn random_column(random: &mut Random, rows: usize, data_type: &DataType) -> ArrayRef {
    let range = *random.pick(&[2, 10, 100, 1000]);
    let nulls = *random.pick(&[0, 0, 3, 20]);
    let numbers: Int64Array = (0..rows)
        .map(|_| {
            let value = random.below(range) as i64;
            (nulls == 0 || !random.chance(nulls)).then_some(value.min(120))
        })
        .collect();
    let numbers: ArrayRef = Arc::new(numbers);
    // What numbers do not become at once they do as text.
    cast(&numbers, data_type)
        .or_else(|_| cast(&cast(&numbers, &DataType::Utf8)?, data_type))
        .unwrap()
}

fn random_table(
    random: &mut Random,
    types: &[DataType],
    partitions: usize,
) -> (SchemaRef, Vec<Vec<RecordBatch>>) {
    let fields: Vec<_> = types
        .iter()
        .enumerate()
        .map(|(number, data_type)| Field::new(format!("c{number}"), data_type.clone(), true))
        .collect();
    let schema = Arc::new(Schema::new(fields));
    let most = *random.pick(&[0, 5, 60, 400]);
    let batches = (0..partitions)
        .map(|_| {
            (0..random.below(3))
                .map(|_| {
                    let rows = random.below(most + 1);
                    let columns = types.iter().map(|t| random_column(random, rows, t)).collect();
                    RecordBatch::try_new(Arc::clone(&schema), columns).unwrap()
                })
                .collect()
        })
        .collect();
    (schema, batches)
}

fn scan(schema: &SchemaRef, batches: &[Vec<RecordBatch>]) -> Arc<dyn ExecutionPlan> {
    MemorySourceConfig::try_new_exec(batches, Arc::clone(schema), None).unwrap()
}

fn hashed(plan: Arc<dyn ExecutionPlan>, keys: Vec<PhysicalExprRef>) -> Arc<dyn ExecutionPlan> {
    Arc::new(RepartitionExec::try_new(plan, Partitioning::Hash(keys, 3)).unwrap())
}

/// A condition of the columns that both sides have behind their keys: `n` of int64, `t` of text.
/// Of marks it is one that the library has.
fn random_filter(
    random: &mut Random,
    kind: JoinType,
    left: &SchemaRef,
    right: &SchemaRef,
) -> JoinFilter {
    let sides = [(JoinSide::Left, left), (JoinSide::Right, right)];
    let mut fields = Vec::new();
    let mut indices = Vec::new();
    for (side, schema) in sides {
        let columns = schema.fields().len();
        for index in [columns - 2, columns - 1] {
            fields.push(schema.field(index).clone());
            indices.push(ColumnIndex { index, side });
        }
    }
    let schema = Arc::new(Schema::new(
        fields
            .iter()
            .enumerate()
            .map(|(i, f)| f.clone().with_name(format!("f{i}")))
            .collect::<Vec<_>>(),
    ));
    let mut expression = random_condition(random, &schema, 2);
    if !matches!(kind, JoinType::LeftMark | JoinType::RightMark) && random.chance(3) {
        let column = |name: &str| col(name, &schema).unwrap();
        let sum = binary(column("f0"), Operator::Plus, column("f2"), &schema).unwrap();
        let of_both = binary(sum, Operator::Gt, lit(ScalarValue::Int64(Some(60))), &schema);
        let operator = *random.pick(&[Operator::And, Operator::Or]);
        expression = binary(expression, operator, of_both.unwrap(), &schema).unwrap();
    }
    JoinFilter::new(expression, indices, schema)
}

fn random_condition(random: &mut Random, schema: &SchemaRef, depth: usize) -> PhysicalExprRef {
    let column = |number: usize| col(&format!("f{number}"), schema).unwrap();
    if depth > 0 && !random.chance(3) {
        let first = random_condition(random, schema, depth - 1);
        return match random.below(4) {
            0 => not(first).unwrap(),
            1 => binary(first, Operator::And, random_condition(random, schema, depth - 1), schema)
                .unwrap(),
            2 => binary(first, Operator::Or, random_condition(random, schema, depth - 1), schema)
                .unwrap(),
            _ => first,
        };
    }
    let comparison = *random.pick(&[
        Operator::Eq,
        Operator::NotEq,
        Operator::Lt,
        Operator::GtEq,
        Operator::IsDistinctFrom,
    ]);
    match random.below(6) {
        0 => is_null(column(random.below(4))).unwrap(),
        1 => binary(column(0), comparison, lit(ScalarValue::Int64(Some(50))), schema).unwrap(),
        2 => binary(column(1), comparison, column(3), schema).unwrap(),
        3 => {
            let plus = binary(column(2), Operator::Plus, lit(ScalarValue::Int64(Some(3))), schema);
            binary(column(0), comparison, plus.unwrap(), schema).unwrap()
        }
        _ => binary(column(0), comparison, column(2), schema).unwrap(),
    }
}

fn random_join(random: &mut Random) -> HashJoinExec {
    let keys = 1 + random.below(2);
    let types: Vec<_> = (0..keys).map(|_| random.pick(&key_types()).clone()).collect();
    let mut columns = types;
    columns.push(random.pick(&key_types()).clone());
    columns.extend([DataType::Int64, DataType::Utf8View]);
    let is_partitioned = random.chance(2);
    let (left_schema, left) = random_table(random, &columns, if is_partitioned { 2 } else { 1 });
    let partitions = 1 + random.below(3);
    let (right_schema, right) = random_table(random, &columns, partitions);
    let key =
        |number: usize| -> PhysicalExprRef { Arc::new(Column::new(&format!("c{number}"), number)) };
    let key_list: Vec<PhysicalExprRef> = (0..keys).map(key).collect();
    let (mut left_plan, mut right_plan) = (scan(&left_schema, &left), scan(&right_schema, &right));
    if is_partitioned {
        left_plan = hashed(left_plan, key_list.clone());
        right_plan = hashed(right_plan, key_list.clone());
    }
    let kind = *random.pick(&KINDS);
    let null_aware = kind == JoinType::LeftAnti && keys == 1 && !is_partitioned && random.chance(2);
    let filter = (!null_aware && random.chance(2))
        .then(|| random_filter(random, kind, &left_schema, &right_schema));
    let null_equality = if !null_aware && random.chance(3) {
        NullEquality::NullEqualsNull
    } else {
        NullEquality::NullEqualsNothing
    };
    let mode = if is_partitioned { PartitionMode::Partitioned } else { PartitionMode::CollectLeft };
    let on = key_list.iter().map(|key| (Arc::clone(key), Arc::clone(key))).collect();
    let join = HashJoinExec::try_new(
        left_plan,
        right_plan,
        on,
        filter,
        &kind,
        None,
        mode,
        null_equality,
        null_aware,
    )
    .unwrap();
    let columns = join.schema().fields().len();
    match random.below(4) {
        0 => join,
        1 => join.with_projection(Some(Vec::new())).unwrap(),
        _ => {
            let shown = (0..1 + random.below(columns)).map(|_| random.below(columns)).collect();
            join.with_projection(Some(shown)).unwrap()
        }
    }
}

async fn check(context: &SessionContext, rule: &GpuJoinRule, seed: u64) {
    let mut random = Random(seed);
    let join = random_join(&mut random);
    let join: Arc<dyn ExecutionPlan> = Arc::new(join);
    let task = context.task_ctx();
    let mut options = context.copied_config().options().as_ref().clone();
    options.extensions.get_mut::<GpuJoinOptions>().unwrap().force = true;
    let ours = rule.optimize(Arc::clone(&join), &options).unwrap();
    assert!(ours.is::<GpuJoinExec>(), "seed {seed}: {:?}", rule.decisions());
    let shown = displayable(ours.as_ref()).one_line().to_string();
    let expected = collect(reset_plan_states(join).unwrap(), Arc::clone(&task)).await.unwrap();
    let found =
        match collect(reset_plan_states(Arc::clone(&ours)).unwrap(), Arc::clone(&task)).await {
            Ok(found) => found,
            Err(error) => panic!("seed {seed}: {error}\n{shown}"),
        };
    let (expected, found_rows) = (sorted_rows_of(&expected), sorted_rows_of(&found));
    assert!(
        expected == found_rows,
        "seed {seed}: {shown}\n{} rows, not {}: {:?}",
        found_rows.len(),
        expected.len(),
        expected.iter().zip(&found_rows).find(|(a, b)| a != b)
    );

    // Of the same join with a limit so many of its rows come out in each partition.
    if let Some(limited) = reset_plan_states(ours).unwrap().with_fetch(Some(3)) {
        let most = 3 * limited.output_partitioning().partition_count();
        let some = rows_of(&collect(limited, task).await.unwrap());
        assert!(some.len() <= most && some.len() >= found_rows.len().min(3), "seed {seed}");
        assert!(some.iter().all(|row| found_rows.binary_search(row).is_ok()), "seed {seed}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_joins_are_those_of_datafusion() {
    let (context, rule) = session(config(), runtime());
    if let Ok(seed) = std::env::var("GPUJOIN_SEED") {
        return check(&context, &rule, seed.parse().unwrap()).await;
    }
    let joins: u64 = std::env::var("GPUJOIN_JOINS").map_or(200, |text| text.parse().unwrap());
    for seed in 0..joins {
        check(&context, &rule, seed).await;
    }
    println!("{joins} joins, seeds 0 to {}", joins - 1);
}
