/* What program_widens knows: options of programs, by name. */
#include <string.h>

#include "gate/broker_table.h"
#include "gate/program.h"
#include "runner/base/mem.h"

enum widening_flag {
    HAS_VARIABLES = 1, /* NAME=VALUE arguments count too */
    RUNS_OPERAND = 2,  /* the first operand is a program: the rule must spell it */
    HAS_SCRIPT = 4,    /* the first operand is a text that can run programs or write files */
    HAS_SCRIPTS = 8,   /* any operand may be one, since options before it take values */
    BARE_LETTERS = 16, /* the first word is a cluster of letters, with a dash or without */
};

/*
 * Options that make a program run something else, load code, or work elsewhere. `letters` are short
 * options (also in a cluster); `names` are separated by blanks and matched whole, with =VALUE, and
 * long ones also abbreviated, as getopt does; names without a dash are subcommands that run their
 * arguments. From the programs' manuals. Absence from the table promises nothing.
 */
static const struct {
    const char *program, *letters, *names;
    unsigned flags;
} widening[] = {
    {"ack", "", "--pager --ackrc", 0},
    {"ag", "", "--pager", 0},
    {"ansible-playbook", "ie", "--inventory --extra-vars --connection --module-path", 0},
    {"ant", "f", "-buildfile -file -lib -logger -listener -D", 0},
    {"apt", "oc", "--option --config-file", 0},
    {"apt-get", "oc", "--option --config-file", 0},
    {"ar", "", "--plugin @", 0},
    {"as", "", "--plugin @", 0},
    {"asdf", "", "exec", 0},
    {"awk", "fiEl", "--file --include --exec --load", HAS_VARIABLES | HAS_SCRIPTS},
    {"bat", "", "--pager --config-file --map-syntax", 0},
    {"bazel", "", "run --run_under --bazelrc --config --override_repository --script_path", 0},
    {"black", "", "--config", 0},
    {"bun", "ep", "--cwd --config --preload --eval --print x", 0},
    {"bundle", "", "exec --gemfile", 0},
    {"bunx", "", "--package --bun", RUNS_OPERAND},
    {"c++", "B", "-wrapper -specs -fplugin --sysroot -load @", 0},
    {"cargo", "CZ", "--config --manifest-path", 0},
    {"cc", "B", "-wrapper -specs -fplugin -load @", 0},
    {"clang", "B", "-fplugin -load -specs --config --config-user-dir --gcc-toolchain @", 0},
    {"clang++", "B", "-fplugin -load -specs --config --gcc-toolchain @", 0},
    {"clang-tidy", "p", "--load -load --config --config-file --vfsoverlay", 0},
    {"cmake", "PECDS", "--build --install --workflow --debugger", 0},
    {"composer", "d", "--working-dir exec", 0},
    {"conda", "", "run", 0},
    {"cpio", "FIO", "--rsh-command --file", 0},
    {"ctags", "", "--options --_", 0},
    {"ctest", "S", "--script --build-and-test --overwrite", 0},
    {"curl", "Ko", "--config --output --output-dir --netrc-file --proxy --unix-socket", 0},
    {"date", "fs", "--file --set", 0},
    {"dc", "ef", "--expression --file", 0},
    {"deno", "", "--config --import-map --allow-all --allow-run --allow-ffi eval", 0},
    {"docker", "Hv", "--host --context --config exec --entrypoint --volume --privileged", 0},
    {"dotnet", "", "exec --additionalprobingpath --fx-version", 0},
    {"elixir", "erS", "--eval --require", 0},
    {"emacs", "lf", "--eval --load --funcall --script --batch -eval -load -script -batch", 0},
    {"erl", "", "-eval -run -s", 0},
    {"eslint", "co",
     "--config --rulesdir --resolve-plugins-relative-to --output-file --format --parser --plugin",
     0},
    {"ex", "cSu", "--cmd", 0},
    {"fd", "xX", "--exec --exec-batch --search-path --base-directory", 0},
    {"find", "", "-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls -files0-from",
     0},
    {"fzf", "", "--preview --bind --with-shell", 0},
    {"g++", "B", "-wrapper -specs -fplugin @", 0},
    {"gawk", "fiElo", "--file --include --exec --load --pretty-print --debug --profile",
     HAS_VARIABLES | HAS_SCRIPTS},
    {"gcc", "B", "-wrapper -specs -fplugin @", 0},
    {"gem", "", "--config-file --install-dir exec", 0},
    {"gh", "", "--hostname extension alias --web", 0},
    {"git", "cCOx",
     "--config-env --exec-path --git-dir --work-tree --namespace --upload-pack --receive-pack "
     "--exec "
     "--output --ext-diff --textconv --open-files-in-pager --extcmd --tool --upload-archive "
     "--template --ssh-command --super-prefix --separate-git-dir --config --gpg-sign --hook-path "
     "--smtp-server --sendmail-cmd --tree-filter --index-filter --msg-filter --env-filter "
     "--commit-filter --parent-filter --tag-name-filter --setup --strategy --paginate foreach "
     "filter-branch run",
     0},
    {"gmake", "fCIEo", "--file --makefile --directory --eval --include-dir", HAS_VARIABLES},
    {"gnuplot", "e", "", 0},
    {"go", "",
     "-exec --exec -toolexec --toolexec -vettool --vettool -C -overlay --overlay -modfile "
     "--modfile "
     "-ldflags -gcflags generate",
     0},
    {"gpg", "",
     "--agent-program --dirmngr-program --photo-viewer --keyserver-options --homedir --options", 0},
    {"gradle", "bIcgp",
     "--build-file --init-script --settings-file --gradle-user-home --project-dir --include-build",
     0},
    {"grep", "", "--devices", 0},
    {"groovy", "e", "", 0},
    {"grunt", "", "--gruntfile --base --tasks", 0},
    {"guile", "cels", "", 0},
    {"gsed", "iefsl", "--in-place --expression --file --line-length", HAS_SCRIPT},
    {"gtar", "IFCf",
     "--to-command --checkpoint-action --use-compress-program --rsh-command --rmt-command "
     "--info-script --new-volume-script --directory --absolute-names",
     BARE_LETTERS},
    {"gulp", "f", "--gulpfile --cwd --require", 0},
    {"hatch", "", "run --config", 0},
    {"hg", "R", "--config --config-file --cwd --repository --debugger --rcfile", 0},
    {"hyperfine", "psc", "--prepare --setup --cleanup --conclude --shell", RUNS_OPERAND},
    {"install", "", "--strip-program", 0},
    {"irb", "rI", "--require", 0},
    {"java", "", "-cp -classpath --class-path -jar -javaagent -agentpath -agentlib @ -XX:OnError",
     0},
    {"javac", "J",
     "-processor --processor -processorpath --processor-path -cp -classpath --class-path @", 0},
    {"jest", "c",
     "--config --globalSetup --globalTeardown --runner --testRunner --transform --rootDir "
     "--setupFiles --setupFilesAfterEnv --reporters --testEnvironment --resolver",
     0},
    {"jq", "fL", "--from-file --library-path", 0},
    {"julia", "eELp", "--eval --print --load --project --sysimage", 0},
    {"just", "fd", "--justfile --working-directory --shell --shell-arg --command", HAS_VARIABLES},
    {"kotlin", "e", "-cp -classpath -jar", 0},
    {"kubectl", "", "exec debug --kubeconfig --server --context plugin", 0},
    {"latex", "", "-shell-escape --shell-escape -enable-write18 --enable-write18", 0},
    {"ld", "T", "--plugin -plugin --script --dynamic-linker -rpath @", 0},
    {"less", "koPK", "--lesskey-file --lesskey-src --log-file +", 0},
    {"logrotate", "smf", "--state --mail", 0},
    {"lua", "eli", "", 0},
    {"lualatex", "", "-shell-escape --shell-escape -enable-write18 --enable-write18", 0},
    {"make", "fCIEo", "--file --makefile --directory --eval --include-dir --old-file --assume-old",
     HAS_VARIABLES},
    {"mamba", "", "run", 0},
    {"man", "PHCM", "--pager --html --config-file --manpath --preprocessor", 0},
    {"mawk", "fW", "--file --exec", HAS_VARIABLES | HAS_SCRIPTS},
    {"mise", "", "exec x run --command", 0},
    {"mix", "e", "run --eval --require", 0},
    {"mocha", "r",
     "--require --config --package --import --loader --node-option --reporter --ui --file", 0},
    {"mongosh", "", "--eval --shell", 0},
    {"mvn", "fsgt", "--file --settings --global-settings --toolchains -D", HAS_VARIABLES},
    {"mysql", "e", "--execute --defaults-file --defaults-extra-file --pager --tee", 0},
    {"nano", "", "--rcfile --speller --operatingdir", 0},
    {"nawk", "f", "--file", HAS_VARIABLES | HAS_SCRIPTS},
    {"ninja", "Cft", "", 0},
    {"nix", "c", "run develop shell eval repl --command --expr", 0},
    {"nm", "", "--plugin @", 0},
    {"nmap", "", "--script --datadir --servicedb --versiondb", 0},
    {"node", "erpC",
     "--eval --require --import --loader --print --experimental-loader --env-file --openssl-config "
     "--conditions --run",
     0},
    {"nodejs", "erpC", "--eval --require --import --loader --print --env-file --run", 0},
    {"nox", "f", "--noxfile", 0},
    {"npm", "C",
     "--script-shell --prefix --shell --node-options --globalconfig --userconfig "
     "--scripts-prepend-node-path --git --cwd --init-module --onload-script --cache --registry "
     "--ignore-scripts exec x",
     0},
    {"npx", "cp", "--call --package --shell --script-shell --node-options --userconfig --registry",
     RUNS_OPERAND},
    {"nvim", "cSul", "--cmd --embed --listen +", 0},
    {"objcopy", "", "--plugin @", 0},
    {"objdump", "", "--plugin @", 0},
    {"ocaml", "eI", "-init -ppx -pp", 0},
    {"openssl", "", "-engine -config -provider-path -provider", 0},
    {"original-awk", "f", "--file", HAS_VARIABLES | HAS_SCRIPTS},
    {"patch", "od", "--output --directory --get", 0},
    {"pdflatex", "", "-shell-escape --shell-escape -enable-write18 --enable-write18", 0},
    {"pdm", "p", "run --project --config", 0},
    {"perl", "eEIMmxC", "", 0},
    {"php", "rdczBRF", "--run --define --php-ini --process-code", 0},
    {"pip", "eit",
     "--python --config-settings --index-url --extra-index-url --target --prefix --root "
     "--editable",
     0},
    {"pip3", "eit",
     "--python --config-settings --index-url --extra-index-url --target --prefix --root "
     "--editable",
     0},
    {"pipx", "", "run runpip --spec --python --index-url", 0},
    {"pnpm", "C", "--script-shell --dir --shell-mode --config dlx exec", 0},
    {"poetry", "CP", "run --directory --project", 0},
    {"pre-commit", "c", "--config", 0},
    {"prettier", "", "--config --plugin --plugin-search-dir --config-path", 0},
    {"psql", "cfvPo", "--command --file --set --variable --output --host", 0},
    {"pyenv", "", "exec", 0},
    {"pylint", "", "--rcfile --load-plugins --init-hook", 0},
    {"pypy", "cmiWX", "", 0},
    {"pytest", "cpo",
     "--rootdir --override-ini --confcutdir --pyargs --config-file --basetemp --debug --log-file",
     0},
    {"python", "cmiWX", "", 0},
    {"python3", "cmiWX", "", 0},
    {"rails", "r", "runner", 0},
    {"rake", "frIeEp", "--rakefile --require --libdir --execute --execute-continue --rakelib", 0},
    {"ranlib", "", "--plugin @", 0},
    {"rbenv", "", "exec", 0},
    {"redis-cli", "", "--eval", 0},
    {"rg", "zf", "--pre --hostname-bin --search-zip --ignore-file", 0},
    {"Rscript", "e", "", 0},
    {"rsync", "eMf",
     "--rsh --rsync-path --remote-option --files-from --filter --log-file "
     "--password-file --daemon --config",
     0},
    {"ruby", "erICSx", "--require", 0},
    {"rustc", "CZL", "--codegen --sysroot --extern -L @", 0},
    {"rustup", "", "run", 0},
    {"scala", "e", "-cp -classpath -i", 0},
    {"scons", "fCY", "--file --directory --site-dir", 0},
    {"scp", "oSFJD", "", 0},
    {"sed", "iefsl", "--in-place --expression --file --line-length", HAS_SCRIPT},
    {"sftp", "oSFJDbP", "", 0},
    {"sort", "oT", "--compress-program --output --temporary-directory --files0-from", 0},
    {"split", "", "--filter", 0},
    {"sqlite3", "", "-cmd --cmd -init --init -A", HAS_SCRIPTS},
    {"svn", "", "--config-option --config-dir --diff-cmd --diff3-cmd --editor-cmd", 0},
    {"tar", "IFCf",
     "--to-command --checkpoint-action --use-compress-program --rsh-command --rmt-command "
     "--info-script --new-volume-script --directory --absolute-names",
     BARE_LETTERS},
    {"task", "td", "--taskfile --dir", 0},
    {"tcpdump", "zwrF", "", 0},
    {"terraform", "", "-chdir console -plugin-dir", 0},
    {"tox", "cx", "--conf --workdir --override exec e", 0},
    {"ts-node", "erp", "--eval --require --print --cwd --project", 0},
    {"tsc", "p", "--project --outDir --outFile --build", 0},
    {"tsx", "erp", "--eval --require --import --print --tsconfig", 0},
    {"uv", "", "run --directory --project --python --config-file --index --index-url tool", 0},
    {"uvx", "", "--from --with --python --index --index-url", RUNS_OPERAND},
    {"vi", "cSu", "--cmd +", 0},
    {"view", "cSu", "--cmd +", 0},
    {"vim", "cSuUi", "--cmd --remote-expr --servername +", 0},
    {"vitest", "c", "--config --root --globals --environment --reporter --pool", 0},
    {"volta", "", "run", 0},
    {"webpack", "c", "--config --require", 0},
    {"wget", "Oe", "--use-askpass --execute --config --output-document --directory-prefix", 0},
    {"xelatex", "", "-shell-escape --shell-escape -enable-write18 --enable-write18", 0},
    {"yarn", "", "--cwd --use-yarnrc dlx exec node", 0},
    {"zip", "T", "--unzip-command --temp-path", 0},
};

