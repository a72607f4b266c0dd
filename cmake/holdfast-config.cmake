# find_package(holdfast COMPONENTS sqlite …): holdfast::core always, and the components asked for, each with what it
# stands on. A machine without ZooKeeper's client can find every component but ZooKeeper's.
include(CMakeFindDependencyMacro)

foreach(holdfast_component IN ITEMS core LISTS holdfast_FIND_COMPONENTS)
    if(EXISTS "${CMAKE_CURRENT_LIST_DIR}/holdfast-${holdfast_component}-target.cmake")
        include("${CMAKE_CURRENT_LIST_DIR}/holdfast-${holdfast_component}.cmake")
        if(DEFINED holdfast_FOUND AND NOT holdfast_FOUND)   # find_dependency has said what is missing
            return()
        endif()
        set(holdfast_${holdfast_component}_FOUND TRUE)
    else()
        set(holdfast_${holdfast_component}_FOUND FALSE)
        if(holdfast_FIND_REQUIRED_${holdfast_component})
            file(GLOB holdfast_present RELATIVE "${CMAKE_CURRENT_LIST_DIR}" "${CMAKE_CURRENT_LIST_DIR}/holdfast-*-target.cmake")
            list(TRANSFORM holdfast_present REPLACE "^holdfast-(.*)-target.cmake$" "\\1")
            list(JOIN holdfast_present ", " holdfast_present)
            set(holdfast_FOUND FALSE)
            set(holdfast_NOT_FOUND_MESSAGE
                "this holdfast has no component '${holdfast_component}'; it was installed with: ${holdfast_present}")
            return()
        endif()
    endif()
endforeach()
