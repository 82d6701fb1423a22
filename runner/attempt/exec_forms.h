/*
 * exec_forms: what an adapter knows of its agent's execs, as the keeper's exec gate takes it:
 * patterns of gate/exec_form.h, with the paths of this box put in.
 */
#ifndef ATTEMPT_EXEC_FORMS_H
#define ATTEMPT_EXEC_FORMS_H

#include "runner/attempt/boxes.h"
#include "runner/base/jx.h"

/* [[WORD...]...], new reference. */
json_t *exec_forms_calls(const struct boxes *b);
json_t *exec_forms_helpers(const struct boxes *b);
json_t *exec_forms_selves(const struct boxes *b);

#endif
