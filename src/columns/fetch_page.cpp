#include "src/columns/fetch_page.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "src/base/copy.hpp"
#include "src/base/status.hpp"
#include "src/columns/page.hpp"
#include "src/columns/register_columns.hpp"
#include "src/columns/validity_bits.hpp"
#include "src/columns/wide_row_numbers.hpp"

namespace gpujoin::columns {

namespace {

using base::fail;
using base::Memory;

// One of the caller's requests, resolved against the result.
struct Request {
  std::string argument;  // "fetches[2]"
  gpujoin_fetch* fetch = nullptr;
  const std::byte* source = nullptr;
  Layout layout = Layout::kValues;
  int32_t source_width = 0;
  int32_t target_width = 0;
  const void* offsets = nullptr;  // of text, in the result
  int32_t offset_width = 0;
  uint64_t first_byte = 0;  // of the page's text
  uint64_t text_bytes = 0;
  const void* validity = nullptr;  // of the source; null: no NULLs
  int64_t result_nulls = 0;
  // Of row numbers of one side, whose validity may be made when it is wanted.
  enum class Numbers { kNone, kLeft, kRight } numbers = Numbers::kNone;
  Storage made_validity;
  bool is_numbered = false;       // row numbers are the caller's
  bool needs_validity = false;    // the values do not say where a NULL is
  Memory memory = Memory::kHost;  // of the target
  std::vector<uint8_t> bits;      // the page's validity from bit 0 on, when it is to be written
  int64_t null_count = 0;
  std::vector<uint8_t> value_bits;  // the page's values, where they are bits
  bool is_widened() const { return target_width > source_width; }
  bool is_bits() const { return layout == Layout::kBits; }
  bool is_text() const { return layout == Layout::kText; }
  bool wants_text() const { return fetch->data != nullptr; }
  uint64_t data_bytes(int64_t rows) const {
    if (is_text()) return wants_text() ? text_bytes : 0;
    if (!is_bits()) return static_cast<uint64_t>(rows) * static_cast<uint64_t>(target_width);
    return memory == Memory::kDevice ? bitmap_words_bytes(rows) : bitmap_bytes(rows);
  }
};

Request resolve_indices(const JoinResult& result, gpujoin_fetch& fetch, Request request) {
  if (!result.has_pairs) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT,
         "%s.what asks for row numbers and the join was made without GPUJOIN_OUTPUT_PAIRS",
         request.argument.c_str());
  }
  if (fetch.type != 0 && fetch.type != GPUJOIN_TYPE_UINT32 && fetch.type != GPUJOIN_TYPE_INT64) {
    fail(GPUJOIN_ERROR_TYPE, "%s.type is %s and row numbers come as UINT32 or INT64",
         request.argument.c_str(), name_of(fetch.type));
  }
  bool const of_a_step = fetch.what == GPUJOIN_FETCH_RIGHT_INDEX && !result.step_rows.empty();
  if (of_a_step &&
      (fetch.column < 0 || static_cast<size_t>(fetch.column) >= result.step_rows.size())) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s.column is %d and the sequence has %zu steps",
         request.argument.c_str(), fetch.column, result.step_rows.size());
  }
  if (of_a_step && !result.step_rows[static_cast<size_t>(fetch.column)].come_out) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT,
         "%s.column is %d and that step is a left semi join, which puts out no dimension row",
         request.argument.c_str(), fetch.column);
  }
  bool const of_left = fetch.what == GPUJOIN_FETCH_LEFT_INDEX;
  bool const is_there = of_left ? result.has_left_rows() : result.has_right_rows();
  if (!of_a_step && !is_there) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s.what asks for rows of the %s side and none come out",
         request.argument.c_str(), of_left ? "left" : "right");
  }
  const Storage& rows = of_a_step ? result.step_rows[static_cast<size_t>(fetch.column)].rows
                        : of_left ? result.left_rows
                                  : result.right_rows;
  if (of_a_step) {
    StepRows const& step = result.step_rows[static_cast<size_t>(fetch.column)];
    request.validity = step.validity.get();
    request.result_nulls = step.missing;
  } else {
    request.numbers = of_left ? Request::Numbers::kLeft : Request::Numbers::kRight;
    request.result_nulls = of_left ? result.left_rows_missing : result.right_rows_missing;
  }
  Storage const& numbers = of_left ? result.left_numbers : result.right_numbers;
  request.is_numbered = !of_a_step && numbers != nullptr;
  request.source = static_cast<const std::byte*>(request.is_numbered ? numbers.get() : rows.get());
  request.source_width = request.is_numbered ? 8 : 4;
  request.target_width = fetch.type == GPUJOIN_TYPE_UINT32 ? 4 : 8;
  return request;
}

