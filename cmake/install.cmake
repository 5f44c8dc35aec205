# Installs the library, its header, and what CMake and pkg-config need to find them.

include(CMakePackageConfigHelpers)

install(TARGETS gpujoin EXPORT gpujoinTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES include/gpujoin.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/gpujoin)
install(EXPORT gpujoinTargets NAMESPACE gpujoin:: DESTINATION ${package_dir})
configure_package_config_file(cmake/gpujoinConfig.cmake.in gpujoinConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(gpujoinConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/gpujoinConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/gpujoinConfigVersion.cmake
  DESTINATION ${package_dir})

# Relative to the file itself, so that an installed tree can be moved, or installed elsewhere.
set(GPUJOIN_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  file(RELATIVE_PATH up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  set(GPUJOIN_PC_PREFIX "\${pcfiledir}/${up}")
endif()
foreach(folder LIBDIR INCLUDEDIR)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${folder}}")
    set(GPUJOIN_PC_${folder} "${CMAKE_INSTALL_${folder}}")
  else()
    set(GPUJOIN_PC_${folder} "\${prefix}/${CMAKE_INSTALL_${folder}}")
  endif()
endforeach()
configure_file(pkgconfig/gpujoin.pc.in gpujoin.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/gpujoin.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
