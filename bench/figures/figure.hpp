// figure.hpp: a paper's figure as a table of series and points
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/cells.hpp"
#include "bench/plans.hpp"
#include "bench/query.hpp"
#include "bench/session.hpp"

namespace gpujoin::bench {

// One line or group of bars: a plan under the name that the paper gives it.
struct Series {
  std::string name;
  gpujoin_plan_options plan = GPUJOIN_PLAN_OPTIONS_INIT;
  bool is_pool_emptied = false;  // before every call
  int64_t most_rows = 0;         // points with more rows of S are left out; 0 = none
};

struct Point {
  std::string name;  // of the place on the x axis
  double x = 0;
  Cell cell;
  int joins = 0;  // not 0: a sequence of so many, S the fact table, R each of the dimensions
};

// Every series at every point.
struct Panel {
  std::string name;
  std::vector<Series> series;
  std::vector<Point> points;
};

struct Figure {
  std::string name;               // "wu/fig8"
  std::vector<std::string> also;  // figures and tables that show other numbers of the same runs
  std::vector<Panel> panels;
};

// Throws std::invalid_argument for a text that names no plan.
Series series(std::string name, const std::string& plan);
Series with_pool_emptied(Series series);
Series up_to(int64_t rows, Series series);

// Throws std::invalid_argument for a text that describes no cell.
Point point(std::string name, double x, const std::string& cell);

std::vector<Figure> wu_figures();
std::vector<Figure> paul_figures();
std::vector<Figure> rui_figures();
std::vector<Figure> lin_figures();

}  // namespace gpujoin::bench
