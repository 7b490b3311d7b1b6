package access

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/remote"
)

// TestSiteFile: the file of --ssh-config changes the logins of all nodes, and adds SSH where airgap.yaml has none.
func TestSiteFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ssh.yaml")
	if err := os.WriteFile(file, []byte("ssh: {user: ops2, configFile: none}\nnodes: [{name: node3, ssh: {port: 2222}}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	nodes := []config.Node{{Name: "node2", Address: "10.0.0.2"}, {Name: "node3", Address: "10.0.0.3"}}
	for name, section := range map[string]*remote.Config{"replaced": {User: "ops", Port: 22}, "none": nil} {
		c := &config.Cluster{SSH: section, Nodes: nodes}
		ctx := WithFile(t.Context(), file)
		if !Used(ctx, c) || Used(WithFile(t.Context(), ""), c) != (section != nil) {
			t.Errorf("%s: SSH is used: %v with the file, %v without", name, Used(ctx, c), Used(t.Context(), c))
		}
		changed, note, err := Apply(ctx, c, nodes)
		if err != nil {
			t.Fatal(err)
		}
		a, err := Open(changed)
		if err != nil {
			t.Fatal(err)
		}
		logins, err := a.Logins(changed.Nodes)
		if err != nil || way(logins[0].Host) != "ops2@10.0.0.2:22" || way(logins[1].Host) != "ops2@10.0.0.3:2222" || !strings.Contains(note, file+" replaces in airgap.yaml: ssh.user") {
			t.Errorf("%s: %v, %v, %s", name, logins, err, note)
		}
	}
	if Used(WithFile(t.Context(), file), &config.Cluster{Nodes: nodes[:1]}) {
		t.Error("a cluster of one host needs no SSH")
	}
	if same, note, err := Apply(t.Context(), &config.Cluster{Name: "bank"}, nil); err != nil || same.Name != "bank" || note != "" {
		t.Errorf("without a file: %v, %q, %v", same, note, err)
	}
	if _, _, err := Apply(WithFile(t.Context(), "/nowhere/ssh.yaml"), &config.Cluster{}, nil); err == nil || !strings.Contains(err.Error(), "/nowhere/ssh.yaml") {
		t.Errorf("got %v", err)
	}
}
