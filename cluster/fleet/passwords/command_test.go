package passwords

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/remote"
)

func TestCommand(t *testing.T) {
	node2 := remote.Host{Name: "node2", Address: "10.0.0.12", User: "ops"}
	for name, tc := range map[string]struct{ script, text, want string }{
		"the host":         {`echo "$AIRGAP_HOST $AIRGAP_ADDRESS $AIRGAP_USER $AIRGAP_FOR $1"`, "node2 10.0.0.12 ops login bank", ""},
		"none":             {"", "", ""},
		"a line end":       {`printf 'hunter2\r\n'`, "hunter2", ""},
		"it fails":         {"echo hunter2; echo sealed >&2; exit 2", "", "exit status 2: sealed"},
		"it only ends":     {"echo hunter2; exit 2", "", "exit status 2"},
		"it repeats":       {"echo hunter2; echo got hunter2 >&2; exit 2", "", "exit status 2: its stderr repeats the password"},
		"two lines":        {"echo hunter2; echo hunter3", "", "it printed 2 lines: want one line"},
		"no end":           {"while :; do echo hunter2; done", "", "it printed more than 4096 bytes"},
		"a long stderr":    {"head -c 9000000 /dev/zero >&2; echo >&2; echo end >&2; exit 1", "", "exit status 1: end"},
		"it hangs":         {"sleep 60", "", "it did not end within 1s"},
		"a space":          {"echo 'hunter2 '", "", "begins or ends with a space"},
		"it reads":         {"read -r line; echo \"hunter2$line\"", "hunter2", ""},
		"a secret of ours": {`echo "[$VAULT_TOKEN]"`, "[]", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("VAULT_TOKEN", "s.1")
			c, err := checkCommand([]string{written(t, "#!/bin/sh\n"+tc.script+"\n", 0o700), "bank"})
			if err != nil {
				t.Fatal(err)
			}
			if c.limit = time.Minute; name == "it hangs" {
				c.limit = time.Second
			}
			got, err := c.For(t.Context(), node2, Login)
			switch {
			case tc.want == "" && (err != nil || got.Text != tc.text):
				t.Errorf("got %q, %v", got.Text, err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "for node2 (login)") || advice.Of(err) == ""):
				t.Errorf("got %v, want %q", err, tc.want)
			case err != nil && strings.Contains(fmt.Sprint(err, advice.Of(err)), "hunter2"):
				t.Errorf("the error has the password: %v", err)
			}
		})
	}
	c, err := checkCommand([]string{written(t, "#!/bin/sh\nsleep 60\n", 0o700)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := c.For(ctx, node2, Login); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a cancelled command: %v", err)
	}
}

// TestReplaceableCommand: root does not run a program in a directory in which another user could replace it, also
// behind a link.
func TestReplaceableCommand(t *testing.T) {
	open := t.TempDir()
	program := filepath.Join(open, "password")
	if err := errors.Join(os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755), os.Chmod(open, 0o777)); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "password")
	if err := os.Symlink(program, link); err != nil {
		t.Fatal(err)
	}
	for _, named := range []string{program, link} {
		if _, err := Open("", []string{named}, nil); err == nil || !strings.Contains(err.Error(), "other users can change the directory "+open) {
			t.Errorf("%s: got %v", named, err)
		}
	}
}

func TestBadCommand(t *testing.T) {
	for name, tc := range map[string]struct{ program, want string }{
		"anyone changes it": {written(t, "#!/bin/sh\n", 0o777), "mode is 0777, so other users can change it: want 0755 or 0700"},
		"not executable":    {written(t, "#!/bin/sh\n", 0o600), "want an executable file"},
		"a directory":       {t.TempDir(), "want an executable file"},
		"missing":           {"/nowhere/password", "find ssh.passwordCommand: stat /nowhere/password"},
	} {
		if _, err := Open("", []string{tc.program}, nil); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
}