/* What is harmless of git but with one subcommand; "" is the subcommand itself, which sets or
 * starts what the configuration names. */
static const struct {
    const char *subcommand, *letters;
} of_git[] = {
    {"clone", "u"},        {"merge", "s"},     {"pull", "s"},      {"rebase", "s"},
    {"config", ""},        {"difftool", ""},   {"mergetool", ""},  {"send-email", ""},
    {"instaweb", ""},      {"hook", ""},       {"credential", ""}, {"daemon", ""},
    {"for-each-repo", ""}, {"remote-ext", ""}, {"remote-fd", ""},
};

/* arg is option, option=value, or, for a long one, an abbreviation of it. */
static bool is_option(const char *arg, const char *option, size_t option_len)
{
    size_t len = strcspn(arg, "=");
    if (len == option_len && strncmp(arg, option, len) == 0)
        return true;
    bool is_long = option_len > 2 && option[0] == '-' && option[1] == '-';
    if (is_long)
        return len > 2 && len < option_len && strncmp(arg, option, len) == 0;
    /* `+cmd`, `@file`, `-Dname`: the rest of the word is the value. */
    bool is_open = option_len > 0 && strchr("+@D", option[option_len - 1]) && option_len <= 2;
    return is_open && strncmp(arg, option, option_len) == 0;
}

