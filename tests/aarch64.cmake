# Cross-compiles for AArch64 Linux, with Debian's compiler, against the headers in LW_AARCH64_ROOT
# (tests/aarch64.sh makes this folder); C tests run in the emulator.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES LW_AARCH64_ROOT)
# The compiler has headers of the C library of its own; those of Python refer to others of the folder.
set(CMAKE_C_FLAGS_INIT "-idirafter ${LW_AARCH64_ROOT}/usr/include")
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L ${LW_AARCH64_ROOT})
