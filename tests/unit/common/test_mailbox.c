/* SPDX-License-Identifier: MIT */
#include "common/mailbox.h"

#include <dirent.h>
#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"

#define SENDERS 4
#define LETTERS 20000

struct note {
    struct letter letter; /* kind = sender */
    int number;
};

struct sender {
    struct mailbox *box;
    struct note *notes;
    uint64_t rng;
};

struct receiver {
    struct loop *loop;
    int next[SENDERS]; /* number expected from each */
    int total;
    int want;
};

static struct loop *open_loop(void)
{
    struct loop *l = NULL;
    struct errmsg msg = {{0}};
    ck_assert_msg(loop_new(&l, &msg) == ERR_OK, "%s", msg.text);
    return l;
}

static void received(void *arg, struct letter *l)
{
    struct receiver *r = arg;
    struct note *n = (struct note *)l;
    ck_assert_int_eq(n->number, r->next[l->kind]);
    r->next[l->kind]++;
    if (++r->total == r->want)
        loop_stop(r->loop);
}

static void *send_all(void *arg)
{
    struct sender *s = arg;
    for (int i = 0; i < LETTERS; i++) {
        mailbox_post(s->box, &s->notes[i].letter);
        if (check_below(&s->rng, 100) == 0) /* now and then the queue runs empty */
            clock_sleep_until(clock_mono_ns() + check_below(&s->rng, 400) * NS_PER_US);
    }
    return NULL;
}

static void give_up(void *arg)
{
    loop_stop(arg);
}

/* Nothing lost, nothing twice, in order per sender, while all post at once. */
START_TEST(test_many_senders)
{
    struct receiver r = {.loop = open_loop(), .want = SENDERS * LETTERS};
    struct mailbox *box = NULL;
    ck_assert_int_eq(mailbox_new(r.loop, received, &r, &box, NULL), ERR_OK);
    struct sender s[SENDERS];
    pthread_t thread[SENDERS];
    for (int i = 0; i < SENDERS; i++) {
        s[i] = (struct sender){.box = box, .rng = check_seed() + (uint64_t)i};
        s[i].notes = mem_calloc(LETTERS, sizeof *s[i].notes);
        for (int j = 0; j < LETTERS; j++)
            s[i].notes[j] = (struct note){.letter.kind = i, .number = j};
        ck_assert_int_eq(pthread_create(&thread[i], NULL, send_all, &s[i]), 0);
    }
    struct loop_timer *limit = loop_timer_new(r.loop, give_up, r.loop);
    loop_timer_at(limit, clock_mono_ns() + 30 * NS_PER_SEC);
    loop_run(r.loop);
    for (int i = 0; i < SENDERS; i++) {
        pthread_join(thread[i], NULL);
        ck_assert_int_eq(r.next[i], LETTERS);
        mem_free(s[i].notes);
    }
    loop_timer_free(limit);
    mailbox_free(box);
    loop_free(r.loop);
}
END_TEST

START_TEST(test_free_hands_out_what_is_queued)
{
    struct receiver r = {.loop = open_loop()};
    struct mailbox *box = NULL;
    struct note n[3] = {{.number = 0}, {.number = 1}, {.number = 2}};
    ck_assert_int_eq(mailbox_new(r.loop, received, &r, &box, NULL), ERR_OK);
    for (int i = 0; i < 3; i++)
        mailbox_post(box, &n[i].letter);
    mailbox_free(box);
    ck_assert_int_eq(r.total, 3);
    mailbox_free(NULL);
    loop_free(r.loop);
}
END_TEST

/* The first letter into an empty queue wakes the loop, each time and whatever its kind. */
START_TEST(test_each_first_letter_wakes)
{
    struct receiver r = {.loop = open_loop()};
    struct mailbox *box = NULL;
    struct note n[4] = {
        {.letter.kind = 0}, {.letter.kind = 1}, {.letter.kind = 2}, {.letter.kind = 3}};
    ck_assert_int_eq(mailbox_new(r.loop, received, &r, &box, NULL), ERR_OK);
    for (int i = 0; i < 40; i++) {
        n[i % 4].number = i / 4;
        mailbox_post(box, &n[i % 4].letter);
        loop_turn(r.loop, 0);
        ck_assert_int_eq(r.total, i + 1);
    }
    mailbox_free(box);
    loop_free(r.loop);
}
END_TEST