static bool is_named(const char *arg, const char *names)
{
    while (*names) {
        size_t len = strcspn(names, " ");
        if (is_option(arg, names, len))
            return true;
        names += len;
        names += strspn(names, " ");
    }
    return false;
}

static bool has_letter(const char *arg, const char *letters)
{
    bool is_cluster = arg[0] == '-' && arg[1] != '-' && arg[1] != '\0';
    return is_cluster && letters[0] && strpbrk(arg + 1, letters);
}

/* For awk and sqlite3: a text without commands, pipes and files. */
static bool is_plain_text(const char *text)
{
    static const char *const doing[] = {"system", "getline", "load_extension", "writefile",
                                        "edit",   "attach",  "vacuum"};
    for (size_t i = 0; i < ARRAY_LEN(doing); i++)
        if (strcasestr(text, doing[i]))
            return false;
    return !strpbrk(text, "|>@") && text[0] != '.' && !strstr(text, "\n.");
}

/* A script of sed that can only print: a line address with p, d or q, or one substitution by
 * slashes without e and w. */
static bool is_plain_script(const char *text)
{
    size_t address = strspn(text, "0123456789,$");
    if (text[address] && strchr("pdq", text[address]) && !text[address + 1])
        return true;
    const char *p = text + address;
    if (p[0] != 's' || p[1] != '/')
        return false;
    int slashes = 1;
    for (p += 2; *p && slashes < 3; p++) {
        if (*p == '\n')
            return false;
        if (*p == '\\' && p[1])
            p++;
        else if (*p == '/')
            slashes++;
    }
    return slashes == 3 && p[strspn(p, "gpiI0123456789")] == '\0';
}

