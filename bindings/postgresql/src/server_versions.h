// server_versions.h: what servers from 13 to 18 have under different names, or only some of them.
#ifndef GPUJOIN_POSTGRESQL_SERVER_VERSIONS_H
#define GPUJOIN_POSTGRESQL_SERVER_VERSIONS_H

#include <postgres.h>

#include <access/htup_details.h>
#include <nodes/nodes.h>

#if PG_VERSION_NUM < 130000 || PG_VERSION_NUM >= 190000
#error "gpujoin is for PostgreSQL 13 to 18"
#endif

#if PG_VERSION_NUM < 140000
// No column is of it.
#define ROWID_VAR 0
#endif

#if PG_VERSION_NUM < 150000
// Expected of every custom scan.
#define CUSTOMPATH_SUPPORT_PROJECTION 0
#define MarkGUCPrefixReserved(prefix) EmitWarningsOnPlaceholders(prefix)
#endif

// Kinds of joins that an older planner never asks for. No values of its enum: switch over int.
#if PG_VERSION_NUM < 160000
#define JOIN_RIGHT_ANTI ((JoinType)16)
#endif
#if PG_VERSION_NUM < 180000
#define JOIN_RIGHT_SEMI ((JoinType)18)

#define heap_form_minimal_tuple(types, values, nulls, extra) \
  (heap_form_minimal_tuple)(types, values, nulls)
#endif

#endif
