/* SPDX-License-Identifier: MIT */
#include "common/host.h"
#include "controller/cmd/cmd.h"

int main(int argc, char **argv)
{
    host_std_fds();
    return cmd_main(argc, argv);
}
