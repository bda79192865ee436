/* SPDX-License-Identifier: MIT */
#include "controller/run/journal.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/host.h"
#include "common/mem.h"
#include "controller/run/journal_list.h"
#include "tests/lib/check_main.h"
#include "tests/lib/process.h"

#define AGENTS  3
#define RECORDS 40
#define SIZE    600

static char folder[64];
static uint64_t rng;

static void set_up(void)
{
    folder_make(folder);
    rng = check_seed();
}

static void tear_down(void)
{
    struct process p;
    const char *args[] = {"-rf", folder, NULL};
    ck_assert_int_eq(process_run(&p, "/bin/rm", args, 10000), 0);
    process_end(&p);
}

/* --- a run ---------------------------------------------------------------------------------- */

static const uint8_t plan[] = "a plan";

static void make_run(struct journal_run *r, bool armed)
{
    *r = (struct journal_run){
        .pid = (uint32_t)getpid(),
        .wall_ns = check_random(&rng),
        .boot_id = "boot",
        .name = "night",
        .patience = {.lease_ns = 3 * NS_PER_SEC, .on_loss = COORD_LOSS_REDISTRIBUTE},
        .plan = {plan, sizeof plan},
        .redact = {plan, 3},
        .abort_on = {plan, 2}};
    for (size_t i = 0; i < MSG_ID_LEN; i++) {
        r->run[i] = (uint8_t)check_random(&rng);
        r->owner[i] = (uint8_t)check_random(&rng);
    }
    for (uint32_t i = 0; i < AGENTS; i++) {
        char text[32];
        snprintf(text, sizeof text, "127.0.0.1:%u", 7400 + i);
        inventory_add(&r->inventory, text, text, i + 1);
    }
    if (!armed)
        return;
    r->t0_ns = 1 + check_random(&rng) / 2;
    r->t0_wall_ns = check_random(&rng);
    r->agents = mem_calloc(AGENTS, sizeof *r->agents);
    for (uint32_t i = 0; i < AGENTS; i++) {
        struct coord_resume_agent *a = &r->agents[i];
        *a = (struct coord_resume_agent){.armed = i != 1, .same_clock = i == 0, .name = "a"};
        a->part = (struct plan_part){AGENTS, i, 1, 4, 2, 9};
        a->offset_ns = (int64_t)check_random(&rng);
        a->error_ns = check_random(&rng);
        a->at_ns = check_random(&rng);
        a->lost_after_ns = check_random(&rng);
        a->taken_over_from = check_random(&rng);
        a->reshare_command = check_random(&rng);
        a->reshare = (struct plan_part){.total = AGENTS, .first = i, .weight = 1};
        memset(a->epoch, (int)i + 1, sizeof a->epoch);
    }
}

static bool same_blob(struct wire_blob a, struct wire_blob b)
{
    return a.len == b.len && memcmp(a.data, b.data, a.len) == 0;
}

static void check_same(const struct journal_run *a, const struct journal_run *b)
{
    ck_assert_mem_eq(a->owner, b->owner, MSG_ID_LEN);
    ck_assert_mem_eq(a->run, b->run, MSG_ID_LEN);
    ck_assert_str_eq(a->boot_id, b->boot_id);
    ck_assert_str_eq(a->name, b->name);
    ck_assert(a->pid == b->pid && a->wall_ns == b->wall_ns && a->t0_ns == b->t0_ns);
    ck_assert_uint_eq(a->t0_wall_ns, b->t0_wall_ns);
    ck_assert_uint_eq(a->patience.lease_ns, b->patience.lease_ns);
    ck_assert_int_eq(a->patience.on_loss, b->patience.on_loss);
    ck_assert(same_blob(a->plan, b->plan) && same_blob(a->redact, b->redact) &&
              same_blob(a->abort_on, b->abort_on));
    ck_assert_uint_eq(a->inventory.n, b->inventory.n);
    ck_assert_mem_eq(a->inventory.agents, b->inventory.agents,
                     a->inventory.n * sizeof *a->inventory.agents);
    ck_assert((a->agents == NULL) == (b->agents == NULL));
    if (a->agents != NULL)
        ck_assert_mem_eq(a->agents, b->agents, AGENTS * sizeof *a->agents);
}

