// join_layout.h: which columns of both sides go to the library, and where what comes out goes.
#ifndef GPUJOIN_POSTGRESQL_JOIN_LAYOUT_H
#define GPUJOIN_POSTGRESQL_JOIN_LAYOUT_H

#include "bindings/postgresql/src/join_scan.h"

// Of a scan whose kind, sides and decision are known.
void describe_columns(JoinScan* scan);

#endif
