#include "worktree/review.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "runner/base/buf.h"
#include "runner/base/jx.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "worktree/gitrun.h"
#include "worktree/treepath.h"

enum {
    MODE_EXECUTABLE = 0100755,
    MODE_SYMLINK = 0120000,
    MODE_REPOSITORY = 0160000,
    BLOBS_MAX = 2000, /* beyond, files are listed without being read */
    BLOBS_MAX_BYTES = 32 * 1024 * 1024,
};

/* Where a name counts: at the top, or as any part of the path, or as the last part anywhere, or at
 * its end. */
enum place { TOP, FOLDER, FILE_NAME, ENDING };

static const struct {
    enum place place;
    const char *name;
    const char *why;
} rules[] = {
    {TOP, ".github/workflows/", "ci"},
    {TOP, ".github/actions/", "ci"},
    {TOP, ".gitlab-ci.yml", "ci"},
    {TOP, ".gitlab/", "ci"},
    {TOP, ".circleci/", "ci"},
    {TOP, ".gitea/", "ci"},
    {TOP, ".forgejo/", "ci"},
    {TOP, ".buildkite/", "ci"},
    {TOP, ".woodpecker/", "ci"},
    {TOP, ".woodpecker.yml", "ci"},
    {TOP, ".drone.yml", "ci"},
    {TOP, ".travis.yml", "ci"},
    {TOP, "azure-pipelines.yml", "ci"},
    {TOP, "bitbucket-pipelines.yml", "ci"},
    {TOP, ".appveyor.yml", "ci"},
    {TOP, "appveyor.yml", "ci"},
    {TOP, ".cirrus.yml", "ci"},
    {TOP, ".semaphore/", "ci"},
    {TOP, ".teamcity/", "ci"},
    {TOP, "buildspec.yml", "ci"},
    {TOP, "cloudbuild.yaml", "ci"},
    {FILE_NAME, "Jenkinsfile", "ci"},
    {FOLDER, ".husky", "hooks"},
    {FOLDER, ".githooks", "hooks"},
    {FILE_NAME, ".pre-commit-config.yaml", "hooks"},
    {FILE_NAME, "lefthook.yml", "hooks"},
    {FILE_NAME, ".lefthook.yml", "hooks"},
    {FILE_NAME, "lefthook.yaml", "hooks"},
    {FILE_NAME, "lefthook.toml", "hooks"},
    {FILE_NAME, ".overcommit.yml", "hooks"},
    {FOLDER, ".claude", "agent settings"},
    {FOLDER, ".codex", "agent settings"},
    {FOLDER, ".gemini", "agent settings"},
    {FOLDER, ".opencode", "agent settings"},
    {FOLDER, ".cursor", "agent settings"},
    {FOLDER, ".windsurf", "agent settings"},
    {FOLDER, ".continue", "agent settings"},
    {FOLDER, ".roo", "agent settings"},
    {FOLDER, ".kiro", "agent settings"},
    {FOLDER, ".clinerules", "agent settings"},
    {FILE_NAME, ".clinerules", "agent settings"},
    {FILE_NAME, ".windsurfrules", "agent settings"},
    {FILE_NAME, ".aider.conf.yml", "agent settings"},
    {FILE_NAME, ".goosehints", "agent settings"},
    {TOP, ".github/copilot-instructions.md", "agent settings"},
    {FOLDER, ".headgate", "agent settings"},
    {FILE_NAME, ".headgate", "agent settings"},
    {FILE_NAME, ".mcp.json", "agent settings"},
    {FILE_NAME, "opencode.json", "agent settings"},
    {FILE_NAME, "opencode.jsonc", "agent settings"},
    {FILE_NAME, ".cursorrules", "agent settings"},
    {FILE_NAME, "AGENTS.md", "agent settings"},
    {FILE_NAME, "CLAUDE.md", "agent settings"},
    {FILE_NAME, "CLAUDE.local.md", "agent settings"},
    {FILE_NAME, "GEMINI.md", "agent settings"},
    {FOLDER, ".vscode", "editor settings"},
    {FOLDER, ".idea", "editor settings"},
    {FOLDER, ".zed", "editor settings"},
    {FOLDER, ".devcontainer", "editor settings"},
    {FOLDER, ".vs", "editor settings"},
    {FOLDER, ".fleet", "editor settings"},
    {ENDING, ".code-workspace", "editor settings"},
    {FILE_NAME, ".nvim.lua", "editor settings"},
    {FILE_NAME, ".nvimrc", "editor settings"},
    {FILE_NAME, ".exrc", "editor settings"},
    {FILE_NAME, ".lvimrc", "editor settings"},
    {FILE_NAME, ".dir-locals.el", "editor settings"},
    {FILE_NAME, ".gdbinit", "tool settings"},
    {FILE_NAME, ".yarnrc", "tool settings"},
    {FILE_NAME, ".yarnrc.yml", "tool settings"},
    {FILE_NAME, ".npmrc", "tool settings"},
    {FILE_NAME, ".pnpmfile.cjs", "tool settings"},
    {FILE_NAME, ".bazelrc", "tool settings"},
    {FOLDER, ".cargo", "tool settings"},
    {FOLDER, ".mvn", "tool settings"},
    {FILE_NAME, ".tool-versions", "shell settings"},
    {FILE_NAME, ".envrc", "shell settings"},
    {FILE_NAME, "mise.toml", "shell settings"},
    {FILE_NAME, ".mise.toml", "shell settings"},
    {FILE_NAME, ".gitmodules", "submodules"},
    {FILE_NAME, ".gitattributes", "git attributes"},
    {FILE_NAME, ".lfsconfig", "git attributes"},
};

