#include "worktree/gitrun.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/mem.h"
#include "runner/base/text.h"

/* 40 attempts at one moment meet at the same locks: waiting is cheaper than failing. */
static const char *const quiet_config[] = {
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.pager=cat",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "core.filesRefLockTimeout=30000",
    "core.packedRefsTimeout=30000",
    "advice.detachedHead=false",
};

/* Which files hold the person's settings is theirs to say; every other variable could lead git
 * astray. */
static bool is_kept(const char *entry)
{
    static const char *const kept[] = {
        "GIT_CONFIG_NOSYSTEM=", "GIT_CONFIG_SYSTEM=", "GIT_CONFIG_GLOBAL="};
    for (size_t i = 0; i < ARRAY_LEN(kept); i++)
        if (strncmp(entry, kept[i], strlen(kept[i])) == 0)
            return true;
    return strncmp(entry, "GIT_", 4) != 0;
}

static void make_env(struct strv *env, const struct gitrun *g)
{
    for (char **e = environ; *e; e++)
        if (is_kept(*e))
            strv_push(env, *e);
    strv_env_set(env, "LC_ALL", "C");
    strv_env_set(env, "GIT_NO_REPLACE_OBJECTS", "1");
    if (!g->as_person) {
        strv_env_set(env, "GIT_TERMINAL_PROMPT", "0");
        strv_env_set(env, "GIT_OPTIONAL_LOCKS", "0");
        strv_env_set(env, "GIT_EDITOR", "false");
    }
    if (g->index_file)
        strv_env_set(env, "GIT_INDEX_FILE", g->index_file);
    for (size_t i = 0; g->env && i < g->env->n; i++) {
        size_t len = strcspn(g->env->v[i], "=");
        AUTO_FREE char *name = xstrndup(g->env->v[i], len);
        strv_env_set(env, name, g->env->v[i] + len + 1);
    }
}

/* Set before git begins; posix_spawn(3) cannot, and afterwards is too late for what a hundred bytes
 * can ask for. */
static void add_limit(struct strv *argv, int64_t bytes)
{
    strv_push(argv, "/bin/sh");
    strv_push(argv, "-c");
    strv_push(argv, "ulimit -d \"$0\" && exec \"$@\"");
    strv_pushf(argv, "%" PRId64, bytes / 1024);
}

static void make_argv(struct strv *argv, const struct gitrun *g, const char *const *args)
{
    if (g->max_data_bytes > 0)
        add_limit(argv, g->max_data_bytes);
    strv_push(argv, "git");
    if (g->git_dir)
        strv_pushf(argv, "--git-dir=%s", g->git_dir);
    if (g->work_tree)
        strv_pushf(argv, "--work-tree=%s", g->work_tree);
    for (size_t i = 0; !g->as_person && !g->plain_config && i < ARRAY_LEN(quiet_config); i++) {
        strv_push(argv, "-c");
        strv_push(argv, quiet_config[i]);
    }
    if (g->bare) {
        strv_push(argv, "-c");
        strv_push(argv, "core.bare=true");
    }
    for (size_t i = 0; g->config && i < g->config->n; i++) {
        strv_push(argv, "-c");
        strv_push(argv, g->config->v[i]);
    }
    for (; *args; args++)
        strv_push(argv, *args);
}

bool gitrun(struct proc_result *ret, const struct gitrun *g, const char *const *args,
            struct err *err)
{
    AUTO_STRV struct strv env = STRV_INIT;
    AUTO_STRV struct strv argv = STRV_INIT;
    make_env(&env, g);
    make_argv(&argv, g, args);
    const char *cwd = g->cwd;
    if (!cwd)
        cwd = g->work_tree ? g->work_tree : g->git_dir;
    struct proc_cmd cmd = {
        .argv = &argv,
        .env = &env,
        .cwd = cwd,
        .input = g->input,
        .input_len = g->input_len,
        .input_fd = g->input_fd,
        .output_fd = g->output_fd,
        .max_output_bytes = g->max_output_bytes,
        .timeout_ms = g->timeout_ms,
    };
    return proc_run(ret, &cmd, err);
}

/* Whether a line goes on with the sentence of the one before it, which git broke for its width. */
static bool is_wrapped(const char *line)
{
    size_t word = strcspn(line, " ");
    return *line >= 'a' && *line <= 'z' && line[word] == ' ' && line[word - 1] != ':';
}

/* Lines as clauses, since an error is one line. */
static void add_clauses(struct buf *out, const char *text, size_t len)
{
    AUTO_BUF struct buf clean = BUF_INIT;
    AUTO_STRV struct strv lines = STRV_INIT;
    text_sanitise(&clean, text, len, TEXT_KEEP_NEWLINE | TEXT_KEEP_TAB);
    strv_split(&lines, clean.ptr, '\n', false);
    for (size_t i = 0; i < lines.n; i++) {
        const char *line = lines.v[i] + strspn(lines.v[i], " \t");
        bool is_open =
            out->len > 0 && !strchr(":.", out->ptr[out->len - 1]) && !is_wrapped(lines.v[i]);
        if (*line)
            buf_addf(out, "%s%s", out->len == 0 ? "" : is_open ? "; " : " ", line);
    }
}

bool gitrun_failed(const struct proc_result *r, const char *const *args, struct err *err)
{
    const char *said = r->errout.ptr;
    static const char *const prefixes[] = {"fatal: ", "error: "};
    for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
        if (strncmp(said, prefixes[i], strlen(prefixes[i])) == 0)
            said += strlen(prefixes[i]);
    size_t len = strlen(said);
    while (len > 0 && said[len - 1] == '\n')
        len--;
    AUTO_BUF struct buf clean = BUF_INIT;
    add_clauses(&clean, said, len < 700 ? len : 700);
    if (clean.len > 0 && clean.ptr[clean.len - 1] == '.')
        clean.ptr[--clean.len] = '\0'; /* our sentence goes on */
    if (clean.len == 0)
        return err_set(err, ERR_FAILED, "git %s ended with status %d", args[0], r->status);
    return err_set(err, ERR_FAILED, "git %s: %s", args[0], clean.ptr);
}

bool gitrun_out(struct buf *out, const struct gitrun *g, const char *const *args, struct err *err)
{
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    if (!gitrun(&r, g, args, err))
        return false;
    if (r.status != 0)
        return gitrun_failed(&r, args, err);
    buf_add(out, r.out.ptr, r.out.len);
    return true;
}

bool gitrun_line(struct buf *out, const struct gitrun *g, const char *const *args, struct err *err)
{
    if (!gitrun_out(out, g, args, err))
        return false;
    buf_rtrim(out);
    return true;
}

bool gitrun_told(struct buf *out, const struct gitrun *g, const char *const *args, struct err *err)
{
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    struct err why = ERR_INIT;
    if (!gitrun(&r, g, args, &why)) {
        if (why.code == ERR_LIMIT)
            return true;
        *err = why;
        return false;
    }
    if (r.status == 0)
        buf_add(out, r.out.ptr, r.out.len);
    return true;
}

void gitrun_quote_path(struct buf *out, const char *path)
{
    buf_addch(out, '"');
    for (const unsigned char *p = (const unsigned char *)path; *p; p++) {
        if (*p == '"' || *p == '\\')
            buf_addf(out, "\\%c", *p);
        else if (*p < 0x20)
            buf_addf(out, "\\%03o", *p);
        else
            buf_addch(out, (char)*p);
    }
    buf_addch(out, '"');
}

bool gitrun_is_oid(const char *oid)
{
    size_t len = strspn(oid, "0123456789abcdef");
    return oid[len] == '\0' && (len == 40 || len == 64);
}
