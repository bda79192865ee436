/* SPDX-License-Identifier: MIT */
#include "agent/client/netaddr.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "tests/lib/check_main.h"

/* The socket address of a literal. */
static struct sockaddr_storage address(const char *text)
{
    struct sockaddr_storage sa = {0};
    struct sockaddr_in *four = (struct sockaddr_in *)&sa;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&sa;
    if (inet_pton(AF_INET, text, &four->sin_addr) == 1) {
        sa.ss_family = AF_INET;
        four->sin_port = htons(80);
    } else {
        ck_assert_msg(inet_pton(AF_INET6, text, &six->sin6_addr) == 1, "%s", text);
        sa.ss_family = AF_INET6;
        six->sin6_port = htons(80);
    }
    return sa;
}

static bool reaches(const char *text, const char *other)
{
    struct sockaddr_storage sa = address(text);
    struct netaddr reached[NETADDR_REACHES_MAX];
    char buf[NETADDR_TEXT];
    size_t n = netaddr_reaches((const struct sockaddr *)&sa, reached);
    ck_assert_uint_ge(n, 1);
    ck_assert_uint_le(n, NETADDR_REACHES_MAX);
    for (size_t i = 0; i < n; i++)
        if (strcmp(netaddr_text(&reached[i], buf), other) == 0)
            return true;
    return false;
}

static const struct {
    const char *address, *reaches;
} hidden[] = {
    {"169.254.169.254", "169.254.169.254"},
    {"::ffff:169.254.169.254", "169.254.169.254"},         /* mapped */
    {"::169.254.169.254", "169.254.169.254"},              /* compatible */
    {"::ffff:0:169.254.169.254", "169.254.169.254"},       /* SIIT */
    {"64:ff9b::169.254.169.254", "169.254.169.254"},       /* NAT64 */
    {"64:ff9b:1::169.254.169.254", "169.254.169.254"},     /* NAT64, a site's own, /96 */
    {"64:ff9b:1:a9fe:a9:fe00::", "169.254.169.254"},       /* the same, /48 */
    {"2002:a9fe:a9fe::1", "169.254.169.254"},              /* 6to4 */
    {"2001:0:1:2:3:4:5601:5601", "169.254.169.254"},       /* Teredo: inverted */
    {"2001:db8::5efe:169.254.169.254", "169.254.169.254"}, /* ISATAP */
    {"fe80::200:5efe:169.254.169.254", "169.254.169.254"}, /* ISATAP, universal */
    {"64:ff9b:1::200:5efe:169.254.169.254", "169.254.169.254"},
    {"0.0.0.0", "127.0.0.1"},
    {"::", "::1"},
    {"::ffff:0.0.0.0", "127.0.0.1"},
    {"64:ff9b::127.0.0.1", "127.0.0.1"},
    {"2001:db8::1", "2001:db8::1"},
};

START_TEST(test_what_an_address_reaches)
{
    ck_assert_msg(reaches(hidden[_i].address, hidden[_i].reaches), "%s", hidden[_i].address);
}
END_TEST

START_TEST(test_a_plain_address_reaches_itself_only)
{
    static const char *const plain[] = {"192.0.2.7", "::1", "2001:db8::1", "fd00::1", "127.0.0.1"};
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        struct sockaddr_storage sa = address(plain[i]);
        struct netaddr reached[NETADDR_REACHES_MAX];
        ck_assert_msg(netaddr_reaches((const struct sockaddr *)&sa, reached) == 1, "%s", plain[i]);
        ck_assert_uint_eq(netaddr_port((const struct sockaddr *)&sa), 80);
    }
    struct sockaddr other = {.sa_family = AF_UNIX};
    struct netaddr reached[NETADDR_REACHES_MAX];
    ck_assert_uint_eq(netaddr_reaches(&other, reached), 1);
    ck_assert_int_eq(reached[0].family, 0);
}
END_TEST

static struct netaddr random_address(uint64_t *rng, int family)
{
    struct netaddr a = {.family = family};
    for (size_t i = 0; i < (family == AF_INET ? 4 : 16); i++)
        a.bytes[i] = (uint8_t)check_random(rng);
    return a;
}

static unsigned common_bits(const struct netaddr *a, const struct netaddr *b, unsigned most)
{
    unsigned n = 0;
    while (n < most && ((a->bytes[n / 8] ^ b->bytes[n / 8]) & (0x80u >> n % 8)) == 0)
        n++;
    return n;
}