/* By name, and by name without its version: gcc-12, python3.11. */
static size_t find(const char *name)
{
    size_t p = 0;
    while (p < ARRAY_LEN(widening) && !program_is(name, widening[p].program))
        p++;
    return p;
}

static bool has_operand(char *const *argv, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (argv[i][0] != '-')
            return true;
    return false;
}

static const char *git_widens(char *const *argv, size_t n, size_t n_spelled)
{
    const char *odd, *dir;
    size_t at = broker_git_subcommand(&odd, &dir, argv, n), k = 0;
    while (at < n && k < ARRAY_LEN(of_git) && strcmp(of_git[k].subcommand, argv[at]) != 0)
        k++;
    if (at == n || k == ARRAY_LEN(of_git))
        return NULL;
    if (!of_git[k].letters[0])
        return at < n_spelled ? NULL : argv[at];
    for (size_t i = at + 1 > n_spelled ? at + 1 : n_spelled; i < n && strcmp(argv[i], "--") != 0;
         i++)
        if (has_letter(argv[i], of_git[k].letters))
            return argv[i];
    return NULL;
}

static size_t first_operand(char *const *argv, size_t n)
{
    size_t i = 1;
    while (i < n && argv[i][0] == '-' && strcmp(argv[i], "--") != 0)
        i++;
    return i < n && strcmp(argv[i], "--") == 0 ? i + 1 : i;
}

