-- Single joins of TPC-H, each under sums over all that it puts out: LineitemSupplierSimple and
-- LineitemOrdersSimple as Lin & Liao 2025, section 5.1, have them, and J1 to J3 as Wu, Koutsoukos,
-- Alonso 2024, table 6, take them out of queries 7, 18 and 19.

-- LineitemSupplier
SELECT count(*), sum(s_suppkey), sum(l_orderkey) FROM lineitem, supplier
WHERE l_suppkey = s_suppkey AND s_nationkey = 1;

-- LineitemOrders
SELECT count(*), sum(l_orderkey) FROM lineitem, orders WHERE l_orderkey = o_orderkey;

-- J1
SELECT count(*), sum(o_custkey), sum(l_suppkey), sum(l_extendedprice), sum(l_discount),
       max(l_shipdate)
FROM orders, lineitem
WHERE o_orderkey = l_orderkey AND l_shipdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31';

-- J2
SELECT count(*), sum(o_custkey), max(o_orderdate), sum(o_totalprice), sum(l_quantity)
FROM orders, lineitem WHERE o_orderkey = l_orderkey;

-- J3
SELECT count(*), max(p_brand), sum(p_size), max(p_container), sum(l_quantity),
       sum(l_extendedprice), sum(l_discount)
FROM part, lineitem
WHERE p_partkey = l_partkey AND l_shipmode IN ('AIR', 'AIR REG')
  AND l_shipinstruct = 'DELIVER IN PERSON';
