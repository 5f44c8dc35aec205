// arguments_test.cpp: handles, structs and numbers that no function may accept.
#include <array>
#include <cstring>

#include "tests/abi/fixture.hpp"

using namespace gpujoin_test;

namespace {

constexpr int32_t kInvalid = GPUJOIN_ERROR_INVALID_ARGUMENT;
constexpr int32_t kMismatch = GPUJOIN_ERROR_ABI_MISMATCH;

// A struct as a newer caller has it: the same with 16 more bytes, zero until somebody sets them.
template <typename Struct>
struct Larger {
  Struct known;
  std::array<uint64_t, 2> unknown{};
  explicit Larger(Struct initialized) : known(initialized) {
    known.struct_size = sizeof(Struct) + 16;
  }
};

// Calls `function` with the struct in every size that matters.
template <typename Struct, typename Function>
void expect_size_rules(Struct initialized, const char* name, Function function) {
  SCOPED_TRACE(name);
  for (uint32_t size : {uint32_t{0}, uint32_t{4}, uint32_t{sizeof(Struct) - 4}, uint32_t{100000}}) {
    Struct wrong = initialized;
    wrong.struct_size = size;
    EXPECT_NAMES(function(&wrong), kMismatch, name);
  }
  Larger<Struct> larger(initialized);
  EXPECT_OK(function(&larger.known));
  EXPECT_EQ(larger.known.struct_size, sizeof(larger));
  larger.unknown = {0, 1};
  EXPECT_NAMES(function(&larger.known), kMismatch, name);
  EXPECT_EQ(larger.unknown[1], 1u);
}

class Arguments : public testing::Test {
 protected:
  Context context = make_context(GPUJOIN_DEVICE_CPU);
  Table table = counting_table(10, 5);
  Relation relation = make_relation(context, table);
  Spec wish = [] {
    Spec both;
    both.left_columns = {1};
    both.output = GPUJOIN_OUTPUT_COLUMNS | GPUJOIN_OUTPUT_PAIRS;
    return both;
  }();
  gpujoin_join_spec spec = wish.get();

  Answer create_plan(const gpujoin_join_spec* given, const gpujoin_plan_options* options) {
    return try_plan(context, relation, relation, given, options);
  }
  Answer create_relation(int64_t rows, const gpujoin_column* columns, int32_t count) {
    gpujoin_relation* out = nullptr;
    Answer const answer = call(gpujoin_relation_create, context.get(), rows, columns, count, &out);
    EXPECT_EQ(out == nullptr, answer.status != GPUJOIN_OK);
    gpujoin_relation_destroy(out);
    return answer;
  }
};

Answer create_context(const gpujoin_context_options* options) {
  gpujoin_context* context = nullptr;
  Answer const answer = call(gpujoin_context_create, options, &context);
  EXPECT_EQ(context == nullptr, answer.status != GPUJOIN_OK);
  gpujoin_context_destroy(context);
  return answer;
}

gpujoin_context_options cpu_options() {
  gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
  options.device = GPUJOIN_DEVICE_CPU;
  return options;
}

void* no_memory(uint64_t, uint64_t, gpujoin_memory, void*, void*) { return nullptr; }
void forget(void*, uint64_t, gpujoin_memory, void*, void*) {}

}  // namespace

TEST(Destroy, AcceptsNull) {
  gpujoin_context_destroy(nullptr);
  gpujoin_relation_destroy(nullptr);
  gpujoin_plan_destroy(nullptr);
  gpujoin_result_destroy(nullptr);
}

TEST_F(Arguments, NullHandlesOfContextFunctionsAreNamed) {
  gpujoin_context_info info = GPUJOIN_CONTEXT_INFO_INIT;
  EXPECT_NAMES(call(gpujoin_context_create, nullptr, nullptr), kInvalid, "out");
  EXPECT_NAMES(call(gpujoin_context_get_info, nullptr, &info), kInvalid, "context");
  EXPECT_NAMES(call(gpujoin_context_get_info, context.get(), nullptr), kInvalid, "info");
  EXPECT_NAMES(call(gpujoin_context_cancel, nullptr), kInvalid, "context");
  EXPECT_NAMES(call(gpujoin_context_trim, nullptr), kInvalid, "context");
}

