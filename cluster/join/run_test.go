package join

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/leave"
)

// TestJoinCodeIsReadFirst: join reads the token before any step has run, and does not ask
// for one on a host that has joined.
func TestJoinCodeIsReadFirst(t *testing.T) {
	const good = "abcdef.0123456789abcdef.abcdefghijklmnop"
	for name, tc := range map[string]struct {
		stdin string
		want  string // part of the error; "" for a code
	}{
		"good":    {good + "\n", ""},
		"no end":  {good, ""},
		"nothing": {"", "standard input is empty"},
		"a typo":  {"abcdef-0123456789abcdef\n", "not a join token"},
		"a line":  {"\n", "not a join token"},
	} {
		t.Run(name, func(t *testing.T) {
			c := &Candidate{
				options: Options{Console: &ui.Terminal{In: strings.NewReader(tc.stdin), Err: io.Discard}}, Hub: &Server{},
				Site: &site.Site{Machine: kubeadm.Machine{Member: leave.Member{Machine: host.Machine{Root: t.TempDir()}}}, Config: &config.Cluster{}},
			}
			if tc.want == "" {
				if got, err := c.options.readToken(t.Context()); err != nil || got.Reveal() != good {
					t.Errorf("got %v, %v", got, err)
				}
				return
			}
			_, err := c.admit(t.Context())
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
	t.Run("joined already", func(t *testing.T) {
		root := t.TempDir()
		state := filepath.Join(root, "var/lib/airgap/kubeadm.state")
		if err := errors.Join(os.MkdirAll(filepath.Dir(state), 0o755), os.WriteFile(state, []byte("ended\n"), 0o644)); err != nil {
			t.Fatal(err)
		}
		c := &Candidate{
			options: Options{Console: &ui.Terminal{In: neverRead{t}, Err: io.Discard}}, Hub: &Server{},
			Site: &site.Site{Machine: kubeadm.Machine{Member: leave.Member{Machine: host.Machine{Root: root}}}, Config: &config.Cluster{}},
		}
		if _, err := c.admit(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

type neverRead struct{ t *testing.T }

func (n neverRead) Read([]byte) (int, error) {
	n.t.Error("the code was asked for")
	return 0, io.EOF
}
