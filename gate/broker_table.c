#include "gate/broker_table.h"

#include <string.h>

#include "runner/base/mem.h"

#define FETCH_FLAGS                                                                                \
    "-q --quiet -v --verbose -a --append --dry-run -f --force -k --keep -p --prune -P "            \
    "--prune-tags -t --tags -n --no-tags --no-prune -u --update-head-ok --progress --no-progress " \
    "--atomic --set-upstream --write-fetch-head --no-write-fetch-head --no-auto-gc "               \
    "--no-auto-maintenance --no-recurse-submodules --no-show-forced-updates "                      \
    "--show-forced-updates --unshallow -4 --ipv4 -6 --ipv6"
#define FETCH_VALUES "--depth --deepen --refmap -j --jobs"
#define GH_SHOW "--json --jq -q --template -t"
#define GH_EDIT_VALUES                                                               \
    "--title -t --body -b --milestone -m --add-label --remove-label --add-assignee " \
    "--remove-assignee --add-project --remove-project"
#define GLAB_PAGES "--page -p --per-page -P --output -F"

/* From the manuals of git 2.39, gh 2.23 and glab 1.36. What opens a browser, an editor or a file,
 * asks, or names another server is left out. */
static const struct broker_command commands[] = {
    {{"git", "fetch"}, BROKER_FETCH, FETCH_FLAGS, FETCH_VALUES, "", 16},
    {{"git", "pull"},
     BROKER_FETCH,
     FETCH_FLAGS
     " -r --no-rebase --ff --ff-only --no-ff --no-edit --commit --no-commit --squash --no-squash "
     "--stat --no-stat --autostash --no-autostash --no-verify --verify --allow-unrelated-histories",
     FETCH_VALUES " -s --strategy -X --strategy-option",
     "--rebase",
     16},
    {{"git", "ls-remote"},
     BROKER_LIST,
     "-h --heads -t --tags --refs -q --quiet --symref --exit-code",
     "--sort",
     "",
     16},
    {{"git", "push"},
     BROKER_PUSH,
     "-q --quiet -v --verbose --porcelain --progress --no-progress --atomic -n --dry-run -u "
     "--set-upstream --no-verify --thin --no-thin --no-signed --no-follow-tags "
     "--no-force-with-lease -4 --ipv4 -6 --ipv6",
     "-o --push-option --force-with-lease",
     "",
     1},

    {{"gh", "issue", "list"},
     BROKER_READ,
     "",
     GH_SHOW
     " --assignee -a --author -A --label -l --limit -L --mention --milestone -m --search -S "
     "--state -s --app",
     "",
     0},
    {{"gh", "issue", "view"}, BROKER_READ, "--comments -c", GH_SHOW, "", 1},
    {{"gh", "issue", "status"}, BROKER_READ, "", GH_SHOW, "", 0},
    {{"gh", "issue", "create"},
     BROKER_WRITE,
     "",
     "--title -t --body -b --assignee -a --label -l --milestone -m --project -p",
     "",
     0},
    {{"gh", "issue", "comment"}, BROKER_WRITE, "--edit-last", "--body -b", "", 1},
    {{"gh", "issue", "edit"}, BROKER_WRITE, "", GH_EDIT_VALUES, "", 1},
    {{"gh", "issue", "close"}, BROKER_WRITE, "", "--comment -c --reason -r", "", 1},
    {{"gh", "issue", "reopen"}, BROKER_WRITE, "", "--comment -c", "", 1},
    {{"gh", "pr", "list"},
     BROKER_READ,
     "--draft -d",
     GH_SHOW
     " --app --assignee -a --author -A --base -B --head -H --label -l --limit -L --search -S "
     "--state -s",
     "",
     0},
    {{"gh", "pr", "view"}, BROKER_READ, "--comments -c", GH_SHOW, "", 1},
    {{"gh", "pr", "diff"}, BROKER_READ, "--name-only --patch", "--color", "", 1},
    {{"gh", "pr", "checks"}, BROKER_READ, "--required", "", "", 1},
    {{"gh", "pr", "create"},
     BROKER_WRITE,
     "--draft -d --no-maintainer-edit",
     "--title -t --body -b --base -B --head -H --assignee -a --label -l --milestone -m --project "
     "-p "
     "--reviewer -r",
     "",
     0},
    {{"gh", "pr", "comment"}, BROKER_WRITE, "--edit-last", "--body -b", "", 1},
    {{"gh", "pr", "edit"},
     BROKER_WRITE,
     "",
     GH_EDIT_VALUES " --base -B --add-reviewer --remove-reviewer",
     "",
     1},
    {{"gh", "pr", "review"},
     BROKER_WRITE,
     "--approve -a --comment -c --request-changes -r",
     "--body -b",
     "",
     1},
    {{"gh", "pr", "ready"}, BROKER_WRITE, "--undo", "", "", 1},
    {{"gh", "pr", "close"}, BROKER_WRITE, "", "--comment -c", "", 1},
    {{"gh", "pr", "reopen"}, BROKER_WRITE, "", "--comment -c", "", 1},
    {{"gh", "pr", "merge"},
     BROKER_WRITE,
     "--merge -m --squash -s --rebase -r --auto --disable-auto",
     "--subject -t --body -b --match-head-commit",
     "",
     1},

    {{"glab", "issue", "list"},
     BROKER_READ,
     "--all -A --closed -c --confidential -C --mine -M",
     GLAB_PAGES " --assignee -a --author --label -l --milestone -m --search --in --output-format",
     "",
     0},
    {{"glab", "issue", "view"}, BROKER_READ, "--comments -c", GLAB_PAGES, "", 1},
    {{"glab", "issue", "create"},
     BROKER_WRITE,
     "--confidential -c --yes -y --no-editor",
     "--title -t --description -d --assignee -a --label -l --milestone -m --weight -w",
     "",
     0},
    {{"glab", "issue", "note"}, BROKER_WRITE, "", "--message -m", "", 1},
    {{"glab", "issue", "update"},
     BROKER_WRITE,
     "--confidential -c --public -p --lock-discussion --unlock-discussion",
     "--title -t --description -d --assignee -a --label -l --unlabel -u --milestone -m",
     "",
     1},
    {{"glab", "issue", "close"}, BROKER_WRITE, "", "", "", 1},
    {{"glab", "issue", "reopen"}, BROKER_WRITE, "", "", "", 1},
    {{"glab", "mr", "list"},
     BROKER_READ,
     "--all -A --closed -c --merged -M --draft -d --not-draft",
     GLAB_PAGES " --assignee -a --author --label -l --milestone -m --reviewer -r --search "
                "--source-branch -s --target-branch -t",
     "",
     0},
    {{"glab", "mr", "view"}, BROKER_READ, "--comments -c", GLAB_PAGES, "", 1},
    {{"glab", "mr", "diff"}, BROKER_READ, "--raw", "--color", "", 1},
    {{"glab", "mr", "create"},
     BROKER_WRITE,
     "--draft --wip --yes -y --no-editor --remove-source-branch --squash-before-merge "
     "--allow-collaboration",
     "--title -t --description -d --assignee -a --reviewer --label -l --milestone -m "
     "--source-branch -s "
     "--target-branch -b",
     "",
     0},
    {{"glab", "mr", "note"}, BROKER_WRITE, "", "--message -m", "", 1},
    {{"glab", "mr", "update"},
     BROKER_WRITE,
     "--draft --ready -r --yes -y --lock-discussion --unlock-discussion",
     "--title -t --description -d --assignee -a --reviewer --label -l --unlabel -u --milestone -m "
     "--target-branch",
     "",
     1},
    {{"glab", "mr", "approve"}, BROKER_WRITE, "", "--sha -s", "", 1},
    {{"glab", "mr", "close"}, BROKER_WRITE, "", "", "", 1},
    {{"glab", "mr", "reopen"}, BROKER_WRITE, "", "", "", 1},
    {{"glab", "mr", "merge"},
     BROKER_WRITE,
     "--yes -y --squash -s --rebase -r --remove-source-branch -d --when-pipeline-succeeds",
     "--message -m --squash-message --sha",
     "",
     1},
};

