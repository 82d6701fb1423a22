#include "ui/term.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <ncursesw/curses.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include "runner/base/mem.h"
#include "ui/fixed.h"

/* Bracketed paste is no part of terminfo; terminals that do not know the mode ignore it (ECMA-48,
 * private modes). */
static const char paste_on[] = "\x1b[?2004h", paste_off[] = "\x1b[?2004l";

static struct {
    bool is_open, has_colors, is_raw;
    SCREEN *screen;
    int waker;
    struct termios before;
    struct canvas shown;
    char reset[256]; /* what the fatal handler writes */
    size_t reset_len;
} term;

/* ---- ways out ---- */

static const int fatal_signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};
static struct sigaction fatal_before[ARRAY_LEN(fatal_signals)];

/* Only async-signal-safe calls (signal-safety(7)). */
static void on_fatal(int number)
{
    int saved_errno = errno;
    ssize_t written = write(STDOUT_FILENO, term.reset, term.reset_len);
    (void)written;
    tcsetattr(STDIN_FILENO, TCSANOW, &term.before);
    for (size_t i = 0; i < ARRAY_LEN(fatal_signals); i++)
        sigaction(fatal_signals[i], &fatal_before[i], NULL);
    errno = saved_errno;
    raise(number);
}

static void guard_fatal(void)
{
    static char stack[64 * 1024]; /* a stack overflow has no room for a handler */
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
    struct sigaction action = {.sa_handler = on_fatal, .sa_flags = SA_ONSTACK | SA_NODEFER};
    sigemptyset(&action.sa_mask);
    sigaltstack(&alternate, NULL);
    for (size_t i = 0; i < ARRAY_LEN(fatal_signals); i++)
        sigaction(fatal_signals[i], &action, &fatal_before[i]);
}

static void unguard_fatal(void)
{
    for (size_t i = 0; i < ARRAY_LEN(fatal_signals); i++)
        sigaction(fatal_signals[i], &fatal_before[i], NULL);
}

static void add_reset(const char *text)
{
    size_t len = text && text != (const char *)-1 ? strcspn(text, "$") : 0; /* without padding */
    if (term.reset_len + len > sizeof(term.reset))
        return;
    memcpy(term.reset + term.reset_len, text, len);
    term.reset_len += len;
}

static void make_reset(void)
{
    static const char *const capabilities[] = {"op", "sgr0", "cnorm", "rmkx", "rmcup"};
    term.reset_len = 0;
    add_reset(paste_off);
    for (size_t i = 0; i < ARRAY_LEN(capabilities); i++) {
        char name[8];
        fixed_set(name, sizeof(name), capabilities[i]);
        add_reset(tigetstr(name));
    }
}

static void write_terminal(const char *text)
{
    ssize_t written = write(STDOUT_FILENO, text, strlen(text));
    (void)written; /* a terminal that is gone says so when it is read */
}

/* ---- life ---- */

/* Without a locale the C one cannot even print a line in UTF-8, yet nearly every terminal can. */
static void choose_locale(void)
{
    setlocale(LC_CTYPE, "");
    if (strcmp(nl_langinfo(CODESET), "ANSI_X3.4-1968") == 0)
        setlocale(LC_CTYPE, "C.UTF-8");
}

/* A descriptor that becomes readable with the terminal. To poll the terminal itself, libuv would
 * set O_NONBLOCK on the description that the shell shares, and a description of our own cannot
 * always be opened: after su the device belongs to somebody else and there may be no controlling
 * terminal. */
static int make_waker(struct err *err)
{
    struct epoll_event event = {.events = EPOLLIN};
    AUTO_FD int fd = epoll_create1(EPOLL_CLOEXEC);
    if (fd < 0 || epoll_ctl(fd, EPOLL_CTL_ADD, STDIN_FILENO, &event) != 0) {
        err_sys(err, errno, "cannot watch the terminal");
        return -1;
    }
    return steal_fd(&fd);
}

static void set_modes(void)
{
    cbreak();
    noecho();
    nonl();
    typeahead(-1);
    leaveok(stdscr, FALSE);
    term.has_colors = has_colors() && !getenv("NO_COLOR");
    if (term.has_colors) {
        start_color();
        use_default_colors();
    }
    write_terminal(paste_on);
}

/* Where the cursor cannot be sent to a place (TERM=dumb), rows would only follow one another. */
static bool open_screen(struct err *err)
{
    term.screen = newterm(NULL, stdout, stdin);
    const char *move = term.screen ? tigetstr("cup") : NULL;
    if (move && move != (const char *)-1)
        return true;
    if (term.screen) {
        endwin(); /* newterm has changed its modes */
        delscreen(term.screen);
    }
    term.screen = NULL;
    const char *type = getenv("TERM");
    return err_set(err, ERR_USAGE,
                   "the terminal type '%.64s' is unknown or too simple; set TERM, for example to "
                   "xterm, or use headgate ls and headgate gate",
                   type ? type : "");
}

bool term_open(struct err *err)
{
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return err_set(err, ERR_USAGE,
                       "this needs a terminal; use headgate ls and headgate gate in scripts");
    choose_locale();
    AUTO_FD int fd = make_waker(err);
    if (fd < 0)
        return false;
    if (tcgetattr(STDIN_FILENO, &term.before) != 0)
        return err_sys(err, errno, "cannot read the settings of the terminal");
    if (!open_screen(err))
        return false;
    term.waker = steal_fd(&fd);
    make_reset();
    guard_fatal();
    set_modes();
    term.is_open = true;
    return true;
}

