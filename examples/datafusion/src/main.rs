//! Ten minutes with gpujoin in DataFusion: joins of unchanged SQL run on the library.

use std::sync::Arc;

use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::error::Result;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::prelude::SessionContext;
use gpujoin_datafusion::{GpuJoinRule, with_gpujoin};

async fn run(context: &SessionContext, sql: &str) -> Result<String> {
    let rows = context.sql(sql).await?.collect().await?;
    Ok(pretty_format_batches(&rows)?.to_string())
}

#[tokio::main]
async fn main() -> Result<()> {
    // A session with the settings and the rule; the rest of it is DataFusion's.
    let rule = Arc::new(GpuJoinRule::new());
    let builder = SessionStateBuilder::new().with_default_features();
    let context = SessionContext::new_with_state(with_gpujoin(builder, &rule).build());

    run(&context, "CREATE TABLE customers AS VALUES (1, 'Ada'), (2, 'Bob'), (3, 'Cy')").await?;
    run(
        &context,
        "CREATE TABLE orders AS VALUES (10, 1, 9.5), (11, 1, 20.0), (12, 3, 7.25), (13, 9, 1.0)",
    )
    .await?;
    let sql = "SELECT c.column2 AS name, o.column3 AS paid \
               FROM customers c JOIN orders o ON c.column1 = o.column2 ORDER BY name, paid";

    // Joins as small as this one are DataFusion's own.
    run(&context, sql).await?;
    for decision in rule.decisions() {
        println!("taken: {}", decision.taken);
    }

    // Take each that can be.
    run(&context, "SET gpujoin.force = true").await?;
    println!("{}", run(&context, sql).await?);
    for decision in rule.decisions() {
        println!("taken: {}", decision.taken);
    }
    let plan = run(&context, &format!("EXPLAIN {sql}")).await?;
    println!("the plan has a GpuJoinExec: {}", plan.contains("GpuJoinExec"));

    // Outer, semi, anti and mark joins, and conditions beside the keys.
    let sql = "SELECT c.column2 AS name, count(o.column1) AS dear \
               FROM customers c LEFT JOIN orders o \
               ON c.column1 = o.column2 AND o.column3 > 8.0 GROUP BY name ORDER BY name";
    println!("{}", run(&context, sql).await?);
    let sql = "SELECT column1 AS stray FROM orders \
               WHERE column2 NOT IN (SELECT column1 FROM customers)";
    println!("{}", run(&context, sql).await?);

    // What is left to DataFusion says why.
    let sql = "SELECT c.list FROM (SELECT column1, [column2] AS list FROM customers) c \
               JOIN orders o ON c.column1 = o.column2";
    run(&context, sql).await?;
    for decision in rule.decisions() {
        println!("taken: {}, {}", decision.taken, decision.reason);
    }
    Ok(())
}
