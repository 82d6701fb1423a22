# Sourced: claude_program puts the pinned Claude Code into the build tree once, and prints its folder. Fails quietly when the
# registry cannot be reached: the caller then skips with that reason.
CLAUDE_VERSION=2.1.332

claude_program() {
    folder=$(cd "$BIN/.." && pwd)/agents/claude-$CLAUDE_VERSION
    [ -d "$(dirname "$folder")" ] || mkdir -p "$(dirname "$folder")" || return 1
    (
        flock 9
        [ -x "$folder/claude" ] && exit 0
        case $(uname -m) in x86_64) arch=x64 ;; aarch64) arch=arm64 ;; *) exit 1 ;; esac
        part=$(mktemp -d "$folder.XXXXXX") && cd "$part" &&
            npm pack --silent "@anthropic-ai/claude-code-linux-$arch@$CLAUDE_VERSION" >/dev/null 2>&1 &&
            tar -xzf ./*.tgz package/claude && mv package/claude . && rm -rf package ./*.tgz && chmod 755 . claude &&
            mv "$part" "$folder"
    ) 9>"$folder.lock" >&2 || return 1
    printf '%s\n' "$folder"
}
