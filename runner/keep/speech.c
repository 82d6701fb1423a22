#include "runner/keep/speech.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/agents/pulse.h"
#include "runner/base/jx.h"
#include "runner/base/limits.h"
#include "runner/base/mem.h"

static const char *const form_names[] = {
    [SPEECH_NONE] = "", [SPEECH_CLAUDE] = "claude", [SPEECH_LINES] = "lines"};

bool speech_form_parse(enum speech_form *ret, const char *name, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(form_names); i++) {
        if (strcmp(form_names[i], name) != 0)
            continue;
        *ret = (enum speech_form)i;
        return true;
    }
    return err_set(err, ERR_FORMAT, "'%s' is no form of input", name);
}

bool speech_open(struct speech *s, uv_loop_t *loop, enum speech_form form, int *ret_fd,
                 struct err *err)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0)
        return err_sys(err, errno, "cannot make a pipe for the agent's input");
    uv_pipe_init(loop, &s->pipe, 0);
    s->is_open = true;
    *ret_fd = fds[0];
    int status = uv_pipe_open(&s->pipe, fds[1]);
    if (status != 0) {
        close(fds[0]);
        close(fds[1]);
        return err_sys(err, -status, "cannot write to the agent's input");
    }
    /* For another account that opens /dev/stdin; only the box can reach that path. */
    if (fchmod(fds[0], 0666) != 0) {
        close(fds[0]);
        return err_sys(err, errno, "cannot open the agent's input to its account");
    }
    s->form = form;
    s->pipe.data = s;
    return true;
}

struct saying {
    uv_write_t req;
    struct buf line;
};

/* An agent that does not read has ended, or closed its input: its output tells what it heard. */
static void on_written(uv_write_t *req, int status)
{
    struct saying *w = (struct saying *)req;
    (void)status;
    buf_release(&w->line);
    free(w);
}

/* msg is taken over. */
static bool write_line(struct speech *s, json_t *msg)
{
    AUTO_JSON json_t *owned = msg;
    if (uv_stream_get_write_queue_size((const uv_stream_t *)&s->pipe) > LIMIT_LINE_BYTES)
        return false;
    struct saying *w = xcalloc(1, sizeof *w);
    jx_dump(&w->line, owned);
    buf_addch(&w->line, '\n');
    uv_buf_t part = uv_buf_init(w->line.ptr, (unsigned)w->line.len);
    int status = uv_write(&w->req, (uv_stream_t *)&s->pipe, &part, 1, on_written);
    if (status != 0)
        on_written(&w->req, status);
    return status == 0;
}

static json_t *claude_message(const char *id, const char *text)
{
    return json_pack("{s:s, s:s, s:{s:s, s:o}, s:n, s:s}", "type", "user", "uuid", id, "message",
                     "role", "user", "content", jx_bytes(text, strlen(text)), "parent_tool_use_id",
                     "session_id", "");
}

void speech_begin(struct speech *s, const char *task)
{
    char id[PULSE_ID_BYTES];
    uint64_t number = 0;
    if (s->form != SPEECH_CLAUDE)
        return;
    /* A name that its conversation has had already is passed over, so that each start needs
     * another. */
    if (getrandom(&number, sizeof number, 0) != sizeof number)
        number = uv_hrtime();
    pulse_task_id(id, number);
    (void)!write_line(s, claude_message(id, task));
}

bool speech_say(struct speech *s, int64_t id, const char *text)
{
    char name[PULSE_ID_BYTES];
    if (s->form == SPEECH_NONE)
        return false;
    if (id <= s->last_id)
        return true;
    pulse_message_id(name, id);
    bool is_written =
        write_line(s, s->form == SPEECH_CLAUDE ? claude_message(name, text)
                                               : json_pack("{s:I, s:o}", "id", (json_int_t)id,
                                                           "text", jx_bytes(text, strlen(text))));
    if (is_written)
        s->last_id = id;
    return is_written;
}

void speech_idle(struct speech *s, int64_t heard)
{
    if (s->form == SPEECH_CLAUDE && heard >= s->last_id)
        speech_close(s);
}

void speech_close(struct speech *s)
{
    s->form = SPEECH_NONE;
    if (s->is_open)
        uv_close((uv_handle_t *)&s->pipe, NULL);
    s->is_open = false;
}
