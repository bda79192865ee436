/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_TEST_PEM_H
#define HAMMER_TESTS_TEST_PEM_H

/* A certificate and its key that are the same in every run, for encodings that are; nobody trusts
 * them. Certificates that work are test_pki's. */

static const char test_pem_key[] =
    "-----BEGIN PRIVATE KEY-----\n"
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg/ZXzu2Qge/KMRofv\n"
    "7gmdO/Bu/0ooUTWwCz9VlIf0Yo2hRANCAAR1WmAh/Iud9Xz++EYKWSrJovzQ9qMx\n"
    "pEGDt1lFiOuJDQnqPFpGtYf6AooCX8TheFVggeg7sPtwG3XuXdfgDIMG\n"
    "-----END PRIVATE KEY-----\n";

static const char test_pem_cert[] =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBdTCCARugAwIBAgIUXfFuCrGDMSOGwczOWhG+kykhmKowCgYIKoZIzj0EAwIw\n"
    "DzENMAsGA1UEAwwEdGVzdDAgFw0yNjExMzAxODM0NTNaGA8yMTI2MTEwNjE4MzQ1\n"
    "M1owDzENMAsGA1UEAwwEdGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABHVa\n"
    "YCH8i531fP74RgpZKsmi/ND2ozGkQYO3WUWI64kNCeo8Wka1h/oCigJfxOF4VWCB\n"
    "6Duw+3Abde5d1+AMgwajUzBRMB0GA1UdDgQWBBT2zbvlzF6L8ssGQ1beoGbeBH0s\n"
    "ZDAfBgNVHSMEGDAWgBT2zbvlzF6L8ssGQ1beoGbeBH0sZDAPBgNVHRMBAf8EBTAD\n"
    "AQH/MAoGCCqGSM49BAMCA0gAMEUCIC7diW8KG8JYLUci/yQLBNSc5kwa+rRwuEz8\n"
    "OO50lS3tAiEAjND4JAifIPU13oHTT0P83w++Pr2HI4O+Rui+f7etIA8=\n"
    "-----END CERTIFICATE-----\n";

#endif
