// decisions.h: which joins of the last query were taken, and why the others were not:
// gpujoin_decisions().
#ifndef GPUJOIN_POSTGRESQL_DECISIONS_H
#define GPUJOIN_POSTGRESQL_DECISIONS_H

#include <postgres.h>

#include <nodes/pathnodes.h>

void install_decisions(void);

// Why a join was not taken when it was offered.
void add_reason(PlannerInfo* root, Relids joined, const char* reason);

#endif