START_TEST(test_run_round_trip)
{
    struct journal_run r, back;
    uint8_t *bytes;
    size_t len;
    make_run(&r, _i);
    ck_assert_int_eq(journal_run_encode(&r, &bytes, &len), ERR_OK);
    ck_assert_int_eq(journal_run_decode(bytes, len, &back), ERR_OK);
    check_same(&r, &back);
    journal_run_clear(&back);
    for (size_t cut = 0; cut < len; cut++) {
        ck_assert_int_ne(journal_run_decode(bytes, cut, &back), ERR_OK);
        ck_assert(back.inventory.agents == NULL && back.bytes == NULL);
    }
    mem_free(bytes);
    journal_run_clear(&r);
}
END_TEST

/* What cannot have been written by a hammer-ctl is not believed. */
START_TEST(test_run_contradictions)
{
    struct journal_run r, back;
    uint8_t *bytes;
    size_t len;
    for (int i = 0; i < 4; i++) {
        make_run(&r, true);
        if (i == 0)
            r.patience.lease_ns = 61 * NS_PER_SEC;
        else if (i == 1)
            r.t0_ns = 0;
        else if (i == 2)
            r.inventory.agents[0].weight = 0;
        else
            r.agents[2].part.first = AGENTS;
        ck_assert_int_eq(journal_run_encode(&r, &bytes, &len), ERR_OK);
        ck_assert_msg(journal_run_decode(bytes, len, &back) == ERR_CORRUPT, "%d", i);
        mem_free(bytes);
        journal_run_clear(&r);
    }
}
END_TEST

/* --- records -------------------------------------------------------------------------------- */

struct record {
    size_t agent, len;
    uint8_t bytes[SIZE];
};

struct records {
    struct record want[RECORDS];
    size_t n, seen;
};

static void make_records(struct records *r)
{
    *r = (struct records){.n = 1 + check_below(&rng, RECORDS)};
    for (size_t i = 0; i < r->n; i++) {
        r->want[i].agent = check_below(&rng, AGENTS);
        r->want[i].len = 1 + check_below(&rng, SIZE);
        for (size_t k = 0; k < r->want[i].len; k++)
            r->want[i].bytes[k] = (uint8_t)check_random(&rng);
    }
}

static void on_record(void *arg, size_t agent, const uint8_t *bytes, size_t len)
{
    struct records *r = arg;
    ck_assert_uint_lt(r->seen, r->n);
    const struct record *want = &r->want[r->seen++];
    ck_assert_uint_eq(agent, want->agent);
    ck_assert_uint_eq(len, want->len);
    ck_assert_mem_eq(bytes, want->bytes, len);
}

static void append(struct journal *j, const struct record *r)
{
    struct errmsg msg = {{0}};
    ck_assert_msg(journal_append(j, r->agent, r->bytes, r->len, &msg) == ERR_OK, "%s", msg.text);
}

static const char *path_of(const struct journal_run *r, const char *file)
{
    static char path[256];
    char name[2 * MSG_ID_LEN + 1];
    host_hex(r->run, MSG_ID_LEN, name);
    snprintf(path, sizeof path, "%s/%s%s%s", folder, name, file[0] != '\0' ? "/" : "", file);
    return path;
}

static struct journal *take(const struct journal_run *r)
{
    struct errmsg msg = {{0}};
    struct journal *j = NULL;
    struct journal_run back;
    char name[2 * MSG_ID_LEN + 1];
    host_hex(r->run, MSG_ID_LEN, name);
    enum err e = journal_take(folder, name, &j, &back, &msg);
    ck_assert_msg(e == ERR_OK, "%s", msg.text);
    check_same(r, &back);
    journal_run_clear(&back);
    return j;
}

