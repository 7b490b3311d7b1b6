package status

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/leave"
)

// TestChanging: the status of each control-plane host names the command that changes the cluster.
func TestChanging(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/airgap", r.URL.Path)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"airgap"},"spec":{"holderIdentity":"kim@cp1, airgap upgrade",` +
			`"acquireTime":"2026-11-29T14:02:11.000000Z","renewTime":"2026-11-29T14:05:21.000000Z"}}`))
	}))
	defer server.Close()
	m := kubeadm.Machine{Member: leave.Member{Machine: host.Machine{Host: host.Local{}, Root: t.TempDir()}}}
	require.NoError(t, host.WriteFile(filepath.Join(m.Root, kube.AdminConf), []byte(sitetest.Kubeconfig(server.URL)), 0o600))
	st := &Status{Health: &clusterHealth{OK: true}}
	st.tellChanging(t.Context(), m)
	var text strings.Builder
	st.writeChanging(&text)
	since := st.Changing.Since.Local().Format("15:04:05")
	assert.Regexp(t, `^changes   kim@cp1, airgap upgrade, since \d{4}-\d\d-\d\d `+since+`; last renewed .* by the clock of cp1\n$`, text.String())
	assert.Equal(t, "kim", st.Changing.User)
}
