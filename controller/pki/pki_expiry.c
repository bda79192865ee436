/* SPDX-License-Identifier: MIT */
#include "controller/pki/pki_expiry.h"

#include <stdio.h>

#include "controller/pki/pki_cert.h"
#include "controller/pki/pki_index.h"

#define CERT_MAX 65536

bool pki_expiry_near(const char *what, int64_t not_after_s, int64_t now_s, struct errmsg *warning)
{
    char at[PKI_TIME_TEXT];
    int64_t days = pki_days_left(not_after_s, now_s);
    pki_time_text(not_after_s, at);
    if (now_s > not_after_s)
        errmsg_set(warning, ERR_OK, "%s expired on %s", what, at);
    else if (days < PKI_WARN_DAYS)
        errmsg_set(warning, ERR_OK, "%s expires in %d day%s (%s)", what, (int)days,
                   days == 1 ? "" : "s", at);
    else
        return false;
    return true;
}

bool pki_expiry_warning(const char *path, int64_t now_s, struct errmsg *warning)
{
    char text[CERT_MAX], what[400];
    struct pki_info info;
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return false;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    if (pki_cert_read(text, &info, NULL) != ERR_OK)
        return false;
    snprintf(what, sizeof what, "%.300s: the certificate of %s", path, info.name);
    return pki_expiry_near(what, info.not_after_s, now_s, warning);
}
