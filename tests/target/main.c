/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/target/httpd.h"

static int complain(const struct errmsg *msg, int code)
{
    fprintf(stderr, "hammer-target: %s\n", msg->text);
    return code;
}

static int serve(const struct httpd_options *options)
{
    struct httpd srv;
    struct errmsg msg = {{0}};
    enum err e = httpd_init(&srv, options, &msg);
    if (e == ERR_OK)
        e = httpd_run(&srv, &msg);
    enum err closed = httpd_fini(&srv);
    if (e != ERR_OK)
        return complain(&msg, 2);
    fprintf(stderr,
            "hammer-target: served %" PRIu64 " of %" PRIu64 " requests on %" PRIu64
            " connections\n",
            srv.n_served, srv.n_requests, srv.n_conns);
    if (closed == ERR_OK)
        return EXIT_SUCCESS;
    errmsg_set(&msg, closed, "--log %s: could not be written completely", options->log_file);
    return complain(&msg, 2);
}

int main(int argc, char **argv)
{
    struct httpd_options options;
    struct errmsg msg = {{0}};
    if (httpd_options_parse(argc, argv, &options, &msg) != ERR_OK)
        return complain(&msg, 1);
    if (options.help) {
        fputs(httpd_options_help(), stdout);
        return EXIT_SUCCESS;
    }
    return serve(&options);
}
