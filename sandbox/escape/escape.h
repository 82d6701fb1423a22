/*
 * escape: attempts to get out of a box, each made inside a finished one against things outside that
 * tell whether it came through, and made again where the protecting layer is off.
 *
 * A row is data: what is tried (a word for `headgate-box --probe`), which outcomes mean that it was
 * held, and what its negative control is. The rows lie in rows_*.c by family, what is done inside
 * in try_*.c (part of the launcher, since nothing else is sure to be in a box). Rows that need more
 * than a box around them have a stage of their own, also from outside this folder.
 *
 * An attempt is `contained` when its outcome is one of those and nothing outside changed, else
 * `escaped`; it is `degraded` when it came through a layer of which this host has less than the
 * whole, as the layer's own line says; and `untried` where it cannot be made here, with the reason.
 * A control proves the attempt when it comes out otherwise; where the kernel refuses it without the
 * layer too, that is said and the attempt counts as contained but not as proven.
 *
 * Blocks; single-threaded. Everything that is made lies in one folder of TMPDIR and is gone
 * afterwards; traffic stays on the loopback interface.
 */
#ifndef SANDBOX_ESCAPE_H
#define SANDBOX_ESCAPE_H

#include "runner/base/jx.h"
#include "sandbox/box.h"
#include "sandbox/escape/scene.h"

enum escape_control {
    ESCAPE_WITHOUT, /* a box without the layer and those of `also` */
    ESCAPE_ON_HOST, /* no box: the account of boxes tries it on the host */
    ESCAPE_NONE,    /* it is not tried: `why` */
};

struct escape_row;

/* One try of a row. The scene's values and the box are the row's to change until the try ends. */
struct escape_try {
    const struct escape_row *row;
    struct escape_scene *scene;
    unsigned without; /* layers left out of every box of this try */
    bool is_control, on_host;
    bool has_changed; /* something of the host */
};

/* What an outcome begins with when the try cannot be made on this host; the reason follows. */
#define ESCAPE_UNTRIED "untried: "
/* Make the try; *ret_outcome is what came of it, allocated. False only if it could not be made. */
typedef bool (*escape_stage_fn)(struct escape_try *t, char **ret_outcome, struct err *err);
/* Add to the box of a try what a row needs in it. */
typedef bool (*escape_box_fn)(struct escape_try *t, struct box_spec *spec, struct err *err);

struct escape_row {
    const char *id;   /* "N02b": the research's row and, where that holds several, a letter */
    const char *what; /* for people */
    const char *word; /* for --probe; {name} is a value of the scene */
    const char *held; /* outcomes that mean it was held, separated by spaces; {name} as in word */
    enum layer_id layer;
    const char *wall; /* what holds it when that is none of the layers; NULL: the layer */
    unsigned base;    /* layers left out in both, where another would answer first */
    unsigned also;    /* left out in the control only, besides the layer */
    enum escape_control control;
    const char *why;       /* with ESCAPE_NONE */
    unsigned tries;        /* how often a race is run within the attempt; 0: once */
    escape_stage_fn stage; /* NULL: escape_in_box or escape_on_host, as the try says */
    escape_box_fn box;     /* NULL: nothing more */
};

/* Where the probe program is in a box. */
#define ESCAPE_INSIDE "/run/headgate/probe"
#define ESCAPE_BIT(layer) (1U << (layer))

struct escape_rows {
    const struct escape_row *row;
    size_t n;
};

/* The families of this folder. */
extern const struct escape_rows escape_spaces, escape_calls, escape_ipc, escape_life, escape_net;

/* The word of the row with the scene's values filled in, allocated. */
char *escape_fill(const struct escape_scene *scene, const char *text);
/* The spec of the box of a try, without a command. */
bool escape_spec(struct box_spec *ret, struct escape_try *t, struct err *err) WARN_UNUSED;
/* Try the row's word in a box, or on the host as the account of boxes. */
bool escape_in_box(struct escape_try *t, char **ret_outcome, struct err *err) WARN_UNUSED;
bool escape_on_host(struct escape_try *t, char **ret_outcome, struct err *err) WARN_UNUSED;
/* As the try says. */
bool escape_plain(struct escape_try *t, char **ret_outcome, struct err *err) WARN_UNUSED;

/* Make the attempts of a family and their controls, and append for each to *attempts
 * {"id","what","layer","result","got","control","control_got","tries","proven"}. result: contained,
 * degraded, untried, escaped, failed (it could not be made: `got` is why). only: ids, with or
 * without their letter; empty: all. True when none escaped and none failed. */
bool escape_run(json_t *attempts, const struct escape_rows *rows, struct escape_scene *scene,
                const struct strv *only);
/* How many of them `only` means. Pure. */
size_t escape_count(const struct escape_rows *rows, const struct strv *only);

#endif