Request resolve_column(const JoinResult& result, gpujoin_fetch& fetch, Request request) {
  if (fetch.column < 0 || static_cast<size_t>(fetch.column) >= result.columns.size()) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s.column is %d and the result has %zu columns",
         request.argument.c_str(), fetch.column, result.columns.size());
  }
  const ResultColumn& column = result.columns[static_cast<size_t>(fetch.column)];
  if (fetch.type != 0 && fetch.type != column.type) {
    fail(GPUJOIN_ERROR_TYPE, "%s.type is %s and column %d \"%s\" is %s", request.argument.c_str(),
         name_of(fetch.type), fetch.column, column.name.c_str(), name_of(column.type));
  }
  request.validity = column.validity.get();
  request.result_nulls = column.null_count;
  request.needs_validity = true;
  request.source = static_cast<const std::byte*>(column.data.get());
  request.layout = column.layout;
  request.source_width = column.width;
  request.target_width = column.width;
  request.offsets = column.offsets.get();
  request.offset_width = column.offset_width;
  return request;
}

// Data and validity are declared with one field, so they must agree.
Memory memory_of_target(base::Context& context, const gpujoin_fetch& fetch,
                        const std::string& argument) {
  if (fetch.memory < GPUJOIN_MEMORY_AUTOMATIC || fetch.memory > GPUJOIN_MEMORY_PINNED) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s.memory: %d is not a GPUJOIN_MEMORY_*",
         argument.c_str(), fetch.memory);
  }
  const void* first = fetch.data != nullptr       ? fetch.data
                      : fetch.validity != nullptr ? fetch.validity
                                                  : fetch.offsets;
  if (first == nullptr) return Memory::kHost;
  Memory const data = base::memory_of(context, first, fetch.memory, (argument + ".data").c_str());
  if (fetch.validity == nullptr || fetch.data == nullptr) return data;
  Memory const validity =
      base::memory_of(context, fetch.validity, fetch.memory, (argument + ".validity").c_str());
  if ((data == Memory::kDevice) != (validity == Memory::kDevice)) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT,
         "%s: one of data and validity lies in device memory, the other one does not",
         argument.c_str());
  }
  return data;
}

Request resolve(const JoinResult& result, gpujoin_fetch& fetch, size_t index) {
  Request request;
  request.argument = "fetches[" + std::to_string(index) + "]";
  request.fetch = &fetch;
  switch (fetch.what) {
    case GPUJOIN_FETCH_COLUMN:
      request = resolve_column(result, fetch, std::move(request));
      break;
    case GPUJOIN_FETCH_LEFT_INDEX:
    case GPUJOIN_FETCH_RIGHT_INDEX:
      request = resolve_indices(result, fetch, std::move(request));
      break;
    default:
      fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s.what: %d is not a GPUJOIN_FETCH_*",
           request.argument.c_str(), fetch.what);
  }
  request.memory = memory_of_target(*result.context, fetch, request.argument);
  if (request.is_widened() && request.memory == Memory::kDevice) {
    check_alignment(fetch.data, request.target_width, (request.argument + ".data").c_str());
  }
  return request;
}

PageBytes bytes_of(base::Queue& queue, const JoinResult& result,
                   const std::vector<Request>& requests) {
  PageBytes bytes;
  for (const Request& request : requests) {
    if (request.is_text() && result.rows != 0) {
      bytes.texts.emplace_back(queue, result.memory, request.offsets, request.offset_width);
    }
    bytes.values_per_row += static_cast<uint64_t>(request.target_width);
    auto& bitmaps = request.memory == Memory::kDevice ? bytes.device_bitmaps : bytes.host_bitmaps;
    if (request.is_bits()) ++bitmaps;
    if (request.fetch->validity != nullptr) ++bitmaps;
  }
  return bytes;
}

