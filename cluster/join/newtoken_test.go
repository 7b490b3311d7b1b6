package join

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/leave"
)

// TestNewTokenIsForOneNode: without a name the token is for the only node that has not
// joined; nothing is made where that is several.
func TestNewTokenIsForOneNode(t *testing.T) {
	s := sitetest.SettingsSite(t, "")
	made := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			made++
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"apiVersion":"v1","kind":"NodeList","items":[]}`)
	}))
	defer server.Close()
	s.Machine = kubeadm.Machine{Member: leave.Member{Machine: host.Machine{Host: host.Local{}, Root: t.TempDir()}}}
	conf := sitetest.Kubeconfig(server.URL)
	if err := host.WriteFile(filepath.Join(s.Machine.Root, kube.AdminConf), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := tokenLine(t.Context(), s, "", nil)
	if err == nil || !strings.Contains(err.Error(), "a token is for one node, and cp1, w1 have not joined") || made > 0 {
		t.Errorf("%v, %d objects made", err, made)
	}
	if _, err := tokenLine(t.Context(), s, "w9", nil); err == nil || !strings.Contains(err.Error(), "w9") || made > 0 {
		t.Errorf("a node that airgap.yaml does not have: %v, %d objects made", err, made)
	}
}
