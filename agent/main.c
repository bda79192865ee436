/* SPDX-License-Identifier: MIT */
#include <stdio.h>

int main(void)
{
    fprintf(stderr, "hammer-agent: not assembled yet\n");
    return 2;
}