void check_offsets_room(const Request& request, int64_t rows) {
  const gpujoin_fetch& fetch = *request.fetch;
  if (fetch.offsets == nullptr) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s.offsets is NULL and the column is text",
         request.argument.c_str());
  }
  uint64_t const bytes = base::checked_bytes(static_cast<uint64_t>(rows) + 1,
                                             static_cast<uint64_t>(request.offset_width));
  if (fetch.offsets_bytes < bytes) {
    fail(GPUJOIN_ERROR_BUFFER_TOO_SMALL, "%s.offsets_bytes is %llu and the page needs %llu",
         request.argument.c_str(), static_cast<unsigned long long>(fetch.offsets_bytes),
         static_cast<unsigned long long>(bytes));
  }
}

void check_room(const Request& request, int64_t rows) {
  const gpujoin_fetch& fetch = *request.fetch;
  uint64_t const data_bytes = request.data_bytes(rows);
  if (request.is_text()) check_offsets_room(request, rows);
  bool const has_values = !request.is_text() && request.layout != Layout::kNulls;
  if (rows > 0 && has_values && fetch.data == nullptr) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s.data is NULL and the page has %lld rows",
         request.argument.c_str(), static_cast<long long>(rows));
  }
  if (fetch.data_bytes < data_bytes) {
    fail(GPUJOIN_ERROR_BUFFER_TOO_SMALL, "%s.data_bytes is %llu and the page needs %llu",
         request.argument.c_str(), static_cast<unsigned long long>(fetch.data_bytes),
         static_cast<unsigned long long>(data_bytes));
  }
  if (fetch.validity == nullptr) return;
  uint64_t const validity_bytes =
      request.memory == Memory::kDevice ? bitmap_words_bytes(rows) : bitmap_bytes(rows);
  if (fetch.validity_bytes < validity_bytes) {
    fail(GPUJOIN_ERROR_BUFFER_TOO_SMALL, "%s.validity_bytes is %llu and the page needs %llu",
         request.argument.c_str(), static_cast<unsigned long long>(fetch.validity_bytes),
         static_cast<unsigned long long>(validity_bytes));
  }
}

// The page's bits of a bitmap of the result. Bits of a device result are few: they come to the host
// to be counted and shifted.
struct PageBits {
  std::vector<uint8_t> on_host;
  const uint8_t* bits = nullptr;
  int64_t first_bit = 0;
};

PageBits bits_of_page(base::Queue& queue, const JoinResult& result, const Window& window,
                      const void* bitmap) {
  PageBits page;
  page.bits = static_cast<const uint8_t*>(bitmap);
  page.first_bit = window.first_row;
  if (result.memory != Memory::kDevice) return page;
  int64_t const first_byte = page.first_bit / 8;
  page.first_bit %= 8;
  page.on_host.resize(bitmap_bytes(page.first_bit + window.rows));
  base::copy(queue, page.on_host.data(), Memory::kHost, page.bits + first_byte, Memory::kDevice,
             page.on_host.size());
  base::finish(queue);
  page.bits = page.on_host.data();
  return page;
}

// Counts the page's NULLs and prepares its bits.
void prepare_validity(base::Queue& queue, const JoinResult& result, const Window& window,
                      Request& request) {
  bool const wanted = request.fetch->validity != nullptr;
  if (request.layout == Layout::kNulls) {
    request.null_count = window.rows;
    if (wanted) request.bits.assign(bitmap_words_bytes(window.rows), 0);
    return;
  }
  if (request.result_nulls == 0) {
    if (wanted) request.bits = all_valid(window.rows);
    return;
  }
  request.null_count = request.result_nulls;
  // Of the whole result they are counted.
  if (wanted || request.is_numbered || window.rows != result.rows) {
    if (request.numbers != Request::Numbers::kNone) {
      bool const of_left = request.numbers == Request::Numbers::kLeft;
      request.made_validity = result.rows_validity(queue, of_left);
      request.validity = request.made_validity.get();
    }
    PageBits const page = bits_of_page(queue, result, window, request.validity);
    request.null_count = count_nulls(page.bits, page.first_bit, window.rows);
    if (wanted || request.is_numbered) {
      request.bits = rebased(page.bits, page.first_bit, window.rows);
    }
  }
  if (!wanted && request.needs_validity && request.null_count > 0) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s.validity is NULL and the page has %lld NULLs",
         request.argument.c_str(), static_cast<long long>(request.null_count));
  }
}

void prepare_bits(base::Queue& queue, const JoinResult& result, const Window& window,
                  Request& request) {
  if (!request.is_bits() || window.rows == 0) return;
  PageBits const page = bits_of_page(queue, result, window, request.source);
  request.value_bits = rebased(page.bits, page.first_bit, window.rows);
}

