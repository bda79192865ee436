/* SPDX-License-Identifier: MIT */
#include "controller/cmd/stored_report.h"

#include "controller/cmd/cmd.h"
#include "controller/cmd/outputs.h"
#include "controller/report/looks.h"
#include "controller/store/replay.h"

/* The user's words were wrong, or what they mean could not be read. */
static int code_of(enum err e)
{
    bool input = e == ERR_INVALID || e == ERR_RANGE || e == ERR_NOT_FOUND;
    return input ? EXIT_BAD_INPUT : EXIT_COULD_NOT;
}

static enum err save(void *arg, const char *path, struct errmsg *msg)
{
    return replayed_save(arg, path, msg);
}

static enum err write_outputs(const struct stored_options *o, struct outputs *outputs,
                              struct replayed *r)
{
    struct report_options report = {.spectrum = o->spectrum,
                                    .verbose = o->verbose,
                                    .secret_headers = replayed_recording(r)->redact};
    looks_settle(&report);
    const struct outputs_run run = {
        .result = replayed_result(r), .options = &report, .store = save, .arg = r};
    return outputs_write(outputs, &run);
}

int stored_report(const struct stored_options *o, struct errmsg *msg)
{
    struct outputs *outputs = NULL;
    struct replayed *r = NULL;
    const struct outputs_config wanted = {
        .format = o->results.format, .json = o->json, .files = &o->outputs};
    enum err e = outputs_new(&wanted, &outputs, msg);
    const struct replay_options options = {.db = o->results.db,
                                           .view = stored_options_view(o),
                                           .every_ns = o->results.every_ns,
                                           .settled = outputs_row,
                                           .arg = outputs};
    if (e == ERR_OK)
        e = replay_merged(o->words, o->n_words, &options, &r, msg);
    int code = e == ERR_OK ? 0 : code_of(e);
    if (e == ERR_OK && write_outputs(o, outputs, r) != ERR_OK)
        code = EXIT_COULD_NOT;
    replayed_free(r);
    outputs_free(outputs);
    return code;
}
