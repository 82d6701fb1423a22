#include "ui/edit.h"

#include <string.h>

#include "runner/base/text.h"
#include "ui/utf8.h"

void edit_init(struct edit *e, size_t max_bytes)
{
    *e = (struct edit){.text = BUF_INIT, .max_bytes = max_bytes};
}

void edit_release(struct edit *e)
{
    buf_release(&e->text);
}

static bool is_continuation(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* A character for the editor is a code point with the combining ones that follow it. */
static bool is_boundary(const struct edit *e, size_t at)
{
    if (at == 0 || at >= e->text.len)
        return true;
    if (is_continuation(e->text.ptr[at]))
        return false;
    size_t len = 1;
    while (at + len < e->text.len && is_continuation(e->text.ptr[at + len]))
        len++;
    return text_width(e->text.ptr + at, len) > 0;
}

static size_t before(const struct edit *e, size_t at)
{
    while (at > 0 && !is_boundary(e, --at))
        ;
    return at;
}

static size_t after(const struct edit *e, size_t at)
{
    while (at < e->text.len && !is_boundary(e, ++at))
        ;
    return at;
}

static void erase(struct edit *e, size_t from, size_t to)
{
    memmove(e->text.ptr + from, e->text.ptr + to, e->text.len - to);
    e->text.len -= to - from;
    if (to > from)
        e->text.ptr[e->text.len] = '\0';
    e->at = from;
}

static void insert(struct edit *e, uint32_t ch)
{
    char bytes[4];
    size_t n = utf8_put(bytes, ch);
    if (e->text.len + n > e->max_bytes)
        return;
    buf_add(&e->text, bytes, n);
    memmove(e->text.ptr + e->at + n, e->text.ptr + e->at, e->text.len - n - e->at);
    memcpy(e->text.ptr + e->at, bytes, n);
    e->at += n;
}

static size_t word_before(const struct edit *e)
{
    size_t at = e->at;
    while (at > 0 && e->text.ptr[at - 1] == ' ')
        at--;
    while (at > 0 && e->text.ptr[at - 1] != ' ')
        at--;
    return at;
}

static bool control_key(struct edit *e, uint32_t letter)
{
    if (letter == 'a')
        e->at = 0;
    else if (letter == 'e')
        e->at = e->text.len;
    else if (letter == 'u')
        erase(e, 0, e->at);
    else if (letter == 'k')
        erase(e, e->at, e->text.len);
    else if (letter == 'w')
        erase(e, word_before(e), e->at);
    else
        return false;
    return true;
}

bool edit_key(struct edit *e, const struct key *key)
{
    if (key->is_pasted && (key->code == K_ENTER || key->code == K_TAB))
        insert(e, ' ');
    else if (key->code == K_CHAR)
        insert(e, key->ch);
    else if (key->code == K_LEFT)
        e->at = before(e, e->at);
    else if (key->code == K_RIGHT)
        e->at = after(e, e->at);
    else if (key->code == K_HOME)
        e->at = 0;
    else if (key->code == K_END)
        e->at = e->text.len;
    else if (key->code == K_BACKSPACE)
        erase(e, before(e, e->at), e->at);
    else if (key->code == K_DELETE)
        erase(e, e->at, after(e, e->at));
    else
        return key->code == K_CTRL && control_key(e, key->ch);
    return true;
}

void edit_draw(const struct edit *e, struct canvas *cv, int row, int col, int cols)
{
    /* Begin so that the cursor has its column: drop characters at the front until what is before it
     * fits. */
    AUTO_BUF struct buf head = BUF_INIT;
    size_t from = 0;
    for (;; from = after(e, from)) {
        buf_clear(&head);
        text_sanitise(&head, e->text.ptr + from, e->at - from, 0);
        if (text_width(head.ptr, head.len) < cols || from >= e->at)
            break;
    }
    canvas_text(cv, row, col, cols, style_attr(CELL_UNDERLINE), e->text.ptr + from,
                e->text.len - from);
    canvas_cursor(cv, row, col + text_width(head.ptr, head.len));
}
