/* The splitter: what it accepts, word by word, and what a prefix rule may therefore allow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "gate/policy.h"
#include "gate/shellscan.h"
#include "gate/shellwords.h"
#include "runner/base/mem.h"

/* Each accepted string with its commands; words in <>, commands separated by |. */
static const struct {
    const char *text;
    const char *want; /* NULL: opaque */
} splits[] = {
    {"ls", "<ls>"},
    {"  ls  -l\t-a ", "<ls><-l><-a>"},
    {"a && b || c ; d | e\nf", "<a>|<b>|<c>|<d>|<e>|<f>"},
    {"a&&b||c;d|e", "<a>|<b>|<c>|<d>|<e>"},
    {"a 'b c' \"d e\"", "<a><b c><d e>"},
    {"a b'c'\"d\"e", "<a><bcde>"},
    {"a '' \"\"", "<a><><>"},
    {"a '$x`y`\\!#*'", "<a><$x`y`\\!#*>"},
    {"a \"it's; #* & |\"", "<a><it's; #* & |>"},
    {"a 'b\nc'", "<a><b\nc>"},
    {"a &&\n\n b", "<a>|<b>"},
    {"a\n\n\nb\n", "<a>|<b>"},
    {"a x=y --z=1 @%+:,./-_", "<a><x=y><--z=1><@%+:,./-_>"},
    {"git commit -m 'fix: ünïcode'", "<git><commit><-m><fix: ünïcode>"},
    {"./run a", "<./run><a>"},
    {"printf x -v", NULL},
    {"test -f a", "<test><-f><a>"},
    {"", NULL},
    {" \n ", NULL},
    {"a\n&& b", NULL},
    {"a ;; b", NULL},
    {"a ;", NULL},
    {"; a", NULL},
    {"a ü", NULL},
    {"a # b", NULL},
    {"a^b", NULL},
    {"a &", NULL},
    {"a\n;b", NULL},
    {"a & b", NULL},
    {"X=1 a", NULL},
    {"a= b", NULL},
    {"b && X=1 a", NULL},
    {"%1", NULL},
    {"'a' b", NULL},
};

static void show(struct buf *out, const struct shellwords *s)
{
    for (size_t i = 0; i < s->n; i++) {
        buf_adds(out, i > 0 ? "|" : "");
        for (size_t k = 0; k < s->commands[i].n; k++)
            buf_addf(out, "<%s>", s->commands[i].v[k]);
    }
}

static void splits_exactly(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(splits); i++) {
        AUTO_SHELLWORDS struct shellwords s = SHELLWORDS_INIT;
        AUTO_BUF struct buf got = BUF_INIT;
        shellwords_split(&s, splits[i].text, strlen(splits[i].text));
        show(&got, &s);
        if (!splits[i].want != !!s.opaque || (splits[i].want && strcmp(got.ptr, splits[i].want)))
            fail_msg("[%s] gave [%s], opaque: %s", splits[i].text, got.ptr, s.opaque);
        if (s.opaque)
            assert_int_equal(s.n, 0);
    }
}

static void refuses_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t len;
    } rows[] = {
        {"ls\0x", 4},
        {"ls '\xff'", 6},
        {"ls '\xc0\xaf'", 7},
        {"ls '\xed\xa0\x80'", 8},
        {"ls '\xf4\x90\x80\x80'", 9},
        {"ls '\xe2\x80'", 7},
        {"ls \x01", 4},
        {"ls '\x01'", 6},
        {"ls '\x7f'", 6},
        {"ls '\xc2\x85'", 7},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_SHELLWORDS struct shellwords s = SHELLWORDS_INIT;
        shellwords_split(&s, rows[i].text, rows[i].len);
        assert_non_null(s.opaque);
    }
}

static void refuses_length(void **state)
{
    (void)state;
    AUTO_BUF struct buf text = BUF_INIT;
    buf_adds(&text, "ls ");
    while (text.len < SHELLWORDS_MAX_BYTES)
        buf_addch(&text, 'a');
    for (int over = 0; over < 2; over++) {
        AUTO_SHELLWORDS struct shellwords s = SHELLWORDS_INIT;
        shellwords_split(&s, text.ptr, text.len);
        assert_int_equal(s.opaque != NULL, over);
        buf_addch(&text, 'a');
    }
}

/* With the rules "allow command git status" and "allow command npm test". The first part is a list
 * of strings that real agents' matchers were tried with; several of them fell for one or another.
 */
