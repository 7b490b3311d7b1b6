package registry

import (
	"fmt"
	"strings"

	"golang.org/x/crypto/bcrypt"
)

// check compares a password with the one of the user. It returns errCredentials for a wrong password
// and for an unknown user, in the same time: the time must not show which users exist.
func (u Users) check(name, password string) error {
	lines, err := u.lines()
	if err != nil {
		return err
	}
	hashes, known := comparisons(lines, name)
	right := known
	for i, hash := range hashes {
		err := bcrypt.CompareHashAndPassword([]byte(hash), []byte(password))
		right = right && (i > 0 || err == nil)
	}
	if !right {
		return errCredentials
	}
	return nil
}

// comparisons returns the hashes with which a password is compared. The first one is the hash of the
// user, if it is known. The others match no password. Each cost is a power of two, so together the
// comparisons take as long as one with the highest cost of the file. A user whose hash is not
// bcrypt's counts as unknown.
func comparisons(lines []string, name string) (hashes []string, known bool) {
	highest, cost := bcrypt.MinCost, 0
	var hash string
	for _, line := range lines {
		user, its, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok || strings.HasPrefix(user, "#") {
			continue
		}
		of, err := bcrypt.Cost([]byte(its))
		if err != nil {
			continue
		}
		highest = max(highest, of)
		if user == name {
			hash, cost, known = its, of, true
		}
	}
	if !known {
		return []string{noPassword(highest)}, false
	}
	hashes = []string{hash}
	for ; cost < highest; cost++ {
		hashes = append(hashes, noPassword(cost))
	}
	return hashes, true
}

// noPassword returns a hash that no known password has: salt and sum are zeros.
func noPassword(cost int) string { return fmt.Sprintf("$2a$%02d$%s", cost, strings.Repeat(".", 53)) }
