/* Soundness of options and paths, why rules speak or are silent, and proposals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "gate/explain.h"
#include "gate/program.h"
#include "runner/base/mem.h"
#include "runner/base/real.h"
#include "tests/unit/gate/scratch.h"

static struct err err;

static void make_call(struct call_request *ret, const char *tool, json_t *args, const char *cwd)
{
    AUTO_JSON json_t *message =
        json_pack("{s:i, s:s, s:s, s:s, s:s, s:o}", "v", 1, "source", "hook", "agent", "claude",
                  "tool", tool, "cwd", cwd, "args", args);
    *ret = (struct call_request)CALL_REQUEST_INIT;
    if (!call_request_from_json(ret, message, &err))
        fail_msg("%s", err.text);
}

static void add_rule(struct policy *p, const char *text)
{
    p->rules = xreallocarray(p->rules, p->n_rules + 1, sizeof(*p->rules));
    if (!rule_parse(&p->rules[p->n_rules], text, &err))
        fail_msg("%s", err.text);
    p->rules[p->n_rules].id = (int64_t)p->n_rules + 1;
    p->n_rules++;
}

static enum verdict judge(const char *rule, const char *tool, json_t *args,
                          const struct policy_place *place)
{
    __attribute__((cleanup(policy_release))) struct policy p = POLICY_INIT;
    AUTO_CALL_REQUEST struct call_request call;
    struct judgement j;
    make_call(&call, tool, args, place->worktree);
    add_rule(&p, rule);
    policy_judge(&j, &p, &call, place);
    return j.verdict;
}

static const struct policy_place text_place = {.worktree = "/w", .home = "/home/u"};

/* A prefix rule, and commands that begin with it but make the program run something else. */
static const struct {
    const char *rule, *command;
} widened[] = {
    {"git log", "git log --output=x"},
    {"git", "git -c core.pager=x log"},
    {"git", "git --exec-path=. log"},
    {"git", "git --git-dir=x log"},
    {"git diff", "git diff --ext-diff"},
    {"git grep", "git grep --open-files-in-pager=x y"},
    {"git grep", "git grep -O y"},
    {"git rebase", "git rebase --exec x"},
    {"git rebase", "git rebase -x y"},
    {"git submodule", "git submodule foreach x"},
    {"git bisect", "git bisect run x"},
    {"git fetch", "git fetch --upload-pack=x"},
    {"npm test", "npm test --script-shell=./x.sh"},
    {"npm test", "npm test --scr ./x.sh"},
    {"npm", "npm exec x"},
    {"pnpm", "pnpm dlx x"},
    {"npx", "npx evil"},
    {"uvx", "uvx evil"},
    {"find .", "find . -exec x +"},
    {"find .", "find . -okdir x +"},
    {"find .", "find . -fprintf out y"},
    {"tar tf", "tar tf a --to-command=x"},
    {"tar", "tar -I x -tf a"},
    {"tar", "tar --checkpoint-action=exec=x -tf a"},
    {"rsync", "rsync -e x a b"},
    {"rsync", "rsync --rsh=x a b"},
    {"scp", "scp -o ProxyCommand=x a b"},
    {"scp", "scp -S x a b"},
    {"sed", "sed '1e x' a"},
    {"sed", "sed 's/a/b/e' a"},
    {"sed", "sed 's/a/b/w out' a"},
    {"sed -n", "sed -n 'w out' a"},
    {"sed", "sed -i s/a/b/ a"},
    {"awk", "awk 'BEGIN{system(1)}'"},
    {"awk", "awk '{print > 1}' a"},
    {"awk", "awk -f x a"},
    {"sort", "sort --compress-program=x a"},
    {"sort", "sort -o out a"},
    {"rg", "rg --pre x y"},
    {"make test", "make test SHELL=./x"},
    {"make", "make -f x"},
    {"go test", "go test -exec x"},
    {"go vet", "go vet -vettool=x"},
    {"cargo test", "cargo test --config x"},
    {"split", "split --filter=x a"},
    {"zip", "zip --unzip-command=x a b"},
    {"tcpdump", "tcpdump -z x"},
    {"vim", "vim -c x"},
    {"vim", "vim +x a"},
    {"less", "less +x a"},
    {"mvn test", "mvn test -Dexec=x"},
    {"java", "java @file"},
    {"sqlite3 a", "sqlite3 a -cmd x"},
    {"psql", "psql -c x"},
    {"node", "node -e x"},
    {"perl", "perl -e x"},
    {"python3", "python3 -c x"},
    {"gcc", "gcc -wrapper x a.c"},
    {"jest", "jest --config x"},
    {"pytest", "pytest -p x"},
    {"curl", "curl -K x"},
    {"kubectl", "kubectl exec x"},
    {"hyperfine", "hyperfine x"},
    {"python3.11", "python3.11 -c x"},
    {"perl5.36.0", "perl5.36.0 -ne x"},
    {"gcc-12", "gcc-12 -wrapper x a.c"},
    {"clang-14", "clang-14 -load x a.c"},
    {"nodejs", "nodejs --import=x"},
    {"pdflatex", "pdflatex -shell-escape a.tex"},
    {"rustup", "rustup run nightly x"},
    {"apt-get", "apt-get -o DPkg::Pre-Invoke::=x update"},
    {"zip", "zip a b -T -TT x"},
    {"tar", "tar xIf ./evil a.tar"},
    {"tar", "tar xf host:a.tar"},
    {"sqlite3", "sqlite3 a '.shell x'"},
    {"sqlite3 a", "sqlite3 a '.shell x'"},
    {"sqlite3", "sqlite3 -separator x a .shell"},
    {"sqlite3 a", "sqlite3 a 'select load_extension(1)'"},
    {"mawk", "mawk 'BEGIN{system(1)}'"},
    {"awk", "awk -v x=1 'BEGIN{system(1)}'"},
    {"awk", "awk -F '{print}' 'BEGIN{system(1)}'"},
    {"sed", "sed -l 5p '1e x' a"},
    {"sed", "sed -n -- '1e x' a"},
    {"gsed", "gsed '1e x' a"},
    {"git clone", "git clone -u ./evil a b"},
    {"git merge", "git merge -s evil a"},
    {"git", "git config alias.x '!sh'"},
    {"git", "git difftool a"},
    {"git -C sub", "git -C sub mergetool"},
    {"gcc", "gcc @file"},
    {"gcc-12", "gcc-12 @file a.c"},
    {"javac", "javac -J-javaagent:x a"},
    {"pip install", "pip install -e x"},
};

