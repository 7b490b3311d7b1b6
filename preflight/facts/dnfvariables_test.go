package facts

import (
	"maps"
	"testing"

	"airgap.dev/airgap/preflight/replay"
)

// TestDNFVariables: the first line of each file counts, and no copies of files.
func TestDNFVariables(t *testing.T) {
	h, err := replay.Host([]byte(`-- fs/etc/yum/vars/contentdir --
centos
-- fs/etc/yum/vars/infra --
stock
-- fs/etc/dnf/vars/contentdir --
pub/rocky
other
-- fs/etc/dnf/vars/rltype --
-- fs/etc/dnf/vars/contentdir.rpmnew --
x
`))
	if err != nil {
		t.Fatal(err)
	}
	var f Facts
	if err := readDNFVariables(t.Context(), reader{host: h, fs: h.FS()}, &f); err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{"contentdir": "pub/rocky", "infra": "stock", "rltype": ""}; !maps.Equal(f.DNFVariables, want) {
		t.Errorf("variables are %v, want %v", f.DNFVariables, want)
	}
}