static void replay(struct journal *j, struct records *r, size_t want)
{
    struct errmsg msg = {{0}};
    r->seen = 0;
    enum err e = journal_replay(j, AGENTS, on_record, r, &msg);
    ck_assert_msg(e == ERR_OK, "%s", msg.text);
    ck_assert_uint_eq(r->seen, want);
}

static void check_mode(const char *path, mode_t mode)
{
    struct stat st;
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, mode);
}

/* Written by one, read and gone on with by the next, gone after the end. */
START_TEST(test_hand_over)
{
    struct journal_run r;
    struct records rec;
    struct journal *j;
    struct errmsg msg = {{0}};
    make_run(&r, false);
    make_records(&rec);
    enum err e = journal_create(folder, &r, &j, &msg);
    ck_assert_msg(e == ERR_OK, "%s", msg.text);
    check_mode(path_of(&r, ""), 0700);
    check_mode(path_of(&r, "run"), 0600);
    check_mode(path_of(&r, "journal"), 0600);
    size_t half = rec.n / 2;
    for (size_t i = 0; i < half; i++)
        append(j, &rec.want[i]);
    struct journal_run armed;
    make_run(&armed, true);
    memcpy(armed.run, r.run, sizeof r.run);
    ck_assert_int_eq(journal_save(j, &armed, &msg), ERR_OK);
    check_mode(path_of(&r, "run"), 0600);
    journal_close(j, true);

    j = take(&armed);
    replay(j, &rec, half);
    for (size_t i = half; i < rec.n; i++)
        append(j, &rec.want[i]);
    journal_close(j, true);
    j = take(&armed);
    replay(j, &rec, rec.n);
    journal_close(j, false);
    ck_assert_int_ne(access(path_of(&r, ""), F_OK), 0);
    journal_run_clear(&armed);
    journal_run_clear(&r);
}
END_TEST

static size_t whole_records(const struct records *r, size_t bytes)
{
    size_t n = 0, at = 0;
    while (n < r->n && at + 12 + r->want[n].len <= bytes)
        at += 12 + r->want[n++].len;
    return n;
}

/* Wherever the end was torn off, what is whole is there, and the next record follows it. */
START_TEST(test_torn)
{
    struct journal_run r;
    struct records rec;
    struct journal *j;
    struct errmsg msg = {{0}};
    struct stat st;
    make_run(&r, true);
    make_records(&rec);
    ck_assert_int_eq(journal_create(folder, &r, &j, &msg), ERR_OK);
    for (size_t i = 0; i < rec.n; i++)
        append(j, &rec.want[i]);
    journal_close(j, true);
    ck_assert_int_eq(stat(path_of(&r, "journal"), &st), 0);
    size_t left = (size_t)st.st_size;
    while (left > 0) {
        left -= 1 + check_below(&rng, left < 300 ? left : 300);
        ck_assert_int_eq(truncate(path_of(&r, "journal"), (off_t)left), 0);
        size_t whole = whole_records(&rec, left);
        j = take(&r);
        replay(j, &rec, whole);
        append(j, &rec.want[whole]);
        ck_assert_int_eq(journal_flush(j, &msg), ERR_OK);
        replay(j, &rec, whole + 1);
        journal_close(j, true);
        ck_assert_int_eq(truncate(path_of(&r, "journal"), (off_t)left), 0);
    }
    journal_run_clear(&r);
}
END_TEST