static const struct {
    const char *rule, *command;
} plain[] = {
    {"git status", "git status --short"},
    {"npm test", "npm test -- --runInBand"},
    {"find .", "find . -name x -print"},
    {"sed", "sed -n 1,5p a"},
    {"sed", "sed s/a/b/g a"},
    {"sed", "sed 's/a\\/b/c/' a"},
    {"awk", "awk '{print $1}' a"},
    {"npx prettier", "npx prettier --check a"},
    {"git -c core.pager=cat", "git -c core.pager=cat log"},
    {"make test", "make test -j2"},
    {"rg", "rg -n x"},
    {"python3.11", "python3.11 run.py"},
    {"gcc-12", "gcc-12 -O2 a.c"},
    {"sha256sum", "sha256sum -c a"},
    {"tar tf", "tar tf a"},
    {"sqlite3", "sqlite3 a 'select 1'"},
    {"awk", "awk -F, '$1 == 2' a"},
    {"awk", "awk -v x=1 '{print x}' a"},
    {"sed", "sed -n -- 5p a"},
    {"git config", "git config user.name"},
    {"git", "git add config"},
    {"git merge", "git merge --squash a"},
    {"git clone", "git clone -q a b"},
};

static void options_are_not_covered(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(widened); i++) {
        AUTO_FREE char *rule = xasprintf("allow command %s", widened[i].rule);
        json_t *args = json_pack("{s:s}", "command", widened[i].command);
        if (judge(rule, "Bash", args, &text_place) != VERDICT_ASK)
            fail_msg("'%s' covers '%s'", rule, widened[i].command);
    }
    for (size_t i = 0; i < ARRAY_LEN(plain); i++) {
        AUTO_FREE char *rule = xasprintf("allow command %s", plain[i].rule);
        json_t *args = json_pack("{s:s}", "command", plain[i].command);
        if (judge(rule, "Bash", args, &text_place) != VERDICT_ALLOW)
            fail_msg("'%s' does not cover '%s'", rule, plain[i].command);
    }
}

