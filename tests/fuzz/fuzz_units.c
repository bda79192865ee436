/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/units.h"
#include "controller/run/inventory.h"

/* The first byte chooses the parser, the rest is its text. What is accepted must print to a text
 * that parses to the same value; what is refused must say so. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int ok)
{
    if (!ok)
        abort();
}

static void fuzz_duration(const char *text)
{
    uint64_t ns, back;
    struct errmsg msg = {{0}};
    char buf[UNITS_TEXT];
    if (units_parse_duration(text, NS_PER_SEC, &ns, &msg) != ERR_OK) {
        require(msg.text[0] != '\0');
        return;
    }
    require(units_parse_duration(units_format_duration(ns, buf), 0, &back, NULL) == ERR_OK);
    require(back == ns);
}

static void fuzz_rate(const char *text)
{
    struct rate rate, back;
    struct errmsg msg = {{0}};
    char buf[UNITS_TEXT];
    if (units_parse_rate(text, &rate, &msg) != ERR_OK) {
        require(msg.text[0] != '\0');
        return;
    }
    require(rate.num > 0 && rate.den > 0 && rate.den <= RATE_DEN_MAX);
    require(units_parse_rate(units_format_rate(&rate, buf), &back, NULL) == ERR_OK);
    require(back.num == rate.num && back.den == rate.den);
}

static void fuzz_count(const char *text)
{
    uint64_t n;
    struct errmsg msg = {{0}};
    if (units_parse_count(text, &n, &msg) != ERR_OK)
        require(msg.text[0] != '\0');
}

static void fuzz_inventory(const char *text)
{
    struct inventory inv, again;
    struct errmsg msg = {{0}};
    if (inventory_parse(text, 1, &inv, &msg) != ERR_OK) {
        require(msg.text[0] != '\0' && inv.n == 0);
        return;
    }
    for (size_t i = 0; i < inv.n; i++) {
        const struct inventory_agent *a = &inv.agents[i];
        require(a->weight >= 1 && a->weight <= INVENTORY_WEIGHT_MAX);
        /* Of a certificate's name the URL knows nothing. */
        char back[sizeof a->name + sizeof a->url];
        bool named = a->name[0] != '\0';
        snprintf(back, sizeof back, "%s%s%s", a->name, named ? "@" : "",
                 named ? strstr(a->url, "://") + 3 : a->url);
        require(inventory_parse(back, 1, &again, NULL) == ERR_OK && again.n == 1);
        require(strcmp(again.agents[0].url, a->url) == 0);
        require(strcmp(again.agents[0].address, a->address) == 0);
        inventory_clear(&again);
    }
    inventory_clear(&inv);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const parsers[])(const char *) = {fuzz_duration, fuzz_rate, fuzz_count,
                                                    fuzz_inventory};
    if (size == 0)
        return 0;
    char *text = mem_dup(data + 1, size - 1);
    parsers[data[0] % 4](text);
    mem_free(text);
    return 0;
}
