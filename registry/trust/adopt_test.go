package trust

import (
	"os"
	"testing"
	"time"
)

// TestCheckAuthority: a key of another one, and an authority that has ended.
func TestCheckAuthority(t *testing.T) {
	authority := func() (ca, key []byte) {
		p := PKI{Dir: t.TempDir()}
		must(t, p.Ensure(nil, time.Now()))
		ca, err := os.ReadFile(p.CAFile())
		must(t, err)
		key, err = os.ReadFile(p.CAKeyFile())
		must(t, err)
		return ca, key
	}
	ca, key := authority()
	_, other := authority()
	must(t, CheckAuthority(ca, key, time.Now()))
	if err := CheckAuthority(ca, other, time.Now()); err == nil {
		t.Error("another one's key is taken")
	}
	if err := CheckAuthority(ca, key, time.Now().AddDate(caYears+1, 0, 0)); err == nil {
		t.Error("one that has ended is taken")
	}
}
