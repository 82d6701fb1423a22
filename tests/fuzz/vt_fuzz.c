/*
 * vt_fuzz: a program's terminal output through the filter and libvterm into cells. The first bytes
 * cut the input into pieces and set sizes, so that sequences are split and sizes change in the
 * middle. Whatever goes in: no cell holds a control character.
 */
#include <stdint.h>
#include <stdlib.h>

#include "ui/vt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void drop(void *arg, const char *bytes, size_t len)
{
    (void)arg;
    (void)bytes;
    (void)len;
}

static void check(const struct canvas *cv)
{
    for (int row = 0; row < cv->rows; row++) {
        for (int col = 0; col < cv->cols; col++) {
            const unsigned char *text = (const unsigned char *)canvas_cell(cv, row, col)->text;
            for (; *text; text++)
                if (*text < ' ' || *text == 0x7f || (text[0] == 0xc2 && text[1] < 0xa0))
                    abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct canvas cv = CANVAS_INIT;
    struct vt *vt = vt_new(10, 20, true, drop, NULL);
    for (size_t at = 0, n; at < size; at += n) {
        uint8_t control = data[at++];
        n = control & 0x3fu;
        if (n > size - at)
            n = size - at;
        vt_feed(vt, data + at, n);
        if (control & 0x40)
            vt_resize(vt, 2 + (int)n % 30, 8 + (int)n % 50);
        if (control & 0x80)
            vt_key(vt, (enum key_code)(n % (K_PASTE_END + 1)));
    }
    canvas_reset(&cv, 40, 80);
    vt_draw(vt, &cv, 0, 0, 40, 80, size % 7);
    check(&cv);
    canvas_release(&cv);
    vt_free(vt);
    return 0;
}
