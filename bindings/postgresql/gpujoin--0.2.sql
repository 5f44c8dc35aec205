\echo Use "CREATE EXTENSION gpujoin" to load this file. \quit

-- The joins of the session's last planned query: taken, or left to PostgreSQL, and why.
CREATE FUNCTION gpujoin_decisions(
  OUT taken boolean, OUT join_type text, OUT relations text, OUT reason text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'gpujoin_decisions' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

-- The library that is loaded, and what this session joins on, and why there.
CREATE FUNCTION gpujoin_version() RETURNS text
AS 'MODULE_PATHNAME', 'gpujoin_version' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;

CREATE FUNCTION gpujoin_device(
  OUT device text, OUT name text, OUT reason text,
  OUT memory_limit bigint, OUT memory_used bigint, OUT memory_peak bigint, OUT spill_peak bigint)
RETURNS record
AS 'MODULE_PATHNAME', 'gpujoin_device_info' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
