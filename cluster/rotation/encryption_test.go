package rotation

import (
	"strings"
	"testing"

	"airgap.dev/airgap/kubeadm/encryption"
)

// TestWriteNewKey: only a run that has created a new key mentions one.
func TestWriteNewKey(t *testing.T) {
	for want, r := range map[string]encryption.Rotated{
		"key2 now encrypts all Secrets, and the old key is deleted\n":                                                          {Key: "key2", Secrets: 7, Changed: true},
		"cp1 led the rotation and finished it, and the old key is deleted here too\n":                                          {Key: "key2", Leader: "cp1", Changed: true},
		"the interrupted rotation to key2 is finished, and the old key is deleted; run the same command again for a new key\n": {Key: "key2", Resumed: true},
		"the interrupted rotation to key3 is finished, and the old key is deleted; run the same command again for a new key\n": {Key: "key3", Leader: "cp1"},
	} {
		var text strings.Builder
		if err := (NewKey{r}).Write(&text); err != nil || text.String() != want {
			t.Errorf("%+v: %v\n%s", r, err, text.String())
		}
	}
}