// Where the page's text lies in the result.
void find_text(base::Queue& queue, const JoinResult& result, const Window& window,
               Request& request) {
  if (!request.is_text() || window.rows == 0) return;
  TextOffsets const text(queue, result.memory, request.offsets, request.offset_width);
  request.first_byte = text.at(window.first_row);
  request.text_bytes = text.bytes_of(window);
}

template <typename Offset>
void write_offsets(base::Queue& queue, const JoinResult& result, const Window& window,
                   const Request& request) {
  auto const count = static_cast<size_t>(window.rows) + 1;
  std::vector<Offset> offsets(count, 0);
  if (window.rows != 0) {
    base::copy(queue, offsets.data(), Memory::kHost,
               static_cast<const Offset*>(request.offsets) + window.first_row, result.memory,
               count * sizeof(Offset));
    base::finish(queue);
  }
  for (Offset& offset : offsets) offset -= static_cast<Offset>(request.first_byte);
  base::copy(queue, request.fetch->offsets, request.memory, offsets.data(), Memory::kHost,
             count * sizeof(Offset));
  base::finish(queue);
}

void write_text(base::Queue& queue, const JoinResult& result, const Window& window,
                const Request& request) {
  if (request.offset_width == 8) {
    write_offsets<int64_t>(queue, result, window, request);
  } else {
    write_offsets<int32_t>(queue, result, window, request);
  }
  if (!request.wants_text()) return;
  base::copy(queue, request.fetch->data, request.memory, request.source + request.first_byte,
             result.memory, request.text_bytes);
}

// What is copied as it is, is left for the end, when all of it is copied at once.
void write_page(base::Queue& queue, const JoinResult& result, const Window& window,
                const Request& request, WidenOnDevice widen, std::vector<base::Copy>* plain) {
  if (request.is_text()) write_text(queue, result, window, request);
  if (window.rows == 0) return;
  auto* target = static_cast<std::byte*>(request.fetch->data);
  bool const has_values = !request.is_text() && request.layout != Layout::kNulls;
  const std::byte* source =
      has_values ? request.source + window.first_row * request.source_width : nullptr;
  if (!has_values) {
    // Written, or none.
  } else if (request.is_numbered) {
    std::vector<uint8_t> const none;
    write_numbers_of_caller(queue, result, source, window.rows,
                            request.result_nulls == 0 ? none : request.bits, target, request.memory,
                            request.target_width, request.argument);
  } else if (request.is_bits()) {
    base::copy(queue, target, request.memory, request.value_bits.data(), Memory::kHost,
               request.data_bytes(window.rows));
  } else if (request.is_widened() && request.memory == Memory::kDevice) {
    write_wide_on_device(queue, result, source, window.rows, target, widen);
  } else if (request.is_widened()) {
    write_wide_on_host(queue, result, source, window.rows, target, request.memory);
  } else {
    plain->push_back(
        {target, request.memory, source, result.memory,
         static_cast<uint64_t>(window.rows) * static_cast<uint64_t>(request.source_width)});
  }
  if (request.fetch->validity == nullptr) return;
  uint64_t const bytes =
      request.memory == Memory::kDevice ? request.bits.size() : bitmap_bytes(window.rows);
  base::copy(queue, request.fetch->validity, request.memory, request.bits.data(), Memory::kHost,
             bytes);
}

}  // namespace

void fetch_page(base::Queue& queue, const JoinResult& result, gpujoin_page& page,
                std::span<gpujoin_fetch> fetches, WidenOnDevice widen) {
  std::vector<Request> requests;
  requests.reserve(fetches.size());
  for (size_t i = 0; i < fetches.size(); ++i) requests.push_back(resolve(result, fetches[i], i));

  Window const window = window_of(page, result.rows, bytes_of(queue, result, requests));
  for (Request& request : requests) find_text(queue, result, window, request);
  for (const Request& request : requests) check_room(request, window.rows);
  for (Request& request : requests) {
    prepare_validity(queue, result, window, request);
    prepare_bits(queue, result, window, request);
  }

  std::vector<base::Copy> plain;
  for (const Request& request : requests) {
    write_page(queue, result, window, request, widen, &plain);
  }
  base::copy(queue, plain);
  base::finish(queue);
  for (const Request& request : requests) {
    request.fetch->null_count = request.null_count;
    request.fetch->text_bytes = request.text_bytes;
  }
  advance(page, window);
}

}  // namespace gpujoin::columns