static const struct {
    const char *command;
    bool is_allowed;
} tricky[] = {
    {"git status", true},
    {"git status --short", true},
    {"git   status   -s", true},
    {"git\tstatus", true},
    {"git statusx", false},
    {"git status && touch pwn06", false},
    {"git status; touch pwn07", false},
    {"git status | tee pwn08", false},
    {"git status || touch pwn09", false},
    {"git status & touch pwn10", false},
    {"git status\ntouch pwn11", false},
    {"git status \\\n  --short", false},
    {"git status > pwn13", false},
    {"git status >> .git/pwn14", false},
    {"git status < /etc/hostname", false},
    {"git status `touch pwn17`", false},
    {"git status \"$(touch pwn18)\"", false},
    {"git status <(touch pwn19)", false},
    {"git status $HOME", false},
    {"FOO=1 git status", false},
    {"PATH=.:$PATH git status", false},
    {"env git status", false},
    {"command git status", false},
    {"timeout 5 git status", false},
    {"bash -c 'git status; touch pwn29'", false},
    {"bash -c 'git status'", false},
    {"eval \"git status; touch pwn31\"", false},
    {"git -C /tmp status", false},
    {"git --git-dir=.git status", false},
    {"\"git\" status", false},
    {"g'i't status", false},
    {"git 'status; touch pwn37'", false},
    {"git status 'a;b'", true},
    {"git status # && touch pwn40", false},
    {"git status <<EOF\n$(touch pwn41)\nEOF", false},
    {"(git status; touch pwn43)", false},
    {"{ git status; touch pwn44; }", false},
    {"if git status; then touch pwn45; fi", false},
    {"alias git='touch pwn47'; git status", false},
    {"cd /tmp && git status", false},
    {"git status -- $'\\x3b touch pwn50'", false},
    {"! git status", false},
    {"time git status", false},
    {"npm test -- --runInBand", true},
    {"npm test && touch pwn55", false},
    {"npm testing", false},
    {"npm --prefix /tmp test", false},
    {"npm test;touch pwn58", false},
    {"git status 2>&1", false},
    {"git\302\240status", false},
    {"git st\\atus", false},
    {"exec git status", false},
    {"git sta*", false},
    {"git status;", false},
    {"git status ; # x\ntouch pwn69", false},
    {"coproc touch pwn71; git status", false},
    {"git status <<< $(touch pwn72)", false},
    /* What else fooled a matcher somewhere, or could. */
    {"git status\342\200\250touch x", false},
    {"git status\342\200\213", false},
    {"git status\342\200\256", false},
    {"git status '\342\200\213'", false},
    {"git status\343\200\200-s", false},
    {"git status @(a|b)", false},
    {"git status ~user", false},
    {"git status {a..b}", false},
    {"$'git' status", false},
    {"git$IFS'status'", false},
    {"[[ $(touch x) ]]; git status", false},
    {"git status &>/dev/null &", false},
    {"git status >&2", false},
    {"git status 9>x", false},
    {"git status <>x", false},
    {">x git status", false},
    {"git status;;", false},
    {"function git { :; }; git status", false},
    {"git() { touch x; }; git status", false},
    {"trap 'touch x' EXIT; git status", false},
    {"set -- ; git status", false},
    {". ./x; git status", false},
    {"source x && git status", false},
    {"git status $((a[$(touch x)]))", false},
    {"echo $[ x='a[$(touch x)]', x ]", false},
    {"git status #\ntouch x", false},
    {"git status \\\n; touch x", false},
    {"GIT_DIR=x git status", false},
    {"GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.fsmonitor GIT_CONFIG_VALUE_0=x git status", false},
    {"git status =ls", false},
    {"git status ''=ls", false},
    {"git status --x=ls", true},
    {"repeat 2 git status", false},
    {"noglob git status", false},
    {"- git status", false},
    {"/usr/bin/time git status", false},
    {"NPM test", false},
    {"npm test --prefix=/tmp", false},
    {"npm test --prefix /tmp", false},
    {"npm test --script-shell=./x.sh", false},
    {"npm test --script-sh=./x.sh", false},
    {"npm test -C /tmp", false},
    {"./git status", false},
    {"/tmp/x/git status", false},
    {"../x/git status x", false},
    {"bin/npm test", false},
    {"git status && ./git status", false},
    {"git status \015", false},
    {"git status\033[2K", false},
    {"git status\177", false},
    {"git status ''\n&& touch x", false},
    {"git status ||| npm test", false},
    {"git status | & npm test", false},
    {"git status |& npm test", false},
    {"git", false},
    {"npm", false},
    {"", false},
    {"   ", false},
    {"git status -c core.fsmonitor=x", false},
    {"git status -Cx", false},
    {"git status --git-dir=x", false},
    {"git status --work-tree x", false},
    {"git status --exec-pa=x", false},
    {"printf -v PATH /tmp; git status", false},
    {"printf -vPATH /tmp; git status", false},
    {"test -v 'a[$(touch x)]'; git status", false},
    {"read PATH; git status", false},
    {"hash -p /tmp/x git; git status", false},
    {"enable -f ./x.so y; git status", false},
    {"cd /tmp; git status", false},
    {"chdir /tmp; git status", false},
    {"exec git status", false},
    {"let PATH=1; git status", false},
    {"declare PATH=/tmp; git status", false},
    {"unset PATH; git status", false},
    {"mapfile -C x; git status", false},
    {"compgen -C x; git status", false},
    {"jobs -x git status", false},
    {"wait -p PATH; git status", false},
    {"xargs git status", false},
    {"nohup git status", false},
    {"sudo git status", false},
    {"bash5 -c 'git status'", false},
    {"gdb-12 git status", false},
    {"nice git status", false},
    {"'git' status", false},
    {"git\\ status", false},
    {"%1", false},
    {"%git status", false},
    {"=git status", false},
    {"git status \"a\\b\"", false},
    {"git status \"a!b\"", false},
    {"git status \"`x`\"", false},
    {"git status \"$x\"", false},
    {"git status 'x", false},
    {"git status \"x", false},
    {"npm  test", true},
    {"git status\n", true},
    {"\n git status", true},
    {"git status\n\nnpm test", true},
    {"git status && npm test", true},
    {"git status | npm test", true},
    {"git status ;npm test", true},
    {"git status\t;\n npm test -- -x", true},
    {"git status 'a\nb'", true},
    {"git status \"a;b\"", true},
    {"git status a\"b\"c", true},
    {"git status \"\"", true},
    {"git status '\303\251'", true},
    {"git status -- HEAD", true},
    {"git status && git status || npm test", true},
    {"npm test -- --script-shell=x", true},
};