/* Without regard to case: some file systems have none. */
static bool has_folder(const char *path, const char *name)
{
    size_t len = strlen(name);
    for (const char *p = path;;) {
        const char *slash = strchr(p, '/');
        if (!slash)
            return false;
        if ((size_t)(slash - p) == len && strncasecmp(p, name, len) == 0)
            return true;
        p = slash + 1;
    }
}

static bool matches(enum place place, const char *name, const char *path)
{
    const char *last = strrchr(path, '/');
    size_t len = strlen(name);
    switch (place) {
    case TOP:
        return strncasecmp(path, name, len) == 0 && (name[len - 1] == '/' || path[len] == '\0');
    case FOLDER:
        return has_folder(path, name);
    case FILE_NAME:
        return strcasecmp(last ? last + 1 : path, name) == 0;
    case ENDING:
        return strlen(path) >= len && strcasecmp(path + strlen(path) - len, name) == 0;
    }
    return false;
}

const char *review_reason_of_path(const char *path, const char *hooks_in_tree)
{
    size_t len = strlen(hooks_in_tree);
    while (len > 0 && hooks_in_tree[len - 1] == '/')
        len--;
    if (len > 0 && strncasecmp(path, hooks_in_tree, len) == 0 && path[len] == '/')
        return "hooks";
    for (size_t i = 0; i < ARRAY_LEN(rules); i++)
        if (matches(rules[i].place, rules[i].name, path))
            return rules[i].why;
    return NULL;
}

void review_add(struct strv *ret, const char *why, const char *path)
{
    AUTO_BUF struct buf line = BUF_INIT;
    buf_addf(&line, "%s\t", why);
    text_sanitise(&line, path, strlen(path), TEXT_EXACT);
    strv_push(ret, line.ptr);
}

static bool is_package(const struct treediff_entry *e)
{
    return matches(FILE_NAME, "package.json", e->path) && e->new_mode != MODE_SYMLINK &&
           e->new_mode != MODE_REPOSITORY;
}

/* A nested repository is a commit that is not here. */
static bool has_old_blob(const struct treediff_entry *e)
{
    return e->old_mode != 0 && e->old_mode != MODE_REPOSITORY;
}

/* What cat-file printed for the objects asked for, taken one by one in their order. */
struct blobs {
    struct buf text;
    size_t at;
    bool is_read; /* else every answer is unknown */
};