static void the_table_is_listed(void **state)
{
    (void)state;
    AUTO_JSON json_t *all = program_options();
    AUTO_BUF struct buf text = BUF_INIT;
    jx_dump(&text, all);
    static const char *const rows[][2] = {
        {"git", "-c"},          {"git", "--exec-path"},  {"npm", "--script-shell"},
        {"find", "-exec"},      {"tar", "--to-command"}, {"rsync", "-e"},
        {"rsync", "--rsh"},     {"ssh", "it runs its"},  {"scp", "-o"},
        {"make", "NAME=VALUE"}, {"sed", "a script"},     {"awk", "a script"},
        {"xargs", "it runs"},   {"env", "it runs"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_FREE char *head = xasprintf("{\"program\":\"%s\",", rows[i][0]);
        const char *entry = strstr(text.ptr, head);
        const char *option = entry ? strstr(entry, rows[i][1]) : NULL;
        if (!option || option > strchr(entry, '}'))
            fail_msg("%s %s is not listed", rows[i][0], rows[i][1]);
    }
}

/* Texts that must not reach beyond `allow path src/`, and forms that stay below it. */
static void paths_cannot_widen(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        enum verdict verdict;
    } rows[] = {
        {"src/a.c", VERDICT_ALLOW},
        {"./src//a.c", VERDICT_ALLOW},
        {"/w/src/b/../a.c", VERDICT_ALLOW},
        {"src/../lib/a.c", VERDICT_ASK},
        {"srcx/a.c", VERDICT_ASK},
        {"SRC/a.c", VERDICT_ASK},
        {"/w/src/../../etc/passwd", VERDICT_ASK},
        {"/src/a.c", VERDICT_ASK},
        {"~/src/a.c", VERDICT_ASK},
        {"lib/src/a.c", VERDICT_ASK},
        {"src/", VERDICT_ALLOW},
        {"src//", VERDICT_ALLOW},
        {"src/./", VERDICT_ALLOW},
        {"src/..", VERDICT_ASK},
        {"src/..//", VERDICT_ASK},
        {"\u017frc/a.c", VERDICT_ASK},
        {"src\u0301/a.c", VERDICT_ASK},
        {"src\u2044a.c", VERDICT_ASK},
        {"src\\a.c", VERDICT_ASK},
        {"src/.GIT/config", VERDICT_ASK},
        {"src/.g\u200dit/config", VERDICT_ASK},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        json_t *args = json_pack("{s:s}", "file_path", rows[i].path);
        if (judge("allow path src/", "Edit", args, &text_place) != rows[i].verdict)
            fail_msg("'%s' is judged otherwise", rows[i].path);
    }
    /* One letter, two forms: a rule for one is no rule for the other. */
    json_t *other = json_pack("{s:s}", "file_path", "u\u0308ber/a.c");
    assert_int_equal(judge("allow path \u00fcber/", "Edit", other, &text_place), VERDICT_ASK);
    json_t *args = json_pack("{s:s}", "file_path", ".GitHub/x");
    assert_int_equal(judge("deny path .github/", "Edit", args, &text_place), VERDICT_DENY);
}