static struct policy two_rules(void)
{
    static const char *const texts[] = {"allow command git status", "allow command npm test"};
    struct policy p = {.ladder = LADDER_CONFIRM};
    struct err err = ERR_INIT;
    p.rules = xcalloc(ARRAY_LEN(texts), sizeof(*p.rules));
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        assert_true(rule_parse(&p.rules[i], texts[i], &err));
        p.rules[i].id = (int64_t)i + 1;
        p.n_rules++;
    }
    return p;
}

static enum verdict judge_command(const struct policy *p, const char *command, size_t len)
{
    static const struct policy_place place = {.worktree = "/w", .home = "/home/u"};
    struct call_request call = CALL_REQUEST_INIT;
    struct err err = ERR_INIT;
    AUTO_JSON json_t *message =
        json_pack("{s:i, s:s, s:s, s:s, s:s, s:{s:s%}}", "v", 1, "source", "hook", "agent",
                  "claude", "tool", "Bash", "cwd", "/w", "args", "command", command, len);
    assert_non_null(message);
    assert_true(call_request_from_json(&call, message, &err));
    struct judgement j;
    policy_judge(&j, p, &call, &place);
    call_request_release(&call);
    return j.verdict;
}

static void a_prefix_allows_what_is_understood(void **state)
{
    (void)state;
    struct policy p = two_rules();
    for (size_t i = 0; i < ARRAY_LEN(tricky); i++) {
        const char *command = tricky[i].command;
        enum verdict got = judge_command(&p, command, strlen(command));
        if ((got == VERDICT_ALLOW) != tricky[i].is_allowed)
            fail_msg("row %zu [%s] gave %d", i, command, got);
    }
    assert_int_equal(judge_command(&p, "git status\0 x", 13), VERDICT_ASK);
    policy_release(&p);
}

/* Where a command could be in a text. */
static const struct {
    const char *text, *words[4];
    bool is_there;
} scans[] = {
    {"git push", {"git", "push"}, true},
    {"x && git   push origin", {"git", "push"}, true},
    {"echo $(git push)", {"git", "push"}, true},
    {"`git push`", {"git", "push"}, true},
    {"g'i't pu\"s\"h", {"git", "push"}, true},
    {"git \\\n push", {"git", "push"}, true},
    {"/usr/bin/git push", {"git", "push"}, true},
    {"git -C /x -c a=b --no-pager push", {"git", "push"}, true},
    {"git $OPTS push", {"git", "push"}, true},
    {"git${IFS}push", {"git", "push"}, true},
    {"alias p='git push'", {"git", "push"}, true},
    {"p=\"git push\"", {"git", "push"}, true},
    {"python -c \"run(['git','push'])\"", {"git", "push"}, true},
    {"if true; then git push; fi", {"git", "push"}, true},
    {"git commit -m \"$(cat <<'E'\nfix the push button\nE\n)\"", {"git", "push"}, false},
    {"git log; push", {"git", "push"}, false},
    {"git pushx", {"git", "push"}, false},
    {"legit push", {"git", "push"}, false},
    {"npm run publish", {"npm", "publish"}, false},
    {"gh --repo a/b pr create", {"gh", "pr", "create"}, true},
    {"gh pr list", {"gh", "pr", "create"}, false},
    {"x=$(sudo id)", {"sudo"}, true},
    {"pseudo id", {"sudo"}, false},
};

static void finds_commands_in_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(scans); i++) {
        AUTO_STRV struct strv tokens = STRV_INIT;
        AUTO_STRV struct strv words = STRV_INIT;
        shellscan_tokens(&tokens, scans[i].text, strlen(scans[i].text));
        for (size_t k = 0; k < 4 && scans[i].words[k]; k++)
            strv_push(&words, scans[i].words[k]);
        if (shellscan_has(&tokens, words.v, words.n) != scans[i].is_there)
            fail_msg("row %zu [%s]", i, scans[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(splits_exactly),
        cmocka_unit_test(refuses_bytes),
        cmocka_unit_test(refuses_length),
        cmocka_unit_test(a_prefix_allows_what_is_understood),
        cmocka_unit_test(finds_commands_in_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
