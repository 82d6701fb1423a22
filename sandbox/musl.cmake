# hg_use_musl(TARGET): compile and link a static-pie program against musl with the compiler at hand.
# Debian's musl-gcc knows nothing of static-pie (its start file is that of a dynamic program) and shows no kernel
# headers, so both are named here.
function(hg_use_musl target)
    execute_process(COMMAND ${CMAKE_C_COMPILER} -print-multiarch OUTPUT_VARIABLE arch OUTPUT_STRIP_TRAILING_WHITESPACE)
    execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=include OUTPUT_VARIABLE builtin OUTPUT_STRIP_TRAILING_WHITESPACE)
    string(REPLACE "-gnu" "-musl" musl_arch ${arch})
    set(folder /usr/lib/${musl_arch})
    target_compile_options(${target} PRIVATE -nostdinc "SHELL:-isystem /usr/include/${musl_arch}"
        "SHELL:-isystem ${builtin}" "SHELL:-idirafter /usr/include" "SHELL:-idirafter /usr/include/${arch}"
        -U_FORTIFY_SOURCE)
    target_link_options(${target} PRIVATE -nostdlib -nostartfiles ${folder}/rcrt1.o ${folder}/crti.o)
    target_link_libraries(${target} PRIVATE -Wl,--start-group ${folder}/libc.a gcc -Wl,--end-group ${folder}/crtn.o)
endfunction()