/* One wrong bit ends the reading there; nothing wrong is handed out (on_record compares). */
START_TEST(test_damaged)
{
    struct journal_run r;
    struct records rec;
    struct journal *j;
    struct errmsg msg = {{0}};
    make_run(&r, true);
    make_records(&rec);
    ck_assert_int_eq(journal_create(folder, &r, &j, &msg), ERR_OK);
    for (size_t i = 0; i < rec.n; i++)
        append(j, &rec.want[i]);
    journal_close(j, true);
    struct stat st;
    ck_assert_int_eq(stat(path_of(&r, "journal"), &st), 0);
    size_t at = check_below(&rng, (uint64_t)st.st_size);
    int fd = open(path_of(&r, "journal"), O_RDWR);
    uint8_t byte;
    ck_assert_int_eq(pread(fd, &byte, 1, (off_t)at), 1);
    byte ^= (uint8_t)(1u << check_below(&rng, 8));
    ck_assert_int_eq(pwrite(fd, &byte, 1, (off_t)at), 1);
    close(fd);
    j = take(&r);
    size_t whole = whole_records(&rec, at), bytes = 0;
    replay(j, &rec, whole);
    for (size_t i = 0; i < whole; i++)
        bytes += 12 + rec.want[i].len;
    ck_assert_uint_eq(journal_dropped(j), (uint64_t)st.st_size - bytes);
    replay(j, &rec, whole);
    ck_assert_uint_eq(journal_dropped(j), 0); /* they are gone */
    journal_close(j, true);
    journal_run_clear(&r);
}
END_TEST

/* --- who has it ----------------------------------------------------------------------------- */

START_TEST(test_lock)
{
    struct journal_run r, back;
    struct journal *j, *other;
    struct errmsg msg = {{0}};
    struct journal_list l;
    char name[2 * MSG_ID_LEN + 1], pid[32];
    make_run(&r, true);
    host_hex(r.run, MSG_ID_LEN, name);
    ck_assert_int_eq(journal_create(folder, &r, &j, &msg), ERR_OK);
    ck_assert_int_eq(journal_take(folder, name, &other, &back, &msg), ERR_BUSY);
    snprintf(pid, sizeof pid, "pid %u", (unsigned)getpid());
    ck_assert_msg(strstr(msg.text, pid) != NULL, "%s", msg.text);
    journal_run_clear(&back);
    journal_list_read(folder, &l);
    ck_assert(l.n == 1 && l.entries[0].running && l.entries[0].err == ERR_OK);
    journal_list_clear(&l);
    journal_close(j, true);
    journal_list_read(folder, &l);
    ck_assert(l.n == 1 && !l.entries[0].running);
    journal_list_clear(&l);
    journal_close(take(&r), true);
    journal_run_clear(&r);
}
END_TEST

START_TEST(test_find)
{
    struct errmsg msg = {{0}};
    struct journal_list l;
    struct journal_run r;
    size_t which;
    char name[2 * MSG_ID_LEN + 1];
    journal_list_read(folder, &l);
    ck_assert_int_eq(journal_list_find(&l, "4f", &which, &msg), ERR_NOT_FOUND);
    for (size_t i = 0; i < 3; i++) {
        struct journal *j;
        make_run(&r, false);
        r.run[0] = 0x4f;
        r.run[1] = (uint8_t)(0x10 + i / 2);
        r.run[2] = (uint8_t)i;
        r.wall_ns = i;
        ck_assert_int_eq(journal_create(folder, &r, &j, &msg), ERR_OK);
        journal_close(j, true);
        host_hex(r.run, MSG_ID_LEN, name);
        journal_run_clear(&r);
    }
    journal_list_read(folder, &l);
    ck_assert_uint_eq(l.n, 3);
    ck_assert_int_eq(journal_list_find(&l, "4f11", &which, &msg), ERR_OK);
    ck_assert_str_eq(l.entries[which].name, name);
    ck_assert_uint_eq(which, 0); /* the latest comes first */
    ck_assert_int_eq(journal_list_find(&l, name, &which, &msg), ERR_OK);
    ck_assert_int_eq(journal_list_find(&l, "4f1", &which, &msg), ERR_INVALID);
    ck_assert_msg(strstr(msg.text, l.entries[0].name) == NULL, "%s", msg.text);
    ck_assert_msg(strstr(msg.text, "3 runs begin so: 4f11") != NULL, "%s", msg.text);
    ck_assert_int_eq(journal_list_find(&l, "5", &which, &msg), ERR_NOT_FOUND);
    ck_assert_msg(strstr(msg.text, "there are 4f11") != NULL, "%s", msg.text);
    journal_list_clear(&l);
    journal_list_prune(folder, clock_wall_ns());
    journal_list_read(folder, &l);
    ck_assert_uint_eq(l.n, 3);
    journal_list_clear(&l);
    journal_list_prune(folder, clock_wall_ns() + JOURNAL_OLD_NS + NS_PER_SEC);
    journal_list_read(folder, &l);
    ck_assert_uint_eq(l.n, 0);
    journal_list_clear(&l);
}
END_TEST