TEST_F(Arguments, NullHandlesOfRelationFunctionsAreNamed) {
  gpujoin_column const column = table[0].descriptor();
  gpujoin_relation* out = reinterpret_cast<gpujoin_relation*>(1);
  EXPECT_NAMES(call(gpujoin_relation_create, nullptr, 10, &column, 1, &out), kInvalid, "context");
  EXPECT_EQ(out, nullptr);
  EXPECT_NAMES(call(gpujoin_relation_create, context.get(), 10, nullptr, 1, &out), kInvalid,
               "columns");
  EXPECT_NAMES(call(gpujoin_relation_create, context.get(), 10, &column, 1, nullptr), kInvalid,
               "out");
  ArrowSchema schema{};
  ArrowArray array{};
  ArrowDeviceArray device_array{};
  auto const import = gpujoin_relation_import;
  EXPECT_NAMES(call(import, nullptr, &schema, &array, &out), kInvalid, "context");
  EXPECT_NAMES(call(import, context.get(), nullptr, &array, &out), kInvalid, "schema");
  EXPECT_NAMES(call(import, context.get(), &schema, nullptr, &out), kInvalid, "array");
  EXPECT_NAMES(call(import, context.get(), &schema, &array, nullptr), kInvalid, "out");
  EXPECT_NAMES(call(import, context.get(), &schema, &array, &out), kInvalid, "released");
  auto const import_device = gpujoin_relation_import_device;
  EXPECT_NAMES(call(import_device, nullptr, &schema, &device_array, &out), kInvalid, "context");
  EXPECT_NAMES(call(import_device, context.get(), nullptr, &device_array, &out), kInvalid,
               "schema");
  EXPECT_NAMES(call(import_device, context.get(), &schema, nullptr, &out), kInvalid, "array");
  EXPECT_NAMES(call(import_device, context.get(), &schema, &device_array, nullptr), kInvalid,
               "out");
  EXPECT_NAMES(call(gpujoin_relation_get_size, nullptr, nullptr, nullptr), kInvalid, "relation");
  EXPECT_OK(call(gpujoin_relation_get_size, relation.get(), nullptr, nullptr));
}

TEST_F(Arguments, NullHandlesOfPlanFunctionsAreNamed) {
  gpujoin_plan* plan = reinterpret_cast<gpujoin_plan*>(1);
  gpujoin_result* result = reinterpret_cast<gpujoin_result*>(1);
  auto const r = relation.get();
  auto const create = gpujoin_plan_create;
  EXPECT_NAMES(call(create, nullptr, r, r, &spec, nullptr, &plan), kInvalid, "context");
  EXPECT_EQ(plan, nullptr);
  EXPECT_NAMES(call(create, context.get(), nullptr, r, &spec, nullptr, &plan), kInvalid, "left");
  EXPECT_NAMES(call(create, context.get(), r, nullptr, &spec, nullptr, &plan), kInvalid, "right");
  EXPECT_NAMES(call(create, context.get(), r, r, nullptr, nullptr, &plan), kInvalid, "spec");
  EXPECT_NAMES(call(create, context.get(), r, r, &spec, nullptr, nullptr), kInvalid, "out");
  auto const join_now = gpujoin_join;
  EXPECT_NAMES(call(join_now, nullptr, r, r, &spec, nullptr, &result), kInvalid, "context");
  EXPECT_EQ(result, nullptr);
  EXPECT_NAMES(call(join_now, context.get(), nullptr, r, &spec, nullptr, &result), kInvalid,
               "left");
  EXPECT_NAMES(call(join_now, context.get(), r, r, nullptr, nullptr, &result), kInvalid, "spec");
  EXPECT_NAMES(call(join_now, context.get(), r, r, &spec, nullptr, nullptr), kInvalid, "out");
  size_t length = 0;
  EXPECT_NAMES(call(gpujoin_plan_explain, nullptr, nullptr, &length), kInvalid, "plan");
  EXPECT_NAMES(call(gpujoin_plan_execute, nullptr, &result), kInvalid, "plan");
}