static char *resolve(void *arg, const char *path)
{
    return real_path(arg, path);
}

static void links_cannot_widen(void **state)
{
    (void)state;
    char *folder = scratch_make();
    AUTO_FREE char *old = getcwd(NULL, 0);
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(mkdir("src", 0700) | mkdir("lib", 0700), 0);
    assert_int_equal(symlink("/etc", "src/out") | symlink("../lib", "src/lib") |
                         symlink("/nowhere/x", "src/dangling") | symlink("self", "src/self"),
                     0);
    const struct policy_place place = {
        .worktree = folder, .home = "/home/u", .resolve = resolve, .arg = (void *)(uintptr_t) ""};
    static const struct {
        const char *path;
        enum verdict verdict;
    } rows[] = {{"src/new/file", VERDICT_ALLOW},  {"src/out/passwd", VERDICT_ASK},
                {"src/lib/a", VERDICT_ASK},       {"src/dangling", VERDICT_ASK},
                {"src/self/a", VERDICT_ASK},      {"src/lib/../src/a", VERDICT_ALLOW},
                {"src/out/../src/a", VERDICT_ASK}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        json_t *args = json_pack("{s:s}", "file_path", rows[i].path);
        if (judge("allow path src/", "Edit", args, &place) != rows[i].verdict)
            fail_msg("'%s' is judged otherwise", rows[i].path);
    }
    json_t *args = json_pack("{s:s}", "file_path", "src/lib/a");
    assert_int_equal(judge("deny path lib/", "Edit", args, &place), VERDICT_DENY);
    assert_int_equal(chdir(old), 0);
    scratch_remove(folder);
}

static void resolves_paths(void **state)
{
    (void)state;
    char *folder = scratch_make();
    AUTO_FREE char *link_path = xasprintf("%s/link", folder);
    AUTO_FREE char *inner = xasprintf("%s/in", folder);
    assert_int_equal(symlink("/in/x", link_path) | mkdir(inner, 0700), 0);
    AUTO_FREE char *within = real_path(folder, "/link/../y");
    assert_string_equal(within, "/in/y");
    AUTO_FREE char *top = real_path(folder, "/../..//.");
    assert_string_equal(top, "/");
    scratch_remove(folder);
}

static enum policy_program find_by_letter(void *arg, const char *name)
{
    (void)arg;
    return name[0] == 'o'   ? PROGRAM_OUT_OF_REACH
           : name[0] == 'i' ? PROGRAM_IN_REACH
           : name[0] == 'a' ? PROGRAM_ABSENT
                            : PROGRAM_UNTOLD;
}

/* A rule names a program, and covers it where the agent cannot have put another in its place. */
static void programs_within_reach_ask(void **state)
{
    (void)state;
    const struct policy_place place = {
        .worktree = "/w", .home = "/home/u", .program = find_by_letter};
    static const struct {
        const char *rule, *command;
        enum verdict verdict;
    } rows[] = {
        {"allow command o x", "o x", VERDICT_ALLOW}, {"allow command i x", "i x", VERDICT_ASK},
        {"allow exactly i x", "i x", VERDICT_ASK},   {"allow command a x", "a x", VERDICT_ASK},
        {"allow command u x", "u x", VERDICT_ASK},   {"deny command i x", "i x", VERDICT_DENY},
        {"ask command i x", "i x", VERDICT_ASK},     {"deny command a x", "o; a x", VERDICT_DENY},
        {"allow tool Bash", "i x", VERDICT_ALLOW},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        json_t *args = json_pack("{s:s}", "command", rows[i].command);
        if (judge(rows[i].rule, "Bash", args, &place) != rows[i].verdict)
            fail_msg("'%s' on '%s' is judged otherwise", rows[i].rule, rows[i].command);
    }
}

