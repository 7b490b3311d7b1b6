package passwords

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/remote"
)

func written(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil { // without the umask
		t.Fatal(err)
	}
	return name
}

func TestFile(t *testing.T) {
	text := "# the bank's\r\n\nnode2 login  hunter2 and # more\r\n\tnode2\tsudo\troot2\nnode3 login 암호"
	name := written(t, text, 0o600)
	s, err := Open(name, nil, []string{"node2", "node3"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		host       string
		kind       Kind
		text, from string
	}{
		{"node2", Login, "hunter2 and # more", name + ":3"}, {"node2", Sudo, "root2", name + ":4"},
		{"node3", Login, "암호", name + ":5"}, {"node3", Sudo, "", ""}, {"node1", Login, "", ""},
	} {
		got, err := s.For(t.Context(), remote.Host{Name: tc.host}, tc.kind)
		if err != nil || got.Text != tc.text || got.From != tc.from {
			t.Errorf("%s %s: got %q from %q, %v", tc.host, tc.kind, got.Text, got.From, err)
		}
	}
}

// TestBadFile: every error names the file, the line and the expected text. No error repeats a password.
func TestBadFile(t *testing.T) {
	hosts := []string{"node1", "node2"}
	for name, tc := range map[string]struct {
		text string
		mode os.FileMode
		want string
	}{
		"swapped columns":    {"hunter2 login node2\n", 0o600, "FILE:1: "},
		"an unknown host":    {"node2 login a1\nnod2 login hunter2\n", 0o600, `FILE:2: unknown host "nod2": want a node of airgap.yaml; did you mean "node2"?`},
		"a host twice":       {"node2 login a1\n\nnode2 login hunter2\n", 0o600, "FILE:3: node2 login is also in line 1: want one line"},
		"others can read it": {"node2 login hunter2\n", 0o644, "FILE: mode is 0644, so others can read it: want 0600"},
		"the group can, too": {"node2 login hunter2\n", 0o640, "mode is 0640"},
		"only a password":    {"hunter2\n", 0o600, "FILE:1: want HOST login PASSWORD, or HOST sudo PASSWORD"},
		"without a use":      {"node2 hunter2\n", 0o600, "FILE:1: want HOST login PASSWORD"},
		"another use":        {"node2 root hunter2\n", 0o600, "FILE:1: want HOST login PASSWORD"},
		"without a password": {"node2 login \n", 0o600, "FILE:1: want HOST login PASSWORD"},
		"a space behind it":  {"node2 login hunter2 \n", 0o600, "FILE:1: the password begins or ends with a space"},
		"a control":          {"node2 login hunter2\x1b[2J\n", 0o600, "FILE:1: the password contains a control character"},
		"no end":             {"node2 login hunter2" + strings.Repeat("x", 2000), 0o600, "FILE:1: the password is longer than 1024 bytes"},
		"empty":              {"# nothing\n", 0o600, "FILE:1: the file has no password: want HOST"},
		"all lines":          {strings.Repeat("hunter2\n", 50), 0o600, "FILE:20: want HOST login PASSWORD, or HOST sudo PASSWORD\nand 30 more lines"},
	} {
		t.Run(name, func(t *testing.T) {
			file := written(t, tc.text, tc.mode)
			_, err := Open(file, nil, hosts)
			if err == nil || !strings.Contains(err.Error(), strings.ReplaceAll(tc.want, "FILE", file)) || advice.Of(err) == "" || strings.Contains(fmt.Sprint(err, advice.Of(err)), "hunter2") {
				t.Errorf("got %v\nhint: %s\nwant %s", err, advice.Of(err), tc.want)
			}
		})
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none"), nil, hosts); err == nil || !strings.Contains(err.Error(), "read ssh.passwordFile") {
		t.Errorf("a missing file: %v", err)
	}
}
