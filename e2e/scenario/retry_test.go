package scenario

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRetries checks that a call with a broken connection is repeated, and that any answer
// ends the call.
func TestRetries(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fails string // stderr of kubectl's first two calls
		line  string
		want  string
		calls int
	}{
		"a dead backend":       {"Error: EOF", "kubectl get nodes", "of admin.conf: get nodes", 3},
		"refused":              {"dial tcp 192.0.2.1:6443: connect: connection refused", "kubectl delete pod a --now", "of admin.conf: delete pod a --now", 3},
		"no such object":       {"Error from server (NotFound)", "kubectl get node w1 2>&1 | grep -o NotFound", "NotFound", 1},
		"in a substitution":    {"Error: EOF", `echo "$(KUBECONFIG=other kubectl get nodes)"`, "of other: get nodes", 3},
		"it reads its input":   {"Error: EOF", "kubectl apply -f - || echo once", "once", 1},
		"it is a pod's answer": {"connection refused", "kubectl exec a -- get b || echo once", "once", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			program := "#!/bin/sh\necho >>" + dir + "/calls\n[ $(wc -l <" + dir + "/calls) -ge 3 ] || { echo '" + tc.fails + "' >&2; exit 1; }\necho of $KUBECONFIG: $*\n"
			if err := os.WriteFile(filepath.Join(dir, "kubectl"), []byte(program), 0o755); err != nil {
				t.Fatal(err)
			}
			args := withRetries([]string{"sh", "-c", tc.line})
			cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
			cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "KUBECONFIG=admin.conf")
			out, _ := cmd.Output()
			calls, err := os.ReadFile(filepath.Join(dir, "calls"))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.TrimSpace(string(out)); got != tc.want || len(calls) != tc.calls {
				t.Errorf("got %q after %d calls, want %q after %d", got, len(calls), tc.want, tc.calls)
			}
		})
	}
	if plain := []string{"sh", "-c", "true"}; len(withRetries(plain)[2]) != 4 {
		t.Error("got retries in a line without kubectl")
	}
}
