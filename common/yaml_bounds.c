/* SPDX-License-Identifier: MIT */
#include "common/yaml_bounds.h"

#include <yaml.h>

#define TEXT(n)  #n
#define VALUE(n) TEXT(n)

struct sums {
    int depth;
    int anchors;
};

static bool has_anchor(const yaml_event_t *ev)
{
    return (ev->type == YAML_SCALAR_EVENT && ev->data.scalar.anchor != NULL) ||
           (ev->type == YAML_SEQUENCE_START_EVENT && ev->data.sequence_start.anchor != NULL) ||
           (ev->type == YAML_MAPPING_START_EVENT && ev->data.mapping_start.anchor != NULL);
}

static const char *excess_of(struct sums *s, const yaml_event_t *ev)
{
    s->anchors += has_anchor(ev);
    if (ev->type == YAML_SEQUENCE_START_EVENT || ev->type == YAML_MAPPING_START_EVENT)
        s->depth++;
    else if (ev->type == YAML_SEQUENCE_END_EVENT || ev->type == YAML_MAPPING_END_EVENT)
        s->depth--;
    if (s->depth > YAML_DEPTH_MAX)
        return "more than " VALUE(YAML_DEPTH_MAX) " lists and mappings inside each other";
    return s->anchors > YAML_ANCHORS_MAX ? "more than " VALUE(YAML_ANCHORS_MAX) " anchors" : NULL;
}

bool yaml_within_bounds(const void *text, size_t len, struct yaml_excess *out)
{
    yaml_parser_t y;
    yaml_event_t ev;
    struct sums sums = {0};
    bool more = true;
    *out = (struct yaml_excess){0};
    if (!yaml_parser_initialize(&y))
        return true;
    yaml_parser_set_input_string(&y, text, len);
    while (more && out->what == NULL && yaml_parser_parse(&y, &ev)) {
        out->what = excess_of(&sums, &ev);
        out->line = ev.start_mark.line + 1;
        out->column = ev.start_mark.column + 1;
        more = ev.type != YAML_STREAM_END_EVENT;
        yaml_event_delete(&ev);
    }
    yaml_parser_delete(&y);
    return out->what == NULL;
}
