/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_HTML_ASSETS_H
#define HAMMER_CONTROLLER_HTML_ASSETS_H

#include <stddef.h>
#include <stdio.h>

/*
 * What the build embeds (deploy/cmake/web.cmake): our own style sheet and script, and the chart
 * library with its licence, which are empty in a build without it (HAMMER_WEB=OFF).
 */

struct html_asset {
    const char *name;
    const unsigned char *bytes;
    size_t len;
};

extern const struct html_asset html_asset_style;
extern const struct html_asset html_asset_script;
extern const struct html_asset html_asset_uplot;
extern const struct html_asset html_asset_uplot_style;
extern const struct html_asset html_asset_uplot_licence;

#endif
