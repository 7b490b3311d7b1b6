package trust

import (
	"os"
	"testing"
	"time"
)

// TestCheckAuthority: the key of another CA and an expired CA are errors.
func TestCheckAuthority(t *testing.T) {
	newCA := func() (ca, key []byte) {
		p := PKI{Dir: t.TempDir()}
		must(t, p.Ensure(nil, time.Now()))
		ca, err := os.ReadFile(p.CAFile())
		must(t, err)
		key, err = os.ReadFile(p.CAKeyFile())
		must(t, err)
		return ca, key
	}
	ca, key := newCA()
	_, other := newCA()
	must(t, CheckAuthority(ca, key, time.Now()))
	if err := CheckAuthority(ca, other, time.Now()); err == nil {
		t.Error("the key of another CA is accepted")
	}
	if err := CheckAuthority(ca, key, time.Now().AddDate(caYears+1, 0, 0)); err == nil {
		t.Error("an expired CA is accepted")
	}
}
