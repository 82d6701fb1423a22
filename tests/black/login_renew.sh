#!/bin/sh
# A login is renewed once however many ask, beside the person's own program, and what fails leaves its file as it was.
. "$(dirname "$0")/../lib.sh"
. "$TESTS/agents/issuer.sh"

command -v curl >/dev/null || skip 'no curl'
make_certificate
FILE=$HOME/.claude/.credentials.json
LIFE=3600

# ask [MEMBER...]: one answer for the server.
ask() {
    jq -nc --arg file "$FILE" --arg issuer "$ISSUER/v1/oauth/token" --arg ca "$WORLD/tls.pem" \
        "{agent: \"${FORM:-claude}\", file: \$file, issuer: \$issuer, ca: \$ca} + {${1:-}}" | "$BIN/headgate-login"
}
digest() { printf %s "$1" | sha256sum | cut -d' ' -f1; }
access() { jq -r '.claudeAiOauth.accessToken // .tokens.access_token' "$FILE"; }

start_issuer claude $LIFE 0
new_login "$FILE"
before=$(access)
check_equal 'a token that lives for long is given as it is' "$before false" "$(ask | jq -r '"\(.token) \(.renewed)"')"
check_equal 'nobody was asked for it' 0 "$(events renew)"

# Eight find the same token refused, at one moment, while a renewal takes its time.
issuer 'slow?0.3' >/dev/null
refused=$(digest "$before")
asked=
for i in 1 2 3 4 5 6 7 8; do
    ask "refused: \"$refused\"" >"$WORLD/answer.$i" &
    asked="$asked $!"
done
for pid in $asked; do wait "$pid" || fail 'one got no answer'; done
check_equal 'eight asked: one renewal' 1 "$(events renew)"
check_equal 'all have the one new token' "$(access)" "$(jq -r .token "$WORLD"/answer.* | sort -u)"
check_equal 'one of them renewed it' 1 "$(jq -r .renewed "$WORLD"/answer.* | grep -c true)"
check_equal 'what is not known in the file is kept' '{"a":[1,null]} max' "$(jq -rc '"\(.kept) \(.claudeAiOauth.subscriptionType)"' "$FILE")"
check_equal 'its mode too' 600 "$(stat -c %a "$FILE")"
check_equal 'no lock is left' 0 "$(find "$HOME" -name '*.lock' | wc -l)"
check_equal 'nor anything else' .credentials.json "$(ls -A "$HOME/.claude")"
check_lacks 'no refresh token is told' 'rt-secret' "$WORLD/answer.1"

# The person's own program renews all the time under the same lock.
issuer 'slow?0.02' >/dev/null
python3 "$TESTS/agents/login_lock.py" "$FILE" "$ISSUER/v1/oauth/token" "$WORLD/tls.pem" 30 >"$WORLD/own" 2>&1 &
own=$!
renewed=0
while kill -0 $own 2>/dev/null || [ "$renewed" = 0 ]; do
    ask "refused: \"$(digest "$(access)")\"" >"$WORLD/answer" || fail 'no answer'
    [ "$(jq -r .renewed "$WORLD/answer")" = true ] && renewed=$((renewed + 1))
    grep -q failed "$WORLD/answer" && die "no token: $(cat "$WORLD/answer")"
done
pass "$renewed renewals beside its 30"
wait $own && pass 'the program of the person renewed as well' || fail "$(cat "$WORLD/own")"
check_equal 'each renewal is somebody'\''s' $((1 + 30 + renewed)) "$(events renew)"
check_equal 'no refresh token came twice' 0 "$(events reuse)"

# A token that is refused although it was renewed a moment ago is not renewed again, until the person has put another one there.
fresh=$(digest "$(access)")
sent=$(events renew)
check_equal 'what a renewal did not cure is not renewed' true "$(ask "refused: \"$fresh\", fresh: \"$fresh\"" | jq -r '.failed | contains("a moment ago")')"
check_equal 'nothing was sent' "$sent" "$(events renew)"
check_equal 'near its end it is' true "$(ask "fresh: \"$fresh\", margin_ms: 100000000" | jq -r .renewed)"
check_equal 'and another one is given as it is' "$(access)" "$(ask "refused: \"$fresh\", fresh: \"$fresh\"" | jq -r .token)"

# What fails changes nothing.
before=$(sha256sum "$FILE")
issuer break >/dev/null
ask "refused: \"$(digest "$(access)")\"" >"$WORLD/answer"
check_equal 'an issuer that is out of order is told as such' 'true false' "$(jq -r '"\(.failed | contains("HTTP 500")) \(.again)"' "$WORLD/answer")"
check_equal 'a token that still lives serves meanwhile' "$(access)" "$(ask 'margin_ms: 100000000' | jq -r .token)"
check_equal 'and why it is not renewed is told' true "$(ask 'margin_ms: 100000000' | jq -r '.trouble | contains("HTTP 500")')"
issuer mend >/dev/null
issuer revoke >/dev/null
ask "refused: \"$(digest "$(access)")\"" >"$WORLD/answer"
check_equal 'a login that was ended needs the person' true "$(jq -r '.again and (.failed | contains("log in again with `claude auth login`"))' "$WORLD/answer")"
spent=$(jq -r .spent "$WORLD/answer")
sent=$(events unknown)
check_equal 'its refresh token is not sent again' true "$(ask "refused: \"$(digest "$(access)")\", spent: \"$spent\"" | jq -r .again)"
check_equal 'indeed' "$sent" "$(events unknown)"
check_equal 'the file is as it was' "$before" "$(sha256sum "$FILE")"
new_login "$FILE"
check_equal 'logged in again, all is well' "$(access)" "$(ask "spent: \"$spent\"" | jq -r .token)"

# No room for an answer: nothing is asked.
if [ "$(id -u)" != 0 ]; then
    chmod 500 "$HOME/.claude"
    sent=$(events renew)
    check_equal 'a folder that cannot be written is told before' true "$(ask "refused: \"$(digest "$(access)")\"" | jq -r '.failed | contains("cannot lock")')"
    check_equal 'nothing was sent' "$sent" "$(events renew)"
    chmod 700 "$HOME/.claude"
fi
chmod 644 "$FILE"
check_equal 'a file that others can read is refused' true "$(ask | jq -r '.again and (.failed | contains("chmod 600"))')"
chmod 600 "$FILE"
check_equal 'who cannot prove the name gets no refresh token' true \
    "$(ask "refused: \"$(digest "$(access)")\", ca: null" | jq -r '.failed | contains("could not prove")')"
check_equal 'an issuer in the clear neither' true \
    "$(ask "refused: \"$(digest "$(access)")\", issuer: \"http://127.0.0.1:9/\"" | jq -r '.failed | contains("https")')"

# Codex's file, its lock, its words.
FORM=codex
FILE=$HOME/.codex/auth.json
start_issuer codex $LIFE 0
new_login "$FILE"
before=$(access)
check_equal 'the token of Codex and its account' "$before acc-test" "$(ask | jq -r '"\(.token) \(.account)"')"
check_equal 'is renewed too' true "$(ask "refused: \"$(digest "$before")\"" | jq -r .renewed)"
check_equal 'with the rest of its file' '[1] chatgpt' "$(jq -rc '"\(.kept) \(.auth_mode)"' "$FILE")"
check 'at a new time' [ "$(jq -r .last_refresh "$FILE")" != 2026-11-20T10:00:00Z ]
issuer revoke >/dev/null
check_equal 'and its end is understood' true "$(ask "refused: \"$(digest "$(access)")\"" | jq -r '.failed | contains("`codex login`")')"
