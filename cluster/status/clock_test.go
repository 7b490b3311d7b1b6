package status

import (
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/cluster/certs"
	"airgap.dev/airgap/cluster/sitetest"
)

// TestClockWasAhead: a certificate and a backup from a later day are reported. The age of such a backup
// is unknown, so it does not count.
func TestClockWasAhead(t *testing.T) {
	now := time.Now().Add(-48 * time.Hour) // the clock was set back
	list, err := certs.Of(sitetest.FilesHost{"etc/kubernetes/pki/apiserver.crt": sitetest.ExpiringIn(t, "kube-apiserver", 300*24*time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	st := &Status{now: now, Cluster: "bank", Certificates: endSoon(list, now), Backup: &keptBackup{Dir: "/b/20990101T000000Z", Taken: now.Add(time.Hour)}}
	var text strings.Builder
	st.writeHealth(&text)
	begins := time.Now().Add(-time.Hour).UTC().Format(time.DateOnly)
	for _, want := range []string{"begins    /etc/kubernetes/pki/apiserver.crt, server certificate of the API server: is valid only from " + begins, "backup    from the future"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the screen does not say %q:\n%s", want, &text)
		}
	}
	st.Certificates = nil
	if next := st.whatToDo(); len(next) == 0 || !strings.Contains(next[0], "delete the backups from the future") {
		t.Errorf("the next steps are %q", next)
	}
}