/* True when the operand at i says by itself that more is done than the rule says. */
static bool operand_widens(char *const *argv, size_t i, size_t n_spelled, size_t row)
{
    unsigned flags = widening[row].flags;
    size_t first = first_operand(argv, i + 1);
    bool is_script = (flags & (HAS_SCRIPT | HAS_SCRIPTS)) && i == first;
    return ((flags & HAS_VARIABLES) && !is_script && strchr(argv[i], '=')) ||
           ((flags & HAS_SCRIPT) && is_script && !is_plain_script(argv[i])) ||
           ((flags & HAS_SCRIPTS) && !is_plain_text(argv[i])) ||
           ((flags & RUNS_OPERAND) && !has_operand(argv, 1, n_spelled)) ||
           ((flags & BARE_LETTERS) && i == 1 && strpbrk(argv[i], widening[row].letters));
}

static const char *table_widens(char *const *argv, size_t n, size_t n_spelled, size_t row)
{
    bool is_operand = false; /* behind "--" there are no options, but still variables */
    for (size_t i = n_spelled; i < n; i++) {
        const char *arg = argv[i];
        if ((arg[0] != '-' || is_operand) && operand_widens(argv, i, n_spelled, row))
            return arg;
        is_operand = is_operand || strcmp(arg, "--") == 0;
        if (!is_operand &&
            (has_letter(arg, widening[row].letters) || is_named(arg, widening[row].names)))
            return arg;
    }
    return NULL;
}

const char *program_widens(char *const *argv, size_t n, size_t n_spelled)
{
    size_t row = n > 0 ? find(argv[0]) : ARRAY_LEN(widening);
    if (row == ARRAY_LEN(widening))
        return NULL;
    const char *arg = table_widens(argv, n, n_spelled, row);
    return !arg && program_is(argv[0], "git") ? git_widens(argv, n, n_spelled) : arg;
}

static void add_of_git(json_t *list)
{
    for (size_t i = 0; i < ARRAY_LEN(of_git); i++) {
        const char *letters = of_git[i].letters;
        AUTO_FREE char *option =
            xasprintf("%s%s%s", of_git[i].subcommand, letters[0] ? " -" : "", letters);
        json_array_append_new(list, json_string(option));
    }
}

static void add_words(json_t *list, const char *names)
{
    while (*names) {
        size_t len = strcspn(names, " ");
        json_array_append_new(list, json_stringn(names, len));
        names += len;
        names += strspn(names, " ");
    }
}

json_t *program_options(void)
{
    json_t *all = json_array();
    for (size_t i = 0; i < ARRAY_LEN(widening); i++) {
        json_t *entry = json_object(), *options = json_array();
        for (const char *letter = widening[i].letters; *letter; letter++) {
            const char option[] = {'-', *letter, '\0'};
            json_array_append_new(options, json_string(option));
        }
        add_words(options, widening[i].names);
        if (strcmp(widening[i].program, "git") == 0)
            add_of_git(options);
        if (widening[i].flags & HAS_VARIABLES)
            json_array_append_new(options, json_string("NAME=VALUE"));
        if (widening[i].flags & (HAS_SCRIPT | HAS_SCRIPTS))
            json_array_append_new(options, json_string("a script that does more than print"));
        if (widening[i].flags & RUNS_OPERAND)
            json_array_append_new(options, json_string("the program it runs"));
        jx_set_str(entry, "program", widening[i].program);
        jx_set(entry, "options", options);
        json_array_append_new(all, entry);
    }
    size_t n;
    const char *const *wrappers = program_wrappers(&n);
    for (size_t i = 0; i < n; i++)
        json_array_append_new(all, json_pack("{s:s, s:[s]}", "program", wrappers[i], "options",
                                             "all of it: it runs its arguments"));
    return all;
}