void term_close(void)
{
    if (!term.is_open)
        return;
    term.is_open = false;
    write_terminal(paste_off);
    endwin();
    delscreen(term.screen);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &term.before);
    unguard_fatal();
    close(term.waker);
    canvas_release(&term.shown);
}

int term_waker(void)
{
    return term.waker;
}

ssize_t term_read(void *ret, size_t size)
{
    struct pollfd ready = {.fd = STDIN_FILENO, .events = POLLIN};
    if (poll(&ready, 1, 0) > 0)
        return read(STDIN_FILENO, ret, size);
    errno = EAGAIN;
    return -1;
}

void term_size(int *ret_rows, int *ret_cols)
{
    struct winsize size;
    *ret_rows = LINES;
    *ret_cols = COLS;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0) {
        *ret_rows = size.ws_row;
        *ret_cols = size.ws_col;
    }
}

void term_raw(bool is_raw)
{
    if (is_raw == term.is_raw)
        return;
    term.is_raw = is_raw;
    if (is_raw) {
        raw();
    } else {
        noraw();
        cbreak();
    }
}

void term_bell(void)
{
    beep();
}

void term_alert(const char *bytes)
{
    write_terminal(bytes);
}

void term_suspend(void)
{
    write_terminal(paste_off);
    endwin();
    tcsetattr(STDIN_FILENO, TCSADRAIN, &term.before);
}

void term_resume(void)
{
    reset_prog_mode();
    write_terminal(paste_on);
    term_forget();
    refresh();
}

/* ---- drawing ---- */

static short color_of(int16_t color)
{
    if (color < COLORS)
        return color;
    /* Bright colours have plain ones; the rest of the cube has no near relative among eight. */
    return (short)(color < 16 && COLORS >= 8 ? color - 8 : -1);
}

static attr_t attributes(struct style style)
{
    attr_t attr = 0;
    attr |= style.attr & CELL_BOLD ? A_BOLD : 0;
    attr |= style.attr & CELL_REVERSE ? A_REVERSE : 0;
    attr |= style.attr & CELL_UNDERLINE ? A_UNDERLINE : 0;
    attr |= style.attr & CELL_DIM ? A_DIM : 0;
    attr |= style.attr & CELL_ITALIC ? A_ITALIC : 0;
    return attr;
}

/* The wide characters of a cell; *ret_width is what the C library says they take, which is what
 * curses goes by. */
static void widen(wchar_t ret[CCHARW_MAX + 1], int *ret_width, const struct cell *cell)
{
    mbstate_t state = {0};
    const char *at = cell->text;
    size_t n = 0;
    while (*at && n < CCHARW_MAX) {
        size_t len = mbrtowc(&ret[n], at, strlen(at), &state);
        if (len == 0 || len > strlen(at))
            break;
        int width = wcwidth(ret[n]);
        if (n > 0 && width != 0)
            break; /* a mark that the C library takes for a character of its own */
        if (n == 0)
            *ret_width = width;
        at += len;
        n++;
    }
    ret[n] = L'\0';
    if (n == 0)
        *ret_width = -1;
}

static void put(int row, int col, const wchar_t *text, attr_t attr, int pair)
{
    cchar_t glyph;
    if (setcchar(&glyph, text, attr, 0, &pair) == OK)
        mvadd_wch(row, col, &glyph);
}

/* Where we and the C library disagree about the width, a replacement of the right width keeps the
 * row straight. */
static void draw_cell(int row, int col, const struct cell *cell)
{
    wchar_t text[CCHARW_MAX + 1];
    int width = 0;
    attr_t attr = attributes(cell->style);
    int pair = term.has_colors ? alloc_pair(color_of(cell->style.fg), color_of(cell->style.bg)) : 0;
    if (pair < 0)
        pair = 0;
    widen(text, &width, cell);
    if (width != 1 && width != cell->width) {
        text[0] = L'?';
        text[1] = L'\0';
        width = 1;
    }
    put(row, col, text, attr, pair);
    if (cell->width == 2 && width == 1)
        put(row, col + 1, L" ", attr, pair);
}

static void draw_row(const struct canvas *cv, int row)
{
    for (int col = 0; col < cv->cols; col++) {
        const struct cell *cell = canvas_cell(cv, row, col);
        if (cell->width > 0 && !cell_equal(cell, canvas_cell(&term.shown, row, col)))
            draw_cell(row, col, cell);
    }
}

void term_forget(void)
{
    clearok(curscr, TRUE);
    canvas_reset(&term.shown, 0, 0);
}

void term_draw(const struct canvas *cv)
{
    if (cv->rows != term.shown.rows || cv->cols != term.shown.cols) {
        resizeterm(cv->rows, cv->cols);
        erase();
        canvas_reset(&term.shown, cv->rows, cv->cols);
    }
    for (int row = 0; row < cv->rows; row++)
        draw_row(cv, row);
    memcpy(term.shown.cells, cv->cells, (size_t)cv->rows * (size_t)cv->cols * sizeof(*cv->cells));
    curs_set(cv->cursor_visible ? 1 : 0);
    if (cv->cursor_visible)
        move(cv->cursor_row, cv->cursor_col);
    refresh();
}