TEST_F(Arguments, NullHandlesOfResultFunctionsAreNamed) {
  Result const result = join(context, relation, relation, wish);
  gpujoin_page page = GPUJOIN_PAGE_INIT;
  gpujoin_fetch fetch = GPUJOIN_FETCH_INIT;
  gpujoin_statistics statistics = GPUJOIN_STATISTICS_INIT;
  gpujoin_stage_statistics stage = GPUJOIN_STAGE_STATISTICS_INIT;
  int64_t rows = 0;
  ArrowSchema schema{};
  ArrowArray array{};
  ArrowDeviceArray device_array{};
  auto const r = result.get();
  EXPECT_NAMES(call(gpujoin_result_get_rows, nullptr, &rows), kInvalid, "result");
  EXPECT_NAMES(call(gpujoin_result_get_rows, r, nullptr), kInvalid, "rows");
  EXPECT_NAMES(call(gpujoin_result_fetch, nullptr, &page, &fetch, 1), kInvalid, "result");
  EXPECT_NAMES(call(gpujoin_result_fetch, r, &page, nullptr, 1), kInvalid, "fetches");
  EXPECT_NAMES(call(gpujoin_result_fetch, r, &page, &fetch, -1), kInvalid, "fetch_count");
  EXPECT_NAMES(call(gpujoin_result_export, nullptr, &page, &schema, &array), kInvalid, "result");
  EXPECT_NAMES(call(gpujoin_result_export, r, &page, nullptr, &array), kInvalid, "schema");
  EXPECT_NAMES(call(gpujoin_result_export, r, &page, &schema, nullptr), kInvalid, "array");
  auto const export_device = gpujoin_result_export_device;
  EXPECT_NAMES(call(export_device, nullptr, &page, &schema, &device_array), kInvalid, "result");
  EXPECT_NAMES(call(export_device, r, &page, nullptr, &device_array), kInvalid, "schema");
  EXPECT_NAMES(call(export_device, r, &page, &schema, nullptr), kInvalid, "array");
  EXPECT_NAMES(call(gpujoin_result_get_statistics, nullptr, &statistics), kInvalid, "result");
  EXPECT_NAMES(call(gpujoin_result_get_statistics, r, nullptr), kInvalid, "statistics");
  EXPECT_NAMES(call(gpujoin_result_get_stage, nullptr, 0, &stage), kInvalid, "result");
  EXPECT_NAMES(call(gpujoin_result_get_stage, r, 0, nullptr), kInvalid, "statistics");
  EXPECT_NAMES(call(gpujoin_result_get_stage, r, -1, &stage), kInvalid, "stage");
  EXPECT_NAMES(call(gpujoin_result_get_stage, r, 1000, &stage), kInvalid, "stage");
}

TEST_F(Arguments, StructSizesOfInputsAreChecked) {
  expect_size_rules(cpu_options(), "options", create_context);
  expect_size_rules(gpujoin_allocator GPUJOIN_ALLOCATOR_INIT, "options.allocator",
                    [](gpujoin_allocator* allocator) {
                      allocator->allocate = no_memory;
                      allocator->deallocate = forget;
                      gpujoin_context_options options = cpu_options();
                      options.allocator = allocator;
                      return create_context(&options);
                    });
  expect_size_rules(table[0].descriptor(), "columns[0]",
                    [&](gpujoin_column* column) { return create_relation(10, column, 1); });
  expect_size_rules(spec, "spec",
                    [&](gpujoin_join_spec* given) { return create_plan(given, nullptr); });
  expect_size_rules(gpujoin_plan_options GPUJOIN_PLAN_OPTIONS_INIT, "options",
                    [&](gpujoin_plan_options* given) { return create_plan(&spec, given); });
}

