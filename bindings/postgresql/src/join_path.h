// join_path.h: joins that are offered to the planner.
#ifndef GPUJOIN_POSTGRESQL_JOIN_PATH_H
#define GPUJOIN_POSTGRESQL_JOIN_PATH_H

#include <postgres.h>

#include <nodes/pathnodes.h>

void install_join_paths(void);

bool is_join_path(const Path* path);
JoinType type_of_join_path(const Path* path);
const char* taken_reason(const Path* path);
const char* join_type_name(JoinType type);

#endif
