/*
 * limits: every bound on what comes from outside, in one place, with its unit in its name.
 */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

enum {
    LIMIT_LINE_BYTES = 4 * 1024 * 1024, /* one message on any socket of ours */
    LIMIT_CALL_BYTES = 1024 * 1024,     /* one call, arguments included */
    LIMIT_CALLS_PENDING = 256,          /* waiting calls of one attempt */
    LIMIT_CALLS_PER_SECOND = 200,       /* of one attempt */
    LIMIT_GATE_CONNECTIONS = 512,       /* open gate connections of one attempt */
    LIMIT_REASON_BYTES = 8 * 1024,      /* a person's words */
    LIMIT_PROMPT_BYTES = 64 * 1024,     /* one task's text */
    LIMIT_TASKS = 10000,                /* tasks of one run */
    LIMIT_TASK_FILE_BYTES = 64 * 1024 * 1024,
    LIMIT_ATTEMPTS_PER_RUN = 10000,
    LIMIT_SPOOL_BYTES = 64 * 1024 * 1024, /* undelivered records of one keeper */
    LIMIT_LOG_BYTES = 64 * 1024 * 1024,   /* kept output of one attempt (default) */
    LIMIT_CONFIG_BYTES = 1024 * 1024,
    LIMIT_JSON_DEPTH = 64,
    LIMIT_CALL_DEPTH = 32, /* of a call's arguments: messages and rows that hold them are deeper */
    LIMIT_PATH_BYTES = 4096,
    LIMIT_CAPTURE_BYTES = 64 * 1024 * 1024, /* captured output of a helper program */
    LIMIT_SERVICE_CONNECTIONS = 256,        /* open mapped-port connections of one attempt */
    LIMIT_PROXY_CONNECTIONS = 256,          /* open egress connections of one attempt */
    LIMIT_PROXY_PER_SECOND = 200,           /* new ones of one attempt; more wait */
    LIMIT_NET_CALLS = 64,                   /* hosts of one attempt that wait for a decision */
    LIMIT_NET_HOSTS = 256,           /* whose connections one attempt's records count apart */
    LIMIT_NET_HOSTS_PER_SECOND = 10, /* new ones beyond those; further ones are denied */
};

#endif