TEST_F(Arguments, StructSizesOfOutputsAreChecked) {
  Result const result = join(context, relation, relation, wish);
  expect_size_rules(gpujoin_context_info GPUJOIN_CONTEXT_INFO_INIT, "info", [&](auto* info) {
    return call(gpujoin_context_get_info, context.get(), info);
  });
  expect_size_rules(gpujoin_statistics GPUJOIN_STATISTICS_INIT, "statistics", [&](auto* out) {
    return call(gpujoin_result_get_statistics, result.get(), out);
  });
  expect_size_rules(
      gpujoin_stage_statistics GPUJOIN_STAGE_STATISTICS_INIT, "statistics",
      [&](auto* out) { return call(gpujoin_result_get_stage, result.get(), 0, out); });
  std::array<int64_t, 100> values{};
  expect_size_rules(fetch_of(GPUJOIN_FETCH_COLUMN, 0, values.data(), sizeof(values)), "fetches[0]",
                    [&](gpujoin_fetch* fetch) {
                      return call(gpujoin_result_fetch, result.get(), nullptr, fetch, 1);
                    });
  expect_size_rules(gpujoin_page GPUJOIN_PAGE_INIT, "page", [&](gpujoin_page* page) {
    page->first_row = 0;
    return call(gpujoin_result_fetch, result.get(), page, nullptr, 0);
  });
}

TEST_F(Arguments, ElementsOfAnArrayHaveOneSize) {
  std::array<Larger<gpujoin_column>, 2> columns = {Larger(table[0].descriptor()),
                                                   Larger(table[1].descriptor())};
  EXPECT_OK(create_relation(10, &columns[0].known, 2));
  columns[1].known.struct_size = sizeof(gpujoin_column);
  EXPECT_NAMES(create_relation(10, &columns[0].known, 2), kMismatch, "columns[1]");

  Result const result = join(context, relation, relation, wish);
  std::array<int64_t, 100> values{};
  Larger const fetch(fetch_of(GPUJOIN_FETCH_COLUMN, 0, values.data(), sizeof(values)));
  std::array<Larger<gpujoin_fetch>, 2> fetches = {fetch, fetch};
  EXPECT_OK(call(gpujoin_result_fetch, result.get(), nullptr, &fetches[0].known, 2));
  fetches[1].known.struct_size = sizeof(gpujoin_fetch);
  EXPECT_NAMES(call(gpujoin_result_fetch, result.get(), nullptr, &fetches[0].known, 2), kMismatch,
               "fetches[1]");
}

TEST_F(Arguments, ContextOptionsHaveRanges) {
  auto const with = [](auto change) {
    gpujoin_context_options options = cpu_options();
    change(options);
    return create_context(&options);
  };
  EXPECT_NAMES(with([](auto& o) { o.device = 3; }), kInvalid, "device");
  EXPECT_NAMES(with([](auto& o) { o.device = -1; }), kInvalid, "device");
  EXPECT_NAMES(with([](auto& o) { o.cuda_device_id = -1; }), kInvalid, "cuda_device_id");
  EXPECT_NAMES(with([](auto& o) { o.cpu_threads = -1; }), kInvalid, "cpu_threads");
  EXPECT_NAMES(with([](auto& o) { o.cuda_stream = &o; }), kInvalid, "cuda_stream");
  gpujoin_allocator allocator = GPUJOIN_ALLOCATOR_INIT;
  auto const allocate_with = [&] { return with([&](auto& o) { o.allocator = &allocator; }); };
  EXPECT_NAMES(allocate_with(), kInvalid, "allocator");
  allocator.allocate = no_memory;
  EXPECT_NAMES(allocate_with(), kInvalid, "allocator");
  allocator.deallocate = forget;
  EXPECT_OK(allocate_with());
  allocator.reserved = 1;
  EXPECT_NAMES(allocate_with(), kInvalid, "allocator.reserved");
}

