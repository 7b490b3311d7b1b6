package main

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/bundle/program"
	"airgap.dev/airgap/bundle/rpm"
)

// TestCompletionsAreRead: each shell can read its completions in airgap.rpm.
func TestCompletionsAreRead(t *testing.T) {
	files, err := program.Documentation(commands, time.Unix(1_600_000_000, 0))
	if err != nil {
		t.Fatal(err)
	}
	for name, shell := range map[string][]string{
		"/usr/share/bash-completion/completions/airgap":    {"bash", "-n"},
		"/usr/share/zsh/site-functions/_airgap":            {"zsh", "-n"},
		"/usr/share/fish/vendor_completions.d/airgap.fish": {"fish", "--no-execute"},
	} {
		t.Run(shell[0], func(t *testing.T) {
			bundletest.Need(t, shell[0])
			script := fileOf(t, files, name)
			if len(script) < 1000 {
				t.Errorf("%s has %d bytes", name, len(script))
			}
			reads := func(text []byte) ([]byte, error) {
				file := filepath.Join(t.TempDir(), path.Base(name))
				if err := os.WriteFile(file, text, 0o644); err != nil {
					t.Fatal(err)
				}
				return exec.CommandContext(t.Context(), shell[0], append(shell[1:], file)...).CombinedOutput()
			}
			if out, err := reads(script); err != nil || len(out) > 0 {
				t.Errorf("%s %s: %v: %s", shell[0], name, err, out)
			}
			if out, err := reads(append(script, "\nif true (\n"...)); err == nil {
				t.Errorf("%s accepts an incomplete line, so the test proves nothing: %s", shell[0], out)
			}
		})
	}
}

// offers lets bash complete the words after "airgap" with the function of the completions. It
// replaces _init_completion, so that the package bash-completion is not required.
const offers = `
source "$1" || exit
read -ra how < <(complete -p airgap)
[ "${how[-2]} ${how[-1]}" = "__start_airgap airgap" ] || { echo "the completion of airgap is: ${how[*]}"; exit 1; }
_init_completion() { words=("${COMP_WORDS[@]}") cword=$COMP_CWORD cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}; }
shift
COMP_WORDS=(airgap "$@") COMP_CWORD=$# COMP_TYPE=9 COLUMNS=80
__start_airgap 2>/dev/null # compopt fails without a terminal
printf '%s\n' "${COMPREPLY[@]}"
`

// TestBashOffers: bash completes some words with the completions in airgap.rpm and the program.
func TestBashOffers(t *testing.T) {
	bundletest.Need(t, "bash")
	files, err := program.Documentation(commands, time.Unix(1_600_000_000, 0))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "airgap")
	if err := os.WriteFile(file, fileOf(t, files, "/usr/share/bash-completion/completions/airgap"), 0o644); err != nil {
		t.Fatal(err)
	}
	for typed, want := range map[string]string{
		"inst":                   "install",
		"install --max-f":        "--max-failures",
		"certs rotate":           "rotate-ca",
		"docs --language k":      "ko",
		"verify --only node-rep": "node-reports",
		"node-rep":               "", // hidden
	} {
		out, err := exec.CommandContext(t.Context(), "bash", append([]string{"--norc", "-c", offers, "bash", file}, strings.Fields(typed)...)...).CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("airgap %s: bash offers %q, want %q (%v)", typed, got, want, err)
		}
	}
}

func fileOf(t *testing.T, files []rpm.File, name string) []byte {
	t.Helper()
	for _, f := range files {
		if f.Path == name {
			return f.Data
		}
	}
	t.Fatalf("no %s in the package", name)
	return nil
}
