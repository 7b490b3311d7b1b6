package recovery

import (
	"strings"
	"testing"

	"airgap.dev/airgap/kubeadm/backup"
)

// TestTakenListsFutureBackups: the result lists backups with a later time.
func TestTakenListsFutureBackups(t *testing.T) {
	var made strings.Builder
	b := Taken{Backup: backup.Backup{Dir: "/b/now"}, Future: []backup.Backup{{Dir: "/b/20990101T000000Z"}}}
	if err := b.Write(&made); err != nil || !strings.Contains(made.String(), "/b/20990101T000000Z is from the future") {
		t.Errorf("%v\n%s", err, &made)
	}
}
