# Sourced by the black-box scripts of logins: an issuer of tokens with a model server behind it, over TLS (issuer.py).

# make_certificate: $WORLD/tls.pem and tls.key, for localhost.
make_certificate() {
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost \
        -keyout "$WORLD/tls.key" -out "$WORLD/tls.pem" 2>/dev/null || die 'no certificate'
    chmod 644 "$WORLD/tls.pem"
}
# start_issuer FORM LIFETIME MODEL_PORT: its URL in $ISSUER, the same in the clear in $PLAIN_ISSUER, its log in $WORLD/issuer.jsonl.
start_issuer() {
    rm -f "$WORLD/issuer.jsonl" "$WORLD/issuer.port"
    python3 "$TESTS/agents/issuer.py" "$WORLD/tls.pem" "$WORLD/tls.key" "$WORLD/issuer.jsonl" "$1" "$2" "$3" >"$WORLD/issuer.port" &
    BACKGROUND="$BACKGROUND $!"
    until_true 10 grep -q port "$WORLD/issuer.port" || die 'the issuer did not start'
    ISSUER="https://localhost:$(cut -d' ' -f2 "$WORLD/issuer.port")"
    PLAIN_ISSUER="http://127.0.0.1:$(cut -d' ' -f4 "$WORLD/issuer.port")"
}
# issuer WHAT: tell it (issuer.py).
issuer() { curl -sS --fail --cacert "$WORLD/tls.pem" "$ISSUER/test/$1"; }
# new_login FILE: a login of its own in the file.
new_login() {
    mkdir -p "$(dirname "$1")"
    (umask 077 && issuer login >"$1") || die 'no login'
}
# events KIND: how often it happened.
events() { jq -r .event "$WORLD/issuer.jsonl" 2>/dev/null | grep -cx "$1" || :; }
