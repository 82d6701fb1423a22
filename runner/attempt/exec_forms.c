#include "runner/attempt/exec_forms.h"

#include <string.h>

#include "runner/agents/agent.h"
#include "runner/attempt/way_out.h"
#include "runner/base/mem.h"

/* Text that stands for itself in a pattern. */
static void add_literal(struct buf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '%')
            buf_addch(out, '%');
        buf_addch(out, *text);
    }
}

static const char *path_of(const struct boxes *b, char directive)
{
    switch (directive) {
    case 'h':
        return boxes_home(b);
    case 'k':
        return WAY_OUT_HOOK;
    case 'g':
        return BOXES_GATE;
    default:
        return NULL;
    }
}

static json_t *form_json(const struct boxes *b, const struct agent_form *form)
{
    json_t *words = json_array();
    for (size_t i = 0; i < AGENT_FORM_WORDS && form->words[i]; i++) {
        AUTO_BUF struct buf word = BUF_INIT;
        for (const char *p = form->words[i]; *p; p++) {
            const char *path = *p == '%' ? path_of(b, p[1]) : NULL;
            if (path)
                add_literal(&word, path);
            else
                buf_add(&word, p, *p == '%' ? 2 : 1);
            p += *p == '%';
        }
        json_array_append_new(words, jx_bytes(word.ptr, word.len));
    }
    return words;
}

static json_t *forms_json(const struct boxes *b, const struct agent_form *forms)
{
    json_t *list = json_array();
    for (; forms && forms->words[0]; forms++)
        json_array_append_new(list, form_json(b, forms));
    return list;
}

json_t *exec_forms_calls(const struct boxes *b)
{
    const struct agent *agent = agent_kind(b->spec->agent);
    return forms_json(b, agent->exec_calls);
}

json_t *exec_forms_helpers(const struct boxes *b)
{
    const struct agent *agent = agent_kind(b->spec->agent);
    return forms_json(b, agent->exec_helpers);
}

json_t *exec_forms_selves(const struct boxes *b)
{
    const struct agent *agent = agent_kind(b->spec->agent);
    return forms_json(b, agent->exec_selves);
}
