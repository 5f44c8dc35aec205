# Decides whether the GPU half is built and turns the CUDA language on.
# Sets GPUJOIN_WITH_CUDA to 1 or 0.

set(GPUJOIN_CUDA AUTO CACHE STRING "Build the GPU executor: AUTO (when an nvcc is found), ON, OFF")
set_property(CACHE GPUJOIN_CUDA PROPERTY STRINGS AUTO ON OFF)
set(GPUJOIN_CUDA_ARCHITECTURES "80-real;90-real;100-real;120" CACHE STRING
    "GPU architectures to compile for, as CMAKE_CUDA_ARCHITECTURES")

set(GPUJOIN_WITH_CUDA 0)
if(GPUJOIN_CUDA STREQUAL "OFF")
  return()
endif()

# An nvcc named by the caller wins, then the one that scripts/setup put into .toolchain (it does so
# only where no CUDA 13 is installed), then PATH.
if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  find_program(GPUJOIN_NVCC nvcc
    HINTS "${PROJECT_SOURCE_DIR}/.toolchain/nvidia/cu13/bin" PATHS /usr/local/cuda/bin)
  if(GPUJOIN_NVCC)
    set(CMAKE_CUDA_COMPILER "${GPUJOIN_NVCC}" CACHE FILEPATH "The CUDA compiler")
  endif()
endif()

if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  if(GPUJOIN_CUDA STREQUAL "ON")
    message(FATAL_ERROR "GPUJOIN_CUDA is ON and there is no nvcc; run scripts/setup or set CUDACXX")
  endif()
  message(STATUS "gpujoin: no nvcc found, building for the CPU only")
  return()
endif()

set(CMAKE_CUDA_ARCHITECTURES "${GPUJOIN_CUDA_ARCHITECTURES}")
enable_language(CUDA)
if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 13.0)
  message(FATAL_ERROR "gpujoin needs CUDA 13.0, ${CMAKE_CUDA_COMPILER} is "
                      "${CMAKE_CUDA_COMPILER_VERSION}; use -DGPUJOIN_CUDA=OFF to build for the CPU")
endif()

# Device code is nearly all of the library, and kernels of one template compress well: to a third.
# For every object and the device link. What it costs is time, once a process: a kernel's object is
# unpacked when a first kernel of it is launched.
string(APPEND CMAKE_CUDA_FLAGS " --compress-mode=size")

set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")  # CMake before 3.26 knows none for nvcc
endif()

# The form of the flag that ccache knows: a path behind "=" it takes for another one in each clone.
set(CMAKE_INCLUDE_SYSTEM_FLAG_CUDA "-isystem ")

# The toolkit that the compiler came with, and no other one that may be installed.
get_filename_component(nvcc_folder "${CMAKE_CUDA_COMPILER}" DIRECTORY)
get_filename_component(CUDAToolkit_ROOT "${nvcc_folder}" DIRECTORY)
find_package(CUDAToolkit 13.0 QUIET REQUIRED)

set(GPUJOIN_WITH_CUDA 1)