/* --- many records at a time ------------------------------------------------------------------ */

#define BIG     (300u << 10) /* more than is collected */
#define COLLECT (128u << 10)

struct sizes {
    size_t n, want[64];
};

static void on_size(void *arg, size_t agent, const uint8_t *bytes, size_t len)
{
    struct sizes *s = arg;
    ck_assert_uint_eq(len, s->want[s->n]);
    ck_assert_uint_eq(agent, s->n % AGENTS);
    ck_assert_uint_eq(bytes[0], s->n);
    ck_assert_uint_eq(bytes[len - 1], len == 1 ? s->n : 7);
    s->n++;
}

static uint64_t size_of(const char *path)
{
    struct stat st;
    ck_assert_int_eq(stat(path, &st), 0);
    return (uint64_t)st.st_size;
}

/* Large and small ones, in order; no more than a bounded part is not on disk, nothing after a
 * flush. */
START_TEST(test_collected)
{
    struct journal_run r;
    struct journal *j;
    struct errmsg msg = {{0}};
    struct sizes sizes = {0};
    uint8_t *bytes = mem_calloc(BIG, 1);
    uint64_t all = 0;
    make_run(&r, true);
    ck_assert_int_eq(journal_create(folder, &r, &j, &msg), ERR_OK);
    for (size_t i = 0; i < 64; i++) {
        uint64_t most = i % 8 == 7 ? BIG : i % 8 == 3 ? COLLECT : 20000;
        size_t len = sizes.want[i] = 1 + (size_t)check_below(&rng, most);
        bytes[len - 1] = 7;
        bytes[0] = (uint8_t)i;
        ck_assert_int_eq(journal_append(j, i % AGENTS, bytes, len, &msg), ERR_OK);
        bytes[len - 1] = 0;
        all += 12 + len;
        uint64_t written = size_of(path_of(&r, "journal"));
        ck_assert(written <= all && all - written <= COLLECT);
        if (check_below(&rng, 10) == 0) {
            ck_assert_int_eq(journal_flush(j, &msg), ERR_OK);
            ck_assert_uint_eq(size_of(path_of(&r, "journal")), all);
        }
    }
    journal_close(j, true);
    j = take(&r);
    ck_assert_int_eq(journal_replay(j, AGENTS, on_size, &sizes, &msg), ERR_OK);
    ck_assert_uint_eq(sizes.n, 64);
    journal_close(j, false);
    mem_free(bytes);
    journal_run_clear(&r);
}
END_TEST

/* --- no room -------------------------------------------------------------------------------- */

static void limit_file_size(rlim_t bytes)
{
    struct rlimit l = {bytes, RLIM_INFINITY};
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &l), 0);
}

