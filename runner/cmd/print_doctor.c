#include "runner/cmd/print_doctor.h"

#include "runner/cmd/print_attempts.h"

void print_doctor(struct buf *out, const struct print *p, const json_t *report)
{
    const json_t *layers = jx_arr(report, "layers");
    print_text(out, p, PRINT_BOLD, jx_str(report, "platform", "?"));
    buf_adds(out, "; layers of a box: ");
    print_layers_line(out, layers);
    buf_addch(out, '\n');
    print_layers(out, p, layers, true);
    buf_adds(out, "ladder without --ladder: ");
    print_text(out, p, PRINT_BOLD, jx_str(report, "ladder", "?"));
    buf_adds(out, ", ");
    print_text(out, p, PRINT_PLAIN, jx_str(report, "ladder_why", ""));
    buf_adds(out, "\nmacOS, Windows: not built, not enforced\n");
}
