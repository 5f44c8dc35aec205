# Compiler flags of everything built here, as the interface target gpujoin_flags.

option(GPUJOIN_CHECKED "Guard bands and poison around every pooled buffer" OFF)
option(GPUJOIN_SANITIZE "Address and undefined behaviour sanitizers (CPU-only builds)" OFF)
option(GPUJOIN_TSAN "Thread sanitizer (CPU-only builds)" OFF)

if((GPUJOIN_SANITIZE OR GPUJOIN_TSAN) AND GPUJOIN_WITH_CUDA)
  message(FATAL_ERROR "GPUJOIN_SANITIZE and GPUJOIN_TSAN need -DGPUJOIN_CUDA=OFF")
endif()

set(host "$<COMPILE_LANGUAGE:CXX>")
set(plain_c "$<COMPILE_LANGUAGE:C>")
set(cuda "$<COMPILE_LANGUAGE:CUDA>")

add_library(gpujoin_flags INTERFACE)
target_compile_options(gpujoin_flags INTERFACE
  "$<${host}:-Wall;-Wextra;-Wpedantic;-Wconversion;-Wshadow;-Werror>"
  "$<${plain_c}:-Wall;-Wextra;-pedantic;-Werror>"
  "$<${cuda}:-Werror=all-warnings;-Xcompiler=-Wall,-Wextra,-Werror>")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 sees an overlap in "literal" + std::string that is not there (GCC bug 105651).
  target_compile_options(gpujoin_flags INTERFACE "$<${host}:-Wno-restrict>")
endif()
target_compile_definitions(gpujoin_flags INTERFACE
  GPUJOIN_WITH_CUDA=${GPUJOIN_WITH_CUDA}
  GPUJOIN_EXPERIMENTAL=1
  $<$<BOOL:${GPUJOIN_CHECKED}>:GPUJOIN_CHECKED=1>)

set(sanitizers "")
set(undefined "")
if(GPUJOIN_SANITIZE)
  set(sanitizers -fsanitize=address)
  set(undefined -fsanitize=undefined -fno-sanitize-recover=undefined)
elseif(GPUJOIN_TSAN)
  set(sanitizers -fsanitize=thread)
  # With it GCC 12 takes an empty std::optional that is moved for one that has a value.
  target_compile_options(gpujoin_flags INTERFACE "$<${host}:-Wno-maybe-uninitialized>")
endif()
if(sanitizers)
  target_compile_options(gpujoin_flags INTERFACE ${sanitizers} -fno-omit-frame-pointer)
  target_link_options(gpujoin_flags INTERFACE ${sanitizers} ${undefined})
endif()

# Flags of the library alone: what tests do undefined by themselves is not looked for, because that
# takes them twice as long to compile.
add_library(gpujoin_library_flags INTERFACE)
target_link_libraries(gpujoin_library_flags INTERFACE gpujoin_flags)
target_compile_options(gpujoin_library_flags INTERFACE ${undefined})
