#include "gate/shellscan.h"

#include <string.h>

#include "runner/base/buf.h"

/* How a byte outside of words counts. What is in neither list belongs to a word. */
static const char borders[] = ";|&\n()`{}";
static const char blanks[] = " \t\r\v\f,[]<>";
static const char dropped[] = "'\"\\";

/* The length of `$IFS` or `${IFS...}` at text, which stands for a blank, or 0. */
static size_t ifs_length(const char *text, size_t left)
{
    if (left >= 4 && memcmp(text, "$IFS", 4) == 0)
        return 4;
    if (left < 6 || memcmp(text, "${IFS", 5) != 0)
        return 0;
    const char *close = memchr(text, '}', left);
    return close ? (size_t)(close - text) + 1 : 0;
}

static void end_word(struct strv *out, struct buf *word)
{
    if (word->len > 0)
        strv_push_n(out, word->ptr, word->len);
    buf_clear(word);
}

void shellscan_tokens(struct strv *out, const char *text, size_t len)
{
    AUTO_BUF struct buf word = BUF_INIT;
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        size_t ifs = ifs_length(text + i, len - i);
        if (c == '\\' && i + 1 < len && text[i + 1] == '\n') {
            i++;
        } else if (ifs > 0) {
            end_word(out, &word);
            i += ifs - 1;
        } else if (c == '\0' || strchr(blanks, c)) {
            end_word(out, &word);
        } else if (strchr(borders, c)) {
            end_word(out, &word);
            strv_push(out, "");
        } else if (!strchr(dropped, c)) {
            buf_addch(&word, c);
        }
    }
    end_word(out, &word);
}

/* The program's name behind a folder, and behind an assignment or alias (`x="git push"`). */
static const char *base_name(const char *program)
{
    const char *name = program;
    for (const char *p = program; *p; p++)
        if (*p == '/' || *p == '=')
            name = p + 1;
    return name;
}

bool shellscan_starts(char *const *tokens, size_t n_tokens, char *const *words, size_t n_words)
{
    if (n_tokens == 0 || n_words == 0 || strcmp(base_name(tokens[0]), base_name(words[0])) != 0)
        return false;
    size_t word = 1;
    bool was_option = false; /* the token may be the value of the option before it */
    for (size_t i = 1; i < n_tokens && word < n_words; i++) {
        if (strcmp(tokens[i], words[word]) == 0) {
            word++;
            was_option = false;
        } else if (tokens[i][0] == '-' || tokens[i][0] == '$') {
            was_option = true;
        } else if (was_option && tokens[i][0]) {
            was_option = false;
        } else {
            return false;
        }
    }
    return word == n_words;
}

bool shellscan_has(const struct strv *tokens, char *const *words, size_t n_words)
{
    for (size_t i = 0; i < tokens->n; i++)
        if (shellscan_starts(tokens->v + i, tokens->n - i, words, n_words))
            return true;
    return false;
}
