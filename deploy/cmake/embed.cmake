# cmake -D IN=FILE -D OUT=FILE.c -D NAME=WORD -P embed.cmake: the file's bytes as html_asset_WORD. No IN:
# an empty one.
set(bytes "")
set(hex "")
if(IN)
    file(READ "${IN}" hex HEX)
endif()
string(LENGTH "${hex}" digits)
math(EXPR len "${digits} / 2")
string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "(................................................................................)" "\\1\n    "
       bytes "${bytes}")
file(WRITE "${OUT}"
"#include \"controller/report/html/html_assets.h\"

static const unsigned char bytes[] = {
    ${bytes}0};
const struct html_asset html_asset_${NAME} = {\"${NAME}\", bytes, ${len}};
")