bool broker_lists(const char *list, const char *name, size_t len)
{
    while (*list) {
        size_t word = strcspn(list, " ");
        if (word == len && strncmp(list, name, len) == 0)
            return true;
        list += word;
        list += strspn(list, " ");
    }
    return false;
}

size_t broker_git_subcommand(const char **ret_odd, const char **ret_dir, char *const *argv,
                             size_t n)
{
    static const char with_value[] =
        "-c --git-dir --work-tree --namespace --exec-path --super-prefix "
        "--config-env --attr-source";
    *ret_odd = NULL;
    *ret_dir = NULL;
    size_t i = 1;
    for (; i < n && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "-C") == 0) {
            /* A second one would be relative to the first. */
            if (*ret_dir && !*ret_odd)
                *ret_odd = argv[i];
            *ret_dir = i + 1 < n ? argv[i + 1] : NULL;
            i++;
        } else if (!broker_lists("-P --no-pager", argv[i], strlen(argv[i]))) {
            if (!*ret_odd)
                *ret_odd = argv[i];
            i += broker_lists(with_value, argv[i], strlen(argv[i]));
        }
    }
    return i < n ? i : n;
}

static bool has_words(const struct broker_command *c, char *const *argv, size_t n, size_t first)
{
    if (strcmp(argv[0], c->words[0]) != 0)
        return false;
    for (size_t w = 1; w < 3 && c->words[w]; w++)
        if (first + w - 1 >= n || strcmp(argv[first + w - 1], c->words[w]) != 0)
            return false;
    return true;
}