/* Said once, then silence; and no half of a journal stays. */
START_TEST(test_no_room)
{
    struct journal_run r;
    struct journal *j;
    struct errmsg msg = {{0}};
    uint8_t bytes[SIZE] = {1};
    make_run(&r, true);
    ck_assert_int_eq(journal_create(folder, &r, &j, &msg), ERR_OK);
    limit_file_size(5000);
    size_t written = 0;
    while (journal_append(j, 0, bytes, sizeof bytes, &msg) == ERR_OK &&
           journal_flush(j, &msg) == ERR_OK && written < 100)
        written++;
    ck_assert_uint_eq(written, 5000 / (SIZE + 12));
    ck_assert_msg(strstr(msg.text, "/journal: ") != NULL, "%s", msg.text);
    ck_assert_int_ne(access(path_of(&r, ""), F_OK), 0);
    ck_assert_int_eq(journal_append(j, 0, bytes, sizeof bytes, &msg), ERR_OK);
    ck_assert_int_eq(journal_flush(j, &msg), ERR_OK);
    ck_assert_int_eq(journal_save(j, &r, &msg), ERR_OK);
    ck_assert_int_ne(access(path_of(&r, ""), F_OK), 0);
    limit_file_size(RLIM_INFINITY);
    journal_close(j, false);
    journal_run_clear(&r);
}
END_TEST

/* Another one's journal is worth more than what could not be said in it. */
START_TEST(test_no_room_to_take_over)
{
    struct journal_run r;
    struct records rec;
    struct journal *j;
    struct errmsg msg = {{0}};
    make_run(&r, true);
    make_records(&rec);
    ck_assert_int_eq(journal_create(folder, &r, &j, &msg), ERR_OK);
    for (size_t i = 0; i < rec.n; i++)
        append(j, &rec.want[i]);
    journal_close(j, true);
    j = take(&r);
    limit_file_size(10);
    ck_assert_int_ne(journal_save(j, &r, &msg), ERR_OK);
    limit_file_size(RLIM_INFINITY);
    replay(j, &rec, rec.n);
    journal_close(j, true);
    journal_close(take(&r), false);
    journal_run_clear(&r);
}
END_TEST

START_TEST(test_folder)
{
    char buf[PATH_MAX];
    setenv("XDG_STATE_HOME", "/a", 1);
    setenv("HOME", "/tmp", 1);
    ck_assert(journal_folder(buf, sizeof buf));
    ck_assert_str_eq(buf, "/a/hammer/runs");
    ck_assert(!journal_folder(buf, 5));
    setenv("XDG_STATE_HOME", "a", 1);
    ck_assert(journal_folder(buf, sizeof buf));
    ck_assert_str_eq(buf, "/tmp/.local/state/hammer/runs");
    setenv("HOME", "/nonexistent", 1); /* a home is never made */
    ck_assert(!journal_folder(buf, sizeof buf));
    unsetenv("XDG_STATE_HOME");
    unsetenv("HOME");
    ck_assert(!journal_folder(buf, sizeof buf));
}
END_TEST

START_TEST(test_cannot_create)
{
    struct journal_run r;
    struct journal *j = NULL;
    struct errmsg msg = {{0}};
    make_run(&r, false);
    ck_assert_int_eq(journal_create("/proc/none", &r, &j, &msg), ERR_SYSTEM);
    ck_assert_msg(strncmp(msg.text, "/proc/none/", 11) == 0, "%s", msg.text);
    ck_assert_ptr_null(j);
    journal_run_clear(&r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("journal");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 60);
    suite_add_tcase(s, t);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, test_run_round_trip, 0, 2);
    tcase_add_test(t, test_run_contradictions);
    tcase_add_loop_test(t, test_hand_over, 0, 10);
    tcase_add_test(t, test_torn);
    tcase_add_test(t, test_collected);
    tcase_add_loop_test(t, test_damaged, 0, 20);
    tcase_add_test(t, test_lock);
    tcase_add_test(t, test_find);
    tcase_add_test(t, test_no_room);
    tcase_add_test(t, test_no_room_to_take_over);
    tcase_add_test(t, test_folder);
    tcase_add_test(t, test_cannot_create);
    return check_main(s);
}