/* A prefix covers an address exactly when they share its bits, one by one. */
START_TEST(test_covers_is_bit_by_bit)
{
    uint64_t rng = check_seed();
    for (int round = 0; round < 20000; round++) {
        int family = check_below(&rng, 2) == 0 ? AF_INET : AF_INET6;
        unsigned most = family == AF_INET ? 32 : 128;
        struct prefix p = {random_address(&rng, family), (unsigned)check_below(&rng, most + 1)};
        struct netaddr a = p.addr, b = random_address(&rng, family);
        unsigned keep = (unsigned)check_below(&rng, most + 1);
        for (unsigned i = keep; i < most; i++) /* the same up to `keep`, then what comes */
            a.bytes[i / 8] = (uint8_t)((a.bytes[i / 8] & ~(0x80u >> i % 8)) |
                                       (b.bytes[i / 8] & (0x80u >> i % 8)));
        CHECK_MUST(prefix_covers(&p, &a) == (common_bits(&p.addr, &a, most) >= p.bits));
        struct netaddr other = random_address(&rng, family == AF_INET ? AF_INET6 : AF_INET);
        CHECK_MUST(!prefix_covers(&p, &other));
    }
}
END_TEST

START_TEST(test_text_and_back)
{
    uint64_t rng = check_seed();
    for (int round = 0; round < 5000; round++) {
        int family = check_below(&rng, 2) == 0 ? AF_INET : AF_INET6;
        struct prefix p = {random_address(&rng, family), 0}, back;
        p.bits = (unsigned)check_below(&rng, family == AF_INET ? 33 : 129);
        char text[NETADDR_TEXT];
        if (family == AF_INET6)
            p.addr.bytes[0] |= 0x20; /* no mapped one */
        ck_assert_int_eq(prefix_parse(prefix_text(&p, text), &back), ERR_OK);
        ck_assert_msg(memcmp(&p, &back, sizeof p) == 0, "%s", text);
    }
}
END_TEST

START_TEST(test_parse)
{
    static const char *const bad[] = {"",           "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/8x",
                                      "::/129",     "10.0.0/8",    "name",      "1.2.3.4/-1",
                                      "1.2.3.4/ 8", "/8",          "fe80::1%lo"};
    struct prefix p;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(prefix_parse(bad[i], &p) == ERR_INVALID, "%s", bad[i]);
    char text[NETADDR_TEXT];
    ck_assert_int_eq(prefix_parse("::ffff:10.0.0.0/104", &p), ERR_OK);
    ck_assert_str_eq(prefix_text(&p, text), "10.0.0.0/8");
    ck_assert(!prefix_has_host_bits(&p));
    ck_assert_int_eq(prefix_parse("10.0.0.1/31", &p), ERR_OK);
    ck_assert(prefix_has_host_bits(&p));
    ck_assert_int_eq(prefix_parse("10.0.0.1", &p), ERR_OK);
    ck_assert_uint_eq(p.bits, 32);
}
END_TEST

static const struct {
    const char *address;
    bool reserved, private;
} kinds[] = {
    {"169.253.255.255", false, false},
    {"169.254.0.0", true, true},
    {"169.254.169.254", true, true},
    {"169.255.0.0", false, false},
    {"fe80::1", true, true},
    {"febf::1", true, true},
    {"fec0::1", false, true},
    {"fd00:ec2::254", true, true},
    {"fd00:ec2::253", false, true},
    {"fd20:ce::254", true, true},
    {"100.100.100.200", true, true},
    {"100.100.100.201", false, true},
    {"168.63.129.16", true, true},
    {"168.63.129.17", false, false},
    {"192.0.0.192", true, true},
    {"10.0.0.1", false, true},
    {"172.15.255.255", false, false},
    {"172.16.0.0", false, true},
    {"172.31.255.255", false, true},
    {"172.32.0.0", false, false},
    {"192.168.1.1", false, true},
    {"192.169.0.0", false, false},
    {"127.0.0.1", false, true},
    {"0.0.0.0", false, true},
    {"223.255.255.255", false, false},
    {"224.0.0.1", false, true},
    {"255.255.255.255", false, true},
    {"::1", false, true},
    {"::", false, true},
    {"fc00::1", false, true},
    {"ff02::1", false, true},
    {"2001:db8::1", false, false},
    {"93.184.216.34", false, false},
};

START_TEST(test_kinds)
{
    struct sockaddr_storage sa = address(kinds[_i].address);
    struct netaddr reached[NETADDR_REACHES_MAX];
    netaddr_reaches((const struct sockaddr *)&sa, reached);
    ck_assert_msg((netaddr_reserved(&reached[0]) != NULL) == kinds[_i].reserved, "%s",
                  kinds[_i].address);
    ck_assert_msg(netaddr_private(&reached[0]) == kinds[_i].private, "%s", kinds[_i].address);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("netaddr");
    TCase *t = tcase_create("netaddr");
    tcase_add_loop_test(t, test_what_an_address_reaches, 0, sizeof hidden / sizeof hidden[0]);
    tcase_add_test(t, test_a_plain_address_reaches_itself_only);
    tcase_add_test(t, test_covers_is_bit_by_bit);
    tcase_add_test(t, test_text_and_back);
    tcase_add_test(t, test_parse);
    tcase_add_loop_test(t, test_kinds, 0, sizeof kinds / sizeof kinds[0]);
    suite_add_tcase(s, t);
    return check_main(s);
}