const struct broker_command *broker_find(size_t *ret_first, char *const *argv, size_t n)
{
    const char *odd, *dir;
    if (n == 0)
        return NULL;
    bool is_git = strcmp(argv[0], "git") == 0;
    size_t first = is_git ? broker_git_subcommand(&odd, &dir, argv, n) : 1;
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        if (!has_words(&commands[i], argv, n, first))
            continue;
        *ret_first = first + (commands[i].words[2] ? 2 : 1);
        return &commands[i];
    }
    return NULL;
}

const char *broker_option_advice(const struct broker_command *c, const char *name, size_t len)
{
    static const struct {
        const char *names, *advice;
    } of_push[] = {
        {"-f --force --force-if-includes",
         "a forced push names the branch and the commit that it replaces: "
         "--force-with-lease=BRANCH:COMMIT"},
        {"-d --delete --prune --mirror", "branches are deleted by a person"},
        {"--all --branches --tags --follow-tags --recurse-submodules",
         "a push is of one branch; tags are pushed by a person"},
    };
    static const struct {
        const char *names, *advice;
    } of_all[] = {
        {"--body-file -F", "give the text with --body"},
        {"--web -w --editor -e", "nobody sits at a browser or an editor there"},
        {"--fill -f --fill-first --recover --template -T", "give --title and --body"},
        {"--hostname", "only the server of the repository's own remote is reached"},
    };
    if (c->kind == BROKER_PUSH)
        for (size_t i = 0; i < ARRAY_LEN(of_push); i++)
            if (broker_lists(of_push[i].names, name, len))
                return of_push[i].advice;
    if (strcmp(c->words[0], "git") != 0)
        for (size_t i = 0; i < ARRAY_LEN(of_all); i++)
            if (broker_lists(of_all[i].names, name, len))
                return of_all[i].advice;
    return "leave it out, or ask the person to do it";
}

const char *broker_command_advice(char *const *argv, size_t n)
{
    static const struct {
        const char *words[2], *advice;
    } known[] = {
        {{"pr", "checkout"},
         "use git fetch origin pull/NUMBER/head and git switch --detach FETCH_HEAD"},
        {{"mr", "checkout"},
         "use git fetch origin merge-requests/NUMBER/head and git switch --detach FETCH_HEAD"},
        {{"auth", NULL}, "credentials never are in a box"},
        {{"api", NULL}, "use the issue and pull-request commands, or ask the person"},
        {{"repo", "clone"}, "use git clone"},
    };
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (n > 1 && strcmp(argv[1], known[i].words[0]) == 0 &&
            (!known[i].words[1] || (n > 2 && strcmp(argv[2], known[i].words[1]) == 0)))
            return known[i].advice;
    return "ask the person to do it";
}