TEST_F(Arguments, ColumnsHaveRanges) {
  auto const with = [&](auto change) {
    gpujoin_column column = table[0].descriptor();
    change(column);
    return create_relation(10, &column, 1);
  };
  EXPECT_OK(with([](auto&) {}));
  // Views, dictionaries and runs are Arrow's.
  for (gpujoin_type type : {-1, 0, GPUJOIN_TYPE_UTF8_VIEW, GPUJOIN_TYPE_BINARY_VIEW,
                            GPUJOIN_TYPE_DICTIONARY, GPUJOIN_TYPE_RUN_END_ENCODED, 39, 1000}) {
    EXPECT_NAMES(with([&](auto& c) { c.type = type; }), GPUJOIN_ERROR_TYPE, "columns[0].type");
  }
  EXPECT_NAMES(with([](auto& c) { c.memory = 4; }), kInvalid, "columns[0].memory");
  EXPECT_NAMES(with([](auto& c) { c.memory = -1; }), kInvalid, "columns[0].memory");
  EXPECT_STATUS(with([](auto& c) { c.memory = GPUJOIN_MEMORY_DEVICE; }), GPUJOIN_ERROR_UNSUPPORTED);
  EXPECT_NAMES(with([](auto& c) { c.validity_bit_offset = -1; }), kInvalid, "validity_bit_offset");
  EXPECT_NAMES(with([](auto& c) { c.data = nullptr; }), kInvalid, "columns[0].data");
  EXPECT_NAMES(with([](auto& c) { c.data = static_cast<const char*>(c.data) + 2; }), kInvalid,
               "aligned");
  gpujoin_column const column = table[0].descriptor();
  EXPECT_NAMES(create_relation(-1, &column, 1), kInvalid, "rows");
  EXPECT_NAMES(create_relation(10, &column, -1), kInvalid, "column_count");
  EXPECT_NAMES(create_relation(0xFFFFFFFF, &column, 1), GPUJOIN_ERROR_TOO_MANY_ROWS, "rows");
  EXPECT_NAMES(create_relation(INT64_MAX, &column, 1), GPUJOIN_ERROR_TOO_MANY_ROWS, "rows");
}

TEST_F(Arguments, AnEmptyColumnNeedsNoData) {
  gpujoin_column column = GPUJOIN_COLUMN_INIT;
  column.type = GPUJOIN_TYPE_INT32;
  EXPECT_OK(create_relation(0, &column, 1));
}

TEST_F(Arguments, SixteenByteValuesAreAlignedToEight) {
  alignas(16) std::array<uint8_t, 64> bytes{};
  gpujoin_column column = GPUJOIN_COLUMN_INIT;
  column.type = GPUJOIN_TYPE_BYTES16;
  column.data = bytes.data() + 8;
  EXPECT_OK(create_relation(3, &column, 1));
  column.data = bytes.data() + 4;
  EXPECT_NAMES(create_relation(3, &column, 1), kInvalid, "columns[0].data");
}

TEST_F(Arguments, RelationsKnowTheirSize) {
  int64_t rows = 0;
  int32_t columns = 0;
  EXPECT_OK(call(gpujoin_relation_get_size, relation.get(), &rows, &columns));
  EXPECT_EQ(rows, 10);
  EXPECT_EQ(columns, 2);
}

TEST_F(Arguments, ReservedFieldsAreZero) {
  Result const result = join(context, relation, relation, wish);
  gpujoin_page page = GPUJOIN_PAGE_INIT;
  page.reserved = 1;
  EXPECT_NAMES(call(gpujoin_result_fetch, result.get(), &page, nullptr, 0), kInvalid, "reserved");
  gpujoin_fetch fetch = fetch_of(GPUJOIN_FETCH_COLUMN, 0, nullptr, 0);
  fetch.reserved = 1;
  EXPECT_NAMES(call(gpujoin_result_fetch, result.get(), nullptr, &fetch, 1), kInvalid, "reserved");
}