static bool read_blobs(struct blobs *b, const char *common_dir, const struct treediff *diff,
                       struct err *err)
{
    AUTO_BUF struct buf names = BUF_INIT;
    size_t n = 0;
    for (size_t i = 0; i < diff->n; i++) {
        const struct treediff_entry *e = &diff->v[i];
        if (e->new_mode != MODE_SYMLINK && (!is_package(e) || e->new_mode == 0))
            continue;
        buf_addf(&names, "%s\n", e->new_oid);
        if (e->new_mode != MODE_SYMLINK)
            buf_addf(&names, "%s\n", has_old_blob(e) ? e->old_oid : e->new_oid);
        n++;
    }
    b->is_read = n > 0 && n <= BLOBS_MAX;
    if (!b->is_read)
        return true;
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    struct gitrun g = {
        .git_dir = common_dir,
        .input = names.ptr,
        .input_len = names.len,
        .max_output_bytes = BLOBS_MAX_BYTES,
    };
    struct err why = ERR_INIT;
    if (gitrun_out(&b->text, &g, GIT_ARGS("cat-file", "--batch"), &why))
        return true;
    b->is_read = false;
    if (why.code == ERR_LIMIT)
        return true;
    *err = why;
    return false;
}

/* "OID TYPE SIZE\n" CONTENT "\n". False when it is not to be had; "OID missing\n" has no size, and
 * from there on nothing is believed. */
static bool next_blob(struct blobs *b, const char **ret, size_t *ret_len)
{
    if (!b->is_read || b->at >= b->text.len)
        return false;
    const char *line = b->text.ptr + b->at, *end = b->text.ptr + b->text.len;
    const char *newline = memchr(line, '\n', (size_t)(end - line));
    const char *size = newline ? memrchr(line, ' ', (size_t)(newline - line)) : NULL;
    size_t len = size ? strtoul(size + 1, NULL, 10) : 0;
    if (!size || !isdigit((unsigned char)size[1]) || len > (size_t)(end - newline) - 1) {
        b->is_read = false;
        return false;
    }
    *ret = newline + 1;
    *ret_len = len;
    b->at = (size_t)(newline - b->text.ptr) + 1 + len + 1;
    return true;
}

static bool leads_out(struct blobs *b, const char *path)
{
    const char *text;
    size_t len;
    if (!next_blob(b, &text, &len))
        return true;
    AUTO_FREE char *target = xstrndup(text, len);
    return !treepath_link_stays(path, target);
}

static json_t *parse_scripts(const char *text, size_t len)
{
    AUTO_JSON json_t *package = NULL;
    struct err ignored = ERR_INIT;
    if (!jx_parse(&package, text, len, &ignored))
        return NULL;
    json_t *scripts = jx_obj(package, "scripts");
    return scripts ? json_incref(scripts) : json_object();
}

static bool has_new_scripts(struct blobs *b, const struct treediff_entry *e)
{
    const char *now, *before;
    size_t now_len, before_len;
    if (!next_blob(b, &now, &now_len) || !next_blob(b, &before, &before_len))
        return true;
    AUTO_JSON json_t *scripts = parse_scripts(now, now_len);
    AUTO_JSON json_t *old = has_old_blob(e) ? parse_scripts(before, before_len) : json_object();
    return !scripts || !old || !json_equal(scripts, old);
}

bool review_list(struct strv *ret, const char *common_dir, const struct treediff *diff,
                 const char *hooks_in_tree, struct err *err)
{
    struct blobs blobs = {.text = BUF_INIT};
    bool is_ok = read_blobs(&blobs, common_dir, diff, err);
    for (size_t i = 0; is_ok && i < diff->n; i++) {
        const struct treediff_entry *e = &diff->v[i];
        if (e->new_mode == 0)
            continue;
        const char *why = review_reason_of_path(e->path, hooks_in_tree);
        if (why)
            review_add(ret, why, e->path);
        if (e->new_mode == MODE_EXECUTABLE)
            review_add(ret, "executable", e->path);
        /* What a moved submodule brings is not in this diff. */
        if (e->new_mode == MODE_REPOSITORY)
            review_add(ret,
                       e->old_mode == MODE_REPOSITORY ? "moved submodule" : "nested repository",
                       e->path);
        if (e->new_mode == MODE_SYMLINK && leads_out(&blobs, e->path))
            review_add(ret, "symlink out of the tree", e->path);
        if (is_package(e) && has_new_scripts(&blobs, e))
            review_add(ret, "package scripts", e->path);
    }
    buf_release(&blobs.text);
    return is_ok;
}