struct closer {
    struct mailbox *box;
    int seen;
};

static void close_on_second(void *arg, struct letter *l)
{
    struct closer *c = arg;
    c->seen++;
    if (l->kind == 1) {
        mailbox_free(c->box);
        c->box = NULL;
    }
}

/* The receiver may close in its own callback; the rest of the batch is handed out first. */
START_TEST(test_free_inside_the_callback)
{
    struct closer c = {0};
    struct loop *loop = open_loop();
    ck_assert_int_eq(mailbox_new(loop, close_on_second, &c, &c.box, NULL), ERR_OK);
    struct letter l[4] = {{.kind = 0}, {.kind = 1}, {.kind = 2}, {.kind = 3}};
    for (int i = 0; i < 4; i++)
        mailbox_post(c.box, &l[i]);
    loop_turn(loop, 1);
    ck_assert_ptr_null(c.box);
    ck_assert_int_eq(c.seen, 4);
    loop_free(loop);
}
END_TEST

struct echo {
    struct mailbox *box;
    struct letter letter;
    int left;
};

static void post_again(void *arg, struct letter *l)
{
    struct echo *e = arg;
    if (--e->left > 0)
        mailbox_post(e->box, l);
}

/* A letter posted from the callback comes in a later turn: one batch cannot hold the loop. */
START_TEST(test_post_from_the_callback)
{
    struct echo e = {.left = 100};
    struct loop *loop = open_loop();
    ck_assert_int_eq(mailbox_new(loop, post_again, &e, &e.box, NULL), ERR_OK);
    mailbox_post(e.box, &e.letter);
    int turns = 0;
    for (; e.left > 0 && turns < 1000; turns++)
        loop_turn(loop, 1);
    ck_assert_int_eq(turns, 100);
    mailbox_free(e.box);
    loop_free(loop);
}
END_TEST

#define BOXES 50

struct street {
    struct mailbox *boxes[BOXES];
    size_t seen[BOXES];
};

struct house {
    struct street *street;
    size_t number;
};

/* Every third one frees itself and the next two, whose letters are still waiting. */
static void take_neighbours(void *arg, struct letter *l)
{
    struct house *h = arg;
    struct street *s = h->street;
    (void)l;
    s->seen[h->number]++;
    for (size_t k = h->number; k < h->number + 3 && h->number % 3 == 0 && k < BOXES; k++) {
        struct mailbox *box = s->boxes[k];
        s->boxes[k] = NULL;
        mailbox_free(box);
    }
}

static int descriptors(void)
{
    int n = 0;
    DIR *open_now = opendir("/proc/self/fd");
    ck_assert_ptr_nonnull(open_now);
    while (readdir(open_now) != NULL)
        n++;
    closedir(open_now);
    return n;
}

/* Mailboxes of a loop cost one descriptor and one wake-up, and may free each other. */
START_TEST(test_many_boxes_of_a_loop)
{
    struct street s = {0};
    struct house houses[BOXES];
    struct letter letters[BOXES] = {{.kind = 0}};
    struct loop *loop = open_loop();
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < BOXES; i++) {
            houses[i] = (struct house){&s, i};
            s.seen[i] = 0;
            ck_assert_int_eq(mailbox_new(loop, take_neighbours, &houses[i], &s.boxes[i], NULL),
                             ERR_OK);
        }
        int before = descriptors();
        for (size_t i = 0; i < BOXES; i++)
            mailbox_post(s.boxes[i], &letters[i]);
        loop_turn(loop, 1);
        for (size_t i = 0; i < BOXES; i++) {
            ck_assert_uint_eq(s.seen[i], 1);
            ck_assert_ptr_null(s.boxes[i]);
        }
        ck_assert_int_eq(descriptors(), before - 1); /* all of them had the one */
    }
    loop_free(loop);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("mailbox");
    TCase *t = tcase_create("mailbox");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_many_senders);
    tcase_add_test(t, test_each_first_letter_wakes);
    tcase_add_test(t, test_free_hands_out_what_is_queued);
    tcase_add_test(t, test_free_inside_the_callback);
    tcase_add_test(t, test_post_from_the_callback);
    tcase_add_test(t, test_many_boxes_of_a_loop);
    suite_add_tcase(s, t);
    return check_main(s);
}
