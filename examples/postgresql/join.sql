-- Ten minutes with gpujoin in PostgreSQL: the README beside it says what happens here, and what it
-- prints.
\set ON_ERROR_STOP on
\pset footer off
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS gpujoin;
LOAD 'gpujoin';

\echo == tables
CREATE TEMP TABLE customers AS
SELECT i AS id, 'customer ' || i AS name, i % 50 AS credit FROM generate_series(1, 20000) AS i;
CREATE TEMP TABLE orders AS
SELECT i AS id, i % 25000 + 1 AS customer, i % 90 AS price FROM generate_series(1, 100000) AS i;
ANALYZE customers, orders;

\echo == a join, taken whatever it costs
SET gpujoin.force = on;
SELECT count(*), sum(price) FROM customers JOIN orders ON customer = customers.id;
SELECT taken, join_type, relations FROM gpujoin_decisions();

\echo == how
EXPLAIN (COSTS OFF)
SELECT name, price FROM customers JOIN orders ON customer = customers.id AND price > credit;

\echo == other kinds
SELECT count(*) AS without_orders FROM customers
WHERE NOT EXISTS (SELECT FROM orders WHERE customer = customers.id AND price > 60);
SELECT count(*) AS orders, count(name) AS of_known_customers
FROM orders LEFT JOIN customers ON customer = customers.id AND name LIKE '%7';

\echo == within 1 MB, by files
SET gpujoin.memory_limit = '1MB';
SELECT count(*), sum(price) FROM customers JOIN orders ON customer = customers.id;

\echo == what is left to PostgreSQL, and why
SELECT count(*) FROM customers c JOIN orders o ON o.price > c.credit WHERE c.id < 9 AND o.id < 90;
SELECT taken, reason FROM gpujoin_decisions();

\echo == only what pays
RESET gpujoin.force;
RESET gpujoin.memory_limit;
SELECT count(*) FROM customers c JOIN orders o ON o.customer = c.id WHERE c.id < 100 AND o.id < 900;
SELECT taken, reason FROM gpujoin_decisions();