static void finds_programs(void **state)
{
    (void)state;
    char *folder = scratch_make();
    AUTO_FREE char *old = getcwd(NULL, 0);
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(mkdir("a", 0700) | mkdir("b", 0700) | mkdir("c", 0700) | mkdir("b/dir", 0700),
                     0);
    close(open("b/git", O_CREAT | O_WRONLY, 0755));
    close(open("a/plain", O_CREAT | O_WRONLY, 0644));
    close(open("c/plain", O_CREAT | O_WRONLY, 0755));
    close(open("c/dir", O_CREAT | O_WRONLY, 0755));
    assert_int_equal(symlink("/b/git", "a/linked") | symlink("/nowhere", "a/git"), 0);
    static const struct {
        const char *path, *name, *want;
        bool is_relative;
    } rows[] = {
        {"/a:/b:/c", "git", "/b/git", false}, {"/a:/b:/c", "plain", "/c/plain", false},
        {"/a:/b:/c", "dir", "/c/dir", false}, {"/a:/b", "linked", "/a/linked", false},
        {"/a:/b", "none", NULL, false},       {"/b:.:/c", "git", "/b/git", false},
        {"/b:.:/c", "plain", NULL, true},     {"/b::/c", "plain", NULL, true},
        {"bin:/b", "git", NULL, true},        {"", "git", NULL, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool is_relative;
        AUTO_FREE char *got = real_program(folder, rows[i].path, rows[i].name, &is_relative);
        assert_int_equal(is_relative, rows[i].is_relative);
        if ((got == NULL) != (rows[i].want == NULL) || (got && strcmp(got, rows[i].want) != 0))
            fail_msg("%s in %s is %s", rows[i].name, rows[i].path, got ? got : "absent");
    }
    assert_int_equal(chdir(old), 0);
    scratch_remove(folder);
}

static void says_why(void **state)
{
    (void)state;
    static const struct {
        const char *rule, *command, *why;
        bool speaks;
    } rows[] = {
        {"allow command git status", "git status -s", "whole call", true},
        {"allow command git status", "git log", "another command", false},
        {"allow command git status", "git status $x", "not wholly understood", false},
        {"allow command npm test", "npm test --script-shell=x", "--script-shell=x", false},
        {"allow exactly make", "make test", "goes on", false},
        {"allow command ls for codex", "ls", "it is for 'codex'", false},
        {"deny command rm", "ls; rm -r x", "could be", true},
        {"allow path src/", "ls", "no file", false},
        {"allow tool Read", "ls", "the tool is 'Bash'", false},
        {"allow command ls for */reviewer", "ls", "it is for '*/reviewer'", false},
        {"allow command x", "./x", "named by its path", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        __attribute__((cleanup(policy_release))) struct policy p = POLICY_INIT;
        AUTO_CALL_REQUEST struct call_request call;
        make_call(&call, "Bash", json_pack("{s:s}", "command", rows[i].command), "/w");
        add_rule(&p, rows[i].rule);
        AUTO_JSON json_t *all = explain_rules(&p, &call, &text_place);
        const json_t *one = json_array_get(all, 0);
        if (jx_bool(one, "speaks", false) != rows[i].speaks ||
            !strstr(jx_str(one, "why", ""), rows[i].why))
            fail_msg("%s on %s: %s", rows[i].rule, rows[i].command, jx_str(one, "why", ""));
    }
}

static void proposes_narrowest_first(void **state)
{
    (void)state;
    static const struct {
        const char *tool, *args, *first, *last;
        size_t n;
    } rows[] = {
        {"Bash", "{\"command\":\"npm test -- x\"}",
         "[\"allow exactly npm test -- x for claude in run 3\"]",
         "[\"allow command npm test for claude in repo\"]", 4},
        {"Bash", "{\"command\":\"make && git status -s\"}",
         "[\"allow exactly make for claude in run 3\",\"allow exactly git status -s for claude in "
         "run 3\"]",
         "[\"allow command make for claude in repo\",\"allow command git status for claude in "
         "repo\"]",
         4},
        {"Edit", "{\"file_path\":\"/w/src/a b.c\"}",
         "[\"allow path 'src/a b.c' for claude in run 3\"]",
         "[\"allow path src/ for claude in repo\"]", 4},
        {"WebFetch", "{\"url\":\"https://example.com/x\"}",
         "[\"allow host example.com for claude in run 3\"]",
         "[\"allow host example.com for claude in repo\"]", 2},
        {"Bash", "{\"command\":\"echo $(id)\"}", NULL, NULL, 0},
        {"Bash", "{\"command\":\"./run me\"}", NULL, NULL, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_CALL_REQUEST struct call_request call;
        const char *why;
        make_call(&call, rows[i].tool, json_loads(rows[i].args, 0, NULL), "/w");
        AUTO_JSON json_t *all = explain_proposals(&why, &call, &text_place, "3.2");
        assert_int_equal(json_array_size(all), rows[i].n);
        assert_true((why == NULL) == (rows[i].n > 0));
        if (rows[i].n == 0)
            continue;
        AUTO_BUF struct buf first = BUF_INIT, last = BUF_INIT;
        jx_dump(&first, json_array_get(all, 0));
        jx_dump(&last, json_array_get(all, rows[i].n - 1));
        assert_string_equal(first.ptr, rows[i].first);
        assert_string_equal(last.ptr, rows[i].last);
    }
}

static void rules_for_a_type_of_subagent(void **state)
{
    (void)state;
    static const struct {
        const char *rule, *type;
        enum verdict verdict;
    } rows[] = {
        {"allow command ls for claude/reviewer", "reviewer", VERDICT_ALLOW},
        {"allow command ls for */reviewer", "reviewer", VERDICT_ALLOW},
        {"allow command ls for codex/reviewer", "reviewer", VERDICT_ASK},
        {"allow command ls for claude/reviewer", "writer", VERDICT_ASK},
        {"allow command ls for claude/reviewer", NULL, VERDICT_ASK},
        {"allow command ls for claude", "reviewer", VERDICT_ALLOW},
        {"deny command ls for claude/reviewer", "reviewer", VERDICT_DENY},
        {"deny command ls for claude/reviewer", NULL, VERDICT_ASK},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        __attribute__((cleanup(policy_release))) struct policy p = POLICY_INIT;
        AUTO_CALL_REQUEST struct call_request call;
        struct judgement j;
        make_call(&call, "Bash", json_pack("{s:s}", "command", "ls"), "/w");
        free(call.sub_type);
        call.sub_type = xstrdup(rows[i].type ? rows[i].type : "");
        add_rule(&p, rows[i].rule);
        policy_judge(&j, &p, &call, &text_place);
        if (j.verdict != rows[i].verdict)
            fail_msg("'%s' for %s is judged otherwise", rows[i].rule, rows[i].type);
        AUTO_JSON json_t *all = explain_proposals(&(const char *){NULL}, &call, &text_place, "3.2");
        assert_string_equal(json_string_value(json_array_get(json_array_get(all, 0), 0)),
                            rows[i].type && strcmp(rows[i].type, "writer") == 0
                                ? "allow exactly ls for claude/writer in run 3"
                            : rows[i].type ? "allow exactly ls for claude/reviewer in run 3"
                                           : "allow exactly ls for claude in run 3");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_are_not_covered),  cmocka_unit_test(the_table_is_listed),
        cmocka_unit_test(paths_cannot_widen),       cmocka_unit_test(links_cannot_widen),
        cmocka_unit_test(resolves_paths),           cmocka_unit_test(says_why),
        cmocka_unit_test(proposes_narrowest_first), cmocka_unit_test(programs_within_reach_ask),
        cmocka_unit_test(finds_programs),           cmocka_unit_test(rules_for_a_type_of_subagent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
