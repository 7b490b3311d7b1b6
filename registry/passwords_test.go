package registry

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/crypto/bcrypt"
)

// TestUnknownUsersTakeTheSameTime counts the work instead of the time: a bcrypt comparison of one cost
// takes twice as long as with the next lower cost.
func TestUnknownUsersTakeTheSameTime(t *testing.T) {
	hash := func(cost int) string {
		h, err := bcrypt.GenerateFromPassword([]byte(password), cost)
		must(t, err)
		return string(h)
	}
	lines := []string{"# a comment: text", limitMark + "low:team", "low:" + hash(4), "high:" + hash(7), "middle:" + hash(5), "crypt:$1$salt$x", "broken"}
	for _, test := range []struct {
		name  string
		known bool
	}{{"low", true}, {"middle", true}, {"high", true}, {"none", false}, {"", false}, {"crypt", false}, {"broken", false}, {"# a comment", false}, {"#prefixes", false}} {
		hashes, known := comparisons(lines, test.name)
		work := 0
		for _, h := range hashes {
			cost, err := bcrypt.Cost([]byte(h))
			must(t, err)
			work += 1 << cost
			if err := bcrypt.CompareHashAndPassword([]byte(h), []byte("x")); !errors.Is(err, bcrypt.ErrMismatchedHashAndPassword) {
				t.Errorf("%s: comparison with %s: %v", test.name, h, err)
			}
		}
		if known != test.known || work != 1<<7 {
			t.Errorf("%q: known %t, %d units of work, want %t and %d", test.name, known, work, test.known, 1<<7)
		}
	}
	if hashes, known := comparisons(nil, "x"); known || len(hashes) != 1 {
		t.Errorf("without users: %v, %t", hashes, known)
	}
}

func TestPasswords(t *testing.T) {
	file := filepath.Join(t.TempDir(), "htpasswd")
	hash, err := bcrypt.GenerateFromPassword([]byte(password), 5)
	must(t, err)
	other, err := bcrypt.GenerateFromPassword([]byte("other"), 4)
	must(t, err)
	must(t, os.WriteFile(file, fmt.Appendf(nil, "other:%s\r\n\n ci:%s \n", other, hash), 0o600))
	for _, test := range []struct {
		name, password string
		right          bool
	}{{"ci", password, true}, {"ci", "other", false}, {"ci", "", false}, {"other", "other", true}, {"other", password, false}, {"none", password, false}} {
		err := Users{File: file}.check(test.name, test.password)
		if test.right && err != nil || !test.right && !errors.Is(err, errCredentials) {
			t.Errorf("%s with %q: %v", test.name, test.password, err)
		}
	}
}
